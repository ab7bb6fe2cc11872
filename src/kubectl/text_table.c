/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Widths are known only when the last row is there. So cells are kept as text, one behind the other. A
 * NUL ends each, for there is none in a printable text.
 */

#include "kubectl/text_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kubectl/output.h"
#include "kubectl/printable.h"
#include "kubectl/shorten.h"

#define GAP 3u
#define SMALL_GAP 2u
#define MIN_WRAPPED 22u /* characters in a line of a cell that is wrapped */
#define BELOW_INDENT 2u /* blanks before a cell that is below its row */

/* A table while it is being written. */
struct writer {
	const struct text_table *table;
	size_t widths[TEXT_TABLE_MAX_COLUMNS]; /* as they are written */
	bool is_hidden[TEXT_TABLE_MAX_COLUMNS];
	size_t gap; /* blanks between columns */
	struct shorten cuts[TEXT_TABLE_MAX_COLUMNS];
	bool is_cut[TEXT_TABLE_MAX_COLUMNS];
	size_t indent;
	struct sbuf *buf;
};

void text_table_init(struct text_table *table, const struct text_table_column *columns,
		     uint32_t flags, size_t cap)
{
	*table = (struct text_table){.columns = columns};
	sbuf_init(&table->text, cap);
	sbuf_init(&table->scratch, cap);
	for (size_t i = 0; columns[i].header; i++) {
		assert(i < TEXT_TABLE_MAX_COLUMNS);
		table->widths[i] = strlen(columns[i].header);
		table->is_shown[i] = (columns[i].shown & ~flags) == 0;
		table->is_marked[i] = (columns[i].marked & flags) != 0;
		table->is_empty[i] = true;
	}
}

void text_table_deinit(struct text_table *table)
{
	sbuf_deinit(&table->text);
	sbuf_deinit(&table->scratch);
}

/* A cell that has the mark already is left as it is. */
static void mark_cell(struct sbuf *cell)
{
	if (cell->len == 0 || cell->ptr[cell->len - 1] != '*')
		sbuf_append_char(cell, '*');
}

static void add_cell(struct text_table *table, size_t column, const void *row)
{
	sbuf_clear(&table->scratch);
	table->columns[column].write(row, &table->scratch);
	if (table->scratch.failure)
		table->text.failure = table->scratch.failure;
	if (table->scratch.len == 0)
		sbuf_append_char(&table->scratch, '-');
	else
		table->is_empty[column] = false;
	if (table->is_marked[column])
		mark_cell(&table->scratch);
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
		if (table->is_shown[i])
			add_cell(table, i, row);
	}
	table->n_rows++;
}

static size_t min_width(const struct text_table_column *column)
{
	size_t header = strlen(column->header);
	size_t least = column->wrap ? MIN_WRAPPED : SHORTEN_MIN_WIDTH;
	return header > least ? header : least;
}

static size_t excess(const struct writer *writer)
{
	const struct text_table_column *columns = writer->table->columns;
	size_t total = writer->indent;
	for (size_t i = 0; columns[i].header; i++) {
		size_t width = writer->widths[i];
		if (writer->is_hidden[i] || columns[i].below)
			continue;
		if (columns[i].wrap && width > min_width(&columns[i]))
			width = min_width(&columns[i]);
		total += width + writer->gap;
	}
	total -= writer->gap;
	return total > TEXT_TABLE_WIDTH ? total - TEXT_TABLE_WIDTH : 0;
}

/* The column to be left out next, or -1: empty ones go first, then those of the lowest `drop`. */
static int find_droppable(const struct writer *writer)
{
	const struct text_table *table = writer->table;
	int found = -1;
	for (int i = 0; table->columns[i].header; i++) {
		uint32_t drop = table->columns[i].drop;
		if (drop == 0 || writer->is_hidden[i])
			continue;
		bool is_better = found < 0 || table->is_empty[i] > table->is_empty[found] ||
				 (table->is_empty[i] == table->is_empty[found] &&
				  drop < table->columns[found].drop);
		if (is_better)
			found = i;
	}
	return found;
}

/* The widest column that can be cut further, or -1. */
static int find_widest(const struct writer *writer)
{
	const struct text_table_column *columns = writer->table->columns;
	int found = -1;
	for (int i = 0; columns[i].header; i++) {
		size_t width = writer->widths[i];
		if (!columns[i].cut || writer->is_hidden[i] || width <= min_width(&columns[i]))
			continue;
		if (found < 0 || width > writer->widths[found])
			found = i;
	}
	return found;
}

static void fit(struct writer *writer)
{
	int i;
	if (excess(writer) > 0)
		writer->gap = SMALL_GAP;
	while (excess(writer) > 0 && (i = find_droppable(writer)) >= 0)
		writer->is_hidden[i] = true;
	while (excess(writer) > 0 && (i = find_widest(writer)) >= 0)
		writer->widths[i]--;
}

/* Columns as wide as their cells, unless that is too wide. */
static void lay_out(struct writer *writer, bool is_wide)
{
	const struct text_table *table = writer->table;
	writer->gap = GAP;
	for (size_t i = 0; table->columns[i].header; i++) {
		writer->widths[i] = table->widths[i];
		writer->is_hidden[i] = !table->is_shown[i];
	}
	if (!is_wide)
		fit(writer);
}

/* The cell at *cells, which is advanced to the next. */
static struct view next_cell(struct view *cells)
{
	struct view cell = view_from(cells->ptr);
	*cells = view_from_offset(*cells, cell.len + 1);
	return cell;
}

/* Shortens the cells of a column, if it is narrower than they are. */
static int cut_column(struct writer *writer, size_t column, struct error *err)
{
	const struct text_table *table = writer->table;
	struct view cells = sbuf_view(&table->text);
	size_t n = 0;
	writer->is_cut[column] = table->columns[column].cut && !writer->is_hidden[column] &&
				 writer->widths[column] < table->widths[column];
	if (!writer->is_cut[column])
		return 0;
	struct view *texts = calloc(table->n_rows, sizeof(*texts));
	if (!texts)
		return error_no_memory(err);
	for (size_t row = 0; row < table->n_rows; row++) {
		for (size_t i = 0; table->columns[i].header; i++) {
			struct view cell = table->is_shown[i] ? next_cell(&cells) : (struct view){0};
			if (i == column)
				texts[n++] = cell;
		}
	}
	int result = shorten_init(&writer->cuts[column], texts, n, writer->widths[column], err);
	free(texts);
	return result;
}

static void append_blanks(struct sbuf *buf, size_t n)
{
	while (n-- > 0)
		sbuf_append_char(buf, ' ');
}

/* Writes a text from column `start` on, in lines that end between words where they can. */
static void write_wrapped(struct writer *writer, struct view text, size_t start)
{
	size_t room = TEXT_TABLE_WIDTH > start + MIN_WRAPPED ? TEXT_TABLE_WIDTH - start : MIN_WRAPPED;
	while (printable_width(text) > room) {
		sbuf_append(writer->buf, printable_take_line(&text, room));
		sbuf_append_char(writer->buf, '\n');
		append_blanks(writer->buf, start);
	}
	sbuf_append(writer->buf, text);
}

static void write_below(struct writer *writer, const char *label, struct view text)
{
	const size_t indent = writer->indent + BELOW_INDENT;
	sbuf_append_char(writer->buf, '\n');
	append_blanks(writer->buf, indent);
	sbuf_append(writer->buf, view_from(label));
	write_wrapped(writer, text, indent + strlen(label));
}

/* A line of headers, or, with *cells, of the cells that it is then advanced over. */
static void write_line(struct writer *writer, struct view *cells, bool is_wide)
{
	const struct text_table *table = writer->table;
	size_t owed = writer->indent, at = 0; /* blanks before the next text; where it stands */
	for (size_t i = 0; table->columns[i].header; i++) {
		if (!table->is_shown[i])
			continue;
		struct view text = cells ? next_cell(cells) : view_from(table->columns[i].header);
		if (writer->is_hidden[i])
			continue;
		if (table->columns[i].below && !is_wide) {
			if (cells)
				write_below(writer, table->columns[i].below, text);
			continue;
		}
		if (cells && writer->is_cut[i])
			text = shorten_find(&writer->cuts[i], text);
		append_blanks(writer->buf, owed);
		at += owed;
		if (table->columns[i].wrap && !is_wide)
			write_wrapped(writer, text, at);
		else
			sbuf_append(writer->buf, text);
		size_t width = printable_width(text);
		at += width;
		owed = writer->gap;
		if (width < writer->widths[i])
			owed += writer->widths[i] - width;
	}
	sbuf_append_char(writer->buf, '\n');
}

static void note_dropped(const struct writer *writer, struct output *output)
{
	const struct text_table *table = writer->table;
	struct sbuf *line = output_note(output);
	const char *separator = "";
	for (size_t i = 0; table->columns[i].header; i++) {
		if (!table->is_shown[i] || !writer->is_hidden[i] || table->is_empty[i])
			continue;
		if (line->len == 0 && table->title)
			sbuf_printf(line, "Columns left out of \"%s\": ", table->title);
		else if (line->len == 0)
			sbuf_append(line, VIEW("Columns left out: "));
		sbuf_printf(line, "%s%s", separator, table->columns[i].header);
		separator = ", ";
	}
	if (line->len > 0)
		sbuf_append(line, VIEW("; -o wide shows them"));
	output_note_end(output);
}

void text_table_write(const struct text_table *table, struct output *output, unsigned indent)
{
	struct writer writer = {.table = table, .indent = indent, .buf = &output->body};
	struct view cells = sbuf_view(&table->text);
	bool is_wide = output->form == OUTPUT_WIDE;
	struct error err;
	int result = 0;
	if (table->text.failure) {
		output->body.failure = table->text.failure;
		return;
	}
	lay_out(&writer, is_wide);
	for (size_t i = 0; result == 0 && table->columns[i].header; i++)
		result = cut_column(&writer, i, &err);
	if (result != 0) {
		output->body.failure = err.kind;
	} else {
		if (output->has_headers || indent > 0)
			write_line(&writer, NULL, is_wide);
		for (size_t i = 0; i < table->n_rows; i++)
			write_line(&writer, &cells, is_wide);
		note_dropped(&writer, output);
	}
	for (size_t i = 0; i < TEXT_TABLE_MAX_COLUMNS; i++)
		shorten_deinit(&writer.cuts[i]);
}
