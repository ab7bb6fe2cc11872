/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `kind` is what the present request asks for, or the next one when none is under way:
 *
 *	LIST --> PAGE --> WATCH        PAGE only while the server gives a continue token
 *	STREAM ---------> WATCH        on the same answer, at the bookmark that ends the initial events
 *
 * Each end of an answer sets `kind` and `wait_until` for the next request:
 *
 *	| end of the answer        | next request                | when                               |
 *	|--------------------------|-----------------------------|------------------------------------|
 *	| list complete            | WATCH                       | at once                            |
 *	| watch ended              | WATCH                       | at once, but see 1                 |
 *	| no connection, 5xx, 429  | the same                    | after a back-off                   |
 *	| 401, 403                 | the same, but see 2         | after a back-off                   |
 *	| 410, version too large   | the first state             | at once, but see 3                 |
 *	| 404                      | the same                    | every absent_retry_ms              |
 *	| other refusals           | the first state             | after a back-off                   |
 *	| the sink could not take  | the first state             | after a back-off                   |
 *
 * 1. After a back-off if the watch lived less than a second without an event. A server that hangs
 *    up must not make us spin.
 * 2. `trouble` then holds advice. After 403 for REFLECTOR_DENIED_MS the first state is requested,
 *    and the sink is told.
 * 3. At once only if the watch had made progress, else after a back-off. A list that is refused for
 *    this reason asks next for the newest version there is.
 *
 * A back-off is forgotten by success, never by time alone. That happens
 * - when a watch has been open for GOOD_WATCH_MS;
 * - when the server was away and answers anybody again (reflector_hasten());
 * - when a refusal (401, 403) is over. If the position has expired, the back-off stays: a storm of
 *   410 keeps it.
 *
 * A server that hangs keeps its connections and sends nothing. A working server sends a bookmark a
 * minute, so a watch on which nothing came for SILENCE_MS is ended. A server that never sent a
 * bookmark may not support them: its second watch in a row may be silent to its end.
 *
 * An etcd may be restored to an older state. Its server then accepts a watch from a version that it
 * has not reached. It sends nothing, not even bookmarks, until it gets there. So after two long
 * watches in a row without an event or a bookmark the reflector lists. Such a server refuses the
 * list as "too large".
 *
 * The version moves forward only. A replayed event is not handed on: if its object was deleted
 * since, the sink would take it for a new one. Only a complete list may set the version back.
 * Objects that cannot be decoded or are over the limit are counted and skipped, and the version
 * moves past them if they have one. If the sink could not take an object for another reason (no
 * memory), the watch never sends it again. Only a list brings it back.
 *
 * The very first state is the newest there is (an empty version), not any that an API server has in
 * its cache ("0"). Resources are listed from different servers and judged together. If a cache of
 * pods lags behind the list of what was published for them, running pods look ended. Since
 * Kubernetes 1.31 such a list is served from the cache as well, as soon as that has caught up.
 *
 * Behaviour that was checked against client-go's tools/cache/reflector.go is listed in
 * tests/unit/reflector_test.c.
 */

#include "kube/reflector.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/limits.h"
#include "base/prng.h"
#include "kube/answer.h"
#include "kube/list_query.h"
#include "kube/list_stream.h"
#include "kube/watch_stream.h"

#define BACKOFF_BASE_MS 800u
#define BACKOFF_CAP_MS 30000u
#define WATCH_MIN_S 300u
#define WATCH_MAX_S 600u
#define WATCH_GRACE_MS 30000u  /* for the server to end a watch by itself */
#define SILENCE_MS 75000u      /* API servers give up after 60 s; so often they send bookmarks */
#define SHORT_WATCH_MS 1000u
#define RETRY_JITTER_MS 200u
#define TOLD_HEEDED 10u
#define GOOD_WATCH_MS 10000u
#define SILENT_WATCHES 2u
#define ERROR_BODY_CAP (64u * LIMIT_KIB)
#define QUERY_CAP (64u * LIMIT_KIB) /* continue tokens are long */
#define VERSION_CAP 256u

struct reflector {
	struct reflector_config config;
	struct reflector_sink sink;
	struct prng prng;
	struct backoff backoff;
	enum list_query_kind kind;
	struct sbuf path;
	struct sbuf version; /* of the last complete state or event; empty: none yet */
	struct sbuf continue_token;
	bool newest; /* the next list asks for the newest state */
	bool whole;  /* a page has expired: the next list is without pages */

	/* of the request under way */
	bool busy;
	bool answered;
	int status;
	uint32_t retry_after_ms;
	uint32_t timeout_s;
	uint64_t started_at;
	uint64_t answered_at;
	uint64_t last_byte_at;
	struct sbuf error_body;
	struct list_stream list;
	struct watch_stream watch;
	bool heard;          /* this watch brought an event or a bookmark */
	bool progress;       /* this watch moved the version */
	struct error broken; /* why the rest of the body is of no use; ERROR_NONE: it is */

	uint64_t wait_until;
	bool waits_for_server; /* until then, and for nothing else */
	bool waits_for_return; /* the same, for what a server that starts may do: 401, 403, 410 */
	bool is_hastened[REFLECTOR_BACK]; /* for that reason, since the last good watch */
	unsigned n_told; /* how often it was told when to come again, since then */
	enum error_kind last_failure;
	bool progress_since_list;
	unsigned silent_watches; /* in a row */
	bool bookmarks_seen;     /* ever */
	bool synced;
	bool absent;
	bool is_refused;     /* since refused_at, each time with 403 */
	bool is_told_denied; /* the sink was told so */
	bool is_told_followed;
	uint64_t refused_at, refused_last_at;
	struct error trouble; /* text only */
	struct reflector_counters counters;
};

static void reflector_freep(struct reflector **reflector)
{
	reflector_free(*reflector);
}

static enum list_query_kind first_kind(const struct reflector *r)
{
	return r->config.initial == REFLECTOR_STREAM ? LIST_QUERY_STREAM : LIST_QUERY_LIST;
}

int reflector_new(const struct reflector_config *config, const struct reflector_sink *sink,
		  struct reflector **ret_reflector, struct error *err)
{
	CLEANUP(reflector_freep) struct reflector *r = calloc(1, sizeof(*r));
	if (!r)
		return error_no_memory(err);
	assert(sink->replace_begin && sink->replace_end && sink->object);
	assert(config->page_size > 0 || config->initial != REFLECTOR_PAGES);
	r->config = *config;
	r->sink = *sink;
	r->kind = first_kind(r);
	prng_init(&r->prng, config->seed);
	backoff_init(&r->backoff, BACKOFF_BASE_MS, BACKOFF_CAP_MS);
	sbuf_init(&r->path, QUERY_CAP);
	sbuf_init(&r->version, VERSION_CAP);
	sbuf_init(&r->continue_token, QUERY_CAP);
	sbuf_init(&r->error_body, ERROR_BODY_CAP);
	list_stream_init(&r->list, config->resource->encoding, LIMIT_OBJECT_BYTES);
	watch_stream_init(&r->watch, config->resource->encoding, LIMIT_OBJECT_BYTES);
	*ret_reflector = TAKE(r);
	return 0;
}

void reflector_free(struct reflector *r)
{
	if (!r)
		return;
	sbuf_deinit(&r->path);
	sbuf_deinit(&r->version);
	sbuf_deinit(&r->continue_token);
	sbuf_deinit(&r->error_body);
	list_stream_deinit(&r->list);
	watch_stream_deinit(&r->watch);
	free(r);
}

/* Requests. */

static bool is_watch(const struct reflector *r)
{
	return r->kind == LIST_QUERY_WATCH || r->kind == LIST_QUERY_STREAM;
}

/* The version to ask for; empty: the newest. */
static struct view wanted_version(const struct reflector *r)
{
	if (r->kind != LIST_QUERY_WATCH && r->newest)
		return (struct view){NULL, 0};
	return sbuf_view(&r->version);
}

static const char *build_path(struct reflector *r)
{
	struct list_query query = {
		.kind = r->kind,
		.version = wanted_version(r),
		.continue_token = sbuf_view(&r->continue_token),
		.timeout_s = r->timeout_s,
	};
	/* A given version is served from the cache of the API server, which knows no pages. */
	if (r->kind == LIST_QUERY_PAGE ||
	    (r->config.initial == REFLECTOR_PAGES && !r->whole && query.version.len == 0))
		query.limit = r->config.page_size;
	sbuf_clear(&r->path);
	list_query_append(&query, r->config.resource, &r->path);
	return sbuf_text(&r->path);
}

static void begin_request(struct reflector *r, uint64_t now)
{
	assert(!r->busy && now >= r->wait_until);
	r->busy = true;
	r->answered = false;
	r->status = 0;
	r->retry_after_ms = 0;
	r->started_at = now;
	r->last_byte_at = now;
	r->heard = false;
	r->progress = false;
	error_clear(&r->broken);
	sbuf_clear(&r->error_body);
	if (is_watch(r)) {
		r->counters.watches++;
		watch_stream_reset(&r->watch);
	} else {
		r->counters.lists++;
		list_stream_reset(&r->list);
	}
}

/* When to give up on the answer under way, as things are. */
static uint64_t deadline(const struct reflector *r)
{
	assert(r->busy);
	uint64_t silent = r->last_byte_at + SILENCE_MS;
	uint64_t end = r->started_at + r->timeout_s * 1000ull + WATCH_GRACE_MS;
	if (!is_watch(r) || !r->answered || r->kind == LIST_QUERY_STREAM)
		return silent;
	if (!r->bookmarks_seen && r->silent_watches > 0)
		return end;
	return silent < end ? silent : end;
}

enum reflector_step reflector_next(struct reflector *r, uint64_t now,
				   struct reflector_request *ret_request)
{
	*ret_request = (struct reflector_request){.wait_until = r->wait_until};
	if (r->busy) {
		ret_request->wait_until = deadline(r);
		return now < ret_request->wait_until ? REFLECTOR_BUSY : REFLECTOR_GIVE_UP;
	}
	if (now < r->wait_until)
		return REFLECTOR_WAIT;
	r->timeout_s = (uint32_t)prng_between(&r->prng, WATCH_MIN_S, WATCH_MAX_S);
	const char *path = build_path(r);
	if (!path) { /* no memory: as if the server were away for a moment */
		r->wait_until = now + BACKOFF_BASE_MS;
		ret_request->wait_until = r->wait_until;
		return REFLECTOR_WAIT;
	}
	begin_request(r, now);
	ret_request->path = path;
	ret_request->accept = resource_media_type(r->config.resource);
	ret_request->is_watch = is_watch(r);
	return REFLECTOR_REQUEST;
}

/* What went wrong, and when to go on. */

static const char *verb(const struct reflector *r)
{
	return is_watch(r) ? "watch" : "list";
}

static void set_trouble(struct reflector *r, const struct error *why)
{
	const struct resource *resource = r->config.resource;
	if (why->kind == ERROR_DENIED && r->status == 403)
		error_set(&r->trouble, why->kind, 0,
			  "may not %s %s%s%s: grant this verb on it in the ClusterRole (%s)",
			  verb(r), resource->plural, resource->group[0] ? "." : "",
			  resource->group, why->text);
	else if (why->kind == ERROR_DENIED && r->status == 401)
		error_set(&r->trouble, why->kind, 0,
			  "%s %s: the API server does not accept our token or certificate (%s)",
			  verb(r), resource->plural, why->text);
	else if (why->kind == ERROR_DENIED)
		error_set(&r->trouble, why->kind, 0,
			  "%s %s: the server's certificate is not to be believed, check its name and "
			  "our CA (%s)",
			  verb(r), resource->plural, why->text);
	else
		error_set(&r->trouble, why->kind, 0, "%s %s: %s", verb(r), resource->plural,
			  why->text);
}

static void tell_denied(struct reflector *r, bool is_denied)
{
	if (r->is_told_denied != is_denied && r->sink.denied)
		r->sink.denied(r->sink.owner, is_denied);
	r->is_told_denied = is_denied;
}

static void tell_followed(struct reflector *r, bool is_followed)
{
	if (r->is_told_followed != is_followed && r->sink.followed)
		r->sink.followed(r->sink.owner, is_followed);
	r->is_told_followed = is_followed;
}

/* There is nothing that we were not told of. */
static void set_followed(struct reflector *r)
{
	r->is_refused = false;
	tell_denied(r, false);
	tell_followed(r, true);
}

/* What fails otherwise may soon be well; what was told stays so until it is. */
static bool is_refused_for_long(struct reflector *r, const struct error *why, uint64_t now)
{
	bool is_refused = why->kind == ERROR_DENIED && r->status == 403 && r->synced;
	if (is_refused && !r->is_refused)
		r->refused_at = now;
	if (is_refused)
		r->refused_last_at = now;
	r->is_refused = is_refused;
	return r->is_told_denied || (is_refused && now - r->refused_at >= REFLECTOR_DENIED_MS);
}

/*
 * A server knows best when to come again: an API server that starts says 429 and one second until it
 * serves a resource. One that goes on saying so is backed off from, as client-go does after ten times.
 */
static uint32_t choose_wait(struct reflector *r, const struct error *why)
{
	bool is_heeded = why->retry_after_ms > 0 && r->n_told < TOLD_HEEDED;
	r->n_told += why->retry_after_ms > 0;
	uint32_t wait = is_heeded ? 0 : backoff_next(&r->backoff, &r->prng);
	if (wait < why->retry_after_ms)
		wait = why->retry_after_ms + (uint32_t)prng_between(&r->prng, 0, RETRY_JITTER_MS);
	return wait;
}

/* The next request is of `kind`, after a back-off and not before what the server asked for. */
static void back_off(struct reflector *r, enum list_query_kind kind, const struct error *why,
		     uint64_t now)
{
	assert(!r->busy && why->kind != ERROR_NONE);
	set_trouble(r, why);
	r->counters.failures++;
	/* What happens meanwhile is to be there, all of it, before it is said that all is well. */
	if (is_refused_for_long(r, why, now)) {
		kind = first_kind(r);
		r->newest = true;
		tell_denied(r, true);
	}
	if (r->last_failure == ERROR_DENIED && why->kind != ERROR_DENIED &&
	    why->kind != ERROR_EXPIRED)
		backoff_reset(&r->backoff);
	r->last_failure = why->kind;
	r->wait_until = now + choose_wait(r, why);
	r->kind = kind;
	r->waits_for_server = why->kind == ERROR_RETRY && why->retry_after_ms == 0;
	r->waits_for_return = why->kind == ERROR_DENIED || why->kind == ERROR_EXPIRED;
}

static void forget_failures(struct reflector *r)
{
	backoff_reset(&r->backoff);
	memset(r->is_hastened, 0, sizeof(r->is_hastened));
	r->n_told = 0;
}

void reflector_hasten(struct reflector *r, uint64_t at, enum reflector_haste haste)
{
	bool is_back = haste == REFLECTOR_BACK;
	r->is_refused = false; /* a server that has just started refuses, each time anew */
	if (is_back) { /* which is also why its position may have expired */
		forget_failures(r);
		r->progress_since_list = true;
	}
	if (r->busy || at >= r->wait_until ||
	    !(r->waits_for_server || (is_back && r->waits_for_return)))
		return;
	if (!is_back && r->is_hastened[haste])
		return;
	if (!is_back)
		r->is_hastened[haste] = true;
	r->wait_until = at;
}

static void go_on(struct reflector *r, enum list_query_kind kind, uint64_t now)
{
	r->kind = kind;
	r->wait_until = now;
	r->waits_for_server = false;
	r->waits_for_return = false;
}

/* The position of the watch is lost. Without progress since the last list this would go round. */
static void list_again(struct reflector *r, const struct error *why, uint64_t now)
{
	assert(why->kind == ERROR_EXPIRED);
	r->counters.relists_expired++;
	if (r->progress_since_list)
		go_on(r, first_kind(r), now);
	else
		back_off(r, first_kind(r), why, now);
	r->progress_since_list = false;
}

/* Who has no handler for it cannot do without the resource: that is trouble, not a state. */
static void become_absent(struct reflector *r, uint64_t now)
{
	const struct resource *resource = r->config.resource;
	uint32_t wait = r->config.absent_retry_ms;
	assert(!r->busy && r->status == 404);
	error_clear(&r->trouble);
	if (!r->sink.absent)
		error_set(&r->trouble, ERROR_NOT_FOUND, 0,
			  "the API server has no %s%s%s of version %s: install the definition",
			  resource->plural, resource->group[0] ? "." : "", resource->group,
			  resource->version);
	else if (!r->absent)
		r->sink.absent(r->sink.owner);
	if (r->sink.absent)
		set_followed(r);
	r->synced = r->sink.absent != NULL;
	r->absent = true;
	r->newest = false;
	sbuf_clear(&r->version);
	r->kind = first_kind(r);
	r->wait_until = now + wait + prng_between(&r->prng, 0, wait / 10);
	r->waits_for_server = false;
	r->waits_for_return = false;
}

/* Versions. */

static void set_version(struct reflector *r, struct view version)
{
	uint64_t number = object_meta_version(version);
	assert(version.len > 0); /* what has none is refused where it is read */
	if (number != 0 && number < r->counters.last_version)
		r->counters.stale_rewinds++;
	sbuf_clear(&r->version);
	sbuf_append(&r->version, version);
	r->counters.last_version = number;
}

static void advance(struct reflector *r, const struct object_meta *meta)
{
	assert(is_watch(r));
	r->heard = true;
	if (r->kind == LIST_QUERY_STREAM)
		return; /* initial events come in no order */
	if (view_equal(meta->resource_version, sbuf_view(&r->version)))
		return;
	if (meta->version != 0 && meta->version < r->counters.last_version) {
		r->counters.stale_rewinds++;
		return;
	}
	r->progress = true;
	r->progress_since_list = true;
	set_version(r, meta->resource_version);
}

/* A complete state of this version has arrived. */
static void synchronise(struct reflector *r, struct view version, uint64_t now)
{
	assert(r->answered && r->status == 200);
	set_version(r, version);
	r->sink.replace_end(r->sink.owner);
	r->synced = true;
	r->newest = false;
	r->whole = false;
	r->silent_watches = 0;
	r->progress_since_list = false;
	error_clear(&r->trouble);
	go_on(r, LIST_QUERY_WATCH, now);
}

/* Heads. */

static bool has_expected_type(const struct reflector *r, struct view content_type)
{
	return view_starts_with(content_type,
				view_from(resource_media_type(r->config.resource)));
}

/* From now on nothing of the body is of use. */
static int break_off(struct reflector *r, const struct error *err)
{
	r->broken = *err;
	return -1;
}

static void begin_watch(struct reflector *r)
{
	error_clear(&r->trouble);
	set_followed(r);
}

static void begin_objects(struct reflector *r)
{
	r->absent = false;
	if (r->kind == LIST_QUERY_WATCH)
		begin_watch(r);
	else
		tell_followed(r, false); /* one that was absent is not followed yet */
	if (r->kind == LIST_QUERY_LIST || r->kind == LIST_QUERY_STREAM)
		r->sink.replace_begin(r->sink.owner);
}

void reflector_answered(struct reflector *r, int status, uint32_t retry_after_ms,
			struct view content_type, uint64_t now)
{
	assert(r->busy && !r->answered);
	r->answered = true;
	r->status = status;
	r->retry_after_ms = retry_after_ms;
	r->answered_at = now;
	r->last_byte_at = now;
	if (status != 200)
		return;
	if (has_expected_type(r, content_type))
		begin_objects(r);
	else
		error_set(&r->broken, ERROR_REJECTED, 0, "answered with %.*s, not %s",
			  VIEW_ARG(content_type), resource_media_type(r->config.resource));
}

/* Bodies of lists. */

static bool is_expected_list(const struct reflector *r)
{
	struct view kind = sbuf_view(&r->list.kind);
	const struct view suffix = VIEW("List");
	if (!view_ends_with(kind, suffix))
		return false;
	kind.len -= suffix.len;
	return view_equal(kind, view_from(r->config.resource->kind)) &&
	       resource_has_version(r->config.resource, sbuf_view(&r->list.api_version));
}

/* Tells the sink. What is of no use to it is counted; -1: it could not take it. */
static int hand_on(struct reflector *r, enum reflector_change change,
		   const struct object_meta *meta, struct view object, struct error *err)
{
	if (meta->name.len > 0) {
		if (r->sink.object(r->sink.owner, change, meta, object, err) == 0)
			return 0;
		if (err->kind != ERROR_REJECTED && err->kind != ERROR_LIMIT)
			return -1;
	}
	r->counters.objects_refused++;
	return 0;
}

static int take_listed(struct reflector *r, struct view object, struct error *err)
{
	struct error ignored;
	struct object_meta meta;
	if (object_meta_read(r->config.resource->encoding, object, &meta, &ignored) == 0)
		return hand_on(r, REFLECTOR_LISTED, &meta, object, err);
	r->counters.objects_refused++;
	return 0;
}

static int cut_list(struct reflector *r, struct view input, struct error *err)
{
	struct view object;
	for (;;) {
		switch (list_stream_next(&r->list, &input, &object, err)) {
		case LIST_STREAM_MORE:
			return 0;
		case LIST_STREAM_OBJECT:
			/* In protobuf it is known before the first object of what they are. */
			if (r->list.kind.len > 0 && !is_expected_list(r))
				return error_set(err, ERROR_REJECTED, 0, "not a list of %s",
						 r->config.resource->plural);
			if (take_listed(r, object, err) != 0)
				return -1;
			break;
		case LIST_STREAM_FAILED:
			return -1;
		}
	}
}

static int feed_list(struct reflector *r, struct view input, struct error *err)
{
	uint64_t before = r->list.n_skipped;
	assert(!is_watch(r));
	int result = cut_list(r, input, err);
	assert(r->list.n_skipped >= before);
	r->counters.objects_refused += r->list.n_skipped - before;
	return result;
}

/* A list has arrived to its end: is it whole, is it what we asked for? */
static int check_list(const struct reflector *r, struct error *err)
{
	if (list_stream_end(&r->list, err) != 0)
		return -1;
	if (!is_expected_list(r) || r->list.resource_version.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "not a list of %s but %.*s",
				 r->config.resource->plural, VIEW_ARG(sbuf_view(&r->list.kind)));
	return 0;
}

static void end_list(struct reflector *r, const struct error *error, uint64_t now)
{
	struct error err;
	assert(r->kind == LIST_QUERY_LIST || r->kind == LIST_QUERY_PAGE);
	if (error || check_list(r, &err) != 0) {
		back_off(r, LIST_QUERY_LIST, error ? error : &err, now);
		return;
	}
	if (r->list.continue_token.len > 0) {
		sbuf_clear(&r->continue_token);
		sbuf_append(&r->continue_token, sbuf_view(&r->list.continue_token));
		go_on(r, LIST_QUERY_PAGE, now);
		return;
	}
	synchronise(r, sbuf_view(&r->list.resource_version), now);
}

/* Bodies of watches. */

static bool is_expected_object(const struct reflector *r, const struct watch_event *event)
{
	return view_equal(event->kind, view_from(r->config.resource->kind)) &&
	       resource_has_version(r->config.resource, event->api_version);
}

static void take_bookmark(struct reflector *r, const struct object_meta *meta, uint64_t now)
{
	r->counters.bookmarks++;
	r->bookmarks_seen = true;
	if (r->kind == LIST_QUERY_STREAM && meta->initial_events_end) {
		synchronise(r, meta->resource_version, now);
		set_followed(r);
		r->progress = true;
	}
	advance(r, meta);
}

/* Initial events come in no order, so only a watch can tell. */
static bool is_replayed(const struct reflector *r, const struct object_meta *meta)
{
	return r->kind == LIST_QUERY_WATCH && meta->version != 0 &&
	       meta->version < r->counters.last_version;
}

static int take_object(struct reflector *r, const struct watch_event *event,
		       const struct object_meta *meta, struct error *err)
{
	enum reflector_change change = REFLECTOR_UPSERT;
	if (event->type == WATCH_EVENT_DELETED)
		change = REFLECTOR_DELETE;
	else if (event->type == WATCH_EVENT_ADDED && r->kind == LIST_QUERY_STREAM)
		change = REFLECTOR_LISTED;
	r->counters.events++;
	if (is_replayed(r, meta)) {
		r->counters.stale_rewinds++;
		return 0;
	}
	if (hand_on(r, change, meta, event->object, err) != 0)
		return -1;
	advance(r, meta);
	return 0;
}

static int take_event(struct reflector *r, const struct watch_event *event, uint64_t now,
		      struct error *err)
{
	struct error ignored;
	struct object_meta meta;
	if (event->type == WATCH_EVENT_ERROR) {
		answer_judge_status(r->config.resource->encoding, event->object, err);
		return -1;
	}
	if (event->type == WATCH_EVENT_UNKNOWN || !is_expected_object(r, event) ||
	    object_meta_read(r->config.resource->encoding, event->object, &meta, &ignored) != 0)
		r->counters.objects_refused++;
	else if (event->type == WATCH_EVENT_BOOKMARK)
		take_bookmark(r, &meta, now);
	else
		return take_object(r, event, &meta, err);
	return 0;
}

static int feed_watch(struct reflector *r, struct view input, uint64_t now, struct error *err)
{
	struct watch_event event;
	for (;;) {
		assert(is_watch(r)); /* a stream that has become one included */
		switch (watch_stream_next(&r->watch, &input, &event, err)) {
		case WATCH_STREAM_MORE:
			return 0;
		case WATCH_STREAM_EVENT:
			if (take_event(r, &event, now, err) != 0)
				return -1;
			break;
		case WATCH_STREAM_FAILED:
			return -1;
		}
	}
}

int reflector_feed(struct reflector *r, struct view bytes, uint64_t now, struct error *err)
{
	assert(r->busy && r->answered);
	r->last_byte_at = now;
	if (r->broken.kind != ERROR_NONE) {
		*err = r->broken;
		return -1;
	}
	if (r->status != 200) {
		size_t room = r->error_body.cap - r->error_body.len;
		bytes.len = bytes.len < room ? bytes.len : room;
		sbuf_append(&r->error_body, bytes);
		return 0;
	}
	int result = is_watch(r) ? feed_watch(r, bytes, now, err) : feed_list(r, bytes, err);
	return result == 0 ? 0 : break_off(r, err);
}

/* Ends. */

/* A watch was answered and has ended by itself, or was cut: it makes no difference. */
static void end_watch(struct reflector *r, const struct error *error, uint64_t now)
{
	struct error err;
	uint64_t lived = now - r->answered_at;
	assert(r->kind == LIST_QUERY_WATCH && now >= r->answered_at);
	if (r->progress || lived >= SHORT_WATCH_MS)
		r->progress_since_list = true;
	if (!r->progress && lived < SHORT_WATCH_MS) {
		error_set(&err, ERROR_RETRY, 0, "the server closed the watch at once");
		back_off(r, LIST_QUERY_WATCH, error ? error : &err, now);
		return;
	}
	if (r->heard)
		r->silent_watches = 0;
	else if (lived >= SILENCE_MS)
		r->silent_watches++;
	if (r->silent_watches < SILENT_WATCHES) {
		go_on(r, LIST_QUERY_WATCH, now);
		return;
	}
	r->silent_watches = 0;
	error_set(&err, ERROR_EXPIRED, 0, "the watch received no data for too long");
	list_again(r, &err, now);
}

/* A watch was broken off, by an ERROR event or by what we could not take. */
static void end_broken_watch(struct reflector *r, uint64_t now)
{
	if (r->broken.kind == ERROR_EXPIRED)
		list_again(r, &r->broken, now);
	else if (r->broken.kind == ERROR_THROTTLED)
		back_off(r, LIST_QUERY_WATCH, &r->broken, now);
	else
		back_off(r, first_kind(r), &r->broken, now);
}

static void end_stream(struct reflector *r, const struct error *error, uint64_t now)
{
	struct error err;
	assert(r->kind == LIST_QUERY_STREAM);
	error_set(&err, ERROR_RETRY, 0, "ended before all objects had come");
	if (r->broken.kind == ERROR_EXPIRED)
		r->newest = true;
	/* What a server streams and we do not take, it may list. */
	enum list_query_kind kind = r->broken.kind == ERROR_REJECTED ? LIST_QUERY_LIST
								     : LIST_QUERY_STREAM;
	back_off(r, kind, error ? error : &err, now);
}

static void end_answer(struct reflector *r, const struct error *error, uint64_t now)
{
	if (r->kind == LIST_QUERY_STREAM)
		end_stream(r, error, now);
	else if (r->kind != LIST_QUERY_WATCH)
		end_list(r, error, now);
	else if (r->broken.kind != ERROR_NONE)
		end_broken_watch(r, now);
	else
		end_watch(r, error, now);
}

static void refuse_watch(struct reflector *r, const struct error *why, uint64_t now)
{
	switch (why->kind) {
	case ERROR_EXPIRED:
		list_again(r, why, now);
		break;
	case ERROR_NOT_FOUND:
		back_off(r, first_kind(r), why, now);
		break;
	case ERROR_REJECTED:
		/* It may be the version that the server does not take. */
		r->newest = true;
		back_off(r, first_kind(r), why, now);
		break;
	default:
		back_off(r, LIST_QUERY_WATCH, why, now);
		break;
	}
}

/* The version we asked for cannot be had: once, at once, the newest instead. */
static void refuse_version(struct reflector *r, const struct error *why, uint64_t now)
{
	bool was_page = r->kind == LIST_QUERY_PAGE;
	assert(r->kind != LIST_QUERY_WATCH);
	enum list_query_kind kind = was_page ? LIST_QUERY_LIST : r->kind;
	if (was_page ? r->whole : wanted_version(r).len == 0)
		back_off(r, kind, why, now);
	else
		go_on(r, kind, now);
	r->newest = true;
	r->whole |= was_page;
}

static void refuse_first(struct reflector *r, const struct error *why, uint64_t now)
{
	switch (why->kind) {
	case ERROR_EXPIRED:
		refuse_version(r, why, now);
		break;
	case ERROR_NOT_FOUND:
		become_absent(r, now);
		break;
	case ERROR_REJECTED:
		/* A server that cannot stream can list; a page whose token it does not take, too. */
		if (r->kind == LIST_QUERY_STREAM)
			go_on(r, LIST_QUERY_LIST, now);
		else
			back_off(r, LIST_QUERY_LIST, why, now);
		break;
	default:
		back_off(r, r->kind, why, now);
		break;
	}
}

void reflector_ended(struct reflector *r, const struct error *error, uint64_t now)
{
	assert(r->busy);
	r->busy = false;
	if (!r->absent)
		tell_followed(r, false);
	if (r->answered && r->status == 200 && r->kind == LIST_QUERY_WATCH &&
	    now - r->answered_at >= GOOD_WATCH_MS)
		forget_failures(r);
	if (!r->answered) {
		assert(error);
		back_off(r, r->kind, error, now);
		return;
	}
	if (r->status == 200) {
		end_answer(r, r->broken.kind != ERROR_NONE ? &r->broken : error, now);
		return;
	}
	struct error why;
	const struct answer answer = {r->status, r->retry_after_ms, sbuf_view(&r->error_body)};
	answer_judge(&answer, &why);
	if (r->kind == LIST_QUERY_WATCH)
		refuse_watch(r, &why, now);
	else
		refuse_first(r, &why, now);
}

bool reflector_is_synced(const struct reflector *r)
{
	return r->synced;
}

const char *reflector_trouble(const struct reflector *r)
{
	return r->trouble.text;
}

bool reflector_is_denied(const struct reflector *r)
{
	return r->trouble.kind == ERROR_DENIED;
}

uint64_t reflector_forbidden_ms(const struct reflector *r)
{
	return r->is_refused ? r->refused_last_at - r->refused_at : 0;
}

uint64_t reflector_heard_at(const struct reflector *r)
{
	return r->last_byte_at;
}

struct reflector_counters reflector_counters(const struct reflector *r)
{
	return r->counters;
}
