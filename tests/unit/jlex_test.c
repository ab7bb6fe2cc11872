/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "wire/jlex.h"

/* Whether a text is one JSON value; looked at in a heap copy of just its size. */
static bool is_json(struct view text, unsigned max_depth, struct error *err)
{
	char *copy = malloc(text.len + 1);
	if (text.len)
		memcpy(copy, text.ptr, text.len);
	copy = realloc(copy, text.len ? text.len : 1);
	struct jlex lex;
	jlex_init(&lex, (struct view){copy, text.len}, max_depth, err);
	bool ok = jlex_skip(&lex) == 0 && jlex_finish(&lex) == 0;
	assert_true(!ok || lex.depth == 0);
	free(copy);
	return ok;
}

static void what_the_rfc_allows_is_passed_over(void **state)
{
	(void)state;
	static const struct view good[] = {
		VIEW_INIT("{}"),
		VIEW_INIT(" [ ] "),
		VIEW_INIT("\t\r\n1"),
		VIEW_INIT("true"),
		VIEW_INIT("false"),
		VIEW_INIT("null"),
		VIEW_INIT("\"\""),
		VIEW_INIT("0"),
		VIEW_INIT("-0"),
		VIEW_INIT("-0.0e-0"),
		VIEW_INIT("1E+2"),
		VIEW_INIT("123456789012345678901234567890"),
		VIEW_INIT("1e400"),
		VIEW_INIT("{\"a\":[1,2,{\"b\":null}],\"a\":\"twice\"}"),
		VIEW_INIT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\uD83D\\uDE00\""),
		VIEW_INIT("\"\\u0000\\ud800\\udc00 \\udfff\""),
		VIEW_INIT("\"\x7f \xc3\xa4\xf0\x9f\x98\x80\""),
		VIEW_INIT("[[[[1]]]]"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct error err = {0};
		if (!is_json(good[i], 8, &err))
			fail_msg("%.*s: %s", VIEW_ARG(good[i]), err.text);
	}
}

static void what_the_rfc_forbids_is_refused(void **state)
{
	(void)state;
	static const struct view bad[] = {
		VIEW_INIT(""),
		VIEW_INIT(" "),
		VIEW_INIT("\xef\xbb\xbf{}"),
		VIEW_INIT("{}}"),
		VIEW_INIT("{} x"),
		VIEW_INIT("1 2"),
		VIEW_INIT("[1,]"),
		VIEW_INIT("[,1]"),
		VIEW_INIT("[1 2]"),
		VIEW_INIT("[1"),
		VIEW_INIT("["),
		VIEW_INIT("[1}"),
		VIEW_INIT("{\"a\":1]"),
		VIEW_INIT("{\"a\":1,}"),
		VIEW_INIT("{\"a\"}"),
		VIEW_INIT("{\"a\" 1}"),
		VIEW_INIT("{a:1}"),
		VIEW_INIT("{1:1}"),
		VIEW_INIT("{'a':1}"),
		VIEW_INIT("{\"a\":}"),
		VIEW_INIT("{,}"),
		VIEW_INIT("{\"a\":1,,\"b\":2}"),
		VIEW_INIT("01"),
		VIEW_INIT("-01"),
		VIEW_INIT("-"),
		VIEW_INIT("+1"),
		VIEW_INIT(".5"),
		VIEW_INIT("5."),
		VIEW_INIT("1e"),
		VIEW_INIT("1e+"),
		VIEW_INIT("0x10"),
		VIEW_INIT("1_000"),
		VIEW_INIT("NaN"),
		VIEW_INIT("-NaN"),
		VIEW_INIT("Infinity"),
		VIEW_INIT("-Infinity"),
		VIEW_INIT("tru"),
		VIEW_INIT("TRUE"),
		VIEW_INIT("truex"),
		VIEW_INIT("nul"),
		VIEW_INIT("\""),
		VIEW_INIT("\"abc"),
		VIEW_INIT("\"\\"),
		VIEW_INIT("\"\\\""),
		VIEW_INIT("\"\\x41\""),
		VIEW_INIT("\"\\'\""),
		VIEW_INIT("\"\\\0\""),
		VIEW_INIT("\"\\u\""),
		VIEW_INIT("\"\\u12\""),
		VIEW_INIT("\"\\u123g\""),
		VIEW_INIT("\"\\u123"),
		VIEW_INIT("\"\\U0041\""),
		VIEW_INIT("\"a\nb\""),
		VIEW_INIT("\"a\tb\""),
		VIEW_INIT("\"a\0b\""),
		VIEW_INIT("\"\x1f\""),
		VIEW_INIT("\"\x80\""),
		VIEW_INIT("\"\xc3\""),
		VIEW_INIT("\"\xc0\x80\""),
		VIEW_INIT("\"\xed\xa0\x80\""),
		VIEW_INIT("\"\xff\""),
		VIEW_INIT("// comment\n1"),
		VIEW_INIT("/* comment */1"),
		VIEW_INIT("\x0b 1"),
		VIEW_INIT("\xc2\xa0 1"),
		VIEW_INIT("1\0"),
		VIEW_INIT("\0"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = {0};
		if (is_json(bad[i], 8, &err))
			fail_msg("accepted: %.*s", VIEW_ARG(bad[i]));
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void every_truncation_of_a_document_is_refused(void **state)
{
	(void)state;
	struct view whole = VIEW("{\"a\":[1.5e3,true,\"x\\u00e4\xc3\xa4\\n\",null],\"b\":{\"c\":{}}}");
	struct error err;
	for (size_t len = 0; len < whole.len; len++)
		assert_false(is_json((struct view){whole.ptr, len}, 8, &err));
	assert_true(is_json(whole, 8, &err));
}

static void nesting_ends_at_the_given_depth(void **state)
{
	(void)state;
	struct error err;
	assert_true(is_json(VIEW("[[[]]]"), 3, &err));
	assert_false(is_json(VIEW("[[[[]]]]"), 3, &err));
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_false(is_json(VIEW("{\"a\":{\"a\":{\"a\":{}}}}"), 3, &err));
	assert_true(is_json(VIEW("[[],[],[[]],{\"a\":{}}]"), 3, &err));
	assert_false(is_json(VIEW("[]"), 0, &err));
	char deep[100000];
	memset(deep, '[', sizeof(deep));
	assert_false(is_json((struct view){deep, sizeof(deep)}, JLEX_MAX_DEPTH, &err));
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void a_special_byte_is_seen_at_every_place_of_a_long_string(void **state)
{
	(void)state;
	static const char special[] = {'\x1f', '\0', '\\', '\x80'};
	struct error err;
	for (size_t at = 1; at < 39; at++) {
		for (size_t i = 0; i < sizeof(special); i++) {
			char text[40];
			memset(text, 'x', sizeof(text));
			text[0] = text[39] = '"';
			assert_true(is_json((struct view){text, sizeof(text)}, 1, &err));
			text[at] = special[i];
			assert_false(is_json((struct view){text, sizeof(text)}, 1, &err));
			text[at] = '"';
			assert_int_equal(is_json((struct view){text, sizeof(text)}, 1, &err),
					 at == 39);
		}
	}
}

static void the_place_of_a_fault_is_told(void **state)
{
	(void)state;
	struct error err;
	assert_false(is_json(VIEW("{\"a\":1,}"), 8, &err));
	assert_string_equal(err.text, "not JSON at byte 7: a string expected");
	assert_false(is_json(VIEW("[1 2]"), 8, &err));
	assert_string_equal(err.text, "not JSON at byte 3: ']' expected");
}

static void escapes_become_text(void **state)
{
	(void)state;
	static const struct {
		struct view raw, text;
	} rows[] = {
		{VIEW_INIT("a\\\"b\\\\c\\/"), VIEW_INIT("a\"b\\c/")},
		{VIEW_INIT("\\b\\f\\n\\r\\t"), VIEW_INIT("\b\f\n\r\t")},
		{VIEW_INIT("\\u0041\\u00e4\\u20AC"), VIEW_INIT("A\xc3\xa4\xe2\x82\xac")},
		{VIEW_INIT("\\ud83d\\uDE00!"), VIEW_INIT("\xf0\x9f\x98\x80!")},
		{VIEW_INIT("\\uffff\\u0800\\u07ff\\u007f\\u0080"),
		 VIEW_INIT("\xef\xbf\xbf\xe0\xa0\x80\xdf\xbf\x7f\xc2\x80")},
		{VIEW_INIT("\\udbff\\udfff"), VIEW_INIT("\xf4\x8f\xbf\xbf")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[100];
		size_t len;
		assert_true(jlex_unescape((struct jlex_string){rows[i].raw, true}, text, &len));
		assert_true(view_equal((struct view){text, len}, rows[i].text));
		assert_true(len <= rows[i].raw.len);
	}
}

static void what_is_no_text_is_not_unescaped(void **state)
{
	(void)state;
	static const struct view bad[] = {
		VIEW_INIT("a\\u0000"),    VIEW_INIT("\\ud800"),        VIEW_INIT("\\ud800x"),
		VIEW_INIT("\\ud800\\n"),  VIEW_INIT("\\udc00"),        VIEW_INIT("\\ud800\\ud800"),
		VIEW_INIT("\\udc00\\ud800"), VIEW_INIT("\\ud800\\u0041"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[100];
		size_t len;
		assert_false(jlex_unescape((struct jlex_string){bad[i], true}, text, &len));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_the_rfc_allows_is_passed_over),
	cmocka_unit_test(what_the_rfc_forbids_is_refused),
	cmocka_unit_test(every_truncation_of_a_document_is_refused),
	cmocka_unit_test(nesting_ends_at_the_given_depth),
	cmocka_unit_test(a_special_byte_is_seen_at_every_place_of_a_long_string),
	cmocka_unit_test(the_place_of_a_fault_is_told),
	cmocka_unit_test(escapes_become_text),
	cmocka_unit_test(what_is_no_text_is_not_unescaped),
};
TEST_MAIN(tests)
