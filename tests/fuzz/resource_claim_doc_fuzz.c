/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as a claim has a name, counts in bounds, and texts that lie in the message. */

#include <assert.h>

#include "schema/dra_driver.h"
#include "schema/resource_claim_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct view message, struct view text)
{
	assert(text.len == 0 || (text.ptr >= message.ptr && text.len <= message.len &&
				 text.ptr <= message.ptr + message.len - text.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct resource_claim_fields fields;
	struct view message = {(const char *)data, size};
	struct error err;

	if (resource_claim_doc_decode(message, &fields, &err) != 0)
		return 0;
	assert(fields.name.len > 0 && fields.namespace.len > 0);
	assert(fields.claim.results.count <= RESOURCE_CLAIM_MAX_RESULTS);
	assert(fields.claim.consumers.count <= RESOURCE_CLAIM_MAX_CONSUMERS);
	check_inside(message, fields.name);
	check_inside(message, fields.namespace);
	for (uint32_t i = 0; i < fields.claim.results.count; i++) {
		assert(dra_driver_is_known(fields.results[i].driver));
		check_inside(message, fields.results[i].request);
		check_inside(message, fields.results[i].pool);
		check_inside(message, fields.results[i].device);
		check_inside(message, fields.results[i].share_id);
	}
	for (uint32_t i = 0; i < fields.claim.consumers.count; i++) {
		assert(fields.consumers[i].len > 0);
		check_inside(message, fields.consumers[i]);
	}
	return 0;
}
