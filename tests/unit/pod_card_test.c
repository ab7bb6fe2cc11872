/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/pod_card.h"
#include "lib/failing_malloc.h"

#define assert_view(view_, text_) assert_true(view_equal(view_, view_from(text_)))

#define META "\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"train-0\",\"uid\":\"u-1\"}"

static const char full[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"train-0\","
	"\"uid\":\"u-1\",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\",\"labels\":{\"a\":\"b\"}},"
	"\"spec\":{\"nodeName\":\"gpu-a\",\"initContainers\":[{\"name\":\"warm\",\"resources\":"
	"{\"limits\":{\"cpu\":\"1\",\"nvidia.com/mig-1g.5gb\":2}}}],\"containers\":["
	"{\"name\":\"main\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"},\"requests\":{}}},"
	"{\"name\":\"plain\",\"resources\":{}},{\"name\":\"bare\"},"
	"{\"name\":\"zero\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"0\"}}},"
	"{\"name\":\"nic\",\"resources\":{\"limits\":{\"example.com/nic\":\"1\"}}}],"
	"\"resourceClaims\":[{\"name\":\"c\"}]},"
	"\"status\":{\"phase\":\"Pending\",\"reason\":\"R\",\"message\":\"M\",\"conditions\":["
	"{\"type\":\"Ready\",\"status\":\"False\",\"message\":\"no\"},"
	"{\"type\":\"PodScheduled\",\"status\":\"False\",\"message\":\"0/4 nodes\"}]}}";

static int decode(const char *json, struct arena *arena, struct pod_card *ret, struct error *err)
{
	arena_init(arena, 1u << 20);
	return pod_card_decode(view_from(json), arena, ret, err);
}

static void a_pod_is_reduced_to_what_explains_its_gpus(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	struct pod_card card;
	struct error err;
	assert_int_equal(decode(full, &arena, &card, &err), 0);
	assert_view(card.namespace, "ml");
	assert_view(card.name, "train-0");
	assert_view(card.uid, "u-1");
	assert_view(card.node, "gpu-a");
	assert_view(card.phase, "Pending");
	assert_view(card.reason, "R");
	assert_view(card.message, "M");
	assert_view(card.not_scheduled, "0/4 nodes");
	assert_true(card.is_deleting);
	assert_true(card.has_claims);
	assert_int_equal(card.requests.count, 2);
	const struct pod_card_request *request = ARRAY_AT(card.requests, struct pod_card_request, 0);
	assert_view(request->container, "warm");
	assert_view(request->resource, "nvidia.com/mig-1g.5gb");
	assert_view(request->count, "2");
	request = ARRAY_AT(card.requests, struct pod_card_request, 1);
	assert_view(request->container, "main");
	assert_view(request->count, "4");
}

static void a_pod_without_gpus_asks_for_none(void **state)
{
	(void)state;
	static const struct {
		const char *json;
		bool asks, is_over;
	} rows[] = {
		{"{" META ",\"spec\":{}}", false, false},
		{"{" META ",\"spec\":{\"containers\":[]},\"status\":{\"phase\":\"Running\"}}", false, false},
		{"{" META ",\"spec\":{\"resourceClaims\":[]}}", false, false},
		{"{" META ",\"spec\":{\"resourceClaims\":[{\"name\":\"x\"}]}}", true, false},
		{"{" META ",\"spec\":{},\"status\":{\"phase\":\"Succeeded\"}}", false, true},
		{"{" META ",\"spec\":{},\"status\":{\"phase\":\"Failed\"}}", false, true},
		{"{" META ",\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"limits\":"
		 "{\"nvidia.com/gpu.shared\":\"1\"}}}]}}", true, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct pod_card card;
		struct error err;
		assert_int_equal(decode(rows[i].json, &arena, &card, &err), 0);
		assert_int_equal(pod_card_asks(&card), rows[i].asks);
		assert_int_equal(pod_card_is_over(&card), rows[i].is_over);
		assert_false(card.is_deleting);
	}
}

static void what_the_scheduler_says_counts_while_it_has_not_scheduled(void **state)
{
	(void)state;
	static const struct {
		const char *status, *said;
	} rows[] = {{"False", "why"}, {"True", ""}, {"Unknown", ""}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct pod_card card;
		struct error err;
		char json[512];
		snprintf(json, sizeof(json),
			 "{" META ",\"spec\":{},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\","
			 "\"status\":\"%s\",\"message\":\"why\"}]}}", rows[i].status);
		assert_int_equal(decode(json, &arena, &card, &err), 0);
		assert_view(card.not_scheduled, rows[i].said);
	}
}

static void what_is_no_pod_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"", "{}", "[]", "{" META "}", "{\"kind\":\"Node\",\"metadata\":{\"namespace\":\"a\","
		"\"name\":\"n\",\"uid\":\"u\"},\"spec\":{}}", "{" META ",\"spec\":{\"nodeName\":7}}",
		"{" META ",\"spec\":{}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct pod_card card = {.uid = VIEW("before")};
		struct error err;
		assert_int_equal(decode(texts[i], &arena, &card, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_view(card.uid, "before");
	}
}

static void missing_memory_is_said(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct pod_card card;
		struct error err;
		failing_malloc_at(k);
		int result = decode(full, &arena, &card, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_pod_is_reduced_to_what_explains_its_gpus),
	cmocka_unit_test(a_pod_without_gpus_asks_for_none),
	cmocka_unit_test(what_the_scheduler_says_counts_while_it_has_not_scheduled),
	cmocka_unit_test(what_is_no_pod_is_refused),
	cmocka_unit_test(missing_memory_is_said),
};
TEST_MAIN(tests)
