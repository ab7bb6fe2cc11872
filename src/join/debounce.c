/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A hash table with open addressing, never more than half full: a report can have many thousand
 * facts, and each is looked up once a join. Of a key alone it must be known whose room it takes: its
 * last bits tell whether it is a user, and of which device.
 */

#include "join/debounce.h"

#include <assert.h>

#include "base/limits.h"

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define USER UINT64_C(1)
#define OF_DEVICE UINT64_C(0xffffffff) /* USER and a hash of the device */

_Static_assert(LIMIT_REPORT_DEVICES <= DEBOUNCE_MAX_USERS, "each device has room for a user");

/* The room that users of a device take. */
struct share {
	uint64_t of;
	size_t n;
};

struct slot {
	struct recall_debounced doubt;
	bool is_used;
	bool is_seen;
};

struct debounce {
	const struct join_input *input;
	bool is_silent; /* the node is: nothing new starts */
	bool is_hearing_awaited;
	bool is_short;           /* a user found no room */
	int64_t again_in_ms;     /* -1: nothing waits for time alone */
	struct slot *slots;      /* n_max of them are used at most */
	struct recall_debounced *seen; /* n_max */
	struct share *shares;    /* n_max of them are used at most, and one more is there */
	size_t n_slots, n_max, n, n_seen, n_users, n_shares, max_share;
};

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/); the length parts the texts. */
static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t add_text(uint64_t hash, struct view text)
{
	hash = add_bytes(hash, &text.len, sizeof(text.len));
	return add_bytes(hash, text.ptr, text.len);
}

static uint64_t key_of(const struct debounce_subject *fact)
{
	unsigned char kind = (unsigned char)fact->kind;
	uint64_t hash = add_bytes(FNV_BASIS, &kind, 1);
	hash = add_text(hash, fact->device);
	hash = add_text(hash, fact->pod_uid);
	hash = add_text(hash, fact->subject);
	if (fact->kind != DEBOUNCE_USER)
		return hash & ~USER;
	return (hash & ~OF_DEVICE) | (add_text(FNV_BASIS, fact->device) & OF_DEVICE) | USER;
}

/* The slot of the key, or the free one where it belongs. */
static struct slot *find(struct debounce *book, uint64_t key)
{
	size_t i = key % book->n_slots;
	assert(book->n < book->n_slots); /* a free one ends the walk */
	while (book->slots[i].is_used && book->slots[i].doubt.key != key)
		i = (i + 1) % book->n_slots;
	return &book->slots[i];
}

/* That of the key's device, or the free one. */
static struct share *find_share(const struct debounce *book, uint64_t key)
{
	size_t i = 0;
	while (i < book->n_shares && book->shares[i].of != (key & OF_DEVICE))
		i++;
	return &book->shares[i];
}

static bool take_users_room(struct debounce *book, uint64_t key)
{
	struct share *share = find_share(book, key);
	bool is_new = share == &book->shares[book->n_shares];

	assert((key & USER) && book->n_shares <= book->n_users && book->n_users <= book->n);
	assert(book->n < book->n_max);
	if (book->n_users == DEBOUNCE_MAX_USERS || (!is_new && share->n == book->max_share))
		return false;
	if (is_new)
		book->shares[book->n_shares++] = (struct share){.of = key & OF_DEVICE};
	share->n++;
	book->n_users++;
	return true;
}

/* NULL: there is no room. */
static struct slot *add(struct debounce *book, struct recall_debounced doubt)
{
	struct slot *slot = find(book, doubt.key);
	if (slot->is_used)
		return slot;
	if (book->n == book->n_max || ((doubt.key & USER) && !take_users_room(book, doubt.key)))
		return NULL;
	book->n++;
	assert(book->n <= book->n_max);
	*slot = (struct slot){.doubt = doubt, .is_used = true};
	return slot;
}

int debounce_open(const struct join_input *input, size_t n_facts, struct arena *arena,
	       struct debounce **ret_book, struct error *err)
{
	struct debounce *book = arena_alloc(arena, 1, sizeof(*book));
	size_t n_max = input->n_doubts + n_facts;
	size_t n_devices = input->report ? input->report->devices.count : 0;

	if (!book)
		return error_no_memory(err);
	*book = (struct debounce){
		.input = input,
		.is_silent = input->report &&
			     input->report_age_ms >= input->limits->report_stale_ms,
		.again_in_ms = -1,
		.n_max = n_max < DEBOUNCE_MAX ? n_max : DEBOUNCE_MAX,
		.max_share = DEBOUNCE_MAX_USERS / (n_devices > 0 ? n_devices : 1),
	};
	book->n_slots = 2 * book->n_max + 1;
	book->slots = arena_alloc(arena, book->n_slots, sizeof(*book->slots));
	book->seen = arena_alloc(arena, book->n_max, sizeof(*book->seen));
	book->shares = arena_alloc(arena, book->n_max + 1, sizeof(*book->shares));
	if (!book->slots || !book->seen || !book->shares)
		return error_no_memory(err);
	for (size_t i = 0; i < input->n_doubts; i++)
		(void)add(book, input->doubts[i]);
	*ret_book = book;
	return 0;
}

static void wait_for(struct debounce *book, int64_t ms)
{
	assert(ms >= 0);
	if (book->again_in_ms < 0 || ms < book->again_in_ms)
		book->again_in_ms = ms;
}

static void see(struct debounce *book, struct slot *slot)
{
	assert(slot->is_used && (slot->is_seen || book->n_seen < book->n));
	if (!slot->is_seen)
		book->seen[book->n_seen++] = slot->doubt;
	slot->is_seen = true;
}

bool debounce_counts(struct debounce *book, const struct debounce_subject *fact)
{
	struct slot *slot;
	int64_t left;

	if (fact->is_published)
		return true;
	slot = add(book, (struct recall_debounced){.key = key_of(fact)});
	if (slot)
		see(book, slot);
	if (book->is_silent)
		return false;
	if (!slot) {
		book->is_short |= fact->kind == DEBOUNCE_USER;
		return fact->kind != DEBOUNCE_USER;
	}
	left = fact->waits_ms - slot->doubt.age_ms;
	if (left > 0) {
		wait_for(book, left);
		return false;
	}
	if (!fact->is_unread &&
	    (!fact->is_to_be_heard || left + book->input->report_age_ms <= 0))
		return true;
	book->is_hearing_awaited = true;
	return false;
}

int64_t debounce_left_out(int64_t n_left_out, int64_t n_waiting, int64_t before)
{
	assert(n_left_out >= 0 && n_waiting >= 0);
	if (n_left_out >= before)
		return n_left_out;
	return n_left_out + n_waiting < before ? n_left_out + n_waiting : before;
}

struct debounce_result debounce_close(const struct debounce *book)
{
	/* What is not seen any more leaves room to the next join. */
	bool has_room_soon = book->is_short && book->n_seen < book->n;

	assert(book->n_seen <= book->n && book->n <= book->n_max);
	return (struct debounce_result){
		.seen = book->seen,
		.n_seen = book->n_seen,
		.is_hearing_awaited = book->is_hearing_awaited,
		.again_in_ms = has_room_soon ? 0 : book->again_in_ms,
	};
}
