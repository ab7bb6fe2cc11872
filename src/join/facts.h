/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * facts - who holds which device, by each witness. What several witnesses say of one device ID of one
 * container is one fact. The readers (join/readers.h) write a draft; facts_close() puts it in order.
 * What is said of a pod that is over is no fact, whichever witness says it.
 *
 * Threads: any.
 */

#include "assess/slot.h"
#include "join/devices.h"
#include "join/node_pods.h"
#include "join/source.h"

/* What is debounced (base/debounce.h). */
enum fact_doubt {
	DEBOUNCE_DISAGREEMENT,
	DEBOUNCE_UNPLACED,
	DEBOUNCE_USER,
	DEBOUNCE_UNKNOWN, /* users whose names nobody could tell */
	DEBOUNCE_OVERLAP,
};

/* A container of a pod. */
struct holder {
	struct view pod_uid; /* the API server's; of a pod that it does not know the kubelet's; */
			     /* empty: the holder could not be told */
	struct view container;
	struct view resource;
	enum placeholder placeholder; /* what it holds the device by for other pods */
	bool is_resolved;      /* those are known, and hold it too */
	const struct pod *pod; /* NULL: the API server does not know it */
	uint32_t rank;         /* by pod UID and container, which are equal where it is */
	unsigned heard; /* witnesses of any of its facts; set in those of struct facts only */
	struct holder *next; /* in the draft */
};

/* Stands for the device of an ID that names none of the devices. */
#define FACT_NOWHERE SIZE_MAX

/* One device ID that one container holds. */
struct fact {
	size_t device; /* index in the devices, or FACT_NOWHERE */
	const struct holder *owner;
	struct view id; /* raw, or a claim's "pool/device"; empty: which one of the device's */
			/* is not known */
	struct view partition; /* UUID of the MIG device, or empty */
	unsigned witnesses;    /* of enum witness */
	unsigned mps;          /* of enum slot_mps */
	bool takes_no_slot;    /* it is on the device without taking an ID from others */
	bool is_hami;          /* the ID is HAMi's: it need not be this device */
	bool is_replica, is_odd; /* as model/device_id.h reads the ID */
	bool is_monitor;       /* it only watches */
	bool is_part;          /* by a claim: it is a MIG device, whose UUID need not be known */
	bool is_share;         /* by a claim: others may have shares of the same */
	bool is_restated;      /* by a claim that cannot be read: it was published */
	struct fact *next;     /* in the draft */
};

struct claims; /* opaque: from_resource_claim.c's */

struct facts {
	const struct join_input *input;
	const struct devices *devices;
	struct node_pods node_pods;
	bool is_frozen; /* what is known of pods is old: nobody was asked, there are no facts */
	struct source source;
	struct claims *claims;
	struct fact *items; /* by device, pod UID, container, ID; each once */
	size_t n_items;
	size_t n_placed; /* of them, that are a device's of the devices: they come first */
	struct holder **owners; /* by pod UID and container, each once; the first is empty */
	size_t n_owners;
	struct view *unknown; /* UIDs of pods (empty: somebody who could not be told) that have an ID */
	size_t n_unknown;     /* which may be any device's: sorted, each once */
	const struct view *ended; /* UIDs that the checkpoint names of pods that are gone or of another */
	size_t n_ended; /* node: sorted, each once; those of the input while no checkpoint is read */
	bool awaits_list;   /* one that is read later may mean pods that this one need not mean */
	uint32_t entries_refused;
	uint32_t ids_unknown; /* held IDs that are no device's of the devices, as often as named */
};

/* Facts that are being read. Of those for which there was no memory the arena knows. */
struct facts_draft {
	struct facts *facts;
	struct arena *arena;
	struct fact *items; /* the one added last first; one without witnesses was taken back */
	size_t n_items;
	struct holder *holders; /* the one added last first */
	size_t n_holders;
	struct holder *nobody;  /* one of them: whoever cannot be told */
};

/* True when the checkpoint or the List could be read, now or some time ago. */
bool facts_have_books(const struct facts *facts);
/* The items of a device: *ret_n elements from the returned one on; NULL when there are none. */
const struct fact *facts_of(const struct facts *facts, size_t device, size_t *ret_n);
/* Of those, the ones of that container of that pod. device may be FACT_NOWHERE. */
const struct fact *facts_of_holder(const struct facts *facts, size_t device, struct view pod_uid,
				   struct view container, size_t *ret_n);
/* True when the pod, or somebody who could not be told, has an ID that may be this device's. */
bool facts_have_unknown(const struct facts *facts, size_t device, struct view pod_uid);
/* The witnesses that name any ID in the hands of that container of that pod. */
unsigned facts_heard_of(const struct facts *facts, struct view pod_uid, struct view container);

/* Starts a draft. Fails with ERROR_NO_MEMORY. */
MUST_USE int facts_open(struct facts *facts, struct arena *arena, struct facts_draft *ret_draft, struct error *err);
/*
 * Adds a container of a pod that the API server knows. The result lives as long as the arena. NULL:
 * there was no memory, and facts_close() fails.
 */
struct holder *facts_add_container(struct facts_draft *draft, const struct pod *pod,
				   struct view container, struct view resource);
/* The same for any container: copies the holder. */
struct holder *facts_add_holder(struct facts_draft *draft, struct holder holder);
/*
 * Adds that the holder (NULL: one that cannot be told) has the ID, from which the device follows.
 * `what` gives the rest: witnesses, mps, takes_no_slot, is_monitor.
 */
void facts_add(struct facts_draft *draft, struct holder *holder, struct view id, struct fact what);
/*
 * Adds that the holder is on that device, by an ID that does not tell the device, or that is not
 * known (empty).
 */
void facts_add_on(struct facts_draft *draft, struct holder *holder, const struct device *device, struct fact what);
/* Puts everything in order, each fact once. Fails with ERROR_NO_MEMORY, for what was added too. */
MUST_USE int facts_close(struct facts_draft *draft, struct error *err);
