/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "agent/hardware.h"
#include "lib/fake_loop.inc"
#include "lib/fake_nvml_process.inc"
#include "lib/fake_proc.h"
#include "lib/own_folder.h"

#define DEVICES_FILE "hardware_test.json"
#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"

#define NODE(mode, processes, events)                                                        \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[{"             \
	"\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0,"                \
	"\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960,\"computeCapability\":\"8.0\"," \
	"\"computeMode\":\"" mode "\",\"processes\":[" processes "]}],\"events\":[" events "]}"
#define BROKEN(function, events) BROKEN_BY(function, "999", events)
#define BROKEN_BY(function, code, events)                                                    \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[{"             \
	"\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0,"                \
	"\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960}],\"events\":[" events "],"       \
	"\"errors\":{\"" function "\":" code "}}"
#define MISMATCHED BROKEN_BY("nvmlDeviceGetCount_v2", "18", "")
#define PROCESS(pid, memory) \
	"{\"pid\":" pid ",\"kind\":\"Compute\",\"memoryMiB\":" memory "}"
#define XID(sequence, code)                                                                   \
	"{\"sequence\":" sequence ",\"uuid\":\"" UUID "\",\"type\":\"XID\",\"code\":" code "}"

#define POD "2c48913c-b29f-11e7-9350-020968147796"
#define OTHER "9f1c3c6e-8a55-4d0a-9f52-7f0e6a1b2c3d"
#define CGROUP(pod) "0::/kubepods/burstable/pod" pod "/main\n"

static struct error err;

static struct loop *loop;
static struct event_queue queue;
static unsigned changes; /* since they were looked at */

static void saw_changes(void *owner, unsigned saw)
{
	(void)owner;
	changes |= saw;
}

static void begin_with(struct hardware *hardware, struct hardware_config config)
{
	if (!config.library_name)
		config.library_name = FAKE_NVML;
	if (!config.proc_path)
		config.proc_path = "/proc";
	config.queue = &queue;
	config.history = (struct condition_history_settings){60000, 300000, 300000};
	event_queue_init(&queue, 0);
	fake_nvml_process_fail(NVML_PROCESS_FAILED, &(struct error){.kind = ERROR_NONE});
	assert_int_equal(loop_new(&loop, &err), 0);
	assert_int_equal(hardware_init(hardware, loop, &config, saw_changes, NULL, &err), 0);
}

static void begin(struct hardware *hardware)
{
	begin_with(hardware, (struct hardware_config){.processes = PROCESSES_OFF});
}

static void end(struct hardware *hardware)
{
	hardware_deinit(hardware);
	loop_free(loop);
}

/* What has changed at this moment. */
static unsigned see(int64_t wall)
{
	changes = 0;
	fake_wall_ms = wall;
	fake_loop_advance(loop, 0);
	return changes;
}

/* True when that was news. */
static bool read_at(struct hardware *hardware, int64_t wall)
{
	assert_true(hardware_read(hardware));
	assert_true(see(wall) & HARDWARE_READ);
	return (changes & (HARDWARE_NEWS | HARDWARE_EVENTS)) != 0;
}

/* True when that brought news. */
static bool outlast_hold(void)
{
	changes = 0;
	fake_loop_advance(loop, HARDWARE_HOLD_MS);
	return changes & HARDWARE_NEWS;
}

/* True when there were any. */
static bool look_at(struct hardware *hardware, int64_t wall)
{
	hardware_look(hardware);
	assert_int_equal(see(wall) & ~(unsigned)HARDWARE_EVENTS, 0);
	return changes & HARDWARE_EVENTS;
}

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
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	assert_true(read_at(&hardware, 100));
	struct report report = tell(&hardware);
	assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_OK);
	assert_int_equal(report.sources.nvml.observed_at, 100);
	assert_int_equal(report.devices.count, 1);
	assert_int_equal(report.nvml_processes, 1);
	assert_int_equal(report.nvml_left_behind, FAKE_NVML_PROCESS_LEFT_BEHIND);
	assert_true(view_equal(report.driver_version, VIEW("580.65.06")));
	assert_true(view_equal(report.cuda_version, VIEW("13.0")));
	assert_false(read_at(&hardware, 200));
	assert_int_equal(tell(&hardware).sources.nvml.observed_at, 200);
	set_node(NODE("ExclusiveProcess", "", ""));
	assert_true(read_at(&hardware, 300));
	end(&hardware);
}

static void a_process_is_news_but_its_memory_is_not(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	set_node(NODE("Default", PROCESS("42", "100"), ""));
	assert_true(read_at(&hardware, 200));
	set_node(NODE("Default", PROCESS("42", "200"), ""));
	assert_false(read_at(&hardware, 300));
	const struct report report = tell(&hardware);
	const struct report_device *device = ARRAY_AT(report.devices, struct report_device, 0);
	assert_int_equal(ARRAY_AT(device->processes, struct report_process, 0)->memory_mib, 200);
	set_node(NODE("Default", PROCESS("43", "200"), ""));
	assert_true(read_at(&hardware, 400));
	end(&hardware);
}

#define NODE_LIKE(condition)                                                                 \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[{"             \
	"\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0,"                \
	"\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960" condition "}]}"
#define ECC(counts) ",\"ecc\":{\"current\":true," counts "}"

static void a_worse_condition_is_news_but_corrected_errors_are_not(void **state)
{
	(void)state;
	static const struct {
		const char *before, *after;
		bool is_news;
	} rows[] = {
		{NODE_LIKE(ECC("\"corrected\":1,\"uncorrected\":0")),
		 NODE_LIKE(ECC("\"corrected\":2,\"uncorrected\":0")), false},
		{NODE_LIKE(ECC("\"corrected\":0,\"aggregate\":{\"corrected\":7,\"uncorrected\":1}")),
		 NODE_LIKE(ECC("\"corrected\":0,\"aggregate\":{\"corrected\":8,\"uncorrected\":1}")),
		 false},
		{NODE_LIKE(",\"remappedRows\":{\"correctable\":1}"),
		 NODE_LIKE(",\"remappedRows\":{\"correctable\":2}"), false},
		{NODE_LIKE(ECC("\"uncorrected\":0")), NODE_LIKE(ECC("\"uncorrected\":1")), true},
		{NODE_LIKE(ECC("\"corrected\":0,\"aggregate\":{\"corrected\":7,\"uncorrected\":1}")),
		 NODE_LIKE(ECC("\"corrected\":0,\"aggregate\":{\"corrected\":7,\"uncorrected\":2}")),
		 true},
		{NODE_LIKE(",\"remappedRows\":{\"uncorrectable\":1}"),
		 NODE_LIKE(",\"remappedRows\":{\"uncorrectable\":2}"), true},
		{NODE_LIKE(",\"remappedRows\":{\"pending\":false}"),
		 NODE_LIKE(",\"remappedRows\":{\"pending\":true}"), true},
		{NODE_LIKE(",\"remappedRows\":{\"failed\":false}"),
		 NODE_LIKE(",\"remappedRows\":{\"failed\":true}"), true},
		{NODE_LIKE(",\"retiredPages\":{\"pending\":false}"),
		 NODE_LIKE(",\"retiredPages\":{\"pending\":true}"), true},
		{NODE_LIKE(",\"recoveryAction\":0"), NODE_LIKE(",\"recoveryAction\":2"), true},
		{NODE_LIKE(",\"nvlinks\":{\"total\":4,\"active\":4}"),
		 NODE_LIKE(",\"nvlinks\":{\"total\":4,\"active\":3}"), true},
		{NODE_LIKE(",\"clocksEventReasons\":0"), NODE_LIKE(",\"clocksEventReasons\":64"), false},
		{NODE_LIKE(",\"fabric\":\"InProgress\""), NODE_LIKE(",\"fabric\":\"Completed\""), true},
		{NODE_LIKE(",\"pcieLanes\":{\"total\":16,\"active\":16}"),
		 NODE_LIKE(",\"pcieLanes\":{\"total\":16,\"active\":8}"), false},
		{NODE_LIKE(""), NODE_LIKE(",\"resetRequired\":true"), true},
		{NODE_LIKE(""), NODE_LIKE(",\"lost\":true"), true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hardware hardware;
		begin(&hardware);
		set_node(rows[i].before);
		assert_true(read_at(&hardware, 100));
		assert_false(read_at(&hardware, 200));
		set_node(rows[i].after);
		if (read_at(&hardware, 300) != rows[i].is_news)
			fail_msg("%s", rows[i].after);
		assert_false(read_at(&hardware, 400));
		end(&hardware);
	}
}

static void corrected_errors_ride_along(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE_LIKE(ECC("\"corrected\":1")));
	read_at(&hardware, 100);
	set_node(NODE_LIKE(ECC("\"corrected\":2")));
	assert_false(read_at(&hardware, 200));
	const struct report report = tell(&hardware);
	const struct report_device *device = ARRAY_AT(report.devices, struct report_device, 0);
	assert_int_equal(device->condition.ecc_volatile.corrected, 2);
	end(&hardware);
}

static void a_device_that_stays_lost_is_news_once(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE_LIKE(""));
	read_at(&hardware, 100);
	set_node(NODE_LIKE(",\"lost\":true"));
	assert_true(read_at(&hardware, 200));
	for (int i = 0; i < 3; i++)
		assert_false(read_at(&hardware, 300 + i));
	assert_int_equal(tell(&hardware).devices.count, 1);
	set_node(NODE_LIKE(""));
	assert_true(read_at(&hardware, 400));
	end(&hardware);
}

#define USED(percent) NODE_LIKE(",\"utilization\":{\"gpu\":" percent ",\"memory\":0}")
#define IDLE_AFTER_MS 60000

static void begin_with_windows(struct hardware *hardware)
{
	begin_with(hardware, (struct hardware_config){
				     .processes = PROCESSES_OFF,
				     .activity = {.busy_percent = 5, .idle_after_ms = IDLE_AFTER_MS}});
}

/* All clocks say the same. */
static bool read_in(struct hardware *hardware, int64_t ms)
{
	fake_now_ms = (uint64_t)ms;
	return read_at(hardware, ms);
}

static bool look_in(struct hardware *hardware, int64_t ms)
{
	fake_now_ms = (uint64_t)ms;
	return look_at(hardware, ms);
}

static struct report_activity tell_activity(const struct hardware *hardware)
{
	return ARRAY_AT(tell(hardware).devices, struct report_device, 0)->activity;
}

static void figures_of_activity_ride_along_and_a_change_of_state_is_news(void **state)
{
	(void)state;
	struct hardware hardware;
	begin_with_windows(&hardware);
	set_node(USED("4"));
	assert_true(read_in(&hardware, 1000));
	set_node(USED("3"));
	assert_false(read_in(&hardware, 2000));
	assert_int_equal(tell_activity(&hardware).utilization, 3);
	assert_int_equal(tell_activity(&hardware).state, REPORT_ACTIVITY_MEASURING);
	set_node(USED("5"));
	assert_true(read_in(&hardware, 3000));
	assert_int_equal(tell_activity(&hardware).state, REPORT_ACTIVITY_BUSY);
	set_node(USED("99"));
	assert_false(read_in(&hardware, 4000));
	assert_int_equal(tell_activity(&hardware).last_busy_at, 4000);
	set_node(USED("0"));
	assert_false(read_in(&hardware, 4000 + IDLE_AFTER_MS - 1));
	assert_true(read_in(&hardware, 4000 + IDLE_AFTER_MS));
	assert_int_equal(tell_activity(&hardware).state, REPORT_ACTIVITY_IDLE);
	assert_int_equal(tell_activity(&hardware).last_busy_at, 4000);
	assert_int_equal(tell_activity(&hardware).measured_since, 1000);
	end(&hardware);
}

static void work_between_two_readings_is_seen_when_it_is_looked_for(void **state)
{
	(void)state;
	for (int is_seen = 0; is_seen <= 1; is_seen++) {
		struct hardware hardware;
		begin_with_windows(&hardware);
		set_node(USED("0"));
		read_in(&hardware, 9000);
		set_node(USED("77"));
		if (is_seen)
			assert_false(look_in(&hardware, 14000));
		set_node(USED("1"));
		assert_int_equal(read_in(&hardware, 16000), is_seen);
		assert_int_equal(tell_activity(&hardware).utilization, is_seen ? 77 : 1);
		/* It counts once. */
		read_in(&hardware, 17000);
		assert_int_equal(tell_activity(&hardware).utilization, 1);
		assert_int_equal(tell_activity(&hardware).last_busy_at, is_seen ? 16000 : 0);
		end(&hardware);
	}
}

static void utilisation_that_cannot_be_read_or_be_true_is_not_measured(void **state)
{
	(void)state;
	static const char *const nodes[] = {
		NODE_LIKE(""), USED("101"), USED("4294967295"),
		NODE_LIKE(",\"utilization\":{\"gpu\":50,\"memory\":0},"
			  "\"errors\":{\"nvmlDeviceGetUtilizationRates\":999}"),
		NODE_LIKE(",\"utilization\":{\"gpu\":50,\"memory\":0},\"lost\":true"),
		NODE_LIKE(",\"utilization\":{\"gpu\":50,\"memory\":0},\"resetRequired\":true"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct hardware hardware;
		begin_with_windows(&hardware);
		set_node(NODE_LIKE(""));
		read_in(&hardware, 9000);
		set_node(nodes[i]);
		look_in(&hardware, 10000);
		read_in(&hardware, 11000);
		assert_int_equal(tell(&hardware).devices.count, 1);
		assert_false(tell_activity(&hardware).present);
		end(&hardware);
	}
}

/* What is told of the n-th process of the only device. */
static struct report_process tell_process(const struct hardware *hardware, uint32_t n)
{
	const struct report report = tell(hardware);
	const struct report_device *device = ARRAY_AT(report.devices, struct report_device, 0);
	assert_true(n < device->processes.count);
	return *ARRAY_AT(device->processes, struct report_process, n);
}

static void whose_a_process_is_is_told_and_news(void **state)
{
	(void)state;
	struct hardware hardware;
	struct fake_proc proc;
	fake_proc_init(&proc);
	begin_with(&hardware, (struct hardware_config){.processes = PROCESSES_AUTO,
						       .proc_path = proc.path});
	fake_proc_set(&proc, 42, 1, "python3\n", CGROUP(POD));
	set_node(NODE("Default", PROCESS("42", "100"), ""));
	assert_true(read_at(&hardware, 100));
	struct report_process process = tell_process(&hardware, 0);
	assert_true(view_equal(process.pod_uid, VIEW(POD)));
	assert_true(view_equal(process.command, VIEW("python3")));
	assert_int_equal(tell(&hardware).sources.processes.state, REPORT_SOURCE_OK);
	assert_false(read_at(&hardware, 200));
	set_node(NODE("Default", PROCESS("42", "200"), ""));
	assert_false(read_at(&hardware, 300));
	/* The number goes to a process of another pod. */
	fake_proc_set(&proc, 42, 2, "python3\n", CGROUP(OTHER));
	assert_true(read_at(&hardware, 400));
	assert_true(view_equal(tell_process(&hardware, 0).pod_uid, VIEW(OTHER)));
	assert_false(read_at(&hardware, 500));
	/* Without any process, that they cannot be seen is still news. */
	set_node(NODE("Default", "", ""));
	assert_true(read_at(&hardware, 600));
	fake_proc_remove(&proc, 1);
	assert_true(read_at(&hardware, 700));
	assert_int_equal(tell(&hardware).sources.processes.state, REPORT_SOURCE_ERROR);
	end(&hardware);
	fake_proc_deinit(&proc);
}

static void a_driver_in_trouble_leaves_the_processes_as_they_were_told(void **state)
{
	(void)state;
	struct hardware hardware;
	struct fake_proc proc;
	fake_proc_init(&proc);
	begin_with(&hardware, (struct hardware_config){.processes = PROCESSES_AUTO,
						       .proc_path = proc.path});
	fake_proc_set(&proc, 42, 1, "python3\n", CGROUP(POD));
	set_node(NODE("Default", PROCESS("42", "100"), ""));
	read_at(&hardware, 100);
	set_node("{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[],"
		 "\"errors\":{\"nvmlDeviceGetCount_v2\":999}}");
	assert_false(read_at(&hardware, 200));
	assert_true(outlast_hold());
	assert_true(view_equal(tell_process(&hardware, 0).pod_uid, VIEW(POD)));
	assert_int_equal(tell(&hardware).sources.processes.observed_at, 100);
	set_node(NODE("Default", PROCESS("42", "100"), ""));
	assert_true(read_at(&hardware, 300));
	assert_true(view_equal(tell_process(&hardware, 0).pod_uid, VIEW(POD)));
	assert_int_equal(tell(&hardware).sources.processes.observed_at, 300);
	end(&hardware);
	fake_proc_deinit(&proc);
}

/* As many as a report may name, each a stranger to all others. */
static void the_fullest_node_that_can_be_told_can_be_read(void **state)
{
	(void)state;
	struct hardware hardware;
	FILE *file = fopen(DEVICES_FILE ".tmp", "w");
	assert_non_null(file);
	fprintf(file, "{\"driverVersion\":\"1\",\"cudaVersion\":\"13.0\",\"devices\":[");
	for (unsigned d = 0; d < LIMIT_REPORT_DEVICES; d++) {
		fprintf(file, "%s{\"uuid\":\"GPU-11ba558d-3437-2335-2fd8-a78c8502%04x\",\"name\":\"L4\","
			"\"minor\":%u,\"pciBusID\":\"00000000:%02X:00.0\",\"memoryMiB\":24576,"
			"\"processes\":[", d ? "," : "", d, d, d);
		for (unsigned p = 0; p < LIMIT_REPORT_PROCESSES; p++)
			fprintf(file, "%s{\"pid\":%u,\"kind\":\"Compute\"}", p ? "," : "",
				4000000 + d * LIMIT_REPORT_PROCESSES + p);
		fprintf(file, "]}");
	}
	fprintf(file, "]}");
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(DEVICES_FILE ".tmp", DEVICES_FILE), 0);
	struct fake_proc proc;
	fake_proc_init(&proc);
	begin_with(&hardware, (struct hardware_config){.processes = PROCESSES_AUTO,
						       .proc_path = proc.path});
	assert_true(read_at(&hardware, 100));
	assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_OK);
	assert_int_equal(tell(&hardware).devices.count, LIMIT_REPORT_DEVICES);
	assert_false(read_at(&hardware, 200));
	end(&hardware);
	fake_proc_deinit(&proc);
}

static void a_driver_in_trouble_leaves_the_last_good_devices_standing(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	set_node("{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[],"
		 "\"errors\":{\"nvmlDeviceGetCount_v2\":999}}");
	assert_false(read_at(&hardware, 200));
	assert_true(outlast_hold());
	struct report report = tell(&hardware);
	assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_ERROR);
	assert_true(report.sources.nvml.message.len > 0);
	assert_int_equal(report.sources.nvml.observed_at, 100);
	assert_int_equal(report.devices.count, 1);
	set_node(NODE("Default", "", ""));
	assert_true(read_at(&hardware, 300));
	assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_OK);
	end(&hardware);
}

static void a_failure_between_two_good_readings_is_not_told(void **state)
{
	(void)state;
	static const char *const failures[] = {
		BROKEN("nvmlDeviceGetCount_v2", ""), BROKEN("nvmlInitWithFlags", ""),
	};
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		struct hardware hardware;
		begin(&hardware);
		set_node(NODE("Default", "", ""));
		read_at(&hardware, 100);
		/* Of a start only the next session knows. */
		set_node(BROKEN("nvmlDeviceGetCount_v2", ""));
		assert_false(read_at(&hardware, 200));
		set_node(failures[i]);
		assert_false(read_at(&hardware, 300));
		const struct report report = tell(&hardware);
		assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_OK);
		assert_int_equal(report.sources.nvml.observed_at, 100);
		assert_int_equal(report.sources.nvml.message.len, 0);
		assert_int_equal(report.devices.count, 1);
		set_node(NODE("Default", "", ""));
		assert_false(read_at(&hardware, 400));
		assert_int_equal(tell(&hardware).sources.nvml.observed_at, 400);
		assert_false(outlast_hold());
		assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_OK);
		end(&hardware);
	}
}

static void a_failure_that_lasts_is_told_once_and_is_the_latest_one(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	set_node(BROKEN("nvmlDeviceGetCount_v2", ""));
	assert_false(read_at(&hardware, 200));
	changes = 0;
	fake_loop_advance(loop, HARDWARE_HOLD_MS - 1);
	assert_int_equal(changes & HARDWARE_NEWS, 0);
	set_node(BROKEN("nvmlInitWithFlags", ""));
	assert_false(read_at(&hardware, 300));
	changes = 0;
	fake_loop_advance(loop, 1);
	assert_int_equal(changes, HARDWARE_NEWS);
	assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_ERROR);
	assert_true(view_equal(tell(&hardware).sources.nvml.message, VIEW("start: Unknown Error")));
	assert_int_equal(tell(&hardware).events_since, 0);
	assert_false(outlast_hold());
	/* The next one is told at once: nothing good stands there to be kept. */
	set_node(BROKEN("nvmlDeviceGetCount_v2", ""));
	assert_true(read_at(&hardware, 400));
	end(&hardware);
}

static void that_errors_may_be_missed_is_told_while_a_failure_is_not(void **state)
{
	(void)state;
	static const struct {
		const char *before;
		int64_t before_since, since, after_since;
	} rows[] = {
		{NODE("Default", "", ""), 100, 250, 400},
		/* What was not watched before is not watched now. */
		{BROKEN("nvmlEventSetCreate", ""), 0, 0, 400},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hardware hardware;
		begin(&hardware);
		set_node(rows[i].before);
		read_at(&hardware, 100);
		assert_int_equal(tell(&hardware).events_since, rows[i].before_since);
		set_node(BROKEN("nvmlDeviceGetCount_v2", ""));
		assert_false(read_at(&hardware, 200));
		/* Up to the moment of telling, each time. */
		fake_wall_ms = 240;
		(void)tell(&hardware);
		fake_wall_ms = 250;
		assert_int_equal(tell(&hardware).events_since, rows[i].since);
		/* No watch has begun, so there is no time since boot that would name one. */
		assert_int_equal(tell(&hardware).events_since_uptime_ms, 0);
		assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_OK);
		set_node(NODE("Default", "", ""));
		read_at(&hardware, 400);
		fake_wall_ms = 450;
		assert_int_equal(tell(&hardware).events_since, rows[i].after_since);
		assert_true(tell(&hardware).events_since_uptime_ms > 0);
		end(&hardware);
	}
}

/* These may be lost. */
static void that_no_device_answers_is_told_at_once(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	set_node(BROKEN("nvmlDeviceGetUUID", ""));
	assert_true(read_at(&hardware, 200));
	assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_ERROR);
	assert_int_equal(tell(&hardware).devices.count, 1);
	assert_false(outlast_hold());
	end(&hardware);
}

static void that_the_driver_does_not_fit_is_told_with_the_failure_and_ends_with_it(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	set_node(MISMATCHED);
	assert_false(read_at(&hardware, 200));
	assert_false(tell(&hardware).sources.nvml.has_driver_mismatch);
	assert_true(outlast_hold());
	assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_ERROR);
	assert_true(tell(&hardware).sources.nvml.has_driver_mismatch);
	assert_false(read_at(&hardware, 300));
	assert_true(tell(&hardware).sources.nvml.has_driver_mismatch);
	set_node(BROKEN("nvmlInitWithFlags", ""));
	assert_true(read_at(&hardware, 400));
	assert_false(tell(&hardware).sources.nvml.has_driver_mismatch);
	set_node(MISMATCHED);
	assert_true(read_at(&hardware, 500));
	assert_true(tell(&hardware).sources.nvml.has_driver_mismatch);
	set_node(NODE("Default", "", ""));
	assert_true(read_at(&hardware, 600));
	assert_false(tell(&hardware).sources.nvml.has_driver_mismatch);
	end(&hardware);
}

static void a_hang_is_told_at_once_after_a_failure_that_was_not(void **state)
{
	(void)state;
	struct hardware hardware;
	struct error why = {.kind = ERROR_RETRY, .text = "for a reason"};
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	fake_nvml_process_fail(NVML_PROCESS_FAILED, &why);
	assert_false(read_at(&hardware, 200));
	fake_nvml_process_fail(NVML_PROCESS_HANGS, &why);
	assert_true(read_at(&hardware, 300));
	assert_true(tell(&hardware).sources.nvml.hangs);
	assert_false(outlast_hold());
	assert_true(tell(&hardware).sources.nvml.hangs);
	why.kind = ERROR_NONE;
	fake_nvml_process_fail(NVML_PROCESS_HANGS, &why);
	end(&hardware);
}

static void a_late_reading_is_told_and_the_driver_hangs_still(void **state)
{
	(void)state;
	struct hardware hardware;
	struct error why = {.kind = ERROR_RETRY, .text = "for a reason"};
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	fake_nvml_process_fail(NVML_PROCESS_HANGS, &why);
	assert_true(read_at(&hardware, 100));
	why.kind = ERROR_NONE;
	fake_nvml_process_fail(NVML_PROCESS_HANGS, &why);
	fake_nvml_process_doubt(true);
	assert_true(read_at(&hardware, 200)); /* the devices */
	assert_false(read_at(&hardware, 300));
	assert_int_equal(tell(&hardware).sources.nvml.observed_at, 300);
	set_node(NODE("Default", "", XID("1", "94")));
	assert_true(read_at(&hardware, 400));
	assert_int_equal(event_queue_events(&queue).count, 1);
	set_node(MISMATCHED);
	assert_false(read_at(&hardware, 500));
	struct report report = tell(&hardware);
	assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_ERROR);
	assert_true(report.sources.nvml.hangs);
	assert_true(view_equal(report.sources.nvml.message, VIEW("for a reason")));
	assert_int_equal(report.sources.nvml.hang_count, 1);
	assert_int_equal(report.sources.nvml.observed_at, 400);
	assert_int_equal(report.devices.count, 1);
	set_node(NODE("Default", "", ""));
	fake_nvml_process_doubt(false);
	assert_true(read_at(&hardware, 600));
	report = tell(&hardware);
	assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_OK);
	assert_false(report.sources.nvml.hangs);
	end(&hardware);
}

static void a_failure_lasts_until_a_reading_is_beyond_doubt(void **state)
{
	(void)state;
	struct hardware hardware;
	struct error why = {.kind = ERROR_RETRY, .text = "for a reason"};
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	fake_nvml_process_fail(NVML_PROCESS_FAILED, &why);
	assert_false(read_at(&hardware, 200));
	why.kind = ERROR_NONE;
	fake_nvml_process_fail(NVML_PROCESS_FAILED, &why);
	fake_nvml_process_doubt(true);
	assert_false(read_at(&hardware, 300));
	assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_OK);
	assert_true(outlast_hold());
	assert_false(read_at(&hardware, 400));
	assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_ERROR);
	assert_int_equal(tell(&hardware).sources.nvml.observed_at, 400);
	set_node(NODE("ExclusiveProcess", "", ""));
	assert_true(read_at(&hardware, 500)); /* the device is told */
	/* Another failure is one without a doubt. */
	set_node(BROKEN("nvmlDeviceGetCount_v2", ""));
	assert_true(read_at(&hardware, 600));
	set_node(NODE("Default", "", ""));
	fake_nvml_process_doubt(false);
	assert_true(read_at(&hardware, 700));
	assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_OK);
	end(&hardware);
}

static void an_error_is_told_while_a_failure_is_not(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	set_node(BROKEN("nvmlDeviceGetCount_v2", XID("1", "79")));
	assert_true(read_at(&hardware, 200));
	assert_int_equal(event_queue_events(&queue).count, 1);
	assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_OK);
	end(&hardware);
}

static void a_node_without_the_library_has_no_such_source(void **state)
{
	(void)state;
	struct hardware hardware;
	begin_with(&hardware, (struct hardware_config){.library_name = "./no-such-library.so.1"});
	assert_true(read_at(&hardware, 100));
	struct report report = tell(&hardware);
	assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_ABSENT);
	assert_true(report.sources.nvml.message.len > 0);
	assert_false(report.devices.present);
	assert_false(read_at(&hardware, 200));
	end(&hardware);
}

static void xid_errors_reach_the_queue_once(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	assert_false(look_at(&hardware, 100));
	set_node(NODE("Default", "", XID("1", "79") "," XID("2", "13")));
	assert_true(look_at(&hardware, 200));
	assert_false(look_at(&hardware, 300));
	struct array events = event_queue_events(&queue);
	assert_int_equal(events.count, 2);
	assert_int_equal(ARRAY_AT(events, struct report_event, 0)->code, 79);
	assert_int_equal(ARRAY_AT(events, struct report_event, 1)->time, 200);
	assert_true(view_equal(ARRAY_AT(events, struct report_event, 1)->uuid, VIEW(UUID)));
	end(&hardware);
}

static void two_alike_errors_at_once_are_two(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	set_node(NODE("Default", "", XID("1", "31") "," XID("2", "31")));
	assert_true(look_at(&hardware, 200));
	struct array events = event_queue_events(&queue);
	assert_int_equal(events.count, 2);
	assert_int_equal(ARRAY_AT(events, struct report_event, 0)->time, 200);
	assert_int_equal(ARRAY_AT(events, struct report_event, 1)->time, 201);
	assert_int_equal(ARRAY_AT(events, struct report_event, 1)->uptime_ms,
			 ARRAY_AT(events, struct report_event, 0)->uptime_ms + 1);
	end(&hardware);
}

static void an_xid_keeps_the_instances_that_a_report_can_carry(void **state)
{
	(void)state;
	static const struct {
		const char *event;
		int64_t gpu_instance_id, compute_instance_id;
	} rows[] = {
		{"", -1, -1},
		{",\"gpuInstanceID\":7,\"computeInstanceID\":0", 7, 0},
		{",\"gpuInstanceID\":65535,\"computeInstanceID\":65536", 65535, -1},
		{",\"gpuInstanceID\":65536,\"computeInstanceID\":1", -1, 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hardware hardware;
		char node[1024];
		begin(&hardware);
		set_node(NODE("Default", "", ""));
		read_at(&hardware, 100);
		snprintf(node, sizeof(node),
			 NODE("Default", "", "{\"sequence\":1,\"uuid\":\"" UUID
			      "\",\"type\":\"XID\",\"code\":94%s}"), rows[i].event);
		set_node(node);
		assert_true(look_at(&hardware, 200));
		const struct array events = event_queue_events(&queue);
		const struct report_event *event = ARRAY_AT(events, struct report_event, 0);
		assert_int_equal(event->gpu_instance_id, rows[i].gpu_instance_id);
		assert_int_equal(event->compute_instance_id, rows[i].compute_instance_id);
		end(&hardware);
	}
}

static void an_xid_that_no_report_can_carry_is_left_out(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	set_node(NODE("Default", "", XID("1", "65536") "," XID("2", "65535")));
	assert_true(look_at(&hardware, 200));
	assert_int_equal(event_queue_events(&queue).count, 1);
	end(&hardware);
}

static void a_driver_that_hangs_or_fails_leaves_the_last_good_devices_standing(void **state)
{
	(void)state;
	static const struct {
		enum nvml_process_outcome outcome;
		bool hangs;
	} rows[] = {{NVML_PROCESS_HANGS, true}, {NVML_PROCESS_FAILED, false}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hardware hardware;
		struct error why = {.kind = ERROR_RETRY, .text = "for a reason"};
		begin(&hardware);
		set_node(NODE("Default", "", ""));
		read_at(&hardware, 100);
		fake_nvml_process_fail(rows[i].outcome, &why);
		assert_int_equal(read_at(&hardware, 200), rows[i].hangs);
		assert_int_equal(outlast_hold(), !rows[i].hangs);
		const struct report report = tell(&hardware);
		assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_ERROR);
		assert_int_equal(report.sources.nvml.hangs, rows[i].hangs);
		assert_true(view_equal(report.sources.nvml.message, VIEW("for a reason")));
		assert_int_equal(report.sources.nvml.observed_at, 100);
		assert_int_equal(report.devices.count, 1);
		assert_false(read_at(&hardware, 300));
		why.kind = ERROR_NONE;
		fake_nvml_process_fail(rows[i].outcome, &why);
		assert_true(read_at(&hardware, 400));
		assert_int_equal(tell(&hardware).sources.nvml.state, REPORT_SOURCE_OK);
		assert_false(tell(&hardware).sources.nvml.hangs);
		end(&hardware);
	}
}

static void go_on(struct hardware *hardware)
{
	read_at(hardware, 300);
}

static void start_another_process(struct hardware *hardware)
{
	struct error why = {.kind = ERROR_RETRY, .text = "for a reason"};
	fake_nvml_process_fail(NVML_PROCESS_FAILED, &why);
	read_at(hardware, 300);
	why.kind = ERROR_NONE;
	fake_nvml_process_fail(NVML_PROCESS_FAILED, &why);
}

static void fail_a_reading(struct hardware *hardware)
{
	set_node(BROKEN("nvmlDeviceGetCount_v2", ""));
	read_at(hardware, 300);
}

static void lose_the_device(struct hardware *hardware)
{
	set_node(NODE_LIKE(",\"lost\":true"));
	read_at(hardware, 300);
}

/* A driver without persistence mode counts anew when its last client goes. */
static void counts_that_fall_while_nvml_is_left_tell_of_no_reset(void **state)
{
	(void)state;
	static const struct {
		void (*between)(struct hardware *hardware);
		bool is_reset;
	} rows[] = {{go_on, true}, {start_another_process, false}, {fail_a_reading, false},
		   {lose_the_device, false}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hardware hardware;
		begin(&hardware);
		set_node(NODE_LIKE(ECC("\"corrected\":3,\"uncorrected\":5")));
		read_at(&hardware, 100);
		read_at(&hardware, 200);
		rows[i].between(&hardware);
		set_node(NODE_LIKE(ECC("\"corrected\":0,\"uncorrected\":0")));
		read_at(&hardware, 400);
		read_at(&hardware, 500);
		const struct report report = tell(&hardware);
		const struct report_device *device = ARRAY_AT(report.devices, struct report_device, 0);
		assert_int_equal(device->condition.ecc_volatile.uncorrected, 0);
		assert_int_equal(device->condition.reset_time > 0, rows[i].is_reset);
		end(&hardware);
	}
}

static void since_when_errors_are_watched_is_told(void **state)
{
	(void)state;
	struct hardware hardware;
	begin(&hardware);
	assert_int_equal(tell(&hardware).events_since, 0);
	set_node(NODE("Default", "", ""));
	read_at(&hardware, 100);
	read_at(&hardware, 200);
	look_at(&hardware, 300);
	assert_int_equal(tell(&hardware).events_since, 100);
	end(&hardware);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_reading_is_told_and_only_a_change_is_news),
	cmocka_unit_test(a_process_is_news_but_its_memory_is_not),
	cmocka_unit_test(a_worse_condition_is_news_but_corrected_errors_are_not),
	cmocka_unit_test(corrected_errors_ride_along),
	cmocka_unit_test(a_device_that_stays_lost_is_news_once),
	cmocka_unit_test(figures_of_activity_ride_along_and_a_change_of_state_is_news),
	cmocka_unit_test(work_between_two_readings_is_seen_when_it_is_looked_for),
	cmocka_unit_test(utilisation_that_cannot_be_read_or_be_true_is_not_measured),
	cmocka_unit_test(whose_a_process_is_is_told_and_news),
	cmocka_unit_test(a_driver_in_trouble_leaves_the_processes_as_they_were_told),
	cmocka_unit_test(the_fullest_node_that_can_be_told_can_be_read),
	cmocka_unit_test(a_driver_in_trouble_leaves_the_last_good_devices_standing),
	cmocka_unit_test(a_failure_between_two_good_readings_is_not_told),
	cmocka_unit_test(that_errors_may_be_missed_is_told_while_a_failure_is_not),
	cmocka_unit_test(a_failure_that_lasts_is_told_once_and_is_the_latest_one),
	cmocka_unit_test(that_no_device_answers_is_told_at_once),
	cmocka_unit_test(that_the_driver_does_not_fit_is_told_with_the_failure_and_ends_with_it),
	cmocka_unit_test(a_hang_is_told_at_once_after_a_failure_that_was_not),
	cmocka_unit_test(a_late_reading_is_told_and_the_driver_hangs_still),
	cmocka_unit_test(a_failure_lasts_until_a_reading_is_beyond_doubt),
	cmocka_unit_test(an_error_is_told_while_a_failure_is_not),
	cmocka_unit_test(a_node_without_the_library_has_no_such_source),
	cmocka_unit_test(xid_errors_reach_the_queue_once),
	cmocka_unit_test(two_alike_errors_at_once_are_two),
	cmocka_unit_test(an_xid_keeps_the_instances_that_a_report_can_carry),
	cmocka_unit_test(an_xid_that_no_report_can_carry_is_left_out),
	cmocka_unit_test(a_driver_that_hangs_or_fails_leaves_the_last_good_devices_standing),
	cmocka_unit_test(counts_that_fall_while_nvml_is_left_tell_of_no_reset),
	cmocka_unit_test(since_when_errors_are_watched_is_told),
};
TEST_MAIN_WITH(tests, setup, own_folder_leave)
