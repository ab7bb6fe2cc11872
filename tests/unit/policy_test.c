/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "model/policy.h"

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

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_not_written_is_as_the_operators_code_takes_it),
	cmocka_unit_test(what_is_written_counts),
	cmocka_unit_test(of_variables_of_one_name_the_last_counts),
	cmocka_unit_test(mig_managers_before_v0_14_go_by_the_operators_own_layouts),
};
TEST_MAIN(tests)
