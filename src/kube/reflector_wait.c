/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/reflector_wait.h"

#include <assert.h>
#include <string.h>

#define BACKOFF_BASE_MS 800u
#define BACKOFF_CAP_MS 30000u
#define RETRY_JITTER_MS 200u
#define TOLD_HEEDED 10u

void reflector_wait_init(struct reflector_wait *wait)
{
	*wait = (struct reflector_wait){0};
	backoff_init(&wait->backoff, BACKOFF_BASE_MS, BACKOFF_CAP_MS);
}

void reflector_wait_until(struct reflector_wait *wait, uint64_t at)
{
	wait->until = at;
	wait->is_for_server = false;
	wait->is_for_return = false;
}

/*
 * A server knows best when to come again: an API server that starts says 429 and one second until it
 * serves a resource. One that goes on saying so is backed off from, as client-go does after ten times.
 */
static uint32_t choose(struct reflector_wait *wait, struct prng *prng, const struct error *why)
{
	bool is_heeded = why->retry_after_ms > 0 && wait->n_told < TOLD_HEEDED;
	wait->n_told += why->retry_after_ms > 0;
	uint32_t ms = is_heeded ? 0 : backoff_next(&wait->backoff, prng);
	if (ms < why->retry_after_ms)
		ms = why->retry_after_ms + (uint32_t)prng_between(prng, 0, RETRY_JITTER_MS);
	assert(ms >= why->retry_after_ms);
	return ms;
}

void reflector_wait_back_off(struct reflector_wait *wait, struct prng *prng,
			     const struct error *why, uint64_t now)
{
	if (wait->last_failure == ERROR_DENIED && why->kind != ERROR_DENIED &&
	    why->kind != ERROR_EXPIRED)
		backoff_reset(&wait->backoff);
	wait->last_failure = why->kind;
	wait->until = now + choose(wait, prng, why);
	wait->is_for_server = why->kind == ERROR_RETRY && why->retry_after_ms == 0;
	wait->is_for_return = why->kind == ERROR_DENIED || why->kind == ERROR_EXPIRED;
}

void reflector_wait_end_refusal(struct reflector_wait *wait)
{
	if (wait->last_failure == ERROR_DENIED)
		backoff_reset(&wait->backoff);
}

void reflector_wait_for_memory(struct reflector_wait *wait, uint64_t now)
{
	wait->until = now + BACKOFF_BASE_MS;
}

void reflector_wait_shorten(struct reflector_wait *wait, uint64_t at)
{
	if (wait->until > at)
		wait->until = at;
}

void reflector_wait_hasten(struct reflector_wait *wait, uint64_t at, enum reflector_haste haste,
			   bool is_busy)
{
	bool is_back = haste == REFLECTOR_BACK;
	if (is_back)
		reflector_wait_forget(wait);
	if (is_busy || at >= wait->until ||
	    !(wait->is_for_server || (is_back && wait->is_for_return)))
		return;
	if (!is_back && wait->is_hastened[haste])
		return;
	if (!is_back)
		wait->is_hastened[haste] = true;
	wait->until = at;
}

void reflector_wait_forget(struct reflector_wait *wait)
{
	backoff_reset(&wait->backoff);
	memset(wait->is_hastened, 0, sizeof(wait->is_hastened));
	wait->n_told = 0;
}
