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
		int form;
		bool all, no_headers;
	} rows[] = {
		{"", INVOCATION_FLEET, ""},
		{"-o wide", INVOCATION_FLEET, "", .form = OUTPUT_WIDE},
		{"-owide --no-headers", INVOCATION_FLEET, "", .form = OUTPUT_WIDE, .no_headers = true},
		{"-o=json", INVOCATION_FLEET, "", .form = OUTPUT_JSON},
		{"-o yaml", INVOCATION_FLEET, "", .form = OUTPUT_YAML},
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
		assert_int_equal(invocation.outcome, OPTION_RUN);
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

static void what_finds_can_check_and_be_narrowed(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		enum invocation_verb verb;
		bool check, all;
		const char *selector, *field_selector;
	} rows[] = {
		{"failing", INVOCATION_FAILING},
		{"failing --check -l a=b", INVOCATION_FAILING, .check = true, .selector = "a=b"},
		{"failing --field-selector c=d", INVOCATION_FAILING, .field_selector = "c=d"},
		{"idle", INVOCATION_IDLE},
		{"--all idle", INVOCATION_IDLE, .all = true},
		{"idle --all --check", INVOCATION_IDLE, .check = true, .all = true},
		{"drift gpu-a GPU-11ba --check", INVOCATION_DRIFT, .check = true},
		{"drift -l a=b", INVOCATION_DRIFT, .selector = "a=b"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct invocation invocation;
		struct error err;
		arena_init(&arena, 65536);
		if (parse(rows[i].line, &arena, &invocation, &err) != 0)
			fail_msg("%s: %s", rows[i].line, err.text);
		assert_int_equal(invocation.verb, rows[i].verb);
		assert_int_equal(invocation.check, rows[i].check);
		assert_int_equal(invocation.all, rows[i].all);
		assert_same(invocation.selector, rows[i].selector);
		assert_same(invocation.field_selector, rows[i].field_selector);
	}
}

static void why_is_asked_about_a_device_or_a_pod(void **state)
{
	(void)state;
	static const struct {
		const char *line, *name;
		bool is_of_pod;
	} rows[] = {
		{"why GPU-11ba", "GPU-11ba", false}, {"why device/11ba", "11ba", false},
		{"why pod/a -n ml", "a", true},      {"-n ml why po/a", "a", true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct invocation invocation;
		struct error err;
		arena_init(&arena, 65536);
		if (parse(rows[i].line, &arena, &invocation, &err) != 0)
			fail_msg("%s: %s", rows[i].line, err.text);
		assert_int_equal(invocation.verb, INVOCATION_WHY);
		assert_int_equal(invocation.is_of_pod, rows[i].is_of_pod);
		assert_words(invocation.names, invocation.n_names, rows[i].name);
	}
}

static void every_command_can_be_watched_at_an_interval(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		bool watch;
		int64_t interval_ms;
	} rows[] = {
		{"", false, 0},
		{"--watch=false", false, 0},
		{"-w", true, 2000},
		{"pod a --watch", true, 2000},
		{"pod -Aw", true, 2000},
		{"node -w --interval=10s", true, 10000},
		{"failing -w", true, 2000},
		{"idle --all -w --interval=10s", true, 10000},
		{"device a -wo wide --interval 1h", true, 3600000},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct invocation invocation;
		struct error err;
		arena_init(&arena, 65536);
		if (parse(rows[i].line, &arena, &invocation, &err) != 0)
			fail_msg("%s: %s", rows[i].line, err.text);
		assert_int_equal(invocation.watch, rows[i].watch);
		assert_int_equal(invocation.interval_ms, rows[i].interval_ms);
	}
}

static void what_says_which_cluster_is_handed_on(void **state)
{
	(void)state;
	static const struct {
		const char *line, *passed;
	} rows[] = {
		{"pod a", ""},
		{"--context prod pod a", "--context=prod"},
		{"pod --context=prod a", "--context=prod"},
		{"pod a --kubeconfig /k --as=jane --as-group x --token t",
		 "--kubeconfig=/k --as=jane --as-group=x --token=t"},
		{"--as-group x --as-group y pod a", "--as-group=x --as-group=y"},
		{"-s https://a --request-timeout=5s", "--server=https://a --request-timeout=5s"},
		{"-shttps://a -v6 -v=6 -v 6", "--server=https://a --v=6 --v=6 --v=6"},
		{"pod -Av6", "--v=6"},
		{"--insecure-skip-tls-verify pod a", "--insecure-skip-tls-verify=true"},
		{"--insecure-skip-tls-verify=false --cluster c --user u",
		 "--insecure-skip-tls-verify=false --cluster=c --user=u"},
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
		enum option_outcome outcome;
		enum invocation_verb verb;
	} rows[] = {
		{"--help", OPTION_HELP, INVOCATION_FLEET},
		{"-h", OPTION_HELP, INVOCATION_FLEET},
		{"help", OPTION_HELP, INVOCATION_FLEET},
		{"help pod", OPTION_HELP, INVOCATION_POD},
		{"device --help", OPTION_HELP, INVOCATION_DEVICE},
		{"node -h", OPTION_HELP, INVOCATION_NODE},
		{"help failing", OPTION_HELP, INVOCATION_FAILING},
		{"idle -h", OPTION_HELP, INVOCATION_IDLE},
		{"drift -h", OPTION_HELP, INVOCATION_DRIFT},
		{"help why", OPTION_HELP, INVOCATION_WHY},
		{"--version", OPTION_VERSION, INVOCATION_FLEET},
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

#define WATCHES_TABLES                                                                             \
	"--watch shows tables: use -o wide or none; for programs: kubectl get gpuattributions "    \
	"--watch -o json"

#define UNKNOWN(word)                                                                             \
	"unknown command \"" word "\", use pod, node, device, failing, idle, drift or why"
#define WHY_TAKES "why takes one UUID, or a unique prefix of one, or pod/NAME"
#define TAKE_NO_NAMES "failing and idle take no names: use --field-selector status.nodeName=NODE"

static void a_wrong_line_is_refused_with_the_reason(void **state)
{
	(void)state;
	static const struct {
		const char *line, *reason;
	} rows[] = {
		{"--frobnicate", "unknown flag --frobnicate; --help lists all"},
		{"--all-namespace", "unknown flag --all-namespace, did you mean --all-namespaces?"},
		{"-x", "unknown flag -x; --help lists all"},
		{"pod a -n", "--namespace: a value is missing"},
		{"--context", "--context: a value is missing"},
		{"-o yml", "--output: \"yml\" is none of table, wide, json, yaml, name"},
		{"--no-headers=maybe", "--no-headers: \"maybe\" is not true or false"},
		{"deployment x", UNKNOWN("deployment")},
		{"job/x", UNKNOWN("job")},
		{"why job/x", UNKNOWN("job")},
		{"why", WHY_TAKES},
		{"why a b", WHY_TAKES},
		{"why pod/a pod/b", WHY_TAKES},
		{"why node/a", WHY_TAKES},
		{"why pod/", "\"\" is no name: use letters, digits, '-' and '.'"},
		{"nodde x", "unknown command \"nodde\", did you mean node?"},
		{"pod/a node/b", "node: all names must be of one kind"},
		{"pod a_b", "\"a_b\" is no name: use letters, digits, '-' and '.'"},
		{"pod a,b", "\"a,b\" is no name: use letters, digits, '-' and '.'"},
		{"pod -- -a", "\"-a\" is no name: use letters, digits, '-' and '.'"},
		{"pod/", "\"\" is no name: use letters, digits, '-' and '.'"},
		{"pod a -A", "a pod is named in one namespace: -A does not go with a name"},
		{"pod a -l b", "a name and a selector do not go together"},
		{"node -l b", "-l goes with pod, failing, idle, drift, or without a command"},
		{"pod --field-selector a=b", "--field-selector goes with failing, idle, drift, or without a command"},
		{"failling", "unknown command \"failling\", did you mean failing?"},
		{"failing idle", TAKE_NO_NAMES},
		{"idle/x", TAKE_NO_NAMES},
		{"failing pod/x", "pod: all names must be of one kind"},
		{"--check", "--check goes with failing, idle or drift"},
		{"pod a --check", "--check goes with failing, idle or drift"},
		{"failing --all", "--all goes with idle only"},
		{"idle -w --check", "--check ends with an answer: it does not go with --watch"},
		{"device", "device takes one UUID, or a unique prefix of one"},
		{"device a b", "device takes one UUID, or a unique prefix of one"},
		{"-w -o json", WATCHES_TABLES},
		{"pod a --watch -oyaml", WATCHES_TABLES},
		{"node -w -o name", WATCHES_TABLES},
		{"--interval 5s", "--interval goes with --watch only"},
		{"-w=false --interval=5s", "--interval goes with --watch only"},
		{"-w --interval 500ms", "--interval: must be 1s to 1h"},
		{"-w --interval 5", "--interval: \"5\" is not a duration such as 500ms, 10s or 1h30m"},
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

/* Every help names what people look for in it, and fits a terminal of 100 columns. */
static void each_command_has_help_with_examples_flags_and_exit_status(void **state)
{
	(void)state;
	static const char *const parts[] = {"Usage: kubectl gpus", "Examples:\n", "Exit status:\n",
					    "--context", "  -o, --output=WORD\n", "  -h, --help\n",
					    "One of table, wide, json, yaml, name\n"};
	for (int verb = INVOCATION_FLEET; verb <= INVOCATION_IDLE; verb++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, 10000);
		invocation_render_help((enum invocation_verb)verb, &buf);
		const char *text = sbuf_text(&buf);
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			assert_non_null(strstr(text, parts[i]));
		assert_int_equal(strstr(text, "  -A, --all-namespaces\n") != NULL,
				 verb == INVOCATION_POD);
		for (const char *line = text; *line;) {
			size_t len = strcspn(line, "\n");
			assert_true(len <= 100);
			line += len + (line[len] != '\0');
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_command_line_says_what_is_asked_for),
	cmocka_unit_test(what_finds_can_check_and_be_narrowed),
	cmocka_unit_test(why_is_asked_about_a_device_or_a_pod),
	cmocka_unit_test(every_command_can_be_watched_at_an_interval),
	cmocka_unit_test(what_says_which_cluster_is_handed_on),
	cmocka_unit_test(help_and_version_need_nothing_else),
	cmocka_unit_test(a_wrong_line_is_refused_with_the_reason),
	cmocka_unit_test(missing_memory_is_said),
	cmocka_unit_test(each_command_has_help_with_examples_flags_and_exit_status),
};
TEST_MAIN(tests)
