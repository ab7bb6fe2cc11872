/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * inventory_fixture - a new inventory for each test of a file.
 *
 * There is a line for each thing that is put into it, and gather() is what a join of a node is given. A
 * file that uses it ends in
 *	static const struct CMUnitTest tests[] = {cmocka_unit_test_set_up(first), ...};
 *	TEST_MAIN(tests)
 * It may define INVENTORY_FIXTURE_IS_SYNCED as true before: then each kind has been listed, and is empty.
 *
 * These are the defaults. A pod wants a GPU, runs, and is told at 1000 ms. A report names device A. A
 * claim is named c. It has device gpu-0 of pool p, which is device A.
 *
 * Threads: a test's own.
 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"

#include "controller/gather.h"

#ifndef INVENTORY_FIXTURE_IS_SYNCED
#define INVENTORY_FIXTURE_IS_SYNCED false
#endif

#define UUID_A "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define NAME_A "gpu-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define UUID_B "GPU-22ba558d-3437-2335-2fd8-a78c8502f87f"
#define NAME_B "gpu-22ba558d-3437-2335-2fd8-a78c8502f87f"

/* The inventory, which nodes it touched since the last look, and how. */
static struct inventory *inventory;
static char touched[256];
static bool was_initial;
static unsigned n_initial; /* of all touches */
static unsigned n_released;

/* Told of a touch; its owner is the text. */
static inline void on_touch(void *owner, struct view node_name, bool initial)
{
	size_t len = strlen(touched);

	assert_ptr_equal(owner, touched);
	was_initial = initial;
	n_initial += initial;
	snprintf(touched + len, sizeof(touched) - len, "%.*s ", VIEW_ARG(node_name));
}

/* What was touched until now is of no interest. */
static inline void forget_touches(void)
{
	touched[0] = '\0';
}

/* These were touched since the last look, each with a blank behind it, and no others. */
static inline void assert_touched(const char *nodes)
{
	assert_string_equal(touched, nodes);
	forget_touches();
}

/* A complete list of that kind arrives, and has nothing. */
static inline void sync_kind(enum inventory_kind kind, uint64_t now)
{
	inventory_begin_replace(inventory, kind);
	inventory_end_list(inventory, kind, 0, now);
}

/* The same of every kind; the touches are forgotten. */
static inline void sync_all(uint64_t now)
{
	for (int kind = 0; kind < INVENTORY_N_KINDS; kind++)
		sync_kind((enum inventory_kind)kind, now);
	forget_touches();
}

/* Makes the inventory; a cmocka setup function. */
static inline int set_up(void **state)
{
	struct error err;

	(void)state;
	n_initial = n_released = 0;
	forget_touches();
	if (inventory_new(1000, &inventory, &err) < 0)
		return -1;
	inventory_on_touch(inventory, on_touch, touched);
	if (INVENTORY_FIXTURE_IS_SYNCED)
		sync_all(1000);
	return 0;
}

/* Frees it; a cmocka teardown function. */
static inline int tear_down(void **state)
{
	(void)state;
	inventory_free(inventory);
	inventory = NULL;
	return 0;
}

/* Another new inventory within a test. */
static inline void start_anew(void)
{
	tear_down(NULL);
	assert_int_equal(set_up(NULL), 0);
}

/* What is put into it */

/* A pod of namespace ml. */
static inline struct pod_fields pod_on(const char *node, const char *name, const char *uid)
{
	return (struct pod_fields){
		.namespace = VIEW("ml"), .name = view_from(name), .uid = view_from(uid), .node = view_from(node),
		.state.phase = POD_PHASE_RUNNING, .state.wants_gpu = true,
	};
}

/* Puts a pod as the watch of the whole cluster tells it. */
static inline void put_fields(const struct pod_fields *fields, uint64_t version, uint64_t now)
{
	struct error err;

	assert_int_equal(inventory_put_pod(inventory, (struct view){0}, fields, STORE_UPSERT, version, now, &err),
			 0);
}

/* Puts a pod on that node. */
static inline void put_pod_on(const char *node, const char *name, const char *uid, uint64_t version)
{
	const struct pod_fields fields = pod_on(node, name, uid);

	put_fields(&fields, version, 1000);
}

/* Puts a pod on gpu-a. */
static inline void put_pod(const char *name, const char *uid, uint64_t version)
{
	put_pod_on("gpu-a", name, uid, version);
}

/* A watch says that the pod is gone; its key is "ml/NAME". */
static inline void remove_pod(const char *key, uint64_t version, uint64_t now)
{
	inventory_remove(inventory, INVENTORY_PODS, view_from(key), version, now);
}

/* Puts what a decoder found of any kind but pods and attributions. */
static inline void put(enum inventory_kind kind, const void *fields, uint64_t version)
{
	struct error err;

	assert_int_equal(inventory_put(inventory, kind, fields, STORE_UPSERT, version, &err), 0);
}

/* Puts a Node of that boot. */
static inline void put_node(const char *name, const char *boot_id, uint64_t version)
{
	const struct node node = {.name = view_from(name), .uid = VIEW("n1"), .boot_id = view_from(boot_id)};

	put(INVENTORY_NODES, &node, version);
}

/* All that it points to outlives it. */
static inline void put_attribution_as(const struct attribution *attribution, uint64_t version)
{
	struct arena arena;
	struct error err;

	arena_init(&arena, 4096);
	assert_int_equal(inventory_put_attribution(inventory, attribution, &arena, STORE_UPSERT, version, &err), 0);
	arena_deinit(&arena);
}

/* Puts an object whose status names that node ("": none). */
static inline void put_object(const char *name, const char *uuid, const char *node, uint64_t version)
{
	const struct attribution attribution = {
		.name = view_from(name), .uuid = view_from(uuid), .status.node_name = view_from(node)};

	put_attribution_as(&attribution, version);
}

/* The object of device A. */
static inline void put_attribution(const char *node, uint64_t version)
{
	put_object(NAME_A, UUID_A, node, version);
}

static struct report_device device_a = {.uuid = VIEW_INIT(UUID_A)};

/* A report that says nothing. */
static inline struct report report_without_devices(const char *node)
{
	return (struct report){.version = 1, .node = view_from(node)};
}

/* It names device A. */
static inline struct report report_of(const char *node)
{
	struct report report = report_without_devices(node);

	report.devices = (struct array){&device_a, 1, true};
	return report;
}

/* Told that a report is released. */
static inline void count_release(void *owner)
{
	assert_ptr_equal(owner, &n_released);
	n_released++;
}

/*
 * The inventory keeps the pointer until after the test: so it gets one to a copy. The devices must last as
 * long, or the report must be forgotten before.
 */
static inline const struct report *put_report(const struct report *report, uint64_t now)
{
	static struct report kept[4];
	static unsigned next;
	struct report *copy = &kept[next++ % ARRAY_SIZE(kept)];
	struct error err;

	*copy = *report;
	assert_int_equal(inventory_node_state_put_report(inventory, copy, count_release,
							 &n_released, now, &err),
			 0);
	return copy;
}

/* The node reports device A. */
static inline void report_from(const char *node, uint64_t now)
{
	const struct report report = report_of(node);

	put_report(&report, now);
}

/* gpu-a has reported, which nobody needs to be told any more. */
static inline void begin_reported(void)
{
	report_from("gpu-a", 1000);
	forget_touches();
}

/* An unchanged report, which is told whether there is one; the node was silent for long after 9 s. */
static inline bool hear_list(const char *node, int64_t listed_at, uint64_t now)
{
	return inventory_node_state_refresh_report(inventory, view_from(node), listed_at, 9000,
						   now);
}

/* The same; nothing is said of the List. */
static inline bool hear(const char *node, uint64_t now)
{
	return hear_list(node, 0, now);
}

/* A heartbeat brings the figures of that report along. */
static inline void hear_figures(const char *node, const struct report *of, const struct report *heartbeat)
{
	struct figures *figures;
	struct error err;

	assert_int_equal(figures_new(heartbeat, &figures, &err), 0);
	inventory_node_state_put_figures(inventory, view_from(node), of, figures);
}

/* As when the node is gone. */
static inline void forget_report(const char *node)
{
	inventory_node_state_forget_report(inventory, view_from(node));
}

/* What a join of the node leaves for the next one. */
static inline void keep_recall(const char *node, const struct recall *recall, uint64_t now)
{
	struct error err;

	assert_int_equal(
		inventory_node_state_keep_recall(inventory, view_from(node), recall, now, &err), 0);
}

/* A join of gpu-a names these UIDs as ended. */
static inline void name_ended(const struct view *ended, size_t n_ended, uint64_t now)
{
	keep_recall("gpu-a", &(struct recall){.ended = ended, .n_ended = n_ended}, now);
}

/* What comes out of it */

/* What a join of the node is given; it lasts until the next call. */
static inline struct join_input gather(const char *node, uint64_t now)
{
	const struct inventory_parts parts = inventory_parts(inventory);
	static struct arena arena;
	struct join_input input;
	struct error err;

	arena_deinit(&arena);
	arena_init(&arena, 1 << 20);
	assert_int_equal(gather_node(&parts, view_from(node), now, &arena, &input, &err), 0);
	return input;
}

/* What is kept of the node; NULL: nothing. */
static inline const struct node_state *node_state_of(const char *node)
{
	return inventory_node_state_find(inventory, view_from(node));
}

/* The last report of the node; NULL: none. */
static inline const struct report *report_at(const char *node)
{
	return node_state_of(node) ? node_state_of(node)->report : NULL;
}

/* How long ago another node reported the node's first object; -1: none did. */
static inline int64_t claimed_age(const char *node, uint64_t now)
{
	return gather(node, now).previous[0].claimed_age_ms;
}

/* A claim that is reserved for that pod. */
static inline struct resource_claim_fields claim_for(const char *uid)
{
	return (struct resource_claim_fields){
		.namespace = VIEW("ml"),
		.name = VIEW("c"),
		.results = {{VIEW("main"), VIEW("gpu.nvidia.com"), VIEW("p"), VIEW("gpu-0"), VIEW(""), false}},
		.claim.results.count = 1,
		.consumers = {view_from(uid)},
		.claim.consumers.count = 1,
		.claim.is_allocated = true,
	};
}

/* Puts such a claim. */
static inline void put_claim(const char *uid, uint64_t version)
{
	const struct resource_claim_fields fields = claim_for(uid);

	put(INVENTORY_RESOURCE_CLAIMS, &fields, version);
}

/* A slice of that node, which is the whole pool and has device A. */
static inline struct resource_slice_fields slice_on(const char *node, int64_t generation)
{
	return (struct resource_slice_fields){
		.slice = {.name = VIEW("s"), .driver = VIEW("gpu.nvidia.com"), .node = view_from(node),
			  .pool = VIEW("p"), .generation = generation, .slice_count = 1},
		.devices = {{.name = VIEW("gpu-0"), .uuid = VIEW(UUID_A)}},
		.slice.devices.count = 1,
	};
}

/* Puts such a slice. */
static inline void put_slice(const char *node, int64_t generation, uint64_t version)
{
	const struct resource_slice_fields fields = slice_on(node, generation);

	put(INVENTORY_RESOURCE_SLICES, &fields, version);
}

