/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_text.h"
#include "base/limits.h"
#include "lib/expect_status.h"

static struct arena arena;
static struct drift_text text;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MIB);
	text = (struct drift_text){.arena = &arena};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

TEST(values_stand_where_the_template_has_a_percent_sign)
{
	expect_text(drift_text(&text, "% of % (%)", drift_text_number(&text, -3), VIEW("50 %"),
			       (struct view){0}),
		    "-3 of 50 % ()");
	expect_text(drift_text(&text, "%%", VIEW("a"), VIEW("b")), "ab");
}

TEST(a_list_has_commas_between_its_items)
{
	struct view list = {0};

	list = drift_text_add(&text, list, VIEW("a"));
	expect_text(list, "a");
	expect_text(drift_text_add(&text, list, VIEW("b")), "a, b");
}

TEST(a_text_is_cut_before_the_character_that_does_not_fit)
{
	static char bytes[LIMIT_TEXT_SETTING + 100];
	struct view long_text = {bytes, LIMIT_TEXT_SETTING}, made;

	memset(bytes, 'x', sizeof(bytes));
	made = drift_text(&text, "%", long_text);
	assert_int_equal(made.len, LIMIT_TEXT_SETTING);
	memcpy(bytes + LIMIT_TEXT_SETTING - 1, "\xf0\x9f\x98\x80", 4);
	long_text.len = sizeof(bytes);
	made = drift_text(&text, "%%", long_text, VIEW("more"));
	assert_int_equal(made.len, LIMIT_TEXT_SETTING - 1);
	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes + LIMIT_TEXT_SETTING - 4, "\xf0\x9f\x98\x80", 4);
	made = drift_text(&text, "%", long_text);
	assert_int_equal(made.len, LIMIT_TEXT_SETTING);
}

TEST(that_there_is_no_memory_is_told_at_the_end)
{
	struct error err;

	assert_int_equal(drift_text_check(&text, &err), 0);
	arena.cap = 0;
	assert_int_equal(drift_text(&text, "a %", VIEW("b")).len, 0);
	arena.cap = LIMIT_MIB;
	expect_text(drift_text(&text, "a %", VIEW("b")), "a b");
	assert_int_equal(drift_text_check(&text, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
}

TESTS(set_up, tear_down)
