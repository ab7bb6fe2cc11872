/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/drift_case.h"

#include "lib/test_main.h"

#include "assess/drift_previous.h"
#include "base/limits.h"

#define GIB40 40960

static const struct view operator_namespace = VIEW_INIT("gpu-operator");

static void make_configs(struct drift_case *c)
{
	c->shared[0] = (struct plugin_config_shared){VIEW("nvidia.com/gpu"), 4};
	c->former_shared[0] = (struct plugin_config_shared){VIEW("nvidia.com/gpu"), 8};
	c->configs[0] = (struct plugin_config){
		.name = VIEW("shared"),
		.sharing = PLUGIN_CONFIG_TIME_SLICING,
		.shared = array_of(c->shared, 1),
	};
	c->configs[1] = (struct plugin_config){.name = VIEW("whole")};
	c->former[0] = c->configs[0];
	c->former[0].shared = array_of(c->former_shared, 1);
	c->plugin_configs = (struct plugin_configs){
		.namespace = operator_namespace,
		.name = VIEW("plugin-config"),
		.configs = array_of(c->configs, 2),
	};
}

static void make_layouts(struct drift_case *c)
{
	c->counts[0] = (struct mig_config_count){VIEW("1g.10gb"), 2};
	c->parts[0] = (struct mig_config_part){.is_for_all = true};
	c->parts[1] = (struct mig_config_part){
		.indices = array_of(c->indices, 1),
		.is_enabled = true,
		.counts = array_of(c->counts, 1),
	};
	c->layouts[0] = (struct mig_config){VIEW("all-disabled"), array_of(&c->parts[0], 1)};
	c->layouts[1] = (struct mig_config){VIEW("half"), array_of(&c->parts[1], 1)};
	c->mig_configs = (struct mig_configs){
		.namespace = operator_namespace,
		.name = VIEW("mig-config"),
		.layouts = array_of(c->layouts, 2),
	};
}

static void make_policy(struct drift_case *c)
{
	c->policy = (struct policy){
		.name = VIEW("cluster-policy"),
		.namespace = operator_namespace,
		.state = VIEW("ready"),
		.driver_version = VIEW("550.90.07-ubuntu22.04"),
		.plugin_config = VIEW("plugin-config"),
		.mig_config = VIEW("mig-config"),
	};
	c->intent = (struct intent){
		.known = true,
		.n_policies = 1,
		.policy = &c->policy,
		.plugin_configs_state = INTENT_CONFIG_THERE,
		.plugin_configs = &c->plugin_configs,
		.mig_configs_state = INTENT_CONFIG_THERE,
		.mig_configs = &c->mig_configs,
	};
}

static void make_labels(struct drift_case *c)
{
	static const char *const operands[] = {"device-plugin", "driver", "gpu-feature-discovery",
					       "dcgm-exporter", "mig-manager"};

	c->resources[0] = (struct node_resource){VIEW("nvidia.com/gpu"), 8};
	c->labels = (struct node){
		.name = VIEW("node-a"),
		.gpu_present = VIEW("true"),
		.gpu_count = VIEW("2"),
		.gpu_product = VIEW("NVIDIA-A100-SXM4-40GB-SHARED"),
		.gpu_replicas = VIEW("4"),
		.mig_capable = VIEW("true"),
		.plugin_config = VIEW("shared"),
		.driver_upgrade = VIEW("upgrade-done"),
		.deploys = array_of(c->deploys, 0),
		.allocatable = array_of(c->resources, 1),
	};
	for (size_t i = 0; i < ARRAY_SIZE(operands); i++)
		drift_case_deploy(c, operands[i], "true");
}

static struct report_device a_device(struct view uuid, int64_t index)
{
	return (struct report_device){
		.uuid = uuid,
		.index = index,
		.model = VIEW("NVIDIA A100-SXM4-40GB"),
		.memory_mib = GIB40,
		.compute_mode = REPORT_COMPUTE_DEFAULT,
		.mig = {.present = true},
		.partitions = {.present = true},
	};
}

static void make_report(struct drift_case *c)
{
	c->devices[0] = a_device(VIEW(DRIFT_CASE_GPU), 0);
	c->devices[1] = a_device(VIEW(DRIFT_CASE_OTHER_GPU), 1);
	c->devices[2] = a_device(VIEW("GPU-00000000-0000-0000-0000-00000000000d"), 2);
	c->report = (struct report){
		.driver_version = VIEW("550.90.07"),
		.sources = {.nvml = {REPORT_SOURCE_OK},
			    .pod_resources = {REPORT_SOURCE_OK},
			    .dcgm = {REPORT_SOURCE_ABSENT}},
		.devices = array_of(c->devices, 2),
	};
}

static void make_device(struct drift_case *c)
{
	c->status = (struct attribution_status){
		.sharing = {ATTRIBUTION_MODE_TIME_SLICED, 4},
		.slots = {4, 1, VIEW("1/4")},
		.health = {.state = ATTRIBUTION_HEALTH_HEALTHY},
		.recent_tenants = array_of(c->past, 0),
		.tenants = array_of(c->tenants, 1),
	};
	c->tenants[0] = (struct attribution_tenant){.pod_uid = VIEW("tenant"), .slots = 1};
	c->device = (struct drift_device){
		.uuid = c->devices[0].uuid,
		.reported = &c->devices[0],
		.is_listing_good = true,
		.is_seen_since_boot = true,
		.here_since = 1,
		.offers = c->offers,
		.status = &c->status,
		.previous = &c->previous,
	};
	drift_case_offer(c, "nvidia.com/gpu", 4, true, false);
}

/* Behind the end of each array stands what a rule must not see. */
static void set_traps(struct drift_case *c)
{
	static const struct report_partition trap_partitions[] = {
		{.profile = VIEW_INIT("1g.10gb")}, {.profile = VIEW_INIT("")}};

	c->deploys[c->labels.deploys.count] = (struct node_deploy){VIEW("trap"), VIEW("paused-")};
	c->resources[1] = (struct node_resource){VIEW("nvidia.com/gpu"), -100};
	c->shared[1] = (struct plugin_config_shared){VIEW("nvidia.com/trap"), 1000};
	c->past[0].end_time = c->tenants[1].start_time = DRIFT_CASE_NOW;
	c->devices[2].uuid = VIEW(DRIFT_CASE_OTHER_GPU);
	c->devices[2].model = VIEW("Trap");
	c->devices[2].mig.current = true;
	c->devices[2].partitions = array_of(trap_partitions, ARRAY_SIZE(trap_partitions));
	c->devices[2].compute_capability = VIEW("6.1");
	c->ids[2] = VIEW("MIG-00000000-0000-0000-0000-00000000000e");
	c->offers[1] = (struct drift_offer){
		.resource = VIEW("nvidia.com/mig-1g.10gb"), .n_free = 4, .n_replicas = 4, .is_replica = true};
}

void drift_case_init(struct drift_case *c)
{
	static const enum pod_operand operands[] = {
		POD_OPERAND_DRIVER,        POD_OPERAND_DEVICE_PLUGIN, POD_OPERAND_GFD,
		POD_OPERAND_DCGM_EXPORTER, POD_OPERAND_MIG_MANAGER,
	};

	memset(c, 0, sizeof(*c));
	arena_init(&c->arena, LIMIT_MIB);
	make_configs(c);
	make_layouts(c);
	make_policy(c);
	make_labels(c);
	make_report(c);
	c->node = (struct drift_node){
		.intent = &c->intent,
		.node = &c->labels,
		.report = &c->report,
		.pods = c->pod_list,
		.is_pods_current = true,
		.is_offer_known = true,
		.is_any_offered = true,
		.now_wall_ms = DRIFT_CASE_NOW,
	};
	make_device(c);
	set_traps(c);
	for (size_t i = 0; i < ARRAY_SIZE(operands); i++)
		drift_case_add_operand(c, operands[i], true);
}

void drift_case_deinit(struct drift_case *c)
{
	for (size_t i = 0; i < c->node.n_pods; i++)
		pod_free(c->pods[i]);
	arena_deinit(&c->arena);
}

void drift_case_add_pod(struct drift_case *c, const struct pod_fields *fields)
{
	struct error err;

	assert_true(c->node.n_pods < DRIFT_CASE_MAX);
	assert_int_equal(pod_new(fields, &c->pods[c->node.n_pods], &err), 0);
	c->pod_list[c->node.n_pods] = c->pods[c->node.n_pods];
	c->node.n_pods++;
}

void drift_case_add_operand(struct drift_case *c, enum pod_operand operand, bool is_ready)
{
	const struct pod_fields fields = {
		.namespace = operator_namespace,
		.name = VIEW("operand"),
		.uid = VIEW("operand"),
		.state = {.phase = POD_PHASE_RUNNING,
			  .operand = (uint8_t)operand,
			  .is_ready = is_ready},
	};
	drift_case_add_pod(c, &fields);
}

void drift_case_drop_operand(struct drift_case *c, enum pod_operand operand)
{
	size_t n = 0;

	for (size_t i = 0; i < c->node.n_pods; i++) {
		if (pod_state(c->pods[i])->operand == operand) {
			pod_free(c->pods[i]);
			continue;
		}
		c->pods[n] = c->pods[i];
		c->pod_list[n] = c->pods[n];
		n++;
	}
	c->node.n_pods = n;
}

void drift_case_deploy(struct drift_case *c, const char *operand, const char *value)
{
	uint32_t i = 0;

	while (i < c->labels.deploys.count &&
	       !view_equal(c->deploys[i].operand, view_from(operand)))
		i++;
	assert_true(i < ARRAY_SIZE(c->deploys));
	c->deploys[i] = (struct node_deploy){view_from(operand), view_from(value)};
	if (i == c->labels.deploys.count)
		c->labels.deploys.count++;
}

/* As the kubelet tells them: one ID of either device is enough for a rule about the node. */
void drift_case_offer(struct drift_case *c, const char *resource, int64_t n_ids, bool is_replica,
		      bool is_mig)
{
	c->offers[0] = (struct drift_offer){
		.resource = view_from(resource),
		.n_free = n_ids > 0 ? n_ids - 1 : 0,
		.n_replicas = is_replica ? n_ids : n_ids > 0,
		.is_replica = is_replica,
	};
	c->device.n_offers = n_ids > 0;
	c->ids[0] = is_mig ? VIEW("MIG-00000000-0000-0000-0000-00000000000c::0")
			   : VIEW(DRIFT_CASE_GPU "::0");
	c->ids[1] = VIEW(DRIFT_CASE_OTHER_GPU "::0");
	if (!is_replica)
		for (int i = 0; i < 2; i++)
			c->ids[i].len -= sizeof("::0") - 1;
	c->on_offer[0] = (struct report_resource_devices){view_from(resource),
							  array_of(c->ids, n_ids > 0 ? 2 : 0)};
	c->report.allocatable = array_of(c->on_offer, 1);
}

void drift_case_cut(struct drift_case *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		c->partitions[i] = (struct report_partition){.profile = VIEW("1g.10gb")};
	c->devices[0].mig = (struct report_mig){true, true, true};
	c->devices[0].partitions = array_of(c->partitions, n);
}

void drift_case_remove_device(struct drift_case *c)
{
	c->device.reported = NULL;
	c->report.devices = array_of(&c->devices[1], 1);
}

struct drift_finding drift_case_ask(struct drift_case *c, drift_rule_fn *rule)
{
	struct drift_finding finding;
	struct error err;

	c->text = (struct drift_text){.arena = &c->arena};
	drift_prepare(&c->node);
	c->previous = drift_previous_read(&c->published);
	finding = rule(&c->node, &c->device, &c->text);
	assert_int_equal(drift_text_check(&c->text, &err), 0);
	return finding;
}

void drift_case_judge(struct drift_case *c)
{
	struct error err;

	drift_prepare(&c->node);
	c->previous = drift_previous_read(&c->published);
	assert_int_equal(drift_judge(&c->node, &c->device, &c->arena, &c->verdict, &err), 0);
}

void drift_case_publish(struct drift_case *c)
{
	const struct attribution_intent_state *state = &c->verdict.state;

	c->published = *state;
	c->published.drifts.items = c->published_drifts;
	c->published.pending.items = c->published_pending;
	for (uint32_t i = 0; i < state->drifts.count; i++)
		c->published_drifts[i] = *ARRAY_AT(state->drifts, struct attribution_drift, i);
	for (uint32_t i = 0; i < state->pending.count; i++)
		c->published_pending[i] = *ARRAY_AT(state->pending,
						    struct attribution_pending_drift, i);
}

const struct attribution_drift *drift_case_drift(const struct drift_case *c, const char *type)
{
	const struct array drifts = c->verdict.state.drifts;

	for (uint32_t i = 0; i < drifts.count; i++)
		if (view_equal(ARRAY_AT(drifts, struct attribution_drift, i)->type,
			       view_from(type)))
			return ARRAY_AT(drifts, struct attribution_drift, i);
	return NULL;
}

const struct attribution_pending_drift *drift_case_pending(const struct drift_case *c,
							   const char *type)
{
	const struct array pending = c->verdict.state.pending;

	for (uint32_t i = 0; i < pending.count; i++)
		if (view_equal(ARRAY_AT(pending, struct attribution_pending_drift, i)->type,
			       view_from(type)))
			return ARRAY_AT(pending, struct attribution_pending_drift, i);
	return NULL;
}

static bool has_part(struct view text, const char *part)
{
	struct view left, right;

	return !part || view_cut(text, view_from(part), &left, &right);
}

/* One sentence that a person reads at once. */
static void expect_remedy(struct view message, size_t row)
{
	unsigned n_words = 1;

	for (size_t i = 0; i < message.len; i++)
		n_words += message.ptr[i] == ' ';
	if (n_words > 25 || !view_ends_with(message, VIEW(".")) ||
	    has_part(message, ". "))
		fail_msg("row %zu: not one sentence of 25 words: %.*s", row, VIEW_ARG(message));
}

void drift_case_expect(const struct drift_case_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct drift_case c;
		struct drift_finding finding;

		drift_case_init(&c);
		if (rows[i].spoil)
			rows[i].spoil(&c);
		finding = drift_case_ask(&c, rows[i].rule);
		if (finding.answer != rows[i].answer)
			fail_msg("row %zu: answer %d, not %d: %.*s", i, finding.answer,
				 rows[i].answer, VIEW_ARG(finding.observed));
		if (!has_part(finding.intended, rows[i].intended))
			fail_msg("row %zu: intended %.*s", i, VIEW_ARG(finding.intended));
		if (!has_part(finding.observed, rows[i].observed))
			fail_msg("row %zu: observed %.*s", i, VIEW_ARG(finding.observed));
		if (!has_part(finding.message, rows[i].message))
			fail_msg("row %zu: message %.*s", i, VIEW_ARG(finding.message));
		if (finding.severity != rows[i].severity)
			fail_msg("row %zu: severity %d", i, finding.severity);
		if (finding.answer == DRIFT_FOUND) {
			assert_true(finding.intended.len > 0 && finding.observed.len > 0);
			expect_remedy(finding.message, i);
		}
		drift_case_deinit(&c);
	}
}
