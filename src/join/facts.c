/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each entry of the checkpoint has a standing, by what the API server knows of its UID. The List is
 * explained with their help (join/listing.h). Only then it is clear which entries of the checkpoint
 * with an unknown UID are alive: the kubelet does not rewrite the file when a pod ends, so such an
 * entry counts as left over when a List that can be believed has nothing of it.
 *
 * What the API server says (the status of pods, claims, annotations) is true of pods that it has on
 * this node; those that are over hold nothing, whatever is still written on them.
 */

#include "join/facts.h"

#include <assert.h>
#include <stdlib.h>

#include "join/book.h"
#include "join/claimant.h"
#include "join/listing.h"
#include "join/stand_in.h"

struct reader {
	struct facts *facts;
	struct past past;
	struct book book;
	struct ledger ledger;
};

/* How good are the books? */

static enum book_worth judge_book(const struct report_source *source, bool present)
{
	if (!present)
		return BOOK_NONE;
	return source->state == REPORT_SOURCE_OK ? BOOK_OK : BOOK_DATED;
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
static int64_t find_settled_restart(const struct facts *facts)
{
	const struct report *report = facts->input->report;
	int64_t restart = report->kubelet_restarted_at;

	if (facts->is_complete && report->sources.pod_resources.observed_at >= restart)
		return restart;
	return facts->input->settled_restart == restart ? restart : 0;
}

static void judge_books(struct facts *facts)
{
	const struct report *report = facts->input->report;
	int64_t settles_in_ms = settles_in(facts->input);

	facts->list = judge_book(&report->sources.pod_resources, report->pod_resources.present);
	facts->checkpoint = judge_book(&report->sources.checkpoint, report->checkpoint.present);
	facts->is_complete = facts->list == BOOK_OK &&
				node_pods_is_listed(&facts->node_pods);
	facts->settled_restart = find_settled_restart(facts);
	facts->is_settling = settles_in_ms > 0 && !facts->is_complete &&
				facts->settled_restart == 0;
	if (facts->is_settling)
		facts->settles_in_ms = settles_in_ms;
}

bool facts_have_books(const struct facts *facts)
{
	return facts->list != BOOK_NONE || facts->checkpoint != BOOK_NONE;
}

/* The checkpoint */

static void note_entry(struct reader *reader, const struct book_entry *entry)
{
	const struct report_checkpoint_entry *said = entry->said;
	struct holder *owner = ledger_add_owner(
		&reader->ledger,
		(struct holder){
			.pod_uid = entry->pod ? pod_uid(entry->pod) : said->pod_uid,
			.container = said->container,
			.resource = said->resource,
			.pod = entry->pod,
		});
	const struct fact what = {
		.witnesses = WITNESS_CHECKPOINT,
		.mps = said->mps ? FACT_MPS_USED : FACT_MPS_NOT_USED,
	};
	for (uint32_t i = 0; i < said->device_ids.count; i++)
		ledger_note(&reader->ledger, owner, *ARRAY_AT(said->device_ids, struct view, i),
			    what);
}

/* A left-over entry is one that a List which can be believed has nothing of. */
static bool is_left_over(const struct facts *facts, const struct book_entry *entry)
{
	return facts->list == BOOK_OK && !facts->is_settling && !entry->is_supported;
}

static void read_entry(struct reader *reader, const struct book_entry *entry)
{
	struct facts *facts = reader->facts;
	assert(facts->n_ended < reader->book.n_entries); /* one of each at most */
	switch (entry->standing) {
	case BOOK_LIVE:
		note_entry(reader, entry);
		break;
	case BOOK_ENDED:
		if (!entry->pod)
			facts->ended[facts->n_ended++] = entry->said->pod_uid;
		break;
	case BOOK_REFUSED:
		facts->claims_refused++;
		/* When that pod is deleted there, it does not become one that nobody knows here. */
		facts->ended[facts->n_ended++] = entry->said->pod_uid;
		break;
	default:
		if (!is_left_over(facts, entry))
			note_entry(reader, entry);
		break;
	}
}

static int by_text(const void *a, const void *b)
{
	return view_compare(*(const struct view *)a, *(const struct view *)b);
}

static void fold_ended(struct facts *facts)
{
	size_t n = 0;
	qsort(facts->ended, facts->n_ended, sizeof(*facts->ended), by_text);
	for (size_t i = 0; i < facts->n_ended; i++) {
		if (n == 0 || !view_equal(facts->ended[n - 1], facts->ended[i]))
			facts->ended[n++] = facts->ended[i];
	}
	assert(n <= facts->n_ended);
	facts->n_ended = n;
}

static void read_books(struct reader *reader)
{
	struct listing listing = {reader->facts, &reader->book, &reader->past, &reader->ledger};

	judge_books(reader->facts);
	listing_read(&listing);
	for (uint32_t i = 0; i < reader->book.n_entries; i++)
		read_entry(reader, &reader->book.entries[i]);
	fold_ended(reader->facts);
}

/* What the API server says */

static void read_pod_status(struct reader *reader, const struct pod *pod)
{
	uint32_t n;
	const struct pod_allocation *allocations = pod_allocations(pod, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct holder *owner = ledger_add_owner(
			&reader->ledger, (struct holder){
						 .pod_uid = pod_uid(pod),
						 .container = allocations[i].container,
						 .resource = allocations[i].resource,
						 .pod = pod,
					 });
		ledger_note(&reader->ledger, owner, allocations[i].id,
			    (struct fact){.witnesses = WITNESS_POD_STATUS});
	}
}

static void read_statuses(struct reader *reader)
{
	const struct node_pods *node_pods = &reader->facts->node_pods;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++) {
		if (!pod_is_over(node_pods->gpu_pods[i]))
			read_pod_status(reader, node_pods->gpu_pods[i]);
	}
}

/* what: its partition, and whether it is lost. */
static void note_grant(struct reader *reader, const struct grant *grant,
		       const struct device *device, struct fact what)
{
	what.witnesses = WITNESS_RESOURCE_CLAIM;
	what.takes_no_slot = grant->is_admin;
	what.is_monitor = grant->is_admin;
	what.is_part = grant->is_part;
	what.is_share = grant->is_share;
	struct holder *owner = ledger_add_owner(&reader->ledger,
						       (struct holder){
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
			   const struct grant *grant)
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
static bool is_still_unplaced(const struct reader *reader, const struct grant *grant)
{
	const struct devices *devices = reader->facts->devices;
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct attribution_status *published = devices_published(&devices->devices[i]);
		for (uint32_t j = 0; published && j < published->unplaced_tenants.count; j++) {
			if (is_unplaced_by(ARRAY_AT(published->unplaced_tenants,
						    struct attribution_unplaced, j),
					   grant))
				return true;
		}
	}
	return false;
}

static bool may_be_unplaced(const struct reader *reader, const struct grant *grant)
{
	return !reader->facts->input->grants_unknown || is_still_unplaced(reader, grant);
}

/* Without a slice the device is the one that was published, or else told by its raw name only. */
static void read_untold(struct reader *reader, const struct grant *grant)
{
	struct view partition = grant->partition;
	const struct device *seat = claimant_seat(reader->facts, grant, &partition);
	if (seat || may_be_unplaced(reader, grant))
		note_grant(reader, grant, seat, (struct fact){.partition = partition});
}

static const struct device *find_told(const struct reader *reader,
					     const struct grant *grant)
{
	const struct device *device =
		devices_find(reader->facts->devices, grant->uuid).device;
	return device && claimant_is_borne_out(reader->facts, grant, device) ? device : NULL;
}

/* A claim that is gone tells no device: it is by the claim's name that its pods are shown. */
static void read_lost(struct reader *reader, const struct pod *pod)
{
	uint32_t n;
	const struct pod_claim *claims = pod_claims(pod, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct grant grant = {
			.pod = pod, .container = claims[i].container, .device = claims[i].claim};
		if (may_be_unplaced(reader, &grant) &&
		    claimant_is_lost(reader->facts, pod_uid(pod), grant.container) &&
		    !devices_find(reader->facts->devices, grant.device).device)
			note_grant(reader, &grant, NULL, (struct fact){.is_lost = true});
	}
}

/* Those that slices place come first: what they take is not free for others. */
static void read_grants(struct reader *reader)
{
	const struct join_input *input = reader->facts->input;

	for (size_t i = 0; i < input->n_grants; i++) {
		const struct grant *grant = &input->grants[i];
		const struct device *device = find_told(reader, grant);
		if (device && !pod_is_over(grant->pod))
			note_grant(reader, grant, device,
				   (struct fact){.partition = grant->partition});
	}
	for (size_t i = 0; i < input->n_grants; i++) {
		const struct grant *grant = &input->grants[i];
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

static size_t count_allocations(const struct node_pods *node_pods)
{
	size_t n = 0;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++) {
		uint32_t n_of_pod;
		pod_allocations(node_pods->gpu_pods[i], &n_of_pod);
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
	struct facts *facts = reader->facts;
	const struct join_input *input = facts->input;
	const struct array list = input->report ? input->report->pod_resources : (struct array){0};
	size_t n_told = count_allocations(&facts->node_pods) + input->n_grants +
			count_lacking(input) + stand_in_count(&facts->node_pods);

	facts->ended = arena_alloc(arena, reader->book.n_entries, sizeof(*facts->ended));
	if (!facts->ended)
		return error_no_memory(err);
	return ledger_open(&reader->ledger, facts, list.count + reader->book.n_entries + n_told,
			   count_listed_ids(list) + reader->book.n_ids + n_told, arena, err);
}

static int read_checkpoint(struct reader *reader, struct arena *arena, struct error *err)
{
	const struct facts *facts = reader->facts;
	if (past_read(facts->devices, arena, &reader->past, err) < 0)
		return -1;
	return book_read(&facts->node_pods, &reader->past, arena, &reader->book, err);
}

int facts_read(const struct join_input *input, const struct devices *devices, struct arena *arena,
		 struct facts *ret_holdings, struct error *err)
{
	struct facts facts = {
		.input = input, .devices = devices, .settles_in_ms = -1};
	struct reader reader = {.facts = &facts};

	if (node_pods_take(input, arena, &facts.node_pods, err) < 0 ||
	    (input->report && read_checkpoint(&reader, arena, err) < 0) ||
	    make_room(&reader, arena, err) < 0)
		return -1;
	if (input->report)
		read_books(&reader);
	read_statuses(&reader);
	read_grants(&reader);
	stand_in_resolve(&reader.ledger);
	ledger_close(&reader.ledger);
	assert(facts.n_placed <= facts.n_items);
	*ret_holdings = facts;
	return 0;
}

static int compare_place(const struct fact *item, size_t device, struct view pod_uid,
			 struct view container)
{
	int order = (item->device > device) - (item->device < device);
	if (!order)
		order = view_compare(item->owner->pod_uid, pod_uid);
	return order ? order : view_compare(item->owner->container, container);
}

const struct fact *facts_of_holder(const struct facts *facts, size_t device,
				       struct view pod_uid, struct view container, size_t *ret_n)
{
	size_t low = 0, high = facts->n_items, n = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_place(&facts->items[middle], device, pod_uid, container) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < facts->n_items &&
	       compare_place(&facts->items[low + n], device, pod_uid, container) == 0)
		n++;
	*ret_n = n;
	return n > 0 ? &facts->items[low] : NULL;
}

/* Index of the first item of that device, or of a later one. */
static size_t find_device(const struct facts *facts, size_t device)
{
	size_t low = 0, high = facts->n_items;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (facts->items[middle].device < device)
			low = middle + 1;
		else
			high = middle;
	}
	assert(low == 0 || facts->items[low - 1].device < device);
	assert(low == facts->n_items || facts->items[low].device >= device);
	return low;
}

const struct fact *facts_of(const struct facts *facts, size_t device, size_t *ret_n)
{
	size_t first = find_device(facts, device);
	assert(device < facts->devices->n_devices);
	*ret_n = find_device(facts, device + 1) - first;
	return *ret_n > 0 ? &facts->items[first] : NULL;
}

static int by_owner(const void *key, const void *element)
{
	const struct holder *x = key, *y = *(const struct holder *const *)element;
	int order = view_compare(x->pod_uid, y->pod_uid);
	return order ? order : view_compare(x->container, y->container);
}

unsigned facts_heard_of(const struct facts *facts, struct view pod_uid,
			  struct view container)
{
	const struct holder key = {.pod_uid = pod_uid, .container = container};
	struct holder *const *found = bsearch(&key, facts->owners, facts->n_owners,
						     sizeof(*facts->owners), by_owner);
	return found ? (*found)->heard : 0;
}
