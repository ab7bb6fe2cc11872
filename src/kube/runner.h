/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * runner - runs one reflector over the network: asks what to do next, starts the request, hands on
 * what comes, and sets one timer for the time that the reflector named.
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
	/* The head of an answer has come. */
	void (*answered)(void *owner, int status);
	/* A request has failed, before or after its head. */
	void (*failed)(void *owner, bool was_answered, const struct error *error);
};

struct runner;

/* Begins at the loop's next turn. host is copied; the reflector stays the caller's. */
MUST_USE int runner_new(const struct runner_host *host, struct reflector *reflector,
			struct runner **ret_runner, struct error *err);
/* Cancels what is under way. Accepts NULL. */
void runner_free(struct runner *runner);

/* True when no request is under way. */
bool runner_is_idle(const struct runner *runner);
/*
 * The server answers: goes on within jitter_ms if it waited for that (reflector_hasten()). was_away: a
 * request that got no head in RUNNER_HEADLESS_MS is given up and sent anew; true: that is so.
 */
bool runner_go_ahead(struct runner *runner, uint32_t jitter_ms, bool was_away);
/*
 * Begins the next request at once, whatever may_begin() says. False: it waits for something else than
 * the server. The runner must be idle.
 */
bool runner_try(struct runner *runner);

#define RUNNER_HEADLESS_MS 5000u
