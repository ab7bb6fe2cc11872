/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * build_world - a node with its devices, pods, report and published objects, made of a few calls,
 * for tests of the join. A new world has a node "gpu-a" whose agent reported one second ago: all
 * sources are good and say that there is nothing.
 *
 *	build_world_init(&world);
 *	build_world_exclusive(&world, 0);
 *	build_world_run(&world, (struct build_pod){.name = "train"}, build_world_uuid(&world, 0));
 *	build_world_publish(&world);
 *	status = build_world_status(&world, 0);
 *
 * What a function is given (texts too) must live as long as the world.
 *
 * Threads: a test's own.
 * Limits:  those below; a test that needs more ends.
 */

#include "base/debounce.h"
#include "join/join.h"

#define BUILD_WORLD_MAX 512u         /* pods, entries of a book, previous objects */
#define BUILD_WORLD_MAX_DEVICES 64u
#define BUILD_WORLD_MAX_IDS 2048u    /* on offer */
#define BUILD_WORLD_MAX_TOLD 4u      /* by the status of one container */
#define BUILD_WORLD_MAX_PROCESSES 256u /* of one device */
#define BUILD_WORLD_NOW INT64_C(1700000000000)

/* A pod; every member has a default. */
struct build_pod {
	const char *name;      /* "pod" */
	const char *namespace; /* "ml" */
	const char *uid;       /* "uid-<name>" */
	const char *hash;      /* "": no static pod */
	const char *container; /* "main" */
	const char *second;    /* "": none; else a further container, which runs */
	const char *owner;     /* "": none; else a Job of that name */
	enum pod_container_kind kind;
	enum pod_container_state state; /* UNKNOWN, which is the default, stands for RUNNING */
	const char *id;        /* "": not told; else the container's, by the status */
	const char *second_id;
	const char *init;      /* "": none; else an init container, the last one; it has ended */
	bool is_cut;           /* the status tells of more devices than were kept */
	bool has_more;         /* containers than were kept */
	bool has_more_ephemeral; /* containers than were kept */
	bool is_unseen;        /* the container has no status */
	int64_t started_at;    /* 0, which is the default, stands for an hour ago, or, if it is */
			       /* unseen, for not told */
	enum pod_phase phase;  /* UNKNOWN, which is the default, stands for RUNNING */
	bool deleting;
	bool admission_failed;
	bool wants_no_gpu;
	bool system;
	/* What the pod's status says of the container and of the second; the first empty ends it. */
	struct view told[BUILD_WORLD_MAX_TOLD];
	struct view told_of_second[BUILD_WORLD_MAX_TOLD];
	bool told_unhealthy;   /* the status calls these devices Unhealthy */
	const char *hami;      /* "": no annotation of HAMi's */
	const char *kai_group; /* "": it is in none */
	const char *kai_groups[POD_MAX_KAI_GROUPS]; /* of several GPUs; the first NULL ends it */
	const char *kai_container; /* "": no annotation of KAI's says which container shares */
	const char *kai_device; /* "": no annotation of KAI's reservation */
	bool reservation;
	enum pod_operand operand; /* none, which is the default; else of the GPU operator's */
	bool is_ready;
	bool was_refused;         /* for want of devices, now */
	const char *claim; /* "": none; else the ResourceClaim that the container uses */
	const char *second_claim; /* of the container too */
};

/* A claim of this name is allocated, and gives no GPU. */
#define BUILD_WORLD_NIC "nic"

/* What a ResourceClaim gives to the pod of that UID. */
struct build_grant {
	struct view uid;
	struct grant grant;
};

struct build_world {
	struct arena arena;
	struct pod *pods[BUILD_WORLD_MAX];
	struct pod *retired[BUILD_WORLD_MAX]; /* no longer there; published statuses borrow from them */
	size_t n_retired;
	struct node node;
	struct report report;
	struct report_device devices[BUILD_WORLD_MAX_DEVICES];
	struct report_pod_resource listed[BUILD_WORLD_MAX];
	struct report_checkpoint_entry booked[BUILD_WORLD_MAX];
	struct report_resource_devices allocatable, registered;
	struct view offered[BUILD_WORLD_MAX_IDS];
	struct view registered_ids[BUILD_WORLD_MAX_IDS];
	struct report_event events[BUILD_WORLD_MAX];
	struct view ended[BUILD_WORLD_MAX];
	struct debounce_seen debounced[DEBOUNCE_MAX]; /* of the last join */
	struct view elsewhere[BUILD_WORLD_MAX];
	struct join_previous previous[BUILD_WORLD_MAX];
	struct build_grant granted[BUILD_WORLD_MAX_DEVICES];
	size_t n_granted;
	struct grant grants[BUILD_WORLD_MAX_DEVICES]; /* of them, to pods that are there */
	const struct pod *awaiting[BUILD_WORLD_MAX]; /* with more claims than grants */
	struct slice_device slices[BUILD_WORLD_MAX_DEVICES];
	struct intent intent;
	struct policy policy; /* see build_world_govern() */
	struct join_limits limits; /* stale 2 min, pending 1 min, settling 5 min, node gone 10 min, */
				   /* agentless 30 s, disagreement 10 s, user grace 30 s, quiet 10 min */
	struct join_input input;   /* points to all of the above */
	struct join_result result; /* of the last join */
};

/* A world with one node and no device, in which nothing has been published. */
void build_world_init(struct build_world *world);
/* Frees what the world holds. */
void build_world_deinit(struct build_world *world);

/* A copy of a formatted text. */
PRINTF_LIKE(2, 3) struct view build_world_text(struct build_world *world, const char *format, ...);
/* The UUID of device n, and the device IDs that are made of it. */
struct view build_world_uuid(struct build_world *world, unsigned n);
struct view build_world_replica(struct build_world *world, unsigned n, unsigned replica);
struct view build_world_mig(struct build_world *world, unsigned n, unsigned partition);

/* Reports device n, which is not on offer. */
struct report_device *build_world_device(struct build_world *world, unsigned n);
/* Puts a device ID on offer: it is advertised and registered. */
void build_world_offer(struct build_world *world, struct view id);
/* Reports device n and offers it whole, in replicas, or in MIG partitions. */
struct report_device *build_world_exclusive(struct build_world *world, unsigned n);
struct report_device *build_world_shared(struct build_world *world, unsigned n, unsigned replicas);
struct report_device *build_world_cut(struct build_world *world, unsigned n, unsigned partitions);
/* Takes everything off offer. */
void build_world_offer_nothing(struct build_world *world);

/* As when the plugin ends: the kubelet advertises nothing, and its checkpoint has what was registered. */
void build_world_lose_plugin(struct build_world *world);

/* Puts a pod into the API server, on the node; replaces the one of the same UID. */
const struct pod *build_world_pod(struct build_world *world, struct build_pod pod);
/* Takes a pod out of the API server. */
void build_world_remove_pod(struct build_world *world, const char *uid);
/* An entry of the List, and of the checkpoint, with one device ID. */
struct report_pod_resource *build_world_list(struct build_world *world, const char *name,
					     const char *container, struct view id);
struct report_checkpoint_entry *build_world_book(struct build_world *world, const char *uid,
						 const char *container, struct view id);
/* A pod that holds a device ID: it is in the API server and in both books. */
const struct pod *build_world_run(struct build_world *world, struct build_pod pod, struct view id);
/* Empties a book. */
void build_world_list_nothing(struct build_world *world);
void build_world_book_nothing(struct build_world *world);
void build_world_event(struct build_world *world, struct view uuid, int64_t code, int64_t time);
void build_world_end(struct build_world *world, const char *uid);
/* The UID is of a pod on another node. */
void build_world_move_away(struct build_world *world, const char *uid);
/* A ResourceClaim gives device n to a container; to be altered: call build_world_regrant() then. */
struct grant *build_world_grant(struct build_world *world, const char *uid,
				     const char *container, unsigned n);
void build_world_regrant(struct build_world *world);
/* A ResourceSlice describes device n. */
struct slice_device *build_world_slice(struct build_world *world, unsigned n);
/* The agent sees processes: a pod's (uid "": the host's) on device n, which is reported. */
struct report_process *build_world_process(struct build_world *world, unsigned n, int64_t pid,
					   const char *uid);
/* No process is on any device. */
void build_world_see_no_processes(struct build_world *world);
/* Takes the report away, as a restart of the controller does. */
void build_world_restart(struct build_world *world);
/* No agent has ever reported, and there has been time for one. */
void build_world_without_agent(struct build_world *world);
/* The agent's report, with new content, arrives. */
void build_world_report(struct build_world *world);
/* There is a ClusterPolicy, whose operator has that namespace. */
void build_world_govern(struct build_world *world, const char *namespace);
/* A source failed: its part is left out. */
void build_world_fail_list(struct build_world *world);
void build_world_fail_book(struct build_world *world);
void build_world_fail_nvml(struct build_world *world);

/*
 * Joins, so that what is there has been seen, and then time passes, on the wall clock and for all
 * reports; the last one goes on saying the same.
 */
void build_world_wait(struct build_world *world, int64_t ms);
/* Joins; a failure ends the test. The next join knows what this one saw that does not count yet. */
const struct join_result *build_world_join(struct build_world *world);
/* Joins, and does what the result says: objects appear, get the new status, and go; the list of
 * ended UIDs is taken over. */
const struct join_result *build_world_publish(struct build_world *world);
/* What the last join says of device n; NULL: nothing. */
const struct join_device *build_world_joined(struct build_world *world, unsigned n);
/* Its status; a device that the join does not mention ends the test. */
const struct attribution_status *build_world_status(struct build_world *world, unsigned n);
/* Joins, and says how many objects would be written or deleted. */
unsigned build_world_count_writes(struct build_world *world);
/* The object of device n as published, to be altered; NULL: there is none. */
struct join_previous *build_world_previous(struct build_world *world, unsigned n);
