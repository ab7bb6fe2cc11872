/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * report - what a node's agent says: evidence of each source, no verdicts. Plain values; the agent
 * fills and encodes them, the controller decodes and joins them. The wire form is in
 * schema/report_doc.h, field by field the same.
 *
 * An array that is not `present` means "not known", an empty one "the source answered: nothing".
 * All texts and arrays lie in the arena of whoever made the report.
 *
 * Threads: any; immutable once handed over.
 */

#include "base/array.h"
#include "base/view.h"

#define REPORT_VERSION 1

enum report_source_state {
	REPORT_SOURCE_UNKNOWN, /* the report does not mention it */
	REPORT_SOURCE_OK,
	REPORT_SOURCE_ERROR,   /* it failed; its part is the last good one, dated, or left out */
	REPORT_SOURCE_ABSENT,  /* it does not exist on this node */
};

struct report_source {
	int state; /* enum report_source_state */
	struct view message;
	int64_t observed_at; /* node's wall clock, ms since 1970; 0 = never */
};

struct report_sources {
	struct report_source pod_resources;
	struct report_source checkpoint;
	struct report_source nvml;
	struct report_source processes;
	struct report_source dcgm;
};

enum report_compute_mode {
	REPORT_COMPUTE_UNKNOWN,
	REPORT_COMPUTE_DEFAULT,
	REPORT_COMPUTE_EXCLUSIVE_PROCESS,
	REPORT_COMPUTE_PROHIBITED,
};

enum report_process_kind {
	REPORT_PROCESS_UNKNOWN,
	REPORT_PROCESS_COMPUTE,
	REPORT_PROCESS_GRAPHICS,
	REPORT_PROCESS_MPS,
};

/* A MIG compute instance. */
struct report_partition {
	struct view uuid;
	struct view profile; /* "1g.5gb" */
	int64_t gpu_instance_id;
	int64_t compute_instance_id;
	int64_t memory_mib;
};

struct report_process {
	int64_t pid;
	int kind; /* enum report_process_kind */
	int64_t memory_mib;
	struct view partition; /* UUID, or empty */
	struct view pod_uid;   /* only where the cgroup names it */
	struct view container_id;
	struct view command; /* only where the agent could look at the process */
};

struct report_mig {
	bool present; /* false: the device cannot do MIG, or it is not known */
	bool current;
	bool pending;
};

struct report_device {
	struct view uuid;
	int64_t index;
	int64_t minor;
	struct view pci_bus_id;
	struct view model;
	int64_t memory_mib;
	struct view serial;
	struct view compute_capability;
	int compute_mode; /* enum report_compute_mode */
	struct report_mig mig;
	struct array partitions; /* struct report_partition */
	struct array processes;  /* struct report_process */
};

/* One container's devices of one resource, as PodResources lists them: by name. */
struct report_pod_resource {
	struct view namespace;
	struct view name;
	struct view container;
	struct view resource;
	struct array device_ids; /* struct view, raw */
};

/* The devices of a resource that the kubelet advertises or has registered. */
struct report_resource_devices {
	struct view resource;
	struct array device_ids; /* struct view, raw */
};

/* One container's devices of one resource, as the kubelet's checkpoint has them: by UID. */
struct report_checkpoint_entry {
	struct view pod_uid;
	struct view container;
	struct view resource;
	struct array device_ids; /* struct view, raw */
	bool mps;                /* the allocation response made it a client of MPS */
};

struct report_checkpoint {
	bool present;
	struct array entries;    /* struct report_checkpoint_entry */
	struct array registered; /* struct report_resource_devices */
};

enum report_event_type {
	REPORT_EVENT_UNKNOWN,
	REPORT_EVENT_XID,
};

struct report_event {
	int64_t sequence;
	int64_t time; /* node's wall clock, ms since 1970 */
	struct view uuid;
	int type; /* enum report_event_type */
	int64_t code;
};

struct report {
	int64_t version;
	struct view node;
	struct view boot_id;
	int64_t instance; /* ms since boot at which the agent started */
	int64_t sequence;
	int64_t observed_at;
	struct view agent_version;
	struct view driver_version;
	struct view cuda_version;
	int64_t kubelet_restarted_at; /* 0: not seen */
	struct report_sources sources;
	struct array devices;       /* struct report_device */
	struct array pod_resources; /* struct report_pod_resource */
	struct array allocatable;   /* struct report_resource_devices */
	struct report_checkpoint checkpoint;
	struct array events; /* struct report_event, ascending */
	int64_t events_dropped;
};
