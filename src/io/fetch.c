/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The life of each transfer. fetch_multi runs them, fetch_options sets them up, fetch_head reads
 * the heads of their answers.
 *
 * libcurl refuses to start or end a transfer from inside one of its callbacks. Handlers may do
 * both: while fetch_multi_is_in_curl(), fetch_start() and fetch_cancel() only mark the fetch, and
 * settle() does the rest as soon as libcurl has returned. `done` is always called from settle() or
 * from a timer, outside libcurl.
 *
 * The idle time-out is ours, since libcurl's low-speed limit wakes up every second for each
 * transfer. Each fetch has one timer. When it fires, it looks at when the last byte came and sets
 * itself for the rest.
 *
 * Trailers (HTTP/2, or chunked HTTP/1.1) come through the header callback, after the body.
 *
 * Names are looked up by getaddrinfo() in a thread of libcurl's, which nobody can stop. If the
 * transfer ends earlier, libcurl would wait for the thread in the loop's thread. CURLOPT_QUICK_EXIT
 * prevents that, and the lookup thread is abandoned. fetch_lookups bounds how many.
 */

#include "io/fetch.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/wiped_memory.h"
#include "io/fetch_head.h"
#include "io/fetch_lookups.h"
#include "io/fetch_multi.h"
#include "io/fetch_options.h"
#include "io/fetch_watches.h"

#define RETRY_AFTER_CAP_S 3600

struct fetcher {
	struct loop *loop;
	struct fetch_multi *multi;
	struct fetch *first; /* all fetches under way */
	struct fetch_lookups lookups;
	struct fetch_watches watches; /* of connections between requests */
	bool unsettled; /* some fetch waits for settle() */
};

struct fetch {
	struct fetcher *fetcher;
	struct fetch *next;
	struct fetch **link; /* what points to this fetch */
	struct fetch_handler handler;
	CURL *easy;
	struct fetch_options options;
	struct fetch_head head;
	struct loop_timer *idle_timer; /* NULL: silence does not matter */
	uint64_t last_byte_at; /* ms */
	uint64_t send_by; /* ms, monotonic: its time-out, after which its request is not sent */
	uint64_t send_before; /* as in struct fetch_request; UINT64_MAX: there is no such time */
	uint32_t idle_timeout_ms;
	bool is_stream;  /* HTTP/2 was asked for */
	size_t head_bytes; /* of its answer, before the body */
	bool added;      /* known to the multi handle */
	bool cancelled;  /* waits for settle() to drop it */
	bool broken;     /* waits for settle() to end it with `error` */
	bool looking_up; /* the server's name */
	int fd; /* of the connection that it leaves, once it is done; -1: none */
	uint32_t retry_after_ms;
	struct error error; /* raised by us inside a callback; kind ERROR_NONE: none */
	char curl_text[CURL_ERROR_SIZE];
};

void fetch_versions(struct sbuf *buf)
{
	sbuf_printf(buf, "%.512s", curl_version());
#ifdef OWN_LIBCURL
	sbuf_printf(buf, ", built in from Debian's curl %.128s", OWN_LIBCURL);
#endif
}

/* Later calls of curl_global_init() leave the allocator as it is. */
int fetch_wipe(struct error *err)
{
	if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, wiped_memory_allocate, wiped_memory_free,
				 wiped_memory_resize, wiped_memory_copy_text,
				 wiped_memory_allocate_zeroed) != CURLE_OK)
		return error_no_memory(err);
	return 0;
}

/* One request's life. */

static void unlink_fetch(struct fetch *fetch)
{
	*fetch->link = fetch->next;
	if (fetch->next)
		fetch->next->link = fetch->link;
}

static void link_fetch(struct fetcher *fetcher, struct fetch *fetch)
{
	fetch->next = fetcher->first;
	fetch->link = &fetcher->first;
	if (fetch->next)
		fetch->next->link = &fetch->next;
	fetcher->first = fetch;
}

/* Takes the transfer from libcurl, which may not be done with it. What it still looks up stays behind. */
static void leave_multi(struct fetch *fetch, bool is_done)
{
	struct fetcher *fetcher = fetch->fetcher;
	if (fetch->added && fetch->is_stream && !is_done)
		fetch_multi_drop_stream(fetcher->multi, fetch->easy);
	if (fetch->added)
		fetch_multi_remove(fetcher->multi, fetch->easy);
	fetch->added = false;
	if (!fetch->looking_up)
		return;
	fetch->looking_up = false;
	fetch_lookups_leave(&fetcher->lookups, loop_now_ms(fetcher->loop));
}

/* Frees a fetch in whatever state it is. Not inside libcurl. */
static void drop(struct fetch *fetch)
{
	assert(!fetch_multi_is_in_curl(fetch->fetcher->multi) || !fetch->added);
	if (fetch->link)
		unlink_fetch(fetch);
	leave_multi(fetch, false);
	loop_timer_free(fetch->idle_timer);
	curl_easy_cleanup(fetch->easy);
	fetch_options_deinit(&fetch->options);
	fetch_head_deinit(&fetch->head);
	free(fetch);
}

static void dropp(struct fetch **fetch)
{
	if (*fetch)
		drop(*fetch);
}

static struct fetch_result result_of(struct fetch *fetch)
{
	return (struct fetch_result){
		.status = fetch->head.status,
		.retry_after_ms = fetch->retry_after_ms,
		.grpc_status = fetch->head.grpc_status,
		.grpc_message = sbuf_view(&fetch->head.grpc_message),
		.content_type = sbuf_view(&fetch->head.content_type),
	};
}

static enum error_kind kind_of(CURLcode code)
{
	switch (code) {
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		return ERROR_REJECTED;
	case CURLE_PEER_FAILED_VERIFICATION:
		return ERROR_DENIED;
	case CURLE_OUT_OF_MEMORY:
		return ERROR_NO_MEMORY;
	default:
		return ERROR_RETRY;
	}
}

/* While libcurl has the transfer still: afterwards it does not tell. */
static void look_at_connection(struct fetch *fetch, struct fetch_result *result)
{
	long n_connections = 0;
	curl_easy_getinfo(fetch->easy, CURLINFO_NUM_CONNECTS, &n_connections);
	result->is_new_connection = n_connections > 0;
	if (!result->failed)
		curl_easy_getinfo(fetch->easy, CURLINFO_ACTIVESOCKET, &fetch->fd);
}

/* Hands the result over and frees the fetch. */
static void finish(struct fetch *fetch, CURLcode code)
{
	struct fetch_result result = result_of(fetch);
	struct fetch_handler handler = fetch->handler;
	result.failed = code != CURLE_OK;
	look_at_connection(fetch, &result);
	if (fetch->error.kind != ERROR_NONE) {
		result.failed = true;
		result.error = fetch->error;
	} else if (code != CURLE_OK) {
		const char *text = fetch->curl_text[0] ? fetch->curl_text : curl_easy_strerror(code);
		long os_errno = 0;
		if (code == CURLE_COULDNT_CONNECT)
			curl_easy_getinfo(fetch->easy, CURLINFO_OS_ERRNO, &os_errno);
		error_set(&result.error, kind_of(code), (int)os_errno, "%s", text);
	}
	if (code == CURLE_COULDNT_RESOLVE_HOST)
		fetch->looking_up = false;
	/* The connection first: what the handler starts now may use it again. */
	leave_multi(fetch, !result.failed);
	unlink_fetch(fetch);
	fetch->link = NULL;
	handler.done(handler.owner, &result);
	drop(fetch);
}

/* Ends a fetch without memory or descriptors as soon as we are outside libcurl. */
static void break_fetch(struct fetch *fetch)
{
	error_no_memory(&fetch->error);
	fetch->broken = true;
	fetch->fetcher->unsettled = true;
	fetch_multi_wake(fetch->fetcher->multi);
}

static struct fetch *fetch_of(CURL *easy)
{
	char *fetch = NULL;
	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &fetch);
	return (struct fetch *)(void *)fetch;
}

static void add_to_multi(struct fetch *fetch)
{
	fetch->added = true;
	if (fetch_multi_add(fetch->fetcher->multi, fetch->easy) != 0)
		break_fetch(fetch);
}

/* Carries out what was asked for while libcurl was running. */
static void settle_marks(struct fetcher *fetcher)
{
	fetcher->unsettled = false;
	struct fetch *next;
	for (struct fetch *fetch = fetcher->first; fetch; fetch = next) {
		next = fetch->next;
		if (fetch->cancelled)
			drop(fetch);
		else if (!fetch->added && !fetch->broken)
			add_to_multi(fetch);
	}
	/* A handler may end any other fetch: the search begins anew after each. */
	struct fetch *fetch = fetcher->first;
	while (fetch) {
		if (fetch->broken) {
			finish(fetch, CURLE_OUT_OF_MEMORY);
			fetch = fetcher->first;
		} else {
			fetch = fetch->next;
		}
	}
}

static void settle(struct fetcher *fetcher)
{
	CURL *easy;
	CURLcode code;
	if (fetcher->unsettled)
		settle_marks(fetcher);
	while ((easy = fetch_multi_next_done(fetcher->multi, &code)))
		finish(fetch_of(easy), code);
}

static void on_worked(void *owner)
{
	settle(owner);
}

static void on_socket_used(void *owner, int fd)
{
	struct fetcher *fetcher = owner;
	fetch_watches_used(&fetcher->watches, fd);
}

static void on_starved(void *owner, CURL *easy)
{
	(void)owner;
	break_fetch(fetch_of(easy));
}

/* All that libcurl has under way ends. */
static void on_broke(void *owner)
{
	struct fetcher *fetcher = owner;
	for (struct fetch *fetch = fetcher->first; fetch; fetch = fetch->next) {
		if (fetch->added)
			break_fetch(fetch);
		leave_multi(fetch, true); /* the connections go, too */
	}
}

static void on_idle(void *owner)
{
	struct fetch *fetch = owner;
	uint64_t silence = loop_now_ms(fetch->fetcher->loop) - fetch->last_byte_at;
	if (silence < fetch->idle_timeout_ms) {
		loop_timer_set(fetch->idle_timer, fetch->idle_timeout_ms - silence);
		return;
	}
	error_set(&fetch->error, ERROR_RETRY, 0, "no data received for %.1f s",
		  (double)silence / 1000.0);
	finish(fetch, CURLE_OPERATION_TIMEDOUT);
}

/* All requests. */

static void fetcher_freep(struct fetcher **fetcher)
{
	fetcher_free(*fetcher);
}

int fetcher_new(struct loop *loop, struct fetcher **ret_fetcher, struct error *err)
{
	CLEANUP(fetcher_freep) struct fetcher *fetcher = calloc(1, sizeof(*fetcher));
	if (!fetcher || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return error_no_memory(err);
	fetcher->loop = loop;
	fetch_watches_init(&fetcher->watches, loop);
	const struct fetch_multi_owner owner = {fetcher, on_worked, on_socket_used, on_starved, on_broke};
	if (fetch_multi_new(loop, &owner, &fetcher->multi, err) != 0)
		return -1;
	*ret_fetcher = TAKE(fetcher);
	return 0;
}

void fetcher_limit_streams(struct fetcher *fetcher, uint32_t n)
{
	assert(n > 0 && n <= FETCH_STREAMS);
	fetch_multi_limit_streams(fetcher->multi, n);
}

void fetcher_free(struct fetcher *fetcher)
{
	if (!fetcher)
		return;
	assert(!fetcher->multi || !fetch_multi_is_in_curl(fetcher->multi));
	while (fetcher->first)
		drop(fetcher->first);
	assert(fetcher->watches.n == 0 && "a connection is still watched");
	fetch_multi_free(fetcher->multi);
	free(fetcher);
	curl_global_cleanup();
}

/* libcurl's callbacks. */

/* Ends the transfer from inside a callback, with fetch->error set. */
static size_t refuse(void)
{
	return 0;
}

/* CURLOPT_WRITEFUNCTION */
static size_t on_body(char *bytes, size_t one, size_t n, void *owner)
{
	(void)one;
	struct fetch *fetch = owner;
	if (fetch->cancelled)
		return refuse();
	fetch->last_byte_at = loop_now_ms(fetch->fetcher->loop);
	if (fetch->is_stream)
		fetch_multi_took(fetch->fetcher->multi, fetch->easy,
				 fetch->head_bytes + n >= CURL_MAX_WRITE_SIZE);
	fetch->head_bytes = 0;
	if (fetch->handler.body(fetch->handler.owner, (struct view){bytes, n}, &fetch->error) != 0) {
		assert(fetch->cancelled || fetch->error.kind != ERROR_NONE);
		return refuse();
	}
	return fetch->cancelled ? refuse() : n;
}

static void tell_head(struct fetch *fetch)
{
	curl_off_t seconds = 0;
	curl_easy_getinfo(fetch->easy, CURLINFO_RETRY_AFTER, &seconds);
	if (seconds > RETRY_AFTER_CAP_S)
		seconds = RETRY_AFTER_CAP_S;
	fetch->retry_after_ms = seconds > 0 ? (uint32_t)seconds * 1000 : 0;
	struct fetch_result head = result_of(fetch);
	if (fetch->handler.head)
		fetch->handler.head(fetch->handler.owner, &head);
}

/* CURLOPT_HEADERFUNCTION: one line of the head, or of the trailers */
static size_t on_header(char *bytes, size_t one, size_t n, void *owner)
{
	(void)one;
	struct fetch *fetch = owner;
	bool is_end;
	if (fetch->cancelled)
		return refuse();
	fetch->last_byte_at = loop_now_ms(fetch->fetcher->loop);
	fetch->head_bytes += n;
	if (fetch_head_line(&fetch->head, (struct view){bytes, n}, &is_end, &fetch->error) != 0)
		return refuse();
	if (is_end)
		tell_head(fetch);
	return fetch->cancelled ? refuse() : n;
}

/* CURLOPT_RESOLVER_START_FUNCTION. Not 0: the transfer ends, with fetch->error. */
static int on_look_up(void *resolver, void *reserved, void *owner)
{
	(void)resolver;
	(void)reserved;
	struct fetch *fetch = owner;
	struct fetcher *fetcher = fetch->fetcher;
	if (fetch_lookups_check(&fetcher->lookups, loop_now_ms(fetcher->loop), &fetch->error) != 0)
		return -1;
	fetch->looking_up = true;
	return 0;
}

/* CURLOPT_SOCKOPTFUNCTION: the name is looked up. */
static int on_new_socket(void *owner, curl_socket_t fd, curlsocktype purpose)
{
	struct fetch *fetch = owner;
	(void)purpose;
	fetch->looking_up = false;
	fetch_options_watch_peer(fd);
	return CURL_SOCKOPT_OK;
}

/*
 * CURLOPT_PREREQFUNCTION: the request is about to be sent. A process may have stood still since it was
 * made, and libcurl counts its time-out from when it began to work.
 */
static int on_send(void *owner, char *peer, char *local, int peer_port, int local_port)
{
	struct fetch *fetch = owner;
	(void)peer, (void)local, (void)peer_port, (void)local_port;
	if (clock_monotonic_ms() <= fetch->send_by && clock_boot_ms() < fetch->send_before)
		return CURL_PREREQFUNC_OK;
	error_set(&fetch->error, ERROR_RETRY, 0, "the time for the request was over before it was sent");
	return CURL_PREREQFUNC_ABORT;
}

/* CURLOPT_CLOSESOCKETFUNCTION: it outlives the transfer that made the connection. */
static int on_close_socket(void *owner, curl_socket_t fd)
{
	struct fetcher *fetcher = owner;
	fetch_watches_closing(&fetcher->watches, fd);
	return close(fd);
}

static void set_callbacks(struct fetch *fetch, const struct fetch_request *request)
{
	CURL *easy = fetch->easy;
	curl_easy_setopt(easy, CURLOPT_PRIVATE, fetch);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->curl_text);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
	/* libcurl calls it for an address, too, which needs no name server. */
	if (!request->connect_to)
		curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, on_look_up);
	curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, fetch);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_new_socket);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, fetch);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_send);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, fetch);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, fetch->fetcher);
}

static struct fetch *make_fetch(struct fetcher *fetcher, const struct fetch_handler *handler)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return NULL;
	fetch->fetcher = fetcher;
	fetch->handler = *handler;
	fetch->fd = CURL_SOCKET_BAD;
	fetch_head_init(&fetch->head);
	fetch->easy = curl_easy_init();
	return fetch;
}

static int watch_silence(struct fetch *fetch, uint32_t timeout_ms, struct error *err)
{
	fetch->idle_timeout_ms = timeout_ms;
	if (timeout_ms == 0)
		return 0;
	if (loop_timer_new(fetch->fetcher->loop, on_idle, fetch, &fetch->idle_timer, err) != 0)
		return -1;
	loop_timer_set(fetch->idle_timer, timeout_ms);
	return 0;
}

int fetch_start(struct fetcher *fetcher, const struct fetch_request *request,
		const struct fetch_handler *handler, struct fetch **ret_fetch, struct error *err)
{
	CLEANUP(dropp) struct fetch *fetch = make_fetch(fetcher, handler);
	assert(handler->body && handler->done);
	if (!fetch || !fetch->easy)
		return error_no_memory(err);
	fetch->send_by = request->total_timeout_ms ? clock_monotonic_ms() + request->total_timeout_ms
						   : UINT64_MAX;
	fetch->send_before = request->send_before ? request->send_before : UINT64_MAX;
	fetch->is_stream = request->protocol != FETCH_HTTP1;
	set_callbacks(fetch, request);
	if (fetch_options_apply(&fetch->options, fetch->easy, request, err) != 0)
		return -1;
	fetch->last_byte_at = loop_now_ms(fetcher->loop);
	if (watch_silence(fetch, request->idle_timeout_ms, err) != 0)
		return -1;
	link_fetch(fetcher, fetch);
	if (fetch_multi_is_in_curl(fetcher->multi))
		fetcher->unsettled = true;
	else
		add_to_multi(fetch);
	*ret_fetch = TAKE(fetch);
	return 0;
}

bool fetch_is_http2(const struct fetch *fetch)
{
	long version = 0;
	curl_easy_getinfo(fetch->easy, CURLINFO_HTTP_VERSION, &version);
	return version == CURL_HTTP_VERSION_2_0;
}

void fetch_forbid_reuse(struct fetch *fetch)
{
	curl_easy_setopt(fetch->easy, CURLOPT_FORBID_REUSE, 1L);
}

void fetch_cancel(struct fetch *fetch)
{
	if (!fetch)
		return;
	if (!fetch_multi_is_in_curl(fetch->fetcher->multi)) {
		drop(fetch);
		return;
	}
	fetch->cancelled = true;
	fetch->fetcher->unsettled = true;
}

int fetch_watch_new(const struct fetch *fetch, fetch_watch_fn ended, void *owner,
		    struct fetch_watch **ret_watch, struct error *err)
{
	if (fetch->fd == CURL_SOCKET_BAD)
		return error_set(err, ERROR_RETRY, 0, "the connection is not kept");
	if (fetch_multi_uses(fetch->fetcher->multi, fetch->fd))
		return error_set(err, ERROR_RETRY, 0, "another request uses the connection");
	return fetch_watches_add(&fetch->fetcher->watches, fetch->fd, ended, owner, ret_watch, err);
}

void fetch_watch_free(struct fetch_watch *watch)
{
	fetch_watches_remove(watch);
}
