/* SPDX-License-Identifier: Apache-2.0 */

/*
 * In curl_multi_socket_action() libcurl does all of its work and calls the head and body callbacks
 * of its transfers. is_in_curl is set meanwhile.
 *
 * libcurl 7.88 that had no memory to note a socket divides by zero when it notes it again. It may also
 * leave that socket watched, with nobody to read from it. So a handle that has failed once is replaced,
 * which closes its connections. While there is no memory for that, it is not let work.
 *
 * libcurl 7.88 pauses a connection of HTTP/2 where a stream gets more at a time than its buffer holds. It
 * then hands on the stream's full buffer, and may leave the rest where it is until the server sends more,
 * which a watch may not do for a minute. So it is let work on that connection again, until that brings
 * nothing: after a full buffer, and where a stream is dropped that may have had one.
 */

#include "io/fetch_multi.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/list.h"
#include "io/fetch.h"

#define DRAIN_ROUNDS 32u

struct fetch_multi {
	struct loop *loop;
	CURLM *handle;
	struct loop_timer *timer; /* libcurl's */
	struct loop_timer *wake;  /* ours, which libcurl does not clear */
	struct list sockets; /* that the loop watches */
	uint32_t max_streams; /* of a connection */
	uint32_t n_full;      /* sockets with is_full */
	uint64_t n_parts;     /* of bodies of HTTP/2 that were handed on */
	bool is_in_curl;
	bool is_broken;
	struct fetch_multi_owner owner;
};

/* A socket of libcurl's that the loop watches. */
struct watched_socket {
	struct list link;
	struct fetch_multi *multi;
	struct event event;
	curl_socket_t fd;
	short what;
	long local_port; /* by which libcurl tells the connection of a transfer; 0: not of TCP */
	bool is_full;    /* libcurl may hold back what it has read from it */
};

static int renew_handle(struct fetch_multi *multi);

static void work(struct fetch_multi *multi, curl_socket_t fd, int mask)
{
	int n_running;
	multi->is_in_curl = true;
	CURLMcode code = curl_multi_socket_action(multi->handle, fd, mask, &n_running);
	multi->is_in_curl = false;
	if (code == CURLM_OK)
		return;
	multi->is_broken = true;
	multi->owner.broke(multi->owner.owner);
}

static struct watched_socket *find_socket(const struct fetch_multi *multi, curl_socket_t fd)
{
	for (struct list *link = multi->sockets.next; link != &multi->sockets; link = link->next) {
		struct watched_socket *socket = CONTAINER_OF(link, struct watched_socket, link);
		if (socket->fd == fd)
			return socket;
	}
	return NULL;
}

static struct watched_socket *find_full(const struct fetch_multi *multi)
{
	for (struct list *link = multi->sockets.next; link != &multi->sockets; link = link->next) {
		struct watched_socket *socket = CONTAINER_OF(link, struct watched_socket, link);
		if (socket->is_full)
			return socket;
	}
	return NULL;
}

static void set_full(struct watched_socket *socket, bool is_full)
{
	if (!socket || socket->is_full == is_full)
		return;
	socket->is_full = is_full;
	if (is_full)
		socket->multi->n_full++;
	else
		socket->multi->n_full--;
}

/* Hands on what libcurl holds back. After some rounds others have their turn. */
static void drain(struct fetch_multi *multi)
{
	for (unsigned round = 0; multi->n_full > 0 && !multi->is_broken; round++) {
		if (round == DRAIN_ROUNDS) {
			fetch_multi_wake(multi);
			return;
		}
		struct watched_socket *socket = find_full(multi);
		const curl_socket_t fd = socket->fd;
		const uint64_t n_before = multi->n_parts;
		set_full(socket, false);
		work(multi, fd, CURL_CSELECT_IN);
		if (multi->n_parts != n_before)
			set_full(find_socket(multi, fd), true);
	}
}

static void act(struct fetch_multi *multi, curl_socket_t fd, int mask)
{
	if (!multi->is_broken)
		work(multi, fd, mask);
	drain(multi);
	if (multi->is_broken)
		(void)renew_handle(multi); /* else the next one tries */
	multi->owner.worked(multi->owner.owner);
}

static void on_socket_ready(evutil_socket_t fd, short what, void *arg)
{
	struct watched_socket *socket = arg;
	loop_enter(socket->multi->loop);
	int mask = (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0);
	act(socket->multi, fd, mask);
}

static void on_time(void *owner)
{
	act(owner, CURL_SOCKET_TIMEOUT, 0);
}

static void forget_socket(struct watched_socket *socket)
{
	set_full(socket, false);
	event_del(&socket->event);
	list_remove(&socket->link);
	free(socket);
}

static long local_port_of(curl_socket_t fd)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} address = {0};
	socklen_t len = sizeof(address);
	if (getsockname(fd, (struct sockaddr *)&address.any, &len) != 0)
		return 0;
	switch (address.any.ss_family) {
	case AF_INET:
		return ntohs(address.ipv4.sin_port);
	case AF_INET6:
		return ntohs(address.ipv6.sin6_port);
	default:
		return 0;
	}
}

static int watch_socket(struct fetch_multi *multi, struct watched_socket *socket, curl_socket_t fd,
			short what)
{
	bool is_new = !socket;
	if (is_new)
		socket = calloc(1, sizeof(*socket));
	if (!socket)
		return -1;
	if (is_new) {
		socket->multi = multi;
		socket->fd = fd;
		socket->local_port = local_port_of(fd);
		list_append(&multi->sockets, &socket->link);
		curl_multi_assign(multi->handle, fd, socket);
	} else {
		event_del(&socket->event);
	}
	socket->what = what;
	event_assign(&socket->event, loop_event_base(multi->loop), fd, what, on_socket_ready,
		     socket);
	return event_add(&socket->event, NULL);
}

/* CURLMOPT_SOCKETFUNCTION. An error returned from here would end all transfers for good. */
static int on_socket(CURL *easy, curl_socket_t fd, int poll, void *owner, void *data)
{
	struct fetch_multi *multi = owner;
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
	if (!socket)
		multi->owner.used(multi->owner.owner, fd);
	if (watch_socket(multi, socket, fd, what) != 0)
		multi->owner.starved(multi->owner.owner, easy);
	return 0;
}

/* CURLMOPT_TIMERFUNCTION */
static int on_timeout_change(CURLM *handle, long ms, void *owner)
{
	(void)handle;
	struct fetch_multi *multi = owner;
	if (ms < 0)
		loop_timer_clear(multi->timer);
	else
		loop_timer_set(multi->timer, (uint64_t)ms);
	return 0;
}

static CURLM *make_handle(struct fetch_multi *multi)
{
	CURLM *handle = curl_multi_init();
	if (!handle)
		return NULL;
	curl_multi_setopt(handle, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(handle, CURLMOPT_SOCKETDATA, multi);
	curl_multi_setopt(handle, CURLMOPT_TIMERFUNCTION, on_timeout_change);
	curl_multi_setopt(handle, CURLMOPT_TIMERDATA, multi);
	curl_multi_setopt(handle, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(handle, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)multi->max_streams);
	curl_multi_setopt(handle, CURLMOPT_MAXCONNECTS, (long)LIMIT_IDLE_CONNECTIONS);
	return handle;
}

static int renew_handle(struct fetch_multi *multi)
{
	CURLM *handle = make_handle(multi);
	if (!handle)
		return -1;
	curl_multi_cleanup(multi->handle);
	loop_timer_clear(multi->timer);
	multi->handle = handle;
	multi->is_broken = false;
	return 0;
}

static void fetch_multi_freep(struct fetch_multi **multi)
{
	fetch_multi_free(*multi);
}

int fetch_multi_new(struct loop *loop, const struct fetch_multi_owner *owner,
		    struct fetch_multi **ret_multi, struct error *err)
{
	CLEANUP(fetch_multi_freep) struct fetch_multi *multi = calloc(1, sizeof(*multi));
	assert(owner->worked && owner->used && owner->starved && owner->broke);
	if (!multi)
		return error_no_memory(err);
	multi->loop = loop;
	multi->owner = *owner;
	multi->max_streams = FETCH_STREAMS;
	list_init(&multi->sockets);
	if (loop_timer_new(loop, on_time, multi, &multi->timer, err) != 0 ||
	    loop_timer_new(loop, on_time, multi, &multi->wake, err) != 0)
		return -1;
	multi->handle = make_handle(multi);
	if (!multi->handle)
		return error_no_memory(err);
	*ret_multi = TAKE(multi);
	return 0;
}

void fetch_multi_free(struct fetch_multi *multi)
{
	if (!multi)
		return;
	assert(!multi->is_in_curl);
	if (multi->handle)
		curl_multi_cleanup(multi->handle);
	loop_timer_free(multi->timer);
	loop_timer_free(multi->wake);
	free(multi);
}

void fetch_multi_limit_streams(struct fetch_multi *multi, uint32_t n)
{
	multi->max_streams = n;
	curl_multi_setopt(multi->handle, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)n);
}

bool fetch_multi_is_in_curl(const struct fetch_multi *multi)
{
	return multi->is_in_curl;
}

int fetch_multi_add(struct fetch_multi *multi, CURL *easy)
{
	if (multi->is_broken && renew_handle(multi) != 0)
		return -1;
	return curl_multi_add_handle(multi->handle, easy) == CURLM_OK ? 0 : -1;
}

void fetch_multi_remove(struct fetch_multi *multi, CURL *easy)
{
	curl_multi_remove_handle(multi->handle, easy);
}

CURL *fetch_multi_next_done(struct fetch_multi *multi, CURLcode *ret_code)
{
	int n_left;
	CURLMsg *message = curl_multi_info_read(multi->handle, &n_left);
	if (!message)
		return NULL;
	assert(message->msg == CURLMSG_DONE);
	*ret_code = message->data.result;
	return message->easy_handle;
}

bool fetch_multi_uses(const struct fetch_multi *multi, int fd)
{
	return find_socket(multi, fd);
}

static void set_connection_full(struct fetch_multi *multi, CURL *easy)
{
	long port = 0;
	curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, &port);
	for (struct list *link = multi->sockets.next; link != &multi->sockets; link = link->next) {
		struct watched_socket *socket = CONTAINER_OF(link, struct watched_socket, link);
		if (socket->local_port == port)
			set_full(socket, true);
	}
}

void fetch_multi_took(struct fetch_multi *multi, CURL *easy, bool is_full)
{
	multi->n_parts++;
	if (is_full)
		set_connection_full(multi, easy);
}

void fetch_multi_drop_stream(struct fetch_multi *multi, CURL *easy)
{
	set_connection_full(multi, easy);
	if (multi->n_full > 0)
		fetch_multi_wake(multi);
}

void fetch_multi_wake(struct fetch_multi *multi)
{
	loop_timer_set(multi->wake, 0);
}
