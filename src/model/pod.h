/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod - the few facts about a pod that the join needs, in one small allocation. A cluster has far
 * more pods without GPUs than with; for those only identity, node and phase are kept.
 *
 * Threads: the loop thread; immutable once made.
 */

#include "base/array.h"
#include "base/error.h"
#include "base/view.h"

#define POD_GRANULARITY_MS 1000 /* of times in Kubernetes' objects, which are cut */

enum pod_phase {
	POD_PHASE_UNKNOWN,
	POD_PHASE_PENDING,
	POD_PHASE_RUNNING,
	POD_PHASE_SUCCEEDED,
	POD_PHASE_FAILED,
};

enum pod_container_kind {
	POD_CONTAINER_MAIN,
	POD_CONTAINER_INIT,      /* runs to its end before the main ones */
	POD_CONTAINER_SIDECAR,   /* an init container with restartPolicy Always */
	POD_CONTAINER_EPHEMERAL, /* added to the pod to look into it; is never given a device */
};

enum pod_container_state {
	POD_CONTAINER_UNKNOWN, /* no status yet */
	POD_CONTAINER_WAITING,
	POD_CONTAINER_RUNNING,
	POD_CONTAINER_TERMINATED,
};

struct pod_container {
	struct view name;
	enum pod_container_kind kind;
	enum pod_container_state state;
	bool wants_gpu; /* of the kubelet's plugins: its limits have some of what may be a GPU */
	struct view id; /* of the container that runs, or ran last, without the runtime's name; */
			/* empty: not told */
	struct view resource; /* that it wants: "nvidia.com/gpu"; empty: none, or several */
};

/* One device that a container was given, by status.containerStatuses[].allocatedResourcesStatus. */
struct pod_allocation {
	struct view container;
	struct view resource; /* "nvidia.com/gpu" */
	struct view id;       /* as the device plugin calls it */
	bool is_unhealthy;    /* the device plugin says so */
};

/*
 * What people run, of which the pod is a part: its controlling owner, or the owner of that
 * (schema/pod_doc_metadata.c). The kind is empty for a pod without an owner.
 */
struct pod_workload {
	struct view group; /* of the API; empty: the core group */
	struct view kind;
	struct view name; /* in the pod's namespace */
};

/* What a container may use of a ResourceClaim. */
struct pod_claim {
	struct view container;
	struct view claim;   /* name of the ResourceClaim, in the pod's namespace */
	struct view request; /* that part of it; empty: all of it */
};

#define POD_MAX_HAMI_TEXT 4096u /* a longer annotation of HAMi's is left out: hami_left_out */
#define POD_MAX_CONTAINERS 64u /* with statuses; further ones are counted in containers_left_out, */
/* or, of the ephemeral ones, which go first, in ephemeral_left_out */
#define POD_MAX_ALLOCATIONS 256u /* and in allocations_left_out */
#define POD_MAX_CLAIMS 64u       /* and in claims_left_out */
#define POD_MAX_KAI_GROUPS 64u   /* and in kai_groups_left_out */

/* A pod of the GPU operator's that does its work on a node, by its label "app". */
enum pod_operand {
	POD_NO_OPERAND,
	POD_OPERAND_DRIVER,
	POD_OPERAND_TOOLKIT,
	POD_OPERAND_DEVICE_PLUGIN,
	POD_OPERAND_MPS_DAEMON,
	POD_OPERAND_GFD,
	POD_OPERAND_DCGM,
	POD_OPERAND_DCGM_EXPORTER,
	POD_OPERAND_MIG_MANAGER,
	POD_N_OPERANDS,
};

/* What is kept of every pod beside its names. Without padding: it is compared as bytes. */
struct pod_state {
	uint8_t phase;          /* enum pod_phase */
	bool deleting;          /* metadata.deletionTimestamp is set */
	bool admission_failed;  /* status.reason is UnexpectedAdmissionError */
	bool wants_gpu;         /* any container does, or uses a claim, or HAMi or KAI shares one */
	bool no_container_runs; /* none with a status does, of those that are not ephemeral */
	bool system;            /* looks like one of the GPU operator's validation pods */
	bool is_reservation;    /* looks like a pod of KAI's that holds a GPU for others */
	uint8_t operand;        /* enum pod_operand, as anybody may write it: see its namespace */
	bool is_ready;          /* of an operand: its condition Ready is True */
};

/* What is kept of a pod that wants a GPU, and of no other. */
struct pod_gpu {
	struct pod_workload workload;
	struct view hami_devices;  /* annotation hami.io/vgpu-devices-allocated */
	struct view kai_group;     /* label runai-gpu-group: the pods that share a GPU */
	struct view kai_device;    /* annotation run.ai/reserve_for_gpu_index: UUID of that GPU */
	struct view kai_container; /* annotation gpu-fraction-container-name: who of the pod does */
	struct view refused_resource; /* admission failed for want of it, "Available: 0"; or empty */
	struct array containers;   /* struct pod_container */
	struct array allocations;  /* struct pod_allocation, in the document's order; */
	struct array claims;       /* struct pod_claim, too */
	struct array kai_groups;   /* struct view, labels runai-gpu-group/...: of several GPUs */
	/*
	 * When the kubelet took the pod over, by the node's clock, ms since 1970, cut down to a whole
	 * second. That is after it gave the pod its devices and before it fetches images. 0: it has
	 * not told yet.
	 */
	int64_t started_at;
	int64_t created_at; /* by the API server's clock, ms since 1970, whole seconds */
	uint32_t containers_left_out;  /* a container that is not found may be one of these, */
	uint32_t ephemeral_left_out;   /* or of these */
	uint32_t allocations_left_out; /* the status may name what is not found */
	uint32_t claims_left_out;
	uint32_t kai_groups_left_out;
	bool hami_left_out; /* that annotation is too long */
};

/* What a decoder found; all borrowed from the document. */
struct pod_fields {
	struct view namespace;
	struct view name;
	struct view uid;
	struct view node;        /* empty: not scheduled */
	struct view config_hash; /* of a static pod's mirror, else empty */
	struct pod_state state;
	struct pod_gpu gpu; /* of a pod that wants one; its arrays are the first of those here */
	struct pod_container containers[POD_MAX_CONTAINERS];
	struct pod_allocation allocations[POD_MAX_ALLOCATIONS];
	struct pod_claim claims[POD_MAX_CLAIMS];
	struct view kai_groups[POD_MAX_KAI_GROUPS];
};

struct pod; /* opaque: a compact copy */

/*
 * Copies fields, but for the node's name, into a new record that belongs to the caller. Fails with
 * ERROR_NO_MEMORY, or ERROR_LIMIT when a text is longer than Kubernetes allows.
 */
MUST_USE int pod_new(const struct pod_fields *fields, struct pod **ret_pod, struct error *err);
/* Accepts NULL. */
void pod_free(struct pod *pod);

/* "namespace/name"; borrowed while the pod lives, as all that is returned below. */
struct view pod_key(const struct pod *pod);
/* metadata.namespace */
struct view pod_namespace(const struct pod *pod);
/* metadata.name */
struct view pod_name(const struct pod *pod);
/* metadata.uid */
struct view pod_uid(const struct pod *pod);
/* Of a static pod's mirror the UID by which its kubelet knows it; else empty. */
struct view pod_config_hash(const struct pod *pod);
/* What is kept of every pod. */
const struct pod_state *pod_state(const struct pod *pod);
/* Never NULL: of a pod that wants no GPU all of it is empty. */
const struct pod_gpu *pod_gpu(const struct pod *pod);
/* How many containers, devices, uses of claims, groups of KAI's and notes of HAMi's were left out. */
uint32_t pod_left_out(const struct pod *pod);
/* True when the pod shares a GPU in that group, by any label of KAI's. */
bool pod_is_in_kai_group(const struct pod *pod, struct view group);
/*
 * True when the pod cannot hold a device any more. It failed admission, or its phase is Succeeded or
 * Failed and no container is known to run. A waiting container does not count as running: after an
 * init container failed, the main ones wait for as long as the object exists.
 */
bool pod_is_over(const struct pod *pod);
/* The i-th of the containers that are kept. */
const struct pod_container *pod_container_at(const struct pod *pod, uint32_t i);
/* The container of that name, or NULL (also for pods that want no GPU). */
const struct pod_container *pod_find_container(const struct pod *pod, struct view name);
/* True when both say the same in every fact. */
bool pod_equal(const struct pod *a, const struct pod *b);
