/* SPDX-License-Identifier: Apache-2.0 */

/*
 * At most two calls run at a time, each on a connection of its own. Each answer is decoded into an
 * arena of its own as it comes in. Nothing is taken over before both have ended, so a report made
 * meanwhile has one state.
 *
 * The List is dated by its request, not by its answer: what happened after the request need not be
 * in it.
 *
 * A pod's start is known to the second. A List requested within that second may mean this pod or an
 * earlier one of its name. The first List of a later second settles that, so it is reported even if
 * it says the same.
 *
 * The kubelet makes its socket anew at each start, so inode and creation time tell starts apart.
 * Two cases are no restart: a kubelet that still listens on a deleted socket, and a path to a
 * socket that nobody listens on.
 */

#include "agent/podres.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/source_state.h"
#include "base/arena.h"
#include "base/clock.h"
#include "io/unary.h"
#include "schema/podresources_doc.h"
#include "schema/report_doc.h"

#define ARENA_CAP (2u * LIMIT_PODRESOURCES_BYTES)
#define REPEAT_MS 1500u /* a pod may start a moment after it is listed */

typedef int (*decode_fn)(struct view message, struct arena *arena, struct array *ret,
			 struct error *err);

/* One of the two methods: the call under way, what it gave, and what the last good one gave. */
struct method {
	const char *name;
	decode_fn decode;
	struct podres *podres;
	struct unary *call;
	bool failed;
	struct error error;
	struct arena fresh_arena;
	struct array fresh;
	struct arena last_arena;
	struct array last;
};

struct podres {
	struct fetcher *fetcher;
	struct podres_config config;
	podres_fn finished;
	void *owner;
	struct loop_timer *later; /* a reading that ended before it began is told from here */
	struct source_state source;
	struct method list;
	struct method advertised;
	bool with_advertised;
	int64_t asked_at;   /* of the List under way, wall clock */
	uint64_t asked_ms;  /* the same, monotonic */
	uint64_t news_ms;   /* of the last List that was news */
	bool awaits_repeat; /* none has been asked for REPEAT_MS later */
	struct stat socket;
	bool socket_known; /* `socket` is that of the last call */
	bool was_asked;    /* podres_socket_changed() was called before */
	int64_t socket_made_at;
};

static void method_init(struct method *method, struct podres *podres, const char *name,
			decode_fn decode)
{
	*method = (struct method){.podres = podres, .name = name, .decode = decode};
	arena_init(&method->fresh_arena, ARENA_CAP);
	arena_init(&method->last_arena, ARENA_CAP);
}

static void method_deinit(struct method *method)
{
	unary_cancel(method->call);
	arena_deinit(&method->fresh_arena);
	arena_deinit(&method->last_arena);
}

static void forget_fresh(struct method *method)
{
	arena_deinit(&method->fresh_arena);
	method->fresh = (struct array){0};
}

/* Makes the fresh answer the last one. */
static void adopt(struct method *method)
{
	arena_deinit(&method->last_arena);
	method->last_arena = method->fresh_arena;
	method->last = method->fresh;
	method->fresh = (struct array){0};
	arena_init(&method->fresh_arena, ARENA_CAP);
}

/* libcurl does not say what is wrong with a socket that it cannot reach. */
static void explain(const struct podres *podres, struct error *err)
{
	const char *socket = podres->config.socket;
	if (access(socket, W_OK) == 0)
		return;
	if (errno == ENOENT)
		error_set(err, ERROR_NOT_FOUND, 0,
			  "%s is not there: does the kubelet run, and is its folder mounted?",
			  socket);
	else if (errno == EACCES)
		error_set(err, ERROR_DENIED, 0, "%s is root's: does this run as uid 0?", socket);
}

/* Of a List that was good. */
static bool is_repeat(struct podres *podres, bool is_news)
{
	if (is_news) {
		podres->news_ms = podres->asked_ms;
		podres->awaits_repeat = true;
	}
	if (!podres->awaits_repeat || podres->asked_ms - podres->news_ms < REPEAT_MS)
		return false;
	podres->awaits_repeat = false;
	return true;
}

static bool settle_list(struct podres *podres, struct podres_outcome *outcome)
{
	struct method *list = &podres->list;
	if (list->failed) {
		explain(podres, &list->error);
		return source_state_fail(&podres->source, &list->error);
	}
	const struct report before = {.pod_resources = list->last};
	const struct report after = {.pod_resources = list->fresh};
	bool is_news = !report_doc_same_evidence(&before, &after);
	adopt(list);
	outcome->is_repeat = is_repeat(podres, is_news);
	struct view complaint = podres->advertised.failed ? view_from(podres->advertised.error.text)
							  : VIEW("");
	return source_state_succeed(&podres->source, podres->asked_at, complaint) || is_news;
}

static bool settle_advertised(struct podres *podres)
{
	struct method *advertised = &podres->advertised;
	/* A kubelet that does not answer at all takes nothing back either. */
	if (podres->list.failed) {
		forget_fresh(advertised);
		return false;
	}
	const struct report before = {.allocatable = advertised->last};
	const struct report after = {.allocatable = advertised->fresh};
	bool is_news = !report_doc_same_evidence(&before, &after);
	adopt(advertised);
	return is_news;
}

static void finish(struct podres *podres)
{
	if (podres->list.call || podres->advertised.call)
		return;
	struct podres_outcome outcome = {
		.throttled = podres->list.failed && podres->list.error.kind == ERROR_THROTTLED,
	};
	if (podres->with_advertised)
		outcome.is_news = settle_advertised(podres);
	outcome.is_news |= settle_list(podres, &outcome);
	podres->finished(podres->owner, &outcome);
}

static void finish_later(void *owner)
{
	finish(owner);
}

static void fail(struct method *method)
{
	error_wrap(&method->error, "%s", method->name);
	method->failed = true;
	forget_fresh(method);
}

static void take_reply(void *owner, struct view reply, const struct error *err)
{
	struct method *method = owner;
	method->call = NULL;
	method->failed = false;
	if (err)
		method->error = *err;
	if (err || method->decode(reply, &method->fresh_arena, &method->fresh, &method->error) < 0)
		fail(method);
	finish(method->podres);
}

static void start(struct method *method)
{
	char path[96] = "/v1.PodResourcesLister/";
	size_t used = view_from(path).len;
	for (size_t i = 0; method->name[i] && used < sizeof(path) - 1; i++)
		path[used++] = method->name[i];
	const struct unary_request request = {
		.socket = method->podres->config.socket,
		.method = path,
		.max_reply = LIMIT_PODRESOURCES_BYTES,
		.timeout_ms = method->podres->config.timeout_ms,
	};
	if (unary_start(method->podres->fetcher, &request, take_reply, method, &method->call,
			&method->error) < 0)
		fail(method);
}

void podres_read(struct podres *podres, bool with_advertised, uint64_t now_ms)
{
	assert(!podres->list.call && !podres->advertised.call);
	podres->asked_at = clock_wall_ms();
	podres->asked_ms = now_ms;
	podres->with_advertised = with_advertised;
	start(&podres->list);
	if (with_advertised)
		start(&podres->advertised);
	if (!podres->list.call && !podres->advertised.call)
		loop_timer_set(podres->later, 0);
}

static void freep(struct podres **podres)
{
	podres_free(*podres);
}

int podres_new(struct loop *loop, struct fetcher *fetcher, const struct podres_config *config,
	       podres_fn finished, void *owner, struct podres **ret_podres, struct error *err)
{
	CLEANUP(freep) struct podres *podres = calloc(1, sizeof(*podres));
	if (!podres)
		return error_no_memory(err);
	podres->fetcher = fetcher;
	podres->config = *config;
	podres->finished = finished;
	podres->owner = owner;
	method_init(&podres->list, podres, "List", podresources_doc_decode_list);
	method_init(&podres->advertised, podres, "GetAllocatableResources",
		    podresources_doc_decode_allocatable);
	if (loop_timer_new(loop, finish_later, podres, &podres->later, err) < 0)
		return -1;
	*ret_podres = TAKE(podres);
	return 0;
}

void podres_free(struct podres *podres)
{
	if (!podres)
		return;
	method_deinit(&podres->list);
	method_deinit(&podres->advertised);
	loop_timer_free(podres->later);
	free(podres);
}

static bool is_same_socket(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool podres_socket_changed(struct podres *podres)
{
	struct stat now;
	bool is_first = !podres->was_asked;
	podres->was_asked = true;
	/* Away for a moment is not another one: what comes back is compared with what was there. */
	if (stat(podres->config.socket, &now) < 0 || !S_ISSOCK(now.st_mode))
		return false;
	bool is_same = podres->socket_known && is_same_socket(&now, &podres->socket);
	podres->socket = now;
	podres->socket_known = true;
	podres->socket_made_at = (int64_t)now.st_mtim.tv_sec * 1000 + now.st_mtim.tv_nsec / 1000000;
	return !is_same && !is_first;
}

void podres_tell(const struct podres *podres, struct report *report)
{
	report->sources.pod_resources = podres->source.said;
	report->pod_resources = podres->list.last;
	report->allocatable = podres->advertised.last;
	report->kubelet_restarted_at = podres->socket_made_at;
}
