/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "base/sbuf.h"
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
		     "\"enabled\":false,\"config\":{\"name\":\"plugin\",\"default\":\"slices\"},"
		     "\"args\":[\"--mig-strategy\",\"single\"],"
		     "\"env\":[{\"name\":\"MPS_ROOT\",\"value\":\"/mps\"},{\"name\":\"NODE\","
		     "\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec.nodeName\"}}}]},"
		     "\"gfd\":{\"args\":[\"--oneshot\"],\"env\":[{\"name\":\"MIG_STRATEGY\",\"value\":\"none\"}]},"
		     "\"mig\":{\"strategy\":\"mixed\"},\"migManager\":{\"config\":{\"name\":\"parted\","
		     "\"default\":\"all-disabled\"},\"version\":\"v0.13.1\"},\"sandboxWorkloads\":{\"defaultWorkload\":"
		     "\"vm-vgpu\"},\"daemonsets\":{\"tolerations\":[{\"key\":\"x\"}]}},"
		     "\"status\":{\"state\":\"ready\",\"namespace\":\"gpu-operator\",\"conditions\":[{"
		     "\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Reconciled\",\"message\":"
		     "\"all good\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}"));
	const struct policy_variable *variables = policy.plugin_env.items;
	const struct policy_condition *condition = policy.conditions.items;

	assert_text(policy.name, "cluster-policy");
	assert_int_equal(policy.created_at, INT64_C(1767225600000));
	assert_text(policy.uid, "u-1");
	assert_text(policy.namespace, "gpu-operator");
	assert_text(policy.state, "ready");
	assert_text(policy.driver_version, "580.65.06");
	assert_text(policy.plugin_config, "plugin");
	assert_text(policy.plugin_config_default, "slices");
	assert_text(policy.mig_strategy, "mixed");
	assert_text(policy.mig_config, "parted");
	assert_text(policy.mig_config_default, "all-disabled");
	assert_text(policy.mig_manager_version, "v0.13.1");
	assert_text(policy.default_workload, "vm-vgpu");
	assert_text(policy.unreadable, "");
	assert_int_equal(policy.plugin_env.count, 2);
	assert_text(variables[0].name, "MPS_ROOT");
	assert_text(variables[0].value, "/mps");
	assert_text(variables[1].name, "NODE");
	assert_text(variables[1].value, "");
	assert_int_equal(policy.plugin_args.count, 2);
	assert_text(*ARRAY_AT(policy.plugin_args, struct view, 0), "--mig-strategy");
	assert_text(*ARRAY_AT(policy.plugin_args, struct view, 1), "single");
	assert_int_equal(policy.gfd_args.count, 1);
	assert_text(*ARRAY_AT(policy.gfd_args, struct view, 0), "--oneshot");
	assert_int_equal(policy.gfd_env.count, 1);
	assert_text(ARRAY_AT(policy.gfd_env, struct policy_variable, 0)->name, "MIG_STRATEGY");
	assert_text(ARRAY_AT(policy.gfd_env, struct policy_variable, 0)->value, "none");
	assert_int_equal(policy.conditions.count, 1);
	assert_text(condition->type, "Ready");
	assert_text(condition->status, "True");
	assert_text(condition->reason, "Reconciled");
	assert_text(condition->message, "all good");
	assert_int_equal(condition->last_transition_time, INT64_C(1767225600000));
}

/* Each switch where the operator's API has it. */
static const struct {
	const char *part, *member;
	enum policy_operand operand;
} switches[] = {
	{"driver", "enabled", POLICY_DRIVER},
	{"toolkit", "enabled", POLICY_TOOLKIT},
	{"devicePlugin", "enabled", POLICY_DEVICE_PLUGIN},
	{"gfd", "enabled", POLICY_GFD},
	{"dcgm", "enabled", POLICY_DCGM},
	{"dcgmExporter", "enabled", POLICY_DCGM_EXPORTER},
	{"migManager", "enabled", POLICY_MIG_MANAGER},
	{"sandboxWorkloads", "enabled", POLICY_SANDBOX_WORKLOADS},
	{"driver", "useNvidiaDriverCRD", POLICY_DRIVER_CRD},
	{"driver", "usePrecompiled", POLICY_PRECOMPILED},
	{"cdi", "enabled", POLICY_CDI},
};

static void each_switch_is_read_as_it_is_written_and_no_other(void **state)
{
	static const char *const values[] = {
		[POLICY_UNSET] = "null", [POLICY_ON] = "true", [POLICY_OFF] = "false"};

	assert_int_equal(ARRAY_SIZE(switches), POLICY_N_OPERANDS);
	for (size_t i = 0; i < 3 * ARRAY_SIZE(switches); i++) {
		char json[200];

		snprintf(json, sizeof(json), "{" METADATA ",\"spec\":{\"%s\":{\"%s\":%s}}}",
			 switches[i / 3].part, switches[i / 3].member, values[i % 3]);
		struct policy policy = decode(*state, view_from(json));
		for (size_t k = 0; k < POLICY_N_OPERANDS; k++)
			assert_int_equal(policy.switches[k],
					 k == switches[i / 3].operand ? i % 3 : POLICY_UNSET);
	}
}

static void what_a_policy_leaves_open_is_empty(void **state)
{
	static const struct view rows[] = {
		VIEW_INIT("{" METADATA "}"),
		VIEW_INIT("{" METADATA ",\"spec\":{},\"status\":null}"),
		VIEW_INIT("{" METADATA ",\"spec\":{\"devicePlugin\":{\"config\":null},\"mig\":{}}}"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy policy = decode(*state, rows[i]);
		assert_int_equal(policy.namespace.len, 0);
		assert_int_equal(policy.created_at, 0);
		assert_int_equal(policy.plugin_config.len, 0);
		assert_int_equal(policy.conditions.count, 0);
		assert_int_equal(policy.unreadable.len, 0);
	}
}

/* It is a ClusterPolicy all the same, and may be the one that counts. */
static void of_an_unreadable_policy_its_metadata_and_the_reason_are_kept(void **state)
{
	static const struct {
		const char *json, *unreadable, *namespace;
	} rows[] = {
		{",\"status\":[]", "status: not an object", ""},
		{",\"status\":{\"namespace\":1}", "status.namespace: not a string", ""},
		{",\"status\":{\"namespace\":\"ops\",\"state\":{}}", "status.state: not a string",
		 "ops"},
		{",\"spec\":7,\"status\":{\"namespace\":\"ops\",\"state\":\"ready\"}",
		 "spec: not an object", "ops"},
		{",\"spec\":{\"mig\":{\"strategy\":\"single\"},\"driver\":{\"enabled\":\"yes\"}}",
		 "spec.driver.enabled: not a boolean", ""},
		{",\"spec\":{\"mig\":{\"strategy\":\"single\"},\"mig\":{}}", "spec.mig: given twice", ""},
		/* Another version may mean something else by the same words. */
		{",\"apiVersion\":\"nvidia.com/v2\",\"spec\":{\"mig\":{\"strategy\":\"single\"}},"
		 "\"status\":{\"namespace\":\"ops\",\"state\":\"ready\"}",
		 "apiVersion is nvidia.com/v2, and nvidia.com/v1 is read", "ops"},
		{",\"apiVersion\":\"nvidia.com/v2\",\"status\":{\"namespace\":[]}",
		 "status.namespace: not a string", ""},
		/* Wrong types beside fields that nobody knows. */
		{",\"spec\":{\"zeal\":{\"a\":[1]},\"devicePlugin\":{\"env\":{},\"new\":7}}",
		 "spec.devicePlugin.env: not an array", ""},
		{",\"spec\":{\"devicePlugin\":{\"args\":[\"--a\",{}]}}",
		 "spec.devicePlugin.args[1]: not a string", ""},
		{",\"spec\":{\"devicePlugin\":{\"config\":{\"name\":4}}}",
		 "spec.devicePlugin.config.name: not a string", ""},
		{",\"status\":{\"conditions\":{}}", "status.conditions: not an array", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char json[300];

		snprintf(json, sizeof(json), "{" METADATA "%s}", rows[i].json);
		struct policy policy = decode(*state, view_from(json));
		assert_text(policy.name, "cluster-policy");
		assert_text(policy.uid, "u");
		char unreadable[100];
		snprintf(unreadable, sizeof(unreadable), "%.*s", VIEW_ARG(policy.unreadable));
		assert_string_equal(unreadable, rows[i].unreadable);
		assert_text(policy.namespace, rows[i].namespace);
		assert_text(policy.state, "");
		assert_text(policy.mig_strategy, "");
	}
}

static void a_policy_with_more_arguments_than_the_limit_is_unreadable(void **state)
{
	for (unsigned n = LIMIT_POLICY_ARGUMENTS; n <= LIMIT_POLICY_ARGUMENTS + 1; n++) {
		CLEANUP(sbuf_deinit) struct sbuf json;
		struct policy policy;

		sbuf_init(&json, LIMIT_MIB);
		sbuf_printf(&json, "{" METADATA ",\"spec\":{\"devicePlugin\":{\"args\":[\"\"");
		for (unsigned i = 1; i < n; i++)
			sbuf_printf(&json, ",\"\"");
		sbuf_printf(&json, "]}}}");
		policy = decode(*state, sbuf_view(&json));
		assert_int_equal(policy.unreadable.len > 0, n > LIMIT_POLICY_ARGUMENTS);
		assert_int_equal(policy.plugin_args.count, n > LIMIT_POLICY_ARGUMENTS ? 0 : n);
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
	struct policy read;
	struct error err;
	assert_int_equal(policy_doc_decode(VIEW("{" METADATA ",\"spec\":{}"), *state, &read, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
}

static void without_memory_nothing_is_said_of_the_policy(void **state)
{
	static const struct view texts[] = {
		VIEW_INIT("{" METADATA ",\"spec\":{\"mig\":{\"strategy\":\"single\"}}}"),
		VIEW_INIT("{" METADATA ",\"spec\":5}"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		bool failed = true;

		for (unsigned k = 1; failed; k++) {
			CLEANUP(arena_deinit) struct arena arena = {0};
			struct policy policy;
			struct error err = {0};

			arena_init(&arena, LIMIT_MIB);
			failing_malloc_at(k);
			int result = policy_doc_decode(texts[i], &arena, &policy, &err);
			failed = failing_malloc_off();
			assert_int_equal(result, failed ? -1 : 0);
			assert_int_equal(err.kind == ERROR_NO_MEMORY, failed);
		}
	}
}

static void of_a_gpu_cluster_its_name_is_read_whatever_it_says(void **state)
{
	struct gpu_cluster cluster;
	struct error err;

	assert_int_equal(policy_doc_decode_gpu_cluster(
				 VIEW("{\"metadata\":{\"name\":\"gpu-cluster\",\"uid\":\"u\"},"
				      "\"spec\":[]}"),
				 *state, &cluster, &err),
			 0);
	assert_text(cluster.name, "gpu-cluster");
	assert_text(cluster.uid, "u");
	assert_int_equal(policy_doc_decode_gpu_cluster(VIEW("{}"), *state, &cluster, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(every_field_that_is_kept_is_read, setup, teardown),
	cmocka_unit_test_setup_teardown(each_switch_is_read_as_it_is_written_and_no_other, setup,
					teardown),
	cmocka_unit_test_setup_teardown(what_a_policy_leaves_open_is_empty, setup, teardown),
	cmocka_unit_test_setup_teardown(
		of_an_unreadable_policy_its_metadata_and_the_reason_are_kept, setup, teardown),
	cmocka_unit_test_setup_teardown(a_policy_with_more_arguments_than_the_limit_is_unreadable,
					setup, teardown),
	cmocka_unit_test_setup_teardown(what_is_no_policy_is_refused_and_changes_nothing, setup,
					teardown),
	cmocka_unit_test(without_memory_nothing_is_said_of_the_policy),
	cmocka_unit_test_setup_teardown(of_a_gpu_cluster_its_name_is_read_whatever_it_says, setup,
					teardown),
};

TEST_MAIN(tests)
