/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as an object has a status that is written and read again without a loss. */

#include <assert.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "schema/attribution_doc.h"
#include "wire/jmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attribution object, again;
	struct arena arena;
	struct sbuf text;
	struct error err;

	arena_init(&arena, 64 * LIMIT_MIB);
	sbuf_init(&text, LIMIT_OBJECT_BYTES);
	if (attribution_doc_decode((struct view){(const char *)data, size}, &arena, &object,
				   &err) == 0 &&
	    object.resource_version.len > 0) {
		attribution_doc_encode_status(&object, &object.status, &text);
		if (sbuf_check(&text, "object", &err) == 0) {
			int result = attribution_doc_decode(sbuf_view(&text), &arena, &again, &err);
			assert(result == 0);
			assert(attribution_doc_is_same(&object.status, &again.status));
			assert(jmap_equal(attribution_doc_rows(), &object, &again));
		}
	}
	sbuf_deinit(&text);
	arena_deinit(&arena);
	return 0;
}
