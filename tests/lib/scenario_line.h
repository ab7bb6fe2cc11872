/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scenario_line - one statement of a scenario, cut into words. What is wrong with a statement, or
 * with the world after it, ends the test with the promise, the number of the statement and its text.
 *
 * Threads: a test's own.
 * Limits:  SCENARIO_WORDS words; a text of SCENARIO_TEXT bytes.
 */

#include "lib/build_world.h"

#define SCENARIO_WORDS 48u
#define SCENARIO_TEXT 8192u

struct scenario_line {
	struct build_world *world;
	const char *sentence; /* of the promise */
	unsigned number;      /* of the statement, from 1 */
	struct view text;     /* of the statement */
	struct view words[SCENARIO_WORDS];
	unsigned n_words, at; /* the next one to take */
};

struct scenario_statement {
	const char *word;
	const char *usage;
	void (*run)(struct scenario_line *line);
};

/* A text that grows; it ends the test when it is full. */
struct scenario_text {
	char bytes[SCENARIO_TEXT];
	size_t len;
};
/* Adds a formatted text at the end. */
PRINTF_LIKE(2, 3) void scenario_text_add(struct scenario_text *text, const char *format, ...);
/* UUIDs as gpu0, mig0.1, and UIDs without their "uid-". */
void scenario_text_shorten(struct scenario_text *text);

/* Cuts the next statement of *script off. False: there is none. */
bool scenario_line_next(struct scenario_line *line, const char **script);
/* Ends the test. */
PRINTF_LIKE(2, 3)
void scenario_line_fail(const struct scenario_line *line, const char *format, ...);

/* The next word; without one the test ends. */
struct view scenario_line_take(struct scenario_line *line);
/* True while a word is left to take. */
bool scenario_line_has_more(const struct scenario_line *line);
/* Takes the next word if it is this one. */
bool scenario_line_accept(struct scenario_line *line, const char *word);
/* Takes the rest, joined by blanks, to be compared with what is shown. */
void scenario_line_rest(struct scenario_line *line, struct scenario_text *rest);
/* Takes a number; a duration in ms ("10s", "5min", "7" ms, "-1s"). */
unsigned scenario_line_number(struct scenario_line *line);
int64_t scenario_line_duration(struct scenario_line *line);
int64_t scenario_line_duration_of(const struct scenario_line *line, struct view word);
/* A copy, NUL-terminated, that lives as long as the world. */
const char *scenario_line_text(const struct scenario_line *line, struct view text);
/* The device ID that a word stands for: gpu0::3, mig0.1; any other is itself. */
struct view scenario_line_unit(const struct scenario_line *line, struct view word);
/* Takes gpu0, the number of a device. */
unsigned scenario_line_device(struct scenario_line *line);
/* The index of the word in a list that NULL ends; one that is not there ends the test. */
int scenario_line_choose(const struct scenario_line *line, struct view word,
			 const char *const *choices);
