/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "schema/mig_config_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_CONFIG_ARENA);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static struct mig_configs decode(const char *text)
{
	struct mig_configs configs = {.name = VIEW("kept")};
	struct error err;

	if (mig_config_doc_decode(view_from(text), &arena, &configs, &err) < 0)
		fail_msg("%s", err.text);
	assert_text(configs.name, "kept");
	return configs;
}

static void show_part(const struct mig_config_part *part, struct sbuf *out)
{
	sbuf_printf(out, " %s%s", part->is_for_all ? "all" : "some", part->is_enabled ? "+" : "-");
	for (uint32_t i = 0; i < part->indices.count; i++)
		sbuf_printf(out, ",%lld", (long long)*ARRAY_AT(part->indices, int64_t, i));
	for (uint32_t i = 0; i < part->filters.count; i++)
		sbuf_printf(out, ",%.*s", VIEW_ARG(*ARRAY_AT(part->filters, struct view, i)));
	for (uint32_t i = 0; i < part->counts.count; i++) {
		const struct mig_config_count *count =
			ARRAY_AT(part->counts, struct mig_config_count, i);

		sbuf_printf(out, ",%lldx%.*s", (long long)count->count, VIEW_ARG(count->profile));
	}
}

static void every_layout_is_read_and_they_are_sorted_by_name(void **state)
{
	struct mig_configs configs =
		decode("version: v1\n"
		       "mig-configs:\n"
		       "  all-disabled:\n"
		       "    - devices: all\n"
		       "      mig-enabled: false\n"
		       "  all-balanced:\n"
		       "    - device-filter: [\"0x233010DE\", \"0x232210DE\"]\n"
		       "      devices: all\n"
		       "      mig-enabled: true\n"
		       "      mig-devices:\n"
		       "        \"1g.10gb\": 2\n"
		       "        \"2g.20gb\": 1\n"
		       "    - device-filter: '0x20B010DE'\n"
		       "      devices: [0, 3]\n"
		       "      mig-enabled: true\n"
		       "      mig-devices: {}\n"
		       "      later: [1]\n"
		       "    - {device-filter: '', devices: all, mig-enabled: false}\n"
		       "    - {device-filter: [], devices: all, mig-enabled: false}\n"
		       "    - {device-filter: [''], devices: all, mig-enabled: false}\n");
	static const char *const layouts[] = {
		"all-balanced: all+,0x233010DE,0x232210DE,2x1g.10gb,1x2g.20gb some+,0,3,0x20B010DE"
		" all- all- all-,",
		"all-disabled: all-",
	};

	(void)state;
	assert_text(configs.error, "");
	assert_int_equal(configs.layouts.count, ARRAY_SIZE(layouts));
	for (uint32_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		const struct mig_config *layout = ARRAY_AT(configs.layouts, struct mig_config, i);
		CLEANUP(sbuf_deinit) struct sbuf shown;

		sbuf_init(&shown, LIMIT_KIB);
		sbuf_printf(&shown, "%.*s:", VIEW_ARG(layout->name));
		for (uint32_t k = 0; k < layout->parts.count; k++)
			show_part(ARRAY_AT(layout->parts, struct mig_config_part, k), &shown);
		assert_string_equal(sbuf_text(&shown), layouts[i]);
	}
}

#define PART(text) "{version: v1, mig-configs: {a: [" text "]}}"

static void what_mig_parted_refuses_has_its_place_and_no_layouts(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"", "line 1, column 1: the document is not a mapping"},
		{"[]", "line 1, column 1: the document is not a mapping"},
		{"a: [", "line 2, column 1: did not find expected node content"},
		{"a: *x", "line 1, column 4: an alias of no anchor"},
		{"mig-configs: {}", "line 1, column 1: the version is not v1"},
		{"version: v2", "line 1, column 10: the version is not v1"},
		{"version: [v1]", "line 1, column 10: the version is not v1"},
		{"version: v1", "line 1, column 1: mig-configs has no layouts"},
		{"{version: v1, mig-configs: {}}", "line 1, column 28: mig-configs has no layouts"},
		{"{version: v1, mig-configs: []}", "line 1, column 28: mig-configs has no layouts"},
		{"{version: v1, mig-configs: {a: {}}}",
		 "line 1, column 32: a layout is not a list of parts"},
		{PART(""), "line 1, column 32: a layout is not a list of parts"},
		{PART("1"), "line 1, column 33: a part of a layout is not a mapping"},
		{PART("{mig-enabled: true}"), "line 1, column 33: devices is missing"},
		{PART("{devices: all}"), "line 1, column 33: mig-enabled is missing"},
		{PART("{devices: all, mig-enabled: 1}"),
		 "line 1, column 61: mig-enabled is neither true nor false"},
		{PART("{devices: all, mig-enabled: true}"),
		 "line 1, column 33: mig-devices is missing"},
		{PART("{devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}}"),
		 "line 1, column 81: there are mig-devices, and mig-enabled is false"},
		{PART("{devices: some, mig-enabled: false}"),
		 "line 1, column 43: devices is neither all nor a list"},
		{PART("{devices: [-1], mig-enabled: false}"),
		 "line 1, column 44: this is no index of a device"},
		{PART("{devices: [65536], mig-enabled: false}"),
		 "line 1, column 44: this is no index of a device"},
		{PART("{devices: ['0'], mig-enabled: false}"),
		 "line 1, column 44: this is no index of a device"},
		{PART("{devices: all, mig-enabled: true, mig-devices: [1]}"),
		 "line 1, column 80: mig-devices is not a mapping"},
		{PART("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: many}}"),
		 "line 1, column 89: this is no number of MIG devices"},
		{PART("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: -1}}"),
		 "line 1, column 89: this is no number of MIG devices"},
		{PART("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 57}}"),
		 "line 1, column 89: this is no number of MIG devices"},
		{PART("{devices: all, mig-enabled: true, mig-devices: {'': 1}}"),
		 "line 1, column 85: this is no MIG profile"},
		{PART("{devices: all, mig-enabled: false, device-filter: {}}"),
		 "line 1, column 83: device-filter is neither a string nor a list"},
		{PART("{devices: all, mig-enabled: false, device-filter: [[]]}"),
		 "line 1, column 84: this is no filter of devices"},
		{PART("{devices: all, mig-enabled: false, device-filter: "
		      "0x2330000000000000000000000000000000}"),
		 "line 1, column 83: this is no filter of devices"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mig_configs configs = decode(rows[i].text);
		char error[200];

		snprintf(error, sizeof(error), "%.*s", VIEW_ARG(configs.error));
		assert_string_equal(error, rows[i].error);
		assert_int_equal(configs.layouts.count, 0);
	}
}

static void as_many_parts_as_the_limit_are_read_and_no_more(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_MIB);
	sbuf_printf(&text, "version: v1\nmig-configs:\n  a:\n");
	for (unsigned i = 0; i <= LIMIT_MIG_PARTS; i++) {
		sbuf_printf(&text, "  - {devices: all, mig-enabled: false}\n");
		if (i + 2 < LIMIT_MIG_PARTS)
			continue;
		struct mig_configs configs = decode(sbuf_text(&text));
		assert_int_equal(configs.layouts.count, i < LIMIT_MIG_PARTS);
		assert_int_equal(configs.error.len > 0, i == LIMIT_MIG_PARTS);
	}
}

static void without_memory_nothing_is_said(void **state)
{
	static const char *const texts[] = {
		PART("{devices: [1], device-filter: x, mig-enabled: yes, mig-devices: {a: 1}}"),
		"version: v2", "a: ["};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		bool failed = true;

		for (unsigned k = 1; failed; k++) {
			CLEANUP(arena_deinit) struct arena own = {0};
			struct mig_configs configs;
			struct error err = {0};

			arena_init(&own, LIMIT_CONFIG_ARENA);
			failing_malloc_at(k);
			int result = mig_config_doc_decode(view_from(texts[i]), &own, &configs,
							   &err);
			failed = failing_malloc_off();
			assert_int_equal(result, failed ? -1 : 0);
			assert_int_equal(err.kind == ERROR_NO_MEMORY, failed);
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(every_layout_is_read_and_they_are_sorted_by_name, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_mig_parted_refuses_has_its_place_and_no_layouts,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(as_many_parts_as_the_limit_are_read_and_no_more, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(without_memory_nothing_is_said, set_up, tear_down),
};

TEST_MAIN(tests)
