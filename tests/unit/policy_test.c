/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "intent/policy.h"

TEST(what_is_not_written_is_as_the_operators_code_takes_it)
{
	static const bool is_on[POLICY_N_OPERANDS] = {
		[POLICY_DRIVER] = true,
		[POLICY_TOOLKIT] = true,
		[POLICY_DEVICE_PLUGIN] = true,
		[POLICY_GFD] = true,
		[POLICY_DCGM] = true,
		[POLICY_DCGM_EXPORTER] = true,
		[POLICY_MIG_MANAGER] = true,
		[POLICY_SANDBOX_WORKLOADS] = false,
		[POLICY_DRIVER_CRD] = false,
		[POLICY_PRECOMPILED] = false,
		[POLICY_CDI] = true,
	};
	const struct policy policy = {0};

	for (int i = 0; i < POLICY_N_OPERANDS; i++)
		if (policy_is_on(&policy, (enum policy_operand)i) != is_on[i])
			fail_msg("operand %d", i);
}

TEST(what_is_written_counts)
{
	struct policy policy = {0};

	for (int i = 0; i < POLICY_N_OPERANDS; i++) {
		policy.switches[i] = POLICY_ON;
		assert_true(policy_is_on(&policy, (enum policy_operand)i));
		policy.switches[i] = POLICY_OFF;
		assert_false(policy_is_on(&policy, (enum policy_operand)i));
	}
}

TEST(of_variables_of_one_name_the_last_counts)
{
	static const struct policy_variable variables[] = {
		{VIEW_INIT("A"), VIEW_INIT("1")},
		{VIEW_INIT("B"), VIEW_INIT("2")},
		{VIEW_INIT("A"), VIEW_INIT("")},
		{VIEW_INIT("C"), VIEW_INIT("4")},
	};
	const struct policy policy = {.plugin_env = array_of(variables, ARRAY_SIZE(variables))};
	const struct policy none = {0};

	assert_ptr_equal(policy_find_variable(&policy, VIEW("A")), &variables[2]);
	assert_ptr_equal(policy_find_variable(&policy, VIEW("B")), &variables[1]);
	assert_ptr_equal(policy_find_variable(&policy, VIEW("C")), &variables[3]);
	assert_null(policy_find_variable(&policy, VIEW("D")));
	assert_null(policy_find_variable(&none, VIEW("A")));
	assert_null(policy_find_gfd_variable(&policy, VIEW("A")));
}

/* Arguments, up to the first that is NULL. */
static struct array arguments(const char *const *texts, struct view *views)
{
	uint32_t n = 0;

	for (; texts[n]; n++)
		views[n] = view_from(texts[n]);
	return array_of(views, n);
}

TEST(a_flag_has_the_value_that_the_plugin_reads)
{
	static const struct {
		const char *arguments[5];
		const char *value; /* of --mig-strategy; NULL: it is not there */
	} rows[] = {
		{{NULL}, NULL},
		{{"--mig-strategy=mixed"}, "mixed"},
		{{"-mig-strategy=mixed"}, "mixed"},
		{{"--mig-strategy", "mixed"}, "mixed"},
		{{"-mig-strategy", "mixed"}, "mixed"},
		{{"--mig-strategy=a=b"}, "a=b"},
		{{"--mig-strategy="}, ""},
		{{"--mig-strategy"}, ""},
		{{"--mig-strategy", "--pass-device-specs"}, ""},
		{{"--mig-strategy=single", "--mig-strategy", "mixed"}, "mixed"},
		{{"--mig-strategy=single", "--mig-strategy="}, ""},
		{{"--pass-device-specs", "--mig-strategy=mixed"}, "mixed"},
		{{"--fail-on-init-error=false", "--mig-strategy=mixed"}, "mixed"},
		{{"-x", "--mig-strategy=mixed"}, "mixed"},
		{{"--device-id-strategy", "uuid", "--mig-strategy=mixed"}, "mixed"},
		{{"--device-id-strategy", "mig-strategy=mixed"}, NULL},
		{{"--mig-strategy-2=mixed"}, NULL},
		{{"mig-strategy=mixed"}, NULL},
		{{"---mig-strategy=mixed"}, NULL},
		{{"--", "--mig-strategy=mixed"}, NULL},
		{{"-", "--mig-strategy=mixed"}, NULL},
		{{"", "--mig-strategy=mixed"}, NULL},
		{{"--pass-device-specs", "true", "--mig-strategy=mixed"}, NULL},
		{{"exec nvidia-device-plugin", "--mig-strategy=mixed"}, NULL},
		{{"--mig-strategy=mixed", "exec"}, "mixed"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view views[ARRAY_SIZE(rows[i].arguments)];
		const struct policy policy = {.plugin_args = arguments(rows[i].arguments, views)};
		struct view value = VIEW("untouched");
		const bool is_found = policy_find_flag(&policy, VIEW("mig-strategy"), &value);

		if (is_found != (rows[i].value != NULL) ||
		    !view_equal(value, view_from(is_found ? rows[i].value : "untouched")))
			fail_msg("row %zu: %.*s", i, VIEW_ARG(value));
	}
}

TEST(arguments_that_are_no_flags_are_a_command)
{
	static const struct {
		const char *arguments[4];
		bool has_command;
	} rows[] = {
		{{NULL}, false},
		{{"--mig-strategy=mixed"}, false},
		{{"--mig-strategy", "mixed", "--gds-enabled"}, false},
		{{"--later", "mixed"}, false},
		{{"/bin/entrypoint.sh"}, true},
		{{"--mig-strategy", "mixed", "mixed"}, true},
		{{"--mig-strategy=mixed", "mixed"}, true},
		{{"--fail-on-init-error", "false"}, true},
		{{"--pass-device-specs", "false"}, true},
		{{"--gdrcopy-enabled", "false"}, true},
		{{"--gds-enabled", "false"}, true},
		{{"--mofed-enabled", "false"}, true},
		{{"-imex-required", "false"}, true},
		{{"--gds-enabled", "--"}, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view views[ARRAY_SIZE(rows[i].arguments)];
		const struct policy policy = {.plugin_args = arguments(rows[i].arguments, views)};

		if (policy_has_command(&policy) != rows[i].has_command)
			fail_msg("row %zu", i);
	}
}

TEST(mig_managers_before_v0_14_go_by_the_operators_own_layouts)
{
	static const struct {
		struct view version;
		bool does;
	} rows[] = {
		{VIEW_INIT("v0.13.1"), true},
		{VIEW_INIT("0.9.0"), true},
		{VIEW_INIT("v0.12.3-ubuntu20.04"), true},
		{VIEW_INIT("v0.13"), true},
		{VIEW_INIT("v0.14.0"), false},
		{VIEW_INIT("v1.0.0"), false},
		{VIEW_INIT("v0"), false},
		{VIEW_INIT("v0."), false},
		{VIEW_INIT("v0.-1.0"), false},
		{VIEW_INIT("vv0.13.1"), false},
		{VIEW_INIT("sha256:0.13.1"), false},
		{VIEW_INIT("latest"), false},
		{VIEW_INIT(""), false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct policy policy = {.mig_manager_version = rows[i].version};

		if (policy_goes_by_own_layouts(&policy) != rows[i].does)
			fail_msg("version \"%.*s\"", VIEW_ARG(rows[i].version));
	}
}

TEST(the_mig_managers_layouts_are_what_is_written_or_its_own)
{
	static const struct {
		struct policy policy;
		struct view name; /* of the ConfigMap */
		bool may_make;    /* layouts of its own, per node */
	} rows[] = {
		{{.name = VIEW_INIT("a")}, VIEW_INIT("default-mig-parted-config"), true},
		{{.mig_manager_version = VIEW_INIT("v0.14.0")}, VIEW_INIT("default-mig-parted-config"), true},
		{{.mig_manager_version = VIEW_INIT("v0.13.1")}, VIEW_INIT("default-mig-parted-config"), false},
		{{.mig_config = VIEW_INIT("a")}, VIEW_INIT("a"), false},
		{{.unreadable = VIEW_INIT("?")}, VIEW_INIT(""), false},
		{{.switches = {[POLICY_MIG_MANAGER] = POLICY_OFF}}, VIEW_INIT(""), false},
		{{.mig_config = VIEW_INIT("a"), .switches = {[POLICY_MIG_MANAGER] = POLICY_OFF}},
		 VIEW_INIT("a"), false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!view_equal(policy_mig_config(&rows[i].policy), rows[i].name) ||
		    policy_may_make_layouts(&rows[i].policy) != rows[i].may_make)
			fail_msg("row %zu", i);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_not_written_is_as_the_operators_code_takes_it),
	cmocka_unit_test(what_is_written_counts),
	cmocka_unit_test(of_variables_of_one_name_the_last_counts),
	cmocka_unit_test(a_flag_has_the_value_that_the_plugin_reads),
	cmocka_unit_test(arguments_that_are_no_flags_are_a_command),
	cmocka_unit_test(mig_managers_before_v0_14_go_by_the_operators_own_layouts),
	cmocka_unit_test(the_mig_managers_layouts_are_what_is_written_or_its_own),
};
TEST_MAIN(tests)
