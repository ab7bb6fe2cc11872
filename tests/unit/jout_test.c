/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "wire/jout.h"

static void a_document_has_its_commas(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 1000);
	struct jout out;
	jout_init(&out, &buf);
	jout_object(&out);
	jout_member_text(&out, "a", VIEW("x"));
	jout_key(&out, "b");
	jout_array(&out);
	jout_i64(&out, -1);
	jout_array(&out);
	jout_array_end(&out);
	jout_object(&out);
	jout_object_end(&out);
	jout_null(&out);
	jout_raw(&out, VIEW("{\"raw\":1}"));
	jout_text(&out, VIEW(""));
	jout_array_end(&out);
	jout_key(&out, "c");
	jout_i64(&out, INT64_MIN);
	jout_member_bool(&out, "d", true);
	jout_key(&out, "g");
	jout_bool(&out, false);
	jout_object_end(&out);
	assert_string_equal(sbuf_text(&buf),
			    "{\"a\":\"x\",\"b\":[-1,[],{},null,{\"raw\":1},\"\"],"
			    "\"c\":-9223372036854775808,\"d\":true,\"g\":false}");
}

static void text_is_escaped_and_repaired(void **state)
{
	(void)state;
	static const struct {
		struct view text;
		const char *json;
	} rows[] = {
		{VIEW_INIT("plain \x7f/"), "\"plain \x7f/\""},
		{VIEW_INIT("\"\\"), "\"\\\"\\\\\""},
		{VIEW_INIT("\n\r\t\b\x1b"), "\"\\n\\r\\t\\u0008\\u001b\""},
		{VIEW_INIT("a\0b"), "\"a\\u0000b\""},
		{VIEW_INIT("\xc3\xa4\xf0\x9f\x98\x80"), "\"\xc3\xa4\xf0\x9f\x98\x80\""},
		{VIEW_INIT("x\xff\xc3"), "\"x\xef\xbf\xbd\xef\xbf\xbd\""},
		{VIEW_INIT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, 1000);
		struct jout out;
		jout_init(&out, &buf);
		jout_text(&out, rows[i].text);
		assert_string_equal(sbuf_text(&buf), rows[i].json);
	}
}

static void keys_are_escaped_too(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 100);
	struct jout out;
	jout_init(&out, &buf);
	jout_object(&out);
	jout_member_bool(&out, "a\"b", true);
	jout_object_end(&out);
	assert_string_equal(sbuf_text(&buf), "{\"a\\\"b\":true}");
}

static void nesting_reaches_its_limit_with_right_commas(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 1000);
	struct jout out;
	jout_init(&out, &buf);
	for (int i = 0; i < 32; i++) {
		jout_array(&out);
		jout_i64(&out, 1);
	}
	for (int i = 0; i < 32; i++) {
		jout_i64(&out, 2);
		jout_array_end(&out);
	}
	assert_int_equal(buf.len, 32 * 2 + 31 + 32 + 32 * 2);
	assert_memory_equal(sbuf_text(&buf), "[1,[1,[1,", 9);
	assert_memory_equal(sbuf_text(&buf) + buf.len - 9, ",2],2],2]", 9);
}

static void failure_is_the_buffers(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 5);
	struct jout out;
	struct error err;
	jout_init(&out, &buf);
	jout_object(&out);
	jout_member_text(&out, "key", VIEW("value"));
	jout_object_end(&out);
	assert_int_equal(sbuf_check(&buf, "x", &err), -1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_document_has_its_commas),
	cmocka_unit_test(text_is_escaped_and_repaired),
	cmocka_unit_test(keys_are_escaped_too),
	cmocka_unit_test(nesting_reaches_its_limit_with_right_commas),
	cmocka_unit_test(failure_is_the_buffers),
};
TEST_MAIN(tests)
