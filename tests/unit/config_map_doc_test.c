/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "base/sbuf.h"
#include "lib/kube_bytes.h"
#include "schema/config_map_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static void add_entry(struct sbuf *out, uint32_t field, const char *key, const char *text)
{
	CLEANUP(sbuf_deinit) struct sbuf entry;

	sbuf_init(&entry, LIMIT_KIB);
	kube_bytes_field(&entry, 1, view_from(key));
	kube_bytes_field(&entry, 2, view_from(text));
	kube_bytes_field(out, field, sbuf_view(&entry));
}

static void add_metadata(struct sbuf *out)
{
	kube_bytes_field(out, 1, VIEW("\x0a\x01n\x1a\x02ns\x2a\x01u"));
}

static void every_key_is_there_by_name_with_its_text(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	struct config_map map;
	struct view text = {0};
	struct error err;

	(void)state;
	sbuf_init(&bytes, LIMIT_MIB);
	add_entry(&bytes, 2, "slices", "version: v1");
	add_metadata(&bytes);
	add_entry(&bytes, 3, "binary", "\x01");
	add_entry(&bytes, 2, "default", "");
	kube_bytes_number(&bytes, 4, 1);
	assert_int_equal(config_map_doc_decode(sbuf_view(&bytes), &arena, &map, &err), 0);
	assert_text(map.namespace, "ns");
	assert_text(map.name, "n");
	assert_int_equal(map.entries.count, 3);
	assert_text(ARRAY_AT(map.entries, struct config_map_entry, 0)->key, "binary");
	assert_text(ARRAY_AT(map.entries, struct config_map_entry, 1)->key, "default");
	assert_text(ARRAY_AT(map.entries, struct config_map_entry, 2)->key, "slices");
	assert_true(config_map_doc_text(&map, VIEW("slices"), &text));
	assert_text(text, "version: v1");
	assert_true(config_map_doc_text(&map, VIEW("default"), &text));
	assert_text(text, "");
	assert_false(config_map_doc_text(&map, VIEW("other"), &text));
}

static void one_without_keys_is_a_config_map(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	struct config_map map;
	struct error err;

	(void)state;
	sbuf_init(&bytes, LIMIT_KIB);
	add_metadata(&bytes);
	assert_int_equal(config_map_doc_decode(sbuf_view(&bytes), &arena, &map, &err), 0);
	assert_int_equal(map.entries.count, 0);
}

static void what_is_malformed_or_has_no_name_is_refused(void **state)
{
	static const struct view rows[] = {
		VIEW_INIT(""),
		VIEW_INIT("\x0a\x04\x1a\x02ns"),
		VIEW_INIT("\x0a\x05\x0a\x01n"),
		VIEW_INIT("\x0a\x05\x0a\x01n\x0a\x05"),
		VIEW_INIT("\x0a\x03\x0a\x01n\x12\x02\x0a\x05"),
		VIEW_INIT("\x0a\x03\x0a\x01n\x12\x05"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct config_map map, before;
		struct error err;

		memset(&map, 0xa5, sizeof(map));
		memset(&before, 0xa5, sizeof(before));
		assert_int_equal(config_map_doc_decode(rows[i], &arena, &map, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_memory_equal(&map, &before, sizeof(map));
	}
}

static void more_keys_than_the_limit_are_refused(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	struct config_map map;
	struct error err;

	(void)state;
	sbuf_init(&bytes, LIMIT_MIB);
	add_metadata(&bytes);
	for (unsigned i = 0; i < LIMIT_CONFIG_KEYS; i++)
		add_entry(&bytes, 2 + i % 2, "k", "t");
	assert_int_equal(config_map_doc_decode(sbuf_view(&bytes), &arena, &map, &err), 0);
	assert_int_equal(map.entries.count, LIMIT_CONFIG_KEYS);
	add_entry(&bytes, 2, "k", "t");
	assert_int_equal(config_map_doc_decode(sbuf_view(&bytes), &arena, &map, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void without_memory_it_is_not_read(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	CLEANUP(arena_deinit) struct arena own = {0};
	struct config_map map;
	struct error err;

	(void)state;
	sbuf_init(&bytes, LIMIT_KIB);
	add_metadata(&bytes);
	add_entry(&bytes, 2, "k", "t");
	arena_init(&own, LIMIT_MIB);
	failing_malloc_at(1);
	assert_int_equal(config_map_doc_decode(sbuf_view(&bytes), &own, &map, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(every_key_is_there_by_name_with_its_text, set_up, tear_down),
	cmocka_unit_test_setup_teardown(one_without_keys_is_a_config_map, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_is_malformed_or_has_no_name_is_refused, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(more_keys_than_the_limit_are_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_it_is_not_read, set_up, tear_down),
};

TEST_MAIN(tests)
