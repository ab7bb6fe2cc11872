/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jwt - makes tokens as the API server makes them for service accounts, but for the signature.
 *
 * Threads: any. Where there is no room the process ends.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

/* NULL: the token has no such claim; end 0: none. */
struct jwt_claims {
	const char *audience;
	const char *namespace; /* of the service account */
	const char *account;
	const char *node;
	int64_t begin, end; /* seconds since 1970 */
};

/* A token with this payload, NUL-terminated, in the caller's room. The signature is base64url. */
struct view jwt_of(const char *payload, const char *signature, char *to, size_t size);
/* The same with these claims. */
struct view jwt_make(const struct jwt_claims *claims, const char *signature, char *to, size_t size);
