/* SPDX-License-Identifier: Apache-2.0 */

/* Who holds a device by what the kubelet's books, pods and claims say, and how it is shown. */

#include "lib/scenario.h"

#define A_RUNS "gpu 0 exclusive; run a on gpu0; publish;"
#define B_IS_UNKNOWN "gpu 0 exclusive; book b gpu0; list b gpu0;"
#define BOTH_FAIL "lose list; lose checkpoint;"
#define HAMI_ID "gpu0-1"
/* The kubelet gives "a" gpu1 instead of gpu0: the List has the pod, and so is complete. */
#define MOVED A_RUNS "gpu 1 exclusive; kubelet forgets; list a gpu1; book a gpu1;"

static const struct scenario_promise promises[] = {
	PROMISE(a_uid_of_the_checkpoint_that_the_api_knows_is_a_confirmed_tenant,
		"gpu 0 exclusive; run a on gpu0 owner=train;"
		"expect a Confirmed Running by=Checkpoint,PodResources pod=ml/a slots=1 since=0"
		"  resource=nvidia.com/gpu workload=Job/train partitions=none role=Workload;"
		"expect tenants a; expect recent none; expect count 1; expect summary ml/a;"
		"expect Attributed True AllResolved; expect Ready True Current;"
		"again; gpu 0 exclusive; run a on gpu0; expect a workload=none"),
	PROMISE(the_checkpoint_alone_confirms_too,
		"gpu 0 exclusive; pod a; book a gpu0; expect a Confirmed Running by=Checkpoint"),
	PROMISE(a_pod_that_seems_to_want_no_gpu_can_hold_one,
		"gpu 0 exclusive; run a on gpu0 nogpu; pod other; expect a Confirmed Running;"
		"pod a nogpu phase=Pending; expect a Confirmed Starting"),
	PROMISE(a_static_pod_is_found_by_its_hash_and_published_under_the_apis_uid,
		"gpu 0 exclusive; run s on gpu0 hash=c0ffee; expect tenants s;"
		"expect s Confirmed Running by=Checkpoint,PodResources"),
	PROMISE(a_static_pod_keeps_its_since_when_its_mirror_appears,
		"gpu 0 exclusive; book =c0ffee gpu0; list s gpu0; expect c0ffee Pending Unconfirmed;"
		"wait 5s; pod s hash=c0ffee; expect s Confirmed Running since=0; expect tenants s;"
		"expect recent none;"
		"again; gpu 0 exclusive; book =c gpu0; list s gpu0; expect c Pending; wait 5s;"
		"pod s hash=c; expect s Confirmed since=0; expect tenants s; expect recent none"),
	PROMISE(a_static_pod_is_there_once_while_the_books_are_silent,
		"gpu 0 exclusive; book =c0ffee gpu0; list s gpu0; publish;" BOTH_FAIL
		"pod s hash=c0ffee; expect s Confirmed Running; expect tenants s;"
		"expect recent none; expect slots 1/1;"
		"pod s hash=c0ffee status=gpu0; expect s Confirmed; expect tenants s; expect slots 1/1"),
	PROMISE(who_was_published_without_a_uid_is_nobodys_past,
		A_RUNS "forge uid= since=1; expect a Confirmed since=0"),
	PROMISE(who_was_published_without_a_time_is_there_since_now,
		A_RUNS "forge since=0; wait 1s; expect a since=1000"),
	PROMISE(a_pod_on_another_node_is_refused_and_counted,
		B_IS_UNKNOWN "elsewhere b; expect none; expect refused 1; expect slots 0/1"),
	PROMISE(an_unknown_uid_is_pending_and_then_unresolved,
		"gpu 0 exclusive; book b-and-more gpu0; list b gpu0;"
		"expect b-and-more Pending Unconfirmed pod=none by=Checkpoint;"
		"expect summary uid/b-an; expect slots 1/1; expect count 1;"
		"expect Attributed False Pending `1 slot is held by a pod that the API server does not"
		" know yet`; expect Ready False Unresolved; expect again 60s;"
		"wait 59999; expect writes 0; expect again 1; wait 1;"
		"expect b-and-more Unresolved Unconfirmed since=0; expect Attributed False Unresolved"
		" `1 slot is held by a pod that the API server does not know`"),
	PROMISE(the_first_that_becomes_unresolved_is_waited_for,
		"gpu 0 shared 3; book b gpu0::0; list b gpu0::0; publish; wait 10s;"
		"book a gpu0::1; list a gpu0::1; publish; wait 10s;"
		"book c gpu0::2; list c gpu0::2; publish; wait 10s;"
		"expect again 30s; wait 30s; expect b Unresolved; expect a Pending; expect again 10s;"
		"wait 5s; expect again 5s; wait 15s; expect c Unresolved; expect again 39s"),
	PROMISE(a_pending_holder_becomes_a_tenant_when_the_api_knows_its_pod,
		B_IS_UNKNOWN "expect b Pending; wait 10; pod b; expect b Confirmed Running since=0;"
		"expect Attributed True AllResolved"),
	PROMISE(a_clock_that_is_set_back_starts_the_wait_anew,
		B_IS_UNKNOWN "publish; clock -3600s; expect b Pending Unconfirmed since=-3600000;"
		"wait 60s; expect b Unresolved"),
#define YEARS_OFF(years)                                                                          \
	"again;" A_RUNS "clock " years "; expect tenants a; expect a Running Confirmed;"          \
	"publish; wait 10s; report; expect writes 0; pod b; book b gpu0; list b gpu0; delete a;"  \
	"expect tenants b; expect recent a; expect Ready True Current;"
	PROMISE(a_clock_that_is_years_off_changes_times_only,
		YEARS_OFF("87600h") YEARS_OFF("-87600h") YEARS_OFF("105120h")),
	PROMISE(an_unknown_uid_that_no_good_list_knows_of_is_a_left_over,
		"gpu 0 exclusive; book b gpu0; expect none; expect slots 0/1;"
		"lose list; expect b Pending Unconfirmed"),
	PROMISE(an_unknown_holder_goes_when_the_checkpoint_is_rewritten_without_it,
		B_IS_UNKNOWN "publish; kubelet forgets; expect none; expect recent none"),
	PROMISE(an_unknown_holder_stays_while_the_books_are_silent,
		B_IS_UNKNOWN "publish;" BOTH_FAIL "expect b Pending Unconfirmed; expect again 60s;"
		"wait 60s; expect b Unresolved; pod b; expect b Confirmed Running;"
		"pod b phase=Failed; expect none"),
	PROMISE(an_unknown_holder_whose_pod_is_over_goes,
		B_IS_UNKNOWN "publish;" BOTH_FAIL "pod b phase=Failed; expect none;"
		"expect recent none; expect slots 0/1"),
	PROMISE(a_good_list_ends_an_unknown_holder_unless_it_may_be_short,
		B_IS_UNKNOWN "publish; lose checkpoint; list none; pod unlisted; kubelet restarts;"
		"expect b Pending Unconfirmed; kubelet settled; expect none"),
	PROMISE(an_unknown_tenant_that_is_on_another_node_stays_no_tenant_without_a_report,
		B_IS_UNKNOWN "expect tenants b; restart; expect tenants b; elsewhere b; expect none;"
		"expect recent none"),
	PROMISE(a_pod_that_is_gone_ends_and_is_remembered,
		A_RUNS "wait 1s; delete a; expect none; expect left ml/a/main:0-1000; expect ended a;"
		"expect slots 0/1; expect Attributed True AllResolved; kubelet forgets;"
		"expect writes 0; expect ended none"),
	PROMISE(who_left_did_so_when_the_api_server_told_it,
		A_RUNS "wait 1s; told b 700; told a 400; pod a nogpu; kubelet forgets;"
		"expect left ml/a/main:0-1000;"
		"again;" A_RUNS "wait 1s; told b 700; told a 400; delete a;"
		"expect left ml/a/main:0-600"),
#define LEFT(told, there, until)                                                              \
	"again;" A_RUNS "wait 1s; told b 700; told others " told "; delete a;" there           \
	"kubelet forgets; expect left ml/a/main:0-" until ";"
	PROMISE(who_left_before_the_first_list_did_so_by_then,
		LEFT("300", "", "700") LEFT("1", "", "999") LEFT("-1", "", "1000")
		LEFT("300", "pod a nogpu;", "1000") LEFT("1001", "", "0")),
	PROMISE(an_ended_uid_is_known_as_such_without_having_been_published,
		B_IS_UNKNOWN "end b; end not-named; expect none; expect slots 0/1; expect ended b"),
	PROMISE(a_pod_that_is_over_is_no_tenant,
		"gpu 0 exclusive; run a on gpu0 phase=Succeeded; expect none; expect recent none;"
		"expect slots 0/1; expect Attributed True AllResolved; pod a phase=Failed; expect none;"
		"expect slots 0/1; pod a rejected; expect none; expect recent none; expect slots 0/1"),
	PROMISE(a_tenant_whose_pod_is_over_ends, A_RUNS "over a; expect none; expect recent a"),
	PROMISE(the_phase_follows_the_pod_and_its_container,
		A_RUNS "pod a unseen; expect a Starting Confirmed;"
		"pod a state=Waiting; expect a Starting; pod a state=Running; expect a Running;"
		"pod a state=Terminated; expect a Reserved;"
		"pod a kind=Init state=Terminated; expect a Reserved;"
		"pod a kind=Sidecar state=Running; expect a Running; pod a deleting; expect a Terminating;"
		"pod a deleting state=Terminated; expect a Terminating Confirmed"),
	PROMISE(an_init_container_is_a_tenant_though_no_list_has_it,
		"gpu 0 exclusive; run a on gpu0 kind=Init state=Terminated;"
		"expect a Reserved Confirmed by=Checkpoint"),

	/* Units */
	PROMISE(several_replicas_in_one_container_are_one_tenant,
		"gpu 0 shared 4; run a on gpu0::0 gpu0::2; expect a Confirmed slots=2; expect count 1;"
		"expect slots 2/4"),
	PROMISE(the_same_id_named_twice_is_one_slot,
		A_RUNS "book a gpu0@a.example/gpu; expect a Confirmed slots=1 resource=a.example/gpu"),
	PROMISE(a_partition_is_named_by_its_tenant_and_outlives_nvmls_word,
		"gpu 0 mig 2; run a on mig0.1; expect a Confirmed partitions=mig0.1; nvml hides;"
		"offer none; expect a Confirmed partitions=mig0.1; expect unknown-ids 0"),
	PROMISE(partitions_of_two_resources_are_one_tenant,
		"gpu 0 mig 3; pod a; book a mig0.2@nvidia.com/mig-2g.10gb mig0.0@nvidia.com/mig-3g.20gb;"
		"expect a slots=2 resource=nvidia.com/mig-2g.10gb partitions=mig0.0,mig0.2"),
	PROMISE(partitions_are_listed_in_order_each_once,
		"gpu 0; pod a; grant a gpu0 device=p/0 partition=m2; grant a gpu0 device=p/1 partition=m;"
		"grant a gpu0 device=p/2 partition=m2; grant a gpu0 device=p/3 partition=m3;"
		"expect a Confirmed slots=4 partitions=m,m2,m3"),
	PROMISE(of_several_resources_the_first_by_name_is_shown,
		"gpu 0 shared 4; pod a; book a gpu0::0@m gpu0::1@z gpu0::2@a gpu0::3@k;"
		"expect a resource=a slots=4"),
	PROMISE(system_pods_are_listed_and_not_counted,
		"operator ml; gpu 0 shared 3; run a on gpu0::0 system; expect count 0;"
		"expect summary none; expect a role=Validation; expect slots 1/3; run b on gpu0::1;"
		"expect count 1; expect summary ml/b; expect tenants a b"),
	PROMISE(what_is_called_like_a_system_pod_elsewhere_is_a_tenant,
		"gpu 0 exclusive; run a on gpu0 system; expect count 1; operator gpu-operator;"
		"expect count 1; expect a Confirmed role=Workload"),
	PROMISE(the_summary_counts_pods_and_not_containers,
		"gpu 0 shared 4; run b on gpu0::0; book b/second gpu0::1; expect summary ml/b;"
		"expect count 2; run a on gpu0::2; run c on gpu0::3; expect summary `ml/a +2`;"
		"expect tenants a b b/second c"),
	PROMISE(the_summary_shows_a_name_whole_and_a_uid_in_short,
		"gpu 0 exclusive; book =12345 gpu0; list b gpu0; expect summary uid/12345;"
		"again; gpu 0 exclusive; book =12345678 gpu0; list b gpu0; expect summary uid/12345678;"
		"again; gpu 0 exclusive; book =123456789 gpu0; list b gpu0; expect summary uid/12345678;"
		"again; gpu 0 exclusive; run a-longer-name on gpu0; expect summary ml/a-longer-name"),

	/* Names */
	PROMISE(a_name_alone_gives_name_only,
		"gpu 0 exclusive; pod a; list a gpu0; expect a NameOnly Running by=PodResources;"
		"expect Attributed True AllResolved; lose checkpoint; expect a NameOnly"),
	PROMISE(what_the_checkpoint_confirmed_it_bears_witness_to_while_it_is_silent,
		A_RUNS "lose checkpoint;"
		"expect a Confirmed by=Checkpoint,PodResources"),
	PROMISE(what_a_name_alone_bears_out_is_not_confirmed_by_having_been_so,
		"gpu 0 exclusive; lose checkpoint; pod a status=gpu0; list a gpu0;"
		"expect a Confirmed by=PodResources,PodStatus; pod a; expect a NameOnly by=PodResources"),
#define KEPT_BY_NAME(before, after, list)                                                    \
	"again;" A_RUNS "forge confidence=" before "; kubelet forgets; pod unlisted;"         \
	"kubelet restarts;" list "expect a " after " by=PodResources;"
	PROMISE(who_is_kept_by_a_name_alone_is_confirmed_no_more,
		KEPT_BY_NAME("Confirmed", "NameOnly", "") KEPT_BY_NAME("Disputed", "Disputed", "")
		KEPT_BY_NAME("Confirmed", "NameOnly", "lose list;")
		KEPT_BY_NAME("Disputed", "Disputed", "lose list;")),
	PROMISE(other_devices_than_those_confirmed_are_held_by_name_only,
		"gpu 0 shared 2; run a on gpu0::0; publish; lose checkpoint; list a gpu0::1;"
		"expect a Running NameOnly"),
#define OTHER_PARTS(before, now, confidence)                                                  \
	"again; gpu 0 mig 3; run a on " before "; expect a Confirmed; lose checkpoint; list none;" \
	"list a " now "; expect a Running " confidence ";"
	PROMISE(other_partitions_than_those_confirmed_are_held_by_name_only,
		OTHER_PARTS("mig0.0 mig0.1", "mig0.0 mig0.1", "Confirmed")
		OTHER_PARTS("mig0.0 mig0.1", "mig0.0 mig0.2", "NameOnly")
		OTHER_PARTS("mig0.0 mig0.2", "mig0.1 mig0.2", "NameOnly")
		OTHER_PARTS("mig0.0::0 mig0.0::1", "mig0.0::0 mig0.0::1", "Confirmed")
		OTHER_PARTS("mig0.0::0 mig0.0::1", "mig0.0::0 mig0.1::0", "NameOnly")
		OTHER_PARTS("mig0.0::0 mig0.1::0", "mig0.0::0 mig0.0::1", "NameOnly")),
	PROMISE(a_good_checkpoint_without_it_leaves_name_only,
		A_RUNS "book none; expect a Running NameOnly"),
	PROMISE(a_name_that_no_pod_has_holds_a_slot_of_nobody,
		"gpu 0 exclusive; list ghost gpu0; expect none; expect summary none; expect slots 1/1;"
		"expect Attributed False PodUnknown `1 slot is held by an unidentified pod`;"
		"expect Ready False Unresolved"),
	PROMISE(without_a_good_checkpoint_names_decide,
		A_RUNS "join; expect by-names no; old checkpoint; join; expect by-names yes;"
		"lose list; join; expect by-names no"),
#define BY_NAMES(booked, listed, answer)                                                      \
	"again; gpu 0 shared 4; gpu 1 exclusive; run a on gpu0::" booked "; list none;"         \
	"list a gpu0::" listed "; join; expect by-names " answer " no;"
	PROMISE(names_decide_on_what_the_list_says_beyond_a_good_checkpoint,
		BY_NAMES("0", "0", "no") BY_NAMES("0", "1", "yes") BY_NAMES("1", "0", "yes")
		BY_NAMES("1", "1", "no")),

	/* Staying and ending */
	PROMISE(a_tenant_that_the_checkpoint_has_stays_when_the_list_is_short,
		A_RUNS "list none; expect a Confirmed Running by=Checkpoint"),
	PROMISE(a_tenant_stays_when_the_checkpoint_lacks_it_and_the_list_is_not_complete,
		A_RUNS "kubelet forgets; expect a Unconfirmed Running by=none; expect slots 1/1"),
	PROMISE(a_tenant_goes_when_a_complete_list_and_the_checkpoint_lack_it,
		MOVED "expect none; expect recent a; expect gpu1 tenants a; again;"
		MOVED "claims unknown; expect none; expect recent a; expect gpu1 tenants a; again;"
		MOVED "lose nvml; expect none; expect recent a; expect gpu1 tenants a"),
	PROMISE(a_complete_list_alone_ends_nobody,
		MOVED "lose checkpoint; expect a Confirmed by=Checkpoint; expect recent none"),
	PROMISE(a_list_that_may_be_short_is_still_a_witness,
		A_RUNS "lose checkpoint; list none; pod unlisted; kubelet restarts;"
		"expect a Confirmed Running by=Checkpoint,PodResources"),
	PROMISE(everything_stays_while_both_books_are_silent,
		A_RUNS BOTH_FAIL "expect a Confirmed by=Checkpoint,PodResources; expect slots 1/1;"
		"expect count 1; expect Attributed Unknown SourcesFailed;"
		"expect Ready Unknown SourcesFailed; delete a; expect none; expect recent a;"
		"expect slots 0/1"),
	PROMISE(without_any_book_ever_nothing_is_known_and_none_is_not_said,
		"gpu 0;" BOTH_FAIL "expect count ?; expect slots ?/?;"
		"expect Attributed Unknown SourcesFailed"),
	PROMISE(a_book_that_was_read_says_that_there_is_none,
		"gpu 0; lose list; expect count 0; again; gpu 0; lose checkpoint; expect count 0;"
		"again; gpu 0; lose checkpoint; pod unlisted; kubelet restarts; expect count ?"),
	PROMISE(what_was_counted_without_an_agent_is_no_count,
		"pod a status=gpu0; agentless; expect count 1; delete a; gpu 0;" BOTH_FAIL
		"report; expect count ?; expect recent a"),
	PROMISE(all_who_held_a_card_on_another_node_are_remembered,
		"gpu 0 shared 2; run a on gpu0::0; run b on gpu0::1; publish; node taken; delete a;"
		"delete b; kubelet forgets; wait 1s; told others 300; expect node gpu-a; expect none;"
		"expect left ml/a/main:0-1000 ml/b/main:0-1000; expect slots 0/2"),
	PROMISE(a_new_pod_of_the_same_name_inherits_nothing,
		A_RUNS "delete a; pod a uid=uid-new phase=Pending unseen; expect none; expect recent a;"
		"wait 100; book none; book new gpu0; expect new Starting Confirmed since=100;"
		"expect tenants new"),
	PROMISE(of_a_tenant_whom_nobody_names_any_more_it_is_no_dispute,
		"gpu 0 exclusive; gpu 1 exclusive; run a on gpu0 status=gpu1; later; expect a Disputed;"
		"pod b; kubelet forgets; expect a Unconfirmed by=none;"
		"again; gpu 0 exclusive; gpu 1 exclusive; run a on gpu0 status=gpu1; process a gpu0;"
		"later; expect a Disputed; pod b; kubelet forgets; expect a Unconfirmed by=Processes"),
	PROMISE(who_is_not_there_by_a_claim_ends_whatever_is_known_of_claims,
		"gpu 0 exclusive; gpu 1 exclusive; run a on gpu0; expect tenants a; kubelet forgets;"
		"claims unknown; run a on gpu1; expect none; expect recent a; expect gpu1 tenants a"),

	/* The status of pods */
	PROMISE(the_status_of_the_pod_alone_confirms,
		"gpu 0 exclusive; pod a status=gpu0; lose checkpoint; expect a Confirmed Running"
		"  by=PodStatus resource=nvidia.com/gpu slots=1; expect slots 1/1"),
	PROMISE(all_witnesses_of_one_container_are_one_tenants_in_fixed_order,
		"gpu 0 exclusive; run a on gpu0 status=gpu0; grant a gpu0 device=gpu0;"
		"expect tenants a;"
		"expect a Confirmed slots=1 by=Checkpoint,PodResources,PodStatus,ResourceClaim"),
	PROMISE(what_the_status_of_the_pod_leaves_out_the_checkpoint_has,
		"gpu 0 shared 2; run a on gpu0::0 container=side second=main kind=Sidecar"
		"  status2=gpu0::1; lose list; expect tenants a a/side; expect a by=PodStatus;"
		"expect a/side by=Checkpoint"),
	PROMISE(who_only_the_status_of_the_pod_named_goes_when_it_names_another_device,
		"pod a status=gpu0; agentless; publish; pod a status=gpu1; expect none;"
		"expect recent a; expect slots 0/?; expect gpu1 tenants a"),
	PROMISE(who_only_the_status_of_the_pod_named_stays_when_it_names_none,
		"pod a status=gpu0; agentless; publish; pod a second=side status2=gpu1;"
		"expect a Confirmed Running; expect recent none; expect gpu1 tenants a/side"),
	PROMISE(each_container_goes_by_what_the_status_says_of_it,
		"pod a second=side status=gpu1 status2=gpu0; agentless; expect tenants a/side;"
		"pod a second=side status=gpu1 status2=gpu2; expect none; expect gpu1 tenants a;"
		"expect gpu2 tenants a/side"),
	PROMISE(who_the_checkpoint_named_too_stays_whatever_the_status_of_the_pod_says,
		"gpu 0 exclusive; gpu 1 exclusive; run a on gpu0 status=gpu0; publish;" BOTH_FAIL
		"pod a status=gpu1; expect a Running Confirmed"),
#define FORGED(by, then)                                                                      \
	"again; pod a status=gpu0; agentless; expect a Confirmed; forge by=" by ";"              \
	"pod a status=gpu1; expect tenants " then ";"
	PROMISE(who_was_published_goes_when_none_but_the_api_ever_named_it,
		FORGED("PodStatus", "none") FORGED("PodStatus,Processes", "none")
		FORGED("PodStatus,ResourceClaim", "none") FORGED("PodStatus,KAI", "none")
		FORGED("PodStatus,HAMi", "a") FORGED("PodStatus,PodResources", "a")
		FORGED("Checkpoint,PodStatus", "a") FORGED("Processes", "a")
		FORGED("Oracle", "a") FORGED("", "a")),
#define LOSES(by, confidence, more, after)                                                    \
	"again;" A_RUNS BOTH_FAIL "forge by=" by " confidence=" confidence ";" more              \
	"expect a Running " after ";"
	PROMISE(who_stays_loses_the_witnesses_that_could_be_asked,
		LOSES("Checkpoint,PodResources,PodStatus", "Confirmed", "pod a status=gpu1;",
		      "Confirmed by=Checkpoint,PodResources")
		LOSES("Checkpoint,PodStatus", "Confirmed", "", "Confirmed by=Checkpoint,PodStatus")
		LOSES("Checkpoint,PodStatus,ResourceClaim", "Confirmed",
		      "claims unknown; pod a status=gpu1 claim=c;",
		      "Confirmed by=Checkpoint,ResourceClaim")
		LOSES("Checkpoint,ResourceClaim", "Confirmed", "", "Confirmed by=Checkpoint")
		LOSES("PodResources,KAI", "Annotated", "", "NameOnly by=PodResources")
		LOSES("PodResources,KAI,Processes", "Annotated", "",
		      "NameOnly by=PodResources,Processes")
		LOSES("HAMi,KAI", "Annotated", "", "Annotated by=HAMi")
		LOSES("HAMi,KAI,Processes", "Confirmed", "", "Confirmed by=HAMi,Processes")),
	PROMISE(what_the_books_said_is_not_unsaid_by_a_controller_that_starts,
		"gpu 0 shared 2; run a on gpu0::0 gpu0::1 status=gpu0::0,gpu0::1; publish; restart;"
		"pod a status=gpu0::0; expect a Confirmed by=Checkpoint,PodResources,PodStatus"),
	PROMISE(what_the_checkpoint_said_of_an_unknown_pod_is_not_kept_when_it_turns_up,
		"gpu 0 exclusive; book a gpu0; list a gpu0; expect a Pending Unconfirmed;"
		"lose checkpoint; pod a; expect a NameOnly Running by=PodResources"),

	/* Claims */
	PROMISE(a_claim_makes_a_confirmed_tenant,
		"gpu 0; pod a; grant a gpu0; expect a Confirmed Running by=ResourceClaim"
		"  resource=gpu.nvidia.com slots=1 role=Workload; expect slots 1/1"),
	PROMISE(a_claim_of_a_part_names_the_partition,
		"gpu 0 mig 2; pod a; grant a gpu0 partition=mig0.1; expect a Confirmed partitions=mig0.1"),
	PROMISE(a_claim_that_two_pods_share_is_two_tenants_on_one_slot,
		"gpu 0; pod a; pod b; grant a gpu0; grant b gpu0; expect tenants a b; expect count 2;"
		"expect slots 1/1"),
	PROMISE(who_has_admin_access_watches_and_is_not_counted,
		"gpu 0 exclusive; pod m; grant m gpu0 admin; expect m Confirmed Running role=Monitor"
		"  slots=0; expect count 0; expect summary none; expect slots 0/1; run m on gpu0;"
		"expect m Confirmed role=Workload slots=1; expect count 1"),
	PROMISE(who_watches_and_then_uses_is_a_user,
		"gpu 0; pod m; grant m gpu0 device=p/0 admin; grant m gpu0 device=p/1;"
		"grant m gpu0 device=p/2 admin; expect m Confirmed role=Workload slots=1"),
	PROMISE(a_claim_that_is_withdrawn_ends_its_tenant,
		"gpu 0; pod a claim=c; grant a gpu0; publish; grant none; claims unknown; expect tenants a;"
		"pod a nogpu claim=c; expect tenants a; claims known; expect none; expect recent a"),
	PROMISE(a_claim_that_moves_takes_its_tenant_along,
		"gpu 0; gpu 1; pod a; grant a gpu0; publish; grant none; grant a gpu1 device=pool/gpu-0;"
		"expect none; expect gpu1 tenants a"),
	PROMISE(a_claim_stays_a_witness_while_claims_cannot_be_read,
		"gpu 0 exclusive; run a on gpu0; grant a gpu0 device=gpu0;"
		"expect a Confirmed by=Checkpoint,PodResources,ResourceClaim; grant none;"
		"claims unknown; expect a Confirmed by=Checkpoint,PodResources,ResourceClaim;"
		"claims known; expect a Confirmed by=Checkpoint,PodResources"),

	/* Placeholders and annotations */
	PROMISE(a_hami_id_without_an_annotation_names_a_stand_in,
		"gpu 0; offer gpu0-0 gpu0-1 gpu0-2; run a on gpu0-1; expect a Unconfirmed Running"
		"  placeholder=HAMi by=Checkpoint,PodResources; expect slots 1/3; expect mode Unknown;"
		"expect evidence `device IDs are HAMi's`; expect Attributed False Placeholder;"
		"expect Ready False Unresolved"),
	PROMISE(a_stand_in_whose_pod_turns_up_is_still_not_confirmed,
		"gpu 0; offer gpu0-1; book b gpu0-1; list b gpu0-1; expect b Pending Unconfirmed;" BOTH_FAIL
		"pod b; expect b Running Unconfirmed"),
#define NOT_KNOWN "expect Attributed False Unresolved `2 slots are held by pods that are not all identified`"
	PROMISE(a_stand_in_of_a_pod_that_nobody_knows_is_counted_once,
		"gpu 0; offer gpu0-0 gpu0-1; book b gpu0-0; list b gpu0-0; expect Attributed False"
		" Pending `1 slot is held by a pod that the API server does not know yet`; wait 60s;"
		"expect Attributed False Unresolved `1 slot is held by a pod that the API server does"
		" not know`; again; gpu 0; offer gpu0-0 gpu0-1; book b gpu0-0; list b gpu0-0;"
		"run a on gpu0-1;" NOT_KNOWN "; wait 60s;" NOT_KNOWN "; again; gpu 0;"
		"offer gpu0-0 gpu0-1; book b gpu0-0; list b gpu0-0; list x gpu0-1;" NOT_KNOWN),
	PROMISE(a_stand_in_beside_somebody_who_is_not_known_is_not_taken_for_two_of_either,
		"gpu 0; offer gpu0-0 gpu0-1; run a on gpu0-0; list x gpu0-1;" NOT_KNOWN),
	PROMISE(a_system_pod_stands_in_for_nobody_who_matters,
		"operator ml; gpu 0; offer gpu0-1; run a on gpu0-1 system;"
		"expect a Unconfirmed placeholder=HAMi; expect Attributed True AllResolved"),
	PROMISE(what_the_books_said_of_a_stand_in_stays_while_there_is_no_report,
		"gpu 0; offer gpu0-1; run a on gpu0-1 status=gpu0-1; expect a Unconfirmed Running"
		"  placeholder=HAMi by=Checkpoint,PodResources,PodStatus; restart; expect writes 0"),
/* It has one device as such, and another by HAMi, whose annotation leads to the same. */
#define ANNOTATED                                                                              \
	"gpu 0 exclusive; gpu 1; offer gpu1-1;"                                                    \
	"run a on gpu0 status=gpu0,gpu1-1 hami=`GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA," \
	"4000,30:;`"
	PROMISE(what_the_books_said_of_an_annotated_device_stays_while_there_is_no_report,
		ANNOTATED "; expect a Confirmed by=Checkpoint,PodResources,PodStatus,HAMi; restart;"
		"expect writes 0"),
	PROMISE(a_tenant_can_have_every_witness,
		ANNOTATED " group=g; pod r reservation group=g status=gpu0; pod b; grant a gpu0;"
		"grant b gpu0 partition=m; process a gpu0; publish; expect a Confirmed"
		"  by=Checkpoint,PodResources,PodStatus,ResourceClaim,HAMi,KAI,Processes"),
};

SCENARIO_MAIN(promises)
