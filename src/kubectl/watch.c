/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each question is put by a kubectl of its own, as without --watch. A stream of `kubectl get --watch`
 * would spare the API server lists. But it is of one resource, and what is shown of a pod comes from
 * two. It also ends whenever the server or a proxy ends it, and then begins with a list again.
 */

#include "kubectl/watch.h"

#include <stdio.h>

#include "kubectl/words.h"
#include "wire/rfc3339.h"

#define CLEAR_SCREEN "\x1b[H\x1b[2J"

struct watch {
	const struct watch_settings *settings;
	const struct watch_outside *outside;
	struct output shown; /* the answer that was printed last */
	bool is_begun;       /* there was an answer */
	bool is_shown;       /* `shown` is what the last question was answered with */
	int64_t wait_ms;     /* before the next question */
};

/* Without a body there is nothing that could be shown in spite of the failure. */
static bool is_failure(enum command_status status, const struct output *output)
{
	return status == COMMAND_FAILED && output->body.len == 0;
}

static bool is_same(const struct output *left, const struct output *right)
{
	return view_equal(sbuf_view(&left->body), sbuf_view(&right->body)) &&
	       view_equal(sbuf_view(&left->notes), sbuf_view(&right->notes));
}

static int print(const struct watch *watch, const char *heading, const struct output *output)
{
	return watch->outside->print(watch->outside->context, view_from(heading),
				     sbuf_view(&output->body), sbuf_view(&output->notes));
}

/* Prints an answer that differs from the one on show, which it replaces. */
static int show(struct watch *watch, struct output *answer)
{
	char heading[64], time[RFC3339_SIZE];
	watch->wait_ms = watch->settings->interval_ms;
	if (watch->is_shown && is_same(&watch->shown, answer))
		return 0;
	rfc3339_seconds(watch->outside->now(watch->outside->context), time);
	snprintf(heading, sizeof(heading), "%s--- %s\n",
		 watch->settings->is_screen ? CLEAR_SCREEN : "", time);
	output_deinit(&watch->shown);
	watch->shown = *answer;
	*answer = (struct output){0};
	watch->is_begun = watch->is_shown = true;
	return print(watch, heading, &watch->shown);
}

/* Prints why there is no answer, and when the next try is. */
static int complain(struct watch *watch, struct output *answer)
{
	int64_t cap = watch->settings->interval_ms;
	if (cap < WATCH_MAX_BACKOFF_MS)
		cap = WATCH_MAX_BACKOFF_MS;
	watch->wait_ms = watch->wait_ms < cap / 2 ? watch->wait_ms * 2 : cap;
	watch->is_shown = false;
	sbuf_append(&answer->notes, VIEW("What is shown above may be out of date; next try in "));
	words_duration(&answer->notes, watch->wait_ms);
	sbuf_append_char(&answer->notes, '\n');
	return print(watch, "", answer);
}

/* One question; false: it was the last. */
static bool look(struct watch *watch, enum command_status *status)
{
	CLEANUP(output_deinit) struct output answer;
	output_init(&answer, watch->settings->form, WORDS_NO_NOW);
	answer.has_headers = watch->settings->has_headers;
	*status = watch->outside->ask(watch->outside->context, &answer);
	bool failed = is_failure(*status, &answer);
	if (!watch->is_begun && (failed || *status == COMMAND_USAGE)) {
		if (print(watch, "", &answer) != 0)
			*status = COMMAND_FAILED;
		return false;
	}
	int result = failed ? complain(watch, &answer) : show(watch, &answer);
	if (result != 0)
		*status = COMMAND_FAILED;
	return result == 0;
}

enum command_status watch_run(const struct watch_settings *settings,
			      const struct watch_outside *outside)
{
	struct watch watch = {.settings = settings, .outside = outside};
	enum command_status status;
	bool goes_on = look(&watch, &status);
	while (goes_on && outside->wait(outside->context, watch.wait_ms))
		goes_on = look(&watch, &status);
	output_deinit(&watch.shown);
	return status;
}
