/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * text_table - a table as kubectl prints it: left-aligned columns, three blanks between them,
 * nothing behind the last. Columns are rows of a table that say how each cell is written.
 *
 * Threads: owner.
 * Limits:  TEXT_TABLE_MAX_COLUMNS columns, the text of all cells `cap` bytes.
 */

#include "base/sbuf.h"

#define TEXT_TABLE_MAX_COLUMNS 24u

struct text_table_column {
	const char *header; /* NULL ends a list of columns */
	uint32_t shown;     /* flags that must all be given to text_table_init(); 0: always shown */
	/* Appends the cell's text, which may hold anything; nothing is shown as "-". */
	void (*write)(const void *row, struct sbuf *cell);
};

struct text_table {
	const struct text_table_column *columns;
	uint32_t flags;
	struct sbuf text;    /* printable cells, each with a NUL behind it */
	struct sbuf scratch; /* the cell being written */
	size_t widths[TEXT_TABLE_MAX_COLUMNS];
	size_t n_rows;
};

/* columns is borrowed until text_table_deinit(). */
void text_table_init(struct text_table *table, const struct text_table_column *columns, uint32_t flags, size_t cap);
/* Accepts a zeroed object. For CLEANUP. */
void text_table_deinit(struct text_table *table);
/* Writes the cells of one row; row is what the columns' functions are given. */
void text_table_add(struct text_table *table, const void *row);
/*
 * Appends the table, each line behind `indent` blanks. A failure of the table becomes one of the
 * buffer.
 */
void text_table_write(const struct text_table *table, bool has_headers, unsigned indent, struct sbuf *buf);
