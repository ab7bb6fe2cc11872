/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * own_view - on which GPUs pods are, for a user who may read the pods of a namespace and no
 * GPUAttributions: what the pods' status and ResourceClaims say of it, and what is missing.
 *
 * Threads: the main thread.
 */

#include "kubectl/assignment.h"
#include "kubectl/command.h"

struct session;

/*
 * Shows the devices of the set's pods, which is filled with no device. Asks for ResourceClaims of the
 * namespace if a pod has some. COMMAND_FOUND when the devices of each pod that asks for some are
 * known, COMMAND_NOT_FOUND when a pod that was named has none, COMMAND_FAILED when it cannot be told.
 */
enum command_status own_view(struct session *session, const char *namespace,
			     const struct assignment_set *set);
