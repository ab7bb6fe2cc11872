/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as an answer of the kubelet names its holders, and each device once. */

#include <assert.h>

#include "base/limits.h"
#include "model/report.h"
#include "schema/podresources_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ids(const struct array *ids)
{
	for (uint32_t i = 1; i < ids->count; i++)
		assert(view_compare(*ARRAY_AT(*ids, struct view, i - 1),
				    *ARRAY_AT(*ids, struct view, i)) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view message = {(const char *)data, size};
	struct array list;
	struct arena arena;
	struct error err;

	arena_init(&arena, 64 * LIMIT_MIB);
	if (podresources_doc_decode_list(message, &arena, &list, &err) == 0) {
		for (uint32_t i = 0; i < list.count; i++) {
			const struct report_pod_resource *holding =
				ARRAY_AT(list, struct report_pod_resource, i);
			assert(holding->name.len > 0 && holding->namespace.len > 0);
			assert(holding->container.len > 0 && holding->resource.len > 0);
			check_ids(&holding->device_ids);
		}
	}
	if (podresources_doc_decode_allocatable(message, &arena, &list, &err) == 0) {
		for (uint32_t i = 0; i < list.count; i++)
			check_ids(&ARRAY_AT(list, struct report_resource_devices, i)->device_ids);
	}
	arena_deinit(&arena);
	return 0;
}
