/* SPDX-License-Identifier: Apache-2.0 */

/* What is said of each verdict of the small fleet is in assignment_test.c; here it is how a pod asks. */

#include "lib/test_main.h"

#include "kubectl/verdict.h"
#include "lib/gpu_world.h"

static const struct output whole_uuids = {.form = OUTPUT_JSON, .now = GPU_WORLD_NOW};

#define META "\"namespace\":\"lab\",\"name\":\"p\",\"uid\":\"u\""
#define WAITING "\"schedulerName\":\"default-scheduler\""
#define PLACED WAITING ",\"nodeName\":\"gpu-b\""
#define LIMIT(name) ",\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"" name "\":\"1\"}}}]"
#define CLAIM ",\"resourceClaims\":[{\"name\":\"g\",\"resourceClaimName\":\"team\"}]"
#define USE "\"resources\":{\"claims\":[{\"name\":\"g\"}]}"
#define SHARE "\"annotations\":{\"gpu-fraction\":\"0.5\"}"
#define PENDING "\"phase\":\"Pending\""
#define NOT_NAMED " and is on gpu-b; the one GPU known there does not name it"

struct row {
	const char *metadata, *spec, *status;
	enum assignment_verdict verdict;
	const char *said;
};

static void assert_said(const struct row *row)
{
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(pod_list_deinit) struct pod_list pods;
	CLEANUP(sbuf_deinit) struct sbuf json, text;
	struct assignment_set set;
	struct error err;
	gpu_world_devices(&list);
	pod_list_init(&pods);
	sbuf_init(&json, 4096);
	sbuf_init(&text, 4096);
	sbuf_printf(&json, "{\"kind\":\"Pod\",\"metadata\":{" META "%s},\"spec\":{%s},\"status\":{%s}}",
		    row->metadata, row->spec, row->status);
	assert_int_equal(pod_list_take(&pods, sbuf_view(&json), &err), 0);
	assert_int_equal(assignment_init(&set, &pods.arena, 1, &err), 0);
	set.is_named = true;
	assignment_add(&set, VIEW("lab"), VIEW("p"), pod_list_find(&pods, VIEW("p")));
	assignment_seal(&set);
	assert_int_equal(assignment_fill(&set, list.devices, list.n_devices, &err), 0);
	sbuf_append(&text, VIEW("p: ")); /* the subject */
	verdict_say(&whole_uuids, &set, &set.findings[0], &text);
	assert_string_equal(sbuf_text(&text) + 3, row->said);
	assert_int_equal(set.findings[0].verdict, row->verdict);
}

TEST(a_pod_on_a_node_that_no_gpu_names_is_told_how_it_asks)
{
	static const struct row rows[] = {
		{"", PLACED LIMIT("nvidia.com/gpu"), "", ASSIGNMENT_UNKNOWN,
		 "asks for nvidia.com/gpu" NOT_NAMED},
		{"", PLACED LIMIT("nvidia.com/gpu"), PENDING, ASSIGNMENT_UNKNOWN,
		 "asks for nvidia.com/gpu" NOT_NAMED ": the kubelet has not given it any yet"},
		{"", PLACED CLAIM ",\"containers\":[{\"name\":\"c\"," USE "}]", PENDING,
		 ASSIGNMENT_UNKNOWN,
		 "uses ResourceClaim team (which may be for a GPU)" NOT_NAMED},
		{"," SHARE, PLACED CLAIM ",\"containers\":[{\"name\":\"c\"," USE "}]", "",
		 ASSIGNMENT_UNKNOWN,
		 "uses ResourceClaim team (which may be for a GPU)" NOT_NAMED},
		{"", PLACED LIMIT("example.com/gpu"),
		 PENDING ",\"extendedResourceClaimStatus\":{\"resourceClaimName\":\"x-1\"}",
		 ASSIGNMENT_UNKNOWN, "uses ResourceClaim x-1 (which may be for a GPU)" NOT_NAMED},
		{"", PLACED LIMIT("nvidia.com/gpu"),
		 PENDING ",\"extendedResourceClaimStatus\":{\"resourceClaimName\":\"x-1\"}",
		 ASSIGNMENT_UNKNOWN,
		 "asks for nvidia.com/gpu and uses ResourceClaim x-1 (which may be for a GPU)" NOT_NAMED},
		{",\"labels\":{\"runai-gpu-group\":\"1\"}," SHARE,
		 PLACED ",\"containers\":[{\"name\":\"c\"}]", PENDING, ASSIGNMENT_UNKNOWN,
		 "shares a GPU by way of KAI (label runai-gpu-group)" NOT_NAMED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_said(&rows[i]);
}

TEST(a_pod_that_waits_for_a_node_is_told_what_the_scheduler_may_not_say)
{
	static const struct row rows[] = {
		{"", WAITING LIMIT("nvidia.com/gpu"), PENDING, ASSIGNMENT_NOT_SCHEDULED,
		 "is not scheduled: no node has been chosen yet"},
		{"", WAITING CLAIM ",\"containers\":[{\"name\":\"c\"," USE "}]",
		 PENDING ",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"message\":"
		 "\"0/4 nodes are available: 4 cannot allocate all claims.\"}]",
		 ASSIGNMENT_NOT_SCHEDULED,
		 "uses ResourceClaim team (which may be for a GPU) and is not scheduled: 0/4 nodes are "
		 "available: 4 cannot allocate all claims."},
		{"," SHARE, WAITING, PENDING, ASSIGNMENT_NOT_SCHEDULED,
		 "asks KAI for a share of a GPU (annotation gpu-fraction) and is not scheduled: no "
		 "node has been chosen yet"},
		{",\"annotations\":{\"gpu-memory\":\"2000\"}",
		 WAITING CLAIM ",\"containers\":[{\"name\":\"c\"," USE "}]", PENDING,
		 ASSIGNMENT_NOT_SCHEDULED,
		 "asks KAI for a share of a GPU (annotation gpu-memory) and uses ResourceClaim team "
		 "(which may be for a GPU) and is not scheduled: no node has been chosen yet"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_said(&rows[i]);
}

TEST(a_pod_that_asks_for_none_is_told_what_of_it_does_not_ask)
{
	static const struct row rows[] = {
		{"", PLACED LIMIT("example.com/gpu"), "", ASSIGNMENT_NO_REQUEST, "asks for no GPU"},
		{"", WAITING LIMIT("cpu"), PENDING, ASSIGNMENT_NO_REQUEST, "asks for no GPU"},
		{"", WAITING LIMIT("example.com/gpu"), PENDING, ASSIGNMENT_NO_REQUEST,
		 "asks for no GPU, unless a DeviceClass says that example.com/gpu is one"},
		{"", PLACED CLAIM, "", ASSIGNMENT_NO_REQUEST,
		 "asks for no GPU: no container uses its claims"},
		{"," SHARE, PLACED, "", ASSIGNMENT_NO_REQUEST,
		 "asks for no GPU: its annotation gpu-fraction is for KAI's scheduler, and it was "
		 "placed by default-scheduler, without a share"},
		{",\"annotations\":{\"hami.io/vgpu-devices-allocated\":\"GPU-1,NVIDIA,1,1:;\"}",
		 PLACED LIMIT("example.com/vgpu"), "", ASSIGNMENT_NO_REQUEST,
		 "asks for no GPU of nvidia.com/, without which HAMi's annotation on it does not count"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_said(&rows[i]);
}

TESTS(NULL, NULL)
