/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reflector_query - what the request of a reflector asks for, the one under way or else the next.
 * Used by reflector, and read by reflector_verdict.
 *
 * The very first state is the newest there is (an empty version), not any that an API server has in
 * its cache ("0"). Resources are listed from different servers and judged together. If a cache of
 * pods lags behind the list of what was published for them, running pods look ended. Since
 * Kubernetes 1.31 such a list is served from the cache as well, as soon as that has caught up.
 *
 * Threads: owner.
 * Limits:  a path with its query is at most 64 KiB, as is a continue token.
 */

#include "base/sbuf.h"
#include "kube/list_query.h"
#include "kube/reflector.h"

/* The reflector writes the first three; the rest is this module's. */
struct reflector_query {
	enum list_query_kind kind;
	bool is_newest; /* the next list asks for the newest state */
	bool is_whole;  /* a page has expired: the next list is without pages */
	const struct resource *resource; /* borrowed */
	enum reflector_initial initial;
	uint32_t page_size;
	struct sbuf continue_token;
	struct sbuf path;
};

/* Asks for the first state; allocates nothing. reflector_query_deinit() at the end. */
void reflector_query_init(struct reflector_query *query, const struct reflector_config *config);
/* Accepts a zeroed object. */
void reflector_query_deinit(struct reflector_query *query);
/* What asks for the first state: LIST, or STREAM. */
enum list_query_kind reflector_query_first(const struct reflector_query *query);
/* True for WATCH and STREAM. */
bool reflector_query_is_watch(const struct reflector_query *query);
/* The version to ask for when `version` is the position; empty: the newest. */
struct view reflector_query_version(const struct reflector_query *query, struct view version);
/* Path and query; borrowed until the next call. NULL: there is no memory. */
const char *reflector_query_path(struct reflector_query *query, struct view version,
				 uint32_t timeout_s);
/* Of the page that comes next. It is copied. */
void reflector_query_set_continue_token(struct reflector_query *query, struct view token);
