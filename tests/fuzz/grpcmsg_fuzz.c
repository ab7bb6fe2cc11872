/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The first byte chooses how large the pieces are, the second is a status. Wherever a reply is cut, the
 * same comes of it. What is accepted is the message with its prefix, and nothing else. What is told of a
 * status is one line.
 */

#include <assert.h>
#include <string.h>

#include "wire/grpcmsg.h"

#define CAP 300u /* a message may be longer than a piece, and than the cap */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum error_kind read_reply(struct view bytes, size_t piece, struct grpcmsg *reply,
				  struct view *ret_message)
{
	struct error err;

	grpcmsg_init(reply, CAP);
	for (size_t at = 0; at < bytes.len; at += piece) {
		const size_t len = bytes.len - at < piece ? bytes.len - at : piece;

		if (grpcmsg_feed(reply, (struct view){bytes.ptr + at, len}, &err) < 0)
			return err.kind;
	}
	return grpcmsg_end(reply, ret_message, &err) < 0 ? err.kind : ERROR_NONE;
}

static void check_accepted(struct view message, struct view bytes)
{
	CLEANUP(sbuf_deinit) struct sbuf again;

	assert(message.len <= CAP);
	sbuf_init(&again, CAP + GRPCMSG_PREFIX_SIZE);
	grpcmsg_append(&again, message);
	assert(view_equal(sbuf_view(&again), bytes));
}

static void check_reply(struct view bytes, size_t piece)
{
	struct grpcmsg whole, pieces;
	struct view message = {0}, same = {0};
	const enum error_kind kind = read_reply(bytes, bytes.len + 1, &whole, &message);
	const enum error_kind kind_of_pieces = read_reply(bytes, piece, &pieces, &same);

	assert(kind == kind_of_pieces);
	assert(whole.message.allocated <= 2 * CAP && pieces.message.len <= bytes.len);
	if (kind == ERROR_NONE) {
		assert(view_equal(message, same));
		check_accepted(message, bytes);
	}
	grpcmsg_deinit(&whole);
	grpcmsg_deinit(&pieces);
}

static void check_status(int status, struct view text)
{
	struct error err = {0};
	const int result = grpcmsg_check_status(status, text, &err);

	assert((result == 0) == (status == GRPCMSG_OK));
	assert(result == 0 || (err.kind != ERROR_NONE && err.text[0]));
	assert(memchr(err.text, '\0', sizeof(err.text)) && !strpbrk(err.text, "\r\n\t\x1b"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	const struct view bytes = {(const char *)data + 2, size - 2};

	check_reply(bytes, (size_t)data[0] + 1);
	check_status((int)data[1] - 1, bytes);
	return 0;
}
