/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tls_library - OpenSSL, made ready at the start of a program. If memory is short when OpenSSL sets itself
 * up, it stays unusable. Then it is better not to start.
 *
 * Threads: the main thread, before others.
 */

#include "base/error.h"

/* From now on OpenSSL's memory is wiped before it is free again. Fails with ERROR_REJECTED: OpenSSL has
 * memory already. */
MUST_USE int tls_library_wipe(struct error *err);
/*
 * Fails with ERROR_NO_MEMORY or ERROR_REJECTED: the program is to end. After tls_library_wipe() it ends at
 * once where memory is short, with an error in its log: OpenSSL might crash.
 */
MUST_USE int tls_library_prepare(struct error *err);
