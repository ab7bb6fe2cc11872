/* SPDX-License-Identifier: Apache-2.0 */
#include "join/witnesses.h"

#include <assert.h>

#include "join/from_resource_claim.h"
#include "join/readers.h"

/* The checkpoint helps to explain the List, and the List to read the checkpoint. */
static int ask_all(struct facts_draft *draft, struct error *err)
{
	struct checkpoint_index checkpoint;
	if (draft->facts->input->report) {
		if (checkpoint_index_make(draft, &checkpoint, err) < 0)
			return -1;
		from_pod_resources_read(draft, &checkpoint);
		from_checkpoint_read(draft, &checkpoint);
	}
	from_pod_status_read(draft);
	from_resource_claim_read(draft);
	from_hami_read(draft);
	from_kai_read(draft);
	return 0;
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
	    facts_open(&facts, arena, &draft, err) < 0 ||
	    from_resource_claim_open(&facts, arena, err) < 0)
		return -1;
	facts.source = source_judge(&facts.node_pods, devices);
	/* Which pod a witness means is not known while what is known of pods is old. */
	if ((!facts.is_frozen && ask_all(&draft, err) < 0) || facts_close(&draft, err) < 0)
		return -1;
	assert(facts.n_placed <= facts.n_items);
	*ret_facts = facts;
	return 0;
}
