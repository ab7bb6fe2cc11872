/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as a node has a name, and texts that lie in the message. */

#include <assert.h>

#include "base/limits.h"
#include "schema/node_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct view message, struct view text)
{
	assert(text.len == 0 || (text.ptr >= message.ptr && text.len <= message.len &&
				 text.ptr <= message.ptr + message.len - text.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view message = {(const char *)data, size};
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct node node;
	struct error err;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (node_doc_decode(message, &arena, &node, &err) != 0)
		return 0;
	assert(node.name.len > 0);
	check_inside(message, node.name);
	check_inside(message, node.uid);
	check_inside(message, node.boot_id);
	check_inside(message, node.sharing_strategy);
	check_inside(message, node.workload_config);
	for (uint32_t i = 0; i < node.deploys.count; i++)
		check_inside(message, ARRAY_AT(node.deploys, struct node_deploy, i)->operand);
	for (uint32_t i = 0; i < node.allocatable.count; i++)
		assert(ARRAY_AT(node.allocatable, struct node_resource, i)->count >= 0);
	return 0;
}
