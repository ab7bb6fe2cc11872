/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the agent reads of its child: a stream that is cut anywhere, frames, and a reading in each.
 * Wherever it is cut, the same frames come out; and what is accepted as a reading is written and read
 * again without a loss.
 */

#include <assert.h>

#include "agent/nvml_frame.h"
#include "schema/report_doc.h"
#include "wire/jmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_again(const struct report *reading, struct arena *arena)
{
	struct report again;
	struct sbuf text;
	struct error err;

	sbuf_init(&text, LIMIT_READING_BYTES);
	report_doc_encode_reading(reading, &text);
	if (sbuf_check(&text, "reading", &err) == 0) {
		int result = report_doc_decode_reading(sbuf_view(&text), arena, &again, &err);
		assert(result == 0);
		assert(jmap_equal(report_doc_reading_rows(), reading, &again));
	}
	sbuf_deinit(&text);
}

static void decode(struct view body)
{
	struct report reading;
	struct arena arena;
	struct error err;

	arena_init(&arena, 4 * LIMIT_READING_ARENA);
	if (report_doc_decode_reading(body, &arena, &reading, &err) == 0)
		read_again(&reading, &arena);
	arena_deinit(&arena);
}

/* Gives the stream in pieces of that size; how many frames came, and the bytes in all of them. */
static size_t feed(struct view stream, size_t piece, size_t *ret_n_frames)
{
	struct sbuf in;
	struct view body;
	struct error err;
	size_t n_bytes = 0;
	bool is_whole = true;
	int result = 0;

	*ret_n_frames = 0;
	sbuf_init(&in, NVML_FRAME_BYTES + stream.len);
	for (size_t at = 0; at < stream.len && result == 0; at += piece) {
		size_t len = stream.len - at < piece ? stream.len - at : piece;
		sbuf_append(&in, (struct view){stream.ptr + at, len});
		while ((result = nvml_frame_next(sbuf_view(&in), &is_whole, &body, &err)) == 0 &&
		       is_whole) {
			n_bytes += body.len;
			++*ret_n_frames;
			if (piece == stream.len)
				decode(body);
			sbuf_consume(&in, NVML_FRAME_HEAD + body.len);
		}
	}
	sbuf_deinit(&in);
	return n_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t pieces[] = {1, 3, 7, 64};
	const struct view stream = {(const char *)data, size};
	size_t n_frames, n;
	size_t n_bytes = feed(stream, size ? size : 1, &n_frames);

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]) && size < 4096; i++) {
		size_t bytes = feed(stream, pieces[i], &n);
		assert(bytes == n_bytes && n == n_frames);
	}
	return 0;
}
