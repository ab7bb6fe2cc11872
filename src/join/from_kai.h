/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * from_kai - the facts that KAI's labels and annotations state. KAI has a pod of its own, the
 * reservation, hold a device for all pods of a group: it is a placeholder. Whoever may edit a pod
 * may write these texts. So they make a tenant only of a group for which KAI holds a device, and do
 * not confirm one.
 *
 * Labels: runai-gpu-group, and runai-gpu-group/GROUP of pods that share several devices.
 * Annotations: run.ai/reserve_for_gpu_index and gpu-fraction-container-name.
 *
 * Threads: any.
 */

#include "join/facts.h"

/*
 * Adds the pods of each group to the device of its reservation, which is marked as a placeholder,
 * and as resolved if it has sharers. The witnesses that name IDs must have been read.
 */
void from_kai_read(struct facts_draft *draft);
