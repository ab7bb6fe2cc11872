/* SPDX-License-Identifier: Apache-2.0 */

#include "join/witnesses.h"
#include "lib/world_fixture.h"

#include "assess/health.h"
#include "base/limits.h"
#include "join/stages.h"
#include "join/subject.h"

static const struct verdict {
	int state, recovery, condition;
} HEALTHY = {ATTRIBUTION_HEALTH_HEALTHY, ATTRIBUTION_RECOVERY_NONE, CONDITION_TRUE},
  NOT_KNOWN = {ATTRIBUTION_HEALTH_UNKNOWN, ATTRIBUTION_RECOVERY_UNSET, CONDITION_UNKNOWN},
  WITHDRAWN = {ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_UNSET, CONDITION_FALSE},
  LOOK_CLOSER = {ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN, CONDITION_FALSE},
  NEEDS_RESET = {ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_RESET, CONDITION_FALSE},
  NEEDS_REBOOT = {ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_REBOOT, CONDITION_FALSE};

static const struct condition *condition(void)
{
	return attribution_find_condition(build_world_status(&world, 0), VIEW("Healthy"));
}

static void expect_health(struct verdict verdict, const char *reasons)
{
	const struct attribution_health_state *health = &publish()->health;
	assert_int_equal(health->state, verdict.state);
	assert_int_equal(health->recovery_action, verdict.recovery);
	assert_int_equal(condition()->status, verdict.condition);
	expect_texts(health->reasons, reasons);
	assert_true(health->reasons.present && health->events.present);
	assert_int_equal(health->reasons.items != NULL, reasons[0] != '\0');
	assert_int_equal(health->events.items != NULL, health->events.count > 0);
	assert_true(condition()->message.len > 0);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static const struct attribution_health_event *event_at(uint32_t i)
{
	const struct array events = build_world_status(&world, 0)->health.events;
	assert_true(i < events.count);
	return ARRAY_AT(events, struct attribution_health_event, i);
}

static void event(int64_t code, int64_t seconds)
{
	build_world_event(&world, build_world_uuid(&world, 0), code,
			  BUILD_WORLD_NOW + seconds * 1000);
}

TEST(a_device_with_nothing_against_it_is_healthy)
{
	build_world_exclusive(&world, 0);
	expect_health(HEALTHY, "");
	expect_text(condition()->reason, "NothingFound");
}

TEST(each_class_of_error_has_its_state_and_remedy)
{
	const struct {
		int64_t code;
		struct verdict verdict;
		const char *reasons;
	} rows[] = {
		{79, NEEDS_REBOOT, "XID79"}, {95, NEEDS_RESET, "XID95"},
		{48, LOOK_CLOSER, "XID48"},  {4711, LOOK_CLOSER, "XID4711"},
		{31, HEALTHY, ""},           {63, HEALTHY, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		build_world_exclusive(&world, 0);
		event(rows[i].code, 0);
		expect_health(rows[i].verdict, rows[i].reasons);
		expect_text(condition()->reason,
			    rows[i].reasons[0] ? rows[i].reasons : "NothingFound");
		assert_true(event_at(0)->xid == rows[i].code);
		assert_true(event_at(0)->meaning.len > 0);
	}
}

TEST(the_worst_error_decides_and_each_kind_is_a_reason_once)
{
	const struct {
		int64_t codes[4]; /* in the order in which they happened */
		struct verdict verdict;
		const char *reasons, *reason;
	} rows[] = {
		{{95, 79, 48, 48}, NEEDS_REBOOT, "XID79,XID95,XID48", "XID79"},
		{{48, 48, 74}, LOOK_CLOSER, "XID48,XID74", "XID48"},
		{{62, 79}, NEEDS_REBOOT, "XID79,XID62", "XID79"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		build_world_exclusive(&world, 0);
		for (int k = 0; k < 4 && rows[i].codes[k]; k++)
			event(rows[i].codes[k], k);
		expect_health(rows[i].verdict, rows[i].reasons);
		expect_text(condition()->reason, rows[i].reason);
	}
	expect_text(condition()->message, "XID 79: GPU has fallen off the bus");
	world.input.booted_after = BUILD_WORLD_NOW + 1000;
	expect_health(HEALTHY, "");
}

/* The condition of the device in the report, to be altered: all is read, and nothing is wrong. */
static struct report_condition *conditioned(void)
{
	build_world_exclusive(&world, 0);
	world.devices[0].condition = (struct report_condition){
		.present = true,
		.recovery = REPORT_RECOVERY_NONE,
		.remapped_rows = {.present = true},
		.retired_pages = {.present = true},
	};
	return &world.devices[0].condition;
}

TEST(each_thing_that_the_driver_tells_against_a_device_is_a_reason_with_its_remedy)
{
	enum {
		UNHEALTHY = ATTRIBUTION_HEALTH_UNHEALTHY,
		DEGRADED = ATTRIBUTION_HEALTH_DEGRADED
	};
	const struct {
		struct report_condition c;
		int state, action;
		const char *reason;
	} rows[] = {
		{{.lost = true}, UNHEALTHY, ATTRIBUTION_RECOVERY_REBOOT, "GPULost"},
		{{.remapped_rows = {.present = true, .failed = true}, .recovery = REPORT_RECOVERY_NONE},
		 UNHEALTHY, ATTRIBUTION_RECOVERY_REPLACE, "RowRemapFailed"},
		{{.recovery = REPORT_RECOVERY_RECOVER_IMEX_DOMAIN}, UNHEALTHY,
		 ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN, "RecoverIMEXDomain"},
		{{.recovery = REPORT_RECOVERY_REBOOT}, UNHEALTHY, ATTRIBUTION_RECOVERY_REBOOT,
		 "RebootRequired"},
		{{.recovery = REPORT_RECOVERY_RESET}, UNHEALTHY, ATTRIBUTION_RECOVERY_RESET,
		 "ResetRequired"},
		{{.reset_required = true}, UNHEALTHY, ATTRIBUTION_RECOVERY_RESET, "ResetRequired"},
		{{.recovery = REPORT_RECOVERY_DRAIN_AND_RESET}, DEGRADED,
		 ATTRIBUTION_RECOVERY_DRAIN_AND_RESET, "DrainRequired"},
		{{.recovery = REPORT_RECOVERY_DRAIN_P2P}, DEGRADED, ATTRIBUTION_RECOVERY_DRAIN_P2P,
		 "DrainRequired"},
		{{.remapped_rows = {.present = true, .pending = true}}, DEGRADED,
		 ATTRIBUTION_RECOVERY_RESET, "RowRemapPending"},
		{{.retired_pages = {.present = true, .pending = true}}, DEGRADED,
		 ATTRIBUTION_RECOVERY_RESET, "RetiredPagesPending"},
		{{.ecc_volatile = {.uncorrected = 1}}, DEGRADED, ATTRIBUTION_RECOVERY_RESET,
		 "UncorrectableECC"},
		{{.ecc_volatile = {.uncorrected = 1}, .recovery = REPORT_RECOVERY_NONE}, DEGRADED,
		 ATTRIBUTION_RECOVERY_NONE, "UncorrectableECC"},
		{{.recovery = REPORT_RECOVERY_OTHER}, DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN,
		 "RecoveryRequired"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		struct report_condition *c = conditioned();
		const struct report_condition well = *c;
		*c = rows[i].c;
		c->present = true;
		expect_health((struct verdict){rows[i].state, rows[i].action, CONDITION_FALSE},
			      rows[i].reason);
		expect_text(condition()->reason, rows[i].reason);
		/* It clears when the driver says so, without a boot. */
		*c = well;
		expect_health(HEALTHY, "");
		/* An agent that does not read conditions has nothing against the device. */
		*c = rows[i].c;
		c->present = false;
		expect_health(HEALTHY, "");
	}
}

TEST(the_driver_recommends_and_the_worst_reason_gives_the_state)
{
	struct report_condition *c = conditioned();
	event(95, 0);
	c->remapped_rows.pending = true;
	c->recovery = REPORT_RECOVERY_DRAIN_AND_RESET;
	expect_health((struct verdict){ATTRIBUTION_HEALTH_UNHEALTHY,
				       ATTRIBUTION_RECOVERY_DRAIN_AND_RESET, CONDITION_FALSE},
		      "XID95,DrainRequired,RowRemapPending");
	expect_text(condition()->message, "XID 95: uncontained memory error");
	c->lost = true; /* the rest is what it told before */
	expect_health(NEEDS_REBOOT, "GPULost,XID95,DrainRequired,RowRemapPending");
}

TEST(a_device_of_which_nothing_can_be_read_is_not_called_healthy)
{
	struct report_condition *c = conditioned();
	*c = (struct report_condition){.present = true, .ecc_volatile = {-1, -1}};
	world.report.events_since = BUILD_WORLD_NOW;
	world.report.sources.nvml.message = VIEW("device 0: power: Unknown Error");
	expect_health(HEALTHY, ""); /* its errors can be watched */
	world.report.events_since = 0;
	expect_health(NOT_KNOWN, "HealthUnread");
}

/* What is known to be wrong is worse than not knowing. */
TEST(what_was_wrong_stays_so_while_nvml_fails)
{
	struct report_condition *c = conditioned();
	event(79, 0);
	c->lost = true;
	expect_health(NEEDS_REBOOT, "XID79,GPULost");
	world.report.sources.nvml.state = REPORT_SOURCE_ERROR;
	expect_health(NEEDS_REBOOT, "XID79,GPULost,NVMLUnavailable");
	world.report.sources.nvml.state = REPORT_SOURCE_OK;
	c->lost = false;
	expect_health(HEALTHY, "");
}

/* As a device that NVML did not list: what it raised before is history when it answers again. */
TEST(a_lost_device_that_answers_again_has_left_its_errors_behind)
{
	struct report_condition *c = conditioned();
	event(79, 0);
	expect_health(NEEDS_REBOOT, "XID79");
	c->lost = true;
	expect_health(NEEDS_REBOOT, "XID79,GPULost");
	c->lost = false;
	expect_health(HEALTHY, "");
}

TEST(the_message_of_a_healthy_device_says_what_was_read_and_what_could_not_be)
{
	const struct {
		int64_t events_since;
		struct report_condition c;
		const char *says;
	} rows[] = {
		{1, {.present = true, .recovery = REPORT_RECOVERY_NONE,
		      .remapped_rows = {.present = true}},
		 "; read: XID errors, ECC, row remapping, recovery action; cannot be read here: "
		 "slowdown, NVLink, fabric, PCIe"},
		{1, {.present = true, .retired_pages = {.present = true}},
		 "; read: XID errors, ECC, row remapping; cannot be read here: "
		 "recovery action, slowdown, NVLink, fabric, PCIe"},
		{0,
		 {.present = true, .ecc_volatile = {-1, -1}, .recovery = REPORT_RECOVERY_NONE},
		 "; read: recovery action; cannot be read here: XID errors, ECC, row remapping, "
		 "slowdown, NVLink, fabric, PCIe"},
		{1, {.present = false}, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		*conditioned() = rows[i].c;
		world.report.events_since = rows[i].events_since;
		expect_health(HEALTHY, "");
		char expected[256];
		snprintf(expected, sizeof(expected), "nothing speaks against the device%s",
			 rows[i].says);
		assert_true(view_starts_with(condition()->message, view_from(expected)));
	}
}

/* An event is told again, or another at the same time. */
TEST(an_error_at_the_time_of_another_is_another_and_nobody_was_there)
{
	build_world_exclusive(&world, 0);
	event(31, 0);
	publish();
	event(79, 0);
	expect_health(NEEDS_REBOOT, "XID79");
	assert_true(event_at(1)->tenants.present);
	assert_null(event_at(1)->tenants.items);
}

TEST(events_come_newest_first_and_those_of_one_time_by_number)
{
	static const struct {
		int64_t code, seconds;
	} rows[] = {{31, 1}, {48, 0}, {79, 0}, {95, -1}};
	enum { N = ARRAY_SIZE(rows) };
	for (size_t shift = 0; shift < 2 * N; shift++) {
		start_anew();
		build_world_exclusive(&world, 0);
		for (size_t i = 0; i < N; i++) {
			size_t at = (shift < N ? shift + i : shift - i) % N;
			event(rows[at].code, rows[at].seconds);
		}
		publish();
		for (uint32_t i = 0; i < N; i++)
			assert_int_equal(event_at(i)->xid, rows[i].code);
	}
}

TEST(an_event_lists_each_pod_that_held_the_device_once)
{
	build_world_shared(&world, 0, 4);
	build_world_run(&world, POD("b"), build_world_replica(&world, 0, 0));
	build_world_book(&world, "uid-b", "second", build_world_replica(&world, 0, 1));
	build_world_run(&world, POD("a"), build_world_replica(&world, 0, 2));
	event(79, 0);
	build_world_event(&world, build_world_uuid(&world, 0), 31, BUILD_WORLD_NOW + 5);
	publish();
	expect_accused(event_at(0)->tenants, "uid-a,uid-b");
	expect_accused(event_at(1)->tenants, "uid-a,uid-b");
	/* Whoever comes later was not there. */
	build_world_run(&world, POD("c"), build_world_replica(&world, 0, 3));
	publish();
	expect_accused(event_at(0)->tenants, "uid-a,uid-b");
}

TEST(an_event_lists_a_container_once_that_left_and_came_back)
{
	const struct view uuid = build_world_uuid(&world, 0);
	build_world_exclusive(&world, 0);
	build_world_run(&world, POD("a"), uuid);
	publish();
	build_world_remove_pod(&world, "uid-a");
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	expect_recent(publish(), "uid-a");
	build_world_run(&world, POD("a"), uuid);
	event(79, 0);
	expect_recent(publish(), "uid-a");
	expect_accused(event_at(0)->tenants, "uid-a");
	assert_int_equal(event_at(0)->tenants.count, 1);
}

/* Pods a and b hold MIG devices 0 and 1. NVML tells the instance of some errors. */
TEST(an_error_of_a_mig_device_names_its_holders_only)
{
	static const struct {
		int64_t gpu_instance, compute_instance;
		bool is_a_gone; /* before the error is told */
		const char *partition, *tenants;
	} rows[] = {
		{7, 0, false, "0", "uid-a"},       {8, 0, false, "1", "uid-b"},
		{9, 0, false, "2", ""},            {7, 0, true, "0", "uid-a"},
		{8, 0, true, "1", "uid-b"},        {-1, -1, false, "", "uid-a,uid-b"},
		{7, -1, false, "0", "uid-a"},      {99, 0, false, "", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		build_world_cut(&world, 0, 3);
		build_world_run(&world, POD("a"), build_world_mig(&world, 0, 0));
		build_world_run(&world, POD("b"), build_world_mig(&world, 0, 1));
		publish();
		if (rows[i].is_a_gone) {
			build_world_remove_pod(&world, "uid-a");
			build_world_list_nothing(&world);
			build_world_book_nothing(&world);
			build_world_run(&world, POD("b"), build_world_mig(&world, 0, 1));
		}
		event(94, 0);
		world.events[0].gpu_instance_id = rows[i].gpu_instance;
		world.events[0].compute_instance_id = rows[i].compute_instance;
		publish();
		expect_accused(event_at(0)->tenants, rows[i].tenants);
		const struct view partition = event_at(0)->partition;
		assert_int_equal(partition.len > 0, rows[i].partition[0] != '\0');
		if (partition.len > 0)
			assert_true(view_equal(partition,
					       build_world_mig(&world, 0,
							       (unsigned)(rows[i].partition[0] -
									  '0'))));
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

/* One call fails, and with it the list of MIG devices. Or instance 7 has two compute instances. */
TEST(an_error_of_a_mig_device_names_no_holder_of_another_while_it_is_not_clear_which)
{
	static const struct {
		bool is_listed, is_divided;
		const char *partition, *tenants;
	} rows[] = {
		{true, false, "0", "uid-a"},
		{false, false, "0", "uid-a"},
		{true, true, "", "uid-a,uid-b"},
		{false, true, "", "uid-a,uid-b"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		struct report_device *device = build_world_cut(&world, 0, 3);
		struct report_partition *partitions = device->partitions.items;
		if (rows[i].is_divided) {
			partitions[1].gpu_instance_id = partitions[0].gpu_instance_id;
			partitions[1].compute_instance_id = 1;
		}
		build_world_run(&world, POD("a"), build_world_mig(&world, 0, 0));
		build_world_run(&world, POD("b"), build_world_mig(&world, 0, 1));
		build_world_run(&world, POD("c"), build_world_mig(&world, 0, 2));
		publish();
		device->partitions.present = rows[i].is_listed;
		if (!rows[i].is_listed)
			device->partitions.count = 0;
		event(94, 0);
		world.events[0].gpu_instance_id = 7;
		publish();
		assert_int_equal(event_at(0)->partition.len > 0, rows[i].partition[0] != '\0');
		expect_accused(event_at(0)->tenants, rows[i].tenants);
	}
}

/* Pods a and b held MIG devices 0 and 1, and b alone does; a is told to have left. */
static void leave_a_mig_device(void)
{
	build_world_cut(&world, 0, 2);
	build_world_run(&world, POD("a"), build_world_mig(&world, 0, 0));
	build_world_run(&world, POD("b"), build_world_mig(&world, 0, 1));
	publish();
	build_world_remove_pod(&world, "uid-a");
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_run(&world, POD("b"), build_world_mig(&world, 0, 1));
	publish();
}

static struct attribution_past_tenant *who_left(void)
{
	return ARRAY_AT(build_world_status(&world, 0)->recent_tenants,
			struct attribution_past_tenant, 0);
}

TEST(an_error_of_a_mig_device_names_who_had_left_that_one)
{
	for (int64_t i = 0; i < 2 && start_anew(); i++) {
		leave_a_mig_device();
		assert_int_equal(who_left()->partitions.count, 1);
		event(94, 0);
		world.events[0].gpu_instance_id = 7 + i;
		world.events[0].compute_instance_id = 0;
		publish();
		expect_accused(event_at(0)->tenants, i == 0 ? "uid-a" : "uid-b");
	}
}

/* A controller of an earlier release did not keep it: it may have been this one. */
TEST(an_error_of_a_mig_device_names_who_left_one_that_is_not_known)
{
	leave_a_mig_device();
	who_left()->partitions = (struct array){0};
	event(94, 0);
	world.events[0].gpu_instance_id = 8;
	world.events[0].compute_instance_id = 0;
	publish();
	expect_accused(event_at(0)->tenants, "uid-b,uid-a");
}

/* It was acknowledged, and the answer was lost. */
TEST(an_error_that_is_told_again_without_its_mig_device_is_the_same)
{
	struct report_device *device = build_world_cut(&world, 0, 2);
	event(94, 0);
	world.events[0].gpu_instance_id = 7;
	world.events[0].compute_instance_id = 0;
	publish();
	device->partitions.count = 0;
	assert_int_equal(publish()->health.events.count, 1);
	assert_true(event_at(0)->partition.len > 0);
}

TEST(an_error_of_two_mig_devices_at_once_is_two_events)
{
	build_world_cut(&world, 0, 2);
	for (int i = 0; i < 2; i++) {
		event(94, 0);
		world.events[i].gpu_instance_id = 7 + i;
		world.events[i].compute_instance_id = 0;
	}
	assert_int_equal(publish()->health.events.count, 2);
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* Pod a has held the device since it was first seen; ten minutes later it is gone, and b is there. */
static void replace_a_while_nobody_watches(void)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, POD("a"), build_world_uuid(&world, 0));
	publish();
	build_world_wait(&world, 600000);
	build_world_remove_pod(&world, "uid-a");
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_run(&world,
			(struct build_pod){.name = "b", .started_at = BUILD_WORLD_NOW + 540000},
			build_world_uuid(&world, 0));
}

TEST(an_event_lists_who_held_the_device_when_it_happened)
{
	static const struct {
		int64_t ms;
		const char *tenants;
	} rows[] = {
		{-600000, ""}, /* a's start is told no more */
		{-2001, ""},
		{-2000, "uid-a"},
		{60000, "uid-a"},
		{540000, "uid-a"}, /* in the second of b's start */
		{540999, "uid-a"},
		{541000, "uid-b,uid-a"}, /* when a left is not known */
		{602000, "uid-b,uid-a"},
		{602001, "uid-b"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		replace_a_while_nobody_watches();
		build_world_event(&world, build_world_uuid(&world, 0), 79,
				  BUILD_WORLD_NOW + rows[i].ms);
		publish();
		expect_accused(event_at(0)->tenants, rows[i].tenants);
		assert_int_equal(event_at(0)->tenants_left_out, 0);
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

/* Whoever the pod was of which nothing is left but that it was there. */
TEST(an_event_that_is_told_late_lists_who_had_left_before)
{
	static const struct {
		int64_t ms;
		const char *tenants;
	} rows[] = {{62000, "uid-a"},  {62001, ""},       {117999, ""},
		    {118000, "uid-b"}, {182000, "uid-b"}, {182001, ""}};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		build_world_exclusive(&world, 0);
		for (int k = 0; k < 2; k++) {
			const char *name = k == 0 ? "a" : "b";
			build_world_run(&world, POD(name), build_world_uuid(&world, 0));
			publish();
			build_world_wait(&world, 60000);
			build_world_remove_pod(&world, k == 0 ? "uid-a" : "uid-b");
			build_world_list_nothing(&world);
			build_world_book_nothing(&world);
			publish();
			build_world_wait(&world, 60000);
		}
		build_world_event(&world, build_world_uuid(&world, 0), 79,
				  BUILD_WORLD_NOW + rows[i].ms);
		expect_recent(publish(), "uid-b,uid-a");
		expect_accused(event_at(0)->tenants, rows[i].tenants);
	}
}

/* The writes since then were not accepted: what is published still has pod a, which is gone or over. */
TEST(an_event_does_not_list_whose_end_was_told_before_it)
{
	static const struct join_end end = {VIEW_INIT("uid-a"), 40000};
	static const struct {
		int64_t ms;
		const char *tenants;
	} rows[] = {{20000, "uid-a"}, {22000, "uid-a"}, {22001, ""}, {60000, ""}};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		start_anew();
		build_world_exclusive(&world, 0);
		build_world_run(&world, POD("a"), build_world_uuid(&world, 0));
		publish();
		build_world_wait(&world, 60000);
		build_world_remove_pod(&world, "uid-a");
		if (i % 2)
			build_world_pod(&world,
					(struct build_pod){.name = "a",
							   .phase = POD_PHASE_FAILED,
							   .state = POD_CONTAINER_TERMINATED});
		world.input.ends = &end;
		world.input.n_ends = 1;
		build_world_event(&world, build_world_uuid(&world, 0), 79,
				  BUILD_WORLD_NOW + rows[i / 2].ms);
		expect_recent(publish(), "uid-a");
		expect_accused(event_at(0)->tenants, rows[i / 2].tenants);
	}
}

TEST(each_event_has_a_list_of_its_own_which_stays)
{
	replace_a_while_nobody_watches();
	event(79, 60);
	event(79, 660);
	publish();
	build_world_remove_pod(&world, "uid-b");
	for (int i = 0; i < 2; i++) {
		publish();
		expect_accused(event_at(0)->tenants, "uid-b");
		expect_accused(event_at(1)->tenants, "uid-a");
	}
}

TEST(a_pod_whose_start_is_not_told_held_the_device_since_it_was_seen)
{
	static const int64_t instants[] = {-2001, -2000, 0, 3600000};
	for (size_t i = 0; i < ARRAY_SIZE(instants) && start_anew(); i++) {
		build_world_exclusive(&world, 0);
		build_world_run(&world, (struct build_pod){.name = "a", .is_unseen = true},
				build_world_uuid(&world, 0));
		build_world_event(&world, build_world_uuid(&world, 0), 79,
				  BUILD_WORLD_NOW + instants[i]);
		publish();
		expect_accused(event_at(0)->tenants, i == 0 ? "" : "uid-a");
	}
}

TEST(the_start_of_a_pod_that_is_over_still_counts)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, POD("a"), build_world_uuid(&world, 0));
	publish();
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_FAILED});
	event(79, -60);
	expect_recent(publish(), "uid-a");
	expect_accused(event_at(0)->tenants, "uid-a");
}

TEST(who_held_the_card_in_another_node_did_not_in_this)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, POD("a"), build_world_uuid(&world, 0));
	publish();
	build_world_remove_pod(&world, "uid-a");
	build_world_run(&world, POD("b"), build_world_uuid(&world, 0));
	publish();
	struct attribution object = *build_world_previous(&world, 0)->object;
	object.status.node_name = VIEW("gpu-b");
	build_world_previous(&world, 0)->object = &object;
	build_world_remove_pod(&world, "uid-b");
	event(79, 0);
	expect_recent(publish(), "uid-b,uid-a");
	expect_accused(event_at(0)->tenants, "");
}

TEST(an_event_names_nobody_whom_the_api_does_not_know)
{
	build_world_shared(&world, 0, 2);
	build_world_run(&world, POD("a"), build_world_replica(&world, 0, 0));
	build_world_book(&world, "uid-ghost", "main", build_world_replica(&world, 0, 1));
	build_world_list(&world, "ghost", "main", build_world_replica(&world, 0, 1));
	event(31, 0);
	expect_tenants(publish(), "uid-a/main,uid-ghost/main");
	expect_accused(event_at(0)->tenants, "uid-a");
	build_world_wait(&world, world.limits.pending_ms);
	event(48, 1);
	publish();
	expect_accused(event_at(0)->tenants, "uid-a");
	/* It is gone, and still nobody has known it. */
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_run(&world, POD("a"), build_world_replica(&world, 0, 0));
	event(79, 2);
	expect_tenants(publish(), "uid-a/main");
	expect_accused(event_at(0)->tenants, "uid-a");
}

/* Whatever its ID names: HAMi has given it another device, or this one. */
TEST(an_event_does_not_name_a_pod_of_which_hami_tells_no_device)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, POD("a"),
			build_world_text(&world, "%s-1", build_world_uuid(&world, 0).ptr));
	event(79, 0);
	expect_tenants(publish(), "uid-a/main");
	expect_accused(event_at(0)->tenants, "");
}

TEST(an_event_does_not_name_who_only_stood_there_until_hami_told_the_device)
{
	const struct view id = build_world_text(&world, "%s-1", build_world_uuid(&world, 0).ptr);
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	build_world_offer(&world, id);
	build_world_run(&world, POD("a"), id);
	expect_tenants(publish(), "uid-a/main");
	build_world_pod(&world,
			(struct build_pod){.name = "a",
					   .hami = build_world_text(&world, "%s,NVIDIA,4000,30:;",
								    build_world_uuid(&world, 1).ptr)
							   .ptr});
	event(79, 0);
	build_world_event(&world, build_world_uuid(&world, 1), 79, BUILD_WORLD_NOW);
	expect_tenants(publish(), "");
	expect_accused(event_at(0)->tenants, "");
	const struct array events = build_world_status(&world, 1)->health.events;
	assert_int_equal(events.count, 1);
	expect_accused(ARRAY_AT(events, struct attribution_health_event, 0)->tenants, "uid-a");
}

/* It has the device itself, for whomever. */
TEST(an_event_names_a_reservation_for_nobody_known_that_the_books_have_lost)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"},
			build_world_uuid(&world, 0));
	publish();
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	event(79, 0);
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-r/main");
	expect_text(ARRAY_AT(status->tenants, struct attribution_tenant, 0)->placeholder, "KAI");
	expect_accused(event_at(0)->tenants, "uid-r");
}

TEST(a_static_pod_has_one_uid_in_an_event)
{
	build_world_exclusive(&world, 0);
	build_world_book(&world, "c0ffee", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "static", "main", build_world_uuid(&world, 0));
	expect_tenants(publish(), "c0ffee/main");
	build_world_pod(&world, (struct build_pod){.name = "static", .hash = "c0ffee"});
	event(79, 0);
	expect_tenants(publish(), "uid-static/main");
	expect_accused(event_at(0)->tenants, "uid-static");
}

TEST(the_pods_of_an_event_are_bounded)
{
	build_world_shared(&world, 0, LIMIT_EVENT_TENANTS + 5);
	for (unsigned i = 0; i < LIMIT_EVENT_TENANTS + 5; i++)
		build_world_run(&world, POD(build_world_text(&world, "p%u", i).ptr),
				build_world_replica(&world, 0, i));
	event(79, 0);
	publish();
	assert_int_equal(event_at(0)->tenants.count, LIMIT_EVENT_TENANTS);
	assert_int_equal(event_at(0)->tenants_left_out, 5);
}

TEST(an_event_that_is_sent_again_is_the_same_event)
{
	build_world_exclusive(&world, 0);
	event(79, 0);
	event(79, 0);
	build_world_event(&world, build_world_uuid(&world, 0), 79, BUILD_WORLD_NOW + 1);
	build_world_event(&world, build_world_uuid(&world, 0), 48, BUILD_WORLD_NOW + 1);
	assert_int_equal(publish()->health.events.count, 3);
	assert_true(event_at(0)->event_time == BUILD_WORLD_NOW + 1 && event_at(0)->xid == 48);
	assert_true(event_at(1)->event_time == BUILD_WORLD_NOW + 1 && event_at(1)->xid == 79);
	assert_true(event_at(2)->event_time == BUILD_WORLD_NOW);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Acknowledged: the report no longer has them, the status does. */
	world.report.events.count = 0;
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(only_the_newest_events_are_kept)
{
	build_world_exclusive(&world, 0);
	for (unsigned i = 0; i <= LIMIT_HEALTH_EVENTS; i++)
		build_world_event(&world, build_world_uuid(&world, 0), 31, BUILD_WORLD_NOW + i);
	expect_health(HEALTHY, "");
	assert_int_equal(build_world_status(&world, 0)->health.events.count, LIMIT_HEALTH_EVENTS);
	assert_true(event_at(0)->event_time == BUILD_WORLD_NOW + LIMIT_HEALTH_EVENTS);
	assert_true(event_at(LIMIT_HEALTH_EVENTS - 1)->event_time == BUILD_WORLD_NOW + 1);
}

/* Of several of a number the newest. */
TEST(a_program_that_fails_again_and_again_pushes_out_no_error_of_the_device)
{
	build_world_exclusive(&world, 0);
	event(79, -2);
	event(48, -1);
	event(79, 0);
	expect_health(NEEDS_REBOOT, "XID79,XID48");
	for (unsigned i = 1; i <= LIMIT_HEALTH_EVENTS; i++)
		build_world_event(&world, build_world_uuid(&world, 0), 31, BUILD_WORLD_NOW + i);
	expect_health(NEEDS_REBOOT, "XID79,XID48");
	assert_int_equal(build_world_status(&world, 0)->health.events.count, LIMIT_HEALTH_EVENTS);
	assert_int_equal(event_at(LIMIT_HEALTH_EVENTS - 1)->xid, 48);
	assert_true(event_at(LIMIT_HEALTH_EVENTS - 2)->event_time == BUILD_WORLD_NOW);
	assert_true(event_at(LIMIT_HEALTH_EVENTS - 3)->event_time == BUILD_WORLD_NOW + 3);
}

TEST(more_kinds_of_errors_than_are_kept_push_out_none_that_is_graver)
{
	build_world_exclusive(&world, 0);
	event(79, -2);
	event(95, -1);
	for (unsigned i = 0; i < LIMIT_HEALTH_EVENTS; i++)
		build_world_event(&world, build_world_uuid(&world, 0), 1000 + i,
				  BUILD_WORLD_NOW + i);
	build_world_event(&world, build_world_uuid(&world, 0), 31, BUILD_WORLD_NOW + 100);
	const struct attribution_health_state *health = &publish()->health;
	assert_int_equal(health->state, ATTRIBUTION_HEALTH_UNHEALTHY);
	assert_true(view_equal(*ARRAY_AT(health->reasons, struct view, 0), VIEW("XID79")));
	assert_true(view_equal(*ARRAY_AT(health->reasons, struct view, 1), VIEW("XID95")));
	assert_int_equal(health->events.count, LIMIT_HEALTH_EVENTS);
	assert_int_equal(event_at(0)->xid, 1000 + LIMIT_HEALTH_EVENTS - 1);
	assert_int_equal(event_at(LIMIT_HEALTH_EVENTS - 3)->xid, 1002);
}

TEST(as_many_kinds_of_errors_as_are_kept_can_be_reasons_and_what_else_is_wrong_too)
{
	struct report_condition *c = conditioned();
	world.report.boot_id = VIEW("boot");
	for (unsigned i = 0; i < LIMIT_HEALTH_EVENTS; i++)
		build_world_event(&world, build_world_uuid(&world, 0), 1000 + i,
				  BUILD_WORLD_NOW + i);
	c->lost = true;
	c->remapped_rows = (struct report_remapped_rows){
		.present = true, .pending = true, .failed = true};
	c->recovery = REPORT_RECOVERY_REBOOT;
	publish();
	world.report.devices.count = 0;
	build_world_fail_nvml(&world);
	build_world_offer_nothing(&world);
	const struct array reasons = publish()->health.reasons;
	assert_true(reasons.count > LIMIT_HEALTH_EVENTS + 3);
	assert_true(view_is_among(VIEW("NVMLUnavailable"), reasons.items, reasons.count));
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(events_of_other_devices_and_other_kinds_are_not_this_ones)
{
	build_world_cut(&world, 0, 1);
	build_world_exclusive(&world, 1);
	build_world_event(&world, build_world_uuid(&world, 1), 79, BUILD_WORLD_NOW);
	build_world_event(&world, build_world_uuid(&world, 5), 79, BUILD_WORLD_NOW);
	event(79, 0);
	world.events[2].type = REPORT_EVENT_UNKNOWN;
	expect_health(HEALTHY, "");
	/* One that names a partition is its device's. */
	build_world_event(&world, build_world_mig(&world, 0, 0), 48, BUILD_WORLD_NOW);
	expect_health(LOOK_CLOSER, "XID48");
}

static void fall_off_the_bus(void)
{
	build_world_exclusive(&world, 0);
	event(79, 0);
	expect_health(NEEDS_REBOOT, "XID79");
}

static void expect_well_with_events(uint32_t n_events)
{
	expect_health(HEALTHY, "");
	assert_int_equal(build_world_status(&world, 0)->health.events.count, n_events);
}

/* The controller was away meanwhile, or was not: the published status names its boot. */
TEST(a_boot_that_the_controller_did_not_see_mends_too)
{
	world.report.boot_id = VIEW("one");
	fall_off_the_bus();
	world.report.events.count = 0;
	/* The clock of the node was set: that is no boot. */
	world.input.booted_after = BUILD_WORLD_NOW + 1000;
	expect_health(NEEDS_REBOOT, "XID79");
	world.input.booted_after = 0;
	/* A report of a boot before that one, which arrives late. */
	world.report.boot_id = VIEW("none");
	world.input.is_of_former_boot = true;
	build_world_join(&world);
	expect_texts(build_world_status(&world, 0)->health.reasons, "XID79");
	world.input.is_of_former_boot = false;
	world.report.boot_id = VIEW("two");
	expect_well_with_events(1);
	expect_well_with_events(1);
}

/* Without boot IDs. */
TEST(errors_before_the_boot_are_history)
{
	fall_off_the_bus();
	world.report.events.count = 0;
	world.input.booted_after = BUILD_WORLD_NOW - 1;
	expect_health(NEEDS_REBOOT, "XID79");
	world.input.booted_after = BUILD_WORLD_NOW;
	expect_well_with_events(1);
	/* The controller starts anew and knows of no boot. */
	world.input.booted_after = 0;
	expect_well_with_events(1);
	/* It happens again. */
	build_world_event(&world, build_world_uuid(&world, 0), 79, BUILD_WORLD_NOW + 5000);
	expect_health(NEEDS_REBOOT, "XID79");
	world.report.events.count = 0;
	expect_health(NEEDS_REBOOT, "XID79");
	assert_int_equal(build_world_status(&world, 0)->health.events.count, 2);
}

/* The published object says that another node has the card. */
static void hand_to_other_node(void)
{
	struct attribution *object = arena_alloc(&world.arena, 1, sizeof(*object));
	assert_non_null(object);
	*object = *build_world_previous(&world, 0)->object;
	object->status.node_name = VIEW("gpu-b");
	build_world_previous(&world, 0)->object = object;
}

TEST(an_error_stays_when_another_node_claims_the_card_for_a_moment)
{
	fall_off_the_bus();
	world.report.events.count = 0;
	hand_to_other_node();
	expect_health(NEEDS_REBOOT, "XID79");
	hand_to_other_node();
	world.input.booted_after = BUILD_WORLD_NOW;
	expect_well_with_events(1);
}

TEST(an_error_of_number_0_and_no_time_speaks_against_the_device_until_it_is_booted)
{
	build_world_exclusive(&world, 0);
	build_world_event(&world, build_world_uuid(&world, 0), 0, 0);
	expect_health(LOOK_CLOSER, "XID0");
	expect_health(LOOK_CLOSER, "XID0");
	world.input.booted_after = 1;
	expect_well_with_events(1);
}

TEST(errors_before_the_device_came_back_are_history)
{
	fall_off_the_bus();
	world.report.devices.count = 0;
	expect_health(NEEDS_REBOOT, "XID79,DeviceMissing");
	/* NVML fails on the way; that alone settles nothing. */
	world.report.sources.nvml.state = REPORT_SOURCE_ERROR;
	expect_health(NEEDS_REBOOT, "XID79,DeviceMissing,NVMLUnavailable");
	world.report.sources.nvml.state = REPORT_SOURCE_OK;
	world.report.devices.count = 1;
	expect_well_with_events(1);
	world.report.events.count = 0;
	expect_well_with_events(1);
}

TEST(nvml_that_was_away_settles_no_error)
{
	fall_off_the_bus();
	world.report.sources.nvml.state = REPORT_SOURCE_ERROR;
	expect_health(NEEDS_REBOOT, "XID79,NVMLUnavailable");
	world.report.sources.nvml.state = REPORT_SOURCE_OK;
	expect_health(NEEDS_REBOOT, "XID79");
}

TEST(without_nvml_nothing_is_known)
{
	build_world_exclusive(&world, 0);
	publish();
	world.report.sources.nvml.state = REPORT_SOURCE_ERROR;
	expect_health(NOT_KNOWN, "NVMLUnavailable");
	expect_text(condition()->reason, "NVMLUnavailable");
	/* Or its list is left out, whatever it says of itself. */
	world.report.sources.nvml.state = REPORT_SOURCE_OK;
	world.report.devices = (struct array){0};
	expect_health(NOT_KNOWN, "NVMLUnavailable");
	expect_text(condition()->message, "the node's agent cannot read NVML");
}

TEST(nvml_that_hangs_is_not_nvml_that_refuses)
{
	conditioned(); /* the driver asked for nothing, when it still answered */
	publish();
	world.report.sources.nvml.state = REPORT_SOURCE_ERROR;
	world.report.sources.nvml.hangs = true;
	world.report.sources.nvml.message = VIEW("nvmlDeviceGetName on GPU 1 has not returned for 5 s");
	expect_health(NOT_KNOWN, "NVMLHangs");
	expect_text(condition()->reason, "NVMLHangs");
	expect_text(condition()->message,
		    "NVML does not answer the node's agent (nvml: nvmlDeviceGetName on GPU 1 has not "
		    "returned for 5 s)");
	world.report.sources.nvml.hangs = false;
	expect_health(NOT_KNOWN, "NVMLUnavailable");
	/* A source that answers does not hang, whatever it says of itself. */
	world.report.sources.nvml.state = REPORT_SOURCE_OK;
	world.report.sources.nvml.hangs = true;
	expect_health(HEALTHY, "");
}

TEST(without_memory_there_is_no_verdict)
{
	struct devices devices;
	struct facts facts;
	struct slots slots;
	struct attribution_status status = {0};
	struct error err = {0};
	struct arena small;
	build_world_exclusive(&world, 0);
	publish();
	world.report.sources.nvml.state = REPORT_SOURCE_ERROR;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(witnesses_read(&world.input, &devices, &world.arena, &facts, &err), 0);
	assert_int_equal(slots_collect(&facts, &world.arena, &slots, &err), 0);
	arena_init(&small, 1);
	/* What has nothing to list needs none but for its reasons. */
	struct subject device = {.facts = &facts, .device = devices.devices, .arena = &small,
				 .published = devices.devices->published->status, .status = &status};
	slots_look(&slots, &device);
	assert_int_equal(examine_health(&device, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	arena_deinit(&small);
}

/* The kubelet tells it of the devices that pods have, by the IDs of the device plugin. */
TEST(a_device_that_the_status_of_a_pod_calls_unhealthy_is_degraded)
{
	struct build_pod pod = {.name = "a", .told = {build_world_replica(&world, 0, 0)}};
	build_world_shared(&world, 0, 2);
	build_world_shared(&world, 1, 2);
	build_world_run(&world, pod, pod.told[0]);
	expect_health(HEALTHY, "");
	pod.told_unhealthy = true;
	build_world_pod(&world, pod);
	expect_health(WITHDRAWN, "PluginUnhealthy");
	assert_int_equal(build_world_status(&world, 1)->health.state, ATTRIBUTION_HEALTH_HEALTHY);
	/* The status of a pod that is over is that of its end. */
	pod.phase = POD_PHASE_SUCCEEDED;
	build_world_pod(&world, pod);
	expect_health(HEALTHY, "");
}

TEST(what_the_agent_has_not_decided_is_as_published_within_a_boot)
{
	struct report_condition *c = conditioned();
	world.report.boot_id = VIEW("boot");
	c->slowdown = (struct report_slowdown){.present = true, .thermal = REPORT_YES};
	expect_health((struct verdict){ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_NONE,
				       CONDITION_FALSE},
		      "ThermalSlowdown");
	c->slowdown.thermal = REPORT_UNDECIDED;
	expect_health((struct verdict){ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_NONE,
				       CONDITION_FALSE},
		      "ThermalSlowdown");
	world.report.boot_id = VIEW("another boot");
	expect_health(HEALTHY, "");
}

TEST(a_reset_settles_an_error_that_asked_for_it)
{
	struct report_condition *c = conditioned();
	event(95, 0);
	expect_health((struct verdict){ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_RESET,
				       CONDITION_FALSE},
		      "XID95");
	c->reset_time = BUILD_WORLD_NOW + 1000;
	expect_well_with_events(1);
	c->reset_time = 0;
	expect_well_with_events(1);
}

/* Its counts of memory errors went down from one agent to the next (model/boot_history.h). */
TEST(a_reset_while_no_agent_ran_settles_the_errors_of_its_device_before_it)
{
	struct report_condition *c = conditioned();
	const struct verdict ill = {ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_RESET,
				    CONDITION_FALSE};
	struct report_device of_reset = {.condition.present = true};
	struct report told = {.boot_id = VIEW("boot"), .sources.nvml.state = REPORT_SOURCE_OK,
			      .devices = {&of_reset, 1, true}};

	c->recovery = REPORT_RECOVERY_NONE;
	world.report.boot_id = VIEW("boot");
	world.report.uptime_ms = 1000000;
	event(95, 0);
	world.events[0].uptime_ms = 990000;
	for (int i = 0; i < 3; i++) {
		struct boot_history history = {0};

		of_reset.uuid = i == 0 ? VIEW("GPU-other") : world.devices[0].uuid;
		for (int k = 0; k < 4; k++) {
			of_reset.condition.ecc_volatile.uncorrected = k < 2;
			of_reset.condition.recovery = k < 2 ? REPORT_RECOVERY_RESET
							    : REPORT_RECOVERY_NONE;
			told.uptime_ms = (i == 1 ? 979999 : 980000) + 10000 * k;
			boot_history_hear(&history, &told, NULL);
		}
		world.input.history = &history;
		if (i < 2)
			expect_health(ill, "XID95");
		else
			expect_well_with_events(1);
		world.input.history = NULL;
		boot_history_forget(&history);
	}
	expect_well_with_events(1);
}

TEST(links_that_an_earlier_agent_saw_are_missed)
{
	struct report_condition *c = conditioned();
	struct report_device of_before = {.condition.nvlinks = {true, 18, 12}};
	struct report told = {.boot_id = VIEW("boot"), .devices = {&of_before, 1, true}};

	c->nvlinks = (struct report_links){true, 18, 10};
	for (int i = 0; i < 2; i++) {
		struct boot_history history = {0};

		of_before.uuid = i == 0 ? VIEW("GPU-other") : world.devices[0].uuid;
		boot_history_hear(&history, &told, NULL);
		world.input.history = &history;
		if (i == 0)
			expect_health(HEALTHY, "");
		else
			expect_health((struct verdict){ATTRIBUTION_HEALTH_DEGRADED,
						       ATTRIBUTION_RECOVERY_NONE, CONDITION_FALSE},
				      "NVLinkDown");
		world.input.history = NULL;
		boot_history_forget(&history);
	}
}

/* Heartbeats say that what was reported is so still; of a silent node nobody knows. */
TEST(ten_minutes_without_a_wish_of_the_driver_settle_an_error_to_look_at)
{
	struct report_condition *c = conditioned();
	const struct verdict look = {ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_NONE,
				     CONDITION_FALSE};
	c->recovery = REPORT_RECOVERY_NONE;
	world.report.observed_at = BUILD_WORLD_NOW;
	world.input.report_age_ms = world.input.report_held_ms = 0;
	event(48, 0);
	expect_health(look, "XID48");
	world.input.report_held_ms = 550000;
	expect_health(look, "XID48");
	assert_int_equal(world.result.again_in_ms, 50000);
	world.input.report_held_ms = 599999;
	expect_health(look, "XID48");
	world.input.report_held_ms = 700000;
	world.input.report_age_ms = 100001;
	expect_health(look, "XID48");
	world.input.report_age_ms = world.limits.report_stale_ms;
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms, -1);
	world.input.report_age_ms = 100000;
	expect_well_with_events(1);
}

/* A step of the node's clock moves what it tells, but not the time since boot. */
TEST(a_clock_that_is_set_settles_no_error)
{
	struct report_condition *c = conditioned();
	const struct verdict look = {ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_NONE,
				     CONDITION_FALSE};
	world.report.boot_id = VIEW("boot");
	world.report.observed_at = BUILD_WORLD_NOW;
	world.report.uptime_ms = 1000000;
	world.input.report_age_ms = world.input.report_held_ms = 0;
	event(48, 0);
	world.events[0].uptime_ms = 999000;
	expect_health(look, "XID48");
	world.report.observed_at += 3600000;
	c->reset_time = BUILD_WORLD_NOW + 3500000;
	c->reset_uptime_ms = 998999;
	world.input.report_held_ms = 599000;
	world.input.report_age_ms = 1;
	expect_health(look, "XID48");
	assert_int_equal(world.result.again_in_ms, 10000);
	world.input.report_age_ms = 0;
	expect_well_with_events(1);
}

TEST(an_error_of_another_boot_is_dated_by_the_boot_that_is_reported)
{
	conditioned();
	world.report.boot_id = VIEW("boot");
	world.report.uptime_ms = 9000000;
	event(31, 0);
	world.events[0].uptime_ms = 8999000;
	expect_well_with_events(1);
	world.report.events.count = 0;
	world.report.boot_id = VIEW("another boot");
	world.report.uptime_ms = 70000;
	world.input.report_held_ms = world.input.report_age_ms = 0;
	for (int i = 0; i < 2; i++) {
		expect_well_with_events(1);
		assert_int_equal(ARRAY_AT(build_world_status(&world, 0)->health.events,
					  struct attribution_health_event, 0)->uptime_ms,
				 70000);
		world.input.report_held_ms = 5000;
	}
}

TEST(a_device_that_is_no_longer_on_offer_is_degraded)
{
	build_world_shared(&world, 0, 4);
	build_world_run(&world, POD("a"), build_world_replica(&world, 0, 0));
	publish();
	build_world_offer_nothing(&world);
	expect_health(WITHDRAWN, "NotAdvertised");
	expect_text(build_world_status(&world, 0)->slots.summary, "1/4");
	/* Its last tenant leaves; it is still not on offer. */
	build_world_remove_pod(&world, "uid-a");
	expect_health(WITHDRAWN, "NotAdvertised");
	expect_text(build_world_status(&world, 0)->slots.summary, "0/0");
	build_world_offer(&world, build_world_replica(&world, 0, 0));
	expect_health(HEALTHY, "");
}

/* It has nothing to offer then; otherwise a device that is not on offer is withdrawn. */
TEST(a_device_in_mig_mode_that_is_not_cut_yet_is_not_withdrawn)
{
	const struct {
		bool is_mig;
		unsigned n_partitions;
		bool are_told;
		struct verdict verdict;
		const char *reasons;
	} rows[] = {
		{true, 0, true, HEALTHY, ""},
		{true, 0, false, WITHDRAWN, "NotAdvertised"},
		{true, 1, true, WITHDRAWN, "NotAdvertised"},
		{false, 0, true, WITHDRAWN, "NotAdvertised"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		build_world_exclusive(&world, 0);
		publish();
		world.report.devices.count = 0;
		struct report_device *device = build_world_cut(&world, 0, rows[i].n_partitions);
		device->mig.current = rows[i].is_mig;
		device->partitions.present = rows[i].are_told;
		build_world_offer_nothing(&world);
		expect_health(rows[i].verdict, rows[i].reasons);
	}
}

TEST(a_kubelet_that_settles_withdraws_nothing)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, POD("a"), build_world_uuid(&world, 0));
	publish();
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
	build_world_list_nothing(&world);
	build_world_offer_nothing(&world);
	expect_health(HEALTHY, "");
	world.limits.report_stale_ms = 10 * world.limits.settling_ms;
	build_world_wait(&world, world.limits.settling_ms);
	expect_health(WITHDRAWN, "NotAdvertised");
}

TEST(without_an_agent_nothing_is_known_of_health)
{
	build_world_slice(&world, 0);
	build_world_without_agent(&world);
	expect_health(NOT_KNOWN, "NoAgent");
}

TEST(a_device_is_withdrawn_if_a_good_book_no_longer_offers_what_once_was)
{
	static const struct {
		bool was_offered, is_list_good, is_book_good, is_offer_told, is_kept, is_withdrawn;
	} rows[] = {
		{true, true, true, true, true, true},     /* by both books */
		{true, false, true, true, false, true},   /* by one: the other is left out, */
		{true, true, false, true, false, true},
		{true, false, false, true, true, false},  /* or is old */
		{true, false, false, true, false, false},
		{true, true, true, false, true, false},
		{false, true, true, true, true, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		if (rows[i].was_offered)
			build_world_exclusive(&world, 0);
		else
			build_world_device(&world, 0);
		publish();
		build_world_offer_nothing(&world);
		if (!rows[i].is_offer_told)
			world.report.allocatable = world.report.checkpoint.registered =
				(struct array){0};
		if (!rows[i].is_list_good && !rows[i].is_kept)
			build_world_fail_list(&world);
		if (!rows[i].is_book_good && !rows[i].is_kept)
			build_world_fail_book(&world);
		if (!rows[i].is_list_good)
			world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
		if (!rows[i].is_book_good)
			world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
		if (rows[i].is_withdrawn)
			expect_health(WITHDRAWN, "NotAdvertised");
		else
			expect_health(HEALTHY, "");
	}
	/* One ID on offer is enough. */
	build_world_offer(&world, build_world_replica(&world, 0, 1));
	build_world_run(&world, POD("a"), build_world_replica(&world, 0, 0));
	expect_health(HEALTHY, "");
}

TEST(each_device_is_withdrawn_for_itself)
{
	build_world_exclusive(&world, 0);
	build_world_device(&world, 1);
	build_world_run(&world, POD("a"), build_world_uuid(&world, 1));
	publish();
	expect_texts(build_world_status(&world, 1)->health.reasons, "NotAdvertised");
}

TEST(a_dated_list_brings_no_device_back)
{
	build_world_exclusive(&world, 0);
	publish();
	world.report.devices.count = 0;
	expect_health(NOT_KNOWN, "DeviceMissing");
	world.report.devices.count = 1;
	world.report.sources.nvml.state = REPORT_SOURCE_ERROR;
	expect_health(NOT_KNOWN, "DeviceMissing,NVMLUnavailable");
}

/* Since when errors are watched: so many ms before now, and so long after the boot. */
static void watch_since(int64_t ago_ms, int64_t uptime_ms)
{
	world.report.events_since = BUILD_WORLD_NOW - ago_ms;
	world.report.events_since_uptime_ms = uptime_ms;
}

static void expect_a_write_since(int64_t ago_ms)
{
	assert_int_equal(build_world_count_writes(&world), 1);
	assert_int_equal(publish()->health.events_since, ago_ms ? BUILD_WORLD_NOW - ago_ms : 0);
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* Whoever reads the status must not take an error that nobody heard for one that was not. */
TEST(a_gap_in_which_errors_may_have_been_missed_is_written_once)
{
	build_world_exclusive(&world, 0);
	watch_since(5000, 100000);
	publish();
	/* The process that calls NVML is another one, or errors found no room. */
	watch_since(4000, 101000);
	expect_a_write_since(4000);
	/* The agent is another one: the gap is the shorter one there can be. */
	world.report.instance++;
	watch_since(3999, 101001);
	expect_a_write_since(3999);
	/* Not each device is watched; then all are. */
	world.report.events_since = world.report.events_since_uptime_ms = 0;
	expect_a_write_since(0);
	watch_since(2000, 103000);
	expect_a_write_since(2000);
}

TEST(a_boot_is_a_gap_though_errors_are_watched_as_long_after_it)
{
	build_world_exclusive(&world, 0);
	world.report.boot_id = VIEW("boot");
	watch_since(500000, 20000);
	publish();
	world.report.boot_id = VIEW("another");
	watch_since(5000, 20000);
	expect_a_write_since(5000);
}

TEST(while_errors_are_watched_neither_a_clock_that_is_set_nor_a_new_controller_writes)
{
	build_world_exclusive(&world, 0);
	watch_since(5000, 100000);
	publish();
	watch_since(3600000, 100000);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	world.report.sequence++;
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(publish()->health.events_since, BUILD_WORLD_NOW - 3600000);
}

/* Until the agent knows whether there is a gap each report tells another time; so do older agents. */
TEST(a_gap_is_written_when_it_is_over)
{
	build_world_exclusive(&world, 0);
	world.report.boot_id = VIEW("boot");
	watch_since(5000, 100000);
	publish();
	for (int64_t ago = 3000; ago > 0; ago -= 1000) {
		watch_since(ago, 0);
		assert_int_equal(build_world_count_writes(&world), 0);
		assert_int_equal(publish()->health.events_since, BUILD_WORLD_NOW - ago);
	}
	watch_since(500, 104500);
	expect_a_write_since(500);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_gap_in_which_errors_may_have_been_missed_is_written_once),
	cmocka_unit_test_set_up(a_boot_is_a_gap_though_errors_are_watched_as_long_after_it),
	cmocka_unit_test_set_up(
		while_errors_are_watched_neither_a_clock_that_is_set_nor_a_new_controller_writes),
	cmocka_unit_test_set_up(a_gap_is_written_when_it_is_over),
	cmocka_unit_test_set_up(a_device_is_withdrawn_if_a_good_book_no_longer_offers_what_once_was),
	cmocka_unit_test_set_up(each_thing_that_the_driver_tells_against_a_device_is_a_reason_with_its_remedy),
	cmocka_unit_test_set_up(the_driver_recommends_and_the_worst_reason_gives_the_state),
	cmocka_unit_test_set_up(a_lost_device_that_answers_again_has_left_its_errors_behind),
	cmocka_unit_test_set_up(the_message_of_a_healthy_device_says_what_was_read_and_what_could_not_be),
	cmocka_unit_test_set_up(an_error_of_a_mig_device_names_its_holders_only),
	cmocka_unit_test_set_up(an_error_of_two_mig_devices_at_once_is_two_events),
	cmocka_unit_test_set_up(
		an_error_of_a_mig_device_names_no_holder_of_another_while_it_is_not_clear_which),
	cmocka_unit_test_set_up(an_error_of_a_mig_device_names_who_had_left_that_one),
	cmocka_unit_test_set_up(an_error_of_a_mig_device_names_who_left_one_that_is_not_known),
	cmocka_unit_test_set_up(an_error_that_is_told_again_without_its_mig_device_is_the_same),
	cmocka_unit_test_set_up(a_device_of_which_nothing_can_be_read_is_not_called_healthy),
	cmocka_unit_test_set_up(what_was_wrong_stays_so_while_nvml_fails),
	cmocka_unit_test_set_up(an_error_at_the_time_of_another_is_another_and_nobody_was_there),
	cmocka_unit_test_set_up(the_worst_error_decides_and_each_kind_is_a_reason_once),
	cmocka_unit_test_set_up(an_event_lists_who_held_the_device_when_it_happened),
	cmocka_unit_test_set_up(an_event_that_is_told_late_lists_who_had_left_before),
	cmocka_unit_test_set_up(each_event_has_a_list_of_its_own_which_stays),
	cmocka_unit_test_set_up(a_pod_whose_start_is_not_told_held_the_device_since_it_was_seen),
	cmocka_unit_test_set_up(the_start_of_a_pod_that_is_over_still_counts),
	cmocka_unit_test_set_up(who_held_the_card_in_another_node_did_not_in_this),
	cmocka_unit_test_set_up(an_event_names_nobody_whom_the_api_does_not_know),
	cmocka_unit_test_set_up(an_event_does_not_name_a_pod_of_which_hami_tells_no_device),
	cmocka_unit_test_set_up(
		an_event_does_not_name_who_only_stood_there_until_hami_told_the_device),
	cmocka_unit_test_set_up(
		an_event_names_a_reservation_for_nobody_known_that_the_books_have_lost),
	cmocka_unit_test_set_up(a_static_pod_has_one_uid_in_an_event),
	cmocka_unit_test_set_up(an_event_does_not_list_whose_end_was_told_before_it),
	cmocka_unit_test_set_up(events_come_newest_first_and_those_of_one_time_by_number),
	cmocka_unit_test_set_up(
		an_error_of_number_0_and_no_time_speaks_against_the_device_until_it_is_booted),
	cmocka_unit_test_set_up(a_device_in_mig_mode_that_is_not_cut_yet_is_not_withdrawn),
	cmocka_unit_test_set_up(a_kubelet_that_settles_withdraws_nothing),
	cmocka_unit_test_set_up(without_an_agent_nothing_is_known_of_health),
	cmocka_unit_test_set_up(each_device_is_withdrawn_for_itself),
	cmocka_unit_test_set_up(a_dated_list_brings_no_device_back),
	cmocka_unit_test_set_up(a_device_with_nothing_against_it_is_healthy),
	cmocka_unit_test_set_up(each_class_of_error_has_its_state_and_remedy),
	cmocka_unit_test_set_up(an_event_lists_each_pod_that_held_the_device_once),
	cmocka_unit_test_set_up(an_event_lists_a_container_once_that_left_and_came_back),
	cmocka_unit_test_set_up(the_pods_of_an_event_are_bounded),
	cmocka_unit_test_set_up(an_event_that_is_sent_again_is_the_same_event),
	cmocka_unit_test_set_up(only_the_newest_events_are_kept),
	cmocka_unit_test_set_up(
		a_program_that_fails_again_and_again_pushes_out_no_error_of_the_device),
	cmocka_unit_test_set_up(more_kinds_of_errors_than_are_kept_push_out_none_that_is_graver),
	cmocka_unit_test_set_up(
		as_many_kinds_of_errors_as_are_kept_can_be_reasons_and_what_else_is_wrong_too),
	cmocka_unit_test_set_up(events_of_other_devices_and_other_kinds_are_not_this_ones),
	cmocka_unit_test_set_up(without_nvml_nothing_is_known),
	cmocka_unit_test_set_up(a_device_that_the_status_of_a_pod_calls_unhealthy_is_degraded),
	cmocka_unit_test_set_up(what_the_agent_has_not_decided_is_as_published_within_a_boot),
	cmocka_unit_test_set_up(a_reset_settles_an_error_that_asked_for_it),
	cmocka_unit_test_set_up(
		a_reset_while_no_agent_ran_settles_the_errors_of_its_device_before_it),
	cmocka_unit_test_set_up(links_that_an_earlier_agent_saw_are_missed),
	cmocka_unit_test_set_up(ten_minutes_without_a_wish_of_the_driver_settle_an_error_to_look_at),
	cmocka_unit_test_set_up(a_clock_that_is_set_settles_no_error),
	cmocka_unit_test_set_up(an_error_of_another_boot_is_dated_by_the_boot_that_is_reported),
	cmocka_unit_test_set_up(a_device_that_is_no_longer_on_offer_is_degraded),
	cmocka_unit_test_set_up(a_boot_that_the_controller_did_not_see_mends_too),
	cmocka_unit_test_set_up(errors_before_the_boot_are_history),
	cmocka_unit_test_set_up(an_error_stays_when_another_node_claims_the_card_for_a_moment),
	cmocka_unit_test_set_up(errors_before_the_device_came_back_are_history),
	cmocka_unit_test_set_up(nvml_that_was_away_settles_no_error),
	cmocka_unit_test_set_up(nvml_that_hangs_is_not_nvml_that_refuses),
	cmocka_unit_test_set_up(without_memory_there_is_no_verdict),
};

TEST_MAIN(tests)
