/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/exposition_budget.h"
#include "controller/scrapes.h"
#include "lib/failing_malloc.h"
#include "lib/fake_server.inc"

#define LINE "things{name=\"a\"} 1"

static const struct metric_row rows[] = {
	{"own", METRIC_COUNTER, "", "Of the process.", NULL},
	{"incomplete", METRIC_GAUGE, "", "Answers without devices.", NULL},
};

static struct metric_registry *registry;
static struct scrapes *scrapes;
static unsigned n_asked;
static bool refuses;
static size_t appended_cap; /* of the buffer that append() was called with */
static struct server_request requests[4];

static bool ask(void *owner)
{
	(void)owner;
	n_asked++;
	return !refuses;
}

static void collect(void *owner)
{
	const struct scrapes_counts counts = scrapes_counts(scrapes);
	uint64_t n = 0;

	(void)owner;
	for (size_t i = 0; i < SCRAPES_N_LACKS; i++)
		n += counts.incomplete[i];
	metric_set(registry, 1, 0, (double)n);
}

static void append(void *owner, struct sbuf *own)
{
	(void)owner;
	appended_cap = own->cap;
}

static int setup(void **state)
{
	struct error err;

	(void)state;
	n_asked = 0;
	refuses = false;
	fake_now_ms = 1000000;
	memset(requests, 0, sizeof(requests));
	assert_int_equal(metric_registry_new(rows, 2, &registry, &err), 0);
	const struct scrapes_config config = {
		.metrics = registry, .collect = collect, .append = append, .ask = ask};
	return scrapes_new(NULL, &config, &scrapes, &err);
}

static int teardown(void **state)
{
	(void)state;
	scrapes_free(scrapes);
	metric_registry_free(registry);
	assert_int_equal(exposition_budget_used(), 0);
	return 0;
}

static struct exposition_text *make_text(void)
{
	struct exposition_text *text;
	struct error err;

	assert_int_equal(exposition_text_new(1, &text, &err), 0);
	exposition_text_add(text, 0, VIEW(LINE), true);
	assert_int_equal(exposition_text_seal(text, &err), 0);
	return text;
}

/* It has both parts, or its own alone. */
static void assert_answered(const struct server_request *request, bool is_complete)
{
	assert_int_equal(request->status, 200);
	assert_string_equal(request->content_type, METRIC_CONTENT_TYPE);
	assert_int_equal(strncmp(request->body, LINE "\n", sizeof(LINE)) == 0, is_complete);
	assert_non_null(strstr(request->body, "own_total 0\n"));
	assert_string_equal(request->body + request->body_len - 6, "# EOF\n");
}

static void assert_refused(const struct server_request *request)
{
	assert_int_equal(request->status, 503);
	assert_int_equal(request->retry_after_s, SCRAPES_RETRY_S);
}

static void assert_incomplete(enum scrapes_lack lack, uint64_t n)
{
	const struct scrapes_counts counts = scrapes_counts(scrapes);

	for (size_t i = 0; i < SCRAPES_N_LACKS; i++)
		assert_int_equal(counts.incomplete[i], i == lack ? n : 0);
}

static void all_who_ask_meanwhile_share_one_page(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		scrapes_answer(scrapes, &requests[i]);
	assert_int_equal(n_asked, 1);
	assert_int_equal(requests[0].status, 0);
	scrapes_take(scrapes, make_text(), ERROR_NONE);
	for (int i = 0; i < 3; i++) {
		assert_answered(&requests[i], true);
		assert_ptr_equal(requests[i].shared, requests[0].shared);
	}
	assert_incomplete(SCRAPES_N_LACKS, 0);
}

static void a_page_serves_for_a_second(void **state)
{
	(void)state;
	scrapes_answer(scrapes, &requests[0]);
	scrapes_take(scrapes, make_text(), ERROR_NONE);
	fake_pass(SCRAPES_KEEP_MS - 1);
	scrapes_answer(scrapes, &requests[1]);
	assert_answered(&requests[1], true);
	assert_ptr_equal(requests[1].shared, requests[0].shared);
	assert_int_equal(n_asked, 1);
	assert_true(exposition_budget_used() > 0);
	fake_pass(1);
	assert_int_equal(exposition_budget_used(), 0);
	scrapes_answer(scrapes, &requests[2]);
	assert_int_equal(n_asked, 2);
	scrapes_take(scrapes, make_text(), ERROR_NONE);
	assert_answered(&requests[2], true);
}

static void a_loop_that_hangs_leaves_out_the_devices_alone(void **state)
{
	(void)state;
	scrapes_answer(scrapes, &requests[0]);
	fake_pass(SCRAPES_TIMEOUT_MS - 1);
	assert_int_equal(requests[0].status, 0);
	scrapes_answer(scrapes, &requests[1]);
	fake_pass(1);
	assert_answered(&requests[0], false);
	assert_answered(&requests[1], false);
	assert_incomplete(SCRAPES_NO_ANSWER, 2);
	/* What comes too late is for those who ask now. */
	scrapes_answer(scrapes, &requests[2]);
	scrapes_take(scrapes, make_text(), ERROR_NONE);
	assert_answered(&requests[2], true);
}

static void a_text_that_could_not_be_made_is_said_at_once_and_why(void **state)
{
	(void)state;
	scrapes_answer(scrapes, &requests[0]);
	scrapes_take(scrapes, NULL, ERROR_LIMIT);
	assert_answered(&requests[0], false);
	assert_incomplete(SCRAPES_TOO_LARGE, 1);
	/* It says so itself. */
	assert_non_null(strstr(requests[0].body, "\nincomplete 1\n"));
	scrapes_answer(scrapes, &requests[1]);
	scrapes_take(scrapes, NULL, ERROR_NO_MEMORY);
	assert_answered(&requests[1], false);
	assert_int_equal(scrapes_counts(scrapes).incomplete[SCRAPES_NO_MEMORY], 1);
	refuses = true;
	scrapes_answer(scrapes, &requests[2]);
	assert_answered(&requests[2], false);
	assert_int_equal(scrapes_counts(scrapes).incomplete[SCRAPES_QUEUE_FULL], 1);
}

static void while_others_hold_all_the_room_who_asks_is_sent_away(void **state)
{
	(void)state;
	scrapes_answer(scrapes, &requests[0]);
	scrapes_take(scrapes, make_text(), ERROR_NONE);
	fake_pass(SCRAPES_KEEP_MS);
	/* One byte less than the last page had. */
	const size_t held = LIMIT_EXPOSITION_BYTES + 1 - requests[0].body_len;
	assert_true(exposition_budget_take(held));
	scrapes_answer(scrapes, &requests[1]);
	assert_refused(&requests[1]);
	assert_int_equal(n_asked, 1);
	assert_int_equal(scrapes_counts(scrapes).refused, 1);
	assert_incomplete(SCRAPES_N_LACKS, 0);
	exposition_budget_give(held);
	scrapes_answer(scrapes, &requests[2]);
	scrapes_take(scrapes, make_text(), ERROR_NONE);
	assert_answered(&requests[2], true);
}

static void own_metrics_count_as_well(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		scrapes_answer(scrapes, &requests[i]);
	struct exposition_text *text = make_text();
	const size_t held = LIMIT_EXPOSITION_BYTES - exposition_budget_used();
	assert_true(exposition_budget_take(held));
	scrapes_take(scrapes, text, ERROR_NONE);
	exposition_budget_give(held);
	for (int i = 0; i < 2; i++)
		assert_refused(&requests[i]);
	assert_int_equal(scrapes_counts(scrapes).refused, 2);
}

static void own_metrics_need_no_more_than_the_room_even_for_a_moment(void **state)
{
	(void)state;
	exposition_budget_set_cap(8);
	scrapes_answer(scrapes, &requests[0]);
	fake_pass(SCRAPES_TIMEOUT_MS);
	exposition_budget_set_cap(LIMIT_EXPOSITION_BYTES);
	assert_refused(&requests[0]);
	assert_int_equal(appended_cap, 8);
}

static void without_memory_nobody_waits_for_ever(void **state)
{
	(void)state;
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		memset(requests, 0, sizeof(requests));
		failing_malloc_at(k);
		scrapes_answer(scrapes, &requests[0]);
		failed = failing_malloc_off();
		struct exposition_text *text = make_text();
		failing_malloc_at(k);
		scrapes_take(scrapes, text, ERROR_NONE);
		failed |= failing_malloc_off();
		assert_true(requests[0].status == 200 || requests[0].status == 503);
		fake_pass(SCRAPES_KEEP_MS);
		assert_int_equal(exposition_budget_used(), 0);
	}
	assert_answered(&requests[0], true);
}

static void who_waits_when_all_ends_is_forgotten(void **state)
{
	(void)state;
	scrapes_answer(scrapes, &requests[0]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(all_who_ask_meanwhile_share_one_page, setup, teardown),
	cmocka_unit_test_setup_teardown(a_page_serves_for_a_second, setup, teardown),
	cmocka_unit_test_setup_teardown(a_loop_that_hangs_leaves_out_the_devices_alone, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_text_that_could_not_be_made_is_said_at_once_and_why,
					setup, teardown),
	cmocka_unit_test_setup_teardown(while_others_hold_all_the_room_who_asks_is_sent_away,
					setup, teardown),
	cmocka_unit_test_setup_teardown(own_metrics_count_as_well, setup, teardown),
	cmocka_unit_test_setup_teardown(own_metrics_need_no_more_than_the_room_even_for_a_moment,
					setup, teardown),
	cmocka_unit_test_setup_teardown(without_memory_nobody_waits_for_ever, setup, teardown),
	cmocka_unit_test_setup_teardown(who_waits_when_all_ends_is_forgotten, setup, teardown),
};
TEST_MAIN(tests)
