/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * from_pod_status - the facts that the status of pods states: allocatedResourcesStatus, which a
 * kubelet of 1.36 and later fills.
 *
 * Threads: any.
 */

#include "join/facts.h"

/* Adds who has which ID by the status of the node's pods. */
void from_pod_status_read(struct facts_draft *draft);
