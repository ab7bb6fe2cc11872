/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/option.h"

struct settings {
	const char *listen;
	const char *file;
	int64_t workers;
	bool leader;
	int64_t stale_ms;
	int64_t cache_bytes;
	int64_t any;
	int colour;
	const char *taken;
	const char *words[4];
	unsigned n_words;
};

static int take(void *context, const struct option_row *row, const char *text, struct error *err)
{
	struct settings *settings = context;
	settings->taken = text;
	return strcmp(text, "bad") == 0 ? error_set(err, ERROR_REJECTED, 0, "%s: bad", row->name) : 0;
}

static int take_word(void *context, const char *word, struct error *err)
{
	struct settings *settings = context;
	if (strcmp(word, "bad") == 0)
		return error_set(err, ERROR_REJECTED, 0, "a bad word");
	settings->words[settings->n_words++] = word;
	return 0;
}

static const char *const colours[] = {"red", "green", NULL};

static const struct option_row rows[] = {
	{"listen", OPTION_TEXT, offsetof(struct settings, listen), ":8443", 0, 0, "Address."},
	{"file", OPTION_PATH, offsetof(struct settings, file), "", 0, 0, "A file."},
	{"workers", OPTION_INT, offsetof(struct settings, workers), "2", 1, 16, "Workers."},
	{"leader-elect", OPTION_BOOL, offsetof(struct settings, leader), "false", 0, 0, "Elect."},
	{"stale-after", OPTION_DURATION, offsetof(struct settings, stale_ms), "2m", 1000, 3600000,
	 "Age."},
	{"cache", OPTION_BYTES, offsetof(struct settings, cache_bytes), "16MiB", 4096, 1 << 30,
	 "Cache."},
	{"any", OPTION_INT, offsetof(struct settings, any), "0", 0, 0, "Any number."},
};

/* A program that takes words, has letters, and does not read the environment. */
static const struct option_row lettered_rows[] = {
	{"all", OPTION_BOOL, offsetof(struct settings, leader), .help = "All.", .letter = 'A'},
	{"colour", OPTION_CHOICE, offsetof(struct settings, colour), .choices = colours,
	 .help = "Colour.", .letter = 'c', .scopes = 2},
	{"listen", OPTION_TEXT, offsetof(struct settings, listen), .letter = 'l', .help = "Address.",
	 .scopes = 1},
	{"taken", OPTION_TEXT, .take = take, .letter = 't'},
};

static const struct option_program program = {
	.name = "prog",
	.purpose = "Does it.",
	.version = "1.2.3",
	.rows = rows,
	.n_rows = ARRAY_SIZE(rows),
	.environment = "GPU_ATTRIBUTION_",
};

static const struct option_program lettered = {
	.name = "prog",
	.purpose = "Does it.",
	.version = "1.2.3",
	.rows = lettered_rows,
	.n_rows = ARRAY_SIZE(lettered_rows),
	.usage = "prog WORD...\n",
	.more = "More.\n",
	.scope = 1,
	.take_word = take_word,
};

#define ARGS(...) ((char *const[]){"prog", __VA_ARGS__, NULL})
static char *const no_arguments[] = {"prog", NULL};
static char *const no_environment[] = {NULL};

static struct settings parsed(char *const *argv, char *const *environment)
{
	struct settings settings;
	enum option_outcome outcome;
	struct error err = {0};
	if (option_parse(&program, argv, environment, &settings, &outcome, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(outcome, OPTION_RUN);
	return settings;
}

static const char *refusal(char *const *argv, char *const *environment)
{
	static struct error err;
	struct settings settings;
	enum option_outcome outcome;
	assert_int_equal(option_parse(&program, argv, environment, &settings, &outcome, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
	return err.text;
}

static void defaults_hold_without_arguments(void **state)
{
	(void)state;
	struct settings settings = parsed(no_arguments, no_environment);
	assert_string_equal(settings.listen, ":8443");
	assert_string_equal(settings.file, "");
	assert_int_equal(settings.workers, 2);
	assert_false(settings.leader);
	assert_int_equal(settings.stale_ms, 120000);
	assert_int_equal(settings.cache_bytes, 16 << 20);
	parsed((char *const[]){NULL}, no_environment);
}

static void flags_are_taken_in_every_form(void **state)
{
	(void)state;
	struct settings settings = parsed(
		ARGS("--listen=a=b", "--workers", "16", "--leader-elect", "--stale-after=1h", "--file",
		     "/x", "--cache", "64KiB", "--any=9"),
		no_environment);
	assert_string_equal(settings.listen, "a=b");
	assert_int_equal(settings.workers, 16);
	assert_true(settings.leader);
	assert_int_equal(settings.stale_ms, 3600000);
	assert_string_equal(settings.file, "/x");
	assert_int_equal(settings.cache_bytes, 65536);
	assert_int_equal(settings.any, 9);
	assert_string_equal(parsed(ARGS("--listen="), no_environment).listen, "");
	assert_false(parsed(ARGS("--leader-elect", "--leader-elect=false"), no_environment).leader);
}

static void a_flag_wins_over_the_environment_and_that_over_the_default(void **state)
{
	(void)state;
	char *const environment[] = {"PATH=/bin", "GPU_ATTRIBUTION_WORKERS=7",
				     "GPU_ATTRIBUTION_STALE_AFTER=5s", "GPU_ATTRIBUTION_LISTEN=",
				     "GPU_ATTRIBUTION_WORKERSX=9", NULL};
	struct settings settings = parsed(ARGS("--workers=8"), environment);
	assert_int_equal(settings.workers, 8);
	assert_int_equal(settings.stale_ms, 5000);
	assert_string_equal(settings.listen, ":8443");
	assert_int_equal(parsed(no_arguments, environment).workers, 7);
}

static void bad_input_is_refused_by_name(void **state)
{
	(void)state;
	const struct {
		char *const *argv;
		const char *text;
	} cases[] = {
		{ARGS("--worker=3"), "unknown flag --worker, did you mean --workers?"},
		{ARGS("--leaderelect"), "unknown flag --leaderelect, did you mean --leader-elect?"},
		{ARGS("--hlp"), "unknown flag --hlp, did you mean --help?"},
		{ARGS("--no-leader-elect"),
		 "unknown flag --no-leader-elect, did you mean --leader-elect?"},
		{ARGS("file.txt"), "\"file.txt\" is not a flag"},
		{ARGS("--"), "unknown flag --; --help lists all"},
		{ARGS("--frobnicate"), "unknown flag --frobnicate; --help lists all"},
		{ARGS("-workers=3"), "unknown flag -workers, did you mean --workers?"},
		{ARGS("-"), "\"-\" is not a flag"},
		{ARGS("--workers"), "--workers: a value is missing"},
		{ARGS("--workers="), "--workers: \"\" is not a whole number"},
		{ARGS("--workers=x"), "--workers: \"x\" is not a whole number"},
		{ARGS("--workers=0"), "--workers: must be 1 to 16"},
		{ARGS("--workers=17"), "--workers: must be 1 to 16"},
		{ARGS("--any=-1"), "--any: must not be negative"},
		{ARGS("--leader-elect=yes"), "--leader-elect: \"yes\" is not true or false"},
		{ARGS("--help=maybe"), "--help: \"maybe\" is not true or false"},
		{ARGS("--version="), "--version: \"\" is not true or false"},
		{ARGS("--file=x"), "--file: \"x\" is not an absolute path"},
		{ARGS("--stale-after=5"),
		 "--stale-after: \"5\" is not a duration such as 500ms, 10s or 1h30m"},
		{ARGS("--stale-after=999ms"), "--stale-after: must be 1s to 1h"},
		{ARGS("--cache=1GB"), "--cache: \"1GB\" is not a size such as 4096, 64KiB or 16MiB"},
		{ARGS("--cache=4095"), "--cache: must be 4KiB to 1GiB"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(refusal(cases[i].argv, no_environment), cases[i].text);
	char *const environment[] = {"GPU_ATTRIBUTION_WORKERS=many", NULL};
	assert_string_equal(refusal(no_arguments, environment),
			    "GPU_ATTRIBUTION_WORKERS: \"many\" is not a whole number");
}

static void help_and_version_end_the_parsing(void **state)
{
	(void)state;
	const struct {
		char *const *argv;
		enum option_outcome outcome;
	} cases[] = {
		{ARGS("--help"), OPTION_HELP},
		{ARGS("-h", "--nonsense"), OPTION_HELP},
		{ARGS("--workers=3", "--help"), OPTION_HELP},
		{ARGS("--version"), OPTION_VERSION},
		{ARGS("--help=true", "--nonsense"), OPTION_HELP},
		{ARGS("--help=false"), OPTION_RUN},
		{ARGS("-h=0", "--version=1"), OPTION_VERSION},
		{ARGS("--version=false"), OPTION_RUN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct settings settings;
		enum option_outcome outcome;
		struct error err;
		assert_int_equal(option_parse(&program, cases[i].argv, no_environment, &settings,
					      &outcome, &err),
				 0);
		assert_int_equal(outcome, cases[i].outcome);
	}
}

static void help_shows_each_row(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 10000);
	option_render_help(&program, &buf);
	const char *text = sbuf_text(&buf);
	assert_memory_equal(text, "prog 1.2.3\nDoes it.\n\nUsage: prog [flags]\n", 41);
	assert_non_null(strstr(text, "  --stale-after=DURATION\n      Age.\n      Default 2m, from 1s "
				     "to 1h; environment GPU_ATTRIBUTION_STALE_AFTER\n"));
	assert_non_null(strstr(text, "  --leader-elect\n      Elect.\n      Default false; "));
	assert_non_null(strstr(text, "  --file=PATH\n      A file.\n      No default; "));
}

static void letters_may_be_joined_and_carry_a_value(void **state)
{
	(void)state;
	const struct {
		char *const *argv;
		const char *listen;
		bool all;
		int colour;
	} rows_of[] = {
		{ARGS("-A"), NULL, true, 0},
		{ARGS("-A=false"), NULL, false, 0},
		{ARGS("-Ac", "green"), NULL, true, 1},
		{ARGS("-Acgreen"), NULL, true, 1},
		{ARGS("-c=green", "-l", "x"), "x", false, 1},
		{ARGS("-lx=y"), "x=y", false, 0},
		{ARGS("-l="), "", false, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows_of); i++) {
		struct settings settings = {0};
		enum option_outcome outcome;
		struct error err;
		if (option_parse(&lettered, rows_of[i].argv, no_environment, &settings, &outcome,
				 &err) != 0)
			fail_msg("%zu: %s", i, err.text);
		assert_int_equal(settings.leader, rows_of[i].all);
		assert_int_equal(settings.colour, rows_of[i].colour);
		assert_string_equal(settings.listen ? settings.listen : "-",
				    rows_of[i].listen ? rows_of[i].listen : "-");
	}
}

static void words_and_values_go_to_the_functions_of_the_table(void **state)
{
	(void)state;
	struct settings settings = {0};
	enum option_outcome outcome;
	struct error err;
	assert_int_equal(option_parse(&lettered, ARGS("a", "-t", "v", "-", "--", "-A"),
				      no_environment, &settings, &outcome, &err),
			 0);
	assert_string_equal(settings.taken, "v");
	assert_int_equal(settings.n_words, 3);
	assert_string_equal(settings.words[1], "-");
	assert_string_equal(settings.words[2], "-A");
	assert_false(settings.leader);
	const struct {
		char *const *argv;
		const char *text;
	} refused[] = {
		{ARGS("-Ax"), "unknown flag -Ax; --help lists all"},
		{ARGS("--al"), "unknown flag --al, did you mean --all?"},
		{ARGS("-c"), "--colour: a value is missing"},
		{ARGS("-c", "blue"), "--colour: \"blue\" is none of red, green"},
		{ARGS("-tbad"), "taken: bad"},
		{ARGS("bad"), "a bad word"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_int_equal(option_parse(&lettered, refused[i].argv, no_environment, &settings,
					      &outcome, &err),
				 -1);
		assert_string_equal(err.text, refused[i].text);
	}
}

static void help_lists_what_is_in_scope_and_has_a_sentence(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	struct option_program other = lettered;
	sbuf_init(&buf, 10000);
	option_render_help(&lettered, &buf);
	assert_string_equal(sbuf_text(&buf),
			    "prog 1.2.3\nDoes it.\n\nUsage: prog WORD...\n\n"
			    "  -A, --all\n      All.\n"
			    "  -l, --listen=TEXT\n      Address.\n"
			    "  -h, --help\n      Shows this.\n"
			    "  --version\n      Shows the version.\n"
			    "\nMore.\n");
	other.scope = 2;
	sbuf_clear(&buf);
	option_render_help(&other, &buf);
	assert_non_null(strstr(sbuf_text(&buf),
			       "  -c, --colour=WORD\n      Colour.\n      One of red, green\n"));
	assert_null(strstr(sbuf_text(&buf), "listen"));
}

static void the_nearest_word_is_one_that_may_be_meant(void **state)
{
	(void)state;
	static const char *const words[] = {"pod", "node", "device", NULL};
	assert_string_equal(option_nearest(VIEW("nodde"), words), "node");
	assert_string_equal(option_nearest(VIEW("devcie"), words), "device");
	assert_null(option_nearest(VIEW("deployment"), words));
	assert_null(option_nearest(VIEW(""), words));
}

static void durations_and_sizes_are_read_exactly(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t value; /* -1: refused */
	} durations[] = {
		{"0", 0}, {"0s", 0}, {"1ms", 1}, {"10s", 10000}, {"5m", 300000}, {"1h", 3600000},
		{"1h30m", 5400000}, {"1s500ms", 1500}, {"9223372036854775807ms", INT64_MAX},
		{"", -1}, {"1", -1}, {"s", -1}, {"-1s", -1}, {"1.5s", -1}, {"1d", -1}, {"1 s", -1},
		{"1sx", -1}, {"9223372036854775808ms", -1}, {"9223372036854775807s", -1},
		{"9223372036854775807ms1ms", -1},
	};
	static const struct {
		const char *text;
		int64_t value;
	} sizes[] = {
		{"0", 0}, {"4096", 4096}, {"64KiB", 65536}, {"16MiB", 16 << 20}, {"1GiB", 1 << 30},
		{"", -1}, {"KiB", -1}, {"1KB", -1}, {"1K", -1}, {"1KiB1", -1}, {"-1", -1},
		{"9223372036854775807GiB", -1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		int64_t value = -1;
		assert_int_equal(option_parse_duration(view_from(durations[i].text), &value),
				 durations[i].value >= 0);
		assert_true(value == durations[i].value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int64_t value = -1;
		assert_int_equal(option_parse_bytes(view_from(sizes[i].text), &value),
				 sizes[i].value >= 0);
		assert_true(value == sizes[i].value);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(defaults_hold_without_arguments),
	cmocka_unit_test(flags_are_taken_in_every_form),
	cmocka_unit_test(a_flag_wins_over_the_environment_and_that_over_the_default),
	cmocka_unit_test(bad_input_is_refused_by_name),
	cmocka_unit_test(help_and_version_end_the_parsing),
	cmocka_unit_test(help_shows_each_row),
	cmocka_unit_test(letters_may_be_joined_and_carry_a_value),
	cmocka_unit_test(words_and_values_go_to_the_functions_of_the_table),
	cmocka_unit_test(help_lists_what_is_in_scope_and_has_a_sentence),
	cmocka_unit_test(the_nearest_word_is_one_that_may_be_meant),
	cmocka_unit_test(durations_and_sizes_are_read_exactly),
};
TEST_MAIN(tests)
