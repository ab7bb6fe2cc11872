/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drifting_view - one line per difference between what is intended and what is there: where, since
 * when, what is intended and what is observed, and what to do. What is pending is shown by -o wide and
 * in documents only.
 *
 * Threads: any.
 */

#include "kubectl/drifting.h"

struct output;

/* Writes the rows, in their order, and notes on what is not current. Failure is the output's. */
void drifting_view(struct output *output, const struct drifting *drifting);
/* Writes the names of the devices with a drift as `kubectl get -o name` does. Failure is the output's. */
void drifting_view_names(struct output *output, const struct drifting *drifting);
/* Writes the same as JSON. Failure is the output's. */
void drifting_view_json(struct output *output, const struct drifting *drifting);
