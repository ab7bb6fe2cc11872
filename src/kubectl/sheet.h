/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sheet - a table of text as kubectl prints them: left-aligned columns, three blanks between them,
 * nothing behind the last. Columns are rows of a table that say how each cell is written.
 *
 * Threads: owner.
 * Limits:  SHEET_MAX_COLUMNS columns, the text of all cells `cap` bytes.
 */

#include "base/sbuf.h"

#define SHEET_MAX_COLUMNS 24u

struct sheet_column {
	const char *header; /* NULL ends a list of columns */
	uint32_t shown;     /* flags that must all be given to sheet_init(); 0: always shown */
	/* Appends the cell's text, which may hold anything; nothing is shown as "-". */
	void (*write)(const void *row, struct sbuf *cell);
};

struct sheet {
	const struct sheet_column *columns;
	uint32_t flags;
	struct sbuf text;    /* printable cells, each with a NUL behind it */
	struct sbuf scratch; /* the cell being written */
	size_t widths[SHEET_MAX_COLUMNS];
	size_t n_rows;
};

/* columns is borrowed until sheet_deinit(). */
void sheet_init(struct sheet *sheet, const struct sheet_column *columns, uint32_t flags, size_t cap);
/* Accepts a zeroed object. For CLEANUP. */
void sheet_deinit(struct sheet *sheet);
/* Writes the cells of one row; row is what the columns' functions are given. */
void sheet_add(struct sheet *sheet, const void *row);
/*
 * Appends the table, each line behind `indent` blanks. A failure of the sheet becomes one of the
 * buffer.
 */
void sheet_write(const struct sheet *sheet, bool has_headers, unsigned indent, struct sbuf *buf);
