/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * failing_view - one row per device that fails: since when and why, who was on it then, who is on it
 * now, and who owns that. What to do stands below each row.
 *
 * Threads: any.
 */

#include "kubectl/failing.h"

struct output;

/* Writes the devices, in their order, and notes on what is not current. Failure is the output's. */
void failing_view(struct output *output, const struct failing *failing);
/* Writes the names as `kubectl get -o name` does. Failure is the output's. */
void failing_view_names(struct output *output, const struct failing *failing);
/* Writes the same as JSON. Failure is the output's. */
void failing_view_json(struct output *output, const struct failing *failing);
