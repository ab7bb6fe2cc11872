/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The first byte says how long the pieces are: however a text is cut, the same comes out. What comes
 * out is written down and read again, which must give the same.
 */

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "wire/promtext.h"

#define MAX_LINE 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_value(struct view value, struct sbuf *out)
{
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];
		if (c == '\\' || c == '"' || c == '\n')
			sbuf_append_char(out, '\\');
		sbuf_append_char(out, c == '\n' ? 'n' : c);
	}
}

static void write_sample(const struct promtext_sample *sample, struct sbuf *out)
{
	assert(sample->name.len > 0 && sample->n_labels <= LIMIT_PROMTEXT_LABELS);
	sbuf_append(out, sample->name);
	sbuf_append_char(out, '{');
	for (size_t i = 0; i < sample->n_labels; i++) {
		const struct promtext_label *label = &sample->labels[i];
		/* The first of a name is found: no name stands twice. */
		assert(promtext_label(sample, label->name).ptr == label->value.ptr);
		sbuf_append(out, label->name);
		sbuf_append(out, VIEW("=\""));
		write_value(label->value, out);
		sbuf_append(out, VIEW("\","));
	}
	sbuf_append(out, VIEW("} "));
	if (isfinite(sample->value))
		sbuf_printf(out, "%.17g\n", sample->value);
	else
		sbuf_append(out, isnan(sample->value) ? VIEW("NaN\n")
				 : sample->value > 0  ? VIEW("+Inf\n")
						      : VIEW("-Inf\n"));
}

/* Reads pieces of this size. True if the text is good to its end. */
static bool trace(struct view bytes, size_t piece, size_t max_line, struct sbuf *out)
{
	CLEANUP(promtext_deinit) struct promtext text;
	struct error err;
	enum promtext_step step = PROMTEXT_MORE;
	promtext_init(&text, max_line);
	while (bytes.len > 0 && step == PROMTEXT_MORE) {
		size_t n = piece < bytes.len ? piece : bytes.len;
		/* Of just that size, so that a sanitizer sees a step beyond it. */
		char *copy = malloc(n);
		assert(copy);
		for (size_t i = 0; i < n; i++)
			copy[i] = bytes.ptr[i];
		struct view input = {copy, n};
		struct promtext_sample sample;
		while ((step = promtext_next(&text, &input, &sample, &err)) == PROMTEXT_SAMPLE)
			write_sample(&sample, out);
		free(copy);
		bytes = view_from_offset(bytes, n);
	}
	return step == PROMTEXT_MORE && promtext_end(&text, &err) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	CLEANUP(sbuf_deinit) struct sbuf whole;
	CLEANUP(sbuf_deinit) struct sbuf pieces;
	CLEANUP(sbuf_deinit) struct sbuf again;
	struct view bytes = {(const char *)data + 1, size - 1};
	sbuf_init(&whole, 1u << 26);
	sbuf_init(&pieces, 1u << 26);
	sbuf_init(&again, 1u << 26);
	bool is_good = trace(bytes, bytes.len, MAX_LINE, &whole);
	assert(trace(bytes, 1u + data[0], MAX_LINE, &pieces) == is_good);
	assert(view_equal(sbuf_view(&whole), sbuf_view(&pieces)));
	/* Numbers and escapes may be longer than they were. */
	assert(trace(sbuf_view(&whole), whole.len + 1, 32 * MAX_LINE, &again));
	assert(view_equal(sbuf_view(&whole), sbuf_view(&again)));
	return 0;
}
