/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

/* Each test is a process of its own under ctest; the pipe is the sink of its lines. */
static int reader = -1;
static int writer = -1;

static int open_sink(void **state)
{
	(void)state;
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) != 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0)
		return -1;
	reader = fds[0];
	writer = fds[1];
	log_set_fd(writer);
	log_set_level(LOG_LEVEL_INFO);
	log_set_format(LOG_FORMAT_LOGFMT);
	return 0;
}

static int close_sink(void **state)
{
	(void)state;
	log_set_fd(2);
	close(reader);
	close(writer);
	return 0;
}

/* What has been written so far, borrowed until the next call. */
static const char *written(void)
{
	static char text[1u << 17];
	ssize_t n = read(reader, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* One line without its time stamp. */
static const char *line_behind_ts(void)
{
	const char *line = written();
	assert_memory_equal(line, "ts=", 3);
	assert_int_equal(strcspn(line, " "), strlen("ts=2026-01-02T03:04:05.678Z"));
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	return strchr(line, ' ') + 1;
}

static void a_record_is_one_line_of_fields(void **state)
{
	(void)state;
	struct error err;
	error_set(&err, ERROR_NOT_FOUND, 0, "no such \"pod\"");
	LOG_WARN("Watch failed", LOG_TEXT("resource", VIEW("v1/pods")), LOG_I64("n", INT64_MIN),
		 LOG_U64("u", UINT64_MAX), LOG_BOOL("b", true), LOG_ERROR_FIELD(&err));
	assert_string_equal(line_behind_ts(),
			    "level=warn msg=\"Watch failed\" resource=v1/pods n=-9223372036854775808 "
			    "u=18446744073709551615 b=true error=\"no such \\\"pod\\\"\" "
			    "kind=\"not found\"\n");
	LOG_INFO("Bare");
	assert_string_equal(line_behind_ts(), "level=info msg=Bare\n");
}

static void json_has_the_same_fields(void **state)
{
	(void)state;
	log_set_format(LOG_FORMAT_JSON);
	LOG_ERROR("It failed", LOG_TEXT("node", VIEW("a\n\"b\"")), LOG_I64("n", 3),
		  LOG_BOOL("b", false));
	const char *line = written();
	assert_memory_equal(line, "{\"ts\":\"20", 9);
	assert_string_equal(strstr(line, "\",") + 1,
			    ",\"level\":\"error\",\"msg\":\"It failed\",\"node\":\"a\\n\\\"b\\\"\","
			    "\"n\":3,\"b\":false}\n");
}

static void values_cannot_forge_lines_or_steer_a_terminal(void **state)
{
	(void)state;
	static const struct {
		struct view value;
		const char *shown;
	} rows[] = {
		{VIEW_INIT("x\nlevel=error"), "\"x\\nlevel=error\""},
		{VIEW_INIT("\x1b[31mred\x7f"), "\"\\u001b[31mred\\u007f\""},
		{VIEW_INIT("a\0b\r\t"), "\"a\\u0000b\\u000d\\t\""},
		{VIEW_INIT("\xc2\x9b" "31m"), "\"?31m\""},
		{VIEW_INIT("\xe2\x80\xae" "evil\xe2\x81\xa6"), "\"?evil?\""},
		{VIEW_INIT("\xff\xc3"), "\"\xef\xbf\xbd\xef\xbf\xbd\""},
		{VIEW_INIT("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\""},
		{VIEW_INIT(""), "\"\""},
		{VIEW_INIT("two words"), "\"two words\""},
		{VIEW_INIT("a=b"), "\"a=b\""},
		{VIEW_INIT("back\\slash"), "\"back\\\\slash\""},
		{VIEW_INIT("plain-1.0_x/y:z@w+,"), "plain-1.0_x/y:z@w+,"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* Another message each time, for the limiter's sake. */
		static const char messages[ARRAY_SIZE(rows)] = {0};
		char expected[256];
		snprintf(expected, sizeof(expected), "level=info msg=\"\" v=%s\n", rows[i].shown);
		const struct log_field fields[] = {LOG_TEXT("v", rows[i].value), LOG_END_};
		log_write(LOG_LEVEL_INFO, &messages[i], fields);
		assert_string_equal(line_behind_ts(), expected);
	}
}

static void long_values_are_cut_and_marked(void **state)
{
	(void)state;
	char value[400];
	memset(value, 'x', sizeof(value));
	LOG_INFO("Long", LOG_TEXT("v", ((struct view){value, 256})));
	assert_int_equal(strlen(line_behind_ts()), strlen("level=info msg=Long v=\n") + 256);
	LOG_INFO("Long", LOG_TEXT("v", ((struct view){value, 257})));
	const char *line = line_behind_ts();
	assert_int_equal(strlen(line), strlen("level=info msg=Long v=\"\"\n") + 256);
	assert_string_equal(line + strlen(line) - 6, "x...\"\n");
}

static void a_line_that_is_too_long_says_so_and_keeps_whole_fields(void **state)
{
	(void)state;
	char value[256];
	memset(value, '\x01', sizeof(value));
	struct view v = {value, sizeof(value)};
	for (int json = 0; json < 2; json++) {
		log_set_format(json ? LOG_FORMAT_JSON : LOG_FORMAT_LOGFMT);
		LOG_INFO("Long line", LOG_TEXT("a", v), LOG_TEXT("b", v), LOG_TEXT("c", v),
			 LOG_TEXT("d", v), LOG_TEXT("e", v));
		const char *line = written();
		assert_true(strlen(line) <= 4096);
		assert_non_null(strstr(line, json ? "\"b\":" : " b="));
		assert_null(strstr(line, json ? "\"c\":" : " c="));
		const char *end = json ? "\\u0001\",\"cut\":true}\n" : "\\u0001\" cut=true\n";
		assert_string_equal(line + strlen(line) - strlen(end), end);
	}
}

static void lower_levels_are_silent(void **state)
{
	(void)state;
	LOG_DEBUG("Quiet");
	assert_string_equal(written(), "");
	log_set_level(LOG_LEVEL_ERROR);
	LOG_WARN("Quiet");
	assert_string_equal(written(), "");
	log_set_level(LOG_LEVEL_DEBUG);
	LOG_DEBUG("Loud");
	assert_string_equal(line_behind_ts(), "level=debug msg=Loud\n");
}

static size_t count_lines(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void a_message_is_limited_and_others_are_not(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		LOG_INFO("Chatty");
	LOG_INFO("Other");
	const char *text = written();
	assert_int_equal(count_lines(text), 11);
	assert_non_null(strstr(text, "msg=Other"));
}

static void a_sink_that_takes_no_more_is_not_waited_for(void **state)
{
	(void)state;
	static char filler[4096];
	assert_int_equal(fcntl(writer, F_SETFL, O_NONBLOCK), 0);
	while (write(writer, filler, sizeof(filler)) > 0)
		;
	assert_int_equal(fcntl(writer, F_SETFL, 0), 0);
	uint64_t before = log_dropped();
	LOG_INFO("Dropped");
	LOG_INFO("Dropped");
	assert_int_equal(log_dropped(), before + 2);
	written();
	LOG_INFO("After");
	assert_string_equal(line_behind_ts(), "level=info msg=After dropped=2\n");
	LOG_INFO("After");
	assert_string_equal(line_behind_ts(), "level=info msg=After\n");
}

static void a_closed_sink_is_a_drop(void **state)
{
	(void)state;
	uint64_t before = log_dropped();
	log_set_fd(-1);
	LOG_INFO("Nowhere");
	assert_int_equal(log_dropped(), before + 1);
	log_set_fd(writer);
}

static void errno_survives(void **state)
{
	(void)state;
	errno = ECHILD;
	LOG_INFO("Something");
	log_set_fd(-1);
	LOG_INFO("Something");
	log_set_fd(writer);
	assert_int_equal(errno, ECHILD);
}

static void *write_records(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10; i++)
		LOG_INFO("From a thread", LOG_TEXT("v", VIEW("xxxxxxxxxxxxxxxxxxxxxxxxxxxxx")));
	return NULL;
}

static void lines_of_several_threads_do_not_mix(void **state)
{
	(void)state;
	pthread_t threads[4];
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_records, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	const char *line = written();
	assert_int_equal(count_lines(line), 10);
	for (; *line; line = strchr(line, '\n') + 1) {
		assert_memory_equal(line, "ts=", 3);
		assert_in_range(strchr(line, '\n') - line, 90, 120);
	}
}

static void names_of_levels_and_formats_are_known(void **state)
{
	(void)state;
	enum log_level level = LOG_LEVEL_WARN;
	enum log_format format = LOG_FORMAT_LOGFMT;
	assert_true(log_level_parse(VIEW("debug"), &level));
	assert_int_equal(level, LOG_LEVEL_DEBUG);
	assert_false(log_level_parse(VIEW("loud"), &level));
	assert_int_equal(level, LOG_LEVEL_DEBUG);
	assert_true(log_format_parse(VIEW("json"), &format));
	assert_int_equal(format, LOG_FORMAT_JSON);
	assert_false(log_format_parse(VIEW("JSON"), &format));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_record_is_one_line_of_fields, open_sink, close_sink),
	cmocka_unit_test_setup_teardown(json_has_the_same_fields, open_sink, close_sink),
	cmocka_unit_test_setup_teardown(values_cannot_forge_lines_or_steer_a_terminal, open_sink,
					close_sink),
	cmocka_unit_test_setup_teardown(long_values_are_cut_and_marked, open_sink, close_sink),
	cmocka_unit_test_setup_teardown(a_line_that_is_too_long_says_so_and_keeps_whole_fields,
					open_sink, close_sink),
	cmocka_unit_test_setup_teardown(lower_levels_are_silent, open_sink, close_sink),
	cmocka_unit_test_setup_teardown(a_message_is_limited_and_others_are_not, open_sink,
					close_sink),
	cmocka_unit_test_setup_teardown(a_sink_that_takes_no_more_is_not_waited_for, open_sink,
					close_sink),
	cmocka_unit_test_setup_teardown(a_closed_sink_is_a_drop, open_sink, close_sink),
	cmocka_unit_test_setup_teardown(errno_survives, open_sink, close_sink),
	cmocka_unit_test_setup_teardown(lines_of_several_threads_do_not_mix, open_sink, close_sink),
	cmocka_unit_test(names_of_levels_and_formats_are_known),
};
TEST_MAIN(tests)
