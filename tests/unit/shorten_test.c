/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/printable.h"
#include "kubectl/shorten.h"
#include "lib/failing_malloc.h"

static void assert_cut(const struct shorten *shorten, const char *text, const char *expected)
{
	struct view cut = shorten_find(shorten, view_from(text));
	if (!view_equal(cut, view_from(expected)))
		fail_msg("%s: %.*s is not %s", text, VIEW_ARG(cut), expected);
}

static void a_long_text_keeps_its_beginning_and_its_end(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(shorten_deinit) struct shorten shorten;
	const struct view texts[] = {VIEW("short"), VIEW("notebook-d77984cc9-hzm7z"),
				     VIEW("notebook-d77984cc9-nspws"), VIEW("exactly-12.."),
				     VIEW("short")};
	assert_int_equal(shorten_init(&shorten, texts, ARRAY_SIZE(texts), 12, &err), 0);
	assert_cut(&shorten, "short", "short");
	assert_cut(&shorten, "exactly-12..", "exactly-12..");
	assert_cut(&shorten, "notebook-d77984cc9-hzm7z", "noteb\u2026-hzm7z");
	assert_cut(&shorten, "notebook-d77984cc9-nspws", "noteb\u2026-nspws");
}

static void texts_that_differ_only_in_the_middle_end_in_a_number(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(shorten_deinit) struct shorten shorten;
	const struct view texts[] = {VIEW("begin-b-the-same-end"), VIEW("begin-a-the-same-end"),
				     VIEW("begin-c-the-same-end"), VIEW("short")};
	assert_int_equal(shorten_init(&shorten, texts, ARRAY_SIZE(texts), 8, &err), 0);
	assert_cut(&shorten, "begin-a-the-same-end", "begin\u2026~1");
	assert_cut(&shorten, "begin-b-the-same-end", "begin\u2026~2");
	assert_cut(&shorten, "begin-c-the-same-end", "begin\u2026~3");
	assert_cut(&shorten, "short", "short");
}

static void a_character_is_cut_as_a_whole(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(shorten_deinit) struct shorten shorten;
	const struct view texts[] = {VIEW("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9")};
	assert_int_equal(shorten_init(&shorten, texts, 1, 8, &err), 0);
	assert_int_equal(printable_width(shorten_find(&shorten, texts[0])), 8);
	assert_cut(&shorten, texts[0].ptr, "\u00e9\u00e9\u00e9\u2026\u00e9\u00e9\u00e9\u00e9");
}

static void missing_memory_is_said(void **state)
{
	(void)state;
	const struct view texts[] = {VIEW("begin-b-the-same-end"), VIEW("begin-a-the-same-end")};
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct error err;
		CLEANUP(shorten_deinit) struct shorten shorten;
		failing_malloc_at(k);
		int result = shorten_init(&shorten, texts, ARRAY_SIZE(texts), 8, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_long_text_keeps_its_beginning_and_its_end),
	cmocka_unit_test(texts_that_differ_only_in_the_middle_end_in_a_number),
	cmocka_unit_test(a_character_is_cut_as_a_whole),
	cmocka_unit_test(missing_memory_is_said),
};
TEST_MAIN(tests)
