/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * intake - cuts what `kubectl get -o json` prints into objects while it arrives: memory holds one
 * object, whatever the size of the list.
 *
 * Threads: owner.
 * Limits:  an object is at most LIMIT_OBJECT_BYTES; with INTAKE_NAMED all of it together is at most
 *          INTAKE_NAMED_BYTES.
 */

#include "base/limits.h"
#include "wire/jscan.h"

#define INTAKE_NAMED_BYTES (16u * LIMIT_MIB)

enum intake_form {
	INTAKE_LIST,  /* a list */
	INTAKE_NAMED, /* what was asked for by names: nothing, an object, or a list of objects */
};

/* Takes one object, which is borrowed for the call. A failure ends the intake. */
typedef int (*intake_take_fn)(void *context, struct view json, struct error *err);

struct intake {
	enum intake_form form;
	struct jscan scan;
	struct sbuf whole; /* INTAKE_NAMED */
	bool complete;     /* INTAKE_LIST: its end has been seen */
	intake_take_fn take;
	void *context;
};

/* Nothing has come yet; take is called with context. Allocates nothing. */
void intake_init(struct intake *intake, enum intake_form form, intake_take_fn take, void *context);
/* Accepts a zeroed object. For CLEANUP. */
void intake_deinit(struct intake *intake);
/* Continues with the next bytes. Fails as `take` does, with ERROR_REJECTED, or ERROR_LIMIT. */
MUST_USE int intake_feed(struct intake *intake, struct view bytes, struct error *err);
/* The bytes have ended. Fails in the same ways; a list that is cut short is ERROR_REJECTED. */
MUST_USE int intake_finish(struct intake *intake, struct error *err);

/*
 * Hands each element of a JSON array to `take`, which can stop it by failing. Fails with
 * ERROR_REJECTED or ERROR_LIMIT when it is malformed.
 */
MUST_USE int intake_each(struct view array, intake_take_fn take, void *context, struct error *err);
