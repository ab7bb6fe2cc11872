/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What memory does the controller take while nodes send as much as they may? A child process plays
 * hostile nodes, each with the report that is largest when it is decoded. What is refused they send again,
 * half as large. They also hold N_STALLED bodies and N_IDLE connections open. Between them N_HONEST nodes
 * send reports of a usual size, each time a new one. This process is the controller: the front's thread,
 * and a thread that keeps and joins what arrives. One join takes all that a join may.
 *
 *	memory_account_bench [--short] [LIMIT_MIB...]
 *
 * LIMIT_MIB is what --memory-limit says: each is tried in a process of its own, 256 as in the manifests
 * if there is none. --short: 36 hostile nodes and one round, not 200 and three. Fails when an honest report
 * was refused, when nothing was refused, or when a peak is above 70 % of its limit. With a limit of 65536
 * nothing is refused: that is how it was without an account.
 */

#include "lib/test_main.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "controller/front.h"
#include "controller/gather.h"
#include "controller/memory_limit.h"
#include "controller/shared_report.h"
#include "join/join.h"
#include "lib/http_client.h"
#include "lib/jwt.h"
#include "model/inventory.h"
#include "schema/attribution_doc.h"
#include "schema/token_review_doc.h"

#define N_HONEST 50u
#define N_IDLE 900u   /* connections, below what the least limit allows */
#define N_STALLED 36u /* bodies of the largest size, each by another node */
#define N_DEVICES 8u
#define N_PROCESSES 900u /* of each of 64 devices: about 800 KiB, 6 MiB when decoded */

static unsigned n_hostile = 200, n_rounds = 3;

/* What the child says in the end. */
struct outcome {
	unsigned accepted, refused; /* of hostile nodes */
	unsigned honest, honest_refused;
	unsigned idle;
};

static void begin_report(struct sbuf *buf, unsigned node, unsigned sequence)
{
	sbuf_clear(buf);
	sbuf_printf(buf,
		    "{\"version\":1,\"node\":\"node-%05u\",\"bootID\":\"b%u\",\"instance\":1,"
		    "\"sequence\":%u,\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{"
		    "\"podResources\":{\"state\":\"ok\"},\"checkpoint\":{\"state\":\"ok\"},"
		    "\"nvml\":{\"state\":\"ok\"},\"processes\":{\"state\":\"ok\"}},\"devices\":[",
		    node, node, sequence);
}

static void write_devices(struct sbuf *buf, unsigned n, unsigned n_processes, unsigned node,
			  unsigned sequence)
{
	for (unsigned d = 0; d < n; d++) {
		sbuf_printf(buf, "%s{\"uuid\":\"GPU-%08x-0000-4000-8000-%012x\",\"processes\":[",
			    d ? "," : "", node, d);
		for (unsigned i = 0; i < n_processes; i++)
			sbuf_printf(buf, "%s{\"pid\":%u}", i ? "," : "", i + sequence);
		sbuf_printf(buf, "]}");
	}
}

/* With the body, or with as much of it as there is: a body of `size` bytes is announced. */
static void write_request(struct sbuf *buf, struct view body, size_t size, unsigned node)
{
	char padding[1000], name[16], token[2048];
	memset(padding, 'p', sizeof(padding) - 1);
	padding[sizeof(padding) - 1] = '\0';
	memcpy(padding, name, (size_t)snprintf(name, sizeof(name), "node-%05u", node));
	jwt_make(&(struct jwt_claims){.audience = "aud", .account = "agent", .node = name}, padding,
		 token, sizeof(token));
	sbuf_clear(buf);
	sbuf_printf(buf, "POST /v1/report HTTP/1.1\r\nHost: 127.0.0.1:8443\r\nAuthorization: Bearer "
			 "%s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		    token, size);
	sbuf_append(buf, body);
}

/* The status of the answer, 0: none came. */
static int post(struct http_client *client, struct view body, unsigned node)
{
	static struct http_answer answer;
	CLEANUP(sbuf_deinit) struct sbuf request;

	sbuf_init(&request, 4 * LIMIT_MIB);
	write_request(&request, body, body.len, node);
	if (!http_client_send(client, sbuf_view(&request)) ||
	    !http_client_read(client, false, &answer))
		return 0;
	return answer.status;
}

/* A refusal of a body that was not let in ends the connection. */
static int post_anew(uint16_t port, struct view body, unsigned node)
{
	struct http_client *client = http_client_connect_tls(port, 0);
	int status = post(client, body, node);

	http_client_free(client);
	return status;
}

static void play_hostile(uint16_t port, unsigned node, unsigned round, struct sbuf *body,
			 struct outcome *outcome)
{
	for (unsigned n = N_PROCESSES; n > 1; n /= 2) {
		begin_report(body, node, round + 1);
		write_devices(body, LIMIT_REPORT_DEVICES, n, node, round + 1);
		sbuf_printf(body, "]}");
		if (post_anew(port, sbuf_view(body), node) == 200) {
			outcome->accepted++;
			return;
		}
		outcome->refused++;
	}
}

static void play_honest(uint16_t port, unsigned node, unsigned round, struct sbuf *body,
			struct outcome *outcome)
{
	begin_report(body, node, round + 1);
	write_devices(body, N_DEVICES, 8, node, round + 1);
	sbuf_printf(body, "],\"podResources\":[");
	for (unsigned d = 0; d < N_DEVICES; d++)
		sbuf_printf(body, "%s{\"namespace\":\"team\",\"name\":\"train-%u\",\"container\":\"c\","
				  "\"resource\":\"nvidia.com/gpu\",\"deviceIDs\":["
				  "\"GPU-%08x-0000-4000-8000-%012x\"]}",
			    d ? "," : "", d, node, d);
	sbuf_printf(body, "]}");
	outcome->honest++;
	outcome->honest_refused += post_anew(port, sbuf_view(body), node) != 200;
}

/* They stay open until the child ends. Each has shown a good token. */
static void open_idle(uint16_t port, struct sbuf *body, struct outcome *outcome)
{
	for (unsigned i = 0; i < N_IDLE; i++) {
		const unsigned node = n_hostile + N_HONEST + i % N_HONEST;
		struct http_client *client = http_client_connect_tls(port, 0);
		begin_report(body, node, i / N_HONEST + 1);
		sbuf_printf(body, "]}");
		const int status = client ? post(client, sbuf_view(body), node) : 0;
		outcome->idle += status == 200;
	}
}

/* All but the last byte of a body. Refused bodies end their connections. */
static void stall(uint16_t port, struct sbuf *body, struct http_client **clients)
{
	CLEANUP(sbuf_deinit) struct sbuf request;

	sbuf_init(&request, 4 * LIMIT_MIB);
	sbuf_clear(body);
	while (body->len < LIMIT_REPORT_BYTES - 1)
		sbuf_printf(body, " ");
	for (unsigned i = 0; i < N_STALLED; i++) {
		clients[i] = http_client_connect_tls(port, 0);
		write_request(&request, sbuf_view(body), LIMIT_REPORT_BYTES, i);
		(void)http_client_send(clients[i], sbuf_view(&request));
	}
}

static void play_round(uint16_t port, unsigned round, struct sbuf *body, struct outcome *outcome)
{
	struct http_client *stalled[N_STALLED];
	const unsigned all = n_hostile > N_HONEST ? n_hostile : N_HONEST;

	stall(port, body, stalled);
	for (unsigned i = 0; i < all; i++) {
		if (i < n_hostile)
			play_hostile(port, i, round, body, outcome);
		if (i % (all / N_HONEST) == 0)
			play_honest(port, n_hostile + i / (all / N_HONEST), round, body, outcome);
	}
	for (unsigned i = 0; i < N_STALLED; i++)
		http_client_free(stalled[i]);
}

static int play_agents(uint16_t port, int result_fd)
{
	CLEANUP(sbuf_deinit) struct sbuf body;
	struct outcome outcome = {0};

	sbuf_init(&body, 2 * LIMIT_MIB);
	open_idle(port, &body, &outcome);
	for (unsigned round = 0; round < n_rounds; round++)
		play_round(port, round, &body, &outcome);
	return write(result_fd, &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1;
}

/* The controller */

static struct front *front;
static struct inventory *inventory;
static struct arena join_arena;
static size_t join_cap;

static void answer_review(const struct front_message *message)
{
	struct error err;
	struct view audience = VIEW("aud");
	const struct token_review review = {
		.authenticated = true,
		.username = VIEW("system:serviceaccount:ns:agent"),
		.node_name = {message->text.ptr + message->text.len - 999, 10},
		.audiences = {.items = &audience, .count = 1, .present = true},
	};
	if (front_answer_review(front, message->ticket, &review, &err) != 0)
		abort();
}

static void join(struct view node)
{
	static const struct join_limits limits = {.report_stale_ms = 180000, .pending_ms = 60000,
						  .settling_ms = 300000, .node_gone_ms = 600000,
						  .agentless_ms = 130000, .disagreement_ms = 10000,
						  .user_grace_ms = 30000, .quiet_ms = 600000,
						  .hold_off_percent = 100};
	const struct inventory_parts parts = inventory_parts(inventory);
	struct join_input input;
	struct join_result result;
	struct error err;

	arena_reset(&join_arena);
	if (gather_node(&parts, node, clock_monotonic_ms(), &join_arena, &input, &err) < 0)
		abort();
	input.limits = &limits;
	input.now_wall_ms = clock_wall_ms();
	input.is_same = attribution_doc_is_same;
	if (join_node(&input, &join_arena, &result, &err) < 0 ||
	    inventory_node_state_keep_recall(inventory, node, &result.recall, clock_monotonic_ms(),
					     &err) < 0)
		abort();
}

/* As the worst join would. */
static void take_all_of_the_arena(void)
{
	const size_t size = 64 * LIMIT_KIB;

	arena_reset(&join_arena);
	for (size_t taken = 0; taken + 2 * size < join_cap; taken += size) {
		void *part = arena_alloc(&join_arena, 1, size);
		if (!part)
			return;
		memset(part, 1, size);
	}
}

static unsigned n_worst; /* reports of hostile nodes */

static void keep(struct shared_report *take_report)
{
	struct error err;

	if (inventory_node_state_put_report(inventory, &take_report->report, shared_report_unref,
					    take_report, clock_monotonic_ms(), &err) != 0)
		abort();
	join(take_report->report.node);
	if (take_report->report.devices.count == LIMIT_REPORT_DEVICES && n_worst++ % 64 == 0)
		take_all_of_the_arena();
}

static void take_messages(void)
{
	for (struct front_message *message = front_next(front); message;
	     message = front_next(front)) {
		if (message->kind == FRONT_REVIEW)
			answer_review(message);
		else if (message->kind == FRONT_REPORT)
			keep(TAKE(message->report));
		front_message_free(message);
	}
}

static void open_front(size_t limit)
{
	struct error err = {0};
	struct sbuf cert, key;
	sbuf_init(&cert, 65536);
	sbuf_init(&key, 65536);
	struct front_config config = front_config_default();
	config.refusal_delay_ms = 1; /* it is about memory */
	config.report_address = "127.0.0.1:0";
	config.probe_address = "127.0.0.1:0";
	config.reports_per_second = 100;
	config.reviews_per_second = 100000;
	config.memory_limit = limit;
	config.max_connections = memory_limit_connections(limit, 8192);
	config.max_connections_per_address = config.max_connections; /* all have one here */
	config.rules = (struct identity_rules){VIEW("aud"), VIEW("ns"), VIEW("agent")};
	const struct tls_certificate_request request = {
		.common_name = "bench", .now = time(NULL), .lifetime_s = 3600};
	const struct front_state state = {.heartbeat_s = 60, .leads = true};
	join_cap = memory_limit_join(limit);
	arena_init(&join_arena, join_cap);
	if (inventory_new(clock_monotonic_ms(), &inventory, &err) != 0 ||
	    front_new(&config, &front, &err) != 0 ||
	    tls_make_certificate(&request, &cert, &key, &err) != 0 ||
	    front_set_certificate(front, sbuf_view(&cert), sbuf_view(&key), &err) != 0 ||
	    front_publish(front, &state, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

static int judge(size_t limit, const struct outcome *outcome)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	const size_t peak = (size_t)usage.ru_maxrss * LIMIT_KIB, bar = limit / 10 * 7;
	const bool good = peak <= bar && outcome->honest_refused == 0 && outcome->refused > 0 &&
			  outcome->idle == N_IDLE;
	printf("limit_mib %zu nodes %u idle %u accepted %u refused %u honest %u honest_refused %u "
	       "peak_mib %zu bar_mib %zu peak_percent %zu %s\n",
	       limit / LIMIT_MIB, n_hostile, outcome->idle, outcome->accepted, outcome->refused,
	       outcome->honest, outcome->honest_refused, peak / LIMIT_MIB, bar / LIMIT_MIB,
	       peak * 100 / limit, good ? "ok" : "FAILED");
	return good ? 0 : 1;
}

static int try_limit(size_t limit)
{
	struct outcome outcome = {0};
	struct error err;
	int result[2];

	if (pipe(result) != 0)
		return 2;
	open_front(limit);
	pid_t child = fork();
	if (child == 0)
		_exit(play_agents(front_report_port(front), result[1]));
	close(result[1]);
	if (front_start(front, &err) != 0)
		return 1;
	struct pollfd fds[] = {{.fd = front_fd(front), .events = POLLIN},
			       {.fd = result[0], .events = POLLIN}};
	while (poll(fds, 2, -1) > 0 && !fds[1].revents)
		take_messages();
	if (read(result[0], &outcome, sizeof(outcome)) != sizeof(outcome) ||
	    waitpid(child, NULL, 0) != child)
		return 1;
	front_stop(front);
	inventory_free(inventory);
	front_free(front);
	arena_deinit(&join_arena);
	return judge(limit, &outcome);
}

/* In a process of its own, so that each has its own peak. */
static bool holds(const char *limit_mib)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0)
		exit(try_limit((size_t)atoi(limit_mib) * LIMIT_MIB));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	const bool is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
	bool good = true;

	if (is_short)
		n_hostile = 36;
	n_rounds = is_short ? 1 : n_rounds;
	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_ERROR);
	allow_files();
	if (argc == 1 + is_short)
		return holds("256") ? 0 : 1;
	for (int i = 1 + is_short; i < argc; i++)
		good = holds(argv[i]) && good;
	return good ? 0 : 1;
}
