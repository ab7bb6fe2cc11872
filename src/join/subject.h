/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * subject - one device on its way through the stages, and the stages. Each stage reads what those above
 * it found, puts its part into the status, and notes here what others need; join/README.md lists the
 * parts. It is in the file of its name, which says what it goes by.
 *
 * What they make lies in the subject's arena, or is borrowed from what is given. All of them fail with
 * ERROR_NO_MEMORY.
 *
 * Threads: any; pure.
 */

#include "assess/drift.h"
#include "assess/health.h"
#include "base/debounce.h"
#include "join/facts.h"

struct slot;
struct slots;
struct unplaced; /* opaque: unplaced.c's */

/* What is known of the tenants beside what the status has. */
struct tenants {
	int64_t slots_unresolved; /* held by those that are unresolved, of which: */
	int64_t slots_pending;    /* not for long yet */
	int64_t slots_nameless;   /* by nobody with a UID */
	int64_t slots_placeholder;   /* by a placeholder for others that are not known */
	int64_t slots_kept;       /* of tenants that no witness names now */
	int64_t slots_ended;      /* of tenants that ended just now */
	bool is_claimed;          /* a claim gives it to one, as a fact says */
	int64_t again_in_ms;      /* a pending one is unresolved then; -1: none is pending */
};

struct subject {
	/* What the stages are given. */
	const struct facts *facts; /* of the node */
	size_t index;              /* of the device in the devices of the facts */
	const struct device *device;
	const struct attribution_status *published; /* by this node, or NULL: see struct previous */
	const struct fact *items;                   /* of the device */
	size_t n_items;
	bool is_awaited; /* an agent has spoken of the device, and not since the start: what only a */
			 /* report can tell is as published */
	bool is_duplicate; /* another node reports the device, too */
	struct debounce *debounce;
	struct unplaced *unplaced;
	struct arena *arena;
	struct attribution_status *status; /* as far as it is found */
	/* What tenants_find() said, and slots_look(). */
	struct tenants tenants;
	const struct slot *slots; /* of the device, by ID */
	size_t n_slots;
	bool is_claimed;      /* claims hand it out */
	bool is_offered;      /* some slot of it is on offer */
	bool is_offer_known;  /* which of its slots are on offer, or that none is */
	bool is_rest_held;    /* none is, and something is held that does not tell how many there are */
	bool is_as_published; /* not so now, or they may be more: what follows from slots stays */
	/* What the other stages said. */
	bool is_without_ids;     /* no device ID tells that a plugin hands it out, so a claim may */
	bool may_be_held_twice;  /* by what is known, not by facts seen now */
	struct view held_twice;  /* that it is so now: a message, or empty */
	struct view odd_id;      /* the lowest ID of no known form that is held of it, or empty */
	size_t n_odd;            /* how often one is held */
	uint32_t entries_refused; /* processes that were said to be of pods of other nodes */
	struct health health;        /* not while the first report is awaited */
	struct drift_verdict intent; /* while the node's last report is recent */
	int64_t activity_again_in_ms; /* time alone may change the activity then; -1: it does not */
	int64_t again_in_ms; /* the same of the whole status */
};

/*
 * Finds the tenants: who holds units of the device now, or stays because nothing has shown that he left.
 * Also those that left, and those about whom witnesses contradict each other. They are by pod UID and
 * container, with room for N_WITNESSES witnesses each. tenant_count: -1: neither book has ever been read.
 * LIMIT_TENANTS and LIMIT_SOURCE_DISAGREEMENT are listed and the rest counted; LIMIT_RECENT_TENANTS are
 * remembered.
 */
MUST_USE int tenants_find(struct subject *subject, struct error *err);
/* Gathers those for unplaced_find(), once a join. */
MUST_USE int unplaced_gather(const struct facts *facts, struct arena *arena, struct unplaced **ret,
			     struct error *err);
/*
 * Lists the holders of device IDs that are no known device's, LIMIT_UNPLACED_TENANTS of
 * LIMIT_UNPLACED_IDS each, and counts the rest. Finds the IDs of no known form.
 */
MUST_USE int unplaced_find(struct subject *subject, struct error *err);
/*
 * Lists the unallocated users of the device, whose sharing mode is known. Its tenants get their
 * processes and memory, and the witness. While processes cannot be told, what was published stays.
 */
MUST_USE int users_find(struct subject *subject, struct error *err);

#define OVERLAP_PODS 4u       /* that the message names */
#define OVERLAP_MESSAGE 2048u /* bytes */
/* Looks for a unit in the hands of several pods. */
MUST_USE int overlap_find(struct subject *subject, struct error *err);
/*
 * Finds whether a tenant that no fact names now may hold what another one holds. In one sharing mode the
 * device is for one pod; in another both must have one MIG device.
 */
MUST_USE int overlap_find_possible(struct subject *subject, struct error *err);

/*
 * Concludes how the device is shared. While its slots are as published so is that, unless no device
 * ID was known then and one is now.
 */
MUST_USE int layout_share(struct subject *subject, struct error *err);
/* What the device is, and its MIG partitions. */
MUST_USE int layout_describe(const struct subject *subject, struct error *err);
/* How many slots there are and are given out. */
MUST_USE int layout_count(const struct subject *subject, struct error *err);

/* Judges the health of the device, whose tenants and slots are known. */
MUST_USE int examine_health(struct subject *subject, struct error *err);
/*
 * By the node's clock, ms since 1970: when what the report says was so still. Heartbeats say that since
 * it arrived. Zero without a report.
 */
int64_t examine_heard_at(const struct join_input *input);
/* Judges the activity of the device and of its partitions, which are known as its sharing mode is. */
MUST_USE int measure_activity(struct subject *subject, struct error *err);
/*
 * What is known of the node, for all its devices. It borrows from the facts and their input. Without a
 * report there is nothing to compare, and the members that come from it are empty.
 */
struct drift_node compare_node(const struct facts *facts, const struct slots *slots);
/*
 * Compares the device, whose status is complete but for intent and conditions, with what is intended.
 * There must be a report.
 */
MUST_USE int compare_intent(struct subject *subject, const struct drift_node *node, struct error *err);
/*
 * Makes the conditions, in the order of their types, when all else is found. Behind them come those of
 * other types that the object has, which others wrote; those of an earlier release are left out. Where
 * the status is the same, the time of the last transition is the published one. While the first report
 * is awaited the conditions are as published, but
 * - all except Attributed, when no report has come for long;
 * - Attributed, and Ready with it, when what the API server says changes what was said.
 */
MUST_USE int conditions_make(const struct subject *subject, struct error *err);
