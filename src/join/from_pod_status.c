/* SPDX-License-Identifier: Apache-2.0 */

/* PodStatus: allocatedResourcesStatus, which kubelets of 1.36 and later fill. */

#include "join/readers.h"

void from_pod_status_read(struct facts_draft *draft, const struct pod *pod)
{
	ARRAY_EACH(const struct pod_allocation, told, pod_gpu(pod)->allocations) {
		struct holder *holder = facts_add_container(draft, pod, told->container, told->resource);
		facts_add(draft, holder, told->id, (struct fact){.witnesses = WITNESS_POD_STATUS});
	}
}
