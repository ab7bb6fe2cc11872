/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reflector_list - reads the body of a list for a reflector: cuts it into objects, hands them on,
 * and tells whether it is the list that was asked for. Used by reflector only.
 *
 * Threads: owner.
 * Limits:  one object is at most LIMIT_OBJECT_BYTES.
 */

#include "kube/list_stream.h"
#include "kube/reflector_output.h"
#include "kube/resource.h"

struct reflector_list {
	const struct resource *resource; /* borrowed, as is output */
	struct reflector_output *output;
	struct list_stream stream;
};

/* Ready for reflector_list_begin(); allocates nothing. reflector_list_deinit() at the end. */
void reflector_list_init(struct reflector_list *list, const struct resource *resource,
			 struct reflector_output *output);
/* Accepts a zeroed object. */
void reflector_list_deinit(struct reflector_list *list);
/* Another list, or another page, begins. */
void reflector_list_begin(struct reflector_list *list);
/* Part of the body. Fails as reflector_feed(). */
MUST_USE int reflector_list_feed(struct reflector_list *list, struct view input, struct error *err);
/*
 * The body has ended. Fails with ERROR_RETRY when it is cut, with ERROR_REJECTED when it is not a
 * list of the resource.
 */
MUST_USE int reflector_list_check(const struct reflector_list *list, struct error *err);
/* The version of the list; borrowed until the next one begins. */
struct view reflector_list_version(const struct reflector_list *list);
/* With what to ask for the next page, borrowed likewise; empty: this was the last. */
struct view reflector_list_continue_token(const struct reflector_list *list);
