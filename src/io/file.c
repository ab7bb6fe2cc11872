/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The size that the kernel states is no more than a hint: it is 0 in /proc, and a file may grow
 * while it is read. So the file is read until its end, and the buffer's cap is the only bound.
 *
 * Opened without blocking, for a FIFO put in the place of a token must not stop the program; what
 * is not a regular file is refused before the first read.
 */

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/filecall.h"

enum { CHUNK = 4096 };

/* The size that the kernel states for a regular file. */
static int find_size(int fd, const char *path, size_t *ret_size, struct error *err)
{
	struct stat facts;
	if (fstat(fd, &facts) < 0)
		return filecall_fail(path, "stat", errno, err);
	if (!S_ISREG(facts.st_mode))
		return error_set(err, ERROR_REJECTED, 0, "%s is not a regular file", path);
	*ret_size = facts.st_size > 0 ? (size_t)facts.st_size : 0;
	return 0;
}

/* How much to ask for: what is missing to the stated size and one byte more, which sees the end. */
static size_t next_chunk(const struct sbuf *buf, size_t start, size_t size)
{
	size_t done = buf->len - start;
	size_t wanted = done <= size ? size - done + 1 : CHUNK;
	size_t room = buf->cap - buf->len;
	return wanted < room ? wanted : room;
}

/* A full buffer is still right when the file ends exactly here. */
static int expect_end(int fd, const char *path, size_t cap, struct error *err)
{
	char byte;
	ssize_t n;
	do {
		n = read(fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	if (n < 0)
		return filecall_fail(path, "read", errno, err);
	return error_set(err, ERROR_LIMIT, 0, "%s holds more than %zu bytes", path, cap);
}

static int read_to_end(int fd, const char *path, size_t size, struct sbuf *buf, struct error *err)
{
	size_t start = buf->len;
	for (;;) {
		size_t chunk = next_chunk(buf, start, size);
		if (chunk == 0)
			return expect_end(fd, path, buf->cap, err);
		char *room = sbuf_reserve(buf, chunk);
		if (!room)
			return sbuf_check(buf, path, err);
		ssize_t n = read(fd, room, chunk);
		if (n == 0)
			return 0;
		if (n > 0)
			sbuf_commit(buf, (size_t)n);
		else if (errno != EINTR)
			return filecall_fail(path, "read", errno, err);
	}
}

int file_read(const char *path, struct sbuf *buf, struct error *err)
{
	size_t size = 0;
	size_t before = buf->len;
	if (sbuf_check(buf, path, err) < 0)
		return -1;
	CLEANUP(filecall_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return filecall_fail(path, "open", errno, err);
	if (find_size(fd, path, &size, err) < 0)
		return -1;
	if (read_to_end(fd, path, size, buf, err) < 0) {
		sbuf_truncate(buf, before);
		buf->failure = ERROR_NONE;
		return -1;
	}
	return 0;
}
