/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/last_writes.h"

#include <assert.h>

bool last_writes_begin(struct last_writes *last, uint64_t now_ms)
{
	if (last->has_begun)
		return false;
	last->has_begun = true;
	last->since_ms = now_ms;
	return true;
}

uint32_t last_writes_events_ms(const struct last_writes *last, uint64_t now_ms)
{
	const uint64_t end = last->since_ms + LAST_WRITES_EVENTS_MS;

	if (!last->has_begun)
		return UINT32_MAX;
	return end > now_ms ? (uint32_t)(end - now_ms) : 0;
}

enum last_writes_step last_writes_next(struct last_writes *last, size_t n_under_way,
				       uint64_t now_ms)
{
	assert(last->has_begun);
	if (now_ms - last->since_ms >= LAST_WRITES_MS)
		return LAST_WRITES_END;
	if (last->is_releasing || n_under_way > 0)
		return LAST_WRITES_WAIT;
	last->is_releasing = true;
	return LAST_WRITES_RELEASE;
}
