/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * listener - a TCP port on a loop that hands out accepted sockets. While the process or the system
 * is out of file descriptors or memory it pauses instead of spinning; clients wait in the backlog.
 *
 * Threads: the loop's.
 */

#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"
#include "io/loop.h"

struct listener;

/* A connection came in: take_fd does not block, is closed on exec, and belongs to the callee. */
typedef void (*listener_accept_fn)(void *owner, int take_fd, const struct sockaddr_storage *peer);

/*
 * address is "0.0.0.0:8443", "[::]:8443", "127.0.0.1:0" or ":8443" (every address of both
 * families, or of IPv4 alone where there is no IPv6). Fails with ERROR_REJECTED (malformed),
 * ERROR_RETRY (in use, not permitted) or ERROR_NO_MEMORY.
 */
MUST_USE int listener_new(struct loop *loop, const char *address, listener_accept_fn accept,
			  void *owner, struct listener **ret_listener, struct error *err);
/* Accepts NULL. */
void listener_free(struct listener *listener);
/* The port it listens on, which the kernel chose when 0 was asked for. */
uint16_t listener_port(const struct listener *listener);
/* How often it had to pause. */
uint64_t listener_pauses(const struct listener *listener);
