/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "controller/senders.h"
#include "controller/shared_report.h"

#define BODY_MEMORY ((size_t)64 * LIMIT_MIB)

static void begin(struct senders *senders, size_t cap)
{
	struct error err;

	senders_init(senders, &(struct senders_config){
				      .cap = cap,
				      .changes_per_second = 5,
				      .bodies = memory_account_new(BODY_MEMORY, &err),
				      .reports = memory_account_new(BODY_MEMORY, &err),
			      });
}

static void end(struct senders *senders)
{
	senders_deinit(senders);
	memory_account_unref(senders->config.bodies);
	memory_account_unref(senders->config.reports);
}

static void a_node_has_one_record(void **state)
{
	(void)state;
	struct senders senders;
	begin(&senders, 10);
	struct sender *a = senders_use(&senders, VIEW("a"), 0);
	assert_non_null(a);
	assert_true(view_equal(senders_name(a), VIEW("a")));
	assert_ptr_equal(senders_use(&senders, VIEW("a"), 1), a);
	assert_ptr_equal(senders_find(&senders, VIEW("a")), a);
	assert_null(senders_find(&senders, VIEW("b")));
	assert_ptr_not_equal(senders_use(&senders, VIEW("b"), 1), a);
	end(&senders);
}

static void only_a_silent_node_makes_room(void **state)
{
	(void)state;
	struct senders senders;
	begin(&senders, 2);
	assert_non_null(senders_use(&senders, VIEW("a"), 0));
	assert_non_null(senders_use(&senders, VIEW("b"), 10));
	assert_null(senders_use(&senders, VIEW("c"), SENDERS_SILENT_MS - 1));
	assert_non_null(senders_use(&senders, VIEW("a"), SENDERS_SILENT_MS - 1));
	/* Now b has been silent for longest, and long enough ten milliseconds later. */
	assert_null(senders_use(&senders, VIEW("c"), SENDERS_SILENT_MS + 9));
	assert_non_null(senders_use(&senders, VIEW("c"), SENDERS_SILENT_MS + 10));
	assert_null(senders_find(&senders, VIEW("b")));
	assert_non_null(senders_find(&senders, VIEW("a")));
	end(&senders);
}

static unsigned admitted(const struct senders *senders, struct sender *sender, uint64_t now_ms)
{
	unsigned n = 0;
	while (senders_admit_change(senders, sender, now_ms))
		n++;
	return n;
}

static void a_node_may_change_as_often_as_the_rate_says(void **state)
{
	(void)state;
	struct senders senders;
	begin(&senders, 2);
	struct sender *sender = senders_use(&senders, VIEW("a"), 100);
	assert_int_equal(admitted(&senders, sender, 100), 20);
	assert_int_equal(admitted(&senders, sender, 100), 0);
	assert_int_equal(admitted(&senders, sender, 299), 0);
	assert_int_equal(admitted(&senders, sender, 300), 1);
	assert_int_equal(admitted(&senders, sender, 1300), 5);
	/* Silence saves up no more than four seconds' worth. */
	assert_int_equal(admitted(&senders, sender, 1000000000), 20);
	unsigned n = 0;
	for (uint64_t now_ms = 1000000000; now_ms < 1000010000; now_ms += 7)
		n += admitted(&senders, sender, now_ms);
	assert_in_range(n, 49, 50);
	end(&senders);
}

/* How many requests of this size come through one after the other. */
static unsigned requests(struct sender *sender, size_t size, uint64_t now_ms)
{
	unsigned n = 0;
	for (; senders_admit(sender, size, now_ms) == SENDERS_ADMITTED; n++)
		senders_release(sender, size);
	return n;
}

static void a_large_request_counts_like_many_small_ones(void **state)
{
	(void)state;
	struct senders senders;
	begin(&senders, 2);
	struct sender *sender = senders_use(&senders, VIEW("a"), 0);
	assert_int_equal(requests(sender, 6000, 0), SENDERS_REQUESTS_PER_SECOND);
	assert_int_equal(requests(sender, 6000, 10), SENDERS_REQUESTS_PER_SECOND / 100);
	assert_in_range(requests(sender, LIMIT_REPORT_BYTES, 60000), 10, 16);
	assert_int_equal(memory_account_state(senders.config.bodies).used, 0);
	end(&senders);
}

static void bodies_being_read_are_bounded_for_a_node(void **state)
{
	(void)state;
	struct senders senders;
	begin(&senders, 2);
	struct sender *sender = senders_use(&senders, VIEW("a"), 0);
	for (int k = 0; k < 2; k++)
		assert_int_equal(senders_admit(sender, LIMIT_REPORT_BYTES, 0), SENDERS_ADMITTED);
	assert_int_equal(senders_admit(sender, 1, 0), SENDERS_TOO_MUCH);
	for (int k = 0; k < 2; k++)
		senders_release(sender, LIMIT_REPORT_BYTES);
	end(&senders);
}

/* As many nodes as like send as much as they may, and none of it ends. */
static void bodies_of_many_nodes_leave_room_for_a_small_one(void **state)
{
	(void)state;
	enum { N = 200, N_SIZES = 10 };
	struct senders senders;
	static bool taken[N][N_SIZES];
	size_t sum = 0;
	char name[16];
	begin(&senders, N + 1);
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		struct sender *sender = senders_use(&senders, view_from(name), 0);
		for (int k = 0; k < N_SIZES; k++) {
			size_t size = LIMIT_REPORT_BYTES >> k;
			taken[i][k] = senders_admit(sender, size, 0) == SENDERS_ADMITTED;
			sum += taken[i][k] ? size : 0;
		}
	}
	assert_int_equal(memory_account_state(senders.config.bodies).used, SENDERS_BODY_COST * sum);
	assert_true(SENDERS_BODY_COST * sum < BODY_MEMORY);
	struct sender *other = senders_use(&senders, VIEW("other"), 0);
	assert_int_equal(senders_admit(other, LIMIT_REPORT_BYTES, 0), SENDERS_FULL);
	assert_int_equal(senders_admit(other, 50000, 0), SENDERS_ADMITTED);
	senders_release(other, 50000);
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		for (int k = 0; k < N_SIZES; k++)
			if (taken[i][k])
				senders_release(senders_find(&senders, view_from(name)),
						LIMIT_REPORT_BYTES >> k);
	}
	end(&senders);
}

static void a_node_does_not_make_room_while_its_body_is_read(void **state)
{
	(void)state;
	struct senders senders;
	begin(&senders, 1);
	struct sender *a = senders_use(&senders, VIEW("a"), 0);
	assert_int_equal(senders_admit(a, 7, 0), SENDERS_ADMITTED);
	assert_null(senders_use(&senders, VIEW("b"), 2 * SENDERS_SILENT_MS));
	senders_release(a, 7);
	assert_non_null(senders_use(&senders, VIEW("b"), 2 * SENDERS_SILENT_MS));
	end(&senders);
}

static struct shared_report *new_report(void)
{
	struct error err;
	struct shared_report *report = shared_report_new(100, &err);
	assert_non_null(report);
	return report;
}

static void forgetting_a_report_gives_up_the_reference(void **state)
{
	(void)state;
	struct senders senders;
	struct shared_report *first = new_report(), *second = new_report();
	begin(&senders, 2);
	senders_keep_report(senders_use(&senders, VIEW("a"), 0), first);
	struct sender *b = senders_use(&senders, VIEW("b"), 0);
	senders_keep_report(b, first);
	assert_int_equal(first->references, 3);
	senders_keep_report(b, second);
	assert_int_equal(first->references, 2);
	assert_int_equal(second->references, 2);
	b->body_digest.at = 7;
	senders_forget_report(b);
	assert_null(b->last);
	assert_int_equal(b->body_digest.at, 0);
	assert_int_equal(second->references, 1);
	senders_forget_reports(&senders);
	assert_int_equal(first->references, 1);
	end(&senders);
	shared_report_unref(first);
	shared_report_unref(second);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_node_has_one_record),
	cmocka_unit_test(only_a_silent_node_makes_room),
	cmocka_unit_test(a_node_may_change_as_often_as_the_rate_says),
	cmocka_unit_test(a_large_request_counts_like_many_small_ones),
	cmocka_unit_test(bodies_being_read_are_bounded_for_a_node),
	cmocka_unit_test(bodies_of_many_nodes_leave_room_for_a_small_one),
	cmocka_unit_test(a_node_does_not_make_room_while_its_body_is_read),
	cmocka_unit_test(forgetting_a_report_gives_up_the_reference),
};
TEST_MAIN(tests)
