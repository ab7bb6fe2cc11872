/* SPDX-License-Identifier: Apache-2.0 */

/* One device ID in the hands of several pods. */

#include "lib/scenario.h"

#define AT_ONCE " at once, and is for one pod"
#define HELD(message) "expect Attributed False SlotHeldTwice `" message "`;" \
	"expect Ready False SlotHeldTwice;"
#define TWO_OF(id) HELD(id " is held by ml/a and ml/b" AT_ONCE)
#define THREE "gpu0 is held by ml/a, ml/b and ml/c" AT_ONCE
#define BOTH_FAIL " (podResources: no reason was given; checkpoint: no reason was given)"
#define UNSAID "expect Attributed True AllResolved; expect Ready True Current;"
#define UNCONFIRMED "expect Attributed Unknown Unconfirmed; expect Ready Unknown Unconfirmed;"
#define AWAITED "expect Attributed Unknown AwaitingReport; expect Ready Unknown AwaitingReport;"
#define TWICE "gpu 0 exclusive; run a on gpu0; run b on gpu0;"
#define REPLICA_TWICE "gpu 0 shared 4; run a on gpu0::2; run b on gpu0::2;"

static const struct scenario_promise promises[] = {
	PROMISE(an_id_in_the_hands_of_two_pods_is_said_with_both,
		TWICE "wait 10s;" TWO_OF("gpu0") "expect tenants a b;"
		"again; gpu 0 mig 2; run a on mig0.0; run b on mig0.0; wait 10s;" TWO_OF("mig0.0")
		"again;" REPLICA_TWICE "wait 10s;" TWO_OF("gpu0::2")
		"again; gpu 0; run a on nvidia0; run b on nvidia0; wait 10s;" TWO_OF("gpu0")
		"again; gpu 0 exclusive; run a on gpu0 reservation group=g; pod s group=g;"
		"run b on gpu0; wait 10s;" TWO_OF("gpu0")),
	PROMISE(different_ids_are_no_overlap,
		"gpu 0 shared 4; run a on gpu0::2; run b on gpu0::3; wait 10s;" UNSAID
		"again; gpu 0 mig 2; run a on mig0.0::0; run b on mig0.0::1; wait 10s;" UNSAID
		"again; gpu 0; run a on gpu0/x; run b on gpu0/y; wait 10s;"
		"expect Attributed False UnknownDeviceID;"
		"again; gpu 0 mig 2; run a on mig0.0; run b on mig0.1; wait 10s;" UNSAID),
	PROMISE(who_came_before_the_plugin_was_configured_anew_is_none,
		"gpu 0 exclusive; run a on gpu0::2; run b on gpu0; wait 10s;" UNSAID),
	PROMISE(one_id_of_two_resources_is_none,
		"gpu 0 shared 4; run b on gpu0::0; offer resource nvidia.com/gpu.shared;"
		"run a on gpu0::0@nvidia.com/gpu.shared; wait 10s;" UNSAID "expect slots 2/5;"
		"run c on gpu0::0@nvidia.com/gpu.shared; expect slots 2/5; wait 10s;"
		HELD("gpu0::0 is held by ml/a and ml/c" AT_ONCE)),
	PROMISE(a_holder_without_a_pod_is_none_of_them,
		"gpu 0 exclusive; book x gpu0; run a on gpu0; lose list; publish; wait 10s;"
		"expect Attributed False Pending; lose checkpoint; wait 10s;"
		"expect Attributed False Pending"),
	PROMISE(it_is_said_as_long_as_both_live,
		"gpu 0 exclusive; run a on gpu0 deleting; run b on gpu0; wait 10s;" TWO_OF("gpu0")
		"over a;" UNSAID "pod a; wait 10s;" TWO_OF("gpu0") "end b;" UNSAID),
	PROMISE(news_in_another_order_make_none,
		TWICE UNSAID "expect again 10s; wait 9999; expect writes 0; end a; wait 1;" UNSAID),
	PROMISE(a_good_checkpoint_says_what_was_given_back,
		TWICE "book none; book b gpu0; wait 10s; publish; report; wait 10s;"
		"expect Attributed False SourceDisagreement;"
		/* Who is in the status of his pod has not given it back. */
		"pod a status=gpu0; publish; wait 10s; expect Attributed False SlotHeldTwice"),
	PROMISE(either_book_or_the_status_of_pods_alone_shows_it,
		TWICE "lose checkpoint; wait 10s; expect Attributed False SlotHeldTwice; again;"
		TWICE "lose list; wait 10s; expect Attributed False SlotHeldTwice; again;"
		"agentless; gpu 0; pod a status=gpu0; pod b status=gpu0; wait 10s;"
		"expect Attributed False SlotHeldTwice"),
	PROMISE(what_a_book_said_last_makes_none,
		TWICE "old list; old checkpoint; wait 10s; expect Attributed Unknown SourcesFailed"),
	PROMISE(what_a_book_said_last_is_not_seen_now,
		TWICE "wait 10s;" TWO_OF("gpu0") "old list; old checkpoint; wait 10s;"
		"expect Attributed Unknown SourcesFailed; expect tenants a b;"
		"again;" TWICE "wait 10s; publish; lose list; lose checkpoint; wait 10s;"
		"expect Attributed Unknown SourcesFailed; expect tenants a b"),
	PROMISE(books_that_fail_begin_none,
		REPLICA_TWICE "wait 10s;" TWO_OF("gpu0::2") "old list; old checkpoint;"
		"run c on gpu0::1; run d on gpu0::1; publish; wait 10s; publish; end a;"
		"expect Attributed Unknown SourcesFailed"),
	PROMISE(what_is_known_comes_before_what_a_book_said_last,
		REPLICA_TWICE "wait 10s;" TWO_OF("gpu0::2") "old list; old checkpoint;"
		"pod c status=gpu0::3; pod d status=gpu0::3; publish; wait 10s;"
		HELD("gpu0::3 is held by ml/c and ml/d" AT_ONCE BOTH_FAIL)),
	PROMISE(a_silent_agent_shows_none_that_is_new,
		TWICE "publish; age 120s; wait 10s; expect Attributed True AllResolved"),
	PROMISE(of_several_ids_the_lowest_is_said,
		REPLICA_TWICE "wait 10s;" TWO_OF("gpu0::2") "run c on gpu0::1 gpu0::3;"
		"run d on gpu0::1 gpu0::3;" HELD("gpu0::1 is held by ml/c and ml/d" AT_ONCE)
		"end c;" TWO_OF("gpu0::2") "end a;" UNSAID),
	/* The other is told at once or not at all: else the next join would name it. */
	PROMISE(regress_14_once_one_id_counts_the_lowest_is_told_and_stays,
		REPLICA_TWICE "wait 5s; run c on gpu0::1; run d on gpu0::1; wait 5s;"
		HELD("gpu0::1 is held by ml/c and ml/d" AT_ONCE) "restart; report; expect writes 0;"
		HELD("gpu0::1 is held by ml/c and ml/d" AT_ONCE)),
	PROMISE(what_one_id_has_waited_does_not_count_for_another,
		REPLICA_TWICE "publish; wait 5s; end b; run c on gpu0::1; run d on gpu0::1; wait 5s;"
		UNSAID "wait 5s; expect Attributed False SlotHeldTwice"),
	PROMISE(pods_beyond_the_bound_are_counted,
		"gpu 0 shared 4; run a on gpu0::0; run b on gpu0::0; run c on gpu0::0; run d on gpu0::0;"
		"wait 10s;" HELD("gpu0::0 is held by ml/a, ml/b, ml/c and ml/d" AT_ONCE)
		"run e on gpu0::0; wait 10s;"
		HELD("gpu0::0 is held by ml/a, ml/b, ml/c, ml/d and 1 more" AT_ONCE)
		"run f on gpu0::0; wait 10s;"
		HELD("gpu0::0 is held by ml/a, ml/b, ml/c, ml/d and 2 more" AT_ONCE)),

	/* Who may share */
	PROMISE(containers_of_one_pod_have_it_in_turn,
		"gpu 0 exclusive; pod a container=init kind=Init second=main; book a/init gpu0;"
		"book a gpu0; list a gpu0; wait 10s;" UNSAID),
	PROMISE(pods_that_share_by_right_are_none,
		"gpu 0; pod a; pod b; grant a gpu0; grant b gpu0; wait 10s;" UNSAID
		"again; gpu 0; pod b; grant b gpu0 admin; run a on gpu0; wait 10s;" UNSAID
		"again; gpu 0 mig 2; run a on mig0.0; run c on mig0.1; pod b; grant b gpu0 admin;"
		"wait 10s;" UNSAID
		"again; gpu 0 exclusive; run r on gpu0 reservation group=g; pod a group=g;"
		"pod b group=g; wait 10s;" UNSAID),
	PROMISE(pods_that_share_a_claim_that_cannot_be_read_are_none,
		"gpu 0 mig 1; offer none; pod a claim=c; pod b claim=c; grant a gpu0 partition=mig0.0 part;"
		"grant b gpu0 partition=mig0.0 part; wait 10s;" UNSAID "grant none;"
		"grant b gpu0 partition=mig0.0 part; claims unknown; publish; wait 10s;"
		"expect Attributed Unknown ClaimsUnknown; expect tenants a b"),
	PROMISE(who_has_an_id_of_hami_s_is_none,
		"gpu 0 exclusive; pod a; grant a gpu0; run c on gpu0-1; publish; wait 10s;"
		"expect Attributed False Placeholder; expect tenants a c; kubelet forgets; grant none; end a;"
		"run b on gpu0; publish; wait 10s; expect Attributed False Placeholder; expect tenants b c;"
		"expect mode Exclusive"),
#define BOTH_WAYS(given, part, then)                                                          \
	"again; gpu 0 mig 2; run b on " given "; pod a; grant a gpu0 " part "; wait 10s;" then
	PROMISE(what_a_plugin_and_a_claim_give_to_two_is_said,
		BOTH_WAYS("gpu0", "", TWO_OF("gpu0")) BOTH_WAYS("gpu0::1", "", TWO_OF("gpu0"))
		BOTH_WAYS("mig0.0", "", TWO_OF("gpu0"))
		BOTH_WAYS("gpu0", "part partition=mig0.0", TWO_OF("gpu0"))
		BOTH_WAYS("mig0.0", "part partition=mig0.0", TWO_OF("mig0.0"))
		BOTH_WAYS("mig0.1", "part partition=mig0.0", UNSAID)
		BOTH_WAYS("mig0.0", "part", UNSAID) BOTH_WAYS("gpu0", "part", TWO_OF("gpu0"))),
	PROMISE(a_pod_that_has_it_both_ways_overlaps_with_nobody,
		"gpu 0 exclusive; run a on gpu0; grant a gpu0; wait 10s;" UNSAID),

	/* Tenants whom no witness names any more */
	PROMISE(whom_no_witness_names_holds_nothing_twice,
		"gpu 0 exclusive; run a on gpu0; publish; kubelet forgets; wait 10s;" UNCONFIRMED
		"run b on gpu0; publish; wait 10s;" UNCONFIRMED "expect tenants a b;"
		"expect a Running Unconfirmed; kubelet forgets;" UNCONFIRMED
		"again; gpu 0 mig 2; run a on mig0.0; publish; kubelet forgets; run b on mig0.0;"
		"publish; wait 10s;" UNCONFIRMED "expect tenants a b"),
	PROMISE(the_status_of_its_pod_names_it_like_any_other_source,
		"gpu 0 exclusive; run a on gpu0; publish; kubelet forgets; run b on gpu0; publish;"
		"pod a status=gpu0; publish; wait 10s; expect Attributed False SlotHeldTwice;"
		"again; gpu 0 mig 2; run a on mig0.0; publish; kubelet forgets; run b on mig0.0; publish;"
		"pod a status=mig0.0; publish; wait 10s; expect Attributed False SlotHeldTwice;"
		"again; gpu 0 shared 4; run a on gpu0::2; publish; kubelet forgets; run b on gpu0::2;"
		"publish; pod a status=gpu0::2; publish; wait 10s; expect Attributed False SlotHeldTwice"),
	PROMISE(which_replica_a_tenant_had_that_no_book_names_is_not_known,
		"gpu 0 shared 4; run a on gpu0::2; run c on gpu0::1; publish; kubelet forgets;"
		"run b on gpu0::2; publish; wait 10s;" UNCONFIRMED "expect tenants a b c"),
	PROMISE(what_is_shared_now_has_room_for_a_tenant_that_no_book_names,
		"gpu 0 shared 4; run a on gpu0::2; publish; kubelet forgets; run b on gpu0; publish;"
		"wait 10s;" UNCONFIRMED "expect tenants a b;"
		"again; gpu 0 mig 2; offer mig0.0::0; run a on mig0.0::0; publish; kubelet forgets;"
		"run b on mig0.0; publish; wait 10s;" UNCONFIRMED "expect tenants a b"),
	PROMISE(who_has_a_mig_device_is_not_on_all_of_the_device,
		"gpu 0 mig 2; run a on mig0.0; publish; kubelet forgets; offer none; offer gpu0;"
		"nvml uncut; run b on gpu0; publish; wait 10s;" UNCONFIRMED "expect tenants a b;"
		"expect mode Exclusive; end b; kubelet forgets; run c on mig0.0; publish; wait 10s;"
		UNCONFIRMED "expect tenants a c"),
#define LEFT_OVER                                                                              \
	"again; gpu 0 shared 4; run a on gpu0::0; run b on gpu0::1; publish; offer none;"          \
	"offer gpu0; kubelet forgets; run c on gpu0; publish; wait 10s;"
	PROMISE(those_of_before_and_one_who_has_it_now_are_tenants,
		LEFT_OVER UNCONFIRMED "expect tenants a b c; end c;" UNCONFIRMED "expect tenants a b"),
	/* Without a report since the controller's start */
	PROMISE(without_a_report_it_stays_as_published_until_one_of_them_ends,
		TWICE "run c on gpu0; publish; wait 10s;" HELD(THREE) "restart; expect writes 0;" HELD(THREE)
		"end c;" AWAITED "expect tenants a b; again;"
		REPLICA_TWICE "wait 10s;" TWO_OF("gpu0::2") "restart; expect writes 0;" TWO_OF("gpu0::2")
		"end a;" AWAITED "expect tenants b; report; wait 10s;" UNSAID),
	/* A pod that only the List names is no holder, until nobody knows any more who is. */
	PROMISE(without_a_report_it_is_said_though_more_may_have_it,
		TWICE "pod c; list c gpu0; publish; wait 10s;" TWO_OF("gpu0")
		"restart;" TWO_OF("gpu0") "expect tenants a b c"),
	/* What is told of one container meanwhile makes no other of it. */
	PROMISE(without_a_report_of_several_ids_the_one_stays_that_was_said,
		"gpu 0 mig 2; run a on mig0.0 second=side status2=mig0.1;"
		"run b on mig0.0 second=side status2=mig0.1; book a/side mig0.1; book b/side mig0.1;"
		"list a/side mig0.1; list b/side mig0.1; wait 10s;" TWO_OF("mig0.0")
		"restart; publish; wait 10s;" TWO_OF("mig0.0")
		"end a; expect Attributed Unknown AwaitingReport"),
};

SCENARIO_MAIN(promises)
