/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An hour of virtual time, second by second. What is true is two lists: who held which slots from when
 * to when, and when there was no work on which device or partition. An agent looks every 15 s, and a
 * status is published a second later, if it says anything new. A Prometheus reads the counters every
 * 15 s and adds them up over restarts of the controller, as increase() does.
 *
 * One of two replicas may take over from the other; the one that leads is read.
 *
 * By namespace the sums must agree with the truth to one sample at each end of each tenancy. After a
 * kill they may lack as much more as the time from the last scrape to the restart, and never have more.
 * Of the idle sums that is also missing for which a device was quiet then, and not called idle yet. A
 * change of leader is like a kill and a restart at once.
 * While the API server takes no status, time may be missing from the idle sums.
 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "controller/gpu_time.h"

#define WALL INT64_C(1767225600000)
#define BOOT 5000u /* the monotonic clock at the beginning, s */
#define HOUR 3600
#define SAMPLE 15
#define IDLE_AFTER 600
#define NEVER (HOUR + 1)
#define MAX_DEVICES 4u
#define MAX_SPANS 64u
#define N_PARTITIONS 2u
#define WHOLE (-1)
#define N_WORLDS 300u
#define N_CHANGES 3u

static const char *const namespaces[] = {"vision", "speech", "search"};
static const char *const partition_uuids[N_PARTITIONS] = {"MIG-0", "MIG-1"};

/* A pod held slots of a device, or of a partition. */
struct span {
	unsigned device;
	int partition;
	unsigned namespace;
	int slots;
	int from, to;
};

/* There was no work. */
struct quiet {
	unsigned device;
	int partition;
	int from, to;
};

struct script {
	int modes[MAX_DEVICES];
	unsigned n_devices;
	struct span spans[MAX_SPANS];
	size_t n_spans;
	struct quiet quiets[MAX_SPANS];
	size_t n_quiets;
	int killed_at, back_at; /* the controller is away between them; NEVER: it is not */
	int leads_at[N_CHANGES]; /* the other replica, from then on; 0: there is no further change */
	int unwritten_from, written_at; /* the API server takes no status between them; 0: it does */
};

struct sum {
	double held, idle;
};

/* What one device's agent and controller know. */
struct device {
	char name[16];
	struct attribution_tenant tenants[MAX_SPANS];
	struct attribution_past_tenant past[MAX_SPANS];
	struct attribution_partition partitions[N_PARTITIONS];
	struct attribution object;
	bool was_there[MAX_SPANS];
	int64_t start_times[MAX_SPANS];
	int last_busy[1 + N_PARTITIONS];
};

struct world {
	const struct script *script;
	struct device devices[MAX_DEVICES];
	char uids[MAX_SPANS][32];
	struct gpu_time *gpu_time; /* that leads; NULL: the controller is away */
	struct gpu_time *follower;
	struct sum before[ARRAY_SIZE(namespaces)]; /* what earlier controllers had when read last */
	struct sum last[ARRAY_SIZE(namespaces)];
	struct sum last_of_follower[ARRAY_SIZE(namespaces)];
};

static struct gpu_time_now at(int s)
{
	return (struct gpu_time_now){(BOOT + (uint64_t)s) * 1000, WALL + (int64_t)s * 1000};
}

static bool is_quiet(const struct script *script, unsigned device, int partition, int s)
{
	for (size_t i = 0; i < script->n_quiets; i++) {
		const struct quiet *quiet = &script->quiets[i];

		if (quiet->device == device && quiet->partition == partition && quiet->from <= s &&
		    s < quiet->to)
			return true;
	}
	return false;
}

/* The agent's sample */

/* Returns the state, and since when it is idle. */
static int look_for_work(struct world *world, unsigned n, int partition, int s, int64_t *idle_since)
{
	int *last_busy = &world->devices[n].last_busy[partition + 1];

	if (!is_quiet(world->script, n, partition, s))
		*last_busy = s;
	*idle_since = s - *last_busy >= IDLE_AFTER ? WALL + (int64_t)*last_busy * 1000 : 0;
	return *idle_since ? ATTRIBUTION_ACTIVITY_IDLE : ATTRIBUTION_ACTIVITY_ACTIVE;
}

static void look_at_activity(struct world *world, unsigned n, int s)
{
	struct device *device = &world->devices[n];
	struct attribution_activity_state *activity = &device->object.status.activity;
	int64_t idle_since;
	int state = look_for_work(world, n, WHOLE, s, &idle_since);

	if (state != activity->state)
		activity->last_transition_time = WALL + (int64_t)s * 1000;
	activity->state = state;
	activity->idle_since = idle_since;
	for (int i = 0; i < (int)device->object.status.partitions.count; i++)
		device->partitions[i].activity.state = look_for_work(
			world, n, i, s, &device->partitions[i].activity.idle_since);
}

static void come(struct world *world, struct device *device, size_t i, int s)
{
	const struct span *span = &world->script->spans[i];
	static struct view uuids[N_PARTITIONS];

	if (!device->was_there[i])
		device->start_times[i] = WALL + (int64_t)s * 1000;
	struct attribution_tenant *tenant =
		&device->tenants[device->object.status.tenants.count++];
	*tenant = (struct attribution_tenant){
		.pod_uid = view_from(world->uids[i]),
		.container = VIEW("main"),
		.pod_namespace = view_from(namespaces[span->namespace]),
		.slots = span->slots,
		.start_time = device->start_times[i],
		.role = ATTRIBUTION_ROLE_WORKLOAD,
	};
	if (span->partition == WHOLE)
		return;
	uuids[span->partition] = view_from(partition_uuids[span->partition]);
	tenant->partitions = (struct array){&uuids[span->partition], 1, true};
}

static void leave(struct world *world, struct device *device, size_t i, int s)
{
	struct array *recent = &device->object.status.recent_tenants;

	memmove(&device->past[1], &device->past[0], recent->count * sizeof(device->past[0]));
	recent->count++;
	device->past[0] = (struct attribution_past_tenant){
		.pod_uid = view_from(world->uids[i]),
		.container = VIEW("main"),
		.start_time = device->start_times[i],
		.end_time = WALL + (int64_t)s * 1000,
	};
}

static void look_at_tenants(struct world *world, unsigned n, int s)
{
	struct device *device = &world->devices[n];

	device->object.status.tenants.count = 0;
	for (size_t i = 0; i < world->script->n_spans; i++) {
		const struct span *span = &world->script->spans[i];
		const bool is_there = span->device == n && span->from <= s && s < span->to;

		if (is_there)
			come(world, device, i, s);
		else if (device->was_there[i])
			leave(world, device, i, s);
		device->was_there[i] = is_there;
	}
}

/* The controller; without it nothing is published, and what left is found later. */

static void publish(struct world *world, unsigned n, int s)
{
	struct error err;

	assert_int_equal(gpu_time_publish(world->gpu_time, &world->devices[n].object, at(s), &err),
			 0);
	assert_int_equal(gpu_time_publish(world->follower, &world->devices[n].object, at(s), &err),
			 0);
}

static void start_controller(struct world *world, int s)
{
	struct error err;

	assert_int_equal(gpu_time_new(64, &world->gpu_time, &err), 0);
	assert_int_equal(gpu_time_new(64, &world->follower, &err), 0);
	for (unsigned n = 0; n < world->script->n_devices; n++)
		publish(world, n, s);
}

static void read_counters(struct world *world, int s)
{
	struct gpu_time_series series;

	memset(world->last, 0, sizeof(world->last));
	for (size_t i = 0; i < gpu_time_places(world->gpu_time); i++) {
		if (!gpu_time_at(world->gpu_time, i, at(s).monotonic, &series))
			continue;
		for (size_t n = 0; n < ARRAY_SIZE(namespaces); n++) {
			if (!view_equal(series.namespace, view_from(namespaces[n])))
				continue;
			world->last[n].held += (double)series.held_ms / 1000;
			world->last[n].idle += (double)series.idle_ms / 1000;
		}
	}
}

static void kill_controller(struct world *world)
{
	for (size_t n = 0; n < ARRAY_SIZE(namespaces); n++) {
		world->before[n].held += world->last[n].held;
		world->before[n].idle += world->last[n].idle;
	}
	memset(world->last, 0, sizeof(world->last));
	gpu_time_free(world->gpu_time);
	gpu_time_free(world->follower);
	world->gpu_time = NULL;
}

static void change_leader(struct world *world, int s)
{
	struct gpu_time *leader = world->follower;

	world->follower = world->gpu_time;
	world->gpu_time = leader;
	for (size_t n = 0; n < ARRAY_SIZE(namespaces); n++) {
		const struct sum last = world->last_of_follower[n];

		world->last_of_follower[n] = world->last[n];
		world->last[n] = last;
	}
	gpu_time_resume(leader, at(s));
}

static bool is_written(const struct script *script, int s)
{
	return s < script->unwritten_from || s >= script->written_at;
}

static void pass_second(struct world *world, int s)
{
	if (s == world->script->killed_at)
		kill_controller(world);
	if (s == world->script->back_at)
		start_controller(world, s);
	for (size_t i = 0; s > 0 && i < N_CHANGES; i++)
		if (s == world->script->leads_at[i])
			change_leader(world, s);
	for (unsigned n = 0; n < world->script->n_devices; n++) {
		if (s % SAMPLE == (int)n)
			look_at_activity(world, n, s);
		if (s % SAMPLE == (int)n && world->gpu_time)
			look_at_tenants(world, n, s);
		if (s % SAMPLE == (int)n + 1 && world->gpu_time && is_written(world->script, s))
			publish(world, n, s);
	}
	if (world->gpu_time && s % SAMPLE == 0)
		read_counters(world, s);
}

static void set_up_device(struct world *world, unsigned n)
{
	struct device *device = &world->devices[n];
	const bool is_mig = world->script->modes[n] == ATTRIBUTION_MODE_MIG;

	snprintf(device->name, sizeof(device->name), "gpu-%u", n);
	device->object = (struct attribution){
		.name = view_from(device->name),
		.status = {
			.device.model = VIEW_INIT("NVIDIA-H100"),
			.sharing.mode = world->script->modes[n],
			.tenants = {device->tenants, 0, true},
			.recent_tenants = {device->past, 0, true},
			.partitions = {device->partitions, is_mig ? N_PARTITIONS : 0, true},
			.activity.state = ATTRIBUTION_ACTIVITY_ACTIVE,
		},
	};
	for (unsigned i = 0; i < N_PARTITIONS; i++)
		device->partitions[i] = (struct attribution_partition){
			.uuid = view_from(partition_uuids[i]),
			.activity.state = ATTRIBUTION_ACTIVITY_ACTIVE,
		};
}

/* What is true */

static int overlap(int from, int to, int other_from, int other_to)
{
	const int begin = from > other_from ? from : other_from;
	const int end = to < other_to ? to : other_to;

	return end > begin ? end - begin : 0;
}

static bool is_of(const struct quiet *quiet, const struct span *span)
{
	return quiet->device == span->device && quiet->partition == span->partition;
}

/* Of one who leaves before the device is called idle no time is. */
static int idle_seconds(const struct script *script, const struct span *span)
{
	int seconds = 0;

	for (size_t i = 0; i < script->n_quiets; i++) {
		const struct quiet *quiet = &script->quiets[i];

		if (is_of(quiet, span) && quiet->to - quiet->from > IDLE_AFTER &&
		    span->to > quiet->from + IDLE_AFTER && quiet->from + IDLE_AFTER < HOUR)
			seconds += overlap(span->from, span->to < HOUR ? span->to : HOUR, quiet->from,
					   quiet->to < HOUR ? quiet->to : HOUR);
	}
	return seconds;
}

/* A quiet time that is nearly long enough, or is met by a comer or goer just then, is called either. */
static bool is_ambiguous(const struct script *script, const struct span *span)
{
	for (size_t i = 0; i < script->n_quiets; i++) {
		const struct quiet *quiet = &script->quiets[i];
		const int called = quiet->from + IDLE_AFTER;

		if (is_of(quiet, span) &&
		    (abs(quiet->to - called) < 3 * SAMPLE ||
		     abs(span->to - called) < 3 * SAMPLE || abs(HOUR - called) < 3 * SAMPLE))
			return true;
	}
	return false;
}

/* What was quiet then and not called idle by then is called so later, and counts from there. */
static int uncalled_seconds(const struct script *script, const struct span *span, int then)
{
	int seconds = 0;

	for (size_t i = 0; i < script->n_quiets; i++) {
		const struct quiet *quiet = &script->quiets[i];

		if (is_of(quiet, span) && quiet->from + IDLE_AFTER + 2 * SAMPLE > then)
			seconds += overlap(span->from, span->to, quiet->from, then);
	}
	return seconds;
}

struct bound {
	struct sum truth;
	double held_off, idle_off; /* one sample for each end */
	double lost;               /* while the controller was away, or before it died */
	double uncalled;           /* not called idle when it died */
	double unwritten;          /* while no status was written; of it idle time may lack */
	bool is_ambiguous;
};

/* Nobody counted between them. */
static void add_lost(const struct script *script, const struct span *span, int from, int to,
		     struct bound *bound)
{
	bound->lost += span->slots * overlap(span->from, span->to < HOUR ? span->to : HOUR,
					     from - SAMPLE, to + 2 * SAMPLE);
	bound->uncalled += span->slots * uncalled_seconds(script, span, from);
}

static struct bound find_truth(const struct script *script, unsigned namespace)
{
	struct bound bound = {0};
	const bool dies = script->killed_at < HOUR;

	for (size_t i = 0; i < script->n_spans; i++) {
		const struct span *span = &script->spans[i];
		const int to = span->to < HOUR ? span->to : HOUR;

		if (span->namespace != namespace)
			continue;
		bound.truth.held += (to - span->from) * span->slots;
		bound.truth.idle += idle_seconds(script, span) * span->slots;
		bound.held_off += (SAMPLE + 1) * span->slots;
		bound.idle_off += 2 * (SAMPLE + 1) * span->slots;
		bound.is_ambiguous |= is_ambiguous(script, span);
		if (dies)
			add_lost(script, span, script->killed_at, script->back_at, &bound);
		for (size_t j = 0; j < N_CHANGES && script->leads_at[j] > 0; j++)
			add_lost(script, span, script->leads_at[j], script->leads_at[j], &bound);
		bound.unwritten += span->slots * overlap(span->from, to,
							 script->unwritten_from - SAMPLE,
							 script->written_at);
	}
	return bound;
}

static struct sum sum_of(const struct world *world, unsigned n)
{
	const struct sum before = world->before[n], last = world->last[n];
	const struct sum follower = world->last_of_follower[n];

	return (struct sum){before.held + last.held + follower.held,
			    before.idle + last.idle + follower.idle};
}

/* How far the sums of a namespace are from the truth, at most. */
static void judge(const struct world *world, unsigned n)
{
	const struct bound bound = find_truth(world->script, n);
	const struct sum sum = sum_of(world, n);
	const double held = sum.held;
	const double idle = sum.idle;
	const double lost_idle = bound.lost + bound.uncalled + bound.unwritten;

	if (held > bound.truth.held + bound.held_off ||
	    held < bound.truth.held - bound.held_off - bound.lost)
		fail_msg("%s: held %.0f s, in truth %.0f s (off by %.0f, lost %.0f)", namespaces[n],
			 held, bound.truth.held, bound.held_off, bound.lost);
	if (!bound.is_ambiguous && (idle > bound.truth.idle + bound.idle_off ||
				    idle < bound.truth.idle - bound.idle_off - lost_idle))
		fail_msg("%s: idle %.0f s, in truth %.0f s (off by %.0f, lost %.0f)", namespaces[n],
			 idle, bound.truth.idle, bound.idle_off, lost_idle);
	assert_true(idle <= held + 0.5);
}

static void run_hour(const struct script *script, struct world *world)
{
	*world = (struct world){.script = script};
	for (size_t i = 0; i < script->n_spans; i++)
		snprintf(world->uids[i], sizeof(world->uids[i]), "uid-%zu", i);
	for (unsigned n = 0; n < script->n_devices; n++)
		set_up_device(world, n);
	start_controller(world, 0);
	for (int s = 0; s <= HOUR; s++)
		pass_second(world, s);
	read_counters(world, HOUR);
	gpu_time_free(world->gpu_time);
	gpu_time_free(world->follower);
	for (unsigned n = 0; n < ARRAY_SIZE(namespaces); n++)
		judge(world, n);
}

/* One device alone, one shared by four pods, one cut in two; idle and busy times. */
static struct script scripted_hour(void)
{
	return (struct script){
		.modes = {ATTRIBUTION_MODE_EXCLUSIVE, ATTRIBUTION_MODE_TIME_SLICED,
			  ATTRIBUTION_MODE_MIG},
		.n_devices = 3,
		.spans = {
			{0, WHOLE, 0, 1, 100, 1900},  {0, WHOLE, 1, 1, 2000, NEVER},
			{1, WHOLE, 0, 1, 60, NEVER},  {1, WHOLE, 0, 1, 300, 2500},
			{1, WHOLE, 1, 1, 300, 3100},  {1, WHOLE, 2, 1, 1000, 2800},
			{2, 0, 2, 1, 30, NEVER},      {2, 1, 1, 1, 500, 3000},
		},
		.n_spans = 8,
		.quiets = {
			{0, WHOLE, 400, 1500}, {1, WHOLE, 1200, 2400}, {2, 0, 0, 2000},
			{2, 1, 700, 1000},     {2, WHOLE, 0, 400},
		},
		.n_quiets = 5,
		.killed_at = NEVER,
		.back_at = NEVER,
	};
}

static void print_sums(const char *what, const struct world *world)
{
	for (unsigned n = 0; n < ARRAY_SIZE(namespaces); n++) {
		const struct bound bound = find_truth(world->script, n);
		const struct sum sum = sum_of(world, n);

		print_message("%s %s: held %.0f of %.0f s, idle %.0f of %.0f s\n", what,
			      namespaces[n], sum.held, bound.truth.held, sum.idle,
			      bound.truth.idle);
	}
}

static void a_scripted_hour_agrees_to_one_sample(void **state)
{
	static struct world world;
	const struct script script = scripted_hour();

	(void)state;
	run_hour(&script, &world);
	print_sums("whole", &world);
}

static void after_a_kill_it_agrees_to_the_length_of_the_restart(void **state)
{
	static struct world world;
	struct script script = scripted_hour();

	(void)state;
	script.killed_at = 1804;
	script.back_at = 1864;
	run_hour(&script, &world);
	print_sums("killed", &world);
}

static void two_replicas_that_lead_in_turn_agree_to_one_sample_a_change(void **state)
{
	static struct world world;
	struct script script = scripted_hour();

	(void)state;
	script.leads_at[0] = 1004;
	script.leads_at[1] = 1804;
	script.leads_at[2] = 2704;
	run_hour(&script, &world);
	print_sums("in turn", &world);
}

/* The work ends and the device is called idle anew, while the API server takes no status. */
static void work_while_no_status_is_written_is_not_idle_time(void **state)
{
	static struct world world;
	const struct script script = {
		.modes = {ATTRIBUTION_MODE_TIME_SLICED, ATTRIBUTION_MODE_MIG},
		.n_devices = 2,
		.spans = {
			{0, WHOLE, 0, 1, 100, NEVER}, {0, WHOLE, 1, 2, 300, NEVER},
			{1, 0, 2, 1, 100, NEVER},
		},
		.n_spans = 3,
		.quiets = {
			{0, WHOLE, 0, 1500}, {0, WHOLE, 1700, NEVER}, {1, 0, 0, 1450},
			{1, 0, 1600, NEVER},
		},
		.n_quiets = 4,
		.killed_at = NEVER,
		.back_at = NEVER,
		.unwritten_from = 1400,
		.written_at = 2400,
	};

	(void)state;
	run_hour(&script, &world);
	print_sums("unwritten", &world);
}

static void add_quiet(struct script *script, struct prng *prng, unsigned device, int partition)
{
	int from = (int)prng_between(prng, 0, HOUR);

	while (from < HOUR && script->n_quiets < MAX_SPANS) {
		int to = from + (int)prng_between(prng, 60, 2000);

		script->quiets[script->n_quiets++] = (struct quiet){device, partition, from, to};
		from = to + (int)prng_between(prng, 60, 1500);
	}
}

static void make_script(struct script *script, struct prng *prng)
{
	static const int modes[] = {ATTRIBUTION_MODE_EXCLUSIVE, ATTRIBUTION_MODE_TIME_SLICED,
				    ATTRIBUTION_MODE_MIG};

	*script = (struct script){.killed_at = NEVER, .back_at = NEVER};
	script->n_devices = (unsigned)prng_between(prng, 1, MAX_DEVICES);
	for (unsigned n = 0; n < script->n_devices; n++) {
		script->modes[n] = modes[prng_between(prng, 0, 2)];
		add_quiet(script, prng, n, WHOLE);
		for (int i = 0; script->modes[n] == ATTRIBUTION_MODE_MIG && i < (int)N_PARTITIONS; i++)
			add_quiet(script, prng, n, i);
	}
	script->n_spans = prng_between(prng, 1, 16);
	for (size_t i = 0; i < script->n_spans; i++) {
		struct span *span = &script->spans[i];

		span->device = (unsigned)prng_between(prng, 0, script->n_devices - 1);
		span->partition = script->modes[span->device] == ATTRIBUTION_MODE_MIG
					  ? (int)prng_between(prng, 0, N_PARTITIONS - 1)
					  : WHOLE;
		span->namespace = (unsigned)prng_between(prng, 0, ARRAY_SIZE(namespaces) - 1);
		span->slots = span->partition == WHOLE ? (int)prng_between(prng, 1, 3) : 1;
		span->from = (int)prng_between(prng, 20, HOUR - 100);
		span->to = span->from + (int)prng_between(prng, 40, HOUR);
	}
	if (prng_between(prng, 0, 1)) {
		script->killed_at = (int)prng_between(prng, 300, 3000);
		script->back_at = script->killed_at + (int)prng_between(prng, 2, 300);
	} else {
		for (size_t i = 0; i < N_CHANGES; i++)
			script->leads_at[i] = (int)prng_between(prng, 300, 3000);
	}
}

static void any_hour_agrees(void **state)
{
	static struct world world;
	struct script script;
	struct prng prng;

	(void)state;
	for (unsigned seed = 1; seed <= N_WORLDS; seed++) {
		prng_init(&prng, seed);
		make_script(&script, &prng);
		print_message("seed %u\n", seed);
		run_hour(&script, &world);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_scripted_hour_agrees_to_one_sample),
	cmocka_unit_test(after_a_kill_it_agrees_to_the_length_of_the_restart),
	cmocka_unit_test(two_replicas_that_lead_in_turn_agree_to_one_sample_a_change),
	cmocka_unit_test(work_while_no_status_is_written_is_not_idle_time),
	cmocka_unit_test(any_hour_agrees),
};
TEST_MAIN(tests)
