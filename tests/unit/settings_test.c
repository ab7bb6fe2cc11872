/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "controller/settings.h"

static char *no_environment[] = {NULL};

static int parse(const char *const *arguments, char *const *environment, struct settings *ret,
		 struct error *err)
{
	char *argv[8] = {(char *)(uintptr_t)"gpu-attribution-controller"};
	enum option_outcome outcome;

	for (unsigned i = 0; arguments[i]; i++)
		argv[i + 1] = (char *)(uintptr_t)arguments[i];
	return settings_parse(argv, environment, ret, &outcome, err);
}

static void without_flags_the_defaults_hold(void **state)
{
	(void)state;
	static const char *const arguments[] = {NULL};
	struct settings settings;
	struct error err = {0};

	if (parse(arguments, no_environment, &settings, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(settings.report_address, ":8443");
	assert_string_equal(settings.probe_address, ":8081");
	assert_string_equal(settings.metrics_address, ":8444");
	assert_false(settings.metrics_insecure);
	assert_string_equal(settings.audience, "gpuattribution.dev");
	assert_string_equal(settings.tls_cert, "");
	assert_string_equal(settings.tls_secret, "gpu-attribution-tls");
	assert_int_equal(settings.initial_state, REFLECTOR_LIST);
	assert_int_equal(settings.heartbeat_ms, 60000);
	assert_int_equal(settings.stale_ms, 180000);
	assert_int_equal(settings.node_gone_ms, 600000);
	assert_int_equal(settings.max_requests, 16);
	assert_true(settings.events);
	assert_int_equal(settings.events_per_minute, 10);
	assert_int_equal(settings.event_repeat_ms, 600000);
	assert_int_equal(settings.event_idle_ms, 3600000);
	assert_true(settings.stale_ms >= 2 * settings.heartbeat_ms);
	assert_true(settings.leader_elect);
	assert_int_equal(settings.lease_duration_ms, 5000);
	assert_int_equal(settings.renew_deadline_ms, 4000);
	assert_int_equal(settings.retry_period_ms, 1000);
	assert_string_equal(settings.lease_name, "gpu-attribution-controller");
}

static void times_of_the_leader_election_must_leave_room_for_each_other(void **state)
{
	(void)state;
	static const struct {
		const char *const arguments[4];
		const char *complaint; /* NULL: there is none */
	} rows[] = {
		{{"--leader-elect-retry-period=3999ms", NULL}, NULL},
		{{"--leader-elect-retry-period=4s", NULL}, "--leader-elect-retry-period must be less"},
		{{"--leader-elect-renew-deadline=4999ms", NULL}, NULL},
		{{"--leader-elect-renew-deadline=5s", NULL}, "--leader-elect-renew-deadline must be less"},
		{{"--leader-elect-renew-deadline=1s", NULL}, "--leader-elect-retry-period must be less"},
		{{"--leader-elect-lease-duration=4s", NULL}, "--leader-elect-renew-deadline must be less"},
		{{"--leader-elect-lease-duration=60s", NULL}, NULL},
		{{"--leader-elect-lease-duration=61s", NULL}, "--leader-elect-lease-duration"},
		{{"--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s",
		  "--leader-elect-retry-period=2s", NULL}, NULL},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct settings settings;
		struct error err = {0};

		assert_int_equal(parse(rows[i].arguments, no_environment, &settings, &err),
				 rows[i].complaint ? -1 : 0);
		if (rows[i].complaint)
			assert_non_null(strstr(err.text, rows[i].complaint));
	}
}

static void each_way_to_read_the_first_state_has_its_word(void **state)
{
	(void)state;
	static const struct {
		const char *argument;
		enum reflector_initial initial;
	} rows[] = {
		{"--initial-state=list", REFLECTOR_LIST},
		{"--initial-state=stream", REFLECTOR_STREAM},
		{"--initial-state=pages", REFLECTOR_PAGES},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *const arguments[] = {rows[i].argument, NULL};
		struct settings settings;
		struct error err;

		assert_int_equal(parse(arguments, no_environment, &settings, &err), 0);
		assert_int_equal(settings.initial_state, rows[i].initial);
	}
}

static void each_way_to_select_pods_has_its_word(void **state)
{
	(void)state;
	static const struct {
		const char *argument;
		enum pod_selection_policy policy;
	} rows[] = {
		{"--log-level=info", POD_SELECTION_AUTO}, /* unless another is asked for */
		{"--pod-selection=auto", POD_SELECTION_AUTO},
		{"--pod-selection=cluster", POD_SELECTION_ALWAYS_CLUSTER},
		{"--pod-selection=node", POD_SELECTION_ALWAYS_NODE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *const arguments[] = {rows[i].argument, NULL};
		struct settings settings;
		struct error err;

		assert_int_equal(parse(arguments, no_environment, &settings, &err), 0);
		assert_int_equal(settings.pod_selection_policy, rows[i].policy);
	}
}

static void what_does_not_make_sense_is_refused_and_the_text_names_the_flag(void **state)
{
	(void)state;
	static const struct {
		const char *arguments[3];
		const char *flag;
	} rows[] = {
		{{"--initial-state=all"}, "--initial-state"},
		{{"--initial-state="}, "--initial-state"},
		{{"--pod-selection=nodes"}, "--pod-selection"},
		{{"--pod-selection-threshold=101"}, "pod-selection-threshold"},
		{{"--log-level=loud"}, "--log-level"},
		{{"--log-format=xml"}, "--log-format"},
		{{"--tls-cert=/a"}, "--tls-key"},
		{{"--tls-key=/a"}, "--tls-cert"},
		{{"--heartbeat=61s", "--report-stale-after=2m"}, "--report-stale-after"},
		{{"--report-stale-after=119s"}, "--heartbeat"},
		{{"--memory-limit=1"}, "--memory-limit"},
		{{"--memory-limit=201326591"}, "--memory-limit"},
		{{"--max-requests=0"}, "max-requests"},
		{{"--token-cache=11m"}, "token-cache"},
		{{"--no-such-flag"}, "no-such-flag"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct settings settings;
		struct error err = {0};

		assert_int_equal(parse(rows[i].arguments, no_environment, &settings, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_non_null(strstr(err.text, rows[i].flag));
	}
}

static void bounds_that_just_make_sense_are_taken(void **state)
{
	(void)state;
	static const char *const arguments[] = {
		"--heartbeat=60s", "--report-stale-after=2m", "--tls-cert=/c", "--tls-key=/k",
		"--memory-limit=192MiB", NULL,
	};
	struct settings settings;
	struct error err;

	assert_int_equal(parse(arguments, no_environment, &settings, &err), 0);
	assert_string_equal(settings.tls_cert, "/c");
	assert_string_equal(settings.tls_key, "/k");
}

static void a_flag_wins_over_the_environment(void **state)
{
	(void)state;
	static const char *const arguments[] = {"--max-requests=3", NULL};
	char requests[] = "GPU_ATTRIBUTION_MAX_REQUESTS=5", audience[] = "GPU_ATTRIBUTION_AUDIENCE=x";
	char *environment[] = {requests, audience, NULL};
	struct settings settings;
	struct error err;

	assert_int_equal(parse(arguments, environment, &settings, &err), 0);
	assert_int_equal(settings.max_requests, 3);
	assert_string_equal(settings.audience, "x");
}

static void who_asks_for_help_or_the_version_gets_it_whatever_else_is_wrong(void **state)
{
	(void)state;
	static const struct {
		const char *argument;
		enum option_outcome outcome;
	} rows[] = {{"--help", OPTION_HELP}, {"--version", OPTION_VERSION}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *argv[] = {(char *)(uintptr_t)"c", (char *)(uintptr_t)"--log-level=loud",
				(char *)(uintptr_t)rows[i].argument, NULL};
		enum option_outcome outcome = OPTION_RUN;
		struct settings settings;
		struct error err;

		assert_int_equal(settings_parse(argv, no_environment, &settings, &outcome, &err), 0);
		assert_int_equal(outcome, rows[i].outcome);
	}
}

/* What is logged to a file while two messages are written, one of them for debugging only. */
static void log_twice(char *ret, size_t size)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	log_set_fd(fileno(file));
	LOG_DEBUG("Deep");
	LOG_INFO("Shallow");
	log_set_fd(STDERR_FILENO);
	rewind(file);
	ret[fread(ret, 1, size - 1, file)] = '\0';
	fclose(file);
}

static void level_and_format_of_the_log_are_set(void **state)
{
	(void)state;
	static const char *const loud[] = {"--log-level=debug", "--log-format=json", NULL};
	static const char *const quiet[] = {"--log-level=info", "--log-format=logfmt", NULL};
	static const char *const bad[] = {"--log-level=debug", "--tls-key=/k", NULL};
	struct settings settings;
	struct error err;
	char text[1024];

	assert_int_equal(parse(loud, no_environment, &settings, &err), 0);
	log_twice(text, sizeof(text));
	assert_non_null(strstr(text, "\"Deep\""));
	assert_int_equal(parse(quiet, no_environment, &settings, &err), 0);
	assert_int_equal(parse(bad, no_environment, &settings, &err), -1);
	log_twice(text, sizeof(text));
	assert_null(strstr(text, "Deep"));
	assert_non_null(strstr(text, "Shallow"));
	assert_int_equal(strncmp(text, "ts=", 3), 0);
}

static void help_lists_every_flag_with_its_default(void **state)
{
	(void)state;
	struct sbuf help;

	sbuf_init(&help, 1 << 16);
	option_render_help(&settings_program, &help);
	const char *text = sbuf_text(&help);
	assert_non_null(text);
	for (size_t i = 0; i < settings_program.n_rows; i++) {
		char flag[80];

		snprintf(flag, sizeof(flag), "-%s", settings_program.rows[i].name);
		assert_non_null(strstr(text, flag));
	}
	sbuf_deinit(&help);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(without_flags_the_defaults_hold),
	cmocka_unit_test(times_of_the_leader_election_must_leave_room_for_each_other),
	cmocka_unit_test(each_way_to_read_the_first_state_has_its_word),
	cmocka_unit_test(each_way_to_select_pods_has_its_word),
	cmocka_unit_test(what_does_not_make_sense_is_refused_and_the_text_names_the_flag),
	cmocka_unit_test(bounds_that_just_make_sense_are_taken),
	cmocka_unit_test(a_flag_wins_over_the_environment),
	cmocka_unit_test(who_asks_for_help_or_the_version_gets_it_whatever_else_is_wrong),
	cmocka_unit_test(level_and_format_of_the_log_are_set),
	cmocka_unit_test(help_lists_every_flag_with_its_default),
};

TEST_MAIN(tests)
