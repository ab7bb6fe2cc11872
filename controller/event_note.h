/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_note - makes the notes of Events, and the numbers by which Events are told apart.
 *
 * Threads: owner.
 * Limits:  LIMIT_EVENT_NOTE bytes a note; what is longer is cut.
 */

#include "base/arena.h"
#include "base/sbuf.h"

struct event_note {
	struct sbuf text;
};

/* An empty note; event_note_deinit() at the end. Allocates nothing. */
void event_note_init(struct event_note *note);
/* Accepts a zeroed object. For CLEANUP. */
void event_note_deinit(struct event_note *note);
/* Appends the text; a note that is too long already stays as it is. */
void event_note_add(struct event_note *note, struct view text);
/* Appends "; ", if there is something before it. */
void event_note_next(struct event_note *note);
/* Appends the number. */
void event_note_add_number(struct event_note *note, int64_t number);
/* Appends the time (ms since 1970) to the second, in UTC. */
void event_note_add_time(struct event_note *note, int64_t ms);
/*
 * A copy of the note in the arena, cut to LIMIT_EVENT_NOTE; the note is empty then. Fails with
 * ERROR_NO_MEMORY or ERROR_LIMIT when the arena is full.
 */
MUST_USE int event_note_take(struct event_note *note, struct arena *arena, struct view *ret,
			     struct error *err);

/* The number of nothing. The same in each process, and not for keys that somebody may choose. */
#define EVENT_NOTE_BASIS UINT64_C(0xcbf29ce484222325)
/* The number of what `hash` stands for, followed by the text. */
uint64_t event_note_hash_text(uint64_t hash, struct view text);
/* The same of a number. */
uint64_t event_note_hash_number(uint64_t hash, int64_t number);
