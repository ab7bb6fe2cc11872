/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * credential - what proves who we are and who the server is, and when its files must be read again.
 *
 * Tokens are read every 50 s: a projected token is replaced when a fifth of its life is left.
 * Certificates are read every 5 min. All of them are read after the server has answered 401.
 * Unusable contents never replace usable ones.
 *
 * Reads no file itself: the owner asks what is due, reads, and gives the contents. Nothing here is
 * ever written to a log.
 *
 * Threads: owner.
 * Limits:  LIMIT_FILE_BYTES, LIMIT_TOKEN_BYTES.
 */

#include "base/error.h"
#include "base/sbuf.h"
#include "base/view.h"
#include "kube/kubeconfig.h"

enum credential_file {
	CREDENTIAL_TOKEN,
	CREDENTIAL_CA,
	CREDENTIAL_CLIENT, /* certificate and key, read together */
	CREDENTIAL_N_FILES,
};

struct credential {
	const struct kubeconfig *config; /* borrowed for the credential's life */
	uint64_t due_at[CREDENTIAL_N_FILES]; /* ms; UINT64_MAX: not from a file */
	uint64_t reread_at;    /* not before this after a 401 */
	uint64_t reloads;      /* times that contents have changed after the first */
	struct sbuf authorization; /* "Authorization: Bearer ..." or empty */
	struct sbuf ca_pem;
	struct sbuf client_cert_pem;
	struct sbuf client_key_pem;
};

/*
 * All files that config names are due at once. Fails with ERROR_REJECTED for an unusable token,
 * ERROR_LIMIT or ERROR_NO_MEMORY; credential_deinit() is due also then.
 */
MUST_USE int credential_init(struct credential *credential, const struct kubeconfig *config,
			     struct error *err);
/* Overwrites and frees the secrets. Accepts a zeroed object. */
void credential_deinit(struct credential *credential);
/* True when that file should be read now. */
bool credential_is_due(const struct credential *credential, enum credential_file file,
		       uint64_t now);
/*
 * Takes the contents of a file that was due. For CREDENTIAL_CLIENT the certificate is here and the
 * key in `key`; the owner has checked that they belong together.
 *
 * Fails with ERROR_REJECTED when the contents are unusable (empty, not PEM, a token of several
 * lines), ERROR_LIMIT or ERROR_NO_MEMORY. Then the former contents stay, and the file is due again
 * in 10 s.
 */
MUST_USE int credential_take(struct credential *credential, enum credential_file file,
			     struct view contents, struct view key, uint64_t now,
			     struct error *err);
/* It could not be read: what was there stays, and it is due again in 10 s. */
void credential_missed(struct credential *credential, enum credential_file file, uint64_t now);
/*
 * The server has answered 401. True when files may hold something newer: all are due now. False
 * when there are none, or they were read for this reason less than a second ago.
 */
bool credential_refused(struct credential *credential, uint64_t now);

/* The header with the token, as a C string; NULL without one. Borrowed until the next take. */
const char *credential_authorization(struct credential *credential);
/* The CA certificates, as PEM. Empty: not given. Borrowed until the next take. */
struct view credential_ca(const struct credential *credential);
/* The client certificate, as PEM. Empty: not given. Borrowed until the next take. */
struct view credential_client_cert(const struct credential *credential);
/* The key of the client certificate, as PEM. Empty: not given. Borrowed until the next take. */
struct view credential_client_key(const struct credential *credential);
