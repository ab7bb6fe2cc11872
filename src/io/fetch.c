/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libcurl's multi interface on libevent. libcurl names the sockets it waits for and one time-out.
 * Both become events of the loop, which call curl_multi_socket_action(). In that call libcurl does
 * all of its work and calls our head and body callbacks.
 *
 * libcurl refuses to start or end a transfer from inside such a callback. Handlers may do both:
 * while `in_curl` is set, fetch_start() and fetch_cancel() only mark the fetch, and settle() does
 * the rest as soon as libcurl has returned. `done` is always called from settle() or from a timer,
 * outside libcurl.
 *
 * These features of libcurl are switched off:
 * - Redirects: a token must not travel to another host.
 * - Decompression: libcurl fails on the many-member gzip that API servers write on watches, and a
 *   small answer could become a large one.
 * - Proxies from the environment, .netrc, other protocols, "Expect: 100-continue".
 * - The system's authorities where others are given: libcurl adds the default CAPATH to a
 *   CAINFO_BLOB unless told not to.
 *
 * The idle time-out is ours, since libcurl's low-speed limit wakes up every second for each
 * transfer. Each fetch has one timer. When it fires, it looks at when the last byte came and sets
 * itself for the rest.
 *
 * Trailers (HTTP/2, or chunked HTTP/1.1) come through the header callback, after the body.
 *
 * Names are looked up by getaddrinfo() in a thread of libcurl's, which nobody can stop. If the name
 * server is silent, that thread stays for up to a minute. If the transfer ends earlier, libcurl
 * would wait for the thread in the loop's thread. CURLOPT_QUICK_EXIT prevents that, and the lookup
 * thread is abandoned. libcurl does not tell how many such threads there are, but we know when each
 * was abandoned. After LEFT_LOOKUPS of them in the last LEFT_LOOKUP_MS no new lookup is begun.
 */

#include "io/fetch.h"

#include <assert.h>
#include <curl/curl.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"

#define CONNECT_TIMEOUT_MS 10000u
#define CONTENT_TYPE_CAP 256u
#define GRPC_MESSAGE_CAP (4u * LIMIT_KIB)
#define HEAD_CAP (64u * LIMIT_KIB)
#define RETRY_AFTER_CAP_S 3600

/* Three name servers, two tries of 5 s each, the name as it is and with a domain behind it: 60 s. */
#define LEFT_LOOKUPS 16u
#define LEFT_LOOKUP_MS 120000u

/* A dead peer is noticed after 10 + 3 * 5 s without traffic, or 25 s with unacknowledged data. */
#define KEEPALIVE_IDLE_S 10
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES 3
#define TCP_UNACKNOWLEDGED_MS 25000

struct fetcher {
	struct loop *loop;
	CURLM *multi;
	struct event timer;
	struct fetch *first; /* all fetches under way */
	uint64_t left_lookups[LEFT_LOOKUPS]; /* ms, when each was left; a ring. 0: never */
	unsigned next_left_lookup;           /* the oldest */
	bool in_curl;
	bool unsettled; /* some fetch waits for settle() */
};

struct fetch {
	struct fetcher *fetcher;
	struct fetch *next;
	struct fetch **link; /* what points to this fetch */
	struct fetch_handler handler;
	CURL *easy;
	struct curl_slist *headers;
	struct curl_slist *connect_to;
	struct event idle_timer;
	uint64_t last_byte_at; /* ms */
	uint32_t idle_timeout_ms;
	size_t head_size;
	bool added;     /* known to the multi handle */
	bool cancelled; /* waits for settle() to drop it */
	bool broken;    /* waits for settle() to end it with `error` */
	bool looking_up; /* the server's name */
	bool head_done;
	int status;
	int grpc_status;
	uint32_t retry_after_ms;
	struct sbuf content_type;
	struct sbuf grpc_message;
	struct error error; /* raised by us inside a callback; kind ERROR_NONE: none */
	char curl_text[CURL_ERROR_SIZE];
};

/* A socket of libcurl's that the loop watches. */
struct watched_socket {
	struct fetcher *fetcher;
	struct event event;
	short what;
};

static void settle(struct fetcher *fetcher);

static struct timeval timeval_of(uint64_t ms)
{
	return (struct timeval){.tv_sec = (time_t)(ms / 1000),
				.tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

/* The loop's side: sockets and time. */

static void act(struct fetcher *fetcher, curl_socket_t fd, int mask)
{
	int n_running;
	fetcher->in_curl = true;
	curl_multi_socket_action(fetcher->multi, fd, mask, &n_running);
	fetcher->in_curl = false;
	settle(fetcher);
}

static void on_socket_ready(evutil_socket_t fd, short what, void *arg)
{
	struct watched_socket *socket = arg;
	int mask = (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0);
	act(socket->fetcher, fd, mask);
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void forget_socket(struct watched_socket *socket)
{
	event_del(&socket->event);
	free(socket);
}

static int watch_socket(struct fetcher *fetcher, struct watched_socket *socket, curl_socket_t fd,
			short what)
{
	bool is_new = !socket;
	if (is_new)
		socket = calloc(1, sizeof(*socket));
	if (!socket)
		return -1;
	if (is_new)
		socket->fetcher = fetcher;
	else
		event_del(&socket->event);
	socket->what = what;
	event_assign(&socket->event, loop_event_base(fetcher->loop), fd, what, on_socket_ready,
		     socket);
	if (is_new)
		curl_multi_assign(fetcher->multi, fd, socket);
	return event_add(&socket->event, NULL);
}

/* Ends a fetch without memory or descriptors as soon as we are outside libcurl. */
static void break_fetch(struct fetch *fetch)
{
	error_no_memory(&fetch->error);
	fetch->broken = true;
	fetch->fetcher->unsettled = true;
	event_active(&fetch->fetcher->timer, EV_TIMEOUT, 0);
}

static struct fetch *fetch_of(CURL *easy)
{
	char *fetch = NULL;
	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &fetch);
	return (struct fetch *)(void *)fetch;
}

/* CURLMOPT_SOCKETFUNCTION. An error returned from here would end all transfers for good. */
static int on_socket(CURL *easy, curl_socket_t fd, int poll, void *owner, void *data)
{
	struct watched_socket *socket = data;
	if (poll == CURL_POLL_REMOVE) {
		if (socket)
			forget_socket(socket);
		return 0;
	}
	short what = (short)(EV_PERSIST | (poll & CURL_POLL_IN ? EV_READ : 0) |
			     (poll & CURL_POLL_OUT ? EV_WRITE : 0));
	if (socket && socket->what == what)
		return 0;
	if (watch_socket(owner, socket, fd, what) != 0)
		break_fetch(fetch_of(easy));
	return 0;
}

/* CURLMOPT_TIMERFUNCTION */
static int on_timeout_change(CURLM *multi, long ms, void *owner)
{
	(void)multi;
	struct fetcher *fetcher = owner;
	if (ms < 0)
		return event_del(&fetcher->timer);
	struct timeval wait = timeval_of((uint64_t)ms);
	/* Without its timer libcurl would stall silently. */
	if (event_add(&fetcher->timer, &wait) != 0)
		abort();
	return 0;
}

void fetch_versions(struct sbuf *buf)
{
	sbuf_printf(buf, "%.512s", curl_version());
#ifdef OWN_LIBCURL
	sbuf_printf(buf, ", built in from Debian's curl %.128s", OWN_LIBCURL);
#endif
}

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
	evtimer_assign(&fetcher->timer, loop_event_base(loop), on_time, fetcher);
	fetcher->multi = curl_multi_init();
	if (!fetcher->multi)
		return error_no_memory(err);
	curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETDATA, fetcher);
	curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERFUNCTION, on_timeout_change);
	curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERDATA, fetcher);
	curl_multi_setopt(fetcher->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	*ret_fetcher = TAKE(fetcher);
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

/* Takes the transfer from libcurl. What it still looks up stays behind. */
static void leave_multi(struct fetch *fetch)
{
	struct fetcher *fetcher = fetch->fetcher;
	if (fetch->added)
		curl_multi_remove_handle(fetcher->multi, fetch->easy);
	fetch->added = false;
	if (!fetch->looking_up)
		return;
	fetch->looking_up = false;
	fetcher->left_lookups[fetcher->next_left_lookup] = loop_now_ms(fetcher->loop);
	fetcher->next_left_lookup = (fetcher->next_left_lookup + 1) % LEFT_LOOKUPS;
}

/* Frees a fetch in whatever state it is. Not inside libcurl. */
static void drop(struct fetch *fetch)
{
	assert(!fetch->fetcher->in_curl || !fetch->added);
	if (fetch->link)
		unlink_fetch(fetch);
	leave_multi(fetch);
	if (event_initialized(&fetch->idle_timer))
		event_del(&fetch->idle_timer);
	curl_easy_cleanup(fetch->easy);
	curl_slist_free_all(fetch->headers);
	curl_slist_free_all(fetch->connect_to);
	sbuf_deinit(&fetch->content_type);
	sbuf_deinit(&fetch->grpc_message);
	free(fetch);
}

static void dropp(struct fetch **fetch)
{
	if (*fetch)
		drop(*fetch);
}

void fetcher_free(struct fetcher *fetcher)
{
	if (!fetcher)
		return;
	assert(!fetcher->in_curl);
	while (fetcher->first)
		drop(fetcher->first);
	if (fetcher->multi)
		curl_multi_cleanup(fetcher->multi);
	if (event_initialized(&fetcher->timer))
		event_del(&fetcher->timer);
	free(fetcher);
	curl_global_cleanup();
}

static struct fetch_result result_of(struct fetch *fetch)
{
	return (struct fetch_result){
		.status = fetch->status,
		.retry_after_ms = fetch->retry_after_ms,
		.grpc_status = fetch->grpc_status,
		.grpc_message = sbuf_view(&fetch->grpc_message),
		.content_type = sbuf_view(&fetch->content_type),
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

/* Hands the result over and frees the fetch. */
static void finish(struct fetch *fetch, CURLcode code)
{
	struct fetch_result result = result_of(fetch);
	struct fetch_handler handler = fetch->handler;
	result.failed = code != CURLE_OK;
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
	leave_multi(fetch);
	unlink_fetch(fetch);
	fetch->link = NULL;
	handler.done(handler.owner, &result);
	drop(fetch);
}

static void add_to_multi(struct fetch *fetch)
{
	fetch->added = true;
	if (curl_multi_add_handle(fetch->fetcher->multi, fetch->easy) != CURLM_OK)
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
		else if (!fetch->added)
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
	CURLMsg *message;
	int n_left;
	if (fetcher->unsettled)
		settle_marks(fetcher);
	while ((message = curl_multi_info_read(fetcher->multi, &n_left))) {
		assert(message->msg == CURLMSG_DONE);
		finish(fetch_of(message->easy_handle), message->data.result);
	}
}

static void set_idle_timer(struct fetch *fetch, uint64_t ms)
{
	struct timeval wait = timeval_of(ms);
	event_add(&fetch->idle_timer, &wait);
}

static void on_idle(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct fetch *fetch = arg;
	uint64_t silence = loop_now_ms(fetch->fetcher->loop) - fetch->last_byte_at;
	if (silence < fetch->idle_timeout_ms) {
		set_idle_timer(fetch, fetch->idle_timeout_ms - silence);
		return;
	}
	error_set(&fetch->error, ERROR_RETRY, 0, "no data received for %.1f s",
		  (double)silence / 1000.0);
	finish(fetch, CURLE_OPERATION_TIMEDOUT);
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
	if (fetch->handler.body(fetch->handler.owner, (struct view){bytes, n}, &fetch->error) != 0) {
		assert(fetch->cancelled || fetch->error.kind != ERROR_NONE);
		return refuse();
	}
	return fetch->cancelled ? refuse() : n;
}

/* A new block of headers: the answer, or a 1xx before it. */
static void begin_head(struct fetch *fetch, struct view line)
{
	struct view version, rest;
	uint64_t status = 0;
	view_cut(line, VIEW(" "), &version, &rest);
	rest.len = rest.len > 3 ? 3 : rest.len;
	view_parse_u64(rest, &status);
	fetch->status = (int)status;
	sbuf_clear(&fetch->content_type);
}

static void end_head(struct fetch *fetch)
{
	if (fetch->head_done || fetch->status < 200)
		return;
	curl_off_t seconds = 0;
	fetch->head_done = true;
	curl_easy_getinfo(fetch->easy, CURLINFO_RETRY_AFTER, &seconds);
	if (seconds > RETRY_AFTER_CAP_S)
		seconds = RETRY_AFTER_CAP_S;
	fetch->retry_after_ms = seconds > 0 ? (uint32_t)seconds * 1000 : 0;
	struct fetch_result head = result_of(fetch);
	if (fetch->handler.head)
		fetch->handler.head(fetch->handler.owner, &head);
}

static void keep(struct sbuf *buf, struct view value)
{
	sbuf_clear(buf);
	sbuf_append(buf, value);
}

static void read_header(struct fetch *fetch, struct view name, struct view value)
{
	uint64_t number;
	if (view_equal_ignoring_case(name, VIEW("content-type"))) {
		keep(&fetch->content_type, value);
	} else if (view_equal_ignoring_case(name, VIEW("grpc-status"))) {
		if (view_parse_u64(value, &number) && number <= INT32_MAX)
			fetch->grpc_status = (int)number;
	} else if (view_equal_ignoring_case(name, VIEW("grpc-message"))) {
		keep(&fetch->grpc_message, value);
	}
}

/* CURLOPT_HEADERFUNCTION: one line of the head, or of the trailers */
static size_t on_header(char *bytes, size_t one, size_t n, void *owner)
{
	(void)one;
	struct fetch *fetch = owner;
	struct view line = view_trim((struct view){bytes, n});
	struct view name, value;
	if (fetch->cancelled)
		return refuse();
	fetch->last_byte_at = loop_now_ms(fetch->fetcher->loop);
	fetch->head_size += n;
	if (fetch->head_size > HEAD_CAP) {
		error_set(&fetch->error, ERROR_LIMIT, 0, "the head of the answer is over %u bytes",
			  HEAD_CAP);
		return refuse();
	}
	if (view_starts_with(line, VIEW("HTTP/")) && !fetch->head_done)
		begin_head(fetch, line);
	else if (line.len == 0)
		end_head(fetch);
	else if (view_cut(line, VIEW(":"), &name, &value))
		read_header(fetch, name, view_trim(value));
	return fetch->cancelled ? refuse() : n;
}

/* CURLOPT_RESOLVER_START_FUNCTION. Not 0: the transfer ends, with fetch->error. */
static int on_look_up(void *resolver, void *reserved, void *owner)
{
	(void)resolver;
	(void)reserved;
	struct fetch *fetch = owner;
	const struct fetcher *fetcher = fetch->fetcher;
	uint64_t oldest = fetcher->left_lookups[fetcher->next_left_lookup];
	if (oldest != 0 && loop_now_ms(fetcher->loop) - oldest < LEFT_LOOKUP_MS)
		return error_set(&fetch->error, ERROR_RETRY, 0,
				 "no name server answers: %u lookups were given up in the last %u s",
				 LEFT_LOOKUPS, LEFT_LOOKUP_MS / 1000);
	fetch->looking_up = true;
	return 0;
}

/*
 * CURLOPT_SOCKOPTFUNCTION: the name is looked up. What fails here (unix sockets) is a refinement
 * that may be missing.
 */
static int on_new_socket(void *owner, curl_socket_t fd, curlsocktype purpose)
{
	struct fetch *fetch = owner;
	(void)purpose;
	fetch->looking_up = false;
	static const struct {
		int level, name, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
		{IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, TCP_UNACKNOWLEDGED_MS},
	};
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)) != 0)
			break;
	}
	return CURL_SOCKOPT_OK;
}

/* Setting up a transfer. libcurl copies all texts and blobs, and fails only without memory. */

static bool is_clean(const char *text)
{
	for (const char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	}
	return true;
}

static int add_header(struct fetch *fetch, const char *line, struct error *err)
{
	if (!is_clean(line))
		return error_set(err, ERROR_REJECTED, 0, "a control character in a header");
	struct curl_slist *grown = curl_slist_append(fetch->headers, line);
	if (!grown)
		return error_no_memory(err);
	fetch->headers = grown;
	return 0;
}

static int set_headers(struct fetch *fetch, const struct fetch_request *request, struct error *err)
{
	/* "Name:" without a value: libcurl leaves its own header out. */
	if (add_header(fetch, "Expect:", err) != 0)
		return -1;
	bool has_type = false;
	for (const char *const *line = request->headers; line && *line; line++) {
		struct view name, value;
		view_cut(view_from(*line), VIEW(":"), &name, &value);
		has_type |= view_equal_ignoring_case(name, VIEW("content-type"));
		if (add_header(fetch, *line, err) != 0)
			return -1;
	}
	if (!has_type && add_header(fetch, "Content-Type:", err) != 0)
		return -1;
	curl_easy_setopt(fetch->easy, CURLOPT_HTTPHEADER, fetch->headers);
	return 0;
}

static void urlp(CURLU **url)
{
	curl_url_cleanup(*url);
}

static void curl_textp(char **text)
{
	curl_free(*text);
}

/* Puts the name to verify into the URL, and sends the connection and "Host:" to the real one. */
static int rename_server(struct fetch *fetch, CURLU *url, const char *server_name,
			 struct error *err)
{
	CLEANUP(curl_textp) char *host = NULL;
	CLEANUP(curl_textp) char *port = NULL;
	CLEANUP(sbuf_deinit) struct sbuf line = {0};
	sbuf_init(&line, LIMIT_URL);
	if (curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
		return error_set(err, ERROR_REJECTED, 0, "a URL without a host");
	sbuf_printf(&line, "::%s:%s", host, port);
	const char *text = sbuf_text(&line);
	fetch->connect_to = text ? curl_slist_append(NULL, text) : NULL;
	if (!fetch->connect_to)
		return error_no_memory(err);
	curl_easy_setopt(fetch->easy, CURLOPT_CONNECT_TO, fetch->connect_to);
	sbuf_clear(&line);
	sbuf_printf(&line, "Host: %s:%s", host, port);
	text = sbuf_text(&line);
	if (!text)
		return error_no_memory(err);
	if (curl_url_set(url, CURLUPART_HOST, server_name, 0) != CURLUE_OK)
		return error_set(err, ERROR_REJECTED, 0, "not a server name: %s", server_name);
	return add_header(fetch, text, err);
}

static bool is_http(const char *url)
{
	struct view scheme, rest;
	return is_clean(url) && view_cut(view_from(url), VIEW("://"), &scheme, &rest) &&
	       (view_equal(scheme, VIEW("https")) || view_equal(scheme, VIEW("http")));
}

static int set_url(struct fetch *fetch, const struct fetch_request *request, struct error *err)
{
	CLEANUP(urlp) CURLU *url = curl_url();
	CLEANUP(curl_textp) char *text = NULL;
	if (!url)
		return error_no_memory(err);
	if (!is_http(request->url) ||
	    curl_url_set(url, CURLUPART_URL, request->url, 0) != CURLUE_OK)
		return error_set(err, ERROR_REJECTED, 0, "not a URL: %s", request->url);
	if (request->server_name && rename_server(fetch, url, request->server_name, err) != 0)
		return -1;
	if (curl_url_get(url, CURLUPART_URL, &text, 0) != CURLUE_OK ||
	    curl_easy_setopt(fetch->easy, CURLOPT_URL, text) != CURLE_OK)
		return error_no_memory(err);
	if (request->unix_socket)
		curl_easy_setopt(fetch->easy, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
	return 0;
}

static int set_method(struct fetch *fetch, const struct fetch_request *request, struct error *err)
{
	const char *method = request->method;
	CURL *easy = fetch->easy;
	if (!is_clean(method) || !*method)
		return error_set(err, ERROR_REJECTED, 0, "not an HTTP method");
	bool has_body = request->body.len > 0 || strcmp(method, "POST") == 0 ||
			strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0;
	if (has_body) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
		if (curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS,
				     request->body.len ? request->body.ptr : "") != CURLE_OK)
			return error_no_memory(err);
	} else if (strcmp(method, "HEAD") == 0) {
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	}
	if (curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method) != CURLE_OK)
		return error_no_memory(err);
	return 0;
}

static bool set_blob(CURL *easy, CURLoption option, struct view bytes)
{
	/* libcurl copies, and does not write to it. */
	struct curl_blob blob = {.data = (void *)(uintptr_t)bytes.ptr,
				 .len = bytes.len,
				 .flags = CURL_BLOB_COPY};
	return bytes.len == 0 || curl_easy_setopt(easy, option, &blob) == CURLE_OK;
}

static int set_tls(struct fetch *fetch, const struct fetch_request *request, struct error *err)
{
	CURL *easy = fetch->easy;
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, request->insecure ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, request->insecure ? 0L : 2L);
	if (request->ca_pem.len > 0) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (!set_blob(easy, CURLOPT_CAINFO_BLOB, request->ca_pem) ||
	    !set_blob(easy, CURLOPT_SSLCERT_BLOB, request->client_cert_pem) ||
	    !set_blob(easy, CURLOPT_SSLKEY_BLOB, request->client_key_pem))
		return error_no_memory(err);
	return 0;
}

static long http_version(enum fetch_protocol protocol)
{
	switch (protocol) {
	case FETCH_HTTP1:
		return CURL_HTTP_VERSION_1_1;
	case FETCH_HTTP2:
		return CURL_HTTP_VERSION_2TLS;
	case FETCH_HTTP2_PRIOR_KNOWLEDGE:
		return CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	}
	assert(false && "no such protocol");
	return CURL_HTTP_VERSION_1_1;
}

static void set_behaviour(struct fetch *fetch, const struct fetch_request *request)
{
	CURL *easy = fetch->easy;
	curl_easy_setopt(easy, CURLOPT_PRIVATE, fetch);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->curl_text);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
	curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, on_look_up);
	curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, fetch);
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_new_socket);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, fetch);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, http_version(request->protocol));
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, request->protocol == FETCH_HTTP2 ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request->fresh_connection ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, request->fresh_connection ? 1L : 0L);
	uint32_t connect_ms = request->connect_timeout_ms;
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)(connect_ms ? connect_ms : CONNECT_TIMEOUT_MS));
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->total_timeout_ms);
}

static struct fetch *make_fetch(struct fetcher *fetcher, const struct fetch_handler *handler)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return NULL;
	fetch->fetcher = fetcher;
	fetch->handler = *handler;
	fetch->grpc_status = -1;
	sbuf_init(&fetch->content_type, CONTENT_TYPE_CAP);
	sbuf_init(&fetch->grpc_message, GRPC_MESSAGE_CAP);
	evtimer_assign(&fetch->idle_timer, loop_event_base(fetcher->loop), on_idle, fetch);
	fetch->easy = curl_easy_init();
	return fetch;
}

int fetch_start(struct fetcher *fetcher, const struct fetch_request *request,
		const struct fetch_handler *handler, struct fetch **ret_fetch, struct error *err)
{
	CLEANUP(dropp) struct fetch *fetch = make_fetch(fetcher, handler);
	assert(handler->body && handler->done);
	if (!fetch || !fetch->easy)
		return error_no_memory(err);
	set_behaviour(fetch, request);
	if (set_url(fetch, request, err) != 0 || set_method(fetch, request, err) != 0 ||
	    set_tls(fetch, request, err) != 0 || set_headers(fetch, request, err) != 0)
		return -1;
	fetch->last_byte_at = loop_now_ms(fetcher->loop);
	fetch->idle_timeout_ms = request->idle_timeout_ms;
	if (fetch->idle_timeout_ms > 0)
		set_idle_timer(fetch, fetch->idle_timeout_ms);
	link_fetch(fetcher, fetch);
	if (fetcher->in_curl)
		fetcher->unsettled = true;
	else
		add_to_multi(fetch);
	*ret_fetch = TAKE(fetch);
	return 0;
}

void fetch_cancel(struct fetch *fetch)
{
	if (!fetch)
		return;
	if (!fetch->fetcher->in_curl) {
		drop(fetch);
		return;
	}
	fetch->cancelled = true;
	fetch->fetcher->unsettled = true;
}
