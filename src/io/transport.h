/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * transport - the bytes of one accepted socket, in clear or over TLS. A call that cannot go on
 * watches the socket for what it needs, so that its caller only has to call again.
 *
 * Threads: the loop's.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/view.h"
#include "io/loop.h"
#include "io/tls.h"

struct tls_session;

enum transport_step {
	TRANSPORT_DONE, /* the call did its work */
	TRANSPORT_WAIT, /* ready() will be called when it is worth calling again */
	TRANSPORT_OVER, /* closed by the other side, or broken: nothing more can be done with it */
};

enum transport_interest { TRANSPORT_NOTHING, TRANSPORT_READ, TRANSPORT_WRITE };

struct transport {
	struct loop *loop;
	int fd;
	struct tls_session *tls; /* NULL: in clear */
	struct loop_watch *watch;
	enum transport_interest interest;
	loop_watch_fn ready;
	void *owner;
};

/* In clear and not watched, what is written leaves at once; take_fd does not block. transport_deinit() at the end. */
void transport_init(struct transport *transport, struct loop *loop, int take_fd,
		    loop_watch_fn ready, void *owner);
/* Ends TLS and closes the socket. */
void transport_deinit(struct transport *transport);
/* Speaks TLS from now on; the handshake comes first. Fails as tls_session_new(). */
MUST_USE int transport_secure(struct transport *transport, const struct tls_identity *identity,
			      struct error *err);
/* TRANSPORT_WAIT: the socket is watched for that from now on, or for nothing. Never DONE. */
enum transport_step transport_watch(struct transport *transport, enum transport_interest interest);

/* Goes on with the handshake. */
enum transport_step transport_handshake(struct transport *transport);
/* TRANSPORT_DONE: *ret_n > 0 bytes lie at buf. */
enum transport_step transport_read(struct transport *transport, char *buf, size_t size,
				   size_t *ret_n);
/* TRANSPORT_DONE: the first *ret_n > 0 bytes are written. */
enum transport_step transport_write(struct transport *transport, struct view bytes, size_t *ret_n);
/* True when a read may give bytes though the socket is not readable. */
bool transport_has_pending(const struct transport *transport);
/* Says that nothing more will be written. */
void transport_finish(struct transport *transport);
/* Throws away what has come, below TLS. TRANSPORT_DONE: *ret_n > 0 bytes. */
enum transport_step transport_discard(struct transport *transport, size_t *ret_n);
