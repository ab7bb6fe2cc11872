/* SPDX-License-Identifier: Apache-2.0 */

/*
 * In curl_multi_socket_action() libcurl does all of its work and calls the head and body callbacks
 * of its transfers. is_in_curl is set meanwhile.
 */

#include "io/fetch_multi.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>

struct fetch_multi {
	struct loop *loop;
	CURLM *handle;
	struct event timer;
	bool is_in_curl;
	struct fetch_multi_owner owner;
};

/* A socket of libcurl's that the loop watches. */
struct watched_socket {
	struct fetch_multi *multi;
	struct event event;
	short what;
};

static void act(struct fetch_multi *multi, curl_socket_t fd, int mask)
{
	int n_running;
	multi->is_in_curl = true;
	curl_multi_socket_action(multi->handle, fd, mask, &n_running);
	multi->is_in_curl = false;
	multi->owner.worked(multi->owner.owner);
}

static void on_socket_ready(evutil_socket_t fd, short what, void *arg)
{
	struct watched_socket *socket = arg;
	int mask = (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0);
	act(socket->multi, fd, mask);
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

static int watch_socket(struct fetch_multi *multi, struct watched_socket *socket, curl_socket_t fd,
			short what)
{
	bool is_new = !socket;
	if (is_new)
		socket = calloc(1, sizeof(*socket));
	if (!socket)
		return -1;
	if (is_new)
		socket->multi = multi;
	else
		event_del(&socket->event);
	socket->what = what;
	event_assign(&socket->event, loop_event_base(multi->loop), fd, what, on_socket_ready,
		     socket);
	if (is_new)
		curl_multi_assign(multi->handle, fd, socket);
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
		return event_del(&multi->timer);
	struct timeval wait = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	/* Without its timer libcurl would stall silently. */
	if (event_add(&multi->timer, &wait) != 0)
		abort();
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
	assert(owner->worked && owner->starved);
	if (!multi)
		return error_no_memory(err);
	multi->loop = loop;
	multi->owner = *owner;
	evtimer_assign(&multi->timer, loop_event_base(loop), on_time, multi);
	multi->handle = curl_multi_init();
	if (!multi->handle)
		return error_no_memory(err);
	curl_multi_setopt(multi->handle, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(multi->handle, CURLMOPT_SOCKETDATA, multi);
	curl_multi_setopt(multi->handle, CURLMOPT_TIMERFUNCTION, on_timeout_change);
	curl_multi_setopt(multi->handle, CURLMOPT_TIMERDATA, multi);
	curl_multi_setopt(multi->handle, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
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
	event_del(&multi->timer);
	free(multi);
}

bool fetch_multi_is_in_curl(const struct fetch_multi *multi)
{
	return multi->is_in_curl;
}

int fetch_multi_add(struct fetch_multi *multi, CURL *easy)
{
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

void fetch_multi_wake(struct fetch_multi *multi)
{
	event_active(&multi->timer, EV_TIMEOUT, 0);
}
