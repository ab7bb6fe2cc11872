/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/own_folder.h"
#include "lib/test_main.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/filewrite.h"

static const char path[] = "subject"; /* in the program's own folder */
static const char folder[] = ".";

/* What path holds. */
static void assert_holds(const char *text)
{
	struct error err;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 100);
	assert_int_equal(file_read(path, &buf, &err), 0);
	assert_true(view_equal(sbuf_view(&buf), view_from(text)));
}

static void a_written_file_takes_the_place_of_the_old_one_and_leaves_nothing_else(void **state)
{
	(void)state;
	struct error err;
	char draft[80];
	snprintf(draft, sizeof(draft), "%s.new", path);
	assert_int_equal(filewrite_replace(path, VIEW("the first, and longer"), &err), 0);
	assert_holds("the first, and longer");
	assert_int_equal(filewrite_replace(path, VIEW("second"), &err), 0);
	assert_holds("second");
	assert_int_equal(access(draft, F_OK), -1);
}

static void a_file_that_cannot_be_replaced_stays_as_it_was(void **state)
{
	(void)state;
	struct error err;
	char in_the_way[80], below[96];
	snprintf(in_the_way, sizeof(in_the_way), "%s.new", path);
	snprintf(below, sizeof(below), "%s.new/x", path);
	assert_int_equal(filewrite_replace(path, VIEW("kept"), &err), 0);
	assert_int_equal(mkdir(in_the_way, 0700), 0);
	assert_int_equal(filewrite_replace(path, VIEW("other"), &err), -1);
	assert_int_equal(rmdir(in_the_way), 0);
	assert_holds("kept");
	assert_int_equal(filewrite_replace(below, VIEW("x"), &err), -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

/* A limit on the size of files fails a write as a full disk does. */
static void a_disk_that_takes_no_more_leaves_the_old_file_and_no_draft(void **state)
{
	(void)state;
	struct error err;
	struct rlimit before, full;
	char draft[80];
	snprintf(draft, sizeof(draft), "%s.new", path);
	assert_int_equal(filewrite_replace(path, VIEW("kept"), &err), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	full = before;
	signal(SIGXFSZ, SIG_IGN);
	for (rlim_t size = 0; size < 5; size++) {
		full.rlim_cur = size;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
		int result = filewrite_replace(path, VIEW("other"), &err);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		assert_int_equal(result, -1);
		assert_int_equal(err.os_errno, EFBIG);
		assert_holds("kept");
		assert_int_equal(access(draft, F_OK), -1);
	}
	assert_int_equal(filewrite_replace(path, VIEW("other"), &err), 0);
	assert_holds("other");
}

static void a_file_can_be_removed_twice(void **state)
{
	(void)state;
	struct error err;
	assert_int_equal(filewrite_replace(path, VIEW("x"), &err), 0);
	assert_int_equal(filewrite_remove(path, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(filewrite_remove(path, &err), 0);
	assert_int_equal(filewrite_remove(folder, &err), -1);
	assert_non_null(strstr(err.text, "remove ."));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_written_file_takes_the_place_of_the_old_one_and_leaves_nothing_else),
	cmocka_unit_test(a_file_that_cannot_be_replaced_stays_as_it_was),
	cmocka_unit_test(a_disk_that_takes_no_more_leaves_the_old_file_and_no_draft),
	cmocka_unit_test(a_file_can_be_removed_twice),
};
TEST_MAIN_WITH(tests, own_folder_enter, own_folder_leave)
