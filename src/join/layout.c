/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A slot is counted once however many name it. Slots of tenants that are carried over without a
 * book naming them have no IDs any more: their number is added, and so may come to more than there
 * are in all when such a slot has been given to somebody else since; the total is the bound then,
 * and join/overlap.c says what has happened.
 *
 * How many slots there are is how many IDs are on offer, and those that are held beside them. While
 * the plugin offers none of the device's, the held ones are a rest of them: as many as were
 * published, or it is not known.
 */

#include "join/layout.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "join/claimant.h"

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The device */

static int put_dashes(struct view text, struct arena *arena, struct view *ret, struct error *err)
{
	char *bytes = arena_alloc(arena, text.len, 1);
	if (!bytes)
		return error_no_memory(err);
	for (size_t i = 0; i < text.len; i++)
		bytes[i] = text.ptr[i] == ' ' ? '-' : text.ptr[i];
	*ret = (struct view){bytes, text.len};
	return 0;
}

static void describe_driver(const struct report *report, struct attribution_device *device)
{
	if (report && report->driver_version.len > 0)
		device->driver_version = report->driver_version;
	if (report && report->cuda_version.len > 0)
		device->cuda_version = report->cuda_version;
}

/* What a driver's slice says, where NVML says nothing. */
static int describe_slice(const struct join_input *input, struct view uuid, struct arena *arena,
			  struct attribution_device *device, struct error *err)
{
	for (size_t i = 0; i < input->n_slice_devices; i++) {
		const struct slice_device *slice = &input->slice_devices[i];
		if (!view_equal_ignoring_case(slice->uuid, uuid))
			continue;
		device->pci_bus_id = slice->pci_bus_id;
		device->memory_mib = slice->memory_mib;
		device->compute_capability = slice->compute_capability;
		device->driver_version = slice->driver_version;
		device->cuda_version = slice->cuda_version;
		return put_dashes(view_trim(slice->model), arena, &device->model, err);
	}
	return 0;
}

int layout_describe(const struct facts *facts, size_t device, struct arena *arena,
		    struct attribution_device *ret_device, struct error *err)
{
	const struct device *its_device = &facts->devices->devices[device];
	const struct attribution_status *published = devices_published(its_device);
	const struct report_device *reported = its_device->reported;
	struct attribution_device described = {.index = -1, .minor = -1};

	if (published)
		described = published->device;
	if (reported) {
		described.index = reported->index;
		/* What it was before the boot is not what slices may have told since. */
		if (!published || claimant_hears_nvml(facts->input))
			described.minor = reported->minor;
		described.pci_bus_id = reported->pci_bus_id;
		described.memory_mib = reported->memory_mib;
		described.serial = reported->serial;
		described.compute_capability = reported->compute_capability;
		if (put_dashes(view_trim(reported->model), arena, &described.model, err) < 0)
			return -1;
	} else if (!published || its_device->published->is_agentless) {
		if (describe_slice(facts->input, its_device->uuid, arena, &described, err) <
		    0)
			return -1;
	}
	if (claimant_number(facts->input, its_device) >= 0)
		described.minor = claimant_number(facts->input, its_device);
	describe_driver(facts->input->report, &described);
	*ret_device = described;
	return 0;
}

/* Partitions */

static int64_t count_partition(const struct slot *slots, size_t n_slots, struct view uuid)
{
	int64_t n = 0;
	for (size_t i = 0; i < n_slots; i++)
		n += view_equal(slots[i].partition, uuid);
	return n;
}

static const struct attribution_partition *find_partition(
	const struct attribution_status *published, struct view uuid)
{
	for (uint32_t i = 0; published && i < published->partitions.count; i++) {
		const struct attribution_partition *p = ARRAY_AT(published->partitions,
								 struct attribution_partition, i);
		if (view_equal(p->uuid, uuid))
			return p;
	}
	return NULL;
}

static int64_t carried_slots(const struct attribution_status *published, struct view uuid)
{
	const struct attribution_partition *before = find_partition(published, uuid);
	return before ? before->slots : 0;
}

static int by_uuid(const void *a, const void *b)
{
	const struct attribution_partition *x = a, *y = b;
	return view_compare(x->uuid, y->uuid);
}

/* False also where one of them could not be read. */
static bool is_told(const struct device *device)
{
	return device->reported && device->reported->partitions.present;
}

/* Reported ones, or, where NVML does not tell them, those that were published. */
static struct array known_partitions(const struct device *device)
{
	const struct attribution_status *published = devices_published(device);
	if (is_told(device))
		return device->reported->partitions;
	return published ? published->partitions : (struct array){0};
}

static void copy_published(struct array from, struct attribution_partition *to)
{
	for (uint32_t i = 0; i < from.count; i++)
		to[i] = *ARRAY_AT(from, struct attribution_partition, i);
}

static void copy_reported(struct array from, struct attribution_partition *to)
{
	for (uint32_t i = 0; i < from.count; i++) {
		const struct report_partition *p = ARRAY_AT(from, struct report_partition, i);
		to[i] = (struct attribution_partition){
			.uuid = p->uuid,
			.profile = p->profile,
			.gpu_instance_id = p->gpu_instance_id,
			.compute_instance_id = p->compute_instance_id,
			.memory_mib = p->memory_mib,
		};
	}
}

/* The plugin offers none of the device's IDs, and some are held that are only parts or shares. */
static bool is_withdrawn(const struct facts *facts, size_t device, const struct slot *own,
			 size_t n_slots)
{
	bool has_rest = false;
	for (size_t i = 0; i < n_slots; i++) {
		if (own[i].is_offered)
			return false;
		has_rest |= own[i].is_replica || own[i].is_mig || own[i].is_odd;
	}
	return has_rest && !claimant_is_sliced(facts, device);
}

/* What is on offer is not known, or may be short. */
static bool is_offer_vague(const struct facts *facts, const struct slots *slots,
			   size_t device)
{
	size_t n_slots;
	const struct slot *own = slot_items(slots, device, &n_slots);
	return !slots->is_offer_known || facts->is_settling ||
	       is_withdrawn(facts, device, own, n_slots);
}

int layout_partition(const struct facts *facts, const struct slots *slots, size_t device,
		     struct arena *arena, struct array *ret_partitions, struct error *err)
{
	const struct device *its_device = &facts->devices->devices[device];
	const struct attribution_status *published = devices_published(its_device);
	const struct array from = known_partitions(its_device);
	size_t n_slots;
	const struct slot *own = slot_items(slots, device, &n_slots);

	struct attribution_partition *to = arena_alloc(arena, from.count, sizeof(*to));
	if (!to)
		return error_no_memory(err);
	if (is_told(its_device))
		copy_reported(from, to);
	else
		copy_published(from, to);
	uint32_t n = from.count < LIMIT_PARTITIONS ? from.count : LIMIT_PARTITIONS;
	bool is_vague = is_offer_vague(facts, slots, device);
	qsort(to, from.count, sizeof(*to), by_uuid);
	for (uint32_t i = 0; i < n; i++) {
		to[i].slots = count_partition(own, n_slots, to[i].uuid);
		if (is_vague)
			to[i].slots = max(to[i].slots, carried_slots(published, to[i].uuid));
	}
	assert(n <= LIMIT_PARTITIONS);
	*ret_partitions = (struct array){to, n, true};
	return 0;
}

/* Slots */

static int64_t count_held(const struct slot *slots, size_t n_slots)
{
	int64_t n = 0;
	for (size_t i = 0; i < n_slots; i++)
		n += slots[i].is_held;
	return n;
}

static int summarise(struct attribution_slots *slots, struct arena *arena, struct error *err)
{
	char text[2 * LIMIT_TEXT_SLOTS + 1];
	int len;
	if (slots->total < 0 || slots->allocated < 0)
		return 0;
	len = snprintf(text, sizeof(text), "%" PRId64 "/%" PRId64, slots->allocated, slots->total);
	assert(len > 0 && (size_t)len < sizeof(text));
	return arena_copy(arena, (struct view){text, (size_t)len}, &slots->summary)
		       ? 0
		       : error_no_memory(err);
}

static bool is_nameless(const struct fact *item)
{
	return item->id.len == 0 && !item->takes_no_slot;
}

/* What an ordinary init container had is given to the next container of its pod. */
static bool is_in_turn(const struct fact *item)
{
	const struct holder *owner = item->owner;
	const struct pod_container *c = pod_find_container(owner->pod, owner->container);
	return c && c->kind == POD_CONTAINER_INIT;
}

/* Those of which only the device is known: each takes some slot of it. */
static int64_t count_nameless(const struct facts *facts, size_t device)
{
	const struct pod *pod = NULL;
	size_t n_items;
	const struct fact *items = facts_of(facts, device, &n_items);
	int64_t n = 0, n_of_pod = 0, n_in_turn = 0;

	for (size_t i = 0; i < n_items; i++) {
		if (!is_nameless(&items[i]))
			continue;
		if (items[i].owner->pod != pod) {
			n += max(n_of_pod, n_in_turn);
			n_of_pod = n_in_turn = 0;
			pod = items[i].owner->pod;
		}
		if (is_in_turn(&items[i]))
			n_in_turn = 1;
		else
			n_of_pod++;
	}
	return n + max(n_of_pod, n_in_turn);
}

/* No book says anything: what was given out still is, but for tenants that ended. */
static int64_t carry_allocated(const struct attribution_status *published,
			       const struct tenants *tenants, int64_t n_held)
{
	int64_t n = n_held + tenants->slots_kept;
	if (!published || published->slots.allocated < 0)
		return n > 0 ? n : -1;
	/* Two of a pod's containers may have one slot in turn: what was counted need not be again. */
	n = published->slots.allocated - tenants->slots_ended;
	for (uint32_t i = 0; i < tenants->listed.count; i++) {
		const struct attribution_tenant *t = ARRAY_AT(tenants->listed,
							      struct attribution_tenant, i);
		if (!attribution_find_tenant(published, t->pod_uid, t->container))
			n += t->slots;
	}
	return max(n, n_held);
}

/* What a driver of dynamic resource allocation offers is not counted in slots: a device is one, or
 * as many as it has partitions. */
static int64_t count_sliced(const struct facts *facts, size_t index)
{
	const struct device *device = &facts->devices->devices[index];
	if (!claimant_is_sliced(facts, index))
		return -1;
	return max(known_partitions(device).count, 1);
}

/* Those on offer and those held, each once; -1: not known. */
static int64_t count_total(const struct facts *facts, const struct slots *slots,
			   size_t device, int64_t n_given)
{
	const struct attribution_status *published = devices_published(
		&facts->devices->devices[device]);
	size_t n_slots;
	const struct slot *own = slot_items(slots, device, &n_slots);
	int64_t total = -1;

	if (slots->is_offer_known && !is_withdrawn(facts, device, own, n_slots))
		total = (int64_t)n_slots;
	total = max(total, count_sliced(facts, device));
	if (published && is_offer_vague(facts, slots, device))
		total = max(total, published->slots.total);
	else if (published && total == 0 && n_given > 0) /* by who is known, and not by which ID */
		total = published->slots.total;
	return total >= 0 ? max(total, count_held(own, n_slots)) : -1;
}

int layout_count(const struct facts *facts, const struct slots *slots, size_t device,
		 const struct tenants *tenants, struct arena *arena,
		 struct attribution_slots *ret_slots, struct error *err)
{
	const struct attribution_status *published = devices_published(
		&facts->devices->devices[device]);
	struct attribution_slots counted = {.allocated = -1};
	size_t n_slots;
	const struct slot *own = slot_items(slots, device, &n_slots);
	int64_t n_held = count_held(own, n_slots) + count_nameless(facts, device);

	assert(device < facts->devices->n_devices);
	if (!facts_have_books(facts))
		counted.allocated = carry_allocated(published, tenants, n_held);
	else if (tenants->count >= 0)
		counted.allocated = n_held + tenants->slots_kept;
	counted.total = count_total(facts, slots, device, n_held + tenants->slots_kept);
	if (counted.total >= 0 && counted.allocated > counted.total)
		counted.allocated = counted.total;
	assert(counted.total < 0 || counted.allocated <= counted.total);
	if (summarise(&counted, arena, err) < 0)
		return -1;
	*ret_slots = counted;
	return 0;
}
