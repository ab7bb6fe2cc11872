/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * watch_kinds - which resources the controller follows, and how an object's bytes become a record of
 * the inventory: one row a resource.
 *
 * Threads: the loop's.
 */

#include "base/error.h"
#include "kube/resource.h"
#include "model/inventory.h"

/* What the controller does without a resource. */
enum watch_need {
	WATCH_NEEDED,        /* it waits, and readiness says so */
	WATCH_MAY_BE_DENIED, /* the server need not have it, nor need we be allowed to read it */
};

/* An object that was listed, or told of by a watch. */
struct watch_event {
	enum store_change change; /* STORE_LISTED or STORE_UPSERT */
	uint64_t version;
	struct view document; /* JSON, or a protobuf message without envelope */
	uint64_t now_ms;
};

struct watch_kind {
	const char *name; /* "pods", for people */
	struct resource resource;
	/* Decodes the object and puts it. Fails with ERROR_REJECTED, ERROR_LIMIT, ERROR_NO_MEMORY. */
	int (*put)(struct inventory *inventory, const struct watch_event *event, struct error *err);
	enum watch_need need;
	const char *definition; /* name of the CustomResourceDefinition that brings it, or NULL */
};

/* Never NULL; for good. */
const struct watch_kind *watch_kinds_of(enum inventory_kind kind);
