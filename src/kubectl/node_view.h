/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_view - the devices of nodes, one line per tenant, and one for each device without any.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct output;

/* Writes the devices, in their order, and notes on them. Failure is the output's. */
void node_view(struct output *output, const struct attribution *const *devices, size_t n_devices);
