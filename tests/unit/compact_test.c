/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/compact.h"

struct part {
	struct view name, other, alias;
	int64_t size, weight;
};

struct whole {
	struct view name;
	struct array parts, texts;
	bool is_odd;
	int64_t unnamed;
};

static const struct compact_row part_rows[] = {
	COMPACT_TEXTS_ROW(part, name, alias),
	COMPACT_PLAIN_ROW(part, size, weight),
	{0},
};

static const struct compact_row rows[] = {
	COMPACT_TEXTS_ROW(whole, name, name),
	COMPACT_ARRAY_ROW(whole, parts, struct part, part_rows),
	COMPACT_ARRAY_ROW(whole, texts, struct view, compact_text),
	COMPACT_PLAIN_ROW(whole, is_odd, is_odd),
	{0},
};

static struct part parts[2];
static struct view texts[2];

static struct whole begin(void)
{
	parts[0] = (struct part){VIEW("a"), VIEW("b"), VIEW(""), 1, 2};
	parts[1] = (struct part){VIEW("longer"), VIEW(""), VIEW("c"), 3, 4};
	texts[0] = VIEW("t");
	texts[1] = VIEW("");
	return (struct whole){VIEW("name"), {parts, 2, true}, {texts, 2, true}, true, 7};
}

static struct whole *copy_of(const struct whole *value)
{
	struct error err;
	void *copy;

	assert_int_equal(compact_new(rows, value, sizeof(*value), 6, &copy, &err), 0);
	return copy;
}

static void a_copy_is_equal_and_borrows_nothing(void **state)
{
	struct whole value = begin();
	struct whole *copy = copy_of(&value);

	(void)state;
	assert_true(compact_equal(rows, &value, copy));
	assert_int_equal(copy->unnamed, 7);
	parts[1].name = VIEW("other");
	texts[0] = VIEW("u");
	assert_true(view_equal(ARRAY_AT(copy->parts, struct part, 1)->name, VIEW("longer")));
	assert_true(view_equal(*ARRAY_AT(copy->texts, struct view, 0), VIEW("t")));
	free(copy);
}

static void each_member_with_a_row_is_compared(void **state)
{
	struct whole value = begin();
	struct whole *copy = copy_of(&value);

	(void)state;
	for (int i = 0; i < 9; i++) {
		struct whole other = begin();

		if (i == 0)
			other.name = VIEW("names");
		else if (i == 1)
			parts[1].name = VIEW("longest");
		else if (i == 2)
			parts[0].size = 3;
		else if (i == 6)
			parts[0].weight = 3;
		else if (i == 7)
			parts[0].other = VIEW("c");
		else if (i == 8)
			parts[0].alias = VIEW("c");
		else if (i == 3)
			other.parts.count = 1;
		else if (i == 4)
			texts[1] = VIEW("v");
		else
			other.is_odd = false;
		assert_false(compact_equal(rows, &other, copy));
	}
	value = begin();
	value.unnamed = 8;
	assert_true(compact_equal(rows, &value, copy));
	free(copy);
}

static void a_text_of_any_member_that_is_too_long_is_refused(void **state)
{
	const struct whole value = begin();
	struct error err = {0};
	void *copy = NULL;

	(void)state;
	assert_int_equal(compact_new(rows, &value, sizeof(value), 5, &copy, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	free(copy_of(&value));
	texts[1] = VIEW("longer still");
	assert_int_equal(compact_new(rows, &value, sizeof(value), 11, &copy, &err), -1);
	assert_null(copy);
	assert_int_equal(compact_new(rows, &value, sizeof(value), 12, &copy, &err), 0);
	free(copy);
}

static void without_memory_there_is_no_copy(void **state)
{
	const struct whole value = begin();
	struct error err = {0};
	void *copy = NULL;

	(void)state;
	failing_malloc_at(1);
	assert_int_equal(compact_new(rows, &value, sizeof(value), COMPACT_ANY_TEXT, &copy, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_null(copy);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_copy_is_equal_and_borrows_nothing),
	cmocka_unit_test(each_member_with_a_row_is_compared),
	cmocka_unit_test(a_text_of_any_member_that_is_too_long_is_refused),
	cmocka_unit_test(without_memory_there_is_no_copy),
};

TEST_MAIN(tests)
