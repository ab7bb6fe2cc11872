/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A process is on one device, or MIG device; one that is on several is several here, with one PID.
 * PIDs are given out again now and then, as a kernel does once it has been round.
 */

#include "sim/usage.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "agent/process.h"
#include "base/clock.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/sharers.h"

#define FIRST_PID 1000u
#define LISTED_MS 200u /* the driver lists a process that has ended for a moment */
#define TICK_MS 10u    /* of the kernel's start times */
#define PROC_FD (1 << 24)
#define FOLDER_FD (1 << 25) /* and the PID */
#define MIB UINT64_C(1048576)
#define STREAM UINT64_C(0x9e3779b97f4a7c15)

static struct prng stream;
static uint32_t last_pid;

/* Choices */

static uint64_t between(uint64_t low, uint64_t high)
{
	return prng_between(&stream, low, high);
}

static bool chance(unsigned n)
{
	return between(0, 99) < n;
}

bool usage_is_there(uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, seed ^ STREAM);
	return prng_between(&prng, 0, 1) != 0;
}

void usage_reset(uint64_t seed)
{
	prng_init(&stream, seed ^ STREAM);
	world.has_processes = between(0, 1) != 0;
	last_pid = FIRST_PID;
}

void usage_set_up(int node)
{
	world.nodes[node].hides_compute_mode = world.has_processes && chance(20);
	world.nodes[node].sees_processes = world.has_processes && chance(75) &&
					   !world.nodes[node].agentless;
}

/* Processes */

static bool is_alive(const struct world_process *process)
{
	return process->from <= clockwork_now() && clockwork_now() < process->until;
}

static bool is_listed(const struct world_process *process)
{
	return is_alive(process) ||
	       (process->until <= clockwork_now() && clockwork_now() - process->until < LISTED_MS);
}

static bool has_pid(int node, uint32_t pid)
{
	for (int i = 0; i < world.n_processes; i++)
		if (world.processes[i].node == node && world.processes[i].pid == pid &&
		    is_listed(&world.processes[i]))
			return true;
	return false;
}

static uint32_t new_pid(int node)
{
	const struct world_process *old =
		world.n_processes > 0
			? &world.processes[between(0, (uint64_t)world.n_processes - 1)]
			: NULL;

	if (old && old->node == node && chance(30) && !has_pid(node, old->pid))
		return old->pid;
	return ++last_pid;
}

static struct world_process *add(const struct world_process *process)
{
	struct world_process *added = &world.processes[world.n_processes];

	if (world.n_processes == WORLD_MAX_PROCESSES)
		return NULL;
	world.n_processes++;
	*added = *process;
	added->from = clockwork_now();
	return added;
}

static bool has_server(int gpu)
{
	for (int i = 0; i < world.n_processes; i++)
		if (world.processes[i].kind == WORLD_MPS_SERVER && world.processes[i].gpu == gpu &&
		    is_alive(&world.processes[i]))
			return true;
	return false;
}

/* Of the daemon's container; it comes with the first client and stays. */
static void start_server(int gpu)
{
	const struct world_process server = {.pid = ++last_pid,
					     .node = world.gpus[gpu].node,
					     .gpu = gpu,
					     .partition = -1,
					     .kind = WORLD_MPS_SERVER,
					     .pod = -1,
					     .command = "nvidia-cuda-mps",
					     .until = WORLD_NEVER};

	if (!has_server(gpu))
		add(&server);
}

static bool is_usable(const struct world_pod *pod, const struct world_slot *slot)
{
	const struct world_gpu *gpu = &world.gpus[slot->gpu];

	return gpu->node == pod->node && !gpu->lost &&
	       (slot->partition < 0 ? !gpu->mig : gpu->partitions[slot->partition].exists);
}

static bool is_seen(const struct world_slot *slots, int n, const struct world_slot *slot)
{
	for (int i = 0; i < n; i++)
		if (slots[i].gpu == slot->gpu && slots[i].partition == slot->partition)
			return true;
	return false;
}

/* One process on all whole devices, and one on each partition. */
static void begin_one(const struct world_pod *pod, int container, const struct world_slot *slots,
		      int n_slots)
{
	uint32_t pid = new_pid(pod->node);

	for (int i = 0; i < n_slots; i++) {
		const struct world_gpu *gpu = &world.gpus[slots[i].gpu];
		struct world_process process = {
			.pid = slots[i].partition < 0 || i == 0 ? pid : new_pid(pod->node),
			.node = pod->node,
			.gpu = slots[i].gpu,
			.partition = slots[i].partition,
			.kind = WORLD_OF_CONTAINER,
			.pod = world_index(pod),
			.container = container,
			.start = pod->containers[container].starts,
			.is_client = gpu->mps_daemon && !gpu->mig,
			.command = "python3",
			.until = WORLD_NEVER};

		if (is_seen(slots, i, &slots[i]) || !is_usable(pod, &slots[i]))
			continue;
		if (process.is_client)
			start_server(slots[i].gpu);
		add(&process);
	}
}

static bool runs(const struct world_pod *pod, int container)
{
	return world_is_active(pod) && world.nodes[pod->node].powered &&
	       pod->containers[container].state == WORLD_RUNNING;
}

static void begin(void *owner, uint64_t number)
{
	const struct world_pod *pod = owner;
	int container = (int)(number & 255);
	const struct world_container *c = &pod->containers[container];
	const struct world_pod *reservation = sharers_reservation(pod);

	if (!runs(pod, container) || c->starts != number >> 8)
		return;
	if (reservation && container == 0)
		c = &reservation->containers[0];
	for (int n = chance(25) ? 2 : 1; n > 0; n--)
		begin_one(pod, container, c->slots, c->n_slots);
}

/* A reservation holds its device and does nothing; what watches does not compute. */
static bool computes(const struct world_pod *pod, const struct world_container *container)
{
	return !pod->is_reservation &&
	       (container->n_slots > 0 ? !container->slots[0].is_admin : pod->group >= 0);
}

static void plan(struct world_pod *pod, int container, uint64_t within_ms)
{
	struct world_container *c = &pod->containers[container];

	c->starts++;
	if (world.has_processes && computes(pod, c) && chance(80))
		clockwork_in(between(10, within_ms), begin, pod,
			     (uint64_t)container | (uint64_t)c->starts << 8);
}

void usage_start(struct world_pod *pod, enum world_container_kind kind)
{
	for (int c = 0; c < pod->n_containers; c++)
		if (pod->containers[c].kind == kind)
			plan(pod, c, 4000);
}

static void end(struct world_process *process, uint64_t at)
{
	if (process->until > at)
		process->until = at;
}

void usage_stop(struct world_pod *pod, enum world_container_kind kind, uint64_t ms)
{
	for (int i = 0; i < world.n_processes; i++) {
		struct world_process *process = &world.processes[i];

		if (process->kind == WORLD_OF_CONTAINER && process->pod == world_index(pod) &&
		    pod->containers[process->container].kind == kind && is_alive(process))
			end(process, clockwork_now() + ms);
	}
}

void usage_abandon(struct world_pod *pod)
{
	for (int i = 0; i < world.n_processes; i++) {
		struct world_process *process = &world.processes[i];

		if (process->kind != WORLD_OF_CONTAINER || process->pod != world_index(pod) ||
		    !is_alive(process))
			continue;
		if (pod->lives_on_until == 0)
			end(process, clockwork_now() + between(1, 3000));
		else
			end(process, pod->lives_on_until);
	}
}

void usage_power_off(int node)
{
	for (int i = 0; i < world.n_processes; i++)
		if (world.processes[i].node == node)
			end(&world.processes[i], clockwork_now());
}

void usage_power_on(int node)
{
	for (int i = 0; world.has_processes && i < world.n_pods; i++)
		for (int c = 0; c < world.pods[i].n_containers; c++)
			if (world.pods[i].node == node && world.pods[i].mirror_of < 0 &&
			    runs(&world.pods[i], c))
				plan(&world.pods[i], c, 15000);
}

void usage_clear_gpu(int gpu)
{
	for (int i = 0; i < world.n_processes; i++)
		if (world.processes[i].gpu == gpu)
			end(&world.processes[i], clockwork_now());
}

void usage_stray(enum usage_stray stray, int gpu, struct world_pod *pod, uint64_t until)
{
	const struct world_gpu *g = &world.gpus[gpu];
	struct world_process process = {.pid = new_pid(g->node),
					.node = g->node,
					.gpu = gpu,
					.partition = -1,
					.kind = stray == USAGE_OF_LIAR ? WORLD_OF_LIAR
								       : WORLD_OF_HOST,
					.pod = pod ? world_index(pod) : -1,
					.command = "stray",
					.until = until};

	for (int i = 0; i < g->n_partitions; i++)
		if (g->partitions[i].exists)
			process.partition = i;
	if (!world.has_processes || g->lost || (g->mig && process.partition < 0))
		return;
	if (stray == USAGE_OF_POD) {
		if (!pod || pod->node != g->node || !runs(pod, 0))
			return;
		process.kind = WORLD_OF_CONTAINER;
		process.start = pod->containers[0].starts;
	}
	add(&process);
}

/* What the driver says */

static uint64_t memory_of(const struct world_process *process)
{
	return (500 + (clockwork_now() / 7000 + process->pid) % 300) * MIB;
}

unsigned usage_list(int gpu, int partition, bool clients, unsigned n, struct nvml_abi_process *ret)
{
	unsigned found = 0;

	for (int i = 0; i < world.n_processes && found < n; i++) {
		const struct world_process *process = &world.processes[i];

		if (process->gpu == gpu && process->partition == partition &&
		    process->is_client == clients && is_listed(process))
			ret[found++] = (struct nvml_abi_process){
				.pid = process->pid,
				.used_memory = memory_of(process),
				.gpu_instance = NVML_ABI_NO_INSTANCE,
				.compute_instance = NVML_ABI_NO_INSTANCE};
	}
	return found;
}

/* What /proc says */

void usage_container_id(const struct world_pod *pod, int container, unsigned start,
			char ret[static USAGE_ID_SIZE])
{
	snprintf(ret, USAGE_ID_SIZE, "%016x%016x%016x%016x", 0xc0ffeeu, (unsigned)world_index(pod),
		 (unsigned)container, start);
}

static void underline(const char *uid, char ret[static WORLD_UID_SIZE])
{
	snprintf(ret, WORLD_UID_SIZE, "%s", uid);
	for (char *c = ret; *c; c++)
		if (*c == '-')
			*c = '_';
}

/* By the kubelet's cgroup driver, the runtime and the kernel's version of control groups. */
static void container_group(int form, const char *uid, const char *id, char *ret, size_t size)
{
	char slice[WORLD_UID_SIZE];

	underline(uid, slice);
	if (form == 0)
		snprintf(ret, size,
			 "0::/kubepods.slice/kubepods-burstable.slice/"
			 "kubepods-burstable-pod%s.slice/cri-containerd-%s.scope\n",
			 slice, id);
	else if (form == 1)
		snprintf(ret, size, "0::/kubepods/burstable/pod%s/%s\n", uid, id);
	else if (form == 2)
		snprintf(ret, size, "0::/kubepods.slice/kubepods-pod%s.slice/crio-%s.scope\n",
			 slice, id);
	else if (form == 3)
		snprintf(ret, size,
			 "12:memory:/kubepods/besteffort/pod%s/%s\n"
			 "11:cpu,cpuacct:/kubepods/besteffort/pod%s/%s\n3:rdma:/\n",
			 uid, id, uid, id);
	else
		snprintf(ret, size,
			 "0::/system.slice/containerd.service/"
			 "kubepods-burstable-pod%s.slice:cri-containerd:%s\n",
			 slice, id);
}

static void group_of(const struct world_process *process, char *ret, size_t size)
{
	int form = (int)((world.seed + (uint64_t)process->node) % 5);
	const struct world_pod *pod = process->pod >= 0 ? &world.pods[process->pod] : NULL;
	char id[USAGE_ID_SIZE] = "", slice[WORLD_UID_SIZE] = "";

	if (pod)
		underline(pod->uid, slice);
	if (pod)
		usage_container_id(pod, process->container, process->start, id);
	if (process->kind == WORLD_OF_CONTAINER)
		container_group(form, pod->uid, id, ret, size);
	else if (process->kind == WORLD_MPS_SERVER)
		container_group(form, USAGE_MPS_POD,
				"5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e",
				ret, size);
	else if (process->kind == WORLD_OF_LIAR && pod)
		snprintf(ret, size,
			 "0::/user.slice/user-1000.slice/user@1000.service/kubepods.slice/"
			 "kubepods-pod%s.slice/cri-containerd-%s.scope\n",
			 slice, id);
	else
		snprintf(ret, size, "0::/system.slice/lab.service\n");
}

static const struct world_process *find_process(uint32_t pid)
{
	for (int i = world.n_processes - 1; i >= 0; i--)
		if (world.processes[i].node == clockwork_actor && world.processes[i].pid == pid &&
		    is_alive(&world.processes[i]))
			return &world.processes[i];
	return NULL;
}

int process_open(int proc, uint32_t pid, int *ret_folder, struct error *err)
{
	check(proc == PROC_FD);
	if (pid != 1 && !find_process(pid))
		return error_set(err, ERROR_NOT_FOUND, 0, "the process has ended");
	*ret_folder = FOLDER_FD + (int)pid;
	return 0;
}

int process_read_start(int folder, uint64_t *ret_started_ms, struct error *err)
{
	const struct world_process *process = find_process((uint32_t)(folder - FOLDER_FD));
	uint64_t booted_at = clockwork_now() - clock_boot_ms();

	(void)err;
	*ret_started_ms = process ? (process->from - booted_at) / TICK_MS * TICK_MS : 0;
	return 0;
}

int process_read_facts(int folder, struct process_facts *ret_facts, struct error *err)
{
	const struct world_process *process = find_process((uint32_t)(folder - FOLDER_FD));
	char text[1024];

	(void)err;
	check(process);
	group_of(process, text, sizeof(text));
	(void)cgroup_find_owner(view_from(text), &ret_facts->owner);
	snprintf(ret_facts->command, sizeof(ret_facts->command), "%s", process->command);
	return 0;
}

/* Folders of /proc are numbers here. What gcov writes at the end is a file. */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	if (view_ends_with(view_from(path), VIEW(".gcda")))
		return __real_open(path, flags, 0666);
	check(strcmp(path, "/proc") == 0);
	return PROC_FD;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	return fd >= PROC_FD ? 0 : __real_close(fd);
}

/* /proc/self and its PID namespace: the machine's own for an agent that was granted hostPID. */
ssize_t __wrap_readlinkat(int folder, const char *name, char *ret, size_t size);
ssize_t __wrap_readlinkat(int folder, const char *name, char *ret, size_t size)
{
	const char *text = strcmp(name, "self") == 0                     ? "321"
			   : world.nodes[clockwork_actor].sees_processes ? "pid:[4026531836]"
									 : "pid:[4026532201]";
	size_t len = strlen(text);

	check(folder == PROC_FD);
	if (len > size)
		len = size;
	memcpy(ret, text, len);
	return (ssize_t)len;
}

/* The truth */

bool usage_is_used(int gpu)
{
	for (int i = 0; i < world.n_processes; i++)
		if (world.processes[i].gpu == gpu && is_alive(&world.processes[i]))
			return true;
	return false;
}

bool usage_has_client(int gpu)
{
	for (int i = 0; i < world.n_processes; i++)
		if (world.processes[i].gpu == gpu && world.processes[i].is_client &&
		    is_alive(&world.processes[i]))
			return true;
	return false;
}
