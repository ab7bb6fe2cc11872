/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One row a kind: its word, how often it comes, what is said of it, what its arguments range over,
 * and what it does. Lengths of time are spread evenly over their orders of magnitude, so that short
 * ones are as frequent as long ones.
 */

#include "sim/action.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "sim/apiserver.h"
#include "sim/books.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/driver.h"
#include "sim/host.h"
#include "sim/kubelet.h"
#include "sim/programs.h"
#include "sim/wire.h"
#include "sim/world.h"

#define N_NAMES 7

enum range_kind { FIXED, EVEN, SPREAD };

struct range {
	enum range_kind kind;
	int low, high;
};

struct kind {
	const char *word;
	unsigned weight;
	/* {0} a number, {n0} a node, {g0} a device, {p0} a pod, {w0} a word of `words` */
	const char *text;
	const char *const *words;
	struct range ranges[ACTION_ARGS];
	void (*apply)(const int *args);
};

static uint64_t busy_until;

void action_reset(void)
{
	busy_until = 0;
}

uint64_t action_busy_until(void)
{
	return busy_until;
}

/* The moment `ms` from now, until which there is something under way. */
static uint64_t for_ms(int ms)
{
	uint64_t until = clockwork_now() + (uint64_t)ms;

	if (until > busy_until)
		busy_until = until;
	return until;
}

static int node_at(int arg)
{
	return world.n_nodes > 0 ? arg % world.n_nodes : -1;
}

static struct world_gpu *gpu_at(int arg)
{
	return world.n_gpus > 0 ? &world.gpus[arg % world.n_gpus] : NULL;
}

static void excuse(enum cause cause, int node, int ms)
{
	cause_add(cause, node, -1, clockwork_now(), for_ms(ms));
}

/* Fleet */

static void add_node(const int *args)
{
	int node = world_add_node(33 + args[3] % 4, (enum world_mode)args[0], args[2], args[1],
				  args[3] / 4 != 0);

	if (node < 0)
		return;
	apiserver_put_node(&world.nodes[node]);
	clockwork_boot(node);
	kubelet_start(node, 100, 300);
	programs_start_agent(node);
	cause_add(CAUSE_NEW_DEVICE, node, -1, clockwork_now(), clockwork_now());
}

/* Pods */

struct shape {
	int kind;    /* 0 one container, 1 with an init container, 2 with a sidecar, 3 two */
	int wanted;
	bool owned, system;
};

static struct shape shape_of(int code)
{
	return (struct shape){.kind = code & 3,
			      .wanted = 1 + (code >> 2 & 1),
			      .owned = (code >> 3 & 1) != 0,
			      .system = code >> 4 == 0};
}

static void add_container(struct world_pod *pod, const char *name, enum world_container_kind kind,
			  int wanted)
{
	struct world_container *container = &pod->containers[pod->n_containers++];

	snprintf(container->name, sizeof(container->name), "%s", name);
	snprintf(container->resource, sizeof(container->resource), "%s",
		 books_resource(pod->node));
	container->kind = kind;
	container->wanted = wanted;
}

static void fill_pod(struct world_pod *pod, struct shape shape)
{
	if (shape.kind == 1)
		add_container(pod, "init", WORLD_INIT, 1);
	if (shape.kind == 2)
		add_container(pod, "side", WORLD_SIDECAR, shape.wanted - 1);
	add_container(pod, "main", WORLD_MAIN, shape.wanted);
	if (shape.kind == 3)
		add_container(pod, "more", WORLD_MAIN, 1);
	if (shape.owned)
		snprintf(pod->owner, sizeof(pod->owner), "train");
	pod->system = shape.system;
}

static void pod_name(int number, char ret[static 16])
{
	snprintf(ret, 16, "train-%d", number % N_NAMES);
}

static struct world_pod *find_pod(int number)
{
	char name[16];

	pod_name(number, name);
	return apiserver_is_up() ? world_find_pod(name) : NULL;
}

static void add_pod(int node, int number, int code)
{
	static const uint64_t graces[] = {0, 300, 3000, 20000};
	struct world_pod *pod;
	char name[16];

	pod_name(number, name);
	if (node < 0 || !world.nodes[node].in_api || !apiserver_is_up() || world_find_pod(name) ||
	    !(pod = world_add_pod(node, name)))
		return;
	fill_pod(pod, shape_of(code));
	pod->grace_ms = graces[code % 4];
	pod->object.exists = true;
	apiserver_put_pod(pod);
	kubelet_see(pod);
	for_ms(30000);
}

static void create_pod(const int *args)
{
	add_pod(node_at(args[0]), args[1], args[2]);
}

static void delete_pod(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod || pod->object.deleting)
		return;
	pod->object.deleting = true;
	apiserver_put_pod(pod);
	kubelet_see(pod);
	for_ms(30000);
}

static void force_pod(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod)
		return;
	pod->object.exists = false;
	apiserver_put_pod(pod);
	kubelet_see(pod);
	for_ms(30000);
}

static void add_again(void *owner, uint64_t number)
{
	(void)owner;
	add_pod(node_at((int)(number & 255)), (int)(number >> 8 & 255), (int)(number >> 16));
}

/* As a StatefulSet does, only that it does not wait for the old one to be gone from the node. */
static void replace_pod(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod)
		return;
	force_pod(args);
	clockwork_in((uint64_t)args[1], add_again, NULL,
		     (uint64_t)(args[2] | args[0] << 8 | args[3] << 16));
}

static void finish_pod(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod)
		return;
	pod->finish_wanted = true;
	pod->finish_well = args[1] != 0;
	kubelet_see(pod);
	for_ms(30000);
}

static void restart_container(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (pod && pod->stage == WORLD_UP)
		kubelet_restart_container(pod, (uint64_t)args[1]);
	for_ms(args[1]);
}

/* Static pods */

static struct world_pod *find_static(int node, int number)
{
	char name[24];

	snprintf(name, sizeof(name), "static-%d-%.8s", number, world.nodes[node].name);
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].hash[0] && world.pods[i].mirror_of < 0 &&
		    world.pods[i].stage != WORLD_GONE && strcmp(world.pods[i].name, name) == 0)
			return &world.pods[i];
	return NULL;
}

static void add_static(const int *args)
{
	int node = node_at(args[0]);
	struct world_pod *pod;
	char name[24];

	if (node < 0 || find_static(node, args[1]))
		return;
	snprintf(name, sizeof(name), "static-%d-%.8s", args[1], world.nodes[node].name);
	pod = world_add_pod(node, name);
	if (!pod)
		return;
	memcpy(pod->hash, pod->uid, sizeof(pod->hash));
	fill_pod(pod, (struct shape){.kind = args[2] & 3, .wanted = 1});
	kubelet_see(pod);
	for_ms(30000);
}

static void remove_static(const int *args)
{
	int node = node_at(args[0]);
	struct world_pod *pod = node < 0 ? NULL : find_static(node, args[1]);

	if (!pod)
		return;
	pod->finish_wanted = true;
	kubelet_see(pod);
	for_ms(30000);
}

static void delete_mirror(const int *args)
{
	int node = node_at(args[0]);
	struct world_pod *pod = node < 0 ? NULL : find_static(node, args[1]);
	struct world_pod *mirror = pod ? world_mirror(pod) : NULL;

	if (!mirror || !apiserver_is_up())
		return;
	mirror->object.exists = false;
	apiserver_put_pod(mirror);
	kubelet_miss_mirror(pod);
	cause_add(CAUSE_POD_NEW, node, -1, clockwork_now(), clockwork_now());
	for_ms(30000);
}

/* Kubelets and plugins */

static void restart_kubelet(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0)
		return;
	kubelet_restart(node, (uint64_t)args[1], (uint64_t)args[2], false);
	excuse(CAUSE_BOOKS_FAILED, node, args[1] + args[2]);
	for_ms(args[1] + args[2] + 10000);
}

static bool is_admitting(int node)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].node == node && (world.pods[i].stage == WORLD_ADMITTED ||
						   world.pods[i].stage == WORLD_INITIALISING))
			return true;
	return false;
}

static void wipe_kubelet(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0 || is_admitting(node))
		return;
	kubelet_restart(node, (uint64_t)args[1], (uint64_t)args[2], true);
	cause_add(CAUSE_BOOKS_STALE, node, -1, clockwork_now(), WORLD_NEVER);
	excuse(CAUSE_BOOKS_FAILED, node, args[1] + args[2] + 20000);
}

static void hang_kubelet(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0)
		return;
	kubelet_hang(node, for_ms(args[1]));
	excuse(CAUSE_BOOKS_FAILED, node, args[1]);
}

static void throttle_kubelet(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0)
		return;
	kubelet_throttle(node, for_ms(args[1]));
	excuse(CAUSE_BOOKS_FAILED, node, args[1]);
}

static void damage_checkpoint(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0)
		return;
	kubelet_damage(node, for_ms(args[1]));
	excuse(CAUSE_BOOKS_FAILED, node, args[1]);
}

static void return_plugin(void *owner, uint64_t node)
{
	(void)owner;
	kubelet_return_plugin((int)node);
}

static void lose_plugin(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0)
		return;
	kubelet_lose_plugin(node);
	clockwork_at(for_ms(args[1]), return_plugin, NULL, (uint64_t)node);
	for_ms(args[1] + 10000);
}

static bool is_held(const struct world_gpu *gpu)
{
	for (int i = 0; i < world.n_pods; i++)
		for (int c = 0; c < world.pods[i].n_containers; c++)
			for (int s = 0; s < world.pods[i].containers[c].n_slots; s++)
				if (world_is_active(&world.pods[i]) &&
				    &world.gpus[world.pods[i].containers[c].slots[s].gpu] == gpu)
					return true;
	return false;
}

/* What is held of parts that are gone may have lost its place for as long as it is held. */
static void divide(struct world_gpu *gpu, bool mig, int n_partitions)
{
	if (is_held(gpu))
		cause_add(CAUSE_BOOKS_STALE, gpu->node, -1, clockwork_now(), WORLD_NEVER);
	world_divide(gpu, mig, n_partitions);
}

static void divide_all(int node, int n_partitions)
{
	for (int i = 0; i < world.n_gpus; i++) {
		struct world_gpu *gpu = &world.gpus[i];

		if (gpu->node != node)
			continue;
		if (gpu->mig || world_is_mig(world.nodes[node].mode))
			divide(gpu, world_is_mig(world.nodes[node].mode), n_partitions);
		gpu->mps_daemon = world.nodes[node].mode == WORLD_MPS;
	}
}

static void configure_plugin(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0)
		return;
	world.nodes[node].mode = (enum world_mode)args[1];
	world.nodes[node].replicas = args[2];
	divide_all(node, args[2]);
	apiserver_put_node(&world.nodes[node]);
	kubelet_update_plugin(node);
	for_ms(20000);
}

static void divide_gpu(const int *args)
{
	struct world_gpu *gpu = gpu_at(args[0]);

	if (!gpu || gpu->node < 0 || !gpu->mig)
		return;
	divide(gpu, true, args[1]);
	kubelet_update_plugin(gpu->node);
	for_ms(20000);
}

/* Hardware */

static void find_gpu_again(void *owner, uint64_t number)
{
	struct world_gpu *gpu = owner;

	(void)number;
	gpu->lost = false;
	if (gpu->node >= 0)
		kubelet_update_plugin(gpu->node);
}

static void lose_gpu(const int *args)
{
	struct world_gpu *gpu = gpu_at(args[0]);

	if (!gpu || gpu->node < 0 || gpu->lost)
		return;
	gpu->lost = true;
	gpu->xids++;
	kubelet_update_plugin(gpu->node);
	excuse(CAUSE_DRIVER_FAILED, gpu->node, args[1]);
	clockwork_at(for_ms(args[1]), find_gpu_again, gpu, 0);
	for_ms(args[1] + 20000);
}

static void raise_xid(const int *args)
{
	struct world_gpu *gpu = gpu_at(args[0]);

	if (gpu)
		gpu->xids++;
	for_ms(10000);
}

static void fail_driver(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0)
		return;
	driver_fail(node, for_ms(args[1]));
	excuse(CAUSE_DRIVER_FAILED, node, args[1]);
}

static void power_on(void *owner, uint64_t number)
{
	int node = (int)number;

	(void)owner;
	if (world.nodes[node].powered)
		return;
	world.nodes[node].powered = true;
	world_new_uuid(world.nodes[node].boot_id);
	clockwork_boot(node);
	kubelet_start(node, world_between(100, 8000), world_between(300, 9000));
	programs_start_agent(node);
	cause_end(CAUSE_REPORTS_MISSING, node, -1);
	cause_add(CAUSE_NEW_DEVICE, node, -1, clockwork_now(), clockwork_now());
}

static void power_off(int node, int ms)
{
	if (world.nodes[node].powered) {
		world.nodes[node].powered = false;
		programs_stop_agent(node);
		kubelet_stop(node);
		wire_lose(node);
		cause_add(CAUSE_REPORTS_MISSING, node, -1, clockwork_now(), WORLD_NEVER);
	}
	clockwork_at(for_ms(ms), power_on, NULL, (uint64_t)node);
	excuse(CAUSE_BOOKS_FAILED, node, ms + 20000);
	for_ms(ms + 20000);
}

static void reboot_node(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0)
		return;
	power_off(node, args[1]);
	clockwork_step_wall(node, args[2]);
}

/* Pods whose device is no longer there cannot be admitted again. */
static void reject_holders(int gpu)
{
	for (int i = 0; i < world.n_pods; i++) {
		struct world_pod *pod = &world.pods[i];
		bool holds = false;

		for (int c = 0; c < pod->n_containers; c++)
			for (int s = 0; s < pod->containers[c].n_slots; s++)
				holds |= pod->containers[c].slots[s].gpu == gpu;
		if (!holds || !world_is_active(pod))
			continue;
		world_release(pod);
		pod->stage = WORLD_REJECTED;
		pod->step_at = clockwork_now();
	}
}

static void move_gpu(const int *args)
{
	struct world_gpu *gpu = gpu_at(args[0]);
	int to = node_at(args[1]);

	if (!gpu || gpu->node < 0 || gpu->node == to)
		return;
	power_off(gpu->node, args[2]);
	power_off(to, args[3]);
	reject_holders((int)(gpu - world.gpus));
	gpu->node = to;
	gpu->lost = false;
	world_divide(gpu, world_is_mig(world.nodes[to].mode), 2);
	gpu->mps_daemon = world.nodes[to].mode == WORLD_MPS;
	excuse(CAUSE_NEW_DEVICE, -1, 60000);
	excuse(CAUSE_DUPLICATE, -1, 60000);
}

/* Nodes in the API */

static void return_node(void *owner, uint64_t number)
{
	struct world_node *node = &world.nodes[number];

	(void)owner;
	if (node->in_api)
		return;
	node->in_api = true;
	node->in_api_since = clockwork_now();
	world_new_uuid(node->uid);
	apiserver_put_node(node);
}

/* Its pods go with it; what holds devices there ends when the kubelet hears of it. */
static void remove_node(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0 || !world.nodes[node].in_api)
		return;
	world.nodes[node].in_api = false;
	world.nodes[node].in_api_since = clockwork_now();
	apiserver_put_node(&world.nodes[node]);
	for (int i = 0; args[2] && i < world.n_pods; i++) {
		if (world.pods[i].node != node || !world.pods[i].object.exists)
			continue;
		world.pods[i].object.exists = false;
		apiserver_put_pod(&world.pods[i]);
		if (world.pods[i].mirror_of >= 0)
			kubelet_miss_mirror(&world.pods[world.pods[i].mirror_of]);
		else
			kubelet_see(&world.pods[i]);
	}
	if (args[3])
		power_off(node, args[1]);
	excuse(CAUSE_NEW_DEVICE, node, args[1] + 30000);
	clockwork_at(for_ms(args[1]), return_node, NULL, (uint64_t)node);
}

/* Programs */

static void start_agent(void *owner, uint64_t node)
{
	(void)owner;
	if (world.nodes[node].powered)
		programs_start_agent((int)node);
}

static void restart_agent(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0)
		return;
	programs_stop_agent(node);
	clockwork_at(for_ms(args[1]), start_agent, NULL, (uint64_t)node);
	excuse(CAUSE_REPORTS_MISSING, node, args[1]);
}

static void start_controller(void *owner, uint64_t number)
{
	(void)owner, (void)number;
	programs_start_controller();
}

static void restart_controller(const int *args)
{
	programs_stop_controller();
	clockwork_at(for_ms(args[0]), start_controller, NULL, 0);
	excuse(CAUSE_CONTROLLER_NEW, -1, args[0] + 5000);
	excuse(CAUSE_REPORTS_MISSING, -1, args[0] + 5000);
}

/* The API server */

static const char *const api_words[] = {"refuses connections", "answers 500", "answers 429",
					"hangs",               "loses answers to writes",
					"repeats events"};

static void spoil_api(const int *args)
{
	apiserver_spoil((enum apiserver_fault)args[0], for_ms(args[1]));
	excuse(CAUSE_API_LATE, -1, args[1] + 31000);
	excuse(CAUSE_REPORTS_MISSING, -1, args[1] + 10000);
}

static const char *const kind_words[] = {"pods", "nodes", "clusterpolicies", "gpuattributions"};

static void hold_watch(const int *args)
{
	apiserver_hold((enum apiserver_kind)args[0], for_ms(args[1]));
	excuse(CAUSE_API_LATE, -1, args[1]);
}

static void cut_watch(const int *args)
{
	apiserver_cut((enum apiserver_kind)args[0]);
	excuse(CAUSE_API_LATE, -1, 31000);
}

static void expire(void *owner, uint64_t number)
{
	(void)owner;
	apiserver_expire(number != 0);
}

/* What happens in the silence before is in no watch any more. */
static void expire_watches(const int *args)
{
	for (int kind = 0; kind < APISERVER_N_KINDS; kind++)
		apiserver_hold((enum apiserver_kind)kind, for_ms(args[1]));
	clockwork_in((uint64_t)args[1] - 1, expire, NULL, (uint64_t)args[0]);
	excuse(CAUSE_API_LATE, -1, args[1] + 31000);
}

static void edit_object(const int *args)
{
	if (apiserver_is_up())
		(void)apiserver_edit_attribution((unsigned)args[0]);
}

static void delete_object(const int *args)
{
	if (apiserver_is_up() && apiserver_delete_attribution((unsigned)args[0]))
		excuse(CAUSE_NEW_DEVICE, -1, 10000);
}

static void put_policy(const int *args)
{
	apiserver_put_policy(args[0] != 0);
}

/* Reports, clocks */

static const char *const wire_words[] = {"are lost", "lose their answers", "are slow",
					 "come twice"};

static void spoil_wire(const int *args)
{
	int node = node_at(args[0]);

	if (node < 0)
		return;
	wire_spoil(node, (enum wire_fault)args[1], for_ms(args[2]));
	excuse(CAUSE_REPORTS_MISSING, node, args[2] + 31000);
}

static const char *const forgery_words[] = {
	"another node's name",   "a strange token", "another account's token",
	"an older report",       "pods of others",  "pods that do not exist",
	"devices of other nodes", "garbage"};

static void forge_report(const int *args)
{
	int node = node_at(args[0]);

	if (node >= 0)
		(void)wire_forge(node, (enum wire_forgery)args[1]);
	for_ms(31000);
}

static void step_clock(const int *args)
{
	int actor = args[0] % (world.n_nodes + 1) - 1;

	clockwork_step_wall(actor, args[1]);
	if (actor == CLOCKWORK_CONTROLLER)
		cause_add(CAUSE_CLOCK_SET, -1, -1, clockwork_now(), clockwork_now());
}

static void silence_inotify(const int *args)
{
	int node = node_at(args[0]);

	if (node >= 0)
		host_silence(node, for_ms(args[1]));
	excuse(CAUSE_UNNOTICED, node, args[1] + 15000);
}

#define NODE {EVEN, 0, WORLD_MAX_NODES - 1}
#define POD {EVEN, 0, N_NAMES - 1}
#define GPU {EVEN, 0, WORLD_MAX_GPUS - 1}

static const char *const mode_words[] = {"exclusive", "time-slicing", "MPS", "MIG",
					 "MIG with time-slicing"};

static const struct kind kinds[] = {
	{"node", 0, "a node joins: {w0}, {1} devices, {2} replicas, variant {3}", mode_words,
	 {{EVEN, 0, 4}, {EVEN, 1, 3}, {EVEN, 2, 4}, {EVEN, 0, 7}}, add_node},
	{"pod", 220, "pod {p1} is bound to {n0}, shape {2}", NULL,
	 {NODE, POD, {EVEN, 0, 127}}, create_pod},
	{"delete", 70, "pod {p0} is deleted", NULL, {POD}, delete_pod},
	{"force", 25, "pod {p0} is deleted by force", NULL, {POD}, force_pod},
	{"replace", 50, "pod {p0} is replaced by another of that name on {n2} after {1} ms", NULL,
	 {POD, {SPREAD, 1, 2000}, NODE, {EVEN, 0, 127}}, replace_pod},
	{"finish", 40, "pod {p0} ends by itself ({1})", NULL, {POD, {EVEN, 0, 1}}, finish_pod},
	{"container", 15, "a container of {p0} restarts, back in {1} ms", NULL,
	 {POD, {SPREAD, 10, 10000}}, restart_container},
	{"static", 25, "{n0} gets static pod {1}, shape {2}", NULL,
	 {NODE, {EVEN, 0, 1}, {EVEN, 0, 3}}, add_static},
	{"static-off", 8, "static pod {1} of {n0} is removed", NULL,
	 {NODE, {EVEN, 0, 1}}, remove_static},
	{"mirror", 10, "the mirror of static pod {1} of {n0} is deleted", NULL,
	 {NODE, {EVEN, 0, 1}}, delete_mirror},
	{"kubelet", 40, "{n0}: the kubelet restarts, down {1} ms, has its pods {2} ms later", NULL,
	 {NODE, {SPREAD, 20, 30000}, {SPREAD, 20, 20000}}, restart_kubelet},
	{"wipe", 10, "{n0}: the kubelet loses its checkpoint and restarts ({1} ms, {2} ms)", NULL,
	 {NODE, {SPREAD, 20, 10000}, {SPREAD, 20, 10000}}, wipe_kubelet},
	{"hang", 15, "{n0}: PodResources hangs for {1} ms", NULL,
	 {NODE, {SPREAD, 100, 60000}}, hang_kubelet},
	{"throttle", 10, "{n0}: PodResources refuses calls for {1} ms", NULL,
	 {NODE, {SPREAD, 100, 30000}}, throttle_kubelet},
	{"damage", 15, "{n0}: the checkpoint is unreadable for {1} ms", NULL,
	 {NODE, {SPREAD, 100, 60000}}, damage_checkpoint},
	{"plugin", 20, "{n0}: the plugin is gone for {1} ms", NULL,
	 {NODE, {SPREAD, 100, 120000}}, lose_plugin},
	{"configure", 12, "{n0}: the plugin is configured for {w1}, {2} replicas", mode_words,
	 {NODE, {EVEN, 0, 4}, {EVEN, 2, 4}}, configure_plugin},
	{"divide", 10, "{g0} is divided anew into {1}", NULL, {GPU, {EVEN, 1, 4}}, divide_gpu},
	{"lose", 10, "{g0} falls off the bus for {1} ms", NULL,
	 {GPU, {SPREAD, 500, 120000}}, lose_gpu},
	{"xid", 10, "{g0} raises an XID error", NULL, {GPU}, raise_xid},
	{"driver", 10, "{n0}: the driver does not answer for {1} ms", NULL,
	 {NODE, {SPREAD, 100, 60000}}, fail_driver},
	{"reboot", 12, "{n0} reboots, down {1} ms, its clock {2} ms off", NULL,
	 {NODE, {SPREAD, 2000, 100000}, {EVEN, -5000, 5000}}, reboot_node},
	{"move", 8, "{g0} is moved to {n1}, which are down {2} and {3} ms", NULL,
	 {GPU, NODE, {SPREAD, 3000, 60000}, {SPREAD, 3000, 60000}}, move_gpu},
	{"remove", 10, "{n0} is removed from the API for {1} ms (pods too: {2}, powered off: {3})",
	 NULL, {NODE, {SPREAD, 500, 300000}, {EVEN, 0, 1}, {EVEN, 0, 1}}, remove_node},
	{"agent", 25, "{n0}: the agent restarts, down {1} ms", NULL,
	 {NODE, {SPREAD, 10, 120000}}, restart_agent},
	{"controller", 25, "the controller restarts, down {0} ms", NULL,
	 {{SPREAD, 10, 120000}}, restart_controller},
	{"api", 30, "the API server {w0} for {1} ms", api_words,
	 {{EVEN, 0, APISERVER_N_FAULTS - 1}, {SPREAD, 100, 60000}}, spoil_api},
	{"hold", 25, "events of {w0} are late by up to {1} ms", kind_words,
	 {{EVEN, 0, 3}, {SPREAD, 100, 60000}}, hold_watch},
	{"cut", 25, "the watch of {w0} is cut", kind_words, {{EVEN, 0, 3}}, cut_watch},
	{"expire", 20, "all watches are silent for {1} ms and then expire ({0})", NULL,
	 {{EVEN, 0, 1}, {SPREAD, 5, 20000}}, expire_watches},
	{"edit", 10, "somebody edits object {0}", NULL, {{EVEN, 0, 9}}, edit_object},
	{"remove-object", 8, "somebody deletes object {0}", NULL, {{EVEN, 0, 9}}, delete_object},
	{"policy", 20, "the ClusterPolicy is there: {0}", NULL, {{EVEN, 0, 1}}, put_policy},
	{"wire", 35, "{n0}: reports {w1} for {2} ms", wire_words,
	 {NODE, {EVEN, 0, WIRE_N_FAULTS - 1}, {SPREAD, 500, 90000}}, spoil_wire},
	{"forge", 25, "{n0} sends a forged report: {w1}", forgery_words,
	 {NODE, {EVEN, 0, WIRE_N_FORGERIES - 1}}, forge_report},
	{"clock", 12, "clock {0} is set by {1} ms", NULL,
	 {NODE, {EVEN, -90000, 90000}}, step_clock},
	{"inotify", 10, "{n0}: no inotify for {1} ms", NULL,
	 {NODE, {SPREAD, 500, 60000}}, silence_inotify},
};

void action_apply(const struct action *action)
{
	clockwork_actor = CLOCKWORK_CONTROLLER;
	kinds[action->kind].apply(action->args);
}

/* Making */

static int draw(struct prng *prng, const struct range *range)
{
	unsigned bits;
	int low, high;

	if (range->kind == FIXED)
		return 0;
	if (range->kind == EVEN)
		return (int)prng_between(prng, 0, (uint64_t)(range->high - range->low)) +
		       range->low;
	for (bits = 0; range->low << bits < range->high; bits++)
		;
	low = range->low << prng_between(prng, 0, bits - 1);
	high = 2 * low < range->high ? 2 * low : range->high;
	return (int)prng_between(prng, (uint64_t)low, (uint64_t)high);
}

static void fill(struct prng *prng, unsigned kind, struct action *ret)
{
	ret->kind = kind;
	for (int i = 0; i < ACTION_ARGS; i++)
		ret->args[i] = draw(prng, &kinds[kind].ranges[i]);
}

void action_make_node(struct prng *prng, struct action *ret)
{
	fill(prng, 0, ret);
}

void action_make(struct prng *prng, struct action *ret)
{
	unsigned total = 0, kind = 0, at;

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		total += kinds[i].weight;
	for (at = (unsigned)prng_between(prng, 0, total - 1); at >= kinds[kind].weight; kind++)
		at -= kinds[kind].weight;
	fill(prng, kind, ret);
}

/* Texts */

static void append(char *ret, size_t size, const char *before, int number)
{
	size_t used = strlen(ret);

	snprintf(ret + used, size - used, "%s%d", before, number);
}

static void append_text(char *ret, size_t size, const char *text)
{
	size_t used = strlen(ret);

	snprintf(ret + used, size - used, "%s", text);
}

/* One {x0}; returns what stands behind it. */
static const char *substitute(const struct kind *kind, const struct action *action,
			      const char *at, char *ret, size_t size)
{
	char what = at[1];
	int arg = action->args[(what >= '0' && what <= '3' ? what : at[2]) - '0'];

	if (what == 'n')
		append(ret, size, "node-", arg % (world.n_nodes ? world.n_nodes : 5) + 1);
	else if (what == 'g')
		append(ret, size, "device ", arg % (world.n_gpus ? world.n_gpus : 12));
	else if (what == 'p')
		append(ret, size, "train-", arg % N_NAMES);
	else if (what == 'w' && kind->words)
		append_text(ret, size, kind->words[arg]);
	else
		append(ret, size, "", arg);
	return strchr(at, '}') + 1;
}

void action_describe(const struct action *action, char *ret, size_t size)
{
	const struct kind *kind = &kinds[action->kind];
	const char *at = kind->text;

	snprintf(ret, size, "%4u.%03us ", action->at_ms / 1000, action->at_ms % 1000);
	while (*at) {
		size_t used = strlen(ret);

		if (*at == '{') {
			at = substitute(kind, action, at, ret, size);
			continue;
		}
		snprintf(ret + used, size - used, "%c", *at++);
	}
}

void action_print(const struct action *action, FILE *file)
{
	fprintf(file, "%u %s %d %d %d %d\n", action->at_ms, kinds[action->kind].word,
		action->args[0], action->args[1], action->args[2], action->args[3]);
}

static bool in_range(const struct range *range, int arg)
{
	return range->kind == FIXED ? arg == 0 : arg >= range->low && arg <= range->high;
}

bool action_parse(const char *line, struct action *ret)
{
	char word[32];

	if (sscanf(line, "%u %31s %d %d %d %d", &ret->at_ms, word, &ret->args[0], &ret->args[1],
		   &ret->args[2], &ret->args[3]) != 6)
		return false;
	for (ret->kind = 0; ret->kind < ARRAY_SIZE(kinds); ret->kind++) {
		const struct kind *kind = &kinds[ret->kind];

		if (strcmp(kind->word, word) != 0)
			continue;
		for (int i = 0; i < ACTION_ARGS; i++)
			if (!in_range(&kind->ranges[i], ret->args[i]))
				return false;
		return true;
	}
	return false;
}
