/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Nearly all tags and lengths are one byte long; they are read without a loop. A pod has some
 * hundred fields, so what one costs is what a pod costs.
 */

#include "wire/pbscan.h"

#define VARINT_MAX 10
#define NUMBER_MAX ((UINT32_C(1) << 29) - 1)

void pbscan_init(struct pbscan *scan, struct view message)
{
	*scan = (struct pbscan){.rest = message};
}

/* n is at most bytes->len. */
static void advance(struct view *bytes, size_t n)
{
	bytes->ptr += n;
	bytes->len -= n;
}

int pbscan_varint(struct view *bytes, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < VARINT_MAX; i++) {
		if (i >= bytes->len)
			return 0;
		unsigned char byte = (unsigned char)bytes->ptr[i];
		/* The tenth byte holds the one bit that is left of 64. */
		if (i == VARINT_MAX - 1 && byte > 1)
			return -1;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			*ret_value = value;
			advance(bytes, i + 1);
			return (int)i + 1;
		}
	}
	return -1;
}

static bool take_varint(struct view *bytes, uint64_t *ret_value)
{
	if (bytes->len > 0 && (unsigned char)bytes->ptr[0] < 0x80) {
		*ret_value = (unsigned char)bytes->ptr[0];
		advance(bytes, 1);
		return true;
	}
	return pbscan_varint(bytes, ret_value) > 0;
}

/* Takes a little-endian number of `size` bytes off the front. */
static bool take_fixed(struct view *bytes, size_t size, uint64_t *ret_value)
{
	if (bytes->len < size)
		return false;
	uint64_t value = 0;
	for (size_t i = size; i > 0; i--)
		value = value << 8 | (unsigned char)bytes->ptr[i - 1];
	*ret_value = value;
	advance(bytes, size);
	return true;
}

static bool take_bytes(struct view *bytes, struct view *ret)
{
	uint64_t len;
	if (!take_varint(bytes, &len) || len > bytes->len)
		return false;
	*ret = (struct view){bytes->ptr, (size_t)len};
	advance(bytes, (size_t)len);
	return true;
}

static bool take_value(struct view *bytes, struct pbscan_field *field)
{
	switch (field->wire) {
	case PBSCAN_VARINT:
		return take_varint(bytes, &field->value);
	case PBSCAN_FIXED64:
		return take_fixed(bytes, 8, &field->value);
	case PBSCAN_BYTES:
		return take_bytes(bytes, &field->bytes);
	case PBSCAN_FIXED32:
		return take_fixed(bytes, 4, &field->value);
	}
	return false; /* groups, and wire types that do not exist */
}

bool pbscan_next(struct pbscan *scan, struct pbscan_field *ret_field)
{
	if (scan->failed || scan->rest.len == 0)
		return false;
	uint64_t tag;
	struct pbscan_field field = {0};
	bool ok = take_varint(&scan->rest, &tag) && tag >> 3 > 0 && tag >> 3 <= NUMBER_MAX;
	if (ok) {
		field.number = (uint32_t)(tag >> 3);
		field.wire = (enum pbscan_wire)(tag & 7);
		ok = take_value(&scan->rest, &field);
	}
	if (!ok) {
		scan->failed = true;
		return false;
	}
	*ret_field = field;
	return true;
}

int pbscan_check(const struct pbscan *scan, const char *what, struct error *err)
{
	if (scan->failed)
		return error_set(err, ERROR_REJECTED, 0, "%s: malformed protobuf, %zu bytes before its end",
				 what, scan->rest.len);
	return 0;
}
