/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as a report is written and read again without a loss. */

#include <assert.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "schema/report_doc.h"
#include "wire/jmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report report, again;
	struct arena arena;
	struct sbuf text;
	struct error err;

	arena_init(&arena, 64 * LIMIT_MIB);
	sbuf_init(&text, LIMIT_REPORT_BYTES);
	if (report_doc_decode((struct view){(const char *)data, size}, &arena, &report, &err) == 0) {
		report_doc_encode(&report, &text);
		if (sbuf_check(&text, "report", &err) == 0) {
			int result = report_doc_decode(sbuf_view(&text), &arena, &again, &err);
			assert(result == 0);
			assert(jmap_equal(report_doc_rows(), &report, &again));
		}
	}
	sbuf_deinit(&text);
	arena_deinit(&arena);
	return 0;
}
