/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "model/node.h"

TEST(a_deploy_label_is_found_by_its_operand)
{
	struct node_deploy deploys[] = {
		{VIEW("device-plugin"), VIEW("true")},
		{VIEW("driver"), VIEW("pre-installed")},
	};
	const struct node node = {.deploys = array_of(deploys, 2)};

	assert_true(view_equal(node_deploy_of(&node, VIEW("device-plugin")), VIEW("true")));
	assert_true(view_equal(node_deploy_of(&node, VIEW("driver")), VIEW("pre-installed")));
	assert_int_equal(node_deploy_of(&node, VIEW("device")).len, 0);
	assert_int_equal(node_deploy_of(&(struct node){0}, VIEW("driver")).len, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_deploy_label_is_found_by_its_operand),
};
TEST_MAIN(tests)
