/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * failing_openssl - lets OpenSSL's allocations fail, which lib/failing_malloc.h does not reach.
 *
 * Threads: the main thread.
 */

#include <stdbool.h>

/* For TEST_MAIN_WITH(): OpenSSL takes another allocator only before its first use. */
int failing_openssl_install(void **state);
/* The same, and OpenSSL has set itself up (io/tls_library.h) and made a digest. */
int failing_openssl_install_prepared(void **state);
/* From now on all of them fail, or none. */
void failing_openssl_set(bool fails);
