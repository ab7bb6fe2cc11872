/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * page - what a command prints: a body for standard output, and notes for standard error, so that
 * what is piped on is the body alone.
 *
 * Threads: owner.
 * Limits:  PAGE_BYTES of body; PAGE_NOTES notes, further ones are counted.
 */

#include "base/limits.h"
#include "base/sbuf.h"

#define PAGE_BYTES (256u * LIMIT_MIB)
#define PAGE_NOTES 64u

enum page_form {
	PAGE_TABLE,
	PAGE_WIDE,
	PAGE_JSON,
	PAGE_NAME,
};

/* For the columns of a sheet. */
enum page_flag {
	PAGE_IF_WIDE = 1u << 0,
	PAGE_IF_MANY = 1u << 1,           /* more than one thing was asked for */
	PAGE_IF_ALL_NAMESPACES = 1u << 2,
};

struct page {
	enum page_form form;
	bool has_headers;
	bool is_many;
	bool all_namespaces;
	int64_t now; /* ms since 1970 */
	struct sbuf body;
	struct sbuf notes;
	struct sbuf line; /* the note being written */
	size_t n_notes;
};

/* A page of that form, with headers. */
void page_init(struct page *page, enum page_form form, int64_t now);
/* Accepts a zeroed object. For CLEANUP. */
void page_deinit(struct page *page);
/* The columns that the page has. */
uint32_t page_flags(const struct page *page);
/* Begins a note; its text, in which anything may stand, is appended to what is returned. */
struct sbuf *page_note(struct page *page);
/* Ends the note begun last: it becomes a line, made printable. An empty one is dropped. */
void page_note_end(struct page *page);
/* A whole note. */
PRINTF_LIKE(2, 3) void page_printf(struct page *page, const char *format, ...);
/*
 * The last call: says how many notes were left out. 0, or -1 when body or notes ran out of room or
 * memory.
 */
MUST_USE int page_finish(struct page *page, struct error *err);
