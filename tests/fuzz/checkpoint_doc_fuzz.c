/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as a checkpoint is sorted, and each holder and device is there once. */

#include <assert.h>

#include "base/limits.h"
#include "schema/checkpoint_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ids(const struct array *ids)
{
	for (uint32_t i = 1; i < ids->count; i++)
		assert(view_compare(*ARRAY_AT(*ids, struct view, i - 1),
				    *ARRAY_AT(*ids, struct view, i)) < 0);
}

static int compare_entries(const struct report_checkpoint_entry *a,
			   const struct report_checkpoint_entry *b)
{
	int order = view_compare(a->pod_uid, b->pod_uid);
	if (order == 0)
		order = view_compare(a->container, b->container);
	return order ? order : view_compare(a->resource, b->resource);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report_checkpoint checkpoint;
	struct arena arena;
	struct error err;

	arena_init(&arena, 64 * LIMIT_MIB);
	if (checkpoint_doc_decode((struct view){(const char *)data, size}, &arena, &checkpoint,
				  &err) == 0) {
		for (uint32_t i = 0; i < checkpoint.entries.count; i++) {
			const struct report_checkpoint_entry *entry =
				ARRAY_AT(checkpoint.entries, struct report_checkpoint_entry, i);
			check_ids(&entry->device_ids);
			assert(i == 0 || compare_entries(entry - 1, entry) < 0);
		}
		for (uint32_t i = 0; i < checkpoint.registered.count; i++)
			check_ids(&ARRAY_AT(checkpoint.registered, struct report_resource_devices, i)
					   ->device_ids);
	}
	arena_deinit(&arena);
	return 0;
}
