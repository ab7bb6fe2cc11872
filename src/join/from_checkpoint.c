/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kubelet does not rewrite the checkpoint when a pod ends. So an entry of a pod that was never
 * known is left over when a complete List has nothing of it.
 */

#include "join/readers.h"

static bool is_left_over(const struct facts *facts, const struct checkpoint_index *checkpoint,
			 const struct report_checkpoint_entry *entry)
{
	ARRAY_EACH(const struct view, id, entry->device_ids)
		if (checkpoint_index_find(checkpoint, *id, entry->container, NULL)->is_listed)
			return false;
	return facts->source.pod_resources == SOURCE_COMPLETE;
}

static void add_entry(struct facts_draft *draft, const struct report_checkpoint_entry *entry, const struct pod *pod)
{
	struct holder *holder = facts_add_holder(
		draft, (struct holder){pod ? pod_uid(pod) : entry->pod_uid, entry->container, entry->resource,
				       .pod = pod});
	const struct fact what = {
		.witnesses = WITNESS_CHECKPOINT,
		.mps = entry->mps ? SLOT_MPS_USED : SLOT_MPS_NOT_USED,
	};
	ARRAY_EACH(const struct view, id, entry->device_ids)
		facts_add(draft, holder, *id, what);
}

static void read_entry(struct facts_draft *draft, const struct checkpoint_index *checkpoint,
		       const struct report_checkpoint_entry *entry, struct view *ended)
{
	struct facts *facts = draft->facts;
	const struct pod *pod = node_pods_find_uid(&facts->node_pods, entry->pod_uid);
	const enum checkpoint_standing standing = checkpoint_index_judge(checkpoint, facts, entry->pod_uid, pod);
	/* When a pod is deleted on another node, it does not become one that nobody knows here. */
	if (standing == CHECKPOINT_REFUSED)
		facts->entries_refused++;
	if (!pod && standing != CHECKPOINT_UNKNOWN)
		ended[facts->n_ended++] = entry->pod_uid;
	else if (pod || !is_left_over(facts, checkpoint, entry))
		add_entry(draft, entry, pod);
}

void from_checkpoint_read(struct facts_draft *draft, const struct checkpoint_index *checkpoint)
{
	struct facts *facts = draft->facts;
	const struct array all = facts->input->report->checkpoint.entries;
	struct view *ended;
	if (!ARENA_NEW(ended, draft->arena, all.count))
		return;
	facts->ended = ended;
	facts->n_ended = 0;
	ARRAY_EACH(const struct report_checkpoint_entry, entry, all)
		read_entry(draft, checkpoint, entry, ended);
	facts->n_ended = view_sort(ended, facts->n_ended);
}
