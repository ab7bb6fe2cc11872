/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "lib/gpu_world.h"

#include <stdlib.h>

#include "kubectl/intake.h"

static struct view read_file(const char *path)
{
	static char text[1u << 20];
	FILE *file = fopen(path, "rb");
	if (!file)
		fail_msg("cannot read %s", path);
	size_t len = fread(text, 1, sizeof(text), file);
	fclose(file);
	return (struct view){text, len};
}

static void read_list(const char *path, intake_take_fn take, void *context)
{
	CLEANUP(intake_deinit) struct intake intake;
	struct error err;
	intake_init(&intake, INTAKE_LIST, take, context);
	if (intake_feed(&intake, read_file(path), &err) != 0 || intake_finish(&intake, &err) != 0)
		fail_msg("%s: %s", path, err.text);
}

void gpu_world_devices(struct catalogue *catalogue)
{
	struct error err;
	catalogue_init(catalogue, NULL, NULL);
	read_list(TESTS_FOLDER "/fake/world/gpus.json", catalogue_take, catalogue);
	assert_int_equal(catalogue_sort(catalogue, &err), 0);
	assert_int_equal(catalogue->n_unreadable, 0);
}

void gpu_world_pods(struct roll *roll)
{
	roll_init(roll);
	read_list(TESTS_FOLDER "/fake/world/pods.json", roll_take, roll);
}

const struct attribution *gpu_world_device(const struct catalogue *catalogue, const char *start)
{
	for (size_t i = 0; i < catalogue->n_devices; i++) {
		if (view_starts_with(catalogue->devices[i]->uuid, view_from(start)))
			return catalogue->devices[i];
	}
	fail_msg("no device %s", start);
	return NULL;
}

void gpu_world_assert_screen(struct page *page, const char *name)
{
	char path[4096];
	struct error err;
	assert_int_equal(page_finish(page, &err), 0);
	sbuf_append(&page->body, VIEW("--- notes\n"));
	sbuf_append(&page->body, sbuf_view(&page->notes));
	snprintf(path, sizeof(path), "%s/golden/screens/%s.txt", TESTS_FOLDER, name);
	if (getenv("UPDATE_SCREENS")) {
		FILE *file = fopen(path, "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(page->body.ptr, 1, page->body.len, file), page->body.len);
		assert_int_equal(fclose(file), 0);
		return;
	}
	struct view expected = read_file(path);
	if (!view_equal(expected, sbuf_view(&page->body)))
		fail_msg("%s is not what is shown:\n%.*s", path, VIEW_ARG(sbuf_view(&page->body)));
}
