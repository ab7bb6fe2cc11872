/* SPDX-License-Identifier: Apache-2.0 */
#include "io/filewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "io/filecall.h"

static int write_all(int fd, const char *path, struct view bytes, struct error *err)
{
	while (bytes.len > 0) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);
		if (n < 0 && errno != EINTR)
			return filecall_fail(path, "write", errno, err);
		if (n > 0)
			bytes = view_from_offset(bytes, (size_t)n);
	}
	return 0;
}

static int write_new(const char *path, struct view bytes, struct error *err)
{
	CLEANUP(filecall_close) int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
	return fd < 0 ? filecall_fail(path, "create", errno, err) : write_all(fd, path, bytes, err);
}

int filewrite_replace(const char *path, struct view bytes, struct error *err)
{
	char draft[PATH_MAX];
	int len = snprintf(draft, sizeof(draft), "%s.new", path);
	if (len < 0 || (size_t)len >= sizeof(draft))
		return error_set(err, ERROR_LIMIT, 0, "the path %.64s... is too long", path);
	if (write_new(draft, bytes, err) == 0 &&
	    (rename(draft, path) == 0 || filecall_fail(path, "replace", errno, err) == 0))
		return 0;
	/* What it was about is told already. */
	(void)unlink(draft);
	return -1;
}

int filewrite_remove(const char *path, struct error *err)
{
	if (unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR)
		return 0;
	return filecall_fail(path, "remove", errno, err);
}
