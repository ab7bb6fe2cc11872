/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The checkpoint is read first: each of its entries gets a standing, by what the API server knows
 * of its UID. Then each entry of the List is explained, by the first of these that fits:
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

enum standing {
	STANDING_LIVE,    /* the API server has the pod on this node, and it is not over */
	STANDING_ENDED,   /* the API server had it, or has it as over */
	STANDING_REFUSED, /* the API server has it on another node */
	STANDING_UNKNOWN,
};

/* An entry of the checkpoint. */
struct entry {
	const struct report_checkpoint_entry *said;
	struct holding_owner owner;
	enum standing standing;
	bool is_listed; /* an entry of the List that nothing else explains speaks of it */
};

struct id_ref {
	struct view id;
	uint32_t entry;
};

struct reader {
	const struct join_input *input;
	const struct report *report;
	struct holdings *holdings;
	struct entry *entries;
	uint32_t n_entries;
	struct id_ref *refs; /* every ID of every entry, by ID */
	size_t n_refs;
	const struct pod **gpu_pods;
	size_t n_gpu_pods;
	struct holding_owner *owners; /* of the List's entries */
};

/* Whose entry of the checkpoint has an ID that an entry of the List has in a container of the same
 * name. */
struct match {
	bool same_pod;
	bool other_pod;
	bool ended;
	bool refused;
	bool unknown;
};

static bool is_pod(const struct pod *pod, struct view uid)
{
	struct view hash = pod_config_hash(pod);
	return view_equal(pod_uid(pod), uid) || (hash.len > 0 && view_equal(hash, uid));
}

const struct pod *holding_find_pod(const struct join_input *input, struct view uid)
{
	for (size_t i = 0; i < input->n_pods; i++) {
		if (is_pod(input->pods[i], uid))
			return input->pods[i];
	}
	return NULL;
}

/* Nearly always it is one of the few pods that want a GPU. */
static const struct pod *find_pod(const struct reader *reader, struct view uid)
{
	for (size_t i = 0; i < reader->n_gpu_pods; i++) {
		if (is_pod(reader->gpu_pods[i], uid))
			return reader->gpu_pods[i];
	}
	return holding_find_pod(reader->input, uid);
}

static bool is_called(const struct pod *pod, struct view namespace, struct view name)
{
	return view_equal(pod_name(pod), name) && view_equal(pod_namespace(pod), namespace);
}

static const struct pod *find_name(const struct reader *reader, struct view namespace,
				   struct view name)
{
	for (size_t i = 0; i < reader->n_gpu_pods; i++) {
		if (is_called(reader->gpu_pods[i], namespace, name))
			return reader->gpu_pods[i];
	}
	for (size_t i = 0; i < reader->input->n_pods; i++) {
		if (is_called(reader->input->pods[i], namespace, name))
			return reader->input->pods[i];
	}
	return NULL;
}

static bool contains(const struct view *uids, size_t n, struct view uid)
{
	for (size_t i = 0; i < n; i++) {
		if (view_equal(uids[i], uid))
			return true;
	}
	return false;
}

static bool was_tenant(const struct attribution_status *status, struct view uid)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (t->phase != ATTRIBUTION_PHASE_PENDING &&
		    t->phase != ATTRIBUTION_PHASE_UNRESOLVED && view_equal(t->pod_uid, uid))
			return true;
	}
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		if (view_equal(ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, i)
				       ->pod_uid,
			       uid))
			return true;
	}
	return false;
}

/* Known to have been a pod of this node: what was published survives a restart of the controller. */
static bool has_ended(const struct reader *reader, struct view uid)
{
	if (contains(reader->input->ended, reader->input->n_ended, uid))
		return true;
	for (size_t i = 0; i < reader->holdings->roster->n_devices; i++) {
		const struct attribution_status *status =
			roster_published(&reader->holdings->roster->devices[i]);
		if (status && was_tenant(status, uid))
			return true;
	}
	return false;
}

static enum standing judge(const struct reader *reader, struct view uid, const struct pod *pod)
{
	if (pod)
		return pod_is_over(pod) ? STANDING_ENDED : STANDING_LIVE;
	if (contains(reader->input->elsewhere, reader->input->n_elsewhere, uid))
		return STANDING_REFUSED;
	return has_ended(reader, uid) ? STANDING_ENDED : STANDING_UNKNOWN;
}

/* Setting up */

static enum holding_book judge_book(const struct report_source *source, bool present)
{
	if (!present)
		return HOLDING_BOOK_NONE;
	return source->state == REPORT_SOURCE_OK ? HOLDING_BOOK_OK : HOLDING_BOOK_DATED;
}

static int collect_gpu_pods(struct reader *reader, struct arena *arena, struct error *err)
{
	const struct join_input *input = reader->input;
	reader->gpu_pods = arena_alloc(arena, input->n_pods, sizeof(struct pod *));
	if (!reader->gpu_pods)
		return error_no_memory(err);
	for (size_t i = 0; i < input->n_pods; i++) {
		if (pod_wants_gpu(input->pods[i]))
			reader->gpu_pods[reader->n_gpu_pods++] = input->pods[i];
	}
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct id_ref *x = a, *y = b;
	int order = view_compare(x->id, y->id);
	return order ? order : (x->entry > y->entry) - (x->entry < y->entry);
}

static void index_ids(struct reader *reader)
{
	for (uint32_t i = 0; i < reader->n_entries; i++) {
		const struct array ids = reader->entries[i].said->device_ids;
		for (uint32_t j = 0; j < ids.count; j++)
			reader->refs[reader->n_refs++] =
				(struct id_ref){*ARRAY_AT(ids, struct view, j), i};
	}
	qsort(reader->refs, reader->n_refs, sizeof(*reader->refs), by_id);
}

static size_t count_held_ids(const struct report *report)
{
	size_t n = 0;
	for (uint32_t i = 0; i < report->pod_resources.count; i++)
		n += ARRAY_AT(report->pod_resources, struct report_pod_resource, i)
			     ->device_ids.count;
	for (uint32_t i = 0; i < report->checkpoint.entries.count; i++)
		n += ARRAY_AT(report->checkpoint.entries, struct report_checkpoint_entry, i)
			     ->device_ids.count;
	return n;
}

static int make_room(struct reader *reader, struct arena *arena, struct error *err)
{
	const struct report *report = reader->report;
	size_t n_held = count_held_ids(report);

	reader->entries = arena_alloc(arena, report->checkpoint.entries.count,
				      sizeof(*reader->entries));
	reader->owners = arena_alloc(arena, report->pod_resources.count, sizeof(*reader->owners));
	reader->refs = arena_alloc(arena, n_held, sizeof(*reader->refs));
	reader->holdings->items = arena_alloc(arena, n_held, sizeof(struct holding));
	reader->holdings->ended =
		arena_alloc(arena, report->checkpoint.entries.count, sizeof(struct view));
	if (!reader->entries || !reader->owners || !reader->refs || !reader->holdings->items ||
	    !reader->holdings->ended)
		return error_no_memory(err);
	return collect_gpu_pods(reader, arena, err);
}

/* Reading the checkpoint */

static void read_entry(struct reader *reader, const struct report_checkpoint_entry *said)
{
	struct holdings *holdings = reader->holdings;
	struct entry *entry = &reader->entries[reader->n_entries++];
	const struct pod *pod = find_pod(reader, said->pod_uid);

	*entry = (struct entry){
		.said = said,
		.owner = {.pod_uid = pod ? pod_uid(pod) : said->pod_uid,
			  .container = said->container,
			  .resource = said->resource,
			  .pod = pod},
		.standing = judge(reader, said->pod_uid, pod),
	};
	if (entry->standing == STANDING_REFUSED)
		holdings->claims_refused++;
	if (entry->standing == STANDING_ENDED && !pod)
		holdings->ended[holdings->n_ended++] = said->pod_uid;
}

static void read_checkpoint(struct reader *reader)
{
	const struct array entries = reader->report->checkpoint.entries;
	for (uint32_t i = 0; i < entries.count; i++)
		read_entry(reader, ARRAY_AT(entries, struct report_checkpoint_entry, i));
	index_ids(reader);
}

/* Is the List complete? */

static bool is_listed(const struct report *report, const struct pod *pod)
{
	for (uint32_t i = 0; i < report->pod_resources.count; i++) {
		const struct report_pod_resource *said =
			ARRAY_AT(report->pod_resources, struct report_pod_resource, i);
		if (is_called(pod, said->namespace, said->name))
			return true;
	}
	return false;
}

/* Lists never contain ordinary init containers. */
static bool must_be_listed(const struct pod *pod)
{
	if (pod_is_over(pod))
		return false;
	for (uint32_t i = 0; i < pod_count_containers(pod); i++) {
		const struct pod_container *c = pod_container_at(pod, i);
		if (c->wants_gpu && c->kind != POD_CONTAINER_INIT)
			return true;
	}
	return false;
}

static bool is_complete(const struct reader *reader)
{
	if (reader->holdings->list != HOLDING_BOOK_OK)
		return false;
	for (size_t i = 0; i < reader->n_gpu_pods; i++) {
		if (must_be_listed(reader->gpu_pods[i]) &&
		    !is_listed(reader->report, reader->gpu_pods[i]))
			return false;
	}
	return true;
}

/* How long Lists may still be short; 0: they may not. The kubelet's start and the report's time
 * are of one clock; since the report's arrival it is the controller's. */
static int64_t settles_in(const struct join_input *input)
{
	const struct report *report = input->report;
	int64_t since = report->observed_at - report->kubelet_restarted_at;

	if (report->kubelet_restarted_at == 0 || since <= -input->limits->settling_ms)
		return 0;
	since += input->report_held_ms;
	return since < input->limits->settling_ms ? input->limits->settling_ms - since : 0;
}

static void judge_list(struct reader *reader)
{
	struct holdings *holdings = reader->holdings;
	int64_t settles_in_ms = settles_in(reader->input);

	holdings->is_complete = is_complete(reader);
	holdings->is_settling = settles_in_ms > 0 && !holdings->is_complete;
	holdings->settles_in_ms = holdings->is_settling ? settles_in_ms : -1;
}

/* Noting who holds what */

static void note(struct reader *reader, const struct holding_owner *owner, struct view id,
		 struct holding what)
{
	static const struct holding_owner nobody;
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

static void note_entry(struct reader *reader, const struct entry *entry)
{
	const struct array ids = entry->said->device_ids;
	const struct holding what = {
		.witnesses = HOLDING_CHECKPOINT,
		.mps = entry->said->mps ? HOLDING_MPS_USED : HOLDING_MPS_NOT_USED,
	};
	for (uint32_t i = 0; i < ids.count; i++)
		note(reader, &entry->owner, *ARRAY_AT(ids, struct view, i), what);
}

/* A left-over entry is one that a List which can be believed has nothing of. */
static bool is_left_over(const struct reader *reader, const struct entry *entry)
{
	return reader->holdings->list == HOLDING_BOOK_OK && !reader->holdings->is_settling &&
	       !entry->is_listed;
}

static void note_entries(struct reader *reader)
{
	for (uint32_t i = 0; i < reader->n_entries; i++) {
		const struct entry *entry = &reader->entries[i];
		if (entry->standing == STANDING_LIVE ||
		    (entry->standing == STANDING_UNKNOWN && !is_left_over(reader, entry)))
			note_entry(reader, entry);
	}
}

/* Explaining the List */

/* Index of the first reference to that ID. */
static size_t find_refs(const struct reader *reader, struct view id)
{
	size_t low = 0, high = reader->n_refs;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (view_compare(reader->refs[middle].id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Calls for each entry of the checkpoint that has the ID in a container of that name. */
static struct entry *next_entry(struct reader *reader, const struct report_pod_resource *said,
				struct view id, size_t *at)
{
	for (; *at < reader->n_refs && view_equal(reader->refs[*at].id, id); ++*at) {
		struct entry *entry = &reader->entries[reader->refs[*at].entry];
		if (view_equal(entry->owner.container, said->container)) {
			++*at;
			return entry;
		}
	}
	return NULL;
}

static void match_entry(const struct entry *entry, const struct pod *pod, struct match *match)
{
	switch (entry->standing) {
	case STANDING_LIVE:
		if (entry->owner.pod == pod)
			match->same_pod = true;
		else
			match->other_pod = true;
		break;
	case STANDING_ENDED:
		match->ended = true;
		break;
	case STANDING_REFUSED:
		match->refused = true;
		break;
	case STANDING_UNKNOWN:
		match->unknown = true;
		break;
	}
}

static struct match match_entries(struct reader *reader, const struct report_pod_resource *said,
				  const struct pod *pod)
{
	struct match match = {0};
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		size_t at = find_refs(reader, id);
		const struct entry *entry;
		while ((entry = next_entry(reader, said, id, &at)))
			match_entry(entry, pod, &match);
	}
	return match;
}

static void support_entries(struct reader *reader, const struct report_pod_resource *said)
{
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		size_t at = find_refs(reader, id);
		struct entry *entry;
		while ((entry = next_entry(reader, said, id, &at)))
			entry->is_listed = true;
	}
}

static bool is_in_checkpoint(const struct reader *reader, const struct pod *pod,
			     struct view container)
{
	for (uint32_t i = 0; i < reader->n_entries; i++) {
		const struct holding_owner *owner = &reader->entries[i].owner;
		if (owner->pod == pod && view_equal(owner->container, container))
			return true;
	}
	return false;
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
	return pod && has_started(pod, container) && !is_in_checkpoint(reader, pod, container);
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

/* Who holds an ID of that device, when the name is all there is to go by. */
static enum by_name judge_name(const struct reader *reader, const struct roster_device *device,
			       const struct report_pod_resource *said, const struct pod *pod)
{
	const struct attribution_status *status = roster_published(device);
	struct view uid = pod ? pod_uid(pod) : (struct view){0};

	if (pod && status && attribution_find_tenant(status, uid, said->container))
		return BY_NAME_POD;
	if (status && had_namesake(status, said, uid) &&
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
	static const struct holding_owner nobody;
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		struct roster_place place = roster_find(reader->holdings->roster, id);
		enum by_name by_name =
			place.device ? judge_name(reader, place.device, said, owner->pod)
				     : BY_NAME_UNKNOWN;
		if (by_name != BY_NAME_NOBODY)
			note(reader, by_name == BY_NAME_POD ? owner : &nobody, id,
			     (struct holding){.witnesses = HOLDING_LIST});
	}
}

static void note_listed(struct reader *reader, const struct report_pod_resource *said,
			const struct holding_owner *owner)
{
	for (uint32_t i = 0; i < said->device_ids.count; i++)
		note(reader, owner, *ARRAY_AT(said->device_ids, struct view, i),
		     (struct holding){.witnesses = HOLDING_LIST});
}

static void explain(struct reader *reader, const struct report_pod_resource *said,
		    struct holding_owner *owner)
{
	const struct pod *pod = find_name(reader, said->namespace, said->name);
	struct match match = match_entries(reader, said, pod);

	if (pod)
		*owner = (struct holding_owner){pod_uid(pod), said->container, said->resource, pod};
	if (pod && pod_is_over(pod))
		return;
	if (match.same_pod)
		note_listed(reader, said, owner);
	else if (match.refused || (match.other_pod && !pod))
		return;
	else if (match.unknown && !(reader->holdings->checkpoint == HOLDING_BOOK_DATED &&
				    is_meant(reader, pod, said->container)))
		support_entries(reader, said);
	else if (match.ended && !is_meant(reader, pod, said->container))
		return;
	else
		note_by_name(reader, said, owner);
}

static void explain_list(struct reader *reader)
{
	const struct array list = reader->report->pod_resources;
	for (uint32_t i = 0; i < list.count; i++)
		explain(reader, ARRAY_AT(list, struct report_pod_resource, i), &reader->owners[i]);
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

static void read_books(struct reader *reader)
{
	const struct report *report = reader->report;
	struct holdings *holdings = reader->holdings;

	holdings->list = judge_book(&report->sources.pod_resources, report->pod_resources.present);
	holdings->checkpoint =
		judge_book(&report->sources.checkpoint, report->checkpoint.present);
	judge_list(reader);
	read_checkpoint(reader);
	explain_list(reader);
	note_entries(reader);
	fold_items(holdings);
	fold_ended(holdings);
}

int holding_read(const struct join_input *input, const struct roster *roster, struct arena *arena,
		 struct holdings *ret_holdings, struct error *err)
{
	struct holdings holdings = {.input = input, .roster = roster, .settles_in_ms = -1};
	struct reader reader = {.input = input, .report = input->report, .holdings = &holdings};

	if (input->report) {
		if (make_room(&reader, arena, err) < 0)
			return -1;
		read_books(&reader);
	}
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
