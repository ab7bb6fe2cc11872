/* SPDX-License-Identifier: Apache-2.0 */

/*
 * NVIDIA's driver calls a device gpu-<minor>, and a MIG device gpu-<minor of its parent>-mig-...
 * The minor is that of /dev/nvidia<minor>, not NVML's index. So a name is only ever looked up in the
 * slices, which have the UUID. A MIG device that the driver makes when it is claimed (DynamicMIG) has
 * no UUID in the slice. Then its parent's entry tells the physical device.
 */

#include "model/grant.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "model/device_id.h"

struct entry {
	const struct resource_slice *slice; /* its driver and its pool count */
	const struct resource_slice_device *device;
};

/* The devices of the pools that count, by driver, pool and name. */
struct catalog {
	struct entry *entries;
	size_t n;
};

struct resolved {
	struct view uuid, partition;
	bool is_part;
};

/* Pools */

/* Whether the pool of slice i is whole in its newest generation, and that is the slice's. */
static bool is_current(const struct grant_input *input, size_t i, bool *ret_whole)
{
	const struct resource_slice *slice = input->slices[i];
	int64_t newest = slice->generation, n = 0;
	bool agree = true;
	assert(i < input->n_slices);
	for (size_t k = 0; k < input->n_slices; k++)
		if (resource_slice_has_pool_of(slice, input->slices[k]) &&
		    input->slices[k]->generation > newest)
			newest = input->slices[k]->generation;
	for (size_t k = 0; k < input->n_slices; k++) {
		const struct resource_slice *other = input->slices[k];

		if (!resource_slice_has_pool_of(slice, other) || other->generation != newest)
			continue;
		n++;
		agree &= other->slice_count == slice->slice_count;
	}
	assert(newest >= slice->generation);
	*ret_whole = slice->generation < newest || (agree && n == slice->slice_count);
	return *ret_whole && slice->generation == newest;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = view_compare_pairs(x->slice->driver, x->slice->pool, y->slice->driver, y->slice->pool);
	return order != 0 ? order : view_compare(x->device->name, y->device->name);
}

static int make_catalog(const struct grant_input *input, struct arena *arena,
			struct catalog *ret_catalog, bool *ret_incomplete, struct error *err)
{
	struct catalog catalog = {0};
	size_t cap = 0;
	for (size_t i = 0; i < input->n_slices; i++)
		cap += input->slices[i]->devices.count;
	if (!ARENA_NEW(catalog.entries, arena, cap))
		return error_no_memory(err);
	for (size_t i = 0; i < input->n_slices; i++) {
		const struct resource_slice *slice = input->slices[i];
		bool is_whole, counts = is_current(input, i, &is_whole);

		if (counts)
			ARRAY_EACH(const struct resource_slice_device, device, slice->devices)
				catalog.entries[catalog.n++] = (struct entry){slice, device};
		*ret_incomplete |= !is_whole;
	}
	assert(catalog.n <= cap);
	qsort(catalog.entries, catalog.n, sizeof(*catalog.entries), compare_entries);
	*ret_catalog = catalog;
	return 0;
}

/* Devices */

/* The device of that name; NULL: there is none, or more than one, which is no answer either. */
static const struct resource_slice_device *find_device(const struct catalog *catalog,
						       struct view driver, struct view pool,
						       struct view name)
{
	const struct resource_slice of_pool = {.driver = driver, .pool = pool};
	const struct resource_slice_device named = {.name = name};
	const struct entry key = {&of_pool, &named};
	const struct entry *found = bsearch(&key, catalog->entries, catalog->n, sizeof(key), compare_entries);

	if (!found || (found > catalog->entries && compare_entries(found - 1, found) == 0) ||
	    (found + 1 < catalog->entries + catalog->n && compare_entries(found, found + 1) == 0))
		return NULL;
	return found->device;
}

static bool is_physical(const struct resource_slice_device *device)
{
	return device_id_is_gpu_uuid(device->uuid) && device->parent_uuid.len == 0;
}

/* Of a MIG device whose parent's UUID is not said, the name begins with that of the parent. */
static struct resolved resolve_entry(const struct catalog *catalog, struct view driver,
				     struct view pool, const struct resource_slice_device *device)
{
	const bool is_mig = device_id_is_mig_uuid(device->uuid);
	const struct resource_slice_device *parent;
	struct resolved resolved = {0};
	struct view name, rest;
	resolved.is_part = view_cut(device->name, VIEW("-mig-"), &name, &rest) || is_mig ||
			   device->parent_uuid.len > 0;
	if (is_mig)
		resolved.partition = device->uuid;
	if (is_physical(device))
		resolved.uuid = device->uuid;
	else if (device_id_is_gpu_uuid(device->parent_uuid))
		resolved.uuid = device->parent_uuid;
	else if ((parent = find_device(catalog, driver, pool, name)) && is_physical(parent))
		resolved.uuid = parent->uuid;
	return resolved;
}

/* What was handed out need not be on offer any more: the driver withdraws what is ill. */
static struct resolved resolve(const struct catalog *catalog, const struct resource_claim_result *result)
{
	const struct resource_slice_device withdrawn = {.name = result->device};
	const struct resource_slice_device *device = find_device(catalog, result->driver,
								 result->pool, result->device);
	return resolve_entry(catalog, result->driver, result->pool, device ? device : &withdrawn);
}

/* Grants */

/* Alternatives answer a request as "request/alternative". */
static bool is_meant(const struct pod_claim *use, const struct resource_claim_result *result)
{
	struct view request, alternative;
	view_cut(result->request, VIEW("/"), &request, &alternative);
	return use->request.len == 0 || view_equal(use->request, result->request) ||
	       view_equal(use->request, request);
}

/* A container may use a claim twice, by two requests or names, and has each device once. */
static bool is_granted_before(const struct grant_input *input, size_t i,
			      const struct resource_claim_result *result)
{
	const struct grant_use *use = &input->uses[i];
	assert(i < input->n_uses && use->pod && use->claim);
	while (i-- > 0 && input->uses[i].pod == use->pod) {
		const struct grant_use *before = &input->uses[i];

		if (before->claim == use->claim &&
		    view_equal(before->use->container, use->use->container) &&
		    is_meant(before->use, result))
			return true;
	}
	return false;
}

static bool is_in_force(const struct grant_use *use)
{
	return !pod_is_over(use->pod) && resource_claim_is_reserved_for(use->claim, pod_uid(use->pod));
}

/* "pool/device", or "pool/device/share". */
static bool name_device(struct arena *arena, const struct resource_claim_result *result,
			struct view *ret_name)
{
	const struct view parts[] = {result->pool, result->device, result->share_id};
	size_t n = result->share_id.len > 0 ? 3 : 2;
	size_t cap = result->pool.len + result->device.len + result->share_id.len + n;
	char *text = arena_alloc(arena, cap, 1);
	size_t len = 0;

	if (!text)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			text[len++] = '/';
		len += view_copy(parts[i], text + len).len;
	}
	assert(len < cap);
	*ret_name = (struct view){text, len};
	return true;
}

static bool add_grant(const struct grant_use *use, const struct resource_claim_result *result,
		      const struct catalog *catalog, struct arena *arena, struct grant *grant)
{
	struct resolved resolved = resolve(catalog, result);
	*grant = (struct grant){
		.pod = use->pod,
		.container = use->use->container,
		.uuid = resolved.uuid,
		.partition = resolved.partition,
		.is_part = resolved.is_part,
		.is_admin = result->is_admin,
		.is_share = result->share_id.len > 0,
	};
	return name_device(arena, result, &grant->device);
}

static int add_grants(const struct grant_input *input, const struct catalog *catalog,
		      struct arena *arena, struct grant_result *result, struct error *err)
{
	struct grant *grants;
	size_t cap = 0;
	for (size_t i = 0; i < input->n_uses; i++)
		cap += is_in_force(&input->uses[i]) ? input->uses[i].claim->results.count : 0;
	if (!ARENA_NEW(grants, arena, cap))
		return error_no_memory(err);
	result->grants = grants;
	for (size_t i = 0; i < input->n_uses; i++) {
		const struct grant_use *use = &input->uses[i];

		if (!is_in_force(use))
			continue;
		ARRAY_EACH(const struct resource_claim_result, given, use->claim->results) {
			if (!is_meant(use->use, given) || is_granted_before(input, i, given))
				continue;
			if (!add_grant(use, given, catalog, arena, &grants[result->n_grants++]))
				return error_no_memory(err);
		}
	}
	assert(result->n_grants <= cap);
	return 0;
}

/* Descriptions */

/* Versions are written as "8.0.0" where everybody else says "8.0". */
static struct view short_version(struct view version)
{
	struct view major, rest, minor, patch;
	view_cut(version, VIEW("."), &major, &rest);
	view_cut(rest, VIEW("."), &minor, &patch);
	if (!view_equal(patch, VIEW("0")))
		return version;
	return (struct view){version.ptr, major.len + 1 + minor.len};
}

static void fill(struct view *text, struct view more)
{
	if (text->len == 0)
		*text = more;
}

/* A partition says the same of its parent as the parent does, but for the memory. */
static void describe(const struct resource_slice_device *device, struct slice_device *to)
{
	fill(&to->model, device->model);
	fill(&to->compute_capability, short_version(device->compute_capability));
	fill(&to->driver_version, device->driver_version);
	fill(&to->cuda_version, short_version(device->cuda_version));
	fill(&to->pci_bus_id, device->pci_bus_id);
	to->is_whole |= is_physical(device);
	if (is_physical(device))
		to->memory_mib = device->memory_mib;
}

/* The minor number in the driver's name of a device, or of a part of one; -1: there is none. */
static int64_t minor_of(struct view name)
{
	struct view prefix, number, rest;
	int64_t minor;
	if (!view_starts_with(name, VIEW("gpu-")))
		return -1;
	view_cut(name, VIEW("-"), &prefix, &rest);
	view_cut(rest, VIEW("-"), &number, &rest);
	return view_parse_i64(number, &minor) ? minor : -1;
}

/* The entry of that device, made if need be, which is called that; NULL when there is no room. */
static struct slice_device *find_entry(struct slice_device *devices, size_t *n,
				       struct view uuid, struct view name)
{
	for (size_t i = 0; i < *n; i++)
		if (view_equal(devices[i].uuid, uuid))
			return &devices[i];
	assert(*n <= LIMIT_REPORT_DEVICES);
	if (*n == LIMIT_REPORT_DEVICES)
		return NULL;
	devices[*n].uuid = uuid;
	devices[*n].minor = minor_of(name);
	return &devices[(*n)++];
}

/* Some may use it of whom it is not told which, and that pod may be one of them. */
static bool is_nameless(const struct grant_use *use)
{
	return use->claim->has_other_consumers && !pod_is_over(use->pod) &&
	       !resource_claim_is_reserved_for(use->claim, pod_uid(use->pod));
}

static void mark_nameless(const struct grant_use *use, const struct catalog *catalog,
			  struct slice_device *devices, size_t n)
{
	if (!is_nameless(use))
		return;
	ARRAY_EACH(const struct resource_claim_result, given, use->claim->results) {
		struct view uuid = resolve(catalog, given).uuid;

		if (!is_meant(use->use, given) || given->is_admin)
			continue;
		for (size_t i = 0; i < n; i++)
			devices[i].is_nameless |= view_equal(devices[i].uuid, uuid);
	}
}

static int add_devices(const struct grant_input *input, const struct catalog *catalog,
		       struct arena *arena, struct grant_result *result, struct error *err)
{
	struct slice_device *devices;
	if (!ARENA_NEW(devices, arena, LIMIT_REPORT_DEVICES))
		return error_no_memory(err);
	for (size_t i = 0; i < catalog->n; i++) {
		const struct entry *entry = &catalog->entries[i];
		struct view uuid =
			resolve_entry(catalog, entry->slice->driver, entry->slice->pool, entry->device).uuid;
		struct slice_device *device =
			uuid.len > 0 ? find_entry(devices, &result->n_devices, uuid, entry->device->name) : NULL;

		if (device)
			describe(entry->device, device);
		else
			result->devices_left_out += is_physical(entry->device);
	}
	for (size_t i = 0; i < input->n_uses; i++)
		mark_nameless(&input->uses[i], catalog, devices, result->n_devices);
	_Static_assert(offsetof(struct slice_device, uuid) == 0, "view_order() compares that");
	qsort(devices, result->n_devices, sizeof(*devices), view_order);
	result->devices = devices;
	return 0;
}

int grant_compute(const struct grant_input *input, struct arena *arena,
		  struct grant_result *ret_result, struct error *err)
{
	struct grant_result result = {0};
	struct catalog catalog;
	if (make_catalog(input, arena, &catalog, &result.is_incomplete, err) < 0 ||
	    add_devices(input, &catalog, arena, &result, err) < 0 ||
	    add_grants(input, &catalog, arena, &result, err) < 0)
		return -1;
	*ret_result = result;
	return 0;
}
