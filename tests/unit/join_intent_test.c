/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/scenario.h"
#include "lib/world_fixture.h"

/* What the join tells the rules of assess/drift.h, and what becomes of their verdict. */

#define WANTED "label gpu.deploy.device-plugin=true;"
#define A_PLUGIN "capacity 1; pod plugin namespace=gpu-operator nogpu operand=plugin ready;"
#define PLUGIN_GONE \
	"gpu 0 exclusive; policy; " WANTED A_PLUGIN "publish; offer none; delete plugin;"

static const struct scenario_promise promises[] = {
	PROMISE(without_a_policy_the_device_is_unmanaged,
		"gpu 0 exclusive; policy none; expect intent Unmanaged; expect InSync True Unmanaged"),
	PROMISE(what_is_as_the_policy_says_is_in_sync,
		"gpu 0 exclusive; policy; " WANTED A_PLUGIN
		"expect intent InSync; expect drifts none; expect InSync True InSync"),
	PROMISE(policies_that_cannot_be_read_are_no_verdict,
		"gpu 0 exclusive; policy unread; expect intent Unknown;"
		"expect InSync Unknown PolicyUnreadable"),

	/* Hold-off */
	PROMISE(a_difference_is_pending_until_its_hold_off_is_over,
		PLUGIN_GONE "expect intent Settling; expect pending PluginMissing; expect drifts none;"
		"expect InSync Unknown HoldOff; wait 119s; heartbeat;"
		"expect pending PluginMissing; wait 1s; heartbeat; expect intent Drifted;"
		"expect drifts PluginMissing; expect pending none; expect InSync False PluginMissing;"
		"expect Ready True Current"),
	PROMISE(a_restart_of_the_controller_changes_no_time,
		PLUGIN_GONE "publish; wait 100s; publish; restart; expect pending PluginMissing;"
		"restore report; heartbeat; expect pending PluginMissing; wait 20s; heartbeat;"
		"expect drifts PluginMissing; publish; restart; expect drifts PluginMissing;"
		"expect intent Drifted; expect InSync False PluginMissing; restore report; heartbeat;"
		"expect drifts PluginMissing; expect writes 0"),
	PROMISE(what_is_mended_is_gone_at_once,
		PLUGIN_GONE "publish; wait 2min; heartbeat; expect drifts PluginMissing;"
		A_PLUGIN "offer gpu0; expect drifts none; expect intent InSync;"
		"expect InSync True InSync; expect pending none"),

	PROMISE(what_is_on_offer_is_from_a_plugin_though_nvml_does_not_list_it,
		PLUGIN_GONE "expect pending PluginMissing; offer MIG-5e3f9f2c-1b7a-4d0e-9c4b-2a6d8e1f7c30;"
		"expect pending MIGStrategy; expect drifts none"),
	PROMISE(a_device_that_no_plugin_offers_says_that_the_plugin_is_missing,
		PLUGIN_GONE "expect Healthy False NotAdvertised `the device plugin no longer offers the"
		" device`; publish; wait 2min; heartbeat; expect drifts PluginMissing;"
		"expect Healthy False NotAdvertised `the device plugin no longer offers the"
		" device; see PluginMissing in intent.drifts`"),

	/* Silence */
	PROMISE(while_the_node_is_silent_drifts_stay_and_there_is_no_verdict,
		PLUGIN_GONE "publish; wait 2min; heartbeat; publish; lose report; age 0;"
		"restore report; age 3min; expect intent Unknown; expect drifts PluginMissing;"
		"expect InSync Unknown ReportStale; heartbeat; expect intent Drifted;"
		"expect drifts PluginMissing; expect InSync False PluginMissing"),
	PROMISE(what_is_pending_stays_so_while_the_node_is_silent,
		PLUGIN_GONE "publish; age 3min; expect pending PluginMissing; expect intent Unknown;"
		"wait 10min; expect pending PluginMissing; expect drifts none; heartbeat;"
		"expect drifts PluginMissing"),
	PROMISE(a_node_without_an_agent_has_no_verdict,
		"pod a status=gpu0; policy; agentless; expect intent Unknown; expect drifts none;"
		"expect InSync Unknown NoAgent"),
	PROMISE(a_node_whose_agent_is_away_since_the_controller_started_has_its_drifts_still,
		PLUGIN_GONE "publish; wait 2min; heartbeat; publish; restart; agentless; age 3min;"
		"expect drifts PluginMissing; publish; expect drifts PluginMissing;"
		"expect intent Unknown; expect InSync Unknown ReportStale; publish; expect writes 0;"
		"wait 10min; restore report; heartbeat; expect drifts PluginMissing;"
		"expect intent Drifted"),
	PROMISE(what_is_pending_stays_so_while_the_agent_is_away_since_the_controller_started,
		PLUGIN_GONE "publish; restart; agentless; age 3min; publish;"
		"expect pending PluginMissing; expect intent Unknown; publish; wait 2min;"
		"restore report; heartbeat; expect drifts PluginMissing"),
	PROMISE(a_silent_node_whose_controller_restarted_has_its_drifts_still,
		PLUGIN_GONE "publish; wait 2min; heartbeat; publish; restart; age 3min;"
		"expect drifts PluginMissing; expect intent Unknown; expect InSync Unknown ReportStale"),

	/* What the rules are told */
	PROMISE(pods_of_the_operator_count_in_its_namespace_only,
		"gpu 0 exclusive; policy; " WANTED A_PLUGIN "publish; offer none; delete plugin;"
		"pod fake namespace=ml nogpu operand=plugin ready; expect pending PluginMissing;"
		A_PLUGIN "expect pending none"),
	PROMISE(while_pods_are_old_nothing_is_concluded_from_them,
		"gpu 0 exclusive; policy; " WANTED A_PLUGIN "publish; pods stale; offer none;"
		"delete plugin; expect pending none; expect drifts none; pods current;"
		"expect pending PluginMissing"),
	PROMISE(a_pod_that_an_old_watch_lacks_is_not_missing,
		"gpu 0 exclusive; policy; label gpu.deploy.dcgm-exporter=true;"
		"pod exporter namespace=gpu-operator nogpu operand=exporter ready; expect intent InSync;"
		"pods stale; delete exporter; expect pending none; pods denied; expect pending none;"
		"pods current; expect pending ExporterMissing"),
	PROMISE(what_is_on_offer_is_what_a_book_says_that_can_be_read,
		PLUGIN_GONE "expect pending PluginMissing; again;"
		"gpu 0 exclusive; policy; " WANTED A_PLUGIN "publish; old list; old checkpoint;"
		"offer none; delete plugin; expect pending none; expect drifts none;"
		"restore list; expect pending PluginMissing"),
	PROMISE(what_only_the_checkpoint_has_while_the_kubelet_advertises_nothing_is_not_on_offer,
		"gpu 0 exclusive; policy; " WANTED A_PLUGIN "publish; offer lost; delete plugin;"
		"expect pending PluginMissing"),
	PROMISE(replicas_on_offer_are_counted_by_resource,
		"gpu 0 shared 4; policy config=plugin-config default=a; config a time-slicing:4;"
		WANTED A_PLUGIN "capacity 4; expect intent InSync; config a time-slicing:8;"
		"expect pending ReplicaCount; again; gpu 0 exclusive;"
		"policy config=plugin-config default=a; config a time-slicing:4;" WANTED A_PLUGIN
		"expect pending SharingMode; again; offer resource nvidia.com/gpu.shared; gpu 0 shared 4;"
		"policy config=plugin-config default=a; config a time-slicing:4;" WANTED A_PLUGIN
		"capacity 4; expect pending ResourceName"),
	PROMISE(what_a_device_lacks_is_not_missing_on_another_one_of_the_node,
		"gpu 0 exclusive; gpu 1 shared 4; policy config=plugin-config default=a;"
		"config a time-slicing:4;" WANTED A_PLUGIN "capacity 5; expect pending SharingMode;"
		"expect gpu1 pending none; publish; expect writes 0; again;"
		"gpu 0 shared 4; gpu 1 shared 4; policy config=plugin-config default=a;"
		"config a time-slicing:4;" WANTED A_PLUGIN "capacity 5;"
		"expect pending AllocatableShort; expect gpu1 pending AllocatableShort"),
	PROMISE(a_cause_that_another_device_shows_hides_what_follows_on_each,
		"gpu 0 shared 4; gpu 1 shared 4; policy config=plugin-config default=a;"
		"config a time-slicing:4;" WANTED A_PLUGIN "capacity 4; publish;"
		"offer none gpu0::0 gpu0::1 gpu0::2 gpu0::3; config was a time-slicing:4; config a mps:4;"
		"expect pending ConfigNotLoaded; expect gpu1 pending none; publish; wait 3min; heartbeat;"
		"expect drifts ConfigNotLoaded; expect gpu1 drifts none; expect gpu1 pending none"),
	PROMISE(the_label_of_the_node_chooses_the_configuration,
		"gpu 0 shared 4; policy config=plugin-config default=a; config a none;"
		"config b time-slicing:4; label device-plugin.config=b;" WANTED A_PLUGIN
		"capacity 4; expect intent InSync; label device-plugin.config=; expect pending SharingMode"),
	PROMISE(a_text_that_was_not_loaded_is_the_cause_of_what_follows,
		"gpu 0 shared 4; policy config=plugin-config default=a; config was a time-slicing:4;"
		"config a time-slicing:8;" WANTED A_PLUGIN "expect pending ConfigNotLoaded"),
	PROMISE(what_is_off_on_purpose_is_no_drift,
		"gpu 0 exclusive; policy exporter=off gfd=off;" WANTED A_PLUGIN
		"label gpu.deploy.dcgm-exporter=true; expect intent InSync; expect InSync True InSync `as"
		" ClusterPolicy cluster-policy says; gfd is off by ClusterPolicy cluster-policy;"
		" dcgmExporter is off by ClusterPolicy cluster-policy`"),
	PROMISE(a_part_whose_label_is_gone_is_no_drift_and_said_to_be_nowhere,
		"gpu 0 exclusive; policy exporter=off;" WANTED A_PLUGIN
		"expect InSync True InSync `as"
		" ClusterPolicy cluster-policy says; gfd is not on the node, which has no label"
		" nvidia.com/gpu.deploy.gpu-feature-discovery;"
		" dcgmExporter is off by ClusterPolicy cluster-policy`"),
	PROMISE(a_plugin_that_is_off_and_offers_devices_is_unexpected,
		"gpu 0 exclusive; policy plugin=off; " WANTED "expect pending PluginUnexpected;"
		"offer none; expect pending none"),
	PROMISE(work_on_the_node_is_settling,
		"gpu 0 exclusive; policy; label mig.config.state=pending; expect intent Settling;"
		"expect InSync Unknown MIGReconfiguration; label mig.config.state=success;"
		"expect intent InSync; kubelet restarts; pod u; expect InSync Unknown KubeletSettling"),

	/* DeviceMissing */
	PROMISE(a_device_that_is_missing_since_it_was_seen_is_a_drift,
		"boot one; gpu 0 exclusive; gpu 1 exclusive; policy none; publish; nvml hides;"
		"expect pending DeviceMissing; expect again 1min; wait 1min; heartbeat;"
		"expect drifts DeviceMissing;"
		"expect intent Drifted; expect InSync False DeviceMissing; nvml shows;"
		"expect drifts none; expect intent Unmanaged"),
	PROMISE(a_device_that_flickers_is_a_write_for_each_list_that_differs_and_no_drift,
		"boot one; gpu 0 exclusive; policy none; publish;"
		"nvml hides; expect writes 1; publish; expect pending DeviceMissing; expect writes 0;"
		"nvml shows; expect writes 1; publish; expect pending none; expect writes 0;"
		"wait 59s; nvml hides; expect writes 1; publish; expect pending DeviceMissing:59000;"
		"wait 59s; heartbeat; expect drifts none; nvml shows; expect writes 1; publish;"
		"expect pending none; expect intent Unmanaged"),
	PROMISE(a_device_that_went_missing_during_work_on_the_node_is_a_drift_after_it,
		"boot one; gpu 0 exclusive; gpu 1 exclusive; policy none; publish;"
		"label mig.config.state=pending; nvml hides; expect drifts none;"
		"expect InSync Unknown MIGReconfiguration; publish; wait 10min; heartbeat;"
		"expect drifts none; publish; label mig.config.state=success;"
		"expect InSync Unknown HoldOff; publish; wait 1min; heartbeat;"
		"expect drifts DeviceMissing:600000; expect InSync False DeviceMissing"),
	PROMISE(a_card_that_was_taken_out_while_the_node_was_off_is_none,
		"boot one; gpu 0 exclusive; policy none; publish; boot two; nvml hides;"
		"expect pending none; wait 10min; heartbeat; expect drifts none;"
		"expect health `Unknown DeviceMissing`"),
	PROMISE(before_the_driver_is_loaded_nothing_is_missing,
		"boot one; gpu 0 exclusive; policy none; publish; boot two; lose nvml; publish;"
		"restore nvml; nvml hides; expect pending none; wait 10min; heartbeat;"
		"expect drifts none; nvml shows; publish; nvml hides; expect pending DeviceMissing:600000"),
	PROMISE(a_list_of_before_says_nothing_of_what_it_lacks,
		"boot one; gpu 0 exclusive; policy none; publish; old nvml; nvml hides;"
		"expect pending none; restore nvml; nvml hides; expect pending none"),
	PROMISE(a_hang_of_nvml_does_not_hide_that_the_device_went_missing,
		"boot one; gpu 0 exclusive; policy none; publish; old nvml hangs;"
		"expect health `Unknown NVMLHangs`; nvml hides; restore nvml; nvml hides;"
		"expect pending DeviceMissing"),
	PROMISE(a_drift_of_the_boot_before_ends_with_it,
		"boot one; gpu 0 exclusive; policy none; publish; nvml hides; publish; wait 1min;"
		"heartbeat; expect drifts DeviceMissing; boot two; expect drifts none; expect pending none"),
	/* SlotsLeaked */
	PROMISE(a_pod_that_is_refused_though_a_device_is_free_is_a_leak,
		"boot one; gpu 0 exclusive; policy none; publish; wait 1min; heartbeat; pod u refused;"
		"expect pending SlotsLeaked:60000"),
	PROMISE(a_refusal_of_before_the_device_came_back_is_none,
		"boot one; gpu 0 exclusive; policy none; publish; nvml hides; publish; wait 1min;"
		"heartbeat; publish; pod u refused; nvml shows; expect pending none; publish;"
		"wait 1min; heartbeat; expect pending none"),
	PROMISE(where_hami_gives_other_devices_than_ids_name_no_leak_is_told,
		"boot one; gpu 0; offer gpu0-0 gpu0-1; policy none; publish; wait 1min; heartbeat;"
		"pod u refused; expect pending none"),
	PROMISE(a_refusal_of_before_there_were_more_slots_is_none,
		"boot one; gpu 0 shared 2; run a on gpu0::0; run b on gpu0::1; policy none; publish;"
		"wait 1min; heartbeat; pod u refused; expect pending none; wait 1s;"
		"offer gpu0::2; report; expect slots 2/3; expect pending none; wait 1min; heartbeat;"
		"expect pending none; pod v refused; expect pending SlotsLeaked:121000"),
	PROMISE(a_refusal_of_before_the_controller_started_is_no_new_leak,
		"boot one; gpu 0 exclusive; policy none; publish; wait 1min; restart; pod u refused;"
		"wait 1s; report; expect pending none; wait 1min; heartbeat; expect pending none;"
		"pod v refused; expect pending SlotsLeaked:121000; restart; wait 1min; report;"
		"expect drifts SlotsLeaked:121000"),
	PROMISE(a_refusal_of_while_pods_were_not_known_is_no_new_leak,
		"boot one; gpu 0 exclusive; policy none; publish; wait 1min; heartbeat; pods stale;"
		"publish; wait 1s; pod u refused; wait 1s; pods current; expect pending none; publish;"
		"wait 1min; heartbeat; expect pending none; pod v refused;"
		"expect pending SlotsLeaked:122000; pods denied; publish; wait 1min; heartbeat;"
		"pods current; expect drifts SlotsLeaked:122000"),
	PROMISE(a_refusal_is_a_leak_also_while_nvml_cannot_be_read,
		"boot one; gpu 0 exclusive; policy none; publish; lose nvml; publish; wait 1min;"
		"heartbeat; pod u refused; expect pending SlotsLeaked:60000"),
	PROMISE(a_refusal_tells_nothing_of_a_device_that_is_away,
		"boot one; gpu 0 exclusive; policy none; publish; nvml hides; publish; wait 1min;"
		"heartbeat; publish; pod u refused; wait 1min; expect pending none;"
		"expect drifts DeviceMissing"),
};

/* One MIG device by either resource; the pod is refused nvidia.com/gpu. */
static bool is_leak_with_holder_of(unsigned held)
{
	static struct report_resource_devices offers[2];
	struct array pending;

	start_anew();
	world.intent = (struct intent){.known = true};
	world.report.boot_id = VIEW("one");
	build_world_cut(&world, 0, 2);
	offers[0] = (struct report_resource_devices){VIEW("nvidia.com/gpu"),
						     array_of(&world.offered[0], 1)};
	offers[1] = (struct report_resource_devices){VIEW("nvidia.com/mig-1g.10gb"),
						     array_of(&world.offered[1], 1)};
	world.report.allocatable = array_of(offers, 2);
	world.report.checkpoint.registered = world.report.allocatable;
	world_run("a", world.offered[held]);
	build_world_publish(&world);
	build_world_wait(&world, 60000);
	build_world_pod(&world, (struct build_pod){.name = "u", .was_refused = true});
	build_world_join(&world);
	pending = build_world_status(&world, 0)->intent.pending;
	return pending.count == 1 && view_equal(ARRAY_AT(pending, struct attribution_pending_drift,
							 0)->type, VIEW("SlotsLeaked"));
}

TEST(free_slots_are_counted_for_each_resource)
{
	assert_true(is_leak_with_holder_of(1));
	assert_false(is_leak_with_holder_of(0));
}

/* Two MIG devices, of which one has two replicas and the other one four, each by a resource of its own. */
static void share_two_profiles(void)
{
	static const char *const ids[] = {"::0", "::1", "::2", "::3"};
	static struct report_resource_devices offers[2];
	static struct view names[6];

	build_world_cut(&world, 0, 2);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		names[i] = build_world_text(&world, "%.*s%s",
					    VIEW_ARG(build_world_mig(&world, 0, i < 2 ? 0 : 1)),
					    ids[i < 2 ? i : i - 2]);
	offers[0] = (struct report_resource_devices){VIEW("nvidia.com/mig-1g.5gb"),
						     array_of(names, 2)};
	offers[1] = (struct report_resource_devices){VIEW("nvidia.com/mig-2g.10gb"),
						     array_of(&names[2], 4)};
	world.report.allocatable = array_of(offers, 2);
	world.report.checkpoint.registered = world.report.allocatable;
}

static void intend_replicas(int64_t first, int64_t second)
{
	static struct plugin_config_shared shared[2];
	static struct plugin_config config;
	static struct plugin_configs configs;
	static struct node_deploy deploy = {VIEW_INIT("device-plugin"), VIEW_INIT("true")};

	shared[0] = (struct plugin_config_shared){VIEW("nvidia.com/mig-1g.5gb"), first};
	shared[1] = (struct plugin_config_shared){VIEW("nvidia.com/mig-2g.10gb"), second};
	config = (struct plugin_config){
		.name = VIEW("shared"),
		.sharing = PLUGIN_CONFIG_TIME_SLICING,
		.shared = array_of(shared, 2),
	};
	configs = (struct plugin_configs){.configs = array_of(&config, 1)};
	world.policy.mig_strategy = VIEW("mixed");
	world.policy.plugin_config = VIEW("plugin-config");
	world.node.plugin_config = VIEW("shared");
	world.node.deploys = array_of(&deploy, 1);
	world.intent.plugin_configs_state = INTENT_CONFIG_THERE;
	world.intent.plugin_configs = &configs;
}

static bool is_pending(const char *type)
{
	const struct array pending = build_world_status(&world, 0)->intent.pending;

	for (uint32_t i = 0; i < pending.count; i++)
		if (view_equal(ARRAY_AT(pending, struct attribution_pending_drift, i)->type,
			       view_from(type)))
			return true;
	return false;
}

/* The MIG manager makes the layouts: "own" leaves MIG mode off. */
static void let_manager_make_layouts(void)
{
	static struct mig_config_part part = {.is_for_all = true};
	static struct mig_config layout = {VIEW_INIT("own"), {&part, 1, true}};
	static struct mig_configs own = {.name = VIEW_INIT("n-mig-config"), .layouts = {&layout, 1, true}};
	static struct node_deploy deploy = {VIEW_INIT("mig-manager"), VIEW_INIT("true")};

	build_world_exclusive(&world, 0);
	build_world_govern(&world, "gpu-operator");
	world.node.mig_config = VIEW("own");
	world.node.deploys = array_of(&deploy, 1);
	world.intent.mig_configs_state = INTENT_CONFIG_MISSING;
	world.input.layouts = &own;
}

static bool is_config_unread(void)
{
	build_world_join(&world);
	return view_equal(attribution_find_condition(build_world_status(&world, 0), VIEW("InSync"))->reason,
			  VIEW("ConfigUnreadable"));
}

TEST(layouts_of_the_nodes_mig_manager_count_while_they_can_be_read)
{
	let_manager_make_layouts();
	world.intent.node_layouts_state = INTENT_CONFIG_THERE;
	assert_false(is_config_unread());

	start_anew();
	let_manager_make_layouts();
	world.intent.node_layouts_state = INTENT_CONFIG_UNREADABLE;
	assert_true(is_config_unread());
}

TEST(replicas_are_counted_for_each_resource_of_mig_devices)
{
	static const struct {
		int64_t first, second;
		bool is_drift;
	} rows[] = {{2, 4, false}, {4, 4, true}, {2, 2, true}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		build_world_govern(&world, "gpu-operator");
		share_two_profiles();
		intend_replicas(rows[i].first, rows[i].second);
		build_world_join(&world);
		assert_int_equal(is_pending("ReplicaCount"), rows[i].is_drift);
	}
}

/* Edits of the policy of a node with two devices, whose plugin offers them. */
static void name_no_version(void)
{
	world.policy.driver_version = VIEW("stable"); /* nothing can be compared with that */
}

static void switch_exporter_off(void)
{
	world.policy.switches[POLICY_DCGM_EXPORTER] = POLICY_OFF;
}

static void add_policy(void)
{
	world.intent.n_policies = 2;
}

static void switch_plugin_off(void)
{
	world.policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void undo(void)
{
	build_world_govern(&world, "gpu-operator");
}

/* How many writes each device costs now; they are made, and then there are none. */
static unsigned writes_a_device(void)
{
	const unsigned n = build_world_count_writes(&world);

	assert_int_equal(n % 2, 0);
	build_world_publish(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	return n / 2;
}

static void govern_two_devices(void)
{
	start_anew();
	undo();
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_publish(&world);
}

/* The table of crds/README.md that says how often an edit of a policy is written. */
TEST(an_edit_of_a_policy_is_as_many_writes_of_each_device_as_is_said)
{
	static const struct {
		void (*edit)(void);
		unsigned n_at_once, n_after_hold_off, n_undone;
		int state; /* at last */
	} rows[] = {
		{name_no_version, 0, 0, 0, ATTRIBUTION_INTENT_IN_SYNC},
		{switch_exporter_off, 1, 0, 1, ATTRIBUTION_INTENT_IN_SYNC},
		{add_policy, 1, 0, 1, ATTRIBUTION_INTENT_DRIFTED},
		{switch_plugin_off, 1, 1, 1, ATTRIBUTION_INTENT_DRIFTED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		govern_two_devices();
		rows[i].edit();
		assert_int_equal(writes_a_device(), rows[i].n_at_once);
		build_world_wait(&world, 119000);
		world.input.report_age_ms = 0;
		assert_int_equal(writes_a_device(), 0);
		build_world_wait(&world, 1000);
		assert_int_equal(writes_a_device(), rows[i].n_after_hold_off);
		assert_int_equal(build_world_status(&world, 0)->intent.state, rows[i].state);
		undo();
		assert_int_equal(writes_a_device(), rows[i].n_undone);
	}
}

TEST(an_edit_that_is_undone_within_the_hold_off_is_two_writes_of_each_device)
{
	govern_two_devices();
	switch_plugin_off();
	assert_int_equal(writes_a_device(), 1);
	assert_int_equal(build_world_status(&world, 0)->intent.state, ATTRIBUTION_INTENT_SETTLING);
	build_world_wait(&world, 119000);
	world.input.report_age_ms = 0;
	undo();
	assert_int_equal(writes_a_device(), 1);
	build_world_wait(&world, 119000);
	world.input.report_age_ms = 0;
	assert_int_equal(writes_a_device(), 0);
	assert_int_equal(build_world_status(&world, 0)->intent.state, ATTRIBUTION_INTENT_IN_SYNC);
}

SCENARIO_MAIN_WITH(promises, set_up, tear_down)
