/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A replica has one of RESOLVER_MAX places for its life: its reporter points there. All that are due at
 * one moment get the same bytes. All of them count as begun before the first is posted, for a post that
 * fails at once is answered from inside, and the owner may post again then.
 */

#include "agent/replicas.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"

#define LOOK_MS 30000u
#define LOOK_SOON_MS 2000u /* after the last one, when nobody answers a post */
#define HOST_CAP 256u

/* No other user of their fetcher watches connections. */
static_assert(RESOLVER_MAX <= LIMIT_FETCH_WATCHES, "the idle connection of each replica can be watched");

struct replicas {
	struct replicas_config config;
	struct replica_config of_each;
	char host[HOST_CAP];
	struct replica places[RESOLVER_MAX];
	struct delivery_pace pace;
	bool has_news; /* there has been something to say */
	struct resolver *resolver; /* NULL: nothing is looked up */
	struct loop_timer *look;
	uint64_t looked_at;
	bool look_failed; /* the last time */
	unsigned left_out;
};

static uint64_t now_ms(const struct replicas *replicas)
{
	return loop_now_ms(replicas->of_each.loop);
}

static bool is_used(const struct replica *replica)
{
	return replica->reporter != NULL;
}

/* Which replicas there are. */

static bool is_among(const struct resolver_result *result, const char *address)
{
	for (unsigned i = 0; i < result->n; i++) {
		if (strcmp(result->addresses[i], address) == 0)
			return true;
	}
	return false;
}

static bool is_known(const struct replicas *replicas, const char *address)
{
	for (unsigned i = 0; i < RESOLVER_MAX; i++) {
		const struct replica *replica = &replicas->places[i];
		if (is_used(replica) && strcmp(replica->address, address) == 0)
			return true;
	}
	return false;
}

static struct replica *find_place(struct replicas *replicas)
{
	struct replica *replica = replicas->places;
	while (is_used(replica))
		replica++;
	return replica;
}

/* An address for which there is no memory is added after the next look-up. */
static void add(struct replicas *replicas, const char *address)
{
	struct replica *replica = find_place(replicas);
	struct error err;
	if (replica_init(replica, &replicas->of_each, address, &err) < 0) {
		LOG_WARN("Replica of the controller could not be added",
			 LOG_TEXT("replica", view_from(address)), LOG_ERROR_FIELD(&err));
		return;
	}
	LOG_INFO("Replica of the controller found", LOG_TEXT("replica", view_from(address)));
	if (replicas->has_news)
		delivery_join(&replica->delivery, now_ms(replicas));
}

static void remove_others(struct replicas *replicas, const struct resolver_result *result)
{
	for (unsigned i = 0; i < RESOLVER_MAX; i++) {
		struct replica *replica = &replicas->places[i];
		if (!is_used(replica) || is_among(result, replica->address))
			continue;
		if (replica->address[0])
			LOG_INFO("Replica of the controller gone",
				 LOG_TEXT("replica", view_from(replica->address)));
		replica_deinit(replica);
	}
}

static void tell_left_out(struct replicas *replicas, unsigned left_out)
{
	if (left_out > 0 && left_out != replicas->left_out)
		LOG_WARN("Controller has too many replicas, some get no reports",
			 LOG_U64("limit", RESOLVER_MAX), LOG_U64("left_out", left_out));
	replicas->left_out = left_out;
}

static void fail_look(struct replicas *replicas, const struct error *err)
{
	if (!replicas->look_failed)
		LOG_WARN("Addresses of the controller could not be looked up",
			 LOG_TEXT("host", view_from(replicas->host)), LOG_ERROR_FIELD(err));
	replicas->look_failed = true;
}

static void on_looked_up(void *owner, const struct resolver_result *result)
{
	struct replicas *replicas = owner;
	if (result->n == 0) {
		fail_look(replicas, &result->error);
		return;
	}
	replicas->look_failed = false;
	tell_left_out(replicas, result->left_out);
	remove_others(replicas, result);
	for (unsigned i = 0; i < result->n; i++) {
		if (!is_known(replicas, result->addresses[i]))
			add(replicas, result->addresses[i]);
	}
	replicas->config.changed(replicas->config.owner);
}

static void on_look_due(void *owner)
{
	struct replicas *replicas = owner;
	struct error err;
	replicas->looked_at = now_ms(replicas);
	loop_timer_set(replicas->look, LOOK_MS);
	if (resolver_start(replicas->resolver, &err) < 0)
		fail_look(replicas, &err);
}

/* A post that nobody answers may go to an address that is no longer the controller's. */
static void look_soon(struct replicas *replicas)
{
	uint64_t now = now_ms(replicas);
	uint64_t at = replicas->looked_at + LOOK_SOON_MS;
	if (replicas->resolver)
		loop_timer_set(replicas->look, at > now ? at - now : 0);
}

/* Reports. */

static bool is_any_under_way(const struct replicas *replicas)
{
	for (unsigned i = 0; i < RESOLVER_MAX; i++) {
		if (replicas->places[i].delivery.under_way)
			return true;
	}
	return false;
}

static void on_answer(void *owner, const struct replica_answer *answer)
{
	struct replicas *replicas = owner;
	const struct replicas_answer told = {
		.accepted = answer->verdict == DELIVERY_ACCEPTED,
		.others_wait = is_any_under_way(replicas),
		.acknowledged_events = answer->acknowledged_events,
		.error = answer->error,
	};
	if (answer->verdict == DELIVERY_UNREACHABLE)
		look_soon(replicas);
	replicas->config.answered(replicas->config.owner, &told);
}

static void on_disconnected(void *owner)
{
	struct replicas *replicas = owner;
	replicas->config.changed(replicas->config.owner);
}

void replicas_changed(struct replicas *replicas)
{
	replicas->has_news = true;
	for (unsigned i = 0; i < RESOLVER_MAX; i++) {
		if (is_used(&replicas->places[i]))
			delivery_changed(&replicas->places[i].delivery, now_ms(replicas));
	}
}

uint64_t replicas_next_at(const struct replicas *replicas)
{
	uint64_t next = DELIVERY_NEVER;
	for (unsigned i = 0; i < RESOLVER_MAX; i++) {
		const struct replica *replica = &replicas->places[i];
		uint64_t at = is_used(replica) ? delivery_next_at(&replica->delivery) : DELIVERY_NEVER;
		next = at < next ? at : next;
	}
	return next;
}

static unsigned begin_due(struct replicas *replicas, struct replica *ret_due[static RESOLVER_MAX])
{
	unsigned n = 0;
	for (unsigned i = 0; i < RESOLVER_MAX; i++) {
		struct replica *replica = &replicas->places[i];
		if (is_used(replica) && delivery_next_at(&replica->delivery) <= now_ms(replicas))
			ret_due[n++] = replica;
	}
	if (n > 0)
		delivery_make(&replicas->pace, now_ms(replicas));
	for (unsigned i = 0; i < n; i++)
		delivery_begin(&ret_due[i]->delivery);
	return n;
}

void replicas_post(struct replicas *replicas)
{
	CLEANUP(sbuf_deinit) struct sbuf body;
	struct replica *due[RESOLVER_MAX];
	struct error err;
	const struct delivery_pace *pace = &replicas->pace;
	sbuf_init(&body, LIMIT_REPORT_BYTES);
	unsigned n = begin_due(replicas, due);
	if (n == 0)
		return;
	bool is_made = replicas->config.make(replicas->config.owner, pace->instance, pace->sequence,
					     &body, &err) == 0;
	for (unsigned i = 0; i < n; i++) {
		if (is_made)
			replica_post(due[i], sbuf_view(&body));
		else
			replica_give_up(due[i], &err);
	}
}

int64_t replicas_instance(const struct replicas *replicas)
{
	return replicas->pace.instance;
}

uint32_t replicas_heartbeat_ms(const struct replicas *replicas)
{
	return replicas->pace.heartbeat_ms;
}

unsigned replicas_left_out(const struct replicas *replicas)
{
	return replicas->left_out;
}

/* Beginning and end. */

/* https://HOST, https://HOST:PORT or https://[ADDRESS]:PORT */
static int copy_host(struct replicas *replicas, struct error *err)
{
	struct view scheme, server, host, port;
	view_cut(view_from(replicas->config.reporter.controller), VIEW("://"), &scheme, &server);
	if (view_starts_with(server, VIEW("[")))
		view_cut(view_from_offset(server, 1), VIEW("]"), &host, &port);
	else
		view_cut(server, VIEW(":"), &host, &port);
	if (host.len == 0 || host.len >= HOST_CAP)
		return error_set(err, ERROR_REJECTED, 0, "no host, or one that is too long, in %s",
				 replicas->config.reporter.controller);
	view_copy(host, replicas->host);
	return 0;
}

static int open_resolver(struct replicas *replicas, struct error *err)
{
	struct loop *loop = replicas->of_each.loop;
	if (!replicas->config.looks_up || resolver_is_address(replicas->host))
		return 0;
	if (resolver_new(loop, replicas->host, on_looked_up, replicas, &replicas->resolver, err) < 0 ||
	    loop_timer_new(loop, on_look_due, replicas, &replicas->look, err) < 0)
		return -1;
	loop_timer_set(replicas->look, 0);
	return 0;
}

static void freep(struct replicas **replicas)
{
	replicas_free(*replicas);
}

int replicas_new(struct loop *loop, struct fetcher *fetcher, const struct replicas_config *config,
		 struct replicas **ret_replicas, struct error *err)
{
	CLEANUP(freep) struct replicas *replicas = calloc(1, sizeof(*replicas));
	if (!replicas)
		return error_no_memory(err);
	replicas->config = *config;
	replicas->of_each = (struct replica_config){
		.loop = loop,
		.fetcher = fetcher,
		.reporter = config->reporter,
		.pace = &replicas->pace,
		.answered = on_answer,
		.disconnected = on_disconnected,
		.owner = replicas,
	};
	delivery_pace_init(&replicas->pace, &config->delivery, config->seed);
	if (copy_host(replicas, err) < 0 || open_resolver(replicas, err) < 0 ||
	    replica_init(&replicas->places[0], &replicas->of_each, "", err) < 0)
		return -1;
	*ret_replicas = TAKE(replicas);
	return 0;
}

void replicas_free(struct replicas *replicas)
{
	if (!replicas)
		return;
	resolver_free(replicas->resolver);
	loop_timer_free(replicas->look);
	for (unsigned i = 0; i < RESOLVER_MAX; i++)
		replica_deinit(&replicas->places[i]);
	free(replicas);
}
