/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A readable port is level-triggered: when accept() fails for want of a descriptor it stays
 * readable, and a loop that goes on watching it spins. So the watch is taken away for a moment and
 * a timer puts it back.
 */

#include "io/listener.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/view.h"

#define PAUSE_MS 200
/* Connections taken in one turn, so that those that exist get their turn too. */
#define BATCH 32
#define BACKLOG 4096

static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
	      "listener_port()");

struct listener {
	struct loop *loop;
	struct loop_watch *watch; /* NULL while pausing */
	struct loop_timer *timer;
	int fd;
	uint64_t pauses;
	listener_accept_fn accept;
	void *owner;
};

static bool parse_port(struct view text, uint16_t *ret_port)
{
	uint64_t port;
	if (!view_parse_u64(text, &port) || port > UINT16_MAX)
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

static bool parse_host(struct view host, uint16_t port, struct sockaddr_storage *ret)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool brackets = host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
	if (brackets)
		host = (struct view){host.ptr + 1, host.len - 2};
	if (host.len >= sizeof(text))
		return false;
	memcpy(text, host.ptr, host.len);
	text[host.len] = '\0';
	if (!brackets && inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(ret, &v4, sizeof(v4));
	else if ((brackets || host.len == 0) &&
		 inet_pton(AF_INET6, host.len ? text : "::", &v6.sin6_addr) == 1)
		memcpy(ret, &v6, sizeof(v6));
	else
		return false;
	return true;
}

static bool parse_address(struct view text, struct sockaddr_storage *ret)
{
	size_t colon = text.len;
	while (colon > 0 && text.ptr[colon - 1] != ':')
		colon--;
	uint16_t port;
	*ret = (struct sockaddr_storage){0};
	return colon > 0 && parse_port(view_from_offset(text, colon), &port) &&
	       parse_host((struct view){text.ptr, colon - 1}, port, ret);
}

static int open_socket(const struct sockaddr_storage *address)
{
	const int on = 1, off = 0;
	socklen_t size = address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							: sizeof(struct sockaddr_in);
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (address->ss_family != AF_INET6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
	    bind(fd, (const struct sockaddr *)address, size) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* ":port" on a host without IPv6. */
static int open_any(struct sockaddr_storage *address)
{
	int fd = open_socket(address);
	if (fd >= 0 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL))
		return fd;
	in_port_t port = ((struct sockaddr_in6 *)address)->sin6_port;
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = port};
	*address = (struct sockaddr_storage){0};
	memcpy(address, &v4, sizeof(v4));
	return open_socket(address);
}

static int watch(struct listener *listener, struct error *err);

static void on_timer(void *owner)
{
	struct listener *listener = owner;
	struct error err;
	if (!listener->watch && watch(listener, &err) != 0)
		loop_timer_set(listener->timer, PAUSE_MS);
}

static void pause_accepting(struct listener *listener)
{
	listener->pauses++;
	loop_watch_free(listener->watch);
	listener->watch = NULL;
	loop_timer_set(listener->timer, PAUSE_MS);
}

static bool is_exhausted(int number)
{
	return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

static void on_readable(void *owner, bool readable, bool writable)
{
	(void)readable, (void)writable;
	struct listener *listener = owner;
	for (int i = 0; i < BATCH; i++) {
		struct sockaddr_storage peer = {0};
		socklen_t size = sizeof(peer);
		int fd = accept4(listener->fd, (struct sockaddr *)&peer, &size,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			listener->accept(listener->owner, fd, &peer);
		} else if (is_exhausted(errno)) {
			pause_accepting(listener);
			return;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			return;
		}
		/* Any other failure is that of one connection, which is gone. */
	}
}

static int watch(struct listener *listener, struct error *err)
{
	return loop_watch_new(listener->loop, listener->fd, LOOP_READ, on_readable, listener,
			      &listener->watch, err);
}

static void listener_freep(struct listener **listener)
{
	listener_free(*listener);
}

int listener_new(struct loop *loop, const char *address, listener_accept_fn accept, void *owner,
		 struct listener **ret_listener, struct error *err)
{
	struct sockaddr_storage storage;
	if (!parse_address(view_from(address), &storage))
		return error_set(err, ERROR_REJECTED, 0, "not an address to listen on: %s; use HOST:PORT or :PORT",
				 address);
	CLEANUP(listener_freep) struct listener *listener = malloc(sizeof(*listener));
	if (!listener)
		return error_no_memory(err);
	*listener = (struct listener){.loop = loop, .fd = -1, .accept = accept, .owner = owner};
	listener->fd = address[0] == ':' ? open_any(&storage) : open_socket(&storage);
	if (listener->fd < 0)
		return error_set(err, ERROR_RETRY, errno, "listen on %s", address);
	if (loop_timer_new(loop, on_timer, listener, &listener->timer, err) != 0 ||
	    watch(listener, err) != 0)
		return -1;
	*ret_listener = TAKE(listener);
	return 0;
}

void listener_free(struct listener *listener)
{
	if (!listener)
		return;
	loop_watch_free(listener->watch);
	loop_timer_free(listener->timer);
	if (listener->fd >= 0)
		close(listener->fd);
	free(listener);
}

uint16_t listener_port(const struct listener *listener)
{
	/* The port lies at the same place in the addresses of both families. */
	struct sockaddr_in6 address = {0};
	socklen_t size = sizeof(address);
	if (getsockname(listener->fd, (struct sockaddr *)&address, &size) != 0)
		return 0;
	return ntohs(address.sin6_port);
}

uint64_t listener_pauses(const struct listener *listener)
{
	return listener->pauses;
}
