/* SPDX-License-Identifier: Apache-2.0 */
#include "join/witnesses.h"

#include <assert.h>

#include "join/from_resource_claim.h"
#include "join/readers.h"

/* The checkpoint helps to explain the List, and the List to read the checkpoint. */
static int read_report(struct facts_draft *draft, struct error *err)
{
	struct checkpoint_index checkpoint;
	if (checkpoint_index_make(draft, &checkpoint, err) < 0)
		return -1;
	from_pod_resources_read(draft, &checkpoint);
	return from_checkpoint_read(draft, &checkpoint, err);
}

static void ask_pods(struct facts_draft *draft, void (*read)(struct facts_draft *draft, const struct pod *pod))
{
	const struct node_pods *node_pods = &draft->facts->node_pods;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++)
		read(draft, node_pods->gpu_pods[i]);
}

static int ask_all(struct facts_draft *draft, struct error *err)
{
	if (draft->facts->input->report && read_report(draft, err) < 0)
		return -1;
	ask_pods(draft, from_pod_status_read);
	from_resource_claim_read(draft);
	ask_pods(draft, from_hami_read);
	return from_kai_read(draft, err);
}

int witnesses_read(const struct join_input *input, const struct devices *devices, struct arena *arena,
		   struct facts *ret_facts, struct error *err)
{
	struct facts facts = {
		.input = input,
		.devices = devices,
		.is_frozen = input->pods_age != INVENTORY_CURRENT,
		.ended = input->ended,
		.n_ended = input->n_ended,
	};
	struct facts_draft draft;

	if (node_pods_take(input, arena, &facts.node_pods, err) < 0 ||
	    facts_open(&facts, arena, &draft, err) < 0)
		return -1;
	if (from_resource_claim_open(&facts, arena, err) < 0)
		return -1;
	facts.source = source_judge(&facts.node_pods, devices);
	/* Which pod a witness means is not known while what is known of pods is old. */
	if ((!facts.is_frozen && ask_all(&draft, err) < 0) || facts_close(&draft, err) < 0)
		return -1;
	assert(facts.n_placed <= facts.n_items);
	*ret_facts = facts;
	return 0;
}
