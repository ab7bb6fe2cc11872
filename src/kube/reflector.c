/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The state machine: what to request next. Its parts are
 *
 *	reflector_query      what the next request asks for
 *	reflector_exchange   the request under way: its answer, and for how long it is silent
 *	reflector_list       reads the body of a list, \
 *	reflector_watch      and of a watch,            > which goes to
 *	reflector_output     the sink                  /
 *	reflector_position   the version from which a watch goes on
 *	reflector_verdict    what comes after an answer that was of no use
 *	reflector_wait       when the next request may be sent
 *	reflector_failure    what is wrong, in words, and since when we are refused
 *
 * `kind` is what the present request asks for, or the next one when none is under way:
 *
 *	LIST --> PAGE --> WATCH        PAGE only while the server gives a continue token
 *	STREAM ---------> WATCH        on the same answer, at the bookmark that ends the initial events
 *
 * Each end of an answer sets `kind`, and when the next request may be sent:
 *
 *	| end of the answer        | next request                | when                               |
 *	|--------------------------|-----------------------------|------------------------------------|
 *	| list complete            | WATCH                       | at once                            |
 *	| watch ended              | WATCH                       | at once, but see 1                 |
 *	| no connection            | the same                    | after a back-off                   |
 *	| anything else            | see reflector_verdict.h     | see 2                              |
 *
 * 1. After a back-off if the watch lived less than a second without an event. A server that hangs
 *    up must not make us spin.
 * 2. After 401 and 403 `failure` holds advice. After 403 for REFLECTOR_DENIED_MS the first state
 *    is requested, and the sink is told.
 *
 * How long a back-off is, and what ends it, is in reflector_wait.h.
 *
 * A server that hangs keeps its connections and sends nothing. A working server sends a bookmark a
 * minute, so a watch on which nothing came for so long is ended (reflector_exchange_silent_at()). A
 * server that never sent a bookmark may not support them: its second watch in a row may be silent
 * to its end.
 *
 * An etcd may be restored to an older state. Its server then accepts a watch from a version that it
 * has not reached. It sends nothing, not even bookmarks, until it gets there. So after two long
 * watches in a row without an event or a bookmark the reflector lists. Such a server refuses the
 * list as "too large".
 *
 * Behaviour that was checked against client-go's tools/cache/reflector.go is listed in
 * tests/unit/reflector_test.c.
 */

#include "kube/reflector.h"

#include <assert.h>
#include <stdlib.h>

#include "base/prng.h"
#include "kube/reflector_exchange.h"
#include "kube/reflector_failure.h"
#include "kube/reflector_list.h"
#include "kube/reflector_output.h"
#include "kube/reflector_position.h"
#include "kube/reflector_query.h"
#include "kube/reflector_verdict.h"
#include "kube/reflector_wait.h"
#include "kube/reflector_watch.h"

#define WATCH_MIN_S 300u
#define WATCH_MAX_S 600u
#define SHORT_WATCH_MS 1000u
#define GOOD_WATCH_MS 10000u
#define SILENT_WATCHES 2u

struct reflector {
	struct reflector_config config;
	struct prng prng;
	struct reflector_query query;
	struct reflector_exchange exchange;
	struct reflector_list list;
	struct reflector_watch watch;
	struct reflector_output output;
	struct reflector_position position;
	struct reflector_wait wait;
	struct reflector_failure failure;

	bool was_streamed; /* the watch under way began with all objects, and they are here */
	bool progress_since_list;
	unsigned silent_watches; /* in a row */
	bool synced;
	bool absent;
	uint64_t n_lists, n_watches, n_relists_expired, n_failures;
};

static void reflector_freep(struct reflector **reflector)
{
	reflector_free(*reflector);
}

int reflector_new(const struct reflector_config *config, const struct reflector_sink *sink,
		  struct reflector **ret_reflector, struct error *err)
{
	CLEANUP(reflector_freep) struct reflector *r = calloc(1, sizeof(*r));
	if (!r)
		return error_no_memory(err);
	assert(config->page_size > 0 || config->initial != REFLECTOR_PAGES);
	r->config = *config;
	prng_init(&r->prng, config->seed);
	reflector_query_init(&r->query, config);
	reflector_exchange_init(&r->exchange);
	reflector_output_init(&r->output, sink);
	reflector_position_init(&r->position);
	reflector_list_init(&r->list, config->resource, &r->output);
	reflector_watch_init(&r->watch, config->resource, &r->output, &r->position);
	reflector_wait_init(&r->wait);
	*ret_reflector = TAKE(r);
	return 0;
}

void reflector_free(struct reflector *r)
{
	if (!r)
		return;
	reflector_query_deinit(&r->query);
	reflector_exchange_deinit(&r->exchange);
	reflector_list_deinit(&r->list);
	reflector_watch_deinit(&r->watch);
	reflector_position_deinit(&r->position);
	free(r);
}

/* Requests. */

static void begin_request(struct reflector *r, uint32_t timeout_s, uint64_t now)
{
	assert(now >= r->wait.until);
	reflector_exchange_begin(&r->exchange, timeout_s, now);
	r->was_streamed = false;
	if (reflector_query_is_watch(&r->query)) {
		r->n_watches++;
		reflector_watch_begin(&r->watch, r->query.kind == LIST_QUERY_STREAM);
	} else {
		r->n_lists++;
		reflector_list_begin(&r->list);
	}
}

/* When to give up on the answer under way, as things are. */
static uint64_t deadline(const struct reflector *r)
{
	uint64_t silent = reflector_exchange_silent_at(&r->exchange);
	uint64_t over = reflector_exchange_over_at(&r->exchange);
	if (r->query.kind != LIST_QUERY_WATCH || !r->exchange.is_answered)
		return silent;
	if (!r->watch.has_bookmarks && r->silent_watches > 0)
		return over;
	return silent < over ? silent : over;
}

enum reflector_step reflector_next(struct reflector *r, uint64_t now,
				   struct reflector_request *ret_request)
{
	*ret_request = (struct reflector_request){.wait_until = r->wait.until};
	if (r->exchange.is_busy) {
		ret_request->wait_until = deadline(r);
		return now < ret_request->wait_until ? REFLECTOR_BUSY : REFLECTOR_GIVE_UP;
	}
	if (now < r->wait.until)
		return REFLECTOR_WAIT;
	uint32_t timeout_s = (uint32_t)prng_between(&r->prng, WATCH_MIN_S, WATCH_MAX_S);
	const char *path = reflector_query_path(&r->query, sbuf_view(&r->position.version),
						timeout_s);
	if (!path) { /* no memory: as if the server were away for a moment */
		reflector_wait_for_memory(&r->wait, now);
		ret_request->wait_until = r->wait.until;
		return REFLECTOR_WAIT;
	}
	begin_request(r, timeout_s, now);
	ret_request->path = path;
	ret_request->accept = resource_accept(r->config.resource,
					      reflector_query_is_watch(&r->query));
	ret_request->is_watch = reflector_query_is_watch(&r->query);
	return REFLECTOR_REQUEST;
}

/* What comes next, and when. */

/* There is nothing that we were not told of. */
static void set_followed(struct reflector *r)
{
	reflector_failure_end_refusal(&r->failure);
	reflector_wait_end_refusal(&r->wait);
	reflector_output_set_denied(&r->output, false);
	reflector_output_set_followed(&r->output, true);
}

/* What fails otherwise may soon be well; what was told stays so until it is. */
static bool is_refused_for_long(struct reflector *r, const struct error *why, uint64_t now)
{
	bool is_refusal = why->kind == ERROR_DENIED && r->exchange.status == 403 && r->synced;
	return reflector_failure_note_refusal(&r->failure, is_refusal, now) ||
	       r->output.is_told_denied;
}

/* The next request is of `kind`, after a back-off and not before what the server asked for. */
static void back_off(struct reflector *r, enum list_query_kind kind, const struct error *why,
		     uint64_t now)
{
	assert(!r->exchange.is_busy && why->kind != ERROR_NONE);
	reflector_failure_set(&r->failure, r->config.resource, reflector_query_is_watch(&r->query),
			      r->exchange.status, why);
	r->n_failures++;
	/* What happens meanwhile is to be there, all of it, before it is said that all is well. */
	if (is_refused_for_long(r, why, now)) {
		kind = reflector_query_first(&r->query);
		r->query.is_newest = true;
		reflector_output_set_denied(&r->output, true);
	}
	reflector_wait_back_off(&r->wait, &r->prng, why, now);
	r->query.kind = kind;
}

void reflector_hasten(struct reflector *r, uint64_t at, enum reflector_haste haste)
{
	/* A server that has just started refuses, each time anew. */
	reflector_failure_end_refusal(&r->failure);
	if (haste == REFLECTOR_BACK) /* which is also why its position may have expired */
		r->progress_since_list = true;
	reflector_wait_hasten(&r->wait, at, haste, r->exchange.is_busy);
}

void reflector_look_again(struct reflector *r, uint32_t absent_retry_ms, uint64_t now)
{
	r->config.absent_retry_ms = absent_retry_ms;
	if (r->absent && !r->exchange.is_busy)
		reflector_wait_shorten(&r->wait, now);
}

static void go_on(struct reflector *r, enum list_query_kind kind, uint64_t now)
{
	r->query.kind = kind;
	reflector_wait_until(&r->wait, now);
}

/* The position of the watch is lost. Without progress since the last list this would go round. */
static void list_again(struct reflector *r, const struct error *why, uint64_t now)
{
	assert(why->kind == ERROR_EXPIRED);
	r->n_relists_expired++;
	if (r->progress_since_list)
		go_on(r, reflector_query_first(&r->query), now);
	else
		back_off(r, reflector_query_first(&r->query), why, now);
	r->progress_since_list = false;
}

/* Who has no handler for it cannot do without the resource: that is trouble, not a state. */
static void become_absent(struct reflector *r, uint64_t now)
{
	const struct reflector_sink *sink = &r->output.sink;
	uint32_t wait = r->config.absent_retry_ms;
	assert(!r->exchange.is_busy && r->exchange.status == 404);
	reflector_failure_clear(&r->failure);
	if (!sink->absent)
		reflector_failure_set_absent(&r->failure, r->config.resource);
	else if (!r->absent)
		sink->absent(sink->owner);
	if (sink->absent)
		set_followed(r);
	r->synced = sink->absent != NULL;
	r->absent = true;
	r->query.is_newest = false;
	reflector_position_forget(&r->position);
	r->query.kind = reflector_query_first(&r->query);
	reflector_wait_until(&r->wait, now + wait + prng_between(&r->prng, 0, wait / 10));
}

/* A complete state of this version has arrived. */
static void synchronise(struct reflector *r, struct view version, uint64_t now)
{
	assert(reflector_exchange_is_good(&r->exchange));
	reflector_position_set(&r->position, version);
	r->output.sink.replace_end(r->output.sink.owner);
	r->synced = true;
	r->query.is_newest = false;
	r->query.is_whole = false;
	r->silent_watches = 0;
	r->progress_since_list = false;
	reflector_failure_clear(&r->failure);
	go_on(r, LIST_QUERY_WATCH, now);
}

/* Heads. */

static bool has_expected_type(const struct reflector *r, struct view content_type)
{
	return view_starts_with(content_type, view_from(resource_media_type(r->config.resource)));
}

static void begin_watch(struct reflector *r)
{
	reflector_failure_clear(&r->failure);
	set_followed(r);
}

static void begin_objects(struct reflector *r)
{
	r->absent = false;
	if (r->query.kind == LIST_QUERY_WATCH)
		begin_watch(r);
	else
		reflector_output_set_followed(&r->output, false); /* it was absent, perhaps */
	if (r->query.kind == LIST_QUERY_LIST || r->query.kind == LIST_QUERY_STREAM)
		r->output.sink.replace_begin(r->output.sink.owner);
}

void reflector_answered(struct reflector *r, int status, uint32_t retry_after_ms,
			struct view content_type, uint64_t now)
{
	struct error err;
	reflector_exchange_answer(&r->exchange, status, retry_after_ms, now);
	if (status != 200)
		return;
	if (has_expected_type(r, content_type)) {
		begin_objects(r);
		return;
	}
	error_set(&err, ERROR_REJECTED, 0, "answered with %.*s, not %s", VIEW_ARG(content_type),
		  resource_media_type(r->config.resource));
	reflector_exchange_break(&r->exchange, &err);
}

/* Bodies. */

/* All objects that there were are here, up to a bookmark. What comes next are changes. */
static void end_initial_events(struct reflector *r, const struct object_meta *bookmark,
			       uint64_t now)
{
	synchronise(r, bookmark->resource_version, now);
	set_followed(r);
	r->was_streamed = true;
	reflector_watch_go_on(&r->watch, bookmark);
}

static int feed_watch(struct reflector *r, struct view input, uint64_t now, struct error *err)
{
	struct object_meta bookmark;
	enum reflector_watch_step step;
	while ((step = reflector_watch_next(&r->watch, &input, &bookmark, err)) ==
	       REFLECTOR_WATCH_COMPLETE)
		end_initial_events(r, &bookmark, now);
	if (r->watch.has_moved)
		r->progress_since_list = true;
	return step == REFLECTOR_WATCH_FAILED ? -1 : 0;
}

int reflector_feed(struct reflector *r, struct view bytes, uint64_t now, struct error *err)
{
	reflector_exchange_hear(&r->exchange, now);
	if (r->exchange.broken.kind != ERROR_NONE) {
		*err = r->exchange.broken;
		return -1;
	}
	if (r->exchange.status != 200) {
		reflector_exchange_keep(&r->exchange, bytes);
		return 0;
	}
	int result = reflector_query_is_watch(&r->query)
			     ? feed_watch(r, bytes, now, err)
			     : reflector_list_feed(&r->list, bytes, err);
	if (result != 0)
		reflector_exchange_break(&r->exchange, err);
	return result;
}

/* Ends. */

static void carry_out(struct reflector *r, struct reflector_verdict verdict,
		      const struct error *why, uint64_t now)
{
	switch (verdict.next) {
	case REFLECTOR_VERDICT_GO_ON:
		go_on(r, verdict.kind, now);
		break;
	case REFLECTOR_VERDICT_BACK_OFF:
		back_off(r, verdict.kind, why, now);
		break;
	case REFLECTOR_VERDICT_LIST_AGAIN:
		list_again(r, why, now);
		break;
	case REFLECTOR_VERDICT_ABSENT:
		become_absent(r, now);
		break;
	}
	r->query.is_newest |= verdict.wants_newest;
	r->query.is_whole |= verdict.wants_whole;
}

static void end_list(struct reflector *r, const struct error *error, uint64_t now)
{
	struct error err;
	assert(r->query.kind == LIST_QUERY_LIST || r->query.kind == LIST_QUERY_PAGE);
	if (error || reflector_list_check(&r->list, &err) != 0) {
		const struct error *why = error ? error : &err;
		carry_out(r, reflector_verdict_broken(&r->query, why->kind), why, now);
		return;
	}
	struct view continue_token = reflector_list_continue_token(&r->list);
	if (continue_token.len > 0) {
		reflector_query_set_continue_token(&r->query, continue_token);
		go_on(r, LIST_QUERY_PAGE, now);
		return;
	}
	synchronise(r, reflector_list_version(&r->list), now);
}

/* A watch was answered and has ended by itself, or was cut: it makes no difference. */
static void end_watch(struct reflector *r, const struct error *error, uint64_t now)
{
	struct error err;
	uint64_t lived = now - r->exchange.answered_at;
	bool has_progress = r->watch.has_moved || r->was_streamed;
	assert(r->query.kind == LIST_QUERY_WATCH && now >= r->exchange.answered_at);
	if (has_progress || lived >= SHORT_WATCH_MS)
		r->progress_since_list = true;
	if (!has_progress && lived < SHORT_WATCH_MS) {
		error_set(&err, ERROR_RETRY, 0, "the server closed the watch at once");
		back_off(r, LIST_QUERY_WATCH, error ? error : &err, now);
		return;
	}
	if (r->watch.is_heard)
		r->silent_watches = 0;
	else if (lived >= REFLECTOR_EXCHANGE_SILENCE_MS)
		r->silent_watches++;
	if (r->silent_watches < SILENT_WATCHES) {
		go_on(r, LIST_QUERY_WATCH, now);
		return;
	}
	r->silent_watches = 0;
	error_set(&err, ERROR_EXPIRED, 0, "the watch received no data for too long");
	list_again(r, &err, now);
}

/* The answer was 200. error NULL: its body has ended by itself. */
static void end_answer(struct reflector *r, const struct error *error, uint64_t now)
{
	struct error err;
	const struct error *broken = &r->exchange.broken;
	if (broken->kind != ERROR_NONE)
		error = broken;
	if (r->query.kind == LIST_QUERY_LIST || r->query.kind == LIST_QUERY_PAGE) {
		end_list(r, error, now);
		return;
	}
	if (r->query.kind == LIST_QUERY_WATCH && broken->kind == ERROR_NONE) {
		end_watch(r, error, now);
		return;
	}
	error_set(&err, ERROR_RETRY, 0, "ended before all objects had come");
	carry_out(r, reflector_verdict_broken(&r->query, broken->kind), error ? error : &err, now);
}

void reflector_ended(struct reflector *r, const struct error *error, uint64_t now)
{
	reflector_exchange_end(&r->exchange);
	/* Not one that was answered with something else: that is never followed. */
	if (r->output.is_told_followed && r->query.kind == LIST_QUERY_WATCH &&
	    now - r->exchange.answered_at >= GOOD_WATCH_MS)
		reflector_wait_forget(&r->wait);
	if (!r->absent)
		reflector_output_set_followed(&r->output, false);
	if (!r->exchange.is_answered) {
		assert(error);
		back_off(r, r->query.kind, error, now);
		return;
	}
	if (r->exchange.status == 200) {
		end_answer(r, error, now);
		return;
	}
	struct error why;
	reflector_exchange_judge(&r->exchange, &why);
	if (r->exchange.status != 403)
		reflector_failure_end_refusal(&r->failure);
	struct view version = sbuf_view(&r->position.version);
	carry_out(r, reflector_verdict_refused(&r->query, version, why.kind), &why, now);
}

bool reflector_is_synced(const struct reflector *r)
{
	return r->synced;
}

const char *reflector_trouble(const struct reflector *r)
{
	return r->failure.trouble.text;
}

bool reflector_is_denied(const struct reflector *r)
{
	return r->failure.trouble.kind == ERROR_DENIED;
}

uint64_t reflector_forbidden_ms(const struct reflector *r)
{
	return reflector_failure_refused_ms(&r->failure);
}

uint64_t reflector_heard_at(const struct reflector *r)
{
	return r->exchange.last_byte_at;
}

struct reflector_counters reflector_counters(const struct reflector *r)
{
	return (struct reflector_counters){
		.lists = r->n_lists,
		.watches = r->n_watches,
		.relists_expired = r->n_relists_expired,
		.events = r->watch.n_events,
		.bookmarks = r->watch.n_bookmarks,
		.objects_refused = r->output.n_refused,
		.failures = r->n_failures,
		.stale_rewinds = r->position.n_rewinds,
		.last_version = r->position.number,
	};
}
