/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "schema/map_entry.h"

static void a_key_and_its_value_are_found_in_any_order(void **state)
{
	(void)state;
	static const struct {
		struct view message, key, value;
	} rows[] = {
		{VIEW_INIT("\x0a\x01k\x12\x01v"), VIEW_INIT("k"), VIEW_INIT("v")},
		{VIEW_INIT("\x12\x01v\x0a\x01k"), VIEW_INIT("k"), VIEW_INIT("v")},
		{VIEW_INIT("\x0a\x01k"), VIEW_INIT("k"), VIEW_INIT("")},
		{VIEW_INIT("\x12\x01v"), VIEW_INIT(""), VIEW_INIT("v")},
		{VIEW_INIT(""), VIEW_INIT(""), VIEW_INIT("")},
		/* a field of another number, and ours with another wire type */
		{VIEW_INIT("\x1a\x01x\x08\x07\x0a\x01k\x12\x01v"), VIEW_INIT("k"), VIEW_INIT("v")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct map_entry entry;
		struct error err;
		assert_int_equal(map_entry_decode(rows[i].message, &entry, &err), 0);
		assert_true(view_equal(entry.key, rows[i].key));
		assert_true(view_equal(entry.value, rows[i].value));
	}
}

static void a_quantity_is_the_text_in_the_value(void **state)
{
	(void)state;
	struct map_entry entry;
	struct error err;
	assert_int_equal(map_entry_decode_quantity(VIEW("\x0a\x03"
							"gpu\x12\x04\x0a\x02"
							"1k"),
						   &entry, &err),
			 0);
	assert_true(view_equal(entry.key, VIEW("gpu")));
	assert_true(view_equal(entry.value, VIEW("1k")));
	assert_int_equal(map_entry_decode_quantity(VIEW("\x0a\x01k"), &entry, &err), 0);
	assert_int_equal(entry.value.len, 0);
}

static void malformed_entries_are_refused_and_change_nothing(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT("\x0a"), VIEW_INIT("\x0a\x02k"), VIEW_INIT("\x0a\x01k\x12\x05v"),
		VIEW_INIT("\x00"), VIEW_INIT("\x0b"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct map_entry entry = {VIEW_INIT("a"), VIEW_INIT("b")};
		struct error err;
		assert_int_equal(map_entry_decode(rows[i], &entry, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_int_equal(map_entry_decode_quantity(rows[i], &entry, &err), -1);
		assert_true(view_equal(entry.key, VIEW("a")));
	}
	struct map_entry entry = {VIEW_INIT("a"), VIEW_INIT("b")};
	struct error err;
	assert_int_equal(map_entry_decode_quantity(VIEW("\x0a\x01k\x12\x02\x0a\x05"), &entry, &err),
			 -1);
	assert_true(view_equal(entry.value, VIEW("b")));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_key_and_its_value_are_found_in_any_order),
	cmocka_unit_test(a_quantity_is_the_text_in_the_value),
	cmocka_unit_test(malformed_entries_are_refused_and_change_nothing),
};

TEST_MAIN(tests)
