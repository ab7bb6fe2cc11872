/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * footnotes - the notes on the devices of a table. They say why a line is marked, what was left out,
 * and who is on a device without a slot.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct output;

/* Adds the notes on these devices, which are in the order of their nodes. */
void footnotes_add(struct output *output, const struct attribution *const *devices, size_t n_devices);
