/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/reflector_verdict.h"

#define GO_ON REFLECTOR_VERDICT_GO_ON
#define BACK_OFF REFLECTOR_VERDICT_BACK_OFF
#define LIST_AGAIN REFLECTOR_VERDICT_LIST_AGAIN
#define ABSENT REFLECTOR_VERDICT_ABSENT
#define LIST LIST_QUERY_LIST
#define PAGE LIST_QUERY_PAGE
#define STREAM LIST_QUERY_STREAM
#define WATCH LIST_QUERY_WATCH

static const struct resource pods = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL};

/* What came of a request of this kind, of a reflector that begins with a list or with a stream. */
struct row {
	bool begins_with_stream;
	enum list_query_kind kind;
	enum error_kind why;
	struct reflector_verdict expected;
};

static struct reflector_query query_of(const struct row *row)
{
	const struct reflector_config config = {
		.resource = &pods,
		.initial = row->begins_with_stream ? REFLECTOR_STREAM : REFLECTOR_LIST,
	};
	struct reflector_query query;
	reflector_query_init(&query, &config);
	query.kind = row->kind;
	return query;
}

static void assert_same(struct reflector_verdict is, struct reflector_verdict expected, size_t i)
{
	if (is.next != expected.next || is.kind != expected.kind ||
	    is.wants_newest != expected.wants_newest || is.wants_whole != expected.wants_whole)
		fail_msg("row %zu: next %d, kind %d, newest %d, whole %d", i, (int)is.next,
			 (int)is.kind, is.wants_newest, is.wants_whole);
}

static void each_refusal_leads_to_its_next_request(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{false, WATCH, ERROR_EXPIRED, {LIST_AGAIN, LIST}},
		{true, WATCH, ERROR_EXPIRED, {LIST_AGAIN, STREAM}},
		{false, WATCH, ERROR_NOT_FOUND, {BACK_OFF, LIST}},
		{false, WATCH, ERROR_REJECTED, {BACK_OFF, LIST, .wants_newest = true}},
		{false, WATCH, ERROR_DENIED, {BACK_OFF, WATCH}},
		{false, WATCH, ERROR_THROTTLED, {BACK_OFF, WATCH}},
		{false, WATCH, ERROR_RETRY, {BACK_OFF, WATCH}},
		{false, LIST, ERROR_EXPIRED, {GO_ON, LIST, .wants_newest = true}},
		{true, STREAM, ERROR_EXPIRED, {GO_ON, STREAM, .wants_newest = true}},
		{false, PAGE, ERROR_EXPIRED, {GO_ON, LIST, true, .wants_whole = true}},
		{false, LIST, ERROR_NOT_FOUND, {ABSENT, LIST}},
		{true, STREAM, ERROR_NOT_FOUND, {ABSENT, STREAM}},
		{true, LIST, ERROR_NOT_FOUND, {ABSENT, STREAM}},
		{true, STREAM, ERROR_REJECTED, {GO_ON, LIST}},
		{false, LIST, ERROR_REJECTED, {BACK_OFF, LIST}},
		{false, PAGE, ERROR_REJECTED, {BACK_OFF, LIST}},
		{false, PAGE, ERROR_DENIED, {BACK_OFF, PAGE}},
		{true, STREAM, ERROR_RETRY, {BACK_OFF, STREAM}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct reflector_query query = query_of(&rows[i]);
		assert_same(reflector_verdict_refused(&query, VIEW("7"), rows[i].why),
			    rows[i].expected, i);
		reflector_query_deinit(&query);
	}
}

static void the_newest_version_that_cannot_be_had_is_backed_off_from(void **state)
{
	(void)state;
	const struct row list = {false, LIST, ERROR_EXPIRED, {BACK_OFF, LIST, .wants_newest = true}};
	const struct row page = {
		false, PAGE, ERROR_EXPIRED, {BACK_OFF, LIST, true, .wants_whole = true}};
	struct reflector_query query = query_of(&list);
	const struct view none = {0};
	assert_same(reflector_verdict_refused(&query, none, list.why), list.expected, 0);
	query.is_newest = true;
	assert_same(reflector_verdict_refused(&query, VIEW("7"), list.why), list.expected, 1);
	query = query_of(&page);
	query.is_whole = true;
	assert_same(reflector_verdict_refused(&query, VIEW("7"), page.why), page.expected, 2);
}

static void each_broken_body_leads_to_its_next_request(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{false, WATCH, ERROR_EXPIRED, {LIST_AGAIN, LIST}},
		{false, WATCH, ERROR_THROTTLED, {BACK_OFF, WATCH}},
		{false, WATCH, ERROR_NO_MEMORY, {BACK_OFF, LIST}},
		{true, WATCH, ERROR_REJECTED, {BACK_OFF, STREAM}},
		{true, STREAM, ERROR_NONE, {BACK_OFF, STREAM}},
		{true, STREAM, ERROR_REJECTED, {BACK_OFF, LIST}},
		{true, STREAM, ERROR_EXPIRED, {BACK_OFF, STREAM, .wants_newest = true}},
		{false, LIST, ERROR_RETRY, {BACK_OFF, LIST}},
		{false, PAGE, ERROR_EXPIRED, {BACK_OFF, LIST}},
		{true, LIST, ERROR_REJECTED, {BACK_OFF, LIST}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct reflector_query query = query_of(&rows[i]);
		assert_same(reflector_verdict_broken(&query, rows[i].why), rows[i].expected, i);
		reflector_query_deinit(&query);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_refusal_leads_to_its_next_request),
	cmocka_unit_test(the_newest_version_that_cannot_be_had_is_backed_off_from),
	cmocka_unit_test(each_broken_body_leads_to_its_next_request),
};

TEST_MAIN(tests)
