/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What one join costs: a node with 8 devices and 110 pods of which 8 hold one device each, and the
 * same node time-sliced by 4 with 32 tenants. Each without a ClusterPolicy, and with one that has a
 * configuration of the plugin and of MIG, so that each rule about intent has something to compare. Prints
 * microseconds a join, the best of several runs.
 */

#include "lib/build_world.h"
#include "lib/test_main.h"

#include <time.h>

#define N_DEVICES 8
#define N_PODS 110
#define N_JOINS 2000
#define N_RUNS 7

static struct build_world world;

static double now_us(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static const char *name(const char *prefix, unsigned i)
{
	return build_world_text(&world, "%s-%u-7f9c4d5b6d-x2x7k", prefix, i).ptr;
}

static const char *uid(unsigned i)
{
	return build_world_text(&world, "%08x-5c1c-46f0-9aee-b624a6d8abae", i * 2654435761u).ptr;
}

/* All is as intended. */
static void govern(unsigned n_replicas)
{
	static const struct node_deploy deploys[] = {
		{VIEW_INIT("dcgm-exporter"), VIEW_INIT("true")},
		{VIEW_INIT("device-plugin"), VIEW_INIT("true")},
		{VIEW_INIT("driver"), VIEW_INIT("true")},
		{VIEW_INIT("gpu-feature-discovery"), VIEW_INIT("true")},
		{VIEW_INIT("mig-manager"), VIEW_INIT("true")},
	};
	static const enum pod_operand operands[] = {
		POD_OPERAND_DRIVER, POD_OPERAND_DEVICE_PLUGIN, POD_OPERAND_GFD,
		POD_OPERAND_DCGM_EXPORTER, POD_OPERAND_MIG_MANAGER};
	static struct plugin_config_shared shared = {VIEW_INIT("nvidia.com/gpu"), 0};
	static struct plugin_config config = {.name = VIEW_INIT("shared")};
	static struct plugin_configs configs = {.name = VIEW_INIT("plugin-config")};
	static struct node_resource resource = {VIEW_INIT("nvidia.com/gpu"), 0};
	shared.replicas = n_replicas;
	config.sharing = n_replicas > 1 ? PLUGIN_CONFIG_TIME_SLICING : PLUGIN_CONFIG_NOT_SHARED;
	config.shared = array_of(&shared, n_replicas > 1);
	configs.configs = array_of(&config, 1);
	build_world_govern(&world, "gpu-operator");
	world.policy.plugin_config = VIEW("plugin-config");
	world.policy.plugin_config_default = VIEW("shared");
	world.policy.state = VIEW("ready");
	world.intent.plugin_configs_state = INTENT_CONFIG_THERE;
	world.intent.plugin_configs = &configs;
	resource.count = N_DEVICES * n_replicas;
	world.node.allocatable = array_of(&resource, 1);
	world.node.deploys = array_of(deploys, ARRAY_SIZE(deploys));
	world.node.gpu_count = VIEW("8");
	for (unsigned i = 0; i < ARRAY_SIZE(operands); i++)
		build_world_pod(&world, (struct build_pod){.name = name("operand", i),
							   .uid = uid(2000 + i),
							   .namespace = "gpu-operator",
							   .wants_no_gpu = true,
							   .operand = operands[i],
							   .is_ready = true});
}

static void fill(unsigned n_replicas, bool is_governed)
{
	build_world_init(&world);
	for (unsigned i = 0; i < N_PODS - N_DEVICES * n_replicas; i++)
		build_world_pod(&world, (struct build_pod){.name = name("web", i),
							   .uid = uid(1000 + i),
							   .wants_no_gpu = true});
	for (unsigned d = 0; d < N_DEVICES; d++) {
		if (n_replicas > 1)
			build_world_shared(&world, d, n_replicas);
		else
			build_world_exclusive(&world, d);
		for (unsigned r = 0; r < n_replicas; r++)
			build_world_run(&world,
					(struct build_pod){.name = name("train", d * 100 + r),
							   .uid = uid(d * 100 + r)},
					n_replicas > 1 ? build_world_replica(&world, d, r)
						       : build_world_uuid(&world, d));
	}
	if (is_governed)
		govern(n_replicas);
	build_world_publish(&world);
}

static double time_one(void)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct join_result result;
	struct error err;
	arena_init(&arena, 16u << 20);
	double started = now_us();
	for (unsigned i = 0; i < N_JOINS; i++) {
		arena_reset(&arena);
		assert_int_equal(join_node(&world.input, &arena, &result, &err), 0);
		assert_int_equal(result.devices[0].action, JOIN_KEEP);
	}
	return (now_us() - started) / N_JOINS;
}

static void report(const char *what, unsigned n_replicas, bool is_governed)
{
	double best = 1e9;
	fill(n_replicas, is_governed);
	for (unsigned i = 0; i < N_RUNS; i++) {
		double us = time_one();
		if (us < best)
			best = us;
	}
	printf("join of 8 devices, 110 pods, %-40s %6.1f us\n", what, best);
	build_world_deinit(&world);
}

int main(void)
{
	report("8 exclusive tenants:", 1, false);
	report("32 time-sliced tenants:", 4, false);
	report("8 exclusive tenants, governed:", 1, true);
	report("32 time-sliced tenants, governed:", 4, true);
	return 0;
}
