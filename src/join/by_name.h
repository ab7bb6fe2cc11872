/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * by_name - tenants for whom a name alone speaks: another pod may have it by now. Before such a one
 * is published the API server is asked (controller/publisher.c), which while pods may not be read
 * cannot be.
 *
 * Threads: any.
 */

#include "join/join.h"

/* The List names the pod by name, and no good checkpoint, which has UIDs, bears it out. */
bool by_name_is(const struct join_device *device, const struct attribution_tenant *tenant);
/*
 * While what is known of pods is old (pods_age): unless those of whom a name tells are as they were
 * published, the device's holders and slots are what was published, all of them; before anything was,
 * nobody is known. Whom new error events name for that is left out of them, and counted.
 */
void by_name_hold_back(struct join_device *device);
