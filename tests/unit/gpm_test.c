/* SPDX-License-Identifier: Apache-2.0 */

/* By readings of the node, at times that the test sets. */

#include "lib/nvml_fixture.h"

#include <string.h>

#include "agent/gpm.h"
#include "lib/fake_loop.inc"

#define NONE INT64_C(-2) /* no source was asked */

#define FAILURE "GPU performance monitoring: Unknown Error"
#define BUSY(percent) "\"graphicsUtilization\": " percent ","
#define PARTS(first, second)                                                          \
	DEVICE(GPU_A, "0", "\"mig\": {\"current\": true}, \"migDevices\": [" MIG(MIG_1, \
		"1g.5gb", "7", "4864", first) ", " MIG(MIG_2, "3g.20gb", "2", "20096", second) "],")

static int64_t percent_of(struct fixture *f, uint32_t partition)
{
	const struct report_device *device = ARRAY_AT(f->reading.devices, struct report_device, 0);
	const struct report_activity *activity =
		&ARRAY_AT(device->partitions, struct report_partition, partition)->activity;
	if (!activity->present)
		return NONE;
	assert_int_equal(activity->source, REPORT_ACTIVITY_GPM);
	return activity->utilization;
}

/* Reads that node so much later. */
static void expect(struct fixture *f, const char *node, uint64_t ms, int64_t first, int64_t second)
{
	fake_now_ms += ms;
	set_world(f, node);
	read_at(f, 1000);
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_OK);
	assert_int_equal(percent_of(f, 0), first);
	assert_int_equal(percent_of(f, 1), second);
}

static void each_gpu_instance_has_its_own_figure_from_the_second_reading_on(void **state)
{
	struct fixture *f = *state;
	expect(f, NODE(PARTS(BUSY("90"), BUSY("0")), ""), 0, -1, -1);
	expect(f, NODE(PARTS(BUSY("90"), BUSY("0")), ""), 15000, 90, 0);
	expect(f, NODE(PARTS(BUSY("4"), BUSY("77")), ""), 15000, 4, 77);
	assert_int_equal(f->reading.source.message.len, 0);
	/* Of the device as a whole nothing is told. */
	assert_false(ARRAY_AT(f->reading.devices, struct report_device, 0)->activity.present);
}

static void readings_too_close_together_repeat_the_figure(void **state)
{
	struct fixture *f = *state;
	expect(f, NODE(PARTS(BUSY("90"), BUSY("0")), ""), 0, -1, -1);
	expect(f, NODE(PARTS(BUSY("80"), BUSY("0")), ""), GPM_LEAST_MS - 1, -1, -1);
	expect(f, NODE(PARTS(BUSY("70"), BUSY("0")), ""), 1, 70, 0);
	expect(f, NODE(PARTS(BUSY("60"), BUSY("0")), ""), GPM_LEAST_MS - 1, 70, 0);
}

static void a_device_that_cannot_tell_is_not_asked_further(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 2; i++)
		expect(f, NODE(PARTS("", ""), ""), 15000, NONE, NONE);
	expect(f, NODE(PARTS(BUSY("90"), BUSY("0")), "\"errors\": {\"nvmlGpmMigSampleGet\": 3},"),
	       15000, NONE, NONE);
	assert_int_equal(f->reading.source.message.len, 0);
	open_reader(f, FAKE_NVML_OLD);
	set_world(f, NODE(PARTS(BUSY("90"), BUSY("0")), ""));
	read_at(f, 1000);
	assert_null(memmem(f->reading.source.message.ptr, f->reading.source.message.len, "GPU perf", 8));
}

static void a_call_that_fails_is_named_and_leaves_no_figure(void **state)
{
	struct fixture *f = *state;
	static const char *const nodes[] = {
		NODE(PARTS(BUSY("90"), BUSY("0")), "\"errors\": {\"nvmlGpmMigSampleGet\": 999},"),
		NODE(PARTS(BUSY("90"), BUSY("0")), "\"errors\": {\"nvmlGpmMetricsGet\": 999},"),
	};
	expect(f, NODE(PARTS(BUSY("90"), BUSY("0")), ""), 0, -1, -1);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		expect(f, nodes[i], 15000, -1, -1);
		assert_non_null(memmem(f->reading.source.message.ptr, f->reading.source.message.len,
				       FAILURE, sizeof(FAILURE) - 1));
	}
	expect(f, NODE(PARTS(BUSY("40"), BUSY("0")), ""), 15000, 40, 0);
}

static void a_figure_that_cannot_be_true_is_none(void **state)
{
	struct fixture *f = *state;
	expect(f, NODE(PARTS(BUSY("90"), BUSY("0")), ""), 0, -1, -1);
	expect(f, NODE(PARTS(BUSY("101"), BUSY("100")), ""), 15000, -1, 100);
}

/* A new instance under the number of one that went is compared with nothing of it. */
static void an_instance_that_goes_is_forgotten(void **state)
{
	struct fixture *f = *state;
	expect(f, NODE(PARTS(BUSY("90"), BUSY("0")), ""), 0, -1, -1);
	fake_now_ms += 15000;
	set_world(f, NODE(DEVICE(GPU_A, "0", "\"mig\": {\"current\": true},"), ""));
	read_at(f, 1000);
	expect(f, NODE(PARTS(BUSY("90"), BUSY("0")), ""), 15000, -1, -1);
	expect(f, NODE(PARTS(BUSY("90"), BUSY("0")), ""), 15000, 90, 0);
	/* The same when the driver was closed between. */
	set_world(f, NODE("", "\"errors\": {\"nvmlDeviceGetCount_v2\": 999},"));
	read_at(f, 1000);
	expect(f, NODE(PARTS(BUSY("90"), BUSY("0")), ""), 15000, -1, -1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		each_gpu_instance_has_its_own_figure_from_the_second_reading_on, set_up, tear_down),
	cmocka_unit_test_setup_teardown(readings_too_close_together_repeat_the_figure, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_device_that_cannot_tell_is_not_asked_further, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_call_that_fails_is_named_and_leaves_no_figure, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_figure_that_cannot_be_true_is_none, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_instance_that_goes_is_forgotten, set_up, tear_down),
};
TEST_MAIN(tests)
