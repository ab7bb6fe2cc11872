/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gpu_world - the small fleets of tests/fake/world, tests/fake/trouble and tests/fake/drift for tests
 * of the kubectl plugin, and the screens that they must give. GPU_WORLD_NOW is some minutes after the last thing that
 * happened there.
 *
 * Threads: a test's own.
 */

#include "kubectl/device_list.h"
#include "kubectl/output.h"
#include "kubectl/pod_list.h"

#define GPU_WORLD_NOW INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */

/* Reads all devices into a list without a filter; ends the test when it cannot. */
void gpu_world_devices(struct device_list *list);
/* The same of tests/fake/trouble, where devices fail or are idle. */
void gpu_world_trouble(struct device_list *list);
/* The same of tests/fake/drift, where what is there is not what is intended. */
void gpu_world_drift(struct device_list *list);
/* The UUIDs of the devices that were read last. */
struct uuid_prefix *gpu_world_uuids(void);
/* Reads all pods. */
void gpu_world_pods(struct pod_list *pods);
/* The only device whose UUID begins with that text. */
const struct attribution *gpu_world_device(const struct device_list *list, const char *start);
/*
 * Body and notes must be those of tests/golden/screens/<name>.txt. Without -o no line may have more
 * than TEXT_TABLE_WIDTH columns. With UPDATE_SCREENS in the
 * environment the file is written instead, to be looked at before it is kept.
 */
void gpu_world_assert_screen(struct output *output, const char *name);
