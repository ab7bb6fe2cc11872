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

#include "core/join.h"

#define BUILD_WORLD_MAX 512u         /* pods, entries of a book, previous objects */
#define BUILD_WORLD_MAX_DEVICES 64u
#define BUILD_WORLD_MAX_IDS 2048u    /* on offer */
#define BUILD_WORLD_NOW INT64_C(1700000000000)

/* A pod; every member has a default. */
struct build_pod {
	const char *name;      /* "pod" */
	const char *namespace; /* "ml" */
	const char *uid;       /* "uid-<name>" */
	const char *hash;      /* "": no static pod */
	const char *container; /* "main" */
	const char *owner;     /* "": none; else a Job of that name */
	enum pod_container_kind kind;
	enum pod_container_state state; /* UNKNOWN, which is the default, stands for RUNNING */
	bool is_unseen;        /* the container has no status */
	enum pod_phase phase;  /* UNKNOWN, which is the default, stands for RUNNING */
	bool deleting;
	bool admission_failed;
	bool wants_no_gpu;
	bool system;
};

struct build_world {
	struct arena arena;
	struct intern intern;
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
	struct view elsewhere[BUILD_WORLD_MAX];
	struct join_previous previous[BUILD_WORLD_MAX];
	struct intent intent;
	struct join_limits limits; /* stale 2 min, pending 1 min, settling 5 min, node gone 10 min */
	struct join_input input;   /* points to all of the above */
	struct join_result result; /* of the last join */
};

void build_world_init(struct build_world *world);
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
/* A source failed: its part is left out. */
void build_world_fail_list(struct build_world *world);
void build_world_fail_book(struct build_world *world);
void build_world_fail_nvml(struct build_world *world);

/* Time passes, on the wall clock and for all reports. */
void build_world_wait(struct build_world *world, int64_t ms);
/* Joins; a failure ends the test. */
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
