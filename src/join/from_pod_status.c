/* SPDX-License-Identifier: Apache-2.0 */

/* PodStatus: allocatedResourcesStatus, which kubelets of 1.36 and later fill. */

#include "join/readers.h"

void from_pod_status_read(struct facts_draft *draft)
{
	const struct node_pods *node_pods = &draft->facts->node_pods;
	const struct fact what = {.witnesses = WITNESS_POD_STATUS};
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++) {
		const struct pod *pod = node_pods->gpu_pods[i];
		ARRAY_EACH(const struct pod_allocation, told, pod_gpu(pod)->allocations) {
			struct holder *holder =
				facts_add_container(draft, pod, told->container, told->resource);
			facts_add(draft, holder, told->id, what);
		}
	}
}
