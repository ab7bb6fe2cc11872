/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define STUCK_MS 2000
#define HEAR_MS 10
#define MARK "HTTP/1."
#define STATUS_LEN 12 /* HTTP/1.1 200 */
#define N_SHOWN 8u

struct peer {
	int fd;
	SSL *ssl; /* NULL: no TLS */
	bool closed;
	size_t n_answers;
	char statuses[64];
	char tail[4096]; /* in front what was not searched yet, then what has just come */
	size_t n_tail;
};

static void limit_waiting(const struct peer *peer, int ms)
{
	const struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	setsockopt(peer->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(peer->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

struct peer *peer_new(uint16_t port)
{
	const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int on = 1;
	struct peer *peer = calloc(1, sizeof(*peer));
	if (!peer || (peer->fd = socket(AF_INET, SOCK_STREAM, 0)) < 0 ||
	    connect(peer->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		perror("connect");
		abort();
	}
	setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	limit_waiting(peer, STUCK_MS);
	return peer;
}

struct peer *peer_new_tls(uint16_t port)
{
	static SSL_CTX *context;
	struct peer *peer = peer_new(port);
	if (!context)
		context = SSL_CTX_new(TLS_client_method());
	peer->ssl = SSL_new(context);
	SSL_set_fd(peer->ssl, peer->fd);
	peer->closed = SSL_connect(peer->ssl) != 1;
	return peer;
}

void peer_free(struct peer *peer)
{
	if (!peer)
		return;
	SSL_free(peer->ssl);
	close(peer->fd);
	free(peer);
}

bool peer_send(struct peer *peer, const void *bytes, size_t n)
{
	if (peer->closed)
		return false;
	ERR_clear_error();
	if (peer->ssl)
		return SSL_write(peer->ssl, bytes, (int)n) == (int)n;
	return send(peer->fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

bool peer_say(struct peer *peer, const char *text)
{
	return peer_send(peer, text, strlen(text));
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* at: STATUS_LEN bytes that begin with MARK. */
static void count(struct peer *peer, const char *at)
{
	if (at[8] != ' ' || !is_digit(at[9]) || !is_digit(at[10]) || !is_digit(at[11]))
		return;
	size_t len = strlen(peer->statuses);
	if (peer->n_answers++ < N_SHOWN)
		snprintf(peer->statuses + len, sizeof(peer->statuses) - len, "%s%.3s",
			 len ? " " : "", at + 9);
}

/* Counts the answers that begin in the tail, and keeps what may be the beginning of one. */
static void search(struct peer *peer)
{
	char *at, *from = peer->tail, *end = peer->tail + peer->n_tail;
	while ((at = memmem(from, (size_t)(end - from), MARK, strlen(MARK))) != NULL &&
	       end - at >= STATUS_LEN) {
		count(peer, at);
		from = at + STATUS_LEN;
	}
	if (end - from >= STATUS_LEN)
		from = at ? at : end - STATUS_LEN + 1;
	peer->n_tail = (size_t)(end - from);
	memmove(peer->tail, from, peer->n_tail);
}

static void hear_some(struct peer *peer)
{
	char *place = peer->tail + peer->n_tail;
	size_t room = sizeof(peer->tail) - peer->n_tail;
	ERR_clear_error();
	ssize_t n = peer->ssl ? SSL_read(peer->ssl, place, (int)room)
			      : recv(peer->fd, place, room, 0);
	bool waits = n < 0 && (peer->ssl ? SSL_get_error(peer->ssl, (int)n) == SSL_ERROR_WANT_READ
					 : errno == EAGAIN);
	peer->closed = n <= 0 && !waits;
	if (n > 0) {
		peer->n_tail += (size_t)n;
		search(peer);
	}
}

void peer_await(struct peer *peer, size_t n, int ms)
{
	const uint64_t end = clock_monotonic_ms() + (uint64_t)ms;
	limit_waiting(peer, HEAR_MS);
	while (!peer->closed && peer->n_answers < n && clock_monotonic_ms() < end)
		hear_some(peer);
	limit_waiting(peer, STUCK_MS);
}

void peer_hear(struct peer *peer, int ms)
{
	peer_await(peer, SIZE_MAX, ms);
}

bool peer_is_closed(const struct peer *peer)
{
	return peer->closed;
}

size_t peer_answers(const struct peer *peer)
{
	return peer->n_answers;
}

const char *peer_statuses(const struct peer *peer)
{
	return peer->n_answers ? peer->statuses : "no answer";
}
