/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/own_devices.h"

#include "base/limits.h"
#include "schema/dra_driver.h"
#include "schema/gpu_resource.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"

#define DOCUMENT_DEPTH 64u
#define MAX_CONTAINERS 256u
#define MAX_RESOURCES 64u
#define MAX_DEVICES 1024u
/* The API server has checked all texts; an object is bounded as a whole. */
#define ANY_TEXT LIMIT_OBJECT_BYTES
#define CLAIM VIEW("claim:")

/* A pod's status. */

struct device_row {
	struct view id;
	struct view health;
};

struct resource_row {
	struct view name;
	struct array devices; /* struct device_row */
};

struct container_row {
	struct view name;
	struct array resources; /* struct resource_row */
};

struct pod_document {
	struct array init_containers, containers; /* struct container_row */
};

static const struct jmap_row device_rows[] = {
	{"resourceID", JMAP_TEXT, 0, JMAP_AT(device_row, id), .limit = ANY_TEXT},
	{"health", JMAP_TEXT, 0, JMAP_AT(device_row, health), .limit = ANY_TEXT},
	{0},
};

static const struct jmap_row resource_rows[] = {
	{"name", JMAP_TEXT, 0, JMAP_AT(resource_row, name), .limit = ANY_TEXT},
	{"resources", JMAP_ARRAY, 0, JMAP_AT(resource_row, devices), .limit = MAX_DEVICES,
	 .rows = device_rows, .element_size = sizeof(struct device_row)},
	{0},
};

static const struct jmap_row container_rows[] = {
	{"name", JMAP_TEXT, 0, JMAP_AT(container_row, name), .limit = ANY_TEXT},
	{"allocatedResourcesStatus", JMAP_ARRAY, 0, JMAP_AT(container_row, resources),
	 .limit = MAX_RESOURCES, .rows = resource_rows, .element_size = sizeof(struct resource_row)},
	{0},
};

static const struct jmap_row pod_status_rows[] = {
	{"initContainerStatuses", JMAP_ARRAY, 0, JMAP_AT(pod_document, init_containers),
	 .limit = MAX_CONTAINERS, .rows = container_rows,
	 .element_size = sizeof(struct container_row)},
	{"containerStatuses", JMAP_ARRAY, 0, JMAP_AT(pod_document, containers),
	 .limit = MAX_CONTAINERS, .rows = container_rows,
	 .element_size = sizeof(struct container_row)},
	{0},
};

static const struct jmap_row pod_rows[] = {
	{"status", JMAP_OBJECT, 0, .offset = 0, .rows = pod_status_rows},
	{0},
};

/* The driver in "driver/pool/device". */
static bool is_of_gpu_driver(struct view id)
{
	struct view driver, rest;
	return view_cut(id, VIEW("/"), &driver, &rest) && dra_driver_is_known(driver);
}

static bool is_gpu(const struct resource_row *resource, const struct device_row *device)
{
	return view_starts_with(resource->name, CLAIM) ? is_of_gpu_driver(device->id)
						       : gpu_resource_is_known(resource->name);
}

/* Counts what is on GPUs; unless `ret` is NULL, it is written there. */
static uint32_t take_containers(struct array containers, struct own_device *ret)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < containers.count; i++) {
		const struct container_row *container = ARRAY_AT(containers, struct container_row, i);
		for (uint32_t j = 0; j < container->resources.count; j++) {
			const struct resource_row *resource =
				ARRAY_AT(container->resources, struct resource_row, j);
			for (uint32_t k = 0; k < resource->devices.count; k++) {
				const struct device_row *device =
					ARRAY_AT(resource->devices, struct device_row, k);
				if (!is_gpu(resource, device))
					continue;
				if (ret)
					ret[n] = (struct own_device){container->name, resource->name,
								     device->id, device->health};
				n++;
			}
		}
	}
	return n;
}

int own_devices_of_pod(struct view json, struct arena *arena, struct array *ret_devices,
		       struct error *err)
{
	struct pod_document document = {0};
	if (jmap_decode(json, DOCUMENT_DEPTH, pod_rows, arena, &document, sizeof(document), err) != 0)
		return -1;
	const uint32_t n_init = take_containers(document.init_containers, NULL);
	const uint32_t n = n_init + take_containers(document.containers, NULL);
	struct own_device *devices = arena_alloc(arena, (size_t)n + 1, sizeof(*devices));
	if (!devices)
		return error_no_memory(err);
	take_containers(document.init_containers, devices);
	take_containers(document.containers, devices + n_init);
	*ret_devices = (struct array){devices, n, true};
	return 0;
}

/* A claim. */

struct result_row {
	struct view driver, pool, device;
};

struct claim_document {
	struct view kind, namespace, name;
	struct array results; /* struct result_row */
};

static const struct jmap_row result_rows[] = {
	{"driver", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(result_row, driver), .limit = ANY_TEXT},
	{"pool", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(result_row, pool), .limit = ANY_TEXT},
	{"device", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(result_row, device), .limit = ANY_TEXT},
	{0},
};

static const struct jmap_row devices_rows[] = {
	{"results", JMAP_ARRAY, 0, JMAP_AT(claim_document, results), .limit = MAX_DEVICES,
	 .rows = result_rows, .element_size = sizeof(struct result_row)},
	{0},
};

static const struct jmap_row allocation_rows[] = {
	{"devices", JMAP_OBJECT, 0, .offset = 0, .rows = devices_rows},
	{0},
};

static const struct jmap_row claim_status_rows[] = {
	{"allocation", JMAP_OBJECT, 0, .offset = 0, .rows = allocation_rows},
	{0},
};

static const struct jmap_row claim_metadata_rows[] = {
	{"namespace", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(claim_document, namespace),
	 .limit = LIMIT_TEXT_NAME},
	{"name", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(claim_document, name), .limit = LIMIT_TEXT_NAME},
	{0},
};

static const struct jmap_row claim_rows[] = {
	{"kind", JMAP_TEXT, 0, JMAP_AT(claim_document, kind), .limit = ANY_TEXT},
	{"metadata", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = claim_metadata_rows},
	{"status", JMAP_OBJECT, 0, .offset = 0, .rows = claim_status_rows},
	{0},
};

static int name_result(const struct result_row *result, struct arena *arena, struct view *ret_id,
		       struct error *err)
{
	const size_t len = result->driver.len + result->pool.len + result->device.len + 2;
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, len + 1);
	sbuf_printf(&text, "%.*s/%.*s/%.*s", VIEW_ARG(result->driver), VIEW_ARG(result->pool),
		    VIEW_ARG(result->device));
	if (sbuf_check(&text, "device", err) != 0)
		return -1;
	return arena_copy(arena, sbuf_view(&text), ret_id) ? 0 : error_no_memory(err);
}

int own_devices_of_claim(struct view json, struct arena *arena, struct own_claim *ret_claim,
			 struct error *err)
{
	struct claim_document document = {0};
	if (jmap_decode(json, DOCUMENT_DEPTH, claim_rows, arena, &document, sizeof(document), err) != 0)
		return -1;
	if (!view_equal(document.kind, VIEW("ResourceClaim")))
		return error_set(err, ERROR_REJECTED, 0, "a %.*s is no ResourceClaim",
				 VIEW_ARG(document.kind));
	struct view *ids = arena_alloc(arena, (size_t)document.results.count + 1, sizeof(*ids));
	uint32_t n = 0;
	if (!ids)
		return error_no_memory(err);
	for (uint32_t i = 0; i < document.results.count; i++) {
		const struct result_row *result = ARRAY_AT(document.results, struct result_row, i);
		if (!dra_driver_is_known(result->driver))
			continue;
		if (name_result(result, arena, &ids[n], err) != 0)
			return -1;
		n++;
	}
	*ret_claim = (struct own_claim){document.namespace, document.name, {ids, n, true}};
	return 0;
}
