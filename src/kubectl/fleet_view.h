/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fleet_view - one line per device.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct page;

/* Writes the devices, in their order, and notes on them. Failure is the page's. */
void fleet_view(struct page *page, const struct attribution *const *devices, size_t n_devices);
/* Writes the names as `kubectl get -o name` does. */
void fleet_view_names(struct page *page, const struct attribution *const *devices,
		      size_t n_devices);
/* Writes the list as JSON. */
void fleet_view_json(struct page *page, const struct attribution *const *devices, size_t n_devices);
