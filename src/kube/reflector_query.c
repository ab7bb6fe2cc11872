/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/reflector_query.h"

#include <assert.h>

#include "base/limits.h"

#define QUERY_CAP (64u * LIMIT_KIB) /* continue tokens are long */

void reflector_query_init(struct reflector_query *query, const struct reflector_config *config)
{
	assert(config->resource);
	*query = (struct reflector_query){
		.resource = config->resource,
		.initial = config->initial,
		.page_size = config->page_size,
	};
	query->kind = reflector_query_first(query);
	sbuf_init(&query->path, QUERY_CAP);
	sbuf_init(&query->continue_token, QUERY_CAP);
}

void reflector_query_deinit(struct reflector_query *query)
{
	sbuf_deinit(&query->path);
	sbuf_deinit(&query->continue_token);
}

enum list_query_kind reflector_query_first(const struct reflector_query *query)
{
	return query->initial == REFLECTOR_STREAM ? LIST_QUERY_STREAM : LIST_QUERY_LIST;
}

bool reflector_query_is_watch(const struct reflector_query *query)
{
	return query->kind == LIST_QUERY_WATCH || query->kind == LIST_QUERY_STREAM;
}

struct view reflector_query_version(const struct reflector_query *query, struct view version)
{
	if (query->kind != LIST_QUERY_WATCH && query->is_newest)
		return (struct view){NULL, 0};
	return version;
}

const char *reflector_query_path(struct reflector_query *query, struct view version,
				 uint32_t timeout_s)
{
	struct list_query list_query = {
		.kind = query->kind,
		.version = reflector_query_version(query, version),
		.continue_token = sbuf_view(&query->continue_token),
		.timeout_s = timeout_s,
	};
	/* A given version is served from the cache of the API server, which knows no pages. */
	if (query->kind == LIST_QUERY_PAGE ||
	    (query->initial == REFLECTOR_PAGES && !query->is_whole && list_query.version.len == 0))
		list_query.limit = query->page_size;
	sbuf_clear(&query->path);
	list_query_append(&list_query, query->resource, &query->path);
	return sbuf_text(&query->path);
}

void reflector_query_set_continue_token(struct reflector_query *query, struct view token)
{
	sbuf_clear(&query->continue_token);
	sbuf_append(&query->continue_token, token);
}
