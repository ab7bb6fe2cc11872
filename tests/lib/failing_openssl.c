/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_openssl.h"

#include <openssl/crypto.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "io/tls.h"
#include "io/tls_library.h"

static atomic_bool all_fail;

static void *get(size_t n, const char *file, int line)
{
	(void)file, (void)line;
	return atomic_load(&all_fail) ? NULL : malloc(n);
}

static void *resize(void *bytes, size_t n, const char *file, int line)
{
	(void)file, (void)line;
	return atomic_load(&all_fail) ? NULL : realloc(bytes, n);
}

static void give_back(void *bytes, const char *file, int line)
{
	(void)file, (void)line;
	free(bytes);
}

int failing_openssl_install(void **state)
{
	(void)state;
	return CRYPTO_set_mem_functions(get, resize, give_back) == 1 ? 0 : -1;
}

int failing_openssl_install_prepared(void **state)
{
	unsigned char digest[TLS_DIGEST_SIZE];
	struct error err;
	if (failing_openssl_install(state) != 0 || tls_library_prepare(&err) != 0)
		return -1;
	return tls_digest((struct view){NULL, 0}, digest, &err);
}

void failing_openssl_set(bool fails)
{
	atomic_store(&all_fail, fails);
}
