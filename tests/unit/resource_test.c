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
	cmocka_unit_test(query_values_are_escaped),
	cmocka_unit_test(an_api_version_is_compared_with_group_and_version),
	cmocka_unit_test(the_encoding_decides_the_media_type),
};
TEST_MAIN(tests)
