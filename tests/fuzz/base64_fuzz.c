/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The input is encoded and decoded again without a loss. As a text it is decoded to the bytes that its
 * encoded form has, or refused, and then nothing is written. Of the alphabet for URLs no other text has
 * the same bytes.
 */

#include <assert.h>

#include "wire/base64.h"

#define BEFORE VIEW("before")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef bool decode_fn(struct view text, struct sbuf *out);

/* The decoded bytes lie behind what was there before. */
static bool decode(decode_fn *decoder, struct view text, struct sbuf *out, struct view *ret_bytes)
{
	sbuf_init(out, BEFORE.len + text.len + 3);
	sbuf_append(out, BEFORE);
	const bool is_read = decoder(text, out);
	assert(out->failure == ERROR_NONE && out->len >= BEFORE.len);
	assert(view_starts_with(sbuf_view(out), BEFORE));
	assert(is_read || out->len == BEFORE.len);
	*ret_bytes = view_from_offset(sbuf_view(out), BEFORE.len);
	assert(ret_bytes->len <= text.len / 4 * 3 + 2);
	return is_read;
}

static void encode(struct view bytes, struct sbuf *text)
{
	sbuf_init(text, bytes.len / 3 * 4 + 4);
	base64_encode(bytes, text);
	assert(text->failure == ERROR_NONE && text->len == (bytes.len + 2) / 3 * 4);
}

static void make_url(struct sbuf *text)
{
	while (text->len > 0 && text->ptr[text->len - 1] == '=')
		sbuf_truncate(text, text->len - 1);
	for (size_t i = 0; i < text->len; i++)
		text->ptr[i] = text->ptr[i] == '+' ? '-' : text->ptr[i] == '/' ? '_' : text->ptr[i];
}

static void check_bytes(struct view bytes)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	CLEANUP(sbuf_deinit) struct sbuf plain;
	CLEANUP(sbuf_deinit) struct sbuf url;
	struct view decoded;
	bool is_read;

	encode(bytes, &text);
	is_read = decode(base64_decode, sbuf_view(&text), &plain, &decoded);
	assert(is_read && view_equal(decoded, bytes));
	make_url(&text);
	is_read = decode(base64_decode_url, sbuf_view(&text), &url, &decoded);
	assert(is_read && view_equal(decoded, bytes));
}

static void check_text(struct view text)
{
	CLEANUP(sbuf_deinit) struct sbuf plain;
	CLEANUP(sbuf_deinit) struct sbuf url;
	struct view bytes;

	if (decode(base64_decode, text, &plain, &bytes))
		check_bytes(bytes);
	if (decode(base64_decode_url, text, &url, &bytes)) {
		CLEANUP(sbuf_deinit) struct sbuf again;
		encode(bytes, &again);
		make_url(&again);
		assert(view_equal(sbuf_view(&again), text));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct view input = {(const char *)data, size};

	check_bytes(input);
	check_text(input);
	return 0;
}
