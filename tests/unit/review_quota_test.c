/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "controller/review_quota.h"
#include "lib/failing_malloc.h"

#define MAX 64

static const struct review_quota_limits limits = {
	.max_clients = 16, .max_strangers = 6, .max_of_client = 4, .per_second = 8};

struct fixture {
	struct review_quota quota;
	struct review_quota_place places[MAX];
	unsigned n_places;
};

static void start(struct fixture *f)
{
	*f = (struct fixture){0};
	review_quota_init(&f->quota, &limits);
}

static enum review_quota_step enter(struct fixture *f, const char *network, bool is_known,
				    uint64_t now_ms)
{
	struct review_quota_place place;
	enum review_quota_step step =
		review_quota_enter(&f->quota, view_from(network), is_known, now_ms, &place);
	if (step == REVIEW_QUOTA_ADMITTED)
		f->places[f->n_places++] = place;
	return step;
}

static void leave_all(struct fixture *f)
{
	while (f->n_places > 0)
		review_quota_leave(&f->quota, f->places[--f->n_places], false);
}

/* How many reviews begin and end one after the other. */
static unsigned begin_all(struct fixture *f, const char *network, uint64_t now_ms)
{
	unsigned n = 0;
	for (; enter(f, network, false, now_ms) == REVIEW_QUOTA_ADMITTED; n++)
		leave_all(f);
	return n;
}

static void a_client_begins_as_many_reviews_in_a_second_as_it_may(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(begin_all(&f, "a", 5), 8);
	assert_int_equal(enter(&f, "a", false, 5), REVIEW_QUOTA_TOO_OFTEN);
	assert_int_equal(begin_all(&f, "b", 5), 8);
	assert_int_equal(begin_all(&f, "a", 505), 4);
	/* Also one that is known. */
	assert_int_equal(enter(&f, "a", true, 505), REVIEW_QUOTA_TOO_OFTEN);
	/* Silence saves nothing up, also that of one who was forgotten. */
	assert_int_equal(begin_all(&f, "a", 100000), 8);
	review_quota_deinit(&f.quota);
}

static void a_client_has_so_many_reviews_under_way(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	for (int i = 0; i < 4; i++)
		assert_int_equal(enter(&f, "a", true, 0), REVIEW_QUOTA_ADMITTED);
	assert_int_equal(enter(&f, "a", true, 0), REVIEW_QUOTA_TOO_OFTEN);
	/* However long they take. */
	assert_int_equal(enter(&f, "b", true, 5000), REVIEW_QUOTA_ADMITTED);
	assert_int_equal(enter(&f, "a", true, 9000), REVIEW_QUOTA_TOO_OFTEN);
	review_quota_leave(&f.quota, f.places[0], false);
	assert_int_equal(enter(&f, "a", true, 9000), REVIEW_QUOTA_ADMITTED);
	review_quota_deinit(&f.quota);
}

static void strangers_together_leave_room_for_those_who_are_known(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(enter(&f, "a", false, 0), REVIEW_QUOTA_ADMITTED);
		assert_int_equal(enter(&f, "b", false, 0), REVIEW_QUOTA_ADMITTED);
	}
	assert_int_equal(enter(&f, "c", false, 0), REVIEW_QUOTA_FULL);
	assert_int_equal(enter(&f, "d", true, 0), REVIEW_QUOTA_ADMITTED);
	/* Who is known takes no stranger's place. */
	assert_int_equal(f.quota.strangers, 6);
	leave_all(&f);
	assert_int_equal(f.quota.strangers, 0);
	assert_int_equal(enter(&f, "c", false, 0), REVIEW_QUOTA_ADMITTED);
	review_quota_deinit(&f.quota);
}

#define N_STRANGERS 256
#define FOR_MS 10000

/* As the controller has it: each of them alone may have 8 in a second. */
static void start_crowded(struct fixture *f)
{
	*f = (struct fixture){0};
	review_quota_init(&f->quota, &(struct review_quota_limits){
		.max_clients = 4096, .max_strangers = 64, .max_of_client = 8, .per_second = 8,
		.strangers_per_second = 10});
}

/* The reviews refuse the tokens at once. */
static void strangers_together_begin_so_many_reviews_in_a_second(void **state)
{
	(void)state;
	struct fixture f;
	char name[16];
	unsigned n = 0, n_known = 0;
	start_crowded(&f);
	for (uint64_t now_ms = 0; now_ms < FOR_MS; now_ms++) {
		snprintf(name, sizeof(name), "n%u", (unsigned)now_ms % N_STRANGERS);
		enum review_quota_step step = enter(&f, name, false, now_ms);
		assert_true(step == REVIEW_QUOTA_ADMITTED || step == REVIEW_QUOTA_CROWDED);
		n += step == REVIEW_QUOTA_ADMITTED;
		leave_all(&f);
		if (now_ms % 200 != 0)
			continue;
		assert_int_equal(enter(&f, "known", true, now_ms), REVIEW_QUOTA_ADMITTED);
		n_known++;
		leave_all(&f);
	}
	assert_in_range(n, FOR_MS / 100, FOR_MS / 100 + 10);
	assert_int_equal(n_known, FOR_MS / 200);
	review_quota_deinit(&f.quota);
}

/* As agents are to a controller that has just started. */
static void strangers_with_good_tokens_are_let_in_as_fast_as_they_are_reviewed(void **state)
{
	(void)state;
	struct fixture f;
	char name[16];
	start_crowded(&f);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(enter(&f, name, false, i / 100), REVIEW_QUOTA_ADMITTED);
		review_quota_leave(&f.quota, f.places[--f.n_places], true);
	}
	/* No more is saved up than was there at first. */
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(enter(&f, "n1", i > 7, 2000), REVIEW_QUOTA_ADMITTED + (i > 7));
	leave_all(&f);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(enter(&f, "n2", false, 2000),
				 i < 2 ? REVIEW_QUOTA_ADMITTED : REVIEW_QUOTA_CROWDED);
	review_quota_deinit(&f.quota);
}

static void clients_are_forgotten_when_silent_and_refused_when_too_many(void **state)
{
	(void)state;
	struct fixture f;
	char name[16];
	start(&f);
	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(enter(&f, name, true, 0), REVIEW_QUOTA_ADMITTED);
	}
	assert_int_equal(enter(&f, "more", false, 999), REVIEW_QUOTA_FULL);
	/* They are silent, and still have reviews under way. */
	assert_int_equal(enter(&f, "more", false, 1000), REVIEW_QUOTA_FULL);
	assert_int_equal(enter(&f, "known", true, 1000), REVIEW_QUOTA_ADMITTED);
	leave_all(&f);
	assert_int_equal(enter(&f, "more", false, 3000), REVIEW_QUOTA_ADMITTED);
	for (uint64_t now_ms = 10000; now_ms < 10020; now_ms++)
		assert_int_equal(begin_all(&f, "one", now_ms), now_ms == 10000 ? 8 : 0);
	assert_int_equal(f.quota.table.count, 1);
	review_quota_deinit(&f.quota);
}

static void without_limits_everybody_is_let_in(void **state)
{
	(void)state;
	struct fixture f = {0};
	review_quota_init(&f.quota, &(struct review_quota_limits){0});
	for (int i = 0; i < MAX; i++)
		assert_int_equal(enter(&f, "", false, 0), REVIEW_QUOTA_ADMITTED);
	leave_all(&f);
	assert_int_equal(f.quota.table.count, 0);
	review_quota_deinit(&f.quota);
}

static void without_memory_it_is_full(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct fixture f;
		start(&f);
		failing_malloc_at(k);
		enum review_quota_step step = enter(&f, "a", false, 0);
		failed = failing_malloc_off();
		assert_int_equal(step, failed ? REVIEW_QUOTA_FULL : REVIEW_QUOTA_ADMITTED);
		review_quota_deinit(&f.quota);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_client_begins_as_many_reviews_in_a_second_as_it_may),
	cmocka_unit_test(a_client_has_so_many_reviews_under_way),
	cmocka_unit_test(strangers_together_leave_room_for_those_who_are_known),
	cmocka_unit_test(strangers_together_begin_so_many_reviews_in_a_second),
	cmocka_unit_test(strangers_with_good_tokens_are_let_in_as_fast_as_they_are_reviewed),
	cmocka_unit_test(clients_are_forgotten_when_silent_and_refused_when_too_many),
	cmocka_unit_test(without_limits_everybody_is_let_in),
	cmocka_unit_test(without_memory_it_is_full),
};
TEST_MAIN(tests)
