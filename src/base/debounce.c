/* SPDX-License-Identifier: Apache-2.0 */

#include "base/debounce.h"

#include <assert.h>

#include "base/again.h"
#include "base/lookup.h"

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)

struct slot {
	struct debounce_seen known;
	bool is_seen;
};

struct debounce {
	struct debounce_round round;
	struct lookup keys; /* of the slots */
	struct slot *slots; /* one for each key, which lookup.cap bounds */
	struct debounce_result result;
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

static uint64_t key_of(const struct debounce_subject *subject)
{
	uint64_t hash = add_bytes(FNV_BASIS, &subject->kind, 1);
	hash = add_text(hash, subject->device);
	hash = add_text(hash, subject->pod_uid);
	return add_text(hash, subject->subject);
}

/*
 * The slot of the key, made if need be; NULL: there is no room. Whoever chooses texts can choose keys, so they
 * are hashed once more.
 */
static struct slot *add(struct debounce *debounce, struct debounce_seen known)
{
	const uint32_t hash = lookup_hash(0, (struct view){(const char *)&known.key, sizeof(known.key)});
	struct lookup *keys = &debounce->keys;
	struct slot *slot;

	LOOKUP_EACH(at, keys, hash)
		if (debounce->slots[at].known.key == known.key)
			return &debounce->slots[at];
	if (keys->n == keys->cap)
		return NULL;
	slot = &debounce->slots[lookup_add(keys, hash)];
	*slot = (struct slot){.known = known};
	return slot;
}

int debounce_open(const struct debounce_round *round, struct arena *arena,
		  struct debounce **ret_debounce, struct error *err)
{
	struct debounce *debounce;
	size_t n_max = round->n_before + round->n_subjects;

	if (n_max > DEBOUNCE_MAX)
		n_max = DEBOUNCE_MAX;
	if (!ARENA_NEW(debounce, arena, 1))
		return error_no_memory(err);
	*debounce = (struct debounce){.round = *round, .result.again_in_ms = -1};
	if (!ARENA_NEW(debounce->slots, arena, n_max) || !ARENA_NEW(debounce->result.seen, arena, n_max))
		return error_no_memory(err);
	if (lookup_make(&debounce->keys, n_max, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < round->n_before; i++)
		(void)add(debounce, round->before[i]);
	*ret_debounce = debounce;
	return 0;
}

static void see(struct debounce *debounce, struct slot *slot)
{
	assert(slot->is_seen || debounce->result.n_seen < debounce->keys.n);
	if (!slot->is_seen)
		debounce->result.seen[debounce->result.n_seen++] = slot->known;
	slot->is_seen = true;
}

static bool has_waited(struct debounce *debounce, const struct debounce_subject *subject, int64_t age_ms)
{
	const int64_t left = subject->waits_ms - age_ms;
	if (left > 0) {
		debounce->result.again_in_ms = again_sooner(debounce->result.again_in_ms, left);
		return false;
	}
	if (!subject->is_unread &&
	    (!subject->needs_report || left + debounce->round.report_age_ms <= 0))
		return true;
	debounce->result.is_hearing_awaited = true;
	return false;
}

enum debounce_answer debounce_ask(struct debounce *debounce, const struct debounce_subject *subject)
{
	struct slot *slot;

	assert(subject->waits_ms >= 0);
	if (subject->is_published && !subject->keeps_age)
		return DEBOUNCE_COUNTS;
	slot = add(debounce, (struct debounce_seen){
				     .key = key_of(subject),
				     .age_ms = subject->is_published ? subject->waits_ms : 0,
			     });
	if (slot)
		see(debounce, slot);
	if (subject->is_published)
		return DEBOUNCE_COUNTS;
	debounce->result.n_left_out += !slot;
	if (!slot)
		return DEBOUNCE_NO_ROOM;
	return !debounce->round.is_silent && has_waited(debounce, subject, slot->known.age_ms) ? DEBOUNCE_COUNTS
											       : DEBOUNCE_WAITS;
}

bool debounce_counts(struct debounce *debounce, const struct debounce_subject *subject)
{
	return debounce_ask(debounce, subject) == DEBOUNCE_COUNTS;
}

void debounce_leave_out(struct debounce *debounce, uint32_t n)
{
	debounce->result.n_left_out += n;
}

void debounce_begin_anew(struct debounce *debounce)
{
	debounce->result.n_left_out = 0;
}

int64_t debounce_left_out(int64_t n_left_out, int64_t n_waiting, int64_t before)
{
	assert(n_left_out >= 0 && n_waiting >= 0);
	if (n_left_out >= before)
		return n_left_out;
	return n_left_out + n_waiting < before ? n_left_out + n_waiting : before;
}

struct debounce_result debounce_close(const struct debounce *debounce)
{
	struct debounce_result result = debounce->result;

	assert(result.n_seen <= debounce->keys.n);
	/* What is not seen any more leaves room to the next round. */
	if (result.n_left_out > 0 && result.n_seen < debounce->keys.n)
		result.again_in_ms = 0;
	return result;
}
