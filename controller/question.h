/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * question - asks the API server what is there now, before something is written that must not rest
 * on what a watch told last: a watch may be behind. A question is a list that a selector narrows down.
 * The right to list is enough for it, and the server answers from its newest state
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/, "Semantics for get and list").
 * Before the objects of a gone node are deleted the node is asked for, too: after an outage the server
 * takes writes before the watches have caught up.
 *
 * Threads: owner.
 * Limits:  LIMIT_URL bytes of path, and of the UID.
 */

#include <stdbool.h>

#include "base/error.h"
#include "base/list.h"
#include "base/sbuf.h"

#define QUESTION_ACCEPT "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

struct question {
	struct list link;   /* the owner's */
	struct sbuf path;   /* to GET, with QUESTION_ACCEPT */
	struct sbuf wanted; /* UID of the only object that must be there; empty: none may be */
};

/*
 * Both fail with ERROR_NO_MEMORY, or ERROR_LIMIT when a text is too long; the question is owned by
 * the caller.
 */
/* Is there no Node of that name? */
MUST_USE int question_no_node(struct view name, struct question **ret_question, struct error *err);
/* Has the pod of that name this UID? */
MUST_USE int question_pod(struct view namespace, struct view name, struct view uid,
			  struct question **ret_question, struct error *err);
/* Accepts NULL. */
void question_free(struct question *question);
/* Can an object be called that (RFC 1123)? Of no other name may be asked. */
bool question_is_name(struct view name);

/*
 * Reads the server's answer: *ret_so is whether it is as the question has it. Fails with ERROR_RETRY,
 * ERROR_REJECTED, ERROR_LIMIT or ERROR_NO_MEMORY when the body cannot be read as such a list.
 */
MUST_USE int question_hear(const struct question *question, struct view body, bool *ret_so,
			   struct error *err);
