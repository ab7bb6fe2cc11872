/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/deed.h"

#include "sim/apiserver.h"
#include "sim/cause.h"
#include "sim/claims.h"
#include "sim/child.h"
#include "sim/clockwork.h"
#include "sim/drifts.h"
#include "sim/driver.h"
#include "sim/forms.h"
#include "sim/hang.h"
#include "sim/illness.h"
#include "sim/intents.h"
#include "sim/kubelet.h"
#include "sim/load.h"
#include "sim/matrix.h"
#include "sim/policies.h"
#include "sim/programs.h"
#include "sim/strain.h"
#include "sim/trouble.h"
#include "sim/unwatched.h"
#include "sim/usage.h"
#include "sim/wire.h"
#include "sim/world.h"

/* What plugins offer */

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
		cause_add(CAUSE_RECORDS_STALE, gpu->node, -1, clockwork_now(), WORLD_NEVER);
	matrix_gpu(MATRIX_DIVIDED, gpu);
	world_divide(gpu, mig, n_partitions);
	usage_clear_gpu((int)(gpu - world.gpus));
	drifts_look();
}

static void divide_all(int node, int n_partitions)
{
	for (int i = 0; i < world.n_gpus; i++) {
		struct world_gpu *gpu = &world.gpus[i];

		if (gpu->node != node)
			continue;
		if (gpu->mig || world_is_mig(world.nodes[node].mode))
			divide(gpu, world_is_mig(world.nodes[node].mode), n_partitions);
		if (gpu->mps_daemon != (world.nodes[node].mode == WORLD_MPS))
			usage_clear_gpu(i);
		gpu->mps_daemon = world.nodes[node].mode == WORLD_MPS;
		gpu->left_exclusive = false;
	}
}

static void configure(int node, enum world_mode mode, int replicas)
{
	world.nodes[node].mode = mode;
	world.nodes[node].replicas = replicas;
	divide_all(node, replicas);
	apiserver_put_node(&world.nodes[node]);
	kubelet_update_plugin(node);
}

/* How the plugin shares devices when it does what a text says; MIG stays MIG. */
static enum world_mode mode_of(enum world_mode mode, struct policies_sharing sharing)
{
	if (world_is_mig(mode))
		return sharing.replicas > 1 && !sharing.is_mps ? WORLD_MIG_TIME_SLICED : WORLD_MIG;
	return sharing.replicas == 1 ? WORLD_EXCLUSIVE
	       : sharing.is_mps	     ? WORLD_MPS
				     : WORLD_TIME_SLICED;
}

static bool is_any_held(int node)
{
	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[i].node == node && is_held(&world.gpus[i]))
			return true;
	return false;
}

/* The plugin starts with what its configuration says now. Under tenants no resource gets another name. */
static void obey(int node, int replicas)
{
	struct policies_sharing sharing;

	if (world.nodes[node].mode >= WORLD_CLAIMS ||
	    intents_config(node, &sharing) != INTENTS_CONFIG)
		return;
	if (!world_is_mig(world.nodes[node].mode) && !is_any_held(node))
		world.nodes[node].renamed = sharing.is_renamed;
	configure(node, mode_of(world.nodes[node].mode, sharing),
		  sharing.replicas > 1 ? sharing.replicas : replicas);
}

/* Fleet */

static void publish_slices(void *owner, uint64_t node)
{
	(void)owner;
	claims_publish((int)node, world_between(1, 3000));
}

static int add_node(const int *args, bool is_late)
{
	/*
	 * Of variants 0 to 7 each has one of four kubelets, 8 and 9 have no agent. From 10 on it is
	 * the same once more, but for the kubelet's gate ResourceHealthStatus, which by default is
	 * on since 1.36.
	 */
	int variant = args[3] % 10;
	int minor = variant < 8 ? 33 + variant % 4 : 36;
	int node = world_add_node(minor, (enum world_mode)args[0], args[2], args[1],
				  variant / 4 % 2 != 0);

	if (node < 0)
		return -1;
	world.nodes[node].tells_resources = variant < 8 ? (minor >= 36) != (args[3] >= 10)
							: args[3] != 19;
	policies_set_up(node);
	if (policies_have_plugin_obey())
		obey(node, args[2]);
	world.nodes[node].agentless = variant >= 8;
	forms_label(node, !is_late);
	apiserver_put_node(&world.nodes[node]);
	clockwork_boot(node);
	usage_set_up(node);
	illness_set_up(node);
	unwatched_set_up(node);
	load_set_up(node);
	strain_set_up(node);
	trouble_set_up(node);
	kubelet_start(node, 100, 300);
	if (!is_late) {
		clockwork_in(500, publish_slices, NULL, (uint64_t)node);
		deed_start_agent(NULL, (uint64_t)node);
	}
	cause_add(CAUSE_NEW_DEVICE, node, -1, clockwork_now(), clockwork_now());
	if (world.nodes[node].agentless)
		cause_add(CAUSE_AGENTLESS, node, -1, clockwork_now(), WORLD_NEVER);
	return node;
}

void deed_add_node(const int *args)
{
	(void)add_node(args, false);
}

static void show_gpus(void *owner, uint64_t number)
{
	const int node = (int)number;

	forms_label(node, true);
	apiserver_put_node(&world.nodes[node]);
	publish_slices(owner, number);
	deed_start_agent(owner, number);
	cause_add(CAUSE_NEW_DEVICE, node, -1, clockwork_now(), clockwork_now());
}

/* Its driver, agent and label come later. */
void deed_add_late_node(const int *args)
{
	const int node = add_node((const int[]){args[0], args[1], 2, args[2]}, true);

	if (node < 0)
		return;
	clockwork_at(deed_for_ms(args[3]), show_gpus, NULL, (uint64_t)node);
	deed_excuse(CAUSE_REPORTS_MISSING, node, args[3]);
	deed_excuse(CAUSE_SLICES, node, args[3]);
	deed_excuse(CAUSE_NEW_DEVICE, node, args[3]);
}

/* Kubelets and plugins */

void deed_restart_kubelet(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0)
		return;
	matrix_node(MATRIX_KUBELET, node);
	kubelet_restart(node, (uint64_t)args[1], (uint64_t)args[2], false);
	deed_excuse(CAUSE_RECORDS_FAILED, node, args[1] + args[2]);
	deed_for_ms(args[1] + args[2] + 10000);
}

static bool is_admitting(int node)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].node == node && (world.pods[i].stage == WORLD_ADMITTED ||
						   world.pods[i].stage == WORLD_INITIALISING))
			return true;
	return false;
}

void deed_wipe_kubelet(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0 || is_admitting(node))
		return;
	matrix_node(MATRIX_WIPED, node);
	kubelet_restart(node, (uint64_t)args[1], (uint64_t)args[2], true);
	cause_add(CAUSE_RECORDS_STALE, node, -1, clockwork_now(), WORLD_NEVER);
	deed_excuse(CAUSE_RECORDS_FAILED, node, args[1] + args[2] + 20000);
}

void deed_hang_kubelet(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0)
		return;
	kubelet_hang(node, deed_for_ms(args[1]));
	deed_excuse(CAUSE_RECORDS_FAILED, node, args[1]);
}

void deed_throttle_kubelet(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0)
		return;
	kubelet_throttle(node, deed_for_ms(args[1]));
	deed_excuse(CAUSE_RECORDS_FAILED, node, args[1]);
}

void deed_damage_checkpoint(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0)
		return;
	kubelet_damage(node, deed_for_ms(args[1]));
	deed_excuse(CAUSE_RECORDS_FAILED, node, args[1]);
}

static void return_plugin(void *owner, uint64_t node)
{
	(void)owner;
	kubelet_return_plugin((int)node);
}

void deed_lose_plugin(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0)
		return;
	matrix_node(MATRIX_PLUGIN, node);
	kubelet_lose_plugin(node);
	clockwork_at(deed_for_ms(args[1]), return_plugin, NULL, (uint64_t)node);
	deed_for_ms(args[1] + 10000);
}

void deed_configure_plugin(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0 || world.nodes[node].mode >= WORLD_CLAIMS)
		return;
	configure(node, (enum world_mode)args[1], args[2]);
	deed_for_ms(20000);
}

void deed_obey(const int *args)
{
	const int node = deed_node(args[0]);

	if (node < 0)
		return;
	obey(node, args[1]);
	drifts_look();
	deed_for_ms(20000);
}

void deed_divide_gpu(const int *args)
{
	struct world_gpu *gpu = deed_gpu(args[0]);

	if (!gpu || gpu->node < 0 || !gpu->mig)
		return;
	divide(gpu, true, args[1]);
	kubelet_update_plugin(gpu->node);
	publish_slices(NULL, (uint64_t)gpu->node);
	deed_for_ms(20000);
}

/* Hardware */

static void find_gpu_again(void *owner, uint64_t number)
{
	struct world_gpu *gpu = owner;

	(void)number;
	gpu->lost = false;
	if (gpu->node < 0)
		return;
	kubelet_update_plugin(gpu->node);
	publish_slices(NULL, (uint64_t)gpu->node);
}

void deed_lose_gpu(const int *args)
{
	struct world_gpu *gpu = deed_gpu(args[0]);

	if (!gpu || gpu->node < 0 || gpu->lost)
		return;
	gpu->lost = true;
	gpu->lost_in_boot = world.nodes[gpu->node].boot;
	usage_clear_gpu((int)(gpu - world.gpus));
	world_raise(gpu, world.has_processes ? 79 : 31);
	kubelet_update_plugin(gpu->node);
	publish_slices(NULL, (uint64_t)gpu->node);
	deed_excuse(CAUSE_DRIVER_FAILED, gpu->node, args[1]);
	clockwork_at(deed_for_ms(args[1]), find_gpu_again, gpu, 0);
	deed_for_ms(args[1] + 20000);
}

void deed_raise_xid(const int *args)
{
	struct world_gpu *gpu = deed_gpu(args[0]);

	if (gpu && gpu->node >= 0 && world.nodes[gpu->node].powered)
		driver_raise(gpu, 31, -1);
	deed_for_ms(10000);
}

static bool has_slot_of(const struct world_pod *pod, int gpu)
{
	for (int c = 0; c < pod->n_containers; c++)
		for (int i = 0; i < pod->containers[c].n_slots; i++)
			if (pod->containers[c].slots[i].gpu == gpu)
				return true;
	return false;
}

/* Its processes are killed, and it is not started again. */
static void end_pods_on(int gpu)
{
	for (int i = 0; i < world.n_pods; i++) {
		struct world_pod *pod = &world.pods[i];

		if (pod->stage != WORLD_UP || pod->hash[0] || pod->is_reservation ||
		    !has_slot_of(pod, gpu))
			continue;
		pod->finish_wanted = true;
		pod->finish_well = false;
		kubelet_see(pod);
	}
}

/* Of all classes; each is there twice, and the second time it ends the pods. */
void deed_raise_error(const int *args)
{
	static const int codes[] = {13, 31, 43, 45, 48, 62, 63, 64, 74, 79, 94, 999};
	const int n_codes = (int)ARRAY_SIZE(codes);
	struct world_gpu *gpu = deed_gpu(args[0]);

	if (!gpu || gpu->node < 0 || !world.nodes[gpu->node].powered)
		return;
	driver_raise(gpu, codes[args[1] % n_codes], -1);
	if (args[1] >= n_codes)
		end_pods_on((int)(gpu - world.gpus));
	deed_for_ms(30000);
}

void deed_fail_driver(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0)
		return;
	driver_fail(node, deed_for_ms(args[1]));
	deed_excuse(CAUSE_DRIVER_FAILED, node, args[1]);
	deed_excuse(CAUSE_NVML_SILENT, node, args[1]);
}

static void power_on(void *owner, uint64_t number)
{
	int node = (int)number;
	uint64_t plugin_ms;

	(void)owner;
	if (world.nodes[node].powered)
		return;
	world.nodes[node].powered = true;
	world_boot(&world.nodes[node]);
	illness_boot(node);
	hang_boot(node);
	clockwork_boot(node);
	apiserver_put_node(&world.nodes[node]); /* the kubelet, before it starts any pod */
	usage_power_on(node);
	plugin_ms = world_between(300, 9000);
	kubelet_start(node, world_between(100, 8000), plugin_ms);
	clockwork_in(world_between(500, 9000), publish_slices, NULL, (uint64_t)node);
	deed_start_agent(NULL, (uint64_t)node);
	cause_end(CAUSE_REPORTS_MISSING, node, -1);
	cause_end(CAUSE_NODE_OFF, node, -1);
	cause_add(CAUSE_NEW_DEVICE, node, -1, clockwork_now(), clockwork_now());
}

static void power_off(int node, int ms)
{
	if (world.nodes[node].powered) {
		world.nodes[node].powered = false;
		usage_power_off(node);
		programs_stop_agent(node);
		child_power_off(node);
		kubelet_stop(node);
		wire_lose(node);
		cause_add(CAUSE_REPORTS_MISSING, node, -1, clockwork_now(), WORLD_NEVER);
		cause_add(CAUSE_NODE_OFF, node, -1, clockwork_now(), WORLD_NEVER);
	}
	clockwork_at(deed_for_ms(ms), power_on, NULL, (uint64_t)node);
	deed_excuse(CAUSE_RECORDS_FAILED, node, ms + 20000);
	deed_for_ms(ms + 20000);
}

void deed_reboot_node(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0)
		return;
	matrix_node(MATRIX_REBOOT, node);
	power_off(node, args[1]);
	clockwork_step_wall(node, args[2]);
}

static void renumber(void *owner, uint64_t node)
{
	(void)owner;
	if (!world.nodes[node].powered)
		claims_renumber((int)node);
}

void deed_renumber(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0 || !world_is_claims(world.nodes[node].mode))
		return;
	power_off(node, args[1]);
	clockwork_in((uint64_t)args[1] - 1, renumber, NULL, (uint64_t)node);
}

/* The driver of dynamic resource allocation */

static void return_device(void *owner, uint64_t node)
{
	world.pools[node].withdrawn = -1;
	publish_slices(owner, node);
}

static void withdraw_device(int node)
{
	int first = (int)world_between(0, (uint64_t)world.n_gpus - 1);

	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[(first + i) % world.n_gpus].node == node)
			world.pools[node].withdrawn = (first + i) % world.n_gpus;
	publish_slices(NULL, (uint64_t)node);
}

void deed_spoil_slices(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0 || !world_is_claims(world.nodes[node].mode))
		return;
	if (args[1] < 2)
		claims_take_away(node, args[1] == 0);
	else if (args[1] == 2)
		withdraw_device(node);
	else
		claims_publish(node, (uint64_t)args[2]);
	if (args[1] < 3)
		clockwork_at(deed_for_ms(args[2]), return_device, NULL, (uint64_t)node);
	deed_for_ms(args[2] + 20000);
}

/*
 * Pods whose device is no longer there cannot be admitted again. Those that were not admitted yet
 * are not here: see claims_can_prepare() and device_manager_allocate().
 */
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
		matrix_pod(MATRIX_REFUSED, pod);
		world_release(pod);
		pod->stage = WORLD_REJECTED;
		pod->step_at = clockwork_now();
	}
}

void deed_move_gpu(const int *args)
{
	struct world_gpu *gpu = deed_gpu(args[0]);
	int to = deed_node(args[1]);

	if (!gpu || gpu->node < 0 || gpu->node == to)
		return;
	power_off(gpu->node, args[2]);
	power_off(to, args[3]);
	matrix_gpu(MATRIX_MOVED, gpu);
	reject_holders((int)(gpu - world.gpus));
	gpu->node = to;
	gpu->moved_at = clockwork_now();
	gpu->lost = false;
	gpu->n_fetched = gpu->n_errors;
	illness_moved((int)(gpu - world.gpus));
	world_divide(gpu, world_is_mig(world.nodes[to].mode), 2);
	gpu->mps_daemon = world.nodes[to].mode == WORLD_MPS;
	gpu->left_exclusive = gpu->mig_asked = false;
	deed_excuse(CAUSE_NEW_DEVICE, -1, 60000);
	deed_excuse(CAUSE_DUPLICATE, -1, 60000);
}

/* Nodes in the API */

static void return_node(void *owner, uint64_t number)
{
	struct world_node *node = &world.nodes[number];

	(void)owner;
	if (node->in_api)
		return;
	node->in_api = true;
	world_new_uuid(node->uid);
	apiserver_put_node(node);
	publish_slices(NULL, number);
}

/* Its pods go with it; what holds devices there ends when the kubelet hears of it. */
void deed_remove_node(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0 || !world.nodes[node].in_api)
		return;
	matrix_node(MATRIX_NODE_AGAIN, node);
	world.nodes[node].in_api = false;
	apiserver_put_node(&world.nodes[node]);
	claims_take_away(node, true);
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
	deed_excuse(CAUSE_NEW_DEVICE, node, args[1] + 30000);
	clockwork_at(deed_for_ms(args[1]), return_node, NULL, (uint64_t)node);
}
