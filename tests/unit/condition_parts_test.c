/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "model/condition_parts.h"

static const struct report_condition nothing = {
	.present = true, .ecc_volatile = {-1, -1}, .clocks_event_reasons = -1};

TEST(each_part_is_found_by_its_own_value)
{
	static const struct {
		struct report_condition c;
		unsigned parts;
	} rows[] = {
		{{.ecc_volatile = {-1, -1}}, 0},
		{{.ecc_volatile = {7, -1}}, 0},
		{{.ecc_volatile = {-1, 0}}, REPORT_PART_ECC},
		{{.ecc_volatile = {-1, -1}, .remapped_rows.present = true}, REPORT_PART_ROWS},
		{{.ecc_volatile = {-1, -1}, .retired_pages.present = true}, REPORT_PART_ROWS},
		{{.ecc_volatile = {-1, -1}, .rows_unsupported = true}, 0},
		{{.ecc_volatile = {-1, -1}, .recovery = REPORT_RECOVERY_NONE}, REPORT_PART_RECOVERY},
		{{.ecc_volatile = {-1, -1}, .slowdown.present = true}, REPORT_PART_SLOWDOWN},
		{{.ecc_volatile = {-1, -1}, .nvlinks.present = true},
		 REPORT_PART_LINKS | REPORT_PART_NVLINK},
		{{.ecc_volatile = {-1, -1}, .fabric = REPORT_FABRIC_NOT_STARTED},
		 REPORT_PART_LINKS | REPORT_PART_FABRIC},
		{{.ecc_volatile = {-1, -1}, .pcie_lanes.present = true},
		 REPORT_PART_LINKS | REPORT_PART_PCIE},
		/* Of its width nothing is known then. */
		{{.ecc_volatile = {-1, -1}, .pcie_generation.present = true}, 0},
		/* What was read lately is not what the values have. */
		{{.ecc_volatile = {-1, -1},
		  .parts_read = REPORT_PART_FIRST,
		  .further_parts_read = REPORT_PART_ALL},
		 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (condition_parts_find(&rows[i].c) != rows[i].parts)
			fail_msg("row %zu: %#x", i, condition_parts_find(&rows[i].c));
}

TEST(all_parts_of_a_device_that_tells_all_are_found)
{
	const struct report_condition all = {.remapped_rows.present = true,
					     .recovery = REPORT_RECOVERY_OTHER,
					     .slowdown.present = true,
					     .nvlinks.present = true,
					     .fabric = REPORT_FABRIC_COMPLETED,
					     .pcie_lanes.present = true};
	assert_int_equal(condition_parts_find(&all), REPORT_PART_ALL);
}

TEST(errors_of_memory_are_told_by_ecc_or_by_rows)
{
	struct report_condition c = nothing;
	assert_false(condition_parts_have_memory_errors(&c));
	c.rows_unsupported = true;
	assert_false(condition_parts_have_memory_errors(&c));
	c.retired_pages.present = true;
	assert_true(condition_parts_have_memory_errors(&c));
	c = nothing;
	c.ecc_volatile.uncorrected = 0;
	assert_true(condition_parts_have_memory_errors(&c));
}

TESTS(NULL, NULL)
