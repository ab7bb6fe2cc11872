/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Widths are known only when the last row is there, so cells are kept as text, one behind the
 * other; a NUL cannot be in a printable text and so ends one.
 */

#include "kubectl/sheet.h"

#include <assert.h>
#include <string.h>

#include "kubectl/printable.h"

#define GAP 3

static bool is_shown(const struct sheet *sheet, const struct sheet_column *column)
{
	return (column->shown & ~sheet->flags) == 0;
}

void sheet_init(struct sheet *sheet, const struct sheet_column *columns, uint32_t flags, size_t cap)
{
	*sheet = (struct sheet){.columns = columns, .flags = flags};
	sbuf_init(&sheet->text, cap);
	sbuf_init(&sheet->scratch, cap);
	for (size_t i = 0; columns[i].header; i++) {
		assert(i < SHEET_MAX_COLUMNS);
		sheet->widths[i] = strlen(columns[i].header);
	}
}

void sheet_deinit(struct sheet *sheet)
{
	sbuf_deinit(&sheet->text);
	sbuf_deinit(&sheet->scratch);
}

static void add_cell(struct sheet *sheet, size_t column, const void *row)
{
	sbuf_clear(&sheet->scratch);
	sheet->columns[column].write(row, &sheet->scratch);
	if (sheet->scratch.failure)
		sheet->text.failure = sheet->scratch.failure;
	if (sheet->scratch.len == 0)
		sbuf_append_char(&sheet->scratch, '-');
	size_t start = sheet->text.len;
	printable_append(&sheet->text, sbuf_view(&sheet->scratch));
	size_t width = printable_width(view_from_offset(sbuf_view(&sheet->text), start));
	if (width > sheet->widths[column])
		sheet->widths[column] = width;
	sbuf_append_char(&sheet->text, '\0');
}

void sheet_add(struct sheet *sheet, const void *row)
{
	for (size_t i = 0; sheet->columns[i].header; i++) {
		if (is_shown(sheet, &sheet->columns[i]))
			add_cell(sheet, i, row);
	}
	sheet->n_rows++;
}

static void append_blanks(struct sbuf *buf, size_t n)
{
	while (n-- > 0)
		sbuf_append_char(buf, ' ');
}

/* A line of headers, or, with *cells, of the cells that it is then advanced over. */
static void write_line(const struct sheet *sheet, struct view *cells, unsigned indent,
		       struct sbuf *buf)
{
	size_t owed = indent; /* blanks before the next text: none stand at the end of a line */
	for (size_t i = 0; sheet->columns[i].header; i++) {
		struct view text = view_from(sheet->columns[i].header);
		if (!is_shown(sheet, &sheet->columns[i]))
			continue;
		if (cells) {
			text = view_from(cells->ptr);
			*cells = view_from_offset(*cells, text.len + 1);
		}
		append_blanks(buf, owed);
		sbuf_append(buf, text);
		owed = sheet->widths[i] - printable_width(text) + GAP;
	}
	sbuf_append_char(buf, '\n');
}

void sheet_write(const struct sheet *sheet, bool has_headers, unsigned indent, struct sbuf *buf)
{
	struct view cells = sbuf_view(&sheet->text);
	if (sheet->text.failure) {
		buf->failure = sheet->text.failure;
		return;
	}
	if (has_headers)
		write_line(sheet, NULL, indent, buf);
	for (size_t i = 0; i < sheet->n_rows; i++)
		write_line(sheet, &cells, indent, buf);
}
