/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/sbuf.h"
#include "kube/kubeconfig.h"
#include "lib/failing_malloc.h"

static struct error err;

#define HEAD "apiVersion: v1\nkind: Config\ncurrent-context: one\n"
#define CONTEXT "contexts:\n- {name: one, context: {cluster: c, user: u, namespace: ns}}\n"
#define CLUSTER "clusters:\n- {name: c, cluster: {server: 'https://10.0.0.1:6443/'}}\n"
#define USER "users:\n- {name: u, user: {token: secret}}\n"

static int parse(const char *text, const char *context, struct kubeconfig *ret)
{
	return kubeconfig_parse(view_from(text), "/etc/kube", context, ret, &err);
}

static void expect_text(struct view got, const char *expected)
{
	assert_true(view_equal(got, view_from(expected)));
	if (got.len > 0)
		assert_int_equal(got.ptr[got.len], '\0');
}

static void the_current_context_leads_to_cluster_and_user(void **state)
{
	(void)state;
	struct kubeconfig config;
	assert_int_equal(parse(HEAD CONTEXT CLUSTER USER, NULL, &config), 0);
	expect_text(config.server, "https://10.0.0.1:6443");
	expect_text(config.token, "secret");
	expect_text(config.namespace, "ns");
	expect_text(config.context, "one");
	assert_false(config.insecure);
	assert_int_equal(config.ca_file.len + config.ca_pem.len + config.token_file.len, 0);
	kubeconfig_deinit(&config);
}

static void another_context_can_be_chosen(void **state)
{
	(void)state;
	const char *text = HEAD
		"contexts:\n"
		"- {name: one, context: {cluster: c, user: u}}\n"
		"- {name: two, context: {cluster: d}}\n"
		"clusters:\n"
		"- {name: c, cluster: {server: 'https://c'}}\n"
		"- {name: d, cluster: {server: 'http://d', tls-server-name: name, "
		"insecure-skip-tls-verify: true, certificate-authority: ca.crt}}\n" USER;
	struct kubeconfig config;
	assert_int_equal(parse(text, "two", &config), 0);
	expect_text(config.server, "http://d");
	expect_text(config.tls_server_name, "name");
	expect_text(config.token, "");
	assert_true(config.insecure);
	expect_text(config.ca_file, ""); /* not asked for when nothing is verified */
	kubeconfig_deinit(&config);
}

static void files_are_relative_to_the_kubeconfig_and_data_is_decoded(void **state)
{
	(void)state;
	const char *text = HEAD CONTEXT
		"clusters:\n- name: c\n  cluster:\n    server: https://h\n"
		"    certificate-authority: pki/ca.crt\n"
		"    certificate-authority-data: Q0E=\n"
		"users:\n- name: u\n  user:\n    tokenFile: /abs/token\n    token: t\n"
		"    client-certificate: c.crt\n    client-key-data: S0VZ\n";
	struct kubeconfig config;
	assert_int_equal(parse(text, NULL, &config), 0);
	expect_text(config.ca_file, "/etc/kube/pki/ca.crt");
	expect_text(config.ca_pem, "CA");
	expect_text(config.token_file, "/abs/token");
	expect_text(config.token, "t");
	expect_text(config.client_cert_file, "/etc/kube/c.crt");
	expect_text(config.client_key_pem, "KEY");
	kubeconfig_deinit(&config);
}

static void json_is_yaml_too(void **state)
{
	(void)state;
	const char *text =
		"{\"current-context\":\"one\",\"contexts\":[{\"name\":\"one\",\"context\":"
		"{\"cluster\":\"c\",\"user\":\"\"}}],\"clusters\":[{\"name\":\"c\",\"cluster\":"
		"{\"server\":\"https://h\",\"insecure-skip-tls-verify\":false}}]}";
	struct kubeconfig config;
	assert_int_equal(parse(text, NULL, &config), 0);
	expect_text(config.server, "https://h");
	kubeconfig_deinit(&config);
}

static void keys_that_are_null_or_unknown_do_not_matter(void **state)
{
	(void)state;
	const char *text = HEAD CONTEXT CLUSTER
		"preferences: {}\nextensions:\n- a\n"
		"users:\n- {name: u, user: {token: secret, exec: null, username: ~, as: , "
		"novel: {deep: [1]}}}\n";
	struct kubeconfig config;
	assert_int_equal(parse(text, NULL, &config), 0);
	expect_text(config.token, "secret");
	kubeconfig_deinit(&config);
}

static void what_cannot_be_used_is_refused_with_what_to_do(void **state)
{
	(void)state;
#define WITH_USER(u) HEAD CONTEXT CLUSTER "users:\n- {name: u, user: " u "}\n"
#define WITH_CLUSTER(c) HEAD CONTEXT "clusters:\n- {name: c, cluster: " c "}\n" USER
	static const struct {
		const char *text;
		const char *says;
	} rows[] = {
		{"", "not a mapping"},
		{"[]", "not a mapping"},
		{"a: b: c", "line 1"},
		{"a: \"x", "line 1"},
		{"\tx: 1", "line 1"},
		{"contexts: []", "current-context"},
		{HEAD, "no context has the name \"one\""},
		{HEAD "contexts: x\n", "no context"},
		{HEAD "contexts:\n- {name: one}\n" CLUSTER USER, "no cluster has the name \"\""},
		{HEAD CONTEXT USER, "no cluster has the name \"c\""},
		{HEAD CONTEXT CLUSTER, "no user has the name \"u\""},
		{HEAD CONTEXT CLUSTER USER "- {name: u, user: {}}\n", "two users have the name u"},
		{HEAD CONTEXT "clusters:\n- {name: c}\n" USER, "https://"},
		{WITH_CLUSTER("{server: 10.0.0.1}"), "https://"},
		{WITH_CLUSTER("{server: [a]}"), "server is not a string"},
		{WITH_CLUSTER("{server: 'https://h', proxy-url: 'http://p'}"), "proxy-url"},
		{WITH_CLUSTER("{server: 'https://h', insecure-skip-tls-verify: maybe}"), "insecure"},
		{WITH_CLUSTER("{server: 'https://h', certificate-authority-data: '%'}"), "base64"},
		{WITH_USER("{exec: {command: aws}}"), "exec is not supported: no programs"},
		{WITH_USER("{auth-provider: {name: gcp}}"), "auth-provider"},
		{WITH_USER("{username: a, password: b}"), "username"},
		{WITH_USER("{token: t, as: root}"), "as is not supported"},
		{WITH_USER("{token: t, as-groups: [a]}"), "as-groups"},
		{WITH_USER("{client-certificate-data: Q0E=}"), "client certificate has no key"},
		{WITH_USER("{client-key: k}"), "client key has no certificate"},
		{WITH_USER("{token: \"a\\0b\"}"), "token is not a string"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kubeconfig config = {.insecure = true};
		assert_int_equal(parse(rows[i].text, NULL, &config), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		if (!strstr(err.text, rows[i].says))
			assert_string_equal(err.text, rows[i].says);
		assert_true(config.insecure && !config.arena.chunks);
	}
}

static void no_message_tells_a_secret(void **state)
{
	(void)state;
	struct kubeconfig config;
	assert_int_equal(parse(WITH_USER("{token: hush-hush, password: hush-hush}"), NULL, &config),
			 -1);
	assert_null(strstr(err.text, "hush"));
}

static void a_file_over_the_limit_is_refused(void **state)
{
	(void)state;
	struct sbuf text;
	struct kubeconfig config;
	sbuf_init(&text, 4u << 20);
	sbuf_printf(&text, "%s", HEAD CONTEXT CLUSTER USER);
	while (text.len <= 1u << 20)
		sbuf_append(&text, VIEW("# a comment of some length that goes on and on and on\n"));
	assert_int_equal(parse(sbuf_text(&text), NULL, &config), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	sbuf_deinit(&text);
}

static void aliases_do_not_multiply(void **state)
{
	(void)state;
	const char *text = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
			   "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\n"
			   "e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
			   HEAD CONTEXT CLUSTER USER;
	struct kubeconfig config;
	assert_int_equal(parse(text, NULL, &config), 0);
	kubeconfig_deinit(&config);
}

static void a_pod_finds_its_server_in_the_environment(void **state)
{
	(void)state;
	static const struct {
		const char *host;
		const char *server;
	} rows[] = {
		{"10.96.0.1", "https://10.96.0.1:443"},
		{"fd00::1", "https://[fd00::1]:443"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kubeconfig config;
		assert_int_equal(kubeconfig_in_cluster(rows[i].host, "443", "/sa",
						       VIEW("gpu\n"), &config, &err),
				 0);
		expect_text(config.server, rows[i].server);
		expect_text(config.ca_file, "/sa/ca.crt");
		expect_text(config.token_file, "/sa/token");
		expect_text(config.namespace, "gpu");
		kubeconfig_deinit(&config);
	}
}

static void outside_a_pod_that_is_said(void **state)
{
	(void)state;
	struct kubeconfig config;
	assert_int_equal(kubeconfig_in_cluster(NULL, "443", "/sa", VIEW(""), &config, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
	assert_int_equal(kubeconfig_in_cluster("h", "", "/sa", VIEW(""), &config, &err), -1);
	assert_non_null(strstr(err.text, "kubeconfig"));
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct kubeconfig config = {0};
		failing_malloc_at(k);
		int result = parse(WITH_USER("{client-key-data: S0VZ, "
					     "client-certificate: a}"),
				   NULL, &config);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		kubeconfig_deinit(&config);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_current_context_leads_to_cluster_and_user),
	cmocka_unit_test(another_context_can_be_chosen),
	cmocka_unit_test(files_are_relative_to_the_kubeconfig_and_data_is_decoded),
	cmocka_unit_test(json_is_yaml_too),
	cmocka_unit_test(keys_that_are_null_or_unknown_do_not_matter),
	cmocka_unit_test(what_cannot_be_used_is_refused_with_what_to_do),
	cmocka_unit_test(no_message_tells_a_secret),
	cmocka_unit_test(a_file_over_the_limit_is_refused),
	cmocka_unit_test(aliases_do_not_multiply),
	cmocka_unit_test(a_pod_finds_its_server_in_the_environment),
	cmocka_unit_test(outside_a_pod_that_is_said),
	cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
};
TEST_MAIN(tests)
