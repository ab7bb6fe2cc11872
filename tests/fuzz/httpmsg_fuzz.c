/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Any bytes, read at once and read in pieces, give the same result; what is accepted keeps the
 * promises that framing rests on.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "wire/httpmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

/* The first byte chooses how large the pieces are. */
static enum httpmsg_step read_pieces(struct view bytes, size_t piece, struct httpmsg *msg)
{
	enum httpmsg_step step = HTTPMSG_MORE;
	for (size_t n = piece; step == HTTPMSG_MORE; n += piece) {
		step = httpmsg_read(msg, (struct view){bytes.ptr, n < bytes.len ? n : bytes.len});
		if (n >= bytes.len)
			break;
	}
	return step;
}

static void check_accepted(const struct httpmsg *msg, struct view bytes)
{
	struct httpmsg_head head;
	httpmsg_head(msg, bytes, &head);
	require(msg->parsed <= LIMIT_HTTP_HEAD && msg->parsed <= bytes.len);
	require(memcmp(bytes.ptr + msg->parsed - 4, "\r\n\r\n", 4) == 0);
	require(memchr(bytes.ptr, 0, msg->parsed) == NULL);
	require(head.method.len > 0 && head.path.len > 0 && head.path.ptr[0] == '/');
	require(head.content_length >= -1 && !msg->chunked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct view bytes = {(const char *)data + 1, size - 1};
	struct httpmsg whole = {0};
	struct httpmsg pieces = {0};
	enum httpmsg_step step = httpmsg_read(&whole, bytes);
	require(read_pieces(bytes, (size_t)data[0] + 1, &pieces) == step);
	require(whole.refusal == pieces.refusal && whole.reason == pieces.reason);
	require(step == HTTPMSG_MORE || whole.parsed == pieces.parsed);
	require((step == HTTPMSG_REFUSED) == (whole.refusal != 0));
	if (step == HTTPMSG_HEAD)
		check_accepted(&whole, bytes);
	return 0;
}
