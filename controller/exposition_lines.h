/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * exposition_lines - the families of controller/exposition.def, and single samples of them as
 * OpenMetrics lines. A label's value may be any bytes: they cannot end it, nor the line.
 *
 * Threads: owner.
 */

#include "base/sbuf.h"
#include "controller/exposition_text.h"

enum exposition_lines_family {
#define METRIC(id, ...) EXPOSITION_LINES_##id,
#include "controller/exposition.def"
#undef METRIC
	EXPOSITION_LINES_N,
};

struct exposition_lines {
	struct exposition_text *text; /* borrowed */
	struct sbuf line;             /* the one that is written */
	enum exposition_lines_family family;
	bool has_labels;
};

/* Writes to that text, which has EXPOSITION_LINES_N families. exposition_lines_deinit() at the end. */
void exposition_lines_init(struct exposition_lines *lines, struct exposition_text *text);
/* Frees what init made; the text stays. Accepts a zeroed object. For CLEANUP. */
void exposition_lines_deinit(struct exposition_lines *lines);
/* Says what each family is: its comments, which come before its samples. */
void exposition_lines_describe(struct exposition_lines *lines);

/* Begins a sample of that family. Labels follow, and one of the three that end it. */
void exposition_lines_begin(struct exposition_lines *lines, enum exposition_lines_family family);
/* A label; its value is escaped. name needs none. */
void exposition_lines_label(struct exposition_lines *lines, struct view name, struct view value);
/* Labels as exposition_lines_escape() left them: name="value". */
void exposition_lines_ready_label(struct exposition_lines *lines, struct view label);
/* Ends it with a number as a text. */
void exposition_lines_end(struct exposition_lines *lines, struct view number);
/* Ends it with a whole number. */
void exposition_lines_end_u64(struct exposition_lines *lines, uint64_t number);
/* Ends it with thousandths: seconds from milliseconds, for one. */
void exposition_lines_end_milli(struct exposition_lines *lines, uint64_t thousandths);

/*
 * Appends the value of a label without its quotation marks. Bytes that are no UTF-8, and control
 * characters but the end of a line, become U+FFFD. Failure is the buffer's.
 */
void exposition_lines_escape(struct sbuf *buf, struct view value);
