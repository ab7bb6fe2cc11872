/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_sections - the lists of one device: partitions, tenants, events and so on, each a small
 * table under its title.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct output;

#define DEVICE_SECTIONS_LABEL 17 /* columns of a title that something stands behind */

/* Writes the sections. Failure is the output's. */
void device_sections(struct output *output, const struct attribution_status *status);
