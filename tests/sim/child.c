/* SPDX-License-Identifier: Apache-2.0 */

/* A child answers when its parent reads: so its answer is made in its node's turn, all at once. */

#include "sim/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/nvml_child.h"
#include "agent/nvml_frame.h"
#include "agent/nvml_process.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/driver.h"
#include "sim/hang.h"
#include "sim/illness.h"
#include "sim/load.h"
#include "sim/unwatched.h"
#include "sim/world.h"

#define FIRST_FD (1 << 26) /* usage.c closes those */
#define FIRST_PID 20000
#define MAX_CHILDREN 64

struct child {
	struct nvml_child nvml;
	struct sbuf answer;
	size_t n_read;
	unsigned number; /* 0: there is none; of its ends and its PID */
	unsigned request; /* under way; 0: none */
	int node;
	bool is_there; /* it was forked */
	bool is_killed; /* and a driver holds it in the kernel */
};

/* Who asked for the children of a node's agent. */
struct parent {
	struct nvml_child_config config;
	nvml_process_fn answered;
	void *owner;
	int node;
};

static struct child children[MAX_CHILDREN];
static unsigned last_number;
static struct parent parents[WORLD_MAX_NODES];

static struct child *find(unsigned number)
{
	for (int i = 0; i < MAX_CHILDREN; i++)
		if (children[i].number == number)
			return &children[i];
	return NULL;
}

static struct child *find_by_fd(int fd)
{
	return fd >= FIRST_FD ? find((unsigned)(fd - FIRST_FD) / 2) : NULL;
}

static int fd_of(const struct child *child)
{
	return FIRST_FD + 2 * (int)child->number;
}

static void end_child(struct child *child)
{
	clockwork_actor = child->node;
	if (child->is_there) {
		nvml_child_deinit(&child->nvml);
		sbuf_deinit(&child->answer);
	}
	if (child->is_there || child->is_killed)
		unwatched_left(child->node);
	*child = (struct child){.number = 0};
}

void child_reset(void)
{
	last_number = 0;
}

void child_clear(void)
{
	for (int i = 0; i < MAX_CHILDREN; i++)
		end_child(&children[i]);
}

void child_answer(int node)
{
	for (int i = 0; i < MAX_CHILDREN; i++) {
		if (!children[i].number || children[i].node != node)
			continue;
		if (children[i].is_killed)
			end_child(&children[i]);
		else if (children[i].request)
			clockwork_wake(fd_of(&children[i]));
	}
}

void child_power_off(int node)
{
	for (int i = 0; i < MAX_CHILDREN; i++)
		if (children[i].number && children[i].node == node)
			end_child(&children[i]);
}

/* What is asked and answered */

static void on_answer(void *owner, const struct nvml_process_answer *answer)
{
	const struct parent *parent = owner;

	if (answer->outcome == NVML_PROCESS_HANGS || answer->outcome == NVML_PROCESS_FAILED)
		illness_unread(parent->node);
	parent->answered(parent->owner, answer);
}

int __real_nvml_process_new(struct loop *loop, const struct nvml_process_config *config,
			    nvml_process_fn answered, void *owner,
			    struct nvml_process **ret_process, struct error *err);
int __wrap_nvml_process_new(struct loop *loop, const struct nvml_process_config *config,
			    nvml_process_fn answered, void *owner,
			    struct nvml_process **ret_process, struct error *err);
int __wrap_nvml_process_new(struct loop *loop, const struct nvml_process_config *config,
			    nvml_process_fn answered, void *owner,
			    struct nvml_process **ret_process, struct error *err)
{
	struct parent *parent = &parents[clockwork_actor];
	int result;

	*parent = (struct parent){config->child, answered, owner, clockwork_actor};
	/* Its back-off is not drawn from what other histories draw from. */
	clockwork_set_entropy_apart(true);
	result = __real_nvml_process_new(loop, config, on_answer, parent, ret_process, err);
	clockwork_set_entropy_apart(false);
	return result;
}

static void tell(void *owner, uint64_t number)
{
	struct child *child = find((unsigned)number);

	(void)owner;
	if (child && child->request && !hang_is(child->node))
		clockwork_wake(fd_of(child));
}

static void take_request(struct child *child, const char *frame, size_t len)
{
	uint32_t call_ms = hang_call_ms(child->node);

	check(len == NVML_FRAME_HEAD + 1 && child->request == 0);
	child->request = (unsigned char)frame[NVML_FRAME_HEAD];
	if (call_ms > 0)
		clockwork_in(call_ms, tell, NULL, child->number);
	else
		tell(NULL, child->number);
}

static void answer(struct child *child)
{
	struct error err;
	size_t begin;

	sbuf_init(&child->answer, NVML_FRAME_BYTES);
	begin = nvml_frame_begin(&child->answer);
	check(nvml_child_answer(&child->nvml, (enum nvml_child_request)child->request,
				&child->answer, &err) == 0);
	nvml_frame_end(&child->answer, begin);
	child->request = 0;
	child->n_read = 0;
}

static size_t copy_answer(struct child *child, char *ret, size_t size)
{
	size_t left = child->answer.len - child->n_read;
	size_t n = left < size ? left : size;

	memcpy(ret, child->answer.ptr + child->n_read, n);
	child->n_read += n;
	if (n < left)
		clockwork_wake(fd_of(child));
	else
		sbuf_deinit(&child->answer);
	return n;
}

ssize_t __real_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags)
{
	struct child *child = find_by_fd(fd);

	if (!child)
		return __real_send(fd, bytes, n, flags);
	take_request(child, bytes, n);
	return (ssize_t)n;
}

ssize_t __real_recv(int fd, void *ret, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *ret, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *ret, size_t size, int flags)
{
	struct child *child = find_by_fd(fd);

	if (!child)
		return __real_recv(fd, ret, size, flags);
	if (child->request && !hang_is(child->node)) {
		if (hang_take_crash(child->node))
			return 0;
		answer(child);
	}
	if (child->answer.len > 0)
		return (ssize_t)copy_answer(child, ret, size);
	errno = EAGAIN;
	return -1;
}

/* Life and death */

int __wrap_socketpair(int domain, int type, int protocol, int ends[2]);
int __wrap_socketpair(int domain, int type, int protocol, int ends[2])
{
	struct child *child = find(0);

	(void)domain, (void)type, (void)protocol;
	check(child && clockwork_actor != CLOCKWORK_CONTROLLER);
	*child = (struct child){.number = ++last_number, .node = clockwork_actor};
	ends[0] = fd_of(child);
	ends[1] = fd_of(child) + 1;
	return 0;
}

int __real_fcntl(int fd, int command, int flags);
int __wrap_fcntl(int fd, int command, int flags);
int __wrap_fcntl(int fd, int command, int flags)
{
	return find_by_fd(fd) ? 0 : __real_fcntl(fd, command, flags);
}

/* Errors that wait are given notice of, by a number that stands for the eventfd. */

#define NOTICE_MS 1000u

static int notice_of(const struct child *child)
{
	return fd_of(child) + 1;
}

static void look_for_errors(void *owner, uint64_t number)
{
	const struct child *child = find((unsigned)number);

	(void)owner;
	if (!child || child->is_killed)
		return;
	if (!hang_is(child->node) && driver_has_errors(child->node))
		clockwork_wake(notice_of(child));
	clockwork_in(NOTICE_MS, look_for_errors, NULL, number);
}

int __wrap_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags)
{
	const struct child *child = find(last_number);

	(void)value, (void)flags;
	clockwork_in(NOTICE_MS, look_for_errors, NULL, child->number);
	return notice_of(child);
}

ssize_t __real_read(int fd, void *ret, size_t size);
ssize_t __wrap_read(int fd, void *ret, size_t size);
ssize_t __wrap_read(int fd, void *ret, size_t size)
{
	if (!find_by_fd(fd))
		return __real_read(fd, ret, size);
	memset(ret, 0, size);
	return (ssize_t)size;
}

/* Of the pair that was made last. */
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	struct child *child = find(last_number);
	struct error err;

	check(child && !child->is_there);
	check(nvml_child_init(&child->nvml, &parents[child->node].config, &err) == 0);
	child->is_there = true;
	return FIRST_PID + (pid_t)child->number;
}

/* What a driver had not told to a child that hangs is told to nobody. */
int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
	struct child *child = find((unsigned)(pid - FIRST_PID));

	check(child && number == SIGKILL);
	load_lost(child->node);
	if (child->request)
		driver_forget_errors(child->node);
	if (child->request && hang_is(child->node) && hang_holds(child->node)) {
		nvml_child_deinit(&child->nvml);
		child->is_there = false;
		child->is_killed = true;
		child->request = 0;
	} else {
		end_child(child);
	}
	return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *ret_status, int options);
pid_t __wrap_waitpid(pid_t pid, int *ret_status, int options)
{
	struct child *child = find((unsigned)(pid - FIRST_PID));

	(void)options;
	if (child && child->is_killed && hang_is(child->node))
		return 0;
	if (child)
		end_child(child);
	*ret_status = SIGKILL;
	return pid;
}

/* An agent that ends waits for its child, but no time passes here. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *ret_left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *ret_left)
{
	(void)time, (void)ret_left;
	return 0;
}
