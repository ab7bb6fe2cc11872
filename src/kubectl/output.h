/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * output - what a command prints: a body for standard output, and notes for standard error. So the
 * next program in a pipe gets the body alone.
 *
 * Threads: owner.
 * Limits:  OUTPUT_BYTES of body; OUTPUT_NOTES notes, further ones are counted.
 */

#include "base/limits.h"
#include "base/sbuf.h"
#include "kubectl/leader.h"

#define OUTPUT_BYTES (256u * LIMIT_MIB)
#define OUTPUT_NOTES 64u

enum output_form {
	OUTPUT_TABLE,
	OUTPUT_WIDE,
	OUTPUT_JSON,
	OUTPUT_YAML,
	OUTPUT_NAME,
};

/* For the columns of a table. */
enum output_flag {
	OUTPUT_IF_WIDE = 1u << 0,
	OUTPUT_IF_MANY = 1u << 1,           /* more than one thing was asked for */
	OUTPUT_IF_ALL_NAMESPACES = 1u << 2,
	OUTPUT_IF_NO_LEADER = 1u << 3,      /* what is shown may be old */
};

struct uuid_prefix;

struct output {
	enum output_form form;
	bool has_headers;
	bool is_many;
	bool all_namespaces;
	struct uuid_prefix *uuids; /* of all devices; NULL: UUIDs are never shortened; borrowed */
	int64_t now; /* ms since 1970, or WORDS_NO_NOW */
	struct leader leader; /* whether what is shown is kept up to date */
	struct sbuf body;
	struct sbuf notes;
	struct sbuf line; /* the note being written */
	size_t n_notes;
};

/* An output of that form, with headers. */
void output_init(struct output *output, enum output_form form, int64_t now);
/* Accepts a zeroed object. For CLEANUP. */
void output_deinit(struct output *output);
/* Is a document for programs wanted, and no table? */
bool output_is_document(const struct output *output);
/* The columns that the output has. */
uint32_t output_flags(const struct output *output);
/* Appends a UUID to a cell or a note, shortened in default tables alone. */
void output_uuid(const struct output *output, struct view uuid, struct sbuf *cell);
/* Appends a model to a cell, without "NVIDIA-" unless the output is wide; "?" if it is not known. */
void output_model(const struct output *output, struct view model, struct sbuf *cell);
/*
 * Appends text to the buffer, made printable. In a default table it goes on in further lines where
 * one would have more than TEXT_TABLE_WIDTH columns; they end as printable_take_line() says. The
 * first begins at column start, where the buffer is, the others behind `indent` blanks.
 */
void output_wrap(const struct output *output, struct view text, size_t start, size_t indent,
		 struct sbuf *buf);
/* Begins a note; its text, in which anything may stand, is appended to what is returned. */
struct sbuf *output_note(struct output *output);
/* Ends the note begun last: it becomes lines as output_wrap() makes them. An empty one is dropped. */
void output_note_end(struct output *output);
/* A whole note. */
PRINTF_LIKE(2, 3) void output_printf(struct output *output, const char *format, ...);
/*
 * The last call: says how many notes were left out. 0, or -1 when body or notes ran out of room or
 * memory.
 */
MUST_USE int output_finish(struct output *output, struct error *err);
