/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "wire/jmap.h"
#include "wire/jmap_decode.h"
#include "wire/jmap_encode.h"

struct part {
	struct view id;
	int64_t slot;
	struct array tags;
};

struct inner {
	struct view name;
	int64_t count;
	bool there;
};

struct plain_inner {
	int64_t x;
	bool y;
	int64_t unset;
};

struct document {
	struct view text;
	int64_t number;
	int64_t bounded;
	int64_t unset;
	bool flag;
	bool kept_flag;
	int colour;
	int strict;
	int toggle;
	int64_t time;
	struct inner inner;
	struct plain_inner plain;
	struct array parts;
	struct array texts;
	struct array kept_texts;
	struct view secret;
	struct view kept_text;
};

static const char *const colours[] = {"", "red", "green", NULL};

static const struct jmap_row part_rows[] = {
	{"id", JMAP_TEXT, JMAP_REQUIRED, offsetof(struct part, id), .limit = 8},
	{"slot", JMAP_I64, JMAP_OR_MINUS_ONE, offsetof(struct part, slot)},
	{"tags", JMAP_TEXTS, 0, offsetof(struct part, tags), .limit = 4, .max_items = 9},
	{0},
};

static const struct jmap_row inner_rows[] = {
	{"name", JMAP_TEXT, 0, offsetof(struct inner, name), .limit = 8},
	{"count", JMAP_I64, 0, offsetof(struct inner, count)},
	{0},
};

static const struct jmap_row plain_rows[] = {
	{"x", JMAP_I64, 0, offsetof(struct plain_inner, x)},
	{"y", JMAP_BOOL, JMAP_KEEP_ZERO, offsetof(struct plain_inner, y)},
	{"unset", JMAP_I64, JMAP_OR_MINUS_ONE, offsetof(struct plain_inner, unset)},
	{0},
};

static const struct jmap_row rows[] = {
	{"text", JMAP_TEXT, JMAP_REQUIRED, offsetof(struct document, text), .limit = 10},
	{"number", JMAP_I64, 0, offsetof(struct document, number)},
	{"bounded", JMAP_I64, 0, offsetof(struct document, bounded), .limit = 100},
	{"unset", JMAP_I64, JMAP_OR_MINUS_ONE, offsetof(struct document, unset)},
	{"flag", JMAP_BOOL, 0, offsetof(struct document, flag)},
	{"keptFlag", JMAP_BOOL, JMAP_KEEP_ZERO, offsetof(struct document, kept_flag)},
	{"colour", JMAP_ENUM, JMAP_LENIENT, offsetof(struct document, colour), .names = colours},
	{"strict", JMAP_ENUM, 0, offsetof(struct document, strict), .names = colours},
	{"toggle", JMAP_TOGGLE, 0, offsetof(struct document, toggle)},
	{"time", JMAP_TIME, 0, offsetof(struct document, time)},
	{"inner", JMAP_OBJECT, 0, offsetof(struct document, inner), .rows = inner_rows,
	 .present_offset = 1 + offsetof(struct document, inner.there)},
	{"plain", JMAP_OBJECT, 0, offsetof(struct document, plain), .rows = plain_rows},
	{"parts", JMAP_ARRAY, 0, offsetof(struct document, parts), .limit = 20, .rows = part_rows,
	 .element_size = sizeof(struct part)},
	{"texts", JMAP_TEXTS, 0, offsetof(struct document, texts), .limit = 5, .max_items = 3,
	 .max_in_all = 5},
	{"keptTexts", JMAP_TEXTS, JMAP_KEEP_ZERO, offsetof(struct document, kept_texts), .limit = 5,
	 .max_items = 3, .max_in_all = 5},
	{"secret", JMAP_TEXT, JMAP_DECODE_ONLY, offsetof(struct document, secret), .limit = 5},
	{"keptText", JMAP_TEXT, JMAP_KEEP_ZERO, offsetof(struct document, kept_text), .limit = 5},
	{0},
};

static const struct view full = VIEW_INIT(
	"{\"text\":\"a\\u00e4\\n\",\"number\":-9223372036854775808,\"bounded\":100,\"unset\":0,"
	"\"flag\":true,\"keptFlag\":false,\"colour\":\"green\",\"strict\":\"red\",\"toggle\":false,"
	"\"time\":\"2026-01-02T03:04:05.678Z\",\"inner\":{\"name\":\"in\",\"count\":3},"
	"\"plain\":{\"x\":1,\"y\":false,\"unset\":7},"
	"\"parts\":[{\"id\":\"p0\",\"slot\":0},{\"id\":\"p1\",\"tags\":[\"a\",\"b\"]},{\"id\":\"p2\"},"
	"{\"id\":\"p3\"},{\"id\":\"p4\",\"slot\":4,\"tags\":[\"c\"]}],"
	"\"texts\":[\"x\",\"\"],\"keptTexts\":[],\"keptText\":\"\"}");

static const struct view nothing = {NULL, 0};

static int decode(struct view text, struct arena *arena, struct document *ret, struct error *err)
{
	memset(ret, 0, sizeof(*ret));
	return jmap_decode(text, 6, rows, arena, ret, sizeof(*ret), err);
}

/* Decodes what must be accepted. */
static struct document decoded(struct view text, struct arena *arena)
{
	struct document document;
	struct error err = {0};
	if (decode(text, arena, &document, &err) != 0)
		fail_msg("%.*s: %s", VIEW_ARG(text), err.text);
	return document;
}

static void every_type_is_decoded(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 1u << 16);
	struct document document = decoded(full, &arena);
	assert_true(view_equal(document.text, VIEW("a\xc3\xa4\n")));
	assert_int_equal(document.text.ptr[document.text.len], '\0');
	assert_true(document.number == INT64_MIN);
	assert_int_equal(document.bounded, 100);
	assert_int_equal(document.unset, 0);
	assert_true(document.flag);
	assert_false(document.kept_flag);
	assert_int_equal(document.colour, 2);
	assert_int_equal(document.strict, 1);
	assert_int_equal(document.toggle, 2);
	assert_true(document.time == 1767323045678);
	assert_true(document.inner.there);
	assert_true(view_equal(document.inner.name, VIEW("in")));
	assert_int_equal(document.plain.unset, 7);
	assert_int_equal(document.parts.count, 5);
	const struct part *part = ARRAY_AT(document.parts, struct part, 0);
	assert_int_equal(part[0].slot, 0);
	assert_false(part[0].tags.present);
	assert_int_equal(part[1].slot, -1);
	assert_true(view_equal(*ARRAY_AT(part[1].tags, struct view, 1), VIEW("b")));
	assert_true(view_equal(part[4].id, VIEW("p4")));
	assert_int_equal(document.texts.count, 2);
	assert_true(document.kept_texts.present);
	assert_int_equal(document.kept_texts.count, 0);
}

static void absent_and_null_members_leave_zero_or_minus_one(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 1u << 16);
	struct document absent = decoded(VIEW("{\"text\":\"\"}"), &arena);
	struct document null = decoded(
		VIEW("{\"text\":\"\",\"number\":null,\"unset\":null,\"flag\":null,\"colour\":null,"
		     "\"toggle\":null,\"time\":null,\"inner\":null,\"plain\":null,\"parts\":null,"
		     "\"texts\":null}"),
		&arena);
	assert_true(jmap_equal(rows, &absent, &null));
	assert_int_equal(null.unset, -1);
	assert_int_equal(null.plain.unset, -1);
	assert_int_equal(null.toggle, 0);
	assert_false(null.inner.there);
	assert_false(null.parts.present);
	assert_false(null.texts.present);
}

static void a_document_survives_encoding_and_decoding(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	arena_init(&arena, 1u << 16);
	sbuf_init(&buf, 10000);
	struct document first = decoded(full, &arena);
	jmap_encode(rows, &first, &buf);
	struct document second = decoded(sbuf_view(&buf), &arena);
	assert_true(jmap_equal(rows, &first, &second));
	assert_string_equal(
		sbuf_text(&buf),
		"{\"text\":\"a\xc3\xa4\\n\",\"number\":-9223372036854775808,\"bounded\":100,"
		"\"unset\":0,\"flag\":true,\"keptFlag\":false,\"colour\":\"green\",\"strict\":\"red\","
		"\"toggle\":false,\"time\":\"2026-01-02T03:04:05.678Z\","
		"\"inner\":{\"name\":\"in\",\"count\":3},\"plain\":{\"x\":1,\"y\":false,\"unset\":7},"
		"\"parts\":[{\"id\":\"p0\",\"slot\":0},{\"id\":\"p1\",\"tags\":[\"a\",\"b\"]},"
		"{\"id\":\"p2\"},{\"id\":\"p3\"},{\"id\":\"p4\",\"slot\":4,\"tags\":[\"c\"]}],"
		"\"texts\":[\"x\",\"\"],\"keptTexts\":[],\"keptText\":\"\"}");
}

static void zero_values_are_left_out_unless_their_row_keeps_them(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 1000);
	struct document document = {.unset = -1, .plain.unset = -1, .secret = VIEW("x")};
	jmap_encode(rows, &document, &buf);
	assert_string_equal(sbuf_text(&buf), "{\"text\":\"\",\"keptFlag\":false,\"keptText\":\"\"}");
	sbuf_clear(&buf);
	document.inner.there = true;
	document.kept_texts.present = true;
	document.texts.present = true;
	document.plain.y = true;
	document.time = 1000;
	jmap_encode(rows, &document, &buf);
	assert_string_equal(sbuf_text(&buf),
			    "{\"text\":\"\",\"keptFlag\":false,\"time\":\"1970-01-01T00:00:01Z\","
			    "\"inner\":{},\"plain\":{\"y\":true},\"keptTexts\":[],\"keptText\":\"\"}");
}

static void refusals_name_the_member(void **state)
{
	(void)state;
	static const struct {
		struct view text;
		enum error_kind kind;
		const char *message;
	} refused[] = {
		{VIEW_INIT("[]"), ERROR_REJECTED, "document: not an object"},
		{VIEW_INIT("\"x\""), ERROR_REJECTED, "document: not an object"},
		{VIEW_INIT("null"), ERROR_REJECTED, "document: not an object"},
		{VIEW_INIT("{}"), ERROR_REJECTED, "text: missing"},
		{VIEW_INIT("{\"text\":null}"), ERROR_REJECTED, "text: missing"},
		{VIEW_INIT("{\"text\":1}"), ERROR_REJECTED, "text: not a string"},
		{VIEW_INIT("{\"text\":{}}"), ERROR_REJECTED, "text: not a string"},
		{VIEW_INIT("{\"text\":\"12345678901\"}"), ERROR_LIMIT, "text: too long"},
		{VIEW_INIT("{\"text\":\"1234567890\\n\"}"), ERROR_LIMIT, "text: too long"},
		{VIEW_INIT("{\"text\":\"a\\u0000\"}"), ERROR_REJECTED,
		 "text: a NUL or half a surrogate pair in the text"},
		{VIEW_INIT("{\"text\":\"\\ud800\"}"), ERROR_REJECTED,
		 "text: a NUL or half a surrogate pair in the text"},
		{VIEW_INIT("{\"text\":\"\",\"text\":\"\"}"), ERROR_REJECTED, "text: given twice"},
		{VIEW_INIT("{\"text\":\"\",\"t\\u0065xt\":\"\"}"), ERROR_REJECTED,
		 "text: given twice"},
		{VIEW_INIT("{\"number\":null,\"number\":1}"), ERROR_REJECTED, "number: given twice"},
		{VIEW_INIT("{\"number\":\"1\"}"), ERROR_REJECTED, "number: not an integer"},
		{VIEW_INIT("{\"number\":1.0}"), ERROR_REJECTED, "number: not an integer"},
		{VIEW_INIT("{\"number\":1e2}"), ERROR_REJECTED, "number: not an integer"},
		{VIEW_INIT("{\"number\":true}"), ERROR_REJECTED, "number: not an integer"},
		{VIEW_INIT("{\"number\":9223372036854775808}"), ERROR_REJECTED,
		 "number: out of range"},
		{VIEW_INIT("{\"number\":-9223372036854775809}"), ERROR_REJECTED,
		 "number: out of range"},
		{VIEW_INIT("{\"bounded\":101}"), ERROR_REJECTED, "bounded: out of range"},
		{VIEW_INIT("{\"bounded\":-1}"), ERROR_REJECTED, "bounded: out of range"},
		{VIEW_INIT("{\"flag\":1}"), ERROR_REJECTED, "flag: not a boolean"},
		{VIEW_INIT("{\"flag\":\"true\"}"), ERROR_REJECTED, "flag: not a boolean"},
		{VIEW_INIT("{\"toggle\":0}"), ERROR_REJECTED, "toggle: not a boolean"},
		{VIEW_INIT("{\"strict\":\"blue\"}"), ERROR_REJECTED,
		 "strict: not one of the known values"},
		{VIEW_INIT("{\"strict\":1}"), ERROR_REJECTED, "strict: not a string"},
		{VIEW_INIT("{\"time\":\"yesterday\"}"), ERROR_REJECTED, "time: not an RFC 3339 time"},
		{VIEW_INIT("{\"time\":17}"), ERROR_REJECTED, "time: not a string"},
		{VIEW_INIT("{\"inner\":[]}"), ERROR_REJECTED, "inner: not an object"},
		{VIEW_INIT("{\"inner\":{\"count\":[]}}"), ERROR_REJECTED,
		 "inner.count: not an integer"},
		{VIEW_INIT("{\"parts\":{}}"), ERROR_REJECTED, "parts: not an array"},
		{VIEW_INIT("{\"parts\":[{\"id\":\"\"},{}]}"), ERROR_REJECTED, "parts[1].id: missing"},
		{VIEW_INIT("{\"parts\":[null]}"), ERROR_REJECTED, "parts[0]: not an object"},
		{VIEW_INIT("{\"parts\":[{\"id\":\"\",\"tags\":[\"\",\"12345\"]}]}"), ERROR_LIMIT,
		 "parts[0].tags[1]: too long"},
		{VIEW_INIT("{\"texts\":[\"\",\"\",\"\",\"\"]}"), ERROR_LIMIT,
		 "texts: too many elements"},
		{VIEW_INIT("{\"texts\":[\"\",\"\",\"\"],\"keptTexts\":[\"\",\"\",\"\"]}"), ERROR_LIMIT,
		 "keptTexts: too many elements in all such lists"},
		{VIEW_INIT("{\"texts\":[1]}"), ERROR_REJECTED, "texts[0]: not a string"},
		{VIEW_INIT("{\"unknown\":[[[[[[1]]]]]]}"), ERROR_LIMIT, "nested deeper than 6 at byte 17"},
		{VIEW_INIT("{\"text\":NaN}"), ERROR_REJECTED, "not JSON at byte 8: a value expected"},
		{VIEW_INIT("{\"text\":\"\"} x"), ERROR_REJECTED, "not JSON at byte 12: the end expected"},
		{VIEW_INIT("{\"text\":\"\",\"unknown\":nul}"), ERROR_REJECTED,
		 "not JSON at byte 21: a value expected"},
		{VIEW_INIT(""), ERROR_REJECTED, "not JSON at byte 0: a value expected"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct document document;
		struct error err = {0};
		arena_init(&arena, 1u << 16);
		if (decode(refused[i].text, &arena, &document, &err) == 0)
			fail_msg("accepted: %.*s", VIEW_ARG(refused[i].text));
		assert_string_equal(err.text, refused[i].message);
		assert_int_equal(err.kind, refused[i].kind);
		static const struct document zero;
		assert_memory_equal(&document, &zero, sizeof(zero));
	}
}

static void unknown_members_are_ignored_whatever_they_hold(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 1u << 16);
	struct document document = decoded(
		VIEW("{\"x\":1e999,\"text\":\"t\",\"y\":123456789012345678901234567890,"
		     "\"\":\"\\u0000\\ud800\",\"x\":{\"text\":[1,{\"a\":null}]},\"\\u0000\":0,"
		     "\"te\":1,\"textt\":2}"),
		&arena);
	assert_true(view_equal(document.text, VIEW("t")));
}

static void members_may_come_in_any_order_and_with_escapes(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 1u << 16);
	struct document document = decoded(
		VIEW("{\"keptText\":\"k\", \"n\\u0075mber\":5, \"toggle\":true, \"text\":\"t\","
		     "\"colour\":\"bl\\u0075e\",\"strict\":\"r\\u0065d\"}"),
		&arena);
	assert_int_equal(document.number, 5);
	assert_int_equal(document.toggle, 1);
	assert_int_equal(document.colour, 0);
	assert_int_equal(document.strict, 1);
	assert_true(view_equal(document.kept_text, VIEW("k")));
}

static void every_truncation_is_refused_and_leaves_zero(void **state)
{
	(void)state;
	static const struct document zero;
	for (size_t len = 0; len < full.len; len++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct document document;
		struct error err;
		arena_init(&arena, 1u << 16);
		char *cut = malloc(len ? len : 1);
		memcpy(cut, full.ptr, len);
		assert_int_equal(decode((struct view){cut, len}, &arena, &document, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_memory_equal(&document, &zero, sizeof(zero));
		free(cut);
	}
}

static void a_changed_byte_never_does_harm(void **state)
{
	(void)state;
	static const char bytes[] = "\"\\{}[],:x0-\x80\n";
	char text[1024];
	assert_true(full.len <= sizeof(text));
	for (size_t at = 0; at < full.len; at++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			CLEANUP(arena_deinit) struct arena arena;
			struct document document;
			struct error err;
			arena_init(&arena, 1u << 16);
			memcpy(text, full.ptr, full.len);
			text[at] = bytes[i];
			int result = decode((struct view){text, full.len}, &arena, &document, &err);
			assert_true(result == 0 || err.text[0] != '\0');
		}
	}
}

static void arrays_reach_their_limit(void **state)
{
	(void)state;
	for (uint32_t n = 0; n <= 21; n++) {
		CLEANUP(arena_deinit) struct arena arena;
		CLEANUP(sbuf_deinit) struct sbuf text;
		struct document document;
		struct error err;
		arena_init(&arena, 1u << 16);
		sbuf_init(&text, 10000);
		sbuf_append(&text, VIEW("{\"text\":\"\",\"parts\":["));
		for (uint32_t i = 0; i < n; i++)
			sbuf_printf(&text, "%s{\"id\":\"%u\"}", i ? "," : "", i);
		sbuf_append(&text, VIEW("]}"));
		int result = decode(sbuf_view(&text), &arena, &document, &err);
		assert_int_equal(result, n <= 20 ? 0 : -1);
		for (uint32_t i = 0; i < document.parts.count; i++) {
			uint64_t id = 77;
			const struct part *part = ARRAY_AT(document.parts, struct part, i);
			assert_true(view_parse_u64(part->id, &id) && id == i);
			assert_int_equal(part->slot, -1);
		}
		assert_int_equal(document.parts.count, n <= 20 ? n : 0);
	}
}

static void a_small_arena_is_a_limit(void **state)
{
	(void)state;
	size_t enough = 0;
	for (size_t cap = 0; enough == 0; cap += 16) {
		CLEANUP(arena_deinit) struct arena arena;
		struct document document;
		struct error err;
		arena_init(&arena, cap);
		if (decode(full, &arena, &document, &err) == 0)
			enough = cap;
		else
			assert_int_equal(err.kind, ERROR_LIMIT);
	}
	assert_in_range(enough, 200, 2000);
}

static void lack_of_memory_is_told_and_leaves_zero(void **state)
{
	(void)state;
	static const struct document zero;
	bool failed = true;
	unsigned n_failures = 0;
	for (unsigned k = 1; failed; k++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct document document;
		struct error err;
		arena_init(&arena, 1u << 16);
		failing_malloc_at(k);
		int result = decode(full, &arena, &document, &err);
		failed = failing_malloc_off();
		n_failures += failed;
		assert_int_equal(result, failed ? -1 : 0);
		if (failed) {
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			assert_memory_equal(&document, &zero, sizeof(zero));
		}
	}
	assert_true(n_failures >= 2);
}

/* Of some of the documents below: where they differ. */
static void expect_path(size_t i, const char *path)
{
	static const char *const paths[17] = {
		[0] = ".text", [10] = ".inner", [11] = ".plain.y", [12] = ".parts", [13] = ".parts[].slot",
		[14] = ".texts",
	};
	if (paths[i])
		assert_string_equal(path, paths[i]);
}

static void equality_sees_each_row_and_only_rows(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 1u << 20);
	struct document a = decoded(full, &arena);
	struct document same = decoded(full, &arena);
	assert_true(jmap_equal(rows, &a, &same));
	same.secret = VIEW("ignored");
	assert_true(jmap_equal(rows, &a, &same));

	struct document other[17];
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		other[i] = decoded(full, &arena);
	other[0].text = VIEW("x");
	other[1].number++;
	other[2].bounded--;
	other[3].unset = -1;
	other[4].flag = false;
	other[5].kept_flag = true;
	other[6].colour = 0;
	other[7].strict = 0;
	other[8].toggle = 1;
	other[9].time++;
	other[10].inner.there = false;
	other[11].plain.y = true;
	other[12].parts.count--;
	ARRAY_AT(other[13].parts, struct part, 4)->slot = 5;
	*ARRAY_AT(other[14].texts, struct view, 1) = VIEW("y");
	other[15].kept_texts.present = false;
	other[16].kept_text = nothing;
	for (size_t i = 0; i < ARRAY_SIZE(other) - 1; i++) {
		CLEANUP(sbuf_deinit) struct sbuf path;
		sbuf_init(&path, 128);
		assert_false(jmap_equal(rows, &a, &other[i]));
		assert_true(jmap_find_difference(rows, &a, &other[i], &path));
		expect_path(i, sbuf_text(&path));
	}
	assert_true(jmap_equal(rows, &a, &other[16]));
	assert_false(jmap_find_difference(rows, &a, &other[16], NULL));
	/* Without JMAP_KEEP_ZERO an empty list and none are the same document. */
	struct document empty = a, none = a;
	empty.texts = (struct array){.present = true};
	none.texts = (struct array){0};
	assert_true(jmap_equal(rows, &empty, &none));
}

static void objects_that_are_both_absent_are_the_same(void **state)
{
	(void)state;
	struct document a = {.inner.count = 1}, b = {.inner.count = 2};
	assert_true(jmap_equal(rows, &a, &b));
	a.inner.there = b.inner.there = true;
	assert_false(jmap_equal(rows, &a, &b));
}

static void elements_that_are_no_objects_are_left_out_where_the_row_says_so(void **state)
{
	(void)state;
	static const struct jmap_row lenient[] = {
		{"parts", JMAP_ARRAY, JMAP_LENIENT, offsetof(struct document, parts), .limit = 2,
		 .rows = part_rows, .element_size = sizeof(struct part)},
		{0},
	};
	static const struct {
		struct view json;
		uint32_t count;
	} good[] = {
		{VIEW_INIT("{\"parts\":[\"uid-a\",\"uid-b\",7]}"), 0},
		{VIEW_INIT("{\"parts\":[null,{\"id\":\"p\"},[{}],{\"id\":\"q\"},true]}"), 2},
	};
	static const struct view bad[] = {
		VIEW_INIT("{\"parts\":[\"uid-a\",{}]}"), VIEW_INIT("{\"parts\":[\"uid-a\""),
		VIEW_INIT("{\"parts\":[nil]}"), VIEW_INIT("{\"parts\":[1,]}"),
		VIEW_INIT("{\"parts\":\"uid-a\"}"),
	};
	struct document read;
	struct arena arena;
	struct error err;

	arena_init(&arena, 1 << 16);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		memset(&read, 0, sizeof(read));
		assert_int_equal(jmap_decode(good[i].json, 6, lenient, &arena, &read, sizeof(read),
					     &err), 0);
		assert_int_equal(read.parts.count, good[i].count);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(&read, 0, sizeof(read));
		assert_int_equal(jmap_decode(bad[i], 6, lenient, &arena, &read, sizeof(read), &err),
				 -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
	arena_deinit(&arena);
}

static void an_unknown_word_is_the_last_one_where_the_row_says_so(void **state)
{
	(void)state;
	static const struct jmap_row paint_rows[] = {
		{"colour", JMAP_ENUM, JMAP_OR_LAST, offsetof(struct document, colour),
		 .names = colours},
		{0},
	};
	static const struct {
		const char *json;
		int colour;
	} documents[] = {
		{"{\"colour\":\"red\"}", 1},
		{"{\"colour\":\"blue\"}", 2},
		{"{\"colour\":\"\"}", 0},
		{"{}", 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct document document = {0};
		struct error err;
		arena_init(&arena, 1024);
		assert_int_equal(jmap_decode(view_from(documents[i].json), 6, paint_rows, &arena,
					     &document, sizeof(document), &err), 0);
		assert_int_equal(document.colour, documents[i].colour);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(objects_that_are_both_absent_are_the_same),
	cmocka_unit_test(elements_that_are_no_objects_are_left_out_where_the_row_says_so),
	cmocka_unit_test(an_unknown_word_is_the_last_one_where_the_row_says_so),
	cmocka_unit_test(every_type_is_decoded),
	cmocka_unit_test(absent_and_null_members_leave_zero_or_minus_one),
	cmocka_unit_test(a_document_survives_encoding_and_decoding),
	cmocka_unit_test(zero_values_are_left_out_unless_their_row_keeps_them),
	cmocka_unit_test(refusals_name_the_member),
	cmocka_unit_test(unknown_members_are_ignored_whatever_they_hold),
	cmocka_unit_test(members_may_come_in_any_order_and_with_escapes),
	cmocka_unit_test(every_truncation_is_refused_and_leaves_zero),
	cmocka_unit_test(a_changed_byte_never_does_harm),
	cmocka_unit_test(arrays_reach_their_limit),
	cmocka_unit_test(a_small_arena_is_a_limit),
	cmocka_unit_test(lack_of_memory_is_told_and_leaves_zero),
	cmocka_unit_test(equality_sees_each_row_and_only_rows),
};
TEST_MAIN(tests)
