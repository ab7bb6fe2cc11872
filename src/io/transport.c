/* SPDX-License-Identifier: Apache-2.0 */

#include "io/transport.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/tls_session.h"

void transport_init(struct transport *transport, struct loop *loop, int take_fd,
		    loop_watch_fn ready, void *owner)
{
	const int on = 1;
	*transport = (struct transport){.loop = loop, .fd = take_fd, .ready = ready, .owner = owner};
	setsockopt(take_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void transport_deinit(struct transport *transport)
{
	loop_watch_free(transport->watch);
	tls_session_free(transport->tls);
	close(transport->fd);
}

int transport_secure(struct transport *transport, const struct tls_identity *identity,
		     struct error *err)
{
	return tls_session_new(identity, transport->fd, &transport->tls, err);
}

/* When the kernel or memory refuses, the connection cannot go on. */
enum transport_step transport_watch(struct transport *transport, enum transport_interest interest)
{
	struct error err;
	if (transport->interest == interest)
		return TRANSPORT_WAIT;
	loop_watch_free(transport->watch);
	transport->watch = NULL;
	transport->interest = interest;
	if (interest == TRANSPORT_NOTHING ||
	    loop_watch_new(transport->loop, transport->fd,
			   interest == TRANSPORT_READ ? LOOP_READ : LOOP_WRITE, transport->ready,
			   transport->owner, &transport->watch, &err) == 0)
		return TRANSPORT_WAIT;
	return TRANSPORT_OVER;
}

/* What to do after a call on the socket. */
static enum transport_step follow(struct transport *transport, enum tls_session_step result)
{
	switch (result) {
	case TLS_SESSION_DONE:
		return TRANSPORT_DONE;
	case TLS_SESSION_WANT_READ:
		return transport_watch(transport, TRANSPORT_READ);
	case TLS_SESSION_WANT_WRITE:
		return transport_watch(transport, TRANSPORT_WRITE);
	default:
		return TRANSPORT_OVER;
	}
}

static enum tls_session_step judge_plain(ssize_t n, enum tls_session_step blocked, size_t *ret_n)
{
	if (n > 0) {
		*ret_n = (size_t)n;
		return TLS_SESSION_DONE;
	}
	if (n == 0)
		return TLS_SESSION_CLOSED;
	return errno == EAGAIN || errno == EINTR ? blocked : TLS_SESSION_FAILED;
}

enum transport_step transport_handshake(struct transport *transport)
{
	return follow(transport, tls_session_handshake(transport->tls));
}

enum transport_step transport_read(struct transport *transport, char *buf, size_t size,
				   size_t *ret_n)
{
	return follow(transport,
		      transport->tls ? tls_session_read(transport->tls, buf, size, ret_n)
				     : judge_plain(recv(transport->fd, buf, size, 0),
						   TLS_SESSION_WANT_READ, ret_n));
}

enum transport_step transport_write(struct transport *transport, struct view bytes, size_t *ret_n)
{
	return follow(transport,
		      transport->tls
			      ? tls_session_write(transport->tls, bytes, ret_n)
			      : judge_plain(send(transport->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL),
					    TLS_SESSION_WANT_WRITE, ret_n));
}

bool transport_has_pending(const struct transport *transport)
{
	return transport->tls && tls_session_has_pending(transport->tls);
}

void transport_finish(struct transport *transport)
{
	if (transport->tls)
		tls_session_close(transport->tls);
	shutdown(transport->fd, SHUT_WR);
}

enum transport_step transport_discard(struct transport *transport, size_t *ret_n)
{
	char waste[4096];
	return follow(transport, judge_plain(recv(transport->fd, waste, sizeof(waste), 0),
					     TLS_SESSION_WANT_READ, ret_n));
}
