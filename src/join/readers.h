/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * readers - those that add what one witness says to a draft of facts, each in the file of its witness
 * (join/from_*.c). None calls another. Three go by what was read before them, and so have an order
 * (join/witnesses.c): the checkpoint's by marks of the List's, HAMi's and KAI's by facts. Without memory they
 * leave out what facts_close() then fails for.
 *
 * Threads: any; pure.
 */

#include "join/checkpoint_index.h"

/*
 * Adds who has which ID by the List of the input's report. Marks the checkpoint's entries of unknown
 * pods that the List has too. Sets `entries_refused` and `awaits_list` of the facts.
 */
void from_pod_resources_read(struct facts_draft *draft, const struct checkpoint_index *checkpoint);
/*
 * Adds who has which ID by the checkpoint, and sets `ended` and `entries_refused` of the facts. The
 * List must have been read: it has marked the entries of unknown pods.
 */
void from_checkpoint_read(struct facts_draft *draft, const struct checkpoint_index *checkpoint);
/* Reads which devices the kubelet wrote into the status of the pods of the node. */
void from_pod_status_read(struct facts_draft *draft);
/*
 * Reads what HAMi wrote on the pods of the node, and replaces the facts about HAMi's IDs, whichever witness stated
 * them. It comes after the witnesses that name IDs.
 */
void from_hami_read(struct facts_draft *draft);
/*
 * Reads what KAI wrote on the pods of the node: adds the sharers of each reservation, and marks its
 * holders. Facts tell the reservation's device, so it comes after the witnesses that name IDs, too.
 */
void from_kai_read(struct facts_draft *draft);
