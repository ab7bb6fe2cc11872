/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/exposition_lines.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/metric.h"
#include "base/utf8.h"

#define LINE_CAP (64u * LIMIT_KIB) /* eight labels of a sample, each byte escaped, are 8 KiB */
#define REPLACEMENT VIEW("\xef\xbf\xbd")

static const struct {
	struct view name;
	enum metric_type type;
	struct view unit;
	struct view help;
} families[] = {
#define METRIC(id, type, name, unit, help, labels)                                                \
	{VIEW_INIT(name), METRIC_##type, VIEW_INIT(unit), VIEW_INIT(help)},
#include "controller/exposition.def"
#undef METRIC
};

void exposition_lines_init(struct exposition_lines *lines, struct exposition_text *text)
{
	*lines = (struct exposition_lines){.text = text};
	sbuf_init(&lines->line, LINE_CAP);
}

void exposition_lines_deinit(struct exposition_lines *lines)
{
	sbuf_deinit(&lines->line);
}

/* One that could not be written whole is left out, and the text fails. */
static void add_line(struct exposition_lines *lines, size_t family, bool is_sample)
{
	if (lines->line.failure != ERROR_NONE)
		exposition_text_fail(lines->text, lines->line.failure);
	else
		exposition_text_add(lines->text, family, sbuf_view(&lines->line), is_sample);
}

static void comment(struct exposition_lines *lines, size_t family, const char *what,
		    struct view text)
{
	sbuf_clear(&lines->line);
	sbuf_printf(&lines->line, "# %s %.*s %.*s", what, VIEW_ARG(families[family].name),
		    VIEW_ARG(text));
	add_line(lines, family, false);
}

void exposition_lines_describe(struct exposition_lines *lines)
{
	for (size_t i = 0; i < EXPOSITION_LINES_N; i++) {
		comment(lines, i, "TYPE",
			families[i].type == METRIC_GAUGE ? VIEW("gauge") : VIEW("counter"));
		if (families[i].unit.len > 0)
			comment(lines, i, "UNIT", families[i].unit);
		comment(lines, i, "HELP", families[i].help);
	}
}

void exposition_lines_begin(struct exposition_lines *lines, enum exposition_lines_family family)
{
	lines->family = family;
	lines->has_labels = false;
	sbuf_clear(&lines->line);
	sbuf_append(&lines->line, families[family].name);
	if (families[family].type != METRIC_GAUGE)
		sbuf_append(&lines->line, VIEW("_total"));
}

static void separate(struct exposition_lines *lines)
{
	sbuf_append_char(&lines->line, lines->has_labels ? ',' : '{');
	lines->has_labels = true;
}

void exposition_lines_label(struct exposition_lines *lines, struct view name, struct view value)
{
	separate(lines);
	sbuf_append(&lines->line, name);
	sbuf_append(&lines->line, VIEW("=\""));
	exposition_lines_escape(&lines->line, value);
	sbuf_append_char(&lines->line, '"');
}

void exposition_lines_ready_label(struct exposition_lines *lines, struct view label)
{
	separate(lines);
	sbuf_append(&lines->line, label);
}

void exposition_lines_end(struct exposition_lines *lines, struct view number)
{
	sbuf_append(&lines->line, lines->has_labels ? VIEW("} ") : VIEW(" "));
	sbuf_append(&lines->line, number);
	add_line(lines, lines->family, true);
}

void exposition_lines_end_u64(struct exposition_lines *lines, uint64_t number)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, number);

	exposition_lines_end(lines, (struct view){digits, (size_t)len});
}

void exposition_lines_end_milli(struct exposition_lines *lines, uint64_t thousandths)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64 ".%03u", thousandths / 1000,
			   (unsigned)(thousandths % 1000));

	exposition_lines_end(lines, (struct view){digits, (size_t)len});
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Appends what the first character of `value` becomes; returns its length there. */
static size_t escape_first(struct sbuf *buf, struct view value)
{
	const char c = value.ptr[0];
	const size_t len = utf8_next(value);

	if (c == '"')
		sbuf_append(buf, VIEW("\\\""));
	else if (c == '\\')
		sbuf_append(buf, VIEW("\\\\"));
	else if (c == '\n')
		sbuf_append(buf, VIEW("\\n"));
	else if (len > 1)
		sbuf_append(buf, (struct view){value.ptr, len});
	else
		sbuf_append(buf, REPLACEMENT);
	return len ? len : 1;
}

void exposition_lines_escape(struct sbuf *buf, struct view value)
{
	while (value.len > 0) {
		size_t plain = 0;

		while (plain < value.len && is_plain((unsigned char)value.ptr[plain]))
			plain++;
		sbuf_append(buf, (struct view){value.ptr, plain});
		value = view_from_offset(value, plain);
		if (value.len > 0)
			value = view_from_offset(value, escape_first(buf, value));
	}
}
