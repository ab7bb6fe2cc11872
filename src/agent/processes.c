/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A PID is looked up once for all devices. The result is kept while the driver goes on naming the
 * PID and the process has the same start time. At rest a look therefore costs one small file for
 * each process. A process can be moved to another group and change its name, so what is kept is
 * read again now and then.
 *
 * If a process started after the driver was asked, it is not the one that the driver named: that
 * one has ended and its number was reused. If it started while the driver was answering, either is
 * possible; the next look decides.
 *
 * The kernel does not tell whether our PID numbers are those of the driver. They are the same in
 * the PID namespace that the machine started with. Elsewhere an operator must say so ("on"). In
 * that first namespace process 1 is never the agent, so an agent with PID 1 is in a namespace of
 * its own.
 */

#include "agent/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/process.h"
#include "io/filecall.h"

/* The kernel's PROC_PID_INIT_INO: the first PID namespace has always had this number. */
#define FIRST_NAMESPACE "pid:[4026531836]"

#define NOT_VISIBLE \
	"host PIDs are not visible: give the agent's pod hostPID: true (manifests/processes), " \
	"and on a node that is itself a container also --processes=on"

struct known_process {
	uint32_t pid;
	uint64_t started_ms;
	uint64_t read_at; /* ms since boot */
	struct process_facts facts;
};

/* One filling under way. */
struct filling {
	const struct array *known; /* of the last one */
	uint64_t now;              /* ms since boot */
	int proc;
	bool is_short;        /* there were more processes than are looked up */
	struct error trouble; /* why some process could not be looked at; ERROR_NONE: none */
};

bool processes_parse_mode(struct view text, enum processes_mode *ret_mode)
{
	static const struct view names[] = {
		[PROCESSES_AUTO] = VIEW_INIT("auto"),
		[PROCESSES_ON] = VIEW_INIT("on"),
		[PROCESSES_OFF] = VIEW_INIT("off"),
	};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		if (view_equal(text, names[i])) {
			*ret_mode = (enum processes_mode)i;
			return true;
		}
	}
	return false;
}

void processes_init(struct processes *processes, enum processes_mode mode, const char *proc_path)
{
	*processes = (struct processes){.mode = mode, .proc_path = proc_path};
}

/* Whether the link in the folder reads so. */
static bool link_is(int folder, const char *name, const char *expected)
{
	char text[64];
	ssize_t n = readlinkat(folder, name, text, sizeof(text));
	return n >= 0 && view_equal((struct view){text, (size_t)n}, view_from(expected));
}

static bool are_visible(const struct processes *processes, int proc)
{
	if (link_is(proc, "self", "1"))
		return false;
	return processes->mode == PROCESSES_ON || link_is(proc, "self/ns/pid", FIRST_NAMESPACE);
}

/* The first process is there as long as the namespace is: if it cannot be seen, others are hidden. */
static int check_not_hidden(int proc, struct error *err)
{
	uint64_t started;
	CLEANUP(filecall_close) int folder = -1;
	if (process_open(proc, 1, &folder, err) == 0 &&
	    process_read_start(folder, &started, err) == 0)
		return 0;
	if (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_DENIED)
		return error_set(err, ERROR_DENIED, 0,
				 "other processes are hidden from the agent: /proc is mounted with "
				 "hidepid, or a security module denies access");
	return error_wrap(err, "first process");
}

static struct report_device *device_at(struct array devices, uint32_t i)
{
	return ARRAY_AT(devices, struct report_device, i);
}

static int compare_pids(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;
	return (left > right) - (left < right);
}

/* All PIDs in ascending order, each once. False: no memory. */
static bool collect_pids(struct array devices, struct arena *arena, uint32_t **ret_pids,
			 uint32_t *ret_n)
{
	uint32_t total = 0, n = 0;
	for (uint32_t i = 0; i < devices.count; i++)
		total += device_at(devices, i)->processes.count;
	uint32_t *pids = arena_alloc(arena, total, sizeof(*pids));
	if (!pids)
		return false;
	for (uint32_t i = 0; i < devices.count; i++) {
		struct array list = device_at(devices, i)->processes;
		for (uint32_t j = 0; j < list.count; j++)
			pids[n++] = (uint32_t)ARRAY_AT(list, struct report_process, j)->pid;
	}
	if (total > 0)
		qsort(pids, total, sizeof(*pids), compare_pids);
	n = 0;
	for (uint32_t i = 0; i < total; i++)
		if (i == 0 || pids[i] != pids[n - 1])
			pids[n++] = pids[i];
	*ret_pids = pids;
	*ret_n = n;
	return true;
}

static int compare_known(const void *pid, const void *known)
{
	return compare_pids(pid, &((const struct known_process *)known)->pid);
}

static const struct known_process *find_known(const struct array *known, uint32_t pid)
{
	if (known->count == 0)
		return NULL;
	return bsearch(&pid, known->items, known->count, sizeof(struct known_process),
		       compare_known);
}

/* What is kept of the process, or NULL if that is nothing, or old. */
static const struct known_process *find_kept(const struct filling *filling, uint32_t pid,
					     uint64_t started_ms)
{
	const struct known_process *known = find_known(filling->known, pid);
	if (!known || known->started_ms != started_ms ||
	    filling->now - known->read_at >= PROCESSES_KEEP_MS)
		return NULL;
	return known;
}

static int look_up(const struct filling *filling, uint32_t pid, struct known_process *ret,
		   struct error *err)
{
	struct known_process found = {.pid = pid, .read_at = filling->now};
	CLEANUP(filecall_close) int folder = -1;
	if (process_open(filling->proc, pid, &folder, err) < 0 ||
	    process_read_start(folder, &found.started_ms, err) < 0)
		return -1;
	if (found.started_ms > filling->now)
		return error_set(err, ERROR_NOT_FOUND, 0, "the process has ended");
	const struct known_process *kept = find_kept(filling, pid, found.started_ms);
	if (kept)
		found = *kept;
	else if (process_read_facts(folder, &found.facts, err) < 0)
		return -1;
	*ret = found;
	return 0;
}

/* Looks up all processes of the devices. False: no memory. */
static bool look_up_all(struct filling *filling, struct array devices, struct arena *arena,
			struct array *ret_known)
{
	uint32_t *pids;
	uint32_t n;
	struct error err;
	if (!collect_pids(devices, arena, &pids, &n))
		return false;
	filling->is_short = n > PROCESSES_MAX;
	if (filling->is_short)
		n = PROCESSES_MAX;
	struct known_process *known = arena_alloc(arena, n, sizeof(*known));
	if (!known)
		return false;
	uint32_t count = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (look_up(filling, pids[i], &known[count], &err) == 0)
			count++;
		else if (err.kind != ERROR_NOT_FOUND)
			filling->trouble = err;
	}
	*ret_known = (struct array){known, count, true};
	return true;
}

/* Shows the processes of the devices what is known of them. */
static void hand_out(const struct array *known, struct array devices)
{
	for (uint32_t i = 0; i < devices.count; i++) {
		struct array list = device_at(devices, i)->processes;
		for (uint32_t j = 0; j < list.count; j++) {
			struct report_process *process = ARRAY_AT(list, struct report_process, j);
			const struct known_process *found =
				find_known(known, (uint32_t)process->pid);
			if (!found)
				continue;
			process->pod_uid = view_from(found->facts.owner.pod_uid);
			process->container_id = view_from(found->facts.owner.container_id);
			process->command = view_from(found->facts.command);
		}
	}
}

/* Looks at /proc; what it says goes to the devices, and to *ret_known. */
static int fill(struct filling *filling, struct array devices, struct arena *arena,
		struct array *ret_known, struct error *err)
{
	if (check_not_hidden(filling->proc, err) < 0)
		return -1;
	if (!look_up_all(filling, devices, arena, ret_known))
		return error_no_memory(err);
	hand_out(ret_known, devices);
	return 0;
}

/* What an otherwise good filling lacks, in the text. */
static struct view lack_of(const struct filling *filling, char *text, size_t size)
{
	text[0] = '\0';
	if (filling->trouble.kind != ERROR_NONE)
		snprintf(text, size, "some processes cannot be looked at: %s",
			 filling->trouble.text);
	else if (filling->is_short)
		snprintf(text, size, "only %u processes are looked up", PROCESSES_MAX);
	return view_from(text);
}

bool processes_fill(struct processes *processes, struct processes_time now, struct array devices,
		    struct arena *arena)
{
	/* What is known from the last time lies in an arena that does not outlive this reading. */
	const struct array known = processes->known;
	struct filling filling = {.known = &known, .now = now.boot};
	struct error err;
	char text[LIMIT_REPORT_MESSAGE];
	CLEANUP(filecall_close) int proc = -1;
	processes->known = (struct array){0};
	if (processes->mode == PROCESSES_OFF)
		return source_state_vanish(&processes->source,
					   VIEW("switched off (--processes=off)"));
	proc = open(processes->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0) {
		error_set(&err, ERROR_RETRY, errno, "open %s", processes->proc_path);
		return source_state_fail(&processes->source, &err);
	}
	if (!are_visible(processes, proc))
		return source_state_vanish(&processes->source, VIEW(NOT_VISIBLE));
	filling.proc = proc;
	if (fill(&filling, devices, arena, &processes->known, &err) < 0)
		return source_state_fail(&processes->source, &err);
	return source_state_succeed(&processes->source, now.wall,
				    lack_of(&filling, text, sizeof(text)));
}

void processes_tell(const struct processes *processes, struct report *report)
{
	report->sources.processes = processes->source.said;
}
