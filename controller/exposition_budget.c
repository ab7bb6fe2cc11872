/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/exposition_budget.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/limits.h"

static atomic_size_t used;

bool exposition_budget_take(size_t size)
{
	const size_t before = atomic_fetch_add(&used, size);

	if (before <= LIMIT_EXPOSITION_BYTES && size <= LIMIT_EXPOSITION_BYTES - before)
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

bool exposition_budget_has(size_t size)
{
	const size_t now = atomic_load(&used);

	return now <= LIMIT_EXPOSITION_BYTES && size <= LIMIT_EXPOSITION_BYTES - now;
}

size_t exposition_budget_used(void)
{
	return atomic_load(&used);
}
