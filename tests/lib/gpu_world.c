/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "lib/gpu_world.h"

#include <stdlib.h>
#include <string.h>

#include "kubectl/object_stream.h"
#include "kubectl/printable.h"
#include "kubectl/text_table.h"

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

static void read_list(const char *path, object_stream_take_fn take, void *context)
{
	CLEANUP(object_stream_deinit) struct object_stream stream;
	struct error err;
	object_stream_init(&stream, OBJECT_STREAM_LIST, take, context);
	if (object_stream_feed(&stream, read_file(path), &err) != 0 || object_stream_finish(&stream, &err) != 0)
		fail_msg("%s: %s", path, err.text);
}

static struct uuid_prefix uuids;

struct uuid_prefix *gpu_world_uuids(void)
{
	return &uuids;
}

static void read_devices(const char *path, struct device_list *list)
{
	struct error err;
	device_list_init(list, NULL, NULL);
	uuid_prefix_deinit(&uuids);
	uuid_prefix_init(&uuids);
	list->known = &uuids;
	read_list(path, device_list_take, list);
	assert_int_equal(device_list_sort(list, &err), 0);
	assert_int_equal(list->n_unreadable, 0);
}

void gpu_world_devices(struct device_list *list)
{
	read_devices(TESTS_FOLDER "/fake/world/gpus.json", list);
}

void gpu_world_trouble(struct device_list *list)
{
	read_devices(TESTS_FOLDER "/fake/trouble/gpus.json", list);
}

void gpu_world_drift(struct device_list *list)
{
	read_devices(TESTS_FOLDER "/fake/drift/gpus.json", list);
}

void gpu_world_pods(struct pod_list *pods)
{
	pod_list_init(pods);
	read_list(TESTS_FOLDER "/fake/world/pods.json", pod_list_take, pods);
}

const struct attribution *gpu_world_device(const struct device_list *list, const char *start)
{
	for (size_t i = 0; i < list->n_devices; i++) {
		if (view_starts_with(list->devices[i]->uuid, view_from(start)))
			return list->devices[i];
	}
	fail_msg("no device %s", start);
	return NULL;
}

static void assert_fits(struct view screen, const char *name)
{
	while (screen.len > 0) {
		const char *end = memchr(screen.ptr, '\n', screen.len);
		struct view line = {screen.ptr, end ? (size_t)(end - screen.ptr) : screen.len};
		if (printable_width(line) > TEXT_TABLE_WIDTH)
			fail_msg("%s has a line of more than %u columns:\n%.*s", name,
				 TEXT_TABLE_WIDTH, VIEW_ARG(line));
		screen = view_from_offset(screen, line.len + (end ? 1 : 0));
	}
}

void gpu_world_assert_screen(struct output *output, const char *name)
{
	char path[4096];
	struct error err;
	assert_int_equal(output_finish(output, &err), 0);
	sbuf_append(&output->body, VIEW("--- notes\n"));
	sbuf_append(&output->body, sbuf_view(&output->notes));
	if (output->form == OUTPUT_TABLE)
		assert_fits(sbuf_view(&output->body), name);
	snprintf(path, sizeof(path), "%s/golden/screens/%s.txt", TESTS_FOLDER, name);
	if (getenv("UPDATE_SCREENS")) {
		FILE *file = fopen(path, "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(output->body.ptr, 1, output->body.len, file), output->body.len);
		assert_int_equal(fclose(file), 0);
		return;
	}
	struct view expected = read_file(path);
	if (!view_equal(expected, sbuf_view(&output->body)))
		fail_msg("%s is not what is shown:\n%.*s", path, VIEW_ARG(sbuf_view(&output->body)));
}
