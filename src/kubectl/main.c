/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kubectl/command.h"
#include "kubectl/output.h"
#include "kubectl/usage.h"

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
	output_init(&output, invocation->form, clock_wall_ms());
	output.has_headers = !invocation->no_headers;
	int status = (int)command_run(invocation, kubectl && *kubectl ? kubectl : "kubectl", &output);
	/* Notes come after what they are about, on a terminal that shows both. */
	int failed = print(stdout, sbuf_view(&output.body));
	return print(stderr, sbuf_view(&output.notes)) || failed ? COMMAND_FAILED : status;
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
	if (invocation.outcome == INVOCATION_HELP)
		return print(stdout, view_from(usage_of(invocation.verb)));
	if (invocation.outcome == INVOCATION_VERSION)
		return print(stdout, VIEW("kubectl-gpus " GPU_ATTRIBUTION_VERSION "\n"));
	return run(&invocation);
}
