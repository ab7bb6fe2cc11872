/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tls - serving certificates: made here, or taken as PEM and exchanged while connections run. TLS
 * 1.3 only, keys exchanged by X25519 or P-256. No session tickets, no resumption, no early data,
 * hence nothing to replay. Only tls.c, tls_library.c and tls_session.c include OpenSSL.
 *
 * Threads: an identity belongs to the thread of the server that uses it; the rest: any.
 */

#include "base/error.h"
#include "base/sbuf.h"
#include "base/view.h"

struct ssl_ctx_st;
struct tls_identity; /* certificate chain and key */

/*
 * From PEM: the certificate, then those that lead to its authority; a key without password that
 * fits the certificate. With both texts empty the identity has no pair until the first update, and
 * sessions cannot be made of it. Fails with ERROR_REJECTED or ERROR_NO_MEMORY.
 */
MUST_USE int tls_identity_new(struct view cert_pem, struct view key_pem,
			      struct tls_identity **ret_identity, struct error *err);
/* Puts a new pair in force for new sessions; on failure the old one stays. Fails as above. */
MUST_USE int tls_identity_update(struct tls_identity *identity, struct view cert_pem,
				 struct view key_pem, struct error *err);
/* Puts the pair of take_other in force for new sessions; take_other is gone. */
void tls_identity_replace(struct tls_identity *identity, struct tls_identity *take_other);
/* Running sessions go on. Accepts NULL. */
void tls_identity_free(struct tls_identity *identity);
/* For tls_session.c; NULL while there is no pair; borrowed until the next update. */
struct ssl_ctx_st *tls_identity_context(const struct tls_identity *identity);

/* A certificate authority or a serving certificate to be made. Keys are EC P-256. */
struct tls_certificate_request {
	const char *common_name;
	const char *const *dns_names; /* NULL-terminated, or NULL */
	const char *const *addresses; /* IP addresses, NULL-terminated, or NULL */
	int64_t now;                  /* seconds since 1970; valid from five minutes before */
	int64_t lifetime_s;           /* at most until its issuer ends */
	struct view issuer_cert_pem;  /* the first of it signs; empty: a self-signed authority */
	struct view issuer_key_pem;
};
/*
 * Appends PEM, and nothing when it fails, with ERROR_REJECTED, ERROR_LIMIT or
 * ERROR_NO_MEMORY. The caller's copy of the key is the only one left.
 */
MUST_USE int tls_make_certificate(const struct tls_certificate_request *request,
				  struct sbuf *ret_cert_pem, struct sbuf *ret_key_pem,
				  struct error *err);
/* Seconds since 1970 at which the first certificate of the PEM begins. Fails with ERROR_REJECTED. */
MUST_USE int tls_certificate_begin(struct view cert_pem, int64_t *ret_begin, struct error *err);
/* The same of its end. */
MUST_USE int tls_certificate_end(struct view cert_pem, int64_t *ret_end, struct error *err);

#define TLS_DIGEST_SIZE 32
/* SHA-256 of bytes. Fails with ERROR_NO_MEMORY. */
MUST_USE int tls_digest(struct view bytes, unsigned char ret[static TLS_DIGEST_SIZE],
			struct error *err);
/* SHA-256 of parts, one after the other. Fails with ERROR_NO_MEMORY. */
MUST_USE int tls_digest_parts(const struct view *parts, size_t n_parts,
			      unsigned char ret[static TLS_DIGEST_SIZE], struct error *err);
