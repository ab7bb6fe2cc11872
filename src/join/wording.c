/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The join does not recognize a text of another release that is not in these tables. It then finds
 * out anew what the text said.
 */

#include "join/wording.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/sbuf.h"
#include "model/pod.h"

static const struct view witnesses[] = {
	VIEW_INIT("Checkpoint"), VIEW_INIT("PodResources"), VIEW_INIT("PodStatus"),
	VIEW_INIT("ResourceClaim"), VIEW_INIT("HAMi"), VIEW_INIT("KAI"), VIEW_INIT("Processes"),
};

static const struct view placeholders[] = {
	[PLACEHOLDER_NONE] = VIEW_INIT(""),
	[PLACEHOLDER_HAMI] = VIEW_INIT("HAMi"),
	[PLACEHOLDER_KAI] = VIEW_INIT("KAI"),
};

#define TEXT(name, text) VIEW_INIT(text),
static const struct view conditions[] = {WORDING_CONDITIONS(TEXT) WORDING_RETIRED_CONDITIONS(TEXT)};
static const struct view reasons[] = {VIEW_INIT(""), WORDING_REASONS(TEXT)};
static const struct view messages[] = {WORDING_MESSAGES(TEXT)};

_Static_assert(ARRAY_SIZE(witnesses) == N_WITNESSES, "a text for each witness");

struct view wording_witness(unsigned index)
{
	assert(index < ARRAY_SIZE(witnesses));
	return witnesses[index];
}

struct view wording_placeholder(enum placeholder placeholder)
{
	assert((unsigned)placeholder < ARRAY_SIZE(placeholders));
	return placeholders[placeholder];
}

struct view wording_condition(enum condition_type type)
{
	assert((unsigned)type < ARRAY_SIZE(conditions));
	return conditions[type];
}

struct view wording_reason(enum reason reason)
{
	assert((unsigned)reason < ARRAY_SIZE(reasons));
	return reasons[reason];
}

struct view wording_message(enum message message)
{
	assert((unsigned)message < ARRAY_SIZE(messages));
	return messages[message];
}

/* The index of the text in the table, or n. */
static unsigned find(const struct view *table, unsigned n, struct view text)
{
	unsigned i = 0;
	while (i < n && !view_equal(table[i], text))
		i++;
	return i;
}

unsigned wording_witnesses_of(struct array texts)
{
	unsigned found = 0;
	ARRAY_EACH(const struct view, text, texts)
		found |= 1u << find(witnesses, N_WITNESSES, *text);
	return found & ((1u << N_WITNESSES) - 1);
}

bool wording_is_condition(struct view type)
{
	return find(conditions, ARRAY_SIZE(conditions), type) < ARRAY_SIZE(conditions);
}

enum placeholder wording_placeholder_of(struct view text)
{
	unsigned index = find(placeholders, ARRAY_SIZE(placeholders), text);
	return index < ARRAY_SIZE(placeholders) ? (enum placeholder)index : PLACEHOLDER_NONE;
}

enum reason wording_reason_of(struct view text)
{
	unsigned index = find(reasons, ARRAY_SIZE(reasons), text);
	return index < ARRAY_SIZE(reasons) ? (enum reason)index : REASON_NONE;
}

void wording_slots(int64_t n, enum message held_by, struct sbuf *message)
{
	sbuf_printf(message, "%" PRId64 " %s %.*s", n, n == 1 ? "slot is" : "slots are",
		    VIEW_ARG(wording_message(held_by)));
}

void wording_held_twice(struct view unit, const struct pod *const *pods, size_t n_pods,
			size_t n_more, struct sbuf *message)
{
	assert(n_pods > 1);
	sbuf_printf(message, "%.*s is held by ", VIEW_ARG(unit));
	for (size_t i = 0; i < n_pods; i++)
		sbuf_printf(message, "%s%.*s/%.*s",
			    i == 0                           ? ""
			    : i + 1 == n_pods && n_more == 0 ? " and "
							     : ", ",
			    VIEW_ARG(pod_namespace(pods[i])), VIEW_ARG(pod_name(pods[i])));
	if (n_more > 0)
		sbuf_printf(message, " and %zu more", n_more);
	sbuf_printf(message, " at once, and is for one pod");
}

void wording_odd_id(struct view id, size_t n_more, struct sbuf *message)
{
	sbuf_printf(message, "a tenant holds a device ID of no known form: %.*s", VIEW_ARG(id));
	if (n_more > 0)
		sbuf_printf(message, " and %zu more", n_more);
}
