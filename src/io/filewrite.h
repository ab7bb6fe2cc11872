/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * filewrite - writes a small file whole: the agent's readiness mark.
 *
 * Threads: any. It blocks for as long as the file system does: local files only.
 */

#include "base/error.h"
#include "base/view.h"

/*
 * Puts a file with these bytes, of mode 0644, in the place of path. Who opens path sees the old file or
 * the new one, never a part. The file `path`.new is used for it, and is gone afterwards. Nothing is
 * forced onto the disk.
 *
 * Fails with ERROR_NOT_FOUND (no such folder), ERROR_DENIED (permissions), ERROR_LIMIT (the path is too
 * long) or ERROR_RETRY; path is then as it was.
 */
MUST_USE int filewrite_replace(const char *path, struct view bytes, struct error *err);
/* Removes the file; none is fine. Fails with ERROR_DENIED or ERROR_RETRY. */
MUST_USE int filewrite_remove(const char *path, struct error *err);
