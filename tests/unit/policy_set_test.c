/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"

#include "model/policy_set.h"

static struct place_book places;
static struct policy_set set;
static const struct report nothing_reported = {.version = 1};
static unsigned n_touched;

static void on_touch(void *owner, struct view node_name, bool initial)
{
	(void)owner;
	(void)node_name;
	(void)initial;
	n_touched++;
}

static int set_up(void **state)
{
	struct error err;
	struct place *place;

	(void)state;
	place_book_init(&places);
	places.touch = on_touch;
	place = place_ensure(&places, VIEW("gpu-a"), &err);
	assert_non_null(place);
	place->report = &nothing_reported;
	memset(&set, 0x55, sizeof(set));
	policy_set_init(&set, &places);
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = place_find(&places, VIEW("gpu-a"));

	(void)state;
	record_set_deinit(&set.records);
	place->report = NULL;
	place_release(&places, place);
	place_book_deinit(&places);
	return 0;
}

/* True when the nodes are told that something changed. */
static bool put(const char *name, int64_t created_at, const char *namespace, uint64_t version)
{
	const struct policy policy = {
		.name = view_from(name), .namespace = view_from(namespace), .created_at = created_at,
	};
	unsigned before = n_touched;
	struct error err;

	assert_int_equal(record_set_put_copy(&set.records, &policy, (struct view){0}, UPSERT(version), &err), 0);
	return n_touched > before;
}

static void remove_policy(const char *name)
{
	unsigned before = n_touched;

	remove_record(&set.records, view_from(name), 0);
	assert_int_equal(n_touched, before + 1);
}

static void assert_counts(const char *name, const char *namespace, uint32_t n)
{
	assert_int_equal(set.intent.n_policies, n);
	assert_int_equal(set.intent.policy != NULL, name != NULL);
	if (!name)
		return;
	assert_true(view_equal(set.intent.policy->name, view_from(name)));
	assert_true(view_equal(set.intent.policy->namespace, view_from(namespace)));
}

static void the_oldest_counts_then_the_lowest_name_also_after_deletions(void **state)
{
	(void)state;
	assert_counts(NULL, NULL, 0);
	assert_true(put("m", 200, "ready", 1));
	assert_counts("m", "ready", 1);
	assert_true(put("z", 100, "ready", 2));
	assert_counts("z", "ready", 2);
	assert_true(put("b", 100, "ready", 3));
	assert_counts("b", "ready", 3);
	assert_true(put("c", 100, "ready", 4));
	assert_counts("b", "ready", 4);
	remove_policy("b");
	assert_counts("c", "ready", 3);
	remove_policy("c");
	remove_policy("z");
	assert_counts("m", "ready", 1);
	remove_policy("m");
	assert_counts(NULL, NULL, 0);
}

static void a_newer_version_replaces_and_an_older_one_does_not(void **state)
{
	(void)state;
	char name[] = "p";

	assert_true(put(name, 100, "notReady", 5));
	name[0] = 'x';
	assert_false(put("p", 100, "old", 4));
	assert_false(put("p", 100, "same", 5));
	assert_counts("p", "notReady", 1);
	assert_true(put("p", 100, "ready", 6));
	assert_counts("p", "ready", 1);
	assert_true(put("p", 100, "ready", 7));
}

static void without_memory_what_is_there_stays(void **state)
{
	(void)state;
	static char long_text[5000];
	bool failed = true;

	memset(long_text, 'a', sizeof(long_text));
	put("p", 100, "ready", 1);
	for (unsigned k = 1; failed; k++) {
		const struct view text = {long_text, sizeof(long_text)};
		const struct policy policies[] = {
			{.name = VIEW("p"), .namespace = VIEW("new"), .created_at = 100},
			{.name = VIEW("q"), .namespace = text, .created_at = 200},
		};
		struct error err = {0};

		failing_malloc_at(k);
		int result = record_set_put_copy(&set.records, &policies[1], (struct view){0}, UPSERT(2), &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
		assert_counts("p", "ready", failed ? 1 : 2);
		failing_malloc_at(1);
		assert_int_equal(record_set_put_copy(&set.records, &policies[0], (struct view){0},
						     UPSERT(2), &err),
				 -1);
		assert_true(failing_malloc_off());
		assert_counts("p", "ready", failed ? 1 : 2);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		the_oldest_counts_then_the_lowest_name_also_after_deletions, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_newer_version_replaces_and_an_older_one_does_not, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_memory_what_is_there_stays, set_up, tear_down),
};

TEST_MAIN(tests)
