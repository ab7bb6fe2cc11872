/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/kubectl_error.h"

static void error_messages_are_held_and_the_rest_goes_on(void **state)
{
	(void)state;
	static const struct {
		const char *text, *held, *forwarded;
	} rows[] = {
		{"", "", ""},
		{"Error from server (NotFound): x\n", "Error from server (NotFound): x\n", ""},
		{"error: no\n", "error: no\n", ""},
		{"error: no end", "error: no end", ""},
		{"Please enter Username: ", "", "Please enter Username: "},
		{"Error: is another word\n", "", "Error: is another word\n"},
		{"Er", "", "Er"},
		{"a\nerror: b\nc\n", "error: b\n", "a\nc\n"},
		{"\n\nerror: b\n", "error: b\n", "\n\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t piece = 1; piece < 9; piece++) {
			CLEANUP(kubectl_error_deinit) struct kubectl_error said;
			CLEANUP(sbuf_deinit) struct sbuf forward;
			kubectl_error_init(&said);
			sbuf_init(&forward, 1000);
			for (struct view rest = view_from(rows[i].text); rest.len > 0;) {
				size_t n = rest.len < piece ? rest.len : piece;
				kubectl_error_feed(&said, (struct view){rest.ptr, n}, &forward);
				rest = view_from_offset(rest, n);
			}
			kubectl_error_finish(&said, &forward);
			sbuf_append_char(&forward, '\0');
			sbuf_append_char(&said.held, '\0');
			assert_string_equal(forward.ptr, rows[i].forwarded);
			assert_string_equal(said.held.ptr, rows[i].held);
		}
	}
}

static void a_prompt_is_not_kept_waiting(void **state)
{
	(void)state;
	CLEANUP(kubectl_error_deinit) struct kubectl_error said;
	CLEANUP(sbuf_deinit) struct sbuf forward;
	kubectl_error_init(&said);
	sbuf_init(&forward, 1000);
	kubectl_error_feed(&said, VIEW("Enter the code: "), &forward);
	assert_string_equal(sbuf_text(&forward), "Enter the code: ");
}

static void what_is_held_has_an_end(void **state)
{
	(void)state;
	CLEANUP(kubectl_error_deinit) struct kubectl_error said;
	CLEANUP(sbuf_deinit) struct sbuf forward;
	kubectl_error_init(&said);
	sbuf_init(&forward, 10);
	kubectl_error_feed(&said, VIEW("error: "), &forward);
	for (size_t i = 0; i < 2 * KUBECTL_ERROR_BYTES; i++)
		kubectl_error_feed(&said, VIEW("x"), &forward);
	assert_true(said.held.len <= KUBECTL_ERROR_BYTES);
	assert_int_equal(forward.len, 0);
}

static void causes_are_told_by_the_words_of_kubectl(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum kubectl_error_cause cause;
	} rows[] = {
		{"error: the server doesn't have a resource type \"gpuattributions\"",
		 KUBECTL_ERROR_NOT_INSTALLED},
		{"Error from server (NotFound): the server could not find the requested resource",
		 KUBECTL_ERROR_NOT_INSTALLED},
		{"Error from server (Forbidden): pods is forbidden: User", KUBECTL_ERROR_FORBIDDEN},
		{"Error from server (BadRequest): field label not supported: status.nodeName",
		 KUBECTL_ERROR_FIELD_NOT_SELECTABLE},
		{"error: You must be logged in to the server (Unauthorized)", KUBECTL_ERROR_OTHER},
		{"", KUBECTL_ERROR_OTHER},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(kubectl_error_cause(view_from(rows[i].text)), rows[i].cause);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(error_messages_are_held_and_the_rest_goes_on),
	cmocka_unit_test(a_prompt_is_not_kept_waiting),
	cmocka_unit_test(what_is_held_has_an_end),
	cmocka_unit_test(causes_are_told_by_the_words_of_kubectl),
};
TEST_MAIN(tests)
