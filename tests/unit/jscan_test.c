/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "wire/jscan.h"

static const struct view list = VIEW_INIT(
	" {\"kind\":\"PodList\" , \"apiVersion\":\"v1\",\n"
	"\"metadata\":{\"resourceVersion\":\"12\",\"a\\\"}\":[1,{}]},\"n\":-1.5e3,\"t\":true ,"
	"\"items\" : [ {\"a\":1,\"s\":\"x]}\\\\\"},[],\"text\\\"\",17 , null,{\"b\":[{},[2]]}\t],"
	"\"empty\":{},\"last\":[]} \r\n");

static const char expected[] = "kind=\"PodList\"\n"
			       "apiVersion=\"v1\"\n"
			       "metadata={\"resourceVersion\":\"12\",\"a\\\"}\":[1,{}]}\n"
			       "n=-1.5e3\n"
			       "t=true\n"
			       "- {\"a\":1,\"s\":\"x]}\\\\\"}\n"
			       "- []\n"
			       "- \"text\\\"\"\n"
			       "- 17\n"
			       "- null\n"
			       "- {\"b\":[{},[2]]}\n"
			       "empty={}\n"
			       "last=[]\n"
			       "end\n";

/* Feeds one piece, from a heap copy of just its size, and writes down what comes out. */
static enum jscan_step feed(struct jscan *scan, struct view piece, struct sbuf *trace,
			    struct error *err)
{
	char *copy = malloc(piece.len + 1);
	memcpy(copy, piece.ptr, piece.len);
	struct view input = {copy, piece.len};
	enum jscan_step step;
	for (;;) {
		struct view key, value;
		step = jscan_next(scan, &input, &key, &value, err);
		if (step == JSCAN_MORE || step == JSCAN_FAILED)
			break;
		if (step == JSCAN_ITEM)
			sbuf_printf(trace, "- %.*s\n", VIEW_ARG(value));
		else if (step == JSCAN_MEMBER)
			sbuf_printf(trace, "%.*s=%.*s\n", VIEW_ARG(key), VIEW_ARG(value));
		else
			sbuf_printf(trace, "end\n");
	}
	assert_true(step == JSCAN_FAILED || input.len == 0);
	free(copy);
	return step;
}

static void a_whole_list_is_taken_apart_without_copying(void **state)
{
	(void)state;
	CLEANUP(jscan_deinit) struct jscan scan;
	CLEANUP(sbuf_deinit) struct sbuf trace;
	struct error err;
	jscan_init(&scan, 1000);
	sbuf_init(&trace, 10000);
	assert_int_equal(feed(&scan, list, &trace, &err), JSCAN_MORE);
	assert_string_equal(sbuf_text(&trace), expected);
	assert_null(scan.held.ptr);
}

static void two_pieces_cut_anywhere_give_the_same(void **state)
{
	(void)state;
	for (size_t cut = 0; cut <= list.len; cut++) {
		CLEANUP(jscan_deinit) struct jscan scan;
		CLEANUP(sbuf_deinit) struct sbuf trace;
		struct error err;
		jscan_init(&scan, 1000);
		sbuf_init(&trace, 10000);
		assert_int_equal(feed(&scan, (struct view){list.ptr, cut}, &trace, &err),
				 JSCAN_MORE);
		assert_int_equal(feed(&scan, view_from_offset(list, cut), &trace, &err),
				 JSCAN_MORE);
		assert_string_equal(sbuf_text(&trace), expected);
	}
}

static void three_pieces_cut_anywhere_give_the_same(void **state)
{
	(void)state;
	for (size_t a = 0; a <= list.len; a += 3) {
		for (size_t b = a; b <= list.len; b++) {
			CLEANUP(jscan_deinit) struct jscan scan;
			CLEANUP(sbuf_deinit) struct sbuf trace;
			struct error err;
			jscan_init(&scan, 1000);
			sbuf_init(&trace, 10000);
			feed(&scan, (struct view){list.ptr, a}, &trace, &err);
			feed(&scan, (struct view){list.ptr + a, b - a}, &trace, &err);
			feed(&scan, view_from_offset(list, b), &trace, &err);
			assert_string_equal(sbuf_text(&trace), expected);
		}
	}
}

static void single_bytes_give_the_same(void **state)
{
	(void)state;
	CLEANUP(jscan_deinit) struct jscan scan;
	CLEANUP(sbuf_deinit) struct sbuf trace;
	struct error err;
	jscan_init(&scan, 1000);
	sbuf_init(&trace, 10000);
	for (size_t i = 0; i < list.len; i++)
		assert_int_equal(feed(&scan, (struct view){list.ptr + i, 1}, &trace, &err),
				 JSCAN_MORE);
	assert_string_equal(sbuf_text(&trace), expected);
}

static void lists_without_items_end_too(void **state)
{
	(void)state;
	static const struct {
		struct view text;
		const char *trace;
	} rows[] = {
		{VIEW_INIT("{}"), "end\n"},
		{VIEW_INIT("{\"items\":[]}"), "end\n"},
		{VIEW_INIT("{\"items\":null}"), "end\n"},
		{VIEW_INIT("{\"items\":null,\"a\":1}"), "a=1\nend\n"},
		{VIEW_INIT("{\"a\":{\"items\":[1]}}"), "a={\"items\":[1]}\nend\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t cut = 0; cut <= rows[i].text.len; cut++) {
			CLEANUP(jscan_deinit) struct jscan scan;
			CLEANUP(sbuf_deinit) struct sbuf trace;
			struct error err;
			jscan_init(&scan, 1000);
			sbuf_init(&trace, 10000);
			feed(&scan, (struct view){rows[i].text.ptr, cut}, &trace, &err);
			feed(&scan, view_from_offset(rows[i].text, cut), &trace, &err);
			assert_string_equal(sbuf_text(&trace), rows[i].trace);
		}
	}
}

static void malformed_lists_fail_for_good(void **state)
{
	(void)state;
	static const struct view bad[] = {
		VIEW_INIT("[]"),
		VIEW_INIT("x"),
		VIEW_INIT("{a"),
		VIEW_INIT("{,"),
		VIEW_INIT("{\"a\" 1"),
		VIEW_INIT("{\"a\":}"),
		VIEW_INIT("{\"a\":,"),
		VIEW_INIT("{\"a\":1]"),
		VIEW_INIT("{\"a\":1 2"),
		VIEW_INIT("{\"a\":1,}"),
		VIEW_INIT("{\"a\":12\"x\""),
		VIEW_INIT("{\"a\":1{"),
		VIEW_INIT("{\"items\":{}}"),
		VIEW_INIT("{\"items\":\"x\"}"),
		VIEW_INIT("{\"items\":1}"),
		VIEW_INIT("{\"items\":[,"),
		VIEW_INIT("{\"items\":[1,]"),
		VIEW_INIT("{\"items\":[1 2"),
		VIEW_INIT("{\"items\":[1}"),
		VIEW_INIT("{\"items\":[],\"items\":[]"),
		VIEW_INIT("{\"items\":null,\"items\":[]"),
		VIEW_INIT("{}x"),
		VIEW_INIT("{}{}"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		for (size_t cut = 0; cut < bad[i].len; cut++) {
			CLEANUP(jscan_deinit) struct jscan scan;
			CLEANUP(sbuf_deinit) struct sbuf trace;
			struct error err;
			jscan_init(&scan, 1000);
			sbuf_init(&trace, 10000);
			feed(&scan, (struct view){bad[i].ptr, cut}, &trace, &err);
			assert_int_equal(feed(&scan, view_from_offset(bad[i], cut), &trace, &err),
					 JSCAN_FAILED);
			assert_int_equal(err.kind, ERROR_REJECTED);
			assert_int_equal(feed(&scan, VIEW("{}"), &trace, &err), JSCAN_FAILED);
		}
	}
}

static void every_broken_off_list_waits_for_more_without_an_end(void **state)
{
	(void)state;
	size_t end = (size_t)view_find_char(list, '\r') - 2;
	for (size_t len = 0; len <= end; len++) {
		CLEANUP(jscan_deinit) struct jscan scan;
		CLEANUP(sbuf_deinit) struct sbuf trace;
		struct error err;
		jscan_init(&scan, 1000);
		sbuf_init(&trace, 10000);
		assert_int_equal(feed(&scan, (struct view){list.ptr, len}, &trace, &err),
				 JSCAN_MORE);
		assert_false(view_ends_with(sbuf_view(&trace), VIEW("end\n")));
	}
}

static void a_value_at_the_cap_passes_and_one_above_does_not(void **state)
{
	(void)state;
	struct view text = VIEW("{\"items\":[\"12345678\"]}");
	for (size_t cap = 9; cap <= 10; cap++) {
		for (size_t cut = 0; cut <= text.len; cut++) {
			CLEANUP(jscan_deinit) struct jscan scan;
			CLEANUP(sbuf_deinit) struct sbuf trace;
			struct error err;
			jscan_init(&scan, cap);
			sbuf_init(&trace, 1000);
			enum jscan_step step =
				feed(&scan, (struct view){text.ptr, cut}, &trace, &err);
			if (step == JSCAN_MORE)
				step = feed(&scan, view_from_offset(text, cut), &trace, &err);
			assert_int_equal(step, cap == 10 ? JSCAN_MORE : JSCAN_FAILED);
			if (step == JSCAN_FAILED)
				assert_int_equal(err.kind, ERROR_LIMIT);
		}
	}
}

static void deep_nesting_and_long_keys_are_refused(void **state)
{
	(void)state;
	for (size_t depth = 64; depth <= 65; depth++) {
		CLEANUP(jscan_deinit) struct jscan scan;
		CLEANUP(sbuf_deinit) struct sbuf trace, text;
		struct error err;
		jscan_init(&scan, 1000);
		sbuf_init(&trace, 1000);
		sbuf_init(&text, 1000);
		sbuf_append(&text, VIEW("{\"a\":"));
		for (size_t i = 0; i < depth; i++)
			sbuf_append_char(&text, '[');
		for (size_t i = 0; i < depth; i++)
			sbuf_append_char(&text, ']');
		sbuf_append_char(&text, '}');
		assert_int_equal(feed(&scan, sbuf_view(&text), &trace, &err),
				 depth == 64 ? JSCAN_MORE : JSCAN_FAILED);
	}
	CLEANUP(jscan_deinit) struct jscan scan;
	CLEANUP(sbuf_deinit) struct sbuf trace;
	struct error err;
	char key[300];
	memset(key, 'k', sizeof(key));
	jscan_init(&scan, 1000);
	sbuf_init(&trace, 1000);
	feed(&scan, VIEW("{\""), &trace, &err);
	assert_int_equal(feed(&scan, (struct view){key, sizeof(key)}, &trace, &err), JSCAN_FAILED);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void lack_of_memory_is_told(void **state)
{
	(void)state;
	CLEANUP(jscan_deinit) struct jscan scan;
	CLEANUP(sbuf_deinit) struct sbuf trace;
	struct error err;
	jscan_init(&scan, 1000);
	sbuf_init(&trace, 1000);
	feed(&scan, VIEW("{\"items\":["), &trace, &err);
	struct view input = VIEW("{\"half"), key, value;
	failing_malloc_at(1);
	enum jscan_step step = jscan_next(&scan, &input, &key, &value, &err);
	assert_true(failing_malloc_off());
	assert_int_equal(step, JSCAN_FAILED);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_whole_list_is_taken_apart_without_copying),
	cmocka_unit_test(two_pieces_cut_anywhere_give_the_same),
	cmocka_unit_test(three_pieces_cut_anywhere_give_the_same),
	cmocka_unit_test(single_bytes_give_the_same),
	cmocka_unit_test(lists_without_items_end_too),
	cmocka_unit_test(malformed_lists_fail_for_good),
	cmocka_unit_test(every_broken_off_list_waits_for_more_without_an_end),
	cmocka_unit_test(a_value_at_the_cap_passes_and_one_above_does_not),
	cmocka_unit_test(deep_nesting_and_long_keys_are_refused),
	cmocka_unit_test(lack_of_memory_is_told),
};
TEST_MAIN(tests)
