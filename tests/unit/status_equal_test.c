/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "model/status_equal.h"

/* A status with one element in each array, and all that those point to. */
struct full {
	struct attribution_status status;
	struct view texts[7];
	struct attribution_partition partition;
	struct attribution_tenant tenant;
	struct attribution_disagreement disagreement;
	struct attribution_statement statement;
	struct attribution_unplaced unplaced;
	struct attribution_user user;
	struct attribution_past_tenant past;
	struct attribution_health_event event;
	struct attribution_drift drift;
	struct condition condition;
};

#define ONE(item) ((struct array){&(item), 1, true})

static void fill(struct full *full)
{
	*full = (struct full){0};
	struct attribution_status *status = &full->status;
	for (size_t i = 0; i < ARRAY_SIZE(full->texts); i++)
		full->texts[i] = VIEW("text");
	full->tenant.partitions = ONE(full->texts[0]);
	full->tenant.witnesses = ONE(full->texts[1]);
	full->event.tenants = ONE(full->texts[2]);
	full->disagreement.says = ONE(full->statement);
	full->statement.device_ids = ONE(full->texts[6]);
	full->unplaced.device_ids = ONE(full->texts[5]);
	status->sharing.evidence = ONE(full->texts[3]);
	status->health.reasons = ONE(full->texts[4]);
	status->health.events = ONE(full->event);
	status->intent.drifts = ONE(full->drift);
	status->partitions = ONE(full->partition);
	status->tenants = ONE(full->tenant);
	status->source_disagreement = ONE(full->disagreement);
	status->unplaced_tenants = ONE(full->unplaced);
	status->unallocated_users = ONE(full->user);
	status->recent_tenants = ONE(full->past);
	status->conditions = ONE(full->condition);
}

enum kind { NUMBER, ENUM, TEXT, FLAG, LIST };

struct member {
	const char *name;
	size_t offset;
	enum kind kind;
};

#define MEMBER(member, kind) {#member, offsetof(struct full, member), kind}

/* All that is published and compared; what is missing here would not be noticed when it changes. */
static const struct member members[] = {
	MEMBER(status.observed_generation, NUMBER),
	MEMBER(status.node_name, TEXT),
	MEMBER(status.device.index, NUMBER),
	MEMBER(status.device.minor, NUMBER),
	MEMBER(status.device.pci_bus_id, TEXT),
	MEMBER(status.device.model, TEXT),
	MEMBER(status.device.memory_mib, NUMBER),
	MEMBER(status.device.serial, TEXT),
	MEMBER(status.device.compute_capability, TEXT),
	MEMBER(status.device.driver_version, TEXT),
	MEMBER(status.device.cuda_version, TEXT),
	MEMBER(status.sharing.mode, ENUM),
	MEMBER(status.sharing.replicas, NUMBER),
	MEMBER(status.sharing.evidence, LIST),
	MEMBER(status.slots.total, NUMBER),
	MEMBER(status.slots.allocated, NUMBER),
	MEMBER(status.slots.summary, TEXT),
	MEMBER(status.partitions, LIST),
	MEMBER(status.tenants, LIST),
	MEMBER(status.tenant_count, NUMBER),
	MEMBER(status.tenants_left_out, NUMBER),
	MEMBER(status.tenant_summary, TEXT),
	MEMBER(status.source_disagreement, LIST),
	MEMBER(status.source_disagreement_left_out, NUMBER),
	MEMBER(status.unplaced_tenants, LIST),
	MEMBER(status.unplaced_tenants_left_out, NUMBER),
	MEMBER(status.unallocated_users, LIST),
	MEMBER(status.unallocated_users_left_out, NUMBER),
	MEMBER(status.unknown_processes, NUMBER),
	MEMBER(status.recent_tenants, LIST),
	MEMBER(status.activity.state, ENUM),
	MEMBER(status.activity.since, NUMBER),
	MEMBER(status.activity.scope, ENUM),
	MEMBER(status.health.state, ENUM),
	MEMBER(status.health.recovery_action, ENUM),
	MEMBER(status.health.reasons, LIST),
	MEMBER(status.health.events, LIST),
	MEMBER(status.intent.state, ENUM),
	MEMBER(status.intent.policy, TEXT),
	MEMBER(status.intent.drifts, LIST),
	MEMBER(status.conditions, LIST),
	MEMBER(texts[0], TEXT),
	MEMBER(texts[1], TEXT),
	MEMBER(texts[2], TEXT),
	MEMBER(texts[3], TEXT),
	MEMBER(texts[4], TEXT),
	MEMBER(texts[5], TEXT),
	MEMBER(texts[6], TEXT),
	MEMBER(partition.uuid, TEXT),
	MEMBER(partition.profile, TEXT),
	MEMBER(partition.gpu_instance_id, NUMBER),
	MEMBER(partition.compute_instance_id, NUMBER),
	MEMBER(partition.memory_mib, NUMBER),
	MEMBER(partition.slots, NUMBER),
	MEMBER(tenant.pod_uid, TEXT),
	MEMBER(tenant.container, TEXT),
	MEMBER(tenant.pod_namespace, TEXT),
	MEMBER(tenant.pod_name, TEXT),
	MEMBER(tenant.workload.kind, TEXT),
	MEMBER(tenant.workload.name, TEXT),
	MEMBER(tenant.resource, TEXT),
	MEMBER(tenant.slots, NUMBER),
	MEMBER(tenant.partitions, LIST),
	MEMBER(tenant.partitions_left_out, NUMBER),
	MEMBER(tenant.phase, ENUM),
	MEMBER(tenant.confidence, ENUM),
	MEMBER(tenant.witnesses, LIST),
	MEMBER(tenant.system, FLAG),
	MEMBER(tenant.stand_in, TEXT),
	MEMBER(tenant.since, NUMBER),
	MEMBER(tenant.processes, NUMBER),
	MEMBER(disagreement.pod_uid, TEXT),
	MEMBER(disagreement.container, TEXT),
	MEMBER(disagreement.says, LIST),
	MEMBER(statement.witness, TEXT),
	MEMBER(statement.slots, NUMBER),
	MEMBER(statement.device_ids, LIST),
	MEMBER(statement.device_ids_left_out, NUMBER),
	MEMBER(unplaced.pod_uid, TEXT),
	MEMBER(unplaced.container, TEXT),
	MEMBER(unplaced.pod_namespace, TEXT),
	MEMBER(unplaced.pod_name, TEXT),
	MEMBER(unplaced.resource, TEXT),
	MEMBER(unplaced.device_ids, LIST),
	MEMBER(unplaced.device_ids_left_out, NUMBER),
	MEMBER(user.pod_uid, TEXT),
	MEMBER(user.pod_namespace, TEXT),
	MEMBER(user.pod_name, TEXT),
	MEMBER(user.container, TEXT),
	MEMBER(user.process, TEXT),
	MEMBER(user.since, NUMBER),
	MEMBER(past.pod_uid, TEXT),
	MEMBER(past.pod_namespace, TEXT),
	MEMBER(past.pod_name, TEXT),
	MEMBER(past.container, TEXT),
	MEMBER(past.since, NUMBER),
	MEMBER(past.until, NUMBER),
	MEMBER(event.xid, NUMBER),
	MEMBER(event.time, NUMBER),
	MEMBER(event.meaning, TEXT),
	MEMBER(event.tenants, LIST),
	MEMBER(event.tenants_left_out, NUMBER),
	MEMBER(drift.type, TEXT),
	MEMBER(drift.severity, ENUM),
	MEMBER(drift.intended, TEXT),
	MEMBER(drift.observed, TEXT),
	MEMBER(drift.since, NUMBER),
	MEMBER(drift.message, TEXT),
	MEMBER(condition.type, TEXT),
	MEMBER(condition.status, ENUM),
	MEMBER(condition.observed_generation, NUMBER),
	MEMBER(condition.last_transition_time, NUMBER),
	MEMBER(condition.reason, TEXT),
	MEMBER(condition.message, TEXT),
};

/* What changes without a change of the meaning. */
static const struct member live_members[] = {
	MEMBER(tenant.memory_mib, NUMBER),
	MEMBER(user.memory_mib, NUMBER),
	MEMBER(status.report.boot_id, TEXT),
	MEMBER(status.report.instance, NUMBER),
	MEMBER(status.report.sequence, NUMBER),
	MEMBER(status.report.observed_at, NUMBER),
};

static void alter(struct full *full, const struct member *member)
{
	void *value = (char *)full + member->offset;
	switch (member->kind) {
	case NUMBER:
		++*(int64_t *)value;
		break;
	case ENUM:
		++*(int *)value;
		break;
	case TEXT:
		*(struct view *)value = VIEW("other");
		break;
	case FLAG:
		*(bool *)value = true;
		break;
	case LIST:
		((struct array *)value)->count = 0;
		break;
	}
}

static void a_change_of_any_member_is_seen(void **state)
{
	(void)state;
	static struct full a, b;
	fill(&a);
	fill(&b);
	assert_true(status_equal(&a.status, &b.status));
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		fill(&b);
		alter(&b, &members[i]);
		if (status_equal(&a.status, &b.status) || status_equal(&b.status, &a.status))
			fail_msg("a change of %s is not seen", members[i].name);
	}
}

static void memory_that_processes_take_and_another_report_are_no_change(void **state)
{
	(void)state;
	static struct full a, b;
	fill(&a);
	fill(&b);
	for (size_t i = 0; i < ARRAY_SIZE(live_members); i++) {
		alter(&b, &live_members[i]);
		if (!status_equal(&a.status, &b.status) || !status_equal(&b.status, &a.status))
			fail_msg("%s alone is taken for a change", live_members[i].name);
	}
	alter(&b, &members[0]);
	assert_false(status_equal(&a.status, &b.status));
}

static void how_many_processes_there_are_is_no_change_but_whether_there_are_any(void **state)
{
	(void)state;
	static const struct {
		int64_t a, b;
		bool is_equal;
	} rows[] = {{0, 0, true}, {1, 1, true}, {1, 2, true}, {0, 1, false}, {0, 2, false}};
	static struct full a, b;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fill(&a);
		fill(&b);
		a.tenant.processes = rows[i].a;
		b.tenant.processes = rows[i].b;
		assert_int_equal(status_equal(&a.status, &b.status), rows[i].is_equal);
		assert_int_equal(status_equal(&b.status, &a.status), rows[i].is_equal);
	}
}

static size_t size_of(enum kind kind)
{
	static const size_t sizes[] = {
		[NUMBER] = sizeof(int64_t), [ENUM] = sizeof(int), [TEXT] = sizeof(struct view),
		[FLAG] = sizeof(bool), [LIST] = sizeof(struct array)};
	return sizes[kind];
}

/* A member that is added to a struct makes it larger than the rows above account for. */
static void the_rows_cover_the_structs(void **state)
{
	(void)state;
	static const struct {
		const char *prefix;
		size_t size, uncovered; /* bytes of padding, and of what is not compared */
	} rows[] = {
		/* three ints without a neighbour: sharing.mode, activity.state and .scope, intent.state */
		{"status.", sizeof(struct attribution_status),
		 16 + sizeof(struct attribution_report)},
		{"partition.", sizeof(struct attribution_partition), 0},
		/* workload.present, beside system, memory_mib */
		{"tenant.", sizeof(struct attribution_tenant), 8 + 7 + 8},
		{"disagreement.", sizeof(struct attribution_disagreement), 0},
		{"statement.", sizeof(struct attribution_statement), 0},
		{"unplaced.", sizeof(struct attribution_unplaced), 0},
		{"user.", sizeof(struct attribution_user), 8}, /* memory_mib */
		{"past.", sizeof(struct attribution_past_tenant), 0},
		{"event.", sizeof(struct attribution_health_event), 0},
		{"drift.", sizeof(struct attribution_drift), 4},
		{"condition.", sizeof(struct condition), 4},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t covered = 0;
		for (size_t j = 0; j < ARRAY_SIZE(members); j++) {
			if (strncmp(members[j].name, rows[i].prefix, strlen(rows[i].prefix)) == 0)
				covered += size_of(members[j].kind);
		}
		if (covered + rows[i].uncovered != rows[i].size)
			fail_msg("%s covers %zu of %zu bytes", rows[i].prefix, covered,
				 rows[i].size);
	}
}

static void an_absent_array_is_an_empty_one(void **state)
{
	(void)state;
	struct attribution_status a = {0}, b = {0};
	a.tenants.present = true;
	a.conditions.present = true;
	assert_true(status_equal(&a, &b));
}

static void every_element_of_a_list_counts(void **state)
{
	(void)state;
	struct view texts[] = {VIEW("one"), VIEW("two")}, others[] = {VIEW("one"), VIEW("three")};
	struct attribution_status a = {0}, b = {0};
	a.sharing.evidence = (struct array){texts, ARRAY_SIZE(texts), true};
	b.sharing.evidence = (struct array){others, ARRAY_SIZE(others), true};
	assert_false(status_equal(&a, &b));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_element_of_a_list_counts),
	cmocka_unit_test(a_change_of_any_member_is_seen),
	cmocka_unit_test(memory_that_processes_take_and_another_report_are_no_change),
	cmocka_unit_test(how_many_processes_there_are_is_no_change_but_whether_there_are_any),
	cmocka_unit_test(the_rows_cover_the_structs),
	cmocka_unit_test(an_absent_array_is_an_empty_one),
};

TEST_MAIN(tests)
