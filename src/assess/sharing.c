/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How one device is divided among containers, by what was seen on it. The node's label decides nothing:
 * it corroborates, or a line says that it contradicts.
 *
 * What is so of the device is a set of findings, most of which are lines of evidence. The first row of
 * assess/sharing.def of which all findings are there decides the mode, and which of the lines are said. The
 * form of the device IDs tells whether they name the device or MIG devices, and whether they are replicas.
 * It does not tell MPS from time-slicing: allocation responses do, then the compute mode.
 */

#include "assess/sharing.h"

static unsigned form_of(const struct slot *slot)
{
	if (slot->is_odd)
		return EVIDENCE_ODD_ID;
	if (slot->is_hami)
		return EVIDENCE_HAMI_IDS;
	if (slot->is_mig)
		return EVIDENCE_MIG_IDS |
		       (slot->is_replica ? EVIDENCE_REPLICA_IDS | SHARING_PART_REPLICA
					 : SHARING_PART);
	return SHARING_WHOLE | (slot->is_replica ? EVIDENCE_REPLICA_IDS | SHARING_WHOLE_REPLICA
						 : EVIDENCE_GPU_IDS);
}

/* What allocation responses said of it, and that several pods have it by claims. */
static unsigned use_of(const struct slot *slot)
{
	unsigned found = slot->is_share ? EVIDENCE_SHARE_BY_CLAIM : 0;
	if (slot->is_share || slot->is_shared)
		found |= slot->is_mig ? SHARING_SHARED_PART : SHARING_SHARED_WHOLE;
	if (!slot->is_replica)
		return found;
	if (slot->is_by_minor)
		found |= SHARING_BY_MINOR;
	if (slot->mps & SLOT_MPS_USED)
		found |= slot->is_mig ? EVIDENCE_PIPE_CONTRADICTS : EVIDENCE_WITH_PIPE;
	if (slot->mps & SLOT_MPS_NOT_USED)
		found |= EVIDENCE_WITHOUT_PIPE;
	return found;
}

/* When IDs are on offer, they alone tell how the device is shared now: others may be outdated. */
static unsigned look_at_slots(const struct sharing_input *input)
{
	unsigned found = EVIDENCE_NO_IDS, forms = 0, left_over = 0;
	for (size_t i = 0; i < input->n_slots; i++) {
		const struct slot *slot = &input->slots[i];
		const bool is_of_before = input->is_offered && !slot->is_offered;
		/* A claim is of now, whatever a plugin has on offer, and has no ID of the plugin's. */
		const bool is_claimed = slot->claim_pod_uid.len > 0;
		if (!is_of_before || is_claimed)
			found |= use_of(slot);
		if (!is_of_before)
			forms |= form_of(slot);
		else if (!is_claimed)
			left_over |= form_of(slot);
	}
	if (input->has_sharers)
		found |= SHARING_SHARED_WHOLE;
	if (!(found & SHARING_SHARED_WHOLE))
		found |= SHARING_UNSHARED;
	/* Only rows of what is shared say this line. */
	if (!(found & EVIDENCE_SHARE_BY_CLAIM))
		found |= EVIDENCE_SHARED_ID;
	/* Beside MIG devices, replicas of the device are IDs of the whole device too. */
	if (forms & EVIDENCE_MIG_IDS)
		found |= EVIDENCE_GPU_IDS;
	return found | forms | (left_over & ~forms ? EVIDENCE_LEFT_OVER_ID : 0u);
}

bool sharing_has_mps_process(const struct report_device *reported)
{
	ARRAY_EACH(const struct report_process, process, reported->processes)
		if (process->kind == REPORT_PROCESS_MPS)
			return true;
	return false;
}

/*
 * NVIDIA's plugin changes the compute mode for MPS; GKE's does not. Any pod may run an MPS of its
 * own, so its process is a clue only when the compute mode is not known.
 */
static unsigned look_at_device(const struct report_device *reported, unsigned slots)
{
	unsigned found = 0;
	if (!reported)
		return 0;
	if (reported->mig.present && reported->mig.current)
		found |= EVIDENCE_MIG_IS_ON | EVIDENCE_MIG_CONTRADICTS;
	if (reported->compute_mode == REPORT_COMPUTE_EXCLUSIVE_PROCESS)
		found |= EVIDENCE_EXCLUSIVE_PROCESS;
	if (reported->compute_mode == REPORT_COMPUTE_DEFAULT && !(slots & SHARING_BY_MINOR))
		found |= EVIDENCE_DEFAULT_MODE | EVIDENCE_DEFAULT_MODE_CONTRADICTS;
	if (reported->compute_mode == REPORT_COMPUTE_UNKNOWN && sharing_has_mps_process(reported))
		found |= EVIDENCE_MPS_PROCESS;
	return found;
}

/* A plugin that does not share is news only of replicas. */
static unsigned look_at_label(const struct node *node, unsigned slots)
{
	struct view label = node ? node->sharing_strategy : (struct view){0};
	if (view_equal(label, VIEW("mps")))
		return EVIDENCE_LABEL_MPS | EVIDENCE_LABEL_MPS_CONTRADICTS;
	if (view_equal(label, VIEW("time-slicing")))
		return EVIDENCE_LABEL_TIME_SLICING | EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS;
	return view_equal(label, VIEW("none")) && slots & SHARING_WHOLE_REPLICA
		       ? EVIDENCE_LABEL_NONE_CONTRADICTS
		       : 0u;
}

/* The most replicas of the device or of one MIG device; 0: not known, as none is on offer. */
static int64_t count_replicas(const struct sharing_input *input)
{
	const struct slot *last = input->slots;
	int64_t n = 0, most = 0;
	for (size_t i = 0; i < input->n_slots; i++) {
		const struct slot *slot = &input->slots[i];
		if (input->is_offered && !slot->is_offered)
			continue;
		if (!input->is_offered && (slot->is_replica || slot->is_odd))
			return 0;
		/* Slots are by ID, so those of one partition follow each other. */
		bool is_next = slot->is_replica && last->is_replica &&
			       view_equal(slot->partition, last->partition);
		n = (is_next ? n : 0) + 1;
		most = n > most ? n : most;
		last = slot;
	}
	return most;
}

static int tell(unsigned lines, struct arena *arena, struct array *ret_texts, struct error *err)
{
	struct view *texts = arena_alloc(arena, N_EVIDENCE, sizeof(*texts));
	uint32_t n = 0;
	if (!texts)
		return error_no_memory(err);
	for (unsigned i = 0; i < N_EVIDENCE; i++)
		if (lines & 1u << i)
			texts[n++] = sharing_rule_text((enum evidence_index)i);
	*ret_texts = (struct array){texts, n, true};
	return 0;
}

bool sharing_is_without_ids(unsigned evidence)
{
	return (evidence & (EVIDENCE_NO_IDS | EVIDENCE_MIG_IS_ON)) != 0;
}

int sharing_judge(const struct sharing_input *input, struct arena *arena,
		  struct attribution_sharing *ret_sharing, bool *ret_is_without_ids, struct error *err)
{
	const unsigned slots = look_at_slots(input);
	const unsigned found = slots | look_at_device(input->reported, slots) | look_at_label(input->node, slots);
	const struct sharing_rule *rule = sharing_rule_decide(found);
	struct attribution_sharing sharing = {
		.mode = (int)rule->mode,
		.replicas = count_replicas(input),
	};

	if (tell(sharing_rule_lines(rule, found), arena, &sharing.evidence, err) < 0)
		return -1;
	*ret_sharing = sharing;
	*ret_is_without_ids = sharing_is_without_ids(rule->says);
	return 0;
}
