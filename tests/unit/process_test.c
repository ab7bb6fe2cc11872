/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/process.h"
#include "base/clock.h"
#include "lib/fake_proc.h"

#define POD "2c48913c-b29f-11e7-9350-020968147796"
#define ID "67d1ffe98d13a5a8f0c9b1e2d3c4b5a697887766554433221100ffeeddccbbaa"
#define PATH "/kubepods/burstable/pod" POD "/" ID "\n"

static struct error err;

static int open_proc(const char *path)
{
	int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc >= 0);
	return proc;
}

/* Opens a process of the stand-in. */
static int open_fake(const struct fake_proc *fake, uint32_t pid)
{
	int folder = -1;
	int proc = open_proc(fake->path);
	assert_int_equal(process_open(proc, pid, &folder, &err), 0);
	close(proc);
	return folder;
}

static struct process_facts read_facts(const struct fake_proc *fake, uint32_t pid)
{
	struct process_facts facts;
	int folder = open_fake(fake, pid);
	assert_int_equal(process_read_facts(folder, &facts, &err), 0);
	close(folder);
	return facts;
}

static void a_process_has_a_start_a_command_and_an_owner(void **state)
{
	(void)state;
	struct fake_proc fake;
	uint64_t started_ms;
	fake_proc_init(&fake);
	fake_proc_set(&fake, 4711, 12345, "python3\n", "0::" PATH);
	int folder = open_fake(&fake, 4711);
	assert_int_equal(process_read_start(folder, &started_ms, &err), 0);
	assert_int_equal(started_ms, 123450);
	close(folder);
	struct process_facts facts = read_facts(&fake, 4711);
	assert_string_equal(facts.command, "python3");
	assert_string_equal(facts.owner.pod_uid, POD);
	assert_string_equal(facts.owner.container_id, ID);
	fake_proc_deinit(&fake);
}

static void a_process_of_the_host_has_no_owner(void **state)
{
	(void)state;
	struct fake_proc fake;
	fake_proc_init(&fake);
	fake_proc_set(&fake, 4711, 1, "Xorg\n", "0::/system.slice/display-manager.service\n");
	struct process_facts facts = read_facts(&fake, 4711);
	assert_string_equal(facts.command, "Xorg");
	assert_string_equal(facts.owner.pod_uid, "");
	assert_string_equal(facts.owner.container_id, "");
	fake_proc_deinit(&fake);
}

static void a_command_is_made_printable_and_never_empty(void **state)
{
	(void)state;
	static const struct {
		const char *comm, *command;
	} rows[] = {
		{"python3\n", "python3"},
		{"\n", "?"},
		{"", "?"},
		{"a b\n", "a b"},
		{"\x1b[31mred\n", "?[31mred"},
		{"a\nb\n", "a?b"},
		{"a\x7f\n", "a?"},
		{"\xc2\x9b" "31m\n", "?31m"},
		{"\xc2\xa0\n", "\xc2\xa0"},
		{"\xc3\xa9t\xc3\xa9\n", "\xc3\xa9t\xc3\xa9"},
		{"\xff\xc3\n", "??"},
		{"fifteen-bytes-x\n", "fifteen-bytes-x"},
		{"fifteen-bytes-xy\n", "fifteen-bytes-x"},
		{"fourteen-bytes\xc3\xa9\n", "fourteen-bytes"},
	};
	struct fake_proc fake;
	fake_proc_init(&fake);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fake_proc_set(&fake, 4711, 1, rows[i].comm, "0::/\n");
		assert_string_equal(read_facts(&fake, 4711).command, rows[i].command);
	}
	fake_proc_deinit(&fake);
}

static void a_name_that_looks_like_numbers_does_not_move_the_start(void **state)
{
	(void)state;
	static const char *const names[] = {
		"a) R 1 1 1 (b\n", ") S 9 9 9\n", "((((\n", "))))\n", "1 2 3 4 5 6\n", "a\nb\n",
	};
	struct fake_proc fake;
	uint64_t started_ms;
	fake_proc_init(&fake);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		fake_proc_set(&fake, 4711, 77, names[i], "0::/\n");
		int folder = open_fake(&fake, 4711);
		assert_int_equal(process_read_start(folder, &started_ms, &err), 0);
		assert_int_equal(started_ms, 770);
		close(folder);
	}
	fake_proc_deinit(&fake);
}

static void a_stat_without_a_start_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"", "\n", "4711\n", "4711 (a)\n", "4711 (a) S 1\n",
		"4711 (a) S 1 1 1 0 -1 4194560 1 0 0 0 5 3 0 0 20 0 1 0\n",
		"4711 (a) S 1 1 1 0 -1 4194560 1 0 0 0 5 3 0 0 20 0 1 0 x 1 2\n",
		"4711 (a) S 1 1 1 0 -1 4194560 1 0 0 0 5 3 0 0 20 0 1 0 -7 1 2\n",
		"4711 (a) S 1 1 1 0 -1 4194560 1 0 0 0 5 3 0 0 20 0 1 0 18446744073709551615 1 2\n",
		"4711 a S 1 1 1 0 -1 4194560 1 0 0 0 5 3 0 0 20 0 1 0 77 1 2\n",
	};
	struct fake_proc fake;
	fake_proc_init(&fake);
	fake_proc_set(&fake, 4711, 1, "a\n", "0::/\n");
	int folder = open_fake(&fake, 4711);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t started_ms = 5;
		fake_proc_set_file(&fake, 4711, "stat", texts[i]);
		assert_int_equal(process_read_start(folder, &started_ms, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_int_equal(started_ms, 5);
	}
	close(folder);
	fake_proc_deinit(&fake);
}

static void of_a_long_file_the_whole_lines_of_the_first_4_KiB_count(void **state)
{
	(void)state;
	static const char line[] = "0::" PATH;
	struct fake_proc fake;
	char text[2 * 4096];
	/* The line of the pod ends with the 4096th byte, then with the one behind it. */
	for (size_t shift = 0; shift < 2; shift++) {
		size_t start = 4096 + shift - (sizeof(line) - 1);
		memset(text, 'x', sizeof(text));
		memcpy(text, "1:a:/", 5);
		text[start - 1] = '\n';
		memcpy(text + start, line, sizeof(line) - 1);
		text[sizeof(text) - 1] = '\0';
		fake_proc_init(&fake);
		fake_proc_set(&fake, 4711, 1, "a\n", text);
		assert_string_equal(read_facts(&fake, 4711).owner.pod_uid, shift ? "" : POD);
		fake_proc_deinit(&fake);
	}
}

static void a_missing_file_is_a_process_that_has_ended(void **state)
{
	(void)state;
	static const char *const names[] = {"cgroup", "comm"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct fake_proc fake;
		struct process_facts facts;
		fake_proc_init(&fake);
		fake_proc_set(&fake, 4711, 1, "a\n", "0::/\n");
		fake_proc_set_file(&fake, 4711, names[i], NULL);
		int folder = open_fake(&fake, 4711);
		assert_int_equal(process_read_facts(folder, &facts, &err), -1);
		assert_int_equal(err.kind, ERROR_NOT_FOUND);
		close(folder);
		fake_proc_deinit(&fake);
	}
}

static void a_number_that_no_process_has_is_not_found(void **state)
{
	(void)state;
	int folder = 5;
	int proc = open_proc("/proc");
	static const uint32_t pids[] = {0, 4194305, UINT32_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		assert_int_equal(process_open(proc, pids[i], &folder, &err), -1);
		assert_int_equal(err.kind, ERROR_NOT_FOUND);
		assert_int_equal(folder, 5);
	}
	close(proc);
}

/* A child that waits for its end. With a number, it gets that one; -1 when that may not be chosen. */
static pid_t start_child(pid_t number)
{
	const struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = number ? (uint64_t)(uintptr_t)&number : 0,
		.set_tid_size = number ? 1 : 0,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void the_kernels_own_files_are_understood(void **state)
{
	(void)state;
	struct process_facts facts;
	uint64_t started_ms;
	int folder = -1;
	int proc = open_proc("/proc");
	uint64_t before = clock_boot_ms();
	pid_t child = start_child(0);
	assert_true(child > 0);
	assert_int_equal(process_open(proc, (uint32_t)child, &folder, &err), 0);
	assert_int_equal(process_read_start(folder, &started_ms, &err), 0);
	/* A tick may begin before the moment that it is in. */
	assert_true(started_ms + 10 >= before && started_ms <= clock_boot_ms());
	assert_int_equal(process_read_facts(folder, &facts, &err), 0);
	assert_string_equal(facts.command, "process_test");
	end_child(child);
	close(folder);
	close(proc);
}

static void what_was_opened_of_a_process_that_has_ended_is_not_found(void **state)
{
	(void)state;
	struct process_facts facts;
	uint64_t started_ms;
	int folder = -1;
	int proc = open_proc("/proc");
	pid_t child = start_child(0);
	assert_true(child > 0);
	assert_int_equal(process_open(proc, (uint32_t)child, &folder, &err), 0);
	end_child(child);
	assert_int_equal(process_read_start(folder, &started_ms, &err), -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
	assert_int_equal(process_read_facts(folder, &facts, &err), -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
	close(folder);
	close(proc);
}

static void a_process_that_got_the_number_of_another_is_not_taken_for_it(void **state)
{
	(void)state;
	struct process_facts facts;
	uint64_t started_ms;
	int folder = -1, again = -1;
	int proc = open_proc("/proc");
	pid_t child = start_child(0);
	assert_int_equal(process_open(proc, (uint32_t)child, &folder, &err), 0);
	end_child(child);
	if (start_child(child) != child) {
		close(folder);
		close(proc);
		skip(); /* it takes CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN */
	}
	assert_int_equal(process_read_start(folder, &started_ms, &err), -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
	assert_int_equal(process_read_facts(folder, &facts, &err), -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
	/* The new one is there. */
	assert_int_equal(process_open(proc, (uint32_t)child, &again, &err), 0);
	assert_int_equal(process_read_facts(again, &facts, &err), 0);
	end_child(child);
	close(again);
	close(folder);
	close(proc);
}

/* Runs it as a user without any right and tells the kind of the error, 0 for none. */
static int as_nobody(int folder)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct process_facts facts;
		bool failed = setgid(65534) < 0 || setuid(65534) < 0;
		if (failed || process_read_facts(folder, &facts, &err) < 0)
			_exit(failed ? 99 : (int)err.kind);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void a_file_that_may_not_be_read_is_denied(void **state)
{
	(void)state;
	struct fake_proc fake;
	if (geteuid() != 0)
		skip();
	fake_proc_init(&fake);
	fake_proc_set(&fake, 4711, 1, "a\n", "0::/\n");
	assert_int_equal(chmod(fake.path, 0755), 0);
	int folder = open_fake(&fake, 4711);
	assert_int_equal(as_nobody(folder), 0);
	assert_int_equal(fchmodat(folder, "cgroup", 0600, 0), 0);
	assert_int_equal(as_nobody(folder), ERROR_DENIED);
	close(folder);
	fake_proc_deinit(&fake);
}

/* An agent has no capability, and need not have the uid of what it looks at. */
static void no_right_is_needed_for_the_kernels_own_files(void **state)
{
	(void)state;
	int folder = -1;
	if (geteuid() != 0)
		skip();
	int proc = open_proc("/proc");
	assert_int_equal(process_open(proc, 1, &folder, &err), 0);
	assert_int_equal(as_nobody(folder), 0);
	close(folder);
	close(proc);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_process_has_a_start_a_command_and_an_owner),
	cmocka_unit_test(a_process_of_the_host_has_no_owner),
	cmocka_unit_test(a_command_is_made_printable_and_never_empty),
	cmocka_unit_test(a_name_that_looks_like_numbers_does_not_move_the_start),
	cmocka_unit_test(a_stat_without_a_start_is_refused),
	cmocka_unit_test(of_a_long_file_the_whole_lines_of_the_first_4_KiB_count),
	cmocka_unit_test(a_missing_file_is_a_process_that_has_ended),
	cmocka_unit_test(a_number_that_no_process_has_is_not_found),
	cmocka_unit_test(the_kernels_own_files_are_understood),
	cmocka_unit_test(what_was_opened_of_a_process_that_has_ended_is_not_found),
	cmocka_unit_test(a_process_that_got_the_number_of_another_is_not_taken_for_it),
	cmocka_unit_test(a_file_that_may_not_be_read_is_denied),
	cmocka_unit_test(no_right_is_needed_for_the_kernels_own_files),
};
TEST_MAIN(tests)
