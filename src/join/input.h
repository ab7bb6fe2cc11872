/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * input - everything that a join may look at: what is known of one node, as values, which
 * controller/gather.h collects.
 *
 * Threads: any; immutable once made.
 */

#include "intent/policy.h"
#include "model/attribution.h"
#include "model/boot_history.h"
#include "model/grant.h"
#include "model/node.h"
#include "model/node_state.h"
#include "model/pod.h"
#include "model/report.h"

/* Times after which silence means something. */
struct join_limits {
	int64_t report_stale_ms; /* a report older than this is not fresh */
	int64_t pending_ms;      /* a holder unknown to the API server becomes Unresolved */
	int64_t settling_ms;     /* after a kubelet restart Lists may be short for this long */
	int64_t node_gone_ms;    /* a node absent from the API this long has its objects deleted */
	int64_t agentless_ms;    /* no report for this long since a join first asked: no agent */
	int64_t disagreement_ms; /* witnesses may differ for this long: they are not read at once */
	int64_t user_grace_ms;     /* a process of a pod that ended may be listed for this long */
	int64_t quiet_ms; /* the driver asks for nothing so long after an error: it was nothing */
	uint32_t hold_off_percent; /* of the hold-offs in assess/drift.def; 0: all of them, as 100 */
};

/* An object whose status names this node, or one of the report's devices, wherever it is. */
struct join_previous {
	const struct attribution *object;
	int64_t claimed_age_ms; /* of the youngest report of another node that names the device; */
	/* else since the start, if the other node that the status names may yet report; else -1 */
	int64_t claimed_for_ms;  /* for how long each report of another node has named it; -1: none */
	bool is_named_elsewhere; /* without a report of this node: the API server's pods or slices */
				 /* of the other node that the status names, name the device */
};

/* That the API server told of a pod's end: it is over, or not there any more. */
struct join_end {
	struct view pod_uid;
	int64_t age_ms; /* how long ago, by the monotonic clock */
};

struct join_input {
	struct view node_name;
	const struct node *node; /* NULL: the API server has no node of that name */
	int64_t node_gone_for_ms; /* how long it has been so, by the monotonic clock; 0 if it is there */
	const struct pod *const *pods; /* every pod that the API server places on the node */
	size_t n_pods;
	const struct report *report; /* the last accepted one; NULL: none since the start */
	int64_t report_age_ms;       /* since it arrived, or, without one, since a join first asked */
	int64_t report_held_ms; /* since its content arrived: heartbeats do not count; 0 without */
	int64_t listed_at;      /* by the node's wall clock: when the List was read last, as the */
				/* report has it; heartbeats do count. 0: never */
	int64_t booted_after;   /* by the node's wall clock: it was booted after that; 0: not */
				/* known. What it said happened before, did so before the boot */
	int64_t former_heard_at; /* by the node's wall clock: when the agent's former instance of the */
				 /* same boot was last heard of; 0: not known */
	const struct boot_history *history; /* of this boot, as reports tell; NULL: not known */
	bool is_of_former_boot; /* the report: the Node has named another boot since */
	const struct view *ended; /* UIDs of pods that the API server had on this node and deleted, */
	size_t n_ended;           /* while a report still names them: sorted, each once */
	const struct join_end *ends; /* of pods of the node that are over, or were lately */
	size_t n_ends;
	int64_t ended_for_ms; /* how long ago, at least, a pod of the node ended that is neither */
			      /* among these nor there; -1: not known */
	const struct view *elsewhere; /* UIDs that the report or a published unknown tenant names, and */
	size_t n_elsewhere;     /* that the API server places on another node: sorted, each once */
	const bool *is_foreign; /* of each entry of the List: the API server has a pod of that name */
				/* on another node; NULL: of none */
	const struct join_previous *previous;
	size_t n_previous;
	uint32_t previous_left_out; /* of other nodes, beyond what there is room for, as often as named */
	const struct view *contested; /* UUIDs of the report's devices that have no object, and that */
	size_t n_contested;           /* another node's report names, which is more recent */
	const struct grant *grants;   /* by ResourceClaims */
	size_t n_grants;
	const struct slice_device *slice_devices; /* by ResourceSlices */
	size_t n_slice_devices;
	uint32_t slice_devices_left_out; /* beyond what there is room for */
	const struct debounce_seen *debounced; /* what the last join said, and how old it is by now */
	size_t n_debounced;
	int64_t settled_restart; /* as the last join said; 0: it knew of none */
	int64_t offered_since;   /* the same (model/node_state.h); 0: this is the first join, or the */
				 /* first with current pods after those without */
	enum inventory_age pods_age; /* of the pods and the Node; never UNSERVED */
	bool grants_denied; /* the claims and slices are those of when they could be read, if ever */
	bool grants_unknown; /* not all are here: a missing claim is not evidence of absence */
	const struct pod *const *told_later; /* pods of the node whose start was told after the */
	size_t n_told_later;                 /* List had arrived, which may be older than they */
	const struct pod *const *lacking; /* pods of the node one of whose claims is not here */
	size_t n_lacking;
	const struct pod *const *awaiting; /* that may yet be given a device by a claim that is here; */
	size_t n_awaiting; /* or by any, while claims cannot be read. None of both is over */
	const struct intent *intent;
	const struct mig_configs *layouts; /* that the node's MIG manager made itself, as far as known; or NULL */
	const struct join_limits *limits;
	int64_t now_wall_ms;
	/* True when both statuses say the same to a reader; NULL: each is written. */
	bool (*is_same)(const struct attribution_status *a, const struct attribution_status *b);
};

/* True when the last report is recent; where there is none, when a join asked for one recently. */
bool input_is_fresh(const struct join_input *input);
/* True when there is a report, and it is recent. */
bool input_is_heard(const struct join_input *input);
/* True when there is no report, and there has been time for one. */
bool input_is_agentless(const struct join_input *input);
