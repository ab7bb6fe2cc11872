/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * filewatch - tells which names appear in and disappear from a folder, by inotify.
 *
 * What it tells is a reason to look, never a fact to act on: by the time it is told the name may
 * have changed again. A folder that is missing, or is replaced by another one, is found again
 * within a few seconds.
 *
 * Threads: the loop's.
 * Limits:  one inotify instance a folder (fs.inotify.max_user_instances is 128 by default).
 */

#include "base/error.h"
#include "base/view.h"
#include "io/loop.h"

enum filewatch_change {
	FILEWATCH_APPEARED, /* created, moved in, or closed after it was written */
	FILEWATCH_GONE,     /* deleted or moved out */
	/*
	 * The folder itself was lost or found, or the kernel dropped events: anything may have
	 * changed; the name is empty.
	 */
	FILEWATCH_RESET,
};

struct filewatch;

/* name is borrowed for the call. The watch must not be freed from inside. */
typedef void (*filewatch_fn)(void *owner, enum filewatch_change change, struct view name);

/*
 * Watches the folder at path, which is copied and need not exist yet. Fails with ERROR_LIMIT (the
 * kernel's limits on inotify), ERROR_NO_MEMORY or ERROR_RETRY.
 */
MUST_USE int filewatch_new(struct loop *loop, const char *path, filewatch_fn changed, void *owner,
			   struct filewatch **ret_watch, struct error *err);
/* Accepts NULL. */
void filewatch_free(struct filewatch *watch);
/* True while the folder is there and watched. */
bool filewatch_is_armed(const struct filewatch *watch);
