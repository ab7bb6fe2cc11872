/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What does a scrape of /metrics cost? This thread is the loop, with an inventory of that many devices
 * and tenants, eight devices a node; a child process scrapes the front ten times. The longest turn is
 * measured by a timer that fires in every one: first with nobody scraping, then while it is done. It
 * is this thread's CPU time, so that what else the machine does has no part in it.
 *
 *	exposition_bench [DEVICES [TENANTS [MAX_SERIES [DEAF [LIMIT_MIB]]]]]
 *
 * Before that so many clients ask, more than a second apart, and do not read what they are sent.
 * LIMIT_MIB is the memory limit of the process, of which pages have a part; 480 and more is the most.
 *
 * A device has all figures, counts of ECC errors, and a drift. One of each node is under MIG, and each
 * of its tenants has a partition.
 *
 * The bars: with 1000 devices and 4000 tenants 100 ms and 8 MiB. With any number a turn takes 5 ms more
 * at most, and no page is larger than controller/memory_limit.h says. The shortest scrape counts, for
 * what else the machine does is in the others. For the same reason the longest turn is that of the
 * scrape in the middle; the longest of all is printed, too.
 */

#include "lib/test_main.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/sort.h"
#include "controller/exposition.h"
#include "controller/front.h"
#include "controller/telemetry.h"
#include "lib/http_client.h"

#define DEVICES_OF_A_NODE 8
#define N_SCRAPES 10
#define BASELINE_MS 1000.0
#define MAX_SCRAPE_MS 100.0
#define MAX_GROWN_KIB 8192
#define MAX_TURN_MS 5.0
#define MAX_PAGE (1.0 * LIMIT_MIB) /* and for each */
#define MAX_OF_DEVICE (3.0 * LIMIT_KIB)
#define MAX_OF_TENANT (0.5 * LIMIT_KIB)

static struct loop *loop;
static struct inventory *inventory;
static struct exposition *exposition;
static struct front *front;
static struct loop_timer *every_turn, *look;
static double last_turn_at, longest_turn, longest_idle_turn, longest_of_all, began_at;
static double turns[N_SCRAPES]; /* the longest one of each scrape */
static unsigned n_turns;
static bool is_scraped, is_written;
static pid_t child;
static int result[2]; /* this end, the child's */

static double read_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double now_ms(void)
{
	return read_ms(CLOCK_MONOTONIC);
}

/* Of /proc/self/status, in KiB. */
static long memory(const char *what)
{
	char line[256];
	long value = 0;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, what, strlen(what)) == 0)
			value = strtol(line + strlen(what) + 1, NULL, 10);
	if (file)
		fclose(file);
	return value;
}

static void forget_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "w");

	if (!file || fputs("5", file) < 0 || fclose(file) != 0)
		exit(2);
}

/* The turn in which the text was finished is the last one of its scrape. */
static void end_scrape(void)
{
	is_written = false;
	if (longest_turn > longest_of_all)
		longest_of_all = longest_turn;
	turns[n_turns++ % N_SCRAPES] = longest_turn;
	longest_turn = 0;
}

static int by_length(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double middle_turn(void)
{
	const size_t n = n_turns < N_SCRAPES ? n_turns : N_SCRAPES;

	sort_items(turns, n, sizeof(*turns), by_length);
	return turns[n / 2];
}

static void on_turn(void *owner)
{
	double now = read_ms(CLOCK_THREAD_CPUTIME_ID);

	(void)owner;
	if (now - last_turn_at > longest_turn)
		longest_turn = now - last_turn_at;
	last_turn_at = now;
	if (is_written)
		end_scrape();
	loop_timer_set(every_turn, 0);
}

static void on_done(void *owner, struct exposition_text *take_text, enum error_kind failure)
{
	struct error err;

	(void)owner;
	if (front_expose(front, take_text, failure, &err) < 0)
		exit(2);
	is_written = true;
}

static void on_messages(void *owner, bool readable, bool writable)
{
	struct front_message *message;

	(void)owner, (void)readable, (void)writable;
	while ((message = front_next(front))) {
		if (message->kind == FRONT_SCRAPE)
			exposition_write(exposition);
		front_message_free(message);
	}
}

/* The world */

static struct view text_of(struct arena *arena, const char *format, int a, int b)
{
	char text[160];
	struct view copy;

	snprintf(text, sizeof(text), format, a, b);
	if (!arena_copy(arena, view_from(text), &copy))
		exit(2);
	return copy;
}

static bool is_mig(int device)
{
	return device % DEVICES_OF_A_NODE == DEVICES_OF_A_NODE - 1;
}

static struct view partition_of(struct arena *arena, int device, int i)
{
	return text_of(arena, "MIG-%08x-0000-5000-8000-%012x", device, i);
}

static struct array partitions_of(struct arena *arena, int device, int n)
{
	struct attribution_partition *partitions =
		arena_alloc(arena, (size_t)n, sizeof(*partitions));

	for (int i = 0; partitions && i < n; i++)
		partitions[i] = (struct attribution_partition){
			.uuid = partition_of(arena, device, i),
			.profile = VIEW("1g.10gb"),
			.gpu_instance_id = 7 + i,
			.slots = 1,
			.activity.state = ATTRIBUTION_ACTIVITY_ACTIVE,
		};
	return (struct array){partitions, partitions ? (uint32_t)n : 0, true};
}

static struct array one_view(struct arena *arena, struct view text)
{
	struct view *view = arena_alloc(arena, 1, sizeof(*view));

	if (view)
		*view = text;
	return (struct array){view, view ? 1 : 0, true};
}

static struct attribution_tenant tenant_of(struct arena *arena, int device, int i)
{
	return (struct attribution_tenant){
		.pod_uid = text_of(arena, "00d76c9e-1c16-46f0-9aee-%06x%06x", device, i),
		.container = VIEW("main"),
		.pod_namespace = text_of(arena, "team-%02d", (device + i) % 50, 0),
		.pod_name = text_of(arena, "train-a-large-model-%05d-%d", device, i),
		.slots = 1,
		.confidence = ATTRIBUTION_CONFIDENCE_CONFIRMED,
		.role = ATTRIBUTION_ROLE_WORKLOAD,
		.start_time = 1767225600000,
		.partitions = is_mig(device) ? one_view(arena, partition_of(arena, device, i))
					     : (struct array){0},
	};
}

static struct condition attributed[] = {
	{.type = VIEW_INIT("Attributed"), .status = CONDITION_TRUE, .reason = VIEW_INIT("Resolved")},
};
static struct attribution_drift drifts[] = {
	{.type = VIEW_INIT("ReplicaCount"), .severity = ATTRIBUTION_SEVERITY_WARNING},
};

static void put_device(int n, int n_tenants)
{
	struct arena arena;
	struct error err;

	arena_init(&arena, LIMIT_MIB);
	struct attribution_tenant *tenants =
		arena_alloc(&arena, (size_t)n_tenants, sizeof(*tenants));
	if (!tenants)
		exit(2);
	for (int i = 0; i < n_tenants; i++)
		tenants[i] = tenant_of(&arena, n, i);
	const struct attribution object = {
		.name = text_of(&arena, "gpu-%08x-0000-4000-8000-%012x", n, 1),
		.uuid = text_of(&arena, "GPU-%08x-0000-4000-8000-%012x", n, 1),
		.resource_version = VIEW("1"),
		.status = {
			.node_name = text_of(&arena, "gpu-node-%05d", n / DEVICES_OF_A_NODE, 0),
			.device.model = VIEW("NVIDIA-H100-80GB-HBM3"),
			.sharing.mode = is_mig(n) ? ATTRIBUTION_MODE_MIG
						  : ATTRIBUTION_MODE_TIME_SLICED,
			.partitions = is_mig(n) ? partitions_of(&arena, n, n_tenants)
						: (struct array){0},
			.conditions = {attributed, ARRAY_SIZE(attributed), true},
			.slots = {.total = 8, .allocated = n_tenants},
			.tenants = {tenants, (uint32_t)n_tenants, true},
			.activity.state = ATTRIBUTION_ACTIVITY_ACTIVE,
			.health.state = ATTRIBUTION_HEALTH_HEALTHY,
			.intent = {.state = ATTRIBUTION_INTENT_DRIFTED,
				   .drifts = {drifts, ARRAY_SIZE(drifts), true}},
		},
	};
	if (inventory_put_attribution(inventory, &object, &arena, STORE_LISTED, (uint64_t)n + 1,
				      &err) < 0)
		exit(2);
	arena_deinit(&arena);
}

static struct array told_partitions_of(struct arena *arena, int device, int n)
{
	struct report_partition *partitions =
		arena_alloc(arena, (size_t)n, sizeof(*partitions));

	for (int i = 0; partitions && i < n; i++)
		partitions[i] = (struct report_partition){
			.uuid = partition_of(arena, device, i),
			.activity = {.present = true, .utilization = 40 + i},
		};
	return (struct array){partitions, partitions ? (uint32_t)n : 0, true};
}

static struct report_device told_device(struct arena *arena, int n, int n_tenants)
{
	return (struct report_device){
		.uuid = text_of(arena, "GPU-%08x-0000-4000-8000-%012x", n, 1),
		.activity = {.present = true, .utilization = 93},
		.condition = {.present = true,
			      .ecc_volatile = {.corrected = 12, .uncorrected = 0},
			      .ecc_aggregate = {.corrected = 4711, .uncorrected = 3}},
		.figures = {.present = true, .memory_used_mib = 61440,
			    .temperature_celsius = 54, .power_mw = 412345},
		.partitions = is_mig(n) ? told_partitions_of(arena, n, n_tenants)
					: (struct array){0},
	};
}

static void release(void *owner)
{
	arena_deinit(owner);
	free(owner);
}

static void put_report(int node, int n_tenants)
{
	struct arena *arena = calloc(1, sizeof(*arena));
	struct report *report;
	struct error err;

	if (!arena)
		exit(2);
	arena_init(arena, LIMIT_MIB);
	report = arena_alloc(arena, 1, sizeof(*report));
	struct report_device *devices = arena_alloc(arena, DEVICES_OF_A_NODE, sizeof(*devices));
	if (!report || !devices)
		exit(2);
	for (int i = 0; i < DEVICES_OF_A_NODE; i++)
		devices[i] = told_device(arena, node * DEVICES_OF_A_NODE + i, n_tenants);
	report->node = text_of(arena, "gpu-node-%05d", node, 0);
	report->devices = (struct array){devices, DEVICES_OF_A_NODE, true};
	if (inventory_node_state_put_report(inventory, report, release, arena, loop_now_ms(loop),
					    &err) < 0)
		exit(2);
}

/* The scraper */

struct scraped {
	double longest_ms, shortest_ms, bytes; /* of one */
	long series;
	int n_refused;            /* with 503 */
};

/* Lines that begin in this part, and are no comments. *at_start: whether a line begins with it. */
static long count_series(const char *part, size_t len, bool *at_start)
{
	long n = 0;

	for (size_t i = 0; i < len; i++) {
		n += *at_start && part[i] >= 'a' && part[i] <= 'z';
		*at_start = part[i] == '\n';
	}
	return n;
}

static void scrape(uint16_t port, struct scraped *ret)
{
	static char part[1 << 18];
	struct http_client *client = http_client_connect(port);
	const double began = now_ms();
	bool at_start = true;
	ssize_t n;

	if (!http_client_send(client, VIEW("GET /metrics HTTP/1.1\r\nHost: a\r\n"
					   "Connection: close\r\n\r\n")))
		_exit(1);
	ret->bytes = 0;
	ret->series = 0;
	while ((n = recv(http_client_fd(client), part, sizeof(part), 0)) > 0) {
		if (ret->bytes == 0 && n > 12 && memcmp(part + 9, "503", 3) == 0)
			ret->n_refused++;
		ret->bytes += (double)n;
		ret->series += count_series(part, (size_t)n, &at_start);
	}
	const double took_ms = now_ms() - began;

	if (took_ms > ret->longest_ms)
		ret->longest_ms = took_ms;
	if (took_ms < ret->shortest_ms || ret->shortest_ms == 0)
		ret->shortest_ms = took_ms;
	http_client_free(client);
}

/* Longer apart than a text is kept. */
static void play_scraper(uint16_t port, int n_deaf)
{
	struct scraped scraped = {0};
	char go;

	if (read(result[1], &go, 1) != 1)
		_exit(1);
	for (int i = 0; i < n_deaf; i++) {
		struct http_client *deaf = http_client_connect(port);

		if (!http_client_send(deaf, VIEW("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")))
			_exit(1);
		usleep(1200000);
	}
	for (int i = 0; i < N_SCRAPES; i++) {
		scrape(port, &scraped);
		usleep(1200000);
	}
	_exit(write(result[1], &scraped, sizeof(scraped)) == sizeof(scraped) ? 0 : 1);
}

static void on_look(void *owner)
{
	int status;

	(void)owner;
	if (!is_scraped && now_ms() - began_at > BASELINE_MS) {
		longest_idle_turn = longest_turn;
		longest_turn = 0;
		is_scraped = true;
		if (write(result[0], "g", 1) != 1)
			exit(2);
	}
	if (is_scraped && waitpid(child, &status, WNOHANG) == child)
		loop_stop(loop);
	loop_timer_set(look, 20);
}

static void open_front(const struct telemetry *telemetry, size_t memory_limit)
{
	struct error err = {0};
	struct loop_watch *watch;
	struct front_config config = front_config_default();

	config.report_address = "127.0.0.1:0";
	config.probe_address = "127.0.0.1:0";
	config.metrics_address = "127.0.0.1:0";
	config.metrics_insecure = true;
	config.rules = (struct identity_rules){VIEW("aud"), VIEW("ns"), VIEW("agent")};
	config.metrics = telemetry_front_metrics(telemetry);
	config.with_exposition = true;
	config.memory_limit = memory_limit;
	if (front_new(&config, &front, &err) < 0 ||
	    loop_watch_new(loop, front_fd(front), LOOP_READ, on_messages, NULL, &watch, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
}

static void open_world(size_t max_series, size_t memory_limit)
{
	struct telemetry *telemetry;
	struct error err;

	if (loop_new(&loop, &err) < 0 || inventory_new(loop_now_ms(loop), &inventory, &err) < 0 ||
	    telemetry_new(VIEW("localhost"), &telemetry, &err) < 0 ||
	    loop_timer_new(loop, on_turn, NULL, &every_turn, &err) < 0 ||
	    loop_timer_new(loop, on_look, NULL, &look, &err) < 0)
		exit(2);
	const struct exposition_config config = {
		.loop = loop,
		.inventory = inventory,
		.with_devices = true,
		.max_series = max_series,
		.stale_ms = 180000,
		.done = on_done,
	};
	if (exposition_new(&config, &exposition, &err) < 0)
		exit(2);
	open_front(telemetry, memory_limit);
}

int main(int argc, char **argv)
{
	const int n_devices = argc > 1 ? atoi(argv[1]) : 1000;
	const int n_tenants = argc > 2 ? atoi(argv[2]) : 4 * n_devices;
	const long max_series = argc > 3 ? atol(argv[3]) : 400000;
	const int n_deaf = argc > 4 ? atoi(argv[4]) : 0;
	const int limit_mib = argc > 5 ? atoi(argv[5]) : 1024;
	struct scraped scraped;
	struct error err;

	signal(SIGPIPE, SIG_IGN);
	if (n_devices <= 0 || n_tenants < 0 || max_series <= 0 || limit_mib <= 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, result) != 0)
		return 2;
	open_world((size_t)max_series, (size_t)limit_mib * LIMIT_MIB);
	const uint16_t port = front_metrics_port(front);
	child = fork();
	if (child == 0) {
		close(result[0]);
		play_scraper(port, n_deaf);
	}
	close(result[1]);
	for (int i = 0; i < n_devices; i++)
		put_device(i, n_tenants / n_devices + (i < n_tenants % n_devices));
	for (int i = 0; i < n_devices / DEVICES_OF_A_NODE; i++)
		put_report(i, n_tenants / n_devices);
	if (front_start(front, &err) < 0)
		return 2;
	forget_peak();
	const long before_kib = memory("VmRSS:");
	began_at = now_ms();
	last_turn_at = read_ms(CLOCK_THREAD_CPUTIME_ID);
	loop_timer_set(every_turn, 0);
	loop_timer_set(look, 20);
	if (loop_run(loop, &err) < 0 || read(result[0], &scraped, sizeof(scraped)) != sizeof(scraped))
		return 1;
	const long grown_kib = memory("VmHWM:") - before_kib;
	const double turn_ms = middle_turn();
	printf("devices %d tenants %d max_series %ld deaf %d refused %d series %ld bytes %.0f ", n_devices,
	       n_tenants, max_series, n_deaf, scraped.n_refused, scraped.series, scraped.bytes);
	printf("shortest_scrape_ms %.1f longest_scrape_ms %.1f rss_kib %ld peak_grown_kib %ld grown_kib %ld "
	       "turn_ms %.2f longest_turn_ms %.2f without_scrapes_ms %.2f\n",
	       scraped.shortest_ms, scraped.longest_ms, before_kib, grown_kib, memory("VmRSS:") - before_kib,
	       turn_ms, longest_of_all, longest_idle_turn);
	const bool is_small = n_devices <= 1000 && n_tenants <= 4000;
	const double max_page = MAX_PAGE + n_devices * MAX_OF_DEVICE + n_tenants * MAX_OF_TENANT;

	return turn_ms - longest_idle_turn > MAX_TURN_MS || scraped.bytes > max_page ||
	       (is_small && (scraped.shortest_ms > MAX_SCRAPE_MS || grown_kib > MAX_GROWN_KIB));
}
