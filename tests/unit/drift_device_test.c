/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_device.h"
#include "lib/drift_case.h"

/* DeviceMissing */

static void forget_first_sight(struct drift_case *c)
{
	drift_case_remove_device(c);
	c->device.is_seen_since_boot = false;
}

static void pass_through(struct drift_case *c)
{
	drift_case_remove_device(c);
	c->policy.switches[POLICY_SANDBOX_WORKLOADS] = POLICY_ON;
	c->labels.workload_config = VIEW("vm-passthrough");
}

static void share_with_machines(struct drift_case *c)
{
	pass_through(c);
	c->labels.workload_config = VIEW("vm-vgpu");
}

static void pass_through_by_no_policy(struct drift_case *c)
{
	pass_through(c);
	c->intent.policy = NULL;
}

static void pass_through_unread(struct drift_case *c)
{
	pass_through(c);
	c->policy.unreadable = VIEW("x");
}

static void pass_through_unknown_node(struct drift_case *c)
{
	pass_through(c);
	c->node.node = NULL;
}

static void lose_nvml(struct drift_case *c)
{
	drift_case_remove_device(c);
	c->device.is_listing_good = false;
}

TEST(a_device_is_missing_that_was_seen_since_the_boot)
{
	const struct drift_case_row rows[] = {
		{drift_device_missing, NULL, DRIFT_NO},
		{drift_device_missing, drift_case_remove_device, DRIFT_FOUND,
		 .intended = "since the node's boot", .observed = "not listed (NVML)"},
		{drift_device_missing, forget_first_sight, DRIFT_NO},
		{drift_device_missing, lose_nvml, DRIFT_CANNOT_TELL},
		{drift_device_missing, pass_through, DRIFT_NO},
		{drift_device_missing, share_with_machines, DRIFT_FOUND},
		{drift_device_missing, pass_through_by_no_policy, DRIFT_FOUND},
		{drift_device_missing, pass_through_unread, DRIFT_FOUND},
		{drift_device_missing, pass_through_unknown_node, DRIFT_FOUND},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* DriverMismatch */

#define MISMATCH                                                                      \
	"nvmlInit_v2: the driver's library (580.65.06) and the kernel module that is loaded " \
	"(575.57.08) " REPORT_DRIVER_MISMATCH ": reload it"

static void mismatch(struct drift_case *c)
{
	c->report.sources.nvml = (struct report_source){REPORT_SOURCE_ERROR,
							.message = VIEW(MISMATCH)};
}

/* An agent of today: the message may be of any words. */
static void mismatch_by_flag(struct drift_case *c)
{
	c->report.sources.nvml = (struct report_source){
		REPORT_SOURCE_ERROR, .has_driver_mismatch = true,
		.message = VIEW("start: versions 580.65.06 and 575.57.08")};
}

static void mismatch_by_flag_that_is_over(struct drift_case *c)
{
	mismatch_by_flag(c);
	c->report.sources.nvml.state = REPORT_SOURCE_OK;
}

static void fail_otherwise(struct drift_case *c)
{
	c->report.sources.nvml = (struct report_source){
		REPORT_SOURCE_ERROR, .message = VIEW("nvmlInit_v2: driver not loaded")};
}

static void forget_nvml(struct drift_case *c)
{
	c->report.sources.nvml = (struct report_source){REPORT_SOURCE_ABSENT,
							.message = VIEW(MISMATCH)};
}

TEST(library_and_module_of_the_driver_differ_as_nvml_says)
{
	const struct drift_case_row rows[] = {
		{drift_device_driver_mismatch, NULL, DRIFT_NO},
		{drift_device_driver_mismatch, mismatch, DRIFT_FOUND, .intended = "of one version",
		 .observed = "(580.65.06) and the kernel module",
		 .message = "Delete the node's gpu-attribution-agent pod"},
		{drift_device_driver_mismatch, mismatch_by_flag, DRIFT_FOUND,
		 .observed = "versions 580.65.06 and 575.57.08 (NVML)"},
		{drift_device_driver_mismatch, mismatch_by_flag_that_is_over, DRIFT_NO},
		{drift_device_driver_mismatch, fail_otherwise, DRIFT_CANNOT_TELL},
		{drift_device_driver_mismatch, forget_nvml, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* UnallocatedUse */

static void add_user(struct drift_case *c, struct attribution_user user)
{
	c->users[c->status.unallocated_users.count] = user;
	c->status.unallocated_users =
		array_of(c->users, c->status.unallocated_users.count + 1);
}

static void use_by_pod(struct drift_case *c)
{
	add_user(c, (struct attribution_user){.pod_uid = VIEW("uid"),
					      .pod_namespace = VIEW("team"),
					      .pod_name = VIEW("thief")});
}

static void use_by_unknown_pod(struct drift_case *c)
{
	add_user(c, (struct attribution_user){.pod_uid = VIEW("uid")});
}

static void use_by_process(struct drift_case *c)
{
	add_user(c, (struct attribution_user){.command = VIEW("python3")});
}

static void drop_all_pods(struct drift_case *c)
{
	for (int i = POD_NO_OPERAND; i < POD_N_OPERANDS; i++)
		drift_case_drop_operand(c, (enum pod_operand)i);
}

static void use_by_system(struct drift_case *c, struct view namespace, bool is_operand)
{
	const struct pod_fields fields = {
		.namespace = namespace,
		.name = VIEW("validator"),
		.uid = VIEW("system"),
		.state = {.system = !is_operand,
			  .operand = is_operand ? POD_OPERAND_DCGM : POD_NO_OPERAND},
	};
	drift_case_add_pod(c, &fields);
	add_user(c, (struct attribution_user){.pod_uid = VIEW("system"),
					      .pod_namespace = namespace,
					      .pod_name = VIEW("validator")});
}

static void use_by_validator(struct drift_case *c)
{
	use_by_system(c, VIEW("gpu-operator"), false);
}

static void use_by_dcgm(struct drift_case *c)
{
	use_by_system(c, VIEW("gpu-operator"), true);
}

static void use_by_validator_alone(struct drift_case *c)
{
	drop_all_pods(c);
	use_by_validator(c);
}

static void use_by_letters(struct drift_case *c)
{
	add_user(c, (struct attribution_user){.pod_uid = VIEW("u"),
					      .pod_namespace = VIEW("n"),
					      .pod_name = VIEW("p")});
}

static void use_by_letter(struct drift_case *c)
{
	add_user(c, (struct attribution_user){.pod_uid = VIEW("u")});
}

static void use_by_pretender(struct drift_case *c)
{
	use_by_system(c, VIEW("team"), false);
}

static void use_by_ordinary_pod_of_operator(struct drift_case *c)
{
	const struct pod_fields fields = {.namespace = VIEW("gpu-operator"),
					  .name = VIEW("x"),
					  .uid = VIEW("system")};
	drift_case_add_pod(c, &fields);
	add_user(c, (struct attribution_user){.pod_uid = VIEW("system")});
}

static void use_by_both(struct drift_case *c)
{
	use_by_validator(c);
	use_by_pod(c);
}

static void use_by_two(struct drift_case *c)
{
	use_by_process(c);
	use_by_pod(c);
}

static void use_by_validator_without_policy(struct drift_case *c)
{
	use_by_validator(c);
	c->intent.policy = NULL;
}

static void use_by_validator_of_unread_policy(struct drift_case *c)
{
	use_by_validator_alone(c);
	c->intent.policy = NULL;
	c->intent.known = false;
}

static void use_by_validator_of_old_policy(struct drift_case *c)
{
	use_by_validator_alone(c);
	c->intent.known = false;
}

static void use_by_both_of_unread_policy(struct drift_case *c)
{
	use_by_both(c);
	c->intent.policy = NULL;
	c->intent.known = false;
}

static void use_by_nobody_of_unread_policy(struct drift_case *c)
{
	c->intent.policy = NULL;
	c->intent.known = false;
}

TEST(the_operators_own_pods_may_use_a_device_without_a_slot)
{
	const struct drift_case_row rows[] = {
		{drift_device_unallocated_use, NULL, DRIFT_NO},
		{drift_device_unallocated_use, use_by_pod, DRIFT_FOUND,
		 .intended = "the kubelet's allocation records", .observed = "pod team/thief uses it without one"},
		{drift_device_unallocated_use, use_by_unknown_pod, DRIFT_FOUND,
		 .observed = "a pod with UID uid"},
		{drift_device_unallocated_use, use_by_process, DRIFT_FOUND,
		 .observed = "process python3, of no pod"},
		{drift_device_unallocated_use, use_by_validator, DRIFT_NO},
		{drift_device_unallocated_use, use_by_validator_alone, DRIFT_NO},
		{drift_device_unallocated_use, use_by_letters, DRIFT_FOUND,
		 .observed = "pod n/p uses"},
		{drift_device_unallocated_use, use_by_letter, DRIFT_FOUND,
		 .observed = "a pod with UID u uses"},
		{drift_device_unallocated_use, use_by_dcgm, DRIFT_NO},
		{drift_device_unallocated_use, use_by_pretender, DRIFT_FOUND,
		 .observed = "pod team/validator"},
		{drift_device_unallocated_use, use_by_ordinary_pod_of_operator, DRIFT_FOUND},
		{drift_device_unallocated_use, use_by_both, DRIFT_FOUND,
		 .observed = "pod team/thief"},
		{drift_device_unallocated_use, use_by_two, DRIFT_FOUND,
		 .observed = "process python3"},
		{drift_device_unallocated_use, use_by_validator_without_policy, DRIFT_FOUND},
		{drift_device_unallocated_use, use_by_validator_of_unread_policy, DRIFT_CANNOT_TELL},
		{drift_device_unallocated_use, use_by_validator_of_old_policy, DRIFT_NO},
		{drift_device_unallocated_use, use_by_both_of_unread_policy, DRIFT_FOUND},
		{drift_device_unallocated_use, use_by_nobody_of_unread_policy, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* SlotsLeaked */

#define CREATED_AT (DRIFT_CASE_NOW - 60000)

static const struct pod_state refused_state = {
	.phase = POD_PHASE_FAILED, .wants_gpu = true, .admission_failed = true};

/* One that is refused was so for want of whole devices. */
static void add_gpu_pod(struct drift_case *c, const char *name, struct pod_state state,
			int64_t created_at, int64_t started_at, bool is_plugins)
{
	const struct pod_fields fields = {
		.namespace = VIEW("team"),
		.name = view_from(name),
		.uid = view_from(name),
		.state = state,
		.gpu = {.created_at = created_at,
			.started_at = started_at,
			.refused_resource =
				state.phase == POD_PHASE_FAILED ? VIEW("nvidia.com/gpu") : VIEW(""),
			.containers = {NULL, 2, true}},
		.containers = {{.name = VIEW_INIT("side")},
			       {.name = VIEW_INIT("main"), .wants_gpu = is_plugins}},
	};
	drift_case_add_pod(c, &fields);
}

static void refuse(struct drift_case *c)
{
	add_gpu_pod(c, "refused", refused_state, CREATED_AT, CREATED_AT, true);
}

static void refuse_twice(struct drift_case *c)
{
	add_gpu_pod(c, "older", refused_state, CREATED_AT - 1000, 0, true);
	refuse(c);
	add_gpu_pod(c, "old", refused_state, CREATED_AT - 5000, 0, true);
}

static void refuse_in_turn(struct drift_case *c)
{
	add_gpu_pod(c, "old", refused_state, CREATED_AT - 5000, 0, true);
	refuse(c);
}

static void refuse_and_give_between(struct drift_case *c)
{
	refuse_twice(c);
	add_gpu_pod(c, "given", (struct pod_state){.wants_gpu = true}, CREATED_AT - 9000,
		    CREATED_AT - 1000, true);
}

static void refuse_two_at_once(struct drift_case *c)
{
	refuse(c);
	add_gpu_pod(c, "another", refused_state, CREATED_AT, 0, true);
}

static void refuse_alone(struct drift_case *c)
{
	drop_all_pods(c);
	refuse(c);
}

static void have_no_slots(struct drift_case *c)
{
	refuse(c);
	c->status.slots.total = c->status.slots.allocated = 0;
}

static void have_all_free(struct drift_case *c)
{
	refuse(c);
	c->status.slots.allocated = 0;
}

static void refuse_otherwise(struct drift_case *c)
{
	add_gpu_pod(c, "refused",
		    (struct pod_state){.wants_gpu = true, .admission_failed = true}, CREATED_AT, 0,
		    true);
}

static void end_tenancies(struct drift_case *c, int64_t first, int64_t second)
{
	c->past[0] = (struct attribution_past_tenant){.end_time = first};
	c->past[1] = (struct attribution_past_tenant){.end_time = second};
	c->status.recent_tenants = array_of(c->past, 2);
	refuse(c);
}

static void end_long_before(struct drift_case *c)
{
	end_tenancies(c, CREATED_AT - 10001, CREATED_AT - 20000);
}

static void end_just_before(struct drift_case *c)
{
	end_tenancies(c, CREATED_AT - 20000, CREATED_AT - 10000);
}

static void end_just_before_first(struct drift_case *c)
{
	end_tenancies(c, CREATED_AT - 10000, CREATED_AT - 20000);
}

static void end_only_one(struct drift_case *c)
{
	end_just_before_first(c);
	c->status.recent_tenants.count = 1;
}

static void let_second_tenant_in_later(struct drift_case *c)
{
	refuse(c);
	c->tenants[0].start_time = CREATED_AT - 30000;
	c->tenants[1].start_time = CREATED_AT - 3000;
	c->status.tenants = array_of(c->tenants, 2);
}

static void let_pod_in_at_once(struct drift_case *c)
{
	refuse(c);
	add_gpu_pod(c, "later", (struct pod_state){.wants_gpu = true}, CREATED_AT, CREATED_AT,
		    true);
}

static void let_first_pod_in_later(struct drift_case *c)
{
	drop_all_pods(c);
	add_gpu_pod(c, "later", (struct pod_state){.wants_gpu = true}, CREATED_AT + 1000,
		    CREATED_AT + 2000, true);
	refuse(c);
}

static void let_pod_of_one_container_in_later(struct drift_case *c)
{
	const struct pod_fields fields = {
		.namespace = VIEW("team"),
		.name = VIEW("later"),
		.uid = VIEW("later"),
		.state = {.wants_gpu = true},
		.gpu = {.created_at = CREATED_AT,
			.started_at = CREATED_AT,
			.containers = {NULL, 1, true}},
		.containers = {{.name = VIEW_INIT("main"), .wants_gpu = true}},
	};
	refuse(c);
	drift_case_add_pod(c, &fields);
}

static void restart_kubelet(struct drift_case *c)
{
	refuse(c);
	c->report.kubelet_restarted_at = CREATED_AT - 3000;
}

static void restart_kubelet_before(struct drift_case *c)
{
	refuse(c);
	c->report.kubelet_restarted_at = CREATED_AT - 20000;
}

static void refuse_long_ago(struct drift_case *c)
{
	refuse(c);
	c->node.now_wall_ms = CREATED_AT + 600000;
}

static void refuse_lately(struct drift_case *c)
{
	refuse(c);
	c->node.now_wall_ms = CREATED_AT + 599999;
}

static void refuse_long_ago_pending(struct drift_case *c)
{
	refuse_long_ago(c);
	c->published_pending[0] = (struct attribution_pending_drift){VIEW("SlotsLeaked"), 1};
	c->published.pending = array_of(c->published_pending, 1);
}

static void publish_leak(struct drift_case *c)
{
	c->published_drifts[0] = (struct attribution_drift){.type = VIEW("SlotsLeaked")};
	c->published.drifts = array_of(c->published_drifts, 1);
}

static void refuse_long_ago_published(struct drift_case *c)
{
	refuse_long_ago(c);
	publish_leak(c);
}

static void refuse_second_container(struct drift_case *c)
{
	const struct pod_fields fields = {
		.namespace = VIEW("team"),
		.name = VIEW("refused"),
		.uid = VIEW("refused"),
		.state = refused_state,
		.gpu = {.created_at = CREATED_AT,
			.refused_resource = VIEW("nvidia.com/gpu"),
			.containers = {NULL, 2, true}},
		.containers = {{.name = VIEW_INIT("one"), .wants_gpu = true},
			       {.name = VIEW_INIT("two"), .wants_gpu = true}},
	};
	drift_case_add_pod(c, &fields);
}

static void refuse_by_percent(struct drift_case *c)
{
	refuse(c);
	c->node.hold_off_percent = 10;
	c->node.now_wall_ms = CREATED_AT + 60000;
}

static void refuse_long_ago_by_percent(struct drift_case *c)
{
	refuse(c);
	c->node.hold_off_percent = 1000;
	c->node.now_wall_ms = CREATED_AT + 6000000;
}

static void refuse_lately_by_percent(struct drift_case *c)
{
	refuse_long_ago_by_percent(c);
	c->node.now_wall_ms--;
}

static void come_back_later(struct drift_case *c)
{
	refuse(c);
	c->device.here_since = CREATED_AT;
}

static void come_back_before(struct drift_case *c)
{
	refuse(c);
	c->device.here_since = CREATED_AT - 1;
}

static void be_away(struct drift_case *c)
{
	refuse(c);
	c->device.here_since = 0;
}

static void be_away_published(struct drift_case *c)
{
	refuse_long_ago_published(c);
	c->device.here_since = 0;
}

static void let_tenant_in_later(struct drift_case *c)
{
	refuse(c);
	c->tenants[0].start_time = CREATED_AT - 3000;
}

static void let_tenant_in_just_before(struct drift_case *c)
{
	refuse(c);
	c->tenants[0].start_time = CREATED_AT - 10000;
}

static void let_tenant_in_long_before(struct drift_case *c)
{
	refuse(c);
	c->tenants[0].start_time = CREATED_AT - 10001;
}

static void let_pod_in_later(struct drift_case *c)
{
	refuse(c);
	add_gpu_pod(c, "later", (struct pod_state){.wants_gpu = true}, CREATED_AT + 1000,
		    CREATED_AT + 2000, true);
}

/* The one that was given last is listed first. */
static void let_pods_in_later_and_before(struct drift_case *c)
{
	let_pod_in_later(c);
	add_gpu_pod(c, "before", (struct pod_state){.wants_gpu = true}, CREATED_AT - 9000,
		    CREATED_AT - 8000, true);
}

static void let_pod_in_before(struct drift_case *c)
{
	refuse(c);
	add_gpu_pod(c, "before", (struct pod_state){.wants_gpu = true}, CREATED_AT - 9000,
		    CREATED_AT - 8000, true);
}

static void let_pod_in_by_claim(struct drift_case *c)
{
	refuse(c);
	add_gpu_pod(c, "claimant", (struct pod_state){.wants_gpu = true}, CREATED_AT + 1000,
		    CREATED_AT + 2000, false);
}

static void fill_slots(struct drift_case *c)
{
	refuse(c);
	c->status.slots.allocated = 4;
}

static void forget_total(struct drift_case *c)
{
	refuse(c);
	c->status.slots.total = -1;
}

static void forget_allocated(struct drift_case *c)
{
	refuse(c);
	c->status.slots.allocated = -1;
}

static void forget_pods(struct drift_case *c)
{
	refuse(c);
	c->node.is_pods_current = false;
}

static void forget_offer(struct drift_case *c)
{
	refuse(c);
	c->node.is_offer_known = false;
}

/* The device is on offer by two resources; what is refused is always nvidia.com/gpu. */
static void offer_two_resources(struct drift_case *c, int64_t n_free, int64_t n_other_free)
{
	refuse(c);
	c->offers[0].n_free = n_free;
	c->offers[1] = (struct drift_offer){.resource = VIEW("nvidia.com/mig-1g.10gb"), .n_free = n_other_free};
	c->device.n_offers = 2;
}

static void have_both_free(struct drift_case *c)
{
	offer_two_resources(c, 1, 1);
}

static void have_refused_free(struct drift_case *c)
{
	offer_two_resources(c, 1, 0);
}

static void have_other_free(struct drift_case *c)
{
	offer_two_resources(c, 0, 1);
}

static void have_refused_free_as_second(struct drift_case *c)
{
	const struct drift_offer first = c->offers[0];

	offer_two_resources(c, 1, 0);
	c->offers[0] = c->offers[1];
	c->offers[1] = first;
}

static void have_both_free_in_peace(struct drift_case *c)
{
	have_both_free(c);
	while (c->node.n_pods > 0)
		pod_free(c->pods[--c->node.n_pods]);
}

static void refuse_of_both_at(struct drift_case *c, int64_t created_at)
{
	const struct pod_fields fields = {
		.namespace = VIEW("team"),
		.name = VIEW("part"),
		.uid = VIEW("part"),
		.state = refused_state,
		.gpu = {.created_at = created_at,
			.refused_resource = VIEW("nvidia.com/mig-1g.10gb"),
			.containers = {NULL, 1, true}},
		.containers = {{.name = VIEW_INIT("main"), .wants_gpu = true}},
	};

	have_both_free(c);
	drift_case_add_pod(c, &fields);
}

static void refuse_of_both(struct drift_case *c)
{
	refuse_of_both_at(c, CREATED_AT - 1000);
}

static void refuse_of_both_later(struct drift_case *c)
{
	refuse_of_both_at(c, CREATED_AT + 1000);
}

static void refuse_of_both_and_fill_other(struct drift_case *c)
{
	refuse_of_both(c);
	c->offers[1].n_free = 0;
}

/* A pod of two containers that ask, which the kubelet's List does not name: not yet, or no longer. */
static void add_asking_pod(struct drift_case *c, const char *name, struct pod_state state,
			   struct view first, struct view second)
{
	const bool is_refused = state.phase == POD_PHASE_FAILED;
	const struct pod_fields fields = {
		.namespace = VIEW("team"),
		.name = view_from(name),
		.uid = view_from(name),
		.state = state,
		.gpu = {.created_at = CREATED_AT + (is_refused ? 0 : 1000),
			.started_at = CREATED_AT + 2000,
			.refused_resource = is_refused ? first : VIEW(""),
			.containers = {NULL, 2, true}},
		.containers = {{.name = VIEW_INIT("one"), .wants_gpu = true, .resource = first},
			       {.name = VIEW_INIT("two"), .wants_gpu = true, .resource = second}},
	};
	drift_case_add_pod(c, &fields);
}

static void let_pod_in_to(struct drift_case *c, struct view resource)
{
	refuse(c);
	add_asking_pod(c, "later", (struct pod_state){.wants_gpu = true}, resource, resource);
}

static void let_pod_in_to_other(struct drift_case *c)
{
	let_pod_in_to(c, VIEW("nvidia.com/mig-1g.10gb"));
}

static void let_pod_in_to_same(struct drift_case *c)
{
	let_pod_in_to(c, VIEW("nvidia.com/gpu"));
}

static void let_pod_in_to_several(struct drift_case *c)
{
	let_pod_in_to(c, VIEW(""));
}

static void refuse_first_of(struct drift_case *c, struct view second)
{
	add_asking_pod(c, "refused", refused_state, VIEW("nvidia.com/gpu"), second);
}

static void refuse_one_of_each(struct drift_case *c)
{
	refuse_first_of(c, VIEW("nvidia.com/mig-1g.10gb"));
}

static void refuse_two_of_one(struct drift_case *c)
{
	refuse_first_of(c, VIEW("nvidia.com/gpu"));
}

static void refuse_one_and_several(struct drift_case *c)
{
	refuse_first_of(c, VIEW(""));
}

static void let_tenant_in_to_other(struct drift_case *c)
{
	let_tenant_in_later(c);
	c->tenants[0].resource = VIEW("nvidia.com/mig-1g.10gb");
}

static void let_tenant_in_to_same(struct drift_case *c)
{
	let_tenant_in_later(c);
	c->tenants[0].resource = VIEW("nvidia.com/gpu");
}

static void publish_and_end_tenancy(struct drift_case *c)
{
	end_tenancies(c, CREATED_AT + 5000, CREATED_AT + 4000);
	publish_leak(c);
}

static void publish_and_end_tenancy_of_one(struct drift_case *c)
{
	have_both_free(c);
	publish_and_end_tenancy(c);
}

static void wait_and_end_tenancy(struct drift_case *c)
{
	end_tenancies(c, CREATED_AT + 5000, CREATED_AT + 4000);
	c->published_pending[0] = (struct attribution_pending_drift){VIEW("SlotsLeaked"), 1};
	c->published.pending = array_of(c->published_pending, 1);
}

static void end_tenancy_of_one(struct drift_case *c)
{
	have_both_free(c);
	end_tenancies(c, CREATED_AT + 5000, CREATED_AT + 4000);
}

static void publish_and_let_pod_in(struct drift_case *c)
{
	publish_and_end_tenancy_of_one(c);
	let_pod_in_to_same(c);
}

static void withdraw(struct drift_case *c)
{
	refuse(c);
	c->device.n_offers = 0;
}

static void offer_by_hami(struct drift_case *c)
{
	refuse(c);
	c->offers[0].is_hami = true;
}

TEST(slots_are_leaked_when_a_pod_is_refused_though_some_are_free)
{
	const struct drift_case_row rows[] = {
		{drift_device_slots_leaked, NULL, DRIFT_NO},
		{drift_device_slots_leaked, refuse, DRIFT_FOUND, .intended = "the kubelet's allocation records",
		 .observed = "pod team/refused was refused nvidia.com/gpu: \"Available: 0\""},
		{drift_device_slots_leaked, refuse_twice, DRIFT_FOUND, .observed = "team/old "},
		{drift_device_slots_leaked, refuse_in_turn, DRIFT_FOUND, .observed = "team/old "},
		{drift_device_slots_leaked, refuse_two_at_once, DRIFT_FOUND,
		 .observed = "team/another"},
		{drift_device_slots_leaked, refuse_and_give_between, DRIFT_FOUND,
		 .observed = "team/refused"},
		{drift_device_slots_leaked, refuse_alone, DRIFT_FOUND},
		{drift_device_slots_leaked, have_no_slots, DRIFT_NO},
		{drift_device_slots_leaked, have_all_free, DRIFT_FOUND},
		{drift_device_slots_leaked, refuse_otherwise, DRIFT_NO},
		{drift_device_slots_leaked, end_just_before_first, DRIFT_NO},
		{drift_device_slots_leaked, end_only_one, DRIFT_NO},
		{drift_device_slots_leaked, let_second_tenant_in_later, DRIFT_NO},
		{drift_device_slots_leaked, let_pod_in_at_once, DRIFT_NO},
		{drift_device_slots_leaked, let_first_pod_in_later, DRIFT_NO},
		{drift_device_slots_leaked, let_pod_of_one_container_in_later, DRIFT_NO},
		{drift_device_slots_leaked, end_long_before, DRIFT_FOUND},
		{drift_device_slots_leaked, end_just_before, DRIFT_NO},
		{drift_device_slots_leaked, let_tenant_in_later, DRIFT_NO},
		{drift_device_slots_leaked, let_tenant_in_just_before, DRIFT_NO},
		{drift_device_slots_leaked, let_tenant_in_long_before, DRIFT_FOUND},
		{drift_device_slots_leaked, let_pod_in_later, DRIFT_NO},
		{drift_device_slots_leaked, let_pods_in_later_and_before, DRIFT_NO},
		{drift_device_slots_leaked, let_pod_in_before, DRIFT_FOUND},
		{drift_device_slots_leaked, let_pod_in_by_claim, DRIFT_FOUND},
		{drift_device_slots_leaked, fill_slots, DRIFT_NO},
		{drift_device_slots_leaked, forget_total, DRIFT_CANNOT_TELL},
		{drift_device_slots_leaked, forget_allocated, DRIFT_CANNOT_TELL},
		{drift_device_slots_leaked, forget_pods, DRIFT_CANNOT_TELL},
		{drift_device_slots_leaked, forget_offer, DRIFT_CANNOT_TELL},
		{drift_device_slots_leaked, withdraw, DRIFT_NO},
		{drift_device_slots_leaked, offer_by_hami, DRIFT_NOT_COMPARED},
		{drift_device_slots_leaked, restart_kubelet, DRIFT_NO},
		{drift_device_slots_leaked, restart_kubelet_before, DRIFT_FOUND},
		{drift_device_slots_leaked, refuse_long_ago, DRIFT_NO},
		{drift_device_slots_leaked, refuse_lately, DRIFT_FOUND},
		{drift_device_slots_leaked, refuse_by_percent, DRIFT_NO},
		{drift_device_slots_leaked, refuse_long_ago_by_percent, DRIFT_NO},
		{drift_device_slots_leaked, refuse_lately_by_percent, DRIFT_FOUND},
		{drift_device_slots_leaked, refuse_second_container, DRIFT_NO},
		{drift_device_slots_leaked, come_back_later, DRIFT_NO},
		{drift_device_slots_leaked, come_back_before, DRIFT_FOUND},
		{drift_device_slots_leaked, be_away, DRIFT_NO},
		{drift_device_slots_leaked, be_away_published, DRIFT_FOUND},
		{drift_device_slots_leaked, refuse_long_ago_pending, DRIFT_FOUND},
		{drift_device_slots_leaked, refuse_long_ago_published, DRIFT_FOUND},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(a_refusal_tells_of_the_resource_that_it_names_and_of_no_other)
{
	const struct drift_case_row rows[] = {
		{drift_device_slots_leaked, have_both_free, DRIFT_FOUND},
		{drift_device_slots_leaked, have_refused_free, DRIFT_FOUND,
		 .observed = "team/refused was refused nvidia.com/gpu:"},
		{drift_device_slots_leaked, have_refused_free_as_second, DRIFT_FOUND},
		{drift_device_slots_leaked, have_other_free, DRIFT_NO},
		{drift_device_slots_leaked, have_both_free_in_peace, DRIFT_NO},
		{drift_device_slots_leaked, refuse_of_both, DRIFT_FOUND,
		 .observed = "team/part was refused nvidia.com/mig-1g.10gb:"},
		{drift_device_slots_leaked, refuse_of_both_later, DRIFT_FOUND,
		 .observed = "team/refused was refused nvidia.com/gpu:"},
		{drift_device_slots_leaked, refuse_of_both_and_fill_other, DRIFT_FOUND,
		 .observed = "team/refused was refused nvidia.com/gpu:"},
		{drift_device_slots_leaked, let_pod_in_to_other, DRIFT_FOUND},
		{drift_device_slots_leaked, let_pod_in_to_same, DRIFT_NO},
		{drift_device_slots_leaked, let_pod_in_to_several, DRIFT_NO},
		{drift_device_slots_leaked, refuse_one_of_each, DRIFT_FOUND},
		{drift_device_slots_leaked, refuse_two_of_one, DRIFT_NO},
		{drift_device_slots_leaked, refuse_one_and_several, DRIFT_NO},
		{drift_device_slots_leaked, let_tenant_in_to_other, DRIFT_FOUND},
		{drift_device_slots_leaked, let_tenant_in_to_same, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(a_tenancy_that_ends_ends_no_leak_that_is_published)
{
	const struct drift_case_row rows[] = {
		{drift_device_slots_leaked, publish_and_end_tenancy, DRIFT_FOUND},
		{drift_device_slots_leaked, publish_and_end_tenancy_of_one, DRIFT_FOUND},
		{drift_device_slots_leaked, wait_and_end_tenancy, DRIFT_NO},
		{drift_device_slots_leaked, end_tenancy_of_one, DRIFT_NO},
		{drift_device_slots_leaked, publish_and_let_pod_in, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TESTS(NULL, NULL)
