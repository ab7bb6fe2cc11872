/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/object_meta.h"
#include "lib/kube_bytes.h"

static struct error err;
static const struct resource resources[] = {
	{"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL},
	{"a.b", "v1", "things", "Thing", RESOURCE_JSON, NULL},
};

static void identity_and_version_are_read_in_both_encodings(void **state)
{
	(void)state;
	const struct kube_bytes_object object = {"ns", "name", "uid-1", "4711", "text", true};
	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		struct sbuf bytes;
		struct object_meta meta;
		sbuf_init(&bytes, 4096);
		kube_bytes_object(&bytes, &resources[i], &object);
		assert_int_equal(object_meta_read(resources[i].encoding, sbuf_view(&bytes), &meta,
						  &err),
				 0);
		assert_true(view_equal(meta.namespace, VIEW("ns")));
		assert_true(view_equal(meta.name, VIEW("name")));
		assert_true(view_equal(meta.uid, VIEW("uid-1")));
		assert_true(view_equal(meta.resource_version, VIEW("4711")));
		assert_int_equal(meta.version, 4711);
		assert_true(meta.initial_events_end);
		sbuf_deinit(&bytes);
	}
}

static void objects_that_cannot_be_read_leave_the_output_alone(void **state)
{
	(void)state;
	static const struct {
		enum resource_encoding encoding;
		struct view bytes;
	} rows[] = {
		{RESOURCE_JSON, VIEW_INIT("{}")},
		{RESOURCE_JSON, VIEW_INIT("[]")},
		{RESOURCE_JSON, VIEW_INIT("{\"metadata\":{\"name\":\"a\"}}")},
		{RESOURCE_JSON, VIEW_INIT("{\"metadata\":{\"name\":1,\"resourceVersion\":\"1\"}}")},
		{RESOURCE_JSON, VIEW_INIT("{\"metadata\":{\"resourceVersion\":\"1\"")},
		{RESOURCE_JSON, VIEW_INIT("{\"metadata\":[]}")},
		{RESOURCE_JSON, VIEW_INIT("{\"metadata\":{\"resourceVersion\":\"1\","
					  "\"annotations\":7}}")},
		{RESOURCE_PROTOBUF, VIEW_INIT("")},
		{RESOURCE_PROTOBUF, VIEW_INIT("\x0a\x05" "ab")},
		{RESOURCE_PROTOBUF, VIEW_INIT("\x0a\x03\x0a\x05" "a")},
		{RESOURCE_PROTOBUF, VIEW_INIT("\x0a\x03\x0a\x01" "a")}, /* no version */
		{RESOURCE_PROTOBUF, VIEW_INIT("\x12\x01" "a")},         /* no metadata */
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct object_meta meta = {.version = 99};
		assert_int_equal(object_meta_read(rows[i].encoding, rows[i].bytes, &meta, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_int_equal(meta.version, 99);
	}
}

static void only_a_true_annotation_ends_the_initial_events(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"{\"metadata\":{\"resourceVersion\":\"1\"}}",
		"{\"metadata\":{\"resourceVersion\":\"1\",\"annotations\":null}}",
		/* In parentheses, or clang takes two literals in a row for a forgotten comma. */
		("{\"metadata\":{\"resourceVersion\":\"1\",\"annotations\":"
		 "{\"k8s.io/initial-events-end\":\"false\"}}}"),
		"{\"metadata\":{\"resourceVersion\":\"1\",\"annotations\":{\"x\":\"true\"}}}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct object_meta meta;
		assert_int_equal(object_meta_read(RESOURCE_JSON, view_from(rows[i]), &meta, &err),
				 0);
		assert_false(meta.initial_events_end);
	}
}

static void versions_are_numbers_as_kubernetes_defines_them(void **state)
{
	(void)state;
	assert_int_equal(object_meta_version(VIEW("18446744073709551615")), UINT64_MAX);
	assert_int_equal(object_meta_version(VIEW("7")), 7);
	assert_int_equal(object_meta_version(VIEW("")), 0);
	assert_int_equal(object_meta_version(VIEW("0")), 0);
	assert_int_equal(object_meta_version(VIEW("07")), 0);
	assert_int_equal(object_meta_version(VIEW("-7")), 0);
	assert_int_equal(object_meta_version(VIEW("7a")), 0);
	assert_int_equal(object_meta_version(VIEW("18446744073709551616")), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(identity_and_version_are_read_in_both_encodings),
	cmocka_unit_test(objects_that_cannot_be_read_leave_the_output_alone),
	cmocka_unit_test(only_a_true_annotation_ends_the_initial_events),
	cmocka_unit_test(versions_are_numbers_as_kubernetes_defines_them),
};
TEST_MAIN(tests)
