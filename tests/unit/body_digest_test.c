/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"
#include "controller/body_digest.h"
#include "lib/failing_openssl.h"
#include "schema/report_doc.h"

#define BEFORE "{\"bootID\":\"b\",\"events\":[{\"sequence\":7}],\"instance\":1,\"node\":\"n\"," \
	"\"observedAt\":\"2026-01-02T03:04:05Z\",\"sequence\": "
#define AFTER " ,\"sources\":{\"x\":\"\\\"sequence\\\":5\"},\"version\":1}"

static bool match(struct view learned, int64_t sequence, struct view body, int64_t *ret)
{
	struct body_digest known;
	body_digest_learn(&known, learned, sequence);
	return body_digest_match(&known, body, ret);
}

static void only_the_number_may_differ(void **state)
{
	(void)state;
	static const struct {
		const char *body;
		bool matches;
		int64_t sequence;
	} rows[] = {
		{BEFORE "42" AFTER, true, 42},
		{BEFORE "43" AFTER, true, 43},
		{BEFORE "0" AFTER, true, 0},
		{BEFORE "1" AFTER, true, 1},
		{BEFORE "999999999999999999" AFTER, true, 999999999999999999},
		{BEFORE "1000000000000000000" AFTER, false, 0},
		{BEFORE "99999999999999999999" AFTER, false, 0},
		{BEFORE "" AFTER, false, 0},
		{BEFORE "042" AFTER, false, 0},
		{BEFORE "-42" AFTER, false, 0},
		{BEFORE "+42" AFTER, false, 0},
		{BEFORE "4 2" AFTER, false, 0},
		{BEFORE " 42" AFTER, false, 0},
		{BEFORE "42 " AFTER, false, 0},
		{BEFORE "42.0" AFTER, false, 0},
		{BEFORE "4e1" AFTER, false, 0},
		{BEFORE "\"42\"" AFTER, false, 0},
		{BEFORE "42" AFTER " ", false, 0},
		{" " BEFORE "42" AFTER, false, 0},
		{BEFORE "42", false, 0},
		{"", false, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t sequence = -5;
		bool matches =
			match(VIEW(BEFORE "42" AFTER), 42, view_from(rows[i].body), &sequence);
		if (matches != rows[i].matches)
			fail_msg("%s", rows[i].body);
		assert_int_equal(sequence, matches ? rows[i].sequence : -5);
	}
}

static void any_other_byte_that_differs_is_noticed(void **state)
{
	(void)state;
	static const struct view body = VIEW_INIT(BEFORE "42" AFTER);
	char copy[sizeof(BEFORE "42" AFTER)];
	for (size_t i = 0; i < body.len; i++) {
		if (i == sizeof(BEFORE) - 1 || i == sizeof(BEFORE))
			continue;
		for (int bit = 0; bit < 8; bit++) {
			int64_t sequence;
			memcpy(copy, body.ptr, body.len);
			copy[i] = (char)(copy[i] ^ (1 << bit));
			assert_false(match(body, 42, (struct view){copy, body.len}, &sequence));
		}
	}
}

static void the_number_of_the_report_is_taken_not_that_of_an_event(void **state)
{
	(void)state;
	int64_t sequence;
	assert_false(match(VIEW("{\"events\":[{\"sequence\":7}],\"sequence\":8}"), 8,
			   VIEW("{\"events\":[{\"sequence\":9}],\"sequence\":8}"), &sequence));
	assert_true(match(VIEW("{\"events\":[{\"sequence\":7}],\"sequence\":8}"), 8,
			  VIEW("{\"events\":[{\"sequence\":7}],\"sequence\":10}"), &sequence));
	assert_int_equal(sequence, 10);
}

static void what_cannot_be_recognised_is_not_learned(void **state)
{
	(void)state;
	static const char *const bodies[] = {
		"{\"sequ\\u0065nce\":42}", "{\"sequence\":42.0}", "{\"sequence\":4.2e1}",
		"{\"sequence\":\"42\"}",   "{\"other\":42}",      "[42]",
		"{\"sequence\":43}",       "",                    "{\"a\":{\"sequence\":42}}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct body_digest known = {.at = 1, .tail = 1};
		int64_t sequence;
		body_digest_learn(&known, view_from(bodies[i]), 42);
		assert_int_equal(known.at, 0);
		assert_false(body_digest_match(&known, view_from(bodies[i]), &sequence));
	}
}

#define REPORT(sequence) "{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":9," \
	"\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{},\"sequence\":" sequence "," \
	"\"devices\":[{\"uuid\":\"GPU-11ba558d-3437-2335-2fd8-a78c8502f87f\"}]}"

/* The third thing that the header rests on, held against the decoder itself. */
static void what_matches_is_accepted_by_the_decoder_with_that_number(void **state)
{
	(void)state;
	static const char *const bodies[] = {
		REPORT("0"), REPORT("7"), REPORT("1700000000000"), REPORT("999999999999999999"),
	};
	struct body_digest known;
	body_digest_learn(&known, VIEW(REPORT("42")), 42);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct view body = view_from(bodies[i]);
		struct arena CLEANUP(arena_deinit) arena;
		struct report report;
		struct error err = {0};
		int64_t sequence = -1;
		arena_init(&arena, LIMIT_MIB);
		assert_true(body_digest_match(&known, body, &sequence));
		if (report_doc_decode(body, &arena, &report, &err) != 0)
			fail_msg("%s", err.text);
		assert_int_equal(report.sequence, sequence);
	}
}

TEST(without_memory_nothing_is_learned_and_nothing_matches)
{
	const struct view body = VIEW(BEFORE "42" AFTER);
	struct body_digest known;
	int64_t sequence;
	failing_openssl_set(true);
	body_digest_learn(&known, body, 42);
	failing_openssl_set(false);
	assert_false(body_digest_match(&known, body, &sequence));
	body_digest_learn(&known, body, 42);
	assert_true(body_digest_match(&known, body, &sequence));
	failing_openssl_set(true);
	assert_false(body_digest_match(&known, body, &sequence));
	failing_openssl_set(false);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(only_the_number_may_differ),
	cmocka_unit_test(any_other_byte_that_differs_is_noticed),
	cmocka_unit_test(the_number_of_the_report_is_taken_not_that_of_an_event),
	cmocka_unit_test(what_cannot_be_recognised_is_not_learned),
	cmocka_unit_test(without_memory_nothing_is_learned_and_nothing_matches),
	cmocka_unit_test(what_matches_is_accepted_by_the_decoder_with_that_number),
};
TEST_MAIN_WITH(tests, failing_openssl_install_prepared, NULL)
