/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/invocation.h"
#include "lib/failing_malloc.h"

#define MAX_WORDS 16

/* Parses words with blanks between them. */
static int parse(const char *line, struct arena *arena, struct invocation *ret, struct error *err)
{
	static char text[512];
	char *argv[MAX_WORDS + 1] = {(char[]){"kubectl-gpus"}};
	size_t n = 1;
	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		assert_true(n < MAX_WORDS);
		argv[n++] = word;
	}
	return invocation_parse(argv, arena, ret, err);
}

static void assert_same(const char *actual, const char *expected)
{
	assert_string_equal(actual ? actual : "(none)", expected ? expected : "(none)");
}

/* The words of a list with blanks between them. */
static void assert_words(const char *const *words, size_t n, const char *expected)
{
	char text[512] = "";
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 words[i]);
	assert_string_equal(text, expected);
}

static void a_command_line_says_what_is_asked_for(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		enum invocation_verb verb;
		const char *names;
		const char *namespace, *selector, *field_selector;
		enum output_form form;
		bool all, no_headers;
	} rows[] = {
		{"", INVOCATION_FLEET, ""},
		{"-o wide", INVOCATION_FLEET, "", .form = OUTPUT_WIDE},
		{"-owide --no-headers", INVOCATION_FLEET, "", .form = OUTPUT_WIDE, .no_headers = true},
		{"-o=json", INVOCATION_FLEET, "", .form = OUTPUT_JSON},
		{"--output=name", INVOCATION_FLEET, "", .form = OUTPUT_NAME},
		{"--field-selector a!=b", INVOCATION_FLEET, "", .field_selector = "a!=b"},
		{"-l a=b", INVOCATION_FLEET, "", .selector = "a=b"},
		{"pod train-0", INVOCATION_POD, "train-0"},
		{"pods a b a", INVOCATION_POD, "a b"},
		{"po -n ml a", INVOCATION_POD, "a", .namespace = "ml"},
		{"pod a -nml", INVOCATION_POD, "a", .namespace = "ml"},
		{"-n=ml pod a", INVOCATION_POD, "a", .namespace = "ml"},
		{"pod a --namespace ml", INVOCATION_POD, "a", .namespace = "ml"},
		{"pod/a", INVOCATION_POD, "a"},
		{"pod/a pods/b", INVOCATION_POD, "a b"},
		{"pod pod/a", INVOCATION_POD, "a"},
		{"pod -A", INVOCATION_POD, "", .all = true},
		{"pod -A=false", INVOCATION_POD, ""},
		{"pod -Ao wide", INVOCATION_POD, "", .all = true, .form = OUTPUT_WIDE},
		{"pod --all-namespaces=false", INVOCATION_POD, ""},
		{"pod -l app=train", INVOCATION_POD, "", .selector = "app=train"},
		{"pod --selector=app=train", INVOCATION_POD, "", .selector = "app=train"},
		{"pod -- help", INVOCATION_POD, "help"},
		{"node gpu-a.example", INVOCATION_NODE, "gpu-a.example"},
		{"nodes", INVOCATION_NODE, ""},
		{"node/gpu-a", INVOCATION_NODE, "gpu-a"},
		{"device GPU-11ba", INVOCATION_DEVICE, "GPU-11ba"},
		{"gpu/11ba", INVOCATION_DEVICE, "11ba"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct invocation invocation;
		struct error err;
		arena_init(&arena, 65536);
		if (parse(rows[i].line, &arena, &invocation, &err) != 0)
			fail_msg("%s: %s", rows[i].line, err.text);
		assert_int_equal(invocation.outcome, INVOCATION_RUN);
		assert_int_equal(invocation.verb, rows[i].verb);
		assert_int_equal(invocation.form, rows[i].form);
		assert_int_equal(invocation.all_namespaces, rows[i].all);
		assert_int_equal(invocation.no_headers, rows[i].no_headers);
		assert_same(invocation.namespace, rows[i].namespace);
		assert_same(invocation.selector, rows[i].selector);
		assert_same(invocation.field_selector, rows[i].field_selector);
		assert_words(invocation.names, invocation.n_names, rows[i].names);
	}
}

static void what_says_which_cluster_is_handed_on(void **state)
{
	(void)state;
	static const struct {
		const char *line, *passed;
	} rows[] = {
		{"pod a", ""},
		{"--context prod pod a", "--context prod"},
		{"pod --context=prod a", "--context=prod"},
		{"pod a --kubeconfig /k --as=jane --as-group x --token t",
		 "--kubeconfig /k --as=jane --as-group x --token t"},
		{"-s https://a --request-timeout=5s", "-s https://a --request-timeout=5s"},
		{"-shttps://a -v6 -v=6 -v 6", "-shttps://a -v6 -v=6 -v 6"},
		{"--insecure-skip-tls-verify pod a", "--insecure-skip-tls-verify"},
		{"--insecure-skip-tls-verify=true --cluster c --user u",
		 "--insecure-skip-tls-verify=true --cluster c --user u"},
		{"-n ml -o json -A=true --no-headers", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct invocation invocation;
		struct error err;
		arena_init(&arena, 65536);
		if (parse(rows[i].line, &arena, &invocation, &err) != 0)
			fail_msg("%s: %s", rows[i].line, err.text);
		assert_words(invocation.passed, invocation.n_passed, rows[i].passed);
	}
}

static void help_and_version_need_nothing_else(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		enum invocation_outcome outcome;
		enum invocation_verb verb;
	} rows[] = {
		{"--help", INVOCATION_HELP, INVOCATION_FLEET},
		{"-h", INVOCATION_HELP, INVOCATION_FLEET},
		{"help", INVOCATION_HELP, INVOCATION_FLEET},
		{"help pod", INVOCATION_HELP, INVOCATION_POD},
		{"device --help", INVOCATION_HELP, INVOCATION_DEVICE},
		{"node -h", INVOCATION_HELP, INVOCATION_NODE},
		{"--version", INVOCATION_VERSION, INVOCATION_FLEET},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct invocation invocation;
		struct error err;
		arena_init(&arena, 65536);
		assert_int_equal(parse(rows[i].line, &arena, &invocation, &err), 0);
		assert_int_equal(invocation.outcome, rows[i].outcome);
		assert_int_equal(invocation.verb, rows[i].verb);
	}
}

static void a_wrong_line_is_refused_with_the_reason(void **state)
{
	(void)state;
	static const struct {
		const char *line, *reason;
	} rows[] = {
		{"--frobnicate", "unknown flag: --frobnicate"},
		{"-x", "unknown flag: 'x' in -x"},
		{"-Ax", "unknown flag: 'x' in -Ax"},
		{"pod a -n", "--namespace needs a value"},
		{"--context", "--context needs a value"},
		{"-o yaml", "-o yaml: the forms are wide, json and name"},
		{"--no-headers=maybe", "--no-headers: \"maybe\" is neither true nor false"},
		{"deployment x", "unknown command \"deployment\": there are pod, node and device"},
		{"job/x", "unknown command \"job\": there are pod, node and device"},
		{"pod/a node/b", "node/b: all names must be of one kind"},
		{"pod a_b", "\"a_b\" is no name"},
		{"pod a,b", "\"a,b\" is no name"},
		{"pod -- -a", "\"-a\" is no name"},
		{"pod/", "\"\" is no name"},
		{"pod a -A", "a pod is named in one namespace: -A does not go with a name"},
		{"pod a -l b", "a name and a selector do not go together"},
		{"node -l b", "-l goes with pod, or without a command"},
		{"pod --field-selector a=b", "--field-selector goes without a command only"},
		{"device", "device takes one UUID, or the beginning of one"},
		{"device a b", "device takes one UUID, or the beginning of one"},
		{"-w", "this does not watch; use: kubectl get gpuattributions --watch"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct invocation invocation;
		struct error err;
		arena_init(&arena, 65536);
		assert_int_equal(parse(rows[i].line, &arena, &invocation, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_string_equal(err.text, rows[i].reason);
	}
}

static void missing_memory_is_said(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct invocation invocation;
		struct error err;
		arena_init(&arena, 65536);
		failing_malloc_at(k);
		int result = parse("pod a", &arena, &invocation, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
	}
}

static void verbs_have_names(void **state)
{
	(void)state;
	assert_string_equal(invocation_verb_name(INVOCATION_FLEET), "");
	assert_string_equal(invocation_verb_name(INVOCATION_DEVICE), "device");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_command_line_says_what_is_asked_for),
	cmocka_unit_test(what_says_which_cluster_is_handed_on),
	cmocka_unit_test(help_and_version_need_nothing_else),
	cmocka_unit_test(a_wrong_line_is_refused_with_the_reason),
	cmocka_unit_test(missing_memory_is_said),
	cmocka_unit_test(verbs_have_names),
};
TEST_MAIN(tests)
