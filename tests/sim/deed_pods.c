/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/deed.h"

#include <stdio.h>
#include <string.h>

#include "sim/apiserver.h"
#include "sim/device_manager.h"
#include "sim/cause.h"
#include "sim/claims.h"
#include "sim/clockwork.h"
#include "sim/kubelet.h"
#include "sim/matrix.h"
#include "sim/policies.h"
#include "sim/sharers.h"
#include "sim/usage.h"
#include "sim/world.h"

/* Pods */

struct shape {
	int kind;    /* 0 one container, 1 with an init container, 2 with a sidecar, 3 two */
	int wanted;
	bool owned, system;
	bool fails; /* in its init container */
};

static struct shape shape_of(int code)
{
	return (struct shape){.kind = code & 3,
			      .wanted = 1 + (code >> 2 & 1),
			      .owned = (code >> 3 & 1) != 0,
			      .system = code >> 4 == 0,
			      .fails = (code & 3) == 1 && code >> 4 == 7};
}

static void add_container(struct world_pod *pod, const char *name, enum world_container_kind kind,
			  int wanted)
{
	struct world_container *container = &pod->containers[pod->n_containers++];

	snprintf(container->name, sizeof(container->name), "%s", name);
	snprintf(container->resource, sizeof(container->resource), "%s",
		 device_manager_resource(pod->node));
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
	pod->finish_wanted = shape.fails;
}

static void pod_name(int number, char ret[static 16])
{
	snprintf(ret, 16, "train-%d", number % DEED_N_NAMES);
}

static struct world_pod *find_pod(int number)
{
	char name[16];

	pod_name(number, name);
	return apiserver_is_up() ? world_find_pod(name) : NULL;
}

/* A pod for the node that nobody knows yet, or NULL. */
static struct world_pod *make_pod(int node, const char *name)
{
	struct world_pod *pod;

	if (node < 0 || !world.nodes[node].in_api || !apiserver_is_up() || world_find_pod(name))
		return NULL;
	pod = world_add_pod(node, name);
	if (pod && policies_are_rich(world.seed))
		pod->created_wall_ms = clockwork_wall(CLOCKWORK_CONTROLLER);
	return pod;
}

static struct world_pod *make_numbered(int node, int number)
{
	char name[16];

	pod_name(number, name);
	return make_pod(node, name);
}

/* It was not bound after all. */
static void drop_pod(struct world_pod *pod)
{
	pod->stage = WORLD_GONE;
}

static void show_pod(struct world_pod *pod)
{
	pod->object.exists = true;
	apiserver_put_pod(pod);
	kubelet_see(pod);
	deed_for_ms(30000);
}

static bool is_bindable(struct world_pod *pod, int code)
{
	enum world_mode mode = world.nodes[pod->node].mode;

	if (world_is_claims(mode))
		return claims_bind(pod, code);
	return mode != WORLD_HAMI || sharers_choose(pod);
}

static void add_pod(int node, int number, int code)
{
	static const uint64_t graces[] = {0, 300, 3000, 20000};
	struct world_pod *pod = make_numbered(node, number);

	if (!pod)
		return;
	fill_pod(pod, shape_of(code));
	pod->grace_ms = graces[code % 4];
	if (is_bindable(pod, code))
		show_pod(pod);
	else
		drop_pod(pod);
}

void deed_create_pod(const int *args)
{
	add_pod(deed_node(args[0]), args[1], args[2]);
}

void deed_delete_pod(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod || pod->object.deleting)
		return;
	pod->object.deleting = true;
	apiserver_put_pod(pod);
	kubelet_see(pod);
	deed_for_ms(30000);
}

void deed_force_pod(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod)
		return;
	matrix_pod(MATRIX_FORCED, pod);
	pod->object.exists = false;
	apiserver_put_pod(pod);
	kubelet_see(pod);
	deed_for_ms(30000);
}

/* Its processes hang in the driver, or its node's kubelet lost sight of them. */
void deed_abandon_pod(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod)
		return;
	if (world.has_processes)
		matrix_pod(MATRIX_LIVES_ON, pod);
	pod->lives_on_until = args[2] ? WORLD_NEVER : deed_for_ms(args[1]);
	deed_force_pod(args);
}

void deed_use_without_slot(const int *args)
{
	struct world_gpu *gpu = deed_gpu(args[0]);
	bool is_for_ever = args[3] % 2 != 0;

	if (!gpu || gpu->node < 0 || !world.nodes[gpu->node].powered)
		return;
	usage_stray((enum usage_stray)args[1], (int)(gpu - world.gpus), find_pod(args[2]),
		    is_for_ever ? WORLD_NEVER : deed_for_ms(args[3]));
	deed_for_ms(30000);
}

static void add_again(void *owner, uint64_t number)
{
	(void)owner;
	add_pod(deed_node((int)(number & 255)), (int)(number >> 8 & 255), (int)(number >> 16));
}

/* As a StatefulSet does, only that it does not wait for the old one to be gone from the node. */
void deed_replace_pod(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod)
		return;
	deed_force_pod(args);
	clockwork_in((uint64_t)args[1], add_again, NULL,
		     (uint64_t)(args[2] | args[0] << 8 | args[3] << 16));
}

/* In every second history no watch tells of it for a while. */
static void replace_again(void *owner, uint64_t number)
{
	(void)owner;
	if (number >> 16 & 1)
		deed_hold_watch((const int[]){APISERVER_PODS, 20000});
	deed_replace_pod((const int[]){(int)(number >> 8 & 255), (int)(number >> 24),
				       (int)(number & 255), (int)(number >> 16 & 255)});
}

/* Neither is in the records that can be read: only names in Lists tell the one from the other. */
void deed_replace_unbooked(const int *args)
{
	int node = deed_node(args[0]), ms = args[2];

	if (node < 0)
		return;
	deed_damage_checkpoint((const int[]){node, 2 * ms + 5000});
	if (find_pod(args[1]))
		deed_replace_pod((const int[]){args[1], 1, node, args[3]});
	else
		add_pod(node, args[1], args[3]);
	clockwork_in((uint64_t)ms, replace_again, NULL,
		     (uint64_t)(node | args[1] << 8 | args[3] << 16) | (uint64_t)(ms / 16) << 24);
	deed_for_ms(2 * ms + 30000);
}

void deed_finish_pod(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod)
		return;
	pod->finish_wanted = true;
	pod->finish_well = args[1] != 0;
	kubelet_see(pod);
	deed_for_ms(30000);
}

void deed_restart_container(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (pod && pod->stage == WORLD_UP) {
		matrix_pod(MATRIX_RESTARTED, pod);
		kubelet_restart_container(pod, (uint64_t)args[1]);
	}
	deed_for_ms(args[1]);
}

/* Sharers, and those who say so */

void deed_reserve_gpu(const int *args)
{
	int node = deed_node(args[0]);
	struct world_pod *pod;
	char name[24];

	if (node < 0 || world.nodes[node].mode != WORLD_EXCLUSIVE || sharers_find(args[1]))
		return;
	snprintf(name, sizeof(name), "gpu-reservation-%d", args[1] % 10);
	pod = make_pod(node, name);
	if (!pod)
		return;
	fill_pod(pod, (struct shape){.wanted = 1});
	snprintf(pod->namespace, sizeof(pod->namespace), "kai-resource-reservation");
	pod->is_reservation = true;
	pod->group = args[1];
	cause_add(CAUSE_STAND_IN, node, -1, clockwork_now(), WORLD_NEVER);
	show_pod(pod);
}

void deed_unreserve_gpu(const int *args)
{
	struct world_pod *pod = sharers_find(args[0]);

	if (!pod || !apiserver_is_up() || pod->object.deleting)
		return;
	pod->object.deleting = true;
	show_pod(pod);
}

/* One that asks the kubelet for nothing. */
static struct world_pod *make_idle(int node, int number)
{
	struct world_pod *pod = make_numbered(node, number);

	if (!pod)
		return NULL;
	fill_pod(pod, (struct shape){.wanted = 0});
	pod->containers[0].resource[0] = '\0';
	return pod;
}

void deed_share_gpu(const int *args)
{
	const struct world_pod *reservation = sharers_find(args[1]);
	struct world_pod *pod = reservation ? make_idle(reservation->node, args[0]) : NULL;

	if (!pod)
		return;
	pod->group = args[1];
	show_pod(pod);
}

void deed_spoil_hami(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod || world.nodes[pod->node].mode != WORLD_HAMI || !pod->hami[0])
		return;
	sharers_spoil(pod);
	apiserver_put_pod(pod);
	deed_for_ms(30000);
}

void deed_forge_pod(const int *args)
{
	struct world_pod *pod = make_idle(deed_node(args[0]), args[1]);

	if (!pod)
		return;
	/* Half of them have a device of the kubelet's as well, and lie about which. */
	if (args[3] && world.nodes[pod->node].mode < WORLD_CLAIMS) {
		pod->n_containers = 0;
		fill_pod(pod, (struct shape){.wanted = 1});
	}
	if (sharers_forge(pod, (enum sharers_forgery)args[2]))
		show_pod(pod);
	else
		drop_pod(pod);
}

/* Claims */

void deed_spoil_claim(const int *args)
{
	struct world_pod *pod = find_pod(args[0]);

	if (!pod)
		return;
	if (args[1])
		claims_deallocate(pod);
	else
		claims_delete(pod);
	deed_for_ms(30000);
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

void deed_add_static(const int *args)
{
	int node = deed_node(args[0]);
	struct world_pod *pod;
	char name[24];

	/* HAMi gives devices to pods only that its scheduler has bound. */
	if (node < 0 || world.nodes[node].mode == WORLD_HAMI || find_static(node, args[1]))
		return;
	snprintf(name, sizeof(name), "static-%d-%.8s", args[1], world.nodes[node].name);
	pod = world_add_pod(node, name);
	if (!pod)
		return;
	memcpy(pod->hash, pod->uid, sizeof(pod->hash));
	fill_pod(pod, (struct shape){.kind = args[2] & 3, .wanted = 1});
	kubelet_see(pod);
	deed_for_ms(30000);
}

void deed_remove_static(const int *args)
{
	int node = deed_node(args[0]);
	struct world_pod *pod = node < 0 ? NULL : find_static(node, args[1]);

	if (!pod)
		return;
	pod->finish_wanted = true;
	kubelet_see(pod);
	deed_for_ms(30000);
}

void deed_delete_mirror(const int *args)
{
	int node = deed_node(args[0]);
	struct world_pod *pod = node < 0 ? NULL : find_static(node, args[1]);
	struct world_pod *mirror = pod ? world_mirror(pod) : NULL;

	if (!mirror || !apiserver_is_up())
		return;
	mirror->object.exists = false;
	apiserver_put_pod(mirror);
	kubelet_miss_mirror(pod);
	cause_add(CAUSE_POD_NEW, node, -1, clockwork_now(), clockwork_now());
	deed_for_ms(30000);
}
