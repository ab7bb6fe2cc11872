/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/pod_card.h"
#include "lib/failing_malloc.h"
#include "lib/kube_bytes.h"
#include "schema/pod_doc.h"

#define assert_view(view_, text_) assert_true(view_equal(view_, view_from(text_)))

#define META "\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"train-0\",\"uid\":\"u-1\"}"

static const char full[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"train-0\","
	"\"uid\":\"u-1\",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\",\"labels\":{\"a\":\"b\"},"
	"\"annotations\":{\"gpu-memory\":\"2000\",\"hami.io/vgpu-devices-allocated\":\";\"}},"
	"\"spec\":{\"nodeName\":\"gpu-a\",\"schedulerName\":\"kai-scheduler\","
	"\"initContainers\":[{\"name\":\"warm\",\"resources\":"
	"{\"limits\":{\"cpu\":\"1\",\"nvidia.com/mig-1g.5gb\":2}}}],\"containers\":["
	"{\"name\":\"main\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"},\"requests\":{}}},"
	"{\"name\":\"plain\",\"resources\":{\"claims\":[{\"name\":\"c\",\"request\":\"r\"}]}},"
	"{\"name\":\"bare\"},"
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
	assert_int_equal(card.claims.count, 1);
	assert_view(*ARRAY_AT(card.claims, struct view, 0), "c");
	assert_true(card.has_hami);
	assert_view(card.kai_annotation, "gpu-memory");
	assert_view(card.other_resource, "example.com/nic");
	assert_view(card.scheduler, "kai-scheduler");
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

/* One way to ask, on a node, as kubectl prints it and as the controller gets it. */
struct ask {
	const char *label, *group; /* of metadata */
	const char *annotation;
	const char *limit, *amount; /* of the container */
	const char *claim, *use;    /* the pod's, and which one the container names */
	const char *extended;       /* status.extendedResourceClaimStatus.resourceClaimName */
	bool is_asking;
};

static const char *or_else(const char *text, const char *other)
{
	return text ? text : other;
}

static void write_json(const struct ask *ask, struct sbuf *json)
{
	sbuf_printf(json,
		    "{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"n\",\"uid\":\"u\","
		    "\"labels\":{\"%s\":\"%s\"},\"annotations\":{\"%s\":\"0.5\"}},\"spec\":{\"nodeName\":"
		    "\"gpu-a\",\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"%s\":\"%s\"}",
		    or_else(ask->label, "a"), or_else(ask->group, "b"), or_else(ask->annotation, "a"),
		    or_else(ask->limit, "cpu"), or_else(ask->amount, "1"));
	if (ask->use)
		sbuf_printf(json, ",\"claims\":[{\"name\":\"%s\"}]", ask->use);
	sbuf_printf(json, "}}]");
	if (ask->claim)
		sbuf_printf(json, ",\"resourceClaims\":[{\"name\":\"%s\",\"resourceClaimName\":\"o\"}]",
			    ask->claim);
	sbuf_printf(json, "},\"status\":{\"phase\":\"Running\"");
	if (ask->extended)
		sbuf_printf(json, ",\"extendedResourceClaimStatus\":{\"resourceClaimName\":\"%s\"}",
			    ask->extended);
	sbuf_printf(json, "}}");
	assert_int_equal(json->failure, 0);
}

/* A field of a message with these texts in its fields 1 and 2; NULL: without the second. */
static void write_pair(struct sbuf *out, uint32_t number, const char *first, const char *second)
{
	CLEANUP(sbuf_deinit) struct sbuf pair;
	sbuf_init(&pair, 4096);
	kube_bytes_field(&pair, 1, view_from(first));
	if (second)
		kube_bytes_field(&pair, 2, view_from(second));
	kube_bytes_field(out, number, sbuf_view(&pair));
}

static void write_container(const struct ask *ask, struct sbuf *spec)
{
	CLEANUP(sbuf_deinit) struct sbuf amount, limit, resources, container;
	sbuf_init(&amount, 4096);
	sbuf_init(&limit, 4096);
	sbuf_init(&resources, 4096);
	sbuf_init(&container, 4096);
	kube_bytes_field(&amount, 1, view_from(or_else(ask->amount, "1")));
	kube_bytes_field(&limit, 1, view_from(or_else(ask->limit, "cpu")));
	kube_bytes_field(&limit, 2, sbuf_view(&amount));
	kube_bytes_field(&resources, 1, sbuf_view(&limit));
	if (ask->use)
		write_pair(&resources, 3, ask->use, NULL);
	kube_bytes_field(&container, 1, VIEW("c"));
	kube_bytes_field(&container, 8, sbuf_view(&resources));
	kube_bytes_field(spec, 2, sbuf_view(&container));
}

static void write_protobuf(const struct ask *ask, struct sbuf *pod)
{
	CLEANUP(sbuf_deinit) struct sbuf metadata, spec, status, extended;
	sbuf_init(&metadata, 4096);
	sbuf_init(&spec, 4096);
	sbuf_init(&status, 4096);
	sbuf_init(&extended, 4096);
	sbuf_append(&metadata, VIEW("\x0a\x01n\x1a\x02ml\x2a\x01u"));
	write_pair(&metadata, 11, or_else(ask->label, "a"), or_else(ask->group, "b"));
	write_pair(&metadata, 12, or_else(ask->annotation, "a"), "0.5");
	kube_bytes_field(&spec, 10, VIEW("gpu-a"));
	write_container(ask, &spec);
	if (ask->claim)
		write_pair(&spec, 39, ask->claim, NULL);
	if (ask->extended) {
		kube_bytes_field(&extended, 2, view_from(ask->extended));
		kube_bytes_field(&status, 18, sbuf_view(&extended));
	}
	kube_bytes_field(pod, 1, sbuf_view(&metadata));
	kube_bytes_field(pod, 2, sbuf_view(&spec));
	kube_bytes_field(pod, 3, sbuf_view(&status));
}

static void a_pod_on_a_node_asks_here_if_it_does_for_the_controller(void **state)
{
	(void)state;
	static const struct ask rows[] = {
		{.limit = "nvidia.com/gpu", .is_asking = true},
		{.limit = "nvidia.com/gpu", .amount = "0"},
		{.limit = "nvidia.com/gpumem", .amount = "3k", .is_asking = true},
		{.limit = "example.com/nic"},
		{.limit = "example.com/gpu", .extended = "x", .is_asking = true},
		{.limit = "nvidia.com/gpu", .extended = "x", .is_asking = true},
		{.claim = "g"},
		{.claim = "g", .use = "g", .is_asking = true},
		{.label = "runai-gpu-group", .group = "1", .is_asking = true},
		{.label = "runai-gpu-group", .group = ""},
		{.label = "runai-gpu-group/1", .group = "1", .is_asking = true},
		{.label = "runai-gpu-group/1", .group = ""},
		{.label = "runai-gpu-groups", .group = "1"},
		{.annotation = "gpu-fraction"},
		{.annotation = "gpu-memory"},
		{.annotation = "hami.io/vgpu-devices-allocated"},
		{.limit = "nvidia.com/gpu", .annotation = "hami.io/vgpu-devices-allocated",
		 .is_asking = true},
	};
	static struct pod_fields fields;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		CLEANUP(sbuf_deinit) struct sbuf json, message;
		struct pod_card card;
		struct error err;
		sbuf_init(&json, 4096);
		sbuf_init(&message, 4096);
		write_json(&rows[i], &json);
		write_protobuf(&rows[i], &message);
		fields = (struct pod_fields){0};
		assert_int_equal(pod_doc_decode(sbuf_view(&message), &fields, &err), 0);
		assert_int_equal(decode(sbuf_text(&json), &arena, &card, &err), 0);
		if (pod_card_asks(&card) != rows[i].is_asking ||
		    fields.state.wants_gpu != rows[i].is_asking)
			fail_msg("row %zu: %d here, %d for the controller", i, pod_card_asks(&card),
				 fields.state.wants_gpu);
	}
}

static void while_a_pod_waits_for_a_node_its_wish_to_kai_counts(void **state)
{
	(void)state;
	static const struct {
		const char *annotation, *node;
		bool is_asking;
	} rows[] = {
		{"gpu-fraction", "", true},
		{"gpu-memory", "", true},
		{"gpu-fraction-num-devices", "", false},
		{"gpu-fraction", "gpu-a", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct pod_card card;
		struct error err;
		char json[512];
		snprintf(json, sizeof(json),
			 "{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"n\",\"uid\":"
			 "\"u\",\"annotations\":{\"%s\":\"0.5\"}},\"spec\":{\"nodeName\":\"%s\"}}",
			 rows[i].annotation, rows[i].node);
		assert_int_equal(decode(json, &arena, &card, &err), 0);
		assert_int_equal(pod_card_asks(&card), rows[i].is_asking);
	}
}

static void a_class_of_devices_is_a_gpu_if_it_is_one_of_nvidias(void **state)
{
	(void)state;
	static const struct {
		const char *resource;
		bool is_gpu, is_other;
	} rows[] = {
		{"deviceclass.resource.kubernetes.io/gpu.nvidia.com", true, false},
		{"deviceclass.resource.kubernetes.io/mig.nvidia.com", true, false},
		{"deviceclass.resource.kubernetes.io/compute-domain-daemon.nvidia.com", false, true},
		{"deviceclass.resource.kubernetes.io/nic.example.com", false, true},
		{"example.com/gpu.nvidia.com", false, true},
		{"hugepages-2Mi", false, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct pod_card card;
		struct error err;
		char json[512];
		snprintf(json, sizeof(json),
			 "{" META ",\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":"
			 "{\"%s\":\"1\"}}}]}}", rows[i].resource);
		assert_int_equal(decode(json, &arena, &card, &err), 0);
		memset(json, 'x', sizeof(json)); /* it was borrowed for the call */
		assert_int_equal(card.requests.count, rows[i].is_gpu);
		assert_view(card.other_resource, rows[i].is_other ? rows[i].resource : "");
	}
}

static void a_claim_goes_by_the_name_of_its_object(void **state)
{
	(void)state;
	static const char json[] =
		"{" META ",\"spec\":{\"resourceClaims\":[{\"name\":\"a\",\"resourceClaimName\":\"team\"},"
		"{\"name\":\"b\",\"resourceClaimTemplateName\":\"t\"},{\"name\":\"idle\"},"
		"{\"name\":\"c\",\"resourceClaimTemplateName\":\"t\"}],\"initContainers\":[{\"name\":\"i\","
		"\"resources\":{\"claims\":[{\"name\":\"c\"}]}}],\"containers\":[{\"name\":\"m\","
		"\"resources\":{\"claims\":[{\"name\":\"b\"},{\"name\":\"a\"},{\"name\":\"a\"}]}}]},"
		"\"status\":{\"resourceClaimStatuses\":[{\"name\":\"c\"},{\"name\":\"b\","
		"\"resourceClaimName\":\"train-0-b-x7k2p\"}],\"extendedResourceClaimStatus\":{"
		"\"resourceClaimName\":\"train-0-extended\",\"requestMappings\":[]}}}";
	static const char *const expected[] = {"team", "train-0-b-x7k2p", "c", "train-0-extended"};
	CLEANUP(arena_deinit) struct arena arena;
	struct pod_card card;
	struct error err;
	assert_int_equal(decode(json, &arena, &card, &err), 0);
	assert_int_equal(card.claims.count, ARRAY_SIZE(expected));
	for (uint32_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_view(*ARRAY_AT(card.claims, struct view, i), expected[i]);
}

static void the_share_that_kai_gives_is_that_of_one_container(void **state)
{
	(void)state;
	static const struct {
		const char *named, *limits, *container, *resource;
	} rows[] = {
		{"", "{}", "first", ""},
		{"second", "{}", "second", ""},
		{"init", "{}", "init", ""},
		{"nobody", "{}", "first", ""},
		/* A reservation has the whole device. */
		{"", "{\"nvidia.com/gpu\":\"1\"}", "second", "nvidia.com/gpu"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct pod_card card;
		struct error err;
		char json[1024];
		snprintf(json, sizeof(json),
			 "{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"n\",\"uid\":"
			 "\"u\",\"labels\":{\"runai-gpu-group\":\"1\"},\"annotations\":{"
			 "\"gpu-fraction-container-name\":\"%s\"}},\"spec\":{\"nodeName\":\"a\","
			 "\"initContainers\":[{\"name\":\"init\"}],\"containers\":[{\"name\":\"first\"},"
			 "{\"name\":\"second\",\"resources\":{\"limits\":%s}}]}}",
			 rows[i].named, rows[i].limits);
		assert_int_equal(decode(json, &arena, &card, &err), 0);
		assert_int_equal(card.requests.count, 1);
		const struct pod_card_request *request =
			ARRAY_AT(card.requests, struct pod_card_request, 0);
		assert_view(request->container, rows[i].container);
		assert_view(request->resource, rows[i].resource);
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
	cmocka_unit_test(a_pod_on_a_node_asks_here_if_it_does_for_the_controller),
	cmocka_unit_test(while_a_pod_waits_for_a_node_its_wish_to_kai_counts),
	cmocka_unit_test(a_class_of_devices_is_a_gpu_if_it_is_one_of_nvidias),
	cmocka_unit_test(a_claim_goes_by_the_name_of_its_object),
	cmocka_unit_test(the_share_that_kai_gives_is_that_of_one_container),
	cmocka_unit_test(what_the_scheduler_says_counts_while_it_has_not_scheduled),
	cmocka_unit_test(what_is_no_pod_is_refused),
	cmocka_unit_test(missing_memory_is_said),
};
TEST_MAIN(tests)
