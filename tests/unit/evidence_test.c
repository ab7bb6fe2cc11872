/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "agent/evidence.h"
#include "base/limits.h"
#include "lib/failing_malloc.h"
#include "schema/report_doc.h"

#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define N_MANY 4000u

/* A report in which each part that can be left out is of a size of its own choosing. */
struct world {
	struct report report;
	struct report_device device;
	struct report_process processes[LIMIT_REPORT_PROCESSES];
	struct view ids[N_MANY];
	struct report_resource_devices resource;
	struct report_pod_resource pods[N_MANY];
	struct report_checkpoint_entry entry;
};

static struct world world;

static void build(uint32_t n_processes, uint32_t n_ids, uint32_t n_pods)
{
	world = (struct world){
		.device = {.uuid = VIEW(UUID), .processes = {world.processes, n_processes, true},
			   .partitions = {NULL, 0, true}},
		.resource = {VIEW("nvidia.com/gpu"), {world.ids, n_ids, true}},
		.entry = {VIEW("pod-uid"), VIEW("main"), VIEW("nvidia.com/gpu"),
			  {world.ids, 1, true}, false},
		.report = {.version = REPORT_VERSION,
			   .node = VIEW("gpu-a"),
			   .boot_id = VIEW("boot"),
			   .instance = 1, .sequence = 1, .observed_at = 1,
			   .sources = {.pod_resources = {.state = REPORT_SOURCE_OK},
				       .checkpoint = {.state = REPORT_SOURCE_OK},
				       .nvml = {.state = REPORT_SOURCE_OK}},
			   .devices = {&world.device, 1, true},
			   .pod_resources = {world.pods, n_pods, true},
			   .allocatable = {&world.resource, 1, true},
			   .checkpoint = {true,
					  {&world.entry, 1, true},
					  {&world.resource, 1, true}}},
	};
	for (uint32_t i = 0; i < LIMIT_REPORT_PROCESSES; i++)
		world.processes[i] = (struct report_process){.pid = i + 1,
							     .command = VIEW("python3")};
	for (uint32_t i = 0; i < N_MANY; i++)
		world.ids[i] = VIEW(UUID "::0");
	for (uint32_t i = 0; i < N_MANY; i++)
		world.pods[i] = (struct report_pod_resource){
			VIEW("ml"), VIEW("train-0"), VIEW("main"), VIEW("nvidia.com/gpu"),
			{world.ids, 1, true}};
}

/* Encodes into at most cap bytes and decodes what came out. */
static unsigned encode(size_t cap, struct arena *arena, struct report *ret_report)
{
	struct error err;
	unsigned loss = 99;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, cap);
	assert_int_equal(evidence_encode(&world.report, &buf, &loss, &err), 0);
	arena_init(arena, 64 << 20);
	assert_int_equal(report_doc_decode(sbuf_view(&buf), arena, ret_report, &err), 0);
	return loss;
}

TEST(what_fits_is_told_in_full)
{
	struct report report;
	CLEANUP(arena_deinit) struct arena arena;
	build(3, 5, 2);
	assert_int_equal(encode(LIMIT_REPORT_BYTES, &arena, &report), 0);
	assert_true(report_doc_same_evidence(&report, &world.report));
}

TEST(parts_are_left_out_in_order_until_it_fits_and_their_sources_say_so)
{
	static const struct {
		uint32_t n_processes, n_ids, n_pods;
		size_t cap;
		unsigned loss;
	} rows[] = {
		{1000, 5, 2, 20000, EVIDENCE_PROCESSES},
		{1000, 1000, 2, 20000, EVIDENCE_PROCESSES | EVIDENCE_ADVERTISED},
		{0, 1000, 2, 20000, EVIDENCE_PROCESSES | EVIDENCE_ADVERTISED},
		{1000, 1000, N_MANY, 20000,
		 EVIDENCE_PROCESSES | EVIDENCE_ADVERTISED | EVIDENCE_POD_RESOURCES},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report report;
		CLEANUP(arena_deinit) struct arena arena;
		build(rows[i].n_processes, rows[i].n_ids, rows[i].n_pods);
		assert_int_equal(encode(rows[i].cap, &arena, &report), rows[i].loss);
		bool no_advertised = rows[i].loss & EVIDENCE_ADVERTISED;
		bool no_pods = rows[i].loss & EVIDENCE_POD_RESOURCES;
		const struct report_device *device =
			ARRAY_AT(report.devices, struct report_device, 0);
		assert_false(device->processes.present);
		assert_int_equal(report.sources.processes.state, REPORT_SOURCE_ERROR);
		assert_int_equal(report.allocatable.present, !no_advertised);
		assert_int_equal(report.checkpoint.registered.present, !no_advertised);
		assert_int_equal(report.sources.checkpoint.state,
				 no_advertised ? REPORT_SOURCE_ERROR : REPORT_SOURCE_OK);
		assert_int_equal(report.pod_resources.present, !no_pods);
		assert_int_equal(report.sources.pod_resources.state,
				 no_advertised ? REPORT_SOURCE_ERROR : REPORT_SOURCE_OK);
		assert_int_equal(report.checkpoint.entries.count, 1);
	}
}

/* All pods hold the same, many times over. */
TEST(a_report_with_too_many_ids_leaves_out_whole_parts_too)
{
	static const struct {
		uint32_t n_pods, n_ids_each;
		unsigned loss;
	} rows[] = {
		{2, 1024, 0},
		{3, 1024, EVIDENCE_PROCESSES | EVIDENCE_ADVERTISED},
		{11, 1024, EVIDENCE_PROCESSES | EVIDENCE_ADVERTISED | EVIDENCE_POD_RESOURCES},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report report;
		CLEANUP(arena_deinit) struct arena arena;
		build(3, 4000, rows[i].n_pods);
		for (uint32_t j = 0; j < N_MANY; j++)
			world.ids[j] = VIEW("0");
		for (uint32_t j = 0; j < rows[i].n_pods; j++)
			world.pods[j].device_ids.count = rows[i].n_ids_each;
		assert_int_equal(encode(LIMIT_REPORT_BYTES, &arena, &report), rows[i].loss);
		assert_int_equal(report.checkpoint.entries.count, 1);
	}
}

TEST(a_report_with_too_many_processes_leaves_out_all_of_them)
{
	enum { N = LIMIT_REPORT_ALL_PROCESSES / LIMIT_REPORT_PROCESSES };
	static struct report_process one[] = {{.pid = 1}};

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		struct report report;
		CLEANUP(arena_deinit) struct arena arena;
		char uuids[N + 1][48];
		struct report_device all[N + 1];
		build(LIMIT_REPORT_PROCESSES, 5, 2);
		for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
			snprintf(uuids[i], sizeof(uuids[i]), "GPU-%08x-3437-2335-2fd8-a78c85020000", i);
			all[i] = world.device;
			all[i].uuid = view_from(uuids[i]);
		}
		all[N].processes = (struct array){one, 1, true};
		world.report.devices = (struct array){all, N + more, true};
		assert_int_equal(encode(LIMIT_REPORT_BYTES, &arena, &report), more ? EVIDENCE_PROCESSES : 0);
		assert_int_equal(report.devices.count, N + more);
		assert_int_equal(report.sources.processes.state,
				 more ? REPORT_SOURCE_ERROR : REPORT_SOURCE_UNKNOWN);
	}
}

TEST(the_report_itself_is_left_as_it_was)
{
	struct report report;
	CLEANUP(arena_deinit) struct arena arena;
	build(1000, 1000, N_MANY);
	struct report before = world.report;
	assert_int_not_equal(encode(20000, &arena, &report), 0);
	assert_true(report_doc_same_evidence(&before, &world.report));
	assert_int_equal(world.device.processes.count, 1000);
}

TEST(what_cannot_be_made_to_fit_fails_and_leaves_the_buffer)
{
	struct error err;
	unsigned loss = 99;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	build(3, 5, 2);
	sbuf_init(&buf, 100);
	sbuf_append(&buf, VIEW("kept"));
	assert_int_equal(evidence_encode(&world.report, &buf, &loss, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_true(view_equal(sbuf_view(&buf), VIEW("kept")));
	assert_int_equal(buf.failure, ERROR_NONE);
	assert_int_equal(loss, 99);
}

TEST(without_memory_it_fails_and_leaves_nothing_out)
{
	bool failed = true;
	build(3, 5, 2);
	for (unsigned k = 1; failed; k++) {
		struct error err;
		unsigned loss = 99;
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, LIMIT_REPORT_BYTES);
		failing_malloc_at(k);
		int result = evidence_encode(&world.report, &buf, &loss, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(loss, failed ? 99 : 0);
		if (failed)
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
	}
}

TESTS(NULL, NULL)
