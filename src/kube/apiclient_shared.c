/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A member stands between its runner and the client: it asks the gate, sends to the shared
 * connections, and hands on all else. It keeps its pass from a list to the watch that follows.
 *
 * A pass is given back at the head of a watch, or when the runner rests. While the server is doubted
 * a runner may hold a pass and not go on. All go on then, so none is lost.
 */

#include "kube/apiclient_shared.h"

#include <assert.h>
#include <stdlib.h>

#include "kube/reachability.h"

#define TELL_MS 1000u

struct member {
	struct table_node node;
	struct apiclient_shared *shared;
	struct reflector *reflector;
	struct runner *runner;
	struct start_gate_pass pass;
	struct fetch *fetch; /* the last that was started; borrowed from the runner while its head comes */
	bool is_watch;       /* that one is */
};

static struct member *member_of(const struct table_node *node)
{
	return CONTAINER_OF(node, struct member, node);
}

/* The address of the reflector. */
static struct view key_of(const struct table_node *node)
{
	return (struct view){(const char *)&member_of(node)->reflector,
			     sizeof(member_of(node)->reflector)};
}

static struct member *find(const struct apiclient_shared *shared, struct reflector *reflector)
{
	struct table_node *node = table_find(
		&shared->by_reflector, (struct view){(const char *)&reflector, sizeof(reflector)});
	return node ? member_of(node) : NULL;
}

static void give_pass_back(struct member *member)
{
	struct start_gate_pass *next = start_gate_return(&member->shared->gate, &member->pass);
	if (next)
		runner_wake(CONTAINER_OF(next, struct member, pass)->runner);
}

/* The runner's host. */

static bool may_begin(void *owner)
{
	struct member *member = owner;
	struct apiclient_shared *shared = member->shared;
	return !shared->is_refused && shared->host.may_begin(shared->host.owner) &&
	       start_gate_ask(&shared->gate, &member->pass);
}

static int start(void *owner, const struct reflector_request *wanted,
		 const struct fetch_handler *handler, struct fetch **ret_fetch, struct error *err)
{
	struct member *member = owner;
	const struct apiclient_endpoint_request request = {
		.method = "GET", .path = wanted->path, .accept = wanted->accept, .is_shared = true};
	assert(member->pass.is_held);
	member->is_watch = wanted->is_watch;
	if (apiclient_endpoint_start(member->shared->endpoint, &request, handler, ret_fetch, err) != 0)
		return -1;
	member->fetch = *ret_fetch;
	return 0;
}

static void note_protocol(struct member *member)
{
	struct apiclient_shared *shared = member->shared;
	if (shared->is_refused || fetch_is_http2(member->fetch))
		return;
	shared->is_refused = true;
	shared->refused(shared->host.owner);
}

static void answered(void *owner, int status, bool is_recovery)
{
	struct member *member = owner;
	struct apiclient_shared *shared = member->shared;
	note_protocol(member);
	if (member->is_watch && status == 200)
		give_pass_back(member);
	shared->host.answered(shared->host.owner, status, is_recovery);
}

static void heard(void *owner)
{
	const struct runner_host *host = &((struct member *)owner)->shared->host;
	host->heard(host->owner);
}

static void failed(void *owner, bool was_answered, uint64_t waited_ms, const struct error *error)
{
	const struct runner_host *host = &((struct member *)owner)->shared->host;
	host->failed(host->owner, was_answered, waited_ms, error);
}

static void list_ended(void *owner, uint64_t took_ms)
{
	const struct runner_host *host = &((struct member *)owner)->shared->host;
	host->list_ended(host->owner, took_ms);
}

static void rests(void *owner)
{
	give_pass_back(owner);
}

/* Members. */

/* Streams that are open stay where they are. */
static void spread_streams(const struct apiclient_shared *shared)
{
	const size_t n = (shared->by_reflector.count + shared->n_connections - 1) / shared->n_connections;

	fetcher_limit_streams(shared->endpoint->shared, n < APICLIENT_SHARED_STREAMS ? APICLIENT_SHARED_STREAMS
							: n < FETCH_STREAMS ? (uint32_t)n
									    : FETCH_STREAMS);
}

static void free_member(struct member *member)
{
	runner_free(member->runner);
	give_pass_back(member);
	free(member);
}

int apiclient_shared_run(struct apiclient_shared *shared, struct reflector *reflector,
			 struct error *err)
{
	struct runner_host host = shared->host;
	struct member *member;
	if (shared->by_reflector.count >= APICLIENT_SHARED_MAX) {
		shared->n_over++;
		return error_set(err, ERROR_LIMIT, 0, "more than %u reflectors share connections",
				 APICLIENT_SHARED_MAX);
	}
	if (table_reserve(&shared->by_reflector, err) != 0)
		return -1;
	member = calloc(1, sizeof(*member));
	if (!member)
		return error_no_memory(err);
	*member = (struct member){.shared = shared, .reflector = reflector};
	start_gate_pass_init(&member->pass);
	host = (struct runner_host){member, host.loop, may_begin,  start, answered,
				    heard,  failed,    list_ended, rests};
	if (runner_new(&host, reflector, &member->runner, err) != 0 ||
	    table_add(&shared->by_reflector, &member->node, err) != 0) {
		free_member(member);
		return -1;
	}
	spread_streams(shared);
	return 0;
}

void apiclient_shared_stop(struct apiclient_shared *shared, struct reflector *reflector)
{
	struct member *member = find(shared, reflector);
	if (!member)
		return;
	table_remove(&shared->by_reflector, &member->node);
	free_member(member);
	spread_streams(shared);
}

void apiclient_shared_nudge(struct apiclient_shared *shared, struct reflector *reflector)
{
	struct member *member = find(shared, reflector);
	if (member)
		runner_wake(member->runner);
}

void apiclient_shared_hasten(struct apiclient_shared *shared, struct prng *prng,
			     enum reflector_haste haste)
{
	struct table_node *node = NULL;
	uint64_t now = loop_now_ms(shared->host.loop);
	if (haste == REFLECTOR_RECOVERED && shared->told_at > 0 && now - shared->told_at < TELL_MS)
		return;
	if (haste == REFLECTOR_RECOVERED)
		shared->told_at = now;
	while ((node = table_next(&shared->by_reflector, node)))
		runner_go_ahead(member_of(node)->runner,
				(uint32_t)prng_between(prng, 0, REACHABILITY_JITTER_MS), haste);
}

unsigned apiclient_shared_drop_lost(struct apiclient_shared *shared, uint64_t silent_since)
{
	struct table_node *node = NULL;
	unsigned n = 0;
	while ((node = table_next(&shared->by_reflector, node)))
		n += runner_drop_lost(member_of(node)->runner, silent_since);
	return n;
}

/* All of them. */

void apiclient_shared_init(struct apiclient_shared *shared, struct apiclient_endpoint *endpoint,
			   const struct runner_host *host, void (*refused)(void *owner))
{
	*shared = (struct apiclient_shared){.endpoint = endpoint, .host = *host, .refused = refused};
	shared->n_connections = APICLIENT_SHARED_CONNECTIONS;
	start_gate_init(&shared->gate, APICLIENT_SHARED_AT_ONCE);
	table_init(&shared->by_reflector, key_of);
}

void apiclient_shared_deinit(struct apiclient_shared *shared)
{
	struct table_node *node;
	while (shared->by_reflector.count > 0 && (node = table_next(&shared->by_reflector, NULL))) {
		table_remove(&shared->by_reflector, node);
		free_member(member_of(node));
	}
	table_deinit(&shared->by_reflector);
}
