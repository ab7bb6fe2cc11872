/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/known_readers.h"

#define NOW 1000000u
#define HERE VIEW("192.0.2.1")
#define ELSEWHERE VIEW("192.0.2.2")

static struct known_readers readers;

static int setup(void **state)
{
	(void)state;
	readers = (struct known_readers){0};
	return 0;
}

static const unsigned char *token(unsigned number)
{
	static unsigned char digest[TLS_DIGEST_SIZE];
	memset(digest, 0, sizeof(digest));
	memcpy(digest, &number, sizeof(number));
	return digest;
}

static bool is_known(unsigned number, struct view peer, uint64_t now_ms)
{
	bool may_begin;
	return known_readers_draw(&readers, token(number), peer, now_ms, &may_begin);
}

/* How many reviews of it may begin at once. */
static unsigned draw_all(unsigned number, struct view peer, uint64_t now_ms)
{
	bool may_begin = true;
	unsigned n = 0;
	while (known_readers_draw(&readers, token(number), peer, now_ms, &may_begin) && may_begin)
		n++;
	return n;
}

static void nobody_is_known_at_first(void **state)
{
	(void)state;
	assert_false(is_known(1, HERE, NOW));
	assert_false(is_known(0, (struct view){0}, NOW));
}

static void a_reader_is_known_by_token_and_by_address(void **state)
{
	(void)state;
	known_readers_add(&readers, token(1), HERE, NOW);
	assert_true(is_known(1, ELSEWHERE, NOW));
	assert_true(is_known(2, HERE, NOW));
	assert_false(is_known(2, ELSEWHERE, NOW));
}

static void a_reader_is_forgotten_after_an_hour(void **state)
{
	(void)state;
	known_readers_add(&readers, token(1), HERE, NOW);
	assert_true(is_known(1, HERE, NOW + KNOWN_READERS_FOR_MS - 1));
	assert_false(is_known(1, HERE, NOW + KNOWN_READERS_FOR_MS));
	known_readers_add(&readers, token(1), HERE, NOW + KNOWN_READERS_FOR_MS);
	assert_true(is_known(1, HERE, NOW + KNOWN_READERS_FOR_MS));
}

static void who_is_no_longer_allowed_is_a_stranger(void **state)
{
	(void)state;
	known_readers_add(&readers, token(1), HERE, NOW);
	known_readers_remove(&readers, token(2));
	assert_true(is_known(1, HERE, NOW));
	known_readers_remove(&readers, token(1));
	assert_false(is_known(1, HERE, NOW));
}

static void tokens_from_an_address_do_not_use_up_the_credit_of_the_known_one(void **state)
{
	(void)state;
	const unsigned brim = 4 * KNOWN_READERS_REVIEWS_PER_SECOND;
	known_readers_add(&readers, token(1), HERE, NOW);
	assert_int_equal(draw_all(2, HERE, NOW), brim);
	assert_int_equal(draw_all(3, HERE, NOW), 0);
	assert_int_equal(draw_all(1, HERE, NOW), brim);
	assert_int_equal(draw_all(1, HERE, NOW + 1000), KNOWN_READERS_REVIEWS_PER_SECOND);
	known_readers_add(&readers, token(1), HERE, NOW + 1000);
	assert_int_equal(draw_all(1, HERE, NOW + 1000), 0);
}

static void who_was_allowed_longest_ago_makes_room(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KNOWN_READERS_MAX; i++)
		known_readers_add(&readers, token(i), HERE, NOW + i);
	known_readers_add(&readers, token(0), HERE, NOW + 100);
	known_readers_add(&readers, token(100), HERE, NOW + 101);
	assert_true(is_known(0, ELSEWHERE, NOW + 102));
	assert_false(is_known(1, ELSEWHERE, NOW + 102));
	assert_true(is_known(2, ELSEWHERE, NOW + 102));
	assert_true(is_known(100, ELSEWHERE, NOW + 102));
}

static void an_address_that_does_not_fit_is_not_kept(void **state)
{
	(void)state;
	static const char text[] = "1234567890123456789012345678901234567890123456789012345678901234567890";
	known_readers_add(&readers, token(1), view_from(text), NOW);
	assert_true(is_known(1, ELSEWHERE, NOW));
	assert_false(is_known(2, view_from(text), NOW));
	assert_false(is_known(2, (struct view){0}, NOW));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(nobody_is_known_at_first, setup),
	cmocka_unit_test_setup(a_reader_is_known_by_token_and_by_address, setup),
	cmocka_unit_test_setup(a_reader_is_forgotten_after_an_hour, setup),
	cmocka_unit_test_setup(who_is_no_longer_allowed_is_a_stranger, setup),
	cmocka_unit_test_setup(tokens_from_an_address_do_not_use_up_the_credit_of_the_known_one,
			       setup),
	cmocka_unit_test_setup(who_was_allowed_longest_ago_makes_room, setup),
	cmocka_unit_test_setup(an_address_that_does_not_fit_is_not_kept, setup),
};
TEST_MAIN(tests)
