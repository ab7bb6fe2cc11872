/* SPDX-License-Identifier: Apache-2.0 */

/* The first byte says how long the pieces are: however a list is cut, the same comes out. */

#include <stdlib.h>
#include <string.h>

#include "wire/jscan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void trace(struct view list, size_t piece, struct sbuf *out)
{
	CLEANUP(jscan_deinit) struct jscan scan;
	struct error err;
	enum jscan_step step = JSCAN_MORE;
	jscan_init(&scan, 200);
	while (list.len > 0 && step == JSCAN_MORE) {
		size_t n = piece < list.len ? piece : list.len;
		struct view input = {list.ptr, n};
		list = view_from_offset(list, n);
		do {
			struct view key = {NULL, 0}, value = {NULL, 0};
			step = jscan_next(&scan, &input, &key, &value, &err);
			if (step != JSCAN_MORE)
				sbuf_printf(out, "%d:", (int)step);
			if (step == JSCAN_MEMBER)
				sbuf_append(out, key);
			if (step == JSCAN_MEMBER || step == JSCAN_ITEM)
				sbuf_append(out, value);
		} while (step != JSCAN_MORE && step != JSCAN_FAILED);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	CLEANUP(sbuf_deinit) struct sbuf whole;
	CLEANUP(sbuf_deinit) struct sbuf pieces;
	struct view list = {(const char *)data + 1, size - 1};
	sbuf_init(&whole, 1u << 24);
	sbuf_init(&pieces, 1u << 24);
	trace(list, list.len, &whole);
	trace(list, 1u + data[0], &pieces);
	if (!view_equal(sbuf_view(&whole), sbuf_view(&pieces)))
		abort();
	return 0;
}
