/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * from_checkpoint - the facts that the kubelet's checkpoint states.
 *
 * Threads: any.
 */

#include "join/checkpoint_index.h"
#include "join/facts.h"

/*
 * Adds who has which ID by the checkpoint, and sets `ended` and `claims_refused` of the facts. The
 * List must have been read: it has marked the entries that it has too.
 */
void from_checkpoint_read(struct facts_draft *draft, const struct checkpoint_index *index);
