/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/gather_claims.h"

#include <assert.h>

#include "model/grant.h"
#include "model/pod_set.h"
#include "model/resource_claim.h"
#include "model/resource_slice.h"

struct collector {
	const struct inventory_parts *parts;
	struct arena *arena;
	struct join_input *input;
	struct error *err;
	struct grant_use *uses; /* of claims that are here */
	const struct pod **lacking, **awaiting;
	struct grant_input grants;
	bool lacks_claims; /* one that comes, or is allocated, may change the result */
};

/* The pod's claim of that name; NULL: the API server has none, or it was not seen yet. */
static const struct resource_claim *find_claim(const struct collector *c, const struct pod *pod,
					       struct view name)
{
	char key[RECORD_KEY_SIZE];

	return resource_claim_set_find(c->parts->resource_claims,
				       record_set_key(pod_namespace(pod), name, key));
}

/* The claim gives the pod no more than now: it is another driver's, or reserved for the pod. */
static bool is_settled(const struct resource_claim *claim, const struct pod *pod)
{
	return claim->is_allocated &&
	       (claim->results.count == 0 || resource_claim_is_reserved_for(claim, pod_uid(pod)));
}

/*
 * Adds the pod's uses of claims that are here. A claim that is not may be on its way, or of a version
 * of the API that is not read.
 */
static void add_uses(struct collector *c, const struct pod *pod)
{
	struct join_input *input = c->input;
	const struct pod_claim *claims = pod_gpu(pod)->claims.items;
	const uint32_t n_claims = pod_gpu(pod)->claims.count;
	bool is_over = pod_is_over(pod), lacks = false;
	bool awaits = n_claims > 0 && (pod_left_out(pod) > 0 || !c->parts->grants_known);

	for (uint32_t k = 0; k < n_claims; k++) {
		const struct resource_claim *claim = find_claim(c, pod, claims[k].claim);
		lacks |= !claim;
		awaits |= claim && !is_settled(claim, pod);
		c->lacks_claims |= !is_over && (!claim || !claim->is_allocated);
		if (claim)
			c->uses[c->grants.n_uses++] = (struct grant_use){pod, &claims[k], claim};
	}
	if (lacks && !is_over)
		c->lacking[input->n_lacking++] = pod;
	if (awaits && !is_over)
		c->awaiting[input->n_awaiting++] = pod;
}

static int gather_uses(struct collector *c)
{
	struct join_input *input = c->input;
	size_t n_uses = 0;

	for (size_t i = 0; i < input->n_pods; i++)
		n_uses += pod_gpu(input->pods[i])->claims.count;
	c->uses = arena_alloc(c->arena, n_uses, sizeof(*c->uses));
	c->lacking = arena_alloc(c->arena, input->n_pods, sizeof(*c->lacking));
	c->awaiting = arena_alloc(c->arena, input->n_pods, sizeof(*c->awaiting));
	if (!c->uses || !c->lacking || !c->awaiting)
		return error_no_memory(c->err);
	c->grants.uses = c->uses;
	input->lacking = c->lacking;
	input->awaiting = c->awaiting;
	for (size_t i = 0; i < input->n_pods; i++)
		add_uses(c, input->pods[i]);
	assert(c->grants.n_uses <= n_uses && input->n_lacking <= input->n_pods);
	assert(input->n_awaiting <= input->n_pods);
	return 0;
}

static int gather_slices(struct collector *c, const struct node_state *node_state)
{
	const struct list *end = &node_state->slices;
	struct grant_input *grants = &c->grants;
	const struct resource_slice **slices = arena_alloc(c->arena, node_state->n_slices,
							   sizeof(*slices));

	if (!slices)
		return error_no_memory(c->err);
	grants->slices = slices;
	for (const struct list *l = end->next; l != end; l = l->next)
		slices[grants->n_slices++] = CONTAINER_OF(l, struct record, link)->object;
	assert(grants->n_slices == node_state->n_slices);
	return 0;
}

int gather_claims(const struct inventory_parts *parts, struct node_state *node_state,
		  struct arena *arena, struct join_input *input, struct error *err)
{
	struct collector c = {.parts = parts, .arena = arena, .input = input, .err = err};
	struct grant_result result;

	if (gather_uses(&c) < 0 || gather_slices(&c, node_state) < 0 ||
	    grant_compute(&c.grants, arena, &result, err) < 0)
		return -1;
	node_state_note_claims(parts->node_states, node_state, c.lacks_claims);
	input->grants = result.grants;
	input->n_grants = result.n_grants;
	input->slice_devices = result.devices;
	input->n_slice_devices = result.n_devices;
	input->slice_devices_left_out = result.devices_left_out;
	input->grants_unknown |= result.is_incomplete;
	return 0;
}
