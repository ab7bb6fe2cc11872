/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The holders that facts name on the device, and those that are published there, are put in order.
 * One walk takes the votes on each (join/votes.h). The table decides (join/arbitrate.h). The tenant is
 * listed, or noted as one that left.
 *
 * A published contradiction stays as long as it is there, and while the node is silent.
 */

#include "join/subject.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/again.h"
#include "base/compact.h"
#include "base/limits.h"
#include "base/sort.h"
#include "join/votes.h"

#define UID_SHOWN 8 /* bytes of a UID in a summary */

struct walk {
	const struct subject *subject;
	const struct join_input *input;
	struct votes_holder *holders; /* those that facts name, and then the others; both by pod UID, container */
	size_t n_named, n_holders;
	struct attribution_tenant *tenants;
	size_t n_tenants;
	const struct attribution_tenant *first, *last; /* that are counted; or NULL */
	int64_t n_pods;                                /* that are counted */
	struct view *texts; /* room for partitions and witnesses: what has not been used */
	struct attribution_past_tenant *recent; /* newest first */
	size_t n_recent;
	struct tenants *result;
	struct attribution_status *status;
};

/* Holders */

static int by_key(const void *a, const void *b)
{
	const struct votes_holder *x = a, *y = b;
	return view_compare_pairs(x->pod_uid, x->container, y->pod_uid, y->container);
}

static struct votes_holder *add_holder(struct walk *walk, struct votes_holder holder)
{
	holder.facts = walk->subject->facts;
	holder.device = walk->subject->index;
	walk->holders[walk->n_holders] = holder;
	return &walk->holders[walk->n_holders++];
}

/* Facts of a holder stand together; those of unidentified holders come first. */
static void list_named(struct walk *walk)
{
	const struct fact *items = walk->subject->items;
	struct votes_holder *holder = NULL;
	for (size_t i = 0; i < walk->subject->n_items; i++) {
		const struct holder *owner = items[i].owner;
		if (owner->pod_uid.len == 0) {
			walk->result->slots_nameless++;
			continue;
		}
		if (!holder || owner->rank != holder->items[0].owner->rank)
			holder = add_holder(walk, (struct votes_holder){.pod_uid = owner->pod_uid,
									.container = owner->container,
									.pod = owner->pod,
									.items = &items[i]});
		holder->n_items++;
		/* One of its facts is enough: of that one nothing more is known. */
		if (holder->placeholder == PLACEHOLDER_NONE && !owner->is_resolved)
			holder->placeholder = owner->placeholder;
	}
}

/* A static pod may be published under the UID that only the kubelet uses for it: those are not in order. */
static void list_published(struct walk *walk)
{
	const struct previous *published = walk->subject->device->published;
	walk->n_named = walk->n_holders;
	for (uint32_t i = 0; published && i < published->n_tenants; i++) {
		const struct previous_tenant *previous = &published->tenants[i];
		const struct view uid = previous->published->pod_uid;
		const struct pod *pod = node_pods_find_uid(&walk->subject->facts->node_pods, uid);
		const struct votes_holder holder = {.pod_uid = pod ? pod_uid(pod) : uid,
						    .container = previous->published->container,
						    .pod = pod,
						    .placeholder = previous->placeholder};
		struct votes_holder *found =
			bsearch(&holder, walk->holders, walk->n_named, sizeof(holder), by_key);
		if (!found)
			found = add_holder(walk, holder);
		found->previous = previous;
	}
	sort_items(&walk->holders[walk->n_named], walk->n_holders - walk->n_named,
		   sizeof(*walk->holders), by_key);
}

/* What facts say of a tenant */

static void set_partitions(struct walk *walk, const struct votes_holder *holder, struct attribution_tenant *tenant)
{
	struct view *texts = walk->texts;
	size_t n = 0;
	for (size_t i = 0; i < holder->n_items; i++)
		if (holder->items[i].partition.len > 0)
			texts[n++] = holder->items[i].partition;
	n = view_sort(texts, n);
	if (n > LIMIT_PARTITIONS) {
		tenant->partitions_left_out = (int64_t)n - LIMIT_PARTITIONS;
		n = LIMIT_PARTITIONS;
	}
	tenant->partitions = (struct array){n > 0 ? texts : NULL, (uint32_t)n, true};
	walk->texts += n;
}

/* What a tenant holds, by which two are compared. */
static const struct compact_row holding[] = {
	COMPACT_PLAIN_ROW(attribution_tenant, slots, slots),
	COMPACT_ARRAY_ROW(attribution_tenant, partitions, struct view, compact_text),
	{0},
};

/*
 * It is no user of the device if it only watches, or holds it for others that are listed. A name may
 * mean the static pod that comes after this one (join/from_pod_resources.c).
 */
static void describe_facts(struct walk *walk, struct votes_holder *holder, struct attribution_tenant *tenant)
{
	const struct attribution_tenant *before = holder->previous ? holder->previous->published : NULL;
	const bool is_mirror = holder->pod && pod_config_hash(holder->pod).len > 0;
	bool is_kept = false, is_monitor = true, serves_others = true;
	*tenant = (struct attribution_tenant){
		.pod_uid = holder->pod_uid,
		.container = holder->container,
		.resource = holder->items[0].owner->resource,
		.placeholder = wording_placeholder(holder->placeholder),
		.start_time = before && before->start_time ? before->start_time : walk->input->now_wall_ms,
	};
	for (size_t i = 0; i < holder->n_items; i++) {
		const struct fact *item = &holder->items[i];
		tenant->slots += !item->takes_no_slot;
		is_monitor &= item->is_monitor;
		serves_others &= item->is_monitor || item->owner->is_resolved;
		if (view_compare(item->owner->resource, tenant->resource) < 0)
			tenant->resource = item->owner->resource;
		is_kept |= item->is_restated || (is_mirror && item->witnesses == WITNESS_POD_RESOURCES);
	}
	tenant->role = is_monitor      ? ATTRIBUTION_ROLE_MONITOR
		       : serves_others ? ATTRIBUTION_ROLE_RESERVATION
				       : ATTRIBUTION_ROLE_WORKLOAD;
	set_partitions(walk, holder, tenant);
	if (before && is_kept) {
		tenant->slots = before->slots;
		tenant->partitions = before->partitions;
		tenant->partitions_left_out = before->partitions_left_out;
	}
	holder->holds_the_same = before && compact_equal(holding, before, tenant);
}

/* What the API server says of a tenant */

static int phase_of(const struct pod *pod, struct view container)
{
	const struct pod_container *c = pod_find_container(pod, container);
	if (pod_state(pod)->deleting)
		return ATTRIBUTION_PHASE_TERMINATING;
	if (c && c->state == POD_CONTAINER_TERMINATED)
		return ATTRIBUTION_PHASE_RESERVED;
	if (c ? c->state == POD_CONTAINER_RUNNING : pod_state(pod)->phase == POD_PHASE_RUNNING)
		return ATTRIBUTION_PHASE_RUNNING;
	return ATTRIBUTION_PHASE_STARTING;
}

/*
 * Who is kept, and was known before, keeps its description. Anybody may call a pod of his own what
 * the operator calls its pods, but not in its namespace.
 */
static void describe_pod(const struct walk *walk, const struct votes_holder *holder,
			 struct attribution_tenant *tenant)
{
	const struct pod *pod = holder->pod;
	const struct pod_workload workload = pod_gpu(pod)->workload;
	const struct intent *intent = walk->input->intent;
	tenant->phase = phase_of(pod, tenant->container);
	if (holder->n_items == 0 && !holder->previous->is_unknown)
		return;
	tenant->pod_uid = pod_uid(pod);
	tenant->pod_namespace = pod_namespace(pod);
	tenant->pod_name = pod_name(pod);
	tenant->workload = (struct attribution_workload){workload.kind.len > 0, workload.group, workload.kind,
							 workload.name};
	if (tenant->role == ATTRIBUTION_ROLE_WORKLOAD && pod_state(pod)->system && intent &&
	    intent->policy && view_equal(intent->policy->namespace, pod_namespace(pod)))
		tenant->role = ATTRIBUTION_ROLE_VALIDATION;
}

static void wait_for_pod(struct walk *walk, struct attribution_tenant *tenant)
{
	int64_t now = walk->input->now_wall_ms;
	/* The clock was set back: better to wait once more than until it has caught up. */
	if (tenant->start_time > now)
		tenant->start_time = now;
	int64_t left = walk->input->limits->pending_ms - (now - tenant->start_time);
	tenant->phase = left > 0 ? ATTRIBUTION_PHASE_PENDING : ATTRIBUTION_PHASE_UNRESOLVED;
	if (left > 0)
		walk->result->again_in_ms = again_sooner(walk->result->again_in_ms, left);
}

/* Contradictions */

static void add_disputed(struct walk *walk, const struct votes *votes)
{
	struct array *listed = &walk->status->source_disagreements;
	const struct attribution_disagreement *before =
		votes->is_carried ? attribution_find_disagreement(walk->subject->published, votes->of->pod_uid,
								  votes->of->container)
				  : NULL;

	if (listed->count == LIMIT_SOURCE_DISAGREEMENT || (votes->is_carried && !before)) {
		walk->status->source_disagreements_left_out++;
		return;
	}
	*ARRAY_AT(*listed, struct attribution_disagreement, listed->count++) =
		before ? *before
		       : (struct attribution_disagreement){.pod_uid = votes->of->pod_uid,
							   .container = votes->of->container,
							   .says = votes_state(votes, walk->subject->arena)};
}

/* Verdicts */

/* Not whom nobody ever knew, nor who held some device by HAMi's ID, maybe not this. */
static void remember(struct walk *walk, const struct previous_tenant *previous)
{
	const struct attribution_tenant *tenant = previous->published;
	if (previous->is_unknown || previous->placeholder == PLACEHOLDER_HAMI ||
	    walk->n_recent == LIMIT_RECENT_TENANTS)
		return;
	const int64_t until = walk->subject->device->is_taken
		? walk->input->now_wall_ms
		: node_pods_ended_at(&walk->subject->facts->node_pods, tenant->pod_uid);
	walk->recent[walk->n_recent++] = (struct attribution_past_tenant){
		.pod_uid = tenant->pod_uid,
		.pod_namespace = tenant->pod_namespace,
		.pod_name = tenant->pod_name,
		.container = tenant->container,
		.start_time = tenant->start_time,
		.end_time = until > tenant->start_time ? until : tenant->start_time,
		.partitions = tenant->partitions_left_out > 0 ? (struct array){0} : tenant->partitions,
	};
}

/* There is room for all of them: processes are found later (join/users.c). */
static void set_witnesses(struct walk *walk, unsigned witnesses, struct attribution_tenant *tenant)
{
	tenant->witnesses = (struct array){walk->texts, 0, true};
	for (unsigned i = 0; i < N_WITNESSES; i++)
		if (witnesses & (1u << i))
			walk->texts[tenant->witnesses.count++] = wording_witness(i);
	walk->texts += N_WITNESSES;
}

static void count_tenant(struct walk *walk, const struct attribution_tenant *tenant)
{
	struct tenants *result = walk->result;
	if (tenant->phase == ATTRIBUTION_PHASE_PENDING)
		result->slots_pending += tenant->slots;
	if (attribution_is_unknown(tenant))
		result->slots_unresolved += tenant->slots;
	else if (tenant->placeholder.len > 0 && attribution_is_counted(tenant))
		result->slots_placeholder += tenant->slots;
	if (!attribution_is_counted(tenant))
		return;
	walk->status->tenant_count++;
	walk->n_pods += !walk->last || !view_equal(walk->last->pod_uid, tenant->pod_uid);
	walk->last = tenant;
	if (!walk->first)
		walk->first = tenant;
}

/* The tenant has been described by its facts, or is as it was published. */
static void add_tenant(struct walk *walk, const struct votes *votes, unsigned witnesses, int confidence)
{
	const struct votes_holder *holder = votes->of;
	struct attribution_tenant *tenant = &walk->tenants[walk->n_tenants++];
	tenant->confidence = confidence;
	if (holder->pod)
		describe_pod(walk, holder, tenant);
	else if (walk->input->report && !walk->subject->facts->is_frozen)
		wait_for_pod(walk, tenant);
	walk->result->is_claimed |= (votes->yes & WITNESS_RESOURCE_CLAIM) != 0;
	set_witnesses(walk, witnesses, tenant);
	count_tenant(walk, tenant);
	if (confidence == ATTRIBUTION_CONFIDENCE_DISPUTED)
		add_disputed(walk, votes);
}

static void visit(struct walk *walk, struct votes_holder *holder)
{
	struct attribution_tenant *tenant = &walk->tenants[walk->n_tenants];
	struct arbitrate_result result;
	struct votes votes;
	assert(walk->n_tenants < walk->n_holders);
	if (holder->n_items > 0)
		describe_facts(walk, holder, tenant);
	votes = votes_take(holder, walk->subject->debounce);
	result = votes_decide(&votes);
	if (result.verdict == ARBITRATE_HOLD) {
		assert(holder->n_items > 0);
		add_tenant(walk, &votes, votes.yes, result.confidence);
	} else if (result.verdict == ARBITRATE_KEEP) {
		*tenant = *holder->previous->published;
		walk->result->slots_kept += tenant->slots;
		add_tenant(walk, &votes, votes.left, result.confidence);
	} else if (result.verdict == ARBITRATE_END) {
		walk->result->slots_ended += holder->previous->published->slots;
		remember(walk, holder->previous);
	}
}

/* By pod UID and container. */
static void visit_all(struct walk *walk)
{
	struct votes_holder *a = walk->holders, *b = a + walk->n_named;
	const struct votes_holder *a_end = b, *b_end = a + walk->n_holders;
	while (a < a_end || b < b_end)
		visit(walk, b == b_end || (a < a_end && by_key(a, b) <= 0) ? a++ : b++);
}

/* Those that left; of a card that came from another node, all who held it there. */
static void set_recent(struct walk *walk)
{
	const struct previous *previous = walk->subject->device->previous;
	const struct array before = previous ? previous->status->recent_tenants : (struct array){0};
	assert(!walk->subject->device->is_taken || !walk->subject->device->published);
	for (uint32_t i = 0; walk->subject->device->is_taken && i < previous->n_tenants; i++)
		remember(walk, &previous->tenants[i]);
	walk->status->recent_tenants = before;
	if (walk->n_recent == 0)
		return;
	ARRAY_EACH(const struct attribution_past_tenant, past, before)
		if (walk->n_recent < LIMIT_RECENT_TENANTS)
			walk->recent[walk->n_recent++] = *past;
	walk->status->recent_tenants = (struct array){walk->recent, (uint32_t)walk->n_recent, true};
}

/* Counting and summing up */

static void set_summary(struct walk *walk)
{
	const struct attribution_tenant *first = walk->first;
	int64_t n = walk->n_pods + walk->status->tenants_left_out;
	char text[LIMIT_TEXT_TENANTS + 1];
	struct view name, namespace;
	int len;

	if (!first)
		return;
	namespace = first->pod_name.len > 0 ? first->pod_namespace : VIEW("uid");
	name = first->pod_name.len > 0 ? first->pod_name : first->pod_uid;
	if (first->pod_name.len == 0 && name.len > UID_SHOWN)
		name.len = UID_SHOWN;
	len = snprintf(text, sizeof(text), "%.*s/%.*s", VIEW_ARG(namespace), VIEW_ARG(name));
	if (n > 1)
		len += snprintf(text + len, sizeof(text) - (size_t)len, " +%" PRId64, n - 1);
	assert(len > 0 && (size_t)len < sizeof(text));
	(void)arena_copy(walk->subject->arena, (struct view){text, (size_t)len},
			 &walk->status->tenant_summary);
}

static bool is_count_known(const struct walk *walk)
{
	const struct facts *facts = walk->subject->facts;
	const struct previous *published = walk->subject->device->published;
	return walk->n_tenants > 0 || facts->source.checkpoint != SOURCE_ABSENT ||
	       (facts->source.pod_resources != SOURCE_ABSENT && !facts->source.is_settling) ||
	       (published && published->status->tenant_count >= 0 && !published->is_agentless);
}

static void sum_up(struct walk *walk)
{
	struct attribution_status *status = walk->status;
	size_t n = walk->n_tenants;
	walk->result->slots_unresolved += walk->result->slots_nameless + walk->result->slots_placeholder;
	status->tenant_count = is_count_known(walk) ? status->tenant_count + status->tenants_left_out : -1;
	if (n > LIMIT_TENANTS) {
		status->tenants_left_out += (int64_t)(n - LIMIT_TENANTS);
		n = LIMIT_TENANTS;
	}
	status->tenants = (struct array){n > 0 ? walk->tenants : NULL, (uint32_t)n, true};
	if (status->source_disagreements.count == 0)
		status->source_disagreements.items = NULL;
}

/* The device */

static int make_room(struct walk *walk, struct error *err)
{
	struct arena *arena = walk->subject->arena;
	const struct previous *previous = walk->subject->device->previous;
	const size_t n_items = walk->subject->n_items, n_owners = walk->subject->facts->n_owners;
	const size_t n_before = previous ? previous->n_tenants : 0;
	const size_t n = n_before + (n_items < n_owners ? n_items : n_owners);
	struct attribution_disagreement *disputed;

	if (!ARENA_NEW(walk->holders, arena, n) || !ARENA_NEW(walk->tenants, arena, n) ||
	    !ARENA_NEW(walk->texts, arena, n_items + n * N_WITNESSES) ||
	    !ARENA_NEW(walk->recent, arena, LIMIT_RECENT_TENANTS) ||
	    !ARENA_NEW(disputed, arena, LIMIT_SOURCE_DISAGREEMENT))
		return error_no_memory(err);
	walk->status->source_disagreements = (struct array){disputed, 0, true};
	return 0;
}

int tenants_find(struct subject *subject, struct error *err)
{
	struct walk walk = {
		.subject = subject,
		.input = subject->facts->input,
		.result = &subject->tenants,
		.status = subject->status,
	};

	subject->tenants = (struct tenants){.again_in_ms = -1};
	walk.status->tenants_left_out = walk.status->source_disagreements_left_out = 0;
	walk.status->tenant_count = 0;
	walk.status->tenant_summary = (struct view){0};
	if (make_room(&walk, err) < 0)
		return -1;
	list_named(&walk);
	list_published(&walk);
	visit_all(&walk);
	set_recent(&walk);
	/* Who was not listed may still be there while no book can be read. */
	if (subject->published && !facts_have_books(subject->facts))
		walk.status->tenants_left_out = subject->published->tenants_left_out;
	set_summary(&walk);
	sum_up(&walk);
	return arena_check(subject->arena, err);
}
