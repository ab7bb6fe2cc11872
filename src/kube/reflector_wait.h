/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reflector_wait - when a reflector may send its next request: at once, after a back-off, when the
 * server said so, or sooner because the server is back. Used by reflector only.
 *
 * A back-off is forgotten by success, never by time alone. That happens
 * - when a watch has been open for long, as the reflector says (reflector_wait_forget());
 * - when the server was away and answers anybody again (reflector_wait_hasten());
 * - when a refusal (401, 403) is over: the resource is followed again, or something else has failed.
 *   If it is followed by an expired position at once, the back-off stays: a storm of 410 keeps it.
 *
 * Threads: owner.
 * Limits:  a back-off is at most 30 s; what the server asks for is heeded whatever it is.
 */

#include "base/backoff.h"
#include "base/error.h"
#include "base/prng.h"
#include "kube/reflector.h"

/* Others read `until`; the rest is this module's. */
struct reflector_wait {
	uint64_t until; /* monotonic ms; nothing is requested before */
	struct backoff backoff;
	bool is_for_server; /* until then, and for nothing else */
	bool is_for_return; /* the same, for what a server that starts may do: 401, 403, 410 */
	bool is_hastened[REFLECTOR_BACK]; /* for that reason, since all was forgotten */
	unsigned n_told;                  /* how often it was told when to come again, since then */
	enum error_kind last_failure;
};

/* Waits for nothing; no failure yet. */
void reflector_wait_init(struct reflector_wait *wait);
/* Nothing before `at` (monotonic ms, here and below), and no haste shortens that. */
void reflector_wait_until(struct reflector_wait *wait, uint64_t at);
/* A request has failed: waits for a back-off, and not less than the server asked for. */
void reflector_wait_back_off(struct reflector_wait *wait, struct prng *prng,
			     const struct error *why, uint64_t now);
/* The resource is followed. Who may list and may not watch is still refused. */
void reflector_wait_end_refusal(struct reflector_wait *wait);
/* There is no memory to make a request: waits for as long as after a first failure. */
void reflector_wait_for_memory(struct reflector_wait *wait, uint64_t now);
/* Waits until `at` at most, whatever it waits for. */
void reflector_wait_shorten(struct reflector_wait *wait, uint64_t at);
/*
 * What reflector_hasten() says of the wait. is_busy: a request is under way, so there is nothing to
 * shorten.
 */
void reflector_wait_hasten(struct reflector_wait *wait, uint64_t at, enum reflector_haste haste,
			   bool is_busy);
/* A success that counts: the next back-off starts from the beginning. */
void reflector_wait_forget(struct reflector_wait *wait);
