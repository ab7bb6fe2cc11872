/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/view.h"

static const struct view nothing = {NULL, 0};

static void null_is_an_empty_view(void **state)
{
	(void)state;
	assert_true(view_equal(view_from(NULL), nothing));
	assert_true(view_equal(view_from(""), nothing));
	assert_int_equal(view_from("abc").len, 3);
}

static void order_is_bytewise_and_a_prefix_comes_first(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		int order;
	} rows[] = {
		{"", "", 0},
		{"", "a", -1},
		{"a", "", 1},
		{"ab", "abc", -1},
		{"abd", "abc", 1},
		{"a\x80", "aZ", 1},
		{"same", "same", 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int order = view_compare(view_from(rows[i].a), view_from(rows[i].b));
		assert_int_equal((order > 0) - (order < 0), rows[i].order);
	}
	assert_int_equal(view_compare(nothing, nothing), 0);
}

static void pairs_are_in_the_order_of_their_first_parts_then_of_the_second_ones(void **state)
{
	(void)state;
	static const struct {
		const char *a, *a2, *b, *b2;
		int order;
	} rows[] = {
		{"a", "z", "b", "a", -1}, {"b", "a", "a", "z", 1}, {"a", "a", "a", "b", -1},
		{"a", "b", "a", "a", 1},  {"a", "b", "a", "b", 0}, {"ab", "", "a", "b", 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int order = view_compare_pairs(view_from(rows[i].a), view_from(rows[i].a2), view_from(rows[i].b),
					       view_from(rows[i].b2));
		assert_int_equal((order > 0) - (order < 0), rows[i].order);
	}
}

static void equality_looks_at_every_byte_including_nul(void **state)
{
	(void)state;
	assert_true(view_equal(VIEW("a\0b"), VIEW("a\0b")));
	assert_false(view_equal(VIEW("a\0b"), VIEW("a\0c")));
	assert_false(view_equal(VIEW("a"), VIEW("ab")));
}

static void a_copy_has_the_bytes_and_leaves_those_behind_them(void **state)
{
	(void)state;
	char room[] = "....";
	const struct view copy = view_copy(VIEW("a\0b"), room);

	assert_ptr_equal(copy.ptr, room);
	assert_true(view_equal(copy, VIEW("a\0b")));
	assert_int_equal(room[3], '.');
	assert_int_equal(view_copy(nothing, room + 3).len, 0);
	assert_int_equal(room[3], '.');
}

static void case_matters_neither_to_order_nor_to_a_copy_in_lower_case(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		int order;
	} rows[] = {
		{"", "", 0},    {"", "A", -1},     {"Ab", "aBc", -1}, {"ABd", "abc", 1},
		{"[", "A", -1}, {"AZaz", "azAZ", 0}, {"\x80", "z", 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int order = view_compare_ignoring_case(view_from(rows[i].a), view_from(rows[i].b));
		int back = view_compare_ignoring_case(view_from(rows[i].b), view_from(rows[i].a));

		assert_int_equal((order > 0) - (order < 0), rows[i].order);
		assert_int_equal((back > 0) - (back < 0), -rows[i].order);
	}
	char room[] = "........";
	const struct view copy = view_copy_lower(VIEW("@AZ[az\xc1"), room);
	assert_ptr_equal(copy.ptr, room);
	assert_true(view_equal(copy, VIEW("@az[az\xc1")));
	assert_int_equal(room[7], '.');
}

static void sorted_views_are_there_once(void **state)
{
	struct view views[] = {VIEW("b"), VIEW("ab"), VIEW("b"), nothing, VIEW("a"), VIEW("ab")};
	const size_t n = view_sort(views, ARRAY_SIZE(views));

	(void)state;
	assert_int_equal(n, 4);
	assert_true(view_equal(views[0], nothing));
	assert_true(view_equal(views[1], VIEW("a")));
	assert_true(view_equal(views[2], VIEW("ab")));
	assert_true(view_equal(views[3], VIEW("b")));
	assert_int_equal(view_sort(NULL, 0), 0);
	assert_true(view_is_among(VIEW("ab"), views, n));
	assert_true(view_is_among(nothing, views, n));
	assert_false(view_is_among(VIEW("abc"), views, n));
	assert_false(view_is_among(nothing, NULL, 0));
	for (size_t i = 0; i < n; i++)
		assert_true(view_is_found(views[i], views, n));
	assert_false(view_is_found(VIEW("aa"), views, n));
	assert_false(view_is_found(VIEW("c"), views, n));
	assert_false(view_is_found(nothing, NULL, 0));
}

static void only_ascii_letters_have_a_case(void **state)
{
	(void)state;
	assert_true(view_equal_ignoring_case(VIEW("Content-TYPE"), VIEW("content-type")));
	assert_false(view_equal_ignoring_case(VIEW("@"), VIEW("`")));
	assert_false(view_equal_ignoring_case(VIEW("["), VIEW("{")));
	assert_false(view_equal_ignoring_case(VIEW("\xc4"), VIEW("\xe4")));
	assert_false(view_equal_ignoring_case(VIEW("a"), VIEW("ab")));
}

static void prefixes_and_suffixes_are_found(void **state)
{
	(void)state;
	assert_true(view_starts_with(VIEW("GPU-1"), VIEW("GPU-")));
	assert_true(view_starts_with(VIEW("x"), nothing));
	assert_true(view_starts_with(nothing, nothing));
	assert_false(view_starts_with(VIEW("GP"), VIEW("GPU")));
	assert_true(view_ends_with(VIEW("a.json"), VIEW(".json")));
	assert_true(view_ends_with(nothing, nothing));
	assert_false(view_ends_with(VIEW("json"), VIEW(".json")));
}

static void trim_takes_blanks_from_both_ends_only(void **state)
{
	(void)state;
	assert_true(view_equal(view_trim(VIEW(" \t a b\r\n")), VIEW("a b")));
	assert_true(view_equal(view_trim(VIEW(" \n ")), nothing));
	assert_true(view_equal(view_trim(nothing), nothing));
}

static void cut_splits_at_the_first_separator(void **state)
{
	(void)state;
	static const struct {
		const char *text, *separator, *left, *right;
		bool found;
	} rows[] = {
		{"a=b=c", "=", "a", "b=c", true},
		{"a::b", "::", "a", "b", true},
		{"=b", "=", "", "b", true},
		{"a=", "=", "a", "", true},
		{"ab", "=", "ab", "", false},
		{"", "=", "", "", false},
		{"a:b", "::", "a:b", "", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view left, right;
		bool found = view_cut(view_from(rows[i].text), view_from(rows[i].separator), &left,
				      &right);
		assert_int_equal(found, rows[i].found);
		assert_true(view_equal(left, view_from(rows[i].left)));
		assert_true(view_equal(right, view_from(rows[i].right)));
	}
}

static void a_character_is_found_by_its_index(void **state)
{
	(void)state;
	assert_int_equal(view_find_char(VIEW("a/b/c"), '/'), 1);
	assert_int_equal(view_find_char(VIEW("abc"), '/'), -1);
	assert_int_equal(view_find_char(nothing, '/'), -1);
}

static void an_offset_at_the_end_gives_an_empty_rest(void **state)
{
	(void)state;
	assert_true(view_equal(view_from_offset(VIEW("abc"), 1), VIEW("bc")));
	assert_int_equal(view_from_offset(VIEW("abc"), 3).len, 0);
	assert_int_equal(view_from_offset(nothing, 0).len, 0);
}

static void unsigned_numbers_are_digits_without_overflow(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool ok;
		uint64_t value;
	} rows[] = {
		{"0", true, 0},
		{"007", true, 7},
		{"18446744073709551615", true, UINT64_MAX},
		{"18446744073709551616", false, 0},
		{"99999999999999999999", false, 0},
		{"", false, 0},
		{"-1", false, 0},
		{"+1", false, 0},
		{" 1", false, 0},
		{"1 ", false, 0},
		{"0x1", false, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 42;
		assert_int_equal(view_parse_u64(view_from(rows[i].text), &value), rows[i].ok);
		assert_true(value == (rows[i].ok ? rows[i].value : 42));
	}
}

static void signed_numbers_reach_both_ends_of_the_range(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool ok;
		int64_t value;
	} rows[] = {
		{"-1", true, -1},
		{"9223372036854775807", true, INT64_MAX},
		{"9223372036854775808", false, 0},
		{"-9223372036854775808", true, INT64_MIN},
		{"-9223372036854775809", false, 0},
		{"-", false, 0},
		{"--1", false, 0},
		{"", false, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t value = 42;
		assert_int_equal(view_parse_i64(view_from(rows[i].text), &value), rows[i].ok);
		assert_true(value == (rows[i].ok ? rows[i].value : 42));
	}
}

static void equal_bytes_hash_alike_and_neighbours_apart(void **state)
{
	(void)state;
	char text[64];
	unsigned collisions = 0;
	uint32_t seen[sizeof(text)];
	memset(text, 'x', sizeof(text));
	for (size_t len = 0; len < sizeof(text); len++) {
		seen[len] = view_hash((struct view){text, len});
		char copy[sizeof(text)];
		memcpy(copy, text, sizeof(text));
		assert_int_equal(view_hash((struct view){copy, len}), seen[len]);
		for (size_t i = 0; i < len; i++)
			collisions += seen[i] == seen[len];
	}
	/* Of 2016 pairs of random 32-bit numbers none is alike, but for one run in two million. */
	assert_int_equal(collisions, 0);
	assert_int_equal(view_hash(nothing), view_hash(VIEW("")));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(null_is_an_empty_view),
	cmocka_unit_test(order_is_bytewise_and_a_prefix_comes_first),
	cmocka_unit_test(pairs_are_in_the_order_of_their_first_parts_then_of_the_second_ones),
	cmocka_unit_test(a_copy_has_the_bytes_and_leaves_those_behind_them),
	cmocka_unit_test(case_matters_neither_to_order_nor_to_a_copy_in_lower_case),
	cmocka_unit_test(equality_looks_at_every_byte_including_nul),
	cmocka_unit_test(sorted_views_are_there_once),
	cmocka_unit_test(only_ascii_letters_have_a_case),
	cmocka_unit_test(prefixes_and_suffixes_are_found),
	cmocka_unit_test(trim_takes_blanks_from_both_ends_only),
	cmocka_unit_test(cut_splits_at_the_first_separator),
	cmocka_unit_test(a_character_is_found_by_its_index),
	cmocka_unit_test(an_offset_at_the_end_gives_an_empty_rest),
	cmocka_unit_test(unsigned_numbers_are_digits_without_overflow),
	cmocka_unit_test(signed_numbers_reach_both_ends_of_the_range),
	cmocka_unit_test(equal_bytes_hash_alike_and_neighbours_apart),
};
TEST_MAIN(tests)
