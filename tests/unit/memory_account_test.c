/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/memory_account.h"

#define PART ((size_t)1024)
#define CAP (MEMORY_ACCOUNT_FREE_PART * PART)

static struct memory_account *make(void)
{
	struct error err;
	struct memory_account *account = memory_account_new(CAP, &err);
	assert_non_null(account);
	return account;
}

/* Takes it, or nothing. */
static bool take(struct memory_account *account, size_t held, size_t size)
{
	if (memory_account_take(account, held, size))
		return true;
	memory_account_give_back(account, held + size, size);
	return false;
}

static size_t used(const struct memory_account *account)
{
	return memory_account_state(account).used;
}

static void what_is_taken_is_used_until_it_is_given_back(void **state)
{
	(void)state;
	struct memory_account *account = make();
	assert_int_equal(memory_account_state(account).cap, CAP);
	assert_true(take(account, 0, 3 * PART));
	assert_true(take(account, 3 * PART, 7));
	assert_int_equal(used(account), 3 * PART + 7);
	memory_account_give_back(account, 3 * PART + 7, 3 * PART);
	assert_int_equal(used(account), 7);
	memory_account_give_back(account, 7, 7);
	assert_int_equal(used(account), 0);
	assert_int_equal(memory_account_state(account).refused, 0);
	memory_account_unref(account);
}

static void one_node_may_have_a_quarter_of_half_and_its_free_part(void **state)
{
	(void)state;
	struct memory_account *account = make();
	const size_t most = CAP / 8 + PART;
	assert_false(take(account, 0, most + 1));
	assert_int_equal(memory_account_state(account).refused, 1);
	assert_int_equal(used(account), 0);
	assert_true(take(account, 0, most));
	assert_false(take(account, most, 1));
	assert_int_equal(memory_account_state(account).refused, 2);
	memory_account_give_back(account, most, most);
	memory_account_unref(account);
}

/* However many take as much as they can, those that ask for little find half of it free. */
static void nodes_that_ask_for_much_leave_half_to_the_others(void **state)
{
	(void)state;
	enum { N_GREEDY = 250, N_MODEST = 256 };
	struct memory_account *account = make();
	size_t held[N_GREEDY], sum = 0;
	for (unsigned i = 0; i < N_GREEDY; i++) {
		held[i] = PART;
		assert_true(take(account, 0, PART));
		for (size_t size = CAP; size > 0; size /= 2)
			if (take(account, held[i], size))
				held[i] += size;
		sum += held[i];
	}
	assert_int_equal(used(account), sum);
	assert_in_range(sum - N_GREEDY * PART, CAP / 2 - 8 * PART, CAP / 2);
	assert_false(take(account, 0, 2 * PART));
	for (unsigned i = 0; i < N_MODEST - N_GREEDY; i++)
		assert_true(take(account, 0, PART));
	for (unsigned i = 0; i < N_GREEDY; i++)
		memory_account_give_back(account, held[i], held[i]);
	for (unsigned i = 0; i < N_MODEST - N_GREEDY; i++)
		memory_account_give_back(account, PART, PART);
	assert_int_equal(used(account), 0);
	memory_account_unref(account);
}

/* Replaces what a node holds by `size` bytes, or keeps it. */
static bool replace(struct memory_account *account, size_t *held, size_t size)
{
	const bool is_taken = memory_account_replace(account, *held, *held, size);
	memory_account_give_back(account, *held + size, is_taken ? *held : size);
	if (is_taken)
		*held = size;
	return is_taken;
}

static void a_node_may_replace_what_it_was_allowed_to_hold(void **state)
{
	(void)state;
	struct memory_account *account = make();
	const size_t most = CAP / 8 + PART;
	size_t held = most;
	assert_true(take(account, 0, most));
	assert_true(replace(account, &held, most));
	assert_false(replace(account, &held, most + 1));
	assert_true(replace(account, &held, PART));
	assert_true(replace(account, &held, most));
	assert_int_equal(used(account), most);
	memory_account_give_back(account, held, held);
	memory_account_unref(account);
}

/* What is replaced counts once, until it is given back. */
static void a_node_replaces_once_until_the_old_is_given_back(void **state)
{
	(void)state;
	struct memory_account *account = make();
	const size_t size = CAP / 16;
	assert_true(take(account, 0, size));
	assert_true(memory_account_replace(account, size, size, size));
	assert_true(memory_account_replace(account, 2 * size, size, size));
	assert_false(memory_account_replace(account, 3 * size, size, size));
	memory_account_give_back(account, 4 * size, 4 * size);
	memory_account_unref(account);
}

/* Nodes come until there is room for none: large ones first, and each size half of the one before. */
static size_t fill(struct memory_account *account, size_t size, size_t held[])
{
	size_t n = 0;
	for (; size > PART; size /= 2)
		while (take(account, 0, size))
			held[n++] = size;
	while (take(account, 0, PART))
		held[n++] = PART;
	return n;
}

static void in_a_full_account_too_a_node_may_replace_what_it_was_allowed_to_hold(void **state)
{
	(void)state;
	static const size_t sizes[] = {CAP / 8 + PART, CAP / 16, 3 * PART, PART};
	static size_t held[MEMORY_ACCOUNT_FREE_PART];
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct memory_account *account = make();
		const size_t n = fill(account, sizes[i], held);
		const size_t before = used(account);
		for (size_t k = 0; k < n; k++)
			assert_true(replace(account, &held[k], held[k]));
		assert_int_equal(used(account), before);
		assert_false(replace(account, &held[n - 1], 3 * PART));
		assert_true(replace(account, &held[0], held[0] - 1));
		for (size_t k = 0; k < n; k++)
			memory_account_give_back(account, held[k], held[k]);
		memory_account_unref(account);
	}
}

static void above_the_cap_there_is_room_for_replacing_alone(void **state)
{
	(void)state;
	struct memory_account *account = make();
	unsigned n = 0;
	while (take(account, 0, PART))
		n++;
	assert_int_equal(n, MEMORY_ACCOUNT_FREE_PART);
	assert_false(take(account, 0, 1));
	/* For replacing, there is an eighth and a free part above it. */
	unsigned more = 0;
	while (memory_account_replace(account, PART, PART, PART))
		more++;
	memory_account_give_back(account, 2 * PART, PART);
	assert_int_equal(more, MEMORY_ACCOUNT_FREE_PART / 8 + 1);
	assert_int_equal(used(account), CAP + CAP / 8 + PART);
	for (; more > 0; more--)
		memory_account_give_back(account, 2 * PART, PART);
	assert_false(take(account, 0, SIZE_MAX / 4));
	for (; n > 0; n--)
		memory_account_give_back(account, PART, PART);
	memory_account_unref(account);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_taken_is_used_until_it_is_given_back),
	cmocka_unit_test(one_node_may_have_a_quarter_of_half_and_its_free_part),
	cmocka_unit_test(nodes_that_ask_for_much_leave_half_to_the_others),
	cmocka_unit_test(a_node_may_replace_what_it_was_allowed_to_hold),
	cmocka_unit_test(a_node_replaces_once_until_the_old_is_given_back),
	cmocka_unit_test(in_a_full_account_too_a_node_may_replace_what_it_was_allowed_to_hold),
	cmocka_unit_test(above_the_cap_there_is_room_for_replacing_alone),
};
TEST_MAIN(tests)
