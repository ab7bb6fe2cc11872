/* SPDX-License-Identifier: Apache-2.0 */

/* Witnesses that contradict each other, and IDs that are no known device's. */

#include "lib/scenario.h"

/* The kubelet's books give pod "a" gpu0, and the pod's status names gpu1. */
#define CONTRADICT "gpu 0 exclusive; gpu 1 exclusive; run a on gpu0 status=gpu1;"
#define THEY_DIFFER "expect disagreement a Checkpoint=1 PodResources=1 PodStatus=0;"
#define AGREE "expect disagreement none;"
#define HARMONY "later; expect disagreement none; expect Attributed True AllResolved;"

static const struct scenario_promise promises[] = {
	PROMISE(a_pod_status_that_names_another_device_contradicts_the_books,
		CONTRADICT "later;" THEY_DIFFER "expect a Running Disputed; expect slots 1/1;"
		"expect Attributed False SourceDisagreement; expect Ready False SourceDisagreement;"
		"expect gpu1 disagreement a Checkpoint=0 PodResources=0 PodStatus=1;"
		"expect gpu1 a Running Disputed"),
	PROMISE(a_list_that_names_another_device_contradicts_the_checkpoint,
		"gpu 0 exclusive; gpu 1 exclusive; pod a; book a gpu0; list a gpu1; later;"
		"expect disagreement a Checkpoint=1 PodResources=0; expect a Disputed;"
		"expect gpu1 disagreement a Checkpoint=0 PodResources=1"),
	PROMISE(witnesses_that_name_the_container_contradict_without_another_heartbeat,
		"gpu 0 exclusive; gpu 1 exclusive; pod a; book a gpu0; list a gpu1; wait 10s;"
		"expect disagreement a Checkpoint=1 PodResources=0; expect awaits no;"
		"expect gpu1 disagreement a Checkpoint=0 PodResources=1"),
	PROMISE(a_list_that_has_the_pod_without_the_container_contradicts_it,
		"gpu 0 shared 2; run a on gpu0::0 second=side; book a/side gpu0::1; later;"
		"expect disagreement a/side Checkpoint=1 PodResources=0"),
	PROMISE(witnesses_that_count_differently_on_one_device_disagree,
		"gpu 0 shared 4; run a on gpu0::0 status=gpu0::0,gpu0::1; later;"
		"expect disagreement a Checkpoint=1 PodResources=1 PodStatus=2"),
	PROMISE(of_a_device_that_hami_need_not_have_meant_nothing_is_disputed,
		"gpu 0; gpu 1; offer gpu0-0 gpu1-0; pod a status=gpu0-0; list a gpu1-0; later;"
		"expect a Running Unconfirmed placeholder=HAMi by=PodStatus;" AGREE
		"expect Attributed False Placeholder"),
	PROMISE(witnesses_that_name_as_many_other_ids_disagree,
		"gpu 0 shared 4; run a on gpu0::0 status=gpu0::1; later;"
		"expect disagreement a Checkpoint=1 PodResources=1 PodStatus=1;"
		"expect a Disputed slots=2; expect Attributed False SourceDisagreement"),
	PROMISE(each_witness_is_shown_with_the_ids_that_it_names,
		"gpu 0 mig 2; gpu 1 exclusive; pod a status=gpu1; book a mig0.1; list a mig0.0; later;"
		"expect ids a Checkpoint mig0.1; expect ids a PodResources mig0.0;"
		"expect ids a PodStatus none"),
	PROMISE(ids_that_any_who_speaks_lacks_come_first,
		"gpu 0 shared 2; pod a status=gpu0::0,gpu0::1; list a gpu0::0; book a gpu0::0; later;"
		"expect ids a PodStatus gpu0::1,gpu0::0;"
		"again; gpu 0 shared 2; pod a status=gpu0::0,gpu0::1; list a gpu0::0; lose checkpoint;"
		"later; expect ids a PodStatus gpu0::1,gpu0::0;"
		"again; gpu 0 shared 2; pod a status=gpu0::0,gpu0::1; list a gpu0::0 gpu0::1;"
		"book a gpu0::0; later; expect ids a PodResources gpu0::1,gpu0::0"),
	PROMISE(ids_keep_their_order_where_a_silent_witness_lacks_all,
		"gpu 0 shared 4; pod a status=gpu0::0; list a gpu0::0 gpu0::1; later;"
		"expect disagreement a Checkpoint=0 PodResources=2 PodStatus=1;"
		"expect ids a PodResources gpu0::0,gpu0::1"),
	PROMISE(an_id_that_only_a_claim_gives_is_no_other_witnesses_to_name,
		"gpu 0 shared 4; run a on gpu0::0 status=gpu0::0; grant a gpu0; later;" AGREE
		"expect a Running Confirmed slots=2"),
	PROMISE(a_checkpoint_that_was_wiped_contradicts_those_that_remember,
		"gpu 0 exclusive; run a on gpu0 status=gpu0; later;" AGREE "book none; report;" AGREE
		"later; expect disagreement a Checkpoint=0 PodResources=1 PodStatus=1"),

	/* Time */
	PROMISE(a_difference_counts_when_the_report_has_stood_for_the_stated_time,
		CONTRADICT "report;" AGREE "expect a Confirmed Running; expect again 10s;"
		"expect Attributed True AllResolved; wait 9999; expect writes 0; expect again 1;"
		"wait 1; expect writes 2"),
	PROMISE(other_news_all_the_time_does_not_put_off_a_difference,
		CONTRADICT "report;" AGREE "wait 9999; report;" AGREE "expect again 1; wait 1; report;"
		THEY_DIFFER),
	PROMISE(a_difference_that_was_gone_in_between_begins_anew,
		CONTRADICT "publish; wait 9999; pod a status=gpu0; publish; pod a status=gpu1;"
		"publish; wait 9999;" AGREE "wait 1;" THEY_DIFFER),
#define FIRST "gpu 0 shared 2; gpu 1 exclusive; gpu 2 exclusive; run a on gpu0::0 second=side status=gpu1; wait 9999;"
#define THEN "wait 1;" THEY_DIFFER "expect gpu2 disagreement none; wait 9999; join; expect actions "
	PROMISE(each_device_pod_and_container_has_a_time_of_its_own,
		FIRST "pod a second=side status=gpu1,gpu2;" THEN "Keep Keep Write;"
		"again;" FIRST "run b on gpu0::1 status=gpu1;" THEN "Write Write Keep;"
		"again;" FIRST "pod a second=side status=gpu1 status2=gpu1; book a/side gpu0::1;"
		"list a/side gpu0::1;" THEN "Write Write Keep"),
	PROMISE(the_wall_clock_has_no_part_in_it,
		"gpu 0 exclusive; publish; pod a status=gpu0; publish; clock -1h; later;"
		"expect disagreement a Checkpoint=0 PodStatus=1"),
	PROMISE(what_was_published_stays_while_new_reports_show_it_too,
		CONTRADICT "later; report; expect writes 0; gpu 2 shared 2; book a/side gpu2::0;"
		"expect gpu2 disagreement none;" THEY_DIFFER),
	PROMISE(who_agree_again_are_believed_at_once,
		CONTRADICT "later; pod a status=gpu0;" AGREE "expect Attributed True AllResolved;"
		"expect a Running Confirmed by=Checkpoint,PodResources,PodStatus; expect gpu1 none"),
	PROMISE(a_restart_of_the_controller_does_not_settle_it,
		CONTRADICT "later; restart; expect writes 0; expect a Disputed; expect gpu1 a Disputed;"
		"report; expect writes 0"),
	PROMISE(who_is_carried_over_stays_disputed,
		CONTRADICT "later; lose list; lose checkpoint; expect a Running Disputed;" THEY_DIFFER
		"expect Attributed False SourceDisagreement; delete a;" AGREE),

	/* What is no contradiction */
	PROMISE(a_pod_status_that_was_cut_contradicts_nobody,
		CONTRADICT "pod a cut status=gpu1; later;" AGREE "expect a Confirmed;"
		"expect gpu1 disagreement a Checkpoint=0 PodResources=0"),
	PROMISE(an_init_container_is_no_reason_for_an_alarm,
		"gpu 0 shared 2; run a on gpu0::0 container=init second=main kind=Init status2=gpu0::0;"
		"book a gpu0::0; list a gpu0::0;" HARMONY "expect tenants a/init a"),
	PROMISE(a_container_that_may_be_an_init_container_is_no_reason_for_an_alarm,
		"gpu 0 shared 2; run a on gpu0::0; book a/x gpu0::1; later;"
		"expect disagreement a/x Checkpoint=1 PodResources=0;"
		"again; gpu 0 shared 2; run a on gpu0::0 more; book a/x gpu0::1;" HARMONY),
	PROMISE(a_sidecar_that_the_pod_status_leaves_out_is_no_reason_for_an_alarm,
		"gpu 0 shared 2; run a on gpu0::0 container=side second=main kind=Sidecar"
		"  status2=gpu0::1; book a gpu0::1; list a gpu0::1;" HARMONY "expect tenants a a/side"),
	PROMISE(a_container_with_a_claim_is_no_reason_for_an_alarm,
		"gpu 0 exclusive; gpu 1; run a on gpu0 second=claims status=gpu0; grant a/claims gpu1;"
		HARMONY "expect gpu1 disagreement none; expect gpu1 tenants a/claims"),
	PROMISE(a_list_that_settles_is_no_reason_for_an_alarm,
		"gpu 0 exclusive; gpu 1 exclusive; run a on gpu0; run b on gpu1; list none; list a;"
		"kubelet restarts; later;" AGREE "expect a Confirmed; list b gpu1; later;"
		"expect disagreement a Checkpoint=1 PodResources=0"),
	PROMISE(a_list_without_the_pod_is_no_reason_for_an_alarm,
		"gpu 0 exclusive; run a on gpu0; list none; list other;" HARMONY),
	PROMISE(a_dated_list_of_before_the_pod_contradicts_nothing,
		"gpu 0 exclusive; gpu 1 exclusive; run a on gpu0 started=5s; book a gpu1; old list; later;"
		AGREE "expect gpu1 disagreement none"),
	PROMISE(a_book_of_some_time_ago_does_not_speak_by_silence,
		"gpu 0 exclusive; run a on gpu0 second=side; book none; old checkpoint;" HARMONY
		"book a gpu0; list none; list a/side; old list; later;" AGREE "expect a Confirmed"),
	PROMISE(a_list_that_may_mean_the_container_does_not_speak_by_silence,
		"gpu 0 shared 3; pod a hash=c0ffee status=gpu0::0,gpu0::1; end b; old checkpoint;"
		"book b gpu0::0; list a gpu0::0; later; expect Attributed False PodUnknown;" AGREE
		"expect a Confirmed; book none; book b gpu0::1; list none; list a gpu0::1; later;"
		"expect Attributed False PodUnknown;" AGREE "list none; list a/side; pod c started=0;"
		"list c gpu0::2; book b gpu0::2; later; expect Attributed False PodUnknown;"
		"expect disagreement a PodResources=0 PodStatus=2"),
	PROMISE(a_node_without_an_agent_has_nobody_to_disagree,
		"pod a status=gpu0; agentless; later;" AGREE "expect a Confirmed"),
	PROMISE(a_holder_that_the_api_does_not_know_is_not_compared,
		"gpu 0 shared 2; book b gpu0::0 gpu0::1; list b gpu0::1; later;" AGREE
		"expect tenants b"),
	PROMISE(what_the_last_report_could_not_know_contradicts_nothing,
		"gpu 0 exclusive; wait 10s; publish; pod a status=gpu0;" AGREE "expect awaits no;"
		"wait 9999;" AGREE "expect again 1; wait 1;" AGREE "expect awaits yes;"
		"expect again 99s; wait 5s; age 5001;" AGREE "age 5s;"
		"expect disagreement a Checkpoint=0 PodStatus=1; expect awaits no"),
	PROMISE(what_was_read_before_the_pod_began_contradicts_nothing,
		"gpu 0 exclusive; pod a started=-999 status=gpu0; later;" AGREE "expect awaits yes;"
		"listed 1; expect disagreement a Checkpoint=0 PodStatus=1"),
	PROMISE(without_a_list_nobody_waits_for_when_it_was_read,
		"gpu 0 exclusive; pod a started=-999 status=gpu0; lose list; later;"
		"expect disagreement a Checkpoint=0 PodStatus=1"),
	PROMISE(who_names_another_device_contradicts_whenever_it_was_read,
		"gpu 0 exclusive; gpu 1 exclusive; run a on gpu0 started=-999 status=gpu1; later;"
		THEY_DIFFER),
	PROMISE(a_silent_agent_settles_no_disagreement_and_starts_none,
		CONTRADICT "later;" THEY_DIFFER "wait 120s;" THEY_DIFFER "expect a Disputed"),
	PROMISE(an_agent_is_silent_from_the_stated_time_on,
		CONTRADICT "later;" THEY_DIFFER "wait 119999; pod a status=gpu0;" AGREE
		"again;" CONTRADICT "later;" THEY_DIFFER "wait 120s; pod a status=gpu0;" THEY_DIFFER),

	/* IDs that are no known device's */
	PROMISE(an_id_of_no_known_form_is_shown_with_its_holder_on_every_device,
		"gpu 0 exclusive; gpu 1 exclusive; run a on `what is this`; wait 10s;"
		"expect unplaced a:`what is this`; expect none; expect slots 0/1;"
		"expect Attributed False UnknownDeviceID; expect Ready False UnknownDeviceID;"
		"expect gpu1 unplaced a:`what is this`; expect gpu1 none; expect gpu1 slots 0/1;"
		"expect gpu1 Attributed False UnknownDeviceID"),
	PROMISE(ids_of_no_device_are_counted_and_attributed_to_none,
		"gpu 0 exclusive; offer `what is this` gpu7; run a on `what is this`; expect none;"
		"expect slots 0/1; expect unknown-ids 6; expect devices 1"),
	PROMISE(a_device_or_partition_that_nobody_told_of_is_unplaced,
		"gpu 0 exclusive; run a on mig7.0; run b on gpu7; wait 10s;"
		"expect unplaced a:mig7.0 b:gpu7; gpu 7 mig 1; expect unplaced none;"
		"expect gpu7 tenants a b"),
	PROMISE(a_holder_of_whom_less_is_known_is_shown_with_less,
		"gpu 0 exclusive; book u x; list u x; list ghost y; wait 10s; expect unplaced -:y u:x"),
	PROMISE(an_odd_id_is_placed_by_the_uuid_that_it_begins_with,
		"gpu 0; offer gpu0#1; run a on gpu0#1; wait 10s; expect unplaced none;"
		"expect a Running Confirmed; expect slots 1/1; expect mode Unknown;"
		"expect evidence `a device ID is of no known form`; expect Ready False UnknownDeviceID;"
		"expect Attributed False UnknownDeviceID `a tenant holds a device ID of no known form:"
		" gpu0#1`"),
	PROMISE(of_several_odd_ids_the_lowest_is_named_and_the_rest_counted,
		"gpu 1 exclusive; gpu 0; run a on gpu0#2; run b on gpu0#10; run c on gpu0::1;"
		"run d on gpu0#3; wait 10s; expect Attributed False UnknownDeviceID `a tenant holds a"
		" device ID of no known form: gpu0#10 and 2 more`;"
		"expect gpu1 Attributed True AllResolved; kubelet forgets; delete a; delete b; delete c;"
		"delete d; offer gpu0#2; wait 10s; expect Attributed True AllResolved"),
	PROMISE(one_that_is_new_is_waited_for,
		"gpu 0 exclusive; run a on gpu7; report; expect unplaced none; expect again 10s;"
		"wait 9999; expect writes 0; expect again 1; wait 1; expect writes 1"),
	PROMISE(each_container_of_a_pod_is_waited_for_by_itself,
		"gpu 0 exclusive; pod a second=side; book a x; expect unplaced none; wait 4s;"
		"book a/side y; expect unplaced none; wait 6s; expect unplaced a:x; expect again 4s;"
		"wait 4s; expect unplaced a:x a/side:y"),
	PROMISE(one_that_was_published_stays_while_it_is_there,
		"gpu 0 exclusive; run a on x; wait 10s; publish; run b on x; report;"
		"expect unplaced a:x; restart; expect writes 0; report; wait 10s;"
		"expect unplaced a:x b:x; kubelet forgets; expect unplaced none;"
		"expect Attributed True AllResolved"),
	PROMISE(without_an_agent_they_are_shown_as_well,
		"pod a status=`what is this`; pod b status=gpu0; agentless; expect unplaced none;"
		"expect again 10s; wait 10s; expect unplaced a:`what is this`; expect tenants b;"
		"expect Attributed False UnknownDeviceID"),
	PROMISE(other_news_all_the_time_does_not_put_one_off,
		"gpu 0 exclusive; run a on x; publish; wait 9999; report; expect unplaced none;"
		"expect again 1; wait 1; report; expect unplaced a:x"),
	PROMISE(a_silent_agent_shows_none_that_is_new,
		"gpu 0 exclusive; run a on x; wait 10s; publish; pod b status=y; wait 120s; publish;"
		"wait 10s; expect unplaced a:x; age 0; expect unplaced a:x b:y"),
};

SCENARIO_MAIN(promises)
