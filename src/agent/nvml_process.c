/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One request is under way at a time. What is asked for meanwhile is a bit in `wanted`.
 *
 * After a notice of XID errors no further one is looked at for a while: a child may give them without end.
 *
 * That a child has gone is seen at the end of its stream. It is waited for later, whenever there is
 * something to do: a signal handler for SIGCHLD would be the program's, and this needs none. So each
 * child that is given up stands among the orphans until the kernel has let it go.
 */

#include "agent/nvml_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/nvml_frame.h"
#include "agent/nvml_ring.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "schema/report_doc.h"

#define RESTART_MS 1000u
#define PIECE (4u * LIMIT_KIB)
#define END_STEP_MS 10u
#define END_STEPS 100u

struct nvml_process {
	struct loop *loop;
	struct nvml_process_config config;
	nvml_process_fn answered;
	void *owner;
	struct loop_timer *deadline; /* of the request under way */
	struct loop_timer *restart;
	struct prng prng;
	struct backoff backoff;

	pid_t pid; /* of the child; 0: none */
	int fd;    /* -1: none */
	struct loop_watch *watch;
	int notice;                      /* the child's eventfd; -1: none */
	struct nvml_ring_reader taken;   /* of the ring */
	struct loop_watch *notice_watch; /* NULL: not looked at for a while */
	struct loop_timer *notice_later; /* ends the while */
	struct nvml_call *call; /* NULL: there is no child, or no memory for it */
	struct nvml_ring *ring; /* XID errors of the child; NULL: there is none */
	struct nvml_call_seen stuck; /* what hangs; of no call while nothing does */
	struct sbuf in;
	int64_t n_requests; /* of this child */
	unsigned wanted;    /* enum nvml_child_request, a bit each */
	unsigned asked;     /* the request under way; 0: none */
	bool is_late;       /* it is older than the time-out */
	uint64_t asked_at;  /* monotonic ms */
	int64_t asked_wall;
	uint64_t asked_boot;
	bool is_hanging;
	bool is_on_trial; /* this child: the one before failed */
	uint64_t good_since; /* this child has answered in time; monotonic ms, 0: it does not */
	struct wall_time events_since;
	int64_t n_started;

	pid_t orphans[LIMIT_NVML_ORPHANS];
	uint32_t n_orphans, n_logged; /* n_logged: as many were, at the last hang */
	bool is_ending; /* all is */
};

static const struct nvml_process_system real_system = {
	.kill = kill,
	.wait = waitpid,
	.run = nvml_child_run,
};

/* Telling. */

static void tell_trouble(struct nvml_process *process, enum nvml_process_outcome outcome,
			 const struct error *why)
{
	process->answered(process->owner,
			  &(struct nvml_process_answer){.outcome = outcome, .why = why});
}

/* Errors come beside the answers, so also from a child that does not answer. */
static void tell_errors(struct nvml_process *process)
{
	CLEANUP(arena_deinit) struct arena none = {0};
	struct nvml_ring_taken taken;
	if (!process->ring)
		return;
	nvml_ring_take(process->ring, &process->taken, &taken);
	if (taken.n == 0)
		return;
	process->answered(process->owner,
			  &(struct nvml_process_answer){
				  .outcome = NVML_PROCESS_EVENTS,
				  .reading.events = {taken.items, taken.n, true},
				  .arena = &none,
				  .asked_wall = clock_wall_ms(),
				  .asked_boot = clock_boot_ms(),
			  });
}

/* The same hang always reads the same: it is news once. How many are left behind is no news. */
static void tell_hang(struct nvml_process *process)
{
	struct error why;
	char what[NVML_CALL_TEXT];
	nvml_call_describe(&process->stuck, process->config.timeout_ms, what);
	error_set(&why, ERROR_RETRY, 0, "%s%s", what,
		  process->n_orphans > 0 ? "; earlier calls cannot be ended" : "");
	if (!process->is_hanging || process->n_orphans > process->n_logged)
		LOG_ERROR("NVML hangs", LOG_I64("pid", process->pid),
			  LOG_U64("left_behind", process->n_orphans), LOG_ERROR_FIELD(&why));
	process->n_logged = process->n_orphans;
	process->is_hanging = true;
	process->good_since = 0;
	tell_trouble(process, NVML_PROCESS_HANGS, &why);
}

/* The end of a child. */

static bool is_gone(struct nvml_process *process, pid_t pid)
{
	int status = 0;
	pid_t result = process->config.system->wait(pid, &status, WNOHANG);
	if (result == 0 || (result < 0 && errno != ECHILD))
		return false;
	if (process->is_ending)
		return true;
	LOG_INFO("Process for NVML has ended", LOG_I64("pid", pid),
		 LOG_I64("signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0),
		 LOG_I64("status", WIFEXITED(status) ? WEXITSTATUS(status) : 0));
	return true;
}

static void reap(struct nvml_process *process)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < process->n_orphans; i++) {
		if (!is_gone(process, process->orphans[i]))
			process->orphans[n++] = process->orphans[i];
	}
	process->n_orphans = n;
}

static void close_notice(struct nvml_process *process)
{
	loop_watch_free(process->notice_watch);
	process->notice_watch = NULL;
	if (process->notice_later)
		loop_timer_clear(process->notice_later);
	if (process->notice >= 0)
		close(process->notice);
	process->notice = -1;
}

/* There is room among the orphans, or the child would not have been started. */
static void kill_child(struct nvml_process *process)
{
	if (process->config.system->kill(process->pid, SIGKILL) < 0)
		LOG_WARN("Process for NVML cannot be killed", LOG_I64("pid", process->pid),
			 LOG_I64("errno", errno));
	process->orphans[process->n_orphans++] = process->pid;
	process->pid = 0;
	/* NVML tells its last errors to nobody else. */
	if (!process->is_ending)
		tell_errors(process);
}

static void give_up_child(struct nvml_process *process)
{
	if (process->deadline)
		loop_timer_clear(process->deadline);
	loop_watch_free(process->watch);
	process->watch = NULL;
	if (process->fd >= 0)
		close(process->fd);
	process->fd = -1;
	close_notice(process);
	nvml_call_free(process->call);
	process->call = NULL;
	sbuf_deinit(&process->in);
	process->asked = 0;
	process->wanted = 0;
	process->good_since = 0;
	if (process->pid > 0)
		kill_child(process);
	nvml_ring_free(process->ring);
	process->ring = NULL;
	process->events_since = (struct wall_time){0};
}

static void restart_later(struct nvml_process *process)
{
	give_up_child(process);
	loop_timer_set(process->restart, backoff_next(&process->backoff, &process->prng));
}

static void fail(struct nvml_process *process, const struct error *why)
{
	LOG_ERROR("Process for NVML failed", LOG_I64("pid", process->pid), LOG_ERROR_FIELD(why));
	process->is_hanging = false;
	process->is_on_trial = true;
	process->stuck = (struct nvml_call_seen){0};
	restart_later(process);
	tell_trouble(process, NVML_PROCESS_FAILED, why);
}

/* Requests and answers. */

static void send_request(struct nvml_process *process)
{
	CLEANUP(sbuf_deinit) struct sbuf frame;
	struct error err;
	sbuf_init(&frame, NVML_FRAME_HEAD + 1);
	size_t begin = nvml_frame_begin(&frame);
	sbuf_append_char(&frame, (char)process->asked);
	nvml_frame_end(&frame, begin);
	/* A byte too few would mean a child that has not read for thousands of requests: none is. */
	if (sbuf_check(&frame, "request", &err) == 0 &&
	    send(process->fd, frame.ptr, frame.len, MSG_NOSIGNAL) == (ssize_t)frame.len)
		return;
	error_set(&err, ERROR_RETRY, errno, "the process that calls NVML takes no request");
	fail(process, &err);
}

static unsigned first_of(unsigned wanted)
{
	return wanted & NVML_CHILD_READING       ? NVML_CHILD_READING
	       : wanted & NVML_CHILD_UTILIZATION ? NVML_CHILD_UTILIZATION
						 : NVML_CHILD_EVENTS;
}

static void pump(struct nvml_process *process)
{
	if (process->fd < 0 || process->asked || !process->wanted)
		return;
	process->asked = first_of(process->wanted);
	/* Each brings what those after it do. */
	process->wanted = 0;
	process->is_late = false;
	process->asked_at = loop_now_ms(process->loop);
	process->asked_wall = clock_wall_ms();
	process->asked_boot = clock_boot_ms();
	process->n_requests++;
	loop_timer_set(process->deadline, process->config.timeout_ms);
	send_request(process);
}

static int decode(const struct nvml_process *process, struct view body, struct arena *arena,
		  struct report *ret_reading, struct error *err)
{
	if (!process->asked)
		return error_set(err, ERROR_REJECTED, 0, "an answer without a request");
	if (report_doc_decode_reading(body, arena, ret_reading, err) < 0)
		return -1;
	if (ret_reading->sequence != process->n_requests)
		return error_set(err, ERROR_REJECTED, 0, "the answer to another request");
	bool is_reading = ret_reading->sources.nvml.state != REPORT_SOURCE_UNKNOWN;
	if (is_reading != (process->asked == NVML_CHILD_READING))
		return error_set(err, ERROR_REJECTED, 0, "another answer than was asked for");
	return 0;
}

static uint32_t longest_ms(const struct nvml_process *process)
{
	return process->config.longest_ms ? process->config.longest_ms : NVML_PROCESS_LONGEST_MS;
}

static uint32_t trial_ms(const struct nvml_process *process)
{
	return process->config.trial_ms ? process->config.trial_ms : NVML_PROCESS_TRIAL_MS;
}

/*
 * A driver that is always late hangs once, and not anew with each reading. One good reading shows little:
 * a driver may break the next call of each new child.
 */
static void note_success(struct nvml_process *process)
{
	const uint64_t now = loop_now_ms(process->loop);
	if (process->is_late)
		return;
	if (process->is_hanging)
		LOG_INFO("NVML answers again", LOG_I64("pid", process->pid));
	process->is_hanging = false;
	process->stuck = (struct nvml_call_seen){0};
	if (process->good_since == 0)
		process->good_since = now;
	if (now - process->good_since >= trial_ms(process))
		process->is_on_trial = false;
	if (now - process->good_since >= longest_ms(process))
		backoff_reset(&process->backoff);
}

/* A trial need not wait for the next sample: a look that was in time may end it. */
static void end_trial(struct nvml_process *process)
{
	const uint64_t now = loop_now_ms(process->loop);
	if (process->is_on_trial && process->good_since > 0 &&
	    now - process->good_since >= trial_ms(process))
		process->wanted |= NVML_CHILD_READING;
}

static void take(struct nvml_process *process, struct view body)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct error err;
	struct nvml_process_answer answer = {
		.outcome = process->asked == NVML_CHILD_READING ? NVML_PROCESS_READING
								: NVML_PROCESS_EVENTS,
		.arena = &arena,
		.asked_wall = process->asked_wall,
		.asked_boot = process->asked_boot,
	};
	arena_init(&arena, LIMIT_READING_ARENA);
	if (decode(process, body, &arena, &answer.reading, &err) < 0) {
		error_wrap(&err, "the process that calls NVML talks nonsense");
		fail(process, &err);
		return;
	}
	/* What came before the answer is told before it. */
	tell_errors(process);
	sbuf_deinit(&process->in);
	loop_timer_clear(process->deadline);
	process->asked = 0;
	process->events_since = (struct wall_time){answer.reading.events_since,
						   answer.reading.events_since_uptime_ms};
	if (answer.outcome == NVML_PROCESS_READING)
		note_success(process);
	else
		end_trial(process);
	answer.is_doubtful = process->is_late || process->is_on_trial;
	if (answer.reading.events.count == LIMIT_REPORT_EVENTS)
		process->wanted |= NVML_CHILD_EVENTS;
	process->answered(process->owner, &answer);
	pump(process);
}

/* Looks whether an answer is there as a whole. One request has one answer. */
static void look(struct nvml_process *process)
{
	struct view body;
	struct error err;
	bool is_whole;
	if (nvml_frame_next(sbuf_view(&process->in), &is_whole, &body, &err) < 0 ||
	    (is_whole && process->in.len > NVML_FRAME_HEAD + body.len &&
	     error_set(&err, ERROR_REJECTED, 0, "more than one answer") < 0)) {
		error_wrap(&err, "the process that calls NVML talks nonsense");
		fail(process, &err);
		return;
	}
	if (is_whole)
		take(process, body);
}

static void on_readable(void *owner, bool readable, bool writable)
{
	struct nvml_process *process = owner;
	struct error err;
	(void)readable, (void)writable;
	char *room = sbuf_reserve(&process->in, PIECE);
	if (!room) {
		error_no_memory(&err);
		fail(process, &err);
		return;
	}
	ssize_t n = recv(process->fd, room, PIECE, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		error_set(&err, ERROR_RETRY, n < 0 ? errno : 0, "the process that calls NVML ended");
		fail(process, &err);
		return;
	}
	sbuf_commit(&process->in, (size_t)n);
	look(process);
}

static void on_notice(void *owner, bool readable, bool writable)
{
	struct nvml_process *process = owner;
	uint64_t count;
	(void)readable, (void)writable;
	if (read(process->notice, &count, sizeof(count)) < 0)
		return;
	loop_watch_free(process->notice_watch);
	process->notice_watch = NULL;
	loop_timer_set(process->notice_later, NVML_PROCESS_NOTICE_MS);
	tell_errors(process);
	/* The notice may be of something else, which the child must be asked for. */
	process->wanted |= NVML_CHILD_EVENTS;
	pump(process);
}

static int watch_notice(struct nvml_process *process, struct error *err)
{
	return loop_watch_new(process->loop, process->notice, LOOP_READ, on_notice, process,
			      &process->notice_watch, err);
}

static void on_notice_later(void *owner)
{
	struct nvml_process *process = owner;
	struct error err;
	if (watch_notice(process, &err) < 0)
		loop_timer_set(process->notice_later, NVML_PROCESS_NOTICE_MS);
}

/* The beginning of a child. */

static _Noreturn void live(struct nvml_process *process, const struct nvml_child_ends *ends)
{
	process->config.system->run(ends, &process->config.child);
	_exit(EXIT_SUCCESS);
}

static int fork_child(struct nvml_process *process, int own, int its, struct error *err)
{
	process->fd = own;
	if (fcntl(own, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, ERROR_RETRY, errno, "fcntl");
	process->notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (process->notice < 0)
		return error_set(err, ERROR_RETRY, errno, "eventfd");
	if (loop_watch_new(process->loop, own, LOOP_READ, on_readable, process, &process->watch,
			   err) < 0 ||
	    watch_notice(process, err) < 0)
		return -1;
	process->call = nvml_call_new();
	process->taken = (struct nvml_ring_reader){0};
	process->ring = nvml_ring_new();
	if (!process->ring)
		return error_no_memory(err);
	const struct nvml_child_ends ends = {its, process->notice, process->call, process->ring, getpid()};
	pid_t pid = fork();
	if (pid == 0)
		live(process, &ends);
	if (pid < 0)
		return error_set(err, ERROR_RETRY, errno, "fork");
	process->pid = pid;
	process->n_started++;
	return 0;
}

static int start_child(struct nvml_process *process, struct error *err)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(err, ERROR_RETRY, errno, "socketpair");
	sbuf_init(&process->in, NVML_FRAME_BYTES + PIECE);
	process->n_requests = 0;
	int result = fork_child(process, ends[0], ends[1], err);
	close(ends[1]);
	return result < 0 ? error_wrap(err, "the process that calls NVML cannot be started") : 0;
}

static void on_restart(void *owner)
{
	struct nvml_process *process = owner;
	struct error err;
	reap(process);
	if (process->n_orphans == LIMIT_NVML_ORPHANS) {
		tell_hang(process);
		loop_timer_set(process->restart, backoff_next(&process->backoff, &process->prng));
		return;
	}
	if (start_child(process, &err) < 0) {
		fail(process, &err);
		return;
	}
	process->wanted |= NVML_CHILD_READING;
	pump(process);
}

/* A request is a hang first, and its child is ended much later: what it asks for may still come. */
static void on_deadline(void *owner)
{
	struct nvml_process *process = owner;
	const uint64_t age = loop_now_ms(process->loop) - process->asked_at;
	/*
	 * Only a reading ends the hang, so one must follow the answer. After a reading that is late itself the
	 * owner asks for it: a driver that is always late would be asked without a pause.
	 */
	if (process->asked != NVML_CHILD_READING)
		process->wanted |= NVML_CHILD_READING;
	process->is_late = true;
	reap(process);
	nvml_call_follow(process->call, process->config.timeout_ms, &process->stuck);
	tell_hang(process);
	if (age < longest_ms(process))
		loop_timer_set(process->deadline, longest_ms(process) - age);
	else
		restart_later(process);
}

bool nvml_process_ask(struct nvml_process *process, enum nvml_child_request request)
{
	reap(process);
	process->wanted |= request;
	if (process->pid > 0) {
		pump(process);
		return !process->is_hanging && process->pid > 0;
	}
	if (process->backoff.failures > 0)
		return false;
	/* The first child; from the loop, so that a failure is told later. */
	if (!loop_timer_is_set(process->restart))
		loop_timer_set(process->restart, 0);
	return true;
}

struct wall_time nvml_process_events_since(const struct nvml_process *process)
{
	return process->events_since;
}

static void freep(struct nvml_process **process)
{
	nvml_process_free(*process);
}

int nvml_process_new(struct loop *loop, const struct nvml_process_config *config,
		     nvml_process_fn answered, void *owner, struct nvml_process **ret_process,
		     struct error *err)
{
	CLEANUP(freep) struct nvml_process *process = calloc(1, sizeof(*process));
	if (!process)
		return error_no_memory(err);
	process->loop = loop;
	process->config = *config;
	if (!process->config.system)
		process->config.system = &real_system;
	process->answered = answered;
	process->owner = owner;
	process->fd = -1;
	process->notice = -1;
	prng_init(&process->prng, prng_entropy());
	backoff_init(&process->backoff, config->restart_ms ? config->restart_ms : RESTART_MS,
		     longest_ms(process));
	if (loop_timer_new(loop, on_deadline, process, &process->deadline, err) < 0 ||
	    loop_timer_new(loop, on_notice_later, process, &process->notice_later, err) < 0 ||
	    loop_timer_new(loop, on_restart, process, &process->restart, err) < 0)
		return -1;
	*ret_process = TAKE(process);
	return 0;
}

int64_t nvml_process_started(const struct nvml_process *process)
{
	return process->n_started;
}

int64_t nvml_process_left_behind(const struct nvml_process *process)
{
	return process->n_orphans;
}

/* Waits until the kernel has let all children go, or for as long as may be. */
static void await_end(struct nvml_process *process)
{
	const struct timespec step = {.tv_nsec = END_STEP_MS * 1000000L};
	reap(process);
	for (unsigned i = 0; i < END_STEPS && process->n_orphans > 0; i++) {
		nanosleep(&step, NULL);
		reap(process);
	}
	if (process->n_orphans > 0)
		LOG_WARN("Processes for NVML are left behind",
			 LOG_U64("count", process->n_orphans));
}

void nvml_process_free(struct nvml_process *process)
{
	if (!process)
		return;
	process->is_ending = true;
	give_up_child(process);
	await_end(process);
	loop_timer_free(process->restart);
	loop_timer_free(process->notice_later);
	loop_timer_free(process->deadline);
	free(process);
}
