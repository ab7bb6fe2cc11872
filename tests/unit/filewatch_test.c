/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sbuf.h"
#include "io/filewatch.h"

static struct error err;
static char parent[] = "/tmp/filewatch_test.XXXXXX";
static char folder[64];

/* A watch and what it told: "+name;" appeared, "-name;" gone, "!;" reset. */
struct watcher {
	struct loop *loop;
	struct filewatch *watch;
	struct loop_timer *limit;
	struct sbuf journal;
	const char *awaited; /* the loop stops when the journal holds it */
};

static void saw_change(void *owner, enum filewatch_change change, struct view name)
{
	static const char signs[] = {'+', '-', '!'};
	struct watcher *watcher = owner;
	sbuf_printf(&watcher->journal, "%c%.*s;", signs[change], VIEW_ARG(name));
	if (strstr(sbuf_text(&watcher->journal), watcher->awaited))
		loop_stop(watcher->loop);
}

static void saw_limit(void *owner)
{
	struct watcher *watcher = owner;
	loop_stop(watcher->loop);
}

static void setup(struct watcher *watcher)
{
	*watcher = (struct watcher){.awaited = "?"};
	sbuf_init(&watcher->journal, 1 << 16);
	assert_int_equal(loop_new(&watcher->loop, &err), 0);
	assert_int_equal(loop_timer_new(watcher->loop, saw_limit, watcher, &watcher->limit, &err),
			 0);
	assert_int_equal(filewatch_new(watcher->loop, folder, saw_change, watcher, &watcher->watch,
				       &err), 0);
}

static void teardown(struct watcher *watcher)
{
	filewatch_free(watcher->watch);
	loop_timer_free(watcher->limit);
	loop_free(watcher->loop);
	sbuf_deinit(&watcher->journal);
}

/* Runs until the journal holds what is awaited; 10 s are for ever here. */
static void await(struct watcher *watcher, const char *awaited)
{
	watcher->awaited = awaited;
	const char *journal = sbuf_text(&watcher->journal);
	assert_non_null(journal);
	if (!strstr(journal, awaited)) {
		loop_timer_set(watcher->limit, 10000);
		assert_int_equal(loop_run(watcher->loop, &err), 0);
		loop_timer_clear(watcher->limit);
	}
	assert_non_null(strstr(sbuf_text(&watcher->journal), awaited));
	sbuf_clear(&watcher->journal);
}

static void in_folder(char path[static 96], const char *name)
{
	snprintf(path, 96, "%s/%s", folder, name);
}

static void make_file(const char *name)
{
	char path[96];
	in_folder(path, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *name)
{
	char path[96];
	in_folder(path, name);
	assert_int_equal(unlink(path), 0);
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(parent))
		return -1;
	snprintf(folder, sizeof(folder), "%s/watched", parent);
	return mkdir(folder, 0700);
}

static int remove_folder(void **state)
{
	(void)state;
	rmdir(folder);
	return rmdir(parent);
}

static void names_that_come_and_go_are_told(void **state)
{
	(void)state;
	struct watcher watcher;
	setup(&watcher);
	assert_true(filewatch_is_armed(watcher.watch));
	make_file("one");
	await(&watcher, "+one;");
	remove_file("one");
	await(&watcher, "-one;");
	teardown(&watcher);
}

static void a_rename_within_the_folder_is_a_coming_and_a_going(void **state)
{
	(void)state;
	struct watcher watcher;
	char from[96], to[96];
	setup(&watcher);
	make_file(".tmp");
	in_folder(from, ".tmp");
	in_folder(to, "checkpoint");
	assert_int_equal(rename(from, to), 0);
	await(&watcher, "-.tmp;+checkpoint;");
	remove_file("checkpoint");
	teardown(&watcher);
}

static void a_folder_that_is_not_there_yet_is_found(void **state)
{
	(void)state;
	struct watcher watcher;
	assert_int_equal(rmdir(folder), 0);
	setup(&watcher);
	assert_false(filewatch_is_armed(watcher.watch));
	assert_int_equal(mkdir(folder, 0700), 0);
	await(&watcher, "!;");
	assert_true(filewatch_is_armed(watcher.watch));
	make_file("one");
	await(&watcher, "+one;");
	remove_file("one");
	teardown(&watcher);
}

static void a_folder_that_is_replaced_is_watched_again(void **state)
{
	(void)state;
	struct watcher watcher;
	char aside[96];
	snprintf(aside, sizeof(aside), "%s/aside", parent);
	setup(&watcher);
	assert_int_equal(rename(folder, aside), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	await(&watcher, "!;!;");
	make_file("one");
	await(&watcher, "+one;");
	remove_file("one");
	assert_int_equal(rmdir(aside), 0);
	teardown(&watcher);
}

static void a_folder_that_is_deleted_and_made_anew_is_watched_again(void **state)
{
	(void)state;
	struct watcher watcher;
	setup(&watcher);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rmdir(folder), 0);
		await(&watcher, "!;");
		assert_int_equal(mkdir(folder, 0700), 0);
		if (!filewatch_is_armed(watcher.watch))
			await(&watcher, "!;");
		make_file("one");
		await(&watcher, "+one;");
		remove_file("one");
		await(&watcher, "-one;");
	}
	teardown(&watcher);
}

static void more_events_than_one_read_takes_are_all_told(void **state)
{
	(void)state;
	struct watcher watcher;
	char name[32];
	setup(&watcher);
	for (unsigned i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "file-%03u", i);
		make_file(name);
		remove_file(name);
	}
	await(&watcher, "-file-499;");
	teardown(&watcher);
}

static void a_file_in_the_place_of_the_folder_is_not_watched(void **state)
{
	(void)state;
	struct watcher watcher;
	assert_int_equal(rmdir(folder), 0);
	FILE *file = fopen(folder, "w");
	assert_non_null(file);
	fclose(file);
	setup(&watcher);
	assert_false(filewatch_is_armed(watcher.watch));
	assert_int_equal(unlink(folder), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	await(&watcher, "!;");
	teardown(&watcher);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(names_that_come_and_go_are_told),
	cmocka_unit_test(a_rename_within_the_folder_is_a_coming_and_a_going),
	cmocka_unit_test(a_folder_that_is_not_there_yet_is_found),
	cmocka_unit_test(a_folder_that_is_replaced_is_watched_again),
	cmocka_unit_test(a_folder_that_is_deleted_and_made_anew_is_watched_again),
	cmocka_unit_test(more_events_than_one_read_takes_are_all_told),
	cmocka_unit_test(a_file_in_the_place_of_the_folder_is_not_watched),
};
TEST_MAIN_WITH(tests, make_folder, remove_folder)
