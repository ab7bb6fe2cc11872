/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core_dump.h"
#include "base/log.h"
#include "controller/daemon.h"
#include "controller/settings.h"
#include "io/fetch.h"
#include "io/tls_library.h"

#define USAGE_CAP 65536

static int print_help(void)
{
	CLEANUP(sbuf_deinit) struct sbuf text = {0};

	sbuf_init(&text, USAGE_CAP);
	option_render_help(&settings_program, &text);
	fputs(sbuf_text(&text) ? sbuf_text(&text) : "", stdout);
	return EXIT_SUCCESS;
}

/* With the libraries that security updates are for. */
static int print_version(void)
{
	CLEANUP(sbuf_deinit) struct sbuf text = {0};
	sbuf_init(&text, FETCH_VERSIONS_CAP + 64);
	sbuf_printf(&text, "%s %s\n", settings_program.name, settings_program.version);
	fetch_versions(&text);
	sbuf_append(&text, VIEW("\n"));
	return fwrite(text.ptr, 1, text.len, stdout) == text.len ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run(const struct settings *settings)
{
	struct daemon *daemon;
	struct error error = {0};
	int failed;

	if (tls_library_wipe(&error) < 0 || tls_library_prepare(&error) < 0 ||
	    fetch_wipe(&error) < 0 || daemon_new(settings, &daemon, &error) < 0) {
		LOG_ERROR("Controller could not start", LOG_ERROR_FIELD(&error));
		return EXIT_FAILURE;
	}
	failed = daemon_run(daemon, &error);
	if (failed)
		LOG_ERROR("Controller stopped after an error", LOG_ERROR_FIELD(&error));
	daemon_free(daemon);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct settings settings;
	enum option_outcome outcome;
	struct error error = {0};

	(void)argc;
	core_dump_forbid();
	if (settings_parse(argv, environ, &settings, &outcome, &error) < 0) {
		fprintf(stderr, "%s: %s\n", settings_program.name, error.text);
		return 2;
	}
	if (outcome == OPTION_HELP)
		return print_help();
	if (outcome == OPTION_VERSION)
		return print_version();
	return run(&settings);
}
