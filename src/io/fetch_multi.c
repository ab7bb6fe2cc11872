/* SPDX-License-Identifier: Apache-2.0 */

/*
 * In curl_multi_socket_action() libcurl does all of its work and calls the head and body callbacks
 * of its transfers. is_in_curl is set meanwhile.
 *
 * libcurl 7.88 that had no memory to note a socket divides by zero when it notes it again. It may also
 * leave that socket watched, with nobody to read from it. So a handle that has failed once is replaced,
 * which closes its connections. While there is no memory for that, it is not let work.
 */

#include "io/fetch_multi.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/list.h"
#include "io/fetch.h"

struct fetch_multi {
	struct loop *loop;
	CURLM *handle;
	struct loop_timer *timer; /* libcurl's */
	struct loop_timer *wake;  /* ours, which libcurl does not clear */
	struct list sockets; /* that the loop watches */
	uint32_t max_streams; /* of a connection */
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

static void act(struct fetch_multi *multi, curl_socket_t fd, int mask)
{
	if (!multi->is_broken)
		work(multi, fd, mask);
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
	event_del(&socket->event);
	list_remove(&socket->link);
	free(socket);
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
	for (struct list *link = multi->sockets.next; link != &multi->sockets; link = link->next) {
		if (CONTAINER_OF(link, struct watched_socket, link)->fd == fd)
			return true;
	}
	return false;
}

void fetch_multi_wake(struct fetch_multi *multi)
{
	loop_timer_set(multi->wake, 0);
}
