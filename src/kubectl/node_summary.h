/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_summary - one line per node, for more devices than anybody reads line by line.
 *
 * Threads: any.
 */

#include "model/attribution.h"

#define NODE_SUMMARY_ABOVE 50u /* devices */

struct output;

/*
 * Writes a line for each node, a line of totals, and a note on how to see the devices. They are in
 * the order of their nodes. Failure is the output's.
 */
void node_summary(struct output *output, const struct attribution *const *devices, size_t n_devices);
