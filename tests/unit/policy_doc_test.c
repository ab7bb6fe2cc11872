/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "schema/policy_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))
#define METADATA "\"metadata\":{\"name\":\"cluster-policy\",\"uid\":\"u\"}"

static int setup(void **state)
{
	static struct arena arena;
	arena_init(&arena, LIMIT_MIB);
	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_deinit(*state);
	return 0;
}

static struct policy decode(struct arena *arena, struct view json)
{
	struct policy policy;
	struct error err;
	if (policy_doc_decode(json, arena, &policy, &err) != 0)
		fail_msg("%s", err.text);
	return policy;
}

static void every_field_that_is_kept_is_read(void **state)
{
	struct policy policy = decode(
		*state,
		VIEW("{\"apiVersion\":\"nvidia.com/v1\",\"kind\":\"ClusterPolicy\",\"metadata\":{"
		     "\"name\":\"cluster-policy\",\"uid\":\"u-1\",\"creationTimestamp\":"
		     "\"2026-01-01T00:00:00Z\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"driver\":{"
		     "\"enabled\":true,\"version\":\"580.65.06\",\"env\":[]},\"devicePlugin\":{"
		     "\"enabled\":false,\"config\":{\"name\":\"plugin\",\"default\":\"slices\"}},"
		     "\"dcgmExporter\":{\"enabled\":false},\"gfd\":{\"enabled\":true},\"mig\":{"
		     "\"strategy\":\"mixed\"},\"daemonsets\":{\"tolerations\":[{\"key\":\"x\"}]}},"
		     "\"status\":{\"state\":\"ready\",\"namespace\":\"gpu-operator\"}}"));
	assert_text(policy.name, "cluster-policy");
	assert_int_equal(policy.created_at, INT64_C(1767225600000));
	assert_text(policy.uid, "u-1");
	assert_text(policy.namespace, "gpu-operator");
}

static void what_a_policy_leaves_open_is_empty(void **state)
{
	static const struct view rows[] = {
		VIEW_INIT("{" METADATA "}"),
		VIEW_INIT("{" METADATA ",\"spec\":{},\"status\":null}"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy policy = decode(*state, rows[i]);
		assert_int_equal(policy.namespace.len, 0);
		assert_int_equal(policy.created_at, 0);
	}
}

static void what_is_no_policy_is_refused_and_changes_nothing(void **state)
{
	static const struct {
		const char *json, *message;
	} rows[] = {
		{"{}", "metadata: missing"},
		{"{\"metadata\":{\"uid\":\"u\"}}", "metadata.name: missing"},
		{"{\"metadata\":{\"name\":\"p\"}}", "metadata.uid: missing"},
		{"{" METADATA ",\"status\":[]}", "status: not an object"},
		{"{" METADATA ",\"status\":{\"namespace\":1}}", "status.namespace: not a string"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy read, before;
		struct error err;
		memset(&read, 0xa5, sizeof(read));
		memset(&before, 0xa5, sizeof(before));
		assert_int_equal(policy_doc_decode(view_from(rows[i].json), *state, &read, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_string_equal(err.text, rows[i].message);
		assert_memory_equal(&read, &before, sizeof(read));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(every_field_that_is_kept_is_read, setup, teardown),
	cmocka_unit_test_setup_teardown(what_a_policy_leaves_open_is_empty, setup, teardown),
	cmocka_unit_test_setup_teardown(what_is_no_policy_is_refused_and_changes_nothing, setup,
					teardown),
};

TEST_MAIN(tests)
