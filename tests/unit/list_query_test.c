/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/list_query.h"

static void each_kind_asks_in_its_own_way(void **state)
{
	(void)state;
	static const struct resource pods = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL};
	static const struct {
		struct list_query query;
		const char *expected;
	} rows[] = {
		{{.kind = LIST_QUERY_LIST}, "?resourceVersion="},
		{{.kind = LIST_QUERY_LIST, .version = VIEW_INIT("77")},
		 "?resourceVersion=77&resourceVersionMatch=NotOlderThan"},
		{{.kind = LIST_QUERY_LIST, .limit = 500}, "?resourceVersion=&limit=500"},
		{{.kind = LIST_QUERY_PAGE, .limit = 500, .version = VIEW_INIT("77"),
		  .continue_token = VIEW_INIT("a+b=")},
		 "?limit=500&continue=a%2Bb%3D"},
		{{.kind = LIST_QUERY_WATCH, .version = VIEW_INIT("77"), .timeout_s = 301},
		 "?watch=1&allowWatchBookmarks=true&timeoutSeconds=301&resourceVersion=77"},
		{{.kind = LIST_QUERY_STREAM, .version = VIEW_INIT("77"), .timeout_s = 302},
		 "?watch=1&allowWatchBookmarks=true&timeoutSeconds=302&sendInitialEvents=true"
		 "&resourceVersionMatch=NotOlderThan&resourceVersion=77"},
	};
	struct sbuf path, expected;
	sbuf_init(&path, 4096);
	sbuf_init(&expected, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		sbuf_clear(&path);
		sbuf_clear(&expected);
		list_query_append(&rows[i].query, &pods, &path);
		sbuf_printf(&expected, "/api/v1/pods%s", rows[i].expected);
		assert_string_equal(sbuf_text(&path), sbuf_text(&expected));
	}
	sbuf_deinit(&path);
	sbuf_deinit(&expected);
}

static void a_field_selector_goes_with_every_kind(void **state)
{
	(void)state;
	static const struct resource pods = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF,
					     "spec.nodeName!="};
	for (int kind = LIST_QUERY_LIST; kind <= LIST_QUERY_WATCH; kind++) {
		const struct list_query query = {.kind = (enum list_query_kind)kind};
		struct sbuf path;
		sbuf_init(&path, 4096);
		list_query_append(&query, &pods, &path);
		assert_true(view_ends_with(sbuf_view(&path),
					   VIEW("&fieldSelector=spec.nodeName%21%3D")));
		sbuf_deinit(&path);
	}
}

static void a_label_selector_goes_behind_it(void **state)
{
	(void)state;
	static const struct resource maps = {.version = "v1", .plural = "configmaps",
					     .label_selector = "a/b=c"};
	for (int kind = LIST_QUERY_LIST; kind <= LIST_QUERY_WATCH; kind++) {
		const struct list_query query = {.kind = (enum list_query_kind)kind};
		struct resource both = maps;
		struct sbuf path;

		sbuf_init(&path, 4096);
		both.field_selector = kind % 2 ? "x" : NULL;
		both.group = "";
		list_query_append(&query, &both, &path);
		assert_true(view_ends_with(sbuf_view(&path),
					   kind % 2 ? VIEW("&fieldSelector=x&labelSelector=a%2Fb%3Dc")
						    : VIEW("&labelSelector=a%2Fb%3Dc")));
		sbuf_deinit(&path);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_kind_asks_in_its_own_way),
	cmocka_unit_test(a_field_selector_goes_with_every_kind),
	cmocka_unit_test(a_label_selector_goes_behind_it),
};
TEST_MAIN(tests)
