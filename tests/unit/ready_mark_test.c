/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ready_mark.h"
#include "io/filewrite.h"

#define BOOT "1d0f5f7c-6d0e-4b36-9c1b-3f1d6e3d2a10"
#define OTHER_BOOT "2d0f5f7c-6d0e-4b36-9c1b-3f1d6e3d2a10"
#define ACCEPTED_MS 5000u
#define HEARTBEAT_MS 60000u

static char folder[] = "/tmp/ready_mark_test.XXXXXX";
static char path[64], boot_file[64];
static struct error err;

static void write_text(const char *name, const char *text)
{
	assert_int_equal(filewrite_replace(name, view_from(text), &err), 0);
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/ready", folder);
	snprintf(boot_file, sizeof(boot_file), "%s/boot_id", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	unlink(boot_file);
	return rmdir(folder);
}

/* An agent, or a probe, of this boot. */
static struct ready_mark begun(const char *boot)
{
	struct ready_mark mark;
	write_text(boot_file, boot);
	assert_int_equal(ready_mark_init(&mark, path, boot_file, &err), 0);
	return mark;
}

static struct ready_mark accepted(void)
{
	struct ready_mark mark = begun(BOOT "\n");
	ready_mark_accepted(&mark, ACCEPTED_MS, HEARTBEAT_MS);
	return mark;
}

static void assert_unready(const char *boot, uint64_t now_ms, enum error_kind kind)
{
	struct ready_mark probe = begun(boot);
	err = (struct error){0};
	assert_int_equal(ready_mark_check(&probe, now_ms, &err), -1);
	assert_int_equal(err.kind, kind);
	assert_string_not_equal(err.text, "");
}

static void an_accepted_report_makes_ready_for_two_heartbeats(void **state)
{
	(void)state;
	const uint64_t last_ms = ACCEPTED_MS + 2 * HEARTBEAT_MS - 1;
	struct ready_mark mark = accepted();
	assert_int_equal(ready_mark_check(&mark, ACCEPTED_MS, &err), 0);
	assert_int_equal(ready_mark_check(&mark, last_ms, &err), 0);
	assert_unready(BOOT, last_ms + 1, ERROR_RETRY);
	assert_non_null(strstr(err.text, "120 s"));
}

static void each_accepted_report_renews_it(void **state)
{
	(void)state;
	struct ready_mark mark = accepted();
	ready_mark_accepted(&mark, ACCEPTED_MS + 2 * HEARTBEAT_MS, HEARTBEAT_MS);
	assert_int_equal(ready_mark_check(&mark, ACCEPTED_MS + 4 * HEARTBEAT_MS - 1, &err), 0);
}

static void an_agent_that_starts_is_not_ready_by_the_mark_of_the_one_before(void **state)
{
	(void)state;
	struct ready_mark mark = accepted();
	assert_int_equal(ready_mark_clear(&mark, &err), 0);
	assert_unready(BOOT, ACCEPTED_MS, ERROR_NOT_FOUND);
	assert_int_equal(ready_mark_clear(&mark, &err), 0);
}

static void a_mark_of_another_boot_or_of_the_future_is_none(void **state)
{
	(void)state;
	accepted();
	assert_unready(OTHER_BOOT, ACCEPTED_MS, ERROR_REJECTED);
	assert_unready(BOOT, ACCEPTED_MS - 1, ERROR_REJECTED);
}

static void what_is_no_mark_makes_nobody_ready(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "\n", BOOT, BOOT " 1", BOOT " 1 ", BOOT " x 99999999",
					    BOOT " 1 99999999x", BOOT "  1 99999999",
					    BOOT " -1 99999999"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_text(path, texts[i]);
		assert_unready(BOOT, ACCEPTED_MS, ERROR_REJECTED);
	}
}

static void without_a_file_nothing_is_written_and_nothing_fails(void **state)
{
	(void)state;
	struct ready_mark mark = begun(BOOT);
	mark.path = "";
	ready_mark_accepted(&mark, ACCEPTED_MS, HEARTBEAT_MS);
	assert_int_equal(ready_mark_clear(&mark, &err), 0);
	assert_false(mark.failed);
}

static void a_folder_that_is_not_there_fails_the_probe_and_not_the_agent(void **state)
{
	(void)state;
	struct ready_mark mark = begun(BOOT);
	mark.path = "/nonexistent/folder/ready";
	ready_mark_accepted(&mark, ACCEPTED_MS, HEARTBEAT_MS);
	assert_true(mark.failed);
	assert_int_equal(ready_mark_check(&mark, ACCEPTED_MS, &err), -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void a_machine_that_names_no_boot_is_refused(void **state)
{
	(void)state;
	struct ready_mark mark;
	write_text(boot_file, " \n");
	assert_int_equal(ready_mark_init(&mark, path, boot_file, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_accepted_report_makes_ready_for_two_heartbeats),
	cmocka_unit_test(each_accepted_report_renews_it),
	cmocka_unit_test(an_agent_that_starts_is_not_ready_by_the_mark_of_the_one_before),
	cmocka_unit_test(a_mark_of_another_boot_or_of_the_future_is_none),
	cmocka_unit_test(what_is_no_mark_makes_nobody_ready),
	cmocka_unit_test(without_a_file_nothing_is_written_and_nothing_fails),
	cmocka_unit_test(a_folder_that_is_not_there_fails_the_probe_and_not_the_agent),
	cmocka_unit_test(a_machine_that_names_no_boot_is_refused),
};
TEST_MAIN_WITH(tests, make_folder, remove_folder)
