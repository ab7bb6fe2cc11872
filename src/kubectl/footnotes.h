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

/* In all of them the devices are in the order of their nodes. */

/* Adds all notes on these devices. */
void footnotes_add(struct output *output, const struct attribution *const *devices, size_t n_devices);
/* Adds only the notes on those of the devices that are not current. */
void footnotes_add_states(struct output *output, const struct attribution *const *devices,
			  size_t n_devices);
/*
 * Adds that these devices are settling, and by which reasons of the condition InSync; is_hinted: and how to see
 * what is pending, if anything is.
 */
void footnotes_add_settling(struct output *output, const struct attribution *const *devices,
			    size_t n_devices, bool is_hinted);
/* Adds that something of these devices, such as "The health", is not known, and where they are. */
void footnotes_add_unknown(struct output *output, const struct attribution *const *devices,
			   size_t n_devices, const char *what);
