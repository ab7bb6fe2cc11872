/* SPDX-License-Identifier: Apache-2.0 */

/* Clients of any address: what the kernel would say of a peer is said to connection_accept() here. */

#include "lib/test_main.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/connection.h"

#define PATIENCE 100000 /* turns of the loop */
#define HOUR_MS 3600000u
#define DELAY_MS 40u

struct fixture {
	struct loop *loop;
	struct loop_timer *timer;
	struct connection_set set;
	char network[16]; /* of the last head */
	bool is_known;
	unsigned n_heads, n_done, n_refused;
};

static const struct server_config config = {
	.max_body = 100,
	.max_connections = 100,
	.max_connections_per_address = 100,
	.max_connections_per_client = 3,
	.max_strangers = 10,
	.max_strangers_per_network = 2,
	.max_known_addresses = 10,
	.handshake_timeout_ms = HOUR_MS,
	.head_timeout_ms = HOUR_MS,
	.body_timeout_ms = HOUR_MS,
	.write_timeout_ms = HOUR_MS,
	.idle_timeout_ms = HOUR_MS,
	.idle_long_timeout_ms = HOUR_MS,
	.delay_ms = DELAY_MS,
};

/* Whoever asks for /good or /long is vouched for, and may be idle for long after /long; /bad is refused. */
static void on_head(void *owner, struct server_request *request, const struct server_head *head)
{
	struct fixture *f = owner;
	const bool is_long = view_equal(head->path, VIEW("/long"));
	const bool is_late = view_equal(head->path, VIEW("/late"));
	const bool is_good = is_long || is_late || view_equal(head->path, VIEW("/good"));
	assert_int_equal(head->network.len, sizeof(f->network));
	view_copy(head->network, f->network);
	f->is_known = head->is_known;
	f->n_heads++;
	if (is_good) /* who asks a question has a name */
		f->n_refused += !server_vouch(request, head->query);
	if (head->content_length > 0)
		server_proceed(request);
	else
		server_answer(request, &(struct server_answer){.status = is_good ? 200 : 401,
						       .content_type = "text/plain",
						       .idle_long = is_long,
						       .is_delayed = is_late});
}

/* Who sends a body waits for the answer. */
static void on_request(void *owner, struct server_request *request, const struct server_head *head,
		       struct view body)
{
	(void)owner, (void)head;
	assert_true(view_equal(body, VIEW("body")));
	server_answer(request, &(struct server_answer){
				       .status = 429, .content_type = "text/plain", .is_delayed = true});
}

static void on_done(void *owner, struct server_request *request)
{
	struct fixture *f = owner;
	(void)request;
	f->n_done++;
}

static void on_timer(void *owner)
{
	struct fixture *f = owner;
	loop_stop(f->loop);
}

static int setup(void **state)
{
	static struct fixture f;
	const struct server_handler handler = {&f, on_head, on_request, on_done};
	struct error err;
	f = (struct fixture){0};
	*state = &f;
	return loop_new(&f.loop, &err) != 0 || loop_timer_new(f.loop, on_timer, &f, &f.timer, &err) != 0 ||
	       connection_set_init(&f.set, f.loop, &config, &handler, &err) != 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	connection_set_deinit(&f->set);
	loop_timer_free(f->timer);
	loop_free(f->loop);
	return 0;
}

static void turn(struct fixture *f)
{
	struct error err;
	loop_timer_set(f->timer, 0);
	assert_int_equal(loop_run(f->loop, &err), 0);
}

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(&address, &v4, sizeof(v4));
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		memcpy(&address, &v6, sizeof(v6));
	return address;
}

/* The client's end. */
static int come(struct fixture *f, const char *from)
{
	const struct sockaddr_storage address = address_of(from);
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	connection_accept(&f->set, fds[0], &address);
	return fds[1];
}

static bool is_closed(int fd)
{
	char byte;
	return recv(fd, &byte, 1, MSG_PEEK) == 0;
}

static void await(struct fixture *f, const uint64_t *counter, uint64_t value)
{
	for (unsigned i = 0; *counter != value; i++) {
		assert_true(i < PATIENCE);
		turn(f);
	}
}

/* Asks and reads the answer; the connection is kept. */
static void ask(struct fixture *f, int fd, const char *path)
{
	char text[512];
	const unsigned n_heads = f->n_heads;
	int len = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
	assert_int_equal(send(fd, text, (size_t)len, MSG_NOSIGNAL), len);
	for (unsigned i = 0; f->n_heads == n_heads || recv(fd, text, sizeof(text), 0) <= 0; i++) {
		assert_true(i < PATIENCE);
		turn(f);
	}
}

static void assert_network(const struct fixture *f, const char *address)
{
	struct in6_addr expected;
	assert_int_equal(inet_pton(AF_INET6, address, &expected), 1);
	assert_memory_equal(f->network, &expected, sizeof(expected));
}

static void who_shows_nothing_makes_room_first_and_who_was_vouched_for_last(void **state)
{
	struct fixture *f = *state;
	int agent = come(f, "10.0.0.3");
	int kept = come(f, "10.0.0.1"), kept_too = come(f, "10.0.0.2");
	ask(f, agent, "/long");
	ask(f, kept, "/good");
	ask(f, kept_too, "/good");
	int guest = come(f, "10.0.0.1");
	int stranger = come(f, "10.0.0.7"), second = come(f, "10.0.0.8");
	ask(f, stranger, "/bad"); /* came first, and was heard last */
	const int order[] = {second, stranger, guest, kept, kept_too, agent};
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		for (size_t k = i; k < ARRAY_SIZE(order); k++)
			assert_false(is_closed(order[k]));
		assert_true(connection_set_evict(&f->set));
		assert_true(is_closed(order[i]));
	}
	assert_false(connection_set_evict(&f->set));
	assert_int_equal(f->set.counters.evicted_strangers, 3);
	assert_int_equal(f->set.counters.evicted, 3);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		close(order[i]);
}

/* A guest that shows who it is counts as an agent from then on. */
static void a_guest_that_is_vouched_for_is_one_no_more(void **state)
{
	struct fixture *f = *state;
	int first = come(f, "10.0.0.1");
	ask(f, first, "/good");
	int guest = come(f, "10.0.0.1"), other = come(f, "10.0.0.1");
	ask(f, guest, "/good");
	assert_true(connection_set_evict(&f->set));
	assert_true(is_closed(other));
	assert_false(is_closed(guest));
	close(first);
	close(guest);
	close(other);
}

static void a_known_address_is_a_client_of_its_own_within_its_network(void **state)
{
	struct fixture *f = *state;
	int honest = come(f, "2001:db8::1");
	ask(f, honest, "/good");
	assert_false(f->is_known);
	assert_network(f, "2001:db8::");
	/* Its neighbours are one client, and push out each other. */
	int neighbours[4];
	for (int i = 0; i < 4; i++) {
		char from[32];
		snprintf(from, sizeof(from), "2001:db8::bad:%d", i);
		neighbours[i] = come(f, from);
	}
	assert_true(is_closed(neighbours[0]) && is_closed(neighbours[1]));
	ask(f, neighbours[3], "/bad");
	assert_false(f->is_known);
	assert_network(f, "2001:db8::");
	int again = come(f, "2001:db8::1");
	assert_false(is_closed(neighbours[2]));
	ask(f, again, "/good");
	assert_true(f->is_known);
	assert_network(f, "2001:db8::1");
	ask(f, honest, "/good");
	for (int i = 0; i < 4; i++)
		close(neighbours[i]);
	close(again);
	close(honest);
}

/* Cap 3 of an address, 20 agents behind it that keep their connections. */
static void where_an_address_is_full_its_agents_take_turns_and_no_others_lose(void **state)
{
	struct fixture *f = *state;
	int agents[20], other = come(f, "10.0.0.2");
	f->set.callers.cap = 3;
	ask(f, other, "/long");
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
			agents[i] = come(f, "10.0.0.1");
			ask(f, agents[i], "/long");
			assert_true(f->set.counters.open <= 4);
		}
		for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
			assert_int_equal(is_closed(agents[i]), i < ARRAY_SIZE(agents) - 3);
		for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
			close(agents[i]);
		await(f, &f->set.counters.open, 1);
	}
	assert_false(is_closed(other));
	assert_int_equal(f->set.counters.refused_limit, 0);
	assert_int_equal(f->set.counters.evicted, 3 * 17);
	assert_int_equal(f->set.counters.idle, 1);
	close(other);
}

/* Only who is idle makes room, whoever asks for it. */
static void a_connection_in_the_middle_of_a_request_makes_no_room(void **state)
{
	struct fixture *f = *state;
	int busy = come(f, "10.0.0.1"), hostile[5];
	f->set.callers.cap = 3;
	ask(f, busy, "/long");
	assert_int_equal(send(busy, "GET /long HTTP/1.1\r\n", 20, MSG_NOSIGNAL), 20);
	await(f, &f->set.counters.idle, 0);
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		hostile[i] = come(f, "10.0.0.1");
		ask(f, hostile[i], "/long");
		assert_false(is_closed(busy));
	}
	/* When none is idle the newcomer is refused, and nobody elsewhere makes room for it. */
	int other = come(f, "10.0.0.2");
	ask(f, other, "/long");
	for (size_t i = 3; i < ARRAY_SIZE(hostile); i++)
		assert_int_equal(send(hostile[i], "G", 1, MSG_NOSIGNAL), 1);
	await(f, &f->set.counters.idle, 1);
	for (int server_is_full = 0; server_is_full < 2; server_is_full++) {
		struct server_config full = config;
		full.max_connections = server_is_full ? 4 : 100;
		f->set.config = &full;
		int refused = come(f, "10.0.0.1");
		assert_true(is_closed(refused));
		close(refused);
		f->set.config = &config;
	}
	assert_int_equal(f->set.counters.refused_limit, 2);
	assert_false(is_closed(busy) || is_closed(other));
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++)
		close(hostile[i]);
	close(busy);
	close(other);
}

/* A quarter of what an address may have, whatever else of it is idle. */
static void who_shows_nothing_takes_a_quarter_of_a_known_address(void **state)
{
	struct fixture *f = *state;
	int agents[75], silent[60];
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
		agents[i] = come(f, "10.0.0.1");
		ask(f, agents[i], "/long");
	}
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		silent[i] = come(f, "10.0.0.1");
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
		assert_false(is_closed(agents[i]));
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		assert_int_equal(is_closed(silent[i]), i < ARRAY_SIZE(silent) - 25);
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
		close(agents[i]);
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		close(silent[i]);
}

static void send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* When its answer was here. */
static uint64_t read_answer(struct fixture *f, int fd)
{
	char text[512];
	while (recv(fd, text, sizeof(text), 0) <= 0)
		turn(f);
	return clock_monotonic_ms();
}

/* Those of clients that asked together come one after the other. */
static void answers_that_wait_come_at_different_times_and_the_connection_goes_on(void **state)
{
	struct fixture *f = *state;
	const uint64_t start_ms = clock_monotonic_ms();
	int clients[8];
	for (unsigned i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = come(f, "10.0.0.1");
		ask(f, clients[i], "/good");
		send_text(clients[i], "GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
		for (unsigned n_heads = f->n_heads; f->n_heads == n_heads;)
			turn(f);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(clients); i++)
		assert_true(read_answer(f, clients[i]) >= start_ms + DELAY_MS + i * DELAY_MS / 8);
	for (unsigned i = 0; i < ARRAY_SIZE(clients); i++) {
		ask(f, clients[i], "/good");
		close(clients[i]);
	}
}

static void while_an_answer_waits_its_body_is_given_up_and_nothing_more_is_read(void **state)
{
	struct fixture *f = *state;
	int client = come(f, "10.0.0.1");
	ask(f, client, "/good");
	const uint64_t start_ms = clock_monotonic_ms();
	send_text(client, "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
			  "GET /good HTTP/1.1\r\nHost: a\r\n\r\n");
	while (f->n_done == 0)
		turn(f);
	assert_int_equal(f->n_heads, 2);
	assert_true(read_answer(f, client) >= start_ms + DELAY_MS);
	while (f->n_heads < 3)
		turn(f);
	assert_int_equal(f->n_done, 1);
	close(client);
}

static void a_client_pays_for_one_too_many_with_its_own_from_whatever_address(void **state)
{
	struct fixture *f = *state;
	int other = come(f, "10.0.0.9"), mine[5];
	ask(f, other, "/long?other");
	for (unsigned i = 0; i < ARRAY_SIZE(mine); i++) {
		char from[32];
		snprintf(from, sizeof(from), "10.0.0.%u", i);
		mine[i] = come(f, from);
		ask(f, mine[i], "/long?mine");
	}
	for (unsigned i = 0; i < ARRAY_SIZE(mine); i++)
		assert_int_equal(is_closed(mine[i]), i < 2);
	assert_false(is_closed(other));
	assert_int_equal(f->n_refused, 0);
	/* Under another name it is another client's, and its place is free again. */
	ask(f, mine[2], "/long?other");
	int next = come(f, "10.0.0.7");
	ask(f, next, "/long?mine");
	for (unsigned i = 2; i < ARRAY_SIZE(mine); i++) {
		assert_false(is_closed(mine[i]));
		close(mine[i]);
	}
	close(mine[0]);
	close(mine[1]);
	close(next);
	close(other);
}

/* One in the middle of a request is not closed. What is refused for that makes room for the next. */
static void a_client_with_a_request_on_each_connection_gets_no_further_one(void **state)
{
	struct fixture *f = *state;
	int mine[3], next[2];
	for (unsigned i = 0; i < ARRAY_SIZE(mine); i++) {
		const unsigned n_heads = f->n_heads;
		mine[i] = come(f, "10.0.0.1");
		send_text(mine[i], "POST /good?mine HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nb");
		while (f->n_heads == n_heads)
			turn(f);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(next); i++) {
		const unsigned n_heads = f->n_heads;
		next[i] = come(f, "10.0.0.2");
		ask(f, next[i], "/good");
		send_text(next[i], "GET /late?mine HTTP/1.1\r\nHost: a\r\n\r\n");
		while (f->n_heads < n_heads + 2)
			turn(f);
		assert_int_equal(f->n_refused, 1);
	}
	assert_true(is_closed(next[0]));
	assert_false(is_closed(next[1]));
	for (unsigned i = 0; i < ARRAY_SIZE(mine); i++) {
		assert_false(is_closed(mine[i]));
		close(mine[i]);
	}
	close(next[0]);
	close(next[1]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		a_client_pays_for_one_too_many_with_its_own_from_whatever_address, setup, teardown),
	cmocka_unit_test_setup_teardown(
		a_client_with_a_request_on_each_connection_gets_no_further_one, setup, teardown),
	cmocka_unit_test_setup_teardown(
		answers_that_wait_come_at_different_times_and_the_connection_goes_on, setup, teardown),
	cmocka_unit_test_setup_teardown(
		while_an_answer_waits_its_body_is_given_up_and_nothing_more_is_read, setup, teardown),
	cmocka_unit_test_setup_teardown(
		who_shows_nothing_makes_room_first_and_who_was_vouched_for_last, setup, teardown),
	cmocka_unit_test_setup_teardown(a_guest_that_is_vouched_for_is_one_no_more, setup, teardown),
	cmocka_unit_test_setup_teardown(where_an_address_is_full_its_agents_take_turns_and_no_others_lose,
					setup, teardown),
	cmocka_unit_test_setup_teardown(a_connection_in_the_middle_of_a_request_makes_no_room, setup,
					teardown),
	cmocka_unit_test_setup_teardown(who_shows_nothing_takes_a_quarter_of_a_known_address, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_known_address_is_a_client_of_its_own_within_its_network,
					setup, teardown),
};
TEST_MAIN(tests)
