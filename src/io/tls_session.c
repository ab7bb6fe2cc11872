/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A thin face on one SSL object, so that what OpenSSL asks for becomes one enum. Its queue of
 * errors is emptied before each call, for SSL_get_error() looks at all that is in it.
 */

#include "io/tls_session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>

struct tls_session {
	SSL *ssl;
	bool broken; /* OpenSSL forbids a shutdown after a fatal error */
};

int tls_session_new(const struct tls_identity *identity, int fd, struct tls_session **ret_session,
		    struct error *err)
{
	SSL_CTX *context = tls_identity_context(identity);
	if (!context)
		return error_set(err, ERROR_NOT_FOUND, 0, "no serving certificate yet");
	struct tls_session *session = calloc(1, sizeof(*session));
	SSL *ssl = session ? SSL_new(context) : NULL;
	if (!ssl || SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		free(session);
		ERR_clear_error();
		return error_no_memory(err);
	}
	SSL_set_accept_state(ssl);
	session->ssl = ssl;
	*ret_session = session;
	return 0;
}

void tls_session_free(struct tls_session *session)
{
	if (!session)
		return;
	SSL_free(session->ssl);
	free(session);
}

static enum tls_session_step judge(struct tls_session *session, int result)
{
	if (result > 0)
		return TLS_SESSION_DONE;
	switch (SSL_get_error(session->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		return TLS_SESSION_WANT_READ;
	case SSL_ERROR_WANT_WRITE:
		return TLS_SESSION_WANT_WRITE;
	case SSL_ERROR_ZERO_RETURN:
		return TLS_SESSION_CLOSED;
	default:
		session->broken = true;
		return TLS_SESSION_FAILED;
	}
}

enum tls_session_step tls_session_handshake(struct tls_session *session)
{
	ERR_clear_error();
	return judge(session, SSL_do_handshake(session->ssl));
}

enum tls_session_step tls_session_read(struct tls_session *session, char *buf, size_t size,
				       size_t *ret_n)
{
	ERR_clear_error();
	return judge(session, SSL_read_ex(session->ssl, buf, size, ret_n));
}

enum tls_session_step tls_session_write(struct tls_session *session, struct view bytes,
					size_t *ret_n)
{
	ERR_clear_error();
	return judge(session, SSL_write_ex(session->ssl, bytes.ptr, bytes.len, ret_n));
}

bool tls_session_has_pending(const struct tls_session *session)
{
	return SSL_has_pending(session->ssl) == 1;
}

void tls_session_close(struct tls_session *session)
{
	ERR_clear_error();
	if (!session->broken && SSL_is_init_finished(session->ssl))
		(void)SSL_shutdown(session->ssl);
	ERR_clear_error();
}
