/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/watch.h"

#define START INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */

/* What kubectl is made to answer. */
struct answer {
	enum command_status status;
	const char *body;
	const char *notes;
};

/* The outside of a watch: a script of answers, a clock that waiting advances, and a log. */
struct script {
	const struct answer *answers;
	size_t n_answers;
	size_t n_asked;
	size_t print_fails_at; /* this call of print, from 1; 0: none */
	size_t n_prints;
	int64_t now;
	struct sbuf log;
};

static enum command_status ask(void *context, struct output *output)
{
	struct script *script = context;
	assert_true(script->n_asked < script->n_answers);
	const struct answer *answer = &script->answers[script->n_asked++];
	assert_int_equal(output->body.len + output->notes.len, 0);
	assert_int_equal(output->now, 0);
	sbuf_append(&output->body, view_from(answer->body));
	sbuf_append(&output->notes, view_from(answer->notes));
	return answer->status;
}

static int print(void *context, struct view heading, struct view body, struct view notes)
{
	struct script *script = context;
	sbuf_append(&script->log, heading);
	sbuf_append(&script->log, body);
	sbuf_append(&script->log, notes);
	return ++script->n_prints == script->print_fails_at ? -1 : 0;
}

static int64_t now(void *context)
{
	return ((struct script *)context)->now;
}

/* Nobody reads any more when the script has ended. */
static bool wait_for(void *context, int64_t ms)
{
	struct script *script = context;
	sbuf_printf(&script->log, "(%lld)", (long long)ms);
	script->now += ms;
	return script->n_asked < script->n_answers;
}

static enum command_status run(struct script *script, bool is_screen, int64_t interval_ms)
{
	const struct watch_settings settings = {
		.form = OUTPUT_TABLE, .has_headers = true, .is_screen = is_screen,
		.interval_ms = interval_ms,
	};
	const struct watch_outside outside = {
		.context = script, .ask = ask, .print = print, .now = now, .wait = wait_for,
	};
	script->now = START;
	sbuf_init(&script->log, 10000);
	return watch_run(&settings, &outside);
}

/* Runs the answers, at intervals of 2 s, to their end. */
#define ASSERT_WATCH(is_screen_, status_, log_, ...)                                               \
	do {                                                                                       \
		static const struct answer answers_[] = {__VA_ARGS__};                             \
		struct script script_ = {.answers = answers_, .n_answers = ARRAY_SIZE(answers_)};  \
		assert_int_equal(run(&script_, is_screen_, 2000), status_);                        \
		assert_string_equal(sbuf_text(&script_.log), log_);                                \
		assert_int_equal(script_.n_asked, ARRAY_SIZE(answers_));                           \
		sbuf_deinit(&script_.log);                                                         \
	} while (0)

static void an_answer_is_shown_when_it_differs_from_the_one_before(void **state)
{
	(void)state;
	ASSERT_WATCH(false, COMMAND_FOUND,
		     "--- 2026-01-02T03:04:05Z\na\n(2000)(2000)"
		     "--- 2026-01-02T03:04:09Z\nb\n(2000)"
		     "--- 2026-01-02T03:04:11Z\na\n(2000)",
		     {COMMAND_FOUND, "a\n", ""}, {COMMAND_FOUND, "a\n", ""},
		     {COMMAND_FOUND, "b\n", ""}, {COMMAND_FOUND, "a\n", ""});
}

static void a_note_that_changes_is_a_change(void **state)
{
	(void)state;
	ASSERT_WATCH(false, COMMAND_NOT_FOUND,
		     "--- 2026-01-02T03:04:05Z\na\nx\n(2000)"
		     "--- 2026-01-02T03:04:07Z\na\ny\n(2000)(2000)"
		     "--- 2026-01-02T03:04:11Z\ny\n(2000)",
		     {COMMAND_FOUND, "a\n", "x\n"}, {COMMAND_FOUND, "a\n", "y\n"},
		     {COMMAND_FOUND, "a\n", "y\n"}, {COMMAND_NOT_FOUND, "", "y\n"});
}

static void on_a_screen_an_answer_takes_the_place_of_the_one_before(void **state)
{
	(void)state;
	ASSERT_WATCH(true, COMMAND_FOUND,
		     "\x1b[H\x1b[2J--- 2026-01-02T03:04:05Z\na\n(2000)"
		     "\x1b[H\x1b[2J--- 2026-01-02T03:04:07Z\nb\n(2000)",
		     {COMMAND_FOUND, "a\n", ""}, {COMMAND_FOUND, "b\n", ""});
}

static void a_first_question_that_fails_ends_it(void **state)
{
	(void)state;
	ASSERT_WATCH(false, COMMAND_FAILED, "error: refused\n",
		     {COMMAND_FAILED, "", "error: refused\n"});
	ASSERT_WATCH(false, COMMAND_USAGE, "say more\n", {COMMAND_USAGE, "", "say more\n"});
}

static void what_is_not_there_yet_is_waited_for(void **state)
{
	(void)state;
	ASSERT_WATCH(false, COMMAND_FOUND,
		     "--- 2026-01-02T03:04:05Z\nnot found\n(2000)"
		     "--- 2026-01-02T03:04:07Z\na\n(2000)",
		     {COMMAND_NOT_FOUND, "", "not found\n"}, {COMMAND_FOUND, "a\n", ""});
}

static void an_answer_of_which_a_part_is_missing_is_shown(void **state)
{
	(void)state;
	ASSERT_WATCH(false, COMMAND_FAILED, "--- 2026-01-02T03:04:05Z\na\n1 is missing\n(2000)(2000)",
		     {COMMAND_FAILED, "a\n", "1 is missing\n"},
		     {COMMAND_FAILED, "a\n", "1 is missing\n"});
}

#define OLD "What is shown above may be out of date; next try in "

static void a_later_failure_is_said_and_what_comes_after_it_is_shown_anew(void **state)
{
	(void)state;
	ASSERT_WATCH(false, COMMAND_FAILED,
		     "--- 2026-01-02T03:04:05Z\na\n(2000)"
		     "refused\n" OLD "4s\n(4000)"
		     "--- 2026-01-02T03:04:11Z\na\n(2000)(2000)"
		     "refused\n" OLD "4s\n(4000)",
		     {COMMAND_FOUND, "a\n", ""}, {COMMAND_FAILED, "", "refused\n"},
		     {COMMAND_FOUND, "a\n", ""}, {COMMAND_FOUND, "a\n", ""},
		     {COMMAND_FAILED, "", "refused\n"});
}

static void tries_become_rarer_up_to_a_limit(void **state)
{
	(void)state;
	static const struct {
		int64_t interval_ms, waits[6];
	} rows[] = {
		{1000, {1000, 2000, 4000, 8000, 16000, 30000}},
		{20000, {20000, 30000, 30000, 30000, 30000, 30000}},
		{3600000, {3600000, 3600000, 3600000, 3600000, 3600000, 3600000}},
	};
	static const struct answer answers[6] = {
		{COMMAND_FOUND, "", ""},  {COMMAND_FAILED, "", ""}, {COMMAND_FAILED, "", ""},
		{COMMAND_FAILED, "", ""}, {COMMAND_FAILED, "", ""}, {COMMAND_FAILED, "", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct script script = {.answers = answers, .n_answers = ARRAY_SIZE(answers)};
		int64_t end = START;
		assert_int_equal(run(&script, false, rows[i].interval_ms), COMMAND_FAILED);
		for (size_t k = 0; k < ARRAY_SIZE(rows[i].waits); k++)
			end += rows[i].waits[k];
		assert_int_equal(script.now, end);
		sbuf_deinit(&script.log);
	}
}

static void it_ends_when_nothing_can_be_printed(void **state)
{
	(void)state;
	static const struct answer answers[] = {
		{COMMAND_FOUND, "a\n", ""}, {COMMAND_FOUND, "b\n", ""}, {COMMAND_FOUND, "c\n", ""}};
	for (size_t at = 1; at <= 2; at++) {
		struct script script = {.answers = answers, .n_answers = ARRAY_SIZE(answers),
					.print_fails_at = at};
		assert_int_equal(run(&script, false, 2000), COMMAND_FAILED);
		assert_int_equal(script.n_asked, at);
		sbuf_deinit(&script.log);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_answer_is_shown_when_it_differs_from_the_one_before),
	cmocka_unit_test(a_note_that_changes_is_a_change),
	cmocka_unit_test(on_a_screen_an_answer_takes_the_place_of_the_one_before),
	cmocka_unit_test(a_first_question_that_fails_ends_it),
	cmocka_unit_test(what_is_not_there_yet_is_waited_for),
	cmocka_unit_test(an_answer_of_which_a_part_is_missing_is_shown),
	cmocka_unit_test(a_later_failure_is_said_and_what_comes_after_it_is_shown_anew),
	cmocka_unit_test(tries_become_rarer_up_to_a_limit),
	cmocka_unit_test(it_ends_when_nothing_can_be_printed),
};
TEST_MAIN(tests)
