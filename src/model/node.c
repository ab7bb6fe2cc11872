/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node.h"

#include <stddef.h>

struct view node_deploy_of(const struct node *node, struct view operand)
{
	ARRAY_EACH(const struct node_deploy, deploy, node->deploys)
		if (view_equal(deploy->operand, operand))
			return deploy->value;
	return (struct view){0};
}
