/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "agent/hardware.h"
#include "lib/own_folder.h"

#define DEVICES_FILE "hardware_test.json"
#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"

#define NODE(mode, processes, events)                                                        \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[{"             \
	"\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0,"                \
	"\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960,\"computeCapability\":\"8.0\"," \
	"\"computeMode\":\"" mode "\",\"processes\":[" processes "]}],\"events\":[" events "]}"
#define PROCESS(pid, memory) \
	"{\"pid\":" pid ",\"kind\":\"Compute\",\"memoryMiB\":" memory "}"
#define XID(sequence, code)                                                                   \
	"{\"sequence\":" sequence ",\"uuid\":\"" UUID "\",\"type\":\"XID\",\"code\":" code "}"

static struct error err;

static void set_node(const char *text)
{
	FILE *file = fopen(DEVICES_FILE ".tmp", "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(DEVICES_FILE ".tmp", DEVICES_FILE), 0);
}

static int setup(void **state)
{
	return setenv("FAKE_NVML_FILE", DEVICES_FILE, 1) == 0 ? own_folder_enter(state) : -1;
}

static struct report tell(const struct hardware *hardware)
{
	struct report report = {0};
	hardware_tell(hardware, &report);
	return report;
}

static void a_reading_is_told_and_only_a_change_is_news(void **state)
{
	(void)state;
	struct hardware hardware;
	assert_int_equal(hardware_init(&hardware, FAKE_NVML, &err), 0);
	set_node(NODE("Default", "", ""));
	assert_true(hardware_read(&hardware, 100));
	struct report report = tell(&hardware);
	assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_OK);
	assert_int_equal(report.sources.nvml.observed_at, 100);
	assert_int_equal(report.devices.count, 1);
	assert_true(view_equal(report.driver_version, VIEW("580.65.06")));
	assert_false(hardware_read(&hardware, 200));
	assert_int_equal(tell(&hardware).sources.nvml.observed_at, 200);
	set_node(NODE("ExclusiveProcess", "", ""));
	assert_true(hardware_read(&hardware, 300));
	hardware_deinit(&hardware);
}

static void a_process_is_news_but_its_memory_is_not(void **state)
{
	(void)state;
	struct hardware hardware;
	assert_int_equal(hardware_init(&hardware, FAKE_NVML, &err), 0);
	set_node(NODE("Default", "", ""));
	hardware_read(&hardware, 100);
	set_node(NODE("Default", PROCESS("42", "100"), ""));
	assert_true(hardware_read(&hardware, 200));
	set_node(NODE("Default", PROCESS("42", "200"), ""));
	assert_false(hardware_read(&hardware, 300));
	const struct report report = tell(&hardware);
	const struct report_device *device = ARRAY_AT(report.devices, struct report_device, 0);
	assert_int_equal(ARRAY_AT(device->processes, struct report_process, 0)->memory_mib, 200);
	set_node(NODE("Default", PROCESS("43", "200"), ""));
	assert_true(hardware_read(&hardware, 400));
	hardware_deinit(&hardware);
}

static void a_driver_in_trouble_leaves_the_last_good_devices_standing(void **state)
{
	(void)state;
	struct hardware hardware;
	assert_int_equal(hardware_init(&hardware, FAKE_NVML, &err), 0);
	set_node(NODE("Default", "", ""));
	hardware_read(&hardware, 100);
	set_node("{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[],"
		 "\"errors\":{\"nvmlDeviceGetCount_v2\":999}}");
	assert_true(hardware_read(&hardware, 200));
	struct report report = tell(&hardware);
	assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_ERROR);
	assert_true(report.sources.nvml.message.len > 0);
	assert_int_equal(report.sources.nvml.observed_at, 100);
	assert_int_equal(report.devices.count, 1);
	set_node(NODE("Default", "", ""));
	assert_true(hardware_read(&hardware, 300));
	assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_OK);
	hardware_deinit(&hardware);
}

static void a_node_without_the_library_has_no_such_source(void **state)
{
	(void)state;
	struct hardware hardware;
	assert_int_equal(hardware_init(&hardware, "./no-such-library.so.1", &err), 0);
	assert_true(hardware_read(&hardware, 100));
	struct report report = tell(&hardware);
	assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_ABSENT);
	assert_false(report.devices.present);
	assert_false(hardware_read(&hardware, 200));
	hardware_deinit(&hardware);
}

static void xid_errors_reach_the_queue_once(void **state)
{
	(void)state;
	struct hardware hardware;
	struct event_queue queue;
	event_queue_init(&queue, 0);
	assert_int_equal(hardware_init(&hardware, FAKE_NVML, &err), 0);
	set_node(NODE("Default", "", ""));
	hardware_read(&hardware, 100);
	assert_false(hardware_read_events(&hardware, 100, &queue));
	set_node(NODE("Default", "", XID("1", "79") "," XID("2", "13")));
	assert_true(hardware_read_events(&hardware, 200, &queue));
	assert_false(hardware_read_events(&hardware, 300, &queue));
	struct array events = event_queue_events(&queue);
	assert_int_equal(events.count, 2);
	assert_int_equal(ARRAY_AT(events, struct report_event, 0)->code, 79);
	assert_int_equal(ARRAY_AT(events, struct report_event, 1)->time, 200);
	assert_true(view_equal(ARRAY_AT(events, struct report_event, 1)->uuid, VIEW(UUID)));
	hardware_deinit(&hardware);
}

static void an_xid_that_no_report_can_carry_is_left_out(void **state)
{
	(void)state;
	struct hardware hardware;
	struct event_queue queue;
	event_queue_init(&queue, 0);
	assert_int_equal(hardware_init(&hardware, FAKE_NVML, &err), 0);
	set_node(NODE("Default", "", ""));
	hardware_read(&hardware, 100);
	set_node(NODE("Default", "", XID("1", "65536") "," XID("2", "65535")));
	assert_true(hardware_read_events(&hardware, 200, &queue));
	assert_int_equal(event_queue_events(&queue).count, 1);
	hardware_deinit(&hardware);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_reading_is_told_and_only_a_change_is_news),
	cmocka_unit_test(a_process_is_news_but_its_memory_is_not),
	cmocka_unit_test(a_driver_in_trouble_leaves_the_last_good_devices_standing),
	cmocka_unit_test(a_node_without_the_library_has_no_such_source),
	cmocka_unit_test(xid_errors_reach_the_queue_once),
	cmocka_unit_test(an_xid_that_no_report_can_carry_is_left_out),
};
TEST_MAIN_WITH(tests, setup, own_folder_leave)
