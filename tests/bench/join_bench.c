/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What one join costs: a node with 8 devices and 110 pods of which 8 hold one device each, and the
 * same node time-sliced by 4 with 32 tenants. Prints microseconds a join, the best of several runs.
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

static void fill(unsigned n_replicas)
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

static void report(const char *what, unsigned n_replicas)
{
	double best = 1e9;
	fill(n_replicas);
	for (unsigned i = 0; i < N_RUNS; i++) {
		double us = time_one();
		if (us < best)
			best = us;
	}
	printf("join of 8 devices, 110 pods, %-26s %6.1f us\n", what, best);
	build_world_deinit(&world);
}

int main(void)
{
	report("8 exclusive tenants:", 1);
	report("32 time-sliced tenants:", 4);
	return 0;
}
