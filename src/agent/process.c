/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A number is not a process: between two looks at /proc/4711 the process may end and its number may
 * be given to another. But an open folder of /proc belongs to the process, not to its number. Once
 * the process has ended, opening a file in that folder fails with ESRCH or ENOENT, even if the
 * number has been reused. So one open folder serves all files of one process, and no second look is
 * needed.
 *
 * A process may call itself anything (prctl), including sequences that a terminal would obey.
 */

#include "agent/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "io/filecall.h"

enum {
	FILE_SIZE = 4096,
	START_FIELD = 22 - 2, /* "starttime" in proc(5), counted from behind the name */
};

static int fail(const char *name, int os_errno, struct error *err)
{
	enum error_kind kind = ERROR_RETRY;
	if (os_errno == ENOENT || os_errno == ESRCH)
		kind = ERROR_NOT_FOUND;
	else if (os_errno == EACCES || os_errno == EPERM)
		kind = ERROR_DENIED;
	return error_set(err, kind, os_errno, "%s of a process", name);
}

int process_open(int proc, uint32_t pid, int *ret_folder, struct error *err)
{
	char name[16];
	snprintf(name, sizeof(name), "%u", pid);
	int folder = openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return fail("folder", errno, err);
	*ret_folder = folder;
	return 0;
}

/* The beginning of a file, at most as much as fits. */
static int read_file(int folder, const char *name, char text[static FILE_SIZE], struct view *ret,
		     struct error *err)
{
	size_t len = 0;
	CLEANUP(filecall_close) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return fail(name, errno, err);
	while (len < FILE_SIZE) {
		ssize_t n = read(fd, text + len, FILE_SIZE - len);
		if (n == 0)
			break;
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			return fail(name, errno, err);
	}
	*ret = (struct view){text, len};
	return 0;
}

static bool find_start(struct view stat, uint64_t *ret_ticks)
{
	struct view field;
	/* The name is in parentheses and may have any character in it, these too. */
	while (stat.len > 0 && stat.ptr[stat.len - 1] != '\n')
		stat.len--;
	size_t at = stat.len;
	while (at > 0 && stat.ptr[at - 1] != ')')
		at--;
	if (at == 0 || at == stat.len)
		return false;
	stat = view_from_offset(stat, at + 1);
	for (int i = 0; i < START_FIELD; i++)
		view_cut(stat, VIEW(" "), &field, &stat);
	return view_parse_u64(field, ret_ticks);
}

int process_read_start(int folder, uint64_t *ret_started_ms, struct error *err)
{
	char text[FILE_SIZE];
	struct view stat;
	uint64_t ticks;
	if (read_file(folder, "stat", text, &stat, err) < 0)
		return -1;
	if (!find_start(stat, &ticks) || ticks > UINT64_MAX / 1000)
		return error_set(err, ERROR_REJECTED, 0, "the stat file of a process has no start time");
	*ret_started_ms = ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
	return 0;
}

/* C0, DEL, and C1, which some terminals obey too. */
static bool is_control(struct view character)
{
	unsigned char first = (unsigned char)character.ptr[0];
	if (character.len == 2)
		return first == 0xc2 && (unsigned char)character.ptr[1] < 0xa0;
	return character.len == 1 && (first < 0x20 || first == 0x7f);
}

/* The name, of which a character that is none or steers becomes '?'. */
static void take_command(struct view name, char command[static PROCESS_COMMAND_SIZE])
{
	size_t len = 0;
	while (name.len > 0) {
		size_t n = utf8_next(name);
		bool is_plain = n > 0 && !is_control((struct view){name.ptr, n});
		struct view out = is_plain ? (struct view){name.ptr, n} : VIEW("?");
		if (len + out.len >= PROCESS_COMMAND_SIZE)
			break;
		memcpy(command + len, out.ptr, out.len);
		len += out.len;
		name = view_from_offset(name, n > 0 ? n : 1);
	}
	if (len == 0)
		command[len++] = '?';
	command[len] = '\0';
}

/* Of a file that was cut, the last line may be half of one. */
static struct view whole_lines(struct view file)
{
	while (file.len > 0 && file.ptr[file.len - 1] != '\n')
		file.len--;
	return file;
}

int process_read_facts(int folder, struct process_facts *ret_facts, struct error *err)
{
	char text[FILE_SIZE];
	struct view file;
	struct process_facts facts;
	if (read_file(folder, "cgroup", text, &file, err) < 0)
		return -1;
	cgroup_find_owner(whole_lines(file), &facts.owner);
	if (read_file(folder, "comm", text, &file, err) < 0)
		return -1;
	if (view_ends_with(file, VIEW("\n")))
		file.len--;
	take_command(file, facts.command);
	*ret_facts = facts;
	return 0;
}
