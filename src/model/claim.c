/* SPDX-License-Identifier: Apache-2.0 */
#include "model/claim.h"

#include <assert.h>
#include <stdlib.h>

/* A node state whose report names the device. */
struct naming {
	struct node_state *node_state;
	uint64_t since; /* ms; when it began to */
};

struct claim {
	struct table_node link;
	struct naming *namings; /* each node state once */
	unsigned n_namings;
	struct view name; /* in the same block */
};

static struct view claim_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct claim, link)->name;
}

void claim_book_init(struct claim_book *book)
{
	table_init(&book->by_name, claim_key);
}

void claim_book_deinit(struct claim_book *book)
{
	assert(book->by_name.count == 0);
	table_deinit(&book->by_name);
}

struct view claim_object_name(struct view uuid, char buffer[static CLAIM_NAME_SIZE])
{
	if (uuid.len > CLAIM_NAME_SIZE)
		uuid.len = CLAIM_NAME_SIZE;
	return view_copy_lower(uuid, buffer);
}

static struct claim *find(const struct claim_book *book, struct view object_name)
{
	struct table_node *node = table_find(&book->by_name, object_name);
	return node ? CONTAINER_OF(node, struct claim, link) : NULL;
}

static struct claim *ensure(struct claim_book *book, struct view object_name, struct error *err)
{
	struct claim *claim = find(book, object_name);
	assert(object_name.len <= CLAIM_NAME_SIZE);
	if (claim)
		return claim;
	claim = calloc(1, sizeof(*claim) + object_name.len);
	if (!claim) {
		error_no_memory(err);
		return NULL;
	}
	claim->name = view_copy(object_name, (char *)(claim + 1));
	if (table_add(&book->by_name, &claim->link, err) < 0) {
		free(claim);
		return NULL;
	}
	return claim;
}

/* Index of what the node state says; or, if it does not, of what would be said next. */
static unsigned index_of(const struct claim *claim, const struct node_state *node_state)
{
	unsigned i = 0;
	while (i < claim->n_namings && claim->namings[i].node_state != node_state)
		i++;
	return i;
}

static void drop(struct claim_book *book, struct claim *claim, const struct node_state *node_state)
{
	unsigned i = index_of(claim, node_state);
	if (i < claim->n_namings)
		claim->namings[i] = claim->namings[--claim->n_namings];
	assert(!claim->n_namings || claim->namings);
	if (claim->n_namings == 0) {
		table_remove(&book->by_name, &claim->link);
		free(claim->namings);
		free(claim);
	}
}

/* Nearly every device is claimed by one node state: there is room for no more than there are. */
static int add(struct claim *claim, struct node_state *node_state, uint64_t now_ms, struct error *err)
{
	unsigned i = index_of(claim, node_state);
	struct naming *namings;
	if (i < claim->n_namings)
		return 0;
	namings = realloc(claim->namings, (i + 1) * sizeof(*namings));
	if (!namings)
		return error_no_memory(err);
	namings[i] = (struct naming){.node_state = node_state, .since = now_ms};
	claim->namings = namings;
	claim->n_namings++;
	return 0;
}

int claim_add(struct claim_book *book, struct node_state *node_state, const struct report *report,
	      uint64_t now_ms, struct error *err)
{
	ARRAY_EACH(const struct report_device, device, report->devices) {
		char buffer[CLAIM_NAME_SIZE];
		struct claim *claim = ensure(book, claim_object_name(device->uuid, buffer), err);

		if (!claim)
			return -1;
		if (add(claim, node_state, now_ms, err) < 0) {
			drop(book, claim, node_state); /* an empty one does not stay */
			return -1;
		}
	}
	return 0;
}

static bool reports_device(const struct report *report, struct view object_name)
{
	ARRAY_EACH(const struct report_device, device, report->devices)
		if (view_equal_ignoring_case(device->uuid, object_name))
			return true;
	return false;
}

void claim_drop(struct claim_book *book, const struct node_state *node_state,
		const struct report *report, const struct report *keep)
{
	const struct array devices = report ? report->devices : (struct array){0};
	ARRAY_EACH(const struct report_device, device, devices) {
		char buffer[CLAIM_NAME_SIZE];
		struct view name = claim_object_name(device->uuid, buffer);
		struct claim *claim = find(book, name);

		if (claim && !(keep && reports_device(keep, name)))
			drop(book, claim, node_state);
	}
}

struct node_state *claim_node_state(const struct claim_book *book, struct view object_name, unsigned i)
{
	const struct claim *claim = find(book, object_name);
	return claim && i < claim->n_namings ? claim->namings[i].node_state : NULL;
}

struct claim_ages claim_ages(const struct claim_book *book, struct view object_name,
			     const struct node_state *except, uint64_t now_ms)
{
	const struct claim *claim = find(book, object_name);
	struct claim_ages ages = {-1, -1};
	for (unsigned i = 0; claim && i < claim->n_namings; i++) {
		const struct naming *naming = &claim->namings[i];
		int64_t age = (int64_t)(now_ms - naming->node_state->report_at);
		int64_t held = (int64_t)(now_ms - naming->since);

		assert(naming->node_state->report_at <= now_ms && naming->since <= now_ms);
		if (naming->node_state == except)
			continue;
		if (ages.youngest_ms < 0 || age < ages.youngest_ms)
			ages.youngest_ms = age;
		if (held > ages.held_ms)
			ages.held_ms = held;
	}
	return ages;
}
