/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_card - the few facts about a pod that explain why it is on a GPU or on none, from its JSON.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "base/array.h"
#include "base/view.h"

/* A container that asks for GPUs. */
struct pod_card_request {
	struct view container;
	struct view resource; /* "nvidia.com/gpu"; the first one that it names; empty: KAI has put */
			      /* it on a GPU with others */
	struct view count;    /* as it stands there: "2" */
};

struct pod_card {
	struct view namespace;
	struct view name;
	struct view uid;
	struct view node;            /* empty: not scheduled */
	struct view phase;           /* "Pending", ... */
	struct view reason;          /* why the phase, often empty */
	struct view message;
	struct view not_scheduled;   /* what the scheduler says, or empty */
	struct array requests;       /* struct pod_card_request, by place in the pod */
	struct array claims;         /* struct view: the ResourceClaims that containers use, or that */
				     /* serve their limits, for GPUs or not; while one is not made, */
				     /* what the pod calls it */
	bool has_claims;             /* it has some, used or not */
	struct view kai_annotation;  /* by which it asks KAI for a share of a GPU, or empty */
	bool has_hami;               /* HAMi's annotation says that it was given GPUs */
	struct array devices;        /* struct own_device: what the kubelet says that it has */
	struct view other_resource;  /* asked for, and not known to be a GPU's, or empty */
	struct view scheduler;
	bool is_deleting;
};

/*
 * Decodes one pod. What it points to lies in arena. Fails with ERROR_REJECTED if it is no pod,
 * ERROR_LIMIT, or ERROR_NO_MEMORY; *ret_card is then untouched.
 */
MUST_USE int pod_card_decode(struct view json, struct arena *arena, struct pod_card *ret_card,
			     struct error *err);
/* Has the pod ended: it holds nothing any more? */
bool pod_card_is_over(const struct pod_card *card);
/*
 * Does it ask for GPUs, or may one of its claims do so? For a pod on a node this is the controller's
 * own rule (schema/pod_doc.h). A pod that waits for a node may still be given a share by KAI.
 */
bool pod_card_asks(const struct pod_card *card);
