/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What does io/server cost, compared with libevent's evhttp? Each serves the same route in a
 * process of its own, on one processor; this process plays the agents on another. The kinds take
 * turns, and the ratio is that of one round. CPU time is that of the serving process.
 *
 *	server_bench [ROUNDS [REPORTS]]
 *
 * kept: reports over connections that are kept. new: each over a new one, a quarter as many.
 */

#include "lib/test_main.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/http_client.h"
#include "lib/served.h"

#define REPORT_BYTES (15u * 1024)
#define N_KEPT 16
#define MAX_ROUNDS 101
#define MAX_CONNECTIONS 1000

static const struct server_config config = {
	.max_body = 1024 * 1024,
	.max_connections = MAX_CONNECTIONS,
	.max_connections_per_address = MAX_CONNECTIONS,
	.handshake_timeout_ms = 60000,
	.head_timeout_ms = 60000,
	.body_timeout_ms = 60000,
	.write_timeout_ms = 60000,
	.idle_timeout_ms = 60000,
};

static struct sbuf report; /* a request as an agent sends it */

static void make_report(void)
{
	char fill[REPORT_BYTES];
	memset(fill, 'r', sizeof(fill));
	sbuf_init(&report, 65536);
	sbuf_printf(&report, "POST /v1/report HTTP/1.1\r\nHost: controller.ns.svc:8443\r\n"
			     "Authorization: %s.%.*s\r\nContent-Type: application/json\r\n"
			     "Content-Length: %u\r\n\r\n", SERVED_TOKEN, 1000, fill, REPORT_BYTES);
	sbuf_append(&report, (struct view){fill, sizeof(fill)});
}

static void send_report(struct http_client *client)
{
	static struct http_answer answer;
	if (!client || !http_client_send(client, sbuf_view(&report)) ||
	    !http_client_read(client, false, &answer) || answer.status != 200)
		abort();
}

static void send_over_kept(const struct served *served, int n_reports)
{
	struct http_client *clients[N_KEPT];
	for (int i = 0; i < N_KEPT; i++)
		clients[i] = http_client_connect_tls(served->port, 0);
	for (int i = 0; i < n_reports; i++)
		send_report(clients[i % N_KEPT]);
	for (int i = 0; i < N_KEPT; i++)
		http_client_free(clients[i]);
}

static void send_over_new(const struct served *served, int n_reports)
{
	for (int i = 0; i < n_reports; i++) {
		struct http_client *client = http_client_connect_tls(served->port, 0);
		send_report(client);
		http_client_free(client);
	}
}

static double microseconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e6 +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* CPU time of the server for one report. */
static double cost(enum served_kind kind, void (*load)(const struct served *, int), int n_reports)
{
	struct rusage usage;
	const struct served served = served_start(kind, &config, 0, 0);
	load(&served, n_reports);
	if (!served_stop(&served, &usage))
		abort();
	return microseconds(&usage) / n_reports;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), compare);
	return values[n / 2];
}

static void compare_cost(const char *name, void (*load)(const struct served *, int), int n_rounds,
			 int n_reports)
{
	static double us[SERVED_N_KINDS][MAX_ROUNDS], ratio[SERVED_N_KINDS][MAX_ROUNDS];
	for (int round = 0; round < n_rounds; round++) {
		for (enum served_kind kind = 0; kind < SERVED_N_KINDS; kind++) {
			us[kind][round] = cost(kind, load, n_reports);
			ratio[kind][round] = us[kind][round] / us[SERVED_OURS][round];
		}
	}
	for (enum served_kind kind = 0; kind < SERVED_N_KINDS; kind++) {
		double us_median = median(us[kind], n_rounds);
		double ratio_median = median(ratio[kind], n_rounds);
		printf("%s %-14s rounds %d reports %d cpu_us_per_report %.1f ratio %.2f "
		       "(%.2f to %.2f)\n", name, served_name(kind), n_rounds, n_reports, us_median,
		       ratio_median, ratio[kind][0], ratio[kind][n_rounds - 1]);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	int n_rounds = argc > 1 ? atoi(argv[1]) : 11;
	int n_reports = argc > 2 ? atoi(argv[2]) : 2000;
	cpu_set_t second;
	if (n_rounds < 1 || n_rounds > MAX_ROUNDS || n_reports < 1)
		return 2;
	CPU_ZERO(&second);
	CPU_SET(1, &second);
	(void)sched_setaffinity(0, sizeof(second), &second); /* where there is one */
	signal(SIGPIPE, SIG_IGN);
	make_report();
	compare_cost("kept", send_over_kept, n_rounds, n_reports);
	compare_cost("new", send_over_new, n_rounds, n_reports / 4 + 1);
	return 0;
}
