/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/own_folder.h"
#include "lib/test_main.h"

#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"

static const char path[] = "subject"; /* in the program's own folder */
static const char folder[] = ".";

static void write_bytes(size_t n)
{
	unlink(path);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < n; i++)
		assert_int_not_equal(fputc((int)('a' + i % 26), file), EOF);
	assert_int_equal(fclose(file), 0);
}

/* A buffer that holds "kept" already, so that what failure leaves can be seen. */
static struct sbuf begun(size_t cap)
{
	struct sbuf buf;
	sbuf_init(&buf, cap);
	sbuf_append(&buf, VIEW("kept"));
	return buf;
}

static void assert_refused(const char *name, size_t cap, enum error_kind kind)
{
	struct error err = {0};
	struct sbuf buf = begun(cap);
	assert_int_equal(file_read(name, &buf, &err), -1);
	assert_int_equal(err.kind, kind);
	assert_non_null(strstr(err.text, name));
	assert_true(view_equal(sbuf_view(&buf), VIEW("kept")));
	assert_int_equal(buf.failure, ERROR_NONE);
	sbuf_deinit(&buf);
}

static void every_size_around_a_boundary_is_read_whole(void **state)
{
	(void)state;
	static const size_t sizes[] = {0, 1, 255, 256, 4095, 4096, 4097, 100000};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		write_bytes(sizes[i]);
		struct error err = {0};
		struct sbuf buf = begun(200000);
		assert_int_equal(file_read(path, &buf, &err), 0);
		assert_int_equal(buf.len, 4 + sizes[i]);
		for (size_t at = 0; at < sizes[i]; at++)
			assert_int_equal(buf.ptr[4 + at], 'a' + at % 26);
		sbuf_deinit(&buf);
	}
}

static void a_file_that_fits_exactly_is_read_and_one_byte_more_is_refused(void **state)
{
	(void)state;
	write_bytes(1000);
	struct error err = {0};
	struct sbuf buf = begun(1004);
	assert_int_equal(file_read(path, &buf, &err), 0);
	assert_int_equal(buf.len, 1004);
	sbuf_deinit(&buf);
	assert_refused(path, 1003, ERROR_LIMIT);
	assert_refused(path, 4, ERROR_LIMIT);
}

static void a_file_of_proc_has_no_size_and_is_read_all_the_same(void **state)
{
	(void)state;
	struct error err = {0};
	struct sbuf buf;
	sbuf_init(&buf, 64);
	assert_int_equal(file_read("/proc/sys/kernel/random/boot_id", &buf, &err), 0);
	assert_int_equal(buf.len, 37);
	sbuf_deinit(&buf);
}

static void a_missing_file_is_told_from_an_unusable_one(void **state)
{
	(void)state;
	unlink(path);
	assert_refused(path, 100, ERROR_NOT_FOUND);
	assert_refused(folder, 100, ERROR_REJECTED);
	assert_refused("/dev/null", 100, ERROR_REJECTED);
}

static void a_fifo_does_not_block_the_reader(void **state)
{
	(void)state;
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(path, 100, ERROR_REJECTED);
}

static void what_may_not_be_read_is_denied(void **state)
{
	(void)state;
	write_bytes(3);
	assert_int_equal(chmod(path, 0), 0);
	/* The superuser may read everything: be somebody else meanwhile. */
	bool is_root = geteuid() == 0;
	assert_int_equal(is_root ? seteuid(65534) : 0, 0);
	struct error err;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 100);
	int result = file_read(path, &buf, &err);
	assert_int_equal(is_root ? seteuid(0) : 0, 0);
	assert_int_equal(result, -1);
	assert_int_equal(err.kind, ERROR_DENIED);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_size_around_a_boundary_is_read_whole),
	cmocka_unit_test(a_file_that_fits_exactly_is_read_and_one_byte_more_is_refused),
	cmocka_unit_test(a_file_of_proc_has_no_size_and_is_read_all_the_same),
	cmocka_unit_test(a_missing_file_is_told_from_an_unusable_one),
	cmocka_unit_test(a_fifo_does_not_block_the_reader),
	cmocka_unit_test(what_may_not_be_read_is_denied),
};
TEST_MAIN_WITH(tests, own_folder_enter, own_folder_leave)
