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

static void set_argument(struct drift_case *c, const char *argument)
{
	c->arguments[0] = view_from(argument);
	c->policy.plugin_args = array_of(c->arguments, 1);
}

static void set_flag(struct drift_case *c)
{
	set_argument(c, "--config-file-mode=0600");
}

static void set_file(struct drift_case *c)
{
	set_argument(c, "--config-file=/etc/plugin.yaml");
}

static void set_command(struct drift_case *c)
{
	set_argument(c, "exec nvidia-device-plugin");
}

static void set_variable(struct drift_case *c)
{
	c->variables[0] = (struct policy_variable){VIEW("CONFIG_FILE"), VIEW("/etc/plugin.yaml")};
	c->policy.plugin_env = array_of(c->variables, 1);
}

static void set_file_and_switch_off(struct drift_case *c)
{
	set_file(c);
	switch_off(c);
}

static void set_file_and_name_no_config(struct drift_case *c)
{
	set_file(c);
	name_no_config(c);
}

static void lose_config(struct drift_case *c)
{
	c->intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.plugin_configs = NULL;
}

static void set_file_and_lose_config(struct drift_case *c)
{
	set_file(c);
	lose_config(c);
}

/* The ConfigMap may say what it will. */
TEST(of_a_plugin_that_reads_another_file_no_configuration_is_known)
{
	static const struct {
		void (*spoil)(struct drift_case *);
		bool is_known, is_unknown;
		enum drift_answer untold; /* where it is unknown */
		bool is_said, is_said_unreadable;
	} rows[] = {
		{NULL, true, false, DRIFT_NO, true, false},
		{set_flag, true, false, DRIFT_NO, true, false},
		{set_file, false, true, DRIFT_NOT_COMPARED, false, false},
		{set_variable, false, true, DRIFT_NOT_COMPARED, false, false},
		{set_command, false, true, DRIFT_NOT_COMPARED, false, false},
		{set_file_and_switch_off, false, false, DRIFT_NO, false, false},
		{set_file_and_name_no_config, false, true, DRIFT_NOT_COMPARED, false, false},
		{lose_config, false, true, DRIFT_UNREADABLE, true, true},
		{set_file_and_lose_config, false, true, DRIFT_NOT_COMPARED, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct plugin_config *config;
		struct drift_case c;
		bool is_unknown;

		drift_case_init(&c);
		if (rows[i].spoil)
			rows[i].spoil(&c);
		c.text = (struct drift_text){.arena = &c.arena};
		drift_prepare(&c.node);
		config = drift_plugin_in_force(&c.node, &is_unknown);
		if ((config != NULL) != rows[i].is_known || is_unknown != rows[i].is_unknown)
			fail_msg("row %zu", i);
		if (is_unknown)
			assert_int_equal(drift_plugin_untold(&c.node).answer, rows[i].untold);
		assert_int_equal(drift_plugin_say(&c.node, &c.text).len > 0, rows[i].is_said);
		assert_int_equal(drift_plugin_say_unreadable(&c.node, &c.text).len > 0,
				 rows[i].is_said_unreadable);
		drift_case_deinit(&c);
	}
}

TESTS(NULL, NULL)
