/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sbuf.h"
#include "kubectl/kubectl_error.h"

#define PIECE 65536u
#define FORWARD_CAP (2u * PIECE)

struct run {
	pid_t pid;
	int out; /* our ends of the pipes, -1 when closed */
	int err;
	child_take_fn take;
	void *context;
	struct kubectl_error *said;
	struct sbuf piece;
	struct sbuf forward;
};

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int spawn(const char *const *argv, const int out[2], const int said[2], pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int failed = posix_spawn_file_actions_init(&actions);
	if (failed)
		return failed;
	failed = posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	if (!failed)
		failed = posix_spawn_file_actions_adddup2(&actions, said[1], STDERR_FILENO);
	if (!failed)
		failed = posix_spawnp(ret_pid, argv[0], &actions, NULL, (char *const *)argv,
				      environ);
	posix_spawn_file_actions_destroy(&actions);
	return failed;
}

static int start(struct run *run, const char *const *argv, struct error *err)
{
	int out[2], said[2];
	if (pipe2(out, O_CLOEXEC) != 0)
		return error_set(err, ERROR_RETRY, errno, "pipe");
	run->out = out[0];
	if (pipe2(said, O_CLOEXEC) != 0) {
		close(out[1]);
		return error_set(err, ERROR_RETRY, errno, "pipe");
	}
	run->err = said[0];
	int failed = spawn(argv, out, said, &run->pid);
	close(out[1]);
	close(said[1]);
	if (failed == 0)
		return 0;
	return error_set(err, failed == ENOENT || failed == EACCES ? ERROR_NOT_FOUND : ERROR_RETRY,
			 failed, "%s", argv[0]);
}

/* Reads a piece from *fd, which is closed at the end. */
static int read_piece(struct run *run, int *fd, struct error *err)
{
	sbuf_clear(&run->piece);
	char *to = sbuf_reserve(&run->piece, PIECE);
	if (!to)
		return error_no_memory(err);
	ssize_t n = read(*fd, to, PIECE);
	if (n < 0 && errno == EINTR)
		return 0;
	if (n < 0)
		return error_set(err, ERROR_RETRY, errno, "read");
	if (n == 0)
		close_end(fd);
	sbuf_commit(&run->piece, (size_t)n);
	return 0;
}

/* Best effort: there is nobody to tell that standard error does not work. */
static void forward(struct run *run)
{
	struct view rest = sbuf_view(&run->forward);
	while (rest.len > 0) {
		ssize_t n = write(STDERR_FILENO, rest.ptr, rest.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		rest = view_from_offset(rest, (size_t)n);
	}
	sbuf_clear(&run->forward);
}

static int pump_out(struct run *run, struct error *err)
{
	if (read_piece(run, &run->out, err) != 0)
		return -1;
	return run->piece.len > 0 ? run->take(run->context, sbuf_view(&run->piece), err) : 0;
}

static int pump_err(struct run *run, struct error *err)
{
	if (read_piece(run, &run->err, err) != 0)
		return -1;
	kubectl_error_feed(run->said, sbuf_view(&run->piece), &run->forward);
	if (run->err < 0)
		kubectl_error_finish(run->said, &run->forward);
	forward(run);
	return 0;
}

static int pump(struct run *run, struct error *err)
{
	while (run->out >= 0 || run->err >= 0) {
		struct pollfd fds[] = {{.fd = run->out, .events = POLLIN},
				       {.fd = run->err, .events = POLLIN}};
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
			if (errno == EINTR)
				continue;
			return error_set(err, ERROR_RETRY, errno, "poll");
		}
		if (fds[1].revents && pump_err(run, err) != 0)
			return -1;
		if (fds[0].revents && pump_out(run, err) != 0)
			return -1;
	}
	return 0;
}

static int wait_for(pid_t pid, int *ret_status, struct error *err)
{
	int status;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return error_set(err, ERROR_RETRY, errno, "waitpid");
	}
	*ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return 0;
}

static int finish(struct run *run, int *ret_status, struct error *err)
{
	struct error second;
	int status;
	if (pump(run, err) == 0)
		return wait_for(run->pid, ret_status, err);
	kill(run->pid, SIGTERM);
	close_end(&run->out);
	close_end(&run->err);
	/* Why it was ended is what matters, not how. */
	return wait_for(run->pid, &status, &second) == 0 ? -1 : error_wrap(err, "%s", second.text);
}

int child_run(const char *const *argv, child_take_fn take, void *context,
	      struct kubectl_error *said, int *ret_status, struct error *err)
{
	struct run run = {.out = -1, .err = -1, .take = take, .context = context,
			  .said = said};
	sbuf_init(&run.piece, PIECE);
	sbuf_init(&run.forward, FORWARD_CAP);
	int result = start(&run, argv, err);
	if (result == 0)
		result = finish(&run, ret_status, err);
	close_end(&run.out);
	close_end(&run.err);
	sbuf_deinit(&run.piece);
	sbuf_deinit(&run.forward);
	return result;
}
