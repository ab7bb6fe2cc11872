/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each line is gathered whole, and then read from left to right in place: an unescaped label value is
 * never longer than it was written. Behind the line stands a NUL, so that no step of the reader has
 * to ask whether it is at the end. A NUL within the line fits nowhere but into a label value.
 *
 * What reads a part returns what it misses, or NULL.
 */

#include "wire/promtext.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* A line, as far as it is still to be read; *end is NUL. */
struct rest {
	char *at;
	char *end;
};

void promtext_init(struct promtext *text, size_t max_line)
{
	*text = (struct promtext){0};
	sbuf_init(&text->line, max_line + 1);
}

void promtext_deinit(struct promtext *text)
{
	sbuf_deinit(&text->line);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct rest *rest)
{
	while (is_blank(*rest->at))
		rest->at++;
}

static bool take_char(struct rest *rest, char c)
{
	skip_blanks(rest);
	if (*rest->at != c || rest->at == rest->end)
		return false;
	rest->at++;
	return true;
}

/* Everything up to the next blank. */
static struct view take_word(struct rest *rest)
{
	char *start = rest->at;
	while (rest->at < rest->end && !is_blank(*rest->at))
		rest->at++;
	return (struct view){start, (size_t)(rest->at - start)};
}

/* A name, empty if there is none. Those of metrics may have colons. */
static struct view take_name(struct rest *rest, bool of_metric)
{
	char *start = rest->at;
	while (is_letter(*rest->at) || (of_metric && *rest->at == ':') ||
	       (rest->at > start && is_digit(*rest->at)))
		rest->at++;
	return (struct view){start, (size_t)(rest->at - start)};
}

/* Labels. */

static bool is_utf8(struct view v)
{
	while (v.len > 0) {
		size_t n = utf8_next(v);
		if (n == 0)
			return false;
		v = view_from_offset(v, n);
	}
	return true;
}

/* What stands for this letter behind a backslash, or NUL. */
static char unescape(char letter)
{
	switch (letter) {
	case '\\':
	case '"':
		return letter;
	case 'n':
		return '\n';
	default:
		return '\0';
	}
}

/* From behind the opening quote to behind the closing one. */
static const char *take_label_value(struct rest *rest, struct view *ret)
{
	char *start = rest->at, *to = start;
	while (rest->at < rest->end && *rest->at != '"') {
		char c = *rest->at++;
		if (c == '\\') {
			c = unescape(*rest->at++);
			if (c == '\0')
				return "an escape other than \\\\, \\\" and \\n";
		}
		*to++ = c;
	}
	if (rest->at == rest->end)
		return "a label value without an end";
	rest->at++;
	*ret = (struct view){start, (size_t)(to - start)};
	return is_utf8(*ret) ? NULL : "a label value that is not UTF-8";
}

static const char *take_label(struct rest *rest, struct promtext_label *ret)
{
	ret->name = take_name(rest, false);
	if (ret->name.len == 0)
		return "no label name where one is due";
	if (!take_char(rest, '=') || !take_char(rest, '"'))
		return "a label name without =\"";
	return take_label_value(rest, &ret->value);
}

static bool is_taken(const struct promtext_sample *sample, struct view name)
{
	for (size_t i = 0; i < sample->n_labels; i++) {
		if (view_equal(sample->labels[i].name, name))
			return true;
	}
	return false;
}

/* From behind the opening brace to behind the closing one. */
static const char *take_labels(struct rest *rest, struct promtext_label *labels,
			       struct promtext_sample *sample)
{
	while (!take_char(rest, '}')) {
		if (sample->n_labels == LIMIT_PROMTEXT_LABELS)
			return "too many labels";
		struct promtext_label *label = &labels[sample->n_labels];
		const char *fault = take_label(rest, label);
		if (fault)
			return fault;
		if (is_taken(sample, label->name))
			return "one label twice";
		sample->n_labels++;
		skip_blanks(rest);
		if (*rest->at != '}' && !take_char(rest, ','))
			return "neither , nor } behind a label";
	}
	return NULL;
}

/* Numbers. */

static size_t count_digits(const char *p)
{
	size_t n = 0;
	while (is_digit(p[n]))
		n++;
	return n;
}

/* Something like -12.5e+3. The word ends with a blank or NUL. */
static bool is_decimal(struct view word)
{
	const char *p = word.ptr;
	p += *p == '+' || *p == '-';
	size_t n_before = count_digits(p), n_behind = 0;
	p += n_before;
	if (*p == '.') {
		n_behind = count_digits(++p);
		p += n_behind;
	}
	if (n_before + n_behind == 0)
		return false;
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '+' || *p == '-';
		if (!is_digit(*p))
			return false;
		p += count_digits(p);
	}
	return p == word.ptr + word.len;
}

static bool is_infinity(struct view word)
{
	return view_equal_ignoring_case(word, VIEW("inf")) ||
	       view_equal_ignoring_case(word, VIEW("infinity"));
}

static const char *read_value(struct view word, double *ret)
{
	if (is_decimal(word)) {
		*ret = strtod(word.ptr, NULL);
		return isfinite(*ret) ? NULL : "a value that is too large";
	}
	bool is_negative = view_starts_with(word, VIEW("-"));
	bool is_signed = is_negative || view_starts_with(word, VIEW("+"));
	*ret = is_negative ? -INFINITY : INFINITY;
	if (is_infinity(view_from_offset(word, is_signed)))
		return NULL;
	*ret = NAN;
	return view_equal_ignoring_case(word, VIEW("nan")) ? NULL : "a value that is no number";
}

/* Lines. */

static const char *read_sample(struct rest rest, struct promtext_label *labels,
			       struct promtext_sample *ret)
{
	const char *fault = NULL;
	*ret = (struct promtext_sample){.labels = labels, .name = take_name(&rest, true)};
	if (ret->name.len == 0)
		return "no metric name where one is due";
	bool is_apart = is_blank(*rest.at);
	if (take_char(&rest, '{')) {
		is_apart = true;
		fault = take_labels(&rest, labels, ret);
	}
	if (fault)
		return fault;
	skip_blanks(&rest);
	if (!is_apart || rest.at == rest.end)
		return "no value where one is due";
	fault = read_value(take_word(&rest), &ret->value);
	if (fault)
		return fault;
	skip_blanks(&rest);
	if (rest.at == rest.end || *rest.at == '#')
		return NULL;
	if (!is_decimal(take_word(&rest)))
		return "a timestamp that is no number";
	skip_blanks(&rest);
	return rest.at == rest.end || *rest.at == '#' ? NULL : "something behind the timestamp";
}

static enum promtext_step fail(struct promtext *text, const char *fault, struct error *err)
{
	text->broken = true;
	error_set(err, ERROR_REJECTED, 0, "line %llu: %s", (unsigned long long)text->n_lines, fault);
	return PROMTEXT_FAILED;
}

static enum promtext_step fail_to_hold(struct promtext *text, struct error *err)
{
	text->broken = true;
	if (text->line.failure != ERROR_LIMIT)
		error_no_memory(err);
	else
		error_set(err, ERROR_LIMIT, 0, "line %llu: longer than %zu bytes",
			  (unsigned long long)text->n_lines + 1, text->line.cap - 1);
	return PROMTEXT_FAILED;
}

/* Reads the line that has come whole. PROMTEXT_MORE: there is no sample in it. */
static enum promtext_step read_line(struct promtext *text, struct promtext_sample *ret_sample,
				    struct error *err)
{
	struct rest rest = {text->line.ptr, text->line.ptr + text->line.len - 1};
	skip_blanks(&rest);
	if (rest.at == rest.end)
		return PROMTEXT_MORE;
	if (text->ended)
		return fail(text, "something behind # EOF", err);
	if (*rest.at == '#') {
		text->ended = strcmp(text->line.ptr, "# EOF") == 0;
		return PROMTEXT_MORE;
	}
	const char *fault = read_sample(rest, text->labels, ret_sample);
	return fault ? fail(text, fault, err) : PROMTEXT_SAMPLE;
}

/* Moves bytes up to the line's end from the input to the line. True: it is whole. */
static bool gather(struct promtext *text, struct view *input)
{
	if (text->spent)
		sbuf_clear(&text->line);
	text->spent = false;
	const char *end = input->len > 0 ? memchr(input->ptr, '\n', input->len) : NULL;
	size_t n = end ? (size_t)(end - input->ptr) : input->len;
	/* The place of the NUL is not the line's. */
	if (text->line.len + n >= text->line.cap)
		text->line.failure = ERROR_LIMIT;
	sbuf_append(&text->line, (struct view){input->ptr, n});
	*input = view_from_offset(*input, n + (end != NULL));
	if (end)
		sbuf_append_char(&text->line, '\0');
	return end != NULL;
}

enum promtext_step promtext_next(struct promtext *text, struct view *input,
				 struct promtext_sample *ret_sample, struct error *err)
{
	if (text->broken)
		return fail(text, "the text is broken", err);
	while (input->len > 0) {
		bool is_whole = gather(text, input);
		if (text->line.failure != ERROR_NONE)
			return fail_to_hold(text, err);
		if (!is_whole)
			break;
		text->n_lines++;
		text->spent = true;
		enum promtext_step step = read_line(text, ret_sample, err);
		if (step != PROMTEXT_MORE)
			return step;
	}
	return PROMTEXT_MORE;
}

int promtext_end(const struct promtext *text, struct error *err)
{
	if (text->line.len == 0 || text->spent)
		return 0;
	return error_set(err, ERROR_REJECTED, 0, "line %llu: cut short",
			 (unsigned long long)text->n_lines + 1);
}

struct view promtext_label(const struct promtext_sample *sample, struct view name)
{
	for (size_t i = 0; i < sample->n_labels; i++) {
		if (view_equal(sample->labels[i].name, name))
			return sample->labels[i].value;
	}
	return VIEW("");
}
