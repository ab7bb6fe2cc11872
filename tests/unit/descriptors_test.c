/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "controller/descriptors.h"
#include "controller/front.h"
#include "lib/http_client.h"

static const struct descriptors_shares defaults = {.reports = 8192, .metrics = 256, .probes = 128,
							   .reviews = 96, .readers = 32, .pods = 83, .writes = 16};

static void where_there_are_enough_everybody_gets_what_is_wanted(void **state)
{
	(void)state;
	struct descriptors_shares shares;
	struct error err;
	static const uint32_t limits[] = {UINT32_MAX, 1048576, 8192 + 256 + 128 + 96 + 32 + 83 + 64};
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		assert_int_equal(descriptors_divide(limits[i], &defaults, &shares, &err), 0);
		assert_memory_equal(&shares, &defaults, sizeof(shares));
	}
}

/* Of the API server's connections, the reviews and the pods by node. */
static uint32_t of_clients(const struct descriptors_shares *shares)
{
	return shares->reports + shares->metrics + shares->probes + shares->reviews + shares->readers +
	       shares->pods;
}

static void sixty_four_are_left_whatever_the_limit(void **state)
{
	(void)state;
	struct descriptors_shares shares;
	struct error err;
	for (uint32_t limit = DESCRIPTORS_OWN + DESCRIPTORS_LEAST; limit < 20000; limit++) {
		assert_int_equal(descriptors_divide(limit, &defaults, &shares, &err), 0);
		assert_true(of_clients(&shares) + DESCRIPTORS_OWN <= limit);
		assert_true(shares.metrics >= 2 && shares.probes >= 2 && shares.reviews >= 2 &&
			    shares.readers >= 2 && shares.pods >= 2 && shares.reports >= 6);
		assert_int_equal(shares.writes, defaults.writes);
	}
	assert_int_equal(descriptors_divide(1024, &defaults, &shares, &err), 0);
	assert_int_equal(shares.reports, 509);
}

static void with_64_there_are_48_for_the_program_and_few_writes(void **state)
{
	(void)state;
	struct descriptors_shares shares;
	struct error err;
	for (uint32_t limit = 64; limit < 80; limit++) {
		assert_int_equal(descriptors_divide(limit, &defaults, &shares, &err), 0);
		assert_int_equal(shares.reports, 8);
		assert_true(shares.metrics == 2 && shares.probes == 2 && shares.reviews == 2 && shares.readers == 2);
		assert_int_equal(shares.pods, 0);
		assert_int_equal(of_clients(&shares), 16);
		assert_int_equal(shares.writes, 4);
	}
	struct descriptors_shares wanted = defaults;
	wanted.writes = 3;
	assert_int_equal(descriptors_divide(64, &wanted, &shares, &err), 0);
	assert_int_equal(shares.writes, 3);
}

/* By HTTP/1.1, as the table in the header has it. */
static void the_most_connections_to_the_api_server_fit_beside_all_clients_whatever_the_limit(void **state)
{
	(void)state;
	struct descriptors_shares shares, wanted = defaults;
	struct error err;
	for (wanted.writes = 1; wanted.writes <= 256; wanted.writes++)
		for (uint32_t limit = 64; limit < 12000; limit += limit < 200 ? 1 : 97) {
			assert_int_equal(descriptors_divide(limit, &wanted, &shares, &err), 0);
			const uint32_t own = DESCRIPTORS_NO_CONNECTIONS + DESCRIPTORS_WATCHES +
					     DESCRIPTORS_SINGLE + shares.writes;
			assert_true(own + of_clients(&shares) <= limit);
			assert_true(shares.writes > 0 && shares.writes <= wanted.writes);
		}
}

static void writes_beyond_sixteen_are_as_many_as_a_share_of_what_is_left(void **state)
{
	(void)state;
	struct descriptors_shares shares, wanted = defaults;
	struct error err;
	wanted.writes = 256;
	static const uint32_t rows[][2] = {{79, 4}, {80, 18}, {128, 24}, {1024, 136}, {4096, 256}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(descriptors_divide(rows[i][0], &wanted, &shares, &err), 0);
		assert_int_equal(shares.writes, rows[i][1]);
	}
}

static void pods_by_node_have_a_connection_for_a_hundred_nodes_and_one_to_spare(void **state)
{
	(void)state;
	static const uint32_t rows[][2] = {{0, 0}, {1, 2}, {100, 2}, {101, 3}, {8192, 83}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(descriptors_for_nodes(rows[i][0]), rows[i][1]);
		assert_true(descriptors_nodes_of(rows[i][1]) >= rows[i][0]);
	}
	assert_int_equal(descriptors_nodes_of(0), 0);
	assert_int_equal(descriptors_nodes_of(1), 0);
	assert_int_equal(descriptors_nodes_of(2), 100);
}

static void too_low_a_limit_is_an_error_that_says_what_is_needed(void **state)
{
	(void)state;
	struct descriptors_shares shares = {1, 2, 3, 4, 5, 6, 7};
	struct error err;
	assert_int_equal(descriptors_divide(32, &defaults, &shares, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
	assert_non_null(strstr(err.text, "RLIMIT_NOFILE"));
	assert_non_null(strstr(err.text, "64"));
	assert_int_equal(shares.reports, 1);
	assert_int_equal(descriptors_divide(63, &defaults, &shares, &err), -1);
	assert_int_equal(descriptors_divide(64, &defaults, &shares, &err), 0);
}

/* Opens files until no more can be opened: how many that were. */
static unsigned open_all(void)
{
	unsigned n = 0;
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		n++;
	return n;
}

static int try_limits(rlim_t soft, rlim_t hard, uint32_t expected)
{
	const struct rlimit limit = {soft, hard};
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 1;
	if (descriptors_raise() != expected)
		return 2;
	return open_all() + 16 > expected ? 0 : 3;
}

/* In a process of its own: a hard limit cannot be raised again. */
static void assert_raised(rlim_t soft, rlim_t hard, uint32_t expected)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(try_limits(soft, hard, expected));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_soft_limit_is_raised_to_the_hard_one(void **state)
{
	(void)state;
	assert_raised(64, 1024, 1024);
	assert_raised(1024, 1024, 1024);
	assert_raised(64, 64, 64);
}

#define N_CLIENTS 100
#define N_PORTS 3

/* Without a certificate it would close connections at once. */
static int give_certificate(struct front *front, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf cert;
	CLEANUP(sbuf_deinit) struct sbuf key;
	const struct tls_certificate_request request = {
		.common_name = "front", .now = time(NULL), .lifetime_s = 3600};
	sbuf_init(&cert, 65536);
	sbuf_init(&key, 65536);
	if (tls_make_certificate(&request, &cert, &key, err) != 0)
		return -1;
	return front_set_certificate(front, sbuf_view(&cert), sbuf_view(&key), err);
}

/* A front that may have 128 files open. Its ports go to the pipe; then it waits for a byte. */
static int serve(int ports_fd, int go_fd)
{
	const struct rlimit limit = {64, 128};
	struct front_config config = front_config_default();
	struct descriptors_shares shares;
	struct front *front;
	struct error err;
	char go;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    descriptors_divide(descriptors_raise(), &defaults, &shares, &err) != 0)
		return 1;
	config.report_address = config.probe_address = config.metrics_address = "127.0.0.1:0";
	config.max_connections = shares.reports;
	config.max_strangers_per_network = N_CLIENTS;
	config.max_metrics_connections = shares.metrics;
	config.max_probe_connections = shares.probes;
	if (front_new(&config, &front, &err) != 0 || give_certificate(front, &err) != 0 ||
	    front_start(front, &err) != 0)
		return 2;
	const uint16_t ports[N_PORTS] = {front_report_port(front), front_probe_port(front),
					 front_metrics_port(front)};
	if (write(ports_fd, ports, sizeof(ports)) != sizeof(ports) || read(go_fd, &go, 1) != 1)
		return 3;
	return open_all() >= DESCRIPTORS_OWN / 2 ? 0 : 4;
}

static bool is_closed(const struct http_client *client)
{
	char byte;
	return recv(http_client_fd(client), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* How many of them the server has closed. */
static unsigned count_closed(struct http_client *const *clients)
{
	unsigned n = 0;
	for (size_t i = 0; i < N_CLIENTS; i++)
		n += is_closed(clients[i]);
	return n;
}

static void clients_of_all_ports_leave_the_program_its_descriptors(void **state)
{
	(void)state;
	static struct http_client *clients[N_PORTS][N_CLIENTS];
	/* 64 are left, an eighth for probes, for reviews of each kind, and for pods by node. */
	static const unsigned shares[N_PORTS] = {24, 8, 8};
	uint16_t ports[N_PORTS];
	int from_server[2], to_server[2], status;
	assert_int_equal(pipe(from_server) | pipe(to_server), 0);
	pid_t pid = fork();
	if (pid == 0) {
		/* It ends with this process, whatever becomes of that. */
		close(to_server[1]);
		_exit(serve(from_server[1], to_server[0]));
	}
	assert_int_equal(read(from_server[0], ports, sizeof(ports)), sizeof(ports));
	for (int port = 0; port < N_PORTS && ports[port] != 0; port++) {
		for (int i = 0; i < N_CLIENTS; i++)
			clients[port][i] = http_client_connect(ports[port]);
		for (int i = 0; i < 30000 && count_closed(clients[port]) < N_CLIENTS - shares[port]; i++)
			poll(NULL, 0, 1);
		assert_true(count_closed(clients[port]) >= N_CLIENTS - shares[port]);
		/* It was no deadline that closed them: of probes the last ones were refused, and of agents,
		 * who are strangers, the first ones made room. */
		assert_false(is_closed(clients[port][port == 0 ? N_CLIENTS - 1 : 0]));
	}
	assert_int_equal(write(to_server[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(where_there_are_enough_everybody_gets_what_is_wanted),
	cmocka_unit_test(sixty_four_are_left_whatever_the_limit),
	cmocka_unit_test(with_64_there_are_48_for_the_program_and_few_writes),
	cmocka_unit_test(the_most_connections_to_the_api_server_fit_beside_all_clients_whatever_the_limit),
	cmocka_unit_test(writes_beyond_sixteen_are_as_many_as_a_share_of_what_is_left),
	cmocka_unit_test(pods_by_node_have_a_connection_for_a_hundred_nodes_and_one_to_spare),
	cmocka_unit_test(too_low_a_limit_is_an_error_that_says_what_is_needed),
	cmocka_unit_test(the_soft_limit_is_raised_to_the_hard_one),
	cmocka_unit_test(clients_of_all_ports_leave_the_program_its_descriptors),
};
TEST_MAIN(tests)
