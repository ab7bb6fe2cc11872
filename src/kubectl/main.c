/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kubectl/command.h"
#include "kubectl/output.h"

static int print(FILE *file, struct view text)
{
	if (text.len == 0 ||
	    (fwrite(text.ptr, 1, text.len, file) == text.len && fflush(file) == 0))
		return 0;
	perror("kubectl gpus: cannot print");
	return COMMAND_FAILED;
}

static int run(const struct invocation *invocation)
{
	CLEANUP(output_deinit) struct output output;
	const char *kubectl = getenv("KUBECTL");
	output_init(&output, (enum output_form)invocation->form, clock_wall_ms());
	output.has_headers = !invocation->no_headers;
	int status = (int)command_run(invocation, kubectl && *kubectl ? kubectl : "kubectl", &output);
	/* Notes come after what they are about, on a terminal that shows both. */
	int failed = print(stdout, sbuf_view(&output.body));
	return print(stderr, sbuf_view(&output.notes)) || failed ? COMMAND_FAILED : status;
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
	return run(&invocation);
}
