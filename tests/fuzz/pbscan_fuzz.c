/* SPDX-License-Identifier: Apache-2.0 */

/* Walks a message and, as far as they look like one, the messages in it. */

#include <stdlib.h>

#include "wire/pbscan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct view message, int depth)
{
	struct pbscan scan;
	struct pbscan_field field;
	struct error err;
	size_t last = message.len;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		/* Each field takes at least two bytes and lies in the message. */
		if (scan.rest.len + 2 > last || field.number == 0)
			abort();
		last = scan.rest.len;
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.bytes.ptr < message.ptr ||
		    field.bytes.ptr + field.bytes.len > message.ptr + message.len)
			abort();
		if (depth < 8)
			walk(field.bytes, depth + 1);
	}
	if ((pbscan_check(&scan, "message", &err) == 0) != (scan.rest.len == 0 && !scan.failed))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk((struct view){(const char *)data, size}, 0);
	return 0;
}
