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

enum world_mode {
	WORLD_EXCLUSIVE,
	WORLD_TIME_SLICED,
	WORLD_MPS,
	WORLD_MIG,
	WORLD_MIG_TIME_SLICED,
	WORLD_N_MODES,
};

struct world_partition {
	char uuid[WORLD_ID_SIZE];
	int gpu_instance;
	bool exists;
};

struct world_gpu {
	char uuid[WORLD_ID_SIZE];
	int node;  /* -1: in nobody's slot */
	bool lost; /* off the bus */
	bool mig;
	bool mps_daemon; /* compute mode ExclusiveProcess */
	uint64_t moved_at;
	uint64_t changed_at; /* layout, mode, or the node it is in */
	struct world_partition partitions[WORLD_MAX_PARTITIONS];
	int n_partitions;
	int xids; /* waiting to be fetched */
};

struct world_node {
	char name[16];
	char uid[WORLD_UID_SIZE];
	char boot_id[WORLD_UID_SIZE];
	int kubelet_minor; /* of Kubernetes 1.x */
	enum world_mode mode; /* what the plugin is configured for */
	int replicas;
	bool renamed;      /* shared resources are advertised under another name */
	bool in_api;
	bool powered;
	bool agentless; /* nobody ever reports; the API server says what it can */
	uint64_t there_told_at; /* when it was last told that it is there */
	uint64_t gone_told_at; /* when the present controller was told that it is gone; NEVER: not */
};

enum world_container_kind { WORLD_MAIN, WORLD_INIT, WORLD_SIDECAR };
enum world_state { WORLD_WAITING, WORLD_RUNNING, WORLD_TERMINATED };

/* One slot in a container's hands. */
struct world_slot {
	char id[WORLD_ID_SIZE];
	int gpu;
	int partition; /* -1: the device as a whole */
};

struct world_container {
	char name[12];
	enum world_container_kind kind;
	char resource[48];
	int wanted;
	enum world_state state;
	struct world_slot slots[WORLD_MAX_IDS];
	int n_slots;
	bool mps;
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

/* What the API server has of a pod. */
struct world_object {
	bool exists;
	bool deleting;
	enum world_phase phase;
	bool admission_failed;
	enum world_state states[WORLD_MAX_CONTAINERS];
	bool has_statuses;
	bool has_resources; /* allocatedResourcesStatus */
};

/*
 * A static pod is two: one that the kubelet has, whose UID is a hash, and its mirror, which the API
 * server has under a UID of its own. A mirror that is deleted is made again, and is then another.
 */
struct world_pod {
	char namespace[12];
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
	uint64_t step_at;      /* the kubelet does nothing with it before */
	uint64_t relisted_at;  /* after a restart, the kubelet's List has it from then on */
	struct world_object object;
	uint64_t created_at;
	uint64_t end_known_at; /* when the present controller was told that it ended; NEVER: not */
	uint64_t known_at;     /* when it was first told of it */
	uint64_t told_at;      /* when it was last told of it */
	uint64_t changed_at;   /* when its object last changed */
	uint64_t shown_at;     /* the API server has had it since */
	uint64_t over_at;      /* its object says that it holds nothing, or is gone, since */
	int mirror_of;         /* -1, or the static pod whose mirror this is */
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
	unsigned n_uids;
};

extern struct world world;

void world_reset(uint64_t seed);
/* Evenly from [low, high]. */
uint64_t world_between(uint64_t low, uint64_t high);
/* True in n of 100 cases. */
bool world_chance(unsigned n);
/* A UUID that none has had before. */
void world_new_uuid(char ret[static WORLD_UID_SIZE]);

int world_add_node(int kubelet_minor, enum world_mode mode, int replicas, int n_gpus, bool renamed);
/* Puts the device under MIG, or not, with all partitions new. */
void world_divide(struct world_gpu *gpu, bool mig, int n_partitions);
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
/* True when the API server's object says that the pod holds nothing any more. */
bool world_is_over(const struct world_object *object);
bool world_is_mig(enum world_mode mode);
int world_count_gpus(int node);
