/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What one device is and how it is cut. What no source tells now is what was published.
 *
 * A slot counts once, however many pods hold it. Tenants that no source names have no IDs: the number of
 * their slots is added. If such a slot was given to another pod since, the total is the bound.
 *
 * The total is the number of IDs on offer, and of those held beside them. When the plugin offers no ID of
 * the device, the held ones are a part of all: the total is then as published, or unknown.
 */

#include "join/subject.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "join/slots.h"

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The device */

static int put_dashes(struct view text, struct arena *arena, struct view *ret, struct error *err)
{
	char *bytes;
	if (!ARENA_NEW(bytes, arena, text.len))
		return error_no_memory(err);
	for (size_t i = 0; i < text.len; i++)
		bytes[i] = text.ptr[i] == ' ' ? '-' : text.ptr[i];
	*ret = (struct view){bytes, text.len};
	return 0;
}

static void describe_by_nvml(const struct report_device *reported, struct attribution_device *device)
{
	device->index = reported->index;
	device->minor = reported->minor;
	device->pci_bus_id = reported->pci_bus_id;
	device->memory_mib = reported->memory_mib;
	device->serial = reported->serial;
	device->compute_capability = reported->compute_capability;
	device->model = view_trim(reported->model);
}

static void describe_by_slice(const struct slice_device *slice, struct attribution_device *device)
{
	device->pci_bus_id = slice->pci_bus_id;
	device->memory_mib = slice->memory_mib;
	device->compute_capability = slice->compute_capability;
	device->driver_version = slice->driver_version;
	device->cuda_version = slice->cuda_version;
	device->model = view_trim(slice->model);
}

static void describe_driver(const struct report *report, struct attribution_device *device)
{
	if (report && report->driver_version.len > 0)
		device->driver_version = report->driver_version;
	if (report && report->cuda_version.len > 0)
		device->cuda_version = report->cuda_version;
}

int layout_describe(const struct subject *subject, struct error *err)
{
	const struct join_input *input = subject->facts->input;
	struct attribution_device described = {.index = -1, .minor = -1};
	if (subject->published)
		described = subject->published->device;
	if (subject->device->reported)
		describe_by_nvml(subject->device->reported, &described);
	else if (subject->device->slice &&
		 (!subject->published || subject->device->published->is_agentless))
		describe_by_slice(subject->device->slice, &described);
	described.vendor = VIEW("NVIDIA");
	describe_driver(input->report, &described);
	if (put_dashes(described.model, subject->arena, &described.model, err) < 0)
		return -1;
	subject->status->device = described;
	return 0;
}

/* Partitions */

/* Those that NVML tells; or the published ones, where it tells none or cannot read one of them. */
static bool is_told(const struct device *device)
{
	return device->reported && device->reported->partitions.present;
}

static uint32_t count_partitions(const struct subject *subject)
{
	if (is_told(subject->device))
		return subject->device->reported->partitions.count;
	return subject->published ? subject->published->partitions.count : 0;
}

static struct attribution_partition partition_at(const struct subject *subject, uint32_t i)
{
	assert(i < count_partitions(subject));
	if (!is_told(subject->device))
		return *ARRAY_AT(subject->published->partitions, struct attribution_partition, i);
	const struct report_partition *p =
		ARRAY_AT(subject->device->reported->partitions, struct report_partition, i);
	return (struct attribution_partition){
		.uuid = p->uuid,
		.profile = p->profile,
		.gpu_instance_id = p->gpu_instance_id,
		.compute_instance_id = p->compute_instance_id,
		.memory_mib = p->memory_mib,
	};
}

static int64_t count_slots(const struct subject *subject, struct view partition)
{
	int64_t n = 0;
	for (size_t i = 0; i < subject->n_slots; i++)
		n += view_equal(subject->slots[i].partition, partition);
	return n;
}

static int64_t published_slots(const struct subject *subject, struct view partition)
{
	ARRAY_EACH(const struct attribution_partition, p, subject->published->partitions)
		if (view_equal(p->uuid, partition))
			return p->slots;
	return 0;
}

int layout_partition(const struct subject *subject, struct error *err)
{
	uint32_t n = count_partitions(subject);
	struct attribution_partition *to;
	if (!ARENA_NEW(to, subject->arena, n))
		return error_no_memory(err);
	for (uint32_t i = 0; i < n; i++)
		to[i] = partition_at(subject, i);
	_Static_assert(offsetof(struct attribution_partition, uuid) == 0, "view_order() compares that");
	qsort(to, n, sizeof(*to), view_order);
	if (n > LIMIT_PARTITIONS)
		n = LIMIT_PARTITIONS;
	for (uint32_t i = 0; i < n; i++) {
		to[i].slots = count_slots(subject, to[i].uuid);
		if (subject->is_as_published)
			to[i].slots = max(to[i].slots, published_slots(subject, to[i].uuid));
	}
	subject->status->partitions = (struct array){to, n, true};
	return 0;
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
	int64_t total = -1;
	if (subject->is_offer_known && !subject->is_rest_held)
		total = (int64_t)subject->n_slots;
	if (subject->is_claimed)
		total = max(total, max(count_partitions(subject), 1));
	/* Who is here by no ID of the device shows that it had slots. */
	if (subject->published && (subject->is_as_published || !subject->is_offer_known ||
				   (total == 0 && n_given > 0)))
		total = max(total, subject->published->slots.total);
	return total >= 0 ? max(total, count_held(subject)) : -1;
}

static int summarise(struct attribution_slots *slots, struct arena *arena, struct error *err)
{
	char text[2 * LIMIT_TEXT_SLOTS + 1];
	int len;
	if (slots->total < 0 || slots->allocated < 0)
		return 0;
	len = snprintf(text, sizeof(text), "%" PRId64 "/%" PRId64, slots->allocated, slots->total);
	assert(len > 0 && (size_t)len < sizeof(text));
	return arena_keep(arena, (struct view){text, (size_t)len}, &slots->summary, err);
}

int layout_count(const struct subject *subject, struct error *err)
{
	const int64_t n_given = count_held(subject) + count_nameless(subject) + subject->tenants.slots_kept;
	struct attribution_slots counted = {
		.allocated = count_allocated(subject, n_given),
		.total = count_total(subject, n_given),
	};

	if (counted.total >= 0 && counted.allocated > counted.total)
		counted.allocated = counted.total;
	if (summarise(&counted, subject->arena, err) < 0)
		return -1;
	subject->status->slots = counted;
	return 0;
}
