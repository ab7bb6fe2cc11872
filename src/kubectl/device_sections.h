/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_sections - the lists of one device: partitions, tenants, events and so on, each a small
 * table under its title.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct page;

#define DEVICE_SECTIONS_LABEL 17 /* columns of a title that something stands behind */

/* Writes the sections. Failure is the page's. */
void device_sections(struct page *page, const struct attribution_status *status);
