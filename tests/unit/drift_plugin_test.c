/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_plugin.h"
#include "lib/drift_case.h"

static void name_no_config(struct drift_case *c)
{
	c->intent.plugin_configs_state = INTENT_CONFIG_NONE;
	c->intent.plugin_configs = NULL;
}

static void switch_off(struct drift_case *c)
{
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void unlabel(struct drift_case *c)
{
	c->labels.deploys.count = 0;
}

static void forget_node(struct drift_case *c)
{
	c->node.node = NULL;
}

static void name_no_config_and_forget_node(struct drift_case *c)
{
	name_no_config(c);
	forget_node(c);
}

TEST(a_plugin_that_uses_a_configuration_is_wanted_where_the_policy_names_one)
{
	static const struct {
		void (*spoil)(struct drift_case *);
		enum drift_operand_want want;
	} rows[] = {
		{NULL, DRIFT_OPERAND_WANTED},
		{name_no_config, DRIFT_OPERAND_OFF},
		{name_no_config_and_forget_node, DRIFT_OPERAND_OFF},
		{switch_off, DRIFT_OPERAND_OFF},
		{unlabel, DRIFT_OPERAND_NOT_HERE},
		{forget_node, DRIFT_OPERAND_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drift_case c;

		drift_case_init(&c);
		if (rows[i].spoil)
			rows[i].spoil(&c);
		drift_prepare(&c.node);
		assert_int_equal(drift_plugin_want(&c.node), rows[i].want);
		drift_case_deinit(&c);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_plugin_that_uses_a_configuration_is_wanted_where_the_policy_names_one),
};
TEST_MAIN(tests)
