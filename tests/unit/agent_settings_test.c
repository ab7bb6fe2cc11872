/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "agent/agent_settings.h"

static struct error err;

/* Parses up to three flags with this environment (NULL: none). */
static int parse(const char *const flags[3], const char *variable, struct agent_settings *settings)
{
	enum option_outcome outcome;
	char *argv[5] = {(char *)(uintptr_t)"agent"};
	for (size_t i = 0; i < 3 && flags[i]; i++)
		argv[i + 1] = (char *)(uintptr_t)flags[i];
	char *environment[] = {(char *)(uintptr_t)variable, NULL};
	return agent_settings_parse(argv, environment, settings, &outcome, &err);
}

static void the_node_comes_from_the_flag_then_from_the_environment(void **state)
{
	(void)state;
	static const struct {
		const char *flag, *variable, *name;
	} rows[] = {
		{"--node-name=a", NULL, "a"},
		{"--node-name=a", "NODE_NAME=b", "a"},
		{NULL, "NODE_NAME=b", "b"},
		{NULL, "GPU_ATTRIBUTION_NODE_NAME=c", "c"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct agent_settings settings;
		const char *const flags[3] = {rows[i].flag};
		assert_int_equal(parse(flags, rows[i].variable, &settings), 0);
		assert_string_equal(settings.node_name, rows[i].name);
	}
}

static void defaults_are_those_of_a_node(void **state)
{
	(void)state;
	struct agent_settings settings;
	assert_int_equal(parse((const char *const[3]){"--node-name=a"}, NULL, &settings), 0);
	assert_string_equal(settings.pod_resources_socket,
			    "/var/lib/kubelet/pod-resources/kubelet.sock");
	assert_string_equal(settings.checkpoint_file,
			    "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint");
	assert_string_equal(settings.nvml_library, "libnvidia-ml.so.1");
	assert_string_equal(settings.processes, "auto");
	assert_string_equal(settings.dcgm_url, "");
	assert_int_equal(settings.sample_interval_ms, 15000);
	assert_int_equal(settings.debounce_ms, 50);
	assert_int_equal(settings.kubelet_timeout_ms, 5000);
	assert_false(settings.once);
}

static void what_makes_no_sense_is_refused_with_the_name_of_the_flag(void **state)
{
	(void)state;
	static const struct {
		const char *flags[3];
		const char *named;
	} rows[] = {
		{{NULL}, "--node-name"},
		{{"--node-name="}, "--node-name"},
		{{"--node-name=a", "--print"}, "--print"},
		{{"--check-ready"}, "--ready-file"},
		{{"--node-name=a", "--controller=http://host:1"}, "--controller"},
		{{"--node-name=a", "--controller=https://"}, "--controller"},
		{{"--node-name=a", "--controller=host:8443"}, "--controller"},
		{{"--node-name=a", "--controller=https://host/path"}, "--controller"},
		{{"--node-name=a", "--controller=https://host/"}, "--controller"},
		{{"--node-name=a", "--controller=https://host?x"}, "--controller"},
		{{"--node-name=a", "--controller=https://user@host"}, "--controller"},
		{{"--node-name=a", "--processes=yes"}, "--processes"},
		{{"--node-name=a", "--dcgm-url=127.0.0.1:9400"}, "--dcgm-url"},
		{{"--node-name=a", "--dcgm-url=https://127.0.0.1:9400/metrics"}, "--dcgm-url"},
		{{"--node-name=a", "--dcgm-url=http://"}, "--dcgm-url"},
		{{"--node-name=a", "--dcgm-url=http:///metrics"}, "--dcgm-url"},
		{{"--node-name=a", "--dcgm-url=http://a:b@127.0.0.1/metrics"}, "--dcgm-url"},
		{{"--node-name=a", "--dcgm-url=http://127.0.0.1/metrics#a"}, "--dcgm-url"},
		{{"--node-name=a", "--log-level=loud"}, "--log-level"},
		{{"--node-name=a", "--log-format=xml"}, "--log-format"},
		{{"--node-name=a", "--checkpoint-file=relative"}, "--checkpoint-file"},
		{{"--node-name=a", "--debounce=1h"}, "--debounce"},
		{{"--node-name=a", "--checkpoint-file="}, "--checkpoint-file"},
		{{"--node-name=a", "--token-file="}, "--token-file"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct agent_settings settings;
		assert_int_equal(parse(rows[i].flags, NULL, &settings), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_non_null(strstr(err.text, rows[i].named));
	}
}

static void the_address_of_dcgm_exporter_may_be_any_of_plain_http(void **state)
{
	(void)state;
	static const char *const flags[] = {
		"--dcgm-url=", "--dcgm-url=http://127.0.0.1:9400/metrics", "--dcgm-url=http://[::1]:9400/metrics",
		"--dcgm-url=http://dcgm.gpu-operator.svc:9400/metrics?a=b",
	};
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct agent_settings settings;
		assert_int_equal(parse((const char *const[3]){"--node-name=a", flags[i]}, NULL,
				       &settings), 0);
		assert_string_equal(settings.dcgm_url, strchr(flags[i], '=') + 1);
	}
}

static void a_node_name_longer_than_kubernetes_allows_is_refused(void **state)
{
	(void)state;
	struct agent_settings settings;
	char flag[300] = "--node-name=";
	memset(flag + 12, 'n', 254);
	assert_int_equal(parse((const char *const[3]){flag}, NULL, &settings), -1);
	flag[12 + 253] = '\0';
	assert_int_equal(parse((const char *const[3]){flag}, NULL, &settings), 0);
}

static void help_and_version_need_no_node(void **state)
{
	(void)state;
	struct agent_settings settings;
	assert_int_equal(parse((const char *const[3]){"--help"}, NULL, &settings), 0);
	assert_int_equal(parse((const char *const[3]){"--version"}, NULL, &settings), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_node_comes_from_the_flag_then_from_the_environment),
	cmocka_unit_test(defaults_are_those_of_a_node),
	cmocka_unit_test(what_makes_no_sense_is_refused_with_the_name_of_the_flag),
	cmocka_unit_test(the_address_of_dcgm_exporter_may_be_any_of_plain_http),
	cmocka_unit_test(a_node_name_longer_than_kubernetes_allows_is_refused),
	cmocka_unit_test(help_and_version_need_no_node),
};
TEST_MAIN(tests)
