/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/checkpoint.h"
#include "lib/own_folder.h"

#define CHECKPOINT_FILE "checkpoint_test.json"
#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define POD "00d76c9e-1c16-46f0-9aee-b624a6d8abae"

#define ENTRY(ids)                                                                         \
	"{\"PodUID\":\"" POD "\",\"ContainerName\":\"main\","                               \
	"\"ResourceName\":\"nvidia.com/gpu\",\"DeviceIDs\":" ids ",\"AllocResp\":\"\"}"
#define WHOLE(entries)                                          \
	"{\"Data\":{\"PodDeviceEntries\":" entries               \
	",\"RegisteredDevices\":{\"nvidia.com/gpu\":[\"" UUID "\"]}},\"Checksum\":1}"

#define GOOD WHOLE("[" ENTRY("{\"-1\":[\"" UUID "\"]}") "]")
#define OLDER WHOLE("[" ENTRY("[\"" UUID "\"]") "]")
#define EMPTY WHOLE("null")

/* As the kubelet does it: another file, moved over. */
static void write_checkpoint(const char *text, size_t len)
{
	FILE *file = fopen(CHECKPOINT_FILE ".tmp", "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(CHECKPOINT_FILE ".tmp", CHECKPOINT_FILE), 0);
}

static struct report tell(const struct checkpoint *checkpoint)
{
	struct report report = {0};
	checkpoint_tell(checkpoint, &report);
	return report;
}

static void assert_good(const struct checkpoint *checkpoint, int64_t observed_at)
{
	struct report report = tell(checkpoint);
	assert_int_equal(report.sources.checkpoint.observed_at, observed_at);
	assert_true(report.checkpoint.present);
	assert_int_equal(report.checkpoint.entries.count, 1);
	const struct report_checkpoint_entry *entry =
		ARRAY_AT(report.checkpoint.entries, struct report_checkpoint_entry, 0);
	assert_true(view_equal(entry->pod_uid, VIEW(POD)));
	assert_int_equal(entry->device_ids.count, 1);
	assert_true(view_equal(*ARRAY_AT(entry->device_ids, struct view, 0), VIEW(UUID)));
	assert_int_equal(report.checkpoint.registered.count, 1);
}

static void current_and_older_form_say_the_same(void **state)
{
	(void)state;
	static const char *const forms[] = {GOOD, OLDER};
	struct checkpoint checkpoint;
	checkpoint_init(&checkpoint, CHECKPOINT_FILE);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		write_checkpoint(forms[i], strlen(forms[i]));
		assert_int_equal(checkpoint_read(&checkpoint, 100 + (int64_t)i), i == 0);
		assert_int_equal(tell(&checkpoint).sources.checkpoint.state, REPORT_SOURCE_OK);
		assert_good(&checkpoint, 100 + (int64_t)i);
	}
	checkpoint_deinit(&checkpoint);
}

static void only_a_change_is_news(void **state)
{
	(void)state;
	struct checkpoint checkpoint;
	checkpoint_init(&checkpoint, CHECKPOINT_FILE);
	write_checkpoint(GOOD, strlen(GOOD));
	assert_true(checkpoint_read(&checkpoint, 1));
	assert_false(checkpoint_read(&checkpoint, 2));
	write_checkpoint(EMPTY, strlen(EMPTY));
	assert_true(checkpoint_read(&checkpoint, 3));
	assert_true(tell(&checkpoint).checkpoint.entries.present);
	assert_int_equal(tell(&checkpoint).checkpoint.entries.count, 0);
	assert_false(checkpoint_read(&checkpoint, 4));
	checkpoint_deinit(&checkpoint);
}

static void a_file_cut_at_any_byte_is_an_error_and_the_last_good_one_stays(void **state)
{
	(void)state;
	struct checkpoint checkpoint;
	checkpoint_init(&checkpoint, CHECKPOINT_FILE);
	write_checkpoint(GOOD, strlen(GOOD));
	assert_true(checkpoint_read(&checkpoint, 100));
	for (size_t len = 0; len < strlen(GOOD); len++) {
		write_checkpoint(GOOD, len);
		checkpoint_read(&checkpoint, 200);
		assert_int_equal(tell(&checkpoint).sources.checkpoint.state, REPORT_SOURCE_ERROR);
		assert_true(tell(&checkpoint).sources.checkpoint.message.len > 0);
		assert_good(&checkpoint, 100);
	}
	write_checkpoint(GOOD, strlen(GOOD));
	assert_true(checkpoint_read(&checkpoint, 300));
	assert_int_equal(tell(&checkpoint).sources.checkpoint.state, REPORT_SOURCE_OK);
	assert_int_equal(tell(&checkpoint).sources.checkpoint.message.len, 0);
	assert_good(&checkpoint, 300);
	checkpoint_deinit(&checkpoint);
}

static void what_is_no_checkpoint_is_an_error_told_once(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"{}", "[]", "null", "garbage", "{\"Data\":{}}", "{\"Data\":null}",
		WHOLE("[{\"PodUID\":5}]"), WHOLE("[" ENTRY("\"GPU\"") "]"), "\xff\xfe",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct checkpoint checkpoint;
		checkpoint_init(&checkpoint, CHECKPOINT_FILE);
		write_checkpoint(texts[i], strlen(texts[i]));
		assert_true(checkpoint_read(&checkpoint, 100));
		assert_int_equal(tell(&checkpoint).sources.checkpoint.state, REPORT_SOURCE_ERROR);
		assert_int_equal(tell(&checkpoint).sources.checkpoint.observed_at, 0);
		assert_false(tell(&checkpoint).checkpoint.present);
		assert_false(checkpoint_read(&checkpoint, 200));
		checkpoint_deinit(&checkpoint);
	}
}

static void a_file_that_was_never_there_is_an_absent_source(void **state)
{
	(void)state;
	struct checkpoint checkpoint;
	unlink(CHECKPOINT_FILE);
	checkpoint_init(&checkpoint, CHECKPOINT_FILE);
	assert_true(checkpoint_read(&checkpoint, 100));
	assert_int_equal(tell(&checkpoint).sources.checkpoint.state, REPORT_SOURCE_ABSENT);
	assert_false(tell(&checkpoint).checkpoint.present);
	assert_false(checkpoint_read(&checkpoint, 200));
	checkpoint_deinit(&checkpoint);
}

static void a_file_that_vanished_is_an_error_and_its_contents_stay(void **state)
{
	(void)state;
	struct checkpoint checkpoint;
	checkpoint_init(&checkpoint, CHECKPOINT_FILE);
	write_checkpoint(GOOD, strlen(GOOD));
	assert_true(checkpoint_read(&checkpoint, 100));
	unlink(CHECKPOINT_FILE);
	assert_true(checkpoint_read(&checkpoint, 200));
	assert_int_equal(tell(&checkpoint).sources.checkpoint.state, REPORT_SOURCE_ERROR);
	assert_good(&checkpoint, 100);
	checkpoint_deinit(&checkpoint);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(current_and_older_form_say_the_same),
	cmocka_unit_test(only_a_change_is_news),
	cmocka_unit_test(a_file_cut_at_any_byte_is_an_error_and_the_last_good_one_stays),
	cmocka_unit_test(what_is_no_checkpoint_is_an_error_told_once),
	cmocka_unit_test(a_file_that_was_never_there_is_an_absent_source),
	cmocka_unit_test(a_file_that_vanished_is_an_error_and_its_contents_stay),
};
TEST_MAIN_WITH(tests, own_folder_enter, own_folder_leave)
