/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each entry of the checkpoint has a standing, by what the API server knows of its UID. The List is
 * explained with their help (core/listing.h). Only then it is clear which entries of the checkpoint
 * with an unknown UID are alive: the kubelet does not rewrite the file when a pod ends, so such an
 * entry counts as left over when a List that can be believed has nothing of it.
 *
 * What the API server says (the status of pods, claims, annotations) is true of pods that it has on
 * this node; those that are over hold nothing, whatever is still written on them.
 */

#include "core/holding.h"

#include <assert.h>
#include <stdlib.h>

#include "core/book.h"
#include "core/claimant.h"
#include "core/listing.h"
#include "core/stand_in.h"

struct reader {
	struct holdings *holdings;
	struct past past;
	struct book book;
	struct ledger ledger;
};

static const struct view witness_names[HOLDING_N_WITNESSES] = {
	VIEW_INIT("Checkpoint"),    VIEW_INIT("PodResources"), VIEW_INIT("PodStatus"),
	VIEW_INIT("ResourceClaim"), VIEW_INIT("HAMi"),         VIEW_INIT("KAI"),
	VIEW_INIT("Processes"),
};

struct view holding_witness_name(unsigned index)
{
	assert(index < HOLDING_N_WITNESSES);
	return witness_names[index];
}

unsigned holding_witness_of(struct view name)
{
	for (unsigned i = 0; i < HOLDING_N_WITNESSES; i++) {
		if (view_equal(witness_names[i], name))
			return 1u << i;
	}
	return 0;
}

/* How good are the books? */

static enum holding_book judge_book(const struct report_source *source, bool present)
{
	if (!present)
		return HOLDING_BOOK_NONE;
	return source->state == REPORT_SOURCE_OK ? HOLDING_BOOK_OK : HOLDING_BOOK_DATED;
}

/*
 * How long Lists may still be short; 0 or less: they may not. From the kubelet's start to the report
 * it is the node's clock that counts, from the report's arrival on the controller's.
 */
static int64_t settles_in(const struct join_input *input)
{
	const struct report *report = input->report;
	int64_t since = report->observed_at - report->kubelet_restarted_at;
	assert(input->report_held_ms >= 0);

	if (report->kubelet_restarted_at == 0 || since <= -input->limits->settling_ms)
		return 0;
	return input->limits->settling_ms - (since + input->report_held_ms);
}

/*
 * The kubelet's restart since which a List was complete. That List was the kubelet's whole memory:
 * what a later one lacks, a pod just bound, say, is no sign of a short one.
 */
static int64_t find_settled_restart(const struct holdings *holdings)
{
	const struct report *report = holdings->input->report;
	int64_t restart = report->kubelet_restarted_at;

	if (holdings->is_complete && report->sources.pod_resources.observed_at >= restart)
		return restart;
	return holdings->input->settled_restart == restart ? restart : 0;
}

static void judge_books(struct holdings *holdings)
{
	const struct report *report = holdings->input->report;
	int64_t settles_in_ms = settles_in(holdings->input);

	holdings->list = judge_book(&report->sources.pod_resources, report->pod_resources.present);
	holdings->checkpoint = judge_book(&report->sources.checkpoint, report->checkpoint.present);
	holdings->is_complete = holdings->list == HOLDING_BOOK_OK &&
				census_is_listed(&holdings->census);
	holdings->settled_restart = find_settled_restart(holdings);
	holdings->is_settling = settles_in_ms > 0 && !holdings->is_complete &&
				holdings->settled_restart == 0;
	if (holdings->is_settling)
		holdings->settles_in_ms = settles_in_ms;
}

bool holding_has_books(const struct holdings *holdings)
{
	return holdings->list != HOLDING_BOOK_NONE || holdings->checkpoint != HOLDING_BOOK_NONE;
}

/* The checkpoint */

static void note_entry(struct reader *reader, const struct book_entry *entry)
{
	const struct report_checkpoint_entry *said = entry->said;
	struct holding_owner *owner = ledger_add_owner(
		&reader->ledger,
		(struct holding_owner){
			.pod_uid = entry->pod ? pod_uid(entry->pod) : said->pod_uid,
			.container = said->container,
			.resource = said->resource,
			.pod = entry->pod,
		});
	const struct holding what = {
		.witnesses = HOLDING_CHECKPOINT,
		.mps = said->mps ? HOLDING_MPS_USED : HOLDING_MPS_NOT_USED,
	};
	for (uint32_t i = 0; i < said->device_ids.count; i++)
		ledger_note(&reader->ledger, owner, *ARRAY_AT(said->device_ids, struct view, i),
			    what);
}

/* A left-over entry is one that a List which can be believed has nothing of. */
static bool is_left_over(const struct holdings *holdings, const struct book_entry *entry)
{
	return holdings->list == HOLDING_BOOK_OK && !holdings->is_settling && !entry->is_supported;
}

static void read_entry(struct reader *reader, const struct book_entry *entry)
{
	struct holdings *holdings = reader->holdings;
	assert(holdings->n_ended < reader->book.n_entries); /* one of each at most */
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
		/* When that pod is deleted there, it does not become one that nobody knows here. */
		holdings->ended[holdings->n_ended++] = entry->said->pod_uid;
		break;
	default:
		if (!is_left_over(holdings, entry))
			note_entry(reader, entry);
		break;
	}
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
	assert(n <= holdings->n_ended);
	holdings->n_ended = n;
}

static void read_books(struct reader *reader)
{
	struct listing listing = {reader->holdings, &reader->book, &reader->past, &reader->ledger};

	judge_books(reader->holdings);
	listing_read(&listing);
	for (uint32_t i = 0; i < reader->book.n_entries; i++)
		read_entry(reader, &reader->book.entries[i]);
	fold_ended(reader->holdings);
}

/* What the API server says */

static void read_pod_status(struct reader *reader, const struct pod *pod)
{
	uint32_t n;
	const struct pod_allocation *allocations = pod_allocations(pod, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct holding_owner *owner = ledger_add_owner(
			&reader->ledger, (struct holding_owner){
						 .pod_uid = pod_uid(pod),
						 .container = allocations[i].container,
						 .resource = allocations[i].resource,
						 .pod = pod,
					 });
		ledger_note(&reader->ledger, owner, allocations[i].id,
			    (struct holding){.witnesses = HOLDING_POD_STATUS});
	}
}

static void read_statuses(struct reader *reader)
{
	const struct census *census = &reader->holdings->census;
	for (size_t i = 0; i < census->n_gpu_pods; i++) {
		if (!pod_is_over(census->gpu_pods[i]))
			read_pod_status(reader, census->gpu_pods[i]);
	}
}

/* what: its partition, and whether it is lost. */
static void note_grant(struct reader *reader, const struct join_grant *grant,
		       const struct roster_device *device, struct holding what)
{
	what.witnesses = HOLDING_CLAIM;
	what.takes_no_slot = grant->is_admin;
	what.is_monitor = grant->is_admin;
	what.is_part = grant->is_part;
	what.is_share = grant->is_share;
	struct holding_owner *owner = ledger_add_owner(&reader->ledger,
						       (struct holding_owner){
							       .pod_uid = pod_uid(grant->pod),
							       .container = grant->container,
							       .resource = VIEW("gpu.nvidia.com"),
							       .pod = grant->pod,
						       });
	if (device)
		ledger_note_device(&reader->ledger, owner, device, grant->device, what);
	else
		ledger_note(&reader->ledger, owner, grant->device, what);
}

static bool is_unplaced_by(const struct attribution_unplaced *unplaced,
			   const struct join_grant *grant)
{
	if (!view_equal(unplaced->pod_uid, pod_uid(grant->pod)) ||
	    !view_equal(unplaced->container, grant->container))
		return false;
	for (uint32_t i = 0; i < unplaced->device_ids.count; i++) {
		if (view_equal(*ARRAY_AT(unplaced->device_ids, struct view, i), grant->device))
			return true;
	}
	return false;
}

/* What cannot be read takes nobody off the list either. */
static bool is_still_unplaced(const struct reader *reader, const struct join_grant *grant)
{
	const struct roster *roster = reader->holdings->roster;
	for (size_t i = 0; i < roster->n_devices; i++) {
		const struct attribution_status *published = roster_published(&roster->devices[i]);
		for (uint32_t j = 0; published && j < published->unplaced_tenants.count; j++) {
			if (is_unplaced_by(ARRAY_AT(published->unplaced_tenants,
						    struct attribution_unplaced, j),
					   grant))
				return true;
		}
	}
	return false;
}

static bool may_be_unplaced(const struct reader *reader, const struct join_grant *grant)
{
	return !reader->holdings->input->grants_unknown || is_still_unplaced(reader, grant);
}

/* Without a slice the device is the one that was published, or else told by its raw name only. */
static void read_untold(struct reader *reader, const struct join_grant *grant)
{
	struct view partition = grant->partition;
	const struct roster_device *seat = claimant_seat(reader->holdings, grant, &partition);
	if (seat || may_be_unplaced(reader, grant))
		note_grant(reader, grant, seat, (struct holding){.partition = partition});
}

static const struct roster_device *find_told(const struct reader *reader,
					     const struct join_grant *grant)
{
	const struct roster_device *device =
		roster_find(reader->holdings->roster, grant->uuid).device;
	return device && claimant_is_borne_out(reader->holdings, grant, device) ? device : NULL;
}

/* A claim that is gone tells no device: it is by the claim's name that its pods are shown. */
static void read_lost(struct reader *reader, const struct pod *pod)
{
	uint32_t n;
	const struct pod_claim *claims = pod_claims(pod, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct join_grant grant = {
			.pod = pod, .container = claims[i].container, .device = claims[i].claim};
		if (may_be_unplaced(reader, &grant) &&
		    claimant_is_lost(reader->holdings, pod_uid(pod), grant.container) &&
		    !roster_find(reader->holdings->roster, grant.device).device)
			note_grant(reader, &grant, NULL, (struct holding){.is_lost = true});
	}
}

/* Those that slices place come first: what they take is not free for others. */
static void read_grants(struct reader *reader)
{
	const struct join_input *input = reader->holdings->input;

	for (size_t i = 0; i < input->n_grants; i++) {
		const struct join_grant *grant = &input->grants[i];
		const struct roster_device *device = find_told(reader, grant);
		if (device && !pod_is_over(grant->pod))
			note_grant(reader, grant, device,
				   (struct holding){.partition = grant->partition});
	}
	for (size_t i = 0; i < input->n_grants; i++) {
		const struct join_grant *grant = &input->grants[i];
		if (!find_told(reader, grant) && !pod_is_over(grant->pod))
			read_untold(reader, grant);
	}
	for (size_t i = 0; i < input->n_lacking; i++)
		read_lost(reader, input->lacking[i]);
}

/* All of them */

static size_t count_listed_ids(struct array list)
{
	size_t n = 0;
	for (uint32_t i = 0; i < list.count; i++)
		n += ARRAY_AT(list, struct report_pod_resource, i)->device_ids.count;
	return n;
}

static size_t count_allocations(const struct census *census)
{
	size_t n = 0;
	for (size_t i = 0; i < census->n_gpu_pods; i++) {
		uint32_t n_of_pod;
		pod_allocations(census->gpu_pods[i], &n_of_pod);
		n += n_of_pod;
	}
	return n;
}

static size_t count_lacking(const struct join_input *input)
{
	size_t n = 0;
	for (size_t i = 0; i < input->n_lacking; i++) {
		uint32_t n_of_pod;
		(void)pod_claims(input->lacking[i], &n_of_pod);
		n += n_of_pod;
	}
	return n;
}

/* How many owners and IDs there can be at most. */
static int make_room(struct reader *reader, struct arena *arena, struct error *err)
{
	struct holdings *holdings = reader->holdings;
	const struct join_input *input = holdings->input;
	const struct array list = input->report ? input->report->pod_resources : (struct array){0};
	size_t n_told = count_allocations(&holdings->census) + input->n_grants +
			count_lacking(input) + stand_in_count(&holdings->census);

	holdings->ended = arena_alloc(arena, reader->book.n_entries, sizeof(*holdings->ended));
	if (!holdings->ended)
		return error_no_memory(err);
	return ledger_open(&reader->ledger, holdings, list.count + reader->book.n_entries + n_told,
			   count_listed_ids(list) + reader->book.n_ids + n_told, arena, err);
}

static int read_checkpoint(struct reader *reader, struct arena *arena, struct error *err)
{
	const struct holdings *holdings = reader->holdings;
	if (past_read(holdings->roster, arena, &reader->past, err) < 0)
		return -1;
	return book_read(&holdings->census, &reader->past, arena, &reader->book, err);
}

int holding_read(const struct join_input *input, const struct roster *roster, struct arena *arena,
		 struct holdings *ret_holdings, struct error *err)
{
	struct holdings holdings = {
		.input = input, .roster = roster, .settles_in_ms = -1};
	struct reader reader = {.holdings = &holdings};

	if (census_take(input, arena, &holdings.census, err) < 0 ||
	    (input->report && read_checkpoint(&reader, arena, err) < 0) ||
	    make_room(&reader, arena, err) < 0)
		return -1;
	if (input->report)
		read_books(&reader);
	read_statuses(&reader);
	read_grants(&reader);
	stand_in_resolve(&reader.ledger);
	ledger_close(&reader.ledger);
	assert(holdings.n_placed <= holdings.n_items);
	*ret_holdings = holdings;
	return 0;
}

static int compare_place(const struct holding *item, size_t device, struct view pod_uid,
			 struct view container)
{
	int order = (item->device > device) - (item->device < device);
	if (!order)
		order = view_compare(item->owner->pod_uid, pod_uid);
	return order ? order : view_compare(item->owner->container, container);
}

const struct holding *holding_items_of(const struct holdings *holdings, size_t device,
				       struct view pod_uid, struct view container, size_t *ret_n)
{
	size_t low = 0, high = holdings->n_items, n = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_place(&holdings->items[middle], device, pod_uid, container) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < holdings->n_items &&
	       compare_place(&holdings->items[low + n], device, pod_uid, container) == 0)
		n++;
	*ret_n = n;
	return n > 0 ? &holdings->items[low] : NULL;
}

/* Index of the first item of that device, or of a later one. */
static size_t find_device(const struct holdings *holdings, size_t device)
{
	size_t low = 0, high = holdings->n_items;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (holdings->items[middle].device < device)
			low = middle + 1;
		else
			high = middle;
	}
	assert(low == 0 || holdings->items[low - 1].device < device);
	assert(low == holdings->n_items || holdings->items[low].device >= device);
	return low;
}

const struct holding *holding_items(const struct holdings *holdings, size_t device, size_t *ret_n)
{
	size_t first = find_device(holdings, device);
	assert(device < holdings->roster->n_devices);
	*ret_n = find_device(holdings, device + 1) - first;
	return *ret_n > 0 ? &holdings->items[first] : NULL;
}

static int by_owner(const void *key, const void *element)
{
	const struct holding_owner *x = key, *y = *(const struct holding_owner *const *)element;
	int order = view_compare(x->pod_uid, y->pod_uid);
	return order ? order : view_compare(x->container, y->container);
}

unsigned holding_heard_of(const struct holdings *holdings, struct view pod_uid,
			  struct view container)
{
	const struct holding_owner key = {.pod_uid = pod_uid, .container = container};
	struct holding_owner *const *found = bsearch(&key, holdings->owners, holdings->n_owners,
						     sizeof(*holdings->owners), by_owner);
	return found ? (*found)->heard : 0;
}
