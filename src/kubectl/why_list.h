/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * why_list - statements about one device, each with what it rests on, in the order in which they are
 * added.
 *
 * Threads: owner.
 */

#include "base/arena.h"
#include "base/sbuf.h"

/* What a reason is; the words of documents for programs. */
enum why_kind {
	WHY_WITNESS,  /* who said it */
	WHY_EVIDENCE, /* what was seen */
	WHY_ROW,      /* of which table decided; of several one did */
	WHY_INTENDED,
	WHY_OBSERVED,
	WHY_REMEDY,
	WHY_NOTE,
	WHY_N_KINDS,
};

struct why_reason {
	struct why_reason *next;
	enum why_kind kind;
	struct view name; /* of the witness, or of the row; or empty */
	struct view text; /* or empty */
	const char *table; /* WHY_ROW: the file that has it; else NULL; static */
	unsigned row; /* its number in that file, from 1 on; 0: not known */
	int64_t time; /* when that was said or seen; 0: not told, or no such reason */
	int64_t since; /* without a time: since when the statement stands; 0: not known either */
};

struct why_statement {
	struct why_statement *next;
	const char *section; /* "tenancy", "mode", ...; static */
	struct view text;
	int64_t since; /* 0: not known */
	struct why_reason *reasons;
	struct why_reason **end;
};

struct why_list {
	struct arena *arena;
	struct why_statement *statements;
	struct why_statement **end;
	struct why_statement *last;
	struct sbuf text; /* being written */
	bool has_failed;  /* there was no memory for something */
};

/* An empty list, which lies in arena. It points into itself: it must not be moved. */
void why_list_init(struct why_list *list, struct arena *arena);
/* Frees what is not in the arena. Accepts a zeroed object. For CLEANUP. */
void why_list_deinit(struct why_list *list);
/* Where the text of the next statement or reason is written. */
struct sbuf *why_list_text(struct why_list *list);
/* Adds a statement with that text. */
void why_list_add(struct why_list *list, const char *section, int64_t since);
/*
 * Adds what was said or seen, as a reason of the last statement, with that text. The name is borrowed.
 * time: when; 0: not told. Then what was said, seen or intended has the time since when the statement
 * stands, if that is known.
 */
void why_list_because(struct why_list *list, enum why_kind kind, struct view name, int64_t time);
/* Adds that this row decided, with that text. row: its number from 1 on, or 0. */
void why_list_row(struct why_list *list, const char *table, unsigned row, struct view name);
/* Adds a reason with a text that is copied. */
void why_list_say(struct why_list *list, enum why_kind kind, struct view name, struct view text);
/* Fails with ERROR_NO_MEMORY if something could not be added. */
MUST_USE int why_list_check(const struct why_list *list, struct error *err);
