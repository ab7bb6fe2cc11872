/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_view - on which GPUs pods are: one line per container and device, and a sentence on each pod
 * that is on none.
 *
 * Threads: any.
 */

#include "kubectl/assignment.h"

struct output;

/*
 * Writes assignments and notes. If the GPUs of a container that asks for some are not known, it gets a
 * line of question marks. Failure is the output's.
 */
void pod_view(struct output *output, const struct assignment_set *set);
/* Adds the notes on the pods alone: why one is on no GPU. */
void pod_view_notes(struct output *output, const struct assignment_set *set);
/* Writes the names of the devices, each once, and notes. Failure is the output's. */
void pod_view_names(struct output *output, const struct assignment_set *set);
/* Writes pods and assignments as JSON. Failure is the output's. */
void pod_view_json(struct output *output, const struct assignment_set *set);
