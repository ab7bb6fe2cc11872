/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A pod moves by steps (advance()), each of which looks at what is wanted of it now and says when
 * to look again. A kubelet that is down, or does not know its pods yet, takes none; when it is back
 * it looks at all of them.
 */

#include "sim/kubelet.h"

#include <stdlib.h>
#include <string.h>

#include "base/sbuf.h"
#include "sim/apiserver.h"
#include "sim/device_manager.h"
#include "sim/cause.h"
#include "sim/check.h"
#include "sim/claims.h"
#include "sim/clockwork.h"
#include "sim/host.h"
#include "sim/matrix.h"
#include "sim/net.h"
#include "sim/prompt.h"
#include "sim/trouble.h"
#include "sim/usage.h"
#include "wire/grpcmsg.h"

#define CAP (4u << 20)
#define API_RETRY_MS 1000u
#define PREPARE_RETRY_MS 20000u
#define SAMPLE_MS 10000u /* an agent's, and its report; a List is waited for half as long */

struct kubelet {
	bool runs;
	bool is_ready; /* it knows its pods */
	bool has_plugin;   /* the plugin runs */
	unsigned start; /* number of this start: what was planned before it is void */
	unsigned plugin_start;
	bool has_socket;
	uint64_t inode;
	int64_t made_at;
	uint64_t seen_at; /* the last event of its watch */
	uint64_t hangs_until, throttles_until, damaged_until;
	bool is_list_told, is_file_told; /* to the agent that runs, the last time that it asked */
	uint64_t list_untold_at, file_untold_at; /* when it asked in vain, the last time */
};

static struct kubelet kubelets[WORLD_MAX_NODES];

static void advance(void *owner, uint64_t number);

void kubelet_reset(void)
{
	memset(kubelets, 0, sizeof(kubelets));
	device_manager_reset();
}

void kubelet_clear(void)
{
	device_manager_clear();
}

/* Telling the API server */

static enum world_phase phase_of(const struct world_pod *pod)
{
	switch (pod->stage) {
	case WORLD_UP:
		return WORLD_PHASE_RUNNING;
	case WORLD_REJECTED:
		return WORLD_FAILED;
	case WORLD_DONE:
		return pod->finish_well ? WORLD_SUCCEEDED : WORLD_FAILED;
	case WORLD_TERMINATING:
		return pod->object.phase;
	default:
		return WORLD_PENDING;
	}
}

/* Of its devices; the kubelet does not always know. */
static enum world_health health_of(const struct world_pod *pod)
{
	for (int c = 0; c < pod->n_containers; c++)
		for (int s = 0; s < pod->containers[c].n_slots; s++)
			if (world.gpus[pod->containers[c].slots[s].gpu].lost ||
			    trouble_is_unwell(pod->containers[c].slots[s].gpu))
				return WORLD_ILL;
	return !kubelets[pod->node].has_plugin || world_chance(10) ? WORLD_HEALTH_UNKNOWN
								   : WORLD_HEALTHY;
}

static void fill_object(const struct world_pod *pod, struct world_object *object)
{
	object->phase = phase_of(pod);
	object->admission_failed = pod->stage == WORLD_REJECTED;
	object->has_statuses = pod->stage >= WORLD_ADMITTED && pod->stage != WORLD_REJECTED;
	object->started_at = pod->started_at;
	object->has_resources = object->has_statuses &&
				world.nodes[pod->node].tells_resources &&
				clockwork_now() >= pod->resources_at &&
				(device_manager_has(pod) || pod->claim >= 0);
	object->health = health_of(pod);
	for (int i = 0; i < pod->n_containers; i++) {
		object->states[i] = pod->containers[i].state;
		object->starts[i] = pod->containers[i].starts;
	}
}

/* A name is one object's: that of the static pod before, which had it, goes first. */
static void remove_mirror(const char *name)
{
	struct world_pod *mirror = world_find_pod(name);

	if (!mirror)
		return;
	mirror->object.exists = false;
	apiserver_put_pod(mirror);
}

static struct world_pod *make_mirror(const struct world_pod *pod)
{
	struct world_pod *mirror = world_add_pod(pod->node, pod->name);

	if (!mirror)
		return NULL;
	remove_mirror(pod->name);
	memcpy(mirror->hash, pod->hash, sizeof(mirror->hash));
	memcpy(mirror->containers, pod->containers, sizeof(mirror->containers));
	mirror->n_containers = pod->n_containers;
	mirror->mirror_of = world_index(pod);
	mirror->object.exists = true;
	return mirror;
}

/* A static pod is told of by its mirror, which is made if need be and goes when the pod does. */
static void tell_of_static(struct world_pod *pod)
{
	struct world_pod *mirror = world_mirror(pod);
	bool is_over = pod->stage == WORLD_GONE;

	if (!mirror && !is_over)
		mirror = make_mirror(pod);
	if (!mirror)
		return;
	fill_object(pod, &mirror->object);
	mirror->object.exists = !is_over;
	apiserver_put_pod(mirror);
}

static void tell(void *owner, uint64_t number)
{
	struct world_pod *pod = owner;
	const struct kubelet *kubelet = &kubelets[pod->node];

	(void)number;
	if (!kubelet->runs || !kubelet->is_ready)
		return;
	if (!apiserver_is_up()) {
		clockwork_in(API_RETRY_MS, tell, pod, 0);
		return;
	}
	if (pod->hash[0])
		tell_of_static(pod);
	if (!pod->object.exists)
		return;
	fill_object(pod, &pod->object);
	apiserver_put_pod(pod);
	/* The kubelet removes what has ended and shall be deleted. */
	if (pod->object.deleting && !world_is_active(pod))
		kubelet_see(pod);
}

static void tell_soon(struct world_pod *pod)
{
	clockwork_in(world_between(2, 200), tell, pod, 0);
}

static void remove_object(struct world_pod *pod)
{
	if (!apiserver_is_up()) {
		clockwork_in(API_RETRY_MS, advance, pod, 0);
		return;
	}
	pod->object.exists = false;
	pod->stage = WORLD_GONE;
	apiserver_put_pod(pod);
}

/* Steps */

static void step_in(struct world_pod *pod, uint64_t ms)
{
	pod->step_at = clockwork_now() + ms;
	clockwork_in(ms, advance, pod, 0);
}

/* What was given shows in the status with the first containers, or later, or never. */
static void plan_resources(struct world_pod *pod)
{
	uint64_t dice = world_between(0, 99);

	pod->resources_at = dice < 70   ? 0
			    : dice < 92 ? clockwork_now() + world_between(100, 20000)
					: WORLD_NEVER;
	if (pod->resources_at > clockwork_now() && pod->resources_at != WORLD_NEVER)
		clockwork_at(pod->resources_at, tell, pod, 0);
}

/* Of MIG devices that are gone, which the plugin has not withdrawn yet. */
static bool holds_lost_part(const struct world_pod *pod)
{
	for (int c = 0; c < pod->n_containers; c++)
		for (int i = 0; i < pod->containers[c].n_slots; i++) {
			const struct world_slot *slot = &pod->containers[c].slots[i];

			if (slot->partition >= 0 &&
			    !world.gpus[slot->gpu].partitions[slot->partition].exists)
				return true;
		}
	return false;
}

/* The claim stays allocated, to a device that no slice describes. */
static void await_devices(struct world_pod *pod)
{
	cause_add(CAUSE_DISPLACED, pod->node, -1, clockwork_now(),
		  clockwork_now() + PREPARE_RETRY_MS);
	step_in(pod, PREPARE_RETRY_MS);
}

static void admit(struct world_pod *pod)
{
	pod->stage = WORLD_ADMITTED;
	cause_add(CAUSE_POD_NEW, pod->node, -1, clockwork_now(), clockwork_now());
	if (device_manager_allocate(pod)) {
		if (holds_lost_part(pod))
			cause_add(CAUSE_RECORDS_STALE, pod->node, -1, clockwork_now(), WORLD_NEVER);
		pod->started_at = clockwork_wall(pod->node);
		plan_resources(pod);
		step_in(pod, world_between(20, 1500));
		prompt_allocated(pod);
	} else {
		matrix_pod(MATRIX_REFUSED, pod);
		pod->stage = WORLD_REJECTED;
		world_release(pod);
	}
	tell_soon(pod);
}

static bool has_init(const struct world_pod *pod)
{
	for (int i = 0; i < pod->n_containers; i++)
		if (pod->containers[i].kind == WORLD_INIT)
			return true;
	return false;
}

static void set_states(struct world_pod *pod, enum world_container_kind kind,
		       enum world_state state)
{
	for (int i = 0; i < pod->n_containers; i++)
		if (pod->containers[i].kind == kind)
			pod->containers[i].state = state;
}

static void begin(struct world_pod *pod)
{
	set_states(pod, WORLD_SIDECAR, WORLD_RUNNING);
	pod->stage = WORLD_INITIALISING;
	set_states(pod, WORLD_INIT, WORLD_RUNNING);
	usage_start(pod, WORLD_SIDECAR);
	usage_start(pod, WORLD_INIT);
	step_in(pod, has_init(pod) ? world_between(50, 3000) : 0);
	if (has_init(pod))
		tell_soon(pod);
}

static void run(struct world_pod *pod)
{
	set_states(pod, WORLD_INIT, WORLD_TERMINATED);
	usage_stop(pod, WORLD_INIT, 0);
	set_states(pod, WORLD_MAIN, WORLD_RUNNING);
	usage_start(pod, WORLD_MAIN);
	pod->stage = WORLD_UP;
	if (pod->is_reservation && pod->containers[0].n_slots > 0)
		memcpy(pod->reserves, pod->containers[0].slots[0].id, sizeof(pod->reserves));
	tell_soon(pod);
	step_in(pod, 0);
}

/*
 * Of a container that has not begun the status says for ever that it waits (TerminatePod() in
 * pkg/kubelet/status/status_manager.go).
 */
static void end_containers(struct world_pod *pod)
{
	if (world.nodes[pod->node].kubelet_minor < 34 && !pod->object.deleting && device_manager_has(pod))
		matrix_pod(MATRIX_TERMINAL, pod);
	for (int i = 0; i < pod->n_containers; i++)
		if (pod->containers[i].starts > 0)
			pod->containers[i].state = WORLD_TERMINATED;
	for (enum world_container_kind kind = WORLD_MAIN; kind <= WORLD_SIDECAR; kind++)
		usage_stop(pod, kind, 0);
	world_release(pod);
	pod->stage = WORLD_DONE;
	tell_soon(pod);
}

static void terminate(struct world_pod *pod)
{
	pod->stage = WORLD_TERMINATING;
	step_in(pod, world_between(0, pod->grace_ms));
}

/*
 * A pod that was deleted by force leaves the records and the List at once, though its processes may
 * live on: https://github.com/kubernetes/kubernetes/issues/104824
 */
static void forget(struct world_pod *pod)
{
	world_release(pod);
	usage_abandon(pod);
	pod->stage = WORLD_GONE;
}

static bool has_failed_early(const struct world_pod *pod)
{
	return pod->finish_wanted && !pod->finish_well && has_init(pod);
}

static void step_static(struct world_pod *pod)
{
	switch (pod->stage) {
	case WORLD_NEW:
		admit(pod);
		break;
	case WORLD_ADMITTED:
		begin(pod);
		break;
	case WORLD_INITIALISING:
		run(pod);
		break;
	default:
		if (!pod->finish_wanted)
			break;
		forget(pod);
		tell_soon(pod);
	}
}

static void step(struct world_pod *pod)
{
	if (pod->hash[0]) {
		step_static(pod);
		return;
	}
	if (!pod->object.exists) {
		forget(pod);
		return;
	}
	switch (pod->stage) {
	case WORLD_NEW:
		if (pod->object.deleting)
			remove_object(pod);
		else if (!claims_can_prepare(pod))
			await_devices(pod);
		else
			admit(pod);
		break;
	case WORLD_ADMITTED:
		if (pod->object.deleting)
			terminate(pod);
		else
			begin(pod);
		break;
	case WORLD_INITIALISING:
		if (has_failed_early(pod))
			end_containers(pod);
		else if (pod->object.deleting)
			terminate(pod);
		else
			run(pod);
		break;
	case WORLD_UP:
		if (pod->finish_wanted)
			end_containers(pod);
		else if (pod->object.deleting)
			terminate(pod);
		break;
	case WORLD_TERMINATING:
		end_containers(pod);
		break;
	case WORLD_REJECTED:
	case WORLD_DONE:
		if (pod->object.deleting)
			remove_object(pod);
		break;
	case WORLD_GONE:
		break;
	}
}

static void advance(void *owner, uint64_t number)
{
	struct world_pod *pod = owner;
	const struct kubelet *kubelet = &kubelets[pod->node];

	(void)number;
	if (pod->mirror_of >= 0 || !kubelet->runs || !kubelet->is_ready)
		return;
	if (clockwork_now() >= pod->step_at || world_is_deleted(pod))
		step(pod);
}

void kubelet_miss_mirror(struct world_pod *pod)
{
	clockwork_in(world_between(100, 2000), tell, pod, 0);
}

/* It has one watch: what happened first is seen first. */
void kubelet_see(struct world_pod *pod)
{
	struct kubelet *kubelet = &kubelets[pod->node];
	uint64_t at = clockwork_now() + world_between(1, 120);

	if (at > kubelet->seen_at)
		kubelet->seen_at = at;
	clockwork_at(kubelet->seen_at, advance, pod, 0);
}

static bool is_waiting(const struct world_pod *pod, enum world_container_kind kind)
{
	for (int i = 0; i < pod->n_containers; i++)
		if (pod->containers[i].kind == kind)
			return pod->containers[i].state == WORLD_WAITING;
	return false;
}

/* One that was ended twice while it was away comes back once. */
static void container_is_back(void *owner, uint64_t number)
{
	struct world_pod *pod = owner;

	(void)number;
	if (pod->stage != WORLD_UP || !is_waiting(pod, WORLD_MAIN))
		return;
	set_states(pod, WORLD_MAIN, WORLD_RUNNING);
	usage_start(pod, WORLD_MAIN);
	tell_soon(pod);
}

void kubelet_restart_container(struct world_pod *pod, uint64_t ms)
{
	set_states(pod, WORLD_MAIN, WORLD_WAITING);
	usage_stop(pod, WORLD_MAIN, 0);
	tell_soon(pod);
	clockwork_in(ms, container_is_back, pod, 0);
}

/* The plugin */

/* The kubelet writes what it hears of the devices' health. */
static void tell_health(int node)
{
	for (int i = 0; i < world.n_pods && world.nodes[node].tells_resources; i++)
		if (world.pods[i].node == node && world.pods[i].object.has_resources &&
		    world_is_active(&world.pods[i]))
			tell_soon(&world.pods[i]);
}

static void register_plugin(void *owner, uint64_t number)
{
	struct kubelet *kubelet = owner;
	int node = (int)(kubelet - kubelets);

	if (number != kubelet->plugin_start || !kubelet->runs || !kubelet->has_plugin)
		return;
	host_changed(node, HOST_PLUGINS, "nvidia-gpu.sock", true);
	device_manager_register(node);
	tell_health(node);
	cause_end(CAUSE_OFFER_CHANGED, node, -1);
}

static void plan_registration(struct kubelet *kubelet, uint64_t ms)
{
	clockwork_in(ms, register_plugin, kubelet, ++kubelet->plugin_start);
}

void kubelet_lose_plugin(int node)
{
	struct kubelet *kubelet = &kubelets[node];

	if (!kubelet->has_plugin)
		return;
	cause_add(CAUSE_OFFER_CHANGED, node, -1, clockwork_now(), WORLD_NEVER);
	kubelet->has_plugin = false;
	kubelet->plugin_start++;
	host_changed(node, HOST_PLUGINS, "nvidia-gpu.sock", false);
	if (!kubelet->runs)
		return;
	device_manager_unregister(node);
	tell_health(node);
}

void kubelet_return_plugin(int node)
{
	struct kubelet *kubelet = &kubelets[node];

	if (kubelet->has_plugin)
		return;
	kubelet->has_plugin = true;
	plan_registration(kubelet, world_between(200, 3000));
}

void kubelet_update_plugin(int node)
{
	struct kubelet *kubelet = &kubelets[node];

	cause_add(CAUSE_OFFER_CHANGED, node, -1, clockwork_now(), WORLD_NEVER);
	if (kubelet->has_plugin)
		plan_registration(kubelet, world_between(200, 4000));
}

/* Its own life */

/*
 * It starts with the pods that its sources have, and takes away before it adds. So if a pod was
 * deleted while it was down, that pod is gone before the next of its name is admitted
 * (podStorage.Merge() in pkg/kubelet/config/config.go).
 */
static void forget_deleted(int node)
{
	for (int i = 0; i < world.n_pods; i++) {
		struct world_pod *pod = &world.pods[i];

		if (pod->node == node && pod->stage != WORLD_GONE && world_is_deleted(pod))
			forget(pod);
	}
}

static void resume_pods(int node)
{
	for (int i = 0; i < world.n_pods; i++) {
		struct world_pod *pod = &world.pods[i];

		if (pod->node != node || pod->mirror_of >= 0)
			continue;
		if (pod->stage == WORLD_GONE) {
			if (world_mirror(pod))
				tell_soon(pod);
			continue;
		}
		clockwork_at(pod->step_at, advance, pod, 0);
		if (pod->stage != WORLD_NEW)
			tell_soon(pod);
	}
}

static void become_ready(void *owner, uint64_t number)
{
	struct kubelet *kubelet = owner;

	if (number != kubelet->start || !kubelet->runs)
		return;
	kubelet->is_ready = true;
	forget_deleted((int)(kubelet - kubelets));
	resume_pods((int)(kubelet - kubelets));
}

/* In a List each pod is there from some moment on, at the latest when all are. */
static void scatter_pods(int node, uint64_t sources_ms)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].node == node)
			world.pods[i].relisted_at =
				clockwork_now() + world_between(0, sources_ms);
}

void kubelet_start(int node, uint64_t sources_ms, uint64_t plugin_ms)
{
	struct kubelet *kubelet = &kubelets[node];

	if (kubelet->runs)
		return;
	kubelet->runs = true;
	kubelet->is_ready = false;
	kubelet->start++;
	kubelet->has_plugin |= kubelet->start == 1;
	kubelet->inode += 2;
	kubelet->made_at = clockwork_wall(node);
	kubelet->has_socket = true;
	scatter_pods(node, sources_ms);
	device_manager_load(node);
	host_changed(node, HOST_SOCKETS, HOST_SOCKET, true);
	clockwork_in(sources_ms, become_ready, kubelet, kubelet->start);
	if (kubelet->has_plugin)
		plan_registration(kubelet, plugin_ms);
}

void kubelet_stop(int node)
{
	struct kubelet *kubelet = &kubelets[node];

	if (!kubelet->runs)
		return;
	cause_add(CAUSE_OFFER_CHANGED, node, -1, clockwork_now(), WORLD_NEVER);
	kubelet->runs = false;
	kubelet->is_ready = false;
	kubelet->plugin_start++;
}

static void start_again(void *owner, uint64_t number)
{
	struct kubelet *kubelet = owner;
	int node = (int)(kubelet - kubelets);

	if (world.nodes[node].powered)
		kubelet_start(node, number, world_between(300, 6000));
}

void kubelet_restart(int node, uint64_t down_ms, uint64_t sources_ms, bool is_wiped)
{
	if (!kubelets[node].runs)
		return;
	kubelet_stop(node);
	if (is_wiped)
		device_manager_wipe(node);
	clockwork_in(down_ms, start_again, &kubelets[node], sources_ms);
}

void kubelet_hang(int node, uint64_t until)
{
	kubelets[node].hangs_until = until;
}

void kubelet_throttle(int node, uint64_t until)
{
	kubelets[node].throttles_until = until;
}

void kubelet_damage(int node, uint64_t until)
{
	kubelets[node].damaged_until = until;
}

/* What the agent finds */

void kubelet_met_agent(int node)
{
	kubelets[node].is_list_told = kubelets[node].is_file_told = false;
}

bool kubelet_withholds_records(int node)
{
	const struct kubelet *kubelet = &kubelets[node];
	const uint64_t from = clockwork_now() > SAMPLE_MS ? clockwork_now() - SAMPLE_MS : 0;

	return (!kubelet->is_list_told || kubelet->list_untold_at > from) &&
	       (!kubelet->is_file_told || kubelet->file_untold_at > from);
}

enum kubelet_file kubelet_checkpoint(int node, struct view *ret)
{
	const bool is_damaged = clockwork_now() < kubelets[node].damaged_until;
	const bool is_there = device_manager_file(node, ret);

	kubelets[node].is_file_told = is_there && !is_damaged;
	if (!kubelets[node].is_file_told)
		kubelets[node].file_untold_at = clockwork_now();
	if (is_damaged)
		return KUBELET_FILE_UNREADABLE;
	return is_there ? KUBELET_FILE_THERE : KUBELET_FILE_ABSENT;
}

bool kubelet_socket(int node, uint64_t *ret_inode, int64_t *ret_made_at)
{
	*ret_inode = kubelets[node].inode;
	*ret_made_at = kubelets[node].made_at;
	return kubelets[node].has_socket;
}

static bool is_list(const struct fetch *fetch)
{
	return strstr(fetch->url, "/List") != NULL;
}

static void note_silence(const struct fetch *fetch)
{
	if (is_list(fetch))
		kubelets[fetch->actor].list_untold_at = clockwork_now();
}

static void answer(void *owner, uint64_t number)
{
	struct fetch *fetch = owner;
	int node = fetch->actor;
	struct sbuf message, reply;

	(void)number;
	if (!fetch->open)
		return;
	if (!kubelets[node].runs) {
		note_silence(fetch);
		net_fail(fetch, "Failed to connect");
		return;
	}
	sbuf_init(&message, CAP);
	sbuf_init(&reply, CAP);
	if (is_list(fetch))
		device_manager_list(node, kubelets[node].is_ready, &message);
	else
		device_manager_allocatable(node, &message);
	grpcmsg_append(&reply, sbuf_view(&message));
	kubelets[node].is_list_told |= is_list(fetch);
	fetch->grpc_status = 0;
	net_head(fetch, 200, "application/grpc", 0);
	if (net_feed(fetch, sbuf_view(&reply)))
		net_end(fetch);
	sbuf_deinit(&message);
	sbuf_deinit(&reply);
}

static void refuse(void *owner, uint64_t number)
{
	struct fetch *fetch = owner;

	(void)number;
	note_silence(fetch);
	fetch->grpc_status = 8; /* RESOURCE_EXHAUSTED */
	net_head(fetch, 200, "application/grpc", 0);
	net_end(fetch);
}

void kubelet_serve(struct fetch *fetch)
{
	struct kubelet *kubelet = &kubelets[fetch->actor];

	kubelet->is_list_told &= !is_list(fetch);
	if (clockwork_now() < kubelet->hangs_until) {
		note_silence(fetch);
		return;
	}
	if (clockwork_now() < kubelet->throttles_until)
		clockwork_in(1, refuse, fetch, 0);
	else
		clockwork_in(world_between(1, 6), answer, fetch, 0);
}
