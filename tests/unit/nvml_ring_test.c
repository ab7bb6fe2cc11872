/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/nvml_ring.h"
#include "base/clock.h"

#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"

static struct nvml_ring *ring;
static struct nvml_ring_reader reader;
static struct nvml_ring_taken taken;

static int setup(void **state)
{
	(void)state;
	ring = nvml_ring_new();
	reader = (struct nvml_ring_reader){0};
	return ring ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	nvml_ring_free(ring);
	nvml_ring_free(NULL);
	return 0;
}

static void put(uint64_t xid)
{
	assert_true(nvml_ring_has_room(ring));
	nvml_ring_put(ring, &(struct nvml_event){.uuid = UUID,
						 .xid = xid,
						 .gpu_instance_id = 7,
						 .compute_instance_id = -1});
}

static void assert_taken(uint64_t first, uint32_t n)
{
	nvml_ring_take(ring, &reader, &taken);
	assert_int_equal(taken.n, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(taken.items[i].code, first + i);
		assert_int_equal(taken.items[i].sequence, i);
	}
}

static void another_process_tells_errors_also_after_it_was_killed(void **state)
{
	(void)state;
	const int64_t before = clock_wall_ms();
	pid_t pid = fork();
	if (pid == 0) {
		put(79);
		put(119);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	nvml_ring_take(ring, &reader, &taken);
	assert_int_equal(taken.n, 2);
	assert_int_equal(taken.items[1].code, 119);
	assert_true(view_equal(taken.items[1].uuid, VIEW(UUID)));
	assert_int_equal(taken.items[1].gpu_instance_id, 7);
	assert_int_equal(taken.items[1].compute_instance_id, -1);
	assert_int_equal(taken.items[1].type, REPORT_EVENT_XID);
	assert_in_range(taken.items[1].time, before, clock_wall_ms());
	assert_taken(0, 0);
}

static void each_error_is_taken_once_and_in_order_however_many_there_are(void **state)
{
	(void)state;
	uint64_t n = 0;
	for (uint32_t count = 0; count <= LIMIT_NVML_EVENTS; count++) {
		for (uint32_t i = 0; i < count; i++)
			put(n + i);
		assert_taken(n, count);
		n += count;
	}
}

static void counts_go_on_after_the_highest_number(void **state)
{
	(void)state;
	ring->n_put = ring->n_taken = reader.n_taken = UINT32_MAX - 2;
	for (uint32_t i = 0; i < LIMIT_NVML_EVENTS; i++)
		put(i);
	assert_false(nvml_ring_has_room(ring));
	assert_taken(0, LIMIT_NVML_EVENTS);
	put(1000);
	assert_taken(1000, 1);
}

static void a_full_ring_has_no_room_until_it_is_read(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LIMIT_NVML_EVENTS; i++)
		put(i);
	assert_false(nvml_ring_has_room(ring));
	assert_taken(0, LIMIT_NVML_EVENTS);
	assert_true(nvml_ring_has_room(ring));
}

static void what_no_report_can_carry_is_left_out_and_costs_nothing_else(void **state)
{
	(void)state;
	static const struct nvml_event good = {UUID, 79, 1, 2};
	struct nvml_event rows[] = {
		{"", 79, 1, 2},
		{"GPU-0", 79, 1, 2},
		{"MIG-11ba558d-3437-2335-2fd8-a78c8502f87f", 79, 1, 2},
		{UUID, LIMIT_NUMBER_XID + 1, 1, 2},
		{UUID, UINT64_MAX, 1, 2},
		{"", 79, 1, 2},
	};
	memset(rows[ARRAY_SIZE(rows) - 1].uuid, 'x', sizeof(rows[0].uuid)); /* it has no end */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		nvml_ring_put(ring, &good);
		nvml_ring_put(ring, &rows[i]);
		nvml_ring_put(ring, &good);
		nvml_ring_take(ring, &reader, &taken);
		assert_int_equal(taken.n, 2);
		assert_int_equal(taken.items[1].sequence, 1);
		assert_true(view_equal(taken.items[1].uuid, VIEW(UUID)));
	}
}

static void an_instance_that_cannot_be_is_not_told(void **state)
{
	(void)state;
	static const struct {
		int64_t put, taken;
	} rows[] = {
		{0, 0}, {LIMIT_NUMBER_INSTANCE, LIMIT_NUMBER_INSTANCE}, {LIMIT_NUMBER_INSTANCE + 1, -1},
		{-1, -1}, {-2, -1}, {INT64_MIN, -1}, {INT64_MAX, -1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		nvml_ring_put(ring, &(struct nvml_event){UUID, 79, rows[i].put, rows[i].put});
		assert_taken(79, 1);
		assert_int_equal(taken.items[0].gpu_instance_id, rows[i].taken);
		assert_int_equal(taken.items[0].compute_instance_id, rows[i].taken);
	}
}

/* The other process writes what it likes into all of it. */
static void rubbish_is_no_error_and_what_comes_later_is_taken(void **state)
{
	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		memset(ring, (int)byte, sizeof(*ring));
		assert_taken(0, 0);
		assert_taken(0, 0);
	}
	assert_true(nvml_ring_has_room(ring));
	put(79);
	assert_taken(79, 1);
}

static void a_count_that_the_other_process_sets_back_tells_nothing_twice(void **state)
{
	(void)state;
	put(79);
	assert_taken(79, 1);
	ring->n_taken = 0;
	assert_taken(0, 0);
	ring->n_put = 0;
	assert_taken(0, 0);
	put(94);
	assert_taken(94, 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(another_process_tells_errors_also_after_it_was_killed, setup,
					teardown),
	cmocka_unit_test_setup_teardown(
		each_error_is_taken_once_and_in_order_however_many_there_are, setup, teardown),
	cmocka_unit_test_setup_teardown(counts_go_on_after_the_highest_number, setup, teardown),
	cmocka_unit_test_setup_teardown(a_full_ring_has_no_room_until_it_is_read, setup, teardown),
	cmocka_unit_test_setup_teardown(
		what_no_report_can_carry_is_left_out_and_costs_nothing_else, setup, teardown),
	cmocka_unit_test_setup_teardown(an_instance_that_cannot_be_is_not_told, setup, teardown),
	cmocka_unit_test_setup_teardown(rubbish_is_no_error_and_what_comes_later_is_taken, setup,
					teardown),
	cmocka_unit_test_setup_teardown(
		a_count_that_the_other_process_sets_back_tells_nothing_twice, setup, teardown),
};
TEST_MAIN(tests)
