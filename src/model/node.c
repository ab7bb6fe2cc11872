/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node.h"

#include <stddef.h>

struct view node_deploy_of(const struct node *node, struct view operand)
{
	for (uint32_t i = 0; i < node->deploys.count; i++) {
		const struct node_deploy *deploy = ARRAY_AT(node->deploys, struct node_deploy, i);

		if (view_equal(deploy->operand, operand))
			return deploy->value;
	}
	return (struct view){0};
}
