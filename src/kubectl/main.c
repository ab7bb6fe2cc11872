/* SPDX-License-Identifier: Apache-2.0 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "kubectl/command.h"
#include "kubectl/output.h"
#include "kubectl/watch.h"

static int print(FILE *file, struct view text)
{
	if (text.len == 0 ||
	    (fwrite(text.ptr, 1, text.len, file) == text.len && fflush(file) == 0))
		return 0;
	perror("kubectl gpus: cannot print");
	return COMMAND_FAILED;
}

static enum command_status ask(void *context, struct output *output)
{
	const char *kubectl = getenv("KUBECTL");
	return command_run(context, kubectl && *kubectl ? kubectl : "kubectl", output);
}

/* Notes come after what they are about, on a terminal that shows both. */
static int print_all(void *context, struct view heading, struct view body, struct view notes)
{
	(void)context;
	int failed = print(stdout, heading) || print(stdout, body);
	return print(stderr, notes) || failed ? -1 : 0;
}

static int run(struct invocation *invocation)
{
	CLEANUP(output_deinit) struct output output;
	output_init(&output, (enum output_form)invocation->form, clock_wall_ms());
	output.has_headers = !invocation->no_headers;
	int status = (int)ask(invocation, &output);
	return print_all(NULL, (struct view){0}, sbuf_view(&output.body), sbuf_view(&output.notes))
		       ? COMMAND_FAILED
		       : status;
}

static int64_t now(void *context)
{
	(void)context;
	return clock_wall_ms();
}

/* Only errors are polled for: that the reader of a pipe has gone is one. */
static bool wait_on_stdout(void *context, int64_t ms)
{
	struct pollfd out = {.fd = STDOUT_FILENO};
	(void)context;
	return poll(&out, 1, (int)ms) <= 0;
}

/* A terminal that can clear its screen, as all do that have a name but "dumb". */
static bool is_screen(void)
{
	const char *terminal = getenv("TERM");
	return isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

/* Ctrl-C ends it as it ends any program: a shell shows 130. */
static int watch(struct invocation *invocation)
{
	const struct watch_settings settings = {
		.form = (enum output_form)invocation->form,
		.has_headers = !invocation->no_headers,
		.is_screen = is_screen(),
		.interval_ms = invocation->interval_ms,
	};
	const struct watch_outside outside = {
		.context = invocation, .ask = ask, .print = print_all, .now = now,
		.wait = wait_on_stdout,
	};
	return (int)watch_run(&settings, &outside);
}

static int print_help(enum invocation_verb verb)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, LIMIT_MIB);
	invocation_render_help(verb, &text);
	return print(stdout, sbuf_view(&text));
}

int main(int argc, char **argv)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct invocation invocation;
	struct error err;
	(void)argc;
	arena_init(&arena, LIMIT_MIB);
	if (invocation_parse(argv, &arena, &invocation, &err) != 0) {
		fprintf(stderr, "error: %s\nSee 'kubectl gpus --help' for usage.\n", err.text);
		return COMMAND_USAGE;
	}
	if (invocation.outcome == OPTION_HELP)
		return print_help(invocation.verb);
	if (invocation.outcome == OPTION_VERSION)
		return print(stdout, VIEW("kubectl-gpus " GPU_ATTRIBUTION_VERSION "\n"));
	return invocation.watch ? watch(&invocation) : run(&invocation);
}
