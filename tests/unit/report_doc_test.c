/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <time.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "lib/failing_malloc.h"
#include "lib/golden.h"
#include "schema/report_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

#define G0 "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define G1 "GPU-6e027708-5f1c-4c0e-9d0a-0a1b2c3d4e5f"
#define M0 "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"
#define HEAD                                                                     \
	"\"version\":1,\"node\":\"gpu-a\",\"bootID\":\"b\",\"instance\":1,"      \
	"\"sequence\":2,\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{}"
#define WITH(members) "{" HEAD "," members "}"
#define IN_CONDITION(members) \
	WITH("\"devices\":[{\"uuid\":\"" G0 "\",\"condition\":{" members "}}]")

struct fixture {
	struct arena arena;
	struct sbuf buf;
};

static int setup(void **state)
{
	static struct fixture fixture;
	arena_init(&fixture.arena, 16 * LIMIT_MIB);
	sbuf_init(&fixture.buf, 4 * LIMIT_MIB);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	arena_deinit(&fixture->arena);
	sbuf_deinit(&fixture->buf);
	return 0;
}

static struct report decode(struct fixture *fixture, struct view json)
{
	struct report report;
	struct error err;
	if (report_doc_decode(json, &fixture->arena, &report, &err) != 0)
		fail_msg("%s", err.text);
	return report;
}

static void the_protocols_own_example_is_understood(void **state)
{
	struct view json = golden_read("report_v1.json");
	struct report report = decode(*state, json);

	assert_int_equal(report.version, 1);
	assert_text(report.node, "gpu-a");
	assert_text(report.boot_id, "1d0f5f7c-6d0e-4b36-9c1b-3f1d6e3d2a10");
	assert_int_equal(report.instance, 812345);
	assert_int_equal(report.sequence, 42);
	assert_int_equal(report.observed_at, INT64_C(1767323045678));
	assert_text(report.driver_version, "580.65.06");
	assert_int_equal(report.kubelet_restarted_at, INT64_C(1767225600000));
	assert_int_equal(report.sources.nvml.state, REPORT_SOURCE_OK);
	assert_int_equal(report.sources.processes.state, REPORT_SOURCE_ABSENT);
	assert_text(report.sources.processes.message, "host PIDs are not visible");
	assert_int_equal(report.sources.dcgm.state, REPORT_SOURCE_UNKNOWN);

	assert_int_equal(report.devices.count, 1);
	const struct report_device *device = ARRAY_AT(report.devices, struct report_device, 0);
	assert_text(device->uuid, G0);
	assert_int_equal(device->index, 0);
	assert_int_equal(device->memory_mib, 40960);
	assert_int_equal(device->compute_mode, REPORT_COMPUTE_DEFAULT);
	assert_true(device->mig.present && device->mig.current && device->mig.pending);
	const struct report_partition *partition =
		ARRAY_AT(device->partitions, struct report_partition, 0);
	assert_int_equal(partition->gpu_instance_id, 7);
	assert_int_equal(partition->compute_instance_id, 0);
	const struct report_process *process =
		ARRAY_AT(device->processes, struct report_process, 0);
	assert_int_equal(process->pid, 4711);
	assert_int_equal(process->kind, REPORT_PROCESS_COMPUTE);
	assert_text(process->command, "python3");

	const struct report_pod_resource *holding =
		ARRAY_AT(report.pod_resources, struct report_pod_resource, 0);
	assert_text(holding->name, "train-0");
	assert_text(*ARRAY_AT(holding->device_ids, struct view, 0), G0 "::3");
	assert_true(report.checkpoint.present);
	assert_int_equal(report.checkpoint.entries.count, 1);
	assert_int_equal(report.checkpoint.registered.count, 1);
	assert_int_equal(report.allocatable.count, 1);
	assert_int_equal(ARRAY_AT(report.events, struct report_event, 0)->code, 79);
	golden_free(json);
}

static void what_is_written_is_read_again(void **state)
{
	struct fixture *fixture = *state;
	struct view json = golden_read("report_v1.json");
	struct report report = decode(fixture, json);
	report_doc_encode(&report, &fixture->buf);
	struct report again = decode(fixture, sbuf_view(&fixture->buf));
	assert_true(report_doc_same_evidence(&report, &again));
	assert_int_equal(again.sequence, report.sequence);
	assert_int_equal(again.observed_at, report.observed_at);
	assert_int_equal(again.sources.nvml.observed_at, report.sources.nvml.observed_at);
	golden_free(json);
}

/* The example has each member, with a value of its own: a row that is wrong changes the text. */
static void every_member_of_the_example_is_written_as_it_was_read(void **state)
{
	struct fixture *fixture = *state;
	struct view json = golden_read("report_full.json");
	struct report report = decode(fixture, json);
	report_doc_encode(&report, &fixture->buf);
	assert_true(view_equal(sbuf_view(&fixture->buf), json));
	golden_free(json);
}

static void what_an_agent_counts_of_itself_is_no_news(void **state)
{
	struct fixture *fixture = *state;
	struct view json = golden_read("report_full.json");
	struct report report = decode(fixture, json), later = report;
	later.reports_refused++;
	later.nvml_processes++;
	later.nvml_left_behind++;
	later.sources.nvml.failures++;
	later.sources.nvml.hang_count++;
	later.sources.checkpoint.failures = 5;
	assert_true(report_doc_same_evidence(&report, &later));
	assert_int_equal(report.reports_refused, 2);
	assert_int_equal(report.nvml_left_behind, 1);
	assert_int_equal(report.sources.nvml.hang_count, 6);
	golden_free(json);
}

static void an_empty_list_and_a_missing_one_are_told_apart(void **state)
{
	struct fixture *fixture = *state;
	struct report empty = decode(
		fixture, VIEW(WITH("\"podResources\":[],\"checkpoint\":{\"entries\":[]}")));
	assert_true(empty.pod_resources.present);
	assert_int_equal(empty.pod_resources.count, 0);
	assert_true(empty.checkpoint.present && empty.checkpoint.entries.present);
	assert_false(empty.checkpoint.registered.present || empty.allocatable.present);

	struct report missing = decode(fixture, VIEW("{" HEAD "}"));
	assert_false(missing.pod_resources.present || missing.checkpoint.present);
	assert_false(report_doc_same_evidence(&empty, &missing));

	report_doc_encode(&empty, &fixture->buf);
	struct report again = decode(fixture, sbuf_view(&fixture->buf));
	assert_true(again.pod_resources.present && again.checkpoint.entries.present);
	assert_false(again.allocatable.present || again.checkpoint.registered.present);
}

static void a_list_that_is_empty_is_written_as_an_empty_one(void **state)
{
	static const char *const lists[] = {
		"\"devices\":[]",
		"\"devices\":[{\"uuid\":\"" G0 "\",\"partitions\":[]}]",
		"\"devices\":[{\"uuid\":\"" G0 "\",\"processes\":[]}]",
		"\"podResources\":[]",
		"\"allocatable\":[]",
		"\"checkpoint\":{\"entries\":[]}",
		"\"checkpoint\":{\"registered\":[]}",
		"\"events\":[]",
	};
	struct fixture *fixture = *state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		CLEANUP(sbuf_deinit) struct sbuf json;
		sbuf_init(&json, LIMIT_KIB);
		sbuf_printf(&json, "{%s,%s}", HEAD, lists[i]);
		struct report report = decode(fixture, sbuf_view(&json));
		sbuf_clear(&fixture->buf);
		report_doc_encode(&report, &fixture->buf);
		if (!strstr(sbuf_text(&fixture->buf), lists[i]))
			fail_msg("%s became %s", lists[i], sbuf_text(&fixture->buf));
	}
}

static void an_event_may_be_of_a_device_of_a_partition_or_of_none(void **state)
{
	static const char *const uuids[] = {G0, M0, ""};
	struct report report =
		decode(*state, VIEW(WITH("\"events\":[{\"sequence\":1,\"uuid\":\"" G0
					 "\"},{\"sequence\":2,\"uuid\":\"" M0
					 "\"},{\"sequence\":3}]")));
	assert_int_equal(report.events.count, ARRAY_SIZE(uuids));
	for (uint32_t i = 0; i < ARRAY_SIZE(uuids); i++)
		assert_text(ARRAY_AT(report.events, struct report_event, i)->uuid, uuids[i]);
}

static void what_an_agent_counts_up_has_no_end(void **state)
{
	static const char json[] =
		"{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":9223372036854775807,"
		"\"sequence\":9223372036854775807,\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{},"
		"\"events\":[{\"sequence\":9223372036854775807}],"
		"\"eventsDropped\":9223372036854775807}";
	struct report report = decode(*state, VIEW(json));
	assert_true(report.instance == INT64_MAX && report.sequence == INT64_MAX);
	assert_true(ARRAY_AT(report.events, struct report_event, 0)->sequence == INT64_MAX);
	assert_true(report.events_dropped == INT64_MAX);
}

static void numbers_that_a_device_lacks_are_minus_one(void **state)
{
	struct report report =
		decode(*state, VIEW(WITH("\"devices\":[{\"uuid\":\"" G0 "\",\"minor\":0}]")));
	const struct report_device *device = ARRAY_AT(report.devices, struct report_device, 0);
	assert_int_equal(device->index, -1);
	assert_int_equal(device->minor, 0);
	assert_false(device->mig.present);
}

static const struct report_condition *condition_of(const struct report *report)
{
	return &ARRAY_AT(report->devices, struct report_device, 0)->condition;
}

/* A report of one device in this condition, written to be formatted. */
static struct report decode_condition(struct fixture *fixture, const char *condition)
{
	CLEANUP(sbuf_deinit) struct sbuf json;
	sbuf_init(&json, 4 * LIMIT_KIB);
	sbuf_printf(&json, "{%s,\"devices\":[{\"uuid\":\"%s\"%s}]}", HEAD, G0, condition);
	return decode(fixture, sbuf_view(&json));
}

static void each_value_of_a_condition_is_read(void **state)
{
	struct view json = golden_read("report_full.json");
	struct report report = decode(*state, json);
	const struct report_condition *condition = condition_of(&report);
	assert_true(condition->present && condition->lost && condition->reset_required);
	assert_int_equal(condition->recovery, REPORT_RECOVERY_DRAIN_AND_RESET);
	assert_int_equal(condition->ecc_volatile.corrected, 14);
	assert_int_equal(condition->ecc_volatile.uncorrected, 2);
	assert_int_equal(condition->ecc_aggregate.corrected, 140);
	assert_int_equal(condition->ecc_aggregate.uncorrected, 20);
	assert_true(condition->remapped_rows.present && condition->remapped_rows.pending);
	assert_false(condition->remapped_rows.failed);
	assert_int_equal(condition->remapped_rows.counts.corrected, 3);
	assert_int_equal(condition->remapped_rows.counts.uncorrected, 1);
	assert_true(condition->rows_unsupported && condition->recovery_unsupported);
	assert_int_equal(condition->parts_read,
			 REPORT_PART_ECC | REPORT_PART_RECOVERY | REPORT_PART_LINKS);
	assert_int_equal(condition->further_parts_read, REPORT_PART_NVLINK | REPORT_PART_PCIE);
	assert_true(condition->retired_pages.present && condition->retired_pages.pending);
	assert_true(condition->nvlinks.present);
	assert_int_equal(condition->nvlinks.total, 12);
	assert_int_equal(condition->nvlinks.active, 11);
	assert_int_equal(condition->fabric, REPORT_FABRIC_IN_PROGRESS);
	assert_int_equal(condition->pcie_lanes.total, 16);
	assert_int_equal(condition->pcie_lanes.active, 8);
	assert_int_equal(condition->nvlinks_down, REPORT_YES);
	assert_int_equal(condition->pcie_degraded, REPORT_NO);
	assert_int_equal(condition->clocks_event_reasons, 0x60);
	assert_true(condition->slowdown.present);
	assert_int_equal(condition->slowdown.thermal, REPORT_YES);
	assert_int_equal(condition->slowdown.power_brake, REPORT_NO);
	assert_int_equal(condition->slowdown.hardware, REPORT_UNDECIDED);
	assert_true(condition->reset_time > 0 && report.events_since > 0);
	assert_int_equal(condition->reset_uptime_ms, 830000);
	assert_int_equal(report.uptime_ms, 912345);
	const struct report_event *event = ARRAY_AT(report.events, struct report_event, 0);
	assert_int_equal(event->uptime_ms, 908123);
	assert_int_equal(event->gpu_instance_id, 7);
	assert_int_equal(event->compute_instance_id, 1);
	golden_free(json);
}

static void what_a_condition_lacks_is_unread(void **state)
{
	static const struct {
		const char *json;
		bool present, rows_present;
	} rows[] = {
		{"", false, false},
		{",\"condition\":null", false, false},
		{",\"condition\":{}", true, false},
		{",\"condition\":{\"eccVolatile\":{},\"remappedRows\":{}}", true, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report report = decode_condition(*state, rows[i].json);
		const struct report_condition *condition = condition_of(&report);
		assert_int_equal(condition->present, rows[i].present);
		assert_false(condition->lost || condition->reset_required);
		assert_int_equal(condition->recovery, REPORT_RECOVERY_UNREAD);
		assert_int_equal(condition->fabric, REPORT_FABRIC_UNREAD);
		assert_int_equal(condition->ecc_volatile.uncorrected, -1);
		assert_int_equal(condition->ecc_aggregate.corrected, -1);
		assert_int_equal(condition->remapped_rows.present, rows[i].rows_present);
		assert_int_equal(condition->remapped_rows.counts.uncorrected, -1);
		assert_int_equal(condition->clocks_event_reasons, -1);
		assert_false(condition->slowdown.present || condition->nvlinks_down ||
			     condition->pcie_degraded || condition->reset_time ||
			     condition->reset_uptime_ms || report.uptime_ms);
		assert_false(condition->retired_pages.present || condition->nvlinks.present ||
			     condition->pcie_lanes.present);
	}
	struct report report = decode(*state, VIEW(WITH("\"events\":[{\"sequence\":1}]")));
	const struct report_event *event = ARRAY_AT(report.events, struct report_event, 0);
	assert_int_equal(event->gpu_instance_id, -1);
	assert_int_equal(event->compute_instance_id, -1);
}

/* Of an agent of before it is not known which links it has read; one to come may read more parts. */
static void parts_that_other_releases_read_are_taken(void **state)
{
	static const struct {
		const char *json;
		int64_t parts, further;
	} rows[] = {
		{",\"condition\":{\"partsRead\":31}", REPORT_PART_FIRST, 0},
		{",\"condition\":{\"partsRead\":16,\"furtherPartsRead\":65535}", REPORT_PART_LINKS, 65535},
		{",\"condition\":{}", 0, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report report = decode_condition(*state, rows[i].json);
		assert_int_equal(condition_of(&report)->parts_read, rows[i].parts);
		assert_int_equal(condition_of(&report)->further_parts_read, rows[i].further);
		assert_false(condition_of(&report)->rows_unsupported);
		assert_false(condition_of(&report)->recovery_unsupported);
	}
}

static void each_word_of_a_condition_has_its_meaning(void **state)
{
	static const struct {
		const char *recovery, *fabric;
		int recovery_value, fabric_value;
	} rows[] = {
		{"None", "NotStarted", REPORT_RECOVERY_NONE, REPORT_FABRIC_NOT_STARTED},
		{"Reset", "InProgress", REPORT_RECOVERY_RESET, REPORT_FABRIC_IN_PROGRESS},
		{"Reboot", "Completed", REPORT_RECOVERY_REBOOT, REPORT_FABRIC_COMPLETED},
		{"DrainP2P", "Failed", REPORT_RECOVERY_DRAIN_P2P, REPORT_FABRIC_UNREAD},
		{"DrainAndReset", "", REPORT_RECOVERY_DRAIN_AND_RESET, REPORT_FABRIC_UNREAD},
		{"RecoverIMEXDomain", "completed", REPORT_RECOVERY_RECOVER_IMEX_DOMAIN,
		 REPORT_FABRIC_UNREAD},
		{"Other", "", REPORT_RECOVERY_OTHER, REPORT_FABRIC_UNREAD},
		{"Replace", "", REPORT_RECOVERY_OTHER, REPORT_FABRIC_UNREAD},
		{"", "", REPORT_RECOVERY_UNREAD, REPORT_FABRIC_UNREAD},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char json[128];
		snprintf(json, sizeof(json),
			 ",\"condition\":{\"recoveryAction\":\"%s\",\"fabric\":\"%s\"}",
			 rows[i].recovery, rows[i].fabric);
		struct report report = decode_condition(*state, json);
		assert_int_equal(condition_of(&report)->recovery, rows[i].recovery_value);
		assert_int_equal(condition_of(&report)->fabric, rows[i].fabric_value);
	}
}

static void a_condition_that_says_nothing_is_written_as_an_empty_one(void **state)
{
	static const char *const rows[] = {
		"\"condition\":{}",
		"\"condition\":{\"remappedRows\":{\"pending\":false,\"failed\":false}}",
		"\"condition\":{\"eccVolatile\":{\"corrected\":0}}",
		"\"condition\":{\"retiredPages\":{\"pending\":false}}",
		"\"condition\":{\"nvlinks\":{\"total\":4,\"active\":0}}",
		"\"condition\":{\"clocksEventReasons\":0,\"slowdown\":{}}",
	};
	struct fixture *fixture = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char json[128];
		snprintf(json, sizeof(json), ",%s", rows[i]);
		struct report report = decode_condition(fixture, json);
		sbuf_clear(&fixture->buf);
		report_doc_encode(&report, &fixture->buf);
		if (!strstr(sbuf_text(&fixture->buf), rows[i]))
			fail_msg("%s became %s", rows[i], sbuf_text(&fixture->buf));
	}
}

static void of_a_condition_all_but_what_moves_all_the_time_is_evidence(void **state)
{
	static const struct {
		const char *before, *after;
		bool same;
	} rows[] = {
		{"\"eccVolatile\":{\"corrected\":1}", "\"eccVolatile\":{\"corrected\":2}", true},
		{"\"eccVolatile\":{}", "\"eccVolatile\":{\"corrected\":2}", true},
		{"\"eccAggregate\":{\"corrected\":1}", "\"eccAggregate\":{\"corrected\":2}", true},
		{"\"remappedRows\":{\"corrected\":1}", "\"remappedRows\":{\"corrected\":2}", true},
		{"\"eccVolatile\":{\"uncorrected\":1}", "\"eccVolatile\":{\"uncorrected\":2}", false},
		{"\"eccAggregate\":{\"uncorrected\":0}", "\"eccAggregate\":{}", false},
		{"\"remappedRows\":{\"uncorrected\":1}", "\"remappedRows\":{\"uncorrected\":2}",
		 false},
		{"\"remappedRows\":{}", "\"remappedRows\":{\"pending\":true}", false},
		{"\"remappedRows\":{}", "\"remappedRows\":{\"failed\":true}", false},
		{"\"remappedRows\":{}", "\"fabric\":\"\"", false},
		{"\"retiredPages\":{\"pending\":true}", "\"retiredPages\":{}", false},
		{"\"recoveryAction\":\"None\"", "\"recoveryAction\":\"Reset\"", false},
		{"\"nvlinks\":{\"total\":4,\"active\":4}", "\"nvlinks\":{\"total\":4,\"active\":3}",
		 false},
		{"\"nvlinksDown\":false", "\"nvlinksDown\":true", false},
		{"\"nvlinksDown\":false", "", false},
		{"\"clocksEventReasons\":0", "\"clocksEventReasons\":64", true},
		{"\"slowdown\":{}", "\"slowdown\":{\"thermal\":false}", false},
		{"\"slowdown\":{\"powerBrake\":true}", "\"slowdown\":{\"powerBrake\":false}", false},
		{"\"slowdown\":{\"hardware\":true}", "\"slowdown\":{}", false},
		{"\"pcieDegraded\":true", "\"pcieDegraded\":false", false},
		{"\"resetTime\":\"2026-01-02T03:04:05Z\"", "", false},
		{"\"resetUptimeMilliseconds\":1", "\"resetUptimeMilliseconds\":2", false},
		{"\"fabric\":\"InProgress\"", "\"fabric\":\"Completed\"", false},
		{"\"pcieLanes\":{\"total\":4,\"active\":4}",
		 "\"pcieLanes\":{\"total\":4,\"active\":3}", true},
		{"\"lost\":true", "\"lost\":false", false},
		{"\"resetRequired\":true", "\"resetRequired\":false", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char before[128], after[128];
		snprintf(before, sizeof(before), ",\"condition\":{%s}", rows[i].before);
		snprintf(after, sizeof(after), ",\"condition\":{%s}", rows[i].after);
		struct report first = decode_condition(*state, before);
		struct report other = decode_condition(*state, after);
		if (report_doc_same_evidence(&first, &other) != rows[i].same)
			fail_msg("%s, %s", rows[i].before, rows[i].after);
	}
}

static void control_characters_in_texts_are_replaced(void **state)
{
	struct report report = decode(
		*state,
		VIEW(WITH("\"agentVersion\":\"a\\u001b[2Jb\\n\",\"devices\":[{\"uuid\":\"" G0
			  "\",\"processes\":[{\"pid\":1,\"command\":\"x\\ty\\u007f\"},"
			  "{\"pid\":2,\"command\":\"z\\n\"}]}],"
			  "\"allocatable\":[{\"resource\":\"r\",\"deviceIDs\":[\"a\\rb\"]}]")));
	const struct report_device *device = ARRAY_AT(report.devices, struct report_device, 0);
	assert_text(report.agent_version, "a?[2Jb?");
	assert_text(ARRAY_AT(device->processes, struct report_process, 0)->command, "x?y?");
	assert_text(ARRAY_AT(device->processes, struct report_process, 1)->command, "z?");
	assert_text(*ARRAY_AT(ARRAY_AT(report.allocatable, struct report_resource_devices, 0)
				      ->device_ids,
			      struct view, 0),
		    "a?b");
}

static void what_is_no_report_is_refused_by_the_members_path_and_changes_nothing(void **state)
{
	static const struct {
		const char *json, *message;
		enum error_kind kind;
	} rows[] = {
		{"", "", ERROR_REJECTED},
		{"null", "", ERROR_REJECTED},
		{"[]", "document: not an object", ERROR_REJECTED},
		{"{" HEAD, "", ERROR_REJECTED},
		{"{" HEAD "}x", "", ERROR_REJECTED},
		{"{" HEAD ",}", "", ERROR_REJECTED},
		{"{" HEAD ",\"node\":\"b\"}", "node: given twice", ERROR_REJECTED},
		{"{\"version\":1}", "node: missing", ERROR_REJECTED},
		{"{\"node\":\"n\"}", "version: missing", ERROR_REJECTED},
		{"{\"version\":\"1\"}", "version: not an integer", ERROR_REJECTED},
		{"{\"version\":2,\"node\":[]}",
		 "version: this is version 2 of the report, understood is version 1",
		 ERROR_REJECTED},
		{"{\"version\":2}",
		 "version: this is version 2 of the report, understood is version 1",
		 ERROR_REJECTED},
		{"{\"version\":0," "\"node\":\"n\",\"bootID\":\"b\",\"instance\":1,\"sequence\":1,"
		 "\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{}}",
		 "version: this is version 0 of the report, understood is version 1",
		 ERROR_REJECTED},
		{WITH("\"devices\":{}"), "devices: not an array", ERROR_REJECTED},
		{WITH("\"devices\":[{}]"), "devices[0].uuid: missing", ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":7}]"), "devices[0].uuid: not a string",
		 ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":\"" G0 "\"},{\"uuid\":\"GPU-1\"}]"),
		 "devices[1].uuid: not a GPU UUID", ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":\"" M0 "\"}]"), "devices[0].uuid: not a GPU UUID",
		 ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":\"" G0 "\"},{\"uuid\":\"" G1 "\"},{\"uuid\":\"" G0 "\"}]"),
		 "devices[2].uuid: as in devices[0]", ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":\"" G0 "\"},"
		      "{\"uuid\":\"GPU-11BA558D-3437-2335-2fd8-a78c8502f87f\"}]"),
		 "devices[1].uuid: as in devices[0]", ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":\"" G0 "\",\"partitions\":[{\"uuid\":\"" G1 "\"}]}]"),
		 "devices[0].partitions[0].uuid: not a MIG UUID", ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":\"" G0 "\",\"partitions\":[{\"uuid\":\"" M0
		      "\"},{\"uuid\":\"" M0 "\"}]}]"),
		 "devices[0].partitions[1].uuid: as in [0]", ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":\"" G0
		      "\",\"processes\":[{\"pid\":1,\"partition\":\"x\"}]}]"),
		 "devices[0].processes[0].partition: not a MIG UUID", ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":\"" G0 "\",\"processes\":[{\"pid\":-1}]}]"),
		 "devices[0].processes[0].pid: out of range", ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":\"" G0 "\",\"memoryMiB\":1e3}]"),
		 "devices[0].memoryMiB: not an integer", ERROR_REJECTED},
		{WITH("\"devices\":[{\"uuid\":\"" G0 "\",\"memoryMiB\":99999999999999999999}]"),
		 "devices[0].memoryMiB: out of range", ERROR_REJECTED},
		{WITH("\"podResources\":[{\"namespace\":\"a\",\"name\":\"b\",\"container\":\"c\","
		      "\"resource\":\"r\"}]"),
		 "podResources[0].deviceIDs: missing", ERROR_REJECTED},
		{WITH("\"checkpoint\":{\"entries\":[{\"podUID\":\"u\",\"container\":\"c\","
		      "\"resource\":\"r\",\"deviceIDs\":[1]}]}"),
		 "checkpoint.entries[0].deviceIDs[0]: not a string", ERROR_REJECTED},
		{IN_CONDITION("\"lost\":1"), "devices[0].condition.lost: not a boolean",
		 ERROR_REJECTED},
		{IN_CONDITION("\"eccVolatile\":{\"corrected\":-1}"),
		 "devices[0].condition.eccVolatile.corrected: out of range", ERROR_REJECTED},
		{IN_CONDITION("\"eccAggregate\":{\"uncorrected\":1000000000000001}"),
		 "devices[0].condition.eccAggregate.uncorrected: out of range", ERROR_REJECTED},
		{IN_CONDITION("\"eccAggregate\":{\"uncorrected\":18446744073709551615}"),
		 "devices[0].condition.eccAggregate.uncorrected: out of range", ERROR_REJECTED},
		{IN_CONDITION("\"remappedRows\":{\"corrected\":1000001}"),
		 "devices[0].condition.remappedRows.corrected: out of range", ERROR_REJECTED},
		{IN_CONDITION("\"nvlinks\":{\"total\":4000,\"active\":1}"),
		 "devices[0].condition.nvlinks.total: out of range", ERROR_REJECTED},
		{IN_CONDITION("\"pcieLanes\":{\"total\":16}"),
		 "devices[0].condition.pcieLanes.active: missing", ERROR_REJECTED},
		{IN_CONDITION("\"fabric\":3"), "devices[0].condition.fabric: not a string",
		 ERROR_REJECTED},
		{WITH("\"events\":[{\"sequence\":7,\"gpuInstanceID\":4294967295}]"),
		 "events[0].gpuInstanceID: out of range", ERROR_REJECTED},
		{WITH("\"events\":[{\"sequence\":7,\"computeInstanceID\":65536}]"),
		 "events[0].computeInstanceID: out of range", ERROR_REJECTED},
		{WITH("\"events\":[{\"sequence\":7},{\"sequence\":7}]"),
		 "events[1].sequence: not ascending", ERROR_REJECTED},
		{WITH("\"events\":[{\"sequence\":7,\"uuid\":\"x\"}]"), "events[0].uuid: not a UUID",
		 ERROR_REJECTED},
		{WITH("\"events\":[{\"sequence\":7,\"time\":\"now\"}]"),
		 "events[0].time: not an RFC 3339 time", ERROR_REJECTED},
		{"{\"version\":1,\"node\":\"\",\"bootID\":\"b\",\"instance\":1,\"sequence\":1,"
		 "\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{}}",
		 "node: empty", ERROR_REJECTED},
		{"{\"version\":1,\"node\":\"n\",\"bootID\":\"\",\"instance\":1,\"sequence\":1,"
		 "\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{}}",
		 "bootID: empty", ERROR_REJECTED},
		{"{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":1,\"sequence\":-1}",
		 "sequence: out of range", ERROR_REJECTED},
		{"{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":1,\"sequence\":1,"
		 "\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{\"nvml\":{\"state\":\"fine\"}}}",
		 "sources.nvml.state: not one of the known values", ERROR_REJECTED},
		{WITH("\"x\":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]"), "", ERROR_LIMIT},
	};
	struct fixture *fixture = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report read, before;
		struct error err;
		memset(&read, 0xa5, sizeof(read));
		memset(&before, 0xa5, sizeof(before));
		if (report_doc_decode(view_from(rows[i].json), &fixture->arena, &read, &err) == 0)
			fail_msg("accepted: %s", rows[i].json);
		assert_memory_equal(&read, &before, sizeof(read));
		if (err.kind != rows[i].kind || !strstr(err.text, rows[i].message))
			fail_msg("%s: %s", rows[i].json, err.text);
	}
}

/* Appends n elements; the running number between before and after has four digits, as a UUID needs. */
static void append_items(struct sbuf *buf, unsigned n, const char *before, const char *after)
{
	for (unsigned i = 0; i < n; i++)
		sbuf_printf(buf, "%s%s%04x%s", i ? "," : "", before, i, after);
}

static void each_list_ends_at_its_limit(void **state)
{
	static const struct {
		const char *start, *before, *after, *end, *path;
		unsigned limit;
	} rows[] = {
		{"\"devices\":[", "{\"uuid\":\"GPU-11ba558d-3437-2335-2fd8-a78c8502", "\"}", "]",
		 "devices: too many", LIMIT_REPORT_DEVICES},
		{"\"devices\":[{\"uuid\":\"" G0 "\",\"partitions\":[",
		 "{\"uuid\":\"MIG-11ba558d-3437-2335-2fd8-a78c8502", "\"}", "]}]",
		 "devices[0].partitions: too many", LIMIT_REPORT_PARTITIONS},
		{"\"devices\":[{\"uuid\":\"" G0 "\",\"processes\":[", "{\"pid\":1,\"command\":\"",
		 "\"}", "]}]", "devices[0].processes: too many", LIMIT_REPORT_PROCESSES},
		{"\"allocatable\":[", "{\"resource\":\"", "\",\"deviceIDs\":[]}", "]",
		 "allocatable: too many", LIMIT_REPORT_HOLDINGS},
		{"\"allocatable\":[{\"resource\":\"r\",\"deviceIDs\":[", "\"", "\"", "]}]",
		 "allocatable[0].deviceIDs: too many", LIMIT_REPORT_DEVICE_IDS},
	};
	struct fixture *fixture = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (unsigned more = 0; more < 2; more++) {
			struct report report;
			struct error err;
			sbuf_clear(&fixture->buf);
			arena_reset(&fixture->arena);
			sbuf_printf(&fixture->buf, "{%s,%s", HEAD, rows[i].start);
			append_items(&fixture->buf, rows[i].limit + more, rows[i].before,
				     rows[i].after);
			sbuf_printf(&fixture->buf, "%s}", rows[i].end);
			int result = report_doc_decode(sbuf_view(&fixture->buf), &fixture->arena,
						       &report, &err);
			if (more == 0 && result != 0)
				fail_msg("%s at its limit: %s", rows[i].path, err.text);
			if (more == 1) {
				assert_int_equal(result, -1);
				assert_int_equal(err.kind, ERROR_LIMIT);
				assert_non_null(strstr(err.text, rows[i].path));
			}
		}
	}
}

/* IDs of one letter: many fit in a report, and each costs the join time. */
static void device_ids_of_all_lists_together_end_at_their_limit(void **state)
{
	static const char *const lists[] = {
		"\"allocatable\":[{\"resource\":\"r\",\"deviceIDs\":[",
		"]}],\"podResources\":[{\"namespace\":\"ml\",\"name\":\"p\",\"container\":\"c\","
		"\"resource\":\"r\",\"deviceIDs\":[",
		"]}],\"checkpoint\":{\"registered\":[{\"resource\":\"r\",\"deviceIDs\":[",
		"]}],\"entries\":[{\"podUID\":\"u\",\"container\":\"c\",\"resource\":\"r\","
		"\"deviceIDs\":[",
	};
	struct fixture *fixture = *state;
	for (unsigned more = 0; more <= ARRAY_SIZE(lists); more++) {
		struct report report;
		struct error err;
		sbuf_clear(&fixture->buf);
		arena_reset(&fixture->arena);
		sbuf_printf(&fixture->buf, "{%s,", HEAD);
		for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
			sbuf_printf(&fixture->buf, "%s", lists[i]);
			append_items(&fixture->buf, LIMIT_REPORT_ALL_IDS / 4, "\"", "\"");
			if (i + 1 == more) /* another entry, with one ID */
				sbuf_printf(&fixture->buf, "]},%s\"x\"", strrchr(lists[i], '{'));
		}
		sbuf_printf(&fixture->buf, "]}]}}");
		int result = report_doc_decode(sbuf_view(&fixture->buf), &fixture->arena, &report,
					       &err);
		if (result != (more == 0 ? 0 : -1))
			fail_msg("list %u: %s", more, err.text);
		if (result == 0)
			continue;
		assert_int_equal(err.kind, ERROR_LIMIT);
		assert_non_null(strstr(err.text, "deviceIDs: too many elements in all such lists"));
	}
}

static void processes_of_all_devices_together_end_at_their_limit(void **state)
{
	struct fixture *fixture = *state;
	for (unsigned more = 0; more < 2; more++) {
		struct report report;
		struct error err;
		sbuf_clear(&fixture->buf);
		arena_reset(&fixture->arena);
		sbuf_printf(&fixture->buf, "{%s,\"devices\":[", HEAD);
		for (unsigned d = 0; d < 16 + more; d++) {
			sbuf_printf(&fixture->buf,
				    "%s{\"uuid\":\"GPU-11ba558d-3437-2335-2fd8-a78c8502%04x\",\"processes\":[",
				    d ? "," : "", d);
			append_items(&fixture->buf, d < 16 ? LIMIT_REPORT_ALL_PROCESSES / 16 : 1,
				     "{\"pid\":1,\"command\":\"", "\"}");
			sbuf_printf(&fixture->buf, "]}");
		}
		sbuf_printf(&fixture->buf, "]}");
		assert_int_equal(report_doc_decode(sbuf_view(&fixture->buf), &fixture->arena, &report, &err),
				 more ? -1 : 0);
		if (!more)
			continue;
		assert_int_equal(err.kind, ERROR_LIMIT);
		assert_non_null(strstr(err.text, "processes: too many, at most 8192"));
	}
}

/* CPU of this thread in ms. */
static int64_t spent_ms(void)
{
	struct timespec spent;
	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent), 0);
	return (int64_t)spent.tv_sec * 1000 + spent.tv_nsec / 1000000;
}

/*
 * A hundred thousand members and more, which is some ms of work. The bound is far above
 * what a sanitizer makes of that, and far below what grows with the square: minutes.
 */
static void a_mebibyte_of_tiny_parts_is_no_more_work_than_any_other(void **state)
{
	static const struct {
		const char *start, *format, *end;
		bool is_report;
	} rows[] = {
		{"{" HEAD, ",\"%05x\":0", "}", true},
		{"{" HEAD, ",\"a%.0u\":0", "}", true},
		{"{" HEAD ",\"x\":{\"a\":0", ",\"%05x\":0", "}}", true},
		{"{" HEAD ",\"x\":[0", ",[%.0u]", "]}", true},
		{"{" HEAD ",\"x\":\"", "\\u00%.0ue4", "\"}", true},
		{"{" HEAD ",\"devices\":[{\"uuid\":\"" G0 "\"", ",\"%05x\":0", "}]}", true},
		{"{" HEAD, ",\"node\":\"%u\"", "}", false},
	};
	struct fixture *fixture = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report report;
		struct error err;
		sbuf_clear(&fixture->buf);
		arena_reset(&fixture->arena);
		sbuf_append(&fixture->buf, view_from(rows[i].start));
		for (unsigned k = 0; fixture->buf.len < LIMIT_REPORT_BYTES - 64; k++)
			sbuf_printf(&fixture->buf, rows[i].format, k);
		sbuf_append(&fixture->buf, view_from(rows[i].end));
		const int64_t before = spent_ms();
		int result = report_doc_decode(sbuf_view(&fixture->buf), &fixture->arena, &report, &err);
		assert_true(spent_ms() - before < 10000);
		assert_int_equal(result, rows[i].is_report ? 0 : -1);
	}
}

static void more_than_a_mebibyte_is_refused_unread(void **state)
{
	struct fixture *fixture = *state;
	struct report report;
	struct error err;
	sbuf_printf(&fixture->buf, "{%s}", HEAD);
	while (fixture->buf.len < LIMIT_REPORT_BYTES)
		sbuf_append_char(&fixture->buf, ' ');
	decode(fixture, sbuf_view(&fixture->buf));
	sbuf_append_char(&fixture->buf, ' ');
	assert_int_equal(report_doc_decode(sbuf_view(&fixture->buf), &fixture->arena, &report, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void members_and_words_of_a_newer_agent_are_passed_over(void **state)
{
	struct report report = decode(
		*state, VIEW(WITH("\"future\":{\"a\":[1,{}]},\"devices\":[{\"uuid\":\"" G0
				  "\",\"computeMode\":\"Shared\",\"nvlink\":[1],"
				  "\"processes\":[{\"pid\":1,\"kind\":\"Video\"}]}],"
				  "\"events\":[{\"sequence\":1,\"type\":\"Thermal\"}]")));
	const struct report_device *device = ARRAY_AT(report.devices, struct report_device, 0);
	assert_int_equal(device->compute_mode, REPORT_COMPUTE_UNKNOWN);
	assert_int_equal(ARRAY_AT(device->processes, struct report_process, 0)->kind,
			 REPORT_PROCESS_UNKNOWN);
	assert_int_equal(ARRAY_AT(report.events, struct report_event, 0)->type,
			 REPORT_EVENT_UNKNOWN);
}

static void sequence_and_times_of_reading_are_no_evidence_everything_else_is(void **state)
{
	static const struct {
		const char *json;
		bool same;
	} rows[] = {
		{"{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":1,\"sequence\":9,"
		 "\"observedAt\":\"2027-01-02T03:04:05Z\",\"sources\":{\"nvml\":{\"state\":\"ok\","
		 "\"observedAt\":\"2027-01-02T03:04:05Z\"}},\"events\":[{\"sequence\":1}]}",
		 true},
		{"{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":2,\"sequence\":2,"
		 "\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{\"nvml\":{\"state\":\"ok\"}},"
		 "\"events\":[{\"sequence\":1}]}",
		 false},
		{"{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":1,\"sequence\":2,"
		 "\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{\"nvml\":{\"state\":\"error\"}},"
		 "\"events\":[{\"sequence\":1}]}",
		 false},
		{"{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":1,\"sequence\":2,"
		 "\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{\"nvml\":{\"state\":\"ok\"}},"
		 "\"events\":[{\"sequence\":2}]}",
		 false},
		{"{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":1,\"sequence\":2,"
		 "\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{\"nvml\":{\"state\":\"ok\"}},"
		 "\"kubelet\":{\"restartedAt\":\"2026-01-02T03:04:05Z\"},"
		 "\"events\":[{\"sequence\":1}]}",
		 false},
	};
	struct fixture *fixture = *state;
	struct report first = decode(
		fixture, VIEW("{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":1,"
			      "\"sequence\":2,\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":"
			      "{\"nvml\":{\"state\":\"ok\"}},\"events\":[{\"sequence\":1}]}"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report other = decode(fixture, view_from(rows[i].json));
		assert_int_equal(report_doc_same_evidence(&first, &other), rows[i].same);
		assert_int_equal(report_doc_same_evidence(&other, &first), rows[i].same);
	}
}

static void of_each_source_all_but_the_time_of_reading_is_evidence(void **state)
{
	static const char *const sources[] = {"podResources", "checkpoint", "nvml", "processes",
					      "dcgm"};
	static const struct {
		const char *source;
		bool same;
	} rows[] = {
		{"{\"state\":\"ok\",\"message\":\"a\",\"observedAt\":\"2027-01-02T03:04:05Z\"}", true},
		{"{\"state\":\"error\",\"message\":\"a\"}", false},
		{"{\"state\":\"ok\",\"message\":\"b\"}", false},
		{"{\"state\":\"ok\"}", false},
		{"{\"state\":\"ok\",\"message\":\"a\",\"driverMismatch\":true}", false},
	};
	static const char form[] =
		"{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":1,\"sequence\":2,"
		"\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{\"%s\":%s}}";
	struct fixture *fixture = *state;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		sbuf_clear(&fixture->buf);
		sbuf_printf(&fixture->buf, form, sources[i], "{\"state\":\"ok\",\"message\":\"a\"}");
		struct report first = decode(fixture, sbuf_view(&fixture->buf));
		for (size_t j = 0; j < ARRAY_SIZE(rows); j++) {
			sbuf_clear(&fixture->buf);
			sbuf_printf(&fixture->buf, form, sources[i], rows[j].source);
			struct report other = decode(fixture, sbuf_view(&fixture->buf));
			if (report_doc_same_evidence(&first, &other) != rows[j].same)
				fail_msg("%s: %s", sources[i], rows[j].source);
		}
	}
}

static void a_report_cut_anywhere_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct view json = golden_read("report_v1.json");
	struct view whole = view_trim(json);
	for (size_t len = 0; len < whole.len; len++) {
		struct view cut = golden_copy((struct view){whole.ptr, len});
		struct report report;
		struct error err;
		arena_reset(&fixture->arena);
		assert_int_equal(report_doc_decode(cut, &fixture->arena, &report, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		golden_free(cut);
	}
	golden_free(json);
}

static void running_out_of_memory_anywhere_changes_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct view json = golden_read("report_v1.json");
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct report read, before;
		struct error err;
		memset(&read, 0xa5, sizeof(read));
		memset(&before, 0xa5, sizeof(before));
		arena_deinit(&fixture->arena);
		failing_malloc_at(k);
		int result = report_doc_decode(json, &fixture->arena, &read, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		if (failed) {
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			assert_memory_equal(&read, &before, sizeof(read));
		}
	}
	golden_free(json);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(the_protocols_own_example_is_understood, setup, teardown),
	cmocka_unit_test_setup_teardown(what_is_written_is_read_again, setup, teardown),
	cmocka_unit_test_setup_teardown(every_member_of_the_example_is_written_as_it_was_read,
					setup, teardown),
	cmocka_unit_test_setup_teardown(what_an_agent_counts_of_itself_is_no_news,
					setup, teardown),
	cmocka_unit_test_setup_teardown(an_empty_list_and_a_missing_one_are_told_apart, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_list_that_is_empty_is_written_as_an_empty_one, setup,
					teardown),
	cmocka_unit_test_setup_teardown(an_event_may_be_of_a_device_of_a_partition_or_of_none,
					setup, teardown),
	cmocka_unit_test_setup_teardown(what_an_agent_counts_up_has_no_end, setup, teardown),
	cmocka_unit_test_setup_teardown(numbers_that_a_device_lacks_are_minus_one, setup, teardown),
	cmocka_unit_test_setup_teardown(each_value_of_a_condition_is_read, setup, teardown),
	cmocka_unit_test_setup_teardown(what_a_condition_lacks_is_unread, setup, teardown),
	cmocka_unit_test_setup_teardown(parts_that_other_releases_read_are_taken, setup, teardown),
	cmocka_unit_test_setup_teardown(each_word_of_a_condition_has_its_meaning, setup, teardown),
	cmocka_unit_test_setup_teardown(
		a_condition_that_says_nothing_is_written_as_an_empty_one, setup, teardown),
	cmocka_unit_test_setup_teardown(of_a_condition_all_but_what_moves_all_the_time_is_evidence, setup,
					teardown),
	cmocka_unit_test_setup_teardown(control_characters_in_texts_are_replaced, setup, teardown),
	cmocka_unit_test_setup_teardown(
		what_is_no_report_is_refused_by_the_members_path_and_changes_nothing, setup,
		teardown),
	cmocka_unit_test_setup_teardown(each_list_ends_at_its_limit, setup, teardown),
	cmocka_unit_test_setup_teardown(device_ids_of_all_lists_together_end_at_their_limit, setup, teardown),
	cmocka_unit_test_setup_teardown(processes_of_all_devices_together_end_at_their_limit, setup, teardown),
	cmocka_unit_test_setup_teardown(a_mebibyte_of_tiny_parts_is_no_more_work_than_any_other, setup,
					teardown),
	cmocka_unit_test_setup_teardown(more_than_a_mebibyte_is_refused_unread, setup, teardown),
	cmocka_unit_test_setup_teardown(members_and_words_of_a_newer_agent_are_passed_over, setup,
					teardown),
	cmocka_unit_test_setup_teardown(
		sequence_and_times_of_reading_are_no_evidence_everything_else_is, setup, teardown),
	cmocka_unit_test_setup_teardown(of_each_source_all_but_the_time_of_reading_is_evidence,
					setup, teardown),
	cmocka_unit_test_setup_teardown(a_report_cut_anywhere_is_refused, setup, teardown),
	cmocka_unit_test_setup_teardown(running_out_of_memory_anywhere_changes_nothing, setup,
					teardown),
};

TEST_MAIN(tests)
