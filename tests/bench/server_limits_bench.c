/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which limits hold? Each row is one thing that a hostile or broken client does. It is done to
 * io/server and to libevent's evhttp (lib/served.h), each in a new process, over TLS unless the row
 * says otherwise. What that did is shown. Judged are the rows of idle handshakes, and of io/server only:
 * each honest client must get its answer, without strangers and beside them. What it takes beside them
 * may be RATIO times what it takes without. Both are measured in turns, so that a busy machine disturbs
 * both, and TRIES times at most. HANDSHAKE_TURNS (3) says how many turns there are, HANDSHAKE_PERCENT (50)
 * which share of the times the bound holds for: on a quiet machine 99. The strangers are silent while it
 * is measured, so they take no CPU then. Other times are not judged. A row that cannot have all its
 * strangers fails.
 *
 *	server_limits_bench [PART OF A ROW'S NAME [ours]]
 *
 * ours: io/server only.
 *
 * Each deadline is 300 ms, a body 1 MiB, a head 16 KiB.
 */

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/stopwatch.h"
#include "lib/peer.h"
#include "lib/served.h"

#define WATCH_MS 3000
#define MANY 9000
#define SEVERAL 64
#define STRANGERS 20000u
#define ADDRESSES 256u
#define FEW_STRANGERS 8192u
#define FEW_ADDRESSES 32u
#define CONNECTIONS 8192u /* as --max-connections is shipped, */
#define CONNECTIONS_AT_256_MIB 1310u /* and what the shipped memory limit allows: one for each 200 KiB */
#define STRANGERS_PART 4u
#define STRANGERS_OF_HOLDER 4000u
#define MAX_HOLDERS (STRANGERS / STRANGERS_OF_HOLDER)
#define HONEST 200u
#define TURNS 3u
#define MAX_TURNS 50u
#define PERCENT 50u
#define RATIO 1.5
#define TRIES 3u /* other programs on the machine may disturb one */
#define HEAD "POST /v1/report HTTP/1.1\r\nHost: a\r\n"
#define TOKEN "Authorization: " SERVED_TOKEN "\r\n"
#define EMPTY HEAD TOKEN "Content-Length: 0\r\n\r\n"
/* A body that is 1.5 MiB long according to its head, and what may be taken for a request in it. */
#define HIDDEN HEAD TOKEN "Content-Length: 1572864\r\n\r\n" "\r\n" EMPTY

static const struct server_config short_config = {
	.max_body = LIMIT_MIB,
	.max_connections = 2 * MANY,
	.max_connections_per_address = 2 * MANY,
	.handshake_timeout_ms = 300,
	.head_timeout_ms = 300,
	.body_timeout_ms = 300,
	.write_timeout_ms = 300,
	.idle_timeout_ms = 300,
};

static char fill[LIMIT_MIB];
static char shown[512]; /* of the row that was run last */

static bool is_bad;      /* what that row is judged by */

#define SHOW(...) snprintf(shown, sizeof(shown), __VA_ARGS__)

struct row;
typedef void (*row_fn)(const struct row *row, const struct served *served);
struct row {
	const char *name;
	row_fn run;
	const char *text;   /* sent at first */
	const char *repeat; /* sent over and over */
	uint32_t connections; /* of run_strangers(): what the server may have */
};

static double seconds_since(uint64_t ms)
{
	return (double)(clock_monotonic_ms() - ms) / 1000;
}

static void show_end(const struct peer *peer, uint64_t since_ms)
{
	if (peer_is_closed(peer))
		SHOW("%s, closed after %.1f s", peer_statuses(peer), seconds_since(since_ms));
	else
		SHOW("%s, open after %.1f s", peer_statuses(peer), seconds_since(since_ms));
}

/* Sends the text, and nothing more. */
static void run_text(const struct row *row, const struct served *served)
{
	struct peer *peer = peer_new_tls(served->port);
	uint64_t start = clock_monotonic_ms();
	peer_say(peer, row->text);
	peer_hear(peer, WATCH_MS);
	show_end(peer, start);
	peer_free(peer);
}

/* Goes on with one byte of `repeat` each 30 ms. */
static void trickle(const struct row *row, struct peer *peer)
{
	uint64_t start = clock_monotonic_ms();
	const char *at = row->repeat;
	peer_say(peer, row->text);
	while (!peer_is_closed(peer) && seconds_since(start) * 1000 < WATCH_MS) {
		(void)peer_send(peer, at, 1);
		at = at[1] ? at + 1 : row->repeat;
		peer_hear(peer, 30);
	}
	show_end(peer, start);
	peer_free(peer);
}

static void run_trickle(const struct row *row, const struct served *served)
{
	trickle(row, peer_new_tls(served->port));
}

/* Below TLS: the beginning of a long ClientHello. */
static void run_handshake(const struct row *row, const struct served *served)
{
	struct peer *peer = peer_new(served->port);
	peer_send(peer, "\x16\x03\x01\x20\x00\x01\x00\x1f\xfc\x03\x03", row->repeat ? 11 : 0);
	if (row->repeat) {
		trickle(row, peer);
		return;
	}
	uint64_t start = clock_monotonic_ms();
	peer_hear(peer, WATCH_MS);
	show_end(peer, start);
	peer_free(peer);
}

/* As much as it takes of `repeat`, but no more than 64 MiB. */
static void run_flood(const struct row *row, const struct served *served)
{
	size_t len = strlen(row->repeat), n = 0, sent = 0;
	while (n + len <= sizeof(fill)) {
		memcpy(fill + n, row->repeat, len);
		n += len;
	}
	struct peer *peer = peer_new_tls(served->port);
	long before = served_kib(served), ticks = served_ticks(served), most = 0;
	peer_say(peer, row->text);
	for (uint64_t start = clock_monotonic_ms();
	     sent < 64 && seconds_since(start) < 5 && peer_send(peer, fill, n); sent++)
		most = served_kib(served) > most ? served_kib(served) : most;
	most = served_kib(served) > most ? served_kib(served) : most;
	peer_hear(peer, 1000);
	SHOW("%zu MiB taken, %+ld KiB, %ld ms of CPU, %s, %s", sent, most - before,
	     (served_ticks(served) - ticks) * 10, peer_statuses(peer),
	     peer_is_closed(peer) ? "closed" : "open");
	peer_free(peer);
}

/* One head of nothing but `repeat`, just below the limit, from each of several clients. */
static void run_heads(const struct row *row, const struct served *served)
{
	struct peer *peers[SEVERAL];
	size_t len = strlen(row->text), unit = strlen(row->repeat);
	memcpy(fill, row->text, len);
	/* evhttp does not count line ends. */
	for (size_t counted = len; counted < LIMIT_HTTP_HEAD - 256 && len < LIMIT_MIB - 256;
	     counted += strcspn(row->repeat, "\r"), len += unit)
		memcpy(fill + len, row->repeat, unit);
	for (int i = 0; i < SEVERAL; i++)
		peers[i] = peer_new_tls(served->port);
	long before = served_kib(served), ticks = served_ticks(served);
	for (int i = 0; i < SEVERAL; i++)
		peer_send(peers[i], fill, len);
	peer_hear(peers[SEVERAL - 1], 200);
	SHOW("%zu bytes each: %+ld KiB, %ld ms of CPU a head, %s", len,
	     (served_kib(served) - before) / SEVERAL,
	     (served_ticks(served) - ticks) * 10 / SEVERAL, peer_statuses(peers[SEVERAL - 1]));
	for (int i = 0; i < SEVERAL; i++)
		peer_free(peers[i]);
}

/* Clients without a token that send all but the end of a body as large as is let in. */
static void run_anonymous(const struct row *row, const struct served *served)
{
	struct peer *peers[SEVERAL];
	long before = served_kib(served);
	for (int i = 0; i < SEVERAL; i++) {
		peers[i] = peer_new_tls(served->port);
		peer_say(peers[i], row->text);
		peer_send(peers[i], fill, sizeof(fill) - 1);
	}
	peer_hear(peers[SEVERAL - 1], 50);
	SHOW("%+ld KiB each, %s", (served_kib(served) - before) / SEVERAL,
	     peer_statuses(peers[SEVERAL - 1]));
	for (int i = 0; i < SEVERAL; i++)
		peer_free(peers[i]);
}

static void run_pipeline(const struct row *row, const struct served *served)
{
	struct peer *peer = peer_new_tls(served->port);
	for (int i = 0; i < 100; i++)
		peer_say(peer, row->text);
	peer_await(peer, 100, WATCH_MS);
	SHOW("%zu answers to 100 requests", peer_answers(peer));
	peer_free(peer);
}

/* Several connections that have had an answer; how many are still there? */
static void run_connections(const struct row *row, const struct served *served)
{
	struct peer *peers[SEVERAL];
	int first = 0, open = 0;
	for (int i = 0; i < SEVERAL; i++) {
		peers[i] = peer_new_tls(served->port);
		peer_say(peers[i], row->text);
		peer_await(peers[i], 1, 100);
	}
	for (int i = 0; i < SEVERAL; i++) {
		peer_hear(peers[i], 20);
		open += !peer_is_closed(peers[i]);
		first += i < SEVERAL / 2 && !peer_is_closed(peers[i]);
	}
	SHOW("%d of %d open: %d of the older half, %d of the newer", open, SEVERAL, first,
	     open - first);
	for (int i = 0; i < SEVERAL; i++)
		peer_free(peers[i]);
}

/* The server may have 24 files open; afterwards there is room again. */
static void run_files(const struct row *row, const struct served *served)
{
	struct peer *peers[SEVERAL];
	for (int i = 0; i < SEVERAL; i++)
		peers[i] = peer_new(served->port);
	long ticks = served_ticks(served);
	peer_hear(peers[0], 1000);
	ticks = served_ticks(served) - ticks;
	for (int i = 0; i < SEVERAL; i++)
		peer_free(peers[i]);
	struct peer *peer = peer_new_tls(served->port);
	peer_say(peer, row->text);
	peer_await(peer, 1, WATCH_MS);
	SHOW("%ld ms of CPU in a second without room, then %s", ticks * 10, peer_statuses(peer));
	peer_free(peer);
}

static void run_many(const struct row *row, const struct served *served)
{
	static struct peer *peers[MANY];
	int open = 0;
	long before = served_kib(served);
	for (int i = 0; i < MANY; i++) {
		peers[i] = peer_new_tls(served->port);
		peer_say(peers[i], row->text);
		peer_await(peers[i], 1, WATCH_MS);
	}
	long grown = served_kib(served) - before, ticks = served_ticks(served);
	sleep(1);
	ticks = served_ticks(served) - ticks;
	for (int i = 0; i < MANY; i++) {
		if (peer_say(peers[i], row->text))
			peer_await(peers[i], 2, WATCH_MS);
		open += peer_answers(peers[i]) == 2;
		peer_free(peers[i]);
	}
	SHOW("%d of %d answer again, %.1f KiB each, %ld ms of CPU in an idle second", open, MANY,
	     (double)grown / MANY, ticks * 10);
}

/* A connection from 127.1.0.<host> that says nothing until the process ends. */
static void connect_silent(uint16_t port, uint32_t host)
{
	const struct sockaddr_in from = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(0x7f010000u + host)};
	const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&from, sizeof(from)) != 0 ||
	    connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
		perror("connect_silent");
		_exit(1);
	}
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Of the honest clients, in turns without the strangers and beside them. */
struct phase {
	uint64_t us[MAX_TURNS * HONEST];
	unsigned n, n_ok;
};

/* One handshake and one request. False: it got no answer, or another one. */
static bool try_honest(const struct row *row, uint16_t port)
{
	struct peer *peer = peer_new_tls(port);
	if (peer_say(peer, row->text))
		peer_await(peer, 1, WATCH_MS);
	bool is_ok = strcmp(peer_statuses(peer), "200") == 0;
	peer_free(peer);
	return is_ok;
}

static void take_turn(const struct row *row, uint16_t port, struct phase *phase)
{
	for (unsigned i = 0; i < HONEST; i++) {
		uint64_t start = stopwatch_us();
		phase->n_ok += try_honest(row, port);
		phase->us[phase->n++] = stopwatch_us() - start;
	}
}

/* In milliseconds; of a phase that has had a turn. */
static double percentile(struct phase *phase, unsigned percent)
{
	qsort(phase->us, phase->n, sizeof(phase->us[0]), compare_times);
	const unsigned i = (phase->n * percent - 1) / 100;
	return (double)phase->us[i] / 1000;
}

static unsigned choose(const char *variable, unsigned otherwise, unsigned most)
{
	const char *text = getenv(variable);
	unsigned long chosen = text ? strtoul(text, NULL, 10) : otherwise;
	if (chosen < 1 || chosen > most) {
		fprintf(stderr, "%s: 1 to %u\n", variable, most);
		exit(2);
	}
	return (unsigned)chosen;
}

/* As many files as may be open, for this process, the holders and the servers. */
static void allow_files(void)
{
	struct rlimit limit = {0};
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* False, and says why, if a process may not have so many connections. */
static bool has_room_for(unsigned n_connections)
{
	struct rlimit limit = {0};
	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= n_connections + SEVERAL)
		return true;
	SHOW("a process needs %u open files, and %llu are allowed: raise the hard limit (ulimit -Hn)",
	     n_connections + SEVERAL, (unsigned long long)limit.rlim_cur);
	return false;
}

static unsigned count_files(const struct served *served)
{
	char path[64];
	unsigned n = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)served->pid);
	DIR *folder = opendir(path);
	while (folder && readdir(folder))
		n++;
	if (folder)
		closedir(folder);
	return n;
}

/* Processes that hold them, for one may not have so many files open. */
struct strangers_held {
	pid_t holders[MAX_HOLDERS];
	unsigned n_holders;
	unsigned n, addresses;
};

/* In a process of its own: connects, says so, and waits to be killed. */
static void hold(const struct served *served, const struct strangers_held *held, unsigned from, int done_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = from; i < held->n && i < from + STRANGERS_OF_HOLDER; i++)
		connect_silent(served->port, i % held->addresses);
	if (write(done_fd, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Returns when it holds its strangers. */
static pid_t start_holder(const struct served *served, const struct strangers_held *held, unsigned from)
{
	int done[2];
	char byte;
	if (pipe(done) != 0)
		abort();
	const pid_t pid = fork();
	if (pid == 0) {
		close(done[0]);
		hold(served, held, from, done[1]);
	}
	close(done[1]);
	if (pid < 0 || read(done[0], &byte, 1) != 1) {
		fprintf(stderr, "%u strangers are wanted, and fewer are held\n", held->n);
		exit(1);
	}
	close(done[0]);
	return pid;
}

/* Returns when all have been accepted: an honest client that came after them has its answer. */
static bool hold_strangers(const struct row *row, const struct served *served,
			   struct strangers_held *held)
{
	held->n_holders = 0;
	for (unsigned from = 0; from < held->n; from += STRANGERS_OF_HOLDER)
		held->holders[held->n_holders++] = start_holder(served, held, from);
	return try_honest(row, served->port);
}

/* Returns when the server has noticed. */
static void release_strangers(const struct served *served, const struct strangers_held *held,
			      unsigned n_files)
{
	for (unsigned i = 0; i < held->n_holders; i++)
		kill(held->holders[i], SIGKILL);
	for (unsigned i = 0; i < held->n_holders; i++)
		waitpid(held->holders[i], NULL, 0);
	for (uint64_t start = clock_monotonic_ms();
	     count_files(served) > n_files && seconds_since(start) < 10;)
		poll(NULL, 0, 1);
}

static struct phase idle, beside;

/* What the strangers cost the server. */
struct cost {
	long kib, ticks;
};

/* False when an honest client got no answer. */
static bool take_turns(const struct row *row, const struct served *served,
		       struct strangers_held *held, struct cost *ret_cost)
{
	const unsigned turns = choose("HANDSHAKE_TURNS", TURNS, MAX_TURNS), n_files = count_files(served);
	idle = beside = (struct phase){.n = 0};
	for (unsigned turn = 0; turn < turns; turn++) {
		take_turn(row, served->port, &idle);
		struct cost before = {served_kib(served), served_ticks(served)};
		if (!hold_strangers(row, served, held)) {
			beside = (struct phase){.us = {WATCH_MS * 1000}, .n = 1};
			release_strangers(served, held, n_files);
			return false;
		}
		*ret_cost = (struct cost){served_kib(served) - before.kib,
					  served_ticks(served) - before.ticks};
		take_turn(row, served->port, &beside);
		release_strangers(served, held, n_files);
	}
	return idle.n_ok == idle.n && beside.n_ok == beside.n;
}

/* Idle handshakes from many addresses; of a row with `repeat`, from few. */
static void run_strangers(const struct row *row, const struct served *served)
{
	static struct strangers_held held;
	const unsigned percent = choose("HANDSHAKE_PERCENT", PERCENT, 100);
	struct cost cost = {0, 0};
	double ratio = 0;
	held.n = row->repeat ? FEW_STRANGERS : STRANGERS;
	held.addresses = row->repeat ? FEW_ADDRESSES : ADDRESSES;
	is_bad = !has_room_for(row->connections > STRANGERS_OF_HOLDER ? row->connections
								      : STRANGERS_OF_HOLDER);
	if (is_bad)
		return;
	/* Its address is known from now on, as those of most agents are. */
	is_bad = !try_honest(row, served->port);
	for (unsigned i = 0; i < TRIES && !is_bad; i++) {
		is_bad = !take_turns(row, served, &held, &cost);
		ratio = is_bad ? 0 : percentile(&beside, percent) / percentile(&idle, percent);
		if (ratio <= RATIO)
			break;
	}
	is_bad = is_bad || ratio > RATIO;
	SHOW("honest: %u of %u without, p%u %.2f ms; %u of %u beside %u strangers, p%u %.2f ms, %.2f times; "
	     "these: %+ld KiB, %ld ms of CPU",
	     idle.n_ok, idle.n, percent, idle.n ? percentile(&idle, percent) : 0, beside.n_ok, beside.n, held.n,
	     percent, beside.n ? percentile(&beside, percent) : 0, ratio, cost.kib, cost.ticks * 10);
}

static const struct row rows[] = {
	{"TLS handshake: silence", run_handshake},
	{"TLS handshake: trickles", run_handshake, "", "x"},
	{"silence after the handshake", run_text, ""},
	{"head: stops", run_text, "POST /v1/rep"},
	{"head: trickles", run_trickle, HEAD TOKEN, "a: b\r\n"},
	{"body: stops", run_text, HEAD TOKEN "Content-Length: 100\r\n\r\nx"},
	{"body: trickles", run_trickle, HEAD TOKEN "Content-Length: 1000\r\n\r\n", "x"},
	{"chunked body: trickles", run_trickle, HEAD TOKEN "Transfer-Encoding: chunked\r\n\r\n",
	 "1\r\nx\r\n"},
	{"idle after an answer", run_text, EMPTY},
	{"head without end, one line", run_flood, "GET /", "xxxxxxxxxxxxxxxx"},
	{"head without end, headers", run_flood, HEAD, "name: value and more\r\n"},
	{"head of tiny headers", run_heads, HEAD, "a:\r\n"},
	{"head of folded lines", run_heads, HEAD "a: b\r\n", " \r\n"},
	{"body over the limit", run_flood, HEAD TOKEN "Content-Length: 1073741824\r\n\r\n", "x"},
	{"body over the limit, with a request in it", run_text, HIDDEN},
	{"body without Content-Length", run_flood, HEAD TOKEN "Connection: close\r\n\r\n", "x"},
	{"chunked body without end", run_flood, HEAD TOKEN "Transfer-Encoding: chunked\r\n\r\n",
	 "10\r\n0123456789abcdef\r\n"},
	{"chunk size without end", run_flood, HEAD TOKEN "Transfer-Encoding: chunked\r\n\r\n",
	 "0000000000000000"},
	{"empty chunk lines without end", run_flood,
	 HEAD TOKEN "Transfer-Encoding: chunked\r\n\r\n", "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n"},
	{"1 MiB of body without a token", run_anonymous,
	 HEAD "Content-Length: 1048576\r\n\r\n", NULL},
	{"100-continue without a token", run_text,
	 HEAD "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"},
	{"unknown expectation, then a body", run_text,
	 HEAD TOKEN "Expect: more\r\nContent-Length: 4\r\n\r\nbody"},
	{"does not read the answer, sends on", run_flood,
	 "GET /large HTTP/1.1\r\nHost: a\r\n" TOKEN "\r\n", EMPTY},
	{"pipelined requests", run_pipeline, EMPTY},
	{"Content-Length twice", run_text,
	 HEAD TOKEN "Content-Length: 0\r\nContent-Length: 4\r\n\r\nbody"},
	{"Content-Length and chunked", run_text,
	 HEAD TOKEN "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{"chunked, as a list", run_text,
	 HEAD TOKEN "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
	{"Content-Length: +4", run_text, HEAD TOKEN "Content-Length: +4\r\n\r\nbody"},
	{"lines that end in LF", run_text, "GET / HTTP/1.1\nHost: a\n" TOKEN "\n"},
	{"blank before a colon", run_text, HEAD TOKEN "Content-Length : 4\r\n\r\nbody"},
	{"folded header", run_text, HEAD TOKEN "a: b\r\n c\r\n\r\n"},
	{"no Host", run_text, "GET / HTTP/1.1\r\n" TOKEN "\r\n"},
	{"HTTP/1.0", run_text, "GET / HTTP/1.0\r\n" TOKEN "\r\n"},
	{"more connections than 16 in all", run_connections, EMPTY},
	{"more connections than 16 of an address", run_connections, EMPTY, "address"},
	{"no file descriptors", run_files, EMPTY},
	{"9000 idle connections", run_many, EMPTY},
	{"8192 idle handshakes from 32 addresses", run_strangers, EMPTY, "few", CONNECTIONS},
	{"8192 idle handshakes from 32 addresses, 256 MiB", run_strangers, EMPTY, "few",
	 CONNECTIONS_AT_256_MIB},
	{"20000 idle handshakes from 256 addresses", run_strangers, EMPTY, NULL, CONNECTIONS},
};

static struct server_config config_of(const struct row *row)
{
	struct server_config config = short_config;
	if (row->run == run_connections || row->run == run_many || row->run == run_files ||
	    row->run == run_heads || row->run == run_anonymous)
		config.idle_timeout_ms = config.head_timeout_ms = config.handshake_timeout_ms =
			config.body_timeout_ms = 120000;
	if (row->run == run_strangers) {
		/* As the controller has it, but for deadlines: none may pass while they connect. */
		config.max_connections = row->connections;
		config.max_connections_per_address = 256;
		config.max_strangers = (row->connections + STRANGERS_PART - 1) / STRANGERS_PART;
		config.max_strangers_per_network = 16;
		config.max_known_addresses = 40000;
		config.handshake_timeout_ms = config.head_timeout_ms = 120000;
	}
	if (row->run == run_connections)
		*(row->repeat ? &config.max_connections_per_address : &config.max_connections) = 16;
	return config;
}

int main(int argc, char **argv)
{
	const int n_kinds = argc > 2 ? SERVED_OURS + 1 : SERVED_N_KINDS;
	bool good = true;
	signal(SIGPIPE, SIG_IGN);
	allow_files();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (argc > 1 && !strstr(rows[i].name, argv[1]))
			continue;
		printf("%s\n", rows[i].name);
		for (int kind = SERVED_OURS; kind < n_kinds; kind++) {
			struct rusage usage;
			const struct server_config config = config_of(&rows[i]);
			const struct served served = served_start(
				(enum served_kind)kind, &config, -1, rows[i].run == run_files ? 24 : 0);
			is_bad = false;
			rows[i].run(&rows[i], &served);
			bool alive = served_stop(&served, &usage);
			is_bad = kind == SERVED_OURS && (is_bad || !alive);
			good = good && !is_bad;
			printf("\t%-14s %s%s%s\n", served_name((enum served_kind)kind), shown,
			       alive ? "" : " - THE PROCESS ENDED", is_bad ? " - FAILED" : "");
			fflush(stdout);
		}
	}
	return good ? 0 : 1;
}
