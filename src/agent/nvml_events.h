/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_events - the event set of a session of agent/nvml.h: on which devices XID errors are watched, and
 * which of them came
 *
 * Of a device whose driver lists such events it is watched, too, when its recovery action changes and when
 * it becomes unavailable (from 12.8). They say that there is something to be read, and nothing else is
 * taken from them. If they cannot be watched XID errors are all the same.
 *
 * With a waiter (agent/nvml_waiter.h) somebody waits for events in the driver at any time but while a
 * session ends, and tells XID errors elsewhere. It hears whose a handle is before that device is watched.
 *
 * Threads: owner.
 */

#include "agent/device_reader.h"
#include "agent/nvml.h"

/* What a session remembers of the device at an index. */
struct nvml_known_device {
	struct nvml_abi_device *handle; /* NULL: never seen in this session */
	char uuid[NVML_ABI_UUID_SIZE];
	bool has_events;        /* registered on the event set */
	struct wall_time reset; /* it was after that: NVML gave out another handle then */
	uint32_t peak;          /* percent: its highest utilisation since the last reading */
};

/* Zeroed but for the pointers, which are borrowed: nothing is watched. */
struct nvml_events {
	const struct nvml_library *library;
	struct nvml_known_device *known; /* LIMIT_REPORT_DEVICES */
	struct nvml_waiter *waiter;      /* NULL: events are asked for */
	struct nvml_abi_event_set *set;
	bool is_waited_for; /* by the waiter, unless its wait has failed */
	int failure;          /* code of the wait that failed, or 0; told by the next reading */
	bool has_missed;      /* the last reading told that */
	uint64_t watch;       /* rises whenever something begins to be watched */
	unsigned n_unwatched; /* devices, at the last reading */
	bool has_new_state;   /* of a device; somebody is to read it */
};

/* Makes the set if there is none; notes when XID errors are or were not watched. Begins a reading. */
void nvml_events_open(struct nvml_events *events, struct device_reader *reader);
/* Has a device that answers watched, or notes that it is not. */
void nvml_events_watch(struct nvml_events *events, struct device_reader *reader,
		       struct nvml_known_device *known);
/* Has the waiter wait, if there is one. Ends a reading. */
void nvml_events_await(struct nvml_events *events);
/* The next XID error. False: there is none. With a waiter there never is, and its failure is seen. */
bool nvml_events_next(struct nvml_events *events, struct nvml_event *ret_event);
/* Ends the session's watch. Waits until nobody is in the driver any more, so maybe for ever. */
void nvml_events_close(struct nvml_events *events);
