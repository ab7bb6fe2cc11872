/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as a pod has an identity, and texts that lie in the message. */

#include <assert.h>

#include "schema/pod_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct view message, struct view text)
{
	assert(text.len == 0 || (text.ptr >= message.ptr && text.len <= message.len &&
				 text.ptr <= message.ptr + message.len - text.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view message = {(const char *)data, size};
	struct pod_fields fields;
	struct error err;

	if (pod_doc_decode(message, &fields, &err) != 0)
		return 0;
	assert(fields.name.len > 0 && fields.uid.len > 0);
	assert(fields.state.wants_gpu || fields.gpu.containers.count + fields.gpu.allocations.count +
						 fields.gpu.claims.count == 0);
	assert(fields.gpu.containers.count <= POD_MAX_CONTAINERS);
	assert(fields.gpu.allocations.count <= POD_MAX_ALLOCATIONS && fields.gpu.claims.count <= POD_MAX_CLAIMS);
	check_inside(message, fields.name);
	check_inside(message, fields.uid);
	check_inside(message, fields.namespace);
	check_inside(message, fields.node);
	check_inside(message, fields.config_hash);
	/* The group and the kind may be words of the decoder's own. */
	check_inside(message, fields.gpu.workload.name);
	check_inside(message, fields.gpu.hami_devices);
	check_inside(message, fields.gpu.kai_group);
	check_inside(message, fields.gpu.kai_device);
	check_inside(message, fields.gpu.kai_container);
	assert(fields.gpu.kai_groups.count <= POD_MAX_KAI_GROUPS);
	for (uint32_t i = 0; i < fields.gpu.kai_groups.count; i++)
		check_inside(message, fields.kai_groups[i]);
	for (uint32_t i = 0; i < fields.gpu.containers.count; i++)
		check_inside(message, fields.containers[i].name);
	for (uint32_t i = 0; i < fields.gpu.allocations.count; i++) {
		check_inside(message, fields.allocations[i].container);
		check_inside(message, fields.allocations[i].resource);
		check_inside(message, fields.allocations[i].id);
	}
	for (uint32_t i = 0; i < fields.gpu.claims.count; i++) {
		assert(fields.claims[i].claim.len > 0);
		check_inside(message, fields.claims[i].container);
		check_inside(message, fields.claims[i].claim);
		check_inside(message, fields.claims[i].request);
	}
	return 0;
}
