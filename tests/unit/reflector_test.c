/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The reflector against scripted answers in virtual time. The journal holds what it asked for, and
 * one letter for each thing that it told its sink:
 *
 *	| letter | meaning                           | letter | meaning        |
 *	|--------|-----------------------------------|--------|----------------|
 *	| [ ]    | begin and end of a complete state | A      | absent         |
 *	| L      | listed                            | -      | denied         |
 *	| U      | upsert                            | +      | denied no more |
 *	| D      | delete                            |        |                |
 *
 * If a test asks for it, there is also F for followed, and f for followed no more.
 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/limits.h"
#include "kube/reflector.h"
#include "lib/failing_malloc.h"
#include "lib/kube_bytes.h"

static struct error err;
static const struct resource pods = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL};
static const struct resource things = {"a.b", "v1", "things", "Thing", RESOURCE_JSON, NULL};

struct world {
	const struct resource *resource;
	struct reflector *reflector;
	struct sbuf journal;
	struct sbuf body;
	const char *refuse; /* name of an object that the sink cannot use */
	enum error_kind refuse_with; /* ERROR_NONE: ERROR_REJECTED */
	uint64_t now;
	uint32_t timeout_s; /* of the last watch asked for */
	bool notes_followed;
};

/* The sink. */

static void saw_begin(void *owner)
{
	sbuf_printf(&((struct world *)owner)->journal, "[");
}

static void saw_end(void *owner)
{
	sbuf_printf(&((struct world *)owner)->journal, "]");
}

static void saw_absent(void *owner)
{
	sbuf_printf(&((struct world *)owner)->journal, "A");
}

static void saw_denied(void *owner, bool is_denied)
{
	sbuf_printf(&((struct world *)owner)->journal, is_denied ? "-" : "+");
}

static void saw_followed(void *owner, bool is_followed)
{
	struct world *world = owner;
	if (world->notes_followed)
		sbuf_printf(&world->journal, is_followed ? "F" : "f");
}

static int saw_object(void *owner, enum reflector_change change, const struct object_meta *meta,
		      struct view document, struct error *object_err)
{
	struct world *world = owner;
	assert_true(document.len > 0);
	sbuf_printf(&world->journal, "%c%.*s@%.*s ", "LUD"[change], VIEW_ARG(meta->name),
		    VIEW_ARG(meta->resource_version));
	if (world->refuse && view_equal(meta->name, view_from(world->refuse)))
		return error_set(object_err,
				 world->refuse_with ? world->refuse_with : ERROR_REJECTED, 0, "no");
	return 0;
}

static void begin_world(struct world *world, const struct resource *resource,
			enum reflector_initial initial)
{
	const struct reflector_sink sink = {world,      saw_begin,  saw_end,     saw_object,
					    saw_absent, saw_denied, saw_followed};
	const struct reflector_config config = {resource, initial, 2, 30000, 42};
	*world = (struct world){.resource = resource, .now = 1000000};
	sbuf_init(&world->journal, 1 << 20);
	sbuf_init(&world->body, 1 << 24);
	assert_int_equal(reflector_new(&config, &sink, &world->reflector, &err), 0);
}

static void end_world(struct world *world)
{
	reflector_free(world->reflector);
	sbuf_deinit(&world->journal);
	sbuf_deinit(&world->body);
}

static void expect_told(struct world *world, const char *expected)
{
	const char *told = sbuf_text(&world->journal);
	assert_string_equal(told, expected);
	sbuf_clear(&world->journal);
}

/* The reflector's side. */

/* It must ask for this now; "T" stands for the seconds of a watch. */
static void expect_request(struct world *world, const char *expected)
{
	struct reflector_request request;
	struct view before, after, number, rest, separator = VIEW("timeoutSeconds=");
	struct sbuf path;
	enum reflector_step step = reflector_next(world->reflector, world->now, &request);
	assert_int_equal(step, REFLECTOR_REQUEST);
	sbuf_init(&path, 4096);
	if (view_cut(view_from(request.path), separator, &before, &after)) {
		uint64_t seconds = 0;
		view_cut(after, VIEW("&"), &number, &rest);
		assert_true(view_parse_u64(number, &seconds));
		assert_true(seconds >= 300 && seconds <= 600);
		world->timeout_s = (uint32_t)seconds;
		sbuf_printf(&path, "%.*stimeoutSeconds=T&%.*s", VIEW_ARG(before), VIEW_ARG(rest));
		assert_true(request.is_watch);
	} else {
		sbuf_printf(&path, "%s", request.path);
		assert_false(request.is_watch);
	}
	assert_string_equal(sbuf_text(&path), expected);
	sbuf_deinit(&path);
}

/* It must wait between low and high ms, after which time has passed. */
static void expect_wait(struct world *world, uint64_t low, uint64_t high)
{
	struct reflector_request request;
	enum reflector_step step = reflector_next(world->reflector, world->now, &request);
	assert_int_equal(step, REFLECTOR_WAIT);
	assert_in_range(request.wait_until - world->now, low, high);
	world->now = request.wait_until;
}

/* It is waiting for more of an answer, and gives up when nothing comes for `ms`. */
static void expect_patience(struct world *world, uint64_t ms)
{
	struct reflector_request request;
	assert_int_equal(reflector_next(world->reflector, world->now, &request), REFLECTOR_BUSY);
	assert_int_equal(request.wait_until, world->now + ms);
	assert_int_equal(reflector_next(world->reflector, world->now + ms - 1, &request),
			 REFLECTOR_BUSY);
	assert_int_equal(reflector_next(world->reflector, world->now + ms, &request),
			 REFLECTOR_GIVE_UP);
}

#define LIST_NEWEST "/api/v1/pods?resourceVersion="
#define LIST_FROM(v) "/api/v1/pods?resourceVersion=" v "&resourceVersionMatch=NotOlderThan"
#define WATCH_FROM(v)                                                                        \
	"/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=T&resourceVersion=" v
#define STREAM_FROM(v)                                                                       \
	"/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=T"                     \
	"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=" v

/* The server's side. */

static void head(struct world *world, int status, uint32_t retry_after_ms)
{
	const char *type = world->resource->encoding == RESOURCE_PROTOBUF
				   ? "application/vnd.kubernetes.protobuf;stream=watch"
				   : "application/json";
	reflector_answered(world->reflector, status, retry_after_ms, view_from(type), world->now);
}

static int feed(struct world *world)
{
	int result = reflector_feed(world->reflector, sbuf_view(&world->body), world->now, &err);
	sbuf_clear(&world->body);
	return result;
}

/* The rest of an answer that completes. */
static void finish(struct world *world)
{
	assert_int_equal(feed(world), 0);
	reflector_ended(world->reflector, NULL, world->now);
}

static void refuse(struct world *world, int status, uint32_t retry_after_ms)
{
	head(world, status, retry_after_ms);
	finish(world);
}

static void cut_off(struct world *world, const char *why)
{
	struct error error;
	error_set(&error, ERROR_RETRY, 0, "%s", why);
	reflector_ended(world->reflector, &error, world->now);
}

static void add_list(struct world *world, const char *version, const char *continue_token,
		     size_t n_objects)
{
	static const struct kube_bytes_object objects[] = {
		{"ns", "a", "u-a", "11", "some payload", false},
		{"ns", "b", "u-b", "12", NULL, false},
	};
	const struct kube_bytes_list list = {version, continue_token, NULL, objects, n_objects};
	kube_bytes_list(&world->body, world->resource, &list);
}

static void add_event(struct world *world, const char *type, const char *name, const char *version)
{
	const struct kube_bytes_object object = {"ns", name, "u", version, "payload", false};
	kube_bytes_event(&world->body, world->resource, type, &object);
}

static void add_bookmark(struct world *world, const char *version, bool initial_events_end)
{
	const struct kube_bytes_object object = {NULL, NULL, NULL, version, NULL,
						 initial_events_end};
	kube_bytes_event(&world->body, world->resource, "BOOKMARK", &object);
}

static void add_error_event(struct world *world, int code, const char *reason)
{
	const struct kube_bytes_status status = {.code = code, .reason = reason, .message = "told"};
	struct sbuf object;
	sbuf_init(&object, 4096);
	kube_bytes_status(&object, world->resource->encoding, &status);
	kube_bytes_event_of(&world->body, world->resource->encoding, "ERROR", sbuf_view(&object));
	sbuf_deinit(&object);
}

/* A world of pods that has listed at version 20 and asked for the watch; nothing is answered yet. */
static void begin_watching(struct world *world)
{
	begin_world(world, &pods, REFLECTOR_LIST);
	expect_request(world, LIST_NEWEST);
	head(world, 200, 0);
	add_list(world, "20", NULL, 2);
	finish(world);
	expect_told(world, "[La@11 Lb@12 ]");
	assert_true(reflector_is_synced(world->reflector));
	expect_request(world, WATCH_FROM("20"));
}

/* Ends the present request with an ERROR event. */
static void break_watch(struct world *world, int code, const char *reason)
{
	head(world, 200, 0);
	add_error_event(world, code, reason);
	assert_int_equal(feed(world), -1);
	reflector_ended(world->reflector, &err, world->now);
}

/* Lists and resuming. */

static void a_list_is_told_before_the_watch_that_starts_at_its_version(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	assert_int_equal(reflector_counters(world.reflector).last_version, 20);
	head(&world, 200, 0);
	add_event(&world, "ADDED", "c", "21");
	add_event(&world, "MODIFIED", "a", "22");
	add_event(&world, "DELETED", "b", "23");
	assert_int_equal(feed(&world), 0);
	expect_told(&world, "Uc@21 Ua@22 Db@23 ");
	end_world(&world);
}

static void json_lists_have_their_version_at_their_end(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &things, REFLECTOR_LIST);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 2);
	finish(&world);
	expect_told(&world, "[La@11 Lb@12 ]");
	expect_request(&world, "/apis/a.b/v1/things?watch=1&allowWatchBookmarks=true"
			       "&timeoutSeconds=T&resourceVersion=20");
	end_world(&world);
}

static void a_watch_that_closes_is_resumed_where_it_was_without_delay_or_list(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	for (int i = 0; i < 50; i++) {
		static const char *const versions[] = {"21", "33"};
		head(&world, 200, 0);
		if (i < 2)
			add_event(&world, "MODIFIED", "a", versions[i]);
		world.now += 1500;
		finish(&world);
		expect_request(&world, i == 0 ? WATCH_FROM("21") : WATCH_FROM("33"));
	}
	assert_int_equal(reflector_counters(world.reflector).lists, 1);
	assert_int_equal(reflector_counters(world.reflector).failures, 0);
	end_world(&world);
}

static void a_watch_that_is_cut_is_resumed_like_one_that_closes(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	head(&world, 200, 0);
	add_event(&world, "MODIFIED", "a", "21");
	assert_int_equal(feed(&world), 0);
	cut_off(&world, "connection reset");
	expect_request(&world, WATCH_FROM("21"));
	end_world(&world);
}

static void an_event_that_is_cut_is_dropped_and_asked_for_again(void **state)
{
	(void)state;
	struct sbuf event;
	struct world world;
	begin_watching(&world);
	add_event(&world, "MODIFIED", "b", "22");
	event = world.body;
	for (size_t len = 0; len < event.len; len++) {
		sbuf_init(&world.body, 1 << 20);
		head(&world, 200, 0);
		sbuf_append(&world.body, (struct view){event.ptr, len});
		assert_int_equal(feed(&world), 0);
		world.now += 2000;
		cut_off(&world, "cut");
		expect_told(&world, "");
		expect_request(&world, WATCH_FROM("20"));
		sbuf_deinit(&world.body);
	}
	/* What was left of it does not get in the way of the whole one. */
	world.body = event;
	head(&world, 200, 0);
	finish(&world);
	expect_told(&world, "Ub@22 ");
	end_world(&world);
}

static void the_version_advances_with_deletions_and_bookmarks_too(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	head(&world, 200, 0);
	add_event(&world, "DELETED", "a", "25");
	finish(&world);
	expect_told(&world, "Da@25 ");
	expect_request(&world, WATCH_FROM("25"));
	head(&world, 200, 0);
	add_bookmark(&world, "31", false);
	finish(&world);
	expect_told(&world, "");
	assert_int_equal(reflector_counters(world.reflector).bookmarks, 1);
	expect_request(&world, WATCH_FROM("31"));
	end_world(&world);
}

static void replayed_events_are_passed_over_and_do_not_set_the_version_back(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	head(&world, 200, 0);
	add_event(&world, "MODIFIED", "a", "30");
	add_event(&world, "MODIFIED", "a", "25");
	add_bookmark(&world, "24", false);
	add_event(&world, "MODIFIED", "a", "30");
	finish(&world);
	expect_told(&world, "Ua@30 Ua@30 ");
	assert_int_equal(reflector_counters(world.reflector).stale_rewinds, 2);
	expect_request(&world, WATCH_FROM("30"));
	end_world(&world);
}

static void versions_that_are_no_numbers_are_followed_as_they_come(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	head(&world, 200, 0);
	add_event(&world, "MODIFIED", "a", "x9");
	add_event(&world, "MODIFIED", "a", "x10");
	finish(&world);
	expect_request(&world, WATCH_FROM("x10"));
	end_world(&world);
}

static void a_list_that_is_cut_anywhere_is_discarded_and_asked_for_again(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_LIST);
	add_list(&world, "20", NULL, 2);
	struct sbuf list = world.body;
	for (size_t len = 0; len + 4 < list.len; len++) {
		expect_request(&world, LIST_NEWEST);
		sbuf_init(&world.body, 1 << 20);
		head(&world, 200, 0);
		sbuf_append(&world.body, (struct view){list.ptr, len});
		if (len % 2 == 0) {
			finish(&world); /* an end that looks like one */
		} else {
			assert_int_equal(feed(&world), 0);
			cut_off(&world, "cut");
		}
		assert_false(reflector_is_synced(world.reflector));
		assert_null(strchr(sbuf_text(&world.journal), ']'));
		assert_true(reflector_trouble(world.reflector)[0] != '\0');
		expect_wait(&world, 800, 30000);
		sbuf_deinit(&world.body);
	}
	world.body = list;
	end_world(&world);
}

static void a_watch_for_which_there_is_no_connection_keeps_its_place(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	static const uint64_t low[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};
	for (size_t i = 0; i < ARRAY_SIZE(low); i++) {
		cut_off(&world, "connection refused");
		uint64_t high = 2 * low[i] < 30000 ? 2 * low[i] : 30000;
		assert_string_equal(reflector_trouble(world.reflector),
				    "watch pods: connection refused");
		expect_wait(&world, low[i], high);
		expect_request(&world, WATCH_FROM("20"));
	}
	head(&world, 200, 0);
	assert_string_equal(reflector_trouble(world.reflector), "");
	/* Followed for a while: the next failure is the first again. */
	world.now += 10000;
	finish(&world);
	expect_request(&world, WATCH_FROM("20"));
	cut_off(&world, "connection refused");
	expect_wait(&world, 800, 1600);
	assert_int_equal(reflector_counters(world.reflector).lists, 1);
	end_world(&world);
}

static void a_watch_that_ends_at_once_without_an_event_is_a_failure(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	head(&world, 200, 0);
	world.now += 999;
	finish(&world);
	expect_wait(&world, 800, 1600);
	expect_request(&world, WATCH_FROM("20"));
	/* One that only repeats what is known is no better. */
	head(&world, 200, 0);
	add_event(&world, "MODIFIED", "a", "11");
	add_bookmark(&world, "20", false);
	finish(&world);
	expect_wait(&world, 1600, 3200);
	expect_request(&world, WATCH_FROM("20"));
	head(&world, 200, 0);
	world.now += 1000;
	finish(&world);
	expect_request(&world, WATCH_FROM("20"));
	end_world(&world);
}

/* Refusals and ERROR events. */

static void an_expired_watch_lists_from_its_version_and_then_the_newest(void **state)
{
	(void)state;
	for (int form = 0; form < 2; form++) {
		struct world world;
		begin_watching(&world);
		head(&world, 200, 0);
		add_event(&world, "MODIFIED", "a", "21");
		finish(&world);
		expect_request(&world, WATCH_FROM("21"));
		if (form == 0)
			break_watch(&world, 410, "Expired");
		else
			refuse(&world, 410, 0);
		expect_request(&world, LIST_FROM("21"));
		refuse(&world, 410, 0);
		expect_request(&world, LIST_NEWEST);
		sbuf_clear(&world.journal);
		head(&world, 200, 0);
		add_list(&world, "15", NULL, 1);
		finish(&world);
		expect_told(&world, "[La@11 ]");
		/* A server that was set back is followed back. */
		expect_request(&world, WATCH_FROM("15"));
		struct reflector_counters counters = reflector_counters(world.reflector);
		assert_int_equal(counters.relists_expired, 1);
		assert_int_equal(counters.stale_rewinds, 1);
		assert_int_equal(counters.last_version, 15);
		end_world(&world);
	}
}

/*
 * etcd was restored from an older snapshot: a watch from a version that the server has not reached
 * is accepted, and told nothing, neither events nor bookmarks.
 */
static void a_server_that_was_set_back_is_listed_anew_after_two_silent_watches(void **state)
{
	(void)state;
	static const struct kube_bytes_status too_large = {
		504, "Timeout", "t", "ResourceVersionTooLarge", "Too large resource version", 1};
	struct world world;
	begin_watching(&world);
	head(&world, 200, 0);
	add_event(&world, "MODIFIED", "a", "30");
	add_event(&world, "MODIFIED", "b", "31");
	add_bookmark(&world, "32", false);
	assert_int_equal(feed(&world), 0);
	cut_off(&world, "the server is restarted");
	sbuf_clear(&world.journal);
	uint64_t began_at = world.now;
	for (int i = 0; i < 2; i++) {
		expect_request(&world, WATCH_FROM("32"));
		head(&world, 200, 0);
		expect_patience(&world, 75000);
		world.now += 75000;
		cut_off(&world, "gave up");
	}
	expect_request(&world, LIST_FROM("32"));
	head(&world, 504, 1000);
	kube_bytes_status(&world.body, RESOURCE_PROTOBUF, &too_large);
	finish(&world);
	expect_request(&world, LIST_NEWEST);
	head(&world, 200, 0);
	add_list(&world, "25", NULL, 1);
	finish(&world);
	/* What the server has counts, though it is older; what it lacks goes with the list's end. */
	expect_told(&world, "[La@11 ]");
	expect_request(&world, WATCH_FROM("25"));
	assert_in_range(world.now - began_at, 150000, 200000);
	/* And newer events have versions that were there before. */
	head(&world, 200, 0);
	add_event(&world, "MODIFIED", "b", "26");
	finish(&world);
	expect_told(&world, "Ub@26 ");
	end_world(&world);
}

static void expiring_without_progress_backs_off(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	for (int i = 0; i < 8; i++) {
		break_watch(&world, 410, "Expired");
		expect_wait(&world, 800, 30000);
		expect_request(&world, LIST_FROM("20"));
		head(&world, 200, 0);
		add_list(&world, "20", NULL, 1);
		finish(&world);
		expect_request(&world, WATCH_FROM("20"));
	}
	/* And a server that knows no version at all is not asked in a loop either. */
	refuse(&world, 410, 0);
	expect_wait(&world, 800, 30000);
	expect_request(&world, LIST_FROM("20"));
	refuse(&world, 410, 0);
	for (int i = 0; i < 4; i++) {
		expect_request(&world, LIST_NEWEST);
		refuse(&world, 410, 0);
		expect_wait(&world, 800, 30000);
	}
	end_world(&world);
}

static void a_watch_that_ends_at_once_is_no_progress_for_one_that_expires_next(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	head(&world, 200, 0);
	finish(&world);
	expect_wait(&world, 800, 1600);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 410, 0);
	expect_wait(&world, 1600, 3200);
	expect_request(&world, LIST_FROM("20"));
	end_world(&world);
}

static void a_version_that_is_too_large_lists_the_newest_in_all_three_forms(void **state)
{
	(void)state;
	static const struct kube_bytes_status forms[] = {
		{504, "Timeout", "t", "ResourceVersionTooLarge", "Too large resource version", 1},
		{504, "Timeout", "t", "", "Too large resource version", 0},
		{504, "Timeout", "Too large resource version: 9, current: 5", NULL, NULL, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct world world;
		begin_watching(&world);
		break_watch(&world, 410, "Expired");
		expect_wait(&world, 800, 1600);
		expect_request(&world, LIST_FROM("20"));
		head(&world, 504, 1000);
		kube_bytes_status(&world.body, RESOURCE_PROTOBUF, &forms[i]);
		finish(&world);
		expect_request(&world, LIST_NEWEST);
		end_world(&world);
	}
}

static void throttling_waits_as_told_and_keeps_the_place(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	refuse(&world, 429, 17000);
	expect_wait(&world, 17000, 17200);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 503, 40000);
	expect_wait(&world, 40000, 40200);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 429, 0);
	expect_wait(&world, 800, 30000);
	expect_request(&world, WATCH_FROM("20"));
	break_watch(&world, 429, "TooManyRequests");
	expect_wait(&world, 800, 30000);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 500, 0);
	expect_wait(&world, 800, 30000);
	expect_request(&world, WATCH_FROM("20"));
	assert_int_equal(reflector_counters(world.reflector).lists, 1);
	end_world(&world);
}

static void an_error_event_of_another_kind_lists_again_after_a_pause(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	break_watch(&world, 500, "InternalError");
	expect_wait(&world, 800, 1600);
	expect_request(&world, LIST_FROM("20"));
	end_world(&world);
}

static void what_is_forbidden_is_named_with_its_remedy(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	refuse(&world, 403, 0);
	assert_non_null(strstr(reflector_trouble(world.reflector), "may not watch pods: grant"));
	assert_true(reflector_is_denied(world.reflector));
	expect_wait(&world, 800, 1600);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 401, 0);
	assert_non_null(strstr(reflector_trouble(world.reflector), "token"));
	expect_wait(&world, 1600, 3200);
	expect_request(&world, WATCH_FROM("20"));
	assert_true(reflector_is_denied(world.reflector));
	head(&world, 200, 0);
	assert_string_equal(reflector_trouble(world.reflector), "");
	assert_false(reflector_is_denied(world.reflector));
	end_world(&world);

	begin_world(&world, &things, REFLECTOR_LIST);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
	refuse(&world, 500, 0);
	assert_false(reflector_is_denied(world.reflector));
	expect_wait(&world, 800, 1600);
	end_world(&world);

	begin_world(&world, &things, REFLECTOR_LIST);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
	refuse(&world, 403, 0);
	assert_non_null(strstr(reflector_trouble(world.reflector), "may not list things.a.b: grant"));
	assert_false(reflector_is_synced(world.reflector));
	expect_wait(&world, 800, 1600);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
	end_world(&world);
}

/* Answers each request that comes in the time so, and the first one after it. */
static void refuse_for_long(struct world *world, int status)
{
	uint64_t end = world->now + REFLECTOR_DENIED_MS;

	for (bool is_last = false; !is_last;) {
		struct reflector_request request;
		enum reflector_step step;

		expect_told(world, "");
		is_last = world->now >= end;
		refuse(world, status, 0);
		step = reflector_next(world->reflector, world->now, &request);
		assert_int_equal(step, REFLECTOR_WAIT);
		world->now = request.wait_until;
		if (!is_last)
			assert_int_equal(reflector_next(world->reflector, world->now, &request),
					 REFLECTOR_REQUEST);
	}
}

static void what_is_refused_for_long_is_said_once_and_until_it_is_listed_and_watched(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	refuse_for_long(&world, 403);
	expect_told(&world, "-");
	/* It may be more than a watch can tell, and newer than what a cache has. */
	expect_request(&world, LIST_NEWEST);
	refuse(&world, 403, 0);
	expect_wait(&world, 800, 30000);
	expect_request(&world, LIST_NEWEST);
	/* Whatever fails now: it is not yet read again. */
	refuse(&world, 500, 0);
	expect_wait(&world, 800, 30000);
	expect_request(&world, LIST_NEWEST);
	refuse(&world, 410, 0);
	expect_wait(&world, 800, 30000);
	expect_request(&world, LIST_NEWEST);
	head(&world, 200, 0);
	add_list(&world, "30", NULL, 1);
	finish(&world);
	expect_told(&world, "[La@11 ]");
	expect_request(&world, WATCH_FROM("30"));
	/* Who may list and may not watch has what was listed last. */
	refuse(&world, 403, 0);
	expect_wait(&world, 800, 30000);
	expect_request(&world, LIST_NEWEST);
	head(&world, 200, 0);
	add_list(&world, "31", NULL, 1);
	finish(&world);
	expect_told(&world, "[La@11 ]");
	expect_request(&world, WATCH_FROM("31"));
	head(&world, 200, 0);
	expect_told(&world, "+");
	end_world(&world);
}

/* It may list again, and asks for the watch. */
static void list_anew(struct world *world, const char *path)
{
	expect_request(world, path);
	head(world, 200, 0);
	add_list(world, "30", NULL, 1);
	finish(world);
	expect_request(world, WATCH_FROM("30"));
}

/* And no sooner: else who may list and may not watch would list each second. */
static void the_back_off_of_a_refusal_is_forgotten_when_the_watch_is_open(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	refuse_for_long(&world, 403);
	list_anew(&world, LIST_NEWEST);
	break_watch(&world, 410, "Expired");
	expect_wait(&world, 800, 1600);
	list_anew(&world, LIST_FROM("30"));
	break_watch(&world, 410, "Expired"); /* a storm */
	expect_wait(&world, 1600, 3200);
	end_world(&world);

	begin_watching(&world);
	refuse_for_long(&world, 403);
	for (int i = 0; i < 2; i++) {
		list_anew(&world, LIST_NEWEST);
		refuse(&world, 403, 0);
		expect_wait(&world, 6400, 30000);
	}
	end_world(&world);
}

static void what_is_refused_for_a_moment_or_otherwise_is_not_said_to_be_denied(void **state)
{
	(void)state;
	static const int others[] = {401, 429, 500};
	struct world world;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		begin_watching(&world);
		refuse_for_long(&world, others[i]);
		expect_told(&world, "");
		end_world(&world);
	}
	/* What is not there yet is waited for. */
	begin_world(&world, &things, REFLECTOR_LIST);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
	refuse_for_long(&world, 403);
	expect_told(&world, "");
	end_world(&world);

	/* Only what is refused each time is refused for long. */
	begin_watching(&world);
	for (int i = 0; i < 3; i++) {
		refuse(&world, i == 1 ? 500 : 403, 0);
		expect_told(&world, "");
		world.now += 2 * REFLECTOR_DENIED_MS;
		expect_request(&world, WATCH_FROM("20"));
	}
	cut_off(&world, "no connection");
	world.now += 2 * REFLECTOR_DENIED_MS;
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 403, 0);
	expect_told(&world, "");
	end_world(&world);

	begin_watching(&world);
	refuse(&world, 403, 0);
	expect_wait(&world, 800, 1600);
	expect_request(&world, WATCH_FROM("20"));
	head(&world, 200, 0);
	world.now += 2 * REFLECTOR_DENIED_MS;
	finish(&world);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 403, 0);
	expect_told(&world, "");
	/* Nor where something else is the answer that leads to a list at once. */
	expect_wait(&world, 800, 3200);
	expect_request(&world, WATCH_FROM("20"));
	world.now += 2 * REFLECTOR_DENIED_MS;
	refuse(&world, 410, 0);
	expect_request(&world, LIST_FROM("20"));
	refuse(&world, 403, 0);
	expect_told(&world, "");
	end_world(&world);
}

static void what_is_denied_is_so_no_more_once_it_is_streamed_or_known_not_to_be(void **state)
{
	(void)state;
	static const char *const streamed[] = {"[", "]+"};
	struct world world;

	begin_world(&world, &pods, REFLECTOR_STREAM);
	for (int i = 0; i < 2; i++) {
		expect_request(&world, STREAM_FROM(""));
		head(&world, 200, 0);
		expect_told(&world, streamed[0]);
		add_bookmark(&world, "20", true);
		assert_int_equal(feed(&world), 0);
		expect_told(&world, i ? streamed[1] : "]");
		world.now += 1500;
		finish(&world);
		expect_request(&world, WATCH_FROM("20"));
		refuse_for_long(&world, 403);
		expect_told(&world, "-");
		world.now += 300000;
	}
	expect_request(&world, STREAM_FROM(""));
	refuse(&world, 404, 0);
	expect_told(&world, "A+");
	end_world(&world);
}

static void a_certificate_that_is_not_believed_is_trouble_with_advice(void **state)
{
	(void)state;
	struct error error;
	struct world world;
	begin_watching(&world);
	error_set(&error, ERROR_DENIED, 0, "self-signed certificate");
	reflector_ended(world.reflector, &error, world.now);
	assert_non_null(strstr(reflector_trouble(world.reflector), "our CA and clock (self-signed"));
	expect_wait(&world, 800, 1600);
	expect_request(&world, WATCH_FROM("20"));
	end_world(&world);
}

static void a_resource_that_does_not_exist_is_looked_for_now_and_then(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &things, REFLECTOR_LIST);
	for (int i = 0; i < 100; i++) {
		expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
		refuse(&world, 404, 0);
		expect_told(&world, i == 0 ? "A" : "");
		assert_true(reflector_is_synced(world.reflector));
		assert_string_equal(reflector_trouble(world.reflector), "");
		expect_wait(&world, 30000, 33000);
	}
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 1);
	finish(&world);
	expect_told(&world, "[La@11 ]");
	/* And goes away again. */
	expect_request(&world, "/apis/a.b/v1/things?watch=1&allowWatchBookmarks=true"
			       "&timeoutSeconds=T&resourceVersion=20");
	refuse(&world, 404, 0);
	expect_wait(&world, 800, 1600);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=20"
			       "&resourceVersionMatch=NotOlderThan");
	refuse(&world, 404, 0);
	expect_told(&world, "A");
	end_world(&world);
}

static void a_resource_that_must_exist_is_trouble_while_it_does_not(void **state)
{
	(void)state;
	struct world world;
	const struct reflector_sink sink = {&world, saw_begin, saw_end, saw_object, NULL};
	const struct reflector_config config = {&things, REFLECTOR_LIST, 2, 2000, 42};
	begin_world(&world, &things, REFLECTOR_LIST);
	reflector_free(world.reflector);
	assert_int_equal(reflector_new(&config, &sink, &world.reflector, &err), 0);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
	refuse(&world, 404, 0);
	assert_false(reflector_is_synced(world.reflector));
	assert_non_null(strstr(reflector_trouble(world.reflector), "things.a.b"));
	expect_wait(&world, 2000, 2200);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 1);
	finish(&world);
	assert_true(reflector_is_synced(world.reflector));
	assert_string_equal(reflector_trouble(world.reflector), "");
	end_world(&world);
}

static void a_refused_list_is_asked_for_again_after_a_pause(void **state)
{
	(void)state;
	static const int statuses[] = {301, 400, 401, 429, 500, 503};
	struct world world;
	begin_world(&world, &pods, REFLECTOR_LIST);
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		expect_request(&world, LIST_NEWEST);
		refuse(&world, statuses[i], 0);
		expect_wait(&world, 800, 30000);
	}
	expect_told(&world, "");
	end_world(&world);
}

static void an_answer_of_another_type_is_not_read(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_LIST);
	expect_request(&world, LIST_NEWEST);
	reflector_answered(world.reflector, 200, 0, VIEW("text/html"), world.now);
	sbuf_append(&world.body, VIEW("<html>"));
	assert_int_equal(feed(&world), -1);
	reflector_ended(world.reflector, &err, world.now);
	assert_non_null(strstr(reflector_trouble(world.reflector), "text/html"));
	expect_told(&world, "");
	expect_wait(&world, 800, 1600);
	end_world(&world);
}

/* Objects. */

static void a_list_of_another_kind_is_refused(void **state)
{
	(void)state;
	static const struct kube_bytes_object object = {"ns", "a", "u", "11", NULL, false};
	static const struct resource *const resources[] = {&pods, &things};
	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		struct world world;
		struct reflector_request request;
		begin_world(&world, resources[i], REFLECTOR_LIST);
		assert_int_equal(reflector_next(world.reflector, world.now, &request),
				 REFLECTOR_REQUEST);
		head(&world, 200, 0);
		kube_bytes_list(&world.body, resources[i],
				&(struct kube_bytes_list){"20", NULL, "Table", &object, 1});
		bool broken = feed(&world) != 0;
		reflector_ended(world.reflector, broken ? &err : NULL, world.now);
		assert_false(reflector_is_synced(world.reflector));
		assert_null(strchr(sbuf_text(&world.journal), ']'));
		expect_wait(&world, 800, 1600);
		end_world(&world);
	}
}

static void events_that_are_no_use_are_counted_and_the_stream_lives(void **state)
{
	(void)state;
	static const struct resource nodes = {"", "v1", "nodes", "Node", RESOURCE_PROTOBUF, NULL};
	struct world world;
	begin_watching(&world);
	world.refuse = "refused";
	head(&world, 200, 0);
	add_event(&world, "NOVEL", "a", "21");
	kube_bytes_event(&world.body, &nodes, "ADDED",
			 &(struct kube_bytes_object){"", "other-kind", "u", "22", NULL, false});
	kube_bytes_event(&world.body, &pods, "ADDED",
			 &(struct kube_bytes_object){"", "no-version", "u", "", NULL, false});
	sbuf_append(&world.body, VIEW("\0\0\0\1\xff"));
	add_event(&world, "ADDED", "refused", "23");
	add_event(&world, "ADDED", "good", "24");
	finish(&world);
	expect_told(&world, "Urefused@23 Ugood@24 ");
	assert_int_equal(reflector_counters(world.reflector).objects_refused, 5);
	expect_request(&world, WATCH_FROM("24"));
	end_world(&world);
}

static void an_object_that_the_sink_refuses_does_not_stop_a_list(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_LIST);
	world.refuse = "a";
	expect_request(&world, LIST_NEWEST);
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 2);
	finish(&world);
	expect_told(&world, "[La@11 Lb@12 ]");
	assert_int_equal(reflector_counters(world.reflector).objects_refused, 1);
	end_world(&world);
}

static void the_first_state_is_the_newest_however_it_is_read(void **state)
{
	(void)state;
	static const struct {
		enum reflector_initial initial;
		const char *request;
	} rows[] = {
		{REFLECTOR_LIST, LIST_NEWEST},
		{REFLECTOR_STREAM, STREAM_FROM("")},
		{REFLECTOR_PAGES, LIST_NEWEST "&limit=2"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world world;
		begin_world(&world, &pods, rows[i].initial);
		expect_request(&world, rows[i].request);
		/* There is no newer one to fall back on. */
		refuse(&world, 410, 0);
		expect_wait(&world, 800, 1600);
		expect_request(&world, rows[i].request);
		end_world(&world);
	}
}

static void a_list_that_the_sink_has_no_memory_for_is_asked_for_again(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_LIST);
	world.refuse = "a";
	world.refuse_with = ERROR_NO_MEMORY;
	expect_request(&world, LIST_NEWEST);
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 2);
	assert_int_equal(feed(&world), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	reflector_ended(world.reflector, &err, world.now);
	expect_told(&world, "[La@11 ");
	assert_false(reflector_is_synced(world.reflector));
	assert_int_equal(reflector_counters(world.reflector).objects_refused, 0);
	expect_wait(&world, 800, 1600);
	world.refuse = NULL;
	expect_request(&world, LIST_NEWEST);
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 2);
	finish(&world);
	expect_told(&world, "[La@11 Lb@12 ]");
	end_world(&world);
}

static void an_event_that_the_sink_has_no_memory_for_comes_again_in_a_list(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	world.refuse = "c";
	world.refuse_with = ERROR_NO_MEMORY;
	head(&world, 200, 0);
	add_event(&world, "ADDED", "b", "21");
	add_event(&world, "ADDED", "c", "22");
	add_event(&world, "ADDED", "d", "23");
	assert_int_equal(feed(&world), -1);
	reflector_ended(world.reflector, &err, world.now);
	expect_told(&world, "Ub@21 Uc@22 ");
	/* The version stays before what was not taken. */
	assert_int_equal(reflector_counters(world.reflector).last_version, 21);
	expect_wait(&world, 800, 1600);
	expect_request(&world, LIST_FROM("21"));
	end_world(&world);
}

static void an_object_over_the_limit_is_counted_and_its_neighbours_are_told(void **state)
{
	(void)state;
	struct world world;
	char *payload = malloc(LIMIT_OBJECT_BYTES + 1);
	assert_non_null(payload);
	memset(payload, 'x', LIMIT_OBJECT_BYTES);
	payload[LIMIT_OBJECT_BYTES] = '\0';
	const struct kube_bytes_object objects[] = {
		{"ns", "a", "u-a", "11", NULL, false},
		{"ns", "large", "u-l", "12", payload, false},
		{"ns", "b", "u-b", "13", NULL, false},
	};
	const struct kube_bytes_list list = {"20", NULL, NULL, objects, ARRAY_SIZE(objects)};
	begin_world(&world, &pods, REFLECTOR_LIST);
	expect_request(&world, LIST_NEWEST);
	head(&world, 200, 0);
	kube_bytes_list(&world.body, &pods, &list);
	finish(&world);
	expect_told(&world, "[La@11 Lb@13 ]");
	assert_int_equal(reflector_counters(world.reflector).objects_refused, 1);
	expect_request(&world, WATCH_FROM("20"));
	head(&world, 200, 0);
	kube_bytes_event(&world.body, &pods, "MODIFIED", &objects[1]);
	add_event(&world, "ADDED", "c", "21");
	finish(&world);
	expect_told(&world, "Uc@21 ");
	assert_int_equal(reflector_counters(world.reflector).objects_refused, 2);
	expect_request(&world, WATCH_FROM("21"));
	end_world(&world);
	free(payload);
}

static void a_length_that_cannot_be_one_ends_the_watch_and_lists_again(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	head(&world, 200, 0);
	add_event(&world, "ADDED", "c", "21");
	sbuf_append(&world.body, VIEW("\xff\xff\xff\xff"));
	assert_int_equal(feed(&world), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	reflector_ended(world.reflector, &err, world.now);
	expect_told(&world, "Uc@21 ");
	expect_wait(&world, 800, 1600);
	expect_request(&world, LIST_FROM("21"));
	end_world(&world);
}

static void a_line_of_8_mib_without_an_end_ends_the_watch_and_lists_again(void **state)
{
	(void)state;
	static char part[64 * LIMIT_KIB];
	struct world world;
	size_t n = 0;
	begin_world(&world, &things, REFLECTOR_LIST);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 0);
	finish(&world);
	expect_request(&world, "/apis/a.b/v1/things?watch=1&allowWatchBookmarks=true"
			       "&timeoutSeconds=T&resourceVersion=20");
	head(&world, 200, 0);
	memset(part, 'x', sizeof(part));
	do {
		n += sizeof(part);
		assert_true(n <= 9 * LIMIT_MIB);
	} while (reflector_feed(world.reflector, (struct view){part, sizeof(part)}, world.now,
				&err) == 0);
	assert_in_range(n, 8 * LIMIT_MIB, 8 * LIMIT_MIB + sizeof(part));
	assert_int_equal(err.kind, ERROR_LIMIT);
	reflector_ended(world.reflector, &err, world.now);
	expect_wait(&world, 800, 1600);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=20"
			       "&resourceVersionMatch=NotOlderThan");
	end_world(&world);
}

static void text_that_json_libraries_refuse_does_not_stop_the_stream(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &things, REFLECTOR_LIST);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=");
	head(&world, 200, 0);
	sbuf_printf(&world.body,
		    "{\"apiVersion\":\"a.b/v1\",\"items\":[{\"metadata\":{\"name\":\"a\","
		    "\"resourceVersion\":\"1\"},\"x\":\"\\u0000\\ud800\",\"y\":1e400,"
		    "\"z\":99999999999999999999999}],\"kind\":\"ThingList\","
		    "\"metadata\":{\"resourceVersion\":\"5\"}}");
	finish(&world);
	expect_told(&world, "[La@1 ]");
	end_world(&world);
}

/* Pages. */

#define PAGE_1 "/api/v1/pods?resourceVersion=&limit=2"
#define PAGE_AT(t) "/api/v1/pods?limit=2&continue=" t

static void pages_are_asked_for_by_their_token_until_there_is_none(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_PAGES);
	expect_request(&world, PAGE_1);
	head(&world, 200, 0);
	add_list(&world, "20", "t+1", 2);
	finish(&world);
	assert_false(reflector_is_synced(world.reflector));
	expect_request(&world, PAGE_AT("t%2B1"));
	head(&world, 200, 0);
	add_list(&world, "20", "t2", 2);
	finish(&world);
	expect_request(&world, PAGE_AT("t2"));
	refuse(&world, 503, 0); /* a page can be asked for again */
	expect_wait(&world, 800, 1600);
	expect_request(&world, PAGE_AT("t2"));
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 1);
	finish(&world);
	expect_told(&world, "[La@11 Lb@12 La@11 Lb@12 La@11 ]");
	expect_request(&world, WATCH_FROM("20"));
	/* A list from a given version comes from a cache, which knows no pages. */
	break_watch(&world, 500, "InternalError");
	expect_wait(&world, 800, 3200);
	expect_request(&world, LIST_FROM("20"));
	end_world(&world);
}

static void a_page_that_has_expired_leads_to_one_whole_list(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_PAGES);
	expect_request(&world, PAGE_1);
	head(&world, 200, 0);
	add_list(&world, "20", "t1", 2);
	finish(&world);
	expect_request(&world, PAGE_AT("t1"));
	refuse(&world, 410, 0);
	expect_request(&world, LIST_NEWEST);
	head(&world, 200, 0);
	add_list(&world, "22", NULL, 1);
	finish(&world);
	expect_told(&world, "[La@11 Lb@12 [La@11 ]");
	expect_request(&world, WATCH_FROM("22"));
	end_world(&world);
}

static void a_first_page_that_has_expired_is_a_failure(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_PAGES);
	expect_request(&world, PAGE_1);
	refuse(&world, 410, 0);
	expect_wait(&world, 800, 1600);
	expect_request(&world, PAGE_1);
	end_world(&world);
}

/* Streams. */

static void a_stream_is_complete_at_the_bookmark_that_says_so(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_STREAM);
	expect_request(&world, STREAM_FROM(""));
	head(&world, 200, 0);
	add_event(&world, "ADDED", "b", "12");
	add_event(&world, "ADDED", "a", "11");
	add_bookmark(&world, "15", false);
	add_event(&world, "MODIFIED", "a", "21");
	add_event(&world, "DELETED", "b", "22");
	assert_int_equal(feed(&world), 0);
	assert_false(reflector_is_synced(world.reflector));
	assert_int_equal(reflector_counters(world.reflector).last_version, 0);
	add_bookmark(&world, "30", true);
	add_event(&world, "ADDED", "c", "31");
	finish(&world);
	expect_told(&world, "[Lb@12 La@11 Ua@21 Db@22 ]Uc@31 ");
	assert_true(reflector_is_synced(world.reflector));
	assert_int_equal(reflector_counters(world.reflector).lists, 0);
	expect_request(&world, WATCH_FROM("31"));
	end_world(&world);
}

static void a_stream_that_ends_early_begins_anew(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_STREAM);
	expect_request(&world, STREAM_FROM(""));
	head(&world, 200, 0);
	add_event(&world, "ADDED", "a", "11");
	world.now += 5000;
	finish(&world);
	expect_wait(&world, 800, 1600);
	expect_request(&world, STREAM_FROM(""));
	refuse(&world, 429, 5000);
	expect_wait(&world, 5000, 5200);
	expect_request(&world, STREAM_FROM(""));
	cut_off(&world, "connection refused");
	expect_wait(&world, 800, 30000);
	expect_request(&world, STREAM_FROM(""));
	head(&world, 200, 0);
	add_bookmark(&world, "30", true);
	finish(&world);
	expect_told(&world, "[La@11 []");
	expect_request(&world, WATCH_FROM("30"));
	break_watch(&world, 410, "Expired");
	expect_request(&world, STREAM_FROM("30"));
	break_watch(&world, 410, "Expired");
	expect_wait(&world, 800, 30000);
	expect_request(&world, STREAM_FROM(""));
	end_world(&world);
}

static void a_server_that_cannot_stream_is_asked_for_a_list_at_once(void **state)
{
	(void)state;
	static const int statuses[] = {400, 422};
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct world world;
		begin_world(&world, &pods, REFLECTOR_STREAM);
		expect_request(&world, STREAM_FROM(""));
		refuse(&world, statuses[i], 0);
		expect_request(&world, LIST_NEWEST);
		head(&world, 200, 0);
		add_list(&world, "20", NULL, 1);
		finish(&world);
		expect_told(&world, "[La@11 ]");
		expect_request(&world, WATCH_FROM("20"));
		end_world(&world);
	}
}

/* Patience. */

static void an_answer_that_does_not_begin_is_given_up(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_LIST);
	expect_request(&world, LIST_NEWEST);
	expect_patience(&world, 75000);
	world.now += 70000;
	head(&world, 200, 0);
	expect_patience(&world, 75000);
	end_world(&world);
}

static void a_watch_is_given_up_after_its_time_or_75_s_of_silence(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	uint64_t started_at = world.now;
	expect_patience(&world, 75000);
	world.now += 1000;
	head(&world, 200, 0);
	expect_patience(&world, 75000);
	world.now += 60000;
	add_bookmark(&world, "21", false);
	assert_int_equal(feed(&world), 0);
	expect_patience(&world, 75000);
	/* The end of its time comes first. */
	world.now = started_at + world.timeout_s * 1000;
	add_bookmark(&world, "22", false);
	assert_int_equal(feed(&world), 0);
	expect_patience(&world, 30000);
	cut_off(&world, "gave up");
	expect_request(&world, WATCH_FROM("22"));
	end_world(&world);
}

/* Who takes a server for hung because it has no bookmarks must not do so again and again. */
static void a_server_that_never_sent_a_bookmark_gets_one_silent_watch_to_its_end(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	for (int round = 0; round < 2; round++) {
		head(&world, 200, 0);
		expect_patience(&world, 75000);
		world.now += 75000;
		cut_off(&world, "gave up");
		expect_request(&world, WATCH_FROM("20"));
		expect_patience(&world, 75000); /* for a head, as ever */
		head(&world, 200, 0);
		expect_patience(&world, world.timeout_s * 1000 + 30000);
		world.now += world.timeout_s * 1000;
		finish(&world);
		expect_request(&world, LIST_FROM("20"));
		head(&world, 200, 0);
		add_list(&world, "20", NULL, 1);
		finish(&world);
		expect_request(&world, WATCH_FROM("20"));
	}
	assert_int_equal(reflector_counters(world.reflector).failures, 0);
	end_world(&world);
}

static void an_event_ends_the_patience_with_a_server_without_bookmarks(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	head(&world, 200, 0);
	world.now += 75000;
	cut_off(&world, "gave up");
	expect_request(&world, WATCH_FROM("20"));
	head(&world, 200, 0);
	world.now += 100000;
	add_event(&world, "MODIFIED", "a", "21");
	finish(&world);
	expect_request(&world, WATCH_FROM("21"));
	head(&world, 200, 0);
	expect_patience(&world, 75000);
	end_world(&world);
}

static void a_server_that_once_sent_a_bookmark_may_never_be_silent_for_long(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	head(&world, 200, 0);
	add_bookmark(&world, "21", false);
	finish(&world);
	expect_request(&world, WATCH_FROM("21"));
	for (int i = 0; i < 2; i++) {
		head(&world, 200, 0);
		expect_patience(&world, 75000);
		world.now += 75000;
		cut_off(&world, "gave up");
		expect_request(&world, i == 0 ? WATCH_FROM("21") : LIST_FROM("21"));
	}
	end_world(&world);
}

static void silence_of_two_watches_is_not_believed(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	for (int i = 0; i < 2; i++) {
		head(&world, 200, 0);
		world.now += 300000;
		finish(&world);
		if (i == 0)
			expect_request(&world, WATCH_FROM("20"));
	}
	expect_request(&world, LIST_FROM("20"));
	assert_int_equal(reflector_counters(world.reflector).relists_expired, 1);
	end_world(&world);
}

static void hours_with_bookmarks_only_cost_one_watch_each_ten_minutes(void **state)
{
	(void)state;
	struct world world;
	uint64_t version = 20;
	begin_watching(&world);
	for (uint64_t hours = 10 * 3600 * 1000ull, begun = world.now; world.now < begun + hours;) {
		struct reflector_request request;
		char text[24];
		head(&world, 200, 0);
		for (uint64_t minutes = world.timeout_s / 60; minutes > 0; minutes--) {
			world.now += 60000;
			snprintf(text, sizeof(text), "%llu", (unsigned long long)++version);
			add_bookmark(&world, text, false);
			assert_int_equal(feed(&world), 0);
		}
		finish(&world);
		assert_int_equal(reflector_next(world.reflector, world.now, &request),
				 REFLECTOR_REQUEST);
	}
	struct reflector_counters counters = reflector_counters(world.reflector);
	assert_int_equal(counters.lists, 1);
	assert_int_equal(counters.failures, 0);
	assert_true(counters.watches <= 121);
	end_world(&world);
}

/* Of a resource of which nothing changes. */
static void bookmarks_that_do_not_move_the_version_are_heard_too(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	for (int i = 0; i < 10; i++) {
		head(&world, 200, 0);
		for (int minute = 0; minute < 4; minute++) {
			world.now += 60000;
			add_bookmark(&world, "20", false);
			assert_int_equal(feed(&world), 0);
		}
		finish(&world);
		expect_request(&world, WATCH_FROM("20"));
	}
	assert_int_equal(reflector_counters(world.reflector).lists, 1);
	end_world(&world);
}

static void watches_last_between_five_and_ten_minutes_each_its_own(void **state)
{
	(void)state;
	struct world world;
	uint32_t low = UINT32_MAX, high = 0;
	begin_watching(&world);
	for (int i = 0; i < 100; i++) {
		low = world.timeout_s < low ? world.timeout_s : low;
		high = world.timeout_s > high ? world.timeout_s : high;
		head(&world, 200, 0);
		world.now += 2000;
		finish(&world);
		expect_request(&world, WATCH_FROM("20"));
	}
	assert_true(high - low > 200);
	end_world(&world);
}

/* Hastening. */

static void hasten(struct world *world, uint64_t in_ms, enum reflector_haste haste)
{
	reflector_hasten(world->reflector, world->now + in_ms, haste);
}

static void be_cut(struct world *world)
{
	cut_off(world, "connection refused");
}

static void be_cut_while_listing(struct world *world)
{
	break_watch(world, 500, "InternalError"); /* of the watch: that is a wait as well */
	hasten(world, 0, REFLECTOR_BACK);
	expect_request(world, LIST_FROM("20"));
	cut_off(world, "connection refused");
}

static void be_broken(struct world *world)
{
	refuse(world, 500, 0);
}

static void be_unavailable(struct world *world)
{
	refuse(world, 503, 0);
}

static void be_told_of_trouble(struct world *world)
{
	break_watch(world, 500, "InternalError");
}

static void end_at_once(struct world *world)
{
	head(world, 200, 0);
	finish(world);
}

static void be_asked_to_wait(struct world *world)
{
	refuse(world, 503, 5000);
}

static void be_throttled(struct world *world)
{
	refuse(world, 429, 5000);
}

static void be_throttled_for_no_stated_time(struct world *world)
{
	refuse(world, 429, 0);
}

static void be_forbidden(struct world *world)
{
	refuse(world, 403, 0);
}

static void be_unknown(struct world *world)
{
	refuse(world, 401, 0);
}

static void be_expired(struct world *world)
{
	break_watch(world, 410, "Expired");
}

static void be_gone(struct world *world)
{
	refuse(world, 404, 0);
}

static void be_absent(struct world *world)
{
	refuse(world, 404, 0);
	expect_wait(world, 800, 1600);
	expect_request(world, LIST_FROM("20"));
	refuse(world, 404, 0);
}

static void be_rejected(struct world *world)
{
	refuse(world, 422, 0);
}

static void run_out_of_memory(struct world *world)
{
	head(world, 200, 0);
	world->refuse = "a";
	world->refuse_with = ERROR_NO_MEMORY;
	add_event(world, "MODIFIED", "a", "21");
	assert_int_equal(feed(world), -1);
	reflector_ended(world->reflector, &err, world->now);
}

static void a_wait_for_the_server_ends_when_it_answers_and_no_other_wait_does(void **state)
{
	(void)state;
	static const struct {
		void (*happen)(struct world *world);
		enum { NEVER, BACK_ONLY, EACH_TIME } ends;
	} rows[] = {
		{be_cut, EACH_TIME},
		{be_cut_while_listing, EACH_TIME},
		{be_broken, EACH_TIME},
		{be_unavailable, EACH_TIME},
		{be_told_of_trouble, EACH_TIME},
		{end_at_once, EACH_TIME},
		{be_asked_to_wait, NEVER},
		{be_throttled, NEVER},
		{be_throttled_for_no_stated_time, NEVER},
		{be_forbidden, BACK_ONLY},
		{be_unknown, BACK_ONLY},
		{be_expired, BACK_ONLY},
		{be_gone, NEVER},
		{be_absent, NEVER},
		{be_rejected, NEVER},
		{run_out_of_memory, NEVER},
	};
	static const enum reflector_haste hastes[] = {REFLECTOR_NO_DOUBT, REFLECTOR_RECOVERED,
						      REFLECTOR_BACK};
	for (size_t i = 0; i < ARRAY_SIZE(hastes) * ARRAY_SIZE(rows); i++) {
		struct world world;
		enum reflector_haste haste = hastes[i % ARRAY_SIZE(hastes)];
		unsigned ends = rows[i / ARRAY_SIZE(hastes)].ends;
		begin_watching(&world);
		rows[i / ARRAY_SIZE(hastes)].happen(&world);
		hasten(&world, 150, haste);
		if (ends == EACH_TIME || (ends == BACK_ONLY && haste == REFLECTOR_BACK))
			expect_wait(&world, 150, 150);
		else
			expect_wait(&world, 800, 33000);
		end_world(&world);
	}
}

static void hastening_makes_no_wait_longer_and_leaves_an_answer_under_way_alone(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	hasten(&world, 100000, REFLECTOR_BACK);
	expect_patience(&world, 75000);
	head(&world, 200, 0);
	hasten(&world, 0, REFLECTOR_NO_DOUBT);
	expect_patience(&world, 75000);
	world.now += 10000;
	cut_off(&world, "cut");
	hasten(&world, 100000, REFLECTOR_BACK);
	expect_request(&world, WATCH_FROM("20")); /* it was to go on at once */
	cut_off(&world, "connection refused");
	hasten(&world, 100000, REFLECTOR_BACK);
	expect_wait(&world, 800, 1600);
	end_world(&world);

	begin_world(&world, &pods, REFLECTOR_LIST);
	hasten(&world, 100000, REFLECTOR_BACK);
	expect_request(&world, LIST_NEWEST);
	end_world(&world);
}

/* The server answers others, and not this one: that leads to a back-off as it always did. */
static void without_an_outage_it_is_hastened_once_until_a_watch_has_lived_ten_seconds(void **state)
{
	(void)state;
	static const uint64_t lived[] = {2000, 9999, 10000};
	struct world world;
	begin_watching(&world);
	for (size_t i = 0; i < ARRAY_SIZE(lived); i++) {
		refuse(&world, 500, 0);
		hasten(&world, 0, REFLECTOR_NO_DOUBT);
		expect_request(&world, WATCH_FROM("20"));
		uint64_t low = 800;
		for (int n = 0; n < 3; n++) {
			refuse(&world, 500, 0);
			low *= 2;
			hasten(&world, 0, REFLECTOR_NO_DOUBT);
			expect_wait(&world, low, 2 * low);
			expect_request(&world, WATCH_FROM("20"));
		}
		/* A watch that is too short does not count, */
		for (size_t k = 0; k <= i; k++) {
			head(&world, 200, 0);
			world.now += lived[k];
			cut_off(&world, "cut");
			expect_request(&world, WATCH_FROM("20"));
			if (lived[k] >= 10000)
				break;
			refuse(&world, 500, 0);
			hasten(&world, 0, REFLECTOR_NO_DOUBT);
			expect_wait(&world, 12800, 30000);
			expect_request(&world, WATCH_FROM("20"));
		}
		/* an outage begins anew. */
		if (i + 1 < ARRAY_SIZE(lived)) {
			refuse(&world, 500, 0);
			hasten(&world, 0, REFLECTOR_BACK);
			expect_request(&world, WATCH_FROM("20"));
		}
	}
	refuse(&world, 500, 0);
	hasten(&world, 0, REFLECTOR_NO_DOUBT);
	expect_request(&world, WATCH_FROM("20"));
	end_world(&world);
}

static void after_an_outage_the_back_off_starts_anew_and_it_is_hastened_each_time(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	for (int outage = 0; outage < 5; outage++) {
		for (int i = 0; i < 6; i++) {
			cut_off(&world, "connection refused");
			expect_wait(&world, 800, 30000);
			expect_request(&world, WATCH_FROM("20"));
		}
		cut_off(&world, "connection refused");
		hasten(&world, 0, REFLECTOR_BACK);
		expect_request(&world, WATCH_FROM("20"));
		cut_off(&world, "connection refused");
		expect_wait(&world, 800, 1600);
		expect_request(&world, WATCH_FROM("20"));
	}
	/* Also when it had not been waiting for the server: what it waits for it goes on to. */
	for (int i = 0; i < 6; i++) {
		refuse(&world, 429, 0);
		expect_wait(&world, 800, 30000);
		expect_request(&world, WATCH_FROM("20"));
	}
	refuse(&world, 429, 40000);
	hasten(&world, 0, REFLECTOR_BACK);
	expect_wait(&world, 40000, 40200);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 429, 0);
	expect_wait(&world, 800, 1600);
	end_world(&world);
}

/* A resource that shares its trouble with others is hastened when one of them recovers: once. */
static void a_recovery_of_another_hastens_once_more_and_forgets_no_back_off(void **state)
{
	(void)state;
	static const uint64_t lived[] = {9999, 10000};
	struct world world;
	begin_watching(&world);
	refuse(&world, 500, 0);
	hasten(&world, 0, REFLECTOR_NO_DOUBT);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 500, 0);
	hasten(&world, 0, REFLECTOR_NO_DOUBT);
	expect_wait(&world, 1600, 3200);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 500, 0);
	hasten(&world, 0, REFLECTOR_RECOVERED);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 500, 0);
	hasten(&world, 0, REFLECTOR_RECOVERED);
	expect_wait(&world, 6400, 12800);
	expect_request(&world, WATCH_FROM("20"));
	/* Until it has followed its resource for a while. */
	for (size_t i = 0; i < ARRAY_SIZE(lived); i++) {
		head(&world, 200, 0);
		world.now += lived[i];
		cut_off(&world, "cut");
		expect_request(&world, WATCH_FROM("20"));
		refuse(&world, 500, 0);
		hasten(&world, 0, REFLECTOR_RECOVERED);
		if (i == 0)
			expect_wait(&world, 12800, 30000);
		expect_request(&world, WATCH_FROM("20"));
	}
	end_world(&world);
}

/* An API server that has just started refuses all until it has read its rules. */
static void what_was_refused_while_the_server_was_away_goes_on_when_it_is_back(void **state)
{
	(void)state;
	static const int statuses[] = {401, 403};
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct world world;
		begin_watching(&world);
		for (int n = 0; n < 5; n++) {
			refuse(&world, statuses[i], 0);
			hasten(&world, 100, REFLECTOR_BACK);
			expect_wait(&world, 100, 100);
			expect_request(&world, WATCH_FROM("20"));
		}
		refuse(&world, statuses[i], 0);
		expect_wait(&world, 800, 1600); /* its back-off begins anew */
		/* What it waits for later is another matter. */
		expect_request(&world, WATCH_FROM("20"));
		refuse(&world, 429, 5000);
		hasten(&world, 100, REFLECTOR_BACK);
		expect_wait(&world, 5000, 5200);
		end_world(&world);
	}
}

/* As an API server that starts, and has not read the definition of a resource yet. */
static void a_server_that_says_when_to_come_again_is_heeded_ten_times(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	for (int i = 0; i < 10; i++) {
		refuse(&world, 429, 1000);
		expect_wait(&world, 1000, 1200);
		expect_request(&world, WATCH_FROM("20"));
	}
	refuse(&world, 429, 1000);
	expect_wait(&world, 1000, 1600);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 429, 1000);
	expect_wait(&world, 1600, 3200);
	expect_request(&world, WATCH_FROM("20"));
	end_world(&world);
}

/* An outage, or a watch that has lived for ten seconds. */
static void after_a_success_a_server_that_says_when_to_come_again_is_heeded_anew(void **state)
{
	(void)state;
	for (int is_outage = 0; is_outage < 2; is_outage++) {
		struct world world;
		begin_watching(&world);
		for (int i = 0; i < 12; i++) {
			refuse(&world, 429, 1000);
			expect_wait(&world, 1000, 3200);
			expect_request(&world, WATCH_FROM("20"));
		}
		if (is_outage) {
			hasten(&world, 100, REFLECTOR_BACK);
		} else {
			head(&world, 200, 0);
			world.now += 10000;
			finish(&world);
			expect_request(&world, WATCH_FROM("20"));
		}
		for (int i = 0; i < 10; i++) {
			refuse(&world, 429, 1000);
			expect_wait(&world, 1000, 1200);
			expect_request(&world, WATCH_FROM("20"));
		}
		end_world(&world);
	}
}

/* All watches of a server that starts are told the same. */
static void those_that_are_told_the_same_time_do_not_come_again_in_step(void **state)
{
	(void)state;
	struct world world;
	uint64_t low = UINT64_MAX, high = 0;
	begin_watching(&world);
	for (int i = 0; i < 10; i++) {
		uint64_t before = world.now;
		refuse(&world, 429, 5000);
		expect_wait(&world, 5000, 5200);
		low = world.now - before < low ? world.now - before : low;
		high = world.now - before > high ? world.now - before : high;
		expect_request(&world, WATCH_FROM("20"));
	}
	assert_true(high >= low + 50);
	end_world(&world);
}

/* Its position may have expired because the server was away, which is no storm. */
static void after_an_outage_an_expired_position_leads_to_a_list_at_once(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	cut_off(&world, "connection refused");
	hasten(&world, 0, REFLECTOR_BACK);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 410, 0);
	expect_request(&world, LIST_FROM("20"));
	/* Once: the list itself may be what the server cannot keep up with. */
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 1);
	finish(&world);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 410, 0);
	expect_wait(&world, 800, 1600);
	end_world(&world);
}

/* The kind that a failure is of says nothing of how often the server was asked. */
static void a_back_off_is_not_forgotten_when_the_kind_of_failure_changes(void **state)
{
	(void)state;
	static const int statuses[] = {500, 429, 422, 403, 401, 500};
	struct world world;
	begin_world(&world, &things, REFLECTOR_LIST);
	uint64_t low = 800;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct reflector_request request;
		assert_int_equal(reflector_next(world.reflector, world.now, &request),
				 REFLECTOR_REQUEST);
		if (i + 1 == ARRAY_SIZE(statuses))
			low = 800; /* a refusal is over */
		refuse(&world, statuses[i], 0);
		expect_wait(&world, low, low > 15000 ? 30000 : 2 * low);
		low = low > 12800 ? 15000 : 2 * low;
	}
	end_world(&world);
}

static void the_end_of_a_refusal_forgets_a_back_off_unless_the_position_has_expired(void **state)
{
	(void)state;
	static const struct {
		int refusal, next;
		uint64_t low, high;
	} rows[] = {
		{401, 500, 800, 1600}, {403, 500, 800, 1600}, {401, 429, 800, 1600},
		{401, 422, 800, 1600}, {401, 410, 6400, 12800}, {403, 410, 6400, 12800},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world world;
		begin_watching(&world);
		for (unsigned n = 0; n < 3; n++) {
			refuse(&world, rows[i].refusal, 0);
			expect_wait(&world, 800u << n, 1600u << n);
			expect_request(&world, WATCH_FROM("20"));
		}
		refuse(&world, rows[i].next, 0);
		expect_wait(&world, rows[i].low, rows[i].high);
		end_world(&world);
	}
}

/* Answers all that it asks for in 600 s: a watch with 410, and each `broken`-th with 500. */
static unsigned count_requests_of_a_storm(unsigned broken, bool is_event)
{
	struct world world;
	unsigned n = 0, n_watches = 0;
	begin_watching(&world);
	struct reflector_request request = {.is_watch = true};
	for (uint64_t end = world.now + 600000; world.now < end; n++) {
		if (!request.is_watch) {
			head(&world, 200, 0);
			add_list(&world, "20", NULL, 1);
			finish(&world);
		} else if (broken && ++n_watches % broken == 0) {
			refuse(&world, 500, 0);
			hasten(&world, 0, REFLECTOR_NO_DOUBT); /* for it answers others */
		} else if (is_event) {
			break_watch(&world, 410, "Expired");
		} else {
			refuse(&world, 410, 0);
		}
		enum reflector_step step = reflector_next(world.reflector, world.now, &request);
		if (step == REFLECTOR_WAIT) {
			world.now = request.wait_until;
			step = reflector_next(world.reflector, world.now, &request);
		}
		assert_int_equal(step, REFLECTOR_REQUEST);
	}
	end_world(&world);
	return n;
}

static void a_storm_of_410_and_500_by_turns_is_no_worse_than_one_of_410(void **state)
{
	(void)state;
	for (int is_event = 0; is_event < 2; is_event++) {
		unsigned pure = count_requests_of_a_storm(0, is_event);
		assert_in_range(pure, 40, 90); /* a list and a watch each, 15 s to 30 s apart */
		for (unsigned broken = 2; broken <= 5; broken++)
			assert_true(4 * count_requests_of_a_storm(broken, is_event) <= 5 * pure);
	}
}

static void it_says_when_something_came_last(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	assert_true(reflector_heard_at(world.reflector) == world.now);
	uint64_t at = world.now;
	world.now += 10;
	assert_true(reflector_heard_at(world.reflector) == at);
	head(&world, 200, 0);
	assert_true(reflector_heard_at(world.reflector) == world.now);
	world.now += 10;
	add_bookmark(&world, "21", false);
	assert_int_equal(feed(&world), 0);
	at = world.now;
	world.now += 70000;
	assert_true(reflector_heard_at(world.reflector) == at);
	end_world(&world);
}

static void only_refusals_for_lack_of_a_right_are_counted_as_such(void **state)
{
	(void)state;
	static const int others[] = {401, 500, 429};
	struct world world;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		begin_watching(&world);
		assert_int_equal(reflector_forbidden_ms(world.reflector), 0);
		refuse(&world, 403, 0);
		assert_true(reflector_is_denied(world.reflector));
		uint64_t at = world.now;
		assert_int_equal(reflector_forbidden_ms(world.reflector), 0); /* one only */
		expect_wait(&world, 100, 30000);
		expect_request(&world, WATCH_FROM("20"));
		refuse(&world, 403, 0); /* it goes on */
		assert_int_equal(reflector_forbidden_ms(world.reflector), world.now - at);
		expect_wait(&world, 100, 30000);
		expect_request(&world, WATCH_FROM("20"));
		refuse(&world, others[i], 0);
		assert_int_equal(reflector_forbidden_ms(world.reflector), 0);
		assert_int_equal(reflector_is_denied(world.reflector), others[i] == 401);
		end_world(&world);
	}
	/* Those of a server that has been away since are not added up. */
	begin_watching(&world);
	refuse(&world, 403, 0);
	expect_wait(&world, 800, 1600);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 403, 0);
	assert_true(reflector_forbidden_ms(world.reflector) > 0);
	hasten(&world, 0, REFLECTOR_BACK);
	assert_int_equal(reflector_forbidden_ms(world.reflector), 0);
	expect_request(&world, WATCH_FROM("20"));
	refuse(&world, 403, 0);
	assert_int_equal(reflector_forbidden_ms(world.reflector), 0);
	end_world(&world);
}

static void a_back_off_is_forgotten_by_a_watch_of_ten_seconds_and_not_by_time(void **state)
{
	(void)state;
	static const struct {
		uint64_t lived;
		uint64_t low, high;
	} rows[] = {{1000, 25600, 30000}, {9999, 25600, 30000}, {10000, 800, 1600}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world world;
		begin_watching(&world);
		for (int n = 0; n < 5; n++) {
			cut_off(&world, "connection refused");
			expect_wait(&world, 800, 30000);
			world.now += 3600000; /* nobody asked it for long */
			expect_request(&world, WATCH_FROM("20"));
		}
		world.now += 60000; /* until there is a head */
		head(&world, 200, 0);
		world.now += rows[i].lived;
		finish(&world);
		expect_request(&world, WATCH_FROM("20"));
		cut_off(&world, "connection refused");
		expect_wait(&world, rows[i].low, rows[i].high);
		end_world(&world);
	}
}

static void an_answer_of_another_type_forgets_no_back_off_however_long_it_lasts(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	for (unsigned n = 0; n < 3; n++) {
		cut_off(&world, "connection refused");
		expect_wait(&world, 800u << n, 1600u << n);
		expect_request(&world, WATCH_FROM("20"));
	}
	reflector_answered(world.reflector, 200, 0, VIEW("text/html"), world.now);
	world.now += 60000;
	cut_off(&world, "cut");
	expect_wait(&world, 6400, 12800);
	expect_request(&world, LIST_FROM("20"));
	end_world(&world);
}

static void a_long_list_or_refusal_does_not_forget_a_back_off(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, &pods, REFLECTOR_LIST);
	for (int n = 0; n < 5; n++) {
		expect_request(&world, LIST_NEWEST);
		head(&world, n % 2 ? 200 : 500, 0);
		world.now += 20000;
		cut_off(&world, "cut");
		expect_wait(&world, 800u << n, 1600u << n);
	}
	end_world(&world);

	begin_watching(&world);
	for (int n = 0; n < 5; n++) {
		head(&world, 500, 0);
		world.now += 20000;
		finish(&world);
		expect_wait(&world, 800u << n, 1600u << n);
		expect_request(&world, WATCH_FROM("20"));
	}
	end_world(&world);
}

/* Following. */

static void begin_noting(struct world *world, const struct resource *resource,
			 enum reflector_initial initial)
{
	begin_world(world, resource, initial);
	world->notes_followed = true;
}

static void it_is_followed_from_the_head_of_a_watch_to_its_end(void **state)
{
	(void)state;
	static const char *const ends[] = {"time", "cut", "410", "404", "nonsense"};
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct world world;
		begin_noting(&world, &pods, REFLECTOR_LIST);
		expect_request(&world, LIST_NEWEST);
		head(&world, 200, 0);
		add_list(&world, "20", NULL, 1);
		finish(&world);
		expect_request(&world, WATCH_FROM("20"));
		expect_told(&world, "[La@11 ]");
		head(&world, 200, 0);
		expect_told(&world, "F");
		add_event(&world, "MODIFIED", "a", "21");
		assert_int_equal(feed(&world), 0);
		expect_told(&world, "Ua@21 ");
		world.now += 2000;
		switch (i) {
		case 0:
			finish(&world);
			break;
		case 1:
			cut_off(&world, "cut");
			break;
		case 2:
			add_error_event(&world, 410, "Expired");
			assert_int_equal(feed(&world), -1);
			reflector_ended(world.reflector, &err, world.now);
			break;
		case 3:
			add_error_event(&world, 404, "NotFound");
			assert_int_equal(feed(&world), -1);
			reflector_ended(world.reflector, &err, world.now);
			break;
		default:
			sbuf_append(&world.body, VIEW("\xff\xff\xff\xff"));
			assert_int_equal(feed(&world), -1);
			reflector_ended(world.reflector, &err, world.now);
			break;
		}
		expect_told(&world, "f");
		end_world(&world);
	}
}

static void a_watch_that_is_refused_or_not_answered_is_none(void **state)
{
	(void)state;
	static const int statuses[] = {0, 403, 429, 500, 503};
	struct world world;
	begin_watching(&world);
	world.notes_followed = true;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		if (statuses[i])
			refuse(&world, statuses[i], 0);
		else
			cut_off(&world, "connection refused");
		expect_told(&world, "");
		expect_wait(&world, 800, 30000);
		expect_request(&world, WATCH_FROM("20"));
	}
	reflector_answered(world.reflector, 200, 0, VIEW("text/html"), world.now);
	expect_told(&world, "");
	end_world(&world);
}

static void it_is_followed_again_only_after_a_list_that_had_to_be_made(void **state)
{
	(void)state;
	struct world world;
	begin_watching(&world);
	world.notes_followed = true;
	head(&world, 200, 0);
	add_event(&world, "MODIFIED", "a", "21");
	finish(&world);
	expect_request(&world, WATCH_FROM("21"));
	expect_told(&world, "FUa@21 f");
	refuse(&world, 410, 0);
	expect_request(&world, LIST_FROM("21"));
	head(&world, 200, 0);
	add_list(&world, "22", NULL, 1);
	finish(&world);
	expect_request(&world, WATCH_FROM("22"));
	expect_told(&world, "[La@11 ]");
	head(&world, 200, 0);
	expect_told(&world, "F");
	end_world(&world);
}

static void a_stream_is_followed_from_the_bookmark_that_completes_it(void **state)
{
	(void)state;
	struct world world;
	begin_noting(&world, &pods, REFLECTOR_STREAM);
	expect_request(&world, STREAM_FROM(""));
	head(&world, 200, 0);
	add_event(&world, "ADDED", "a", "11");
	finish(&world);
	expect_told(&world, "[La@11 ");
	expect_wait(&world, 800, 1600);
	expect_request(&world, STREAM_FROM(""));
	head(&world, 200, 0);
	add_event(&world, "ADDED", "a", "11");
	add_bookmark(&world, "30", true);
	add_event(&world, "MODIFIED", "a", "31");
	finish(&world);
	expect_told(&world, "[La@11 ]FUa@31 f");
	expect_request(&world, WATCH_FROM("31"));
	head(&world, 200, 0);
	expect_told(&world, "F");
	end_world(&world);
}

static void pages_are_followed_from_the_watch_behind_the_last(void **state)
{
	(void)state;
	struct world world;
	begin_noting(&world, &pods, REFLECTOR_PAGES);
	expect_request(&world, PAGE_1);
	head(&world, 200, 0);
	add_list(&world, "20", "t", 1);
	finish(&world);
	expect_request(&world, PAGE_AT("t"));
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 1);
	finish(&world);
	expect_request(&world, WATCH_FROM("20"));
	expect_told(&world, "[La@11 La@11 ]");
	head(&world, 200, 0);
	expect_told(&world, "F");
	end_world(&world);
}

#define THINGS "/apis/a.b/v1/things?resourceVersion="

static void a_resource_that_is_absent_is_looked_for_at_once_and_then_as_often_as_said(void **state)
{
	(void)state;
	struct world world;
	begin_noting(&world, &things, REFLECTOR_LIST);
	expect_request(&world, THINGS);
	reflector_look_again(world.reflector, 2000, world.now); /* which changes nothing under way */
	refuse(&world, 404, 0);
	expect_told(&world, "AF");
	expect_wait(&world, 2000, 2200);
	expect_request(&world, THINGS);
	refuse(&world, 404, 0);
	reflector_look_again(world.reflector, 300000, world.now);
	expect_request(&world, THINGS);
	refuse(&world, 404, 0);
	expect_wait(&world, 300000, 330000);
	expect_request(&world, THINGS);
	head(&world, 200, 0);
	add_list(&world, "5", NULL, 1);
	finish(&world);
	expect_told(&world, "f[La@11 ]");
	/* One that is there is not listed again for it. */
	expect_request(&world, "/apis/a.b/v1/things?watch=1&allowWatchBookmarks=true"
			       "&timeoutSeconds=T&resourceVersion=5");
	head(&world, 200, 0);
	finish(&world);
	expect_told(&world, "Ff");
	reflector_look_again(world.reflector, 2000, world.now);
	expect_wait(&world, 800, 1600);
	end_world(&world);
}

static void a_resource_that_is_absent_is_followed_until_it_comes_to_be(void **state)
{
	(void)state;
	struct world world;
	begin_noting(&world, &things, REFLECTOR_LIST);
	expect_request(&world, THINGS);
	refuse(&world, 404, 0);
	expect_told(&world, "AF");
	/* What is not answered, or refused, says nothing of it. */
	expect_wait(&world, 30000, 33000);
	expect_request(&world, THINGS);
	cut_off(&world, "connection refused");
	expect_wait(&world, 800, 1600);
	expect_request(&world, THINGS);
	refuse(&world, 500, 0);
	expect_wait(&world, 800, 3200);
	expect_request(&world, THINGS);
	refuse(&world, 404, 0);
	expect_told(&world, "");
	expect_wait(&world, 30000, 33000);
	expect_request(&world, THINGS);
	/* Its definition is there: it is listed, and then watched. */
	head(&world, 200, 0);
	expect_told(&world, "f[");
	add_list(&world, "5", NULL, 1);
	finish(&world);
	expect_told(&world, "La@11 ]");
	expect_request(&world, "/apis/a.b/v1/things?watch=1&allowWatchBookmarks=true"
			       "&timeoutSeconds=T&resourceVersion=5");
	head(&world, 200, 0);
	expect_told(&world, "F");
	/* And is gone again. */
	world.now += 2000;
	finish(&world);
	expect_told(&world, "f");
	expect_request(&world, "/apis/a.b/v1/things?watch=1&allowWatchBookmarks=true"
			       "&timeoutSeconds=T&resourceVersion=5");
	refuse(&world, 404, 0);
	expect_told(&world, "");
	expect_wait(&world, 800, 6400);
	expect_request(&world, "/apis/a.b/v1/things?resourceVersion=5"
			       "&resourceVersionMatch=NotOlderThan");
	refuse(&world, 404, 0);
	expect_told(&world, "AF");
	end_world(&world);
}

static void a_resource_that_must_exist_is_not_followed_while_it_does_not(void **state)
{
	(void)state;
	struct world world;
	const struct reflector_sink sink = {&world, saw_begin,  saw_end,     saw_object,
					    NULL,   saw_denied, saw_followed};
	const struct reflector_config config = {&things, REFLECTOR_LIST, 2, 2000, 42};
	begin_noting(&world, &things, REFLECTOR_LIST);
	reflector_free(world.reflector);
	assert_int_equal(reflector_new(&config, &sink, &world.reflector, &err), 0);
	for (int i = 0; i < 3; i++) {
		expect_request(&world, THINGS);
		refuse(&world, 404, 0);
		expect_told(&world, "");
		expect_wait(&world, 2000, 2200);
	}
	expect_request(&world, THINGS);
	head(&world, 200, 0);
	expect_told(&world, "[");
	end_world(&world);
}

static void who_does_not_care_is_not_told_what_is_followed(void **state)
{
	(void)state;
	struct world world;
	const struct reflector_sink sink = {&world, saw_begin, saw_end, saw_object, saw_absent,
					    NULL,   NULL};
	const struct reflector_config config = {&pods, REFLECTOR_LIST, 2, 30000, 42};
	begin_world(&world, &pods, REFLECTOR_LIST);
	reflector_free(world.reflector);
	assert_int_equal(reflector_new(&config, &sink, &world.reflector, &err), 0);
	expect_request(&world, LIST_NEWEST);
	head(&world, 200, 0);
	add_list(&world, "20", NULL, 1);
	finish(&world);
	expect_request(&world, WATCH_FROM("20"));
	head(&world, 200, 0);
	world.now += 2000;
	finish(&world);
	expect_told(&world, "[La@11 ]");
	end_world(&world);
}

/* A whole session in pieces. */

static void session(struct world *world, size_t cut)
{
	struct view body;
	struct reflector_request request;
	assert_int_equal(reflector_next(world->reflector, world->now, &request), REFLECTOR_REQUEST);
	for (int answer = 0; answer < 2; answer++) {
		head(world, 200, 0);
		if (answer == 0) {
			add_list(world, "20", NULL, 2);
		} else {
			add_event(world, "ADDED", "c", "21");
			add_bookmark(world, "25", false);
			add_event(world, "DELETED", "a", "26");
		}
		body = sbuf_view(&world->body);
		/* The cut goes on in the second body where the first has ended. */
		size_t at = cut < body.len ? cut : body.len;
		cut -= at;
		struct view parts[] = {{body.ptr, at}, view_from_offset(body, at)};
		for (int i = 0; i < 2; i++) {
			char *copy = malloc(parts[i].len ? parts[i].len : 1);
			assert_non_null(copy);
			memcpy(copy, parts[i].ptr, parts[i].len);
			assert_int_equal(reflector_feed(world->reflector,
							(struct view){copy, parts[i].len},
							world->now, &err),
					 0);
			free(copy);
		}
		sbuf_clear(&world->body);
		reflector_ended(world->reflector, NULL, world->now);
		assert_int_equal(reflector_next(world->reflector, world->now, &request),
				 REFLECTOR_REQUEST);
	}
	assert_non_null(strstr(request.path, "resourceVersion=26"));
}

static void a_session_cut_at_any_byte_tells_the_same_story(void **state)
{
	(void)state;
	static const struct resource *const resources[] = {&pods, &things};
	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		for (size_t cut = 0; cut < 1500; cut++) {
			struct world world;
			begin_world(&world, resources[i], REFLECTOR_LIST);
			session(&world, cut);
			expect_told(&world, "[La@11 Lb@12 ]Uc@21 Da@26 ");
			end_world(&world);
		}
	}
}

static void a_stream_cut_at_any_byte_tells_the_same_story(void **state)
{
	(void)state;
	for (size_t cut = 0;; cut++) {
		struct world world;
		begin_world(&world, &pods, REFLECTOR_STREAM);
		expect_request(&world, STREAM_FROM(""));
		head(&world, 200, 0);
		add_event(&world, "ADDED", "a", "11");
		add_event(&world, "MODIFIED", "a", "12");
		add_bookmark(&world, "30", true);
		add_event(&world, "ADDED", "b", "31");
		struct view body = sbuf_view(&world.body);
		size_t at = cut < body.len ? cut : body.len;
		assert_int_equal(reflector_feed(world.reflector, (struct view){body.ptr, at},
						world.now, &err),
				 0);
		assert_int_equal(reflector_feed(world.reflector, view_from_offset(body, at),
						world.now, &err),
				 0);
		bool last = cut >= body.len;
		sbuf_clear(&world.body);
		expect_told(&world, "[La@11 Ua@12 ]Ub@31 ");
		finish(&world);
		expect_request(&world, WATCH_FROM("31"));
		end_world(&world);
		if (last)
			break;
	}
}

static void it_can_be_freed_in_any_state(void **state)
{
	(void)state;
	for (int when = 0; when < 4; when++) {
		struct world world;
		begin_watching(&world);
		if (when > 0) {
			head(&world, 200, 0);
			add_event(&world, "ADDED", "c", "21");
			sbuf_truncate(&world.body, world.body.len - (when == 2));
			assert_int_equal(feed(&world), 0);
		}
		if (when == 3)
			cut_off(&world, "cut");
		end_world(&world);
	}
	reflector_free(NULL);
}

static void running_out_of_memory_makes_none(void **state)
{
	(void)state;
	const struct reflector_sink sink = {NULL, saw_begin, saw_end, saw_object, NULL, NULL, NULL};
	const struct reflector_config config = {&pods, REFLECTOR_LIST, 0, 30000, 42};
	struct reflector *reflector = NULL;
	failing_malloc_at(1);
	assert_int_equal(reflector_new(&config, &sink, &reflector, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_null(reflector);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_list_is_told_before_the_watch_that_starts_at_its_version),
	cmocka_unit_test(json_lists_have_their_version_at_their_end),
	cmocka_unit_test(a_watch_that_closes_is_resumed_where_it_was_without_delay_or_list),
	cmocka_unit_test(a_watch_that_is_cut_is_resumed_like_one_that_closes),
	cmocka_unit_test(an_event_that_is_cut_is_dropped_and_asked_for_again),
	cmocka_unit_test(the_version_advances_with_deletions_and_bookmarks_too),
	cmocka_unit_test(replayed_events_are_passed_over_and_do_not_set_the_version_back),
	cmocka_unit_test(versions_that_are_no_numbers_are_followed_as_they_come),
	cmocka_unit_test(a_list_that_is_cut_anywhere_is_discarded_and_asked_for_again),
	cmocka_unit_test(a_watch_for_which_there_is_no_connection_keeps_its_place),
	cmocka_unit_test(a_watch_that_ends_at_once_without_an_event_is_a_failure),
	cmocka_unit_test(an_expired_watch_lists_from_its_version_and_then_the_newest),
	cmocka_unit_test(a_server_that_was_set_back_is_listed_anew_after_two_silent_watches),
	cmocka_unit_test(expiring_without_progress_backs_off),
	cmocka_unit_test(a_watch_that_ends_at_once_is_no_progress_for_one_that_expires_next),
	cmocka_unit_test(a_version_that_is_too_large_lists_the_newest_in_all_three_forms),
	cmocka_unit_test(throttling_waits_as_told_and_keeps_the_place),
	cmocka_unit_test(an_error_event_of_another_kind_lists_again_after_a_pause),
	cmocka_unit_test(what_is_forbidden_is_named_with_its_remedy),
	cmocka_unit_test(what_is_refused_for_long_is_said_once_and_until_it_is_listed_and_watched),
	cmocka_unit_test(the_back_off_of_a_refusal_is_forgotten_when_the_watch_is_open),
	cmocka_unit_test(what_is_refused_for_a_moment_or_otherwise_is_not_said_to_be_denied),
	cmocka_unit_test(what_is_denied_is_so_no_more_once_it_is_streamed_or_known_not_to_be),
	cmocka_unit_test(a_certificate_that_is_not_believed_is_trouble_with_advice),
	cmocka_unit_test(a_resource_that_does_not_exist_is_looked_for_now_and_then),
	cmocka_unit_test(a_resource_that_must_exist_is_trouble_while_it_does_not),
	cmocka_unit_test(a_refused_list_is_asked_for_again_after_a_pause),
	cmocka_unit_test(an_answer_of_another_type_is_not_read),
	cmocka_unit_test(a_list_of_another_kind_is_refused),
	cmocka_unit_test(events_that_are_no_use_are_counted_and_the_stream_lives),
	cmocka_unit_test(an_object_that_the_sink_refuses_does_not_stop_a_list),
	cmocka_unit_test(the_first_state_is_the_newest_however_it_is_read),
	cmocka_unit_test(a_list_that_the_sink_has_no_memory_for_is_asked_for_again),
	cmocka_unit_test(an_event_that_the_sink_has_no_memory_for_comes_again_in_a_list),
	cmocka_unit_test(an_object_over_the_limit_is_counted_and_its_neighbours_are_told),
	cmocka_unit_test(a_length_that_cannot_be_one_ends_the_watch_and_lists_again),
	cmocka_unit_test(a_line_of_8_mib_without_an_end_ends_the_watch_and_lists_again),
	cmocka_unit_test(text_that_json_libraries_refuse_does_not_stop_the_stream),
	cmocka_unit_test(pages_are_asked_for_by_their_token_until_there_is_none),
	cmocka_unit_test(a_page_that_has_expired_leads_to_one_whole_list),
	cmocka_unit_test(a_first_page_that_has_expired_is_a_failure),
	cmocka_unit_test(a_stream_is_complete_at_the_bookmark_that_says_so),
	cmocka_unit_test(a_stream_that_ends_early_begins_anew),
	cmocka_unit_test(a_server_that_cannot_stream_is_asked_for_a_list_at_once),
	cmocka_unit_test(an_answer_that_does_not_begin_is_given_up),
	cmocka_unit_test(a_watch_is_given_up_after_its_time_or_75_s_of_silence),
	cmocka_unit_test(a_server_that_never_sent_a_bookmark_gets_one_silent_watch_to_its_end),
	cmocka_unit_test(an_event_ends_the_patience_with_a_server_without_bookmarks),
	cmocka_unit_test(a_server_that_once_sent_a_bookmark_may_never_be_silent_for_long),
	cmocka_unit_test(silence_of_two_watches_is_not_believed),
	cmocka_unit_test(hours_with_bookmarks_only_cost_one_watch_each_ten_minutes),
	cmocka_unit_test(bookmarks_that_do_not_move_the_version_are_heard_too),
	cmocka_unit_test(watches_last_between_five_and_ten_minutes_each_its_own),
	cmocka_unit_test(a_wait_for_the_server_ends_when_it_answers_and_no_other_wait_does),
	cmocka_unit_test(hastening_makes_no_wait_longer_and_leaves_an_answer_under_way_alone),
	cmocka_unit_test(without_an_outage_it_is_hastened_once_until_a_watch_has_lived_ten_seconds),
	cmocka_unit_test(after_an_outage_the_back_off_starts_anew_and_it_is_hastened_each_time),
	cmocka_unit_test(a_recovery_of_another_hastens_once_more_and_forgets_no_back_off),
	cmocka_unit_test(what_was_refused_while_the_server_was_away_goes_on_when_it_is_back),
	cmocka_unit_test(a_server_that_says_when_to_come_again_is_heeded_ten_times),
	cmocka_unit_test(after_a_success_a_server_that_says_when_to_come_again_is_heeded_anew),
	cmocka_unit_test(those_that_are_told_the_same_time_do_not_come_again_in_step),
	cmocka_unit_test(after_an_outage_an_expired_position_leads_to_a_list_at_once),
	cmocka_unit_test(a_back_off_is_not_forgotten_when_the_kind_of_failure_changes),
	cmocka_unit_test(the_end_of_a_refusal_forgets_a_back_off_unless_the_position_has_expired),
	cmocka_unit_test(a_storm_of_410_and_500_by_turns_is_no_worse_than_one_of_410),
	cmocka_unit_test(it_says_when_something_came_last),
	cmocka_unit_test(only_refusals_for_lack_of_a_right_are_counted_as_such),
	cmocka_unit_test(a_back_off_is_forgotten_by_a_watch_of_ten_seconds_and_not_by_time),
	cmocka_unit_test(an_answer_of_another_type_forgets_no_back_off_however_long_it_lasts),
	cmocka_unit_test(a_long_list_or_refusal_does_not_forget_a_back_off),
	cmocka_unit_test(it_is_followed_from_the_head_of_a_watch_to_its_end),
	cmocka_unit_test(a_watch_that_is_refused_or_not_answered_is_none),
	cmocka_unit_test(it_is_followed_again_only_after_a_list_that_had_to_be_made),
	cmocka_unit_test(a_stream_is_followed_from_the_bookmark_that_completes_it),
	cmocka_unit_test(pages_are_followed_from_the_watch_behind_the_last),
	cmocka_unit_test(
		a_resource_that_is_absent_is_looked_for_at_once_and_then_as_often_as_said),
	cmocka_unit_test(a_resource_that_is_absent_is_followed_until_it_comes_to_be),
	cmocka_unit_test(a_resource_that_must_exist_is_not_followed_while_it_does_not),
	cmocka_unit_test(who_does_not_care_is_not_told_what_is_followed),
	cmocka_unit_test(a_session_cut_at_any_byte_tells_the_same_story),
	cmocka_unit_test(a_stream_cut_at_any_byte_tells_the_same_story),
	cmocka_unit_test(it_can_be_freed_in_any_state),
	cmocka_unit_test(running_out_of_memory_makes_none),
};
TEST_MAIN(tests)
