/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each entry of the checkpoint has a standing, by what the API server knows of its UID. Each entry
 * of the List is then explained, by the first of these that fits:
 *
 *	a pod that is over           nothing: kubelets before 1.34 list pods that ended
 *	the same pod's own entry in  it holds the IDs, and both books say so
 *	the checkpoint
 *	an entry of the same         that entry's pod holds them. The name must not decide here: the
 *	container, same ID, of       API server's pod of that name may be the one before or after
 *	another standing             the one that the kubelet means
 *	the pod of that name         it holds them, by name only
 *	none                         the IDs are held by somebody that nobody can name
 *
 * Only then it is clear which entries of the checkpoint with an unknown UID are alive: the kubelet
 * does not rewrite the file when a pod ends, so such an entry counts as left over when a List that
 * can be believed has nothing of it.
 */

#include "core/holding.h"

#include <assert.h>
#include <stdlib.h>

#include "core/book.h"

struct reader {
	const struct join_input *input;
	const struct report *report;
	struct holdings *holdings;
	struct book book;
	struct holding_owner *owners; /* of the entries of both books */
	size_t n_owners;
};

static const struct holding_owner nobody;

/* How good are the books? */

static enum holding_book judge_book(const struct report_source *source, bool present)
{
	if (!present)
		return HOLDING_BOOK_NONE;
	return source->state == REPORT_SOURCE_OK ? HOLDING_BOOK_OK : HOLDING_BOOK_DATED;
}

/*
 * How long Lists may still be short; 0: they may not. From the kubelet's start to the report it is
 * the node's clock that counts, from the report's arrival on the controller's.
 */
static int64_t settles_in(const struct join_input *input)
{
	const struct report *report = input->report;
	int64_t since = report->observed_at - report->kubelet_restarted_at;

	if (report->kubelet_restarted_at == 0 || since <= -input->limits->settling_ms)
		return 0;
	since += input->report_held_ms;
	return since < input->limits->settling_ms ? input->limits->settling_ms - since : 0;
}

static void judge_books(struct holdings *holdings)
{
	const struct report *report = holdings->input->report;
	int64_t settles_in_ms = settles_in(holdings->input);

	holdings->list = judge_book(&report->sources.pod_resources, report->pod_resources.present);
	holdings->checkpoint =
		judge_book(&report->sources.checkpoint, report->checkpoint.present);
	holdings->is_complete =
		holdings->list == HOLDING_BOOK_OK && census_is_listed(&holdings->census);
	holdings->is_settling = settles_in_ms > 0 && !holdings->is_complete;
	if (holdings->is_settling)
		holdings->settles_in_ms = settles_in_ms;
}

bool holding_has_books(const struct holdings *holdings)
{
	return holdings->list != HOLDING_BOOK_NONE || holdings->checkpoint != HOLDING_BOOK_NONE;
}

/* Noting who holds what */

static const struct holding_owner *add_owner(struct reader *reader, struct holding_owner owner)
{
	struct holding_owner *added = &reader->owners[reader->n_owners++];
	*added = owner;
	return added;
}

static void note(struct reader *reader, const struct holding_owner *owner, struct view id,
		 struct holding what)
{
	struct holdings *holdings = reader->holdings;
	struct roster_place place = roster_find(holdings->roster, id);

	if (!place.device) {
		holdings->ids_unknown++;
		return;
	}
	what.device = (size_t)(place.device - holdings->roster->devices);
	/* Which device HAMi gave for an ID is written elsewhere: the ID is taken, no more. */
	what.owner = place.id.is_hami ? &nobody : owner;
	what.id = id;
	what.partition = place.partition;
	holdings->items[holdings->n_items++] = what;
}

/* The checkpoint */

static void note_entry(struct reader *reader, const struct book_entry *entry)
{
	const struct report_checkpoint_entry *said = entry->said;
	const struct holding_owner *owner =
		add_owner(reader, (struct holding_owner){
					  .pod_uid = entry->pod ? pod_uid(entry->pod)
								: said->pod_uid,
					  .container = said->container,
					  .resource = said->resource,
					  .pod = entry->pod,
				  });
	const struct holding what = {
		.witnesses = HOLDING_CHECKPOINT,
		.mps = said->mps ? HOLDING_MPS_USED : HOLDING_MPS_NOT_USED,
	};
	for (uint32_t i = 0; i < said->device_ids.count; i++)
		note(reader, owner, *ARRAY_AT(said->device_ids, struct view, i), what);
}

/* A left-over entry is one that a List which can be believed has nothing of. */
static bool is_left_over(const struct holdings *holdings, const struct book_entry *entry)
{
	return holdings->list == HOLDING_BOOK_OK && !holdings->is_settling && !entry->is_supported;
}

static void read_entry(struct reader *reader, const struct book_entry *entry)
{
	struct holdings *holdings = reader->holdings;
	switch (entry->standing) {
	case BOOK_LIVE:
		note_entry(reader, entry);
		break;
	case BOOK_ENDED:
		if (!entry->pod)
			holdings->ended[holdings->n_ended++] = entry->said->pod_uid;
		break;
	case BOOK_REFUSED:
		holdings->claims_refused++;
		break;
	default:
		if (!is_left_over(holdings, entry))
			note_entry(reader, entry);
		break;
	}
}

/* The List */

/* For each standing: whether an entry of it has an ID that the List has in a container of the same
 * name. */
struct match {
	bool has[BOOK_N_STANDINGS]; /* of other pods */
};

static struct match match_entries(const struct reader *reader,
				  const struct report_pod_resource *said, const struct pod *pod)
{
	struct match match = {0};
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		const struct book_entry *entry;
		size_t at = 0;
		while ((entry = book_next(&reader->book, id, said->container, &at)))
			match.has[entry->standing] |= !pod || entry->pod != pod;
	}
	return match;
}

/* The List speaks of those entries: the pod's own, or, without a pod, those of no known pod. */
static void support_entries(const struct reader *reader, const struct report_pod_resource *said,
			    const struct pod *pod)
{
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		struct book_entry *entry;
		size_t at = 0;
		while ((entry = book_next(&reader->book, id, said->container, &at)))
			entry->is_supported |= entry->pod == pod;
	}
}

static bool has_started(const struct pod *pod, struct view container)
{
	const struct pod_container *c = pod_find_container(pod, container);
	return c && (c->state == POD_CONTAINER_RUNNING || c->state == POD_CONTAINER_TERMINATED);
}

/*
 * The kubelet has admitted this very pod (its container ran), yet the checkpoint has nothing of the
 * container: an entry for somebody else there does not explain what the List says.
 */
static bool is_meant(const struct reader *reader, const struct pod *pod, struct view container)
{
	return pod && has_started(pod, container) &&
	       !book_has(&reader->book, pod, container, false);
}

static bool is_same_name(struct view namespace, struct view name, struct view container,
			 const struct report_pod_resource *said)
{
	return view_equal(name, said->name) && view_equal(namespace, said->namespace) &&
	       view_equal(container, said->container);
}

/* A pod of that name and another UID held the device, by what was published. */
static bool had_namesake(const struct attribution_status *status,
			 const struct report_pod_resource *said, struct view uid)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (is_same_name(t->pod_namespace, t->pod_name, t->container, said) &&
		    !view_equal(t->pod_uid, uid))
			return true;
	}
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *t =
			ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, i);
		if (is_same_name(t->pod_namespace, t->pod_name, t->container, said) &&
		    !view_equal(t->pod_uid, uid))
			return true;
	}
	return false;
}

enum by_name {
	BY_NAME_NOBODY,  /* it speaks of a pod that ended */
	BY_NAME_POD,     /* the pod of that name */
	BY_NAME_UNKNOWN, /* somebody that cannot be told */
};

/* By what was published, a List has spoken of the container before. */
static bool was_listed(const struct attribution_status *status, struct view uid,
		       struct view container)
{
	const struct attribution_tenant *tenant = attribution_find_tenant(status, uid, container);
	for (uint32_t i = 0; tenant && i < tenant->witnesses.count; i++) {
		if (view_equal(*ARRAY_AT(tenant->witnesses, struct view, i),
			       VIEW(HOLDING_LIST_NAME)))
			return true;
	}
	return false;
}

/* Who holds an ID of that device, when the name is all there is to go by. */
static enum by_name judge_name(const struct reader *reader, const struct roster_device *device,
			       const struct report_pod_resource *said, const struct pod *pod)
{
	const struct attribution_status *published = roster_published(device);
	const struct join_previous *previous = device->previous;
	struct view uid = pod ? pod_uid(pod) : (struct view){0};

	if (pod && published && was_listed(published, uid, said->container))
		return BY_NAME_POD;
	if (previous && had_namesake(&previous->object->status, said, uid) &&
	    (!pod || !has_started(pod, said->container)))
		return BY_NAME_NOBODY;
	/* A List of some time ago may mean another pod of that name. */
	if (!pod || reader->holdings->list == HOLDING_BOOK_DATED)
		return BY_NAME_UNKNOWN;
	return BY_NAME_POD;
}

static void note_by_name(struct reader *reader, const struct report_pod_resource *said,
			 const struct holding_owner *owner)
{
	const struct holding what = {.witnesses = HOLDING_LIST};
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		struct roster_place place = roster_find(reader->holdings->roster, id);
		enum by_name by_name =
			place.device ? judge_name(reader, place.device, said, owner->pod)
				     : BY_NAME_UNKNOWN;
		if (by_name != BY_NAME_NOBODY)
			note(reader, by_name == BY_NAME_POD ? owner : &nobody, id, what);
	}
}

static void note_listed(struct reader *reader, const struct report_pod_resource *said,
			const struct holding_owner *owner)
{
	const struct holding what = {.witnesses = HOLDING_LIST};
	for (uint32_t i = 0; i < said->device_ids.count; i++)
		note(reader, owner, *ARRAY_AT(said->device_ids, struct view, i), what);
}

/* An unknown UID in a checkpoint of some time ago can be long gone, in a good one it is new. */
static bool is_by_unknown(const struct reader *reader, const struct match *match,
			  const struct report_pod_resource *said, const struct pod *pod)
{
	return match->has[BOOK_UNKNOWN] && !(reader->holdings->checkpoint == HOLDING_BOOK_DATED &&
					     is_meant(reader, pod, said->container));
}

static void explain(struct reader *reader, const struct report_pod_resource *said)
{
	const struct pod *pod =
		census_find_name(&reader->holdings->census, said->namespace, said->name);
	struct match match = match_entries(reader, said, pod);
	const struct holding_owner *owner = &nobody;

	if (pod && pod_is_over(pod))
		return;
	if (pod)
		owner = add_owner(reader, (struct holding_owner){pod_uid(pod), said->container,
								 said->resource, pod});
	if (pod && book_has(&reader->book, pod, said->container, true))
		note_listed(reader, said, owner);
	else if (match.has[BOOK_REFUSED] || (match.has[BOOK_LIVE] && !pod))
		return;
	else if (is_by_unknown(reader, &match, said, pod))
		support_entries(reader, said, NULL);
	else if (match.has[BOOK_ENDED] && !is_meant(reader, pod, said->container))
		return;
	else
		note_by_name(reader, said, owner);
}

/* What the List says of a container is about one and the same pod: where a part of it agrees with
 * the checkpoint, all of it is about the checkpoint's pod. So agreement is looked for first. */
static void read_list(struct reader *reader)
{
	const struct array list = reader->report->pod_resources;
	for (uint32_t i = 0; i < list.count; i++) {
		const struct report_pod_resource *said =
			ARRAY_AT(list, struct report_pod_resource, i);
		const struct pod *pod = census_find_name(&reader->holdings->census,
							 said->namespace, said->name);
		if (pod)
			support_entries(reader, said, pod);
	}
	for (uint32_t i = 0; i < list.count; i++)
		explain(reader, ARRAY_AT(list, struct report_pod_resource, i));
}

/* Putting in order */

static int by_holder(const void *a, const void *b)
{
	const struct holding *x = a, *y = b;
	int order = (x->device > y->device) - (x->device < y->device);
	if (!order)
		order = view_compare(x->owner->pod_uid, y->owner->pod_uid);
	if (!order)
		order = view_compare(x->owner->container, y->owner->container);
	if (!order)
		order = view_compare(x->id, y->id);
	/* For the result's sake: of two entries the one with the lower resource name stays. */
	return order ? order : view_compare(x->owner->resource, y->owner->resource);
}

static bool is_same_holding(const struct holding *a, const struct holding *b)
{
	return a->device == b->device && view_equal(a->id, b->id) &&
	       view_equal(a->owner->pod_uid, b->owner->pod_uid) &&
	       view_equal(a->owner->container, b->owner->container);
}

static void fold_items(struct holdings *holdings)
{
	size_t n = 0;
	qsort(holdings->items, holdings->n_items, sizeof(*holdings->items), by_holder);
	for (size_t i = 0; i < holdings->n_items; i++) {
		struct holding *last = n > 0 ? &holdings->items[n - 1] : NULL;
		const struct holding *item = &holdings->items[i];
		if (last && is_same_holding(last, item)) {
			last->witnesses |= item->witnesses;
			last->mps |= item->mps;
		} else {
			holdings->items[n++] = *item;
		}
	}
	holdings->n_items = n;
}

static int by_text(const void *a, const void *b)
{
	return view_compare(*(const struct view *)a, *(const struct view *)b);
}

static void fold_ended(struct holdings *holdings)
{
	size_t n = 0;
	qsort(holdings->ended, holdings->n_ended, sizeof(*holdings->ended), by_text);
	for (size_t i = 0; i < holdings->n_ended; i++) {
		if (n == 0 || !view_equal(holdings->ended[n - 1], holdings->ended[i]))
			holdings->ended[n++] = holdings->ended[i];
	}
	holdings->n_ended = n;
}

static size_t count_listed_ids(struct array list)
{
	size_t n = 0;
	for (uint32_t i = 0; i < list.count; i++)
		n += ARRAY_AT(list, struct report_pod_resource, i)->device_ids.count;
	return n;
}

static int make_room(struct reader *reader, struct arena *arena, struct error *err)
{
	struct holdings *holdings = reader->holdings;
	const struct array list = reader->report->pod_resources;
	size_t n_entries = reader->book.n_entries;

	reader->owners = arena_alloc(arena, list.count + n_entries, sizeof(*reader->owners));
	holdings->items = arena_alloc(arena, count_listed_ids(list) + reader->book.n_refs,
				      sizeof(*holdings->items));
	holdings->ended = arena_alloc(arena, n_entries, sizeof(*holdings->ended));
	return reader->owners && holdings->items && holdings->ended ? 0 : error_no_memory(err);
}

static int read_books(struct reader *reader, struct arena *arena, struct error *err)
{
	struct holdings *holdings = reader->holdings;

	if (book_read(&holdings->census, holdings->roster, arena, &reader->book, err) < 0 ||
	    make_room(reader, arena, err) < 0)
		return -1;
	judge_books(holdings);
	read_list(reader);
	for (uint32_t i = 0; i < reader->book.n_entries; i++)
		read_entry(reader, &reader->book.entries[i]);
	fold_items(holdings);
	fold_ended(holdings);
	return 0;
}

int holding_read(const struct join_input *input, const struct roster *roster, struct arena *arena,
		 struct holdings *ret_holdings, struct error *err)
{
	struct holdings holdings = {.input = input, .roster = roster, .settles_in_ms = -1};
	struct reader reader = {.input = input, .report = input->report, .holdings = &holdings};

	if (census_take(input, arena, &holdings.census, err) < 0 ||
	    (input->report && read_books(&reader, arena, err) < 0))
		return -1;
	*ret_holdings = holdings;
	return 0;
}

const struct holding *holding_items(const struct holdings *holdings, size_t device, size_t *ret_n)
{
	size_t first = 0, n = 0;
	while (first < holdings->n_items && holdings->items[first].device < device)
		first++;
	while (first + n < holdings->n_items && holdings->items[first + n].device == device)
		n++;
	*ret_n = n;
	return n > 0 ? &holdings->items[first] : NULL;
}
