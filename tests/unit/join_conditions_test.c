/* SPDX-License-Identifier: Apache-2.0 */

/* What is said of a device where not all is known, and which of several things is said. */

#include "lib/scenario.h"

#define A_RUNS "gpu 0 exclusive; run a on gpu0; publish;"
#define SAID(status, reason) \
	"expect Attributed " status " " reason "; expect Ready " status " " reason ";"
#define WELL SAID("True", "AllResolved")

static const struct scenario_promise promises[] = {
	PROMISE(all_is_well, A_RUNS "expect Attributed True AllResolved `every slot that is held has a"
		" pod`; expect Ready True Current; expect ReportFresh True ReportReceived;"
		"expect Healthy True NothingFound; expect InSync True Unmanaged; operator ml;"
		"expect InSync True InSync"),

	/* Which goes first */
	PROMISE(slots_without_a_pod_go_before_all_else,
		"gpu 0 shared 4; gpu 1 exclusive; list ghost gpu0::3; run a on gpu0::0;"
		"run b on gpu0::0; run c on gpu0::1 status=gpu1; run d on x; later;"
		"expect Attributed False PodUnknown; expect Ready False Unresolved;"
		"list none; list a gpu0::0; list b gpu0::0; list c gpu0::1;" SAID("False", "SlotHeldTwice")
		"end a;" SAID("False", "SourceDisagreement")
		"end c;" SAID("False", "UnknownDeviceID")
		"end d; kubelet restarts; pod u;" SAID("Unknown", "Settling")
		"kubelet settled; lose list; lose checkpoint;" SAID("Unknown", "SourcesFailed")),
	PROMISE(slots_of_several_kinds_of_nobody_are_counted_together,
		"gpu 0 exclusive; book b gpu0; list b gpu0; expect Attributed False Pending;"
		"expect Ready False Unresolved; again; gpu 0 shared 4; book b gpu0::0;"
		"list b gpu0::0; list ghost gpu0::1; wait 60s;"
		"expect Attributed False Unresolved `2 slots are held by pods that are not all"
		" identified`; again; gpu 0 shared 4; list x gpu0::0; list y gpu0::1;"
		"expect Attributed False PodUnknown `2 slots are held by an unidentified pod`;"
		"again; gpu 0 shared 4; book b gpu0::0; list b gpu0::0; publish; wait 60s; publish;"
		"book c gpu0::1; list c gpu0::1; expect Attributed False Unresolved `2 slots are held by"
		" a pod that the API server does not know`; expect Ready False Unresolved;"
		"again; gpu 0; offer gpu0-0 gpu0-1; run a on gpu0-0 gpu0-1; expect Attributed False"
		" Placeholder `2 slots are held by a placeholder for pods that are not known`;"
		"list x gpu0::7; book b gpu0::8; list b gpu0::8; expect Attributed False Unresolved"
		" `4 slots are held by pods that are not all identified`; expect Ready False Unresolved"
		" `4 slots are held by pods that are not all identified`"),
	PROMISE(a_tenant_whom_no_witness_names_is_not_attributed,
		A_RUNS "kubelet forgets;" SAID("Unknown", "Unconfirmed") "expect a Unconfirmed;"
		"kubelet restarts;" SAID("Unknown", "Settling")
		/* One is enough, whichever of them it is. */
		"again; gpu 0 shared 4; run a on gpu0::0; publish; kubelet forgets; run b on gpu0::1;"
		"pod u;" SAID("Unknown", "Unconfirmed") "expect tenants a b;"
		"again; gpu 0 shared 4; run b on gpu0::0; publish; kubelet forgets; run a on gpu0::1;"
		"pod u;" SAID("Unknown", "Unconfirmed") "expect tenants a b"),
	PROMISE(without_an_agent_that_is_said_unless_worse_is,
		"pod a status=gpu0; agentless;" SAID("Unknown", "NoAgent") "pod b status=x; wait 10s; publish;"
		"wait 10s; expect Attributed False UnknownDeviceID; expect Ready Unknown NoAgent;"
		"expect ReportFresh False NoAgent; wait 120s; expect Ready Unknown NoAgent"),
	PROMISE(a_silent_agent_is_said_by_ready,
		"gpu 0 exclusive; list ghost gpu0; publish; wait 120s;"
		"expect Attributed False PodUnknown; expect Ready Unknown ReportStale;"
		"expect ReportFresh False AgentSilent; claimed 1s; expect Ready False DuplicateUUID"),
	PROMISE(health_is_a_condition_of_its_own,
		A_RUNS "offer none; expect Healthy False NotAdvertised; expect Attributed True AllResolved;"
		"expect Ready True Current"),

	/* Claims */
	PROMISE(what_a_claim_has_for_nobody_who_is_told_is_not_attributed,
		"gpu 0; slice 0 nameless; publish;" SAID("Unknown", "ReservedOtherwise")
		"pod a; run u on x; later;" SAID("False", "UnknownDeviceID")),
	PROMISE(a_claim_that_cannot_be_read_leaves_the_device_unknown,
		"gpu 0; slice 0; pod a claim=c; claims unknown; later; expect none; expect Attributed Unknown"
		" ClaimsUnknown `a pod of the node uses a ResourceClaim, and its device"
		" is not known: ResourceClaims or ResourceSlices cannot be read, or are not complete`;"
		"expect Ready Unknown ClaimsUnknown; run u on x; later;" SAID("False", "UnknownDeviceID")),
	PROMISE(claims_that_may_be_read_no_more_leave_tenants_as_they_were,
		"gpu 0; slice 0; pod a claim=c; grant a gpu0; expect Attributed True AllResolved;"
		"grant none; claims denied; expect tenants a; expect a Confirmed by=ResourceClaim;"
		"expect Attributed Unknown ClaimsUnknown `the controller cannot read ResourceClaims or"
		" ResourceSlices at present, see its /readyz: tenants are as they were known before`;"
		"expect Ready Unknown ClaimsUnknown; delete a; expect none; expect recent a"),

	/* Pods */
#define OLD(word, reason, message)                                                            \
	"again;" A_RUNS "pods " word "; expect Attributed Unknown " reason " `" message "`;"      \
	"expect Ready Unknown " reason "; expect tenants a; expect Healthy True NothingFound;"     \
	"list ghost gpu0; expect Attributed Unknown " reason "; pods current;"
	PROMISE(while_what_is_known_of_pods_is_old_that_is_said,
		OLD("stale", "PodsStale", "the controller's watch of pods, or of nodes, has been away for"
		    " more than 10 s: tenants are as they were known before")
		OLD("denied", "PodsUnknown", "the controller may no longer read pods, grant the verbs list"
		    " and watch: tenants are as they were known before")
		"expect Attributed True AllResolved; expect Ready True Current"),
	PROMISE(while_pods_are_old_holders_are_frozen_as_published,
		A_RUNS "pods stale; expect Attributed Unknown PodsStale; expect Ready Unknown PodsStale;"
		"kubelet forgets; run b on gpu0; expect tenants a;"
		"expect a Confirmed by=Checkpoint,PodResources; delete a; expect none; wait 60s;"
		"expect none; expect writes 0; pods denied; expect Attributed Unknown PodsUnknown;"
		"expect none; expect recent a; pods current; expect tenants b; expect recent a;"
		"expect Attributed True AllResolved; again;"
		"gpu 0 exclusive; run a on gpu0; run b on gpu0; wait 10s;" SAID("False", "SlotHeldTwice")
		"pods denied; expect Attributed Unknown PodsUnknown; expect tenants a b; wait 60s;"
		"pods current; expect Attributed False SlotHeldTwice"),
	PROMISE(without_a_report_what_attributed_was_about_may_have_changed,
		"gpu 0 exclusive; list ghost gpu0; expect Attributed False PodUnknown; restart;"
		"expect writes 0; again;" A_RUNS "restart; delete a; expect none; expect recent a;"
		"expect Attributed True AllResolved; again;"
		A_RUNS "kubelet forgets;" SAID("Unknown", "Unconfirmed") "restart; expect writes 0; delete a;"
		"expect none;" SAID("Unknown", "AwaitingReport") "again;"
		"gpu 0 exclusive; gpu 1 exclusive; run a on gpu0 status=gpu1; later;"
		SAID("False", "SourceDisagreement") "restart; expect writes 0; delete a;"
		SAID("Unknown", "AwaitingReport")),
	PROMISE(slices_that_contradict_nvml_leave_tenants_by_claims_unconfirmed,
		"gpu 0; gpu 1; slice 0 minor 0; slice 1 minor 1; pod a claim=c; grant a gpu0;"
		"expect a Confirmed by=ResourceClaim; expect Attributed True AllResolved;"
		"nvml renumbers 7; report; pod b claim=d; grant b gpu1 device=pool/gpu-1; expect tenants a;"
		"expect a Unconfirmed; expect gpu1 none; later; expect a Unconfirmed;"
		SAID("Unknown", "ClaimsUnknown") "expect gpu1 Attributed Unknown ClaimsUnknown;"
		/* Its number counts again once nobody is there by its name. */
		"delete a; publish; expect none; expect recent a; nvml renumbers 0;"
		"report; expect gpu1 tenants b; expect Attributed True AllResolved"),

	/* Transitions */
	PROMISE(a_transition_is_a_change_of_the_status_not_of_the_reason,
		"gpu 0 exclusive; book b gpu0; list b gpu0; publish; expect since Attributed 0; wait 60s;"
		"expect Attributed False Unresolved; expect since Attributed 0; pod b;"
		"expect Attributed True AllResolved; expect since Attributed 60000;"
		"expect since Healthy 0"),
};

SCENARIO_MAIN(promises)
