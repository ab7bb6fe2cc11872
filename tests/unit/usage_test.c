/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/usage.h"

/* Every help names what people look for in it, and fits a terminal of 100 columns. */
static void each_command_has_help_with_examples_flags_and_exit_status(void **state)
{
	(void)state;
	static const char *const parts[] = {"Usage:\n", "Examples:\n", "Flags:\n", "Exit status:\n",
					    "--context", "-o, --output"};
	for (int verb = INVOCATION_FLEET; verb <= INVOCATION_DEVICE; verb++) {
		const char *text = usage_of((enum invocation_verb)verb);
		const char *name = invocation_verb_name((enum invocation_verb)verb);
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			assert_non_null(strstr(text, parts[i]));
		assert_non_null(strstr(text, name));
		for (const char *line = text; *line;) {
			size_t len = strcspn(line, "\n");
			assert_true(len <= 100);
			line += len + (line[len] != '\0');
		}
		assert_int_equal(text[strlen(text) - 1], '\n');
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_command_has_help_with_examples_flags_and_exit_status),
};
TEST_MAIN(tests)
