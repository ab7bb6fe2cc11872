/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * filecall - what system calls on files have in common: how one fails, and how what it opened is
 * closed.
 *
 * Threads: any.
 */

#include "base/error.h"

/*
 * Fails because a system call on path did. os_errno is its errno, and tells the kind:
 * ERROR_NOT_FOUND, ERROR_DENIED (permissions) or ERROR_RETRY. The text is "verb path" and the errno's
 * own. Returns -1.
 */
int filecall_fail(const char *path, const char *verb, int os_errno, struct error *err);
/* Closes a descriptor at the end of its scope, by CLEANUP(). One below 0 is none. */
void filecall_close(int *fd);
