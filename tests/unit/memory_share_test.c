/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <pthread.h>
#include <sched.h>

#include "controller/memory_share.h"

#define CAP ((size_t)1 << 20)
#define N_CHARGES 20000u

static struct memory_account *account;

static int setup(void **state)
{
	(void)state;
	struct error err;
	account = memory_account_new(CAP, &err);
	return account ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	memory_account_unref(account);
	return 0;
}

static struct memory_share *make(void)
{
	struct error err;
	struct memory_share *share = memory_share_new(account, &err);
	assert_non_null(share);
	return share;
}

static void a_charge_is_held_until_it_is_released(void **state)
{
	(void)state;
	struct memory_share *share = make();
	assert_true(memory_share_charge(share, 1000));
	assert_true(memory_share_charge(share, 5000));
	assert_int_equal(memory_share_held(share), 6000);
	assert_int_equal(memory_account_state(account).used, 6000);
	memory_share_release(share, 1000);
	assert_int_equal(memory_share_held(share), 5000);
	memory_share_release(share, 5000);
	assert_int_equal(memory_account_state(account).used, 0);
	memory_share_unref(share);
	memory_share_unref(NULL);
}

static void what_is_refused_is_not_charged(void **state)
{
	(void)state;
	struct memory_share *share = make();
	assert_true(memory_share_charge(share, 1000));
	assert_false(memory_share_charge(share, CAP));
	assert_int_equal(memory_share_held(share), 1000);
	assert_int_equal(memory_account_state(account).used, 1000);
	assert_int_equal(memory_account_state(account).refused, 1);
	memory_share_release(share, 1000);
	memory_share_unref(share);
}

static void what_a_node_holds_already_counts_against_it(void **state)
{
	(void)state;
	struct memory_share *one = make(), *other = make();
	assert_true(memory_share_charge(one, CAP / 8));
	assert_false(memory_share_charge(one, CAP / 16));
	assert_true(memory_share_charge(other, CAP / 16));
	memory_share_release(one, CAP / 8);
	memory_share_release(other, CAP / 16);
	memory_share_unref(one);
	memory_share_unref(other);
}

static void what_is_replaced_does_not_count_against_the_node(void **state)
{
	(void)state;
	struct memory_share *share = make();
	assert_true(memory_share_charge(share, CAP / 8));
	assert_false(memory_share_charge(share, CAP / 8));
	assert_true(memory_share_replace(share, CAP / 8, CAP / 8));
	assert_int_equal(memory_share_held(share), CAP / 4);
	memory_share_release(share, CAP / 8);
	memory_share_release(share, CAP / 8);
	/* What was replaced may be gone before. */
	assert_true(memory_share_replace(share, CAP / 8, CAP / 16));
	memory_share_release(share, CAP / 16);
	memory_share_unref(share);
}

static void a_charge_outlives_the_owner_of_the_share(void **state)
{
	(void)state;
	struct memory_share *share = make();
	assert_true(memory_share_charge(share, 1000));
	memory_share_unref(share);
	assert_int_equal(memory_account_state(account).used, 1000);
	memory_share_release(share, 1000);
	assert_int_equal(memory_account_state(account).used, 0);
}

static void lack_of_memory_is_told(void **state)
{
	(void)state;
	struct error err;
	failing_malloc_at(1);
	struct memory_share *share = memory_share_new(account, &err);
	assert_true(failing_malloc_off());
	assert_null(share);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
}

/* Charges of different sizes, released in turn by another thread while further ones come. */
struct race {
	struct memory_share *share;
	atomic_uint charged; /* how many have been; the sizes follow from their numbers */
};

static size_t size_of(unsigned number)
{
	return 1 + number * 7919 % 4096;
}

static void *release_all(void *owner)
{
	struct race *race = owner;
	for (unsigned i = 0; i < N_CHARGES; i++) {
		while (atomic_load(&race->charged) <= i)
			sched_yield();
		memory_share_release(race->share, size_of(i));
	}
	return NULL;
}

static void two_threads_leave_the_account_as_it_was(void **state)
{
	(void)state;
	struct race race = {.share = make()};
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, release_all, &race), 0);
	for (unsigned i = 0; i < N_CHARGES; i++) {
		while (!memory_share_charge(race.share, size_of(i)))
			sched_yield();
		atomic_fetch_add(&race.charged, 1);
	}
	pthread_join(thread, NULL);
	assert_int_equal(memory_share_held(race.share), 0);
	assert_int_equal(memory_account_state(account).used, 0);
	/* Nor has it lost of what is for surplus: the account asserts that when it is freed. */
	memory_share_unref(race.share);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_charge_is_held_until_it_is_released, setup, teardown),
	cmocka_unit_test_setup_teardown(what_is_refused_is_not_charged, setup, teardown),
	cmocka_unit_test_setup_teardown(what_a_node_holds_already_counts_against_it, setup, teardown),
	cmocka_unit_test_setup_teardown(what_is_replaced_does_not_count_against_the_node, setup, teardown),
	cmocka_unit_test_setup_teardown(a_charge_outlives_the_owner_of_the_share, setup, teardown),
	cmocka_unit_test_setup_teardown(lack_of_memory_is_told, setup, teardown),
	cmocka_unit_test_setup_teardown(two_threads_leave_the_account_as_it_was, setup, teardown),
};
TEST_MAIN(tests)
