/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What does an agent cost at rest? This plays its kubelet and its controller, starts it with the
 * stand-in for NVML, lets it settle, and reads what the kernel counts for it and its children.
 *
 *	agent_rest_bench NVML_LIBRARY SECONDS AGENT...
 *
 * AGENT... is the command that starts it, less its options. tests/bench/agent-rest makes one whose
 * libraries nobody else maps, as in a pod: a page that others map, too, counts less than whole in
 * PSS. It fails if that costs more than MAX_PSS_KIB or MAX_CPU_PERCENT. All settings of the agent have
 * their default. NVML_LIBRARY is shown the eight devices of DEVICES_FILE. It does not look at that file
 * again: with each call that would cost more than all else that it does.
 */

#include "lib/test_main.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/fake_controller.h"
#include "lib/fake_kubelet.h"
#include "lib/own_folder.h"

#define DEVICES_FILE TESTS_FOLDER "/fake/devices/exclusive.json"
#define N_PODS 8
#define SETTLE_MS 35000 /* two samples */
#define MAX_PROCESSES 8
#define MAX_ARGS 64
#define MAX_PSS_KIB (8 * 1024)
#define MAX_CPU_PERCENT 0.02 /* of a core */
#define SOCKET "/pod-resources.sock"
#define CHECKPOINT "/checkpoint"

struct cost {
	unsigned n_processes, n_libraries;
	long rss_kib, pss_kib, anonymous_kib;
	double cpu_s;
};

struct world {
	struct loop *loop;
	struct loop_timer *timer;
	struct fake_kubelet *kubelet;
	struct fake_controller *controller;
	char folder[PATH_MAX - 64];
	pid_t agent;
	long measure_ms;
	bool is_measuring, is_within;
	struct cost before;
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* The kernel's figures of one process. */

static FILE *open_of(pid_t pid, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "r");
}

static void add_memory(pid_t pid, struct cost *cost)
{
	char line[256];
	long kib;
	FILE *file = open_of(pid, "smaps_rollup");
	must(file != NULL, "smaps_rollup");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Rss: %ld kB", &kib) == 1)
			cost->rss_kib += kib;
		else if (sscanf(line, "Pss: %ld kB", &kib) == 1)
			cost->pss_kib += kib;
		else if (sscanf(line, "Anonymous: %ld kB", &kib) == 1)
			cost->anonymous_kib += kib;
	}
	fclose(file);
}

/* The agent's shared objects. Each is mapped executable once. */
static unsigned count_libraries(pid_t pid)
{
	char line[PATH_MAX];
	unsigned n = 0;
	FILE *file = open_of(pid, "maps");
	must(file != NULL, "maps");
	while (fgets(line, sizeof(line), file)) {
		const char *name = strrchr(line, '/');
		n += name && strstr(line, " r-xp ") && strstr(name, ".so");
	}
	fclose(file);
	return n;
}

static double cpu_of(pid_t pid)
{
	clockid_t clock;
	struct timespec time;
	must(clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &time) == 0, "CPU clock");
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static pid_t parent_of(pid_t pid)
{
	int parent = 0;
	char line[512] = "";
	FILE *file = open_of(pid, "stat");
	if (!file)
		return 0;
	const char *end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	if (!end || sscanf(end, ") %*c %d", &parent) != 1)
		parent = 0;
	fclose(file);
	return parent;
}

/* The agent and its children. */
static unsigned find_processes(pid_t agent, pid_t pids[static MAX_PROCESSES])
{
	unsigned n = 0;
	DIR *folder = opendir("/proc");
	must(folder != NULL, "/proc");
	pids[n++] = agent;
	for (const struct dirent *entry; (entry = readdir(folder));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid > 0 && n < MAX_PROCESSES && parent_of(pid) == agent)
			pids[n++] = pid;
	}
	closedir(folder);
	return n;
}

static struct cost read_cost(pid_t agent)
{
	pid_t pids[MAX_PROCESSES];
	struct cost cost = {.n_processes = find_processes(agent, pids)};
	for (unsigned i = 0; i < cost.n_processes; i++) {
		unsigned n_libraries = count_libraries(pids[i]);
		cost.n_libraries = n_libraries > cost.n_libraries ? n_libraries : cost.n_libraries;
		add_memory(pids[i], &cost);
		cost.cpu_s += cpu_of(pids[i]);
	}
	return cost;
}

/* The agent's surroundings. */

static const char *path_of(const struct world *world, const char *name, char path[static PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s%s", world->folder, name);
	return path;
}

static void write_file(const struct world *world, const char *name, struct view text)
{
	char path[PATH_MAX];
	FILE *file = fopen(path_of(world, name, path), "w");
	must(file && fwrite(text.ptr, 1, text.len, file) == text.len && fclose(file) == 0, name);
}

static void write_pods(struct world *world)
{
	CLEANUP(sbuf_deinit) struct sbuf list;
	CLEANUP(sbuf_deinit) struct sbuf checkpoint;
	char pod[32], device[64];
	sbuf_init(&list, 1 << 20);
	sbuf_init(&checkpoint, 1 << 20);
	sbuf_printf(&checkpoint, "{\"Data\":{\"PodDeviceEntries\":[");
	for (int i = 0; i < N_PODS; i++) {
		snprintf(pod, sizeof(pod), "train-%d", i);
		snprintf(device, sizeof(device), "GPU-%08d-0000-4000-8000-000000000000", i);
		fake_kubelet_pod("ml", pod, "main", "nvidia.com/gpu", device, &list);
		sbuf_printf(&checkpoint,
			    "%s{\"PodUID\":\"%08d-0000-4000-8000-000000000001\",\"ContainerName\":"
			    "\"main\",\"ResourceName\":\"nvidia.com/gpu\",\"DeviceIDs\":{\"-1\":["
			    "\"%s\"]},\"AllocResp\":\"\"}", i ? "," : "", i, device);
	}
	sbuf_printf(&checkpoint, "],\"RegisteredDevices\":{}},\"Checksum\":1}");
	fake_kubelet_set_message(world->kubelet, FAKE_KUBELET_LIST, sbuf_view(&list));
	write_file(world, CHECKPOINT, sbuf_view(&checkpoint));
}

static void start_agent(struct world *world, const char *nvml, char *const *command)
{
	const struct {
		const char *option, *value;
	} options[] = {
		{"controller", fake_controller_url(world->controller)},
		{"controller-ca-file", "/ca.crt"}, {"token-file", "/token"},
		{"pod-resources-socket", SOCKET}, {"checkpoint-file", CHECKPOINT},
		{"nvml-library", nvml}, {"node-name", "gpu-a"}, {"log-level", "warn"},
	};
	static char texts[ARRAY_SIZE(options)][PATH_MAX + 64];
	char *args[MAX_ARGS] = {NULL};
	char path[PATH_MAX];
	size_t n = 0;
	while (command[n] && n < MAX_ARGS - ARRAY_SIZE(options) - 1) {
		args[n] = command[n];
		n++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		bool is_ours = options[i].value[0] == '/' && strcmp(options[i].value, nvml) != 0;
		snprintf(texts[i], sizeof(texts[i]), "--%s=%s", options[i].option,
			 is_ours ? path_of(world, options[i].value, path) : options[i].value);
		args[n++] = texts[i];
	}
	must(setenv("FAKE_NVML_FILE", DEVICES_FILE, 1) == 0 && setenv("FAKE_NVML_STILL", "", 1) == 0,
	     "setenv");
	world->agent = fork();
	must(world->agent >= 0, "fork");
	if (world->agent == 0) {
		execvp(args[0], args);
		perror(args[0]);
		_exit(127);
	}
}

/* Measuring. */

/* False if it costs more than is promised. */
static bool show(const struct world *world, const struct cost *after)
{
	double percent = 100 * (after->cpu_s - world->before.cpu_s) * 1000 /
			 (double)world->measure_ms;
	printf("processes %u libraries %u rss_kib %ld pss_kib %ld anonymous_kib %ld "
	       "cpu_percent %.4f over_s %ld cpu_ms_of_start %.0f reports %u\n",
	       after->n_processes, after->n_libraries, after->rss_kib, after->pss_kib,
	       after->anonymous_kib, percent, world->measure_ms / 1000, 1000 * world->before.cpu_s,
	       fake_controller_reports(world->controller));
	if (after->pss_kib > MAX_PSS_KIB)
		fprintf(stderr, "%ld KiB of PSS are more than %d\n", after->pss_kib, MAX_PSS_KIB);
	if (percent > MAX_CPU_PERCENT)
		fprintf(stderr, "%.4f %% of a core is more than %.2f %%\n", percent, MAX_CPU_PERCENT);
	return after->pss_kib <= MAX_PSS_KIB && percent <= MAX_CPU_PERCENT;
}

static void on_time(void *owner)
{
	struct world *world = owner;
	struct cost now = read_cost(world->agent);
	if (!world->is_measuring) {
		world->is_measuring = true;
		world->before = now;
		loop_timer_set(world->timer, (uint64_t)world->measure_ms);
		return;
	}
	world->is_within = show(world, &now);
	loop_stop(world->loop);
}

int main(int argc, char **argv)
{
	struct error err;
	struct world world = {0};
	int status = 0;
	if (argc < 4 || atoi(argv[2]) <= 0)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	world.measure_ms = 1000L * atoi(argv[2]);
	must(own_folder_enter(NULL) == 0, "folder");
	must(getcwd(world.folder, sizeof(world.folder)) != NULL, "folder");
	must(loop_new(&world.loop, &err) == 0, "loop");
	must(loop_timer_new(world.loop, on_time, &world, &world.timer, &err) == 0, "timer");
	world.kubelet = fake_kubelet_new(world.loop, &SOCKET[1]);
	world.controller = fake_controller_new(world.loop, NULL, NULL);
	write_file(&world, "/ca.crt", fake_controller_authority(world.controller));
	write_file(&world, "/token", VIEW("secret"));
	write_pods(&world);
	start_agent(&world, argv[1], argv + 3);
	loop_timer_set(world.timer, SETTLE_MS);
	must(loop_run(world.loop, &err) == 0, "loop");
	must(kill(world.agent, SIGTERM) == 0 && waitpid(world.agent, &status, 0) == world.agent,
	     "agent");
	fake_kubelet_free(world.kubelet);
	fake_controller_free(world.controller);
	own_folder_leave(NULL);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return 1;
	return world.is_within ? 0 : 1;
}
