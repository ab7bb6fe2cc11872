/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/exposition_budget.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/limits.h"

static atomic_size_t cap = LIMIT_EXPOSITION_BYTES;
static atomic_size_t used;

void exposition_budget_set_cap(size_t new_cap)
{
	atomic_store(&cap, new_cap);
}

static size_t left_beside(size_t taken)
{
	const size_t most = atomic_load(&cap);

	return taken < most ? most - taken : 0;
}

bool exposition_budget_take(size_t size)
{
	const size_t before = atomic_fetch_add(&used, size);

	if (size <= left_beside(before))
		return true;
	atomic_fetch_sub(&used, size);
	return false;
}

void exposition_budget_give(size_t size)
{
	const size_t before = atomic_fetch_sub(&used, size);

	assert(before >= size);
	(void)before;
}

size_t exposition_budget_left(void)
{
	return left_beside(atomic_load(&used));
}

size_t exposition_budget_used(void)
{
	return atomic_load(&used);
}
