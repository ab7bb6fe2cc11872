/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_view - everything that is known of one device, laid out as `kubectl describe` does.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct page;

/* Writes the device. Failure is the page's. */
void device_view(struct page *page, const struct attribution *device);
/* Writes spec and status as the API has them, as JSON. */
void device_view_json(struct page *page, const struct attribution *device);
