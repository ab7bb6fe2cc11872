/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * memory_account - how much memory may be in use for one purpose, over all nodes, and how much is.
 * Nodes take their parts by controller/memory_share.h.
 *
 * A node may always take a small part, the free part, while the account has room. What nodes hold
 * above that is their surplus. All surplus together may be half of the account. One node may have a
 * quarter of what the others leave of that half. So a node that asks for much is refused first, and no
 * number of such nodes takes the other half from those that ask for little.
 *
 * A node may replace what it was allowed to hold by as much or less, however little is left. Both are
 * charged for a while. For that, an eighth of the account and a free part may be used above its cap.
 *
 * Threads: any, once it is made.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The free part of a node is this part of the account. */
#define MEMORY_ACCOUNT_FREE_PART 512u

struct memory_account;

/* What an account says, for metrics. */
struct memory_account_state {
	size_t cap;       /* bytes that may be in use, but for what replaces */
	size_t used;      /* bytes in use */
	uint64_t refused; /* times at which a node was refused; rises only */
};

/* Of cap bytes, none in use. One reference, the caller's. NULL with ERROR_NO_MEMORY. */
MUST_USE struct memory_account *memory_account_new(size_t cap, struct error *err);
/* One more reference, for whom it is returned. */
struct memory_account *memory_account_ref(struct memory_account *account);
/* Gives up a reference; with the last one it is freed. Accepts NULL. */
void memory_account_unref(struct memory_account *account);
/* What it says now. Another thread may change the members one after the other meanwhile. */
struct memory_account_state memory_account_state(const struct memory_account *account);

/*
 * Takes `size` bytes for a node that holds `held` already. False, and counted as refused: there is no
 * room for them, and they are to be given back.
 */
bool memory_account_take(struct memory_account *account, size_t held, size_t size);
/*
 * The same for bytes that replace `replaced` of those that it holds: these will be given back soon, and
 * do not count against it.
 */
bool memory_account_replace(struct memory_account *account, size_t held, size_t replaced,
			    size_t size);
/* Gives back `size` bytes of a node that holds `held` with them. */
void memory_account_give_back(struct memory_account *account, size_t held, size_t size);
