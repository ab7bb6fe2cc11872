/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Widths are known only when the last row is there, so cells are kept as text, one behind the
 * other; a NUL cannot be in a printable text and so ends one.
 */

#include "kubectl/text_table.h"

#include <assert.h>
#include <string.h>

#include "kubectl/printable.h"

#define GAP 3

static bool is_shown(const struct text_table *table, const struct text_table_column *column)
{
	return (column->shown & ~table->flags) == 0;
}

void text_table_init(struct text_table *table, const struct text_table_column *columns, uint32_t flags, size_t cap)
{
	*table = (struct text_table){.columns = columns, .flags = flags};
	sbuf_init(&table->text, cap);
	sbuf_init(&table->scratch, cap);
	for (size_t i = 0; columns[i].header; i++) {
		assert(i < TEXT_TABLE_MAX_COLUMNS);
		table->widths[i] = strlen(columns[i].header);
	}
}

void text_table_deinit(struct text_table *table)
{
	sbuf_deinit(&table->text);
	sbuf_deinit(&table->scratch);
}

static void add_cell(struct text_table *table, size_t column, const void *row)
{
	sbuf_clear(&table->scratch);
	table->columns[column].write(row, &table->scratch);
	if (table->scratch.failure)
		table->text.failure = table->scratch.failure;
	if (table->scratch.len == 0)
		sbuf_append_char(&table->scratch, '-');
	size_t start = table->text.len;
	printable_append(&table->text, sbuf_view(&table->scratch));
	size_t width = printable_width(view_from_offset(sbuf_view(&table->text), start));
	if (width > table->widths[column])
		table->widths[column] = width;
	sbuf_append_char(&table->text, '\0');
}

void text_table_add(struct text_table *table, const void *row)
{
	for (size_t i = 0; table->columns[i].header; i++) {
		if (is_shown(table, &table->columns[i]))
			add_cell(table, i, row);
	}
	table->n_rows++;
}

static void append_blanks(struct sbuf *buf, size_t n)
{
	while (n-- > 0)
		sbuf_append_char(buf, ' ');
}

/* A line of headers, or, with *cells, of the cells that it is then advanced over. */
static void write_line(const struct text_table *table, struct view *cells, unsigned indent,
		       struct sbuf *buf)
{
	size_t owed = indent; /* blanks before the next text: none stand at the end of a line */
	for (size_t i = 0; table->columns[i].header; i++) {
		struct view text = view_from(table->columns[i].header);
		if (!is_shown(table, &table->columns[i]))
			continue;
		if (cells) {
			text = view_from(cells->ptr);
			*cells = view_from_offset(*cells, text.len + 1);
		}
		append_blanks(buf, owed);
		sbuf_append(buf, text);
		owed = table->widths[i] - printable_width(text) + GAP;
	}
	sbuf_append_char(buf, '\n');
}

void text_table_write(const struct text_table *table, bool has_headers, unsigned indent, struct sbuf *buf)
{
	struct view cells = sbuf_view(&table->text);
	if (table->text.failure) {
		buf->failure = table->text.failure;
		return;
	}
	if (has_headers)
		write_line(table, NULL, indent, buf);
	for (size_t i = 0; i < table->n_rows; i++)
		write_line(table, &cells, indent, buf);
}
