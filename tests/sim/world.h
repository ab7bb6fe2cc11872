/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * world - the truth: which devices there are and where, which pods, and which container holds
 * which slot since when. The stand-ins (kubelet, plugin, driver, API server) move it; the oracle
 * compares with it. Nothing of it is visible to the code under test but through them.
 *
 * Threads: the program's only one. One world at a time.
 * Limits:  the arrays below; what does not fit does not happen.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

#define WORLD_MAX_NODES 5
#define WORLD_MAX_GPUS 12
#define WORLD_MAX_PARTITIONS 24 /* of a device, those that are gone included */
#define WORLD_MAX_PODS 256
#define WORLD_MAX_CONTAINERS 3
#define WORLD_MAX_IDS 4 /* of a container */
#define WORLD_ID_SIZE 64
#define WORLD_UID_SIZE 40
#define WORLD_NEVER UINT64_MAX
#define WORLD_MAX_CLAIMS 192
#define WORLD_MAX_RESULTS 2    /* of a claim */
#define WORLD_MAX_CONSUMERS 8  /* of a claim */
#define WORLD_MAX_SLICES 2     /* of a node */
#define WORLD_MAX_SLICED 16    /* devices of a slice */
#define WORLD_MAX_PROCESSES 768
#define WORLD_MAX_ERRORS 48 /* of a device */
#define WORLD_DEVICE_NAME 48   /* as a driver calls a device */

enum world_mode {
	WORLD_EXCLUSIVE,
	WORLD_TIME_SLICED,
	WORLD_MPS,
	WORLD_MIG,
	WORLD_MIG_TIME_SLICED,
	WORLD_CLAIMS,     /* no plugin: a driver of dynamic resource allocation */
	WORLD_MIG_CLAIMS, /* the same, of MIG devices */
	WORLD_HAMI,       /* HAMi's plugin: its IDs are not those of the devices it gives */
	WORLD_N_MODES,
};

struct world_partition {
	char uuid[WORLD_ID_SIZE];
	int gpu_instance;
	bool exists;
};

/* An XID error, and how its node's agent heard of it. */
struct world_error {
	int code;
	int partition; /* that raised it; -1: not told */
	uint64_t raised_at, fetched_at; /* WORLD_NEVER: not fetched */
	int64_t told_at;		/* by the node's clock */
	uint64_t missed_at; /* it was known then that nobody will be told; 0: it is not */
	int node;		/* that it was in */
	unsigned agent;		/* which of the node's agents was told */
	bool is_heard;		/* that agent listens to the device */
	bool was_shown;		/* some status had it */
	bool is_shown, is_reason; /* the last one did, since the object was made */
	bool is_over;             /* it was a reason, and the last status has it as none */
	uint64_t dated_at; /* a status said anew when it was, by time since boot */
};

struct world_gpu {
	char uuid[WORLD_ID_SIZE];
	int node;  /* -1: in nobody's slot */
	int minor; /* of its device file */
	bool lost; /* off the bus */
	int lost_in_boot; /* of its node, when it was */
	bool mig;
	bool mig_asked; /* the other MIG mode was asked for, and waits for a reset */
	bool mps_daemon; /* compute mode ExclusiveProcess */
	bool left_exclusive; /* the same, without any daemon */
	uint64_t moved_at;
	uint64_t changed_at; /* layout, mode, or the node it is in */
	struct world_partition partitions[WORLD_MAX_PARTITIONS];
	int n_partitions;
	struct world_error errors[WORLD_MAX_ERRORS]; /* the last that it raised */
	unsigned n_errors;			     /* ever */
	unsigned n_fetched;			     /* of those */
};

struct world_node {
	char name[16];
	char uid[WORLD_UID_SIZE];
	char boot_id[WORLD_UID_SIZE];
	int kubelet_minor; /* of Kubernetes 1.x */
	enum world_mode mode; /* what the plugin is configured for */
	int replicas;
	bool tells_resources; /* its kubelet writes allocatedResourcesStatus */
	bool renamed;      /* shared resources are advertised under another name */
	bool in_api;
	bool powered;
	bool agentless; /* nobody ever reports; the API server says what it can */
	bool sees_processes; /* its agent was granted hostPID */
	bool hides_compute_mode; /* its driver does not tell it, nor the PCI device ID */
	unsigned agent;         /* how often its agent was started */
	uint64_t there_since;   /* the API server has it, if it has it, since then */
	uint64_t there_told_at; /* when it was last told that it is there */
	uint64_t gone_told_at; /* when the present controller was told that it is gone; NEVER: not */
	int boot;              /* how often it has been booted */
	uint64_t boot_told_at; /* when the present controller was told by the Node of that boot */
};

enum world_container_kind { WORLD_MAIN, WORLD_INIT, WORLD_SIDECAR };
enum world_state { WORLD_WAITING, WORLD_RUNNING, WORLD_TERMINATED };

/* One slot in a container's hands. */
struct world_slot {
	char id[WORLD_ID_SIZE];
	int gpu;
	int partition; /* -1: the device as a whole */
	bool is_admin; /* it watches the device: no slot of it is taken */
};

struct world_container {
	char name[12];
	enum world_container_kind kind;
	char resource[48];
	int wanted;
	bool uses_claim; /* the pod's, */
	int request;     /* and of it this one only; -1: all */
	enum world_state state;
	struct world_slot slots[WORLD_MAX_IDS];
	int n_slots;
	/* What the names that its claims give meant before the node's devices were renumbered. */
	struct world_slot old_slots[WORLD_MAX_IDS];
	int n_old_slots;
	uint64_t renumbered_at; /* 0: never */
	uint64_t was_on;        /* a bit each device that it held before any renumbering */
	int chosen[WORLD_MAX_IDS]; /* by HAMi: the devices that it is really given */
	bool mps;
	unsigned starts; /* how often it has begun to run */
	uint64_t held_from;  /* WORLD_NEVER: it never held anything */
	uint64_t held_until; /* WORLD_NEVER: it does */
};

enum world_stage {
	WORLD_NEW,        /* bound; the kubelet has not looked at it */
	WORLD_ADMITTED,   /* devices are allocated */
	WORLD_INITIALISING,
	WORLD_UP,
	WORLD_TERMINATING,
	WORLD_REJECTED,   /* admission failed */
	WORLD_DONE,       /* ran to its end */
	WORLD_GONE,       /* neither kubelet nor API server know it any more */
};

enum world_phase { WORLD_PENDING, WORLD_PHASE_RUNNING, WORLD_SUCCEEDED, WORLD_FAILED };

enum world_health { WORLD_HEALTHY, WORLD_ILL, WORLD_HEALTH_UNKNOWN };

/* What the API server has of a pod. */
struct world_object {
	bool exists;
	bool deleting;
	enum world_phase phase;
	bool admission_failed;
	enum world_state states[WORLD_MAX_CONTAINERS];
	unsigned starts[WORLD_MAX_CONTAINERS]; /* whose container ID it has; 0: none */
	bool has_statuses;
	int64_t started_at; /* by the node's clock; 0: not told */
	bool has_resources; /* allocatedResourcesStatus */
	enum world_health health; /* in it */
};

/*
 * A static pod is two: one that the kubelet has, whose UID is a hash, and its mirror, which the API
 * server has under a UID of its own. A mirror that is deleted is made again, and is then another.
 */
struct world_pod {
	int claim; /* that its containers use; -1: none */
	bool is_claim_from_template;
	char hami[512];               /* the annotation of HAMi's; empty: none */
	bool is_hami_spoilt;          /* by somebody who edited it */
	unsigned said_on;             /* the devices that were written there then: bits */
	int group;                    /* KAI's; -1: none */
	bool is_reservation;          /* it holds a device for its group */
	char reserves[WORLD_ID_SIZE]; /* the annotation that tells it; empty: none yet */
	char namespace[28];
	char name[24];
	char uid[WORLD_UID_SIZE];
	char hash[WORLD_UID_SIZE]; /* the UID of a static pod, also of its mirrors; else empty */
	char owner[24];            /* StatefulSet; empty: none */
	bool system;               /* one of the GPU operator's validators */
	int node;
	struct world_container containers[WORLD_MAX_CONTAINERS];
	int n_containers;
	enum world_stage stage;
	bool finish_wanted, finish_well;
	bool termination_seen; /* the kubelet has begun to end it */
	uint64_t grace_ms;
	uint64_t lives_on_until; /* its processes, when it was deleted by force; 0: not at all */
	uint64_t step_at;      /* the kubelet does nothing with it before */
	uint64_t resources_at; /* before, its status has no allocatedResourcesStatus */
	uint64_t relisted_at;  /* after a restart, the kubelet's List has it from then on */
	struct world_object object;
	int64_t started_at; /* when the kubelet took it over, by the node's clock; 0: it has not */
	uint64_t created_at;
	int64_t created_wall_ms; /* by the API server's clock; 0: not told */
	bool is_refused_for_none; /* the kubelet said: "Available: 0" */
	uint64_t end_known_at; /* when the present controller was told that it ended; NEVER: not */
	uint64_t known_at;     /* when it was first told of it */
	uint64_t told_at;      /* when it was last told of it */
	uint64_t changed_at;   /* when its object last changed */
	uint64_t shown_at;     /* the API server has had it since */
	uint64_t over_at;      /* its object says that it holds nothing, or is gone, since */
	int mirror_of;         /* -1, or the static pod whose mirror this is */
};

/* One device of a ResourceClaim's allocation, by the driver's name for it. */
struct world_result {
	int request; /* "r<number>" */
	char device[WORLD_DEVICE_NAME];
	bool is_admin;
};

/* A ResourceClaim. One that was deleted stays here; another of its name is another. */
struct world_claim {
	char name[40];
	int node;
	bool exists;
	bool is_allocated;
	bool is_shared; /* not made from a template: it outlives its pods */
	struct world_result results[WORLD_MAX_RESULTS];
	int n_results;
	int consumers[WORLD_MAX_CONSUMERS]; /* pods */
	int n_consumers;
};

/* A ResourceSlice as the API server has it. */
struct world_slice {
	bool exists;
	int generation, slice_count;
	struct {
		char name[WORLD_DEVICE_NAME];
		char uuid[WORLD_ID_SIZE], parent[WORLD_ID_SIZE];
	} devices[WORLD_MAX_SLICED];
	int n_devices;
	int told_generation; /* the newest that the present controller was told of; 0: none */
};

/* What a node's driver publishes. */
struct world_pool {
	struct world_slice slices[WORLD_MAX_SLICES];
	int generation; /* of the last publication */
	int slice_count; /* and its slices */
	uint64_t whole_told_at; /* all of that was told to the present controller; NEVER: not yet */
	bool is_away;    /* the driver does not run */
	int withdrawn;   /* a device that is ill is left out; -1: none */
	unsigned number; /* of publications: what was planned before the last one is void */
};

/* Something that runs on a device, or on one partition of it. */
enum world_process_kind {
	WORLD_OF_CONTAINER,
	WORLD_OF_HOST,
	WORLD_OF_LIAR, /* a user of the machine, who calls his control groups by the pod's name */
	WORLD_MPS_SERVER,
};

struct world_process {
	uint32_t pid;
	int node;
	int gpu, partition; /* -1: the device as a whole */
	enum world_process_kind kind;
	int pod, container; /* -1: none */
	unsigned start;	    /* of the container */
	bool is_client;	    /* of MPS */
	char command[16];
	uint64_t from, until; /* WORLD_NEVER: it does not end by itself */
	uint64_t repeated_at; /* when a forged report of the node last had it; 0: none did */
};

struct world {
	uint64_t seed;
	struct prng prng;
	struct world_node nodes[WORLD_MAX_NODES];
	int n_nodes;
	struct world_gpu gpus[WORLD_MAX_GPUS];
	int n_gpus;
	struct world_pod pods[WORLD_MAX_PODS];
	int n_pods;
	struct world_claim claims[WORLD_MAX_CLAIMS];
	int n_claims;
	struct world_pool pools[WORLD_MAX_NODES];
	bool has_processes; /* of the seed */
	struct world_process processes[WORLD_MAX_PROCESSES];
	int n_processes;
	unsigned n_uids;
};

extern struct world world;

/* An empty world; the seed decides all that is drawn in it. */
void world_reset(uint64_t seed);
/* Evenly from [low, high]. */
uint64_t world_between(uint64_t low, uint64_t high);
/* True in n of 100 cases. */
bool world_chance(unsigned n);
/* A UUID that none has had before. */
void world_new_uuid(char ret[static WORLD_UID_SIZE]);

/* The node is booted: it has another boot ID. */
void world_boot(struct world_node *node);
/* Adds a node with its devices and returns its number; -1: too many. */
int world_add_node(int kubelet_minor, enum world_mode mode, int replicas, int n_gpus, bool renamed);
/* Puts the device under MIG, or not, with all partitions new. */
void world_divide(struct world_gpu *gpu, bool mig, int n_partitions);
/* The device raises an XID error, of which its node's driver will tell. */
void world_raise(struct world_gpu *gpu, int code);
/* The same of a MIG device of it, unless partition is -1. */
void world_raise_on(struct world_gpu *gpu, int code, int partition);
/* A pod that is bound to the node, and not yet seen by its kubelet; NULL: too many. */
struct world_pod *world_add_pod(int node, const char *name);
/* The pod of that name that the API server has, or NULL. */
struct world_pod *world_find_pod(const char *name);
/* Whose containers the pod's are: its own, or, for a mirror, those of the static pod. */
const struct world_pod *world_holder(const struct world_pod *pod);
/* The mirror of a static pod that the API server has, or NULL. */
struct world_pod *world_mirror(const struct world_pod *pod);
int world_index(const struct world_pod *pod);
/* What a device ID means. False: nothing that there is or was. */
bool world_place(const char *id, struct world_slot *ret_slot);
/* The pod's containers hold their slots no longer. */
void world_release(struct world_pod *pod);
/* True while the kubelet must keep the pod's devices for it. */
bool world_is_active(const struct world_pod *pod);
/* True when the API server has the pod no more. A static pod has no object but its mirror's. */
bool world_is_deleted(const struct world_pod *pod);
/* True when the API server's object says that the pod holds nothing any more. */
bool world_is_over(const struct world_object *object);
bool world_is_mig(enum world_mode mode);
bool world_is_claims(enum world_mode mode);
/* The device's compute mode. */
bool world_is_exclusive_process(const struct world_gpu *gpu);
int world_count_gpus(int node);
