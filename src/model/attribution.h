/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * attribution - the status of one GPUAttribution as plain values: what is published about one
 * physical device. The document form is in schema/attribution_doc.h, field by field the same;
 * what each field means to a reader is said in the CustomResourceDefinition. How to add a field is
 * said in CONTRIBUTING.md, step by step.
 *
 * Enumerations start with the value of an absent field. All texts and arrays are borrowed from
 * whoever made the object; instants are ms since 1970, 0 = absent.
 *
 * Threads: any; immutable once made.
 */

#include "base/array.h"
#include "base/view.h"

enum attribution_mode {
	ATTRIBUTION_MODE_UNSET,
	ATTRIBUTION_MODE_UNKNOWN,
	ATTRIBUTION_MODE_EXCLUSIVE,
	ATTRIBUTION_MODE_TIME_SLICED,
	ATTRIBUTION_MODE_MPS,
	ATTRIBUTION_MODE_MIG,
	ATTRIBUTION_MODE_MIG_TIME_SLICED,
};

enum attribution_phase {
	ATTRIBUTION_PHASE_UNSET,
	ATTRIBUTION_PHASE_PENDING, /* the kubelet names it, the API server does not know it yet */
	ATTRIBUTION_PHASE_UNRESOLVED, /* and has not known it for the stated time */
	ATTRIBUTION_PHASE_STARTING,   /* admitted, the container does not run yet */
	ATTRIBUTION_PHASE_RUNNING,
	ATTRIBUTION_PHASE_RESERVED,    /* an init container that is done keeps its devices */
	ATTRIBUTION_PHASE_TERMINATING, /* in its grace period */
};

enum attribution_confidence {
	ATTRIBUTION_CONFIDENCE_UNSET,
	ATTRIBUTION_CONFIDENCE_CONFIRMED,
	ATTRIBUTION_CONFIDENCE_NAME_ONLY,
	ATTRIBUTION_CONFIDENCE_UNCONFIRMED,
	ATTRIBUTION_CONFIDENCE_ANNOTATED, /* rests on what anybody who may edit the pod can write */
	ATTRIBUTION_CONFIDENCE_DISPUTED, /* two witnesses that name the UID contradict each other */
};

/* What a tenant is on the device for. */
enum attribution_role {
	ATTRIBUTION_ROLE_UNSET,
	ATTRIBUTION_ROLE_WORKLOAD,
	ATTRIBUTION_ROLE_MONITOR,     /* watches it, by a ResourceClaim with adminAccess */
	ATTRIBUTION_ROLE_VALIDATION,  /* a pod of the operator's that tests it */
	ATTRIBUTION_ROLE_RESERVATION, /* holds it for pods that are listed themselves */
};

enum attribution_health {
	ATTRIBUTION_HEALTH_UNSET,
	ATTRIBUTION_HEALTH_HEALTHY,
	ATTRIBUTION_HEALTH_DEGRADED,
	ATTRIBUTION_HEALTH_UNHEALTHY,
	ATTRIBUTION_HEALTH_UNKNOWN,
};

enum attribution_recovery {
	ATTRIBUTION_RECOVERY_UNSET,
	ATTRIBUTION_RECOVERY_NONE,
	ATTRIBUTION_RECOVERY_RESET,
	ATTRIBUTION_RECOVERY_REBOOT,
	ATTRIBUTION_RECOVERY_REPLACE,
	ATTRIBUTION_RECOVERY_DRAIN_P2P,
	ATTRIBUTION_RECOVERY_DRAIN_AND_RESET,
	ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN,
	ATTRIBUTION_RECOVERY_UNKNOWN,
};

enum attribution_activity {
	ATTRIBUTION_ACTIVITY_UNSET,
	ATTRIBUTION_ACTIVITY_ACTIVE,
	ATTRIBUTION_ACTIVITY_IDLE,
	ATTRIBUTION_ACTIVITY_UNKNOWN,
};

enum attribution_scope {
	ATTRIBUTION_SCOPE_UNSET,
	ATTRIBUTION_SCOPE_DEVICE,
	ATTRIBUTION_SCOPE_PARTITION,
};

enum attribution_intent {
	ATTRIBUTION_INTENT_UNSET,
	ATTRIBUTION_INTENT_IN_SYNC,
	ATTRIBUTION_INTENT_DRIFTED,
	ATTRIBUTION_INTENT_SETTLING,
	ATTRIBUTION_INTENT_UNMANAGED,
	ATTRIBUTION_INTENT_UNKNOWN,
};

enum attribution_severity {
	ATTRIBUTION_SEVERITY_UNSET,
	ATTRIBUTION_SEVERITY_INFO,
	ATTRIBUTION_SEVERITY_WARNING,
	ATTRIBUTION_SEVERITY_CRITICAL,
};

enum condition_status {
	CONDITION_UNSET,
	CONDITION_TRUE,
	CONDITION_FALSE,
	CONDITION_UNKNOWN,
};

/* Whether the status rests on a report that is recent. */
enum attribution_report_state {
	ATTRIBUTION_REPORT_UNSET,
	ATTRIBUTION_REPORT_CURRENT,
	ATTRIBUTION_REPORT_STALE,    /* the node's agent has been silent for long */
	ATTRIBUTION_REPORT_NO_AGENT, /* no agent has ever reported the device */
	ATTRIBUTION_REPORT_PENDING,  /* the schema's default: no status has been written yet */
};

struct attribution_device {
	int64_t index; /* -1 in a report that lacks it */
	int64_t minor;
	struct view pci_bus_id;
	struct view vendor;
	struct view model; /* blanks as dashes, as the field's labels write it */
	int64_t memory_mib;
	struct view serial;
	struct view compute_capability;
	struct view driver_version;
	struct view cuda_version;
};

struct attribution_sharing {
	int mode;              /* enum attribution_mode */
	int64_t replicas;      /* shares of the device, or of each partition; 1 = not shared */
	struct array evidence; /* struct view, what the mode rests on */
};

struct attribution_slots {
	int64_t total;       /* -1: not known */
	int64_t allocated;   /* -1: not known */
	struct view summary; /* "3/4" */
};

/* What was measured of one partition. */
struct attribution_partition_activity {
	int state;          /* enum attribution_activity */
	int64_t idle_since; /* only while Idle */
	struct view reason; /* why it is Unknown: a CamelCase word; else empty */
};

struct attribution_partition {
	struct view uuid;
	struct view profile;
	int64_t gpu_instance_id;     /* -1: not known */
	int64_t compute_instance_id; /* -1: not known */
	int64_t memory_mib;
	int64_t slots; /* 0: not known, or not advertised */
	struct attribution_partition_activity activity;
};

struct attribution_workload {
	bool present;
	struct view group; /* API group; empty: the core group */
	struct view kind;
	struct view name;
};

struct attribution_tenant {
	struct view pod_uid;
	struct view container;
	struct view pod_namespace; /* empty while the pod is not known by name */
	struct view pod_name;
	struct attribution_workload workload;
	struct view resource;
	int64_t slots;           /* 0: on the device without a slot of the device plugin's */
	struct array partitions; /* struct view, UUIDs */
	int64_t partitions_left_out;
	int phase;               /* enum attribution_phase */
	int confidence;          /* enum attribution_confidence */
	struct array witnesses;  /* struct view: "PodResources", "Checkpoint", ... */
	int role;                /* enum attribution_role; only workloads are counted */
	struct view placeholder; /* "HAMi", "KAI": it holds for pods that are not known; or empty */
	int64_t start_time;
	int64_t memory_mib; /* 0: not known */
	int64_t processes;  /* as of the last change; 0: none, or not known */
};

/* What one witness says of a container, where they differ. */
struct attribution_statement {
	struct view witness;
	int64_t slots; /* of this device; 0: it names the container, and not this device */
	struct array device_ids; /* struct view, raw: those slots */
	int64_t device_ids_left_out;
};

struct attribution_disagreement {
	struct view pod_uid;
	struct view container;
	struct array says; /* struct attribution_statement, by witness */
};

/* A holder of device IDs that are no device's that is known. */
struct attribution_unplaced {
	struct view pod_uid; /* empty: not known either */
	struct view container;
	struct view pod_namespace;
	struct view pod_name;
	struct view resource;
	struct array device_ids; /* struct view, raw */
	int64_t device_ids_left_out;
};

struct attribution_user {
	struct view pod_uid;
	struct view pod_namespace;
	struct view pod_name;
	struct view container; /* empty: not told */
	struct view command;
	int64_t pid; /* the host's; -1: not known */
	int64_t memory_mib;
	int64_t start_time;
};

struct attribution_past_tenant {
	struct view pod_uid;
	struct view pod_namespace;
	struct view pod_name;
	struct view container;
	int64_t start_time;
	int64_t end_time;
	struct array partitions; /* struct view, UUIDs of those it held last; none: not known, or */
				 /* it held shares of the whole device */
};

struct attribution_activity_state {
	int state;          /* enum attribution_activity */
	struct view reason; /* why it is Unknown: a CamelCase word; else empty */
	int64_t last_transition_time;
	int64_t idle_since;    /* only while Idle: when work was seen last, or looked for first */
	int scope;             /* enum attribution_scope */
	struct array evidence; /* struct view, what the state rests on */
};

/* What an error event asks for. */
enum attribution_event_class {
	ATTRIBUTION_EVENT_UNSET,
	ATTRIBUTION_EVENT_APPLICATION,
	ATTRIBUTION_EVENT_INFORMATIONAL,
	ATTRIBUTION_EVENT_LOOK_CLOSER,
	ATTRIBUTION_EVENT_NEEDS_RESET,
	ATTRIBUTION_EVENT_NEEDS_REBOOT,
};

/* A container that held the device when an error happened. */
struct attribution_event_tenant {
	struct view pod_uid;
	struct view pod_namespace; /* empty, as the name is, of a pod that was never known */
	struct view pod_name;
	struct view container;
};

struct attribution_health_event {
	int64_t xid;
	int64_t event_time;
	int64_t uptime_ms; /* it was then or earlier, since the boot of the report; 0: not known */
	struct view meaning;
	int class;          /* enum attribution_event_class */
	struct view action; /* what to do about it, one sentence */
	struct view
		partition;    /* UUID of the MIG device that raised it; empty: not known, or none */
	struct array tenants; /* struct attribution_event_tenant, each once */
	int64_t tenants_left_out;
};

struct attribution_health_state {
	int state;            /* enum attribution_health */
	int recovery_action;  /* enum attribution_recovery */
	struct array reasons; /* struct view */
	struct array events;  /* struct attribution_health_event, newest first */
	int64_t events_since; /* no event from it until the report's observation_time can have been */
			      /* missed, by the node's clock; 0: not known */
	int64_t events_since_uptime_ms; /* the same, since the boot of the report; 0: not told */
};

struct attribution_drift {
	struct view type;
	int severity; /* enum attribution_severity */
	struct view intended;
	struct view observed;
	int64_t start_time;
	struct view message;
	int64_t intent_hash; /* of what is intended (assess/drift_hash.h); 0: not told */
};

/* A difference that may still pass: its hold-off is not over. */
struct attribution_pending_drift {
	struct view type;
	int64_t start_time;
	int64_t intent_hash; /* as in attribution_drift */
};

struct attribution_intent_state {
	int state; /* enum attribution_intent */
	struct view policy;
	struct array drifts;  /* struct attribution_drift */
	struct array pending; /* struct attribution_pending_drift */
};

struct condition {
	struct view type;
	int status; /* enum condition_status */
	int64_t observed_generation;
	int64_t last_transition_time;
	struct view reason;
	struct view message;
};

/*
 * The report that the status was made from when it was last written. A report of the node that comes
 * before it is older than what is published. All empty: none.
 */
struct attribution_report {
	struct view boot_id;
	int64_t instance;
	int64_t sequence;
	int64_t observation_time; /* the node's clock */
};

struct attribution_status {
	int64_t observed_generation;
	struct view node_name;
	struct view node_uid; /* empty: the API server has no Node of that name */
	int report_state;     /* enum attribution_report_state */
	struct attribution_report report;
	struct attribution_device device;
	struct attribution_sharing sharing;
	struct attribution_slots slots;
	struct array partitions;  /* struct attribution_partition, by uuid */
	struct array tenants;     /* struct attribution_tenant, by podUID then container */
	int64_t tenant_count;     /* -1: not known, which is never shown as none */
	int64_t tenants_left_out; /* here and below: beyond the schema's bound */
	struct view tenant_summary;
	struct array
		source_disagreements; /* struct attribution_disagreement, by podUID, container */
	int64_t source_disagreements_left_out;
	struct array
		unplaced_tenants; /* struct attribution_unplaced, of the node: by podUID, ... */
	int64_t unplaced_tenants_left_out;
	struct array unallocated_users; /* struct attribution_user, by podUID, process */
	int64_t unallocated_users_left_out;
	int64_t unknown_processes;   /* that the agent could not look at, as of the last change */
	struct array recent_tenants; /* struct attribution_past_tenant, newest first */
	struct attribution_activity_state activity;
	struct attribution_health_state health;
	struct attribution_intent_state intent;
	struct array conditions; /* struct condition, by type */
};

/* One object as the API server has it, or, with an empty resource_version, as it shall be created. */
struct attribution {
	struct view name; /* the UUID in lower case */
	struct view uid;
	struct view resource_version;
	int64_t generation;
	bool deleting;
	struct view uuid; /* spec.uuid */
	struct attribution_status status;
};

/* The condition of that type, or NULL. */
const struct condition *attribution_find_condition(const struct attribution_status *status, struct view type);
/* The tenant with that key, or NULL. */
const struct attribution_tenant *attribution_find_tenant(const struct attribution_status *status, struct view pod_uid,
							 struct view container);
/* The same of what witnesses differ in. */
const struct attribution_disagreement *
attribution_find_disagreement(const struct attribution_status *status, struct view pod_uid, struct view container);
/* True when that container is among the unplaced tenants. */
bool attribution_is_unplaced(const struct attribution_status *status, struct view pod_uid, struct view container);
/* True when the tenant is a workload, which tenantCount counts. Without a role, as in an old object: it is. */
bool attribution_is_counted(const struct attribution_tenant *tenant);
/* True when the mode (enum attribution_mode) is one of MIG devices. */
bool attribution_is_partitioned(int mode);
/* True when the API server does not know the tenant's pod: Pending or Unresolved. */
bool attribution_is_unknown(const struct attribution_tenant *tenant);
