/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * from_pod_resources - the facts that the kubelet's List of PodResources states. It names pods by
 * name, so each ID is explained first: which pod it means.
 *
 * Threads: any.
 */

#include "join/from_checkpoint.h"

/*
 * Adds who has which ID by the List of the input's report, marks the checkpoint's entries of unknown
 * pods that the List has too, and sets `claims_refused` and `awaits_list` of the facts.
 */
void from_pod_resources_read(struct facts_draft *draft, const struct checkpoint_index *checkpoint);
