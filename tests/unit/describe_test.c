/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/describe.h"
#include "base/limits.h"
#include "lib/expect_status.h"

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

TEST(each_device_is_of_nvidia)
{
	const struct attribution_status published = {.device.vendor = VIEW("other")};
	const struct report_device reported = {.model = VIEW(" Tesla T4 ")};
	const struct describe_input rows[] = {{0}, {.reported = &reported}, {.published = &published}};
	struct attribution_device device;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(describe_device(&rows[i], &arena, &device, &err), 0);
		expect_text(device.vendor, "NVIDIA");
		expect_text(device.model, rows[i].reported ? "Tesla-T4" : "");
	}
}

TEST(without_room_for_the_mig_devices_it_fails)
{
	static struct report_partition partitions[LIMIT_PARTITIONS];
	const struct report_device reported = {.partitions = array_of(partitions, LIMIT_PARTITIONS)};
	const struct describe_input input = {.reported = &reported};
	struct array described;
	struct error err;

	assert_int_equal(describe_partitions(&input, &arena, &described, &err), 0);
	assert_int_equal(described.count, LIMIT_PARTITIONS);
	arena_deinit(&arena);
	arena_init(&arena, sizeof(struct attribution_partition));
	assert_int_equal(describe_partitions(&input, &arena, &described, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
}

TEST(slots_that_are_known_have_a_summary_or_it_fails)
{
	struct attribution_slots slots;
	struct error err;

	assert_int_equal(describe_slots(4, 5, &arena, &slots, &err), 0);
	assert_int_equal(slots.allocated, 4);
	expect_text(slots.summary, "4/4");
	assert_int_equal(describe_slots(4, -1, &arena, &slots, &err), 0);
	expect_text(slots.summary, "");
	arena_deinit(&arena);
	arena_init(&arena, 1);
	assert_int_equal(describe_slots(4, 1, &arena, &slots, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
}

TESTS(set_up, tear_down)
