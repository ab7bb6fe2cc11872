/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/list.h"

struct item {
	struct list link;
	char letter;
};

static struct item items[5];
static struct list head;

static int set_up(void **state)
{
	(void)state;
	list_init(&head);
	for (unsigned i = 0; i < ARRAY_SIZE(items); i++) {
		items[i].letter = (char)('a' + i);
		list_init(&items[i].link);
	}
	return 0;
}

static void append(struct list *list, const char *letters)
{
	for (; *letters; letters++)
		list_append(list, &items[*letters - 'a'].link);
}

/* The list is these, forwards and backwards. */
static void assert_list(const struct list *list, const char *letters)
{
	size_t n = strlen(letters), i = 0;

	for (struct list *l = list->next; l != list; l = l->next, i++) {
		assert_true(i < n);
		assert_int_equal(CONTAINER_OF(l, struct item, link)->letter, letters[i]);
	}
	assert_int_equal(i, n);
	for (struct list *l = list->previous; l != list; l = l->previous)
		assert_int_equal(CONTAINER_OF(l, struct item, link)->letter, letters[--i]);
	assert_int_equal(i, 0);
}

static void a_new_list_is_empty_and_has_no_first(void **state)
{
	(void)state;
	assert_true(list_is_empty(&head));
	assert_null(list_first(&head));
	assert_list(&head, "");
}

static void what_is_appended_comes_last(void **state)
{
	(void)state;
	append(&head, "abc");
	assert_false(list_is_empty(&head));
	assert_ptr_equal(list_first(&head), &items[0].link);
	assert_list(&head, "abc");
}

static void a_link_is_removed_from_wherever_it_is(void **state)
{
	(void)state;
	static const struct {
		char letter;
		const char *rest;
	} rows[] = {{'b', "acd"}, {'a', "cd"}, {'d', "c"}, {'c', ""}};

	append(&head, "abcd");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct list *link = &items[rows[i].letter - 'a'].link;

		list_remove(link);
		assert_list(&head, rows[i].rest);
		assert_true(list_is_empty(link));
		list_remove(link);
		assert_list(&head, rows[i].rest);
	}
	append(&head, "d");
	assert_list(&head, "d");
}

static void all_of_one_list_go_behind_another(void **state)
{
	(void)state;
	static const struct {
		const char *to;
		const char *from;
		const char *all;
	} rows[] = {{"", "", ""}, {"a", "", "a"}, {"", "a", "a"}, {"ab", "cde", "abcde"}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct list from;

		set_up(state);
		list_init(&from);
		append(&head, rows[i].to);
		append(&from, rows[i].from);
		list_append_all(&head, &from);
		assert_list(&head, rows[i].all);
		assert_list(&from, "");
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(a_new_list_is_empty_and_has_no_first, set_up),
	cmocka_unit_test_setup(what_is_appended_comes_last, set_up),
	cmocka_unit_test_setup(a_link_is_removed_from_wherever_it_is, set_up),
	cmocka_unit_test_setup(all_of_one_list_go_behind_another, set_up),
};

TEST_MAIN(tests)
