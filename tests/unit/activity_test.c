/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/activity.h"
#include "base/limits.h"
#include "lib/failing_malloc.h"

#define MINUTE INT64_C(60000)
#define NOW INT64_C(1767323045000) /* of the report, by the node's clock */
#define WALL (NOW + 250)	    /* the controller's clock */
#define BUSY_AT (NOW - 90 * MINUTE)
#define SINCE (NOW - 240 * MINUTE)

#define ACTIVE ATTRIBUTION_ACTIVITY_ACTIVE
#define IDLE ATTRIBUTION_ACTIVITY_IDLE
#define UNKNOWN ATTRIBUTION_ACTIVITY_UNKNOWN

static const struct report_activity busy = {true, REPORT_ACTIVITY_BUSY, REPORT_ACTIVITY_NVML, 38,
					     BUSY_AT, SINCE};
static const struct report_activity idle = {true, REPORT_ACTIVITY_IDLE, REPORT_ACTIVITY_NVML, 0,
					     BUSY_AT, SINCE};
static const struct report_activity never_busy = {true, REPORT_ACTIVITY_IDLE,
						   REPORT_ACTIVITY_NO_PROCESS, -1, 0, SINCE};
static const struct report_activity by_gpm = {true, REPORT_ACTIVITY_BUSY, REPORT_ACTIVITY_GPM, 38,
					       BUSY_AT, SINCE};
static const struct report_activity by_dcgm = {true, REPORT_ACTIVITY_IDLE, REPORT_ACTIVITY_DCGM, 0,
						BUSY_AT, SINCE};
/* Of an agent that was started five minutes ago. */
static const struct report_activity measuring = {true, REPORT_ACTIVITY_MEASURING,
						  REPORT_ACTIVITY_NVML, 0, 0, NOW - 5 * MINUTE};

static struct fixture {
	struct arena arena;
	struct report_device device;
	struct report_partition reported[2];
	struct attribution_partition partitions[2], published_partitions[2];
	struct attribution_activity_state published;
	struct activity_input input;
	struct array ret_partitions;
	struct attribution_activity_state is;
} f;

static int set_up(void **state)
{
	(void)state;
	f = (struct fixture){
		.reported = {{.uuid = VIEW_INIT("MIG-a")}, {.uuid = VIEW_INIT("MIG-b")}},
		/* In another order than reported. */
		.partitions = {{.uuid = VIEW_INIT("MIG-b")}, {.uuid = VIEW_INIT("MIG-a")}},
		.published_partitions = {{.uuid = VIEW_INIT("MIG-a")}, {.uuid = VIEW_INIT("MIG-b")}},
		.input = {.reported = &f.device,
			  .observed_at = NOW,
			  .now_wall_ms = WALL,
			  .is_published_in_boot = true,
			  .arena = &f.arena},
	};
	arena_init(&f.arena, LIMIT_MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&f.arena);
	return 0;
}

static const struct attribution_activity_state *judge(uint32_t n_partitions)
{
	struct error err;
	const struct array partitions = {n_partitions > 0 ? f.partitions : NULL, n_partitions, true};

	f.device.partitions = (struct array){f.reported, n_partitions, true};
	if (activity_judge(&f.input, partitions, &f.ret_partitions, &f.is, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(f.ret_partitions.count, n_partitions);
	return &f.is;
}

static void publish(int state, int64_t since, const char *reason)
{
	f.published = (struct attribution_activity_state){
		.state = state,
		.reason = view_from(reason),
		.idle_since = state == IDLE ? since : 0,
		.last_transition_time = NOW - 1000 * MINUTE,
	};
	f.input.published = activity_read_previous(&f.published);
}

static void assert_state(int state, const char *reason, int64_t idle_since, const char *evidence)
{
	assert_int_equal(f.is.state, state);
	if (!view_equal(f.is.reason, view_from(reason)))
		fail_msg("reason %.*s, not %s", VIEW_ARG(f.is.reason), reason);
	assert_int_equal(f.is.idle_since, idle_since);
	assert_true(f.is.evidence.present);
	assert_int_equal(f.is.evidence.count, evidence[0] != '\0');
	if (!evidence[0])
		assert_null(f.is.evidence.items);
	else
		assert_true(view_equal(*ARRAY_AT(f.is.evidence, struct view, 0),
				       view_from(evidence)));
}

TEST(each_state_and_reason_has_its_evidence)
{
	const struct {
		struct report_activity said;
		enum activity_silence silence;
		bool is_dated, is_partitioned, is_unlisted;
		int state;
		const char *reason;
		int64_t idle_since;
		const char *evidence;
	} rows[] = {
		{busy, .state = ACTIVE, .reason = "", .evidence = "NVMLUtilization"},
		{idle, .state = IDLE, .reason = "", .idle_since = BUSY_AT,
		 .evidence = "NVMLUtilization"},
		{never_busy, .state = IDLE, .reason = "", .idle_since = SINCE,
		 .evidence = "NoProcess"},
		{by_gpm, .state = ACTIVE, .reason = "", .evidence = "GPM"},
		{by_dcgm, .state = IDLE, .reason = "", .idle_since = BUSY_AT, .evidence = "DCGM"},
		{measuring, .state = UNKNOWN, .reason = "Settling", .evidence = ""},
		{busy, .silence = ACTIVITY_STALE, .state = UNKNOWN, .reason = "ReportStale",
		 .evidence = ""},
		{idle, .silence = ACTIVITY_NO_AGENT, .state = UNKNOWN, .reason = "NoAgent",
		 .evidence = ""},
		{idle, .is_dated = true, .state = UNKNOWN, .reason = "SamplesMissing", .evidence = ""},
		{{0}, .state = UNKNOWN, .reason = "NotMeasured", .evidence = ""},
		{idle, .is_unlisted = true, .state = UNKNOWN, .reason = "NotMeasured", .evidence = ""},
		{{0}, .is_partitioned = true, .state = UNKNOWN, .reason = "MIGNotMeasured",
		 .evidence = ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		f.device.activity = rows[i].said;
		f.input.silence = rows[i].silence;
		f.input.is_dated = rows[i].is_dated;
		f.input.is_partitioned = rows[i].is_partitioned;
		if (rows[i].is_unlisted)
			f.input.reported = NULL;
		judge(0);
		assert_state(rows[i].state, rows[i].reason, rows[i].idle_since, rows[i].evidence);
		assert_int_equal(f.is.scope, rows[i].is_partitioned ? ATTRIBUTION_SCOPE_PARTITION
								    : ATTRIBUTION_SCOPE_DEVICE);
		assert_int_equal(f.is.last_transition_time, WALL);
	}
}

TEST(a_source_has_the_word_by_which_it_is_evidence)
{
	static const char *const words[] = {"", "NVMLUtilization", "GPM", "DCGM", "NoProcess"};

	for (int source = 0; source <= REPORT_ACTIVITY_NO_PROCESS; source++)
		assert_true(view_equal(activity_source(source), view_from(words[source])));
}

TEST(what_cannot_be_true_is_not_measured)
{
	static const struct report_activity rows[] = {
		{true, REPORT_ACTIVITY_IDLE, REPORT_ACTIVITY_NVML, 0, 0, 0},
		{true, REPORT_ACTIVITY_IDLE, REPORT_ACTIVITY_NVML, 0, 0, -1},
		{true, REPORT_ACTIVITY_IDLE, REPORT_ACTIVITY_NVML, 0, 0, NOW + 1},
		{true, REPORT_ACTIVITY_IDLE, REPORT_ACTIVITY_NVML, 0, NOW + 1, SINCE},
		{true, REPORT_ACTIVITY_IDLE, REPORT_ACTIVITY_UNMEASURED, 0, 0, SINCE},
		{true, REPORT_ACTIVITY_BUSY, REPORT_ACTIVITY_NVML, 99, 0, SINCE},
		{true, REPORT_ACTIVITY_UNSAID, REPORT_ACTIVITY_NVML, 99, BUSY_AT, SINCE},
		{false, REPORT_ACTIVITY_IDLE, REPORT_ACTIVITY_NVML, 0, BUSY_AT, SINCE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		f.device.activity = rows[i];
		judge(0);
		assert_state(UNKNOWN, "NotMeasured", 0, "");
	}
	f.device.activity = busy;
	f.device.activity.last_busy_at = f.device.activity.measured_since = NOW;
	assert_int_equal(judge(0)->state, ACTIVE);
}

TEST(a_state_that_stays_keeps_the_time_of_its_transition)
{
	f.device.activity = idle;
	publish(IDLE, BUSY_AT, "");
	assert_int_equal(judge(0)->last_transition_time, f.published.last_transition_time);
	publish(ACTIVE, 0, "");
	assert_int_equal(judge(0)->last_transition_time, WALL);
	publish(IDLE, BUSY_AT, "");
	f.input.published.last_transition_time = 0;
	assert_int_equal(judge(0)->last_transition_time, WALL);
}

/* The agent was started five minutes ago, its former instance was last heard a while before. */
TEST(what_was_published_outlives_the_agents_restart_if_no_sample_is_missing)
{
	static const struct {
		int state;
		const char *last_reason;
		int64_t former_ms; /* before the first sample; 0: not known */
		bool is_other_boot;
		int then;
		const char *reason;
	} rows[] = {
		{ACTIVE, "", 2 * MINUTE, false, ACTIVE, ""},
		{IDLE, "", 2 * MINUTE, false, IDLE, ""},
		{IDLE, "", -10 * MINUTE, false, IDLE, ""}, /* it has a new number, and was not restarted */
		{ACTIVE, "", 2 * MINUTE + 1, false, UNKNOWN, "SamplesMissing"},
		{IDLE, "", 2 * MINUTE + 1, false, UNKNOWN, "SamplesMissing"},
		{IDLE, "", 0, false, UNKNOWN, "SamplesMissing"},
		{IDLE, "", 2 * MINUTE, true, UNKNOWN, "SamplesMissing"},
		{UNKNOWN, "SamplesMissing", 2 * MINUTE, false, UNKNOWN, "SamplesMissing"},
		{UNKNOWN, "ReportStale", 2 * MINUTE, false, UNKNOWN, "SamplesMissing"},
		{UNKNOWN, "NoAgent", 2 * MINUTE, false, UNKNOWN, "SamplesMissing"},
		{UNKNOWN, "Settling", 2 * MINUTE, false, UNKNOWN, "Settling"},
		{UNKNOWN, "NotMeasured", 2 * MINUTE, false, UNKNOWN, "Settling"},
		{UNKNOWN, "MIGNotMeasured", 2 * MINUTE, false, UNKNOWN, "Settling"},
		{UNKNOWN, "", 2 * MINUTE, false, UNKNOWN, "Settling"},
		{UNKNOWN, "OfALaterVersion", 2 * MINUTE, false, UNKNOWN, "Settling"},
	};

	f.device.activity = measuring;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		publish(rows[i].state, SINCE, rows[i].last_reason);
		f.input.is_published_in_boot = !rows[i].is_other_boot;
		f.input.former_heard_at =
			rows[i].former_ms == 0 ? 0 : measuring.measured_since - rows[i].former_ms;
		judge(0);
		assert_state(rows[i].then, rows[i].reason, rows[i].then == IDLE ? SINCE : 0,
			     rows[i].then == UNKNOWN ? "" : "NVMLUtilization");
	}
}

TEST(idle_since_stays_as_published_unless_work_was_seen_or_may_have_been_missed)
{
	static const struct {
		int64_t published_ms; /* before now */
		int64_t busy_ms;      /* the same; 0: never */
		int64_t measured_ms;  /* the same */
		int64_t former_ms;    /* before the first sample; 0: not known */
		bool is_other_boot;
		int64_t then_ms; /* before now */
		int64_t told_ms; /* the same: the published status rests on what this agent told then; 0: */
				 /* on what another one did */
	} rows[] = {
		{300, 0, 60, 0, false, 300, 60}, /* written after the agent was restarted */
		{300, 0, 60, 0, false, 60, 61}, /* it missed samples while no controller ran */
		{300, 0, 60, 2, false, 60, 61},
		{90, 90, 240, 0, false, 90},
		{90, 90, 60, 0, false, 90}, /* its work ended then; the agent was restarted later */
		{300, 0, 60, 2, false, 300}, /* the agent was restarted an hour ago */
		{300, 0, 60, 0, false, 300}, /* and the controller since */
		{300, 0, 60, 3, false, 60},  /* it was away for too long */
		{300, 0, 60, 2, true, 60},   /* the node was booted */
		{300, 90, 240, 0, false, 90}, /* work since */
		{300, 90, 60, 2, false, 60},
		{30, 0, 60, 2, false, 60}, /* a time that the clock was set from */
		{-30, 0, 60, 2, false, 60},
	};
	/* Of another state no such time is published; one that is there all the same is none. */
	static const int others[] = {ACTIVE, UNKNOWN, ATTRIBUTION_ACTIVITY_UNSET};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const int64_t measured_since = NOW - rows[i].measured_ms * MINUTE;
		f.device.activity = idle;
		f.device.activity.measured_since = measured_since;
		f.device.activity.last_busy_at =
			rows[i].busy_ms ? NOW - rows[i].busy_ms * MINUTE : 0;
		publish(IDLE, NOW - rows[i].published_ms * MINUTE, "");
		f.input.published_at = rows[i].told_ms ? NOW - rows[i].told_ms * MINUTE : 0;
		f.input.is_published_in_boot = !rows[i].is_other_boot;
		f.input.former_heard_at =
			rows[i].former_ms ? measured_since - rows[i].former_ms * MINUTE : 0;
		judge(0);
		assert_state(IDLE, "", NOW - rows[i].then_ms * MINUTE, "NVMLUtilization");
	}
	tear_down(state);
	set_up(state);
	f.device.activity = idle;
	f.device.activity.last_busy_at = 0;
	f.input.published.idle_since = SINCE - MINUTE;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		f.input.published.state = others[i];
		judge(0);
		assert_state(IDLE, "", SINCE, "NVMLUtilization");
	}
}

/* Nodes without a battery boot so. Only time 0 says that there is none. */
TEST(a_clock_that_stands_in_1970_is_a_clock)
{
	static const struct {
		int said; /* enum report_activity_state */
		int64_t busy_at, measured_since;
		int published;
		int64_t published_since, published_at, former_heard_at;
		int state;
		int64_t idle_since;
	} rows[] = {
		{REPORT_ACTIVITY_IDLE, 0, 1, .state = IDLE, .idle_since = 1},
		{REPORT_ACTIVITY_BUSY, 1, 1, .state = ACTIVE},
		/* It was idle, it is not told since when. */
		{REPORT_ACTIVITY_IDLE, 0, MINUTE, IDLE, 0, .state = IDLE, .idle_since = MINUTE},
		{REPORT_ACTIVITY_IDLE, 0, MINUTE, IDLE, 1, .state = IDLE, .idle_since = 1},
		/* It was measured anew since that was published. */
		{REPORT_ACTIVITY_IDLE, 0, MINUTE, IDLE, 1, .published_at = 1, .state = IDLE,
		 .idle_since = MINUTE},
		/* The agent was away for too long. */
		{REPORT_ACTIVITY_IDLE, 0, 3 * MINUTE, IDLE, 1, .former_heard_at = 1, .state = IDLE,
		 .idle_since = 3 * MINUTE},
		/* It was not. */
		{REPORT_ACTIVITY_MEASURING, 0, MINUTE, ACTIVE, .former_heard_at = 1,
		 .state = ACTIVE},
		/* That is not known. */
		{REPORT_ACTIVITY_MEASURING, 0, MINUTE, ACTIVE, .state = UNKNOWN},
	};

	f.input.observed_at = 4 * MINUTE;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		f.device.activity = (struct report_activity){
			true, rows[i].said, REPORT_ACTIVITY_NVML, 0, rows[i].busy_at,
			rows[i].measured_since};
		publish(rows[i].published, rows[i].published_since, "");
		f.input.published.last_transition_time = 1;
		f.input.published_at = rows[i].published_at;
		f.input.former_heard_at = rows[i].former_heard_at;
		judge(0);
		assert_state(rows[i].state, rows[i].state == UNKNOWN ? "SamplesMissing" : "",
			     rows[i].idle_since,
			     rows[i].state == UNKNOWN ? "" : "NVMLUtilization");
		assert_int_equal(f.is.last_transition_time,
				 rows[i].state == rows[i].published ? 1 : WALL);
	}
	/* NVML answered last then. */
	f.device.activity.state = REPORT_ACTIVITY_BUSY;
	f.device.activity.last_busy_at = 1;
	f.input.is_dated = true;
	f.input.sampled_at = 1;
	f.input.heard_at = 1 + MINUTE;
	assert_int_equal(judge(0)->state, ACTIVE);
}

/* The report has the list that NVML gave last. */
TEST(while_nvml_fails_its_last_list_counts_until_too_many_samples_are_missing)
{
	const struct {
		struct report_activity said;
		int64_t age_ms; /* of the list; -1: there never was one */
		int state;
		const char *reason;
		int64_t again_in_ms;
	} rows[] = {
		{idle, 0, IDLE, "", 120001},
		{idle, 15000, IDLE, "", 105001},
		{idle, 2 * MINUTE - 5000, IDLE, "", 10000}, /* not before the next heartbeat */
		{idle, 2 * MINUTE, IDLE, "", 10000},
		{idle, 2 * MINUTE + 1, UNKNOWN, "SamplesMissing", -1},
		{idle, -1, UNKNOWN, "SamplesMissing", -1},
		{idle, -15000, UNKNOWN, "SamplesMissing", -1}, /* the clock was set back */
		{busy, 2 * MINUTE, ACTIVE, "", 10000},
		{busy, 2 * MINUTE + 1, UNKNOWN, "SamplesMissing", -1},
		{{0}, 15000, UNKNOWN, "NotMeasured", 105001},
	};

	publish(IDLE, BUSY_AT, "");
	f.input.observed_at = NOW - 10 * MINUTE; /* there have been heartbeats since */
	f.input.heard_at = NOW;
	f.input.is_dated = true;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		f.device.activity = rows[i].said;
		f.input.sampled_at = rows[i].age_ms == -1 ? 0 : NOW - rows[i].age_ms;
		judge(0);
		assert_state(rows[i].state, rows[i].reason, rows[i].state == IDLE ? BUSY_AT : 0,
			     rows[i].state == UNKNOWN ? "" : "NVMLUtilization");
		assert_int_equal(activity_again_in(&f.input), rows[i].again_in_ms);
	}
	f.input.sampled_at = NOW;
	f.input.is_dated = false;
	assert_int_equal(activity_again_in(&f.input), -1);
	f.input.is_dated = true;
	f.input.silence = ACTIVITY_STALE;
	assert_int_equal(activity_again_in(&f.input), -1);
}

static const struct attribution_partition *partition(uint32_t i)
{
	return ARRAY_AT(f.ret_partitions, struct attribution_partition, i);
}

#define NO_MEANS "MIGNotMeasured"

/* And each that is Unknown has a reason of its own. */
TEST(a_device_is_what_its_partitions_amount_to)
{
	const struct {
		struct report_activity a, b;
		int state_a, state_b, state;
		const char *reason_a, *reason_b, *reason;
		int64_t idle_since;
		unsigned n_evidence;
	} rows[] = {
		{busy, busy, ACTIVE, ACTIVE, ACTIVE, "", "", "", 0, 1},
		{busy, idle, ACTIVE, IDLE, ACTIVE, "", "", "", 0, 1},
		{never_busy, busy, IDLE, ACTIVE, ACTIVE, "", "", "", 0, 1},
		{{0}, busy, UNKNOWN, ACTIVE, ACTIVE, NO_MEANS, "", "", 0, 1},
		{idle, never_busy, IDLE, IDLE, IDLE, "", "", "", BUSY_AT, 2},
		{never_busy, idle, IDLE, IDLE, IDLE, "", "", "", BUSY_AT, 2},
		{idle, {0}, IDLE, UNKNOWN, UNKNOWN, "", NO_MEANS, NO_MEANS, 0, 0},
		{measuring, idle, UNKNOWN, IDLE, UNKNOWN, "Settling", "", "Settling", 0, 0},
		{measuring, {0}, UNKNOWN, UNKNOWN, UNKNOWN, "Settling", NO_MEANS, NO_MEANS, 0, 0},
		{{0}, measuring, UNKNOWN, UNKNOWN, UNKNOWN, NO_MEANS, "Settling", NO_MEANS, 0, 0},
	};

	f.input.is_partitioned = true;
	f.device.activity = busy; /* of the device as a whole, which does not count */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		f.reported[0].activity = rows[i].a;
		f.reported[1].activity = rows[i].b;
		judge(2);
		assert_int_equal(partition(1)->activity.state, rows[i].state_a);
		assert_int_equal(partition(0)->activity.state, rows[i].state_b);
		assert_int_equal(f.is.state, rows[i].state);
		assert_true(view_equal(partition(1)->activity.reason, view_from(rows[i].reason_a)));
		assert_true(view_equal(partition(0)->activity.reason, view_from(rows[i].reason_b)));
		assert_true(view_equal(f.is.reason, view_from(rows[i].reason)));
		assert_int_equal(f.is.idle_since, rows[i].idle_since);
		assert_int_equal(f.is.evidence.count, rows[i].n_evidence);
		assert_int_equal(f.is.scope, ATTRIBUTION_SCOPE_PARTITION);
		assert_int_equal(f.partitions[0].activity.state, 0); /* it is not ours */
	}
	assert_int_equal(partition(1)->activity.idle_since, 0);
}

TEST(a_partition_keeps_what_was_published_of_itself)
{
	f.input.is_partitioned = true;
	f.input.former_heard_at = measuring.measured_since - MINUTE;
	f.reported[0].activity = f.reported[1].activity = measuring;
	publish(IDLE, SINCE, "");
	f.published_partitions[0].activity =
		(struct attribution_partition_activity){IDLE, SINCE - MINUTE};
	f.published_partitions[1].activity = (struct attribution_partition_activity){IDLE, SINCE};
	f.input.published_partitions = (struct array){f.published_partitions, 2, true};
	judge(2);
	assert_int_equal(partition(0)->activity.idle_since, SINCE);
	assert_int_equal(partition(1)->activity.idle_since, SINCE - MINUTE);
	assert_state(IDLE, "", SINCE, "NVMLUtilization");
	/* One that was cut anew was not measured before. */
	f.input.published_partitions.count = 1;
	judge(2);
	assert_int_equal(partition(1)->activity.state, IDLE);
	assert_int_equal(partition(0)->activity.state, UNKNOWN);
	assert_state(UNKNOWN, "Settling", 0, "");
}

TEST(partitions_that_the_report_does_not_tell_are_unknown)
{
	f.input.is_partitioned = true;
	f.input.reported = NULL;
	judge(2);
	assert_int_equal(partition(0)->activity.state, UNKNOWN);
	assert_state(UNKNOWN, "MIGNotMeasured", 0, "");
}

TEST(without_memory_nothing_is_changed)
{
	struct array partitions = {f.partitions, 2, true};
	struct attribution_activity_state is = {.state = IDLE};
	struct error err;

	f.device.activity = idle;
	for (size_t cap = 0; cap < 2; cap++) {
		struct arena none;
		arena_init(&none, cap * 2 * sizeof(struct attribution_partition));
		f.input.arena = &none;
		if (activity_judge(&f.input, partitions, &partitions, &is, &err) == 0)
			fail_msg("no failure with %zu bytes", none.cap);
		assert_int_equal(err.kind, ERROR_NO_MEMORY);
		assert_ptr_equal(partitions.items, f.partitions);
		assert_int_equal(is.state, IDLE);
		arena_deinit(&none);
	}
}

TESTS(set_up, tear_down)
