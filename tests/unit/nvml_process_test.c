/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Real processes, and the stand-in driver. What a child's life is can be replaced by the test; each
 * child notes its start in memory that the test shares.
 */

#include "lib/test_main.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/nvml_frame.h"
#include "agent/nvml_library.h"
#include "agent/nvml_process.h"
#include "agent/nvml_ring.h"
#include "base/clock.h"
#include "lib/own_folder.h"
#include "schema/report_doc.h"

#define DEVICES_FILE "nvml_process_test.json"
#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define NODE(rest)                                                                           \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\"," rest "\"devices\":[{"     \
	"\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0,"                \
	"\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960}]}"
#define HANGS(function, how) NODE("\"hangs\":{\"" function "\":\"" how "\"},")
#define XID(sequence) \
	"{\"sequence\":" sequence ",\"uuid\":\"" UUID "\",\"type\":\"XID\",\"code\":79}"

#define PATIENCE_MS 60000
#define MAX_STARTS 64
#define WAIT_MS 50    /* of one wait in the driver */
#define CLOCK_STEP_MS 10 /* at most: by so much may a timer be early */
#define LONG_MS 30000 /* a time-out that does not end within a test */

/* What children note. */
struct shared {
	unsigned n_starts;
	atomic_uint n_let_go; /* answers that the test lets a child give */
	pid_t pids[MAX_STARTS];
	uint64_t started_at[MAX_STARTS];
};

struct bench {
	struct loop *loop;
	struct loop_timer *patience;
	struct nvml_process *process;
	/* What was told, in order. */
	unsigned n_told;
	enum nvml_process_outcome told[4096];
	uint32_t events_with[4096];
	bool doubtful[4096];
	struct error why;        /* of the last trouble */
	uint32_t n_events;       /* of what the test has seen, in all */
	unsigned n_devices;      /* of the last reading */
	unsigned n_seen;         /* of these, by the test */
	bool is_doubtful;        /* the last of these */
	bool expects_nothing;
};

static struct error err;
static struct shared *shared;
static bool is_unkillable;

static void set_node(const char *text)
{
	FILE *file = fopen(DEVICES_FILE ".tmp", "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(DEVICES_FILE ".tmp", DEVICES_FILE), 0);
}

static int setup(void **state)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || setenv("FAKE_NVML_FILE", DEVICES_FILE, 1) != 0)
		return -1;
	return own_folder_enter(state);
}

/* Lives of children. */

static unsigned note_start(void)
{
	unsigned n = shared->n_starts++;
	if (n >= MAX_STARTS)
		_exit(EXIT_FAILURE);
	shared->pids[n] = getpid();
	shared->started_at[n] = clock_monotonic_ms();
	return n;
}

/* Waits until the test lets the n-th answer go: who is to be late is late on any machine. */
static void wait_to_be_let_go(unsigned n)
{
	const struct timespec step = {.tv_nsec = 1000000};
	while (atomic_load(&shared->n_let_go) < n)
		nanosleep(&step, NULL);
}

static void let_go(void)
{
	atomic_fetch_add(&shared->n_let_go, 1);
}

static void live(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	note_start();
	nvml_child_run(ends, config);
}

static int kill_unless_told(pid_t pid, int number)
{
	return is_unkillable ? 0 : kill(pid, number);
}

static pid_t wait_unless_told(pid_t pid, int *ret_status, int options)
{
	return is_unkillable ? 0 : waitpid(pid, ret_status, options);
}

static const struct nvml_process_system noted = {
	.kill = kill_unless_told, .wait = wait_unless_told, .run = live};

/* The bench. */

static void saw_answer(void *owner, const struct nvml_process_answer *answer)
{
	struct bench *bench = owner;
	assert_true(bench->n_told < ARRAY_SIZE(bench->told));
	bench->events_with[bench->n_told] = answer->reading.events.count;
	bench->doubtful[bench->n_told] = answer->is_doubtful;
	bench->told[bench->n_told++] = answer->outcome;
	if (answer->outcome == NVML_PROCESS_READING)
		bench->n_devices = answer->reading.devices.count;
	if (answer->why)
		bench->why = *answer->why;
	loop_stop(bench->loop);
}

static void saw_no_end(void *owner)
{
	const struct bench *bench = owner;
	if (!bench->expects_nothing)
		fail_msg("nothing came");
	loop_stop(bench->loop);
}

static void begin_with(struct bench *bench, struct nvml_process_config config)
{
	static const struct array none = {0};
	config.child = (struct nvml_child_config){
		.library_name = FAKE_NVML, .wait_ms = WAIT_MS, .last = &none};
	*bench = (struct bench){0};
	memset(shared, 0, sizeof(*shared));
	is_unkillable = false;
	assert_int_equal(loop_new(&bench->loop, &err), 0);
	assert_int_equal(loop_timer_new(bench->loop, saw_no_end, bench, &bench->patience, &err), 0);
	assert_int_equal(nvml_process_new(bench->loop, &config, saw_answer, bench, &bench->process,
					  &err), 0);
}

/* A child that hangs is ended soon. */
static void begin_short(struct bench *bench, uint32_t timeout_ms)
{
	begin_with(bench, (struct nvml_process_config){.timeout_ms = timeout_ms,
						       .restart_ms = 20,
						       .longest_ms = 4 * timeout_ms,
						       .system = &noted});
}

static void begin(struct bench *bench, uint32_t timeout_ms, const struct nvml_process_system *system)
{
	begin_with(bench, (struct nvml_process_config){
		.timeout_ms = timeout_ms, .restart_ms = 20, .system = system});
}

static void end(struct bench *bench)
{
	nvml_process_free(bench->process);
	loop_timer_free(bench->patience);
	loop_free(bench->loop);
}

/* What is told next. A loop that stops may tell one thing more, which is the next then. */
static enum nvml_process_outcome await(struct bench *bench)
{
	loop_timer_set(bench->patience, PATIENCE_MS);
	while (bench->n_seen == bench->n_told)
		assert_int_equal(loop_run(bench->loop, &err), 0);
	bench->n_events += bench->events_with[bench->n_seen];
	bench->is_doubtful = bench->doubtful[bench->n_seen];
	return bench->told[bench->n_seen++];
}

static void await_outcome(struct bench *bench, enum nvml_process_outcome outcome)
{
	while (await(bench) != outcome)
		;
}

/* Waits until so many errors were told, in all. */
static void await_events(struct bench *bench, uint32_t n)
{
	while (bench->n_events < n)
		assert_int_equal(await(bench), NVML_PROCESS_EVENTS);
	assert_int_equal(bench->n_events, n);
}

/* Asks until a reading comes in time, which a busy machine may not give at once. */
static void await_recovery(struct bench *bench)
{
	do {
		(void)nvml_process_ask(bench->process, NVML_CHILD_READING);
		await_outcome(bench, NVML_PROCESS_READING);
	} while (bench->is_doubtful);
}

/* Whatever is under way is told within this time. */
static void assert_nothing_comes(struct bench *bench, uint32_t ms)
{
	bench->expects_nothing = true;
	loop_timer_set(bench->patience, ms);
	assert_int_equal(loop_run(bench->loop, &err), 0);
	assert_int_equal(bench->n_told, bench->n_seen);
	bench->expects_nothing = false;
}

/* The start of the n-th child. */
static void await_start(struct bench *bench, unsigned n)
{
	while (nvml_process_started(bench->process) < n)
		(void)await(bench);
}

static enum nvml_process_outcome ask(struct bench *bench, enum nvml_child_request request)
{
	assert_true(nvml_process_ask(bench->process, request));
	return await(bench);
}

static void assert_why_has(const struct bench *bench, const char *part)
{
	if (!strstr(bench->why.text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, bench->why.text);
}

static unsigned count_descriptors(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *folder = opendir(path);
	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n - 2;
}

/*
 * Hangs are told until this call is named: a child of a busy machine may be late itself. The hang is
 * looked at again when the child is ended, and with the next one.
 */
static void await_call(struct bench *bench, const char *text)
{
	while (!strstr(bench->why.text, text))
		await_outcome(bench, NVML_PROCESS_HANGS);
}

/* Tests. */

static void another_process_reads_the_driver(void **state)
{
	(void)state;
	struct bench bench;
	char path[64], name[32] = "";
	set_node(NODE(""));
	begin(&bench, LONG_MS, &noted);
	assert_int_equal(nvml_process_events_since(bench.process).told, 0);
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_READING);
	assert_int_equal(bench.n_devices, 1);
	assert_true(nvml_process_events_since(bench.process).told > 0);
	assert_int_equal(ask(&bench, NVML_CHILD_EVENTS), NVML_PROCESS_EVENTS);
	assert_int_equal(shared->n_starts, 1);
	assert_int_not_equal(shared->pids[0], getpid());
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)shared->pids[0]);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(name, sizeof(name), file));
	fclose(file);
	assert_string_equal(name, "gpu-agent-nvml\n");
	/* The standard ones, its socket and its eventfd. The stand-in may have one more of its own. */
	assert_in_range(count_descriptors(shared->pids[0]), 5, 6);
	end(&bench);
}

static void what_is_asked_for_meanwhile_is_asked_for_afterwards(void **state)
{
	(void)state;
	struct bench bench;
	set_node(NODE(""));
	begin(&bench, LONG_MS, &noted);
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_READING);
	assert_true(nvml_process_ask(bench.process, NVML_CHILD_EVENTS));
	assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
	assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
	assert_int_equal(await(&bench), NVML_PROCESS_EVENTS);
	assert_int_equal(await(&bench), NVML_PROCESS_READING);
	end(&bench);
}

static void a_hang_is_told_in_time_and_is_over_when_the_driver_answers(void **state)
{
	(void)state;
	static const char *const functions[] = {"nvmlInitWithFlags", "nvmlDeviceGetCount_v2",
						"nvmlDeviceGetName"};
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct bench bench;
		char text[1024];
		snprintf(text, sizeof(text), HANGS("%s", "UntilChanged"), functions[i]);
		set_node(text);
		begin(&bench, 100, &noted);
		uint64_t start = clock_monotonic_ms();
		assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_HANGS);
		assert_in_range(clock_monotonic_ms() - start, 50, 5000);
		assert_why_has(&bench, " for 0.");
		assert_false(nvml_process_ask(bench.process, NVML_CHILD_READING));
		assert_int_equal(nvml_process_events_since(bench.process).told, 0);
		set_node(NODE(""));
		await_recovery(&bench);
		assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
		assert_true(nvml_process_events_since(bench.process).told > 0);
		end(&bench);
	}
}

/* With all that a device can have, so that what a reading calls is called. */
#define WHOLE                                                                                \
	"{\"uuid\":\"" UUID "\",\"name\":\"NVIDIA H100\",\"minor\":0,"                         \
	"\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960}"
#define DIVIDED                                                                              \
	"{\"uuid\":\"GPU-22222222-2222-4222-8222-222222222222\",\"name\":\"NVIDIA H100\","       \
	"\"minor\":1,\"pciBusID\":\"00000000:AF:00.0\",\"memoryMiB\":40960,\"mig\":{\"current\":" \
	"true},\"migDevices\":[{\"uuid\":\"MIG-aaaaaaaa-aaaa-5aaa-8aaa-aaaaaaaaaaa1\","           \
	"\"profile\":\"1g.5gb\",\"gpuInstanceID\":7,\"computeInstanceID\":0,\"memoryMiB\":4864,"  \
	"\"graphicsUtilization\":7}]}"
#define BOTH(rest)                                                                          \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\"," rest                       \
	"\"devices\":[" WHOLE "," DIVIDED "]}"

static bool is_one_of(const char *text, const char *const texts[])
{
	while (*texts && strcmp(*texts, text) != 0)
		texts++;
	return *texts;
}

/* What is said of a hang in it: the device has a number before it has told its UUID. */
static void describe_hang(const char *function, char *text, size_t size)
{
	static const char *const early[] = {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID", NULL};
	static const char *const of_none[] = {"nvmlDeviceGetCount_v2", NULL};
	static const char *const of_mig[] = {
		"nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetGpuInstanceId",
		"nvmlDeviceGetComputeInstanceId", "nvmlDeviceGetAttributes_v2",
		"nvmlDeviceGetMaxMigDeviceCount", NULL};
	const char *device = " on " UUID;
	if (strncmp(function, "nvmlDevice", 10) != 0 || is_one_of(function, of_none))
		device = "";
	else if (is_one_of(function, early))
		device = " on GPU 0";
	else if (is_one_of(function, of_mig))
		device = " on GPU-22222222-2222-4222-8222-222222222222";
	snprintf(text, size, "%s%s%s", function, device,
		 strncmp(function, "nvmlGpm", 7) == 0 ? " on " : " has not returned for 0.");
}

/* Those that a first good reading does not call. */
static bool is_called(const char *function)
{
	static const char *const others[] = {
		"nvmlInit_v2", "nvmlShutdown", "nvmlSystemGetNVMLVersion", "nvmlGpmSampleFree",
		"nvmlGpmMetricsGet", "nvmlEventSetFree", "nvmlEventSetWait_v2"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(others[i], function) == 0)
			return false;
	return true;
}

static void a_hang_in_any_function_is_told_and_ends(void **state)
{
#define SYMBOL(member, symbol, arguments) #symbol,
	static const char *const functions[] = {NVML_LIBRARY_FUNCTIONS(SYMBOL)};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct bench bench;
		char text[1024];
		if (!is_called(functions[i]))
			continue;
		snprintf(text, sizeof(text), BOTH("\"hangs\":{\"%s\":\"UntilChanged\"},"),
			 functions[i]);
		set_node(text);
		begin_short(&bench, 50);
		if (ask(&bench, NVML_CHILD_READING) != NVML_PROCESS_HANGS)
			fail_msg("%s: no hang is told", functions[i]);
		describe_hang(functions[i], text, sizeof(text));
		await_call(&bench, text);
		set_node(BOTH(""));
		await_outcome(&bench, NVML_PROCESS_READING);
		assert_int_equal(bench.n_devices, 2);
		assert_true(nvml_process_events_since(bench.process).told > 0);
		end(&bench);
	}
}

/* Asks until it is told something else than errors. */
static enum nvml_process_outcome ask_until_trouble(struct bench *bench)
{
	enum nvml_process_outcome outcome;
	do {
		bench->n_told = bench->n_seen = 0;
		(void)nvml_process_ask(bench->process, NVML_CHILD_EVENTS);
		outcome = await(bench);
	} while (outcome == NVML_PROCESS_EVENTS);
	return outcome;
}

static void a_wait_for_errors_that_outlives_its_time_is_a_hang(void **state)
{
	(void)state;
	struct bench bench;
	set_node(HANGS("nvmlEventSetWait_v2", "UntilChanged"));
	begin(&bench, 100, &noted);
	/* A wait may take its time, so the reading comes before it shows. */
	assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
	await_outcome(&bench, NVML_PROCESS_READING);
	while (!strstr(bench.why.text, "nvmlEventSetWait_v2 has not returned for 0."))
		(void)ask_until_trouble(&bench);
	assert_false(nvml_process_ask(bench.process, NVML_CHILD_READING));
	set_node(NODE(""));
	await_outcome(&bench, NVML_PROCESS_READING);
	assert_true(nvml_process_events_since(bench.process).told > 0);
	end(&bench);
}

static void an_error_is_told_though_nobody_asks(void **state)
{
	(void)state;
	struct bench bench;
	set_node(NODE(""));
	begin(&bench, LONG_MS, &noted);
	ask(&bench, NVML_CHILD_READING);
	set_node(NODE("\"events\":[" XID("1") "],"));
	await_events(&bench, 1);
	/* A later notice is looked at as well. */
	set_node(NODE("\"events\":[" XID("1") "," XID("2") "],"));
	await_events(&bench, 2);
	end(&bench);
}

/* Gives notice without end, of nothing. */
static void give_notices(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	const uint64_t one = 1;
	note_start();
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (write(ends->notice, &one, sizeof(one)) > 0 || errno == EAGAIN)
			;
		_exit(EXIT_SUCCESS);
	}
	nvml_child_run(ends, config);
}

static void a_child_that_gives_notice_without_end_is_asked_now_and_then(void **state)
{
	(void)state;
	static const struct nvml_process_system mad = {kill, waitpid, give_notices};
	struct bench bench;
	set_node(NODE(""));
	begin(&bench, LONG_MS, &mad);
	ask(&bench, NVML_CHILD_READING);
	const uint64_t start = clock_monotonic_ms();
	for (int i = 0; i < 4; i++)
		assert_int_equal(await(&bench), NVML_PROCESS_EVENTS);
	assert_true(clock_monotonic_ms() - start >= 2 * NVML_PROCESS_NOTICE_MS);
	end(&bench);
}

/* A driver that takes longer to start than the time-out. */
static void live_slowly(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	note_start();
	wait_to_be_let_go(1);
	nvml_child_run(ends, config);
}

static void a_slow_driver_is_not_interrupted(void **state)
{
	(void)state;
	const struct nvml_process_system slow = {kill, waitpid, live_slowly};
	struct bench bench;
	set_node(NODE(""));
	begin(&bench, 200, &slow);
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_HANGS);
	/* It was in no call, so none is named. */
	assert_string_equal(bench.why.text, "no answer for 0.2 s");
	let_go();
	assert_int_equal(await(&bench), NVML_PROCESS_READING);
	assert_true(bench.is_doubtful);
	assert_int_equal(bench.n_devices, 1);
	assert_int_equal(shared->n_starts, 1);
	end(&bench);
}

/* The answer to the n-th request of a child: an empty reading. */
static void send_empty_reading(int fd, unsigned n)
{
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	sbuf_init(&bytes, 4096);
	size_t head = nvml_frame_begin(&bytes);
	sbuf_printf(&bytes, "{\"sequence\":%u,\"sources\":{\"nvml\":{\"state\":\"ok\"}}}", n);
	nvml_frame_end(&bytes, head);
	(void)!send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
}

static bool await_request(int fd)
{
	char request[NVML_FRAME_HEAD + 1];
	return recv(fd, request, sizeof(request), MSG_WAITALL) > 0;
}

static void live_late(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	(void)config;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	note_start();
	for (unsigned i = 1; await_request(ends->socket); i++) {
		wait_to_be_let_go(i);
		send_empty_reading(ends->socket, i);
	}
}

static void a_driver_that_is_always_late_is_never_interrupted(void **state)
{
	(void)state;
	const struct nvml_process_system late = {kill, waitpid, live_late};
	struct bench bench;
	begin(&bench, 100, &late);
	assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(await(&bench), NVML_PROCESS_HANGS);
		let_go();
		assert_int_equal(await(&bench), NVML_PROCESS_READING);
		assert_true(bench.is_doubtful);
		/* Nor is it asked without a pause. */
		assert_nothing_comes(&bench, 200);
		assert_false(nvml_process_ask(bench.process, NVML_CHILD_READING));
	}
	/* The first reading in time ends the hang. */
	for (int i = 0; i < 100; i++)
		let_go();
	await_recovery(&bench);
	assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
	assert_int_equal(shared->n_starts, 1);
	end(&bench);
}

static void a_child_whose_request_takes_the_longest_time_is_ended(void **state)
{
	(void)state;
	struct bench bench;
	set_node(HANGS("nvmlDeviceGetName", "Forever"));
	begin_with(&bench, (struct nvml_process_config){
		.timeout_ms = 50, .restart_ms = 20, .longest_ms = 300, .system = &noted});
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_HANGS);
	await_start(&bench, 2);
	set_node(NODE(""));
	await_outcome(&bench, NVML_PROCESS_READING);
	/* Long after the time-out. The request may have been sent before the child noted its start. */
	assert_true(shared->started_at[1] - shared->started_at[0] >= 150);
	end(&bench);
}

static void live_from_the_second_on(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	if (note_start() >= 1)
		nvml_child_run(ends, config);
}

static void a_child_after_one_that_failed_is_on_trial_until_a_look_went_well(void **state)
{
	(void)state;
	const struct nvml_process_system weak = {kill, waitpid, live_from_the_second_on};
	struct bench bench;
	set_node(NODE(""));
	begin_with(&bench, (struct nvml_process_config){
		.timeout_ms = LONG_MS, .restart_ms = 10, .trial_ms = 100, .system = &weak});
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_FAILED);
	const uint64_t start = clock_monotonic_ms();
	assert_int_equal(await(&bench), NVML_PROCESS_READING);
	assert_true(bench.is_doubtful);
	while (ask(&bench, NVML_CHILD_UTILIZATION) == NVML_PROCESS_EVENTS)
		if (bench.n_seen == bench.n_told) /* a fast machine gets many */
			bench.n_seen = bench.n_told = 0;
	assert_false(bench.is_doubtful);
	assert_true(clock_monotonic_ms() - start >= 100 - CLOCK_STEP_MS);
	end(&bench);
}

static void live_from_the_third_on(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	if (note_start() >= 2)
		nvml_child_run(ends, config);
}

static void a_child_that_ends_is_replaced_after_a_longer_wait_each_time(void **state)
{
	(void)state;
	const struct nvml_process_system weak = {kill, waitpid, live_from_the_third_on};
	struct bench bench;
	set_node(NODE(""));
	begin(&bench, LONG_MS, &weak);
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_FAILED);
	assert_false(nvml_process_ask(bench.process, NVML_CHILD_READING));
	assert_int_equal(await(&bench), NVML_PROCESS_FAILED);
	assert_why_has(&bench, "the process that calls NVML ");
	assert_int_equal(await(&bench), NVML_PROCESS_READING);
	assert_int_equal(shared->n_starts, 3);
	assert_int_equal(nvml_process_started(bench.process), 3);
	assert_true(shared->started_at[1] - shared->started_at[0] >= 20 - CLOCK_STEP_MS);
	assert_true(shared->started_at[2] - shared->started_at[1] >= 40 - CLOCK_STEP_MS);
	end(&bench);
}

#define N_WEAK 6u

/* Each takes its time to answer. The first ones end at their second request. */
static void live_weakly(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	const struct timespec pause = {.tv_nsec = 40000000};
	(void)config;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	const unsigned n = note_start() < N_WEAK ? 1 : UINT_MAX;
	for (unsigned i = 1; await_request(ends->socket) && i <= n; i++) {
		nanosleep(&pause, NULL);
		send_empty_reading(ends->socket, i);
	}
}

static void a_child_that_breaks_after_a_good_reading_is_replaced_after_a_longer_wait_each_time(
	void **state)
{
	(void)state;
	const struct nvml_process_system weak = {kill, waitpid, live_weakly};
	struct bench bench;
	begin_with(&bench, (struct nvml_process_config){
		.timeout_ms = LONG_MS, .restart_ms = 10, .longest_ms = 640, .trial_ms = 300, .system = &weak});
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_READING);
	assert_false(bench.is_doubtful);
	for (unsigned i = 0; i < N_WEAK; i++) {
		assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_FAILED);
		assert_int_equal(await(&bench), NVML_PROCESS_READING);
		assert_true(bench.is_doubtful);
		assert_true(shared->started_at[i + 1] - shared->started_at[i] >= 10u << i);
	}
	/* One that answers for the longest time begins anew: each wait would be the longest, else. */
	uint64_t good = clock_monotonic_ms(), shortest = UINT64_MAX;
	while (clock_monotonic_ms() - good < 700)
		assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_READING);
	assert_false(bench.is_doubtful);
	/* A busy machine may be late itself, but not each time. */
	for (unsigned i = N_WEAK; i < N_WEAK + 6 && shortest >= 640; i++) {
		uint64_t killed = clock_monotonic_ms();
		assert_int_equal(kill(shared->pids[i], SIGKILL), 0);
		assert_int_equal(await(&bench), NVML_PROCESS_FAILED);
		assert_int_equal(await(&bench), NVML_PROCESS_READING);
		shortest = shared->started_at[i + 1] - killed;
	}
	assert_true(shortest < 640);
	end(&bench);
}

static struct view rubbish;

/* The first child says what it should not, whatever is asked. */
static void talk_rubbish(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	char request[NVML_FRAME_HEAD + 1];
	if (note_start() > 0)
		nvml_child_run(ends, config);
	(void)!recv(ends->socket, request, sizeof(request), MSG_WAITALL);
	(void)!send(ends->socket, rubbish.ptr, rubbish.len, MSG_NOSIGNAL);
	for (;;)
		pause();
}

static void a_child_that_talks_rubbish_or_too_much_is_replaced_and_the_source_says_so(void **state)
{
	(void)state;
	static const struct nvml_process_system mad = {kill, waitpid, talk_rubbish};
#define OK_SOURCE "\"sources\":{\"nvml\":{\"state\":\"ok\"}}"
	static const struct {
		const char *body;
		const char *why;
		unsigned n; /* as many frames of it */
	} rows[] = {
		{"", "a message without a body", 1},
		{"{", "not", 1},
		{"{}", "sequence", 1},
		{"{\"sequence\":2," OK_SOURCE "}", "the answer to another request", 1},
		{"{\"sequence\":1}", "another answer than was asked for", 1},
		{"{\"sequence\":1," OK_SOURCE "}", "more than one answer", 2},
		{"{\"sequence\":1," OK_SOURCE ",\"devices\":[{\"uuid\":\"x\"}]}",
		 "devices[0].uuid: not a GPU UUID", 1},
		{"{\"sequence\":1," OK_SOURCE ",\"events\":[{\"sequence\":1},{\"sequence\":1}]}",
		 "events[1].sequence: not ascending", 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bench bench;
		CLEANUP(sbuf_deinit) struct sbuf bytes;
		sbuf_init(&bytes, 4096);
		for (unsigned k = 0; k < rows[i].n; k++) {
			char head[NVML_FRAME_HEAD] = {(char)strlen(rows[i].body)};
			sbuf_append(&bytes, (struct view){head, sizeof(head)});
			sbuf_append(&bytes, view_from(rows[i].body));
		}
		rubbish = sbuf_view(&bytes);
		set_node(NODE(""));
		begin(&bench, LONG_MS, &mad);
		assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_FAILED);
		assert_why_has(&bench, "the process that calls NVML talks nonsense: ");
		assert_why_has(&bench, rows[i].why);
		assert_int_equal(await(&bench), NVML_PROCESS_READING);
		end(&bench);
		/* It was ended, not left alone. */
		assert_int_equal(kill(shared->pids[0], 0), -1);
	}
	struct bench bench;
	rubbish = VIEW("\xff\xff\xff\xff and so on");
	begin(&bench, LONG_MS, &mad);
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_FAILED);
	assert_why_has(&bench, "a message of 4294967295 bytes");
	end(&bench);
}

/* Answers the first request twice, the second time when nobody asks. */
static void answer_twice(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	if (note_start() > 0)
		nvml_child_run(ends, config);
	for (int i = 0; i < 2; i++) {
		(void)!send(ends->socket, rubbish.ptr, rubbish.len, MSG_NOSIGNAL);
		nanosleep(&pause, NULL);
	}
	nvml_child_run(ends, config);
}

static void an_answer_that_nobody_asked_for_is_rubbish(void **state)
{
	(void)state;
	static const struct nvml_process_system mad = {kill, waitpid, answer_twice};
	struct bench bench;
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	sbuf_init(&bytes, 4096);
	size_t head = nvml_frame_begin(&bytes);
	sbuf_append(&bytes, VIEW("{\"sequence\":1," OK_SOURCE "}"));
	nvml_frame_end(&bytes, head);
	rubbish = sbuf_view(&bytes);
	set_node(NODE(""));
	begin(&bench, LONG_MS, &mad);
	assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
	await_outcome(&bench, NVML_PROCESS_FAILED);
	assert_why_has(&bench, "answer");
	assert_int_equal(await(&bench), NVML_PROCESS_READING);
	end(&bench);
}

static void children_that_cannot_be_ended_are_left_behind_counted_and_bounded(void **state)
{
	(void)state;
	struct bench bench;
	set_node(HANGS("nvmlDeviceGetName", "Forever"));
	begin_with(&bench, (struct nvml_process_config){
		.timeout_ms = 100, .restart_ms = 20, .longest_ms = 100, .system = &noted});
	is_unkillable = true;
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_HANGS);
	while (!strstr(bench.why.text, "; earlier calls cannot be ended"))
		assert_int_equal(await(&bench), NVML_PROCESS_HANGS);
	/* However many these are: it is news once. The call that hangs is one that a child reached. */
	for (unsigned n = 0; n < 4; n += shared->n_starts == LIMIT_NVML_ORPHANS) {
		assert_int_equal(await(&bench), NVML_PROCESS_HANGS);
		assert_why_has(&bench, "; earlier calls cannot be ended");
	}
	assert_int_equal(shared->n_starts, LIMIT_NVML_ORPHANS);
	assert_int_equal(nvml_process_left_behind(bench.process), LIMIT_NVML_ORPHANS);
	/* The driver lets them go: there is room again. */
	set_node(NODE(""));
	is_unkillable = false;
	for (unsigned i = 0; i < LIMIT_NVML_ORPHANS; i++)
		assert_int_equal(kill(shared->pids[i], SIGKILL), 0);
	await_outcome(&bench, NVML_PROCESS_READING);
	assert_true(shared->n_starts > LIMIT_NVML_ORPHANS); /* a busy machine may be late, and begin anew */
	end(&bench);
	for (unsigned i = 0; i < LIMIT_NVML_ORPHANS; i++)
		assert_int_equal(kill(shared->pids[i], 0), -1);
}

static void an_error_is_told_once_though_the_child_is_replaced(void **state)
{
	(void)state;
	struct bench bench;
	set_node(NODE(""));
	begin(&bench, LONG_MS, &noted);
	ask(&bench, NVML_CHILD_READING);
	const int64_t since = nvml_process_events_since(bench.process).told;
	set_node(NODE("\"events\":[" XID("1") "],"));
	await_events(&bench, 1);
	assert_int_equal(nvml_process_events_since(bench.process).told, since);
	assert_int_equal(kill(shared->pids[0], SIGKILL), 0);
	await_outcome(&bench, NVML_PROCESS_FAILED);
	assert_int_equal(nvml_process_events_since(bench.process).told, 0);
	assert_int_equal(await(&bench), NVML_PROCESS_READING);
	assert_true(nvml_process_events_since(bench.process).told > since);
	assert_int_equal(ask(&bench, NVML_CHILD_EVENTS), NVML_PROCESS_EVENTS);
	assert_int_equal(bench.n_events, 1);
	set_node(NODE("\"events\":[" XID("1") "," XID("2") "],"));
	await_events(&bench, 2);
	assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
	await_outcome(&bench, NVML_PROCESS_READING);
	assert_int_equal(bench.n_events, 2);
	end(&bench);
}

#define HANG "\"hangs\":{\"nvmlDeviceGetUtilizationRates\":\"Forever\"},"
#define EVENTS(list) "\"events\":[" list "],"

/* The main thread of the child is in a call that never returns, and so it is known. */
static void hang_for_ever(struct bench *bench)
{
	await_outcome(bench, NVML_PROCESS_READING);
	set_node(NODE(HANG));
	(void)nvml_process_ask(bench->process, NVML_CHILD_UTILIZATION);
	await_call(bench, "nvmlDeviceGetUtilizationRates on " UUID);
}

static void errors_of_a_hang_that_never_ends_are_told_once_and_before_the_kill(void **state)
{
	(void)state;
	struct bench bench;
	set_node(NODE(""));
	begin(&bench, 1000, &noted); /* the kill is after a minute */
	assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
	hang_for_ever(&bench);
	set_node(NODE(HANG EVENTS(XID("1"))));
	await_events(&bench, 1);
	set_node(NODE(HANG EVENTS(XID("1") "," XID("2") "," XID("3"))));
	await_events(&bench, 3);
	assert_true(nvml_process_events_since(bench.process).told > 0);
	assert_int_equal(shared->n_starts, 1);
	assert_int_equal(kill(shared->pids[0], 0), 0);
	/* The next child tells none of them again. */
	set_node(NODE(EVENTS(XID("1") "," XID("2") "," XID("3"))));
	assert_int_equal(kill(shared->pids[0], SIGKILL), 0);
	await_outcome(&bench, NVML_PROCESS_FAILED);
	assert_int_equal(nvml_process_events_since(bench.process).told, 0);
	await_outcome(&bench, NVML_PROCESS_READING);
	(void)nvml_process_ask(bench.process, NVML_CHILD_EVENTS);
	await_outcome(&bench, NVML_PROCESS_EVENTS);
	assert_int_equal(bench.n_events, 3);
	end(&bench);
}

/* Puts an error, of which it gives no notice, and never answers. */
static void put_and_hang(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	if (note_start() > 0)
		nvml_child_run(ends, config);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	nvml_ring_put(ends->ring, &(struct nvml_event){UUID, 119, -1, -1});
	atomic_fetch_add(&shared->n_let_go, 1);
	for (;;)
		pause();
}

static void an_error_that_comes_with_the_kill_is_told(void **state)
{
	(void)state;
	static const struct nvml_process_system stuck = {kill, waitpid, put_and_hang};
	struct bench bench;
	set_node(NODE(""));
	begin_with(&bench, (struct nvml_process_config){
		.timeout_ms = 50, .restart_ms = 20, .longest_ms = 2000, .system = &stuck});
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_HANGS);
	assert_int_equal(await(&bench), NVML_PROCESS_HANGS);
	assert_int_equal(await(&bench), NVML_PROCESS_EVENTS);
	assert_int_equal(bench.n_events, 1);
	await_outcome(&bench, NVML_PROCESS_READING);
	assert_int_equal(bench.n_events, 1);
	end(&bench);
}

static void an_error_of_a_child_that_ends_by_itself_is_told_before_its_end(void **state)
{
	(void)state;
	static const struct nvml_process_system stuck = {kill, waitpid, put_and_hang};
	struct bench bench;
	set_node(NODE(""));
	begin(&bench, LONG_MS, &stuck);
	assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
	do
		assert_nothing_comes(&bench, 100);
	while (atomic_load(&shared->n_let_go) == 0);
	assert_int_equal(kill(shared->pids[0], SIGKILL), 0);
	assert_int_equal(await(&bench), NVML_PROCESS_EVENTS);
	assert_int_equal(bench.n_events, 1);
	assert_int_equal(await(&bench), NVML_PROCESS_FAILED);
	end(&bench);
}

/* Puts an error, of which it gives no notice, and answers. */
static void put_and_answer(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	(void)config;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	note_start();
	for (unsigned i = 1; await_request(ends->socket); i++) {
		nvml_ring_put(ends->ring, &(struct nvml_event){UUID, 79, -1, -1});
		send_empty_reading(ends->socket, i);
	}
}

static void an_error_that_comes_before_an_answer_is_told_before_it(void **state)
{
	(void)state;
	static const struct nvml_process_system prompt = {kill, waitpid, put_and_answer};
	struct bench bench;
	begin(&bench, LONG_MS, &prompt);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_EVENTS);
		assert_int_equal(bench.n_events, i);
		assert_int_equal(await(&bench), NVML_PROCESS_READING);
		assert_int_equal(bench.n_events, i);
	}
	end(&bench);
}

/* Writes into all of the memory that it shares, and gives notice, without end. */
static void write_rubbish(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	const uint64_t one = 1;
	if (note_start() > 0)
		nvml_child_run(ends, config);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned byte = 0;; byte++) {
		memset(ends->ring->events, (int)byte, sizeof(ends->ring->events));
		atomic_fetch_add(&ends->ring->n_put, byte % (LIMIT_NVML_EVENTS + 2));
		if (byte % 3 == 0)
			atomic_fetch_sub(&ends->ring->n_taken, byte);
		(void)!write(ends->notice, &one, sizeof(one));
	}
}

static void a_child_that_writes_rubbish_where_errors_are_tells_none(void **state)
{
	(void)state;
	static const struct nvml_process_system mad = {kill, waitpid, write_rubbish};
	struct bench bench;
	set_node(NODE(""));
	begin_with(&bench, (struct nvml_process_config){
		.timeout_ms = 100, .restart_ms = 20, .longest_ms = 1000, .system = &mad});
	assert_int_equal(ask(&bench, NVML_CHILD_READING), NVML_PROCESS_HANGS);
	await_outcome(&bench, NVML_PROCESS_READING);
	assert_int_equal(bench.n_events, 0);
	set_node(NODE(EVENTS(XID("1"))));
	while (bench.n_events == 0)
		(void)await(&bench);
	assert_int_equal(bench.n_events, 1);
	end(&bench);
}

static void more_errors_than_can_lie_there_come_all_the_same(void **state)
{
	(void)state;
	struct bench bench;
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, LIMIT_MIB);
	sbuf_printf(&text, "%s", "{\"driverVersion\":\"1\",\"cudaVersion\":\"13.0\",\"events\":[");
	for (unsigned i = 1; i <= 2 * LIMIT_NVML_EVENTS + 2; i++)
		sbuf_printf(&text, "%s" XID("%u"), i > 1 ? "," : "", i);
	sbuf_printf(&text, "%s", "],\"devices\":[{\"uuid\":\"" UUID "\",\"name\":\"L4\",\"minor\":0,"
		    "\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":24576}]}");
	set_node(NODE(""));
	begin(&bench, LONG_MS, &noted);
	ask(&bench, NVML_CHILD_READING);
	set_node(sbuf_text(&text));
	ask(&bench, NVML_CHILD_READING);
	while (bench.n_events < 2 * LIMIT_NVML_EVENTS + 2)
		await(&bench);
	assert_int_equal(bench.n_events, 2 * LIMIT_NVML_EVENTS + 2);
	end(&bench);
}

static void restarts_leave_no_descriptor_and_no_process_behind(void **state)
{
	(void)state;
	struct bench bench;
	while (waitpid(-1, NULL, 0) > 0)
		; /* what the tests before have killed */
	set_node(NODE(""));
	begin(&bench, LONG_MS, &noted);
	ask(&bench, NVML_CHILD_READING);
	const unsigned n = count_descriptors(getpid());
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(kill(shared->pids[i], SIGKILL), 0);
		await_outcome(&bench, NVML_PROCESS_READING);
	}
	assert_int_equal(count_descriptors(getpid()), n);
	end(&bench);
	assert_int_equal(shared->n_starts, 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(kill(shared->pids[i], 0), -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void the_end_ends_the_child_whatever_it_does(void **state)
{
	(void)state;
	static const char *const nodes[] = {NODE(""), HANGS("nvmlDeviceGetName", "Forever")};
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct bench bench;
		set_node(nodes[i]);
		begin(&bench, 1000, &noted);
		assert_true(nvml_process_ask(bench.process, NVML_CHILD_READING));
		await(&bench);
		end(&bench);
		assert_true(shared->n_starts >= 1);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	}
}

/* The parent of this test: begins a child that hangs, and ends without a word. */
static void vanish_with_a_hanging_child(void)
{
	struct bench bench;
	begin(&bench, 1000, &noted); /* also on a busy machine it is in the call by then */
	is_unkillable = true;
	(void)nvml_process_ask(bench.process, NVML_CHILD_READING);
	await(&bench);
	_exit(EXIT_SUCCESS);
}

static void a_child_dies_with_its_parent(void **state)
{
	(void)state;
	int status;
	set_node(HANGS("nvmlDeviceGetName", "Forever"));
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid_t parent = fork();
	if (parent == 0)
		vanish_with_a_hanging_child();
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(shared->pids[0], &status, 0), shared->pids[0]);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(another_process_reads_the_driver),
	cmocka_unit_test(what_is_asked_for_meanwhile_is_asked_for_afterwards),
	cmocka_unit_test(a_hang_is_told_in_time_and_is_over_when_the_driver_answers),
	cmocka_unit_test(a_hang_in_any_function_is_told_and_ends),
	cmocka_unit_test(a_wait_for_errors_that_outlives_its_time_is_a_hang),
	cmocka_unit_test(an_error_is_told_though_nobody_asks),
	cmocka_unit_test(a_child_that_gives_notice_without_end_is_asked_now_and_then),
	cmocka_unit_test(a_slow_driver_is_not_interrupted),
	cmocka_unit_test(a_driver_that_is_always_late_is_never_interrupted),
	cmocka_unit_test(a_child_whose_request_takes_the_longest_time_is_ended),
	cmocka_unit_test(a_child_after_one_that_failed_is_on_trial_until_a_look_went_well),
	cmocka_unit_test(a_child_that_ends_is_replaced_after_a_longer_wait_each_time),
	cmocka_unit_test(
		a_child_that_breaks_after_a_good_reading_is_replaced_after_a_longer_wait_each_time),
	cmocka_unit_test(a_child_that_talks_rubbish_or_too_much_is_replaced_and_the_source_says_so),
	cmocka_unit_test(an_answer_that_nobody_asked_for_is_rubbish),
	cmocka_unit_test(children_that_cannot_be_ended_are_left_behind_counted_and_bounded),
	cmocka_unit_test(an_error_is_told_once_though_the_child_is_replaced),
	cmocka_unit_test(errors_of_a_hang_that_never_ends_are_told_once_and_before_the_kill),
	cmocka_unit_test(an_error_that_comes_with_the_kill_is_told),
	cmocka_unit_test(an_error_of_a_child_that_ends_by_itself_is_told_before_its_end),
	cmocka_unit_test(an_error_that_comes_before_an_answer_is_told_before_it),
	cmocka_unit_test(a_child_that_writes_rubbish_where_errors_are_tells_none),
	cmocka_unit_test(more_errors_than_can_lie_there_come_all_the_same),
	cmocka_unit_test(restarts_leave_no_descriptor_and_no_process_behind),
	cmocka_unit_test(the_end_ends_the_child_whatever_it_does),
	cmocka_unit_test(a_child_dies_with_its_parent),
};
TEST_MAIN_WITH(tests, setup, own_folder_leave)
