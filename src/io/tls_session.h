/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tls_session - the server's side of one TLS connection on a socket that does not block.
 *
 * Threads: owner.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/view.h"
#include "io/tls.h"

struct tls_session;

enum tls_session_step {
	TLS_SESSION_DONE,       /* the call did its work */
	TLS_SESSION_WANT_READ,  /* again when the socket is readable */
	TLS_SESSION_WANT_WRITE, /* again when it is writable */
	TLS_SESSION_CLOSED,     /* the other side said good-bye, or the socket is closed */
	TLS_SESSION_FAILED,     /* TLS or the socket broke: nothing more can be done with it */
};

/*
 * fd stays the caller's and must outlive the session. Fails with ERROR_NOT_FOUND while the identity
 * has no pair, and with ERROR_NO_MEMORY.
 */
MUST_USE int tls_session_new(const struct tls_identity *identity, int fd,
			     struct tls_session **ret_session, struct error *err);
/* Accepts NULL. */
void tls_session_free(struct tls_session *session);

/* Goes on with the handshake, which comes first. TLS_SESSION_DONE: it is complete. */
enum tls_session_step tls_session_handshake(struct tls_session *session);
/* TLS_SESSION_DONE: *ret_n > 0 bytes lie at buf. */
enum tls_session_step tls_session_read(struct tls_session *session, char *buf, size_t size,
				       size_t *ret_n);
/* TLS_SESSION_DONE: the first *ret_n > 0 bytes are written. */
enum tls_session_step tls_session_write(struct tls_session *session, struct view bytes,
					size_t *ret_n);
/* True when a read may give bytes though the socket is not readable. */
bool tls_session_has_pending(const struct tls_session *session);
/* Says good-bye as far as the socket takes it at once. Nothing is written afterwards. */
void tls_session_close(struct tls_session *session);
