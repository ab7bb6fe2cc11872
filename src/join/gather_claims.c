/* SPDX-License-Identifier: Apache-2.0 */
#include "join/gather_claims.h"

#include <assert.h>
#include <string.h>

#include "model/grant.h"
#include "model/pod_set.h"
#include "model/resource_claim_set.h"
#include "model/resource_slice_set.h"

#define KEY_SIZE 512u /* more than the key of any claim needs */

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
	char key[KEY_SIZE];
	size_t n = pod_namespace(pod).len + 1; /* up to the '/' */

	if (n + name.len > sizeof(key))
		return NULL;
	memcpy(key, pod_key(pod).ptr, n);
	memcpy(key + n, name.ptr, name.len);
	return resource_claim_set_find(c->parts->resource_claims,
				       (struct view){key, n + name.len});
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
	uint32_t n_claims;
	const struct pod_claim *claims = pod_claims(pod, &n_claims);
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

	for (size_t i = 0; i < input->n_pods; i++) {
		uint32_t n_claims;
		(void)pod_claims(input->pods[i], &n_claims);
		n_uses += n_claims;
	}
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
	return 0;
}

static int gather_slices(struct collector *c, const struct place *place)
{
	const struct list *end = &place->slices;
	struct grant_input *grants = &c->grants;
	const struct resource_slice **slices = arena_alloc(c->arena, place->n_slices,
							   sizeof(*slices));

	if (!slices)
		return error_no_memory(c->err);
	grants->slices = slices;
	for (const struct list *l = end->next; l != end; l = l->next)
		slices[grants->n_slices++] = CONTAINER_OF(l, struct record, link)->object;
	assert(grants->n_slices == place->n_slices);
	return 0;
}

int gather_claims(const struct inventory_parts *parts, struct place *place, struct arena *arena,
		  struct join_input *input, struct error *err)
{
	struct collector c = {.parts = parts, .arena = arena, .input = input, .err = err};
	struct grant_result result;

	if (gather_uses(&c) < 0 || gather_slices(&c, place) < 0 ||
	    grant_compute(&c.grants, arena, &result, err) < 0)
		return -1;
	place_note_claims(parts->places, place, c.lacks_claims);
	input->grants = result.grants;
	input->n_grants = result.n_grants;
	input->slice_devices = result.devices;
	input->n_slice_devices = result.n_devices;
	input->slice_devices_left_out = result.devices_left_out;
	input->grants_unknown |= result.is_incomplete;
	return 0;
}
