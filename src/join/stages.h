/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stages - the status of one device, stage by stage. A stage reads only what stages above it made.
 * Each is in the file of its name, which says what it goes by.
 *
 * Before the first report since the start every source of the node is silent. What only a report can
 * tell is then as published. Tenancies end and begin by what the API server says. While what is known
 * of pods is old, holders and slots are as published.
 *
 * Threads: any; pure.
 */

#include "assess/drift.h"
#include "join/slots.h"

struct health;

/* What is known of the node. */
struct stages_node {
	struct facts facts;
	struct slots slots;
	struct debounce *debounce;
	struct drift_node intent; /* what is intended of it, and what is there */
	struct arena *arena;
	bool is_fresh;  /* the last report is recent */
};

struct stages_result {
	struct attribution_status status;
	uint32_t claims_refused; /* processes that were said to be of pods of other nodes */
	int64_t again_in_ms;     /* time alone changes the status then; -1: it does not */
	unsigned hides, tells;   /* drifts of the node (assess/drift.h) */
};

/*
 * Makes the status of the device at that index of the devices, which this node speaks for.
 * is_duplicate: another node reports it too. The result lies in the arena or is borrowed from what
 * is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int stages_run(const struct stages_node *node, size_t device, bool is_duplicate,
			struct stages_result *ret, struct error *err);

/*
 * The stages that have no header of their own. All of them fail with ERROR_NO_MEMORY. What they make lies
 * in the subject's arena, or is borrowed from what is given.
 */

/*
 * Concludes how the device is shared. While its slots are as published so is that, unless no device
 * ID was known then and one is now. *ret_is_without_ids: no device ID told it.
 */
MUST_USE int sharing_conclude(const struct subject *subject, struct attribution_sharing *ret_sharing,
			      bool *ret_is_without_ids, struct error *err);
/* True when NVML lists a client of MPS on the device. */
bool sharing_has_mps_process(const struct report_device *reported);

/*
 * Lists the unallocated users in the status, whose sharing mode is known. Its tenants get their
 * processes and memory, and the witness. While processes cannot be told, what was published stays.
 * *ret_refused: how many processes name a pod of another node.
 */
MUST_USE int users_find(const struct subject *subject, struct attribution_status *status,
			uint32_t *ret_refused, struct error *err);

#define OVERLAP_PODS 4u       /* that the message names */
#define OVERLAP_MESSAGE 2048u /* bytes */
/* Looks for a unit in the hands of several pods. *ret_message is empty when there is none. */
MUST_USE int overlap_find(const struct subject *subject, struct view *ret_message, struct error *err);
/*
 * True when a tenant that no fact names now may hold what another one holds. In one mode (of enum
 * attribution_mode) the device is for one pod; in another both must have one MIG device.
 */
bool overlap_is_possible(const struct subject *subject, int mode);

/* What the device is, by NVML or by slices. index and minor: -1 where they are not known. */
MUST_USE int layout_describe(const struct subject *subject, struct attribution_device *ret_device,
			     struct error *err);
/* Its MIG partitions: struct attribution_partition, by UUID, LIMIT_PARTITIONS at most. */
MUST_USE int layout_partition(const struct subject *subject, struct array *ret_partitions,
			      struct error *err);
/*
 * How many slots there are and are given out. summary is empty unless both numbers are known; allocated
 * is then at most total.
 */
MUST_USE int layout_count(const struct subject *subject, struct attribution_slots *ret_slots,
			  struct error *err);

/* Judges the health of the device, whose tenants and slots are known. */
MUST_USE int examine_health(const struct subject *subject, struct health *ret_health,
			    struct error *err);
/*
 * By the node's clock, ms since 1970: when what the report says was so still. Heartbeats say that since
 * it arrived. Zero without a report.
 */
int64_t examine_heard_at(const struct join_input *input);
/*
 * Judges the activity of the device and of its partitions, which are in the status, as its sharing
 * mode is, and puts it there. is_fresh: the last report is recent. *ret_again_in_ms: time alone may
 * change it then; -1: it does not.
 */
MUST_USE int measure_activity(const struct subject *subject, bool is_fresh,
			      struct attribution_status *status, int64_t *ret_again_in_ms,
			      struct error *err);

/*
 * What is known of the node, for all its devices. It borrows from the facts and their input. Without a
 * report there is nothing to compare, and the members that come from it are empty.
 */
struct drift_node compare_node(const struct facts *facts, const struct slots *slots);
/*
 * Compares the device, whose status is complete but for intent and conditions, and puts what was found
 * into status->intent. *ret_verdict: also for the condition InSync. There must be a report.
 */
MUST_USE int compare_intent(const struct subject *subject, const struct drift_node *node,
			    struct attribution_status *status, struct drift_verdict *ret_verdict,
			    struct error *err);
