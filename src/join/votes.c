/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compared are the checkpoint, the List and the status of the pod: all three tell what the kubelet's
 * device manager gave. Claims, HAMi and KAI tell other things, and contradict nobody.
 *
 * A witness speaks of a container when it names any device of the node for it. Two also speak by
 * silence. A good checkpoint has everything that was given. A good List that has the pod has all its
 * containers but ordinary init containers. It is silent if an unidentified pod holds one of the IDs,
 * which may be this pod. A witness says no if it speaks and names fewer IDs of the device than all of
 * them together.
 *
 * A holder without facts is one that was published. A source then says no only where it could have said
 * yes. That is the checkpoint beside a complete List. It is also the API server's witnesses, where no
 * other witness ever named the holder.
 */

#include "join/votes.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "join/from_resource_claim.h"

#define N_COMPARED 3u
#define COMPARED (WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES | WITNESS_POD_STATUS)
#define BY_UID (WITNESS_CHECKPOINT | WITNESS_POD_STATUS | WITNESS_RESOURCE_CLAIM)
#define BY_ANNOTATION (WITNESS_HAMI | WITNESS_KAI)
/* As up to date as the watches: what they no longer say is no longer so. */
#define OF_API (WITNESS_POD_STATUS | WITNESS_RESOURCE_CLAIM | WITNESS_KAI)

_Static_assert(COMPARED == (1u << N_COMPARED) - 1, "they are the first witnesses");

static bool is_list_good(const struct facts *facts)
{
	return source_is_good(facts->source.pod_resources) && !facts->source.is_settling;
}

static bool was_disputed(const struct previous_tenant *previous)
{
	return previous && previous->published->confidence == ATTRIBUTION_CONFIDENCE_DISPUTED;
}

/* The holder has facts */

/*
 * Published witnesses that cannot be asked now. A checkpoint that cannot be read said this of the
 * same slots only. What the kubelet said of HAMi's ID is not about the device that the annotation
 * tells. That a process was seen stays true.
 */
static unsigned find_kept(const struct votes_holder *of, unsigned named)
{
	const struct facts *facts = of->facts;
	unsigned kept = WITNESS_PROCESSES;
	if (!of->previous)
		return 0;
	if (!facts->input->report)
		kept |= WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES;
	if (facts->source.checkpoint == SOURCE_ABSENT && !of->previous->is_unknown && of->holds_the_same)
		kept |= WITNESS_CHECKPOINT;
	if (facts->source.is_settling)
		kept |= WITNESS_POD_RESOURCES;
	if ((named & WITNESS_HAMI) && of->previous->placeholder == PLACEHOLDER_HAMI)
		kept = WITNESS_PROCESSES;
	return of->previous->witnesses & kept;
}

/* How many of its IDs on the device any of the witnesses names. */
static int64_t count_named(const struct votes_holder *of, unsigned witnesses)
{
	int64_t n = 0;
	for (size_t i = 0; i < of->n_items; i++)
		n += (of->items[i].witnesses & witnesses) != 0;
	return n;
}

/* Or may be one: of a pod with very many containers only the first are kept. */
static bool is_init(const struct votes_holder *of)
{
	const struct pod_container *c = pod_find_container(of->pod, of->container);
	return c ? c->kind == POD_CONTAINER_INIT : pod_gpu(of->pod)->containers_left_out > 0;
}

static int by_id(const void *key, const void *element)
{
	return view_compare(*(const struct view *)key, ((const struct fact *)element)->id);
}

/* One of its IDs is also held by an unidentified pod; only the List says so. */
static bool is_left_open(const struct votes_holder *of)
{
	const struct view nobody = {0};
	size_t n_open;
	if (of->facts->owners[0]->heard == 0)
		return false;
	const struct fact *open = facts_of_holder(of->facts, of->device, nobody, nobody, &n_open);
	for (size_t i = 0; i < of->n_items && n_open > 0; i++)
		if (bsearch(&of->items[i].id, open, n_open, sizeof(*open), by_id))
			return true;
	return false;
}

static bool speaks_by_silence(const struct votes_holder *of, unsigned witness)
{
	if (witness == WITNESS_CHECKPOINT)
		return source_is_good(of->facts->source.checkpoint);
	return witness == WITNESS_POD_RESOURCES && is_list_good(of->facts) && !is_init(of) &&
	       node_pods_is_named(&of->facts->node_pods, of->pod) && !is_left_open(of);
}

/*
 * A witness that does not name the container at all may have been read before the container began.
 * So its no counts when it was heard of again since. Only a List tells when it was read.
 */
static bool counts(const struct votes_holder *of, bool is_by_silence, struct debounce *debounce)
{
	const struct facts *facts = of->facts;
	const struct debounce_subject subject = {
		.kind = DEBOUNCE_DISAGREEMENT,
		.device = facts->devices->devices[of->device].uuid,
		.pod_uid = of->pod_uid,
		.subject = of->container,
		.waits_ms = facts->input->limits->disagreement_ms,
		.needs_report = is_by_silence,
		.is_unread = is_by_silence && source_is_good(facts->source.pod_resources) &&
			     !node_pods_is_read_since(&facts->node_pods, of->pod),
		.is_published = was_disputed(of->previous),
	};
	return debounce_counts(debounce, &subject);
}

/* Of a status that was cut any ID may be missing. */
static void compare(const struct votes_holder *of, struct votes *votes, struct debounce *debounce)
{
	const unsigned heard = of->facts->owners[of->items[0].owner->rank]->heard;
	const int64_t n_named = count_named(of, COMPARED);
	for (unsigned i = 0; i < N_COMPARED; i++) {
		const unsigned witness = 1u << i;
		if (witness == WITNESS_POD_STATUS && pod_gpu(of->pod)->allocations_left_out > 0)
			continue;
		if (!(heard & witness) && !speaks_by_silence(of, witness))
			continue;
		votes->speaks |= witness;
		if (count_named(of, witness) < n_named)
			votes->no |= witness;
	}
	if (votes->no && !counts(of, !(votes->no & heard), debounce))
		votes->no = 0;
}

/*
 * While the node is silent nothing is compared, and a published dispute stays: some no is kept. An
 * ID of HAMi's need not mean the device that it names: that is no dispute.
 */
static void hear_facts(const struct votes_holder *of, struct votes *votes, struct debounce *debounce)
{
	const struct join_input *input = of->facts->input;
	for (size_t i = 0; i < of->n_items; i++)
		votes->yes |= of->items[i].witnesses;
	assert(votes->yes != 0);
	votes->yes |= find_kept(of, votes->yes);
	if (!of->pod || of->placeholder == PLACEHOLDER_HAMI)
		return;
	if (input_is_heard(input)) {
		compare(of, votes, debounce);
	} else if (was_disputed(of->previous)) {
		votes->is_carried = true;
		votes->no = WITNESS_CHECKPOINT;
	}
}

/* The holder is published only */

static bool has_status(const struct votes_holder *of)
{
	const struct array allocations = of->pod ? pod_gpu(of->pod)->allocations : (struct array){0};
	ARRAY_EACH(const struct pod_allocation, told, allocations)
		if (view_equal(told->container, of->container))
			return true;
	return false;
}

/* Witnesses that can be asked, and do not name it: claims also while what is known of pods is old. */
static unsigned find_lost(const struct votes_holder *of, enum resource_claim_word claims)
{
	const struct source *source = &of->facts->source;
	unsigned lost = claims >= RESOURCE_CLAIM_STAYS ? 0 : WITNESS_RESOURCE_CLAIM;
	if (source_is_good(source->kai))
		lost |= WITNESS_KAI;
	if (source_is_good(source->checkpoint))
		lost |= WITNESS_CHECKPOINT;
	if (is_list_good(of->facts))
		lost |= WITNESS_POD_RESOURCES;
	if (source_is_good(source->pod_status) && has_status(of) && pod_gpu(of->pod)->allocations_left_out == 0)
		lost |= WITNESS_POD_STATUS;
	return lost;
}

/*
 * A device that NVML lacks may be missing there. A pod that was never known had that one witness, and
 * the List, which names no such pod, denies its ID.
 */
static bool is_gone_from_checkpoint(const struct votes_holder *of, unsigned lost)
{
	const struct facts *facts = of->facts;
	const struct device *device = &facts->devices->devices[of->device];
	if (of->previous->is_unknown)
		return facts->source.checkpoint != SOURCE_ABSENT || (lost & WITNESS_POD_RESOURCES);
	return (lost & WITNESS_CHECKPOINT) && facts->source.is_list_complete &&
	       (facts->devices->nvml != REPORT_LIST_GOOD || device->reported);
}

/*
 * HAMi's annotation tells all devices that a container has by HAMi's IDs; not those of claims. A claim
 * that is not here names nobody, and does not say that its pod has nothing.
 */
static void hear_silence(const struct votes_holder *of, struct votes *votes)
{
	const unsigned heard = facts_heard_of(of->facts, of->pod_uid, of->container);
	const unsigned published = of->previous->witnesses & ~(unsigned)WITNESS_PROCESSES;
	const enum resource_claim_word claims = from_resource_claim_hear(
		of->facts, &of->facts->devices->devices[of->device], of->previous);
	const unsigned lost = find_lost(of, claims);
	/* No witness is left, or it was a claim. */
	const bool is_by_claim = !(published & ~lost) || (published & WITNESS_RESOURCE_CLAIM);
	const bool lacks_claim = is_by_claim && node_pods_is_lacking(&of->facts->node_pods, of->pod);

	votes->left = of->previous->witnesses & ~lost;
	votes->is_carried = was_disputed(of->previous);
	votes->no = lost & WITNESS_POD_RESOURCES;
	if (is_gone_from_checkpoint(of, lost))
		votes->no |= WITNESS_CHECKPOINT;
	if (!(published & ~(OF_API & lost)))
		votes->no |= published;
	if (!(published & ~lost) && claims == RESOURCE_CLAIM_MOVED)
		votes->no |= WITNESS_RESOURCE_CLAIM;
	/* And the kubelet's sources do not cover claims. */
	if (lacks_claim || claims >= RESOURCE_CLAIM_DOUBTFUL)
		votes->no = 0;
	if (of->facts->source.hami == SOURCE_COMPLETE && !(published & WITNESS_RESOURCE_CLAIM))
		votes->no |= heard & WITNESS_HAMI;
	assert(votes->yes == 0);
}

/* All */

/* Who was known once, and is not any more, has been deleted. */
static enum arbitrate_pod judge_pod(const struct votes_holder *of)
{
	if (!of->pod && node_pods_is_elsewhere(&of->facts->node_pods, of->pod_uid))
		return ARBITRATE_POD_ELSEWHERE;
	if (of->pod ? pod_is_over(of->pod) : of->previous && !of->previous->is_unknown)
		return ARBITRATE_POD_OVER;
	if (!of->pod)
		return ARBITRATE_POD_UNKNOWN;
	return of->placeholder == PLACEHOLDER_HAMI ? ARBITRATE_POD_PLACEHOLDER : ARBITRATE_POD_KNOWN;
}

struct votes votes_take(const struct votes_holder *holder, struct debounce *debounce)
{
	struct votes votes = {.of = holder, .pod = judge_pod(holder)};
	assert(holder->device < holder->facts->devices->n_devices);
	assert(holder->n_items > 0 || holder->previous);
	if (holder->n_items > 0)
		hear_facts(holder, &votes, debounce);
	else
		hear_silence(holder, &votes);
	return votes;
}

static enum arbitrate_vote sum_up(unsigned yes, unsigned no)
{
	if (yes && no)
		return ARBITRATE_BOTH;
	if (no)
		return ARBITRATE_NO;
	return yes ? ARBITRATE_YES : ARBITRATE_SILENT;
}

static struct arbitrate_input input_of(const struct votes *votes, unsigned yes, unsigned no)
{
	return (struct arbitrate_input){
		.uid = sum_up(yes & BY_UID, no & BY_UID),
		.name = no & WITNESS_POD_RESOURCES ? ARBITRATE_NO
						   : sum_up(yes & WITNESS_POD_RESOURCES, 0),
		.annotation = yes & BY_ANNOTATION ? ARBITRATE_YES : sum_up(0, no & BY_ANNOTATION),
		.pod = votes->pod,
		.was_published = votes->of->previous,
		.was_disputed = votes->is_carried,
		.is_seen = yes & WITNESS_PROCESSES,
	};
}

struct arbitrate_result votes_decide(const struct votes *votes)
{
	const struct arbitrate_input input = input_of(votes, votes->yes, votes->no);
	const struct arbitrate_input left = input_of(votes, votes->left, 0);
	struct arbitrate_result result = arbitrate_decide(&input);
	if (result.verdict == ARBITRATE_KEEP)
		result.confidence = arbitrate_keep(&left);
	return result;
}

/* Of the IDs that one witness names: those that all name who speak, or the others. */
static void pick_ids(const struct votes *votes, unsigned witness, bool by_all,
		     struct attribution_statement *said)
{
	struct view *ids = said->device_ids.items;
	for (size_t i = 0; i < votes->of->n_items; i++) {
		const struct fact *item = &votes->of->items[i];
		if (!(item->witnesses & witness) ||
		    ((item->witnesses & votes->speaks) == votes->speaks) != by_all)
			continue;
		if (said->device_ids.count < LIMIT_STATED_IDS)
			ids[said->device_ids.count++] = item->id;
		else
			said->device_ids_left_out++;
	}
}

struct array votes_state(const struct votes *votes, struct arena *arena)
{
	struct attribution_statement *said;
	struct view *ids;
	assert(votes->speaks != 0);
	if (!ARENA_NEW(said, arena, N_COMPARED) || !ARENA_NEW(ids, arena, (size_t)N_COMPARED * LIMIT_STATED_IDS))
		return (struct array){0};
	struct array says = {said, 0, true};
	for (unsigned i = 0; i < N_COMPARED; i++, ids += LIMIT_STATED_IDS) {
		if (!(votes->speaks & (1u << i)))
			continue;
		*said = (struct attribution_statement){.witness = wording_witness(i),
						       .slots = count_named(votes->of, 1u << i),
						       .device_ids = {ids, 0, true}};
		pick_ids(votes, 1u << i, false, said);
		pick_ids(votes, 1u << i, true, said);
		if (said->device_ids.count == 0)
			said->device_ids.items = NULL;
		said++;
		says.count++;
	}
	return says;
}
