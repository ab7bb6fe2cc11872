/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as a node has a name, and texts that lie in the message. */

#include <assert.h>

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
	struct node node;
	struct error err;

	if (node_doc_decode(message, &node, &err) != 0)
		return 0;
	assert(node.name.len > 0);
	check_inside(message, node.name);
	check_inside(message, node.uid);
	check_inside(message, node.boot_id);
	check_inside(message, node.sharing_strategy);
	return 0;
}
