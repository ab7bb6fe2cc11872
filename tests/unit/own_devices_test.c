/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/own_devices.h"

static const char pod[] =
	"{\"kind\":\"Pod\",\"status\":{\"initContainerStatuses\":[{\"name\":\"warm\","
	"\"allocatedResourcesStatus\":[{\"name\":\"nvidia.com/mig-1g.5gb\",\"resources\":["
	"{\"resourceID\":\"MIG-1\",\"health\":\"Unknown\"}]}]}],\"containerStatuses\":["
	"{\"name\":\"main\",\"allocatedResourcesStatus\":["
	"{\"name\":\"example.com/nic\",\"resources\":[{\"resourceID\":\"eth1\"}]},"
	"{\"name\":\"nvidia.com/gpu\",\"resources\":[{\"resourceID\":\"GPU-1::3\",\"health\":\"Healthy\"},"
	"{\"resourceID\":\"GPU-1::4\"}]},"
	"{\"name\":\"claim:g/r\",\"resources\":[{\"resourceID\":\"gpu.nvidia.com/a/gpu-1\"},"
	"{\"resourceID\":\"nic.example.com/a/eth1\"},{\"resourceID\":\"gpu.nvidia.com\"}]}]},"
	"{\"name\":\"bare\"}]}}";

static void devices_are_told_by_container_resource_and_the_kubelets_word(void **state)
{
	static const char *const rows[][4] = {
		{"warm", "nvidia.com/mig-1g.5gb", "MIG-1", "Unknown"},
		{"main", "nvidia.com/gpu", "GPU-1::3", "Healthy"},
		{"main", "nvidia.com/gpu", "GPU-1::4", ""},
		{"main", "claim:g/r", "gpu.nvidia.com/a/gpu-1", ""},
	};
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	struct array devices;
	struct error err;
	arena_init(&arena, 1u << 20);
	assert_int_equal(own_devices_of_pod(view_from(pod), &arena, &devices, &err), 0);
	assert_int_equal(devices.count, ARRAY_SIZE(rows));
	for (uint32_t i = 0; i < devices.count; i++) {
		const struct own_device *device = ARRAY_AT(devices, struct own_device, i);
		const struct view texts[] = {device->container, device->resource, device->id,
					     device->health};
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			assert_true(view_equal(texts[k], view_from(rows[i][k])));
	}
}

static void a_pod_whose_kubelet_writes_nothing_has_no_devices(void **state)
{
	static const char *const rows[] = {
		"{}", "{\"status\":{}}", "{\"status\":{\"containerStatuses\":[]}}",
		"{\"status\":{\"containerStatuses\":[{\"name\":\"a\",\"allocatedResourcesStatus\":null}]}}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct array devices;
		struct error err;
		arena_init(&arena, 1u << 20);
		assert_int_equal(own_devices_of_pod(view_from(rows[i]), &arena, &devices, &err), 0);
		assert_int_equal(devices.count, 0);
	}
}

#define CLAIM(status)                                                                           \
	"{\"kind\":\"ResourceClaim\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"c\"}" status "}"

static void a_claim_gives_the_devices_of_gpu_drivers_in_its_allocation(void **state)
{
	static const struct {
		const char *json, *id; /* NULL: it gives none */
	} rows[] = {
		{CLAIM(",\"status\":{\"allocation\":{\"devices\":{\"results\":["
		       "{\"driver\":\"nic.example.com\",\"pool\":\"a\",\"device\":\"eth1\"},"
		       "{\"driver\":\"gpu.nvidia.com\",\"pool\":\"a\",\"device\":\"gpu-1\"}]}}}"),
		 "gpu.nvidia.com/a/gpu-1"},
		{CLAIM(""), NULL},
		{CLAIM(",\"status\":{\"allocation\":{}}"), NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct own_claim claim;
		struct error err;
		arena_init(&arena, 1u << 20);
		assert_int_equal(own_devices_of_claim(view_from(rows[i].json), &arena, &claim, &err), 0);
		assert_true(view_equal(claim.namespace, VIEW("ml")) && view_equal(claim.name, VIEW("c")));
		assert_int_equal(claim.ids.count, rows[i].id ? 1 : 0);
		if (rows[i].id)
			assert_true(view_equal(*ARRAY_AT(claim.ids, struct view, 0), view_from(rows[i].id)));
	}
}

static void what_is_no_claim_is_refused(void **state)
{
	static const char *const rows[] = {
		"{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"c\"}}",
		"{\"kind\":\"ResourceClaim\",\"metadata\":{\"name\":\"c\"}}",
		CLAIM(",\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"pool\":\"a\"}]}}}"),
		"[]",
		"{",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct own_claim claim;
		struct error err;
		arena_init(&arena, 1u << 20);
		assert_int_equal(own_devices_of_claim(view_from(rows[i]), &arena, &claim, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void without_memory_nothing_is_told(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	struct array devices;
	struct error err;
	arena_init(&arena, 64);
	assert_int_equal(own_devices_of_pod(view_from(pod), &arena, &devices, &err), -1);
	assert_true(err.kind == ERROR_NO_MEMORY || err.kind == ERROR_LIMIT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(devices_are_told_by_container_resource_and_the_kubelets_word),
	cmocka_unit_test(a_pod_whose_kubelet_writes_nothing_has_no_devices),
	cmocka_unit_test(a_claim_gives_the_devices_of_gpu_drivers_in_its_allocation),
	cmocka_unit_test(what_is_no_claim_is_refused),
	cmocka_unit_test(without_memory_nothing_is_told),
};
TEST_MAIN(tests)
