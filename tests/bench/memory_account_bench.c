/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What memory do reports take of nodes that send as much as they may? A child process plays N_HOSTILE
 * nodes, each with the report that is largest when it is decoded. What is refused they send again, half
 * as large. Between them N_HONEST nodes send reports of a usual size, each time a new one. This
 * process is the controller: the front's thread, and a thread that keeps and joins what arrives.
 *
 *	memory_account_bench [LIMIT_MIB]
 *
 * LIMIT_MIB is what --memory-limit says, 256 as in the manifests. Fails when an honest report was
 * refused, or when the peak is above 70 % of 256 MiB. With a limit of 65536 nothing is refused: that is
 * how it was without an account.
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

#define N_HOSTILE 200u
#define N_HONEST 50u
#define N_ROUNDS 3u
#define N_DEVICES 8u
#define N_PROCESSES 900u /* of each of 64 devices: about 800 KiB, 6 MiB when decoded */
#define CONTAINER_BYTES ((size_t)256 * LIMIT_MIB)
#define BAR (CONTAINER_BYTES / 10 * 7)

/* What the child says in the end. */
struct outcome {
	unsigned accepted, refused; /* of hostile nodes */
	unsigned honest, honest_refused;
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

static void write_request(struct sbuf *buf, struct view body, unsigned node)
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
		    token, body.len);
	sbuf_append(buf, body);
}

/* The status of the answer, 0: none came. */
static int post(struct http_client *client, struct view body, unsigned node)
{
	static struct http_answer answer;
	CLEANUP(sbuf_deinit) struct sbuf request;

	sbuf_init(&request, 4 * LIMIT_MIB);
	write_request(&request, body, node);
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

static int play_agents(uint16_t port, int result_fd)
{
	CLEANUP(sbuf_deinit) struct sbuf body;
	struct outcome outcome = {0};

	sbuf_init(&body, 2 * LIMIT_MIB);
	for (unsigned round = 0; round < N_ROUNDS; round++) {
		for (unsigned i = 0; i < N_HOSTILE; i++) {
			play_hostile(port, i, round, &body, &outcome);
			if (i % (N_HOSTILE / N_HONEST) == 0)
				play_honest(port, N_HOSTILE + i / (N_HOSTILE / N_HONEST), round,
					    &body, &outcome);
		}
	}
	return write(result_fd, &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1;
}

/* The controller */

static struct front *front;
static struct inventory *inventory;
static struct arena join_arena;

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
	    inventory_place_keep_recall(inventory, node, &result.recall, clock_monotonic_ms(),
					&err) < 0)
		abort();
}

static void keep(struct shared_report *take_report)
{
	struct error err;

	if (inventory_place_put_report(inventory, &take_report->report, shared_report_unref,
				       take_report, clock_monotonic_ms(), &err) != 0)
		abort();
	join(take_report->report.node);
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
	config.report_address = "127.0.0.1:0";
	config.probe_address = "127.0.0.1:0";
	config.reports_per_second = 100;
	config.reviews_per_second = 100000;
	config.memory_limit = limit;
	config.rules = (struct identity_rules){VIEW("aud"), VIEW("ns"), VIEW("agent")};
	const struct tls_certificate_request request = {
		.common_name = "bench", .now = time(NULL), .lifetime_s = 3600};
	const struct front_state state = {.heartbeat_s = 60, .leads = true};
	arena_init(&join_arena, memory_limit_join(limit));
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
	const size_t peak = (size_t)usage.ru_maxrss * LIMIT_KIB;
	printf("limit_mib %zu nodes %u accepted %u refused %u honest %u honest_refused %u peak_mib %zu "
	       "bar_mib %zu\n",
	       limit / LIMIT_MIB, N_HOSTILE, outcome->accepted, outcome->refused, outcome->honest,
	       outcome->honest_refused, peak / LIMIT_MIB, BAR / LIMIT_MIB);
	return peak > BAR || outcome->honest_refused > 0;
}

int main(int argc, char **argv)
{
	const size_t limit = argc > 1 ? (size_t)atoi(argv[1]) * LIMIT_MIB : CONTAINER_BYTES;
	struct outcome outcome = {0};
	struct error err;
	int result[2];

	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_ERROR);
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
