/* SPDX-License-Identifier: Apache-2.0 */
#include "join/from_pod_status.h"

static void read_pod(struct facts_draft *draft, const struct pod *pod)
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

void from_pod_status_read(struct facts_draft *draft)
{
	const struct node_pods *node_pods = &draft->facts->node_pods;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++) {
		if (!pod_is_over(node_pods->gpu_pods[i]))
			read_pod(draft, node_pods->gpu_pods[i]);
	}
}
