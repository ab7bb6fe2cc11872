/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The facts of a device, sorted by holder, fall into one group a container: its tenants. What
 * was published before is then gone through for tenants that no book names now:
 *
 *	the API server says that its pod is gone or over	it ended
 *	both books are good, the List is complete, and
 *	neither has it						it ended
 *	HAMi's annotation places all for which it stood in	it ended
 *	otherwise						it stays as it was
 *
 * A holder that the API server has never known cannot end by its word: it goes when the checkpoint
 * no longer has it, or the API server turns out to have it on another node.
 */

#include "join/tenant.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "join/claimant.h"

#define UID_SHOWN 8 /* bytes of a UID in a summary */

struct resolver {
	const struct facts *facts;
	const struct join_input *input;
	const struct device *device;
	const struct attribution_status *published; /* NULL: nothing to carry over */
	struct arena *arena;
	struct attribution_tenant *tenants;
	size_t n_tenants;
	struct attribution_past_tenant *ended; /* just now */
	size_t n_ended;
	int64_t left_out_before; /* those that were not listed, when nothing is known of them now */
	struct tenants result;
};

/* Those that are up to date as long as the watches are: what they no longer say is so no more. */
#define WITNESSES_OF_API (WITNESS_POD_STATUS | WITNESS_RESOURCE_CLAIM | WITNESS_KAI)
/* Those that name the pod by its UID, and are not written by whoever may edit the pod. */
#define WITNESSES_BY_UID (WITNESS_CHECKPOINT | WITNESS_POD_STATUS | WITNESS_RESOURCE_CLAIM)

static bool is_unknown_pod(const struct attribution_tenant *tenant)
{
	return tenant->phase == ATTRIBUTION_PHASE_PENDING ||
	       tenant->phase == ATTRIBUTION_PHASE_UNRESOLVED;
}

/* One tenant from its facts */

static int phase_of_container(const struct pod *pod, struct view name)
{
	const struct pod_container *c = pod_find_container(pod, name);
	if (!c)
		return pod_phase(pod) == POD_PHASE_RUNNING ? ATTRIBUTION_PHASE_RUNNING
							   : ATTRIBUTION_PHASE_STARTING;
	switch (c->state) {
	case POD_CONTAINER_RUNNING:
		return ATTRIBUTION_PHASE_RUNNING;
	case POD_CONTAINER_TERMINATED:
		return ATTRIBUTION_PHASE_RESERVED;
	default:
		return ATTRIBUTION_PHASE_STARTING;
	}
}

static int phase_of(const struct pod *pod, struct view container)
{
	return pod_is_deleting(pod) ? ATTRIBUTION_PHASE_TERMINATING
				    : phase_of_container(pod, container);
}

/* Anybody may call a pod of his own what the operator calls its pods, but not in its namespace. */
static bool is_validation(const struct intent *intent, const struct pod *pod)
{
	return pod_is_system(pod) && intent && intent->policy &&
	       view_equal(intent->policy->namespace, pod_namespace(pod));
}

static void describe_pod(const struct resolver *resolver, const struct pod *pod,
			 struct attribution_tenant *tenant)
{
	tenant->pod_namespace = pod_namespace(pod);
	tenant->pod_name = pod_name(pod);
	tenant->workload.kind = pod_owner_kind(pod);
	tenant->workload.name = pod_owner_name(pod);
	tenant->workload.present = tenant->workload.kind.len > 0;
	tenant->system |= is_validation(resolver->input->intent, pod);
	tenant->phase = phase_of(pod, tenant->container);
}

/* As the tenant was published, also under the UID that only the kubelet uses for a static pod. */
static const struct attribution_tenant *find_published(const struct resolver *resolver,
						       const struct holder *owner)
{
	const struct attribution_tenant *found;
	if (!resolver->published)
		return NULL;
	found = attribution_find_tenant(resolver->published, owner->pod_uid, owner->container);
	if (found || !owner->pod || pod_config_hash(owner->pod).len == 0)
		return found;
	return attribution_find_tenant(resolver->published, pod_config_hash(owner->pod),
				       owner->container);
}

static void wait_for_pod(struct resolver *resolver, struct attribution_tenant *tenant)
{
	int64_t now = resolver->input->now_wall_ms;
	int64_t *again = &resolver->result.again_in_ms;

	/* The clock was set back: better to wait once more than until it has caught up. */
	if (tenant->since > now)
		tenant->since = now;
	int64_t left = resolver->input->limits->pending_ms - (now - tenant->since);
	tenant->confidence = ATTRIBUTION_CONFIDENCE_UNCONFIRMED;
	tenant->phase = left > 0 ? ATTRIBUTION_PHASE_PENDING : ATTRIBUTION_PHASE_UNRESOLVED;
	if (left > 0 && (*again < 0 || left < *again))
		*again = left;
}

static bool holds_the_same(const struct attribution_tenant *a, const struct attribution_tenant *b)
{
	if (a->slots != b->slots || a->partitions.count != b->partitions.count)
		return false;
	for (uint32_t i = 0; i < a->partitions.count; i++) {
		if (!view_equal(*ARRAY_AT(a->partitions, struct view, i),
				*ARRAY_AT(b->partitions, struct view, i)))
			return false;
	}
	return true;
}

static unsigned published_witnesses(const struct attribution_tenant *before)
{
	return before ? wording_witnesses_of(before->witnesses) : 0;
}

/* By those witnesses and no others: what is published shows what it rests on. */
static int confidence_of(unsigned witnesses, const struct attribution_tenant *tenant)
{
	if (wording_placeholder_of(tenant->stand_in) == PLACEHOLDER_HAMI)
		return ATTRIBUTION_CONFIDENCE_UNCONFIRMED; /* it holds some device, maybe not this */
	if (!(witnesses & ~(unsigned)WITNESS_PROCESSES))
		return ATTRIBUTION_CONFIDENCE_UNCONFIRMED;
	if (witnesses & WITNESSES_BY_UID)
		return ATTRIBUTION_CONFIDENCE_CONFIRMED;
	if (witnesses & (WITNESS_HAMI | WITNESS_KAI))
		return witnesses & WITNESS_PROCESSES ? ATTRIBUTION_CONFIDENCE_CONFIRMED
						     : ATTRIBUTION_CONFIDENCE_ANNOTATED;
	return ATTRIBUTION_CONFIDENCE_NAME_ONLY;
}

static int set_witnesses(struct resolver *resolver, unsigned witnesses,
			 struct attribution_tenant *tenant, struct error *err)
{
	struct view *texts = arena_alloc(resolver->arena, N_WITNESSES, sizeof(*texts));
	uint32_t n = 0;
	if (!texts)
		return error_no_memory(err);
	for (unsigned i = 0; i < N_WITNESSES; i++) {
		if (witnesses & (1u << i))
			texts[n++] = wording_witness(i);
	}
	tenant->witnesses = (struct array){texts, n, true};
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return view_compare(*(const struct view *)a, *(const struct view *)b);
}

static int set_partitions(struct resolver *resolver, const struct fact *group, size_t n_group,
			  struct attribution_tenant *tenant, struct error *err)
{
	struct view *texts = arena_alloc(resolver->arena, n_group, sizeof(*texts));
	uint32_t n = 0, n_unique = 0;
	if (!texts)
		return error_no_memory(err);
	for (size_t i = 0; i < n_group; i++) {
		if (group[i].partition.len > 0)
			texts[n++] = group[i].partition;
	}
	qsort(texts, n, sizeof(*texts), by_text);
	for (uint32_t i = 0; i < n; i++) {
		if (n_unique == 0 || !view_equal(texts[n_unique - 1], texts[i]))
			texts[n_unique++] = texts[i];
	}
	if (n_unique > LIMIT_PARTITIONS) {
		tenant->partitions_left_out = n_unique - LIMIT_PARTITIONS;
		n_unique = LIMIT_PARTITIONS;
	}
	assert(n_unique <= n && n <= n_group);
	tenant->partitions = (struct array){n_unique > 0 ? texts : NULL, n_unique, true};
	return 0;
}

/*
 * What the kubelet's books said is not unsaid by there being no report yet, nor what the checkpoint
 * said of the same slots while it cannot be read, nor a List that it was in by one that may be
 * short, nor a claim while claims cannot be read. But what they said when the container was HAMi's
 * stand-in there was not about the device that its annotation now tells. That a process was seen
 * stays true.
 */
static unsigned witnesses_of(const struct resolver *resolver, const struct fact *group,
			     size_t n_group, const struct attribution_tenant *tenant,
			     const struct attribution_tenant *before)
{
	unsigned witnesses = 0, kept = WITNESS_PROCESSES;
	assert(n_group > 0);
	for (size_t i = 0; i < n_group; i++)
		witnesses |= group[i].witnesses;
	if (!resolver->input->report)
		kept |= WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES;
	if (resolver->facts->checkpoint == BOOK_NONE && before &&
	    !is_unknown_pod(before) && holds_the_same(before, tenant))
		kept |= WITNESS_CHECKPOINT;
	if (resolver->facts->is_settling)
		kept |= WITNESS_POD_RESOURCES;
	if ((witnesses & WITNESS_HAMI) && before && wording_placeholder_of(before->stand_in) == PLACEHOLDER_HAMI)
		kept = WITNESS_PROCESSES;
	if (claimant_is_unheard(resolver->input, group[0].owner->pod_uid))
		kept |= WITNESS_RESOURCE_CLAIM;
	return witnesses | (published_witnesses(before) & kept);
}

static int64_t count_slots(const struct fact *group, size_t n_group)
{
	int64_t n = 0;
	for (size_t i = 0; i < n_group; i++)
		n += !group[i].takes_no_slot;
	return n;
}

/* Not a user of the device itself: it only watches, or holds it for others that are listed. */
static bool is_no_user(const struct fact *group, size_t n_group)
{
	for (size_t i = 0; i < n_group; i++) {
		if (!group[i].is_monitor && !group[i].owner->is_resolved)
			return false;
	}
	return true;
}

static struct view lowest_resource(const struct fact *group, size_t n_group)
{
	struct view lowest = group[0].owner->resource;
	for (size_t i = 1; i < n_group; i++) {
		if (view_compare(group[i].owner->resource, lowest) < 0)
			lowest = group[i].owner->resource;
	}
	return lowest;
}

/* One of its facts is enough: of that one nothing more is known. */
static struct view stand_in_of(const struct fact *group, size_t n_group)
{
	for (size_t i = 0; i < n_group; i++) {
		if (group[i].owner->stand_in.len > 0 && !group[i].owner->is_resolved)
			return group[i].owner->stand_in;
	}
	return (struct view){0};
}

/* It may mean the static pod that comes after this one (join/listing.c). */
static bool is_mirror_by_name(const struct fact *group, size_t n_group)
{
	const struct pod *pod = group[0].owner->pod;
	if (!pod || pod_config_hash(pod).len == 0)
		return false;
	for (size_t i = 0; i < n_group; i++) {
		if (group[i].witnesses == WITNESS_POD_RESOURCES)
			return true;
	}
	return false;
}

static int add_group(struct resolver *resolver, const struct fact *group, size_t n_group,
		     struct error *err)
{
	const struct holder *owner = group[0].owner;
	const struct attribution_tenant *before = find_published(resolver, owner);
	struct attribution_tenant *tenant = &resolver->tenants[resolver->n_tenants++];
	unsigned witnesses;

	assert(owner->pod_uid.len > 0);
	*tenant = (struct attribution_tenant){
		.pod_uid = owner->pod_uid,
		.container = owner->container,
		.resource = lowest_resource(group, n_group),
		.slots = count_slots(group, n_group),
		.stand_in = stand_in_of(group, n_group),
		.system = is_no_user(group, n_group),
		.since = before && before->since ? before->since : resolver->input->now_wall_ms,
	};
	if (set_partitions(resolver, group, n_group, tenant, err) < 0)
		return -1;
	if (before && is_mirror_by_name(group, n_group)) {
		tenant->slots = before->slots;
		tenant->partitions = before->partitions;
		tenant->partitions_left_out = before->partitions_left_out;
	}
	witnesses = witnesses_of(resolver, group, n_group, tenant, before);
	if (owner->pod) {
		describe_pod(resolver, owner->pod, tenant);
		tenant->confidence = confidence_of(witnesses, tenant);
	} else {
		wait_for_pod(resolver, tenant);
	}
	return set_witnesses(resolver, witnesses, tenant, err);
}

static bool is_same_owner(const struct fact *a, const struct fact *b)
{
	return a->owner->rank == b->owner->rank;
}

/* IDs whose holder is not known come first: they have no UID. */
static int add_groups(struct resolver *resolver, const struct fact *items, size_t n_items,
		      struct error *err)
{
	size_t first = 0, n;
	while (first < n_items && items[first].owner->pod_uid.len == 0)
		first++;
	resolver->result.slots_nameless = (int64_t)first;
	assert(resolver->n_tenants == 0);
	for (; first < n_items; first += n) {
		n = 1;
		while (first + n < n_items && is_same_owner(&items[first], &items[first + n]))
			n++;
		if (add_group(resolver, &items[first], n, err) < 0)
			return -1;
	}
	return 0;
}

/* Tenants that no book names now */

static void remember(struct resolver *resolver, const struct attribution_tenant *tenant,
		     int64_t until)
{
	if (is_unknown_pod(tenant))
		return; /* nobody ever knew that pod: there is nothing to remember */
	if (wording_placeholder_of(tenant->stand_in) == PLACEHOLDER_HAMI)
		return; /* it held some device, maybe not this */
	resolver->ended[resolver->n_ended++] = (struct attribution_past_tenant){
		.pod_uid = tenant->pod_uid,
		.pod_namespace = tenant->pod_namespace,
		.pod_name = tenant->pod_name,
		.container = tenant->container,
		.since = tenant->since,
		.until = until > tenant->since ? until : tenant->since,
	};
}

static void end_tenant(struct resolver *resolver, const struct attribution_tenant *tenant)
{
	resolver->result.slots_ended += tenant->slots;
	remember(resolver, tenant, node_pods_ended_at(&resolver->facts->node_pods, tenant->pod_uid));
}

static struct attribution_tenant *keep_tenant(struct resolver *resolver,
					      const struct attribution_tenant *tenant)
{
	struct attribution_tenant *kept = &resolver->tenants[resolver->n_tenants++];
	*kept = *tenant;
	resolver->result.slots_kept += tenant->slots;
	return kept;
}

/* A claim that cannot be read has not ended. */
static bool is_unheard(const struct resolver *resolver, const struct attribution_tenant *tenant)
{
	return claimant_is_one(tenant) && claimant_is_unheard(resolver->input, tenant->pod_uid) &&
	       !claimant_is_displaced(resolver->facts, resolver->device, tenant);
}

/* What a claim gave never was in the books. */
static bool is_gone_from_books(const struct resolver *resolver,
			       const struct attribution_tenant *tenant)
{
	const struct facts *facts = resolver->facts;
	if (is_unheard(resolver, tenant))
		return false;
	bool is_missing = facts->devices->nvml == DEVICES_NVML_OK && !resolver->device->reported;
	return facts->checkpoint == BOOK_OK && facts->is_complete && !is_missing;
}

/* A holder that the API server did not know: only the checkpoint ever named it. */
static void carry_unknown(struct resolver *resolver, const struct attribution_tenant *tenant)
{
	const struct facts *facts = resolver->facts;
	const struct pod *pod = node_pods_find_uid(&resolver->facts->node_pods, tenant->pod_uid);
	bool is_list_good = facts->list == BOOK_OK && !facts->is_settling;

	assert(is_unknown_pod(tenant));
	if (facts->checkpoint != BOOK_NONE || is_list_good ||
	    (pod ? pod_is_over(pod) : node_pods_is_elsewhere(&facts->node_pods, tenant->pod_uid))) {
		end_tenant(resolver, tenant);
	} else if (pod) {
		struct attribution_tenant *kept = keep_tenant(resolver, tenant);
		kept->pod_uid = pod_uid(pod);
		if (kept->stand_in.len == 0)
			kept->confidence = ATTRIBUTION_CONFIDENCE_CONFIRMED;
		describe_pod(resolver, pod, kept);
	} else {
		struct attribution_tenant *kept = keep_tenant(resolver, tenant);
		if (resolver->input->report)
			wait_for_pod(resolver, kept);
	}
}

static bool has_status_of(const struct pod *pod, struct view container)
{
	uint32_t n;
	const struct pod_allocation *allocations = pod_allocations(pod, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (view_equal(allocations[i].container, container))
			return true;
	}
	return false;
}

/* Only the API server ever named it, and does so no longer. */
static bool is_withdrawn(const struct resolver *resolver, const struct attribution_tenant *tenant,
			 const struct pod *pod)
{
	unsigned witnesses = published_witnesses(tenant) & ~(unsigned)WITNESS_PROCESSES;
	if (witnesses == 0 || (witnesses & ~(unsigned)WITNESSES_OF_API))
		return false;
	if (is_unheard(resolver, tenant))
		return false;
	return !(witnesses & WITNESS_POD_STATUS) || has_status_of(pod, tenant->container);
}

/* Those of its witnesses that could be asked, and have it no more, are none. */
static int drop_witnesses(struct resolver *resolver, struct attribution_tenant *kept,
			  const struct pod *pod, struct error *err)
{
	const struct facts *facts = resolver->facts;
	unsigned witnesses = published_witnesses(kept);
	unsigned left = witnesses;

	if (facts->checkpoint == BOOK_OK)
		left &= ~(unsigned)WITNESS_CHECKPOINT;
	if (facts->list == BOOK_OK && !facts->is_settling)
		left &= ~(unsigned)WITNESS_POD_RESOURCES;
	if (!is_unheard(resolver, kept))
		left &= ~(unsigned)WITNESS_RESOURCE_CLAIM;
	if (has_status_of(pod, kept->container))
		left &= ~(unsigned)WITNESS_POD_STATUS;
	left &= ~(unsigned)WITNESS_KAI;
	if (left == witnesses)
		return 0;
	/* Who contradicted each other have not made it up; but of nobody it is no dispute. */
	if (kept->confidence != ATTRIBUTION_CONFIDENCE_DISPUTED ||
	    !(left & ~(unsigned)WITNESS_PROCESSES))
		kept->confidence = confidence_of(left, kept);
	return set_witnesses(resolver, left, kept, err);
}

/*
 * HAMi's annotation tells what the container has now: it comes later than the IDs, and may be edited.
 * A book that names a container has all its IDs: those of which it does not tell still name their
 * device. What claims give is no matter of its.
 */
static bool is_led_elsewhere(const struct resolver *resolver,
			     const struct attribution_tenant *tenant)
{
	unsigned heard = facts_heard_of(resolver->facts, tenant->pod_uid, tenant->container);
	return (heard & WITNESS_HAMI) && !claimant_is_one(tenant);
}

static int carry_known(struct resolver *resolver, const struct attribution_tenant *tenant,
		       struct error *err)
{
	const struct pod *pod = node_pods_find_uid(&resolver->facts->node_pods, tenant->pod_uid);

	assert(!is_unknown_pod(tenant));
	if (!pod || pod_is_over(pod) || is_gone_from_books(resolver, tenant) ||
	    is_withdrawn(resolver, tenant, pod) || is_led_elsewhere(resolver, tenant))
		end_tenant(resolver, tenant);
	else {
		struct attribution_tenant *kept = keep_tenant(resolver, tenant);
		kept->phase = phase_of(pod, tenant->container);
		return drop_witnesses(resolver, kept, pod, err);
	}
	return 0;
}

/* A static pod that was published under the kubelet's UID is there under the API server's now. */
static bool is_named(const struct resolver *resolver, size_t n_named,
		     const struct attribution_tenant *tenant)
{
	const struct pod *pod = node_pods_find_uid(&resolver->facts->node_pods, tenant->pod_uid);
	struct view uid = pod ? pod_uid(pod) : tenant->pod_uid;

	for (size_t i = 0; i < n_named; i++) {
		if (view_equal(resolver->tenants[i].pod_uid, uid) &&
		    view_equal(resolver->tenants[i].container, tenant->container))
			return true;
	}
	return false;
}

static int carry_tenants(struct resolver *resolver, struct error *err)
{
	size_t n_named = resolver->n_tenants;
	assert(resolver->n_ended == 0);
	const struct array published = resolver->published ? resolver->published->tenants
							   : (struct array){0};
	for (uint32_t i = 0; i < published.count; i++) {
		const struct attribution_tenant *tenant = ARRAY_AT(published,
								   struct attribution_tenant, i);
		if (is_named(resolver, n_named, tenant))
			continue;
		if (is_unknown_pod(tenant))
			carry_unknown(resolver, tenant);
		else if (carry_known(resolver, tenant, err) < 0)
			return -1;
	}
	if (resolver->published && !facts_have_books(resolver->facts))
		resolver->left_out_before = resolver->published->tenants_left_out;
	return 0;
}

/* A card that came from another node: whoever held it there does so no longer. */
static void remember_elsewhere(struct resolver *resolver)
{
	assert(resolver->device->is_taken && resolver->device->object);
	assert(!resolver->published); /* or each would be remembered twice */
	const struct array tenants = resolver->device->object->object->status.tenants;
	for (uint32_t i = 0; i < tenants.count; i++)
		remember(resolver, ARRAY_AT(tenants, struct attribution_tenant, i),
			 resolver->input->now_wall_ms);
}

/* Those that left */

static int set_recent(struct resolver *resolver, struct error *err)
{
	const struct join_previous *previous = resolver->device->object;
	const struct array before = previous ? previous->object->status.recent_tenants
					     : (struct array){0};
	struct attribution_past_tenant *recent;
	uint32_t n = 0;

	if (resolver->n_ended == 0) {
		resolver->result.recent = before;
		return 0;
	}
	recent = arena_alloc(resolver->arena, LIMIT_RECENT_TENANTS, sizeof(*recent));
	if (!recent)
		return error_no_memory(err);
	for (size_t i = 0; i < resolver->n_ended && n < LIMIT_RECENT_TENANTS; i++)
		recent[n++] = resolver->ended[i];
	for (uint32_t i = 0; i < before.count && n < LIMIT_RECENT_TENANTS; i++)
		recent[n++] = *ARRAY_AT(before, struct attribution_past_tenant, i);
	assert(n > 0 && n <= LIMIT_RECENT_TENANTS);
	resolver->result.recent = (struct array){recent, n, true};
	return 0;
}

/* Counting and summing up */

static int by_key(const void *a, const void *b)
{
	const struct attribution_tenant *x = a, *y = b;
	int order = view_compare(x->pod_uid, y->pod_uid);
	return order ? order : view_compare(x->container, y->container);
}

static void count_tenant(struct tenants *result, const struct attribution_tenant *tenant)
{
	result->count += !tenant->system;
	if (tenant->phase == ATTRIBUTION_PHASE_PENDING)
		result->slots_pending += tenant->slots;
	if (tenant->stand_in.len > 0 && !tenant->system && !is_unknown_pod(tenant))
		result->slots_stand_in += tenant->slots;
	if (is_unknown_pod(tenant))
		result->slots_unresolved += tenant->slots;
}

/* The number of pods that are no system pods, and the first of them. */
static size_t count_pods(const struct resolver *resolver,
			 const struct attribution_tenant **ret_first)
{
	const struct attribution_tenant *last = NULL;
	size_t n = 0;
	for (size_t i = 0; i < resolver->n_tenants; i++) {
		const struct attribution_tenant *tenant = &resolver->tenants[i];
		if (tenant->system || (last && view_equal(last->pod_uid, tenant->pod_uid)))
			continue;
		last = tenant;
		if (n++ == 0)
			*ret_first = tenant;
	}
	return n;
}

static int set_summary(struct resolver *resolver, struct error *err)
{
	const struct attribution_tenant *first = NULL;
	size_t n = count_pods(resolver, &first) + (size_t)resolver->left_out_before;
	char text[LIMIT_TEXT_TENANTS + 1];
	struct view name, namespace;
	int len;

	if (!first)
		return 0;
	namespace = first->pod_name.len > 0 ? first->pod_namespace : VIEW("uid");
	name = first->pod_name.len > 0 ? first->pod_name : first->pod_uid;
	if (first->pod_name.len == 0 && name.len > UID_SHOWN)
		name.len = UID_SHOWN;
	len = snprintf(text, sizeof(text), "%.*s/%.*s", VIEW_ARG(namespace), VIEW_ARG(name));
	if (n > 1)
		len += snprintf(text + len, sizeof(text) - (size_t)len, " +%zu", n - 1);
	assert(len > 0 && (size_t)len < sizeof(text));
	if (!arena_copy(resolver->arena, (struct view){text, (size_t)len},
			&resolver->result.summary))
		return error_no_memory(err);
	return 0;
}

static bool is_count_known(const struct resolver *resolver)
{
	const struct facts *facts = resolver->facts;
	return resolver->n_tenants > 0 || facts->checkpoint != BOOK_NONE ||
	       (facts->list != BOOK_NONE && !facts->is_settling) ||
	       (resolver->published && resolver->published->tenant_count >= 0 &&
		!resolver->device->published->is_agentless);
}

static int sum_up(struct resolver *resolver, struct error *err)
{
	struct tenants *result = &resolver->result;
	size_t n = resolver->n_tenants;

	qsort(resolver->tenants, n, sizeof(*resolver->tenants), by_key);
	for (size_t i = 0; i < n; i++)
		count_tenant(result, &resolver->tenants[i]);
	result->slots_unresolved += result->slots_nameless + result->slots_stand_in;
	result->count += resolver->left_out_before;
	if (!is_count_known(resolver))
		result->count = -1;
	if (set_summary(resolver, err) < 0)
		return -1;
	result->left_out = resolver->left_out_before;
	if (n > LIMIT_TENANTS) {
		result->left_out += (int64_t)(n - LIMIT_TENANTS);
		n = LIMIT_TENANTS;
	}
	result->listed = (struct array){n > 0 ? resolver->tenants : NULL, (uint32_t)n, true};
	return 0;
}

static int make_room(struct resolver *resolver, const struct fact *items, size_t n_items,
		     struct error *err)
{
	const struct join_previous *previous = resolver->device->object;
	size_t n_before = previous ? previous->object->status.tenants.count : 0;
	size_t n_groups = 0;

	for (size_t i = 0; i < n_items; i++)
		n_groups += i == 0 || !is_same_owner(&items[i - 1], &items[i]);
	resolver->tenants = arena_alloc(resolver->arena, n_groups + n_before,
					sizeof(*resolver->tenants));
	resolver->ended = arena_alloc(resolver->arena, n_before, sizeof(*resolver->ended));
	return resolver->tenants && resolver->ended ? 0 : error_no_memory(err);
}

int tenant_resolve(const struct facts *facts, size_t device, struct arena *arena,
		   struct tenants *ret_tenants, struct error *err)
{
	size_t n_items;
	assert(device < facts->devices->n_devices);
	const struct fact *items = facts_of(facts, device, &n_items);
	struct resolver resolver = {
		.facts = facts,
		.input = facts->input,
		.device = &facts->devices->devices[device],
		.published = devices_published(&facts->devices->devices[device]),
		.arena = arena,
		.result = {.again_in_ms = -1},
	};

	if (make_room(&resolver, items, n_items, err) < 0 ||
	    add_groups(&resolver, items, n_items, err) < 0 ||
	    carry_tenants(&resolver, err) < 0)
		return -1;
	if (resolver.device->is_taken)
		remember_elsewhere(&resolver);
	if (set_recent(&resolver, err) < 0 || sum_up(&resolver, err) < 0)
		return -1;
	*ret_tenants = resolver.result;
	return 0;
}
