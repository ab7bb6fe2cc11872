/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "assess/drift.h"
#include "base/limits.h"
#include "controller/event_changes.h"

#define GPU "gpu-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define NOON INT64_C(1767268800000) /* 2026-01-01T12:00:00Z */
#define MAX_ROWS 8

/* What a status says, as far as Events tell of it. */
struct said {
	int health;
	struct view reasons[3];
	struct attribution_health_event errors[LIMIT_HEALTH_EVENTS];
	uint32_t n_errors;
	struct attribution_drift drifts[MAX_ROWS];
	struct attribution_pending_drift pending[1];
	int intent;
	struct condition conditions[3]; /* Attributed, Healthy, InSync */
};

struct world {
	struct arena arena;
	struct said before, after;
	struct attribution previous;
	struct join_device device;
	struct event_change *changes;
	size_t n;
};

static int set_up(void **state)
{
	static struct world world;

	world = (struct world){0};
	arena_init(&world.arena, LIMIT_MIB);
	*state = &world;
	return 0;
}

static int tear_down(void **state)
{
	arena_deinit(&((struct world *)*state)->arena);
	return 0;
}

static uint32_t count_reasons(const struct said *said)
{
	uint32_t n = 0;

	while (n < ARRAY_SIZE(said->reasons) && said->reasons[n].len > 0)
		n++;
	return n;
}

static uint32_t count_drifts(const struct said *said)
{
	uint32_t n = 0;

	while (n < MAX_ROWS && said->drifts[n].type.len > 0)
		n++;
	return n;
}

static struct attribution_status make(struct said *said)
{
	said->conditions[0].type = VIEW("Attributed");
	said->conditions[1].type = VIEW("Healthy");
	said->conditions[2].type = VIEW("InSync");
	return (struct attribution_status){
		.node_name = VIEW("node-1"),
		.node_uid = VIEW("n1"),
		.health = {.state = said->health,
			   .reasons = array_of(said->reasons, count_reasons(said)),
			   .events = array_of(said->errors, said->n_errors)},
		.intent = {.state = said->intent,
			   .drifts = array_of(said->drifts, count_drifts(said)),
			   .pending = array_of(said->pending, said->pending[0].type.len > 0)},
		.conditions = array_of(said->conditions, 3),
	};
}

static void prepare(struct world *world)
{
	world->previous = (struct attribution){
		.name = VIEW(GPU), .uid = VIEW("u1"), .status = make(&world->before)};
	world->device = (struct join_device){.action = JOIN_WRITE, .name = VIEW(GPU),
					     .previous = &world->previous,
					     .status = make(&world->after)};
}

static void find(struct world *world)
{
	const struct event_change_node node = event_changes_of_node(&world->device, 1);
	struct error err = {0};

	if (event_changes_of_device(&world->device, &node, &world->arena, &world->changes,
				    &world->n, &err) < 0)
		fail_msg("%s", err.text);
}

static void compare(struct world *world)
{
	prepare(world);
	find(world);
}

static void assert_view(struct view is, const char *wanted)
{
	if (!view_equal(is, view_from(wanted)))
		fail_msg("'%.*s', not '%s'", VIEW_ARG(is), wanted);
}

/* The i-th change is that one. */
static void expect(const struct world *world, size_t i, enum event_type type, bool is_warning,
		   const char *kind, const char *note)
{
	assert_true(i < world->n);
	assert_int_equal(world->changes[i].type, type);
	assert_int_equal(world->changes[i].is_warning, is_warning);
	assert_view(world->changes[i].regarding.kind, kind);
	assert_view(world->changes[i].note, note);
}

static struct attribution_health_event error_of(int64_t xid, int64_t at)
{
	return (struct attribution_health_event){
		.xid = xid, .event_time = at, .meaning = VIEW("a meaning"),
		.class = ATTRIBUTION_EVENT_NEEDS_REBOOT, .action = VIEW("reboot the node")};
}

/* Health */

static void health_is_told_when_its_state_or_its_worst_reason_changes(void **state)
{
	static const struct {
		int before;
		struct view reason_before;
		int after;
		struct view reason_after;
		int type; /* N_EVENT_TYPES: nothing is told */
		enum event_use use;
	} rows[] = {
		{ATTRIBUTION_HEALTH_HEALTHY, {0}, ATTRIBUTION_HEALTH_UNHEALTHY, VIEW_INIT("XID79"),
		 EVENT_GPU_UNHEALTHY},
		{ATTRIBUTION_HEALTH_UNSET, {0}, ATTRIBUTION_HEALTH_UNHEALTHY, VIEW_INIT("XID79"),
		 EVENT_GPU_UNHEALTHY},
		{ATTRIBUTION_HEALTH_DEGRADED, VIEW_INIT("XID48"), ATTRIBUTION_HEALTH_UNHEALTHY,
		 VIEW_INIT("XID79"), EVENT_GPU_UNHEALTHY},
		{ATTRIBUTION_HEALTH_UNHEALTHY, VIEW_INIT("XID79"), ATTRIBUTION_HEALTH_UNHEALTHY,
		 VIEW_INIT("GPULost"), EVENT_GPU_UNHEALTHY},
		{ATTRIBUTION_HEALTH_UNHEALTHY, VIEW_INIT("XID79"), ATTRIBUTION_HEALTH_UNHEALTHY,
		 VIEW_INIT("XID79"), N_EVENT_TYPES},
		{ATTRIBUTION_HEALTH_HEALTHY, {0}, ATTRIBUTION_HEALTH_DEGRADED, VIEW_INIT("XID48"),
		 EVENT_GPU_DEGRADED},
		{ATTRIBUTION_HEALTH_UNHEALTHY, VIEW_INIT("XID79"), ATTRIBUTION_HEALTH_DEGRADED,
		 VIEW_INIT("XID48"), EVENT_GPU_DEGRADED},
		{ATTRIBUTION_HEALTH_UNHEALTHY, VIEW_INIT("XID79"), ATTRIBUTION_HEALTH_HEALTHY, {0},
		 EVENT_GPU_RECOVERED},
		{ATTRIBUTION_HEALTH_DEGRADED, VIEW_INIT("XID48"), ATTRIBUTION_HEALTH_HEALTHY, {0},
		 EVENT_GPU_RECOVERED},
		{ATTRIBUTION_HEALTH_UNHEALTHY, VIEW_INIT("XID79"), ATTRIBUTION_HEALTH_UNKNOWN,
		 VIEW_INIT("NVMLUnavailable"), EVENT_GPU_RECOVERED, EVENT_AWAIT_RECOVERY},
		{ATTRIBUTION_HEALTH_UNKNOWN, VIEW_INIT("NVMLUnavailable"), ATTRIBUTION_HEALTH_HEALTHY,
		 {0}, EVENT_GPU_RECOVERED, EVENT_END_RECOVERY},
		{ATTRIBUTION_HEALTH_UNKNOWN, VIEW_INIT("NVMLUnavailable"),
		 ATTRIBUTION_HEALTH_UNHEALTHY, VIEW_INIT("XID79"), EVENT_GPU_UNHEALTHY},
		{ATTRIBUTION_HEALTH_HEALTHY, {0}, ATTRIBUTION_HEALTH_UNKNOWN, {0}, N_EVENT_TYPES},
		{ATTRIBUTION_HEALTH_UNSET, {0}, ATTRIBUTION_HEALTH_HEALTHY, {0}, N_EVENT_TYPES},
	};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world->before = (struct said){.health = rows[i].before,
					      .reasons = {rows[i].reason_before}};
		world->after = (struct said){.health = rows[i].after,
					     .reasons = {rows[i].reason_after}};
		compare(world);
		assert_int_equal(world->n, rows[i].type != N_EVENT_TYPES);
		if (world->n == 0)
			continue;
		assert_int_equal(world->changes[0].type, rows[i].type);
		assert_int_equal(world->changes[0].use, rows[i].use);
	}
}

static void an_illness_is_told_with_the_message_of_its_condition(void **state)
{
	struct world *world = *state;

	world->after = (struct said){.health = ATTRIBUTION_HEALTH_UNHEALTHY,
				     .reasons = {VIEW("XID79"), VIEW("XID48")}};
	world->after.conditions[1].message = VIEW("XID 79: fell off the bus");
	compare(world);
	assert_int_equal(world->n, 1);
	expect(world, 0, EVENT_GPU_UNHEALTHY, true, "GPUAttribution",
	       "XID 79: fell off the bus (XID79)");
	assert_view(world->changes[0].regarding.api_version, "gpuattribution.dev/v1alpha1");
	assert_view(world->changes[0].regarding.name, GPU);
	assert_view(world->changes[0].regarding.uid, "u1");
	assert_view(world->changes[0].regarding.namespace, "");
}

static void a_recovery_is_normal_and_says_what_there_was(void **state)
{
	struct world *world = *state;

	world->before = (struct said){.health = ATTRIBUTION_HEALTH_UNHEALTHY,
				      .reasons = {VIEW("XID79"), VIEW("XID48")}};
	world->after = (struct said){.health = ATTRIBUTION_HEALTH_HEALTHY};
	compare(world);
	assert_int_equal(world->n, 1);
	expect(world, 0, EVENT_GPU_RECOVERED, false, "GPUAttribution",
	       "it is healthy again; before there was XID79, XID48");
	/* The same is remembered until it is known to be healthy. */
	world->after = (struct said){.health = ATTRIBUTION_HEALTH_UNKNOWN,
				     .reasons = {VIEW("NVMLUnavailable")}};
	compare(world);
	assert_int_equal(world->n, 1);
	expect(world, 0, EVENT_GPU_RECOVERED, false, "GPUAttribution",
	       "it is healthy again; before there was XID79, XID48");
	assert_int_equal(world->changes[0].use, EVENT_AWAIT_RECOVERY);
	assert_view(world->changes[0].regarding.uid, "u1");
}

/* While an agent is silent the last known state stays. */
static void what_was_ill_when_its_agent_fell_silent_recovers(void **state)
{
	struct world *world = *state;

	world->before = (struct said){.health = ATTRIBUTION_HEALTH_DEGRADED,
				      .reasons = {VIEW("XID48")}};
	world->before.conditions[1].status = CONDITION_UNKNOWN;
	world->after = (struct said){.health = ATTRIBUTION_HEALTH_HEALTHY};
	compare(world);
	assert_int_equal(world->n, 1);
	assert_int_equal(world->changes[0].type, EVENT_GPU_RECOVERED);
	assert_int_equal(world->changes[0].use, EVENT_TELL);
}

/* XID errors */

static void an_error_is_told_on_the_object_and_on_each_pod_that_was_on_it(void **state)
{
	static const struct attribution_event_tenant tenants[] = {
		{VIEW_INIT("p1"), VIEW_INIT("team"), VIEW_INIT("a"), VIEW_INIT("main")},
		{VIEW_INIT("p1"), VIEW_INIT("team"), VIEW_INIT("a"), VIEW_INIT("side")},
		{VIEW_INIT("p2"), VIEW_INIT("other"), VIEW_INIT("b"), VIEW_INIT("main")},
		{VIEW_INIT("p3"), {0}, {0}, VIEW_INIT("main")}, /* never known */
	};
	struct world *world = *state;

	world->after.errors[0] = error_of(79, NOON);
	world->after.errors[0].tenants = array_of(tenants, ARRAY_SIZE(tenants));
	world->after.n_errors = 1;
	compare(world);
	assert_int_equal(world->n, 3);
	expect(world, 0, EVENT_XID_ERROR, true, "GPUAttribution",
	       "XID 79 (a meaning) at 2026-01-01T12:00:00Z, team/a was on it, team/a was on it, "
	       "other/b was on it, p3 was on it; to do: reboot the node");
	expect(world, 1, EVENT_XID_ERROR, true, "Pod",
	       "container main was on " GPU " of node node-1 at the time of XID 79 (a meaning) at "
	       "2026-01-01T12:00:00Z");
	assert_view(world->changes[1].regarding.namespace, "team");
	assert_view(world->changes[1].regarding.name, "a");
	assert_view(world->changes[1].regarding.uid, "p1");
	assert_view(world->changes[1].related.name, GPU);
	assert_view(world->changes[2].regarding.uid, "p2");
	for (size_t i = 0; i < world->n; i++)
		assert_null(memmem(world->changes[i].note.ptr, world->changes[i].note.len, "caus", 4));
}

static void an_error_that_was_published_is_not_told_again(void **state)
{
	struct world *world = *state;

	world->before.errors[0] = error_of(79, NOON);
	world->before.n_errors = 1;
	world->after = world->before;
	compare(world);
	assert_int_equal(world->n, 0);
	world->after.errors[0].partition = VIEW("MIG-1");
	compare(world);
	assert_int_equal(world->n, 1);
	world->after.errors[0] = error_of(79, NOON + 1);
	compare(world);
	assert_int_equal(world->n, 1);
}

static void errors_that_come_together_are_one_change_with_their_number(void **state)
{
	struct world *world = *state;
	uint64_t topic;

	for (uint32_t i = 0; i < LIMIT_HEALTH_EVENTS; i++)
		world->after.errors[i] = error_of(31, NOON - i);
	world->after.n_errors = 1;
	compare(world);
	topic = world->changes[0].topic;
	world->after.n_errors = LIMIT_HEALTH_EVENTS;
	compare(world);
	assert_int_equal(world->n, 1);
	assert_int_equal(world->changes[0].count, LIMIT_HEALTH_EVENTS);
	assert_true(world->changes[0].topic == topic);
	assert_true(world->changes[0].note.len <= LIMIT_EVENT_NOTE);
	world->after.errors[0].xid = 79;
	compare(world);
	assert_true(world->changes[0].topic != topic);
}

/* A note that names others would be wrong of the repeats that are counted in its series. */
static void the_same_error_of_others_is_something_else(void **state)
{
	static const struct attribution_event_tenant tenants[] = {
		{VIEW_INIT("p1"), VIEW_INIT("team"), VIEW_INIT("a"), VIEW_INIT("main")},
		{VIEW_INIT("p2"), VIEW_INIT("team"), VIEW_INIT("b"), VIEW_INIT("main")},
		{VIEW_INIT("p1"), VIEW_INIT("team"), VIEW_INIT("a"), VIEW_INIT("main")},
		{VIEW_INIT("p1"), VIEW_INIT("team"), VIEW_INIT("a"), VIEW_INIT("side")},
	};
	struct world *world = *state;
	struct array *said = &world->after.errors[0].tenants;
	uint64_t topic, pod_topic;

	world->after.errors[0] = error_of(79, NOON);
	world->after.n_errors = 1;
	*said = array_of(tenants, 2);
	compare(world);
	topic = world->changes[0].topic;
	pod_topic = world->changes[1].topic;
	*said = array_of(tenants + 1, 2); /* the same in another order */
	compare(world);
	assert_true(world->changes[0].topic == topic);
	assert_true(world->changes[2].topic == pod_topic);
	*said = array_of(tenants, 1);
	compare(world);
	assert_true(world->changes[0].topic != topic);
	assert_true(world->changes[1].topic == pod_topic);
	topic = world->changes[0].topic;
	*said = array_of(tenants + 1, 1);
	compare(world);
	assert_true(world->changes[0].topic != topic);
	*said = array_of(tenants, 1);
	world->after.errors[0].partition = VIEW("MIG-1");
	compare(world);
	assert_true(world->changes[1].topic != pod_topic);
	world->after.errors[0].partition = VIEW("");
	*said = array_of(tenants + 3, 1); /* another container */
	compare(world);
	assert_true(world->changes[1].topic != pod_topic);
}

static void the_same_error_of_a_pods_other_gpu_is_something_else(void **state)
{
	static const struct attribution_event_tenant tenant = {
		VIEW_INIT("p1"), VIEW_INIT("team"), VIEW_INIT("a"), VIEW_INIT("main")};
	const struct event_change_node node = {0};
	struct world *world = *state;
	struct event_change change;
	struct error err;

	world->after.errors[0] = error_of(79, NOON);
	world->after.errors[0].tenants = array_of(&tenant, 1);
	world->after.n_errors = 1;
	compare(world);
	change = world->changes[1];
	world->device.name = VIEW("gpu-another");
	assert_int_equal(event_changes_of_device(&world->device, &node, &world->arena,
						 &world->changes, &world->n, &err), 0);
	assert_true(world->changes[1].topic != change.topic);
	assert_true(world->changes[1].id != change.id);
}

static void an_error_is_as_grave_as_what_it_asks_for(void **state)
{
	static const int classes[] = {
		ATTRIBUTION_EVENT_INFORMATIONAL, ATTRIBUTION_EVENT_APPLICATION,
		ATTRIBUTION_EVENT_LOOK_CLOSER, ATTRIBUTION_EVENT_NEEDS_RESET,
		ATTRIBUTION_EVENT_NEEDS_REBOOT};
	struct world *world = *state;
	int before = -1;

	world->after.errors[0] = error_of(1, NOON);
	world->after.errors[1] = error_of(43, NOON);
	world->after.errors[1].class = ATTRIBUTION_EVENT_INFORMATIONAL;
	world->after.n_errors = 2;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		world->after.errors[0].class = classes[i];
		compare(world);
		assert_true(world->changes[0].gravity > before);
		before = world->changes[0].gravity;
	}
}

static void informational_errors_alone_are_no_warning(void **state)
{
	struct world *world = *state;

	world->after.errors[0] = error_of(43, NOON);
	world->after.errors[0].class = ATTRIBUTION_EVENT_INFORMATIONAL;
	world->after.errors[1] = error_of(31, NOON);
	world->after.errors[1].class = ATTRIBUTION_EVENT_APPLICATION;
	world->after.n_errors = 1;
	compare(world);
	assert_false(world->changes[0].is_warning);
	world->after.n_errors = 2;
	compare(world);
	assert_true(world->changes[0].is_warning);
}

static void no_more_pods_are_told_than_the_limit(void **state)
{
	static char uids[2 * LIMIT_EVENT_PODS][16];
	static struct attribution_event_tenant tenants[2 * LIMIT_EVENT_PODS];
	struct world *world = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(tenants); i++) {
		snprintf(uids[i], sizeof(uids[i]), "pod-%u", i);
		tenants[i] = (struct attribution_event_tenant){
			view_from(uids[i]), VIEW("team"), view_from(uids[i]), VIEW("main")};
	}
	world->after.errors[0] = error_of(79, NOON);
	world->after.errors[0].tenants = array_of(tenants, ARRAY_SIZE(tenants));
	world->after.n_errors = 1;
	compare(world);
	assert_int_equal(world->n, 1 + LIMIT_EVENT_PODS);
	assert_int_equal(world->changes[0].note.len, LIMIT_EVENT_NOTE);
}

/* A namespace becomes part of a path. */
static void a_pod_whose_name_is_none_is_not_told(void **state)
{
	static const struct attribution_event_tenant tenants[] = {
		{VIEW_INIT("p1"), VIEW_INIT("team/../x"), VIEW_INIT("a"), VIEW_INIT("main")},
		{VIEW_INIT("p2"), VIEW_INIT("team"), VIEW_INIT("A?b"), VIEW_INIT("main")},
	};
	struct world *world = *state;

	world->after.errors[0] = error_of(79, NOON);
	world->after.errors[0].tenants = array_of(tenants, ARRAY_SIZE(tenants));
	world->after.n_errors = 1;
	compare(world);
	assert_int_equal(world->n, 1);
}

/* Drifts */

static struct attribution_drift drift_of(const char *type, int severity)
{
	return (struct attribution_drift){
		.type = view_from(type), .severity = severity, .intended = VIEW("this"),
		.observed = VIEW("that"), .message = VIEW("mend it"), .start_time = NOON};
}

static void drifts_are_told_on_what_they_are_about(void **state)
{
	struct world *world = *state;

	world->after.intent = ATTRIBUTION_INTENT_DRIFTED;
	world->after.drifts[0] = drift_of("ReplicaCount", ATTRIBUTION_SEVERITY_WARNING);
	world->after.drifts[1] = drift_of("MIGLayout", ATTRIBUTION_SEVERITY_WARNING);
	world->after.drifts[2] = drift_of("PluginMissing", ATTRIBUTION_SEVERITY_CRITICAL);
	compare(world);
	assert_int_equal(world->n, 2);
	expect(world, 0, EVENT_DRIFT_FOUND, true, "GPUAttribution",
	       "ReplicaCount: intended: this; observed: that; to do: mend it; MIGLayout: intended: "
	       "this; observed: that; to do: mend it");
	expect(world, 1, EVENT_DRIFT_FOUND, true, "Node",
	       "PluginMissing: intended: this; observed: that; to do: mend it");
	assert_view(world->changes[1].regarding.name, "node-1");
	assert_view(world->changes[1].regarding.uid, "n1");
	assert_view(world->changes[1].regarding.api_version, "v1");
}

static void drifts_that_are_gone_are_resolved(void **state)
{
	struct world *world = *state;

	world->before.drifts[0] = drift_of("MIGLayout", ATTRIBUTION_SEVERITY_WARNING);
	world->before.drifts[1] = drift_of("PluginMissing", ATTRIBUTION_SEVERITY_CRITICAL);
	world->after.intent = ATTRIBUTION_INTENT_IN_SYNC;
	compare(world);
	assert_int_equal(world->n, 2);
	expect(world, 0, EVENT_DRIFT_RESOLVED, false, "GPUAttribution", "MIGLayout is found no more");
	expect(world, 1, EVENT_DRIFT_RESOLVED, false, "Node", "PluginMissing is found no more");
}

static void a_drift_that_cannot_be_told_now_or_is_hidden_is_not_resolved(void **state)
{
	struct world *world = *state;

	world->before.drifts[0] = drift_of("ReplicaCount", ATTRIBUTION_SEVERITY_WARNING);
	world->after.intent = ATTRIBUTION_INTENT_UNKNOWN;
	compare(world);
	assert_int_equal(world->n, 0);
	world->after.intent = ATTRIBUTION_INTENT_SETTLING;
	world->after.conditions[2].reason = VIEW("DriverUpgrade");
	compare(world);
	assert_int_equal(world->n, 0);
	world->after.intent = ATTRIBUTION_INTENT_DRIFTED;
	world->after.drifts[0] = drift_of("SharingMode", ATTRIBUTION_SEVERITY_CRITICAL);
	compare(world);
	assert_int_equal(world->n, 1);
	assert_int_equal(world->changes[0].type, EVENT_DRIFT_FOUND);
	world->after.drifts[0] = drift_of("MIGLayout", ATTRIBUTION_SEVERITY_WARNING);
	world->after.pending[0].type = VIEW("SharingMode");
	compare(world);
	assert_int_equal(world->n, 1);
	world->after.pending[0].type = VIEW("");
	compare(world);
	assert_int_equal(world->n, 2);
	assert_int_equal(world->changes[1].type, EVENT_DRIFT_RESOLVED);
}

static void a_drift_that_is_gone_while_another_one_is_held_off_is_resolved(void **state)
{
	struct world *world = *state;

	world->before.drifts[0] = drift_of("MIGLayout", ATTRIBUTION_SEVERITY_WARNING);
	world->before.drifts[1] = drift_of("LabelsMissing", ATTRIBUTION_SEVERITY_WARNING);
	world->after.intent = ATTRIBUTION_INTENT_SETTLING;
	world->after.conditions[2].reason = VIEW("HoldOff");
	world->after.pending[0].type = VIEW("ReplicaCount");
	compare(world);
	assert_int_equal(world->n, 2);
	expect(world, 0, EVENT_DRIFT_RESOLVED, false, "GPUAttribution", "MIGLayout is found no more");
	expect(world, 1, EVENT_DRIFT_RESOLVED, false, "Node", "LabelsMissing is found no more");
	world->after.pending[0].type = VIEW("MIGLayout");
	compare(world);
	assert_int_equal(world->n, 1);
	assert_int_equal(world->changes[0].type, EVENT_DRIFT_RESOLVED);
}

/* When what is intended is edited the hold-off begins anew. */
static void a_drift_that_is_pending_again_is_not_resolved(void **state)
{
	struct world *world = *state;

	world->before.drifts[0] = drift_of("SharingMode", ATTRIBUTION_SEVERITY_CRITICAL);
	world->before.drifts[1] = drift_of("LabelsMissing", ATTRIBUTION_SEVERITY_WARNING);
	world->after.intent = ATTRIBUTION_INTENT_DRIFTED;
	world->after.drifts[0] = world->before.drifts[1];
	world->after.pending[0].type = VIEW("SharingMode");
	compare(world);
	assert_int_equal(world->n, 0);
	world->after.pending[0].type = VIEW("");
	compare(world);
	assert_int_equal(world->n, 1);
	expect(world, 0, EVENT_DRIFT_RESOLVED, false, "GPUAttribution",
	       "SharingMode is found no more");
}

static void drifts_are_as_grave_as_the_worst_of_them(void **state)
{
	struct world *world = *state;

	world->after.drifts[0] = drift_of("MIGLayout", ATTRIBUTION_SEVERITY_WARNING);
	compare(world);
	assert_int_equal(world->changes[0].gravity, ATTRIBUTION_SEVERITY_WARNING);
	world->after.drifts[1] = drift_of("SharingMode", ATTRIBUTION_SEVERITY_CRITICAL);
	compare(world);
	assert_int_equal(world->changes[0].gravity, ATTRIBUTION_SEVERITY_CRITICAL);
}

static void a_drift_of_info_alone_is_no_warning(void **state)
{
	struct world *world = *state;

	world->after.drifts[0] = drift_of("ConfigDead", ATTRIBUTION_SEVERITY_INFO);
	compare(world);
	expect(world, 0, EVENT_DRIFT_FOUND, false, "Node",
	       "ConfigDead: intended: this; observed: that; to do: mend it");
}

static void use_without_a_slot_has_an_event_of_its_own(void **state)
{
	struct world *world = *state;
	uint64_t topic;

	world->after.drifts[0] = drift_of("UnallocatedUse", ATTRIBUTION_SEVERITY_CRITICAL);
	compare(world);
	assert_int_equal(world->n, 1);
	expect(world, 0, EVENT_UNALLOCATED_USE, true, "GPUAttribution",
	       "UnallocatedUse: intended: this; observed: that; to do: mend it");
	topic = world->changes[0].topic;
	compare(world);
	assert_true(world->changes[0].topic == topic);
	world->after.drifts[0].observed = VIEW("pod team/b uses it");
	compare(world);
	assert_true(world->changes[0].topic != topic);
}

static void a_word_of_a_later_release_is_not_told(void **state)
{
	struct world *world = *state;

	world->before.drifts[0] = drift_of("Tomorrow", ATTRIBUTION_SEVERITY_CRITICAL);
	world->after.intent = ATTRIBUTION_INTENT_IN_SYNC;
	compare(world);
	assert_int_equal(world->n, 0);
}

/* Two devices of a node. */
static struct event_change_node node_of(struct world *world, const struct said *before,
					 const struct said *after)
{
	static struct said said[4];
	static struct attribution previous[2];
	struct join_device devices[2];

	for (unsigned i = 0; i < 2; i++) {
		said[i] = before[i];
		said[2 + i] = after[i];
		previous[i] = (struct attribution){.status = make(&said[i])};
		devices[i] = (struct join_device){.action = JOIN_WRITE, .previous = &previous[i],
						  .status = make(&said[2 + i])};
	}
	(void)world;
	return event_changes_of_node(devices, 2);
}

static void a_drift_of_the_node_is_new_if_no_device_had_it_and_over_if_none_has(void **state)
{
	const struct said clean = {.intent = ATTRIBUTION_INTENT_IN_SYNC};
	struct said drifted = {.intent = ATTRIBUTION_INTENT_DRIFTED};
	const unsigned bit = DRIFT_BIT(PLUGIN_MISSING);

	drifted.drifts[0] = drift_of("PluginMissing", ATTRIBUTION_SEVERITY_CRITICAL);
	drifted.drifts[1] = drift_of("MIGLayout", ATTRIBUTION_SEVERITY_WARNING); /* no node's */
	const struct said both[] = {drifted, drifted}, one[] = {drifted, clean},
			  none[] = {clean, clean};
	const struct {
		const struct said *before, *after;
		unsigned found, resolved;
	} rows[] = {
		{none, both, bit, 0}, {none, one, bit, 0}, {one, both, 0, 0},
		{both, one, 0, 0},    {one, none, 0, bit}, {both, none, 0, bit},
		{both, both, 0, 0},   {none, none, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct event_change_node node = node_of(*state, rows[i].before, rows[i].after);

		assert_int_equal(node.found, rows[i].found);
		assert_int_equal(node.resolved, rows[i].resolved);
	}
}

/* One device has the cause, and the others are as intended. */
static void a_drift_of_the_node_that_another_device_hides_is_not_resolved(void **state)
{
	static const struct {
		const char *gone, *cause;
		bool is_pending, is_hidden;
	} rows[] = {
		{"AllocatableShort", "DeviceMissing", false, true},
		{"AllocatableShort", "DeviceMissing", true, true},
		{"AllocatableShort", "MPSNotRunning", true, true},
		{"AllocatableShort", "ReplicaCount", true, true},
		{"LabelsStale", "ReplicaCount", false, true},
		{"LabelsStale", "DeviceMissing", false, false},
		{"AllocatableShort", "MIGLayout", true, false},
		{"AllocatableShort", "AllocatableShort", true, true}, /* it is pending itself */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct said well = {.intent = ATTRIBUTION_INTENT_IN_SYNC};
		struct said short_of = {.intent = ATTRIBUTION_INTENT_DRIFTED};
		struct said ill = short_of;

		short_of.drifts[0] = drift_of(rows[i].gone, ATTRIBUTION_SEVERITY_CRITICAL);
		if (rows[i].is_pending)
			ill.pending[0].type = view_from(rows[i].cause);
		else
			ill.drifts[0] = drift_of(rows[i].cause, ATTRIBUTION_SEVERITY_CRITICAL);
		const struct said before[] = {short_of, short_of}, after[] = {ill, well};

		assert_int_equal(node_of(*state, before, after).resolved == 0, rows[i].is_hidden);
	}
}

static void a_drift_that_is_hidden_on_each_device_of_the_node_is_not_resolved(void **state)
{
	static const struct {
		const char *cause;
		bool is_hidden;
	} rows[] = {{"ConfigNotLoaded", true}, {"SharingMode", false}};
	struct world *world = *state;
	struct error err;

	world->before.drifts[0] = drift_of("ReplicaCount", ATTRIBUTION_SEVERITY_WARNING);
	world->after.intent = ATTRIBUTION_INTENT_IN_SYNC;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct said ill = {.intent = ATTRIBUTION_INTENT_SETTLING};

		ill.pending[0].type = view_from(rows[i].cause);
		const struct said before[] = {ill, world->before}, after[] = {ill, world->after};
		const struct event_change_node node = node_of(world, before, after);

		prepare(world);
		assert_int_equal(event_changes_of_device(&world->device, &node, &world->arena,
							 &world->changes, &world->n, &err), 0);
		assert_int_equal(world->n == 0, rows[i].is_hidden);
	}
}

static void a_drift_of_the_node_has_the_same_id_from_each_device(void **state)
{
	struct world *world = *state;
	uint64_t id;

	world->after.drifts[0] = drift_of("PluginMissing", ATTRIBUTION_SEVERITY_CRITICAL);
	compare(world);
	id = world->changes[0].id;
	world->device.name = VIEW("gpu-another");
	world->previous.uid = VIEW("u2");
	struct event_change_node node = event_changes_of_node(&world->device, 1);
	struct error err;
	assert_int_equal(event_changes_of_device(&world->device, &node, &world->arena,
						 &world->changes, &world->n, &err), 0);
	assert_true(world->changes[0].id == id);
}

static void an_object_that_comes_from_another_node_brings_its_node_wide_drifts(void **state)
{
	struct world *world = *state;

	world->before.drifts[0] = drift_of("PluginMissing", ATTRIBUTION_SEVERITY_CRITICAL);
	world->after = world->before;
	prepare(world);
	world->previous.status.node_name = VIEW("node-9");
	assert_int_equal(event_changes_of_node(&world->device, 1).found, DRIFT_BIT(PLUGIN_MISSING));
}

/* Slots */

static void a_slot_held_twice_is_told_when_the_condition_begins_to_say_so(void **state)
{
	struct world *world = *state;
	uint64_t topic;

	world->after.conditions[0].reason = VIEW("SlotHeldTwice");
	world->after.conditions[0].message = VIEW("slot 1: team/a and team/b");
	compare(world);
	assert_int_equal(world->n, 1);
	expect(world, 0, EVENT_SLOT_HELD_TWICE, true, "GPUAttribution", "slot 1: team/a and team/b");
	topic = world->changes[0].topic;
	world->after.conditions[0].message = VIEW("slot 1: team/a and team/c");
	compare(world);
	assert_true(world->changes[0].topic != topic);
	world->before = world->after;
	compare(world);
	assert_int_equal(world->n, 0);
}

/* Idleness */

static void idleness_is_told_with_who_holds_the_device(void **state)
{
	struct world *world = *state;
	const struct attribution object = {
		.name = VIEW(GPU), .uid = VIEW("u1"), .status = {.activity = {.idle_since = NOON}}};
	const struct attribution_tenant a = {.pod_uid = VIEW("p1"), .pod_namespace = VIEW("team"),
					     .pod_name = VIEW("a"), .container = VIEW("main")};
	const struct attribution_tenant b = {.pod_uid = VIEW("p2"), .pod_namespace = VIEW("team"),
					     .pod_name = VIEW("b"), .container = VIEW("main")};
	const struct event_changes_holding holdings[] = {{&a, NULL}, {&b, NULL}};
	struct event_change both, one;
	struct error err;

	assert_int_equal(event_changes_of_idleness(&object, holdings, 2, &world->arena, &both, &err),
			 0);
	assert_int_equal(both.type, EVENT_GPU_IDLE);
	assert_false(both.is_warning);
	assert_view(both.note, "idle since 2026-01-01T12:00:00Z; held by team/a, team/b");
	assert_int_equal(event_changes_of_idleness(&object, holdings, 1, &world->arena, &one, &err),
			 0);
	assert_true(one.id != both.id);
}

static void idleness_of_a_partition_is_told_with_its_name_and_its_holders(void **state)
{
	struct world *world = *state;
	const struct attribution object = {.name = VIEW(GPU), .uid = VIEW("u1")};
	const struct attribution_partition first = {.uuid = VIEW("MIG-1"),
						    .activity.idle_since = NOON};
	const struct attribution_partition second = {.uuid = VIEW("MIG-2"),
						     .activity.idle_since = NOON + 60000};
	const struct attribution_tenant a = {.pod_uid = VIEW("p1"), .pod_namespace = VIEW("team"),
					     .pod_name = VIEW("a"), .container = VIEW("main")};
	const struct attribution_tenant b = {.pod_uid = VIEW("p2"), .pod_namespace = VIEW("team"),
					     .pod_name = VIEW("b"), .container = VIEW("main")};
	const struct event_changes_holding holdings[] = {{&a, &first}, {&b, &first}, {&b, &second}};
	struct event_change all, one, other;
	struct error err;

	assert_int_equal(event_changes_of_idleness(&object, holdings, 3, &world->arena, &all, &err),
			 0);
	assert_view(all.note,
		    "MIG device MIG-1 idle since 2026-01-01T12:00:00Z, held by team/a, team/b; "
		    "MIG device MIG-2 idle since 2026-01-01T12:01:00Z, held by team/b");
	assert_int_equal(event_changes_of_idleness(&object, &holdings[1], 1, &world->arena, &one,
						   &err), 0);
	assert_int_equal(event_changes_of_idleness(&object, &holdings[2], 1, &world->arena, &other,
						   &err), 0);
	assert_true(one.id != other.id);
}

/* All */

static void nothing_is_told_of_what_is_kept_created_or_deleted(void **state)
{
	struct world *world = *state;
	const struct event_change_node node = {0};
	struct error err;

	world->after.health = ATTRIBUTION_HEALTH_UNHEALTHY;
	prepare(world);
	for (int i = 0; i < 3; i++) {
		struct join_device device = world->device;

		device.action = i == 0 ? JOIN_KEEP : i == 1 ? JOIN_DELETE : JOIN_WRITE;
		device.previous = i == 2 ? NULL : device.previous;
		assert_int_equal(event_changes_of_device(&device, &node, &world->arena,
							 &world->changes, &world->n, &err), 0);
		assert_int_equal(world->n, 0);
	}
}

/* Also if the condition stays False: it has a reason, then another, then the first one again. */
static void the_same_change_has_the_same_id_and_another_one_another(void **state)
{
	static const struct {
		struct view version, reason;
	} rows[] = {
		{VIEW_INIT("10"), VIEW_INIT("XID79")},
		{VIEW_INIT("11"), VIEW_INIT("GPULost")},
		{VIEW_INIT("12"), VIEW_INIT("XID79")},
		{VIEW_INIT("10"), VIEW_INIT("XID48")},
	};
	struct world *world = *state;
	uint64_t ids[ARRAY_SIZE(rows)] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world->after = (struct said){.health = ATTRIBUTION_HEALTH_UNHEALTHY,
					     .reasons = {rows[i].reason}};
		for (int again = 0; again < 2; again++) {
			const uint64_t before = ids[i];

			prepare(world);
			world->previous.resource_version = rows[i].version;
			find(world);
			assert_int_equal(world->n, 1);
			ids[i] = world->changes[0].id;
			assert_true(!again || ids[i] == before);
		}
		for (size_t j = 0; j < i; j++)
			assert_true(ids[j] != ids[i]);
	}
}

/* The same of a slot that was held twice before. */
static void a_slot_that_is_held_twice_again_has_another_id(void **state)
{
	struct world *world = *state;
	uint64_t id;

	world->after.conditions[0].reason = VIEW("SlotHeldTwice");
	compare(world);
	id = world->changes[0].id;
	prepare(world);
	world->previous.resource_version = VIEW("12");
	find(world);
	assert_true(world->changes[0].id != id);
}

static void without_memory_it_says_so(void **state)
{
	struct world *world = *state;
	struct event_change_node node = {0};
	struct error err;
	bool failed = true;

	world->after = (struct said){.health = ATTRIBUTION_HEALTH_UNHEALTHY,
				     .reasons = {VIEW("XID79")}};
	prepare(world);
	for (unsigned k = 1; failed; k++) {
		CLEANUP(arena_deinit) struct arena arena = {0};

		arena_init(&arena, LIMIT_MIB);
		failing_malloc_at(k);
		int result = event_changes_of_device(&world->device, &node, &arena, &world->changes,
						     &world->n, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
	}
	assert_int_equal(world->n, 1);
}

static void each_reason_and_action_fits_the_api_servers_limit(void **state)
{
	(void)state;
	for (int type = 0; type < N_EVENT_TYPES; type++) {
		assert_in_range(event_change_reason((enum event_type)type).len, 1, LIMIT_EVENT_WORD);
		assert_in_range(event_change_action((enum event_type)type).len, 1, LIMIT_EVENT_WORD);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(health_is_told_when_its_state_or_its_worst_reason_changes),
	cmocka_unit_test_set_up(an_illness_is_told_with_the_message_of_its_condition),
	cmocka_unit_test_set_up(a_recovery_is_normal_and_says_what_there_was),
	cmocka_unit_test_set_up(what_was_ill_when_its_agent_fell_silent_recovers),
	cmocka_unit_test_set_up(an_error_is_told_on_the_object_and_on_each_pod_that_was_on_it),
	cmocka_unit_test_set_up(an_error_that_was_published_is_not_told_again),
	cmocka_unit_test_set_up(errors_that_come_together_are_one_change_with_their_number),
	cmocka_unit_test_set_up(the_same_error_of_others_is_something_else),
	cmocka_unit_test_set_up(the_same_error_of_a_pods_other_gpu_is_something_else),
	cmocka_unit_test_set_up(an_error_is_as_grave_as_what_it_asks_for),
	cmocka_unit_test_set_up(informational_errors_alone_are_no_warning),
	cmocka_unit_test_set_up(no_more_pods_are_told_than_the_limit),
	cmocka_unit_test_set_up(a_pod_whose_name_is_none_is_not_told),
	cmocka_unit_test_set_up(drifts_are_told_on_what_they_are_about),
	cmocka_unit_test_set_up(drifts_that_are_gone_are_resolved),
	cmocka_unit_test_set_up(a_drift_that_cannot_be_told_now_or_is_hidden_is_not_resolved),
	cmocka_unit_test_set_up(a_drift_that_is_gone_while_another_one_is_held_off_is_resolved),
	cmocka_unit_test_set_up(a_drift_that_is_hidden_on_each_device_of_the_node_is_not_resolved),
	cmocka_unit_test_set_up(a_drift_that_is_pending_again_is_not_resolved),
	cmocka_unit_test_set_up(drifts_are_as_grave_as_the_worst_of_them),
	cmocka_unit_test_set_up(a_drift_of_info_alone_is_no_warning),
	cmocka_unit_test_set_up(use_without_a_slot_has_an_event_of_its_own),
	cmocka_unit_test_set_up(a_word_of_a_later_release_is_not_told),
	cmocka_unit_test_set_up(
		a_drift_of_the_node_is_new_if_no_device_had_it_and_over_if_none_has),
	cmocka_unit_test_set_up(a_drift_of_the_node_that_another_device_hides_is_not_resolved),
	cmocka_unit_test_set_up(a_drift_of_the_node_has_the_same_id_from_each_device),
	cmocka_unit_test_set_up(an_object_that_comes_from_another_node_brings_its_node_wide_drifts),
	cmocka_unit_test_set_up(a_slot_held_twice_is_told_when_the_condition_begins_to_say_so),
	cmocka_unit_test_set_up(idleness_is_told_with_who_holds_the_device),
	cmocka_unit_test_set_up(
		idleness_of_a_partition_is_told_with_its_name_and_its_holders),
	cmocka_unit_test_set_up(nothing_is_told_of_what_is_kept_created_or_deleted),
	cmocka_unit_test_set_up(the_same_change_has_the_same_id_and_another_one_another),
	cmocka_unit_test_set_up(a_slot_that_is_held_twice_again_has_another_id),
	cmocka_unit_test_set_up(without_memory_it_says_so),
	cmocka_unit_test_set_up(each_reason_and_action_fits_the_api_servers_limit),
};
TEST_MAIN(tests)
