/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * secret_doc - the Secret that holds the serving certificate and its authority.
 *
 * Threads: any.
 * Limits:  each value at most LIMIT_FILE_BYTES.
 */

#include "base/arena.h"
#include "base/sbuf.h"

/* PEM, decoded; empty where the Secret has none. */
struct secret_doc {
	struct view resource_version;
	int64_t written_at; /* ms since 1970 by the API server's clock, the last time; 0: not told. Not written */
	struct view ca_cert;
	struct view ca_key;
	struct view cert;
	struct view key;
};

/* From the JSON of a v1 Secret; texts lie in arena, which is to be secret. Fails with ERROR_REJECTED or
 * ERROR_NO_MEMORY. */
MUST_USE int secret_doc_decode(struct view json, struct arena *arena, struct secret_doc *ret_secret,
			       struct error *err);
/*
 * Appends a JSON merge patch that puts the four values in, on condition that the Secret still has
 * the resource_version. Failure is the buffer's, which is to be secret.
 */
void secret_doc_encode_patch(const struct secret_doc *secret, struct sbuf *buf);
