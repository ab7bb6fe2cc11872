/* SPDX-License-Identifier: Apache-2.0 */

/* What the join tells the rules of assess/drift.h, and what becomes of their verdict. */

#include "lib/scenario.h"

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
	PROMISE(the_label_of_the_node_chooses_the_configuration,
		"gpu 0 shared 4; policy config=plugin-config default=a; config a none;"
		"config b time-slicing:4; label device-plugin.config=b;" WANTED A_PLUGIN
		"capacity 4; expect intent InSync; label device-plugin.config=; expect pending SharingMode"),
	PROMISE(a_text_that_was_not_loaded_is_the_cause_of_what_follows,
		"gpu 0 shared 4; policy config=plugin-config default=a; config was a time-slicing:4;"
		"config a time-slicing:8;" WANTED A_PLUGIN "expect pending ConfigNotLoaded"),
	PROMISE(what_is_off_on_purpose_is_no_drift,
		"gpu 0 exclusive; policy exporter=off;" WANTED A_PLUGIN
		"label gpu.deploy.dcgm-exporter=true; expect intent InSync; expect InSync True InSync `as"
		" ClusterPolicy cluster-policy says; dcgmExporter is off by ClusterPolicy cluster-policy`"),
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

SCENARIO_MAIN(promises)
