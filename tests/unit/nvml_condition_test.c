/* SPDX-License-Identifier: Apache-2.0 */

/* The agent's NVML reader: the condition of devices, and those that are lost, missing or stuck. */

#include "lib/nvml_fixture.h"

#include "base/log.h"

/* What makes the first of two devices fail. */
static void break_first(struct fixture *f, const char *how)
{
	char world[1024];
	read_world(f, NODE(TWO_DEVICES, ""));
	assert_ok(f, 2);
	snprintf(world, sizeof(world),
		 NODE(DEVICE(GPU_A, "0", "%s") ", " DEVICE(GPU_B, "1", ""), ""), how);
	read_world(f, world);
}

static void a_lost_device_is_told_as_it_was_and_the_others_stay(void **state)
{
	struct fixture *f = *state;
	static const char *const losses[] = {
		"\"lost\": true,",
		"\"errors\": {\"nvmlDeviceGetHandleByIndex_v2\": 15},",
		"\"errors\": {\"nvmlDeviceGetUUID\": 15},",
		"\"errors\": {\"nvmlDeviceGetName\": 15},",
		"\"errors\": {\"nvmlDeviceGetTotalEccErrors\": 15},",
		"\"errors\": {\"nvmlDeviceGetGraphicsRunningProcesses_v3\": 15},",
	};
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		break_first(f, losses[i]);
		assert_ok(f, 2);
		const struct report_device *lost = device_at(f, 0);
		assert_text(lost->uuid, GPU_A);
		assert_text(lost->model, "NVIDIA A100-SXM4-40GB");
		assert_text(lost->pci_bus_id, "00000000:3B:00.0");
		assert_int_equal(lost->memory_mib, 40960);
		assert_true(lost->condition.present && lost->condition.lost);
		assert_true(lost->partitions.present);
		assert_false(lost->processes.present);
		assert_text(device_at(f, 1)->uuid, GPU_B);
		assert_false(device_at(f, 1)->condition.lost);
		assert_text(f->reading.source.message, "device 0 " GPU_A ": GPU is lost");
	}
}

static void a_device_that_is_missing_is_left_out_and_the_others_stay(void **state)
{
	struct fixture *f = *state;
	static const char *const losses[] = {
		"\"errors\": {\"nvmlDeviceGetHandleByIndex_v2\": 28},",
		"\"errors\": {\"nvmlDeviceGetMigMode\": 28},",
		"\"errors\": {\"nvmlDeviceGetMaxPcieLinkWidth\": 28},",
	};
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		break_first(f, losses[i]);
		assert_ok(f, 1);
		assert_text(device_at(f, 0)->uuid, GPU_B);
		assert_int_equal(device_at(f, 0)->index, 1);
		assert_message_has(f, GPU_A ": ");
	}
}

/* It did not go, and it is not known to be well. */
static void a_device_that_does_not_answer_is_told_and_nothing_of_it_is_read(void **state)
{
	struct fixture *f = *state;
	static const char *const failures[] = {
		"\"errors\": {\"nvmlDeviceGetHandleByIndex_v2\": 999},",
		"\"errors\": {\"nvmlDeviceGetUUID\": 999},",
		"\"errors\": {\"nvmlDeviceGetHandleByIndex_v2\": 10},",
		"\"errors\": {\"nvmlDeviceGetHandleByIndex_v2\": 4},",
	};
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		char world[1024];
		read_world(f, NODE(DEVICE(GPU_A, "0", "\"recoveryAction\": 0,") ", "
				   DEVICE(GPU_B, "1", ""), ""));
		assert_int_equal(device_at(f, 0)->condition.recovery, REPORT_RECOVERY_NONE);
		assert_true(nvml_watch(f->nvml) > 0);
		snprintf(world, sizeof(world),
			 NODE(DEVICE(GPU_A, "0", "%s") ", " DEVICE(GPU_B, "1", ""), ""), failures[i]);
		read_world(f, world);
		assert_ok(f, 2);
		const struct report_device *device = device_at(f, 0);
		assert_text(device->uuid, GPU_A);
		assert_text(device->model, "NVIDIA A100-SXM4-40GB");
		assert_true(device->partitions.present);
		assert_false(device->processes.present);
		assert_true(device->condition.present);
		assert_false(device->condition.lost);
		assert_int_equal(device->condition.recovery, REPORT_RECOVERY_UNREAD);
		assert_int_equal(device->condition.ecc_volatile.uncorrected, -1);
		assert_int_equal(nvml_watch(f->nvml), 0);
		assert_message_has(f, "device 0 " GPU_A ": ");
	}
	read_world(f, NODE(TWO_DEVICES, ""));
	assert_ok(f, 2);
	assert_true(nvml_watch(f->nvml) > 0);
	assert_text(f->reading.source.message, "");
}

static void a_device_that_does_not_answer_is_as_lost_or_missing_as_it_was(void **state)
{
	struct fixture *f = *state;
	static const char silent[] = "\"errors\": {\"nvmlDeviceGetHandleByIndex_v2\": 999},";
	static const struct {
		const char *before;
		uint32_t n;
	} rows[] = {
		{"\"lost\": true,", 2},
		{"\"errors\": {\"nvmlDeviceGetHandleByIndex_v2\": 28},", 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char world[1024];
		break_first(f, rows[i].before);
		snprintf(world, sizeof(world),
			 NODE(DEVICE(GPU_A, "0", "%s") ", " DEVICE(GPU_B, "1", ""), ""), silent);
		read_world(f, world);
		assert_ok(f, rows[i].n);
		assert_true(rows[i].n == 1 || device_at(f, 0)->condition.lost);
		read_world(f, NODE(TWO_DEVICES, ""));
		assert_ok(f, 2);
		assert_false(device_at(f, 0)->condition.lost);
		break_first(f, silent);
		assert_ok(f, 2);
		assert_false(device_at(f, 0)->condition.lost);
	}
}

static void a_device_that_never_had_a_name_is_logged_once(void **state)
{
	struct fixture *f = *state;
	static const char *const codes[] = {"999", "999", "10"};
	char line[256];
	FILE *log = tmpfile();
	unsigned n = 0;
	assert_non_null(log);
	log_set_fd(fileno(log));
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		char world[1024];
		snprintf(world, sizeof(world),
			 NODE(DEVICE(GPU_A, "0", "\"errors\": {\"nvmlDeviceGetUUID\": %s},") ", "
			      DEVICE(GPU_B, "1", ""), ""), codes[i]);
		read_world(f, world);
		assert_ok(f, 1);
		assert_message_has(f, "device 0: ");
	}
	log_set_fd(STDERR_FILENO);
	rewind(log);
	while (fgets(line, sizeof(line), log)) {
		assert_non_null(strstr(line, " index=0 "));
		assert_non_null(strstr(line, n++ == 0 ? " code=999 " : " code=10 "));
	}
	fclose(log);
	assert_int_equal(n, 2);
}

static void a_lost_device_keeps_its_partitions_and_its_condition(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"mig\": {\"current\": true}, \"recoveryAction\": 2,"
				  "\"migDevices\": [" MIG(MIG_1, "1g.5gb", "7", "4864", "") "],"
				  PROCESSES(RUNNING("10", "7"))), ""));
	for (unsigned i = 0; i < 3; i++) {
		read_world(f, NODE(DEVICE(GPU_A, "0", "\"lost\": true,"), ""));
		assert_ok(f, 1);
		const struct report_device *lost = device_at(f, 0);
		assert_true(lost->mig.present && lost->mig.current);
		assert_int_equal(lost->partitions.count, 1);
		assert_text(ARRAY_AT(lost->partitions, struct report_partition, 0)->uuid, MIG_1);
		assert_true(lost->condition.lost);
		assert_int_equal(lost->condition.recovery, REPORT_RECOVERY_REBOOT);
		assert_false(lost->processes.present);
	}
}

static void a_lost_device_that_is_back_is_read_again(void **state)
{
	struct fixture *f = *state;
	for (unsigned i = 0; i < 2; i++) {
		break_first(f, "\"lost\": true,");
		assert_true(device_at(f, 0)->condition.lost);
		read_world(f, NODE(DEVICE(GPU_A, "0", "\"computeMode\": \"Prohibited\",") ", "
				   DEVICE(GPU_B, "1", ""), ""));
		assert_ok(f, 2);
		assert_false(device_at(f, 0)->condition.lost);
		assert_int_equal(device_at(f, 0)->compute_mode, REPORT_COMPUTE_PROHIBITED);
		assert_true(device_at(f, 0)->processes.present);
		assert_text(f->reading.source.message, "");
	}
}

static void an_index_that_went_to_another_device_loses_nobody(void **state)
{
	struct fixture *f = *state;
	static const char *const worlds[] = {
		/* The first answers under the second index, where nobody can be named at the first. */
		NODE(DEVICE(GPU_B, "0", "\"lost\": true,") ", " DEVICE(GPU_A, "1", ""), ""),
		NODE(DEVICE(GPU_B, "0", "") ", " DEVICE(GPU_A, "1", "\"lost\": true,"), ""),
	};
	static const char *const left[] = {GPU_A, GPU_B};
	for (size_t i = 0; i < ARRAY_SIZE(worlds); i++) {
		read_world(f, NODE(TWO_DEVICES, ""));
		/* All lost: the next reading knows no handles. */
		read_world(f, NODE(DEVICE(GPU_A, "0", "\"lost\": true,") ", "
				   DEVICE(GPU_B, "1", "\"lost\": true,"), ""));
		assert_ok(f, 2);
		read_world(f, worlds[i]);
		assert_ok(f, 1);
		assert_text(device_at(f, 0)->uuid, left[i]);
		assert_false(device_at(f, 0)->condition.lost);
	}
}

static void another_number_of_devices_makes_the_lost_ones_unknown(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(TWO_DEVICES, ""));
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"lost\": true,"), ""));
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_ERROR);
	/* It did answer for the node. */
	assert_true(f->reading.devices.present);
	assert_int_equal(f->reading.devices.count, 0);
}

static void a_device_that_requires_a_reset_says_so_and_stays_what_it_was(void **state)
{
	struct fixture *f = *state;
	break_first(f, "\"resetRequired\": true,");
	assert_ok(f, 2);
	const struct report_device *device = device_at(f, 0);
	assert_true(device->condition.reset_required);
	assert_false(device->condition.lost || device_at(f, 1)->condition.reset_required);
	assert_text(device->model, "NVIDIA A100-SXM4-40GB");
	assert_int_equal(device->minor, 0);
	assert_true(device->partitions.present);
	assert_false(device->processes.present);
	assert_message_has(f, "device 0 " GPU_A ": GPU requires reset");
	break_first(f, "\"errors\": {\"nvmlDeviceGetUUID\": 16},");
	assert_ok(f, 2);
	assert_true(device_at(f, 0)->condition.reset_required);
	assert_text(device_at(f, 0)->uuid, GPU_A);
	read_world(f, NODE(TWO_DEVICES, ""));
	assert_false(device_at(f, 0)->condition.reset_required);
	assert_text(f->reading.source.message, "");
}

static void a_device_that_required_a_reset_from_the_start_is_told(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"resetRequired\": true,"), ""));
	assert_ok(f, 1);
	assert_true(device_at(f, 0)->condition.reset_required);
	assert_text(device_at(f, 0)->model, "");
}

#define CONDITION                                                                             \
	"\"ecc\": {\"current\": true, \"corrected\": 14, \"uncorrected\": 2, "                \
	"\"aggregate\": {\"corrected\": 140, \"uncorrected\": 20}}, "                         \
	"\"remappedRows\": {\"correctable\": 3, \"uncorrectable\": 1, \"pending\": true}, "   \
	"\"retiredPages\": {\"pending\": true}, \"recoveryAction\": 4, "                      \
	"\"nvlinks\": {\"total\": 12, \"active\": 11}, \"fabric\": \"InProgress\", "          \
	"\"pcieLanes\": {\"total\": 16, \"active\": 8}, "                                          \
	"\"pcieGeneration\": {\"total\": 5, \"active\": 1}, \"clocksEventReasons\": 65,"

static void the_condition_of_a_device_is_read(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", CONDITION) ", " DEVICE(GPU_B, "1", ""), ""));
	assert_text(f->reading.source.message, "");
	const struct report_condition *condition = &device_at(f, 0)->condition;
	assert_int_equal(condition->ecc_volatile.corrected, 14);
	assert_int_equal(condition->ecc_aggregate.uncorrected, 20);
	assert_int_equal(condition->remapped_rows.counts.corrected, 3);
	assert_true(condition->remapped_rows.pending && condition->retired_pages.pending);
	assert_int_equal(condition->recovery, REPORT_RECOVERY_DRAIN_AND_RESET);
	assert_int_equal(condition->nvlinks.active, 11);
	assert_int_equal(condition->fabric, REPORT_FABRIC_IN_PROGRESS);
	assert_int_equal(condition->pcie_lanes.active, 8);
	assert_int_equal(condition->pcie_generation.highest, 5);
	assert_int_equal(condition->pcie_generation.current, 1);
	assert_int_equal(condition->clocks_event_reasons, 0x40);
	condition = &device_at(f, 1)->condition;
	assert_int_equal(condition->clocks_event_reasons, -1);
	assert_true(condition->present);
	assert_false(condition->remapped_rows.present || condition->retired_pages.present ||
		     condition->nvlinks.present || condition->pcie_lanes.present ||
		     condition->pcie_generation.present);
	assert_int_equal(condition->ecc_volatile.uncorrected, -1);
	assert_int_equal(condition->recovery, REPORT_RECOVERY_UNREAD);
}

static void read_device_with(struct fixture *f, const char *rest)
{
	char text[2048];
	snprintf(text, sizeof(text), NODE(DEVICE(GPU_A, "0", "%s"), ""), rest);
	read_world(f, text);
}

static void the_generation_of_the_pcie_link_says_whether_the_device_is_busy_now(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *device;
		bool present, busy;
	} rows[] = {
		{"\"pcieGeneration\": {\"total\": 5, \"active\": 1},", true, false},
		{"\"pcieGeneration\": {\"total\": 5, \"active\": 1}, "
		 "\"utilization\": {\"gpu\": 4, \"memory\": 0},", true, false},
		{"\"pcieGeneration\": {\"total\": 5, \"active\": 1}, "
		 "\"utilization\": {\"gpu\": 5, \"memory\": 0},", true, true},
		{"\"utilization\": {\"gpu\": 90, \"memory\": 0},", false, false},
		/* No link can be like that. */
		{"\"pcieGeneration\": {\"total\": 5, \"active\": 6},", false, false},
		{"\"pcieGeneration\": {\"total\": 5, \"active\": 0},", false, false},
		{"\"pcieGeneration\": {\"total\": 16, \"active\": 16},", false, false},
		{"\"pcieGeneration\": {\"total\": 5, \"active\": 5}, "
		 "\"errors\": {\"nvmlDeviceGetCurrPcieLinkGeneration\": 3},", false, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		read_device_with(f, rows[i].device);
		const struct report_pcie_generation *generation =
			&device_at(f, 0)->condition.pcie_generation;
		if (generation->present != rows[i].present || generation->busy != rows[i].busy)
			fail_msg("row %zu", i);
	}
	/* Work that was seen since the last reading is not work now. */
	read_device_with(f, rows[2].device);
	nvml_sample(f->nvml);
	read_device_with(f, rows[1].device);
	assert_int_equal(device_at(f, 0)->activity.utilization, 5);
	assert_false(device_at(f, 0)->condition.pcie_generation.busy);
}

static void an_old_library_tells_what_it_can_of_the_condition(void **state)
{
	struct fixture *f = *state;
	open_reader(f, FAKE_NVML_OLD);
	read_world(f, NODE(DEVICE(GPU_A, "0", CONDITION), ""));
	const struct report_condition *condition = &device_at(f, 0)->condition;
	assert_int_equal(condition->ecc_volatile.corrected, 14);
	assert_true(condition->retired_pages.pending);
	assert_int_equal(condition->pcie_lanes.active, 8);
	assert_int_equal(condition->clocks_event_reasons, 0x40); /* by the name of then */
	assert_false(condition->remapped_rows.present || condition->nvlinks.present);
	assert_int_equal(condition->recovery, REPORT_RECOVERY_UNREAD);
	assert_int_equal(condition->fabric, REPORT_FABRIC_UNREAD);
}

/* With another handle its errors are watched anew: what was raised before the reset is not known. */
static void a_device_that_gets_another_handle_was_reset_after_the_reading_before(void **state)
{
	struct fixture *f = *state;
	for (unsigned i = 0; i < 2; i++) {
		set_world(f, NODE(DEVICE(GPU_A, "0", "\"attachment\": 1,") ", "
				  DEVICE(GPU_B, "1", ""), ""));
		read_at(f, 4000);
		assert_int_equal(device_at(f, 0)->condition.reset_time, 0);
	}
	set_world(f, NODE(DEVICE(GPU_A, "0", "\"attachment\": 2,") ", " DEVICE(GPU_B, "1", ""), ""));
	for (unsigned i = 0; i < 3; i++) {
		read_at(f, 5000 + i);
		assert_ok(f, 2);
		assert_int_equal(device_at(f, 0)->condition.reset_time, 4000);
		assert_int_equal(device_at(f, 0)->condition.reset_uptime_ms, 4000 - FIXTURE_BOOTED_AT);
		assert_int_equal(device_at(f, 1)->condition.reset_time, 0);
	}
	/* Other devices at these indexes were not reset. */
	set_world(f, NODE(DEVICE(GPU_B, "0", "") ", " DEVICE(GPU_A, "1", "\"attachment\": 2,"), ""));
	read_at(f, 6000);
	assert_int_equal(device_at(f, 0)->condition.reset_time, 0);
	assert_int_equal(device_at(f, 0)->condition.reset_uptime_ms, 0);
	assert_int_equal(device_at(f, 1)->condition.reset_time, 0);
}

static void a_device_lost_from_the_start_is_named_by_its_index(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "") ", " DEVICE(GPU_B, "1", "\"lost\": true,"), ""));
	assert_ok(f, 1);
	assert_text(f->reading.source.message, "device 1: GPU is lost");
}

static void a_node_whose_devices_were_lost_from_the_start_has_not_answered(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"lost\": true,"), ""));
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_ERROR);
	/* It did answer for the node. */
	assert_true(f->reading.devices.present);
	assert_int_equal(f->reading.devices.count, 0);
	assert_text(f->reading.source.message, "device 0: GPU is lost");
	read_world(f, NODE(DEVICE(GPU_A, "0", ""), ""));
	assert_ok(f, 1);
	assert_text(f->reading.source.message, "");
}

static void a_node_whose_devices_are_all_lost_says_the_same_in_every_session(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", ""), ""));
	for (unsigned i = 0; i < 3; i++) {
		read_world(f, NODE(DEVICE(GPU_A, "0", "\"lost\": true,"), ""));
		assert_ok(f, 1);
		assert_true(device_at(f, 0)->condition.lost);
		assert_text(f->reading.source.message, "device 0 " GPU_A ": GPU is lost");
	}
}

static void without_memory_a_lost_device_is_not_told_either(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(TWO_DEVICES, ""));
	set_world(f, NODE(DEVICE(GPU_A, "0", "\"lost\": true,") ", "
			  DEVICE(GPU_B, "1", "\"resetRequired\": true,"), ""));
	int result = -1;
	for (size_t cap = 0; result < 0; cap += 16) {
		CLEANUP(arena_deinit) struct arena arena;
		arena_init(&arena, cap);
		result = nvml_read(f->nvml, (struct wall_time){1000, 1}, &arena, &f->reading, &f->err);
		if (result < 0)
			assert_int_equal(f->err.kind, ERROR_NO_MEMORY);
		else
			assert_int_equal(f->reading.devices.count, 2);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_lost_device_is_told_as_it_was_and_the_others_stay),
	cmocka_unit_test_set_up(a_device_that_is_missing_is_left_out_and_the_others_stay),
	cmocka_unit_test_set_up(
		a_device_that_does_not_answer_is_told_and_nothing_of_it_is_read),
	cmocka_unit_test_set_up(a_device_that_does_not_answer_is_as_lost_or_missing_as_it_was),
	cmocka_unit_test_set_up(a_device_that_never_had_a_name_is_logged_once),
	cmocka_unit_test_set_up(a_lost_device_keeps_its_partitions_and_its_condition),
	cmocka_unit_test_set_up(a_lost_device_that_is_back_is_read_again),
	cmocka_unit_test_set_up(an_index_that_went_to_another_device_loses_nobody),
	cmocka_unit_test_set_up(another_number_of_devices_makes_the_lost_ones_unknown),
	cmocka_unit_test_set_up(a_device_that_requires_a_reset_says_so_and_stays_what_it_was),
	cmocka_unit_test_set_up(a_device_that_required_a_reset_from_the_start_is_told),
	cmocka_unit_test_set_up(the_condition_of_a_device_is_read),
	cmocka_unit_test_set_up(the_generation_of_the_pcie_link_says_whether_the_device_is_busy_now),
	cmocka_unit_test_set_up(an_old_library_tells_what_it_can_of_the_condition),
	cmocka_unit_test_set_up(
		a_device_that_gets_another_handle_was_reset_after_the_reading_before),
	cmocka_unit_test_set_up(a_device_lost_from_the_start_is_named_by_its_index),
	cmocka_unit_test_set_up(a_node_whose_devices_were_lost_from_the_start_has_not_answered),
	cmocka_unit_test_set_up(a_node_whose_devices_are_all_lost_says_the_same_in_every_session),
	cmocka_unit_test_set_up(without_memory_a_lost_device_is_not_told_either),
};

TEST_MAIN(tests)
