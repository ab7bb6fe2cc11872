/* SPDX-License-Identifier: Apache-2.0 */

/* What is news to a reader of a status follows from the rows of its document. */

#include "lib/expect_status.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/sbuf.h"
#include "schema/attribution_doc.h"
#include "wire/jmap.h"

static struct arena arena;
static struct attribution before, now;
static struct sbuf no_news;

static void fill(const struct jmap_row *rows, void *object);

static void fill_value(const struct jmap_row *row, void *value)
{
	static struct view text = VIEW_INIT("text");
	if (row->type == JMAP_OBJECT) {
		fill(row->rows, value);
	} else if (row->type == JMAP_ARRAY) {
		void *element = arena_alloc(&arena, 1, row->element_size);
		assert_non_null(element);
		memset(element, 0, row->element_size);
		fill(row->rows, element);
		*(struct array *)value = (struct array){element, 1, true};
	} else if (row->type == JMAP_TEXTS) {
		*(struct array *)value = (struct array){&text, 1, true};
	}
}

/* Each list has one element. */
static void fill(const struct jmap_row *rows, void *object)
{
	for (const struct jmap_row *row = rows; row->key; row++) {
		if (row->present_offset)
			*((bool *)object + row->present_offset - 1) = true;
		fill_value(row, (char *)object + row->offset);
	}
}

static void alter(const struct jmap_row *row, void *value)
{
	static struct view other = VIEW_INIT("other");
	switch (row->type) {
	case JMAP_I64:
	case JMAP_TIME:
		*(int64_t *)value = 2;
		break;
	case JMAP_ENUM:
	case JMAP_TOGGLE:
		*(int *)value = 1;
		break;
	case JMAP_BOOL:
		*(bool *)value = true;
		break;
	case JMAP_TEXT:
		*(struct view *)value = VIEW("other");
		break;
	case JMAP_TEXTS:
		((struct array *)value)->items = &other;
		break;
	case JMAP_ARRAY:
		((struct array *)value)->count = 0;
		break;
	case JMAP_OBJECT:
		break;
	}
}

static bool is_news(void)
{
	bool is_same = attribution_doc_is_same(&before.status, &now.status);
	assert_int_equal(is_same, attribution_doc_is_same(&now.status, &before.status));
	return !is_same;
}

/* Alters one value of `now` after the other, and notes each that is no news. */
static void alter_each(const struct jmap_row *rows, void *object, const char *path)
{
	for (const struct jmap_row *row = rows; row->key; row++) {
		union {
			struct view text;
			struct array array;
			int64_t number;
		} saved;
		char *value = (char *)object + row->offset;
		char name[128];

		snprintf(name, sizeof(name), "%s.%s", path, row->key);
		if (row->type == JMAP_OBJECT) {
			alter_each(row->rows, value, name);
			continue;
		}
		if (row->type == JMAP_ARRAY)
			alter_each(row->rows, ((struct array *)value)->items, name);
		size_t size = row->type == JMAP_TEXT ? sizeof(struct view)
			      : row->type == JMAP_TEXTS || row->type == JMAP_ARRAY
				      ? sizeof(struct array)
			      : row->type == JMAP_BOOL				     ? sizeof(bool)
			      : row->type == JMAP_ENUM || row->type == JMAP_TOGGLE ? sizeof(int)
										     : sizeof(int64_t);
		memcpy(&saved, value, size);
		alter(row, value);
		if (!is_news())
			sbuf_printf(&no_news, "%s ", name);
		memcpy(value, &saved, size);
		assert_false(is_news());
	}
}

static const struct jmap_row *status_row(void)
{
	const struct jmap_row *row = attribution_doc_rows();
	while (strcmp(row->key, "status") != 0)
		row++;
	return row;
}

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 1u << 20);
	before = now = (struct attribution){0};
	fill(status_row()->rows, &before.status);
	fill(status_row()->rows, &now.status);
	sbuf_init(&no_news, 4096);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sbuf_deinit(&no_news);
	arena_deinit(&arena);
	return 0;
}

static void all_is_news_but_what_moves_all_the_time(void **state)
{
	(void)state;
	assert_false(is_news());
	alter_each(status_row()->rows, &now.status, "");
	expect_text(sbuf_view(&no_news),
		    ".report.instance .report.sequence .report.observationTime "
		    ".tenants.memoryMiB .unallocatedUsers.memoryMiB .health.eventsSince ");
}

static void how_many_processes_there_are_is_no_news_but_whether_there_are_any(void **state)
{
	(void)state;
	static const struct {
		int64_t before, now;
		bool is_news;
	} rows[] = {{0, 0, false}, {1, 1, false}, {1, 2, false}, {0, 1, true}, {2, 0, true}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (int is_unknown = 0; is_unknown < 2; is_unknown++) {
			int64_t *a = is_unknown ? &before.status.unknown_processes
						: &ARRAY_AT(before.status.tenants,
							    struct attribution_tenant, 0)
							   ->processes;
			int64_t *b = is_unknown ? &now.status.unknown_processes
						: &ARRAY_AT(now.status.tenants,
							    struct attribution_tenant, 0)
							   ->processes;
			*a = rows[i].before;
			*b = rows[i].now;
			assert_int_equal(is_news(), rows[i].is_news);
			*a = *b = 0;
		}
	}
}

static void an_absent_array_is_an_empty_one(void **state)
{
	(void)state;
	before.status = now.status = (struct attribution_status){0};
	before.status.tenants.present = before.status.conditions.present = true;
	assert_false(is_news());
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(all_is_news_but_what_moves_all_the_time, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		how_many_processes_there_are_is_no_news_but_whether_there_are_any, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(an_absent_array_is_an_empty_one, set_up, tear_down),
};

TEST_MAIN(tests)
