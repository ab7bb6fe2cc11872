/* SPDX-License-Identifier: Apache-2.0 */

/*
 * inotify watches an inode, but a path is what we want to watch. When the inode behind the path is
 * deleted, moved away or unmounted, the kernel says so once. From then on a timer tries the path
 * again, at growing intervals up to RETRY_CAP_MS, until there is a folder. Unlike a watch on the
 * parent folder, the timer also finds a new mount and needs no right to the parent.
 *
 * Each folder has an inotify instance of its own. So each has its own queue, and the owner of one
 * folder needs no table of descriptors.
 */

#include "io/filewatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/backoff.h"

#define NAMES_IN (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE)
#define NAMES_OUT (IN_DELETE | IN_MOVED_FROM)
#define FOLDER_LOST (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)

enum { RETRY_BASE_MS = 100, RETRY_CAP_MS = 5000, NO_WATCH = -1 };

struct filewatch {
	filewatch_fn changed;
	void *owner;
	struct loop_watch *readable;
	struct loop_timer *retry;
	struct backoff backoff;
	struct prng prng;
	int fd;
	int descriptor; /* of the folder's watch, or NO_WATCH */
	char path[];
};

static bool arm(struct filewatch *watch)
{
	uint32_t mask = NAMES_IN | NAMES_OUT | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
	watch->descriptor = inotify_add_watch(watch->fd, watch->path, mask);
	if (watch->descriptor < 0) {
		watch->descriptor = NO_WATCH;
		loop_timer_set(watch->retry, backoff_next(&watch->backoff, &watch->prng));
		return false;
	}
	backoff_reset(&watch->backoff);
	return true;
}

static void try_again(void *owner)
{
	struct filewatch *watch = owner;
	if (arm(watch))
		watch->changed(watch->owner, FILEWATCH_RESET, VIEW(""));
}

static void lose_folder(struct filewatch *watch)
{
	inotify_rm_watch(watch->fd, watch->descriptor);
	watch->descriptor = NO_WATCH;
	loop_timer_set(watch->retry, 0);
	watch->changed(watch->owner, FILEWATCH_RESET, VIEW(""));
}

static void tell(struct filewatch *watch, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW) {
		watch->changed(watch->owner, FILEWATCH_RESET, VIEW(""));
		return;
	}
	/* An event that an earlier watch left in the queue is about a folder that is no longer watched. */
	if (event->wd != watch->descriptor)
		return;
	if (event->mask & FOLDER_LOST) {
		lose_folder(watch);
		return;
	}
	/* The name is padded with NULs up to len. */
	struct view name = event->len > 0 ? view_from(event->name) : VIEW("");
	if (event->mask & NAMES_IN)
		watch->changed(watch->owner, FILEWATCH_APPEARED, name);
	else if (event->mask & NAMES_OUT)
		watch->changed(watch->owner, FILEWATCH_GONE, name);
}

/* Reads once; the loop comes back while there is more, so that others get their turn. */
static void drain(void *owner, bool readable, bool writable)
{
	(void)readable, (void)writable;
	struct filewatch *watch = owner;
	_Alignas(struct inotify_event) char buffer[4096];
	ssize_t n = read(watch->fd, buffer, sizeof(buffer));
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *event = (const void *)(buffer + at);
		at += (ssize_t)(sizeof(*event) + event->len);
		tell(watch, event);
	}
}

static void freep(struct filewatch **watch)
{
	filewatch_free(*watch);
}

int filewatch_new(struct loop *loop, const char *path, filewatch_fn changed, void *owner,
		  struct filewatch **ret_watch, struct error *err)
{
	size_t size = strlen(path) + 1;
	CLEANUP(freep) struct filewatch *watch = calloc(1, sizeof(*watch) + size);
	if (!watch)
		return error_no_memory(err);
	memcpy(watch->path, path, size);
	watch->changed = changed;
	watch->owner = owner;
	watch->descriptor = NO_WATCH;
	backoff_init(&watch->backoff, RETRY_BASE_MS, RETRY_CAP_MS);
	prng_init(&watch->prng, prng_entropy());
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0)
		return error_set(err, errno == EMFILE ? ERROR_LIMIT : ERROR_RETRY, errno,
				 "watch %s", path);
	if (loop_watch_new(loop, watch->fd, LOOP_READ, drain, watch, &watch->readable, err) < 0 ||
	    loop_timer_new(loop, try_again, watch, &watch->retry, err) < 0)
		return error_wrap(err, "watch %s", path);
	arm(watch);
	*ret_watch = TAKE(watch);
	return 0;
}

void filewatch_free(struct filewatch *watch)
{
	if (!watch)
		return;
	loop_watch_free(watch->readable);
	loop_timer_free(watch->retry);
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch);
}

bool filewatch_is_armed(const struct filewatch *watch)
{
	return watch->descriptor != NO_WATCH;
}
