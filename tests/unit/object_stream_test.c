/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/object_stream.h"
#include "lib/failing_malloc.h"

struct taken {
	char text[256]; /* of all objects, with '|' behind each */
	int refuse_at;  /* this one is refused; 0: none is */
	int n;
};

static int take(void *context, struct view json, struct error *err)
{
	struct taken *taken = context;
	if (++taken->n == taken->refuse_at)
		return error_set(err, ERROR_REJECTED, 0, "refused");
	size_t len = strlen(taken->text);
	snprintf(taken->text + len, sizeof(taken->text) - len, "%.*s|", VIEW_ARG(json));
	return 0;
}

/* Feeds the text in pieces of that size. */
static int feed(enum object_stream_form form, const char *text, size_t piece, struct taken *taken,
		struct error *err)
{
	CLEANUP(object_stream_deinit) struct object_stream stream;
	object_stream_init(&stream, form, take, taken);
	for (struct view rest = view_from(text); rest.len > 0;) {
		size_t n = rest.len < piece ? rest.len : piece;
		if (object_stream_feed(&stream, (struct view){rest.ptr, n}, err) != 0)
			return -1;
		rest = view_from_offset(rest, n);
	}
	return object_stream_finish(&stream, err);
}

static void each_form_of_answer_gives_its_objects(void **state)
{
	(void)state;
	static const struct {
		enum object_stream_form form;
		const char *text, *objects;
	} rows[] = {
		{OBJECT_STREAM_LIST, "{\"apiVersion\":\"v1\",\"items\":[{\"a\":1},{\"b\":2}],\"kind\":\"List\"}\n",
		 "{\"a\":1}|{\"b\":2}|"},
		{OBJECT_STREAM_LIST, "{\"items\":[]}", ""},
		{OBJECT_STREAM_LIST, "{\"items\":null}", ""},
		{OBJECT_STREAM_NAMED, "", ""},
		{OBJECT_STREAM_NAMED, "\n", ""},
		{OBJECT_STREAM_NAMED, "{\"kind\":\"Pod\",\"x\":[1]}\n", "{\"kind\":\"Pod\",\"x\":[1]}|"},
		{OBJECT_STREAM_NAMED, "{\"items\":[ {\"a\":1} ,\n{\"b\":2} ],\"kind\":\"List\"}",
		 "{\"a\":1}|{\"b\":2}|"},
		{OBJECT_STREAM_NAMED, "{\"items\":[ ]}", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t piece = 1; piece < 100; piece += 7) {
			struct taken taken = {0};
			struct error err;
			assert_int_equal(feed(rows[i].form, rows[i].text, piece, &taken, &err), 0);
			assert_string_equal(taken.text, rows[i].objects);
		}
	}
}

static void what_is_cut_short_or_no_json_fails(void **state)
{
	(void)state;
	static const struct {
		enum object_stream_form form;
		const char *text;
	} rows[] = {
		{OBJECT_STREAM_LIST, ""},
		{OBJECT_STREAM_LIST, "{\"items\":[{\"a\":1},"},
		{OBJECT_STREAM_LIST, "{\"items\":[{\"a\":1}]"},
		{OBJECT_STREAM_LIST, "<html>"},
		{OBJECT_STREAM_NAMED, "<html>"},
		{OBJECT_STREAM_NAMED, "{\"kind\":\"Pod\""},
		{OBJECT_STREAM_NAMED, "{\"items\":[{\"a\":1},]}"},
		{OBJECT_STREAM_NAMED, "{\"items\":[{\"a\":1}"},
		{OBJECT_STREAM_NAMED, "{\"items\":7}"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct taken taken = {0};
		struct error err;
		assert_int_equal(feed(rows[i].form, rows[i].text, 1000, &taken, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void an_object_that_is_refused_ends_it(void **state)
{
	(void)state;
	static const char list[] = "{\"items\":[{\"a\":1},{\"b\":2},{\"c\":3}]}";
	for (int form = OBJECT_STREAM_LIST; form <= OBJECT_STREAM_NAMED; form++) {
		struct taken taken = {.refuse_at = 2};
		struct error err;
		assert_int_equal(feed((enum object_stream_form)form, list, 1000, &taken, &err), -1);
		assert_string_equal(err.text, "refused");
		assert_int_equal(taken.n, 2);
	}
}

static void the_answer_for_names_has_an_end(void **state)
{
	(void)state;
	static char blanks[65536];
	struct taken taken = {0};
	struct error err;
	CLEANUP(object_stream_deinit) struct object_stream stream;
	memset(blanks, ' ', sizeof(blanks));
	object_stream_init(&stream, OBJECT_STREAM_NAMED, take, &taken);
	for (size_t fed = 0; fed < OBJECT_STREAM_NAMED_BYTES; fed += sizeof(blanks))
		assert_int_equal(object_stream_feed(&stream, (struct view){blanks, sizeof(blanks)}, &err), 0);
	assert_int_equal(object_stream_feed(&stream, VIEW(" "), &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void missing_memory_is_said(void **state)
{
	(void)state;
	static const char list[] = "{\"items\":[{\"a\":1},{\"b\":2}]}";
	for (int form = OBJECT_STREAM_LIST; form <= OBJECT_STREAM_NAMED; form++) {
		bool failed = true;
		for (unsigned k = 1; failed; k++) {
			struct taken taken = {0};
			struct error err;
			failing_malloc_at(k);
			int result = feed((enum object_stream_form)form, list, 9, &taken, &err);
			failed = failing_malloc_off();
			assert_int_equal(result, failed ? -1 : 0);
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_form_of_answer_gives_its_objects),
	cmocka_unit_test(what_is_cut_short_or_no_json_fails),
	cmocka_unit_test(an_object_that_is_refused_ends_it),
	cmocka_unit_test(the_answer_for_names_has_an_end),
	cmocka_unit_test(missing_memory_is_said),
};
TEST_MAIN(tests)
