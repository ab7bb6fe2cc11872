/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "schema/kube_event_doc.h"

static const struct kube_event event = {
	.name = VIEW_INIT("pod-1.0123456789abcdef"),
	.namespace = VIEW_INIT("team"),
	.regarding = {VIEW_INIT("v1"), VIEW_INIT("Pod"), VIEW_INIT("team"), VIEW_INIT("pod-1"),
		      VIEW_INIT("p1")},
	.related = {VIEW_INIT("gpuattribution.dev/v1alpha1"), VIEW_INIT("GPUAttribution"), {0},
		    VIEW_INIT("gpu-1"), VIEW_INIT("u1")},
	.reason = VIEW_INIT("XIDError"),
	.action = VIEW_INIT("CheckHealth"),
	.note = VIEW_INIT("container \"main\"\nwas on it"),
	.reporting_instance = VIEW_INIT("controller-0"),
	.is_warning = true,
	.event_time = INT64_C(1767268800123),
	.count = 1,
	.last_observed_time = INT64_C(1767268860004),
};

static void expect(void (*encode)(const struct kube_event *, struct sbuf *),
		   const struct kube_event *what, const char *wanted)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	sbuf_init(&text, LIMIT_MIB);
	encode(what, &text);
	assert_string_equal(sbuf_text(&text), wanted);
}

static void an_event_has_all_that_the_api_server_asks_for(void **state)
{
	(void)state;
	expect(kube_event_doc_encode, &event,
	       "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":"
	       "\"pod-1.0123456789abcdef\",\"namespace\":\"team\"},"
	       "\"eventTime\":\"2026-01-01T12:00:00.123000Z\","
	       "\"reportingController\":\"gpuattribution.dev/controller\","
	       "\"reportingInstance\":\"controller-0\",\"type\":\"Warning\","
	       "\"reason\":\"XIDError\",\"action\":\"CheckHealth\","
	       "\"note\":\"container \\\"main\\\"\\nwas on it\","
	       "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"team\","
	       "\"name\":\"pod-1\",\"uid\":\"p1\"},"
	       "\"related\":{\"apiVersion\":\"gpuattribution.dev/v1alpha1\","
	       "\"kind\":\"GPUAttribution\",\"name\":\"gpu-1\",\"uid\":\"u1\"}}");
}

static void what_is_not_known_or_not_there_is_left_out(void **state)
{
	struct kube_event other = event;

	(void)state;
	other.namespace = VIEW("default");
	other.regarding = (struct kube_event_object){
		.api_version = VIEW("v1"), .kind = VIEW("Node"), .name = VIEW("node-1")};
	other.related = (struct kube_event_object){0};
	other.is_warning = false;
	expect(kube_event_doc_encode, &other,
	       "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":"
	       "\"pod-1.0123456789abcdef\",\"namespace\":\"default\"},"
	       "\"eventTime\":\"2026-01-01T12:00:00.123000Z\","
	       "\"reportingController\":\"gpuattribution.dev/controller\","
	       "\"reportingInstance\":\"controller-0\",\"type\":\"Normal\","
	       "\"reason\":\"XIDError\",\"action\":\"CheckHealth\","
	       "\"note\":\"container \\\"main\\\"\\nwas on it\","
	       "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node-1\"}}");
}

static void what_was_seen_more_than_once_is_a_series(void **state)
{
	struct kube_event other = event;
	CLEANUP(sbuf_deinit) struct sbuf text;
	static const char series[] =
		"\"series\":{\"count\":7,\"lastObservedTime\":\"2026-01-01T12:01:00.004000Z\"}}";
	char patch[sizeof(series) + 1];

	(void)state;
	other.count = 7;
	sbuf_init(&text, LIMIT_MIB);
	kube_event_doc_encode(&other, &text);
	assert_true(view_ends_with(sbuf_view(&text), VIEW(series)));
	snprintf(patch, sizeof(patch), "{%s", series);
	expect(kube_event_doc_encode_series, &other, patch);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_event_has_all_that_the_api_server_asks_for),
	cmocka_unit_test(what_is_not_known_or_not_there_is_left_out),
	cmocka_unit_test(what_was_seen_more_than_once_is_a_series),
};
TEST_MAIN(tests)
