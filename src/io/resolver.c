/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A look-up belongs to two, the resolver and its thread; the last one to go frees it. The thread writes
 * the result and then to the look-up's own eventfd, which the loop watches. A resolver that goes before
 * takes its watch along, and the thread writes to an eventfd that nobody reads.
 */

#include "io/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct lookup {
	atomic_int n_owners;
	int ready; /* eventfd */
	char *host;
	struct resolver_result result; /* the thread's until `ready` is readable */
};

struct resolver {
	struct loop *loop;
	char *host;
	resolver_fn resolved;
	void *owner;
	struct lookup *lookup; /* NULL: none is under way */
	struct loop_watch *watch;
};

/* One look-up, and the thread of it. */

static void drop_lookup(struct lookup *lookup)
{
	if (!lookup || atomic_fetch_sub(&lookup->n_owners, 1) > 1)
		return;
	if (lookup->ready >= 0)
		close(lookup->ready);
	free(lookup->host);
	free(lookup);
}

static void drop_lookupp(struct lookup **lookup)
{
	drop_lookup(*lookup);
}

/* Owned by the caller alone. */
static struct lookup *make_lookup(const char *host, struct error *err)
{
	CLEANUP(drop_lookupp) struct lookup *lookup = calloc(1, sizeof(*lookup));
	if (!lookup) {
		error_no_memory(err);
		return NULL;
	}
	atomic_init(&lookup->n_owners, 1);
	lookup->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	lookup->host = strdup(host);
	if (lookup->ready < 0)
		error_set(err, ERROR_LIMIT, errno, "eventfd");
	else if (!lookup->host)
		error_no_memory(err);
	else
		return TAKE(lookup);
	return NULL;
}

/* Keeps the result in order. Of more than there is room for, the last ones are left out. */
static void add_address(struct resolver_result *result, const char text[static RESOLVER_TEXT])
{
	unsigned at = 0;
	int order = -1;
	while (at < result->n && (order = strcmp(result->addresses[at], text)) < 0)
		at++;
	if (at < result->n && order == 0)
		return;
	if (result->n == RESOLVER_MAX)
		result->left_out++;
	else
		result->n++;
	if (at == RESOLVER_MAX)
		return;
	memmove(result->addresses[at + 1], result->addresses[at],
		(result->n - at - 1) * sizeof(result->addresses[0]));
	memcpy(result->addresses[at], text, RESOLVER_TEXT);
}

static void read_addresses(const struct addrinfo *first, struct resolver_result *result)
{
	for (const struct addrinfo *info = first; info; info = info->ai_next) {
		char text[RESOLVER_TEXT] = "";
		const void *address = NULL;
		if (info->ai_family == AF_INET)
			address = &((const struct sockaddr_in *)(const void *)info->ai_addr)->sin_addr;
		else if (info->ai_family == AF_INET6)
			address = &((const struct sockaddr_in6 *)(const void *)info->ai_addr)->sin6_addr;
		if (address && inet_ntop(info->ai_family, address, text, sizeof(text)))
			add_address(result, text);
	}
	if (result->n == 0)
		error_set(&result->error, ERROR_RETRY, 0, "no address");
}

static void look_up(struct lookup *lookup)
{
	/* No address of a family that this machine has no way to. */
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *first = NULL;
	int failure = getaddrinfo(lookup->host, NULL, &hints, &first);
	int os_errno = failure == EAI_SYSTEM ? errno : 0;
	if (failure == EAI_MEMORY)
		error_no_memory(&lookup->result.error);
	else if (failure != 0)
		error_set(&lookup->result.error, ERROR_RETRY, os_errno, "look up %s: %s",
			  lookup->host, gai_strerror(failure));
	else
		read_addresses(first, &lookup->result);
	if (first)
		freeaddrinfo(first);
}

static void *run(void *owner)
{
	struct lookup *lookup = owner;
	const uint64_t one = 1;
	look_up(lookup);
	/* It is never full. */
	while (write(lookup->ready, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
	drop_lookup(lookup);
	return NULL;
}

/* Signals are for the loop's thread. */
static int start_thread(struct lookup *lookup, struct error *err)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	if (pthread_attr_init(&attributes) != 0)
		return error_no_memory(err);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_fetch_add(&lookup->n_owners, 1);
	int failure = pthread_create(&thread, &attributes, run, lookup);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (failure == 0)
		return 0;
	drop_lookup(lookup);
	return error_set(err, ERROR_RETRY, failure, "start a thread that looks up %s", lookup->host);
}

/* The resolver. */

static void end_lookup(struct resolver *resolver)
{
	loop_watch_free(resolver->watch);
	resolver->watch = NULL;
	drop_lookup(TAKE(resolver->lookup));
}

static void on_ready(void *owner, bool readable, bool writable)
{
	struct resolver *resolver = owner;
	uint64_t n;
	(void)readable, (void)writable;
	if (read(resolver->lookup->ready, &n, sizeof(n)) != sizeof(n))
		return;
	const struct resolver_result result = resolver->lookup->result;
	end_lookup(resolver);
	resolver->resolved(resolver->owner, &result);
}

int resolver_start(struct resolver *resolver, struct error *err)
{
	if (resolver->lookup)
		return 0;
	resolver->lookup = make_lookup(resolver->host, err);
	if (!resolver->lookup)
		return -1;
	if (loop_watch_new(resolver->loop, resolver->lookup->ready, LOOP_READ, on_ready, resolver,
			   &resolver->watch, err) == 0 &&
	    start_thread(resolver->lookup, err) == 0)
		return 0;
	end_lookup(resolver);
	return -1;
}

static void resolver_freep(struct resolver **resolver)
{
	resolver_free(*resolver);
}

int resolver_new(struct loop *loop, const char *host, resolver_fn resolved, void *owner,
		 struct resolver **ret_resolver, struct error *err)
{
	CLEANUP(resolver_freep) struct resolver *resolver = calloc(1, sizeof(*resolver));
	if (!resolver)
		return error_no_memory(err);
	resolver->loop = loop;
	resolver->resolved = resolved;
	resolver->owner = owner;
	resolver->host = strdup(host);
	if (!resolver->host)
		return error_no_memory(err);
	*ret_resolver = TAKE(resolver);
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	end_lookup(resolver);
	free(resolver->host);
	free(resolver);
}

bool resolver_is_address(const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];
	return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}
