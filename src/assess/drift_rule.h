/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_rule - what a rule of assess/drift.def is given, and what it answers.
 *
 * Threads: any.
 */

#include "assess/drift.def"
#include "base/arena.h"
#include "intent/policy.h"
#include "model/attribution.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/report.h"

#define DRIFT_NAME(name, ...) DRIFT_##name,
enum drift_type { DRIFT_TABLE(DRIFT_NAME) N_DRIFT_TYPES };
#define DRIFT_BIT(name) (1u << DRIFT_##name)

#define DRIFT_SETTLING_NAME(name, ...) DRIFT_SETTLING_##name,
enum drift_settling { DRIFT_SETTLING_TABLE(DRIFT_SETTLING_NAME) N_DRIFT_SETTLING };
#define DRIFT_SETTLING_BIT(name) (1u << DRIFT_SETTLING_##name)

/* One resource by which the device, or MIG devices of it, are on offer. */
struct drift_offer {
	struct view resource;
	int64_t n_free;   /* device IDs that no book says are held */
	int64_t n_replicas; /* the most of one MIG device, or of the whole device */
	bool is_replica;  /* they end in a replica number */
	bool is_hami;     /* they are HAMi's: it may give other devices than they name */
};

/* What device IDs on offer tell of how the plugin treats devices in MIG mode, as bits. */
enum drift_offered {
	DRIFT_OFFERED_MIXED = 1u << 0,  /* MIG devices, by resources of their own */
	DRIFT_OFFERED_SINGLE = 1u << 1, /* MIG devices, by the resource of whole devices */
	DRIFT_OFFERED_NONE = 1u << 2,   /* a device in MIG mode, as a whole one */
};

/* Pods of the operator on the node, of one operand. Only those in the operator's namespace count. */
struct drift_operand {
	uint32_t n_pods;
	uint32_t n_ready;
};

/* What is known of the node, the same for each of its devices. All is borrowed. */
struct drift_node {
	const struct intent *intent; /* never NULL */
	const struct node *node;     /* NULL: the API server has none of that name */
	const struct mig_configs *layouts; /* that the node's MIG manager made itself; NULL: none are known */
	const struct report *report; /* never NULL: without one nothing is judged */
	const struct pod *const *pods; /* of the node */
	size_t n_pods;
	bool is_pods_current; /* pods and node are as the API server has them */
	bool is_offer_known;  /* the kubelet's records can be read: what is on offer is known */
	uint32_t hold_off_percent; /* of the hold-offs in assess/drift.def; 0: all of them, as 100. And of
				      how long a refused pod is a sign of SlotsLeaked */
	bool is_settling;     /* the kubelet started anew, and its List is not complete yet */
	bool is_any_offered;  /* a device of the node is on offer */
	struct drift_operand operands[POD_N_OPERANDS];
	uint8_t wants[POLICY_N_OPERANDS]; /* enum drift_operand_want (assess/drift_operand.h) */
	const struct plugin_config *config; /* of the plugin, that the node shall have; or NULL */
	struct view config_name;  /* its key; empty: none is asked for */
	struct view config_where; /* "label nvidia.com/device-plugin.config", or the policy's field */
	bool has_plugins_ids;     /* some ID on offer has the form of NVIDIA's plugin */
	unsigned offered;         /* bits of enum drift_offered */
	unsigned hidden;          /* DRIFT_BIT() of types that another device of the node explains */
	int64_t now_wall_ms;
};

/* What was published of the device (assess/drift_previous.h). */
struct drift_previous {
	const struct attribution_drift *drifts[N_DRIFT_TYPES]; /* NULL: there was none; borrowed */
	int64_t pending_since[N_DRIFT_TYPES]; /* ms since 1970; 0: it was not pending */
	int64_t pending_hashes[N_DRIFT_TYPES]; /* of what was intended then; 0: not told */
	int64_t work_since[N_DRIFT_SETTLING]; /* a label had told of it since then; 0: none had */
	int64_t work_steps[N_DRIFT_SETTLING]; /* of its step; 0: not told */
};

/* What is known of the device. */
struct drift_device {
	struct view uuid;
	const struct report_device *reported; /* NULL: NVML does not list it */
	bool is_listing_good; /* NVML's list can be read now: a device that is not in it is not there */
	bool is_claimed; /* claims hand it out: a driver of DRA may share it in ways of its own */
	bool is_seen_since_boot; /* the published status of this boot describes it */
	/*
	 * Since when condition Healthy has been what it is, as published, the device has had as many
	 * slots as now, and pods have been current. ms since 1970. 0: that is not known, or the device is
	 * missing or was not published yet. It may have been away before, and was not on offer then.
	 */
	int64_t here_since;
	const struct drift_offer *offers;
	size_t n_offers;
	const struct attribution_status *status; /* as found, but for intent and conditions */
	const struct drift_previous *previous; /* by this node; never NULL */
};

/* What a rule finds. */
enum drift_answer {
	DRIFT_NO,
	DRIFT_FOUND,
	DRIFT_CANNOT_TELL,   /* what is there cannot be seen now: what was published stays */
	DRIFT_UNREADABLE,    /* what is intended cannot be read: a drift is pending again */
	DRIFT_NOT_COMPARED,  /* no source tells what is intended: what was published goes */
};

struct drift_finding {
	enum drift_answer answer;
	int severity;         /* enum attribution_severity; UNSET: the row's */
	struct view intended; /* what, and where that is written */
	struct view observed; /* what, and by which source */
	struct view message;  /* one sentence: what to do */
	int64_t since;        /* when it began, as its source says; ms since 1970; 0: not told */
	uint32_t intent_hash; /* of what is intended (assess/drift_hash.h); 0: it is always the same */
};

/* A finding that is nothing but an answer. */
#define DRIFT_ANSWER(answer) ((struct drift_finding){answer})

struct drift_text;
/* A rule; it makes its texts by assess/drift_text.h. There is a policy, unless the row says ANYWAY. */
typedef struct drift_finding drift_rule_fn(const struct drift_node *node,
					   const struct drift_device *device,
					   struct drift_text *text);
