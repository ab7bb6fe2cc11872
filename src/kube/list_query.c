/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/list_query.h"

#include <assert.h>

static void append_watch(const struct list_query *query, struct sbuf *buf)
{
	sbuf_printf(buf, "?watch=1&allowWatchBookmarks=true&timeoutSeconds=%u", query->timeout_s);
	if (query->kind == LIST_QUERY_STREAM)
		sbuf_printf(buf, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
	sbuf_printf(buf, "&resourceVersion=");
	resource_append_escaped(query->version, buf);
}

static void append_list(const struct list_query *query, struct sbuf *buf)
{
	sbuf_printf(buf, "?resourceVersion=");
	resource_append_escaped(query->version, buf);
	if (query->version.len > 0)
		sbuf_printf(buf, "&resourceVersionMatch=NotOlderThan");
	if (query->limit > 0)
		sbuf_printf(buf, "&limit=%u", query->limit);
}

/* The token says which version it continues: the server refuses another one beside it. */
static void append_page(const struct list_query *query, struct sbuf *buf)
{
	sbuf_printf(buf, "?limit=%u&continue=", query->limit);
	resource_append_escaped(query->continue_token, buf);
}

void list_query_append(const struct list_query *query, const struct resource *resource,
		       struct sbuf *buf)
{
	assert(resource->plural && query->kind <= LIST_QUERY_WATCH);
	resource_append_path(resource, buf);
	switch (query->kind) {
	case LIST_QUERY_LIST:
		append_list(query, buf);
		break;
	case LIST_QUERY_PAGE:
		append_page(query, buf);
		break;
	case LIST_QUERY_STREAM:
	case LIST_QUERY_WATCH:
		append_watch(query, buf);
		break;
	}
	if (resource->field_selector) {
		sbuf_printf(buf, "&fieldSelector=");
		resource_append_escaped(view_from(resource->field_selector), buf);
	}
	if (resource->label_selector) {
		sbuf_printf(buf, "&labelSelector=");
		resource_append_escaped(view_from(resource->label_selector), buf);
	}
}
