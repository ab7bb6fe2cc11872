/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * holding - who holds which device, by all that speak of it: the kubelet's two books (the List of
 * PodResources, which names pods by name, and the checkpoint, which names them by UID), the status
 * of the pods, ResourceClaims, and what HAMi and KAI write on pods. What several say of one device
 * ID in one container's hands is one holding with several witnesses.
 *
 * Threads: any.
 */

#include "join/node_pods.h"
#include "join/devices.h"

/* What allocation responses say of MPS. */
enum fact_mps {
	FACT_MPS_USED = 1u << 0,
	FACT_MPS_NOT_USED = 1u << 1,
};

/* A container of a pod. */
struct holder {
	struct view
		pod_uid; /* the API server's, or the kubelet's for a pod that it does not know; */
			 /* empty: the holder could not be told */
	struct view container;
	struct view resource;
	struct view stand_in;  /* "HAMi", "KAI": it holds the device for somebody else; or empty */
	bool is_resolved;      /* those are known, and hold it too */
	const struct pod *pod; /* NULL: the API server does not know it */
	uint32_t rank;         /* by pod UID and container, which are equal where it is */
	unsigned heard; /* witnesses of any of its facts; set in those of struct facts only */
};

/* The device of IDs that are none's of the devices. */
#define FACT_NOWHERE SIZE_MAX

/* One device ID that one container holds. */
struct fact {
	size_t device; /* index in the devices, or FACT_NOWHERE */
	const struct holder *owner;
	struct view id; /* raw, or a claim's "pool/device"; empty: which one of the device's */
			/* is not known */
	struct view partition; /* UUID of the MIG device, or empty */
	unsigned witnesses;    /* of enum witness */
	unsigned mps;          /* of enum fact_mps */
	bool takes_no_slot;    /* it is on the device without taking an ID from others */
	bool is_hami;          /* the ID is HAMi's: it need not be this device */
	bool is_monitor;       /* it only watches */
	bool is_part;          /* by a claim: it is a MIG device, whose UUID need not be known */
	bool is_share;         /* by a claim: others may have shares of the same */
	bool is_lost;          /* by a claim that is gone: see claimant_is_lost() */
};

/* What one of the books is worth. */
enum book_worth {
	BOOK_NONE,
	BOOK_DATED, /* the last good part of a source that fails */
	BOOK_OK,
};

struct facts {
	const struct join_input *input;
	const struct devices *devices;
	struct node_pods node_pods;
	enum book_worth list;
	enum book_worth checkpoint;
	bool is_settling;      /* the kubelet restarted lately, and no List was complete since */
	int64_t settled_restart; /* for the next join, see join/join.h */
	bool is_complete;      /* the List holds every active pod of the node that must be in it */
	int64_t settles_in_ms; /* -1: is not settling */
	struct fact *items; /* by device, pod UID, container, ID; each once */
	size_t n_items;
	struct holder **owners; /* by pod UID and container, each once */
	size_t n_owners;
	size_t n_placed; /* of them, that are a device's of the devices: they come first */
	struct view
		*ended; /* UIDs of gone pods, and of other nodes', that the checkpoint names: sorted, each once */
	size_t n_ended;
	bool awaits_list; /* one that is read later may mean pods that this one need not mean */
	uint32_t claims_refused;
	uint32_t ids_unknown; /* held IDs that are no device's of the devices, as often as named */
};

/* Hears all witnesses. The result lies in arena and borrows from input and devices. ERROR_NO_MEMORY. */
MUST_USE int facts_read(const struct join_input *input, const struct devices *devices,
			  struct arena *arena, struct facts *ret_holdings, struct error *err);
/* True when at least one of the books could be read, now or some time ago. */
bool facts_have_books(const struct facts *facts);
/* The items of a device: *ret_n elements from the returned one on; NULL when there are none. */
const struct fact *facts_of(const struct facts *facts, size_t device, size_t *ret_n);
/* Of those, the ones of that container of that pod. device may be FACT_NOWHERE. */
const struct fact *facts_of_holder(const struct facts *facts, size_t device,
				       struct view pod_uid, struct view container, size_t *ret_n);
/* The witnesses that name any ID in the hands of that container of that pod. */
unsigned facts_heard_of(const struct facts *facts, struct view pod_uid,
			  struct view container);
