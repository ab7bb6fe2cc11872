/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/sbuf.h"
#include "wire/jwalk.h"

static struct error err;

/* "key=value;" for every member; "!" where the walk fails. */
static void expect_walk(const char *json, const char *expected)
{
	struct jwalk walk;
	struct sbuf seen;
	struct view key, value;
	sbuf_init(&seen, 4096);
	jwalk_init(&walk, view_from(json));
	while (jwalk_next(&walk, &key, &value))
		sbuf_printf(&seen, "%.*s=%.*s;", VIEW_ARG(key), VIEW_ARG(value));
	if (jwalk_check(&walk, "it", &err) != 0) {
		assert_int_equal(err.kind, ERROR_REJECTED);
		sbuf_append_char(&seen, '!');
	}
	assert_string_equal(sbuf_text(&seen), expected);
	sbuf_deinit(&seen);
}

static void members_are_yielded_in_order_with_the_bytes_of_their_values(void **state)
{
	(void)state;
	expect_walk("{}", "");
	expect_walk(" { } \n", "");
	expect_walk("{\"a\":1,\"b\" : \"x\" , \"c\":{\"d\":[1,{}]},\"e\":null}",
		    "a=1;b=\"x\";c={\"d\":[1,{}]};e=null;");
	expect_walk("{\"a\":\"}\\\"]\",\"b\":[\"{\"]}", "a=\"}\\\"]\";b=[\"{\"];");
	expect_walk("{\"a\":-1.5e+3,\"b\":18446744073709551616}",
		    "a=-1.5e+3;b=18446744073709551616;");
}

static void text_that_other_decoders_refuse_is_walked_over(void **state)
{
	(void)state;
	expect_walk("{\"a\":\"\\u0000\\ud800\",\"b\":1e400}", "a=\"\\u0000\\ud800\";b=1e400;");
}

static void malformed_objects_end_the_walk_with_an_error(void **state)
{
	(void)state;
	expect_walk("", "!");
	expect_walk("[]", "!");
	expect_walk("{", "!");
	expect_walk("{\"a\"}", "!");
	expect_walk("{\"a\":}", "!");
	expect_walk("{\"a\":1,}", "a=1;!");
	expect_walk("{\"a\":1 \"b\":2}", "a=1;!");
	expect_walk("{\"a\":[1}", "!");
	expect_walk("{\"a\":\"x}", "!");
	expect_walk("{\"a\":1}x", "a=1;!");
	expect_walk("{a:1}", "!");
}

static void only_plain_strings_are_texts(void **state)
{
	(void)state;
	struct view text = VIEW("kept");
	assert_false(jwalk_text(VIEW("1"), &text));
	assert_false(jwalk_text(VIEW("null"), &text));
	assert_false(jwalk_text(VIEW("\"a\\n\""), &text));
	assert_false(jwalk_text(VIEW(""), &text));
	assert_true(view_equal(text, VIEW("kept")));
	assert_true(jwalk_text(VIEW("\"ab\""), &text));
	assert_true(view_equal(text, VIEW("ab")));
	assert_true(jwalk_text(VIEW("\"\""), &text));
	assert_int_equal(text.len, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(members_are_yielded_in_order_with_the_bytes_of_their_values),
	cmocka_unit_test(text_that_other_decoders_refuse_is_walked_over),
	cmocka_unit_test(malformed_objects_end_the_walk_with_an_error),
	cmocka_unit_test(only_plain_strings_are_texts),
};
TEST_MAIN(tests)
