/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kubelet does not rewrite the checkpoint when a pod ends. So an entry of a pod that was never
 * known is left over when a complete List has nothing of it.
 */

#include "join/from_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

static void add_entry(struct facts_draft *draft, const struct checkpoint_index_entry *entry)
{
	const struct report_checkpoint_entry *said = entry->said;
	struct holder *holder = facts_add_holder(
		draft, (struct holder){
			       .pod_uid = entry->pod ? pod_uid(entry->pod) : said->pod_uid,
			       .container = said->container,
			       .resource = said->resource,
			       .pod = entry->pod,
		       });
	const struct fact what = {
		.witnesses = WITNESS_CHECKPOINT,
		.mps = said->mps ? FACT_MPS_USED : FACT_MPS_NOT_USED,
	};
	for (uint32_t i = 0; i < said->device_ids.count; i++)
		facts_add(draft, holder, *ARRAY_AT(said->device_ids, struct view, i), what);
}

static bool is_left_over(const struct facts *facts, const struct checkpoint_index *index,
			 const struct checkpoint_index_entry *entry)
{
	return facts->source.pod_resources == SOURCE_COMPLETE &&
	       !checkpoint_index_is_marked(index, entry);
}

static void read_entry(struct facts_draft *draft, const struct checkpoint_index *index,
		       const struct checkpoint_index_entry *entry)
{
	struct facts *facts = draft->facts;
	assert(facts->n_ended < index->n_entries); /* one of each at most */
	switch (entry->standing) {
	case CHECKPOINT_LIVE:
		add_entry(draft, entry);
		break;
	case CHECKPOINT_ENDED:
		if (!entry->pod)
			facts->ended[facts->n_ended++] = entry->said->pod_uid;
		break;
	case CHECKPOINT_REFUSED:
		facts->claims_refused++;
		/* When that pod is deleted there, it does not become one that nobody knows here. */
		facts->ended[facts->n_ended++] = entry->said->pod_uid;
		break;
	default:
		if (!is_left_over(facts, index, entry))
			add_entry(draft, entry);
		break;
	}
}

static int by_text(const void *a, const void *b)
{
	return view_compare(*(const struct view *)a, *(const struct view *)b);
}

static void sort_ended(struct facts *facts)
{
	size_t n = 0;
	qsort(facts->ended, facts->n_ended, sizeof(*facts->ended), by_text);
	for (size_t i = 0; i < facts->n_ended; i++) {
		if (n == 0 || !view_equal(facts->ended[n - 1], facts->ended[i]))
			facts->ended[n++] = facts->ended[i];
	}
	assert(n <= facts->n_ended);
	facts->n_ended = n;
}

void from_checkpoint_read(struct facts_draft *draft, const struct checkpoint_index *index)
{
	struct facts *facts = draft->facts;

	for (uint32_t i = 0; i < index->n_entries; i++)
		read_entry(draft, index, &index->entries[i]);
	sort_ended(facts);
}
