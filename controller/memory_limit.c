/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A limit binds the cgroup and all below it, so each folder from the process's own up to the root is
 * looked at. In a container the root is often the container's own cgroup. The path in
 * /proc/self/cgroup then is "/", or names a folder of the host that is not there.
 *
 * Of sixteen parts, bodies may use one, reports four, a join three. The worst join took 40 MiB before
 * reports were bounded more tightly (tests/bench/worst_join_bench.c). Bodies have at least 24 MiB, so that
 * three of the largest pass at once.
 * The decoder of reports uses 16 MiB at most. There is a connection for each 200 KiB, of which it takes a
 * fourteenth while it is idle. Reports that replace others may use an eighth more.
 *
 * All of these together may be 70 % of the limit. What is fixed of them weighs more where the limit is
 * small. There, reports have less than a quarter: a fifth of the least limit.
 *
 * Pages of metrics have a fifth more, so all of this is 90 % at most. The rest is for all else: the
 * program, objects of the API server, and connections that are not idle. Such a connection has a TLS
 * record and a head on top; its body is in the account, and a page is shared.
 */

#include "controller/memory_limit.h"

#include <stdint.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "io/file.h"

#define PARTS 16u
#define BODIES_PARTS 1u
#define REPORTS_PARTS 4u
#define JOIN_PARTS 3u
#define PAGES_PART 5u
#define MOST_OF_ALL_PERCENT 70u
#define DECODER (16u * LIMIT_MIB)
#define LEAST_OF_BODIES (24u * LIMIT_MIB)
#define MOST_OF_JOIN (48u * LIMIT_MIB)
#define LIMIT_OF_CONNECTION (200u * LIMIT_KIB)
#define PATH_CAP 4096
#define NUMBER_CAP 64u

/* "max" is no number, and version 1 says that there is none by a number of 63 bits. */
static size_t read_limit(const char *path)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	struct error err;
	uint64_t limit;

	sbuf_init(&text, NUMBER_CAP);
	if (file_read(path, &text, &err) < 0 ||
	    !view_parse_u64(view_trim(sbuf_view(&text)), &limit) || limit >= INT64_MAX / 2)
		return SIZE_MAX;
	return (size_t)limit;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static struct view parent_of(struct view folder)
{
	while (folder.len > 0 && folder.ptr[folder.len - 1] != '/')
		folder.len--;
	while (folder.len > 0 && folder.ptr[folder.len - 1] == '/')
		folder.len--;
	return folder;
}

/* The least limit of a folder below mount and of those that it is in. */
static size_t least_limit(const char *root, const char *mount, struct view folder,
			  const char *file)
{
	char path[PATH_CAP];
	size_t least = SIZE_MAX;

	for (;; folder = parent_of(folder)) {
		int len = snprintf(path, sizeof(path), "%s%s%.*s/%s", root, mount,
				   VIEW_ARG(folder), file);
		if (len > 0 && (size_t)len < sizeof(path))
			least = smaller(least, read_limit(path));
		if (folder.len == 0)
			return least;
	}
}

static bool has_word(struct view list, struct view word)
{
	while (list.len > 0) {
		struct view first;
		view_cut(list, VIEW(","), &first, &list);
		if (view_equal(first, word))
			return true;
	}
	return false;
}

size_t memory_limit_of_cgroups(struct view own_cgroups, const char *root)
{
	size_t least = SIZE_MAX;

	while (own_cgroups.len > 0) {
		struct view line, number, controllers, folder;
		view_cut(own_cgroups, VIEW("\n"), &line, &own_cgroups);
		view_cut(line, VIEW(":"), &number, &line);
		view_cut(line, VIEW(":"), &controllers, &folder);
		if (view_equal(folder, VIEW("/")))
			folder.len = 0;
		if (view_equal(number, VIEW("0")) && controllers.len == 0)
			least = smaller(least, least_limit(root, "", folder, "memory.max"));
		else if (has_word(controllers, VIEW("memory")))
			least = smaller(least, least_limit(root, "/memory", folder,
							   "memory.limit_in_bytes"));
	}
	return least;
}

static size_t limit_of_process(void)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	struct error err;

	sbuf_init(&text, LIMIT_FILE_BYTES);
	if (file_read("/proc/self/cgroup", &text, &err) < 0)
		return SIZE_MAX;
	return memory_limit_of_cgroups(sbuf_view(&text), "/sys/fs/cgroup");
}

size_t memory_limit_choose(uint64_t wanted)
{
	size_t limit = wanted > 0 && wanted < SIZE_MAX ? (size_t)wanted : limit_of_process();

	return limit < SIZE_MAX ? limit : MEMORY_LIMIT_DEFAULT;
}

int memory_limit_check(size_t limit, struct error *err)
{
	if (limit >= MEMORY_LIMIT_LEAST)
		return 0;
	return error_set(err, ERROR_REJECTED, 0,
			 "the memory limit of the container is %zu bytes: set resources.limits.memory to "
			 "%zuMi or more",
			 limit, MEMORY_LIMIT_LEAST / LIMIT_MIB);
}

size_t memory_limit_bodies(size_t limit)
{
	return larger(limit / PARTS * BODIES_PARTS, LEAST_OF_BODIES);
}

size_t memory_limit_reports(size_t limit)
{
	const size_t idle = (size_t)memory_limit_connections(limit, UINT32_MAX) * MEMORY_LIMIT_CONNECTION;
	const size_t others = memory_limit_bodies(limit) + memory_limit_join(limit) + DECODER + idle;
	const size_t left = larger(limit / 100 * MOST_OF_ALL_PERCENT, others) - others;

	return smaller(limit / PARTS * REPORTS_PARTS, left / 9 * 8);
}

size_t memory_limit_join(size_t limit)
{
	return smaller(limit / PARTS * JOIN_PARTS, MOST_OF_JOIN);
}

size_t memory_limit_pages(size_t limit)
{
	return smaller(limit / PAGES_PART, LIMIT_EXPOSITION_BYTES);
}

uint32_t memory_limit_connections(size_t limit, uint32_t wanted)
{
	return (uint32_t)smaller(limit / LIMIT_OF_CONNECTION, wanted);
}
