/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_view - the devices of nodes, one line per tenant, and one for each device without any.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct page;

/* Writes the devices, in their order, and notes on them. Failure is the page's. */
void node_view(struct page *page, const struct attribution *const *devices, size_t n_devices);
