/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as a node has a name, counts in bounds, and texts that lie in the message. */

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
	struct node_fields fields;
	struct error err;

	if (node_doc_decode(message, &fields, &err) != 0)
		return 0;
	assert(fields.name.len > 0);
	assert(fields.n_labels <= NODE_MAX_LABELS && fields.n_resources <= NODE_MAX_RESOURCES);
	check_inside(message, fields.uid);
	check_inside(message, fields.boot_id);
	check_inside(message, fields.kubelet_version);
	for (uint32_t i = 0; i < fields.n_labels; i++) {
		check_inside(message, fields.labels[i].key);
		check_inside(message, fields.labels[i].value);
	}
	for (uint32_t i = 0; i < fields.n_resources; i++) {
		check_inside(message, fields.resources[i].name);
		assert(fields.resources[i].capacity >= 0 && fields.resources[i].allocatable >= 0);
	}
	return 0;
}
