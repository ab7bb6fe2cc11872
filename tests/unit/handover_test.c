/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "core/handover.h"

#define MAX_ENTRIES 4u

/* "container id id", each entry of a pod "ml/web", or of "ml/<name>" as "name/container id id". */
struct list {
	struct report report;
	struct report_pod_resource entries[MAX_ENTRIES];
	struct view ids[MAX_ENTRIES][MAX_ENTRIES];
};

static void parse_entry(struct view text, struct report_pod_resource *entry, struct view *ids)
{
	struct view who, rest, id;
	*entry = (struct report_pod_resource){.namespace = VIEW("ml"), .name = VIEW("web"),
					      .device_ids = {ids, 0, true}};
	if (!view_cut(text, VIEW(" "), &who, &rest))
		rest = (struct view){0};
	if (!view_cut(who, VIEW("/"), &entry->name, &entry->container)) {
		entry->name = VIEW("web");
		entry->container = who;
	}
	while (rest.len > 0) {
		struct view next = {0};
		if (!view_cut(rest, VIEW(" "), &id, &next))
			id = rest;
		assert_true(entry->device_ids.count < MAX_ENTRIES);
		ids[entry->device_ids.count++] = id;
		rest = next;
	}
}

/* Entries are parted by commas. */
static const struct report *report_of(struct list *list, const char *text, int64_t listed_at)
{
	struct view rest = view_from(text);
	*list = (struct list){.report = {.pod_resources = {list->entries, 0, true}}};
	list->report.sources.pod_resources.observed_at = listed_at;
	while (rest.len > 0) {
		struct view entry, next = {0};
		uint32_t i = list->report.pod_resources.count++;
		assert_true(i < MAX_ENTRIES);
		if (!view_cut(rest, VIEW(","), &entry, &next))
			entry = rest;
		parse_entry(entry, &list->entries[i], list->ids[i]);
		rest = next;
	}
	return &list->report;
}

/* Zeros stand for nothing. */
static int64_t *find(const struct handover_list *before, const struct report *now)
{
	int64_t *differed_at = NULL;
	struct error err;
	if (handover_find(before, now, &differed_at, &err) < 0)
		fail_msg("%s", err.text);
	return differed_at ? differed_at : calloc(MAX_ENTRIES, sizeof(*differed_at));
}

/* The List before was read at 100, and what it says differed before, did so at 7. */
static void a_pod_that_has_other_devices_than_before_is_another_of_its_name(void **state)
{
	static const struct {
		const char *before, *now;
		int64_t differed_at[MAX_ENTRIES];
	} rows[] = {
		{"main a", "main a", {7}},
		{"main a", "main b", {100}},
		{"main a b", "main b a", {7}},
		{"main a b", "main a", {100}},
		{"main a", "main a b", {100}},
		/* Of several resources, in any order. */
		{"main a,main b", "main b,main a", {7, 7}},
		{"main a,main b", "main b,main c", {100, 100}},
		{"main a,side b", "side b,main a", {7, 7}},
		{"main a,side b", "main b,side b", {100, 100}},
		{"main a,side b", "main b,side a", {100, 100}},
		{"main a", "side a", {100}},
		{"main a,side b", "side b", {100}},
		/* Another pod: nothing is known of it. */
		{"web/main a", "db/main b", {0}},
		{"db/main a,web/main b", "web/main a,db/main a", {100, 7}},
		{"", "main a", {0}},
		{"main a", "", {0}},
		{"main", "main", {7}},
		{"main", "main a", {100}},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static const int64_t known[MAX_ENTRIES] = {7, 7, 7, 7};
		struct list before, now;
		struct handover_list then = {report_of(&before, rows[i].before, 100), 100, known};
		const struct report *report = report_of(&now, rows[i].now, 200);
		int64_t *differed_at = find(&then, report);
		for (uint32_t k = 0; k < report->pod_resources.count; k++)
			if (differed_at[k] != rows[i].differed_at[k])
				fail_msg("row %zu, entry %u: %lld", i, k, (long long)differed_at[k]);
		free(differed_at);
		/* Nothing was known before. */
		then.differed_at = NULL;
		differed_at = find(&then, report);
		for (uint32_t k = 0; k < report->pod_resources.count; k++)
			assert_int_equal(differed_at[k],
					 rows[i].differed_at[k] == 100 ? 100 : 0);
		free(differed_at);
	}
}

static void without_a_report_before_nothing_is_known(void **state)
{
	(void)state;
	struct list now;
	int64_t *differed_at = find(&(struct handover_list){0}, report_of(&now, "main a", 200));
	assert_int_equal(differed_at[0], 0);
	free(differed_at);
}

static void when_the_clock_goes_back_everything_is_forgotten(void **state)
{
	(void)state;
	static const int64_t known[] = {7, 7};
	struct list before, now;
	struct handover_list then = {report_of(&before, "main a,side b", 90), 100, known};
	int64_t *differed_at = find(&then, report_of(&now, "main b,side b", 99));
	assert_int_equal(differed_at[0], 0);
	assert_int_equal(differed_at[1], 0);
	free(differed_at);
	differed_at = find(&then, report_of(&now, "main b,side b", 100));
	assert_int_equal(differed_at[0], 100);
	assert_int_equal(differed_at[1], 100);
	free(differed_at);
}

static void without_memory_nothing_is_left_behind(void **state)
{
	(void)state;
	struct list before, now;
	struct handover_list then = {report_of(&before, "main a,side b", 90), 100, NULL};
	const struct report *report = report_of(&now, "main b,side b", 200);
	int64_t *differed_at = NULL;
	struct error err;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		int result = handover_find(&then, report, &differed_at, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(differed_at == NULL, failed);
		if (failed)
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
	}
	free(differed_at);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_pod_that_has_other_devices_than_before_is_another_of_its_name),
	cmocka_unit_test(without_a_report_before_nothing_is_known),
	cmocka_unit_test(when_the_clock_goes_back_everything_is_forgotten),
	cmocka_unit_test(without_memory_nothing_is_left_behind),
};

TEST_MAIN(tests)
