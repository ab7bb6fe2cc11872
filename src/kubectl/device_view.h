/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_view - everything that is known of one device, laid out as `kubectl describe` does.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct output;

/* Writes the device. Failure is the output's. */
void device_view(struct output *output, const struct attribution *device);
/* Writes spec and status as the API has them, as JSON. Failure is the output's. */
void device_view_json(struct output *output, const struct attribution *device);
