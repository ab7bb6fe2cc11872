/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "wire/jindent.h"

static void json_is_laid_out_a_member_a_line(void **state)
{
	(void)state;
	static const struct {
		const char *json, *laid_out;
	} rows[] = {
		{"{}", "{}\n"},
		{"[]", "[]\n"},
		{"1", "1\n"},
		{"{\"a\":1}", "{\n  \"a\": 1\n}\n"},
		{"{\"a\":[1,2],\"b\":{}}", "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}\n"},
		{"[[],[{}]]", "[\n  [],\n  [\n    {}\n  ]\n]\n"},
		{"{\"k\":\"{[,:]}\"}", "{\n  \"k\": \"{[,:]}\"\n}\n"},
		{"[\"a\\\"],\",null]", "[\n  \"a\\\"],\",\n  null\n]\n"},
		{"[\"\\\\\",true]", "[\n  \"\\\\\",\n  true\n]\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, 1000);
		jindent(view_from(rows[i].json), &buf);
		assert_string_equal(sbuf_text(&buf), rows[i].laid_out);
	}
}

static void what_is_not_json_does_no_harm(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "\"", "\"a", "\"\\", "{", "[", "}", "]]", "{\"",
					    ","};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, 1000);
		jindent(view_from(texts[i]), &buf);
		assert_int_equal(buf.ptr[buf.len - 1], '\n');
	}
}

static void a_full_buffer_says_so(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 5);
	jindent(VIEW("{\"a\":1}"), &buf);
	assert_int_equal(sbuf_check(&buf, "text", &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(json_is_laid_out_a_member_a_line),
	cmocka_unit_test(what_is_not_json_does_no_harm),
	cmocka_unit_test(a_full_buffer_says_so),
};
TEST_MAIN(tests)
