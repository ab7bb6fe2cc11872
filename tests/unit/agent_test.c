/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The whole agent against a kubelet, a driver and a controller of the test's own. These live on a
 * loop in a thread of their own, the world; what they do is a script: the n-th report that arrives
 * makes the n-th step happen. The world keeps what each report said, and the test looks at it when
 * the agent has ended. The last step sends SIGTERM.
 */

#include "lib/test_main.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/ready_mark.h"
#include "base/clock.h"
#include "lib/fake_controller.h"
#include "lib/fake_kubelet.h"
#include "schema/report_doc.h"

#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define POD_UID "00d76c9e-1c16-46f0-9aee-b624a6d8abae"
#define BOOT_ID "1d0f5f7c-6d0e-4b36-9c1b-3f1d6e3d2a10"
#define NEVER_MS 3600000
#define MAX_REPORTS 8
#define PATIENCE_MS 30000

#define CHECKPOINT(entries)                                     \
	"{\"Data\":{\"PodDeviceEntries\":[" entries             \
	"],\"RegisteredDevices\":{\"nvidia.com/gpu\":[\"" UUID "\"]}},\"Checksum\":1}"
#define ENTRY                                                                     \
	"{\"PodUID\":\"" POD_UID "\",\"ContainerName\":\"main\",\"ResourceName\":" \
	"\"nvidia.com/gpu\",\"DeviceIDs\":{\"-1\":[\"" UUID "\"]},\"AllocResp\":\"\"}"
#define DEVICES(events)                                                                        \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[{"             \
	"\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0,"                \
	"\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960,\"computeCapability\":\"8.0\"," \
	"\"processes\":[]}],\"events\":[" events "]}"
#define XID "{\"sequence\":1,\"uuid\":\"" UUID "\",\"type\":\"XID\",\"code\":79}"

/* What one report said. */
struct said {
	int64_t instance, sequence, restarted_at, checkpoint_at;
	int pod_resources, checkpoint, nvml; /* states of the sources */
	bool nvml_hangs;
	uint32_t n_pods, n_entries, n_devices, n_events;
	int64_t memory_mib; /* of the first device */
	int recovery;       /* of it, enum report_recovery */
	int64_t event_sequence, refused;
};

struct world;
typedef void (*step_fn)(struct world *world);

struct world {
	struct agent_settings settings;
	char folder[64], socket_folder[96], socket[96], checkpoint[96];
	char devices[96], ca[96], token[96], boot_id[96], ready[96];
	struct loop *loop;
	struct loop_timer *patience;
	struct loop_watch *stop;
	struct fake_kubelet *kubelet;
	struct fake_controller *controller;
	struct loop_timer *restart; /* of the controller */
	pthread_t thread;
	const step_fn *steps; /* ended by NULL */
	struct said said[MAX_REPORTS];
	unsigned n_said;
	char acknowledgement[64];
	bool was_ready[2]; /* by the mark, when the n-th report came */
};

static void must(bool good)
{
	if (!good)
		abort();
}

/* As the kubelet does it: a hidden file, moved over. */
static void write_file(const char *path, const char *text)
{
	char aside[128];
	int folder = (int)(strrchr(path, '/') - path);
	snprintf(aside, sizeof(aside), "%.*s/.aside", folder, path);
	FILE *file = fopen(aside, "w");
	must(file && fputs(text, file) >= 0 && fclose(file) == 0 && rename(aside, path) == 0);
}

static void list_a_pod(struct world *world)
{
	CLEANUP(sbuf_deinit) struct sbuf message;
	sbuf_init(&message, 4096);
	fake_kubelet_pod("ml", "train-0", "main", "nvidia.com/gpu", UUID, &message);
	fake_kubelet_set_message(world->kubelet, FAKE_KUBELET_LIST, sbuf_view(&message));
}

static void record(struct world *world, struct view body)
{
	struct error err;
	struct report report;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 16 << 20);
	must(world->n_said < MAX_REPORTS);
	must(report_doc_decode(body, &arena, &report, &err) == 0);
	must(view_equal(report.node, VIEW("gpu-a")) && view_equal(report.boot_id, VIEW(BOOT_ID)));
	must(report.uptime_ms >= report.instance);
	world->said[world->n_said++] = (struct said){
		.instance = report.instance,
		.sequence = report.sequence,
		.restarted_at = report.kubelet_restarted_at,
		.checkpoint_at = report.sources.checkpoint.observed_at,
		.pod_resources = report.sources.pod_resources.state,
		.checkpoint = report.sources.checkpoint.state,
		.nvml = report.sources.nvml.state,
		.nvml_hangs = report.sources.nvml.hangs,
		.refused = report.reports_refused,
		.n_pods = report.pod_resources.count,
		.n_entries = report.checkpoint.entries.count,
		.n_devices = report.devices.count,
		.n_events = report.events.count,
		.memory_mib = report.devices.count ? ARRAY_AT(report.devices, struct report_device,
							      0)->memory_mib
						   : 0,
		.recovery = report.devices.count ? ARRAY_AT(report.devices, struct report_device,
							    0)->condition.recovery
						 : 0,
		.event_sequence = report.events.count ? ARRAY_AT(report.events, struct report_event,
								 0)->sequence
						      : 0,
	};
}

static void saw_report(void *owner, struct view body)
{
	struct world *world = owner;
	unsigned n = world->n_said;
	record(world, body);
	if (world->steps && world->steps[n])
		world->steps[n](world);
}

static void saw_no_end(void *owner)
{
	(void)owner;
	fprintf(stderr, "the script did not come to its end\n");
	kill(getpid(), SIGTERM);
}

/*
 * The agent forks while the world runs. The sanitizers' locks are not released in a child, so the
 * world stands still meanwhile, where it can hold none.
 */
static struct {
	bool is_used;
	int wake;
	sem_t stands_still, goes_on;
} stop;

static void stand_still(void *owner, bool readable, bool writable)
{
	uint64_t n;
	(void)owner, (void)readable, (void)writable;
	must(read(stop.wake, &n, sizeof(n)) == sizeof(n));
	must(sem_post(&stop.stands_still) == 0 && sem_wait(&stop.goes_on) == 0);
}

static void before_fork(void)
{
	const uint64_t one = 1;
	if (!stop.is_used)
		return;
	must(write(stop.wake, &one, sizeof(one)) == sizeof(one));
	must(sem_wait(&stop.stands_still) == 0);
}

static void after_fork(void)
{
	if (stop.is_used)
		must(sem_post(&stop.goes_on) == 0);
}

static int stop_world_for_forks(void **state)
{
	(void)state;
	stop.wake = eventfd(0, EFD_CLOEXEC);
	return stop.wake < 0 || sem_init(&stop.stands_still, 0, 0) != 0 ||
	       sem_init(&stop.goes_on, 0, 0) != 0 || pthread_atfork(before_fork, after_fork, NULL) != 0;
}

static void *run_world(void *owner)
{
	struct world *world = owner;
	struct error err;
	must(loop_run(world->loop, &err) == 0);
	return NULL;
}

static void start_world(struct world *world)
{
	assert_int_equal(pthread_create(&world->thread, NULL, run_world, world), 0);
	stop.is_used = true;
}

static void stop_world(struct world *world)
{
	stop.is_used = false;
	loop_stop(world->loop);
	assert_int_equal(pthread_join(world->thread, NULL), 0);
}

static void name_files(struct world *world)
{
	snprintf(world->folder, sizeof(world->folder), "/tmp/agent_test.XXXXXX");
	must(mkdtemp(world->folder));
	const struct {
		char *path;
		const char *name;
	} files[] = {
		{world->socket, "pod-resources/kubelet.sock"},
		{world->checkpoint, "kubelet_internal_checkpoint"},
		{world->devices, "devices.json"}, {world->ca, "ca.crt"}, {world->token, "token"},
		{world->boot_id, "boot_id"}, {world->ready, "ready"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		snprintf(files[i].path, 96, "%s/%s", world->folder, files[i].name);
	snprintf(world->socket_folder, 96, "%s/pod-resources", world->folder);
	must(mkdir(world->socket_folder, 0750) == 0);
}

static void configure(struct world *world)
{
	world->settings = (struct agent_settings){
		.node_name = "gpu-a",
		.controller = fake_controller_url(world->controller),
		.controller_ca_file = world->ca,
		.controller_server_name = "",
		.token_file = world->token,
		.pod_resources_socket = world->socket,
		.checkpoint_file = world->checkpoint,
		.nvml_library = FAKE_NVML,
		.processes = "off",
		.dcgm_url = "",
		.boot_id_file = world->boot_id,
		.ready_file = world->ready,
		.sample_interval_ms = NEVER_MS,
		.debounce_ms = 20,
		.heartbeat_ms = NEVER_MS,
		.kubelet_timeout_ms = 10000,
		.nvml_timeout_ms = 10000,
		.report_timeout_ms = 10000,
	};
}

static void on_restart(void *owner)
{
	struct world *world = owner;
	fake_controller_restart(world->controller);
}

static void setup(struct world *world)
{
	struct error err;
	*world = (struct world){0};
	name_files(world);
	must(loop_new(&world->loop, &err) == 0);
	must(loop_timer_new(world->loop, saw_no_end, world, &world->patience, &err) == 0);
	loop_timer_set(world->patience, PATIENCE_MS);
	must(loop_timer_new(world->loop, on_restart, world, &world->restart, &err) == 0);
	must(loop_watch_new(world->loop, stop.wake, LOOP_READ, stand_still, NULL, &world->stop,
			    &err) == 0);
	world->kubelet = fake_kubelet_new(world->loop, world->socket);
	world->controller = fake_controller_new(world->loop, saw_report, world);
	char ca[8192];
	snprintf(ca, sizeof(ca), "%.*s", VIEW_ARG(fake_controller_authority(world->controller)));
	write_file(world->ca, ca);
	write_file(world->token, "secret");
	write_file(world->boot_id, BOOT_ID "\n");
	write_file(world->checkpoint, CHECKPOINT(""));
	write_file(world->devices, DEVICES(""));
	must(setenv("FAKE_NVML_FILE", world->devices, 1) == 0);
	configure(world);
}

static void teardown(struct world *world)
{
	fake_kubelet_free(world->kubelet);
	fake_controller_free(world->controller);
	loop_timer_free(world->patience);
	loop_timer_free(world->restart);
	loop_watch_free(world->stop);
	loop_free(world->loop);
	const char *const files[] = {world->checkpoint, world->devices, world->ca, world->token,
				     world->boot_id, world->ready};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		unlink(files[i]);
	assert_int_equal(rmdir(world->socket_folder), 0);
	assert_int_equal(rmdir(world->folder), 0);
}

/* Runs the agent until it ends; its result. */
static int run(struct world *world, const step_fn *steps, struct error *ret_err)
{
	struct agent *agent;
	world->steps = steps;
	assert_int_equal(agent_new(&world->settings, &agent, ret_err), 0);
	start_world(world);
	int result = agent_run(agent, ret_err);
	agent_free(agent);
	stop_world(world);
	return result;
}

static void play(const step_fn *steps, struct world *world)
{
	struct error err;
	setup(world);
	assert_int_equal(run(world, steps, &err), 0);
	teardown(world);
}

/* Steps. */

static void end(struct world *world)
{
	(void)world;
	kill(getpid(), SIGTERM);
}

static void go_on(struct world *world)
{
	(void)world;
}

/* What a readiness probe sees now. */
static void probe(struct world *world)
{
	struct ready_mark mark;
	struct error err;
	must(ready_mark_init(&mark, world->ready, world->boot_id, &err) == 0);
	world->was_ready[world->n_said - 1] = ready_mark_check(&mark, clock_boot_ms(), &err) == 0;
}

static void probe_and_end(struct world *world)
{
	probe(world);
	end(world);
}

static void allocate(struct world *world)
{
	list_a_pod(world);
	write_file(world->checkpoint, CHECKPOINT(ENTRY));
}

/* Both of the kubelet's witnesses tell of the pod in two reports. A List under way may come earlier. */
static void end_when_the_pod_is_old(struct world *world)
{
	const struct said *before = &world->said[world->n_said - 2];
	if (before->n_pods == 1 && before->n_entries == 1)
		end(world);
}

static void restart_kubelet(struct world *world)
{
	fake_kubelet_free(world->kubelet);
	world->kubelet = fake_kubelet_new(world->loop, world->socket);
}

/* When its answer is on its way. */
static void restart_controller(struct world *world)
{
	loop_timer_set(world->restart, 0);
}

static void damage_checkpoint(struct world *world)
{
	write_file(world->checkpoint, "{\"Data\":{\"PodDevi");
}

static void hang_kubelet(struct world *world)
{
	fake_kubelet_set(world->kubelet, FAKE_KUBELET_LIST, VIEW(""));
}

static void hang_driver(struct world *world)
{
	write_file(world->devices,
		   "{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[],"
		   "\"hangs\":{\"*\":\"UntilChanged\"}}");
}

static void raise_xid(struct world *world)
{
	write_file(world->devices, DEVICES(XID));
}

static void change_device(struct world *world)
{
	write_file(world->devices,
		   "{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[{"
		   "\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0,"
		   "\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":20480}]}");
}

/* The driver recommends a reset and says so, without an XID error. */
static void change_recovery_action(struct world *world)
{
	write_file(world->devices,
		   "{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[{"
		   "\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0,"
		   "\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960,"
		   "\"recoveryAction\":1,\"computeCapability\":\"8.0\",\"processes\":[]}],"
		   "\"events\":[{\"sequence\":1,\"uuid\":\"" UUID "\",\"type\":\"RecoveryAction\"}]}");
}

static void raise_xid_of_a_changed_device(struct world *world)
{
	write_file(world->devices,
		   "{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[{"
		   "\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0,"
		   "\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":20480,"
		   "\"computeCapability\":\"8.0\",\"processes\":[]}],"
		   "\"events\":[" XID "]}");
}

/* grpc-status 8, as of a kubelet that limits how often it is asked. */
static void throttle_kubelet(struct world *world)
{
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	sbuf_init(&bytes, 4096);
	fake_kubelet_write(&(struct fake_kubelet_answer){.trailers_only = true, .grpc_status = "8"},
			   &bytes);
	fake_kubelet_set(world->kubelet, FAKE_KUBELET_LIST, sbuf_view(&bytes));
}

static void let_kubelet_answer(struct world *world)
{
	list_a_pod(world);
}

static void acknowledge(struct world *world)
{
	int len = snprintf(world->acknowledgement, sizeof(world->acknowledgement),
			   "{\"acknowledgedEvents\":%lld}",
			   (long long)world->said[world->n_said - 1].event_sequence);
	fake_controller_set(world->controller,
			    &(struct server_answer){
				    .status = 200,
				    .content_type = "application/json",
				    .body = {world->acknowledgement, (size_t)len}});
}

static void acknowledge_and_end(struct world *world)
{
	acknowledge(world);
	end(world);
}

static void end_twice(struct world *world)
{
	end(world);
	kill(getpid(), SIGINT);
}

static void accept_from_now_on(struct world *world)
{
	fake_controller_set(world->controller,
			    &(struct server_answer){.status = 200,
						    .content_type = "application/json",
						    .body = VIEW("{}")});
}

static void refuse(struct world *world, int status)
{
	fake_controller_set(world->controller,
			    &(struct server_answer){.status = status,
						    .content_type = "application/json",
						    .body = VIEW("{\"error\":\"no\"}")});
}

static void accept_and_end(struct world *world)
{
	accept_from_now_on(world);
	end(world);
}

static void the_first_report_comes_at_once_with_what_every_source_says(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	setup(&world);
	allocate(&world);
	assert_int_equal(run(&world, (const step_fn[]){end, NULL}, &err), 0);
	teardown(&world);
	const struct said *said = &world.said[0];
	assert_int_equal(world.n_said, 1);
	assert_int_equal(said->sequence, 1);
	assert_true(said->instance > 0);
	assert_int_equal(said->pod_resources, REPORT_SOURCE_OK);
	assert_int_equal(said->checkpoint, REPORT_SOURCE_OK);
	assert_int_equal(said->nvml, REPORT_SOURCE_OK);
	assert_int_equal(said->n_pods, 1);
	assert_int_equal(said->n_entries, 1);
	assert_int_equal(said->n_devices, 1);
}

static void an_allocation_is_reported_at_once_by_both_of_the_kubelets_witnesses(void **state)
{
	(void)state;
	struct world world;
	play((const step_fn[]){allocate, end, NULL}, &world);
	assert_int_equal(world.n_said, 2);
	assert_int_equal(world.said[0].n_entries, 0);
	assert_int_equal(world.said[1].n_entries, 1);
	assert_int_equal(world.said[1].n_pods, 1);
	assert_int_equal(world.said[1].sequence, 2);
}

static void a_restarted_kubelet_is_told(void **state)
{
	(void)state;
	struct world world;
	play((const step_fn[]){restart_kubelet, end, NULL}, &world);
	assert_true(world.said[0].restarted_at > 0);
	assert_true(world.said[1].restarted_at > world.said[0].restarted_at);
}

static void sources_that_fail_are_said_and_take_nothing_with_them(void **state)
{
	(void)state;
	static const step_fn steps[] = {damage_checkpoint, hang_kubelet, hang_driver, end, NULL};
	struct world world;
	struct error err;
	setup(&world);
	allocate(&world);
	world.settings.sample_interval_ms = 100;
	world.settings.kubelet_timeout_ms = 2000; /* no answer but a hang takes that long */
	world.settings.nvml_timeout_ms = 1000;
	assert_int_equal(run(&world, steps, &err), 0);
	teardown(&world);
	static const struct {
		int pod_resources, checkpoint, nvml;
	} expected[] = {
		{REPORT_SOURCE_OK, REPORT_SOURCE_OK, REPORT_SOURCE_OK},
		{REPORT_SOURCE_OK, REPORT_SOURCE_ERROR, REPORT_SOURCE_OK},
		{REPORT_SOURCE_ERROR, REPORT_SOURCE_ERROR, REPORT_SOURCE_OK},
		{REPORT_SOURCE_ERROR, REPORT_SOURCE_ERROR, REPORT_SOURCE_ERROR},
	};
	assert_int_equal(world.n_said, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct said *said = &world.said[i];
		assert_int_equal(said->pod_resources, expected[i].pod_resources);
		assert_int_equal(said->checkpoint, expected[i].checkpoint);
		assert_int_equal(said->nvml, expected[i].nvml);
		assert_int_equal(said->n_pods, 1);
		assert_int_equal(said->n_entries, 1);
		assert_int_equal(said->n_devices, 1);
	}
	assert_true(world.said[3].checkpoint_at == world.said[1].checkpoint_at);
}

static void while_the_driver_hangs_pods_that_come_and_heartbeats_are_reported(void **state)
{
	(void)state;
	static const step_fn steps[] = {hang_driver, allocate, go_on, end_when_the_pod_is_old,
					end_when_the_pod_is_old, NULL};
	struct world world;
	struct error err;
	setup(&world);
	world.settings.nvml_timeout_ms = 300;
	world.settings.heartbeat_ms = 5000; /* none comes before the pod on a busy machine */
	assert_int_equal(run(&world, steps, &err), 0);
	teardown(&world);
	/* All is well, the driver hangs, a pod comes (in two reports at most), a heartbeat. */
	assert_in_range(world.n_said, 4, 5);
	for (unsigned i = 0; i < world.n_said; i++) {
		const struct said *said = &world.said[i];
		assert_int_equal(said->nvml, i < 1 ? REPORT_SOURCE_OK : REPORT_SOURCE_ERROR);
		assert_int_equal(said->nvml_hangs, i >= 1);
		assert_int_equal(said->n_devices, 1);
		assert_int_equal(said->checkpoint, REPORT_SOURCE_OK);
		assert_int_equal(said->pod_resources, REPORT_SOURCE_OK);
		if (i != 2 || world.n_said == 4) {
			assert_int_equal(said->n_entries, i < 2 ? 0 : 1);
			assert_int_equal(said->n_pods, i < 2 ? 0 : 1);
		}
	}
}

static void an_unchanged_world_is_reported_by_heartbeats_only(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	setup(&world);
	world.settings.sample_interval_ms = 100;
	world.settings.heartbeat_ms = 1000;
	uint64_t started_at = clock_monotonic_ms();
	assert_int_equal(run(&world, (const step_fn[]){go_on, end, NULL}, &err), 0);
	teardown(&world);
	assert_int_equal(world.n_said, 2);
	assert_true(clock_monotonic_ms() - started_at >= 900);
	assert_int_equal(world.said[1].sequence, 2);
}

/* The mark that it finds is good by itself: it is of this boot, and of now. */
static void it_is_ready_once_a_report_of_its_own_was_accepted(void **state)
{
	(void)state;
	for (size_t accepted = 0; accepted < 2; accepted++) {
		struct world world;
		struct ready_mark earlier;
		struct error err;
		setup(&world);
		world.settings.heartbeat_ms = 300;
		if (!accepted)
			refuse(&world, 401);
		assert_int_equal(ready_mark_init(&earlier, world.ready, world.boot_id, &err), 0);
		ready_mark_accepted(&earlier, clock_boot_ms(), NEVER_MS);
		assert_int_equal(run(&world, (const step_fn[]){probe, probe_and_end, NULL}, &err), 0);
		teardown(&world);
		assert_false(world.was_ready[0]);
		assert_int_equal(world.was_ready[1], accepted);
	}
}

static void an_xid_error_is_sent_until_it_is_acknowledged(void **state)
{
	(void)state;
	static const step_fn steps[] = {raise_xid, go_on, acknowledge, end, NULL};
	struct world world;
	struct error err;
	setup(&world);
	world.settings.heartbeat_ms = 1000;
	assert_int_equal(run(&world, steps, &err), 0);
	teardown(&world);
	assert_int_equal(world.n_said, 4);
	assert_int_equal(world.said[0].n_events, 0);
	assert_int_equal(world.said[1].n_events, 1);
	assert_int_equal(world.said[2].n_events, 1);
	assert_int_equal(world.said[2].event_sequence, world.said[1].event_sequence);
	assert_int_equal(world.said[3].n_events, 0);
}

/* Nothing but the driver tells of a change: the files that change lie in a folder where it is no news. */
static void hide_files(struct world *world)
{
	unlink(world->devices);
	snprintf(world->ready, sizeof(world->ready), "%s/pod-resources/r", world->folder);
	snprintf(world->devices, sizeof(world->devices), "%s/pod-resources/d", world->folder);
	write_file(world->devices, DEVICES(""));
	assert_int_equal(setenv("FAKE_NVML_FILE", world->devices, 1), 0);
}

static void errors_are_told_though_nothing_else_happens(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	setup(&world);
	hide_files(&world);
	assert_int_equal(run(&world, (const step_fn[]){raise_xid, acknowledge_and_end, NULL}, &err), 0);
	teardown(&world);
	assert_int_equal(world.n_said, 2);
	assert_int_equal(world.said[0].n_events, 0);
	assert_int_equal(world.said[1].n_events, 1);
	/* An agent that comes later numbers on. */
	assert_true(world.said[1].event_sequence > world.said[1].instance);
}

static void an_xid_error_is_reported_at_once_and_the_device_then_looked_at(void **state)
{
	(void)state;
	static const step_fn steps[] = {raise_xid_of_a_changed_device, go_on, acknowledge_and_end, NULL};
	struct world world;
	struct error err;
	setup(&world);
	hide_files(&world);
	assert_int_equal(run(&world, steps, &err), 0);
	teardown(&world);
	assert_int_equal(world.n_said, 3);
	assert_int_equal(world.said[1].n_events, 1);
	assert_int_equal(world.said[1].memory_mib, 40960);
	assert_int_equal(world.said[2].memory_mib, 20480);
}

/* No sample is due for an hour. */
static void a_changed_recovery_action_is_reported_without_waiting_for_the_next_sample(void **state)
{
	(void)state;
	static const step_fn steps[] = {change_recovery_action, end, NULL};
	struct world world;
	struct error err;
	setup(&world);
	hide_files(&world);
	assert_int_equal(run(&world, steps, &err), 0);
	teardown(&world);
	assert_int_equal(world.n_said, 2);
	assert_int_not_equal(world.said[0].recovery, REPORT_RECOVERY_RESET);
	assert_int_equal(world.said[1].recovery, REPORT_RECOVERY_RESET);
	assert_int_equal(world.said[1].n_events, 0);
}

static void an_xid_error_that_is_not_acknowledged_is_told_once_more_before_the_end(void **state)
{
	(void)state;
	static const step_fn steps[] = {raise_xid, end, acknowledge, NULL};
	struct world world;
	play(steps, &world);
	assert_int_equal(world.n_said, 3);
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(world.said[i].n_events, 1);
		assert_int_equal(world.said[i].event_sequence, world.said[1].event_sequence);
	}
}

static void an_end_waits_not_long_for_an_acknowledgement_and_not_after_a_second_signal(void **state)
{
	(void)state;
	static const step_fn once[] = {raise_xid, end, go_on, go_on, go_on, NULL};
	static const step_fn twice[] = {raise_xid, end_twice, go_on, go_on, go_on, NULL};
	struct world world;
	play(once, &world);
	assert_in_range(world.n_said, 3, 5);
	play(twice, &world);
	assert_in_range(world.n_said, 2, 3);
}

static void a_kubelet_that_limits_is_asked_again_before_the_next_sample_at_rest(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	setup(&world);
	throttle_kubelet(&world);
	assert_int_equal(run(&world, (const step_fn[]){let_kubelet_answer, end, NULL}, &err), 0);
	teardown(&world);
	assert_int_equal(world.n_said, 2);
	assert_int_equal(world.said[0].pod_resources, REPORT_SOURCE_ERROR);
	assert_int_equal(world.said[1].pod_resources, REPORT_SOURCE_OK);
	assert_int_equal(world.said[1].n_pods, 1);
}

static void a_restarted_kubelet_is_asked_again_while_its_list_may_be_short(void **state)
{
	(void)state;
	static const step_fn steps[] = {restart_kubelet, let_kubelet_answer, end, NULL};
	struct world world;
	play(steps, &world);
	assert_int_equal(world.n_said, 3);
	assert_int_equal(world.said[1].n_pods, 0);
	assert_int_equal(world.said[2].n_pods, 1);
}

/* As the socket of a plugin is. */
static void a_new_name_in_the_plugins_folder_leads_to_a_look_at_the_devices(void **state)
{
	(void)state;
	struct world world;
	play((const step_fn[]){change_device, end, NULL}, &world);
	assert_int_equal(world.n_said, 2);
	assert_int_equal(world.said[0].memory_mib, 40960);
	assert_int_equal(world.said[1].memory_mib, 20480);
}

static void a_report_that_counts_as_old_is_sent_again_under_a_higher_instance(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	setup(&world);
	refuse(&world, 409);
	assert_int_equal(run(&world, (const step_fn[]){go_on, accept_and_end, NULL}, &err), 0);
	teardown(&world);
	assert_int_equal(world.n_said, 2);
	assert_true(world.said[1].instance > world.said[0].instance);
	assert_int_equal(world.said[1].sequence, 1);
}

static void while_the_controller_is_away_only_the_newest_state_is_kept(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	setup(&world);
	refuse(&world, 503);
	assert_int_equal(run(&world, (const step_fn[]){allocate, accept_and_end, NULL}, &err), 0);
	teardown(&world);
	assert_int_equal(world.n_said, 2);
	assert_int_equal(world.said[0].n_entries, 0);
	assert_int_equal(world.said[1].n_entries, 1);
	assert_int_equal(world.said[0].refused, 0);
	assert_int_equal(world.said[1].refused, 1);
}

/* The next heartbeat is an hour away. */
TEST(a_controller_that_is_started_again_in_place_is_told_within_seconds)
{
	struct world world;
	uint64_t before = clock_monotonic_ms();
	play((const step_fn[]){restart_controller, restart_controller, end, NULL}, &world);
	assert_int_equal(world.n_said, 3);
	assert_int_equal(world.said[2].sequence, 3);
	/* A second for the first, two for the next. */
	assert_true(clock_monotonic_ms() - before < 10000);
}

static void once_ends_by_what_became_of_its_report(void **state)
{
	(void)state;
	static const struct {
		int status, result;
	} rows[] = {{200, 0}, {401, -1}, {503, -1}, {409, -1}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world world;
		struct error err;
		setup(&world);
		world.settings.once = true;
		refuse(&world, rows[i].status);
		assert_int_equal(run(&world, NULL, &err), rows[i].result);
		assert_int_equal(world.n_said, 1);
		teardown(&world);
	}
}

static void once_without_a_token_fails_and_names_the_file(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	setup(&world);
	world.settings.once = true;
	world.settings.token_file = "/nowhere/token";
	assert_int_equal(run(&world, NULL, &err), -1);
	assert_non_null(strstr(err.text, "/nowhere/token"));
	teardown(&world);
}

/* Runs --once --print; what it printed goes to text. */
static int print_once(struct world *world, char text[static 8192], struct error *err)
{
	FILE *file = tmpfile();
	assert_non_null(file);
	fflush(stdout);
	int out = dup(STDOUT_FILENO);
	assert_true(out >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
	world->settings.once = true;
	world->settings.print = true;
	int result = run(world, NULL, err);
	assert_true(dup2(out, STDOUT_FILENO) >= 0);
	close(out);
	rewind(file);
	size_t len = fread(text, 1, 8191, file);
	text[len] = '\0';
	fclose(file);
	return result;
}

static void once_and_print_shows_the_report_and_sends_nothing(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	char text[8192];
	setup(&world);
	assert_int_equal(print_once(&world, text, &err), 0);
	assert_int_equal(world.n_said, 0);
	assert_non_null(strstr(text, "\n  \"node\": \"gpu-a\",\n"));
	assert_non_null(strstr(text, "\"uuid\": \"" UUID "\""));
	teardown(&world);
}

static void once_and_print_fails_when_no_source_answers_but_shows_the_report(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	char text[8192];
	setup(&world);
	world.settings.pod_resources_socket = "/nowhere/kubelet.sock";
	world.settings.checkpoint_file = "/nowhere/checkpoint";
	world.settings.nvml_library = "/nowhere/libnvidia-ml.so.1";
	assert_int_equal(print_once(&world, text, &err), -1);
	assert_non_null(strstr(text, "/nowhere/kubelet.sock is not there"));
	teardown(&world);
}

static void once_and_print_is_content_with_any_one_source(void **state)
{
	(void)state;
	for (int left = 0; left < 3; left++) {
		struct world world;
		struct error err;
		char text[8192];
		setup(&world);
		if (left != 0)
			world.settings.pod_resources_socket = "/nowhere/kubelet.sock";
		if (left != 1)
			world.settings.checkpoint_file = "/nowhere/checkpoint";
		if (left != 2)
			world.settings.nvml_library = "/nowhere/libnvidia-ml.so.1";
		assert_int_equal(print_once(&world, text, &err), 0);
		teardown(&world);
	}
}

static void it_ends_at_once_on_a_signal_while_everybody_hangs(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	setup(&world);
	hang_kubelet(&world);
	fake_controller_hang(world.controller);
	world.settings.kubelet_timeout_ms = 100;
	world.settings.sample_interval_ms = 100;
	assert_int_equal(run(&world, (const step_fn[]){end, NULL}, &err), 0);
	assert_int_equal(world.n_said, 1);
	teardown(&world);
}

static void without_a_boot_id_it_does_not_start(void **state)
{
	(void)state;
	struct world world;
	struct error err;
	struct agent *agent = NULL;
	setup(&world);
	unlink(world.boot_id);
	assert_int_equal(agent_new(&world.settings, &agent, &err), -1);
	assert_non_null(strstr(err.text, "boot ID"));
	assert_null(agent);
	teardown(&world);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_first_report_comes_at_once_with_what_every_source_says),
	cmocka_unit_test(an_allocation_is_reported_at_once_by_both_of_the_kubelets_witnesses),
	cmocka_unit_test(a_restarted_kubelet_is_told),
	cmocka_unit_test(sources_that_fail_are_said_and_take_nothing_with_them),
	cmocka_unit_test(while_the_driver_hangs_pods_that_come_and_heartbeats_are_reported),
	cmocka_unit_test(an_unchanged_world_is_reported_by_heartbeats_only),
	cmocka_unit_test(it_is_ready_once_a_report_of_its_own_was_accepted),
	cmocka_unit_test(an_xid_error_is_sent_until_it_is_acknowledged),
	cmocka_unit_test(errors_are_told_though_nothing_else_happens),
	cmocka_unit_test(an_xid_error_is_reported_at_once_and_the_device_then_looked_at),
	cmocka_unit_test(a_changed_recovery_action_is_reported_without_waiting_for_the_next_sample),
	cmocka_unit_test(an_xid_error_that_is_not_acknowledged_is_told_once_more_before_the_end),
	cmocka_unit_test(an_end_waits_not_long_for_an_acknowledgement_and_not_after_a_second_signal),
	cmocka_unit_test(a_kubelet_that_limits_is_asked_again_before_the_next_sample_at_rest),
	cmocka_unit_test(a_restarted_kubelet_is_asked_again_while_its_list_may_be_short),
	cmocka_unit_test(a_new_name_in_the_plugins_folder_leads_to_a_look_at_the_devices),
	cmocka_unit_test(a_report_that_counts_as_old_is_sent_again_under_a_higher_instance),
	cmocka_unit_test(while_the_controller_is_away_only_the_newest_state_is_kept),
	cmocka_unit_test(a_controller_that_is_started_again_in_place_is_told_within_seconds),
	cmocka_unit_test(once_ends_by_what_became_of_its_report),
	cmocka_unit_test(once_without_a_token_fails_and_names_the_file),
	cmocka_unit_test(once_and_print_shows_the_report_and_sends_nothing),
	cmocka_unit_test(once_and_print_fails_when_no_source_answers_but_shows_the_report),
	cmocka_unit_test(once_and_print_is_content_with_any_one_source),
	cmocka_unit_test(it_ends_at_once_on_a_signal_while_everybody_hangs),
	cmocka_unit_test(without_a_boot_id_it_does_not_start),
};
TEST_MAIN_WITH(tests, stop_world_for_forks, NULL)
