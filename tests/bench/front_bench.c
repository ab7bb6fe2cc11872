/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What does an unchanged report cost the controller? A child process plays the agents of N_NODES
 * nodes over kept TLS connections. CPU time is that of this process: the front's thread, and a
 * thread that empties its queue as the loop would.
 *
 *	front_bench [SECONDS [CONNECTIONS [FIGURES]]]
 *
 * With 0 connections each report comes over a new one. With FIGURES 1 each has another temperature of
 * each device, as heartbeats have.
 */

#include "lib/test_main.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "controller/front.h"
#include "lib/http_client.h"
#include "lib/jwt.h"
#include "schema/token_review_doc.h"

#define N_NODES 125
#define N_DEVICES 8
#define MAX_CONNECTIONS 64
#define FIRST_SEQUENCE INT64_C(1700000000000)

static double cpu_seconds(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* About 6 KiB, members in alphabetical order. */
static void write_report(struct sbuf *buf, int node, int64_t sequence)
{
	sbuf_clear(buf);
	sbuf_printf(buf, "{\"agentVersion\":\"load\",\"allocatable\":[{\"deviceIDs\":[");
	for (int i = 0; i < N_DEVICES; i++)
		sbuf_printf(buf, "%s\"GPU-%08x-0000-4000-8000-%012x\"", i ? "," : "", node, i);
	sbuf_printf(buf, "],\"resource\":\"nvidia.com/gpu\"}],\"bootID\":"
			 "\"b0075eed-0000-4000-8000-%012x\",\"checkpoint\":{\"entries\":[", node);
	for (int i = 0; i < N_DEVICES; i++)
		sbuf_printf(buf, "%s{\"container\":\"main\",\"deviceIDs\":[\"GPU-%08x-0000-4000-8000-"
				 "%012x\"],\"mps\":false,\"podUID\":\"00d76c9e-1c16-46f0-9aee-%012x\","
				 "\"resource\":\"nvidia.com/gpu\"}", i ? "," : "", node, i, node * 8 + i);
	sbuf_printf(buf, "]},\"cudaVersion\":\"13.0\",\"devices\":[");
	for (int i = 0; i < N_DEVICES; i++)
		sbuf_printf(buf, "%s{\"computeCapability\":\"9.0\",\"computeMode\":\"Default\","
				 "\"index\":%d,\"memoryMiB\":81920,\"mig\":{\"current\":false,"
				 "\"pending\":false},\"figures\":{\"memoryUsedMiB\":4711,"
				 "\"powerMilliwatts\":254321,\"temperatureCelsius\":10},"
				 "\"minor\":%d,\"model\":\"NVIDIA H100 80GB HBM3\","
				 "\"partitions\":[],\"pciBusID\":\"00000000:%02X:00.0\",\"processes\":[],"
				 "\"serial\":\"16500230%05d\",\"uuid\":\"GPU-%08x-0000-4000-8000-%012x\"}",
			    i ? "," : "", i, i, 16 + i, i, node, i);
	sbuf_printf(buf, "],\"driverVersion\":\"580.82.07\",\"events\":[],\"instance\":60000,"
			 "\"node\":\"node-%05d\",\"observedAt\":\"2026-01-02T03:04:05.000Z\","
			 "\"podResources\":[", node);
	for (int i = 0; i < N_DEVICES; i++)
		sbuf_printf(buf, "%s{\"container\":\"main\",\"deviceIDs\":[\"GPU-%08x-0000-4000-8000-"
				 "%012x\"],\"name\":\"train-%05d-%d\",\"namespace\":\"team-%02d\","
				 "\"resource\":\"nvidia.com/gpu\"}", i ? "," : "", node, i, node, i, i);
	sbuf_printf(buf, "],\"sequence\":%lld,\"sources\":{\"checkpoint\":{\"observedAt\":"
			 "\"2026-01-02T03:04:05.000Z\",\"state\":\"ok\"},\"nvml\":{\"observedAt\":"
			 "\"2026-01-02T03:04:05.000Z\",\"state\":\"ok\"},\"podResources\":{\"observedAt\":"
			 "\"2026-01-02T03:04:05.000Z\",\"state\":\"ok\"}},\"version\":1}",
		    (long long)sequence);
}

/* A request as an agent sends it; the token is as long as a service account's. */
static void write_request(struct sbuf *buf, struct view body, int node)
{
	char padding[1000], name[16], token[2048];
	memset(padding, 'p', sizeof(padding) - 1);
	padding[sizeof(padding) - 1] = '\0';
	memcpy(padding, name, (size_t)snprintf(name, sizeof(name), "node-%05d", node));
	jwt_make(&(struct jwt_claims){.audience = "aud", .account = "agent", .node = name}, padding,
		 token, sizeof(token));
	sbuf_clear(buf);
	sbuf_printf(buf, "POST /v1/report HTTP/1.1\r\nHost: 127.0.0.1:8443\r\nAuthorization: Bearer "
			 "%s\r\nContent-Type: application/json\r\n"
			 "Content-Length: %zu\r\n\r\n",
		    token, body.len);
	sbuf_append(buf, body);
}

/* Two digits, of all devices. */
static void set_temperature(struct sbuf *request, int64_t sequence)
{
	char *end = request->ptr + request->len;
	for (char *at = request->ptr; (at = memmem(at, (size_t)(end - at), "Celsius\":", 9)); at += 9) {
		at[9] = (char)('1' + sequence / 10 % 9);
		at[10] = (char)('0' + sequence % 10);
	}
}

static int play_agents(uint16_t port, int seconds, int n_connections, bool with_figures,
		       int result_fd)
{
	static struct http_client *clients[MAX_CONNECTIONS];
	static struct sbuf requests[N_NODES];
	static struct http_answer answer;
	struct sbuf body;
	uint64_t n = 0;
	sbuf_init(&body, 1 << 20);
	for (int i = 0; i < n_connections; i++)
		clients[i] = http_client_connect_tls(port, 0);
	uint64_t end = clock_monotonic_ms() + (uint64_t)seconds * 1000;
	int64_t sequence = FIRST_SEQUENCE;
	for (bool first = true; first || clock_monotonic_ms() < end; first = false, sequence++) {
		for (int node = 0; node < N_NODES; node++) {
			struct http_client *client =
				n_connections ? clients[node % n_connections]
					      : http_client_connect_tls(port, 0);
			if (first) {
				sbuf_init(&requests[node], 1 << 20);
				write_report(&body, node, sequence);
				write_request(&requests[node], sbuf_view(&body), node);
			}
			char digits[32];
			snprintf(digits, sizeof(digits), "%lld", (long long)sequence);
			char *at = memmem(requests[node].ptr, requests[node].len, "\"sequence\":", 11);
			memcpy(at + 11, digits, 13);
			if (with_figures)
				set_temperature(&requests[node], sequence);
			if (!http_client_send(client, sbuf_view(&requests[node])) ||
			    !http_client_read(client, false, &answer) || answer.status != 200) {
				fprintf(stderr, "node %d: %d %s\n", node, answer.status, answer.body);
				return 1;
			}
			n++;
			if (n_connections == 0)
				http_client_free(client);
		}
	}
	return write(result_fd, &n, sizeof(n)) == sizeof(n) ? 0 : 1;
}

static struct front *front;

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

static void *run_loop(void *owner)
{
	unsigned long *n_messages = owner;
	struct pollfd readable = {.fd = front_fd(front), .events = POLLIN};
	while (poll(&readable, 1, 1000) >= 0) {
		for (struct front_message *message = front_next(front); message;
		     message = front_next(front)) {
			if (message->kind == FRONT_REVIEW)
				answer_review(message);
			__atomic_fetch_add(&n_messages[message->kind], 1, __ATOMIC_RELAXED);
			front_message_free(message);
		}
	}
	return NULL;
}

static long resident_kib(void)
{
	long pages = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (file) {
		if (fscanf(file, "%ld %ld", &pages, &resident) != 2)
			resident = 0;
		fclose(file);
	}
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void open_front(void)
{
	struct error err = {0};
	struct sbuf cert, key;
	sbuf_init(&cert, 65536);
	sbuf_init(&key, 65536);
	struct front_config config = front_config_default();
	config.report_address = "127.0.0.1:0";
	config.probe_address = "127.0.0.1:0";
	config.reports_per_second = 100000;
	config.reviews_per_second = 100000; /* all nodes have one address here */
	config.refresh_ms = 0; /* each is passed on, as in a cluster, where they are a minute apart */
	config.rules = (struct identity_rules){VIEW("aud"), VIEW("ns"), VIEW("agent")};
	const struct tls_certificate_request request = {
		.common_name = "bench", .now = time(NULL), .lifetime_s = 3600};
	const struct front_state state = {.heartbeat_s = 60, .leads = true};
	if (front_new(&config, &front, &err) != 0 ||
	    tls_make_certificate(&request, &cert, &key, &err) != 0 ||
	    front_set_certificate(front, sbuf_view(&cert), sbuf_view(&key), &err) != 0 ||
	    front_publish(front, &state, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 5;
	int n_connections = argc > 2 ? atoi(argv[2]) : 8;
	bool with_figures = argc > 3 && atoi(argv[3]) != 0;
	static unsigned long n_messages[FRONT_SCRAPE + 1];
	struct error err;
	uint64_t n = 0;
	int result[2], status;
	pthread_t loop;
	signal(SIGPIPE, SIG_IGN);
	if (n_connections < 0 || n_connections > MAX_CONNECTIONS || pipe(result) != 0)
		return 2;
	open_front();
	pid_t child = fork();
	if (child == 0) {
		usleep(200000); /* until the thread below runs; a connection would wait anyway */
		_exit(play_agents(front_report_port(front), seconds, n_connections, with_figures,
				  result[1]));
	}
	close(result[1]); /* the child may end without a result */
	if (front_start(front, &err) != 0 || pthread_create(&loop, NULL, run_loop, n_messages) != 0)
		return 1;
	long before_kib = resident_kib();
	double before = cpu_seconds();
	if (read(result[0], &n, sizeof(n)) != sizeof(n) || n == 0)
		return 1;
	double spent = cpu_seconds() - before;
	struct sbuf body;
	sbuf_init(&body, 1 << 20);
	write_report(&body, 0, FIRST_SEQUENCE);
	printf("body_bytes %zu connections %d figures %d reports %llu per_second %.0f cpu_us_per_report %.2f "
	       "reviews %lu whole %lu refreshes %lu rss_kib %ld grown_kib %ld\n",
	       body.len, n_connections, with_figures, (unsigned long long)n, (double)n / seconds,
	       spent / (double)n * 1e6, n_messages[FRONT_REVIEW], n_messages[FRONT_REPORT],
	       n_messages[FRONT_REFRESH], resident_kib(), resident_kib() - before_kib);
	return waitpid(child, &status, 0) == child ? status : 1;
}
