/* SPDX-License-Identifier: Apache-2.0 */

/* Reports that do not come, are old, short or partial; nodes without an agent; time. */

#include "lib/scenario.h"

#define A_RUNS "gpu 0 exclusive; run a on gpu0; publish;"
#define B_IS_UNKNOWN "gpu 0 exclusive; book b gpu0; list b gpu0; publish;"
#define SETTLING "expect Attributed Unknown Settling; expect Ready Unknown Settling;"
#define UNSAID "expect Attributed True AllResolved;"
#define AGENTLESS "pod a status=gpu0; agentless; publish;"

static const struct scenario_promise promises[] = {
	/* Without a report since the controller's start */
	PROMISE(without_a_report_everything_stays_as_published,
		A_RUNS "lose report; expect writes 0; expect again 120s; wait 119999; expect writes 0;"
		"expect again 1"),
	PROMISE(without_a_report_for_long_the_status_says_so_and_keeps_the_tenants,
		A_RUNS "lose report; wait 120s; expect ReportFresh False AgentSilent;"
		"expect Ready Unknown ReportStale; expect Attributed True AllResolved;"
		"expect Healthy Unknown ReportStale; expect InSync Unknown ReportStale;"
		"expect tenants a; expect slots 1/1; expect report Stale; expect health `Unknown `;"
		"expect again never; wait 1s; expect writes 0; age 0; expect writes 0; restore report;"
		"expect ReportFresh True ReportReceived; expect Ready True Current;"
		"expect report Current; expect health `Healthy `"),
	PROMISE(without_a_report_pods_still_end,
		"gpu 0 shared 4; run a on gpu0::0; run b on gpu0::1; publish; lose report; end a;"
		"expect tenants b; expect recent a; expect slots 1/4; expect summary ml/b;"
		"expect count 1; expect mode TimeSliced; expect ended a; end y; end z;"
		"expect ended a y z; pod b deleting; expect b Terminating Confirmed"),
	PROMISE(without_a_report_a_pending_holder_waits,
		B_IS_UNKNOWN "lose report; wait 119s; expect writes 0"),
	PROMISE(without_a_report_and_objects_there_is_nothing_to_do,
		"lose report; expect devices 0; expect again never; node gone; expect devices 0;"
		"expect again never"),
	PROMISE(without_a_report_conditions_stay_as_published_but_for_what_is_old,
		A_RUNS "gpu 1; slice 1; pod b; grant b gpu1; expect gpu1 Attributed True AllResolved;"
		"restart; expect writes 0; claims denied; expect Attributed True AllResolved;"
		"expect gpu1 Attributed Unknown ClaimsUnknown; pods denied;"
		"expect Attributed Unknown PodsUnknown; expect tenants a; expect gpu1 tenants b;"
		"pods current; expect Attributed Unknown AwaitingReport; claims known;"
		"expect gpu1 Attributed Unknown AwaitingReport; report;"
		"expect Attributed True AllResolved; expect gpu1 Attributed True AllResolved"),
	PROMISE(without_a_report_the_last_who_goes_leaves_an_empty_list_of_the_unplaced,
		"gpu 0; run a on x; wait 10s; publish; restart; expect unplaced a:x; delete a;"
		"expect unplaced none; expect Attributed Unknown AwaitingReport;"
		"expect Ready Unknown AwaitingReport"),
	PROMISE(what_another_nodes_agent_has_is_not_asked_for_in_time,
		A_RUNS "node taken; pod a status=gpu0; restart; join; expect actions Keep;"
		"expect again 120s"),

	/* An old report */
	PROMISE(an_old_report_is_the_last_that_is_known,
		A_RUNS "expect again 119s; wait 119s; expect ReportFresh False AgentSilent;"
		"expect Ready Unknown ReportStale; expect tenants a; expect again never; delete a;"
		"expect none; expect recent a"),
	PROMISE(an_old_report_creates_nothing,
		"gpu 0 exclusive; run a on gpu0; wait 120s; expect devices 0; age 0; expect writes 1"),
	PROMISE(an_unchanged_world_is_kept, A_RUNS "expect writes 0; wait 1s; expect writes 0"),

	/* Sources */
	PROMISE(one_good_book_is_enough,
		A_RUNS "lose list;" UNSAID "again;" A_RUNS "lose checkpoint;" UNSAID),
	PROMISE(why_a_source_fails_stands_in_the_status_as_long_as_it_does,
		A_RUNS "lose checkpoint `Permission denied`; expect Attributed True AllResolved `every"
		" slot that is held has a pod; the checkpoint cannot be read, so some pods are known"
		" by name only (checkpoint: Permission denied)`; expect Ready True Current;"
		"restore checkpoint; expect Attributed True AllResolved `every slot that is held has a"
		" pod`; lose list `no socket`; expect Attributed True AllResolved `every slot that is"
		" held has a pod, by what is known without PodResources (podResources: no socket)`;"
		"lose checkpoint; expect Attributed Unknown SourcesFailed `neither PodResources nor the"
		" kubelet's checkpoint can be read (podResources: no socket; checkpoint: Permission"
		" denied)`"),
	PROMISE(a_device_that_nvml_no_longer_lists_stays_with_its_tenants,
		A_RUNS "nvml hides; expect Healthy Unknown DeviceMissing;"
		"expect health Unknown DeviceMissing; expect tenants a;"
		"expect device 0 0 NVIDIA-A100-SXM4-40GB 00000000:00:00.0 40960;"
		"kubelet forgets; list a `another device`; offer none; expect tenants a;"
		"expect health Unknown DeviceMissing; delete a; expect none"),
	PROMISE(a_device_that_comes_back_is_well_again,
		A_RUNS "nvml hides; publish; nvml shows; expect Healthy True NothingFound"),
	PROMISE(without_nvml_devices_come_from_what_was_published,
		A_RUNS "lose nvml; expect tenants a; expect slots 1/1; expect Ready True Current;"
		"expect device 0 0 NVIDIA-A100-SXM4-40GB 00000000:00:00.0 40960;"
		"expect Healthy Unknown NVMLUnavailable"),
	PROMISE(without_nvml_devices_come_from_full_uuids_in_the_books,
		"gpu 0 exclusive; run a on gpu0; offer gpu1::0 gpu1::1; list ghost gpu2; lose nvml;"
		"expect devices 3; expect tenants a; expect device -1 -1 - - 0; expect gpu1 slots 0/2;"
		"expect gpu2 Attributed False PodUnknown"),

	/* Settling */
	PROMISE(a_restarted_kubelets_short_list_ends_no_tenancy,
		"gpu 0 shared 4; run a on gpu0::0; run b on gpu0::1; lose checkpoint; publish;"
		"kubelet restarts; list none; offer none; expect tenants a b;" SETTLING
		"expect again 119s; heartbeat; wait 119s; heartbeat; wait 119s; heartbeat; wait 60989;"
		SETTLING "expect again 1; wait 1; expect tenants a b;"
		"expect Healthy False NotAdvertised"),
	PROMISE(a_short_list_beside_a_good_checkpoint_takes_no_witness_away,
		A_RUNS "kubelet restarts; list none;" SETTLING "expect a by=Checkpoint,PodResources"),
	PROMISE(a_complete_list_ends_the_settling,
		A_RUNS "run b on `no device`; kubelet forgets; kubelet restarts;" SETTLING
		"expect tenants a; list b `no device`; expect writes 0; list a `no device`; expect none"),
	PROMISE(a_pod_that_comes_after_a_complete_list_unsettles_nothing,
		A_RUNS "kubelet restarts;" UNSAID "pod b; expect writes 0; restart; report;" SETTLING
		"expect tenants a"),
	PROMISE(each_restart_settles_anew,
		A_RUNS "kubelet restarts; publish; pod b; kubelet restarts 5;" SETTLING),
	PROMISE(a_complete_list_of_before_the_restart_settles_nothing,
		A_RUNS "kubelet restarts -1; publish; pod b;" SETTLING),
	PROMISE(a_restart_far_in_the_future_is_no_restart,
		A_RUNS "kubelet restarts -5min; list none; join; expect actions Write"),
	PROMISE(an_unknown_holder_is_shown_while_the_list_settles,
		A_RUNS "list none; kubelet restarts; gpu 1 shared 1; book b gpu1::0;"
		"expect gpu1 tenants b"),

	/* Nodes without an agent */
	PROMISE(what_the_api_says_is_published_when_no_agent_has_come,
		"pod a status=gpu0; restart; expect devices 0; expect again 30s; wait 29999;"
		"expect writes 0; expect again 1; wait 1; expect writes 1; publish; expect tenants a"),
	PROMISE(a_status_without_an_agent_says_what_it_lacks,
		AGENTLESS "expect a Running Confirmed; expect node gpu-a; expect count 1;"
		"expect ReportFresh False NoAgent; expect Ready Unknown NoAgent;"
		"expect Attributed Unknown NoAgent; expect Healthy Unknown NoAgent;"
		"expect health Unknown NoAgent; expect mode Exclusive; expect slots 1/?;"
		"expect device -1 -1 - - 0"),
	PROMISE(without_an_agent_nothing_flips,
		AGENTLESS "expect writes 0; wait 120s; expect writes 0; wait 120s; expect writes 0; restart;"
		"expect writes 0; wait 30s; expect writes 0"),
	PROMISE(without_an_agent_pods_begin_and_end,
		AGENTLESS "delete a; expect none; expect recent a; expect slots 0/?;"
		"pod b status=gpu0::1; expect tenants b; expect mode Unknown"),
	PROMISE(the_first_report_of_an_agent_takes_the_object_over,
		AGENTLESS "gpu 0 exclusive; list a gpu0; book a gpu0; report; expect a Running Confirmed"
		"  by=Checkpoint,PodResources,PodStatus since=0; expect ReportFresh True ReportReceived;"
		"expect Ready True Current;" UNSAID "expect Healthy True NothingFound; expect slots 1/1;"
		"expect device 0 0 NVIDIA-A100-SXM4-40GB 00000000:00:00.0 40960;"
		"restart; wait 120s; expect ReportFresh False AgentSilent"),
	PROMISE(an_agents_status_outlives_a_restart_though_the_api_speaks_at_once,
		"gpu 0 shared 2; run a on gpu0::0 status=gpu0::0; run b on gpu0::1 container=init kind=Init;"
		"publish; restart; expect writes 0; wait 30s; expect writes 0; expect Ready True Current"),
	PROMISE(before_the_first_report_tenants_begin_by_the_word_of_the_api,
		"gpu 0 shared 2; publish; restart; pod a status=gpu0::0;"
		"expect a Running Confirmed by=PodStatus; expect slots 1/2; expect mode TimeSliced"),
	PROMISE(slices_describe_idle_devices_without_an_agent,
		"slice 0; slice 1; pod a; grant a gpu1; restart; expect devices 0; expect again 30s;"
		"wait 30s; expect device -1 -1 NVIDIA-A100-SXM4-40GB 0000:00:00.0 40960; expect none;"
		"expect count ?; expect slots ?/1; expect gpu1 tenants a"),
	PROMISE(a_hami_id_of_an_annotated_pod_tells_of_a_device_in_time,
		"pod a hami=`;` status=gpu0-1; restart; join; expect again 30s; wait 30s; expect writes 1"),

	/* One device, two nodes */
	PROMISE(a_device_that_another_node_holds_and_reports_is_left_alone,
		A_RUNS "node taken; claimed 1s; join; expect actions Keep; expect again 119s;"
		"expect node gpu-b; expect tenants a"),
	PROMISE(another_node_that_names_a_device_for_a_moment_changes_nothing,
		A_RUNS "claimed 1s 9999; expect writes 0; expect again 1; claimed 1s 10s;"
		"expect Ready False DuplicateUUID; claimed 1s 0; expect writes 0"),
	PROMISE(the_holder_of_a_device_that_another_node_reports_too_says_so,
		A_RUNS "claimed 1s; expect node gpu-a; expect tenants a; expect Ready False DuplicateUUID;"
		UNSAID "claimed 120s; expect Ready True Current"),
#define MOVES(age)                                                                             \
	"again;" A_RUNS "node taken; delete a; kubelet forgets; run b on gpu0; claimed " age ";"   \
	"wait 10; expect node gpu-a; expect tenants b; expect recent a; expect slots 1/1;"
	PROMISE(a_device_that_its_node_no_longer_reports_moves,
		MOVES("-1") MOVES("120s") MOVES("500s")),
	PROMISE(an_old_report_takes_no_device_away, A_RUNS "node taken; wait 120s; expect writes 0"),
	PROMISE(a_device_known_by_its_ids_only_is_not_taken_away,
		A_RUNS "node taken; lose nvml; expect writes 0"),
	PROMISE(a_device_that_went_to_another_node_is_left_to_that_node,
		A_RUNS "nvml hides; claimed 1s; expect writes 0"),
	PROMISE(with_an_agent_the_other_nodes_objects_are_not_looked_at_again,
		AGENTLESS "node taken; gpu 0; report; age 120s; join; expect again never"),

	/* Nodes that are gone */
	PROMISE(objects_of_a_node_that_is_gone_end_after_the_stated_time,
		A_RUNS "wait 120s; publish; node gone; expect writes 0; expect again 10min; wait 599999;"
		"expect writes 0; expect again 1; expect buried no; wait 1; join; expect buried yes;"
		"expect actions Delete; publish; join; expect devices 0; expect again never"),
	PROMISE(a_node_whose_agent_goes_on_reporting_is_not_buried,
		A_RUNS "node gone; wait 119s; heartbeat; wait 119s; heartbeat; wait 119s; heartbeat;"
		"wait 119s; heartbeat; wait 119s; heartbeat; wait 119s; heartbeat; expect writes 0;"
		"expect buried no; expect again 120s; wait 120s; join; expect actions Delete"),
	PROMISE(a_node_without_devices_that_is_gone_is_buried_as_well,
		"join; expect again never; node gone; join; expect again 119s; wait 120s; join;"
		"expect again 480s; wait 10min; join; expect buried yes; expect again never; restart; join;"
		"expect buried yes; expect again never"),
	PROMISE(a_node_that_is_gone_leaves_a_device_to_the_node_that_reports_it,
		A_RUNS "wait 120s; publish; node gone; wait 10min; claimed 1s; expect writes 0;"
		"expect again 119s"),
	PROMISE(a_node_that_is_gone_deletes_nothing_of_other_nodes,
		A_RUNS "wait 120s; publish; node gone; wait 10min; node taken; expect writes 0"),
	PROMISE(a_report_of_a_node_that_the_api_does_not_know_counts,
		"node gone;" A_RUNS "expect tenants a"),
};

SCENARIO_MAIN(promises)
