/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A table with every type of row: what is decoded must come out of encoding and decoding again as
 * it was, and what is refused must leave the struct zero.
 */

#include <stdlib.h>
#include <string.h>

#include "wire/jmap.h"
#include "wire/jmap_decode.h"
#include "wire/jmap_encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct part {
	struct view id;
	int64_t slot;
	struct array tags;
};

struct document {
	struct view text;
	int64_t number;
	bool flag;
	int colour;
	int toggle;
	int64_t time;
	struct part inner;
	bool has_inner;
	struct array parts;
	struct array texts;
};

static const char *const colours[] = {"", "red", "green", NULL};

static const struct jmap_row part_rows[] = {
	{"id", JMAP_TEXT, JMAP_REQUIRED, offsetof(struct part, id), .limit = 8},
	{"slot", JMAP_I64, JMAP_OR_MINUS_ONE, offsetof(struct part, slot), .limit = 9},
	{"tags", JMAP_TEXTS, 0, offsetof(struct part, tags), .limit = 4, .max_items = 3},
	{0},
};

static const struct jmap_row rows[] = {
	{"text", JMAP_TEXT, 0, offsetof(struct document, text), .limit = 16},
	{"number", JMAP_I64, 0, offsetof(struct document, number)},
	{"flag", JMAP_BOOL, JMAP_KEEP_ZERO, offsetof(struct document, flag)},
	{"colour", JMAP_ENUM, JMAP_LENIENT, offsetof(struct document, colour), .names = colours},
	{"toggle", JMAP_TOGGLE, 0, offsetof(struct document, toggle)},
	{"time", JMAP_TIME, 0, offsetof(struct document, time)},
	{"inner", JMAP_OBJECT, 0, offsetof(struct document, inner), .rows = part_rows,
	 .present_offset = 1 + offsetof(struct document, has_inner)},
	{"parts", JMAP_ARRAY, JMAP_KEEP_ZERO, offsetof(struct document, parts), .limit = 5,
	 .rows = part_rows, .element_size = sizeof(struct part)},
	{"texts", JMAP_TEXTS, 0, offsetof(struct document, texts), .limit = 5, .max_items = 3},
	{0},
};

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* A year before 0000 or behind 9999, as an offset can make it, is clamped when written. */
static bool is_writable_time(int64_t ms)
{
	return ms >= INT64_C(-62167219200000) && ms <= INT64_C(253402300799999);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_deinit) struct arena arena;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	struct document first, second;
	struct error err;
	arena_init(&arena, 1u << 20);
	sbuf_init(&buf, 1u << 20);
	memset(&first, 0, sizeof(first));
	memset(&second, 0, sizeof(second));
	struct view text = {(const char *)data, size};
	if (jmap_decode(text, 6, rows, &arena, &first, sizeof(first), &err) != 0) {
		must(memcmp(&first, &second, sizeof(first)) == 0);
		must(err.kind == ERROR_REJECTED || err.kind == ERROR_LIMIT);
		return 0;
	}
	if (!is_writable_time(first.time))
		return 0;
	jmap_encode(rows, &first, &buf);
	must(sbuf_check(&buf, "document", &err) == 0);
	must(jmap_decode(sbuf_view(&buf), 6, rows, &arena, &second, sizeof(second), &err) == 0);
	must(jmap_equal(rows, &first, &second));
	return 0;
}
