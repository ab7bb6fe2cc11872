/* SPDX-License-Identifier: Apache-2.0 */

/* PodStatus: allocatedResourcesStatus, which kubelets of 1.36 and later fill. */

#include "join/witnesses.h"

void from_pod_status_read(struct facts_draft *draft, const struct pod *pod)
{
	const struct pod_allocation *allocations = pod_gpu(pod)->allocations.items;
	const uint32_t n = pod_gpu(pod)->allocations.count;

	for (uint32_t i = 0; i < n; i++) {
		struct holder *holder = facts_add_container(draft, pod, allocations[i].container,
							    allocations[i].resource);
		facts_add(draft, holder, allocations[i].id,
			  (struct fact){.witnesses = WITNESS_POD_STATUS});
	}
}
