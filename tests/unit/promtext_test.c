/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <math.h>
#include <stdlib.h>

#include "wire/promtext.h"

#define MAX_LINE 200u
#define ROW "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",hostname=\"gpu-a\"} 38\n"

static struct error err;

static void write_down(const struct promtext_sample *sample, struct sbuf *out)
{
	sbuf_append(out, sample->name);
	for (size_t i = 0; i < sample->n_labels; i++)
		sbuf_printf(out, " %.*s=[%.*s]", VIEW_ARG(sample->labels[i].name),
			    VIEW_ARG(sample->labels[i].value));
	sbuf_printf(out, " %g;", sample->value);
}

/* Feeds a text in pieces of this size, and writes down what comes out. */
static int read_in_pieces(struct view bytes, size_t piece, struct sbuf *out)
{
	CLEANUP(promtext_deinit) struct promtext text;
	promtext_init(&text, MAX_LINE);
	while (bytes.len > 0) {
		struct view input = {bytes.ptr, piece < bytes.len ? piece : bytes.len};
		bytes = view_from_offset(bytes, input.len);
		struct promtext_sample sample;
		enum promtext_step step;
		while ((step = promtext_next(&text, &input, &sample, &err)) == PROMTEXT_SAMPLE)
			write_down(&sample, out);
		if (step == PROMTEXT_FAILED)
			return -1;
		assert_int_equal(input.len, 0);
	}
	return promtext_end(&text, &err);
}

static int read_whole(struct view bytes, struct sbuf *out)
{
	sbuf_clear(out);
	return read_in_pieces(bytes, bytes.len + 1, out);
}

static void samples_come_out_with_name_labels_and_value(void **state)
{
	(void)state;
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"", ""},
		{"\n\n# HELP a Something.\n# TYPE a gauge\n#\n", ""},
		{"a 1\nb:c_9 2\n", "a 1;b:c_9 2;"},
		{ROW, "DCGM_FI_DEV_GPU_UTIL gpu=[0] UUID=[GPU-1] hostname=[gpu-a] 38;"},
		{"a{} 1\na{b=\"\"} 2\na{b=\"c\",} 3\n", "a 1;a b=[] 2;a b=[c] 3;"},
		{" a { b = \"c\" , d = \"e\" } \t 1 \n", "a b=[c] d=[e] 1;"},
		{"a{b=\"c\"}1\n", "a b=[c] 1;"},
		{"a{b=\"\\\\ \\\" {,}=\",c=\"\xc3\xbc\"} 1\n", "a b=[\\ \" {,}=] c=[\xc3\xbc] 1;"},
		{"a{b=\"x\\ny\"} 1\n", "a b=[x\ny] 1;"},
		{"a 1 1700000000000\nb 2 -1.5\n", "a 1;b 2;"},
		{"a 1 # {t=\"u\"} 1 2\nb 1 2 # {} 1\n# EOF\n\n", "a 1;b 1;"},
	};
	CLEANUP(sbuf_deinit) struct sbuf out;
	sbuf_init(&out, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(read_whole(view_from(rows[i].text), &out), 0);
		assert_string_equal(sbuf_text(&out), rows[i].expected);
	}
}

static void numbers_are_decimal_or_the_three_special_words(void **state)
{
	(void)state;
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"a 0.381\n", "a 0.381;"},    {"a -1\n", "a -1;"},     {"a +2.50\n", "a 2.5;"},
		{"a 1e3\n", "a 1000;"},       {"a 15E-1\n", "a 1.5;"}, {"a .5\n", "a 0.5;"},
		{"a 5.\n", "a 5;"},           {"a 1e-999\n", "a 0;"},  {"a NaN\n", "a nan;"},
		{"a +Inf\n", "a inf;"},       {"a -inf\n", "a -inf;"}, {"a Infinity\n", "a inf;"},
		{"a 9223372036854775794\n", "a 9.22337e+18;"},
	};
	CLEANUP(sbuf_deinit) struct sbuf out;
	sbuf_init(&out, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(read_whole(view_from(rows[i].text), &out), 0);
		assert_string_equal(sbuf_text(&out), rows[i].expected);
	}
}

static void a_broken_text_is_refused_with_the_number_of_its_line(void **state)
{
	(void)state;
	static const struct {
		const char *text, *fault;
	} rows[] = {
		{"a 1\n\n{b=\"c\"} 1\n", "line 3: no metric name"},
		{"<!DOCTYPE html>\n", "line 1: no metric name"},
		{"\x1f\x8b\x08\n", "line 1: no metric name"},
		{"9a 1\n", "line 1: no metric name"},
		{"a\n", "line 1: no value"},
		{"a \n", "line 1: no value"},
		{"a{b=\"c\"}\n", "line 1: no value"},
		{"a-b 1\n", "line 1: no value"},
		{"a 1\r\n", "line 1: a value that is no number"},
		{"a 0x1p3\n", "line 1: a value that is no number"},
		{"a 1_000\n", "line 1: a value that is no number"},
		{"a 1e\n", "line 1: a value that is no number"},
		{"a -\n", "line 1: a value that is no number"},
		{"a .\n", "line 1: a value that is no number"},
		{"a 1,5\n", "line 1: a value that is no number"},
		{"a # 1\n", "line 1: a value that is no number"},
		{"a 1e999\n", "line 1: a value that is too large"},
		{"a 1 now\n", "line 1: a timestamp that is no number"},
		{"a 1 2 3\n", "line 1: something behind the timestamp"},
		{"# HELP\na{b=\"1\",c=\"\",b=\"1\"} 1\n", "line 2: one label twice"},
		{"a{,} 1\n", "line 1: no label name"},
		{"a{9=\"\"} 1\n", "line 1: no label name"},
		{"a{b:c=\"\"} 1\n", "line 1: a label name without"},
		{"a{b} 1\n", "line 1: a label name without"},
		{"a{b=c} 1\n", "line 1: a label name without"},
		{"a{b=\"c} 1\n", "line 1: a label value without an end"},
		{"a{b=\"c\\\"} 1\n", "line 1: a label value without an end"},
		{"a{b=\"c\\", "line 1: cut short"},
		{"a{b=\"c\\\n", "line 1: an escape other than"},
		{"a{b=\"\\t\"} 1\n", "line 1: an escape other than"},
		{"a{b=\"\xff\"} 1\n", "line 1: a label value that is not UTF-8"},
		{"a{b=\"\"c=\"\"} 1\n", "line 1: neither , nor }"},
		{"a{b=\"\" 1\n", "line 1: neither , nor }"},
		{"# EOF\n\na 1\n", "line 3: something behind # EOF"},
	};
	CLEANUP(sbuf_deinit) struct sbuf out;
	sbuf_init(&out, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(read_whole(view_from(rows[i].text), &out), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		if (!strstr(err.text, rows[i].fault))
			fail_msg("\"%s\" is not \"%s\"", err.text, rows[i].fault);
	}
}

static void a_text_that_is_cut_anywhere_but_behind_a_line_is_refused(void **state)
{
	(void)state;
	static const struct view text = VIEW_INIT("# TYPE a gauge\n" ROW "b 42\n");
	CLEANUP(sbuf_deinit) struct sbuf out;
	sbuf_init(&out, 4096);
	for (size_t len = 0; len <= text.len; len++) {
		bool is_whole = len == 0 || text.ptr[len - 1] == '\n';
		struct view cut = {text.ptr, len};
		assert_int_equal(read_whole(cut, &out), is_whole ? 0 : -1);
	}
}

static void however_a_text_is_cut_into_pieces_the_same_comes_out(void **state)
{
	(void)state;
	static const struct view text = VIEW_INIT("# TYPE a gauge\n" ROW "b{c=\"\\\\\\n\"} 42\n\na 1 5\n");
	CLEANUP(sbuf_deinit) struct sbuf whole;
	CLEANUP(sbuf_deinit) struct sbuf pieces;
	sbuf_init(&whole, 4096);
	sbuf_init(&pieces, 4096);
	assert_int_equal(read_whole(text, &whole), 0);
	for (size_t piece = 1; piece < text.len; piece++) {
		sbuf_clear(&pieces);
		assert_int_equal(read_in_pieces(text, piece, &pieces), 0);
		assert_string_equal(sbuf_text(&pieces), sbuf_text(&whole));
	}
}

/* A line of this many bytes without its end. */
static void append_line(struct sbuf *text, size_t len)
{
	size_t start = text->len;
	sbuf_append(text, VIEW("a{b=\""));
	while (text->len - start < len - 4)
		sbuf_append_char(text, 'x');
	sbuf_append(text, VIEW("\"} 1"));
}

static void a_line_that_is_too_long_is_refused_before_it_ends(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf text;
	CLEANUP(sbuf_deinit) struct sbuf out;
	sbuf_init(&text, 4096);
	sbuf_init(&out, 4096);
	append_line(&text, MAX_LINE);
	sbuf_append_char(&text, '\n');
	assert_int_equal(read_whole(sbuf_view(&text), &out), 0);
	append_line(&text, MAX_LINE + 1);
	assert_int_equal(read_whole(sbuf_view(&text), &out), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_string_equal(err.text, "line 2: longer than 200 bytes");
	sbuf_clear(&out);
	assert_int_equal(read_in_pieces(sbuf_view(&text), 7, &out), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void a_sample_has_as_many_labels_as_the_limit_says(void **state)
{
	(void)state;
	for (unsigned n = LIMIT_PROMTEXT_LABELS; n <= LIMIT_PROMTEXT_LABELS + 1; n++) {
		CLEANUP(promtext_deinit) struct promtext text;
		CLEANUP(sbuf_deinit) struct sbuf bytes;
		struct promtext_sample sample;
		promtext_init(&text, LIMIT_PROMTEXT_LINE);
		sbuf_init(&bytes, LIMIT_PROMTEXT_LINE);
		sbuf_append(&bytes, VIEW("a{"));
		for (unsigned i = 0; i < n; i++)
			sbuf_printf(&bytes, "l%u=\"%u\",", i, i);
		sbuf_append(&bytes, VIEW("} 1\n"));
		struct view input = sbuf_view(&bytes);
		bool is_good = n == LIMIT_PROMTEXT_LABELS;
		assert_int_equal(promtext_next(&text, &input, &sample, &err),
				 is_good ? PROMTEXT_SAMPLE : PROMTEXT_FAILED);
		if (is_good)
			assert_true(view_equal(promtext_label(&sample, VIEW("l127")), VIEW("127")));
	}
}

static void after_a_failure_nothing_comes_any_more(void **state)
{
	(void)state;
	CLEANUP(promtext_deinit) struct promtext text;
	struct promtext_sample sample;
	struct view input = VIEW("a\nb 1\n");
	promtext_init(&text, MAX_LINE);
	assert_int_equal(promtext_next(&text, &input, &sample, &err), PROMTEXT_FAILED);
	assert_int_equal(promtext_next(&text, &input, &sample, &err), PROMTEXT_FAILED);
	input = VIEW("b 1\n");
	assert_int_equal(promtext_next(&text, &input, &sample, &err), PROMTEXT_FAILED);
}

static void a_label_that_is_not_there_is_empty(void **state)
{
	(void)state;
	CLEANUP(promtext_deinit) struct promtext text;
	struct promtext_sample sample;
	struct view input = VIEW("a{b=\"c\",bb=\"d\"} 1\n");
	promtext_init(&text, MAX_LINE);
	assert_int_equal(promtext_next(&text, &input, &sample, &err), PROMTEXT_SAMPLE);
	assert_true(view_equal(promtext_label(&sample, VIEW("bb")), VIEW("d")));
	assert_int_equal(promtext_label(&sample, VIEW("B")).len, 0);
	assert_int_equal(promtext_label(&sample, VIEW("bbb")).len, 0);
}

static void without_memory_it_fails_and_says_so(void **state)
{
	(void)state;
	bool failed = true;
	CLEANUP(sbuf_deinit) struct sbuf out;
	sbuf_init(&out, 4096);
	sbuf_append(&out, VIEW("room"));
	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		int result = read_whole(VIEW(ROW), &out);
		failed = failing_malloc_off();
		/* The buffer of the test itself has its memory. */
		assert_int_equal(result, failed && out.failure == ERROR_NONE ? -1 : 0);
		if (result < 0)
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(samples_come_out_with_name_labels_and_value),
	cmocka_unit_test(numbers_are_decimal_or_the_three_special_words),
	cmocka_unit_test(a_broken_text_is_refused_with_the_number_of_its_line),
	cmocka_unit_test(a_text_that_is_cut_anywhere_but_behind_a_line_is_refused),
	cmocka_unit_test(however_a_text_is_cut_into_pieces_the_same_comes_out),
	cmocka_unit_test(a_line_that_is_too_long_is_refused_before_it_ends),
	cmocka_unit_test(a_sample_has_as_many_labels_as_the_limit_says),
	cmocka_unit_test(after_a_failure_nothing_comes_any_more),
	cmocka_unit_test(a_label_that_is_not_there_is_empty),
	cmocka_unit_test(without_memory_it_fails_and_says_so),
};
TEST_MAIN(tests)
