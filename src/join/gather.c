/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Everything hangs on the place of the node, so this is a walk over lists; only what other nodes
 * say of the same devices and pods is looked up by name.
 */

#include "join/gather.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "model/grant.h"
#include "model/attribution_set.h"
#include "model/claim.h"
#include "model/device_id.h"
#include "model/pod_set.h"
#include "model/resource_claim_set.h"
#include "model/resource_slice_set.h"

/* A claim's key is longer than that of any claim that there can be. */
#define KEY_SIZE 512u

static size_t count_links(const struct list *head)
{
	size_t n = 0;

	for (const struct list *l = head->next; l != head; l = l->next)
		n++;
	return n;
}

static int gather_pods(const struct place *place, struct arena *arena, struct join_input *input,
		       struct error *err)
{
	size_t n = count_links(&place->pods);
	const struct pod **pods = arena_alloc(arena, n, sizeof(*pods));
	const struct pod **told_later = arena_alloc(arena, n, sizeof(*told_later));

	if (!pods || !told_later)
		return error_no_memory(err);
	input->pods = pods;
	input->n_pods = n;
	input->told_later = told_later;
	for (struct list *l = place->pods.next; l != &place->pods; l = l->next) {
		const struct pod_record *record = CONTAINER_OF(l, struct pod_record, base.link);

		*pods++ = record->pod;
		if (record->start_told_at > place->listed_told_at)
			told_later[input->n_told_later++] = record->pod;
	}
	assert(pods == input->pods + n && input->n_told_later <= n);
	return 0;
}

/* Copies: what a join says of them comes back, and inventory_keep_recall() changes the list. */
static int gather_ended(const struct place *place, struct arena *arena, struct join_input *input,
			struct error *err)
{
	struct view *uids = arena_alloc(arena, place->n_ended, sizeof(*uids));

	if (!uids)
		return error_no_memory(err);
	input->ended = uids;
	input->n_ended = place->n_ended;
	for (struct list *l = place->ended.next; l != &place->ended; l = l->next) {
		assert(uids < input->ended + input->n_ended);
		if (!arena_copy(arena, CONTAINER_OF(l, struct place_ended, link)->uid, uids++))
			return error_no_memory(err);
	}
	return 0;
}

/* After gather_pods() and gather_ended(). */
static int gather_ends(const struct place *place, uint64_t now_ms, struct arena *arena,
		       struct join_input *input, struct error *err)
{
	struct join_end *ends = arena_alloc(arena, input->n_ended + input->n_pods, sizeof(*ends));
	size_t n = 0;

	if (!ends)
		return error_no_memory(err);
	for (struct list *l = place->ended.next; l != &place->ended; l = l->next, n++)
		ends[n] = (struct join_end){
			.pod_uid = input->ended[n],
			.age_ms = (int64_t)(now_ms -
					    CONTAINER_OF(l, struct place_ended, link)->since),
		};
	for (struct list *l = place->pods.next; l != &place->pods; l = l->next) {
		const struct pod_record *record = CONTAINER_OF(l, struct pod_record, base.link);

		if (record->over_since > 0)
			ends[n++] = (struct join_end){
				.pod_uid = pod_uid(record->pod),
				.age_ms = (int64_t)(now_ms - record->over_since),
			};
	}
	assert(n <= input->n_ended + input->n_pods);
	input->ends = ends;
	input->n_ends = n;
	return 0;
}

/* At the first List it was gone already, or its end would be remembered. */
static int64_t ended_for(const struct inventory_parts *parts, uint64_t now_ms)
{
	uint64_t age = now_ms - parts->pods_known_at;

	assert(parts->pods_known_at <= now_ms);
	return parts->pods_known_at > 0 && age <= PLACE_ENDED_KEEP_MS ? (int64_t)age : -1;
}

static int gather_doubts(const struct place *place, uint64_t now_ms, struct arena *arena,
			 struct join_input *input, struct error *err)
{
	struct recall_debounced *doubts = arena_alloc(arena, place->n_doubts, sizeof(*doubts));

	if (!doubts)
		return error_no_memory(err);
	for (size_t i = 0; i < place->n_doubts; i++)
		doubts[i] = (struct recall_debounced){
			.key = place->doubts[i].key,
			.age_ms = (int64_t)(now_ms - place->doubts[i].since),
		};
	input->doubts = doubts;
	input->n_doubts = place->n_doubts;
	return 0;
}

/* The UIDs of pods that are named here, and those of them that are on other nodes. */
struct named {
	const struct inventory_parts *parts;
	const struct place *place;
	struct view *elsewhere;
	size_t n_elsewhere, cap;
};

static void note_named(struct named *named, struct view uid)
{
	const struct place *other = pod_set_place_of(named->parts->pods, uid);

	assert(named->n_elsewhere < named->cap);
	if (other && other != named->place)
		named->elsewhere[named->n_elsewhere++] = uid;
}

static const struct array *processes_of(const struct report *report, uint32_t device)
{
	return &ARRAY_AT(report->devices, struct report_device, device)->processes;
}

static size_t count_named(const struct report *report)
{
	size_t n = report->checkpoint.entries.count;

	for (uint32_t i = 0; i < report->devices.count; i++)
		n += processes_of(report, i)->count;
	return n;
}

static const struct array *tenants_of(const struct list *link)
{
	return &CONTAINER_OF(link, struct attribution_record, base.link)->attribution.status.tenants;
}

static size_t count_published(const struct place *place)
{
	size_t n = 0;

	for (const struct list *l = place->attributions.next; l != &place->attributions;
	     l = l->next)
		n += tenants_of(l)->count;
	return n;
}

/* Whom a name was found for was of this node. */
static void note_published(struct named *named)
{
	const struct list *end = &named->place->attributions;

	for (const struct list *l = end->next; l != end; l = l->next)
		for (uint32_t i = 0; i < tenants_of(l)->count; i++) {
			const struct attribution_tenant *tenant = ARRAY_AT(
				*tenants_of(l), struct attribution_tenant, i);

			if (tenant->pod_name.len == 0)
				note_named(named, tenant->pod_uid);
		}
}

static int by_text(const void *a, const void *b)
{
	return view_compare(*(const struct view *)a, *(const struct view *)b);
}

/* One pod can have many processes. */
static size_t fold_named(const struct named *named)
{
	size_t n = 0;

	qsort(named->elsewhere, named->n_elsewhere, sizeof(*named->elsewhere), by_text);
	for (size_t i = 0; i < named->n_elsewhere; i++)
		if (n == 0 || !view_equal(named->elsewhere[n - 1], named->elsewhere[i]))
			named->elsewhere[n++] = named->elsewhere[i];
	return n;
}

static int gather_elsewhere(const struct inventory_parts *parts, const struct place *place,
			    struct arena *arena, struct join_input *input, struct error *err)
{
	static const struct report nothing;
	const struct report *report = place->report ? place->report : &nothing;
	const struct array *entries = &report->checkpoint.entries;
	struct named named = {
		.parts = parts,
		.place = place,
		.cap = count_named(report) + count_published(place),
	};

	named.elsewhere = arena_alloc(arena, named.cap, sizeof(*named.elsewhere));
	if (!named.elsewhere)
		return error_no_memory(err);
	for (uint32_t i = 0; i < entries->count; i++)
		note_named(&named, ARRAY_AT(*entries, struct report_checkpoint_entry, i)->pod_uid);
	for (uint32_t i = 0; i < report->devices.count; i++) {
		const struct array *processes = processes_of(report, i);

		for (uint32_t k = 0; k < processes->count; k++)
			note_named(&named, ARRAY_AT(*processes, struct report_process, k)->pod_uid);
	}
	note_published(&named);
	input->elsewhere = named.elsewhere;
	input->n_elsewhere = fold_named(&named);
	return 0;
}

/* No two pods have one name: of whom the List speaks is on another node, if the name is. */
static int gather_foreign(const struct inventory_parts *parts, const struct place *place,
			  struct arena *arena, struct join_input *input, struct error *err)
{
	const struct array list = place->report ? place->report->pod_resources : (struct array){0};
	bool *is_foreign = arena_alloc(arena, list.count, sizeof(*is_foreign));

	if (!is_foreign)
		return error_no_memory(err);
	input->is_foreign = is_foreign;
	for (uint32_t i = 0; i < list.count; i++) {
		const struct report_pod_resource *said = ARRAY_AT(list, struct report_pod_resource,
								  i);
		const struct place *other = pod_set_place_of_name(parts->pods, said->namespace,
								  said->name);

		is_foreign[i] = other && other != place;
	}
	return 0;
}

/* The objects that a join is given, without repetition. */
struct gathering {
	const struct inventory_parts *parts;
	const struct place *place;
	uint64_t now_ms;
	struct join_previous *items;
	size_t n, cap;
	uint32_t n_left_out; /* as often as they were named */
};

/* An owner that has not spoken since the start may be about to: until then it has the benefit. */
static int64_t claimed_age(const struct gathering *gathering,
			   const struct attribution_record *record)
{
	const struct place *owner = record->base.place;
	int64_t age = claim_age(gathering->parts->claims, record->attribution.name,
				gathering->place, gathering->now_ms);
	int64_t since_start = (int64_t)(gathering->now_ms - gathering->parts->started_at);

	assert(since_start >= 0);
	if (!owner || owner == gathering->place || owner->report)
		return age;
	return age >= 0 ? age : since_start;
}

static void gather_object(struct gathering *gathering, const struct attribution_record *record)
{
	for (size_t i = 0; i < gathering->n; i++)
		if (gathering->items[i].object == &record->attribution)
			return;
	assert(gathering->n <= gathering->cap);
	if (gathering->n == gathering->cap) {
		gathering->n_left_out++;
		return;
	}
	gathering->items[gathering->n++] = (struct join_previous){
		.object = &record->attribution,
		.claimed_age_ms = claimed_age(gathering, record),
		.claimed_for_ms = claim_held_for(gathering->parts->claims,
						 record->attribution.name, gathering->place,
						 gathering->now_ms),
		.is_named_elsewhere = !gathering->place->report && record->base.place &&
				      record->base.place != gathering->place &&
				      attribution_set_is_named(record->base.place,
							       record->attribution.uuid),
	};
}

static void gather_named(struct gathering *gathering, struct view uuid)
{
	char buffer[CLAIM_NAME_SIZE];
	const struct attribution_record *record = attribution_set_find(
		gathering->parts->attributions, claim_object_name(uuid, buffer));

	if (record)
		gather_object(gathering, record);
}

/* There are no objects of MIG devices: what their IDs name is not found. */
static void gather_id(struct gathering *gathering, struct view device_id)
{
	gather_named(gathering, device_id_parse(device_id).uuid);
}

static void gather_ids(struct gathering *gathering, const struct array ids)
{
	for (uint32_t i = 0; i < ids.count; i++)
		gather_id(gathering, *ARRAY_AT(ids, struct view, i));
}

/* While NVML does not list the devices, the kubelet's books name them (join/devices.h). */
static void gather_books(struct gathering *gathering, const struct report *report)
{
	const struct array *offers[] = {&report->allocatable, &report->checkpoint.registered};

	for (size_t k = 0; k < ARRAY_SIZE(offers); k++)
		for (uint32_t i = 0; i < offers[k]->count; i++)
			gather_ids(gathering,
				   ARRAY_AT(*offers[k], struct report_resource_devices, i)
					   ->device_ids);
	for (uint32_t i = 0; i < report->pod_resources.count; i++)
		gather_ids(
			gathering,
			ARRAY_AT(report->pod_resources, struct report_pod_resource, i)->device_ids);
	for (uint32_t i = 0; i < report->checkpoint.entries.count; i++)
		gather_ids(gathering,
			   ARRAY_AT(report->checkpoint.entries, struct report_checkpoint_entry, i)
				   ->device_ids);
}

/* Without NVML's word the API server names devices as well. */
static void gather_api(struct gathering *gathering, const struct join_input *input)
{
	for (size_t i = 0; i < input->n_pods; i++) {
		uint32_t n;
		const struct pod_allocation *allocations = pod_allocations(input->pods[i], &n);

		for (uint32_t k = 0; k < n; k++)
			gather_id(gathering, allocations[k].id);
	}
	for (size_t i = 0; i < input->n_slice_devices; i++)
		gather_named(gathering, input->slice_devices[i].uuid);
}

static int gather_previous(const struct inventory_parts *parts, const struct place *place,
			   uint64_t now_ms, struct arena *arena, struct join_input *input,
			   struct error *err)
{
	const struct report *report = place->report;
	struct gathering gathering = {
		.parts = parts,
		.place = place,
		.now_ms = now_ms,
		.cap = count_links(&place->attributions) + 2 * LIMIT_REPORT_DEVICES,
	};

	gathering.items = arena_alloc(arena, gathering.cap, sizeof(*gathering.items));
	if (!gathering.items)
		return error_no_memory(err);
	for (struct list *l = place->attributions.next; l != &place->attributions; l = l->next)
		gather_object(&gathering, CONTAINER_OF(l, struct attribution_record, base.link));
	for (uint32_t i = 0; report && i < report->devices.count; i++)
		gather_named(&gathering, ARRAY_AT(report->devices, struct report_device, i)->uuid);
	if (report && report->sources.nvml.state != REPORT_SOURCE_OK)
		gather_books(&gathering, report);
	if (!report || report->sources.nvml.state != REPORT_SOURCE_OK)
		gather_api(&gathering, input);
	input->previous = gathering.items;
	input->n_previous = gathering.n;
	input->previous_left_out = gathering.n_left_out;
	return 0;
}

static int gather_contested(const struct inventory_parts *parts, const struct place *place,
			    uint64_t now_ms, struct arena *arena, struct join_input *input,
			    struct error *err)
{
	const struct array devices = place->report ? place->report->devices : (struct array){0};
	struct view *uuids = arena_alloc(arena, devices.count, sizeof(*uuids));

	if (!uuids)
		return error_no_memory(err);
	input->contested = uuids;
	for (uint32_t i = 0; i < devices.count; i++) {
		struct view uuid = ARRAY_AT(devices, struct report_device, i)->uuid;
		char buffer[CLAIM_NAME_SIZE];
		struct view name = claim_object_name(uuid, buffer);
		int64_t age = claim_age(parts->claims, name, place, now_ms);

		if (age >= 0 && age < input->report_age_ms &&
		    !attribution_set_find(parts->attributions, name))
			uuids[input->n_contested++] = uuid;
	}
	return 0;
}

/* Dynamic resource allocation */

/* The pod's claim of that name; NULL: the API server has none, or it was not seen yet. */
static const struct resource_claim *find_claim(const struct inventory_parts *parts,
					       const struct pod *pod, struct view name)
{
	char key[KEY_SIZE];
	struct view namespace = pod_namespace(pod);

	if (namespace.len + 1 + name.len > sizeof(key))
		return NULL;
	memcpy(key, namespace.ptr, namespace.len);
	key[namespace.len] = '/';
	memcpy(key + namespace.len + 1, name.ptr, name.len);
	return resource_claim_set_find(parts->resource_claims,
				       (struct view){key, namespace.len + 1 + name.len});
}

static size_t count_uses(const struct join_input *input)
{
	size_t n = 0;

	for (size_t i = 0; i < input->n_pods; i++) {
		uint32_t n_claims;

		(void)pod_claims(input->pods[i], &n_claims);
		n += n_claims;
	}
	return n;
}

/* It gives the pod what it ever will: another driver's devices, or what was reserved for the pod. */
static bool is_settled(const struct grant_use *use)
{
	return use->claim->is_allocated &&
	       (use->claim->results.count == 0 ||
		resource_claim_is_reserved_for(use->claim, pod_uid(use->pod)));
}

/*
 * Adds the uses of claims that are here. The others are under way, or of a version of the API that
 * is not read.
 */
static void add_uses(const struct inventory_parts *parts, const struct pod *pod,
		     struct grant_input *grants, struct grant_use *uses, bool *ret_lacks,
		     bool *ret_awaits)
{
	uint32_t n_claims;
	const struct pod_claim *claims = pod_claims(pod, &n_claims);
	bool lacks = false;
	bool awaits = n_claims > 0 && (pod_left_out(pod) > 0 || !parts->grants_known);

	for (uint32_t k = 0; k < n_claims; k++) {
		const struct grant_use use = {
			.pod = pod,
			.use = &claims[k],
			.claim = find_claim(parts, pod, claims[k].claim),
		};

		lacks |= !use.claim;
		awaits |= use.claim && !is_settled(&use);
		if (use.claim)
			uses[grants->n_uses++] = use;
	}
	*ret_lacks = lacks && !pod_is_over(pod);
	*ret_awaits = awaits && !pod_is_over(pod);
}

static int gather_uses(const struct inventory_parts *parts, struct arena *arena,
		       struct join_input *input, struct grant_input *grants, struct error *err)
{
	struct grant_use *uses = arena_alloc(arena, count_uses(input), sizeof(*uses));
	const struct pod **lacking = arena_alloc(arena, input->n_pods, sizeof(*lacking));
	const struct pod **awaiting = arena_alloc(arena, input->n_pods, sizeof(*awaiting));

	if (!uses || !lacking || !awaiting)
		return error_no_memory(err);
	grants->uses = uses;
	input->lacking = lacking;
	input->awaiting = awaiting;
	for (size_t i = 0; i < input->n_pods; i++) {
		bool lacks, awaits;

		add_uses(parts, input->pods[i], grants, uses, &lacks, &awaits);
		if (lacks)
			lacking[input->n_lacking++] = input->pods[i];
		if (awaits)
			awaiting[input->n_awaiting++] = input->pods[i];
	}
	return 0;
}

/* A claim that comes, or is allocated, may change something. What is reserved says for whom. */
static bool lacks_claims(const struct join_input *input, const struct grant_input *grants)
{
	bool lacks = input->n_lacking > 0;

	for (size_t i = 0; i < grants->n_uses; i++)
		lacks |= !grants->uses[i].claim->is_allocated && !pod_is_over(grants->uses[i].pod);
	return lacks;
}

static int gather_slices(const struct place *place, struct arena *arena, struct grant_input *grants,
			 struct error *err)
{
	const struct resource_slice **slices = arena_alloc(arena, place->n_slices, sizeof(*slices));

	if (!slices)
		return error_no_memory(err);
	grants->slices = slices;
	for (struct list *l = place->slices.next; l != &place->slices; l = l->next) {
		assert(grants->n_slices < place->n_slices);
		slices[grants->n_slices++] =
			CONTAINER_OF(l, struct resource_slice_record, base.link)->slice;
	}
	return 0;
}

/* After gather_pods(). */
static int gather_grants(const struct inventory_parts *parts, struct place *place, uint64_t now_ms,
			 struct arena *arena, struct join_input *input, struct error *err)
{
	bool is_distrusted = place->slices_distrusted_until > now_ms;
	struct grant_input grants = {0};
	struct grant_result result;

	if (gather_uses(parts, arena, input, &grants, err) < 0 ||
	    (!is_distrusted && gather_slices(place, arena, &grants, err) < 0) ||
	    grant_compute(&grants, arena, &result, err) < 0)
		return -1;
	place_note_claims(parts->places, place, lacks_claims(input, &grants));
	input->grants = result.grants;
	input->n_grants = result.n_grants;
	input->slice_devices = result.devices;
	input->n_slice_devices = result.n_devices;
	input->slice_devices_left_out = result.devices_left_out;
	input->grants_unknown |= result.is_incomplete || is_distrusted;
	return 0;
}

/* The node itself */

/*
 * A place keeps in mind when its Node went only while something hangs on it: where something does
 * again, or for the first time since the start, the Node may have gone just before.
 */
static int64_t gone_for(const struct inventory_parts *parts, const struct place *place,
			uint64_t now_ms)
{
	uint64_t since = parts->nodes_known_at;

	if (place->node || !parts->nodes_known)
		return 0;
	if (place->gone_at > since)
		since = place->gone_at;
	if (place->asked_at > since)
		since = place->asked_at;
	assert(since <= now_ms);
	return (int64_t)(now_ms - since);
}

/* Of two boots the one is over that was told of first. */
static bool is_of_former_boot(const struct place *place)
{
	const struct report *report = place->report;

	return report && place->node && place->is_boot_news && report->boot_id.len > 0 &&
	       place->node->boot_id.len > 0 &&
	       !view_equal(report->boot_id, place->node->boot_id);
}

/* Of the pods, and of the nodes that they are on. */
static enum join_pods age_of_pods(const struct inventory_parts *parts)
{
	if (parts->pods_age == INVENTORY_DENIED)
		return JOIN_PODS_DENIED;
	return parts->pods_age == INVENTORY_CURRENT && parts->nodes_age == INVENTORY_CURRENT
		       ? JOIN_PODS_CURRENT
		       : JOIN_PODS_STALE;
}

int gather_node(const struct inventory_parts *parts, struct view node_name, uint64_t now_ms,
		struct arena *arena, struct join_input *ret_input, struct error *err)
{
	struct place *place = place_find(parts->places, node_name);
	struct join_input input = {
		.node_name = node_name,
		.intent = parts->intent,
		.grants_unknown = !parts->grants_known,
		.pods_age = age_of_pods(parts),
		.grants_denied = !parts->grants_known,
		.ended_for_ms = -1,
	};

	if (!place) {
		*ret_input = input;
		return 0;
	}
	if (place->asked_at == 0)
		place->asked_at = now_ms;
	input.node = place->node;
	input.node_gone_for_ms = gone_for(parts, place, now_ms);
	input.report = place->report;
	input.report_age_ms = (int64_t)(now_ms -
					(place->report ? place->report_at : place->asked_at));
	if (place->report)
		input.report_held_ms = (int64_t)(now_ms - place->report_since);
	assert(input.report_age_ms >= 0 && input.report_held_ms >= 0);
	input.listed_at = place->listed_at;
	input.booted_after = place->booted_after;
	input.is_of_former_boot = is_of_former_boot(place);
	input.settled_restart = place->settled_restart;
	input.ended_for_ms = ended_for(parts, now_ms);
	if (gather_pods(place, arena, &input, err) < 0 ||
	    gather_ended(place, arena, &input, err) < 0 ||
	    gather_ends(place, now_ms, arena, &input, err) < 0 ||
	    gather_doubts(place, now_ms, arena, &input, err) < 0 ||
	    gather_elsewhere(parts, place, arena, &input, err) < 0 ||
	    gather_foreign(parts, place, arena, &input, err) < 0 ||
	    gather_grants(parts, place, now_ms, arena, &input, err) < 0 ||
	    gather_previous(parts, place, now_ms, arena, &input, err) < 0 ||
	    gather_contested(parts, place, now_ms, arena, &input, err) < 0)
		return -1;
	*ret_input = input;
	return 0;
}
