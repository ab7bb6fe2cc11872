/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/ready_mark.h"
#include "base/clock.h"
#include "base/core_dump.h"
#include "base/log.h"
#include "io/fetch.h"
#include "io/tls_library.h"

#define HELP_CAP 65536u

static int print_help(void)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, HELP_CAP);
	option_render_help(&agent_settings_program, &text);
	return fwrite(text.ptr, 1, text.len, stdout) == text.len ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* With the libraries that security updates are for. */
static int print_version(void)
{
	CLEANUP(sbuf_deinit) struct sbuf text = {0};
	sbuf_init(&text, FETCH_VERSIONS_CAP + 64);
	sbuf_printf(&text, "%s %s\n", agent_settings_program.name, agent_settings_program.version);
	fetch_versions(&text);
	sbuf_append(&text, VIEW("\n"));
	return fwrite(text.ptr, 1, text.len, stdout) == text.len ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The kubelet shows what is written here in the pod's events. */
static int check_ready(const struct agent_settings *settings)
{
	struct ready_mark mark;
	struct error err;
	if (ready_mark_init(&mark, settings->ready_file, settings->boot_id_file, &err) == 0 &&
	    ready_mark_check(&mark, clock_boot_ms(), &err) == 0)
		return EXIT_SUCCESS;
	printf("not ready: %s\n", err.text);
	return EXIT_FAILURE;
}

static int run(const struct agent_settings *settings)
{
	struct agent *agent;
	struct error err;
	if (tls_library_wipe(&err) < 0 || tls_library_prepare(&err) < 0 || fetch_wipe(&err) < 0 ||
	    agent_new(settings, &agent, &err) < 0) {
		LOG_ERROR("Agent could not start", LOG_ERROR_FIELD(&err));
		return EXIT_FAILURE;
	}
	int failed = agent_run(agent, &err);
	if (failed)
		LOG_ERROR("Agent stopped after an error", LOG_ERROR_FIELD(&err));
	agent_free(agent);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct agent_settings settings;
	enum option_outcome outcome;
	struct error err;
	(void)argc;
	core_dump_forbid();
	if (agent_settings_parse(argv, environ, &settings, &outcome, &err) < 0) {
		fprintf(stderr, "%s: %s\n", agent_settings_program.name, err.text);
		return 2;
	}
	if (outcome == OPTION_HELP)
		return print_help();
	if (outcome == OPTION_VERSION)
		return print_version();
	return settings.check_ready ? check_ready(&settings) : run(&settings);
}
