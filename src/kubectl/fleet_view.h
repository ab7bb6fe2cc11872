/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fleet_view - one line per device.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct output;

/* Writes the devices, in their order, and notes on them. Failure is the output's. */
void fleet_view(struct output *output, const struct attribution *const *devices, size_t n_devices);
/* Writes the names as `kubectl get -o name` does. Failure is the output's. */
void fleet_view_names(struct output *output, const struct attribution *const *devices,
		      size_t n_devices);
/* Writes the devices and their tenants as JSON. Failure is the output's. */
void fleet_view_json(struct output *output, const struct attribution *const *devices, size_t n_devices);
