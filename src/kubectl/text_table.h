/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * text_table - a table as kubectl prints it: left-aligned columns, blanks between them, none at the
 * end of a line.
 *
 * A table of more than TEXT_TABLE_WIDTH characters is made narrower, unless it is for -o wide. Each
 * step is taken only if the one before is not enough:
 *
 * - There are two blanks between columns instead of three.
 * - Columns with `drop` are left out, empty ones first.
 * - Cells of columns with `cut` are shortened. Different cells stay different.
 *
 * Unless it is for -o wide, the cells of a column with `below` have lines of their own in any case.
 *
 * Threads: owner.
 * Limits:  TEXT_TABLE_MAX_COLUMNS columns, the text of all cells `cap` bytes.
 */

#include "base/sbuf.h"

#define TEXT_TABLE_WIDTH 120u
#define TEXT_TABLE_MAX_COLUMNS 24u

struct output;

struct text_table_column {
	const char *header; /* NULL ends a list of columns */
	uint32_t shown;     /* flags that must all be given to text_table_init(); 0: always shown */
	/* Appends the cell's text, which may hold anything; nothing is shown as "-". */
	void (*write)(const void *row, struct sbuf *cell);
	uint32_t marked; /* with one of these flags each cell ends in '*' */
	uint16_t drop;   /* left out of a table that is too wide, in this order; 0: never */
	bool cut;        /* cells may be shortened */
	bool wrap;       /* of the last column: a long cell goes on in further lines */
	/* Of the last column: its cells are below their rows, each behind this text, unless wide. */
	const char *below;
};

struct text_table {
	const struct text_table_column *columns;
	const char *title;   /* which of several tables it is, for the note on columns; NULL: the only one */
	struct sbuf text;    /* printable cells, each with a NUL behind it */
	struct sbuf scratch; /* the cell being written */
	size_t widths[TEXT_TABLE_MAX_COLUMNS];
	bool is_shown[TEXT_TABLE_MAX_COLUMNS];
	bool is_marked[TEXT_TABLE_MAX_COLUMNS];
	bool is_empty[TEXT_TABLE_MAX_COLUMNS]; /* no cell has a text */
	size_t n_rows;
};

/*
 * Makes a table without rows; allocates nothing. columns is borrowed until text_table_deinit(). Of
 * those with `shown`, a column is there only if flags has all its bits. Those with `marked` are marked if
 * flags has one of its bits.
 */
void text_table_init(struct text_table *table, const struct text_table_column *columns,
		     uint32_t flags, size_t cap);
/* Accepts a zeroed object. For CLEANUP. */
void text_table_deinit(struct text_table *table);
/*
 * Writes the cells of one row; row is what the columns' functions are given. A failure is kept for
 * text_table_write().
 */
void text_table_add(struct text_table *table, const void *row);
/*
 * Appends the table to the body, each line behind `indent` blanks, and notes which columns were left
 * out. A failure of the table becomes one of the body.
 */
void text_table_write(const struct text_table *table, struct output *output, unsigned indent);
