/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * holding - who holds which device ID, by the kubelet's two books: the List of PodResources, which
 * names pods by name, and the checkpoint, which names them by UID. Entries of both are matched
 * with each other and with the API server's pods; what is left is who holds what, and which holders
 * nobody knows.
 *
 * Threads: any.
 */

#include "core/census.h"
#include "core/roster.h"

enum holding_witness {
	HOLDING_LIST = 1u << 0,
	HOLDING_CHECKPOINT = 1u << 1,
};

/* As a tenant's witnesses. */
#define HOLDING_LIST_NAME "PodResources"
#define HOLDING_CHECKPOINT_NAME "Checkpoint"

/* What allocation responses say of MPS. */
enum holding_mps {
	HOLDING_MPS_USED = 1u << 0,
	HOLDING_MPS_NOT_USED = 1u << 1,
};

/* A container of a pod. */
struct holding_owner {
	struct view pod_uid; /* the API server's, or the kubelet's for a pod that it does not know; */
			     /* empty: the holder could not be told */
	struct view container;
	struct view resource;
	const struct pod *pod; /* NULL: the API server does not know it */
};

/* One device ID that one container holds. */
struct holding {
	size_t device; /* index in the roster */
	const struct holding_owner *owner;
	struct view id;        /* raw */
	struct view partition; /* UUID of the MIG device, or empty */
	unsigned witnesses;    /* of enum holding_witness */
	unsigned mps;          /* of enum holding_mps */
};

/* What one of the books is worth. */
enum holding_book {
	HOLDING_BOOK_NONE,
	HOLDING_BOOK_DATED, /* the last good part of a source that fails */
	HOLDING_BOOK_OK,
};

struct holdings {
	const struct join_input *input;
	const struct roster *roster;
	struct census census;
	enum holding_book list;
	enum holding_book checkpoint;
	bool is_settling;      /* the kubelet restarted lately, and its List is not complete yet */
	bool is_complete;      /* the List holds every active pod of the node that must be in it */
	int64_t settles_in_ms; /* -1: is not settling */
	struct holding *items; /* by device, pod UID, container, ID; each once */
	size_t n_items;
	struct view *ended; /* UIDs of gone pods that the checkpoint still names: sorted, each once */
	size_t n_ended;
	uint32_t claims_refused;
	uint32_t ids_unknown; /* held IDs that are no device's of the roster */
};

/* Reads the books. The result lies in arena and borrows from input and roster. ERROR_NO_MEMORY. */
MUST_USE int holding_read(const struct join_input *input, const struct roster *roster,
			  struct arena *arena, struct holdings *ret_holdings, struct error *err);
/* True when at least one of the books could be read, now or some time ago. */
bool holding_has_books(const struct holdings *holdings);
/* The items of a device: *ret_n elements from the returned one on. */
const struct holding *holding_items(const struct holdings *holdings, size_t device, size_t *ret_n);
