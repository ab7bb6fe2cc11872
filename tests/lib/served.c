/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/served.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/evhttp_server.h"

static char large[SERVED_LARGE];

const char *served_name(enum served_kind kind)
{
	static const char *const names[] = {"io/server", "evhttp", "evhttp guarded"};
	return names[kind];
}

static bool is_allowed(const struct server_head *head)
{
	return view_starts_with(head->authorization, VIEW(SERVED_TOKEN));
}

static struct server_answer answer_request(const struct server_head *head, struct view body)
{
	(void)body;
	if (!is_allowed(head))
		return (struct server_answer){.status = 401, .content_type = "application/json",
					      .body = VIEW("{\"error\":\"token\"}")};
	if (view_equal(head->path, VIEW("/large")))
		return (struct server_answer){.status = 200, .content_type = "text/plain",
					      .body = {large, sizeof(large)}};
	return (struct server_answer){
		.status = 200,
		.content_type = "application/json",
		.body = VIEW("{\"heartbeatSeconds\":60,\"acknowledgedEvents\":0}"),
	};
}

static void on_head(void *owner, struct server_request *request, const struct server_head *head)
{
	(void)owner;
	const struct server_answer answer = answer_request(head, (struct view){0});
	if (is_allowed(head)) {
		(void)server_vouch(request, (struct view){0});
		server_proceed(request);
		return;
	}
	server_answer(request, &answer);
}

static void on_request(void *owner, struct server_request *request, const struct server_head *head,
		       struct view body)
{
	(void)owner;
	const struct server_answer answer = answer_request(head, body);
	server_answer(request, &answer);
}

static struct tls_identity *make_identity(void)
{
	struct error err = {0};
	struct sbuf cert, key;
	struct tls_identity *identity = NULL;
	const struct tls_certificate_request request = {
		.common_name = "served", .now = time(NULL), .lifetime_s = 3600};
	sbuf_init(&cert, 65536);
	sbuf_init(&key, 65536);
	if (tls_make_certificate(&request, &cert, &key, &err) != 0 ||
	    tls_identity_new(sbuf_view(&cert), sbuf_view(&key), &identity, &err) != 0)
		abort();
	sbuf_deinit(&cert);
	sbuf_deinit(&key);
	return identity;
}

static void serve(enum served_kind kind, const struct server_config *config, int port_fd)
{
	struct error err = {0};
	struct loop *loop = NULL;
	struct server *server = NULL;
	struct server_config with_tls = *config;
	const struct server_handler handler = {NULL, on_head, on_request, NULL};
	uint16_t port = 0;
	with_tls.address = "127.0.0.1:0";
	with_tls.tls = make_identity();
	if (loop_new(&loop, &err) != 0)
		abort();
	if (kind != SERVED_OURS)
		evhttp_server_start(loop, &with_tls, kind == SERVED_GUARDED, answer_request, &port);
	else if (server_new(loop, &with_tls, &handler, &server, &err) == 0)
		port = server_port(server);
	if (write(port_fd, &port, sizeof(port)) != sizeof(port) || loop_run(loop, &err) != 0)
		abort();
}

static void restrain(int cpu, rlim_t max_files)
{
	const struct rlimit files = {max_files, max_files};
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)(cpu < 0 ? 0 : cpu), &cpus);
	if ((cpu >= 0 && sched_setaffinity(0, sizeof(cpus), &cpus) != 0) ||
	    (max_files > 0 && setrlimit(RLIMIT_NOFILE, &files) != 0))
		abort();
}

struct served served_start(enum served_kind kind, const struct server_config *config, int cpu,
			   rlim_t max_files)
{
	struct served served = {0};
	int port[2];
	fflush(stdout);
	if (pipe(port) != 0)
		abort();
	served.pid = fork();
	if (served.pid == 0) {
		signal(SIGPIPE, SIG_IGN);
		malloc_trim(0); /* what this process once needed would hide what the server needs */
		restrain(cpu, max_files);
		close(port[0]);
		serve(kind, config, port[1]);
		_exit(0);
	}
	close(port[1]);
	if (served.pid < 0 || read(port[0], &served.port, sizeof(served.port)) !=
				      sizeof(served.port) || served.port == 0)
		abort();
	close(port[0]);
	return served;
}

static FILE *open_proc(const struct served *served, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", served->pid, name);
	return fopen(path, "re");
}

long served_kib(const struct served *served)
{
	long pages = 0;
	FILE *file = open_proc(served, "statm");
	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

long served_ticks(const struct served *served)
{
	long user = 0, system = 0;
	FILE *file = open_proc(served, "stat");
	if (!file || fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld",
			    &user, &system) != 2)
		user = system = 0;
	if (file)
		fclose(file);
	return user + system;
}

bool served_stop(const struct served *served, struct rusage *ret_usage)
{
	int status = 0;
	kill(served->pid, SIGTERM);
	if (wait4(served->pid, &status, 0, ret_usage) != served->pid)
		abort();
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}
