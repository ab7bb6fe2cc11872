/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * list_query - the paths and queries with which lists and watches are asked for.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/
 *
 * Threads: any.
 */

#include "base/sbuf.h"
#include "base/view.h"
#include "kube/resource.h"

enum list_query_kind {
	LIST_QUERY_LIST,   /* objects at once, or their first page when limit is not 0 */
	LIST_QUERY_PAGE,   /* the page behind `continue_token` */
	LIST_QUERY_STREAM, /* a watch that begins with all objects */
	LIST_QUERY_WATCH,  /* what happens after `version` */
};

struct list_query {
	enum list_query_kind kind;
	struct view version;        /* not older than this; empty: the newest */
	struct view continue_token; /* PAGE */
	uint32_t limit;             /* LIST and PAGE: objects a page; 0: no pages */
	uint32_t timeout_s;         /* STREAM and WATCH: the server ends it then */
};

/* Appends path and query. Failure is the buffer's. */
void list_query_append(const struct list_query *query, const struct resource *resource,
		       struct sbuf *buf);
