/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resolver - the addresses of a host, looked up beside the loop. getaddrinfo() may take a minute while
 * a name server is silent, and nobody can stop it. So a thread calls it that lives for one look-up.
 * Nothing waits for that thread: not the loop, not resolver_free(), not the end of the program.
 *
 * Threads: the loop's. A look-up has one of its own, which resolver_free() may leave behind.
 * Limits:  one look-up at a time; RESOLVER_MAX addresses.
 */

#include <stdbool.h>

#include "base/error.h"
#include "io/loop.h"

#define RESOLVER_MAX 8u
#define RESOLVER_TEXT 46u /* an address as text, with its NUL */

struct resolver_result {
	unsigned n;        /* addresses; 0: the look-up failed */
	unsigned left_out; /* further ones, beyond RESOLVER_MAX */
	char addresses[RESOLVER_MAX][RESOLVER_TEXT]; /* IPv4 and IPv6, in the order of the texts, each once */
	struct error error; /* why it failed: ERROR_RETRY or ERROR_NO_MEMORY */
};

struct resolver;

/* The result is borrowed for the call. The resolver must not be freed from inside. */
typedef void (*resolver_fn)(void *owner, const struct resolver_result *result);

/* Nothing is looked up yet. host is copied. Fails with ERROR_NO_MEMORY. */
MUST_USE int resolver_new(struct loop *loop, const char *host, resolver_fn resolved, void *owner,
			  struct resolver **ret_resolver, struct error *err);
/* Does not call back any more. Accepts NULL. */
void resolver_free(struct resolver *resolver);
/*
 * Looks the host up: `resolved` is called later, once. While a look-up is under way there is nothing to
 * do. Fails with ERROR_NO_MEMORY, ERROR_LIMIT (no file descriptor is left) or ERROR_RETRY (no thread).
 */
MUST_USE int resolver_start(struct resolver *resolver, struct error *err);
/* An IP address, which needs no look-up. */
bool resolver_is_address(const char *host);
