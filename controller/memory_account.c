/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a node holds above its free part is found from what it held before and after each step. The
 * steps of one node follow each other (controller/memory_share.h), so the sum comes out right,
 * whichever thread takes a step.
 *
 * What replaces something is charged beside it, until the other thread has given up what is replaced.
 * The rules look at what the node holds after that. For the time between, as much may be used
 * above the cap as one node may hold at most.
 */

#include "controller/memory_account.h"

#include <assert.h>
#include <stdlib.h>

#define SURPLUS_PART 2u /* of the account, for the surplus of all nodes */
#define NODE_PART 4u    /* of what is left of that, for one more step of one node */

struct memory_account {
	size_t cap;
	atomic_size_t used;
	atomic_llong surplus; /* of all nodes; below 0 for the moment in which a step is overtaken */
	atomic_uint_fast64_t refused;
	atomic_uint references;
};

struct memory_account *memory_account_new(size_t cap, struct error *err)
{
	struct memory_account *account = calloc(1, sizeof(*account));

	if (!account) {
		error_no_memory(err);
		return NULL;
	}
	account->cap = cap;
	atomic_init(&account->references, 1);
	return account;
}

struct memory_account *memory_account_ref(struct memory_account *account)
{
	atomic_fetch_add_explicit(&account->references, 1, memory_order_relaxed);
	return account;
}

void memory_account_unref(struct memory_account *account)
{
	if (!account ||
	    atomic_fetch_sub_explicit(&account->references, 1, memory_order_acq_rel) > 1)
		return;
	assert(atomic_load(&account->used) == 0 && atomic_load(&account->surplus) == 0);
	free(account);
}

struct memory_account_state memory_account_state(const struct memory_account *account)
{
	return (struct memory_account_state){
		.cap = account->cap,
		.used = atomic_load_explicit(&account->used, memory_order_relaxed),
		.refused = atomic_load_explicit(&account->refused, memory_order_relaxed),
	};
}

static size_t surplus_of(const struct memory_account *account, size_t held)
{
	const size_t free_part = account->cap / MEMORY_ACCOUNT_FREE_PART;

	return held > free_part ? held - free_part : 0;
}

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* What may be used above the cap by what replaces: the most that one node may hold. */
static size_t reserve_of(const struct memory_account *account)
{
	return account->cap / SURPLUS_PART / NODE_PART + account->cap / MEMORY_ACCOUNT_FREE_PART;
}

/* What a node wants. */
struct step {
	size_t held;     /* what it holds already, */
	size_t replaced; /* a part of that, to be given up */
	size_t size;     /* what it takes */
	size_t after;    /* what it holds at the end */
	bool grows;      /* that is more than what is replaced */
};

static bool has_room(const struct memory_account *account, const struct step *step, size_t used)
{
	const size_t above = reserve_of(account);
	const size_t most = account->cap + (step->grows ? least_of(step->replaced, above) : above);

	return used <= most && step->size <= most - used;
}

/* `others` is the surplus of the other nodes. */
static bool is_fair(const struct memory_account *account, const struct step *step, size_t others)
{
	const size_t cap = account->cap / SURPLUS_PART;
	const size_t of_node = surplus_of(account, step->after);

	if (of_node == 0)
		return true;
	if (!step->grows)
		return others + surplus_of(account, step->held + step->size) <=
		       cap + reserve_of(account);
	return others < cap && of_node <= (cap - others) / NODE_PART;
}

bool memory_account_replace(struct memory_account *account, size_t held, size_t replaced,
			    size_t size)
{
	const size_t given_up = least_of(replaced, held);
	const size_t after = held - given_up + size;
	const struct step step = {held, given_up, size, after, after > given_up};
	const size_t own = surplus_of(account, held);
	const size_t more = surplus_of(account, held + size) - own;
	const size_t used = atomic_fetch_add(&account->used, size);
	const long long others = atomic_fetch_add(&account->surplus, (long long)more) - (long long)own;

	if (has_room(account, &step, used) &&
	    is_fair(account, &step, others > 0 ? (size_t)others : 0))
		return true;
	atomic_fetch_add_explicit(&account->refused, 1, memory_order_relaxed);
	return false;
}

bool memory_account_take(struct memory_account *account, size_t held, size_t size)
{
	return memory_account_replace(account, held, 0, size);
}

void memory_account_give_back(struct memory_account *account, size_t held, size_t size)
{
	assert(held >= size);
	atomic_fetch_sub(&account->surplus,
			 (long long)(surplus_of(account, held) - surplus_of(account, held - size)));
	atomic_fetch_sub(&account->used, size);
}
