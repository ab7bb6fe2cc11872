/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/fake_proc.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/test_main.h"

#define SELF 4000u

/* The tail of a real line: "starttime" is the 20th field behind the name. */
#define STAT "%u (%.15s) S 1 1 1 0 -1 4194560 1 0 0 0 5 3 0 0 20 0 1 0 %llu 11341824 2048\n"

static int remove_entry(const char *path, const struct stat *facts, int type, struct FTW *walk)
{
	(void)facts;
	(void)type;
	(void)walk;
	return remove(path);
}

static void remove_tree(const char *path)
{
	assert_int_equal(nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void name_process(const struct fake_proc *proc, uint32_t pid, const char *file,
			 char path[static 128])
{
	snprintf(path, 128, "%s/%u%s", proc->path, pid, file);
}

void fake_proc_init(struct fake_proc *proc)
{
	snprintf(proc->path, sizeof(proc->path), "/tmp/fake_proc.XXXXXX");
	assert_non_null(mkdtemp(proc->path));
	fake_proc_set(proc, 1, 0, "systemd\n", "0::/init.scope\n");
	fake_proc_set_self(proc, SELF, FAKE_PROC_FIRST_NAMESPACE);
}

void fake_proc_deinit(const struct fake_proc *proc)
{
	remove_tree(proc->path);
}

void fake_proc_set_file(const struct fake_proc *proc, uint32_t pid, const char *name,
			const char *text)
{
	char file[32], path[128];
	snprintf(file, sizeof(file), "/%s", name);
	name_process(proc, pid, file, path);
	if (!text) {
		assert_int_equal(unlink(path), 0);
		return;
	}
	FILE *stream = fopen(path, "w");
	assert_non_null(stream);
	assert_true(fputs(text, stream) >= 0);
	assert_int_equal(fclose(stream), 0);
}

static void make_folder(const char *path)
{
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
}

void fake_proc_set(const struct fake_proc *proc, uint32_t pid, uint64_t start, const char *comm,
		   const char *cgroup)
{
	char path[128], stat[256];
	name_process(proc, pid, "", path);
	make_folder(path);
	snprintf(stat, sizeof(stat), STAT, pid, comm, (unsigned long long)start);
	fake_proc_set_file(proc, pid, "stat", stat);
	fake_proc_set_file(proc, pid, "comm", comm);
	fake_proc_set_file(proc, pid, "cgroup", cgroup);
}

void fake_proc_remove(const struct fake_proc *proc, uint32_t pid)
{
	char path[128];
	name_process(proc, pid, "", path);
	remove_tree(path);
}

void fake_proc_set_self(const struct fake_proc *proc, uint32_t pid, const char *name_space)
{
	char path[128], self[96], name[16];
	snprintf(self, sizeof(self), "%s/self", proc->path);
	snprintf(name, sizeof(name), "%u", pid);
	unlink(self);
	assert_int_equal(symlink(name, self), 0);
	name_process(proc, pid, "", path);
	make_folder(path);
	name_process(proc, pid, "/ns", path);
	make_folder(path);
	name_process(proc, pid, "/ns/pid", path);
	unlink(path);
	assert_int_equal(symlink(name_space, path), 0);
}
