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

/*
 * Stands in the message of NVML when the driver's library and its module do not fit each other. Agents
 * that do not tell has_driver_mismatch say it so.
 */
#define REPORT_DRIVER_MISMATCH "are of different versions"

struct report_source {
	int state;  /* enum report_source_state */
	bool hangs; /* ERROR: a call has not returned for too long, which is not a refusal */
	bool has_driver_mismatch; /* ERROR of NVML: the driver's library and its module do not fit */
	struct view message;
	int64_t observed_at; /* node's wall clock, ms since 1970; 0 = never */
	int64_t failures;    /* how often it has failed since the agent started */
	int64_t hang_count;  /* how often it was found to hang since then */
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

/* What it rests on that a device computes or does not, best first. */
enum report_activity_source {
	REPORT_ACTIVITY_UNMEASURED,
	REPORT_ACTIVITY_NVML, /* utilisation, which NVML does not tell under MIG */
	REPORT_ACTIVITY_GPM,  /* NVML's GPU performance monitoring, of a MIG GPU instance */
	REPORT_ACTIVITY_DCGM, /* DCGM's engine activity, of a MIG instance */
	REPORT_ACTIVITY_NO_PROCESS, /* there is no process, so nothing can be computed */
};

enum report_activity_state {
	REPORT_ACTIVITY_UNSAID,
	REPORT_ACTIVITY_BUSY,      /* work was seen within the agent's --idle-after */
	REPORT_ACTIVITY_IDLE,      /* none was, and that whole time was measured */
	REPORT_ACTIVITY_MEASURING, /* none was, and less than that time has been measured */
};

/* Longest time between two samples in which no work can have been missed that is worth a word. */
#define REPORT_ACTIVITY_GAP_MS 120000

/* Whether a device or a partition computes. By the node's clock. */
struct report_activity {
	bool present;           /* false: it is not measured */
	int state;              /* enum report_activity_state */
	int source;             /* enum report_activity_source: by which the state is known */
	int64_t utilization;    /* percent, in the last sample; -1: no figure */
	int64_t last_busy_at;   /* last sample with work; 0: none was seen */
	int64_t measured_since; /* no two samples since are more than REPORT_ACTIVITY_GAP_MS apart */
	unsigned sources; /* inside the agent: bits of those that told a figure in this sample */
};

/* A MIG compute instance. */
struct report_partition {
	struct view uuid;
	struct view profile; /* "1g.5gb" */
	int64_t gpu_instance_id;
	int64_t compute_instance_id;
	int64_t memory_mib;
	struct report_activity activity;
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

/* What the driver says that should be done: NVML's field 230. */
enum report_recovery {
	REPORT_RECOVERY_UNREAD, /* it cannot be read here */
	REPORT_RECOVERY_NONE,
	REPORT_RECOVERY_RESET,
	REPORT_RECOVERY_REBOOT,
	REPORT_RECOVERY_DRAIN_P2P,
	REPORT_RECOVERY_DRAIN_AND_RESET,
	REPORT_RECOVERY_RECOVER_IMEX_DOMAIN,
	REPORT_RECOVERY_OTHER, /* a number that this version does not know */
};

enum report_fabric {
	REPORT_FABRIC_UNREAD, /* or the device is on none */
	REPORT_FABRIC_NOT_STARTED,
	REPORT_FABRIC_IN_PROGRESS,
	REPORT_FABRIC_COMPLETED,
};

/* Each count is -1 where it cannot be read. */
struct report_error_counts {
	int64_t corrected;
	int64_t uncorrected;
};

/* Ampere and newer; the driver does not tell it while MIG instances exist. */
struct report_remapped_rows {
	bool present;
	struct report_error_counts counts;
	bool pending; /* takes effect at the next reset */
	bool failed;
};

/* Before Ampere. */
struct report_retired_pages {
	bool present;
	bool pending;
};

/* present: both can be read. */
struct report_links {
	bool present;
	int64_t total;
	int64_t active;
};

/* present: all of it can be read. */
struct report_pcie_generation {
	bool present;
	bool busy;       /* the device computed; else the link may be slow by design */
	int64_t highest; /* that device and slot can have */
	int64_t current;
};

/* What the agent concludes from several samples. */
enum report_verdict {
	REPORT_UNDECIDED, /* it has not seen enough since it started, or cannot read it */
	REPORT_YES,
	REPORT_NO,
};

/* Why the clocks have been low for long: of enum report_verdict each. */
struct report_slowdown {
	bool present; /* NVML tells why clocks are low */
	int thermal;
	int power_brake;
	int hardware; /* NVML's "hardware slowdown", of whatever cause */
};

/* NVML's reasons for low clocks, as bits: only these are reported. */
enum report_clocks_event {
	REPORT_CLOCKS_HARDWARE = 0x8,
	REPORT_CLOCKS_THERMAL = 0x20 | 0x40, /* by the driver, by the hardware */
	REPORT_CLOCKS_POWER_BRAKE = 0x80,
	REPORT_CLOCKS_ALL = REPORT_CLOCKS_HARDWARE | REPORT_CLOCKS_THERMAL |
			    REPORT_CLOCKS_POWER_BRAKE,
};

/* Parts of a condition that are read together, as bits. */
enum report_part {
	REPORT_PART_ECC = 0x1,
	REPORT_PART_ROWS = 0x2, /* remapped ones, or retired pages */
	REPORT_PART_RECOVERY = 0x4,
	REPORT_PART_SLOWDOWN = 0x8,
	REPORT_PART_LINKS = 0x10, /* any of the further ones: older agents tell no more */
	REPORT_PART_FIRST = 0x1f, /* these are all that older controllers take */
	REPORT_PART_NVLINK = 0x20,
	REPORT_PART_FABRIC = 0x40,
	REPORT_PART_PCIE = 0x80,
	REPORT_PART_ALL = 0xff,
	REPORT_PART_LIMIT = 0xffff, /* room for those of later agents */
};

/* What the device is like at this moment, as far as NVML tells, and has been since the agent started. */
struct report_condition {
	bool present;        /* false: an agent that does not read it */
	bool lost;           /* NVML: GPU is lost (15). The other values are the last that were read */
	bool reset_required; /* NVML: GPU requires reset (16) */
	int recovery;        /* enum report_recovery */
	struct report_error_counts ecc_volatile; /* since the driver was loaded, or the device reset */
	struct report_error_counts ecc_aggregate; /* of its life */
	struct report_remapped_rows remapped_rows;
	bool rows_unsupported; /* NVML: remapped rows are not supported (3), within REPORT_ACTIVITY_GAP_MS */
	bool recovery_unsupported; /* NVML: it has no recovery action to tell, or does not know it */
	struct report_retired_pages retired_pages;
	struct report_links nvlinks;
	int nvlinks_down; /* enum report_verdict: fewer are active than the agent has seen; not under MIG */
	int fabric; /* enum report_fabric */
	struct report_links pcie_lanes; /* the widest link that device and slot can have; the present one */
	struct report_pcie_generation pcie_generation;
	int pcie_degraded; /* enum report_verdict: for long narrower, or slower while busy, than can be */
	int64_t clocks_event_reasons;   /* bits of enum report_clocks_event; -1: unread */
	struct report_slowdown slowdown;
	int64_t parts_read; /* bits of enum report_part, the first ones: read within REPORT_ACTIVITY_GAP_MS */
	int64_t further_parts_read; /* the other bits, likewise; 0 with REPORT_PART_LINKS: not told */
	int64_t reset_time; /* the device was reset after that, by the node's clock; 0: not seen */
	int64_t reset_uptime_ms; /* the same, since boot; 0: not seen, or not told */
};

/* As of the moment, for metrics: no verdict rests on it. Each is -1 where it cannot be read. */
struct report_figures {
	bool present; /* false: an agent that does not read them */
	int64_t memory_used_mib;
	int64_t temperature_celsius;
	int64_t power_mw;
};

struct report_device {
	struct view uuid;
	int64_t index;
	int64_t minor;
	struct view pci_bus_id;
	struct view pci_device_id; /* "0x20B010DE": its device and vendor ID; empty: not told */
	struct view model;
	int64_t memory_mib;
	struct view serial;
	struct view compute_capability;
	int compute_mode; /* enum report_compute_mode */
	struct report_mig mig;
	struct report_condition condition;
	struct report_activity activity; /* of the device as a whole */
	struct report_figures figures;
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
	int64_t uptime_ms; /* the same, since boot; 0: not told */
	struct view uuid;
	int type; /* enum report_event_type */
	int64_t code;
	int64_t gpu_instance_id;     /* of a MIG device, where NVML tells it; else -1 */
	int64_t compute_instance_id; /* likewise */
};

struct report {
	int64_t version;
	struct view node;
	struct view boot_id;
	int64_t instance; /* ms since boot at which the agent started */
	int64_t sequence;
	int64_t observed_at;
	int64_t uptime_ms; /* of observed_at, since boot; 0: not told */
	struct view agent_version;
	struct view driver_version;
	struct view cuda_version;
	int64_t kubelet_restarted_at; /* 0: not seen */
	struct report_sources sources;
	struct array devices;       /* struct report_device */
	struct array pod_resources; /* struct report_pod_resource */
	struct array allocatable;   /* struct report_resource_devices */
	struct report_checkpoint checkpoint;
	int64_t reports_refused; /* posts of this agent, to any replica, that were not accepted */
	int64_t nvml_processes;  /* how many it has started to call NVML */
	int64_t nvml_left_behind; /* of these, killed and not ended */
	struct array events; /* struct report_event, ascending */
	bool has_new_state; /* of a reading: the driver told that something else reads differently now */
	int64_t events_dropped;
	int64_t events_since; /* node's wall clock, ms since 1970, since when no event can have been */
			      /* missed; 0: not all devices are watched now */
	int64_t events_since_uptime_ms; /* the same moment, since boot; it names the watch for events */
					/* and stays when the clock is set; 0: not told, or not yet */
};

/* How a boot stands to another one. */
enum report_boot {
	REPORT_BOOT_UNKNOWN, /* one of the two is not told */
	REPORT_BOOT_SAME,
	REPORT_BOOT_OTHER,
};

/* How the boot of the report (NULL: of none) stands to the one of that ID (empty: not told). */
static inline enum report_boot report_boot_of(const struct report *report, struct view boot_id)
{
	if (!report || report->boot_id.len == 0 || boot_id.len == 0)
		return REPORT_BOOT_UNKNOWN;
	return view_equal(report->boot_id, boot_id) ? REPORT_BOOT_SAME : REPORT_BOOT_OTHER;
}

/* What a list of devices by NVML is worth. */
enum report_list {
	REPORT_LIST_NONE,  /* there is none */
	REPORT_LIST_DATED, /* the last good one: a missing device is not evidence of absence */
	REPORT_LIST_GOOD,
};

/* What the list of the report (NULL: of none) is worth. */
static inline enum report_list report_list_of(const struct report *report)
{
	if (!report || !report->devices.present)
		return REPORT_LIST_NONE;
	return report->sources.nvml.state == REPORT_SOURCE_OK ? REPORT_LIST_GOOD : REPORT_LIST_DATED;
}
