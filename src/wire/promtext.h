/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * promtext - reads the text format of Prometheus and OpenMetrics while it arrives, one sample after
 * the other. Memory holds one line, not the text.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 *
 * Comments and blank lines are skipped, "# EOF" ends the text. Timestamps are checked and dropped,
 * exemplars are not read. A text that can be read in two ways is refused for good: a label that stands
 * twice, an unknown escape, a value that is no decimal number. Names in quotes are refused, too.
 *
 * Threads: owner.
 * Limits:  a line has the length that promtext_init() is given, LIMIT_PROMTEXT_LABELS a sample.
 */

#include "base/limits.h"
#include "base/sbuf.h"

enum promtext_step {
	PROMTEXT_MORE,   /* all input is used up */
	PROMTEXT_SAMPLE, /* *ret_sample is one */
	PROMTEXT_FAILED, /* malformed (ERROR_REJECTED), ERROR_LIMIT or ERROR_NO_MEMORY; for good */
};

struct promtext_label {
	struct view name;
	struct view value; /* without escapes, well-formed UTF-8 */
};

struct promtext_sample {
	struct view name;
	const struct promtext_label *labels;
	size_t n_labels;
	double value; /* may be NaN or infinite */
};

struct promtext {
	struct sbuf line; /* the present one, as far as it has come */
	struct promtext_label labels[LIMIT_PROMTEXT_LABELS]; /* of the last sample */
	uint64_t n_lines; /* that have come whole */
	bool spent;       /* `line` was yielded and is free for the next one */
	bool ended;       /* "# EOF" has been seen */
	bool broken;
};

/* Ready for a text whose lines are at most max_line bytes; allocates nothing. */
void promtext_init(struct promtext *text, size_t max_line);
/* Accepts a zeroed object. */
void promtext_deinit(struct promtext *text);
/*
 * Continues with *input, which is advanced; call again until PROMTEXT_MORE. The sample is borrowed
 * until the next call. The text of an error names the line.
 */
enum promtext_step promtext_next(struct promtext *text, struct view *input,
				 struct promtext_sample *ret_sample, struct error *err);
/*
 * Call when no more bytes come. Fails with ERROR_REJECTED if the last line has no end: a number in it
 * may have lost digits.
 */
MUST_USE int promtext_end(const struct promtext *text, struct error *err);
/*
 * The value of a label, borrowed from the sample. Empty if there is none: in this format that means
 * the same.
 */
struct view promtext_label(const struct promtext_sample *sample, struct view name);
