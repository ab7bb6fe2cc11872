/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "wire/base64.h"

static const struct {
	const char *bytes, *text;
} pairs[] = {
	{"", ""},
	{"f", "Zg=="},
	{"fo", "Zm8="},
	{"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"},
	{"\xfb\xef\xff", "++//"},
};

static void the_rfcs_examples_hold_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		CLEANUP(sbuf_deinit) struct sbuf out;
		sbuf_init(&out, 100);
		base64_encode(view_from(pairs[i].bytes), &out);
		assert_string_equal(sbuf_text(&out), pairs[i].text);
		sbuf_clear(&out);
		assert_true(base64_decode(view_from(pairs[i].text), &out));
		assert_string_equal(sbuf_text(&out), pairs[i].bytes);
	}
}

static void every_byte_and_length_survives(void **state)
{
	(void)state;
	char bytes[256];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		CLEANUP(sbuf_deinit) struct sbuf text;
		CLEANUP(sbuf_deinit) struct sbuf out;
		sbuf_init(&text, 1000);
		sbuf_init(&out, 1000);
		base64_encode((struct view){bytes, len}, &text);
		assert_true(base64_decode(sbuf_view(&text), &out));
		assert_true(view_equal(sbuf_view(&out), (struct view){bytes, len}));
	}
}

static void line_ends_are_skipped(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf out;
	sbuf_init(&out, 100);
	assert_true(base64_decode(VIEW("Zm9v\r\nYm\nFy\n"), &out));
	assert_string_equal(sbuf_text(&out), "foobar");
}

static void malformed_text_leaves_the_buffer_as_it_was(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"Z", "Zg", "Zg=", "Zm9vZ", "====", "=", "Z===", "Zg==Zg==", "Zg==\n=", "Zm 9v",
		"Zm9v!", "Zm-_", "Zg=a", "Zm8=x", "Zm9v\t",
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP(sbuf_deinit) struct sbuf out;
		sbuf_init(&out, 100);
		sbuf_append(&out, VIEW("before"));
		assert_false(base64_decode(view_from(bad[i]), &out));
		assert_string_equal(sbuf_text(&out), "before");
	}
}

static void the_alphabet_for_urls_has_no_padding_and_one_text_for_each_bytes(void **state)
{
	(void)state;
	static const struct {
		const char *text, *bytes; /* NULL: malformed */
	} rows[] = {
		{"", ""}, {"Zg", "f"}, {"Zm8", "fo"}, {"Zm9v", "foo"}, {"Zm9vYg", "foob"},
		{"Zm9vYmE", "fooba"}, {"Zm9vYmFy", "foobar"}, {"--__", "\xfb\xef\xff"},
		{"Z", NULL}, {"Zm9vZ", NULL}, {"Zg==", NULL}, {"Zm8=", NULL}, {"Zh", NULL},
		{"Zm9", NULL}, {"++//", NULL}, {"Zm9v\n", NULL}, {"Zm 9v", NULL}, {"Zm9v!", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf out;
		sbuf_init(&out, 100);
		assert_int_equal(base64_decode_url(view_from(rows[i].text), &out),
				 rows[i].bytes != NULL);
		assert_string_equal(sbuf_text(&out), rows[i].bytes ? rows[i].bytes : "");
	}
}

static void a_full_buffer_is_the_buffers_failure(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf out;
	sbuf_init(&out, 4);
	assert_true(base64_decode(VIEW("Zm9vYmFy"), &out));
	assert_int_equal(out.failure, ERROR_LIMIT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_rfcs_examples_hold_both_ways),
	cmocka_unit_test(every_byte_and_length_survives),
	cmocka_unit_test(line_ends_are_skipped),
	cmocka_unit_test(malformed_text_leaves_the_buffer_as_it_was),
	cmocka_unit_test(the_alphabet_for_urls_has_no_padding_and_one_text_for_each_bytes),
	cmocka_unit_test(a_full_buffer_is_the_buffers_failure),
};
TEST_MAIN(tests)
