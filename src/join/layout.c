/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tells assess/sharing.h and assess/describe.h what the join knows of one device, and counts its slots.
 *
 * A slot counts once, however many pods hold it. Tenants that no source names have no IDs: the number of
 * their slots is added. If such a slot was given to another pod since, the total is the bound.
 *
 * The total is the number of IDs on offer, and of those held beside them. When the plugin offers no ID of
 * the device, the held ones are a part of all: the total is then as published, or unknown.
 */

#include "join/subject.h"

#include <assert.h>

#include "assess/describe.h"
#include "assess/sharing.h"

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* How it is shared */

static bool has_sharers(const struct subject *subject)
{
	unsigned witnesses = 0;
	for (size_t i = 0; i < subject->n_items; i++)
		witnesses |= subject->items[i].witnesses;
	return witnesses & WITNESS_KAI;
}

int layout_share(struct subject *subject, struct error *err)
{
	const struct previous *before = subject->device->published;
	const struct sharing_input input = {
		.slots = subject->slots,
		.n_slots = subject->n_slots,
		.is_offered = subject->is_offered,
		.has_sharers = has_sharers(subject),
		.reported = subject->device->reported,
		.node = subject->facts->input->node,
	};

	assert(!subject->is_as_published || before);
	subject->is_without_ids = subject->is_as_published && sharing_is_without_ids(before->evidence);
	if (subject->is_as_published && before->status->sharing.mode != ATTRIBUTION_MODE_UNSET &&
	    !(subject->is_without_ids && subject->n_slots > 0)) {
		subject->status->sharing = before->status->sharing;
		return 0;
	}
	return sharing_judge(&input, subject->arena, &subject->status->sharing, &subject->is_without_ids, err);
}

/* What it is, and how it is cut */

static struct describe_input input_of(const struct subject *subject)
{
	return (struct describe_input){
		.report = subject->facts->input->report,
		.reported = subject->device->reported,
		.slice = subject->device->slice,
		.published = subject->published,
		.is_agentless = subject->published && subject->device->published->is_agentless,
		.slots = subject->slots,
		.n_slots = subject->n_slots,
		.is_as_published = subject->is_as_published,
	};
}

int layout_describe(const struct subject *subject, struct error *err)
{
	const struct describe_input input = input_of(subject);
	struct attribution_status *status = subject->status;
	if (describe_device(&input, subject->arena, &status->device, err) < 0)
		return -1;
	return describe_partitions(&input, subject->arena, &status->partitions, err);
}

/* Slots */

static int64_t count_held(const struct subject *subject)
{
	int64_t n = 0;
	for (size_t i = 0; i < subject->n_slots; i++)
		n += subject->slots[i].is_held;
	return n;
}

/* Ordinary init containers run one after the other, and before the other containers of the pod. */
static bool is_in_turn(const struct holder *holder)
{
	const struct pod_container *c = pod_find_container(holder->pod, holder->container);
	return c && c->kind == POD_CONTAINER_INIT;
}

/* Slots of holders of which only the device is known, not the ID. The facts are by pod. */
static int64_t count_nameless(const struct subject *subject)
{
	const struct pod *pod = NULL;
	int64_t n = 0, n_of_pod = 0, n_in_turn = 0;
	for (size_t i = 0; i < subject->n_items; i++) {
		const struct fact *item = &subject->items[i];
		if (item->id.len > 0 || item->takes_no_slot)
			continue;
		if (item->owner->pod != pod) {
			n += max(n_of_pod, n_in_turn);
			n_of_pod = n_in_turn = 0;
			pod = item->owner->pod;
		}
		if (is_in_turn(item->owner))
			n_in_turn = 1;
		else
			n_of_pod++;
	}
	return n + max(n_of_pod, n_in_turn);
}

/* Without the kubelet: what was given out, less what tenants left, and what new tenants hold. */
static int64_t carry_allocated(const struct subject *subject, int64_t n_given)
{
	int64_t n = subject->published->slots.allocated - subject->tenants.slots_ended;
	/* Two containers of a pod may have one slot in turn: it must not be counted again. */
	ARRAY_EACH(const struct attribution_tenant, t, subject->status->tenants)
		if (!previous_find(subject->device->published, t->pod_uid, t->container))
			n += t->slots;
	return max(n, n_given > 0);
}

/* -1: not known. What holders of whom only the device is known have is given out too. */
static int64_t count_allocated(const struct subject *subject, int64_t n_given)
{
	const bool has_books = facts_have_books(subject->facts);
	if (!has_books && subject->published && subject->published->slots.allocated >= 0)
		return carry_allocated(subject, n_given);
	return subject->status->tenant_count >= 0 || (!has_books && n_given > 0) ? n_given : -1;
}

/* On offer and held, each once; -1: not known. A device given by claims is one, or as many as its partitions. */
static int64_t count_total(const struct subject *subject, int64_t n_given)
{
	const struct describe_input described = input_of(subject);
	int64_t total = -1;
	if (subject->is_offer_known && !subject->is_rest_held)
		total = (int64_t)subject->n_slots;
	if (subject->is_claimed)
		total = max(total, max(describe_count_partitions(&described), 1));
	/* Who is here by no ID of the device shows that it had slots. */
	if (subject->published && (subject->is_as_published || !subject->is_offer_known ||
				   (total == 0 && n_given > 0)))
		total = max(total, subject->published->slots.total);
	return total >= 0 ? max(total, count_held(subject)) : -1;
}

int layout_count(const struct subject *subject, struct error *err)
{
	const int64_t n_given = count_held(subject) + count_nameless(subject) + subject->tenants.slots_kept;
	return describe_slots(count_total(subject, n_given), count_allocated(subject, n_given),
			      subject->arena, &subject->status->slots, err);
}
