/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/processes.h"
#include "base/clock.h"
#include "lib/failing_malloc.h"
#include "lib/fake_proc.h"

#define POD "2c48913c-b29f-11e7-9350-020968147796"
#define OTHER "9f1c3c6e-8a55-4d0a-9f52-7f0e6a1b2c3d"
#define ID "67d1ffe98d13a5a8f0c9b1e2d3c4b5a697887766554433221100ffeeddccbbaa"
#define CGROUP(pod) "0::/kubepods/burstable/pod" pod "/" ID "\n"
#define HOST "0::/system.slice/display-manager.service\n"

/* A node with two devices, and what is known of their processes. */
struct node {
	struct fake_proc proc;
	struct processes processes;
	struct arena arena; /* of the last filling */
	struct report_process lists[2][4];
	struct report_device devices[2];
};

static void setup_mode(struct node *node, enum processes_mode mode)
{
	*node = (struct node){.devices[0].processes = {node->lists[0], 0, true},
			      .devices[1].processes = {node->lists[1], 0, true}};
	fake_proc_init(&node->proc);
	arena_init(&node->arena, LIMIT_MIB);
	processes_init(&node->processes, mode, node->proc.path);
}

static void setup(struct node *node)
{
	setup_mode(node, PROCESSES_AUTO);
}

static void teardown(struct node *node)
{
	arena_deinit(&node->arena);
	fake_proc_deinit(&node->proc);
}

/* The driver lists these PIDs on a device; 0 ends the list. */
static void list(struct node *node, unsigned device, const uint32_t *pids)
{
	uint32_t n = 0;
	for (; pids[n]; n++)
		node->lists[device][n] = (struct report_process){.pid = pids[n]};
	node->devices[device].processes.count = n;
}

#define LIST(node, device, ...) list(node, device, (const uint32_t[]){__VA_ARGS__, 0})

/* As the agent does it: what was read before goes when the new reading is done. */
static bool fill_at(struct node *node, int64_t wall, uint64_t boot)
{
	struct arena arena;
	const struct array devices = {node->devices, 2, true};
	arena_init(&arena, LIMIT_MIB);
	bool is_news = processes_fill(&node->processes, (struct processes_time){wall, boot}, devices,
				      &arena);
	arena_deinit(&node->arena);
	node->arena = arena;
	return is_news;
}

static bool fill(struct node *node)
{
	return fill_at(node, 100, 1000000);
}

static struct report_source said(const struct node *node)
{
	struct report report = {0};
	processes_tell(&node->processes, &report);
	return report.sources.processes;
}

static void assert_process(const struct node *node, unsigned device, unsigned i, const char *pod,
			   const char *command)
{
	const struct report_process *process = &node->lists[device][i];
	assert_true(view_equal(process->pod_uid, view_from(pod)));
	assert_true(view_equal(process->container_id, view_from(pod[0] ? ID : "")));
	assert_true(view_equal(process->command, view_from(command)));
}

static void assert_said(const struct node *node, enum report_source_state state, const char *text)
{
	struct report_source source = said(node);
	char message[LIMIT_REPORT_MESSAGE + 1];
	snprintf(message, sizeof(message), "%.*s", VIEW_ARG(source.message));
	assert_int_equal(source.state, state);
	if (!strstr(message, text) || (!text[0] && message[0]))
		fail_msg("\"%s\" is not \"%s\"", message, text);
}

TEST(a_process_of_a_pod_is_told_with_pod_container_and_command)
{
	struct node node;
	setup(&node);
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	fake_proc_set(&node.proc, 4712, 1, "trtllm\n", CGROUP(OTHER));
	LIST(&node, 0, 4712, 4711);
	assert_true(fill(&node));
	assert_process(&node, 0, 0, OTHER, "trtllm");
	assert_process(&node, 0, 1, POD, "python3");
	assert_said(&node, REPORT_SOURCE_OK, "");
	assert_int_equal(said(&node).observed_at, 100);
	assert_false(fill_at(&node, 200, 1000000));
	assert_int_equal(said(&node).observed_at, 200);
	teardown(&node);
}

TEST(a_process_of_the_host_has_a_command_and_no_pod)
{
	struct node node;
	setup(&node);
	fake_proc_set(&node.proc, 900, 1, "Xorg\n", HOST);
	LIST(&node, 0, 900);
	fill(&node);
	assert_process(&node, 0, 0, "", "Xorg");
	assert_said(&node, REPORT_SOURCE_OK, "");
	teardown(&node);
}

TEST(a_process_that_has_ended_has_neither_and_is_no_error)
{
	struct node node;
	setup(&node);
	LIST(&node, 0, 4711);
	fill(&node);
	assert_process(&node, 0, 0, "", "");
	assert_said(&node, REPORT_SOURCE_OK, "");
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	fill(&node);
	assert_process(&node, 0, 0, POD, "python3");
	fake_proc_remove(&node.proc, 4711);
	LIST(&node, 0, 4711);
	fill(&node);
	assert_process(&node, 0, 0, "", "");
	teardown(&node);
}

TEST(a_process_on_several_devices_is_told_on_each)
{
	struct node node;
	setup(&node);
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	fake_proc_set(&node.proc, 900, 1, "Xorg\n", HOST);
	LIST(&node, 0, 4711, 900);
	LIST(&node, 1, 900, 4711);
	fill(&node);
	assert_process(&node, 0, 0, POD, "python3");
	assert_process(&node, 0, 1, "", "Xorg");
	assert_process(&node, 1, 0, "", "Xorg");
	assert_process(&node, 1, 1, POD, "python3");
	assert_int_equal(node.processes.known.count, 2);
	teardown(&node);
}

TEST(a_list_that_is_not_known_or_empty_is_left_as_it_is)
{
	struct node node;
	setup(&node);
	node.devices[0].processes = (struct array){0};
	assert_true(fill(&node));
	assert_false(node.devices[0].processes.present);
	assert_true(node.devices[1].processes.present);
	assert_said(&node, REPORT_SOURCE_OK, "");
	teardown(&node);
}

TEST(at_rest_only_the_start_time_is_read)
{
	struct node node;
	setup(&node);
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	LIST(&node, 0, 4711);
	fill(&node);
	fake_proc_set_file(&node.proc, 4711, "cgroup", NULL);
	fake_proc_set_file(&node.proc, 4711, "comm", NULL);
	for (int i = 0; i < 3; i++) {
		LIST(&node, 0, 4711);
		assert_false(fill(&node));
		assert_process(&node, 0, 0, POD, "python3");
	}
	teardown(&node);
}

TEST(a_number_that_was_given_to_another_process_is_looked_up_anew)
{
	struct node node;
	setup(&node);
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	LIST(&node, 0, 4711);
	fill(&node);
	fake_proc_set(&node.proc, 4711, 2, "julia\n", CGROUP(OTHER));
	fill(&node);
	assert_process(&node, 0, 0, OTHER, "julia");
	teardown(&node);
}

TEST(what_is_known_is_forgotten_when_the_driver_names_the_process_no_more)
{
	struct node node;
	setup(&node);
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	LIST(&node, 0, 4711);
	fill(&node);
	list(&node, 0, (const uint32_t[]){0});
	fill(&node);
	assert_int_equal(node.processes.known.count, 0);
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(OTHER));
	LIST(&node, 0, 4711);
	fill(&node);
	assert_process(&node, 0, 0, OTHER, "python3");
	teardown(&node);
}

TEST(what_is_known_is_read_again_after_a_while)
{
	struct node node;
	setup(&node);
	fake_proc_set(&node.proc, 4711, 1, "runc\n", HOST);
	LIST(&node, 0, 4711);
	fill_at(&node, 1, 1000);
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	fill_at(&node, 2, 1000 + PROCESSES_KEEP_MS - 1);
	assert_process(&node, 0, 0, "", "runc");
	fill_at(&node, 3, 1000 + PROCESSES_KEEP_MS);
	assert_process(&node, 0, 0, POD, "python3");
	/* And kept from then on. */
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(OTHER));
	fill_at(&node, 4, 1000 + 2 * PROCESSES_KEEP_MS - 1);
	assert_process(&node, 0, 0, POD, "python3");
	teardown(&node);
}

TEST(a_process_that_began_after_the_driver_was_asked_is_not_the_one)
{
	struct node node;
	setup(&node);
	fake_proc_set(&node.proc, 4711, 5001, "julia\n", CGROUP(OTHER));
	LIST(&node, 0, 4711);
	fill_at(&node, 1, 50000);
	assert_process(&node, 0, 0, "", "");
	assert_said(&node, REPORT_SOURCE_OK, "");
	fill_at(&node, 2, 50010);
	assert_process(&node, 0, 0, OTHER, "julia");
	teardown(&node);
}

TEST(without_host_pids_the_source_is_absent_and_says_what_to_do)
{
	struct node node;
	setup(&node);
	fake_proc_set_self(&node.proc, 4000, "pid:[4026532001]");
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	LIST(&node, 0, 4711);
	assert_true(fill(&node));
	assert_process(&node, 0, 0, "", "");
	assert_said(&node, REPORT_SOURCE_ABSENT, "hostPID: true");
	assert_int_equal(said(&node).observed_at, 0);
	assert_false(fill(&node));
	teardown(&node);
}

TEST(in_another_namespace_it_takes_somebody_who_knows)
{
	struct node node;
	setup_mode(&node, PROCESSES_ON);
	fake_proc_set_self(&node.proc, 4000, "pid:[4026532001]");
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	LIST(&node, 0, 4711);
	fill(&node);
	assert_process(&node, 0, 0, POD, "python3");
	assert_said(&node, REPORT_SOURCE_OK, "");
	teardown(&node);
}

TEST(the_first_process_of_its_namespace_sees_no_host)
{
	static const enum processes_mode modes[] = {PROCESSES_AUTO, PROCESSES_ON};
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct node node;
		setup_mode(&node, modes[i]);
		fake_proc_set_self(&node.proc, 1, FAKE_PROC_FIRST_NAMESPACE);
		fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
		LIST(&node, 0, 4711);
		fill(&node);
		assert_process(&node, 0, 0, "", "");
		assert_said(&node, REPORT_SOURCE_ABSENT, "hostPID: true");
		teardown(&node);
	}
}

TEST(switched_off_nothing_is_read)
{
	struct node node;
	setup_mode(&node, PROCESSES_OFF);
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	LIST(&node, 0, 4711);
	assert_true(fill(&node));
	assert_process(&node, 0, 0, "", "");
	assert_said(&node, REPORT_SOURCE_ABSENT, "--processes=off");
	teardown(&node);
}

TEST(hidden_processes_are_an_error_that_ends)
{
	struct node node;
	setup(&node);
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	LIST(&node, 0, 4711);
	fill(&node);
	fake_proc_remove(&node.proc, 1);
	LIST(&node, 0, 4711);
	assert_true(fill_at(&node, 200, 1000000));
	assert_process(&node, 0, 0, "", "");
	assert_said(&node, REPORT_SOURCE_ERROR, "hidepid");
	assert_int_equal(said(&node).observed_at, 100);
	assert_int_equal(node.processes.known.count, 0);
	assert_false(fill_at(&node, 300, 1000000));
	fake_proc_set(&node.proc, 1, 0, "init\n", HOST);
	assert_true(fill_at(&node, 400, 1000000));
	assert_process(&node, 0, 0, POD, "python3");
	assert_said(&node, REPORT_SOURCE_OK, "");
	teardown(&node);
}

TEST(a_proc_that_is_not_there_is_an_error)
{
	struct node node;
	setup(&node);
	processes_init(&node.processes, PROCESSES_AUTO, "/no/such/proc");
	assert_true(fill(&node));
	assert_said(&node, REPORT_SOURCE_ERROR, "/no/such/proc");
	teardown(&node);
}

TEST(a_process_that_cannot_be_read_does_not_hide_the_others)
{
	struct node node;
	setup(&node);
	fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
	fake_proc_set(&node.proc, 4712, 1, "julia\n", CGROUP(OTHER));
	fake_proc_set_file(&node.proc, 4711, "stat", "garbage\n");
	LIST(&node, 0, 4711, 4712);
	assert_true(fill(&node));
	assert_process(&node, 0, 0, "", "");
	assert_process(&node, 0, 1, OTHER, "julia");
	assert_said(&node, REPORT_SOURCE_OK, "some processes cannot be looked at");
	teardown(&node);
}

TEST(beyond_the_limit_processes_are_not_looked_up_and_that_is_said)
{
	static struct report_process rows[PROCESSES_MAX + 2];
	struct node node;
	setup(&node);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i].pid = 100000 + i;
	fake_proc_set(&node.proc, 100000, 1, "first\n", CGROUP(POD));
	fake_proc_set(&node.proc, 100000 + PROCESSES_MAX - 1, 1, "last\n", CGROUP(POD));
	fake_proc_set(&node.proc, 100000 + PROCESSES_MAX, 1, "beyond\n", CGROUP(POD));
	node.devices[0].processes = (struct array){rows, PROCESSES_MAX, true};
	fill(&node);
	assert_said(&node, REPORT_SOURCE_OK, "");
	node.devices[0].processes.count = ARRAY_SIZE(rows);
	assert_true(fill(&node));
	assert_true(view_equal(rows[0].command, VIEW("first")));
	assert_true(view_equal(rows[PROCESSES_MAX - 1].command, VIEW("last")));
	assert_true(view_equal(rows[PROCESSES_MAX].command, VIEW("")));
	assert_said(&node, REPORT_SOURCE_OK, "only 4096 processes");
	teardown(&node);
}

TEST(without_memory_the_source_fails_and_recovers)
{
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct node node;
		setup(&node);
		fake_proc_set(&node.proc, 4711, 1, "python3\n", CGROUP(POD));
		LIST(&node, 0, 4711);
		failing_malloc_at(k);
		fill(&node);
		failed = failing_malloc_off();
		assert_int_equal(said(&node).state, failed ? REPORT_SOURCE_ERROR : REPORT_SOURCE_OK);
		assert_process(&node, 0, 0, failed ? "" : POD, failed ? "" : "python3");
		fill(&node);
		assert_process(&node, 0, 0, POD, "python3");
		teardown(&node);
	}
}

TEST(modes_are_named_by_words)
{
	enum processes_mode mode = PROCESSES_OFF;
	assert_true(processes_parse_mode(VIEW("auto"), &mode) && mode == PROCESSES_AUTO);
	assert_true(processes_parse_mode(VIEW("on"), &mode) && mode == PROCESSES_ON);
	assert_true(processes_parse_mode(VIEW("off"), &mode) && mode == PROCESSES_OFF);
	static const char *const others[] = {"", "On", "true", "auto ", "offf"};
	mode = PROCESSES_ON;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(processes_parse_mode(view_from(others[i]), &mode));
	assert_int_equal(mode, PROCESSES_ON);
}

/* --- the kernel's own /proc */

/* In a child that stands in PID and mount namespaces of its own, with /proc mounted this way. */
static int in_own_proc(const char *options, int (*look)(void))
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
			_exit(77);
		pid_t first = fork();
		if (first == 0) {
			if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			    mount("proc", "/proc", "proc", 0, options) < 0)
				_exit(77);
			_exit(look());
		}
		int status = 0;
		waitpid(first, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 78);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

/* The state of the source for the calling process, which looks at its own PID. */
static int look_at_self(void)
{
	struct report_process row = {.pid = getpid()};
	struct report_device device = {.processes = {&row, 1, true}};
	struct processes processes;
	struct arena arena;
	arena_init(&arena, LIMIT_MIB);
	processes_init(&processes, PROCESSES_ON, "/proc");
	processes_fill(&processes, (struct processes_time){1, clock_boot_ms()},
		       (struct array){&device, 1, true}, &arena);
	int state = processes.source.said.state;
	if (state == REPORT_SOURCE_OK && !view_equal(row.command, VIEW("processes_test")))
		state = 79;
	char message[LIMIT_REPORT_MESSAGE + 1];
	snprintf(message, sizeof(message), "%.*s", VIEW_ARG(processes.source.said.message));
	if (state == REPORT_SOURCE_ERROR && !strstr(message, "hidepid"))
		state = 80;
	arena_deinit(&arena);
	return state;
}

/* As another user, in a second process of the namespace. */
static int look_as_nobody(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(setgid(65534) < 0 || setuid(65534) < 0 ? 77 : look_at_self());
	int status = 0;
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

TEST(on_a_real_proc_the_first_process_and_those_behind_it_are_told_apart)
{
	int first = in_own_proc("", look_at_self);
	if (first == 77)
		skip(); /* it takes CAP_SYS_ADMIN */
	assert_int_equal(first, REPORT_SOURCE_ABSENT);
	assert_int_equal(in_own_proc("", look_as_nobody), REPORT_SOURCE_OK);
}

TEST(on_a_real_proc_with_hidepid_the_source_fails)
{
	static const char *const options[] = {"hidepid=1", "hidepid=2"};
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		int told = in_own_proc(options[i], look_as_nobody);
		if (told == 77)
			skip();
		assert_int_equal(told, REPORT_SOURCE_ERROR);
	}
}

TESTS(NULL, NULL)
