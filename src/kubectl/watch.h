/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * watch - asks the same question again and again, and shows the answer whenever it has changed.
 *
 * Answers have instants instead of ages, so that time alone changes none, and one that stays on show
 * stays true.
 *
 * Threads: the main thread.
 * Limits:  two answers are kept: the one shown, and the one that has just come.
 */

#include "kubectl/command.h"
#include "kubectl/output.h"

#define WATCH_MAX_BACKOFF_MS 30000 /* between tries, unless the interval is longer */

/* What a watch needs of the outside. Its functions get `context`. */
struct watch_outside {
	void *context;
	/* Asks, and writes the answer to output. */
	enum command_status (*ask)(void *context, struct output *output);
	/* Prints heading and body, then notes. 0, or -1 when nothing can be printed any more. */
	int (*print)(void *context, struct view heading, struct view body, struct view notes);
	/* Milliseconds since 1970. */
	int64_t (*now)(void *context);
	/* Waits. False when nobody reads any more what is printed. */
	bool (*wait)(void *context, int64_t ms);
};

struct watch_settings {
	enum output_form form; /* OUTPUT_TABLE or OUTPUT_WIDE */
	bool has_headers;
	bool is_screen;      /* each answer takes the place of the one before */
	int64_t interval_ms; /* between the end of a question and the next one */
};

/*
 * Watches until nothing can be printed or nobody reads it; returns then the status of the last
 * answer, or COMMAND_FAILED. A first question that fails, or that is COMMAND_USAGE, ends it with that
 * status. A later one that fails is said and tried again, at intervals that double up to
 * WATCH_MAX_BACKOFF_MS. The first answer after that is shown even if it has not changed.
 */
enum command_status watch_run(const struct watch_settings *settings,
			      const struct watch_outside *outside);
