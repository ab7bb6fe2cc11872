/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvml_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/nvml_frame.h"
#include "base/clock.h"
#include "base/log.h"
#include "schema/report_doc.h"

#define SOCKET_FD (STDERR_FILENO + 1)
#define NOTICE_FD (STDERR_FILENO + 2)
#define NAME "gpu-agent-nvml" /* the kernel keeps 15 bytes */

/* How many descriptors are closed one by one on kernels that cannot close all of them at once. */
#define DESCRIPTORS_MAX 1024

int nvml_child_init(struct nvml_child *child, const struct nvml_child_config *config,
		    struct error *err)
{
	*child = (struct nvml_child){0};
	if (nvml_new(config->library_name, &child->nvml, err) < 0)
		return -1;
	nvml_remember(child->nvml, *config->last);
	return 0;
}

void nvml_child_deinit(struct nvml_child *child)
{
	nvml_free(child->nvml);
	*child = (struct nvml_child){0};
}

struct events {
	struct nvml_event raw[LIMIT_REPORT_EVENTS];
	struct report_event items[LIMIT_REPORT_EVENTS];
};

/* Appends to what was read already. Mostly there is none, and no room is taken for any. */
static int read_events(struct nvml_child *child, struct arena *arena, struct events **events,
		       struct report *report, struct error *err)
{
	struct nvml_event event;
	uint32_t n = report->events.count;
	while (n < LIMIT_REPORT_EVENTS && nvml_next_event(child->nvml, &event)) {
		if (!*events)
			*events = arena_alloc(arena, 1, sizeof(**events));
		if (!*events)
			return error_no_memory(err);
		(*events)->raw[n] = event;
		n += nvml_event_describe(&(*events)->raw[n], n, &(*events)->items[n]);
	}
	report->events = (struct array){n > 0 ? (*events)->items : NULL, n, true};
	return 0;
}

static int read_devices(struct nvml_child *child, struct arena *arena, struct report *report,
			struct error *err)
{
	const struct wall_time now = {clock_wall_ms(), (int64_t)clock_boot_ms()};
	struct nvml_reading reading;
	if (nvml_read(child->nvml, now, arena, &reading, err) < 0)
		return -1;
	report->sources.nvml = reading.source;
	report->driver_version = reading.driver_version;
	report->cuda_version = reading.cuda_version;
	report->devices = reading.devices;
	return 0;
}

/* What began to be watched during a reading was watched at its end. */
static void date_watch(struct nvml_child *child)
{
	const uint64_t watch = nvml_watch(child->nvml);
	const int64_t wall = clock_wall_ms();
	const uint64_t boot = clock_boot_ms();
	if (watch != child->watch)
		child->events_since = watch ? wall_time_of(wall, wall, boot) : (struct wall_time){0};
	child->watch = watch;
	wall_time_follow(&child->events_since, wall, boot);
}

static int encode(const struct report *report, struct sbuf *out, struct error *err)
{
	size_t begin = out->len;
	report_doc_encode_reading(report, out);
	if (out->failure != ERROR_LIMIT)
		return sbuf_check(out, "reading", err);
	const struct report too_long = {
		.sequence = report->sequence,
		.events = report->events,
		.has_new_state = report->has_new_state,
		.events_since = report->events_since,
		.events_since_uptime_ms = report->events_since_uptime_ms,
		.sources.nvml = {.state = REPORT_SOURCE_ERROR,
				 .message = VIEW("the driver lists more than can be read")},
	};
	out->failure = ERROR_NONE;
	sbuf_truncate(out, begin);
	report_doc_encode_reading(&too_long, out);
	return sbuf_check(out, "reading", err);
}

int nvml_child_answer(struct nvml_child *child, enum nvml_child_request request, struct sbuf *out,
		      struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct report report = {.sequence = ++child->n_requests};
	struct events *events = NULL;
	arena_init(&arena, LIMIT_READING_ARENA);
	if (request == NVML_CHILD_READING) {
		/* A driver in trouble is closed by the reading, and what it had not told is gone. */
		if (read_events(child, &arena, &events, &report, err) < 0)
			return -1;
		/* This reading has it. */
		(void)nvml_take_new_state(child->nvml);
		if (read_devices(child, &arena, &report, err) < 0)
			return -1;
		date_watch(child);
	}
	if (request == NVML_CHILD_UTILIZATION)
		nvml_sample(child->nvml);
	if (read_events(child, &arena, &events, &report, err) < 0)
		return -1;
	date_watch(child);
	report.has_new_state = nvml_take_new_state(child->nvml);
	report.events_since = child->events_since.told;
	report.events_since_uptime_ms = child->events_since.boot_ms;
	return encode(&report, out, err);
}

/* The process. */

static void close_others(int first)
{
	if (close_range((unsigned)first, UINT_MAX, 0) == 0)
		return;
	for (int fd = first; fd < DESCRIPTORS_MAX; fd++)
		close(fd);
}

static void forget_signals(void)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCHLD};
	sigset_t none;
	sigemptyset(&none);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		signal(numbers[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Either may have the other's number. */
static bool place_descriptors(const struct nvml_child_ends *ends)
{
	int socket = fcntl(ends->socket, F_DUPFD, NOTICE_FD + 1);
	int notice = fcntl(ends->notice, F_DUPFD, NOTICE_FD + 1);
	if (socket < 0 || notice < 0 || dup2(socket, SOCKET_FD) < 0 || dup2(notice, NOTICE_FD) < 0)
		return false;
	close_others(NOTICE_FD + 1);
	return true;
}

/* False when nobody waits for this process any more. */
static bool settle(const struct nvml_child_ends *ends)
{
	forget_signals();
	prctl(PR_SET_NAME, NAME);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != ends->parent)
		return false;
	return place_descriptors(ends);
}

/* The counter cannot be full: the parent empties it. */
static void give_notice(void *owner)
{
	const uint64_t one = 1;
	(void)owner;
	(void)!write(NOTICE_FD, &one, sizeof(one));
}

/* Waits for a request. False: the other end is closed, or says what is none. */
static bool receive(enum nvml_child_request *ret_request)
{
	char frame[NVML_FRAME_HEAD + 1];
	struct view body;
	struct error err;
	bool is_whole;
	ssize_t n;
	do
		n = recv(SOCKET_FD, frame, sizeof(frame), MSG_WAITALL);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(frame) ||
	    nvml_frame_next((struct view){frame, sizeof(frame)}, &is_whole, &body, &err) < 0 ||
	    !is_whole)
		return false;
	*ret_request = (enum nvml_child_request)body.ptr[0];
	return true;
}

static bool say(struct view bytes)
{
	while (bytes.len > 0) {
		ssize_t n = send(SOCKET_FD, bytes.ptr, bytes.len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes = view_from_offset(bytes, (size_t)n);
	}
	return true;
}

static int serve(struct nvml_child *child, struct error *err)
{
	enum nvml_child_request request;
	while (receive(&request)) {
		CLEANUP(sbuf_deinit) struct sbuf out;
		sbuf_init(&out, NVML_FRAME_BYTES);
		size_t begin = nvml_frame_begin(&out);
		if (nvml_child_answer(child, request, &out, err) < 0)
			return -1;
		nvml_frame_end(&out, begin);
		if (!say(sbuf_view(&out)))
			return 0;
	}
	return 0;
}

static int begin(struct nvml_child *child, const struct nvml_child_ends *ends,
		 const struct nvml_child_config *config, struct error *err)
{
	const struct nvml_waiter_config waiter = {
		.wait_ms = config->wait_ms ? config->wait_ms : NVML_CHILD_WAIT_MS,
		.ring = ends->ring,
		.told = give_notice,
	};
	struct nvml_waiter *events;
	/* What the thread allocates needs no heap of its own. */
	mallopt(M_ARENA_MAX, 1);
	if (nvml_child_init(child, config, err) < 0 || nvml_waiter_new(&waiter, &events, err) < 0)
		return -1;
	nvml_wait_with(child->nvml, events);
	nvml_announce(child->nvml, ends->call);
	return 0;
}

void nvml_child_run(const struct nvml_child_ends *ends, const struct nvml_child_config *config)
{
	struct nvml_child child;
	struct error err;
	if (!settle(ends))
		_exit(EXIT_FAILURE);
	if (begin(&child, ends, config, &err) < 0 || serve(&child, &err) < 0) {
		LOG_ERROR("Process for NVML stopped after an error", LOG_ERROR_FIELD(&err));
		_exit(EXIT_FAILURE);
	}
	_exit(EXIT_SUCCESS);
}
