/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How often to probe: the pause is an eighth of the time for which it has been so, within bounds.
 *
 * Where nothing listens a probe bothers no server, and one may be back at any moment: 1 s to 2 s. A
 * server that is reached and does not work has most often just been started, or it is overloaded:
 * 0.5 s to 5 s. Six watches with a back-off of their own, as client-go has it, try once in 5 s
 * together in the end, and in the first minute more often than this.
 *
 * While requests fail and probes succeed (one resource of the server is broken, or one connection was
 * cut), the failures lead to one probe a second at most.
 */

#include "kube/reachability.h"

#include <assert.h>

#define PROBE_MS 1000u
#define PROBE_REFUSED_MAX_MS 2000u
#define PROBE_MIN_MS 500u
#define PROBE_MAX_MS 5000u
#define GROWTH 8u

void reachability_init(struct reachability *r, uint64_t seed)
{
	*r = (struct reachability){.state = REACHABILITY_ANSWERS};
	prng_init(&r->prng, seed);
}

static enum reachability_state set_answers(struct reachability *r)
{
	enum reachability_state before = r->state;
	r->state = REACHABILITY_ANSWERS;
	r->is_unready = false;
	return before;
}

enum reachability_state reachability_answered(struct reachability *r)
{
	return set_answers(r);
}

void reachability_failed(struct reachability *r, uint64_t now)
{
	if (r->state != REACHABILITY_ANSWERS)
		return;
	r->state = REACHABILITY_DOUBTED;
	if (r->next_at < now)
		r->next_at = now;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Never longer than stated: the jitter only shortens it. */
static uint64_t choose_pause(struct reachability *r, enum reachability_probe outcome, uint64_t now)
{
	bool is_refused = outcome == REACHABILITY_PROBE_REFUSED;
	if (is_refused != r->was_refused || r->state != REACHABILITY_AWAY)
		r->so_since = now;
	r->was_refused = is_refused;
	uint64_t low = is_refused ? PROBE_MS : PROBE_MIN_MS;
	uint64_t high = is_refused ? PROBE_REFUSED_MAX_MS : PROBE_MAX_MS;
	uint64_t pause = clamp((now - r->so_since) / GROWTH, low, high);
	return pause - prng_between(&r->prng, 0, pause / 5);
}

enum reachability_state reachability_probed(struct reachability *r, enum reachability_probe outcome,
					    uint32_t retry_after_ms, uint64_t now)
{
	assert(r->is_probing);
	enum reachability_state before = r->state;
	r->is_probing = false;
	if (outcome == REACHABILITY_PROBE_ANSWERED) {
		r->next_at = now + PROBE_MS;
		return set_answers(r);
	}
	/* Somebody else was answered meanwhile: the server works, whatever became of the probe. */
	if (before == REACHABILITY_ANSWERS) {
		r->next_at = now + PROBE_MS;
		return before;
	}
	uint64_t pause = choose_pause(r, outcome, now);
	r->state = REACHABILITY_AWAY;
	r->is_unready = outcome == REACHABILITY_PROBE_UNREADY;
	r->next_at = now + (pause < retry_after_ms ? retry_after_ms : pause);
	return before;
}

uint64_t reachability_due_at(const struct reachability *r)
{
	return r->is_probing || r->state == REACHABILITY_ANSWERS ? UINT64_MAX : r->next_at;
}

enum reachability_step reachability_next(struct reachability *r, uint64_t now)
{
	if (now < reachability_due_at(r))
		return REACHABILITY_NOTHING;
	if (r->is_unready) { /* next time the probe again */
		r->is_unready = false;
		r->next_at = now + choose_pause(r, REACHABILITY_PROBE_UNREADY, now);
		return REACHABILITY_TRY;
	}
	r->is_probing = true;
	return REACHABILITY_PROBE;
}
