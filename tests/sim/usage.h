/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * usage - the processes on the devices: of containers, of MPS, of the host; and what a node's
 * driver and /proc show of them (agent/process.h without a kernel).
 *
 * In every second fleet there are such processes, and most agents there may see whose they are. All
 * that is chosen about them is drawn from a stream of its own, so that the other fleets' histories
 * are what they would be without.
 *
 * Threads: the program's only one.
 */

#include "agent/nvml_abi.h"
#include "sim/world.h"

/* Whether a history of that seed has processes. */
bool usage_is_there(uint64_t seed);
/* After the world's. */
void usage_reset(uint64_t seed);
/* What the node's agent may see. */
void usage_set_up(int node);

/* The pod's containers of that kind run, again or for the first time: processes begin soon. */
void usage_start(struct world_pod *pod, enum world_container_kind kind);
/* They do not any more; their processes end within ms. */
void usage_stop(struct world_pod *pod, enum world_container_kind kind, uint64_t ms);
/* The pod is not there any more: its processes end in a moment, or live on as long as it says. */
void usage_abandon(struct world_pod *pod);
/* The machine is off: nothing runs on it. When it is on again its containers do. */
void usage_power_off(int node);
void usage_power_on(int node);
/* Nothing can be on the device any more. */
void usage_clear_gpu(int gpu);

enum usage_stray { USAGE_OF_HOST, USAGE_OF_LIAR, USAGE_OF_POD, USAGE_N_STRAYS };
/* Somebody uses the device without a slot of it; see the action "stray". */
void usage_stray(enum usage_stray stray, int gpu, struct world_pod *pod, uint64_t until);

/* The pod of the MPS daemon, of which nothing else is told. */
#define USAGE_MPS_POD "5e5e5e5e-0000-4000-8000-000000000000"

/* What the driver says of the device (partition -1) or MIG device: clients of MPS, or others. */
unsigned usage_list(int gpu, int partition, bool clients, unsigned n, struct nvml_abi_process *ret);
#define USAGE_ID_SIZE 65
/* The ID of the container's n-th run, as the runtime calls it. */
void usage_container_id(const struct world_pod *pod, int container, unsigned start,
			char ret[static USAGE_ID_SIZE]);

/* A process is on the device, or a MIG device of it. */
bool usage_is_used(int gpu);
/* A client of MPS is on the device. */
bool usage_has_client(int gpu);
