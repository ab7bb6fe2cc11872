/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * file - reads a small file whole: tokens, certificates, the kubelet's checkpoint, /proc.
 *
 * Threads: any. It blocks for as long as the file system does: local files only.
 * Limits:  the buffer's cap.
 */

#include "base/error.h"
#include "base/sbuf.h"

/*
 * Appends all bytes of the regular file at path to buf. The same open file is read to its end. So a
 * file that is replaced by rename is read as it was before or after, never mixed. On failure buf
 * holds what it held.
 *
 * Fails with ERROR_NOT_FOUND (no such file), ERROR_DENIED (permissions), ERROR_REJECTED (not a
 * regular file), ERROR_LIMIT (does not fit buf's cap), ERROR_NO_MEMORY, or ERROR_RETRY.
 */
MUST_USE int file_read(const char *path, struct sbuf *buf, struct error *err);
