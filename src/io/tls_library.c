/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What OpenSSL makes at its first use: its tables and providers, random numbers, digests, contexts, and the
 * algorithms of a certificate and a handshake. OpenSSL makes all algorithms of one kind at once. One for which
 * there is no memory then stays "unsupported" for good.
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
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/wiped_memory.h"
#include "io/tls.h"

#define PEM_CAP 16384u
#define MAX_FLIGHTS 8u /* of a handshake; TLS 1.3 needs two */

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

static void identity_freep(struct tls_identity **identity)
{
	tls_identity_free(*identity);
}

static void context_freep(SSL_CTX **context)
{
	SSL_CTX_free(*context);
}

static void session_freep(SSL **session)
{
	SSL_free(*session);
}

/* A certificate that signs itself, and its key. */
static int make_identity(struct tls_identity **ret_identity, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf cert = {0}, key = {0};
	const struct tls_certificate_request request = {
		.common_name = "none",
		.now = (int64_t)time(NULL),
		.lifetime_s = 3600,
	};
	sbuf_init(&cert, PEM_CAP);
	sbuf_init_secret(&key, PEM_CAP);
	if (tls_make_certificate(&request, &cert, &key, err) != 0)
		return -1;
	return tls_identity_new(sbuf_view(&cert), sbuf_view(&key), ret_identity, err);
}

/* In memory. False: it failed. */
static bool shake_hands(SSL *server, SSL *client)
{
	BIO *servers, *clients;
	if (BIO_new_bio_pair(&servers, 0, &clients, 0) != 1)
		return false;
	SSL_set_bio(server, servers, servers);
	SSL_set_bio(client, clients, clients);
	SSL_set_accept_state(server);
	SSL_set_connect_state(client);
	int n_done = 0;
	for (unsigned i = 0; i < MAX_FLIGHTS && n_done < 2; i++)
		n_done = (SSL_do_handshake(client) == 1) + (SSL_do_handshake(server) == 1);
	return n_done == 2;
}

static bool can_serve(void)
{
	CLEANUP(identity_freep) struct tls_identity *identity = NULL;
	CLEANUP(context_freep) SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	CLEANUP(session_freep) SSL *server = NULL;
	CLEANUP(session_freep) SSL *client = NULL;
	struct error ignored;
	if (!context || make_identity(&identity, &ignored) != 0)
		return false;
	server = SSL_new(tls_identity_context(identity));
	client = SSL_new(context);
	return server && client && shake_hands(server, client);
}

int tls_library_prepare(struct error *err)
{
	is_preparing = true;
	const bool is_done = OPENSSL_init_ssl(0, NULL) == 1 && is_usable() && can_serve();
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
