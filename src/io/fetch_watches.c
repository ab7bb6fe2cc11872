/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libcurl does not watch a connection that no request uses. It looks whether the connection is still
 * there when the next request begins. So the socket is ours to watch meanwhile. It stays libcurl's: the
 * watch is over before libcurl waits for the socket again or closes it.
 *
 * What is asked of the kernel is whether the peer has closed, not whether there is something to read.
 * On an idle connection there may be HTTP/2 frames or records of TLS, which libcurl reads with the next
 * request. They are left there, so the event is edge-triggered: it comes once for each arrival.
 */

#include "io/fetch_watches.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <poll.h>
#include <stdlib.h>

#include "base/limits.h"

struct fetch_watch {
	struct list link;
	struct fetch_watches *watches;
	struct event event;
	int fd; /* -1: it is over */
	fetch_watch_fn ended;
	void *owner;
};

static bool is_closed_by_peer(int fd)
{
	struct pollfd socket = {.fd = fd, .events = POLLRDHUP};
	return poll(&socket, 1, 0) > 0;
}

static void stop(struct fetch_watch *watch)
{
	event_del(&watch->event);
	watch->fd = -1;
}

/* Something arrived, or libcurl has closed what the peer had closed. */
static void on_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	struct fetch_watch *watch = arg;
	loop_enter(watch->watches->loop);
	if (watch->fd >= 0 && !is_closed_by_peer(watch->fd))
		return;
	stop(watch);
	watch->ended(watch->owner);
}

static struct fetch_watch *find(const struct fetch_watches *watches, int fd)
{
	for (struct list *link = watches->all.next; link != &watches->all; link = link->next) {
		struct fetch_watch *watch = CONTAINER_OF(link, struct fetch_watch, link);
		if (watch->fd == fd)
			return watch;
	}
	return NULL;
}

void fetch_watches_init(struct fetch_watches *watches, struct loop *loop)
{
	*watches = (struct fetch_watches){.loop = loop};
	list_init(&watches->all);
}

int fetch_watches_add(struct fetch_watches *watches, int fd, fetch_watch_fn ended, void *owner,
		      struct fetch_watch **ret_watch, struct error *err)
{
	if (watches->n >= LIMIT_FETCH_WATCHES)
		return error_set(err, ERROR_LIMIT, 0, "more than %u idle connections to watch",
				 LIMIT_FETCH_WATCHES);
	struct fetch_watch *watch = malloc(sizeof(*watch));
	if (!watch)
		return error_no_memory(err);
	fetch_watches_used(watches, fd);
	*watch = (struct fetch_watch){.watches = watches, .fd = fd, .ended = ended, .owner = owner};
	event_assign(&watch->event, loop_event_base(watches->loop), fd, EV_READ | EV_ET | EV_PERSIST,
		     on_event, watch);
	if (event_add(&watch->event, NULL) != 0) {
		free(watch);
		return error_no_memory(err);
	}
	list_append(&watches->all, &watch->link);
	watches->n++;
	*ret_watch = watch;
	return 0;
}

void fetch_watches_remove(struct fetch_watch *watch)
{
	if (!watch)
		return;
	stop(watch);
	list_remove(&watch->link);
	watch->watches->n--;
	free(watch);
}

void fetch_watches_used(struct fetch_watches *watches, int fd)
{
	struct fetch_watch *watch = find(watches, fd);
	if (watch)
		stop(watch);
}

void fetch_watches_closing(struct fetch_watches *watches, int fd)
{
	struct fetch_watch *watch = find(watches, fd);
	if (!watch)
		return;
	bool is_closed = is_closed_by_peer(fd);
	stop(watch);
	if (is_closed)
		event_active(&watch->event, EV_READ, 0);
}
