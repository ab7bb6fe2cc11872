/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * runner - runs one reflector over the network. It asks what to do next, starts the request and
 * hands on what comes. It sets one timer for the time that the reflector named.
 *
 * Threads: the loop's.
 */

#include "base/error.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "kube/reflector.h"

/* The client that a runner belongs to. */
struct runner_host {
	void *owner;
	struct loop *loop;
	/* May a request be begun? If not, the runner stops until runner_go_ahead(). */
	bool (*may_begin)(void *owner);
	/* As fetch_start(). */
	int (*start)(void *owner, const struct reflector_request *request,
		     const struct fetch_handler *handler, struct fetch **ret_fetch,
		     struct error *err);
	/* The head of an answer has come; is_recovery: the request before it failed for the server. */
	void (*answered)(void *owner, int status, bool is_recovery);
	/* More of an answer that began with 200 has come. */
	void (*heard)(void *owner);
	/* A request has failed, before or after its head; waited_ms: for how long nothing had come. */
	void (*failed)(void *owner, bool was_answered, uint64_t waited_ms,
		       const struct error *error);
	/* A list has ended or failed, so long after it was begun. Watches are not told of. */
	void (*list_ended)(void *owner, uint64_t took_ms);
	/*
	 * Nothing is under way, and the reflector wants nothing yet: what may_begin() granted is not
	 * needed. NULL: nobody cares.
	 */
	void (*rests)(void *owner);
};

struct runner;

/* Begins at the loop's next turn. host is copied; the reflector stays the caller's. */
MUST_USE int runner_new(const struct runner_host *host, struct reflector *reflector,
			struct runner **ret_runner, struct error *err);
/* Cancels what is under way. Accepts NULL. */
void runner_free(struct runner *runner);

/* True when no request is under way. */
bool runner_is_idle(const struct runner *runner);
/* Asks the reflector at the loop's next turn what to do, if no request is under way. */
void runner_wake(struct runner *runner);
/* Goes on within jitter_ms if it waited for the server (reflector_hasten()). */
void runner_go_ahead(struct runner *runner, uint32_t jitter_ms, enum reflector_haste haste);
/*
 * The server answers again. What is under way, and brought nothing since silent_since (ms; 0: never
 * mind), or has waited for its head for RUNNER_HEADLESS_MS, may be lost. Ends it; the host is told of
 * no failure; runner_go_ahead() continues. True: there was no head.
 */
bool runner_drop_lost(struct runner *runner, uint64_t silent_since);
/*
 * Begins the next request at once, whatever may_begin() says. False: it waits for something else than
 * the server. The runner must be idle.
 */
bool runner_try(struct runner *runner);

#define RUNNER_HEADLESS_MS 5000u
