/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/resource.h"

static const struct resource pods = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL};
static const struct resource leases = {"coordination.k8s.io", "v1", "leases", "Lease",
				       RESOURCE_JSON, NULL};

static void expect_text(struct sbuf *buf, const char *expected)
{
	assert_string_equal(sbuf_text(buf), expected);
	sbuf_clear(buf);
}

static void the_core_group_has_a_path_of_its_own(void **state)
{
	(void)state;
	struct sbuf buf;
	sbuf_init(&buf, 1000);
	resource_append_path(&pods, &buf);
	expect_text(&buf, "/api/v1/pods");
	resource_append_path(&leases, &buf);
	expect_text(&buf, "/apis/coordination.k8s.io/v1/leases");
	sbuf_deinit(&buf);
}

static const struct resource maps = {.group = "", .version = "v1", .plural = "configmaps",
				     .kind = "ConfigMap", .encoding = RESOURCE_PROTOBUF,
				     .namespace = "a/b"};
static const struct resource metadata = {.group = "a.b", .version = "v2", .plural = "things",
					 .kind = RESOURCE_METADATA_KIND, .encoding = RESOURCE_JSON,
					 .is_metadata = true};

static void a_namespace_stands_before_the_plural(void **state)
{
	(void)state;
	struct sbuf buf;
	sbuf_init(&buf, 1000);
	resource_append_path(&maps, &buf);
	expect_text(&buf, "/api/v1/namespaces/a%2Fb/configmaps");
	sbuf_deinit(&buf);
}

static void where_only_metadata_travels_it_is_asked_for_and_has_its_own_version(void **state)
{
	(void)state;
	assert_string_equal(resource_accept(&metadata, false),
			    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
	assert_string_equal(resource_accept(&metadata, true),
			    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
	assert_string_equal(resource_accept(&pods, true), resource_media_type(&pods));
	assert_string_equal(resource_media_type(&metadata), "application/json");
	assert_true(resource_has_version(&metadata, VIEW("meta.k8s.io/v1")));
	assert_false(resource_has_version(&metadata, VIEW("a.b/v2")));
}

static void query_values_are_escaped(void **state)
{
	(void)state;
	struct sbuf buf;
	sbuf_init(&buf, 1000);
	resource_append_escaped(VIEW("spec.nodeName!=,a=b&c d\xff~-_"), &buf);
	expect_text(&buf, "spec.nodeName%21%3D%2Ca%3Db%26c%20d%FF~-_");
	sbuf_deinit(&buf);
}

static void an_api_version_is_compared_with_group_and_version(void **state)
{
	(void)state;
	assert_true(resource_has_version(&pods, VIEW("v1")));
	assert_false(resource_has_version(&pods, VIEW("v2")));
	assert_false(resource_has_version(&pods, VIEW("coordination.k8s.io/v1")));
	assert_false(resource_has_version(&pods, VIEW("")));
	assert_true(resource_has_version(&leases, VIEW("coordination.k8s.io/v1")));
	assert_false(resource_has_version(&leases, VIEW("v1")));
}

static void the_encoding_decides_the_media_type(void **state)
{
	(void)state;
	assert_string_equal(resource_media_type(&pods), "application/vnd.kubernetes.protobuf");
	assert_string_equal(resource_media_type(&leases), "application/json");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_core_group_has_a_path_of_its_own),
	cmocka_unit_test(a_namespace_stands_before_the_plural),
	cmocka_unit_test(where_only_metadata_travels_it_is_asked_for_and_has_its_own_version),
	cmocka_unit_test(query_values_are_escaped),
	cmocka_unit_test(an_api_version_is_compared_with_group_and_version),
	cmocka_unit_test(the_encoding_decides_the_media_type),
};
TEST_MAIN(tests)
