/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/inventory_fixture.h"

#include <malloc.h>

static const struct intent *intent(void)
{
	return gather("gpu-a", 1000).intent;
}

/* Pods */

TEST(a_node_has_the_pods_that_the_api_places_on_it)
{
	struct pod_fields without_gpu = pod_on("gpu-a", "b", "u2");

	without_gpu.state.wants_gpu = false;
	put_pod("a", "u1", 1);
	put_fields(&without_gpu, 2, 0);
	put_pod_on("gpu-b", "c", "u3", 3);
	put_pod_on("", "d", "u4", 4);
	assert_int_equal(gather("gpu-a", 1000).n_pods, 2);
	assert_int_equal(gather("gpu-b", 1000).n_pods, 1);
	assert_int_equal(gather("nowhere", 1000).n_pods, 0);
	assert_int_equal(inventory_count(inventory, INVENTORY_PODS), 4);
	put_pod_on("gpu-b", "d", "u4", 5); /* it is scheduled */
	assert_int_equal(gather("gpu-b", 1000).n_pods, 2);
}

TEST(an_older_event_never_overwrites_a_newer_one)
{
	put_pod("a", "u2", 9);
	put_pod("a", "u1", 5);
	assert_true(view_equal(pod_uid(gather("gpu-a", 1000).pods[0]), VIEW("u2")));
	remove_pod("ml/a", 7, 0);
	assert_int_equal(inventory_count(inventory, INVENTORY_PODS), 1);
}

/* Of a record that is there in version 9, within a list or not. */
TEST(what_is_newer_is_wanted_until_it_is_put_and_what_is_asked_for_outlives_the_list)
{
	static const struct {
		enum store_change change;
		uint64_t version;
		bool is_wanted;
		size_t n_left;
	} rows[] = {
		{STORE_UPSERT, 0, true, 1},  {STORE_UPSERT, 1, false, 0}, {STORE_UPSERT, 8, false, 0},
		{STORE_UPSERT, 9, false, 1}, {STORE_UPSERT, 10, true, 1}, {STORE_LISTED, 0, true, 1},
		{STORE_LISTED, 8, true, 1},  {STORE_LISTED, 9, false, 1}, {STORE_LISTED, 10, true, 1},
	};

	for (size_t i = 0; i < 4 * ARRAY_SIZE(rows); i++) {
		const enum inventory_kind kind = i % 2 ? INVENTORY_PODS : INVENTORY_NODES;
		const bool is_list = i / 2 % 2;
		const enum store_change change = rows[i / 4].change;
		const uint64_t version = rows[i / 4].version;

		start_anew();
		put_pod("a", "u1", 9);
		put_node("ml/a", "b1", 9);
		if (is_list)
			inventory_begin_replace(inventory, kind);
		for (int k = 0; k < 2; k++) {
			assert_true(inventory_wants(inventory, kind, VIEW("ml/b"), change, version));
			assert_int_equal(inventory_wants(inventory, kind, VIEW("ml/a"), change, version),
					 rows[i / 4].is_wanted);
		}
		if (is_list)
			inventory_end_list(inventory, kind, 0, 2000);
		assert_int_equal(inventory_count(inventory, kind), is_list ? rows[i / 4].n_left : 1);
	}
}

TEST(what_a_complete_list_lacks_is_gone)
{
	sync_all(1000);
	put_pod("a", "u1", 1);
	put_pod("b", "u2", 2);
	begin_reported();
	inventory_begin_replace(inventory, INVENTORY_PODS);
	assert_false(inventory_wants(inventory, INVENTORY_PODS, VIEW("ml/b"), STORE_LISTED, 2));
	inventory_end_list(inventory, INVENTORY_PODS, 0, 2000);
	assert_touched("gpu-a ");
	const struct join_input input = gather("gpu-a", 2000);
	assert_int_equal(input.n_pods, 1);
	assert_true(view_equal(pod_uid(input.pods[0]), VIEW("u2")));
}

TEST(a_list_that_breaks_off_removes_nothing)
{
	sync_all(1000);
	put_pod("a", "u1", 1);
	inventory_begin_replace(inventory, INVENTORY_PODS);
	inventory_begin_replace(inventory, INVENTORY_PODS);
	assert_int_equal(inventory_count(inventory, INVENTORY_PODS), 1);
}

/* The age that a join at that time is given of the end of pod u1; -1: of none. */
static int64_t end_age(uint64_t now)
{
	const struct join_input input = gather("gpu-a", now);

	for (size_t i = 0; i < input.n_ends; i++)
		if (view_equal(input.ends[i].pod_uid, VIEW("u1")))
			return input.ends[i].age_ms;
	return -1;
}

static void put_phase(enum pod_phase phase, bool deleting, uint64_t version, uint64_t now)
{
	struct pod_fields fields = pod_on("gpu-a", "a", "u1");

	fields.state.phase = (uint8_t)phase;
	fields.state.deleting = deleting;
	fields.state.no_container_runs = phase == POD_PHASE_FAILED;
	put_fields(&fields, version, now);
}

TEST(the_end_of_a_pod_is_as_old_as_when_it_was_told)
{
	struct view named = VIEW("u1");

	begin_reported();
	put_phase(POD_PHASE_RUNNING, false, 1, 1000);
	assert_int_equal(end_age(2000), -1);
	put_phase(POD_PHASE_FAILED, false, 2, 3000);
	put_phase(POD_PHASE_FAILED, true, 3, 4000);
	assert_int_equal(end_age(5000), 2000);
	remove_pod("ml/a", 4, 6000);
	assert_int_equal(end_age(7000), 4000);
	/* A report goes on naming it. */
	name_ended(&named, 1, 8000);
	assert_int_equal(end_age(9000), 6000);
}

TEST(a_pod_that_runs_again_has_not_ended_before)
{
	begin_reported();
	put_phase(POD_PHASE_FAILED, false, 1, 1000);
	put_phase(POD_PHASE_RUNNING, false, 2, 2000);
	assert_int_equal(end_age(3000), -1);
	remove_pod("ml/a", 3, 4000);
	assert_int_equal(end_age(5000), 1000);
	put_phase(POD_PHASE_RUNNING, false, 4, 6000);
	remove_pod("ml/a", 5, 7000);
	assert_int_equal(end_age(8000), 1000);
}

/* A pod comes every ten seconds and goes when the next one comes; its name comes back. */
static void live_a_day(unsigned day)
{
	static const char *const nodes[] = {"gpu-a", "gpu-b", "gpu-c"};
	const unsigned n_pods = 24 * 3600 / 10;

	for (unsigned i = day * n_pods; i < (day + 1) * n_pods; i++) {
		const uint64_t now = 1000 + (uint64_t)i * 10000;
		const char *node = nodes[i % ARRAY_SIZE(nodes)];
		char name[16], key[24], uid[24];

		snprintf(name, sizeof(name), "p%u", i % 100);
		snprintf(key, sizeof(key), "ml/%s", name);
		snprintf(uid, sizeof(uid), "uid-%u", i);
		const struct pod_fields fields = pod_on(node, name, uid);
		put_fields(&fields, 2 * (uint64_t)i + 1, now);
		assert_true(gather(node, now).n_ended <= 13);
		keep_recall(node, &(struct recall){0}, now);
		remove_pod(key, 2 * (uint64_t)i + 2, now + 9000);
		forget_touches();
	}
}

/* Where a sanitizer has the memory, the numbers are all the same. */
TEST(a_week_of_pods_that_come_and_go_leaves_no_memory_behind)
{
	sync_all(1000);
	report_from("gpu-a", 1000);
	report_from("gpu-b", 1000);
	report_from("gpu-c", 1000);
	live_a_day(0);
	const size_t before = mallinfo2().uordblks;
	for (unsigned day = 1; day < 7; day++)
		live_a_day(day);
	assert_true(mallinfo2().uordblks <= before + 4096);
	assert_int_equal(inventory_count(inventory, INVENTORY_PODS), 0);
}

TEST(an_ended_uid_is_forgotten_when_no_join_names_it_for_two_minutes)
{
	struct view named = VIEW("u1");

	begin_reported();
	put_pod("a", "u1", 1);
	put_pod("b", "u2", 2);
	remove_pod("ml/a", 3, 1000);
	remove_pod("ml/b", 4, 1000);
	name_ended(&named, 1, 121000);
	assert_int_equal(gather("gpu-a", 121000).n_ended, 2);
	name_ended(&named, 1, 121001);
	const struct join_input input = gather("gpu-a", 121001);
	assert_int_equal(input.n_ended, 1);
	assert_true(view_equal(input.ended[0], named));
}

/* The 1025th ended UID drives out one that the same list still names further behind. */
TEST(ended_uids_that_a_join_borrowed_can_be_given_back)
{
	static char uids[1024][8];
	static struct view ended[1024], back[1025];

	begin_reported();
	for (unsigned i = 0; i < ARRAY_SIZE(ended); i++) {
		snprintf(uids[i], sizeof(uids[i]), "u%u", i);
		ended[i] = view_from(uids[i]);
	}
	name_ended(ended, 1024, 1000);
	struct join_input input = gather("gpu-a", 1000);
	assert_int_equal(input.n_ended, 1024);
	back[0] = VIEW("new");
	memcpy(&back[1], input.ended, sizeof(ended));
	name_ended(back, 1025, 2000);
	input = gather("gpu-a", 2000);
	assert_int_equal(input.n_ended, 1024);
	assert_true(view_is_found(VIEW("u1023"), input.ended, input.n_ended));
}

/* Reports and heartbeats */

TEST(a_report_is_released_when_a_newer_one_replaces_it_and_at_the_end)
{
	struct report second = report_of("gpu-a");

	second.sequence = 2;
	begin_reported();
	assert_int_equal(n_released, 0);
	put_report(&second, 2000);
	assert_int_equal(n_released, 1);
	assert_int_equal(gather("gpu-a", 2500).report->sequence, 2);
	assert_int_equal(gather("gpu-a", 2500).report_age_ms, 500);
	tear_down(NULL);
	assert_int_equal(n_released, 2);
}

TEST(an_unchanged_report_only_starts_its_age_anew)
{
	assert_false(hear("gpu-a", 1500));
	assert_int_equal(gather("gpu-a", 1500).report_age_ms, 0);
	begin_reported();
	assert_true(hear("gpu-a", 3000));
	assert_touched("");
	assert_int_equal(gather("gpu-a", 3500).report_age_ms, 500);
	assert_int_equal(gather("gpu-a", 3500).report_held_ms, 2500);
}

TEST(without_a_report_its_age_counts_from_the_first_question)
{
	put_attribution("gpu-a", 1);
	assert_int_equal(gather("gpu-a", 4000).report_age_ms, 0);
	assert_int_equal(gather("gpu-a", 7000).report_age_ms, 3000);
	assert_int_equal(gather("gpu-a", 7000).report_held_ms, 0);
	assert_null(gather("gpu-a", 7000).report);
}

/* Whom nobody touches is not joined, and without a join nothing is written. */
TEST(an_hour_of_changing_figures_touches_nobody)
{
	static struct report_device device; /* the inventory has it until tear_down() */
	struct report report = report_of("gpu-a");

	device = (struct report_device){.uuid = VIEW("GPU-1")};
	report.devices = (struct array){&device, 1, true};
	const struct report *kept = put_report(&report, 1000);
	forget_touches();
	for (int i = 1; i <= 60; i++) {
		device.figures = (struct report_figures){true, i, i, i};
		assert_true(inventory_node_state_refresh_report(inventory, VIEW("gpu-a"), 0, 180000,
								1000 + 60000 * (uint64_t)i));
		hear_figures("gpu-a", kept, &report);
	}
	assert_touched("");
	device.figures = (struct report_figures){0};
	figures_apply(node_state_of("gpu-a")->figures, 0, &device, NULL);
	assert_int_equal(device.figures.temperature_celsius, 60);
}

TEST(figures_of_another_report_are_dropped)
{
	const struct report report = report_of("gpu-a");
	const struct report *first = put_report(&report, 1000);

	hear_figures("gpu-b", first, &report);
	hear_figures("gpu-a", first, &report);
	assert_non_null(node_state_of("gpu-a")->figures);
	put_report(&report, 2000);
	assert_null(node_state_of("gpu-a")->figures);
	hear_figures("gpu-a", first, &report);
	assert_null(node_state_of("gpu-a")->figures);
}

/* The uptime until which device A of gpu-a had not been reset; 0: no reset was seen. */
static int64_t reset_uptime(void)
{
	return boot_history_find(gather("gpu-a", 1000).history, VIEW(UUID_A)).reset_uptime_ms;
}

/* Reading i of four, a minute after the one before: the first two have an error and ask for a reset. */
static struct report reading(struct report_device *device, int i)
{
	struct report report = report_of("gpu-a");

	*device = (struct report_device){
		.uuid = VIEW(UUID_A),
		.condition = {.present = true, .ecc_volatile.uncorrected = i < 2,
			      .recovery = i < 2 ? REPORT_RECOVERY_RESET : REPORT_RECOVERY_NONE},
	};
	report.boot_id = VIEW("b1");
	report.sources.nvml.state = REPORT_SOURCE_OK;
	report.uptime_ms = 60000 * (i + 1);
	report.instance = i / 2;
	report.devices = (struct array){device, 1, true};
	return report;
}

/* A count that stays is no news, so that it did is told by a heartbeat. */
TEST(a_heartbeat_that_confirms_a_reset_touches_its_node)
{
	struct report_device device;

	for (int i = 0; i < 4; i++) {
		const struct report report = reading(&device, i);

		if (i % 2 == 0)
			put_report(&report, 1000);
		else
			hear_figures("gpu-a", report_at("gpu-a"), &report);
		assert_touched(i == 1 ? "" : "gpu-a ");
		assert_int_equal(reset_uptime(), i == 3 ? 120000 : 0);
	}
	forget_report("gpu-a");
	assert_int_equal(reset_uptime(), 0);
}

/* With what a node told go the counts that later ones would be compared with. */
TEST(a_reset_of_a_node_that_was_forgotten_is_not_seen)
{
	struct report_device device;

	put_node("gpu-a", "b1", 1); /* else its node state would go, too */
	for (int i = 0; i < 4; i++) {
		const struct report report = reading(&device, i);

		put_report(&report, 1000);
		if (i == 1)
			forget_report("gpu-a");
	}
	assert_int_equal(reset_uptime(), 0);
	forget_report("gpu-a");
}

TEST(a_join_knows_when_the_list_was_read_last)
{
	struct report report = report_of("gpu-a");

	assert_int_equal(gather("gpu-a", 1000).listed_at, 0);
	report.sources.pod_resources.observed_at = 500;
	put_report(&report, 1000);
	assert_int_equal(gather("gpu-a", 1000).listed_at, 500);
	assert_true(hear_list("gpu-a", 900, 3000));
	assert_int_equal(gather("gpu-a", 3000).listed_at, 900);
	/* Clocks are set back: the last word counts. */
	assert_true(hear_list("gpu-a", 100, 4000));
	assert_int_equal(gather("gpu-a", 4000).listed_at, 100);
	report.sources.pod_resources.observed_at = 700;
	put_report(&report, 5000);
	assert_int_equal(gather("gpu-a", 5000).listed_at, 700);
}

TEST(a_join_knows_whose_start_was_told_after_the_list)
{
	struct report report = report_of("gpu-a");
	/* What is told when: of the pod, or (without a UID) of the List. */
	static const struct {
		uint64_t now;
		const char *uid;
		int64_t started_at;
		bool deleting;
		int64_t listed_at;
		size_t n_told_later;
	} rows[] = {
		{1000, "u1", 0, false, 0, 0},	{1500, NULL, 0, false, 500, 0},
		{2000, "u1", 100, false, 0, 1}, {3000, NULL, 0, false, 500, 1},
		{4000, NULL, 0, false, 400, 0}, {5000, "u1", 100, true, 0, 0},
		{6000, "u2", 600, false, 0, 1}, {6000, NULL, 0, false, 700, 0},
	};

	report.sources.pod_resources.observed_at = 500;
	put_report(&report, 1000);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = pod_on("gpu-a", "p", rows[i].uid ? rows[i].uid : "");

		fields.gpu.started_at = rows[i].started_at;
		fields.state.deleting = rows[i].deleting;
		if (rows[i].uid)
			put_fields(&fields, i + 1, rows[i].now);
		else
			assert_true(hear_list("gpu-a", rows[i].listed_at, rows[i].now));
		const struct join_input input = gather("gpu-a", rows[i].now);
		assert_int_equal(input.n_told_later, rows[i].n_told_later);
		if (input.n_told_later > 0)
			assert_ptr_equal(input.told_later[0], input.pods[0]);
	}
}

TEST(a_doubt_is_as_old_as_its_first_join_and_forgotten_when_the_last_is_without_it)
{
	const struct debounce_seen debounced[] = {{7, 0}, {8, 500}};
	const struct recall both = {.debounced = debounced, .n_debounced = 2};
	struct join_input input;

	begin_reported();
	assert_int_equal(gather("gpu-a", 1000).n_debounced, 0);
	keep_recall("gpu-a", &both, 1000);
	report_from("gpu-a", 2000);
	input = gather("gpu-a", 4000);
	assert_int_equal(input.n_debounced, 2);
	assert_int_equal(input.debounced[0].key, 7);
	assert_int_equal(input.debounced[0].age_ms, 3000);
	assert_int_equal(input.debounced[1].age_ms, 3500);
	keep_recall("gpu-a", &(struct recall){.debounced = input.debounced + 1, .n_debounced = 1}, 4000);
	input = gather("gpu-a", 5000);
	assert_int_equal(input.n_debounced, 1);
	assert_int_equal(input.debounced[0].key, 8);
	assert_int_equal(input.debounced[0].age_ms, 4500);
	assert_int_equal(gather("gpu-b", 5000).n_debounced, 0);
	keep_recall("gpu-b", &both, 5000);
	keep_recall("gpu-a", &(struct recall){0}, 6000);
	assert_int_equal(gather("gpu-a", 6000).n_debounced, 0);
}

TEST(what_the_last_join_found_of_a_node_outlives_its_reports)
{
	begin_reported();
	assert_int_equal(gather("gpu-a", 1000).settled_restart, 0);
	assert_int_equal(gather("gpu-a", 1000).offered_since, 0);
	keep_recall("gpu-a", &(struct recall){.settled_restart = 77, .offered_since = 88}, 1000);
	keep_recall("gpu-b", &(struct recall){.settled_restart = 78}, 1000);
	report_from("gpu-a", 2000);
	assert_int_equal(gather("gpu-a", 2000).settled_restart, 77);
	assert_int_equal(gather("gpu-a", 2000).offered_since, 88);
	assert_int_equal(gather("gpu-b", 2000).settled_restart, 0);
}

TEST(a_heartbeat_touches_the_node_whose_last_join_waits_for_one)
{
	begin_reported();
	for (int i = 0; i < 2; i++) {
		keep_recall("gpu-a", &(struct recall){.is_hearing_awaited = i == 0}, 1000);
		assert_true(hear("gpu-a", 2000));
		assert_touched(i == 0 ? "gpu-a " : "");
	}
}

TEST(a_node_that_is_heard_of_after_a_long_silence_is_touched)
{
	put_attribution("gpu-a", 1);
	report_from("gpu-b", 1000);
	forget_touches();
	assert_true(hear("gpu-b", 9999));
	assert_touched("");
	assert_true(hear("gpu-b", 18999));
	assert_touched("gpu-a gpu-b ");
}

TEST(what_a_forgotten_report_said_is_released_and_no_longer_claimed)
{
	put_attribution("gpu-a", 1);
	report_from("gpu-b", 1000);
	forget_touches();
	forget_report("gpu-b");
	forget_report("gpu-b");
	assert_touched("");
	assert_int_equal(n_released, 1);
	assert_int_equal(claimed_age("gpu-a", 2000), -1);
	assert_null(gather("gpu-b", 2000).report);
	assert_false(hear("gpu-b", 2000));
}

TEST(of_a_node_without_a_report_nothing_of_one_is_known)
{
	struct report report = report_of("gpu-a");
	struct view named = VIEW("u1");

	assert_null(report_at("gpu-a"));
	name_ended(&named, 1, 1000);
	put_pod("a", "u1", 1);
	assert_null(report_at("gpu-a"));
	assert_false(hear("gpu-a", 2000));
	for (unsigned i = 1; i <= 2; i++) {
		report.boot_id = i == 1 ? VIEW("b1") : VIEW("b2");
		report.observed_at = i;
		put_report(&report, 1000);
	}
	assert_int_equal(gather("gpu-a", 1000).booted_after, 1);
	forget_report("gpu-a");
	assert_int_equal(gather("gpu-a", 1000).booted_after, 0);
}

static struct report_device both_devices[] = {{.uuid = VIEW_INIT(UUID_A)}, {.uuid = VIEW_INIT(UUID_B)}};

TEST(a_report_touches_the_holder_of_each_device_and_each_rival_once)
{
	struct report c = report_without_devices("gpu-c");

	sync_all(1000);
	n_initial = 0;
	put_object(NAME_A, UUID_A, "gpu-a", 1);
	put_object(NAME_B, UUID_B, "gpu-b", 2);
	forget_touches();
	c.devices = (struct array){both_devices, 2, true};
	put_report(&c, 1000);
	assert_touched("gpu-a gpu-b gpu-c ");
	report_from("gpu-b", 1000);
	assert_touched("gpu-a gpu-c gpu-b "); /* UUID_A is gpu-a's; gpu-c reports UUID_B */
	report_from("gpu-a", 1000);
	assert_true(strcmp(touched, "gpu-b gpu-c gpu-a ") == 0 || strcmp(touched, "gpu-c gpu-b gpu-a ") == 0);
	assert_true(hear("gpu-a", 99999));
	assert_int_equal(n_initial, 0);
}

/* A report of gpu-b there is no memory for, when k allocations have been made; false: there was. */
static bool fail_report(const struct report *report, unsigned k)
{
	const struct report *before = report_at("gpu-b");
	struct error err = {0};

	put_object(NAME_A, UUID_A, "gpu-a", 1);
	put_object(NAME_B, UUID_B, "gpu-a", 2);
	failing_malloc_at(k);
	int result = inventory_node_state_put_report(inventory, report, count_release, &n_released,
						     2000, &err);
	if (!failing_malloc_off()) {
		assert_int_equal(result, 0);
		return false;
	}
	assert_int_equal(result, -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_ptr_equal(report_at("gpu-b"), before);
	const struct join_input input = gather("gpu-a", 2000);
	assert_int_equal(input.n_previous, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(input.previous[i].claimed_age_ms, -1);
	return true;
}

TEST(a_report_that_there_is_no_memory_for_leaves_nothing_behind)
{
	static struct view ids[] = {VIEW_INIT("0"), VIEW_INIT("1")};
	static struct report_pod_resource lists[] = {{.device_ids = {&ids[0], 1, true}},
						     {.device_ids = {&ids[1], 1, true}}};
	static struct report before, report;

	before = report = report_without_devices("gpu-b");
	report.devices = (struct array){both_devices, 2, true};
	before.pod_resources = (struct array){&lists[0], 1, true};
	report.pod_resources = (struct array){&lists[1], 1, true};
	for (int has_another = 0; has_another < 2; has_another++) {
		bool failed = true;

		for (unsigned k = 1; failed; k++) {
			start_anew();
			if (has_another)
				put_report(&before, 1000);
			failed = fail_report(&report, k);
			assert_int_equal(n_released, !failed && has_another);
			/* Of a node that is not known nothing is remembered. */
			for (int i = 0; i < 2 && failed && !has_another; i++)
				assert_int_equal(inventory_node_state_note_refusals(
							 inventory, VIEW("gpu-b"),
							 (struct node_state_refusals){.entries = 2})
							 .entries,
						 2);
		}
	}
}

TEST(an_owner_that_has_not_reported_since_the_start_is_waited_for)
{
	const struct report owner = report_without_devices("gpu-a"), third = report_without_devices("gpu-c");

	put_attribution("gpu-a", 1);
	report_from("gpu-b", 1100);
	assert_int_equal(claimed_age("gpu-b", 1500), 500);
	report_from("gpu-c", 1400);
	assert_int_equal(claimed_age("gpu-b", 1500), 100);
	assert_int_equal(claimed_age("gpu-a", 1500), 100);
	put_report(&third, 1500);
	forget_touches();
	/* It speaks, and does not name the device: those who wait for that are told. */
	put_report(&owner, 1600);
	assert_touched("gpu-b gpu-a ");
	assert_int_equal(claimed_age("gpu-b", 1600), -1);
}

TEST(a_report_of_another_boot_says_that_the_last_one_was_before_it)
{
	struct report report = report_of("gpu-a");
	static const struct {
		const char *boot_id;
		int64_t observed_at, booted_after;
	} rows[] = {
		{"b1", 50, 0},   {"b1", 60, 0},    {"b2", 70, 60},  {"b2", 80, 60},  {"", 90, 60},
		{"b3", 100, 60}, {"b4", 110, 100}, {"c", 120, 110}, {"d", 130, 120},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		report.boot_id = view_from(rows[i].boot_id);
		report.observed_at = rows[i].observed_at;
		put_report(&report, 1000);
		assert_int_equal(gather("gpu-a", 1000).booted_after, rows[i].booted_after);
	}
}

/* What it measured until then is worth something if the next instance begins soon after. */
TEST(a_report_of_another_instance_says_when_the_last_one_was_heard_of)
{
	struct report report = report_of("gpu-a");
	static const struct {
		const char *boot_id;
		int64_t instance, observed_at;
		uint64_t now;
		int64_t former_heard_at;
	} rows[] = {
		{"b1", 10, 100000, 1000, 0},
		{"b1", 10, 110000, 11000, 0},
		{"b1", 70, 150000, 51000, 120000},
		{"b1", 70, 180000, 81000, 120000},
		{"b1", 99, 200000, 101000, 190000},
		{"b2", 5, 300000, 201000, 0},
		{"b2", 6, 310000, 211000, 310000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		report.boot_id = view_from(rows[i].boot_id);
		report.instance = rows[i].instance;
		report.observed_at = rows[i].observed_at;
		put_report(&report, rows[i].now);
		assert_int_equal(gather("gpu-a", rows[i].now).former_heard_at, rows[i].former_heard_at);
		assert_true(hear("gpu-a", rows[i].now + 10000));
	}
}

/* The Node and the report come by different ways: what is told last is so. */
TEST(a_report_is_of_a_former_boot_when_the_node_names_another_one_after_it)
{
	struct report report = report_of("gpu-a");
	static const struct {
		const char *node, *report; /* NULL: none comes; both: the report first */
		bool is_former;
	} rows[] = {
		{"b1", NULL, false}, {NULL, "b1", false}, {"b2", NULL, true},  {NULL, "b1", true},
		{NULL, "b2", false}, {NULL, "b3", false}, {"b2", NULL, false}, {"b3", NULL, false},
		{"", NULL, false},   {"b4", NULL, true},  {NULL, "", false},   {"b5", NULL, false},
		{NULL, "b3", false}, {"b8", "b7", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].report) {
			report.boot_id = view_from(rows[i].report);
			put_report(&report, 1000);
		}
		if (rows[i].node)
			put_node("gpu-a", rows[i].node, i + 1);
		assert_int_equal(gather("gpu-a", 1000).is_of_former_boot, rows[i].is_former);
	}
	inventory_remove(inventory, INVENTORY_NODES, VIEW("gpu-a"), 22, 8000);
	assert_false(gather("gpu-a", 1000).is_of_former_boot);
}

TEST(the_first_report_is_of_no_former_boot_whatever_the_node_named_before_it)
{
	struct report report = report_of("gpu-a");

	report.boot_id = VIEW("b1");
	put_node("gpu-a", "b2", 1);
	put_report(&report, 1000);
	assert_false(gather("gpu-a", 1000).is_of_former_boot);
	put_node("gpu-a", "b3", 2);
	assert_true(gather("gpu-a", 1000).is_of_former_boot);
}

/* What counts as new is node_state_test's; here: of which node, and for how long. */
TEST(what_was_refused_is_new_once_for_each_content_of_a_report)
{
	const struct node_state_refusals refused = {.entries = 2, .ids = 1};

	for (unsigned n = 0; n < 2; n++) {
		report_from("gpu-a", 1000 + n);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(inventory_node_state_note_refusals(inventory,
									    VIEW("gpu-a"), refused)
						 .entries,
					 i == 0 ? 2 : 0);
			assert_true(hear("gpu-a", 1100));
		}
	}
	assert_int_equal(inventory_node_state_note_refusals(inventory, VIEW("gpu-z"), refused).ids,
			 1);
}

/* Objects and nodes */

TEST(every_object_is_met_once_on_a_walk_and_found_by_its_name)
{
	assert_null(inventory_next_attribution(inventory, NULL));
	assert_null(inventory_find_attribution(inventory, VIEW(NAME_A)));
	put_attribution("gpu-a", 1);
	const struct attribution *object = inventory_next_attribution(inventory, NULL);
	assert_true(view_equal(object->name, VIEW(NAME_A)));
	assert_true(view_equal(object->uuid, VIEW(UUID_A)));
	assert_null(inventory_next_attribution(inventory, object));
	assert_ptr_equal(inventory_find_attribution(inventory, VIEW(NAME_A)), object);
	assert_null(inventory_find_attribution(inventory, VIEW("gpu-other")));
}

TEST(a_device_that_is_no_longer_reported_is_no_longer_claimed)
{
	const struct report without = report_without_devices("gpu-b");

	put_attribution("gpu-a", 1);
	forget_touches();
	report_from("gpu-b", 1000);
	assert_touched("gpu-a gpu-b ");
	put_report(&without, 2000);
	assert_touched("gpu-a gpu-b ");
	assert_int_equal(claimed_age("gpu-a", 2000), -1);
	assert_int_equal(gather("gpu-b", 2000).n_previous, 0);
}

static int64_t gone_for(uint64_t now)
{
	return gather("gpu-a", now).node_gone_for_ms;
}

TEST(a_node_is_gone_since_its_deletion_but_at_most_since_the_first_sync)
{
	put_attribution("gpu-a", 1);
	assert_int_equal(gone_for(1000), 0);
	sync_all(2000);
	put_attribution("gpu-a", 1);
	assert_int_equal(gone_for(2000), 0);
	assert_int_equal(gone_for(9000), 7000);
	put_node("gpu-a", "b1", 1);
	assert_int_equal(gone_for(9000), 0);
	assert_non_null(gather("gpu-a", 9000).node);
	inventory_remove(inventory, INVENTORY_NODES, VIEW("gpu-a"), 2, 8000);
	assert_int_equal(gone_for(9000), 1000);
	assert_null(gather("gpu-a", 9000).node);
}

/* Nothing hung on the node when it went, so nothing is left that says when that was. */
TEST(a_gone_node_is_gone_since_it_was_first_asked_for)
{
	sync_all(2000);
	put_node("gpu-a", "b1", 1);
	inventory_remove(inventory, INVENTORY_NODES, VIEW("gpu-a"), 2, 8000);
	put_attribution("gpu-a", 3);
	assert_int_equal(gone_for(9000), 0);
	assert_int_equal(gone_for(9500), 500);
}

/* The node is asked for before anything is known. */
TEST(a_node_is_missed_since_nodes_are_known_whenever_the_rest_is)
{
	for (int first = 0; first < INVENTORY_N_KINDS; first++) {
		uint64_t known_at = 0;

		start_anew();
		report_from("gpu-a", 1000);
		assert_int_equal(gone_for(1000), 0);
		for (int i = 0; i < INVENTORY_N_KINDS; i++) {
			int kind = (first + i) % INVENTORY_N_KINDS;
			uint64_t now = 1000 * (uint64_t)(i + 2);

			sync_kind((enum inventory_kind)kind, now);
			if (kind == INVENTORY_NODES)
				known_at = now;
			assert_int_equal(gone_for(9000), known_at > 0 ? 9000 - known_at : 0);
		}
	}
}

/* For as long as it is remembered who ended since. */
TEST(what_is_not_there_ended_before_the_first_list)
{
	static const struct {
		uint64_t now;
		int64_t ended_for_ms;
	} rows[] = {{2000, 0}, {9000, 7000}, {122000, 120000}, {122001, -1}};

	begin_reported();
	assert_int_equal(gather("gpu-a", 1000).ended_for_ms, -1);
	sync_kind(INVENTORY_PODS, 2000);
	sync_all(2000);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(gather("gpu-a", rows[i].now).ended_for_ms, rows[i].ended_for_ms);
	assert_int_equal(gather("gpu-b", 2000).ended_for_ms, -1);
}

static void on_boot(void *owner, struct view node_name)
{
	on_touch(owner, node_name, false);
}

TEST(whoever_orders_reports_is_told_of_a_nodes_boots)
{
	inventory_on_touch(inventory, NULL, NULL);
	inventory_on_boot(inventory, on_boot, touched);
	put_node("gpu-a", "b1", 1);
	assert_int_equal(node_state_of("gpu-a")->node_changes, 1);
	assert_touched(""); /* nobody reports there, and nothing is published of it */
	assert_true(view_equal(node_state_of("gpu-a")->node->boot_id, VIEW("b1")));
	report_from("gpu-a", 1000);
	put_node("gpu-a", "b1", 2);
	assert_touched("");
	put_node("gpu-a", "b2", 3);
	assert_touched("gpu-a ");
	put_attribution("gpu-b", 4);
	put_node("gpu-b", "b7", 5);
	assert_touched("gpu-b ");
	inventory_remove(inventory, INVENTORY_NODES, VIEW("gpu-a"), 6, 2000);
	assert_null(node_state_of("gpu-a")->node);
	assert_int_equal(node_state_of("gpu-a")->node_changes, 2);
}

/* ResourceClaims and ResourceSlices */

static void put_claimer(const char *uid, const char *claim, uint64_t version)
{
	struct pod_fields fields = pod_on("gpu-a", "a", uid);

	fields.claims[fields.gpu.claims.count++] = (struct pod_claim){VIEW("main"), view_from(claim), VIEW("")};
	put_fields(&fields, version, 1000);
}

TEST(a_claim_grants_its_device_in_whatever_order_things_come)
{
	static const char *const orders[] = {"pcs", "psc", "cps", "csp", "spc", "scp"};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		start_anew();
		sync_all(1000);
		for (const char *step = orders[i]; *step; step++) {
			if (*step == 'p')
				put_claimer("u1", "c", 1);
			else if (*step == 'c')
				put_claim("u1", 1);
			else
				put_slice("gpu-a", 1, 1);
		}
		const struct join_input input = gather("gpu-a", 1000);
		assert_int_equal(input.n_grants, 1);
		assert_true(view_equal(input.grants[0].uuid, VIEW(UUID_A)));
		assert_true(view_equal(pod_uid(input.grants[0].pod), VIEW("u1")));
		assert_int_equal(input.n_slice_devices, 1);
		assert_true(view_equal(input.slice_devices[0].uuid, VIEW(UUID_A)));
		assert_false(input.grants_unknown);
		/* Whoever came last told the node, which is worth a join for its slice alone. */
		assert_true(strlen(touched) >= strlen("gpu-a "));
	}
}

TEST(no_node_describes_the_devices_of_another)
{
	sync_all(1000);
	put_slice("gpu-b", 9, 1);
	put_claim("u1", 1);
	put_claimer("u1", "c", 1);
	const struct join_input input = gather("gpu-a", 1000);
	assert_int_equal(input.n_grants, 1);
	assert_int_equal(input.grants[0].uuid.len, 0);
	assert_int_equal(input.n_slice_devices, 0);
}

TEST(grants_are_unknown_until_claims_and_slices_are_here)
{
	static const enum inventory_kind orders[][2] = {
		{INVENTORY_RESOURCE_CLAIMS, INVENTORY_RESOURCE_SLICES},
		{INVENTORY_RESOURCE_SLICES, INVENTORY_RESOURCE_CLAIMS},
	};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		start_anew();
		put_slice("gpu-a", 1, 1);
		assert_true(gather("gpu-a", 1000).grants_unknown);
		sync_kind(orders[i][0], 1000);
		put_slice("gpu-a", 1, 2);
		assert_true(gather("gpu-a", 1000).grants_unknown);
		sync_kind(orders[i][1], 1000);
		assert_false(gather("gpu-a", 1000).grants_unknown);
		/* That there is no such kind is so for both, or soon for none. */
		inventory_set_absent(inventory, orders[i][1]);
		assert_true(gather("gpu-a", 1000).grants_unknown);
		inventory_set_absent(inventory, orders[i][0]);
		assert_false(gather("gpu-a", 1000).grants_unknown);
	}
}

TEST(what_cannot_be_used_is_counted)
{
	struct resource_claim_fields claim = claim_for("u1");
	struct pod_fields pod = pod_on("gpu-a", "a", "u1");

	pod.gpu.claims_left_out = 4;
	for (uint32_t version = 1; version <= 2; version++) {
		pod.gpu.allocations_left_out = version == 1 ? 3 : 1;
		put_fields(&pod, version, 1000);
		assert_int_equal(inventory_unused(inventory).of_pods, version == 1 ? 7 : 5);
	}
	remove_pod("ml/a", 9, 1000);
	claim.claim.has_other_consumers = true;
	put(INVENTORY_RESOURCE_CLAIMS, &claim, 1);
	put_slice("", 1, 1);
	assert_int_equal(inventory_unused(inventory).of_pods, 0);
	assert_int_equal(inventory_unused(inventory).resource_claims, 1);
	assert_int_equal(inventory_unused(inventory).resource_slices, 1);
	inventory_remove(inventory, INVENTORY_RESOURCE_CLAIMS, VIEW("ml/c"), 2, 1000);
	inventory_remove(inventory, INVENTORY_RESOURCE_SLICES, VIEW("s"), 2, 1000);
	assert_int_equal(inventory_unused(inventory).resource_claims, 0);
	assert_int_equal(inventory_unused(inventory).resource_slices, 0);
}

/* Each kind */

/* A record of that kind, which is of gpu-a, and which differs from version to version. */
static void put_kind(enum inventory_kind kind, uint64_t version)
{
	const char *uid = version % 2 ? "u1" : "u2";
	const struct policy policy = {.name = VIEW("p"), .created_at = (int64_t)version};
	const struct gpu_cluster cluster = {.name = VIEW("c"), .uid = view_from(uid)};

	switch (kind) {
	case INVENTORY_PODS:
		put_pod("x", version % 2 ? "x1" : "x2", version);
		break;
	case INVENTORY_NODES:
		put_node("gpu-a", uid, version);
		break;
	case INVENTORY_POLICIES:
		put(INVENTORY_POLICIES, &policy, version);
		break;
	case INVENTORY_ATTRIBUTIONS:
		put_attribution(version % 2 ? "gpu-a" : "", version);
		break;
	case INVENTORY_RESOURCE_CLAIMS:
		put_claim(uid, version);
		break;
	case INVENTORY_RESOURCE_SLICES:
		put_slice("gpu-a", (int64_t)version, version);
		break;
	case INVENTORY_GPU_CLUSTERS:
		put(INVENTORY_GPU_CLUSTERS, &cluster, version);
		break;
	case INVENTORY_N_KINDS:
		fail_msg("no kind");
	}
}

/* Two pods that use claims, and a report, so that whatever changes there touches it. */
static void populate(void)
{
	put_pod("a", "u1", 1);
	put_pod("b", "u2", 2);
	report_from("gpu-a", 1000);
}

TEST(each_kind_is_initial_until_it_has_been_synced_itself)
{
	for (int kind = 0; kind < INVENTORY_N_KINDS; kind++) {
		start_anew();
		populate();
		for (int other = 0; other < INVENTORY_N_KINDS; other++)
			if (other != kind)
				sync_kind((enum inventory_kind)other, 1000);
		populate();
		for (uint64_t version = 11; version <= 13; version++) {
			if (version == 13) {
				sync_kind((enum inventory_kind)kind, 1000);
				populate();
			}
			was_initial = version == 13;
			put_kind((enum inventory_kind)kind, version);
			assert_int_equal(was_initial, version < 13);
		}
	}
}

TEST(the_first_complete_state_of_each_kind_touches_all)
{
	begin_reported();
	for (int kind = 0; kind < INVENTORY_N_KINDS; kind++) {
		was_initial = false;
		assert_int_equal(intent()->known, kind > INVENTORY_POLICIES);
		assert_false(inventory_is_synced(inventory, (enum inventory_kind)kind));
		sync_kind((enum inventory_kind)kind, 1000);
		assert_touched("gpu-a ");
		assert_true(was_initial);
		assert_true(inventory_is_synced(inventory, (enum inventory_kind)kind));
		sync_kind((enum inventory_kind)kind, 1000);
		assert_touched("");
	}
}

TEST(the_end_releases_the_reports_and_touches_nobody)
{
	populate();
	for (int kind = 0; kind < INVENTORY_N_KINDS; kind++)
		put_kind((enum inventory_kind)kind, 11);
	forget_touches();
	tear_down(NULL);
	assert_touched("");
	assert_int_equal(n_released, 1);
}

TEST(what_is_old_touches_every_node_when_that_is_news)
{
	static const struct {
		enum inventory_kind kind;
		enum inventory_age age, of_pods;
		bool is_of_grants;
	} rows[] = {
		{INVENTORY_PODS, INVENTORY_DENIED, INVENTORY_DENIED, false},
		{INVENTORY_PODS, INVENTORY_STALE, INVENTORY_STALE, false},
		{INVENTORY_PODS, INVENTORY_CURRENT, INVENTORY_CURRENT, false},
		{INVENTORY_NODES, INVENTORY_DENIED, INVENTORY_STALE, false},
		{INVENTORY_NODES, INVENTORY_CURRENT, INVENTORY_CURRENT, false},
		{INVENTORY_NODES, INVENTORY_STALE, INVENTORY_STALE, false},
		{INVENTORY_NODES, INVENTORY_CURRENT, INVENTORY_CURRENT, false},
		{INVENTORY_RESOURCE_SLICES, INVENTORY_DENIED, INVENTORY_CURRENT, true},
		{INVENTORY_RESOURCE_CLAIMS, INVENTORY_STALE, INVENTORY_CURRENT, true},
		{INVENTORY_RESOURCE_SLICES, INVENTORY_CURRENT, INVENTORY_CURRENT, true},
		{INVENTORY_RESOURCE_CLAIMS, INVENTORY_CURRENT, INVENTORY_CURRENT, false},
	};

	sync_all(1000);
	begin_reported();
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		inventory_set_age(inventory, rows[i / 2].kind, rows[i / 2].age);
		assert_touched(i % 2 == 0 ? "gpu-a " : "");
		assert_true(was_initial); /* what is told overtakes it */
		const struct join_input input = gather("gpu-a", 1000);
		assert_int_equal(input.pods_age, rows[i / 2].of_pods);
		assert_int_equal(gather("unknown", 1000).pods_age, rows[i / 2].of_pods);
		assert_int_equal(input.grants_denied, rows[i / 2].is_of_grants);
		assert_int_equal(input.grants_unknown, rows[i / 2].is_of_grants);
	}
	/* No result depends on it. */
	inventory_set_age(inventory, INVENTORY_ATTRIBUTIONS, INVENTORY_STALE);
	assert_touched("");
}

/* What the operator has. Which policy counts is policy_set_test's. */

TEST(policies_and_gpu_clusters_touch_every_node_when_they_come_or_go)
{
	static const enum inventory_kind kinds[] = {INVENTORY_POLICIES, INVENTORY_GPU_CLUSTERS};
	static const char *const names[] = {"p", "c"};

	begin_reported();
	for (size_t i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
		const enum inventory_kind kind = kinds[i % 2];
		const bool is_synced = i >= ARRAY_SIZE(kinds);

		if (is_synced)
			sync_all(1000);
		put_kind(kind, 2);
		assert_touched("gpu-a ");
		put_kind(kind, 1);
		assert_touched("");
		assert_int_equal(intent()->n_policies, kind == INVENTORY_POLICIES);
		assert_int_equal(intent()->n_gpu_clusters, kind == INVENTORY_GPU_CLUSTERS);
		was_initial = is_synced;
		inventory_remove(inventory, kind, view_from(names[i % 2]), 9, 1000);
		assert_touched("gpu-a ");
		assert_int_equal(was_initial, !is_synced);
		assert_int_equal(intent()->n_policies + intent()->n_gpu_clusters, 0);
	}
}

TEST(a_kind_that_does_not_exist_is_known_and_empty)
{
	put_kind(INVENTORY_POLICIES, 1); /* it has been there before */
	assert_false(inventory_is_synced(inventory, INVENTORY_POLICIES));
	inventory_set_absent(inventory, INVENTORY_POLICIES);
	assert_true(inventory_is_synced(inventory, INVENTORY_POLICIES));
	assert_true(intent()->known);
	assert_int_equal(intent()->n_policies, 0);
}

TEST(policies_that_cannot_be_read_are_not_known)
{
	static const struct {
		enum inventory_age age;
		bool is_known, is_stale, is_unserved;
	} rows[] = {
		{INVENTORY_STALE, false, true, false},
		{INVENTORY_DENIED, false, false, false},
		{INVENTORY_UNSERVED, false, false, true},
		{INVENTORY_DENIED, false, false, false},
		{INVENTORY_CURRENT, true, false, false},
	};

	sync_all(1000);
	begin_reported();
	for (size_t i = 0; i < 3 * ARRAY_SIZE(rows); i++) {
		if (i % 3 < 2)
			inventory_set_age(inventory, INVENTORY_POLICIES, rows[i / 3].age);
		else
			sync_kind(INVENTORY_POLICIES, 1000); /* a list says nothing of their age */
		assert_touched(i % 3 == 0 ? "gpu-a " : "");
		assert_int_equal(intent()->known, rows[i / 3].is_known);
		assert_int_equal(intent()->is_stale, rows[i / 3].is_stale);
		assert_int_equal(intent()->is_unserved, rows[i / 3].is_unserved);
	}
}

TEST(gpu_clusters_that_cannot_be_read_are_said_to_be_so)
{
	static const enum inventory_age ages[] = {INVENTORY_DENIED, INVENTORY_UNSERVED, INVENTORY_STALE};

	report_from("gpu-a", 1000);
	sync_kind(INVENTORY_POLICIES, 1000);
	assert_true(intent()->are_gpu_clusters_unread);
	sync_all(1000);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(ages); i++) {
		assert_int_equal(intent()->are_gpu_clusters_unread, i % 2);
		inventory_set_age(inventory, INVENTORY_GPU_CLUSTERS, i % 2 ? INVENTORY_CURRENT : ages[i / 2]);
		assert_touched("gpu-a ");
		assert_true(intent()->known);
	}
}

TEST(what_config_maps_say_touches_every_node_when_it_is_news)
{
	struct plugin_config config = {.name = VIEW("key")};
	struct mig_config layout = {.name = VIEW("layout")};
	const struct plugin_configs plugin = {.name = VIEW("plugin"), .configs = array_of(&config, 1)};
	const struct mig_configs mig = {.name = VIEW("mig"), .layouts = array_of(&layout, 1)};
	struct error err;

	begin_reported();
	assert_int_equal(intent()->plugin_configs_state, INTENT_CONFIG_NONE);
	for (int is_news = 1; is_news >= 0; is_news--) {
		assert_int_equal(inventory_put_plugin_configs(inventory, &plugin, &err), 0);
		assert_touched(is_news ? "gpu-a " : "");
		assert_int_equal(inventory_put_mig_configs(inventory, &mig, &err), 0);
		assert_touched(is_news ? "gpu-a " : "");
		assert_true(was_initial); /* what is told overtakes it */
	}
	assert_int_equal(intent()->plugin_configs_state, INTENT_CONFIG_THERE);
	assert_int_equal(intent()->plugin_configs->configs.count, 1);
	assert_int_equal(intent()->mig_configs_state, INTENT_CONFIG_THERE);
	assert_int_equal(intent()->mig_configs->layouts.count, 1);
	for (int is_news = 1; is_news >= 0; is_news--) {
		inventory_set_config_state(inventory, INTENT_MIG_CONFIG, INTENT_CONFIG_MISSING,
					   INTENT_CONFIG_NOT_YET);
		assert_touched(is_news ? "gpu-a " : "");
	}
	assert_int_equal(intent()->mig_configs_state, INTENT_CONFIG_MISSING);
	assert_null(intent()->mig_configs);
	assert_non_null(intent()->plugin_configs);
	failing_malloc_at(1);
	assert_int_equal(inventory_put_mig_configs(inventory, &mig, &err), -1);
	assert_true(failing_malloc_off());
	failing_malloc_at(1);
	assert_int_equal(inventory_put_plugin_configs(inventory, &plugin, &err), -1);
	assert_true(failing_malloc_off());
	assert_touched("");
}

/* Layouts that a node's MIG manager made: the ConfigMap NODE-mig-config, here with one layout. */

static void put_layout(const char *name, const char *layout, uint64_t version)
{
	struct mig_config one = {.name = view_from(layout)};
	const struct mig_configs configs = {
		.name = view_from(name), .namespace = VIEW("ops"), .layouts = array_of(&one, 1)};

	put_record(inventory_node_layouts(inventory), &configs, UPSERT(version));
}

static void delete_layout(const char *name, uint64_t version)
{
	record_set_delete(inventory_node_layouts(inventory), view_from(name),
			  &(struct record_event){.change = STORE_DELETE, .version = version});
}

static bool has_layout(const char *node, const char *layout)
{
	const struct mig_configs *configs = gather(node, 1000).layouts;

	return configs && mig_config_find(configs, view_from(layout));
}

TEST(layouts_that_a_mig_manager_made_are_those_of_its_node_alone)
{
	report_from("gpu-b", 1000);
	begin_reported();
	put_layout("gpu-a-mig-config", "one", 5);
	assert_touched("gpu-a ");
	assert_true(has_layout("gpu-a", "one"));
	assert_null(gather("gpu-b", 1000).layouts);
	put_layout("gpu-a-mig-config", "one", 6);
	put_layout("gpu-a-mig-config", "older", 4);
	put_layout("parted", "nobody's", 7);
	put_layout("gone-mig-config", "of a node that is not there", 7);
	assert_touched("");
	put_layout("gpu-a-mig-config", "two", 8);
	assert_touched("gpu-a ");
	assert_true(has_layout("gpu-a", "two"));
	delete_layout("gpu-a-mig-config", 7);
	delete_layout("gpu-b-mig-config", 9);
	assert_touched("");
	delete_layout("gpu-a-mig-config", 9);
	assert_touched("gpu-a ");
	assert_null(gather("gpu-a", 1000).layouts);
}

TEST(layouts_of_nodes_that_a_list_lacks_are_gone)
{
	struct record_set *all = inventory_node_layouts(inventory);

	report_from("gpu-b", 1000);
	report_from("gpu-a", 1000);
	put_layout("gpu-a-mig-config", "one", 5);
	put_layout("gpu-b-mig-config", "one", 5);
	forget_touches();
	store_begin_replace(&all->store);
	put_layout("gpu-b-mig-config", "one", 5);
	record_set_sweep(all, &(struct record_event){.change = STORE_DELETE});
	assert_touched("gpu-a ");
	assert_null(gather("gpu-a", 1000).layouts);
	assert_true(has_layout("gpu-b", "one"));
}

/* Without memory */

/* Everything once; returns whether there was memory for all of it. */
static bool fill(struct inventory *to)
{
	const struct pod_fields pod = pod_on("gpu-a", "a", "u1");
	const struct node node = {.name = VIEW("gpu-a")};
	const struct policy policy = {.name = VIEW("p")};
	const struct attribution object = {
		.name = VIEW(NAME_A), .uuid = VIEW(UUID_A), .status.node_name = VIEW("gpu-b")};
	const struct resource_claim_fields claim = claim_for("u1");
	const struct resource_slice_fields slice = slice_on("gpu-c", 1);
	const struct {
		enum inventory_kind kind;
		const void *fields;
	} records[] = {{INVENTORY_NODES, &node}, {INVENTORY_POLICIES, &policy},
		       {INVENTORY_RESOURCE_CLAIMS, &claim}, {INVENTORY_RESOURCE_SLICES, &slice}};
	static struct report_checkpoint_entry entry = {.pod_uid = VIEW_INIT("u1")};
	static struct report report;
	struct arena arena;
	struct error err;
	bool filled;

	report = report_of("gpu-a");
	report.checkpoint.entries = (struct array){&entry, 1, true};
	arena_init(&arena, 4096);
	filled = inventory_put_pod(to, (struct view){0}, &pod, STORE_UPSERT, 1, 0, &err) == 0 &&
		 inventory_put_attribution(to, &object, &arena, STORE_UPSERT, 1, &err) == 0;
	for (size_t i = 0; filled && i < ARRAY_SIZE(records); i++)
		filled = inventory_put(to, records[i].kind, records[i].fields, STORE_UPSERT, 1, &err) == 0;
	filled = filled && inventory_node_state_put_report(to, &report, count_release, &n_released,
							   0, &err) == 0;
	arena_deinit(&arena);
	return filled;
}

TEST(without_memory_nothing_leaks_and_nothing_is_half_there)
{
	bool failed = true;
	struct error err;

	for (unsigned k = 1; failed; k++) {
		struct inventory *another = NULL;

		failing_malloc_at(k);
		bool filled = inventory_new(0, &another, &err) == 0 && fill(another);
		failed = failing_malloc_off();
		assert_int_equal(filled, !failed);
		inventory_free(another);
	}
}

TEST(without_memory_nothing_is_recalled)
{
	const struct view ended = VIEW("u9");
	const struct debounce_seen doubt = {1, 2};
	const struct recall rows[] = {{.ended = &ended, .n_ended = 1}, {.debounced = &doubt, .n_debounced = 1}};

	begin_reported();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err;

		failing_malloc_at(1);
		assert_int_equal(inventory_node_state_keep_recall(inventory, VIEW("gpu-a"),
								  &rows[i], 1000, &err),
				 -1);
		assert_true(failing_malloc_off());
		assert_int_equal(gather("gpu-a", 1000).n_ended + gather("gpu-a", 1000).n_debounced, 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_node_has_the_pods_that_the_api_places_on_it),
	cmocka_unit_test_set_up(an_older_event_never_overwrites_a_newer_one),
	cmocka_unit_test_set_up(what_is_newer_is_wanted_until_it_is_put_and_what_is_asked_for_outlives_the_list),
	cmocka_unit_test_set_up(what_a_complete_list_lacks_is_gone),
	cmocka_unit_test_set_up(a_list_that_breaks_off_removes_nothing),
	cmocka_unit_test_set_up(the_end_of_a_pod_is_as_old_as_when_it_was_told),
	cmocka_unit_test_set_up(a_pod_that_runs_again_has_not_ended_before),
	cmocka_unit_test_set_up(a_week_of_pods_that_come_and_go_leaves_no_memory_behind),
	cmocka_unit_test_set_up(an_ended_uid_is_forgotten_when_no_join_names_it_for_two_minutes),
	cmocka_unit_test_set_up(ended_uids_that_a_join_borrowed_can_be_given_back),
	cmocka_unit_test_set_up(a_report_is_released_when_a_newer_one_replaces_it_and_at_the_end),
	cmocka_unit_test_set_up(an_unchanged_report_only_starts_its_age_anew),
	cmocka_unit_test_set_up(without_a_report_its_age_counts_from_the_first_question),
	cmocka_unit_test_set_up(an_hour_of_changing_figures_touches_nobody),
	cmocka_unit_test_set_up(figures_of_another_report_are_dropped),
	cmocka_unit_test_set_up(a_heartbeat_that_confirms_a_reset_touches_its_node),
	cmocka_unit_test_set_up(a_reset_of_a_node_that_was_forgotten_is_not_seen),
	cmocka_unit_test_set_up(a_join_knows_when_the_list_was_read_last),
	cmocka_unit_test_set_up(a_join_knows_whose_start_was_told_after_the_list),
	cmocka_unit_test_set_up(a_doubt_is_as_old_as_its_first_join_and_forgotten_when_the_last_is_without_it),
	cmocka_unit_test_set_up(what_the_last_join_found_of_a_node_outlives_its_reports),
	cmocka_unit_test_set_up(a_heartbeat_touches_the_node_whose_last_join_waits_for_one),
	cmocka_unit_test_set_up(a_node_that_is_heard_of_after_a_long_silence_is_touched),
	cmocka_unit_test_set_up(what_a_forgotten_report_said_is_released_and_no_longer_claimed),
	cmocka_unit_test_set_up(of_a_node_without_a_report_nothing_of_one_is_known),
	cmocka_unit_test_set_up(a_report_touches_the_holder_of_each_device_and_each_rival_once),
	cmocka_unit_test_set_up(a_report_that_there_is_no_memory_for_leaves_nothing_behind),
	cmocka_unit_test_set_up(an_owner_that_has_not_reported_since_the_start_is_waited_for),
	cmocka_unit_test_set_up(a_report_of_another_boot_says_that_the_last_one_was_before_it),
	cmocka_unit_test_set_up(a_report_of_another_instance_says_when_the_last_one_was_heard_of),
	cmocka_unit_test_set_up(a_report_is_of_a_former_boot_when_the_node_names_another_one_after_it),
	cmocka_unit_test_set_up(the_first_report_is_of_no_former_boot_whatever_the_node_named_before_it),
	cmocka_unit_test_set_up(what_was_refused_is_new_once_for_each_content_of_a_report),
	cmocka_unit_test_set_up(every_object_is_met_once_on_a_walk_and_found_by_its_name),
	cmocka_unit_test_set_up(a_device_that_is_no_longer_reported_is_no_longer_claimed),
	cmocka_unit_test_set_up(a_node_is_gone_since_its_deletion_but_at_most_since_the_first_sync),
	cmocka_unit_test_set_up(a_gone_node_is_gone_since_it_was_first_asked_for),
	cmocka_unit_test_set_up(a_node_is_missed_since_nodes_are_known_whenever_the_rest_is),
	cmocka_unit_test_set_up(what_is_not_there_ended_before_the_first_list),
	cmocka_unit_test_set_up(whoever_orders_reports_is_told_of_a_nodes_boots),
	cmocka_unit_test_set_up(a_claim_grants_its_device_in_whatever_order_things_come),
	cmocka_unit_test_set_up(no_node_describes_the_devices_of_another),
	cmocka_unit_test_set_up(grants_are_unknown_until_claims_and_slices_are_here),
	cmocka_unit_test_set_up(what_cannot_be_used_is_counted),
	cmocka_unit_test_set_up(each_kind_is_initial_until_it_has_been_synced_itself),
	cmocka_unit_test_set_up(the_first_complete_state_of_each_kind_touches_all),
	cmocka_unit_test_set_up(the_end_releases_the_reports_and_touches_nobody),
	cmocka_unit_test_set_up(what_is_old_touches_every_node_when_that_is_news),
	cmocka_unit_test_set_up(policies_and_gpu_clusters_touch_every_node_when_they_come_or_go),
	cmocka_unit_test_set_up(a_kind_that_does_not_exist_is_known_and_empty),
	cmocka_unit_test_set_up(policies_that_cannot_be_read_are_not_known),
	cmocka_unit_test_set_up(gpu_clusters_that_cannot_be_read_are_said_to_be_so),
	cmocka_unit_test_set_up(what_config_maps_say_touches_every_node_when_it_is_news),
	cmocka_unit_test_set_up(layouts_that_a_mig_manager_made_are_those_of_its_node_alone),
	cmocka_unit_test_set_up(layouts_of_nodes_that_a_list_lacks_are_gone),
	cmocka_unit_test_set_up(without_memory_nothing_leaks_and_nothing_is_half_there),
	cmocka_unit_test_set_up(without_memory_nothing_is_recalled),
};

TEST_MAIN(tests)
