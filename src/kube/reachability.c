/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How often to probe: the pause is an eighth of the time for which probes have ended alike, within
 * bounds. One that ends otherwise is news: a server that was silent and now says 500 is starting. After
 * a few of them in one outage it is not.
 *
 * Where nothing listens a probe bothers no server, and one may be back at any moment: 1 s to 2 s. A
 * server that is reached and does not work has most often just been started, or it is overloaded:
 * 0.5 s to 5 s. Six watches, each with a back-off of up to 30 s, make about as many requests in the
 * first minute, and one in 5 s after it. So a long outage has more probes that are refused than they
 * would make requests, and no more that reach a server.
 *
 * By turns with the probe a request is let go ahead. If that one is refused (401, 403) it proves nothing,
 * and the probe follows at once: of a resource that may never be read nothing else can be learnt.
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
#define CHANGES_HEEDED 8u
#define SILENCE_MS 2000u

void reachability_init(struct reachability *r, uint64_t seed)
{
	*r = (struct reachability){.state = REACHABILITY_ANSWERS, .is_proven = true};
	prng_init(&r->prng, seed);
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static enum reachability_state end_doubt(struct reachability *r, bool is_proven, uint64_t now)
{
	enum reachability_state before = r->state;
	if (before != REACHABILITY_ANSWERS || (is_proven && !r->is_proven))
		r->answers_since = now;
	if (before == REACHABILITY_AWAY)
		r->is_unsettled = !r->was_steady;
	r->is_proven = is_proven;
	r->state = REACHABILITY_ANSWERS;
	r->is_try_next = false;
	return before;
}

enum reachability_state reachability_answered(struct reachability *r, uint64_t now)
{
	return end_doubt(r, true, now);
}

enum reachability_state reachability_heard(struct reachability *r, uint64_t now)
{
	if (r->state == REACHABILITY_ANSWERS || !r->was_steady)
		return REACHABILITY_ANSWERS;
	return end_doubt(r, false, now);
}

/* Shorter waits are those of a server that refuses, or of a busy one. */
static void note_silence(struct reachability *r, uint64_t waited_ms, uint64_t now)
{
	if (waited_ms >= SILENCE_MS && now - waited_ms > r->silent_since)
		r->silent_since = now - waited_ms;
}

void reachability_failed(struct reachability *r, uint64_t waited_ms, uint64_t now)
{
	if (r->state == REACHABILITY_ANSWERS)
		r->silent_since = 0;
	note_silence(r, waited_ms, now);
	if (r->state != REACHABILITY_ANSWERS)
		return;
	r->state = REACHABILITY_DOUBTED;
	r->was_steady = r->is_proven &&
			(r->answers_since == 0 || now - r->answers_since >= REACHABILITY_STEADY_MS);
	/* A second after the last probe, whatever that one was told to wait. */
	r->next_at = clamp(r->next_at, now, now + PROBE_MS);
}

void reachability_refused(struct reachability *r, uint64_t now)
{
	if (r->state == REACHABILITY_AWAY && !r->is_probing && !r->is_try_next)
		r->next_at = now;
}

/* Never longer than stated: the jitter only shortens it. */
static uint64_t choose_pause(struct reachability *r, enum reachability_probe outcome, uint64_t now)
{
	bool is_refused = outcome == REACHABILITY_PROBE_REFUSED;
	assert(outcome != REACHABILITY_PROBE_ANSWERED);
	if (r->state != REACHABILITY_AWAY)
		r->n_changes = 0;
	if ((outcome != r->outcome && r->n_changes++ < CHANGES_HEEDED) ||
	    r->state != REACHABILITY_AWAY)
		r->same_since = now;
	r->outcome = outcome;
	assert(now >= r->same_since);
	uint64_t low = is_refused ? PROBE_MS : PROBE_MIN_MS;
	uint64_t high = is_refused ? PROBE_REFUSED_MAX_MS : PROBE_MAX_MS;
	uint64_t pause = clamp((now - r->same_since) / GROWTH, low, high);
	return pause - prng_between(&r->prng, 0, pause / 5);
}

enum reachability_state reachability_probed(struct reachability *r, enum reachability_probe outcome,
					    uint32_t retry_after_ms, uint64_t now)
{
	assert(r->is_probing);
	enum reachability_state before = r->state;
	r->is_probing = false;
	if (before == REACHABILITY_ANSWERS) /* that doubt is over, and was acted upon */
		r->silent_since = 0;
	if (outcome == REACHABILITY_PROBE_FAILED)
		note_silence(r, now - r->probed_at, now);
	if (outcome == REACHABILITY_PROBE_ANSWERED) {
		r->next_at = now + PROBE_MS;
		return reachability_answered(r, now);
	}
	/* Somebody else was answered meanwhile: the server works, whatever became of the probe. */
	if (before == REACHABILITY_ANSWERS) {
		r->next_at = now + PROBE_MS;
		return before;
	}
	uint64_t pause = choose_pause(r, outcome, now);
	r->state = REACHABILITY_AWAY;
	r->is_try_next = outcome != REACHABILITY_PROBE_REFUSED;
	r->next_at = now + (pause < retry_after_ms ? retry_after_ms : pause);
	return before;
}

uint64_t reachability_silent_since(const struct reachability *r)
{
	return r->silent_since;
}

uint64_t reachability_due_at(const struct reachability *r)
{
	if (r->state == REACHABILITY_ANSWERS)
		return r->is_unsettled ? r->answers_since + REACHABILITY_STEADY_MS : UINT64_MAX;
	return r->is_probing ? UINT64_MAX : r->next_at;
}

enum reachability_step reachability_next(struct reachability *r, uint64_t now)
{
	if (now < reachability_due_at(r))
		return REACHABILITY_NOTHING;
	assert(!r->is_probing || r->state == REACHABILITY_ANSWERS);
	if (r->state == REACHABILITY_ANSWERS) {
		r->is_unsettled = false;
		return REACHABILITY_SETTLED;
	}
	if (r->is_try_next) {
		r->is_try_next = false;
		r->next_at = now + choose_pause(r, r->outcome, now);
		return REACHABILITY_TRY;
	}
	r->is_probing = true;
	r->probed_at = now;
	return REACHABILITY_PROBE;
}
