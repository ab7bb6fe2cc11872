/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * idle_view - one line per device that is idle, or MIG partition: for how long, and who holds it.
 *
 * Threads: any.
 */

#include "kubectl/idle.h"

struct output;

/* Writes the devices and partitions, in their order. Failure is the output's. */
void idle_view(struct output *output, const struct idle *idle);
/* Writes the names of the devices, each once, as `kubectl get -o name`. Failure is the output's. */
void idle_view_names(struct output *output, const struct idle *idle);
/* Writes the same as JSON. Failure is the output's. */
void idle_view_json(struct output *output, const struct idle *idle);
