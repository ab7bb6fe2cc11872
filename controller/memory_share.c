/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is held changes in one atomic step, whose result says what was held before it. So two threads
 * see different steps, and the account gets each of them once, in any order.
 */

#include "controller/memory_share.h"

#include <assert.h>
#include <stdlib.h>

struct memory_share {
	struct memory_account *account;
	atomic_size_t held;
	atomic_uint references; /* the owner's, and one of each charge */
};

struct memory_share *memory_share_new(struct memory_account *account, struct error *err)
{
	struct memory_share *share = calloc(1, sizeof(*share));

	if (!share) {
		error_no_memory(err);
		return NULL;
	}
	share->account = memory_account_ref(account);
	atomic_init(&share->references, 1);
	return share;
}

void memory_share_unref(struct memory_share *share)
{
	if (!share || atomic_fetch_sub_explicit(&share->references, 1, memory_order_acq_rel) > 1)
		return;
	assert(atomic_load(&share->held) == 0);
	memory_account_unref(share->account);
	free(share);
}

bool memory_share_charge(struct memory_share *share, size_t size)
{
	return memory_share_replace(share, 0, size);
}

bool memory_share_replace(struct memory_share *share, size_t replaced, size_t size)
{
	const size_t held = atomic_fetch_add(&share->held, size);

	atomic_fetch_add_explicit(&share->references, 1, memory_order_relaxed);
	if (memory_account_replace(share->account, held, replaced, size))
		return true;
	memory_share_release(share, size);
	return false;
}

void memory_share_release(struct memory_share *share, size_t size)
{
	const size_t held = atomic_fetch_sub(&share->held, size);

	assert(held >= size);
	memory_account_give_back(share->account, held, size);
	memory_share_unref(share);
}

size_t memory_share_held(const struct memory_share *share)
{
	return atomic_load(&share->held);
}
