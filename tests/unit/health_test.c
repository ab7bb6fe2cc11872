/* SPDX-License-Identifier: Apache-2.0 */

/* The health of one device by plain values. What the join makes of it is in join_health_test. */

#include "lib/expect_status.h"
#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "assess/health.h"

#define NOW INT64_C(1700000000000)
#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define MINUTE INT64_C(60000)
#define QUIET_MS (10 * MINUTE)

enum {
	HEALTHY = ATTRIBUTION_HEALTH_HEALTHY,
	DEGRADED = ATTRIBUTION_HEALTH_DEGRADED,
	UNHEALTHY = ATTRIBUTION_HEALTH_UNHEALTHY,
	UNKNOWN = ATTRIBUTION_HEALTH_UNKNOWN,
};

/* What is known, and what was found last. */
static struct {
	struct arena arena;
	struct report report;
	struct report_device device;
	struct report_event events[4];
	struct attribution_health_state published;
	struct health_previous previous; /* made of it */
	struct health_input input;
	struct health health;
} now;

static struct report_condition *const condition = &now.device.condition;

static bool is_of(const void *owner, struct view uuid)
{
	(void)owner;
	return view_equal(uuid, VIEW(UUID));
}

static int list_nobody(const void *owner, const struct events_origin *origin,
		       struct attribution_health_event *event, struct error *err)
{
	(void)owner;
	(void)origin;
	(void)event;
	(void)err;
	return 0;
}

/* A device of which all is read and nothing is wrong, and of which nothing was published. */
static int set_up(void **state)
{
	(void)state;
	memset(&now, 0, sizeof(now));
	arena_init(&now.arena, 1u << 20);
	now.device.uuid = VIEW(UUID);
	*condition = (struct report_condition){
		.present = true,
		.recovery = REPORT_RECOVERY_NONE,
		.remapped_rows.present = true,
		.slowdown.present = true,
	};
	now.report.sources.nvml.state = REPORT_SOURCE_OK;
	now.report.events_since = NOW;
	now.report.events = (struct array){now.events, 0, true};
	now.input = (struct health_input){
		.report = &now.report,
		.reported = &now.device,
		.list = REPORT_LIST_GOOD,
		.quiet_ms = QUIET_MS,
		.heard_at = NOW,
		.is_same_boot = true,
		.holders = {NULL, is_of, list_nobody},
		.arena = &now.arena,
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&now.arena);
	return 0;
}

static bool start_anew(void)
{
	return tear_down(NULL) == 0 && set_up(NULL) == 0;
}

/* Judges, and publishes the verdict. */
static void judge(void)
{
	struct error err;
	assert_int_equal(health_judge(&now.input, &now.health, &err), 0);
	now.published = now.health.state;
	now.previous = health_read_previous(&now.published);
	now.input.published = &now.previous;
	now.input.published_events = now.published.events;
}

static void expect(int state, const char *reasons)
{
	judge();
	expect_texts(now.health.state.reasons, reasons);
	assert_int_equal(now.health.state.state, state);
}

static void raise_xid(int64_t code, int64_t time)
{
	uint32_t i = now.report.events.count++;
	now.events[i] = (struct report_event){
		.sequence = i, .time = time, .uuid = VIEW(UUID), .type = REPORT_EVENT_XID,
		.code = code, .gpu_instance_id = -1, .compute_instance_id = -1};
}

/* So long after the node was booted. */
static void raise_xid_at(int64_t code, int64_t time, int64_t uptime_ms)
{
	raise_xid(code, time);
	now.events[now.report.events.count - 1].uptime_ms = uptime_ms;
}

static int64_t uptime_of_event(void)
{
	return ARRAY_AT(now.published.events, struct attribution_health_event, 0)->uptime_ms;
}

TEST(each_thing_that_is_told_of_slowness_and_links_is_a_reason_with_its_remedy)
{
	static const struct {
		struct report_condition c;
		int action;
		const char *reason;
	} rows[] = {
		{{.slowdown.thermal = REPORT_YES}, ATTRIBUTION_RECOVERY_NONE, "ThermalSlowdown"},
		{{.slowdown.power_brake = REPORT_YES}, ATTRIBUTION_RECOVERY_NONE, "PowerBrake"},
		{{.slowdown.hardware = REPORT_YES}, ATTRIBUTION_RECOVERY_NONE, "HWSlowdown"},
		{{.pcie_degraded = REPORT_YES}, ATTRIBUTION_RECOVERY_UNKNOWN, "PCIeLinkDegraded"},
		{{.nvlinks_down = REPORT_YES}, ATTRIBUTION_RECOVERY_UNKNOWN, "NVLinkDown"},
		{{.fabric = REPORT_FABRIC_NOT_STARTED}, ATTRIBUTION_RECOVERY_UNKNOWN, "FabricNotReady"},
		{{.fabric = REPORT_FABRIC_IN_PROGRESS}, ATTRIBUTION_RECOVERY_UNKNOWN, "FabricNotReady"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		const struct report_condition well = *condition;
		*condition = rows[i].c;
		condition->present = true;
		expect(DEGRADED, rows[i].reason);
		assert_int_equal(now.health.state.recovery_action, rows[i].action);
		expect_text(now.health.reason, rows[i].reason);
		*condition = well;
		condition->slowdown = (struct report_slowdown){true, REPORT_NO, REPORT_NO, REPORT_NO};
		condition->nvlinks_down = condition->pcie_degraded = REPORT_NO;
		condition->fabric = REPORT_FABRIC_COMPLETED;
		expect(HEALTHY, "");
	}
}

TEST(what_the_driver_recommends_is_the_action_unless_nothing_but_another_helps)
{
	static const struct {
		struct report_condition c;
		int action;
	} rows[] = {
		{{.ecc_volatile.uncorrected = 1, .recovery = REPORT_RECOVERY_NONE},
		 ATTRIBUTION_RECOVERY_NONE},
		{{.ecc_volatile.uncorrected = 1, .recovery = REPORT_RECOVERY_DRAIN_P2P},
		 ATTRIBUTION_RECOVERY_DRAIN_P2P},
		{{.ecc_volatile.uncorrected = 1, .recovery = REPORT_RECOVERY_UNREAD},
		 ATTRIBUTION_RECOVERY_RESET},
		{{.ecc_volatile.uncorrected = 1, .recovery = REPORT_RECOVERY_OTHER},
		 ATTRIBUTION_RECOVERY_RESET},
		{{.remapped_rows = {.present = true, .failed = true}, .recovery = REPORT_RECOVERY_NONE},
		 ATTRIBUTION_RECOVERY_REPLACE},
		{{.remapped_rows = {.present = true, .failed = true}, .recovery = REPORT_RECOVERY_RESET},
		 ATTRIBUTION_RECOVERY_REPLACE},
		{{.remapped_rows = {.present = true, .failed = true}, .recovery = REPORT_RECOVERY_REBOOT},
		 ATTRIBUTION_RECOVERY_REPLACE},
		{{.lost = true, .recovery = REPORT_RECOVERY_RESET}, ATTRIBUTION_RECOVERY_REBOOT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		*condition = rows[i].c;
		condition->present = true;
		judge();
		assert_int_equal(now.health.state.recovery_action, rows[i].action);
	}
}

/* By an earlier agent of this boot. */
TEST(links_that_were_more_before_the_agent_began_are_down)
{
	static const struct {
		struct report_condition c;
		int64_t most;
		bool is_down;
	} rows[] = {
		{{.nvlinks = {true, 18, 10}}, 12, true},
		{{.nvlinks = {true, 18, 10}, .nvlinks_down = REPORT_NO}, 12, true},
		{{.nvlinks = {true, 18, 12}}, 12, false},
		{{.nvlinks = {true, 18, 12}, .nvlinks_down = REPORT_YES}, 12, true},
		{{.nvlinks = {true, 18, 10}}, 0, false},
		{{.nvlinks = {false, 18, 10}}, 12, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		*condition = rows[i].c;
		condition->present = true;
		now.input.most_nvlinks = rows[i].most;
		expect(rows[i].is_down ? DEGRADED : HEALTHY, rows[i].is_down ? "NVLinkDown" : "");
	}
}

TEST(a_device_that_the_plugin_calls_unhealthy_is_degraded_until_it_does_not)
{
	now.input.is_plugin_unhealthy = true;
	expect(DEGRADED, "PluginUnhealthy");
	now.input.is_plugin_unhealthy = false;
	expect(HEALTHY, "");
}

/* Each verdict of the agent's that takes several samples, and its reason. */
static int *verdict(size_t i)
{
	int *const verdicts[] = {&condition->slowdown.thermal, &condition->slowdown.power_brake,
				 &condition->slowdown.hardware, &condition->pcie_degraded,
				 &condition->nvlinks_down};
	return verdicts[i];
}

static const char *const decided[] = {"ThermalSlowdown", "PowerBrake", "HWSlowdown",
				      "PCIeLinkDegraded", "NVLinkDown"};

TEST(what_an_agent_has_not_decided_stays_as_it_was_published)
{
	for (size_t i = 0; i < ARRAY_SIZE(decided) && start_anew(); i++) {
		expect(HEALTHY, "");
		*verdict(i) = REPORT_YES;
		expect(DEGRADED, decided[i]);
		/* The agent starts anew. */
		*verdict(i) = REPORT_UNDECIDED;
		expect(DEGRADED, decided[i]);
		expect(DEGRADED, decided[i]);
		*verdict(i) = REPORT_NO;
		expect(HEALTHY, "");
		*verdict(i) = REPORT_UNDECIDED;
		expect(HEALTHY, "");
	}
}

TEST(what_was_published_of_another_boot_says_nothing_of_this_one)
{
	for (size_t i = 0; i < ARRAY_SIZE(decided) && start_anew(); i++) {
		*verdict(i) = REPORT_YES;
		judge();
		*verdict(i) = REPORT_UNDECIDED;
		now.input.is_same_boot = false;
		expect(HEALTHY, "");
	}
}

TEST(an_agent_that_does_not_read_conditions_keeps_no_reason_alive)
{
	for (size_t i = 0; i < ARRAY_SIZE(decided) && start_anew(); i++) {
		*verdict(i) = REPORT_YES;
		judge();
		*condition = (struct report_condition){.present = false};
		expect(HEALTHY, "");
	}
}

TEST(what_was_slow_stays_so_while_nvml_does_not_list_it)
{
	condition->slowdown.thermal = REPORT_YES;
	judge();
	now.input.reported = NULL;
	expect(DEGRADED, "ThermalSlowdown,DeviceMissing");
}

static void be_booted(void)
{
	now.input.is_same_boot = false;
	now.input.is_other_boot = true;
}

/* The node's clock may be set back, or forward. */
TEST(boots_are_told_apart_by_their_ids_and_only_without_them_by_the_clock)
{
	static const struct {
		bool is_same, is_other;
		int64_t booted_after; /* the error is of NOW */
		const char *reasons;
	} rows[] = {
		{true, false, 0, "XID95"},        {true, false, NOW, "XID95"},
		{true, false, NOW + 1, "XID95"},  {false, true, 0, ""},
		{false, true, NOW - 1, ""},       {false, true, NOW, ""},
		{false, false, 0, "XID95"},       {false, false, NOW - 1, "XID95"},
		{false, false, NOW, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid(95, NOW);
		judge();
		now.report.events.count = 0;
		now.input.is_same_boot = rows[i].is_same;
		now.input.is_other_boot = rows[i].is_other;
		now.input.booted_after = rows[i].booted_after;
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
		/* That is published under the present boot, and stays. */
		now.input.is_same_boot = true;
		now.input.is_other_boot = false;
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
	}
}

TEST(an_error_of_the_present_boot_speaks_against_a_device_as_did_one_of_the_boot_before)
{
	raise_xid(95, NOW);
	judge();
	now.report.events.count = 0;
	raise_xid(95, NOW + 1);
	be_booted();
	expect(UNHEALTHY, "XID95");
	now.input.is_same_boot = true;
	now.input.is_other_boot = false;
	expect(UNHEALTHY, "XID95");
	be_booted();
	now.report.events.count = 0;
	expect(HEALTHY, "");
}

/* Each thing that NVML tells to be wrong, and what tells nothing of it. */
static const struct {
	struct report_condition ill, well, unread;
	const char *reason;
} wrongs[] = {
	{.ill.lost = true, .reason = "GPULost"},
	{.ill.remapped_rows = {.present = true, .failed = true},
	 .well.remapped_rows.present = true, .reason = "RowRemapFailed"},
	{.ill.remapped_rows = {.present = true, .pending = true},
	 .well.remapped_rows.present = true, .reason = "RowRemapPending"},
	{.ill.retired_pages = {.present = true, .pending = true},
	 .well.retired_pages.present = true, .reason = "RetiredPagesPending"},
	{.ill.ecc_volatile.uncorrected = 1, .unread.ecc_volatile = {-1, -1},
	 .reason = "UncorrectableECC"},
	{.ill.fabric = REPORT_FABRIC_IN_PROGRESS, .well.fabric = REPORT_FABRIC_COMPLETED,
	 .reason = "FabricNotReady"},
	{.ill.recovery = REPORT_RECOVERY_RECOVER_IMEX_DOMAIN,
	 .well.recovery = REPORT_RECOVERY_NONE, .reason = "RecoverIMEXDomain"},
	{.ill.recovery = REPORT_RECOVERY_REBOOT, .well.recovery = REPORT_RECOVERY_NONE,
	 .reason = "RebootRequired"},
	{.ill.recovery = REPORT_RECOVERY_DRAIN_AND_RESET, .well.recovery = REPORT_RECOVERY_NONE,
	 .reason = "DrainRequired"},
	{.ill.recovery = REPORT_RECOVERY_DRAIN_P2P, .well.recovery = REPORT_RECOVERY_NONE,
	 .reason = "DrainRequired"},
	{.ill.recovery = REPORT_RECOVERY_OTHER, .well.recovery = REPORT_RECOVERY_NONE,
	 .reason = "RecoveryRequired"},
	{.ill = {.recovery = REPORT_RECOVERY_RESET, .ecc_volatile = {-1, -1}},
	 .well = {.recovery = REPORT_RECOVERY_NONE, .ecc_volatile = {-1, -1}},
	 .unread.ecc_volatile = {-1, -1}, .reason = "ResetRequired"},
	{.ill = {.reset_required = true, .ecc_volatile = {-1, -1}}, .well.recovery_unsupported = true,
	 .unread.ecc_volatile = {-1, -1}, .reason = "ResetRequired"},
};

static void be(struct report_condition c)
{
	*condition = c;
	condition->present = true;
}

TEST(what_was_wrong_stays_so_until_it_is_read_to_be_well)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrongs) && start_anew(); i++) {
		be(wrongs[i].ill);
		judge();
		expect_texts(now.health.state.reasons, wrongs[i].reason);
		const int found = now.health.state.state;
		const int action = now.health.state.recovery_action;
		if (!wrongs[i].ill.lost) {
			be(wrongs[i].unread);
			expect(found, wrongs[i].reason);
			assert_int_equal(now.health.state.recovery_action, action);
		}
		be(wrongs[i].well);
		expect(HEALTHY, "");
	}
}

/* GPULost is told; the agent starts anew, and leaves out the device that it cannot know. */
TEST(what_was_wrong_stays_so_while_nvml_does_not_list_the_device)
{
	static const struct {
		enum report_list list;
		const char *also;
	} rows[] = {
		{REPORT_LIST_GOOD, "DeviceMissing"},
		{REPORT_LIST_NONE, "NVMLUnavailable"},
		{REPORT_LIST_DATED, "NVMLUnavailable"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(wrongs) * ARRAY_SIZE(rows) && start_anew(); i++) {
		const size_t wrong = i / ARRAY_SIZE(rows), row = i % ARRAY_SIZE(rows);
		char both[64];
		be(wrongs[wrong].ill);
		judge();
		const int found = now.health.state.state;
		snprintf(both, sizeof(both), "%s,%s", wrongs[wrong].reason, rows[row].also);
		now.input.reported = NULL;
		now.input.list = rows[row].list;
		expect(found, both);
	}
}

TEST(without_an_agent_no_device_is_called_missing)
{
	now.input.reported = NULL;
	expect(UNKNOWN, "DeviceMissing");
	now.input.report = NULL;
	now.input.list = REPORT_LIST_NONE;
	now.input.is_same_boot = false;
	expect(UNKNOWN, "NoAgent");
}

TEST(a_device_that_is_off_the_bus_is_not_called_withdrawn_too)
{
	static const struct {
		struct report_condition c;
		const char *reasons;
	} rows[] = {
		{{.lost = true}, "GPULost"},
		{{.remapped_rows = {.present = true, .failed = true}}, "RowRemapFailed,NotAdvertised"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		be(rows[i].c);
		now.input.is_off_offer = now.input.is_withdrawn = true;
		expect(UNHEALTHY, rows[i].reasons);
	}
}

/* One call may fail while the others answer. */
TEST(what_asked_for_a_reset_stays_until_that_is_read)
{
	static const struct {
		struct report_condition now;
		const char *reason;
	} rows[] = {
		{{.ecc_volatile = {0, 0}}, "ResetRequired"},
		{{.ecc_volatile = {-1, -1}, .remapped_rows.present = true}, "ResetRequired"},
		{{.ecc_volatile = {-1, -1}, .retired_pages.present = true}, "ResetRequired"},
		{{.ecc_volatile = {0, 0}, .reset_required = true}, "ResetRequired"},
		{{.ecc_volatile = {0, 0}, .recovery = REPORT_RECOVERY_RESET}, "ResetRequired"},
		{{.ecc_volatile = {-1, -1}, .recovery = REPORT_RECOVERY_NONE}, ""},
		{{.ecc_volatile = {0, 0}, .recovery = REPORT_RECOVERY_NONE}, ""},
		/* The driver has none to tell: it must answer something else. */
		{{.ecc_volatile = {-1, -1}, .recovery_unsupported = true}, "ResetRequired"},
		{{.ecc_volatile = {0, 0}, .recovery_unsupported = true}, ""},
		{{.ecc_volatile = {-1, -1}, .recovery_unsupported = true, .remapped_rows.present = true}, ""},
		{{.ecc_volatile = {-1, -1}, .recovery_unsupported = true, .retired_pages.present = true}, ""},
	};
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows) && start_anew(); i++) {
		const char *reason = rows[i / 2].reason;
		be((struct report_condition){.recovery = i % 2 ? REPORT_RECOVERY_RESET : 0,
					     .reset_required = i % 2 == 0});
		expect(UNHEALTHY, "ResetRequired");
		be(rows[i / 2].now);
		expect(reason[0] ? UNHEALTHY : HEALTHY, reason);
	}
}

/* But for rows that cannot be remapped. */
TEST(what_was_wrong_and_cannot_be_read_is_not_so_after_a_boot)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrongs) && start_anew(); i++) {
		be(wrongs[i].ill);
		judge();
		be(wrongs[i].unread);
		now.input.is_same_boot = false;
		if (!wrongs[i].ill.remapped_rows.failed)
			expect(HEALTHY, "");
	}
}

/* Under MIG they cannot be read. The card may also be in another node by then. */
TEST(rows_that_cannot_be_remapped_stay_so_over_boots_until_they_are_read)
{
	static const struct {
		bool is_read, is_failed;
	} rows[] = {{false, false}, {true, true}, {true, false}};
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows) && start_anew(); i++) {
		const bool is_read = rows[i / 2].is_read, is_well = is_read && !rows[i / 2].is_failed;
		condition->remapped_rows = (struct report_remapped_rows){.present = true, .failed = true};
		expect(UNHEALTHY, "RowRemapFailed");
		now.input.is_same_boot = false;
		now.input.is_other_boot = i % 2 == 0;
		if (i % 2 == 1) {
			now.input.former = now.input.published;
			now.input.published = NULL;
		}
		condition->remapped_rows = (struct report_remapped_rows){
			.present = is_read, .failed = rows[i / 2].is_failed};
		expect(is_well ? HEALTHY : UNHEALTHY, is_well ? "" : "RowRemapFailed");
		assert_int_equal(now.health.state.recovery_action == ATTRIBUTION_RECOVERY_REPLACE, !is_well);
	}
}

TEST(rows_that_cannot_be_remapped_stay_so_while_no_agent_reports)
{
	condition->remapped_rows = (struct report_remapped_rows){.present = true, .failed = true};
	expect(UNHEALTHY, "RowRemapFailed");
	now.input.report = NULL;
	now.input.reported = NULL;
	now.input.list = REPORT_LIST_NONE;
	now.input.is_same_boot = false;
	expect(UNHEALTHY, "RowRemapFailed,NoAgent");
}

TEST(a_reset_settles_nothing_while_what_was_wrong_cannot_be_read)
{
	raise_xid(95, NOW);
	condition->remapped_rows.failed = true;
	expect(UNHEALTHY, "RowRemapFailed,XID95");
	condition->remapped_rows = (struct report_remapped_rows){.present = false};
	condition->reset_time = NOW + 1;
	expect(UNHEALTHY, "RowRemapFailed,XID95");
}

TEST(a_reset_settles_what_asked_for_no_more)
{
	static const struct {
		int64_t code;
		int64_t reset_time; /* the error is of NOW */
		struct report_condition also;
		const char *reasons;
	} rows[] = {
		{95, NOW + 1, {.recovery = REPORT_RECOVERY_NONE}, ""},
		{95, NOW, {.recovery = REPORT_RECOVERY_UNREAD}, ""},
		{95, NOW - 1, {.recovery = REPORT_RECOVERY_NONE}, "XID95"},
		{95, 0, {.recovery = REPORT_RECOVERY_NONE}, "XID95"},
		{48, NOW + 1, {.recovery = REPORT_RECOVERY_UNREAD}, ""},
		{4711, NOW + 1, {.recovery = REPORT_RECOVERY_UNREAD}, ""},
		{79, NOW + 1, {.recovery = REPORT_RECOVERY_NONE}, "XID79"},
		/* The driver asks for more, or something of its own is left. */
		{95, NOW + 1, {.recovery = REPORT_RECOVERY_RESET}, "ResetRequired,XID95"},
		{95, NOW + 1, {.recovery = REPORT_RECOVERY_OTHER}, "XID95,RecoveryRequired"},
		{95, NOW + 1, {.remapped_rows = {.present = true, .failed = true}}, "RowRemapFailed,XID95"},
		{95, NOW + 1, {.remapped_rows = {.present = true, .pending = true}}, "XID95,RowRemapPending"},
		{95, NOW + 1, {.ecc_volatile.uncorrected = 1}, "XID95,UncorrectableECC"},
		{95, NOW + 1, {.nvlinks_down = REPORT_YES}, "XID95,NVLinkDown"},
		{95, NOW + 1, {.lost = true}, "GPULost,XID95"},
		/* That is no error of the device. */
		{95, NOW + 1, {.slowdown.thermal = REPORT_YES}, "ThermalSlowdown"},
		{95, NOW + 1, {.pcie_degraded = REPORT_YES}, "PCIeLinkDegraded"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid(rows[i].code, NOW);
		condition->recovery = REPORT_RECOVERY_UNREAD;
		judge();
		assert_int_equal(now.published.reasons.count, 1);
		*condition = rows[i].also;
		condition->present = true;
		condition->reset_time = rows[i].reset_time;
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
		assert_int_equal(now.health.state.events.count, 1);
	}
}

TEST(a_device_that_is_listed_again_has_left_behind_only_what_asked_for_a_reboot)
{
	static const struct {
		int64_t code;
		const char *away, *back;
	} rows[] = {
		{79, "XID79,DeviceMissing", ""},
		{95, "XID95,DeviceMissing", "XID95"},
		{48, "XID48,DeviceMissing", "XID48"},
		{4711, "XID4711,DeviceMissing", "XID4711"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid(rows[i].code, NOW);
		judge();
		/* One reading fails. */
		now.input.reported = NULL;
		judge();
		expect_texts(now.health.state.reasons, rows[i].away);
		now.input.reported = &now.device;
		judge();
		expect_texts(now.health.state.reasons, rows[i].back);
	}
}

/* The card is in another node now, or that node says so. */
static void be_taken(int64_t booted_after)
{
	static struct health_previous former;
	former = now.previous;
	now.input.former = &former;
	now.input.published = NULL;
	now.input.is_same_boot = now.input.is_other_boot = false;
	now.input.booted_after = booted_after;
}

TEST(an_error_speaks_against_the_card_in_another_node_unless_that_was_booted_since)
{
	static const struct {
		int64_t booted_after; /* the error is of NOW */
		const char *reasons;
	} rows[] = {{0, "XID95"}, {NOW - 1, "XID95"}, {NOW, ""}};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid(95, NOW);
		judge();
		now.report.events.count = 0;
		be_taken(rows[i].booted_after);
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
		assert_int_equal(now.health.state.events.count, 1);
		be_taken(0);
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
	}
}

TEST(a_card_that_was_missing_and_is_listed_by_another_node_is_back)
{
	raise_xid(79, NOW);
	now.input.reported = NULL;
	expect(UNHEALTHY, "XID79,DeviceMissing");
	now.input.reported = &now.device;
	be_taken(0);
	expect(HEALTHY, "");
}

TEST(a_boot_of_a_node_that_has_not_got_the_card_settles_nothing)
{
	raise_xid(95, NOW);
	judge();
	be_booted();
	now.input.reported = NULL;
	expect(UNHEALTHY, "XID95,DeviceMissing");
}

TEST(a_reset_settles_nothing_while_an_error_asks_for_a_reboot)
{
	raise_xid(95, NOW);
	raise_xid(79, NOW);
	judge();
	condition->reset_time = NOW + 1;
	expect(UNHEALTHY, "XID79,XID95");
	be_booted();
	expect(HEALTHY, "");
}

TEST(what_a_reset_settled_stays_settled_after_the_agent_and_the_controller_start_anew)
{
	static const struct {
		int64_t code;
		int state;
		const char *reason;
	} rows[] = {
		{95, UNHEALTHY, "XID95"},
		{48, DEGRADED, "XID48"},
		{0, DEGRADED, "XID0"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid(rows[i].code, NOW);
		expect(rows[i].state, rows[i].reason);
		condition->reset_time = NOW + 1;
		expect(HEALTHY, "");
		condition->reset_time = 0;
		now.report.events.count = 0;
		expect(HEALTHY, "");
		/* It is told again; and happens again. */
		raise_xid(rows[i].code, NOW);
		expect(HEALTHY, "");
		raise_xid(rows[i].code, NOW + MINUTE);
		expect(rows[i].state, rows[i].reason);
		assert_int_equal(now.published.events.count, 2);
	}
}

TEST(an_error_to_look_at_closer_is_settled_when_the_driver_asks_for_nothing_long_after)
{
	static const struct {
		int64_t code, ms; /* since the error */
		struct report_condition also;
		const char *reasons;
	} rows[] = {
		{48, QUIET_MS - 1, {.recovery = REPORT_RECOVERY_NONE}, "XID48"},
		{48, QUIET_MS, {.recovery = REPORT_RECOVERY_NONE}, ""},
		{74, QUIET_MS, {.recovery = REPORT_RECOVERY_NONE}, ""},
		{48, 100 * QUIET_MS, {.recovery = REPORT_RECOVERY_UNREAD}, "XID48"},
		{95, QUIET_MS, {.recovery = REPORT_RECOVERY_NONE}, "XID95"},
		{79, QUIET_MS, {.recovery = REPORT_RECOVERY_NONE}, "XID79"},
		{48, QUIET_MS, {.recovery = REPORT_RECOVERY_DRAIN_P2P}, "DrainRequired,XID48"},
		{48, QUIET_MS,
		 {.recovery = REPORT_RECOVERY_NONE, .ecc_volatile.uncorrected = 2},
		 "UncorrectableECC,XID48"},
		{74, QUIET_MS,
		 {.recovery = REPORT_RECOVERY_NONE, .nvlinks_down = REPORT_YES}, "XID74,NVLinkDown"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid(rows[i].code, NOW);
		judge();
		*condition = rows[i].also;
		condition->present = true;
		now.input.heard_at = NOW + rows[i].ms;
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
	}
}

TEST(a_reset_comes_after_an_error_by_the_time_since_boot_whatever_the_clock_says)
{
	enum {HOUR = 3600000};
	static const struct {
		int64_t code, reset_time, reset_uptime; /* the error is of NOW and 5 minutes */
		const char *reasons;
	} rows[] = {
		{95, NOW + HOUR, 4 * MINUTE, "XID95"}, /* the clock was set forward after both */
		{95, NOW - HOUR, 6 * MINUTE, ""},      /* or back between them */
		{48, NOW + HOUR, 4 * MINUTE, "XID48"},
		{48, NOW - HOUR, 6 * MINUTE, ""},
		{95, NOW, 5 * MINUTE, ""},
		{95, NOW, 5 * MINUTE - 1, "XID95"},
		{95, NOW + HOUR, 0, "XID95"}, /* not told */
		{79, NOW - HOUR, 6 * MINUTE, "XID79"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid_at(rows[i].code, NOW, 5 * MINUTE);
		now.input.heard_uptime_ms = 7 * MINUTE;
		judge();
		assert_int_equal(uptime_of_event(), 5 * MINUTE);
		condition->reset_time = rows[i].reset_time;
		condition->reset_uptime_ms = rows[i].reset_uptime;
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
	}
}

/* Without persistence mode counts go down without a reset: so the driver must say that none is needed. */
TEST(a_reset_that_no_agent_watched_settles_an_error_if_the_driver_asks_for_nothing)
{
	static const struct {
		int64_t code, reset_uptime; /* the error is of 5 minutes */
		struct report_condition also;
		const char *reasons;
	} rows[] = {
		{95, 6 * MINUTE, {.recovery = REPORT_RECOVERY_NONE}, ""},
		{95, 5 * MINUTE, {.recovery = REPORT_RECOVERY_NONE}, ""},
		{95, 5 * MINUTE - 1, {.recovery = REPORT_RECOVERY_NONE}, "XID95"},
		{95, 0, {.recovery = REPORT_RECOVERY_NONE}, "XID95"},
		{95, 6 * MINUTE, {.recovery = REPORT_RECOVERY_UNREAD}, "XID95"},
		{95, 6 * MINUTE, {.recovery = REPORT_RECOVERY_RESET}, "ResetRequired,XID95"},
		{95, 6 * MINUTE, {.recovery = REPORT_RECOVERY_DRAIN_P2P}, "XID95,DrainRequired"},
		{95, 6 * MINUTE, {.recovery = REPORT_RECOVERY_NONE, .lost = true}, "GPULost,XID95"},
		{95, 6 * MINUTE,
		 {.recovery = REPORT_RECOVERY_NONE, .ecc_volatile.uncorrected = 1},
		 "XID95,UncorrectableECC"},
		{95, 6 * MINUTE,
		 {.recovery = REPORT_RECOVERY_NONE, .remapped_rows = {true, .pending = true}},
		 "XID95,RowRemapPending"},
		{48, 6 * MINUTE, {.recovery = REPORT_RECOVERY_NONE}, ""},
		{48, 5 * MINUTE - 1, {.recovery = REPORT_RECOVERY_NONE}, "XID48"},
		{79, 6 * MINUTE, {.recovery = REPORT_RECOVERY_NONE}, "XID79"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid_at(rows[i].code, NOW, 5 * MINUTE);
		now.input.heard_uptime_ms = 7 * MINUTE;
		judge();
		*condition = rows[i].also;
		condition->present = true;
		now.input.reset_uptime_ms = rows[i].reset_uptime;
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
		assert_int_equal(now.health.state.events.count, 1);
	}
}

/* The controller that has seen the reset ends, and the next one knows of none. */
TEST(what_a_reset_has_settled_stays_settled_and_nothing_else_is)
{
	condition->recovery = REPORT_RECOVERY_NONE;
	now.input.heard_uptime_ms = 7 * MINUTE;
	raise_xid_at(95, NOW, 5 * MINUTE);
	expect(UNHEALTHY, "XID95");
	now.input.reset_uptime_ms = 6 * MINUTE;
	expect(HEALTHY, "");
	raise_xid_at(119, NOW + 2 * MINUTE, 7 * MINUTE);
	expect(UNHEALTHY, "XID119");
	now.input.reset_uptime_ms = 0;
	expect(UNHEALTHY, "XID119");
	assert_int_equal(now.health.state.events.count, 2);
}

/* Clocks may be set, and there is nothing else to go by. */
TEST(without_the_time_since_boot_no_reset_counts_but_the_agents)
{
	condition->recovery = REPORT_RECOVERY_NONE;
	raise_xid(95, NOW);
	now.input.reset_uptime_ms = 6 * MINUTE;
	expect(UNHEALTHY, "XID95");
	expect(UNHEALTHY, "XID95");
	condition->reset_time = NOW + 1;
	expect(HEALTHY, "");
}

/* Also where the clock was never set. */
TEST(the_time_since_boot_counts_from_its_first_millisecond)
{
	static const struct {
		int64_t code, reset_time, reset_uptime; /* watched by the agent */
		int64_t unwatched;                      /* else */
		const char *reasons;
	} rows[] = {
		{95, 0, 0, 0, "XID95"}, {95, 1, 1, 0, ""},      {95, 0, 0, 1, ""},
		{48, 0, 0, 0, "XID48"}, {48, 1, 1, 0, ""},      {48, 0, 0, 1, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid_at(rows[i].code, NOW, 1);
		now.input.heard_at = NOW + QUIET_MS;
		now.input.heard_uptime_ms = 1;
		judge();
		condition->reset_time = rows[i].reset_time;
		condition->reset_uptime_ms = rows[i].reset_uptime;
		now.input.reset_uptime_ms = rows[i].unwatched;
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
	}
}

TEST(an_error_with_an_impossible_time_since_boot_is_not_settled_by_no_reset)
{
	raise_xid_at(95, NOW, -1);
	now.input.heard_uptime_ms = 7 * MINUTE;
	expect(UNHEALTHY, "XID95");
	expect(UNHEALTHY, "XID95");
}

TEST(the_driver_asks_for_nothing_long_after_an_error_by_the_time_since_boot)
{
	static const struct {
		int64_t heard_at, uptime; /* the error is of NOW and 5 minutes */
		int64_t again_in;
		const char *reasons;
	} rows[] = {
		{NOW + 10 * QUIET_MS, 6 * MINUTE, 9 * MINUTE, "XID48"},
		{NOW - 10 * QUIET_MS, 15 * MINUTE - 1, 10000, "XID48"},
		{NOW - 10 * QUIET_MS, 15 * MINUTE, -1, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid_at(48, NOW, 5 * MINUTE);
		now.input.heard_uptime_ms = 5 * MINUTE;
		judge();
		now.input.heard_at = rows[i].heard_at;
		now.input.heard_uptime_ms = rows[i].uptime;
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
		assert_int_equal(now.health.again_in_ms, rows[i].again_in);
	}
}

/* An agent that does not tell the time since boot is replaced by one that does, or the card moves. */
TEST(an_error_whose_time_since_boot_is_not_known_was_now_at_the_latest)
{
	for (int i = 0; i < 3 && start_anew(); i++) {
		raise_xid_at(95, NOW, i == 0 ? 0 : 90 * MINUTE);
		judge();
		now.report.events.count = 0;
		now.input.heard_uptime_ms = 7 * MINUTE;
		now.input.is_same_boot = i == 0;
		if (i == 2)
			be_taken(0);
		condition->reset_time = NOW + MINUTE;
		condition->reset_uptime_ms = 7 * MINUTE - 1;
		expect(UNHEALTHY, "XID95");
		assert_int_equal(uptime_of_event(), 7 * MINUTE);
		now.input.former = NULL;
		now.input.published = &now.previous;
		now.input.is_same_boot = true;
		now.input.heard_uptime_ms = 8 * MINUTE;
		expect(UNHEALTHY, "XID95");
		assert_int_equal(uptime_of_event(), 7 * MINUTE);
		condition->reset_uptime_ms = 7 * MINUTE;
		expect(HEALTHY, "");
	}
}

/* As long as the agent does not tell it, what was published of it stays. */
TEST(a_time_since_boot_outlives_an_agent_that_tells_none)
{
	raise_xid_at(95, NOW, 5 * MINUTE);
	now.input.heard_uptime_ms = 6 * MINUTE;
	expect(UNHEALTHY, "XID95");
	now.input.heard_uptime_ms = 0;
	now.report.events.count = 0;
	expect(UNHEALTHY, "XID95");
	assert_int_equal(uptime_of_event(), 5 * MINUTE);
	condition->reset_time = NOW;
	expect(HEALTHY, "");
}

TEST(a_list_of_before_nvml_failed_settles_nothing)
{
	raise_xid(48, NOW);
	judge();
	now.input.list = REPORT_LIST_DATED;
	condition->reset_time = NOW + 1;
	condition->recovery = REPORT_RECOVERY_NONE;
	now.input.heard_at = NOW + QUIET_MS - MINUTE;
	expect(DEGRADED, "XID48,NVMLUnavailable");
	assert_int_equal(now.health.again_in_ms, -1);
	now.input.heard_at = NOW + QUIET_MS;
	expect(DEGRADED, "XID48,NVMLUnavailable");
}

TEST(the_verdict_says_when_time_alone_may_change_it)
{
	static const struct {
		int64_t code, ms;
		int recovery;
		int64_t again_in;
	} rows[] = {
		{48, 0, REPORT_RECOVERY_NONE, QUIET_MS},
		{48, 60000, REPORT_RECOVERY_NONE, QUIET_MS - 60000},
		{48, QUIET_MS - 1, REPORT_RECOVERY_NONE, 10000}, /* not at once */
		{48, QUIET_MS - 9999, REPORT_RECOVERY_NONE, 10000},
		{48, QUIET_MS - 10001, REPORT_RECOVERY_NONE, 10001},
		{48, QUIET_MS, REPORT_RECOVERY_NONE, -1},
		{48, 0, REPORT_RECOVERY_UNREAD, -1},
		{48, 0, REPORT_RECOVERY_RESET, -1},
		{95, 0, REPORT_RECOVERY_NONE, -1},
		{31, 0, REPORT_RECOVERY_NONE, -1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid(rows[i].code, NOW);
		condition->recovery = rows[i].recovery;
		judge();
		now.input.heard_at = NOW + rows[i].ms;
		judge();
		assert_int_equal(now.health.again_in_ms, rows[i].again_in);
	}
	start_anew();
	raise_xid(48, NOW);
	raise_xid(74, NOW - 5 * MINUTE);
	judge();
	assert_int_equal(now.health.again_in_ms, 5 * MINUTE);
	/* The clock was set back between them: the first by the clock is the second since boot. */
	start_anew();
	raise_xid_at(48, NOW, MINUTE);
	raise_xid_at(74, NOW - MINUTE, 5 * MINUTE);
	now.input.heard_uptime_ms = 6 * MINUTE;
	judge();
	assert_int_equal(now.health.again_in_ms, 5 * MINUTE);
}

TEST(errors_of_one_kind_are_reasons_in_the_order_of_their_numbers)
{
	static const struct {
		int64_t codes[3]; /* oldest first */
		const char *reasons;
	} rows[] = {
		{{48, 74, 119}, "XID119,XID48,XID74"},
		{{74, 48, 119}, "XID119,XID48,XID74"},
		{{119, 48, 74}, "XID119,XID48,XID74"},
		{{48, 74, 48}, "XID48,XID74"},
		{{74, 48, 74}, "XID48,XID74"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(rows[i].codes); k++)
			raise_xid(rows[i].codes[k], NOW + (int64_t)k);
		judge();
		expect_texts(now.health.state.reasons, rows[i].reasons);
	}
}

/* Its status names no node. */
TEST(an_error_that_came_with_no_verdict_speaks_against_nothing)
{
	raise_xid(95, NOW);
	judge();
	now.input.published = NULL;
	now.input.is_same_boot = false;
	expect(HEALTHY, "");
	assert_int_equal(now.health.state.events.count, 1);
}

TEST(errors_of_applications_accuse_nobody_and_are_listed)
{
	static const int64_t codes[] = {13, 31, 43, 45, 94};
	for (size_t i = 0; i < ARRAY_SIZE(codes) && start_anew(); i++) {
		raise_xid(codes[i], NOW);
		expect(HEALTHY, "");
		assert_int_equal(now.health.state.events.count, 1);
	}
}

TEST(each_event_says_its_class_and_what_to_do)
{
	static const struct {
		int64_t code;
		int class;
	} rows[] = {
		{94, ATTRIBUTION_EVENT_APPLICATION},   {63, ATTRIBUTION_EVENT_INFORMATIONAL},
		{48, ATTRIBUTION_EVENT_LOOK_CLOSER},   {4711, ATTRIBUTION_EVENT_LOOK_CLOSER},
		{95, ATTRIBUTION_EVENT_NEEDS_RESET},   {79, ATTRIBUTION_EVENT_NEEDS_REBOOT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		raise_xid(rows[i].code, NOW);
		judge();
		struct attribution_health_event *event = now.published.events.items;
		assert_int_equal(event->class, rows[i].class);
		assert_true(event->action.len > 0 && event->meaning.len > 0);
		/* One that an earlier release published has neither. */
		event->class = ATTRIBUTION_EVENT_UNSET;
		event->action = (struct view){0};
		now.report.events.count = 0;
		judge();
		event = now.published.events.items;
		assert_int_equal(event->class, rows[i].class);
		assert_true(event->action.len > 0);
	}
}

TEST(since_when_no_event_was_missed_is_as_the_report_says)
{
	now.report.events_since = NOW - 5;
	judge();
	assert_int_equal(now.health.state.events_since, NOW - 5);
	now.input.report = NULL;
	now.input.reported = NULL;
	judge();
	assert_int_equal(now.health.state.events_since, 0);
}

/* While the agent cannot say whether its watch goes on, the time since boot is the published one. */
TEST(the_time_since_boot_that_names_the_watch_is_the_published_one_until_it_is_told)
{
	static const struct {
		int64_t since, told; /* by the report */
		bool is_same_boot;
		int64_t expected;
	} rows[] = {
		{NOW, 7, true, 7}, {NOW, 0, true, 5}, {NOW, 0, false, 0},
		{1, 7, true, 7},   {0, 7, true, 0},   {0, 0, true, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		now.report.events_since_uptime_ms = 5;
		judge();
		assert_int_equal(now.health.state.events_since_uptime_ms, 5);
		now.report.events_since = rows[i].since;
		now.report.events_since_uptime_ms = rows[i].told;
		now.input.is_same_boot = rows[i].is_same_boot;
		judge();
		assert_int_equal(now.health.state.events_since_uptime_ms, rows[i].expected);
	}
}

TEST(a_device_of_which_one_thing_is_read_is_not_unread)
{
	static const struct report_condition nothing = {
		.present = true, .ecc_volatile = {-1, -1}, .clocks_event_reasons = -1};
	static const struct {
		struct report_condition also;
		int state;
	} rows[] = {
		{{.present = false}, UNKNOWN},
		{{.slowdown.present = true}, HEALTHY},
		{{.nvlinks.present = true}, HEALTHY},
		{{.pcie_lanes.present = true}, HEALTHY},
		{{.fabric = REPORT_FABRIC_COMPLETED}, HEALTHY},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		*condition = nothing;
		condition->slowdown = rows[i].also.slowdown;
		condition->nvlinks = rows[i].also.nvlinks;
		condition->pcie_lanes = rows[i].also.pcie_lanes;
		condition->fabric = rows[i].also.fabric;
		now.report.events_since = 0;
		expect(rows[i].state, rows[i].state == HEALTHY ? "" : "HealthUnread");
	}
}

TEST(regress_16_a_device_that_asks_for_a_reset_first_is_not_unread)
{
	*condition = (struct report_condition){.present = true,
					       .reset_required = true,
					       .ecc_volatile = {-1, -1},
					       .clocks_event_reasons = -1};
	now.report.events_since = 0;
	expect(UNHEALTHY, "ResetRequired");
}

TEST(a_device_of_which_it_is_known_why_it_is_not_read_is_not_unread)
{
	static const struct {
		bool lost, hangs;
		enum report_list list;
		int state;
		const char *reason;
	} rows[] = {
		{true, false, REPORT_LIST_GOOD, UNHEALTHY, "GPULost"},
		{false, false, REPORT_LIST_DATED, UNKNOWN, "NVMLUnavailable"},
		{false, true, REPORT_LIST_DATED, UNKNOWN, "NVMLHangs"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		*condition = (struct report_condition){.present = true,
						       .lost = rows[i].lost,
						       .ecc_volatile = {-1, -1},
						       .clocks_event_reasons = -1};
		now.report.events_since = 0;
		now.report.sources.nvml.hangs = rows[i].hangs;
		now.input.list = rows[i].list;
		expect(rows[i].state, rows[i].reason);
	}
}

TEST(published_reasons_that_are_none_of_ours_are_left_out)
{
	static const struct {
		const char *reason;
		uint32_t n_xids;
		int64_t xid;
	} rows[] = {
		{"XID95", 1, 95}, {"XID0", 1, 0},  {"XID", 0, 0},   {"XIDs", 0, 0}, {"XID9x", 0, 0},
		{"xid95", 0, 0},  {"ECC95", 0, 0}, {"Ill", 0, 0}, {"", 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct view reason = view_from(rows[i].reason);
		const struct attribution_health_state published = {
			.reasons = array_of(&reason, 1)};
		const struct health_previous previous = health_read_previous(&published);

		assert_int_equal(previous.found, 0);
		assert_int_equal(previous.n_xids, rows[i].n_xids);
		assert_int_equal(previous.xids[0], rows[i].xid);
	}
}

TEST(of_more_published_reasons_than_there_can_be_the_first_are_read)
{
	char texts[LIMIT_HEALTH_REASONS + 2][16];
	struct view reasons[LIMIT_HEALTH_REASONS + 2];

	for (int i = 0; i < (int)ARRAY_SIZE(reasons); i++) {
		snprintf(texts[i], sizeof(texts[i]), "XID%d", i + 1);
		reasons[i] = view_from(texts[i]);
	}
	const struct attribution_health_state published = {
		.reasons = array_of(reasons, ARRAY_SIZE(reasons))};
	const struct health_previous previous = health_read_previous(&published);

	assert_int_equal(previous.n_xids, LIMIT_HEALTH_REASONS);
	for (uint32_t i = 0; i < LIMIT_HEALTH_REASONS; i++)
		assert_int_equal(previous.xids[i], i + 1);
}

TEST(a_device_was_listed_unless_a_published_reason_tells_otherwise)
{
	static const struct {
		const char *reason;
		bool was_listed;
	} rows[] = {
		{"XID79", true},	  {"ResetRequired", true},    {"HealthUnread", true},
		{"DeviceMissing", false}, {"NVMLUnavailable", false}, {"NVMLHangs", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct view reason = view_from(rows[i].reason);
		const struct attribution_health_state published = {
			.reasons = array_of(&reason, 1)};
		const struct health_previous previous = health_read_previous(&published);

		assert_int_equal(health_was_listed(&previous), rows[i].was_listed);
	}
	assert_true(health_was_listed(&(struct health_previous){0}));
}

static void expect_message(const char *says)
{
	char expected[256];
	expect(HEALTHY, "");
	snprintf(expected, sizeof(expected), "nothing speaks against the device; %s", says);
	expect_text(now.health.message, expected);
}

TEST(the_message_of_a_healthy_device_says_what_was_looked_at)
{
	static const struct {
		struct report_condition c;
		const char *says;
		int64_t events_since;
	} rows[] = {
		{{.recovery = REPORT_RECOVERY_NONE, .remapped_rows.present = true,
		  .slowdown.present = true, .nvlinks.present = true,
		  .fabric = REPORT_FABRIC_COMPLETED, .pcie_lanes.present = true},
		 "read: XID errors, ECC, row remapping, recovery action, slowdown, NVLink, fabric, PCIe",
		 1},
		{{.recovery = REPORT_RECOVERY_NONE, .remapped_rows.present = true,
		  .slowdown.present = true, .nvlinks.present = true},
		 "read: ECC, row remapping, recovery action, slowdown, NVLink; "
		 "cannot be read here: XID errors, fabric, PCIe", 0},
		{{.ecc_volatile = {-1, -1}, .clocks_event_reasons = -1},
		 "read: XID errors; cannot be read here: ECC, row remapping, recovery action, "
		 "slowdown, NVLink, fabric, PCIe", 1},
		{{.remapped_rows.present = true, .slowdown.present = true,
		  .fabric = REPORT_FABRIC_COMPLETED},
		 "read: XID errors, ECC, row remapping, slowdown, fabric; cannot be read here: "
		 "recovery action, NVLink, PCIe", 1},
		{{.recovery = REPORT_RECOVERY_NONE, .remapped_rows.present = true,
		  .slowdown.present = true, .pcie_lanes.present = true},
		 "read: XID errors, ECC, row remapping, recovery action, slowdown, PCIe; "
		 "cannot be read here: NVLink, fabric", 1},
		/* Read lately, though not this time. */
		{{.ecc_volatile = {-1, -1}, .slowdown.present = true,
		  .parts_read = REPORT_PART_ECC | REPORT_PART_LINKS,
		  .further_parts_read = REPORT_PART_NVLINK | REPORT_PART_PCIE},
		 "read: XID errors, ECC, slowdown, NVLink, PCIe; cannot be read here: "
		 "row remapping, recovery action, fabric", 1},
		{{.ecc_volatile = {-1, -1}, .clocks_event_reasons = -1,
		  .parts_read = REPORT_PART_LINKS, .further_parts_read = REPORT_PART_NVLINK},
		 "read: XID errors, NVLink; cannot be read here: ECC, row remapping, recovery action, "
		 "slowdown, fabric, PCIe", 1},
		/* Nor is a part of the first ones that is told among the further ones. */
		{{.ecc_volatile = {-1, -1}, .clocks_event_reasons = -1,
		  .parts_read = REPORT_PART_LINKS, .further_parts_read = REPORT_PART_ECC},
		 "read: XID errors, links; cannot be read here: ECC, row remapping, recovery action, "
		 "slowdown", 1},
		/* Parts of later agents are no others. */
		{{.remapped_rows.present = true, .slowdown.present = true,
		  .parts_read = REPORT_PART_LINKS,
		  .further_parts_read = REPORT_PART_LIMIT & ~(REPORT_PART_NVLINK | REPORT_PART_FABRIC),
		  .recovery = REPORT_RECOVERY_NONE},
		 "read: ECC, row remapping, recovery action, slowdown, PCIe; "
		 "cannot be read here: XID errors, NVLink, fabric", 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		*condition = rows[i].c;
		condition->present = true;
		now.report.events_since = rows[i].events_since;
		/* NVML may have another message. */
		now.report.sources.nvml.message = VIEW("device 0: power: Unknown Error");
		expect_message(rows[i].says);
	}
}

/* It tells that it read one of them lately. Which of them it reads at this moment may change. */
TEST(of_an_agent_that_tells_of_links_only_the_message_says_links)
{
	*condition = (struct report_condition){.present = true,
					       .recovery = REPORT_RECOVERY_NONE,
					       .remapped_rows.present = true,
					       .slowdown.present = true,
					       .parts_read = REPORT_PART_FIRST};
	for (unsigned links = 0; links < 8; links++) {
		condition->nvlinks.present = links & 1;
		condition->fabric = links & 2 ? REPORT_FABRIC_COMPLETED : REPORT_FABRIC_UNREAD;
		condition->pcie_lanes.present = links & 4;
		expect_message("read: XID errors, ECC, row remapping, recovery action, slowdown, links");
	}
	condition->nvlinks.present = condition->pcie_lanes.present = false;
	condition->fabric = REPORT_FABRIC_UNREAD;
	condition->parts_read &= ~REPORT_PART_LINKS;
	expect_message("read: XID errors, ECC, row remapping, recovery action, slowdown; "
		       "cannot be read here: NVLink, fabric, PCIe");
}

/* Nothing but MIG is called the cause of what MIG does not hide, nor of what fails. */
TEST(the_message_says_where_mig_is_the_cause_that_something_cannot_be_read)
{
	static const struct {
		bool is_in_mig_mode, is_unsupported, is_read_lately;
		const char *says;
	} rows[] = {
		{true, true, false, "read: XID errors, ECC, recovery action, slowdown, PCIe; "
				    "cannot be read here: row remapping (MIG), NVLink, fabric"},
		{true, false, false, "read: XID errors, ECC, recovery action, slowdown, PCIe; "
				     "cannot be read here: row remapping, NVLink, fabric"},
		{false, true, false, "read: XID errors, ECC, recovery action, slowdown, PCIe; "
				     "cannot be read here: row remapping, NVLink, fabric"},
		{true, true, true, "read: XID errors, ECC, row remapping, recovery action, slowdown, "
				   "PCIe; cannot be read here: NVLink, fabric"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		condition->pcie_lanes.present = true;
		condition->remapped_rows.present = false;
		condition->rows_unsupported = rows[i].is_unsupported;
		condition->parts_read = rows[i].is_read_lately ? REPORT_PART_ROWS : 0;
		now.device.mig.current = rows[i].is_in_mig_mode;
		expect_message(rows[i].says);
	}
}

TEST(of_a_healthy_device_whose_condition_no_agent_reads_the_message_does_not_say_what_was_read)
{
	*condition = (struct report_condition){.present = false};
	now.report.events_since = 0;
	expect(HEALTHY, "");
	expect_text(now.health.message, "nothing speaks against the device");
}

/* Each allocation fails once, wherever in a chunk of the arena it lies. */
static void expect_no_verdict_without_memory(bool is_ill, size_t n_used)
{
	bool failed = true;

	for (unsigned k = 1; failed && start_anew(); k++) {
		struct error err = {0};

		if (is_ill)
			raise_xid(95, NOW);
		assert_non_null(arena_alloc(&now.arena, 1, n_used));
		failing_malloc_at(k);
		const int result = health_judge(&now.input, &now.health, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_true(!failed || err.kind == ERROR_NO_MEMORY);
	}
}

TEST(without_memory_there_is_no_verdict)
{
	for (size_t n_used = 16; n_used <= 1024; n_used += 16) {
		expect_no_verdict_without_memory(false, n_used);
		expect_no_verdict_without_memory(true, n_used);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(
		each_thing_that_is_told_of_slowness_and_links_is_a_reason_with_its_remedy),
	cmocka_unit_test_set_up(what_the_driver_recommends_is_the_action_unless_nothing_but_another_helps),
	cmocka_unit_test_set_up(links_that_were_more_before_the_agent_began_are_down),
	cmocka_unit_test_set_up(a_device_that_the_plugin_calls_unhealthy_is_degraded_until_it_does_not),
	cmocka_unit_test_set_up(what_an_agent_has_not_decided_stays_as_it_was_published),
	cmocka_unit_test_set_up(what_was_published_of_another_boot_says_nothing_of_this_one),
	cmocka_unit_test_set_up(an_agent_that_does_not_read_conditions_keeps_no_reason_alive),
	cmocka_unit_test_set_up(what_was_slow_stays_so_while_nvml_does_not_list_it),
	cmocka_unit_test_set_up(
		boots_are_told_apart_by_their_ids_and_only_without_them_by_the_clock),
	cmocka_unit_test_set_up(
		an_error_of_the_present_boot_speaks_against_a_device_as_did_one_of_the_boot_before),
	cmocka_unit_test_set_up(what_was_wrong_stays_so_until_it_is_read_to_be_well),
	cmocka_unit_test_set_up(what_was_wrong_stays_so_while_nvml_does_not_list_the_device),
	cmocka_unit_test_set_up(without_an_agent_no_device_is_called_missing),
	cmocka_unit_test_set_up(a_device_that_is_off_the_bus_is_not_called_withdrawn_too),
	cmocka_unit_test_set_up(what_asked_for_a_reset_stays_until_that_is_read),
	cmocka_unit_test_set_up(what_was_wrong_and_cannot_be_read_is_not_so_after_a_boot),
	cmocka_unit_test_set_up(rows_that_cannot_be_remapped_stay_so_over_boots_until_they_are_read),
	cmocka_unit_test_set_up(rows_that_cannot_be_remapped_stay_so_while_no_agent_reports),
	cmocka_unit_test_set_up(a_reset_settles_nothing_while_what_was_wrong_cannot_be_read),
	cmocka_unit_test_set_up(a_reset_settles_what_asked_for_no_more),
	cmocka_unit_test_set_up(
		a_device_that_is_listed_again_has_left_behind_only_what_asked_for_a_reboot),
	cmocka_unit_test_set_up(
		an_error_speaks_against_the_card_in_another_node_unless_that_was_booted_since),
	cmocka_unit_test_set_up(a_card_that_was_missing_and_is_listed_by_another_node_is_back),
	cmocka_unit_test_set_up(a_boot_of_a_node_that_has_not_got_the_card_settles_nothing),
	cmocka_unit_test_set_up(a_reset_settles_nothing_while_an_error_asks_for_a_reboot),
	cmocka_unit_test_set_up(
		what_a_reset_settled_stays_settled_after_the_agent_and_the_controller_start_anew),
	cmocka_unit_test_set_up(
		an_error_to_look_at_closer_is_settled_when_the_driver_asks_for_nothing_long_after),
	cmocka_unit_test_set_up(
		a_reset_comes_after_an_error_by_the_time_since_boot_whatever_the_clock_says),
	cmocka_unit_test_set_up(
		a_reset_that_no_agent_watched_settles_an_error_if_the_driver_asks_for_nothing),
	cmocka_unit_test_set_up(what_a_reset_has_settled_stays_settled_and_nothing_else_is),
	cmocka_unit_test_set_up(without_the_time_since_boot_no_reset_counts_but_the_agents),
	cmocka_unit_test_set_up(the_time_since_boot_counts_from_its_first_millisecond),
	cmocka_unit_test_set_up(an_error_with_an_impossible_time_since_boot_is_not_settled_by_no_reset),
	cmocka_unit_test_set_up(
		the_driver_asks_for_nothing_long_after_an_error_by_the_time_since_boot),
	cmocka_unit_test_set_up(
		an_error_whose_time_since_boot_is_not_known_was_now_at_the_latest),
	cmocka_unit_test_set_up(a_time_since_boot_outlives_an_agent_that_tells_none),
	cmocka_unit_test_set_up(a_list_of_before_nvml_failed_settles_nothing),
	cmocka_unit_test_set_up(the_verdict_says_when_time_alone_may_change_it),
	cmocka_unit_test_set_up(errors_of_one_kind_are_reasons_in_the_order_of_their_numbers),
	cmocka_unit_test_set_up(an_error_that_came_with_no_verdict_speaks_against_nothing),
	cmocka_unit_test_set_up(errors_of_applications_accuse_nobody_and_are_listed),
	cmocka_unit_test_set_up(each_event_says_its_class_and_what_to_do),
	cmocka_unit_test_set_up(since_when_no_event_was_missed_is_as_the_report_says),
	cmocka_unit_test_set_up(
		the_time_since_boot_that_names_the_watch_is_the_published_one_until_it_is_told),
	cmocka_unit_test_set_up(a_device_of_which_one_thing_is_read_is_not_unread),
	cmocka_unit_test_set_up(regress_16_a_device_that_asks_for_a_reset_first_is_not_unread),
	cmocka_unit_test_set_up(a_device_of_which_it_is_known_why_it_is_not_read_is_not_unread),
	cmocka_unit_test_set_up(published_reasons_that_are_none_of_ours_are_left_out),
	cmocka_unit_test_set_up(of_more_published_reasons_than_there_can_be_the_first_are_read),
	cmocka_unit_test_set_up(a_device_was_listed_unless_a_published_reason_tells_otherwise),
	cmocka_unit_test_set_up(the_message_of_a_healthy_device_says_what_was_looked_at),
	cmocka_unit_test_set_up(of_an_agent_that_tells_of_links_only_the_message_says_links),
	cmocka_unit_test_set_up(
		the_message_says_where_mig_is_the_cause_that_something_cannot_be_read),
	cmocka_unit_test_set_up(
		of_a_healthy_device_whose_condition_no_agent_reads_the_message_does_not_say_what_was_read),
	cmocka_unit_test_set_up(without_memory_there_is_no_verdict),
};

TEST_MAIN(tests)
