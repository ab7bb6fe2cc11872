/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What OpenSSL makes at its first use: its tables and providers, random numbers, digests, contexts.
 *
 * OpenSSL 3.0 may crash where an allocation fails meanwhile: it uses locks that it could not make. So our
 * allocator, where it is in force, then ends the program instead.
 */

#include "io/tls_library.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/wiped_memory.h"

static bool is_preparing; /* other threads do not run yet */

/* Without exit(), in which OpenSSL would clean up what it has not made. */
static void *check(void *block, size_t size)
{
	if (block || size == 0 || !is_preparing)
		return block;
	LOG_ERROR("OpenSSL cannot be used: out of memory");
	_exit(EXIT_FAILURE);
}

static void *allocate(size_t size, const char *file, int line)
{
	(void)file, (void)line;
	return check(wiped_memory_allocate(size), size);
}

static void *resize(void *block, size_t size, const char *file, int line)
{
	(void)file, (void)line;
	return check(wiped_memory_resize(block, size), size);
}

static void give_back(void *block, const char *file, int line)
{
	(void)file, (void)line;
	wiped_memory_free(block);
}

int tls_library_wipe(struct error *err)
{
	if (CRYPTO_set_mem_functions(allocate, resize, give_back) == 1)
		return 0;
	return error_set(err, ERROR_REJECTED, 0, "OpenSSL has memory already");
}

static bool is_usable(void)
{
	unsigned char random[16];
	EVP_MD *digest = EVP_MD_fetch(NULL, "SHA256", NULL);
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	bool usable = digest && context && RAND_bytes(random, sizeof(random)) == 1;
	SSL_CTX_free(context);
	EVP_MD_free(digest);
	return usable;
}

int tls_library_prepare(struct error *err)
{
	is_preparing = true;
	const bool is_done = OPENSSL_init_ssl(0, NULL) == 1 && is_usable();
	is_preparing = false;
	if (is_done) {
		ERR_clear_error();
		return 0;
	}
	unsigned long code = ERR_peek_error();
	const char *reason = ERR_reason_error_string(code);
	bool memory = code == 0 || ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE;
	error_set(err, memory ? ERROR_NO_MEMORY : ERROR_REJECTED, 0, "OpenSSL cannot be used: %s",
		  memory || !reason ? "out of memory" : reason);
	ERR_clear_error();
	return -1;
}
