/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A report can ask thousands of times and what was published can be as much, so each is gone
 * through once. Of many that have one key only what is asked for is kept: whether there is another
 * UID than the one in question is known from one UID and from whether there are more.
 */

#include "join/past.h"

#include <assert.h>

#include "join/facts.h"

struct past_name {
	struct view namespace, name, container;
	size_t device;
	struct view uid;
	bool has_more; /* UIDs */
};

struct past_holder {
	struct view uid, container;
	size_t device;
	unsigned witnesses;
};

/* What comes before is hashed well; of one name there are as many as there are devices at most. */
static uint32_t hash_device(uint32_t hash, size_t device)
{
	return hash ^ (uint32_t)(device + 1) * 0x9e3779b1u;
}

/* UIDs */

bool past_has(const struct past *past, struct view uid)
{
	uint32_t at = lookup_first(&past->uids, lookup_hash(0, uid));

	while (at != LOOKUP_END && !view_equal(past->uid_items[at], uid))
		at = lookup_next(&past->uids, at);
	return at != LOOKUP_END;
}

static void note_uid(struct past *past, struct view uid)
{
	past->uid_items[lookup_add(&past->uids, lookup_hash(0, uid))] = uid;
}

/* Names */

static uint32_t hash_name(struct view namespace, struct view name, struct view container)
{
	return lookup_hash(lookup_hash(lookup_hash(0, namespace), name), container);
}

static struct past_name *find_name(const struct past *past, uint32_t hash,
				   const struct past_name *key)
{
	uint32_t at = lookup_first(&past->names, hash);

	for (; at != LOOKUP_END; at = lookup_next(&past->names, at)) {
		struct past_name *item = &past->name_items[at];
		if (item->device == key->device && view_equal(item->name, key->name) &&
		    view_equal(item->namespace, key->namespace) &&
		    view_equal(item->container, key->container))
			return item;
	}
	return NULL;
}

static void note_name(struct past *past, uint32_t hash, const struct past_name *name)
{
	struct past_name *known = find_name(past, hash, name);

	if (known)
		known->has_more |= !view_equal(known->uid, name->uid);
	else
		past->name_items[lookup_add(&past->names, hash)] = *name;
}

/* Under the device and under all of them. */
static void note_everywhere(struct past *past, struct past_name name, size_t device)
{
	uint32_t hash = hash_name(name.namespace, name.name, name.container);

	assert(device != PAST_ANYWHERE);
	name.device = device;
	note_name(past, hash_device(hash, device), &name);
	name.device = PAST_ANYWHERE;
	note_name(past, hash_device(hash, PAST_ANYWHERE), &name);
}

bool past_has_namesake(const struct past *past, const struct report_pod_resource *said,
		       struct view uid, size_t device)
{
	const struct past_name key = {said->namespace, said->name, said->container, device};
	uint32_t hash = hash_name(said->namespace, said->name, said->container);
	const struct past_name *known = find_name(past, hash_device(hash, device), &key);

	return known && (known->has_more || !view_equal(known->uid, uid));
}

/* Holders */

static uint32_t hash_holder(struct view uid, struct view container)
{
	return lookup_hash(lookup_hash(0, uid), container);
}

static struct past_holder *find_holder(const struct past *past, uint32_t hash,
				       const struct past_holder *key)
{
	uint32_t at = lookup_first(&past->holders, hash);

	for (; at != LOOKUP_END; at = lookup_next(&past->holders, at)) {
		struct past_holder *item = &past->holder_items[at];
		if (item->device == key->device && view_equal(item->uid, key->uid) &&
		    view_equal(item->container, key->container))
			return item;
	}
	return NULL;
}

static void note_holder(struct past *past, uint32_t hash, struct past_holder holder, size_t device)
{
	struct past_holder *known;

	holder.device = device;
	hash = hash_device(hash, device);
	known = find_holder(past, hash, &holder);
	if (known)
		known->witnesses |= holder.witnesses;
	else
		past->holder_items[lookup_add(&past->holders, hash)] = holder;
}

unsigned past_witnesses(const struct past *past, struct view uid, struct view container,
			size_t device)
{
	const struct past_holder key = {uid, container, device};
	const struct past_holder *known = find_holder(
		past, hash_device(hash_holder(uid, container), device), &key);
	return known ? known->witnesses : 0;
}

/* Reading */

static void note_tenant(struct past *past, const struct attribution_tenant *t, size_t device,
			bool is_ours)
{
	const struct past_holder holder = {t->pod_uid, t->container, device, wording_witnesses_of(t->witnesses)};
	bool is_stand_in = wording_placeholder_of(t->stand_in) == PLACEHOLDER_HAMI;
	uint32_t hash;

	/* Who may never have had the device is not remembered once it has left (join/tenants.c). */
	if (!is_stand_in)
		note_everywhere(past,
				(struct past_name){.namespace = t->pod_namespace,
						   .name = t->pod_name,
						   .container = t->container,
						   .uid = t->pod_uid},
				device);
	if (t->phase != ATTRIBUTION_PHASE_PENDING && t->phase != ATTRIBUTION_PHASE_UNRESOLVED)
		note_uid(past, t->pod_uid);
	if (!is_ours)
		return;
	hash = hash_holder(t->pod_uid, t->container);
	/* Who named HAMi's ID there named none that tells its own device. */
	if (!is_stand_in)
		note_holder(past, hash, holder, device);
	note_holder(past, hash, holder, PAST_ANYWHERE);
}

static void note_recent(struct past *past, const struct attribution_past_tenant *t, size_t device)
{
	note_everywhere(past,
			(struct past_name){.namespace = t->pod_namespace,
					   .name = t->pod_name,
					   .container = t->container,
					   .uid = t->pod_uid},
			device);
	note_uid(past, t->pod_uid);
}

static void read_device(struct past *past, const struct device *device, size_t index)
{
	assert(device->object);
	const struct attribution_status *status = &device->object->object->status;

	for (uint32_t i = 0; i < status->tenants.count; i++)
		note_tenant(past, ARRAY_AT(status->tenants, struct attribution_tenant, i), index,
			    device->is_ours);
	for (uint32_t i = 0; i < status->recent_tenants.count; i++)
		note_recent(past,
			    ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, i),
			    index);
}

static size_t count(const struct devices *devices)
{
	size_t n = 0;
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct join_previous *previous = devices->devices[i].object;
		if (previous)
			n += previous->object->status.tenants.count +
			     previous->object->status.recent_tenants.count;
	}
	return n;
}

int past_read(const struct devices *devices, struct arena *arena, struct past *ret_past,
	      struct error *err)
{
	size_t n = count(devices);
	struct past past = {
		.uid_items = arena_alloc(arena, n, sizeof(*past.uid_items)),
		.name_items = arena_alloc(arena, 2 * n, sizeof(*past.name_items)),
		.holder_items = arena_alloc(arena, 2 * n, sizeof(*past.holder_items)),
	};

	if (!past.uid_items || !past.name_items || !past.holder_items)
		return error_no_memory(err);
	if (lookup_make(&past.uids, n, arena, err) < 0 ||
	    lookup_make(&past.names, 2 * n, arena, err) < 0 ||
	    lookup_make(&past.holders, 2 * n, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < devices->n_devices; i++) {
		if (devices->devices[i].object)
			read_device(&past, &devices->devices[i], i);
	}
	*ret_past = past;
	return 0;
}
