/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvml_frame.h"

#include <assert.h>

size_t nvml_frame_begin(struct sbuf *out)
{
	const char none[NVML_FRAME_HEAD] = {0};
	size_t begin = out->len;
	sbuf_append(out, (struct view){none, sizeof(none)});
	return begin;
}

void nvml_frame_end(struct sbuf *out, size_t begin)
{
	if (out->failure != ERROR_NONE)
		return;
	size_t len = out->len - begin - NVML_FRAME_HEAD;
	assert(len > 0 && len <= UINT32_MAX);
	for (unsigned i = 0; i < NVML_FRAME_HEAD; i++)
		out->ptr[begin + i] = (char)(len >> (8 * i) & 0xff);
}

int nvml_frame_next(struct view bytes, bool *ret_is_whole, struct view *ret_body,
		    struct error *err)
{
	uint32_t len = 0;
	*ret_is_whole = false;
	if (bytes.len < NVML_FRAME_HEAD)
		return 0;
	for (unsigned i = 0; i < NVML_FRAME_HEAD; i++)
		len |= (uint32_t)(unsigned char)bytes.ptr[i] << (8 * i);
	if (len == 0)
		return error_set(err, ERROR_REJECTED, 0, "a message without a body");
	if (len > LIMIT_READING_BYTES)
		return error_set(err, ERROR_LIMIT, 0, "a message of %u bytes: more than %u", len,
				 LIMIT_READING_BYTES);
	*ret_is_whole = bytes.len - NVML_FRAME_HEAD >= len;
	if (*ret_is_whole)
		*ret_body = (struct view){bytes.ptr + NVML_FRAME_HEAD, len};
	return 0;
}
