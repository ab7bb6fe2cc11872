/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compared are the checkpoint, the List and the status of the pod, which all tell the same story:
 * what the kubelet's device manager gave. Claims, HAMi and KAI tell others.
 *
 * A witness speaks of a container when it names any device for it, on this node. Two speak even
 * when they do not: a good checkpoint has everything that was ever given, so what is not in it was
 * not given as far as the kubelet knows; and a List that has the pod has all containers of it but
 * ordinary init containers; unless it has an ID for somebody who could not be told, who may be that
 * very container.
 *
 * What an ID of HAMi's names is a device that need not be meant: whoever is there by it alone is not
 * believed anyhow, and not by there being a dispute either.
 */

#include "join/disagreement.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"

struct finder {
	const struct facts *facts;
	size_t device;
	struct arena *arena;
	struct debounce *doubts;
	struct attribution_disagreement *found;
	uint32_t n_found;
	bool is_silent; /* there is no recent report, which settles nothing */
	struct disagreements result;
};

enum { SAYS_CHECKPOINT, SAYS_LIST, SAYS_POD_STATUS, N_SAYS };
static const unsigned compared[N_SAYS] = {WITNESS_CHECKPOINT, WITNESS_POD_RESOURCES, WITNESS_POD_STATUS};

#define ALL_COMPARED (WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES | WITNESS_POD_STATUS)

struct statement {
	bool speaks;
	bool names; /* any device for the container */
	int64_t slots;
};

/* Or may be one: those that are kept of a pod with very many are its first. */
static bool is_init(const struct pod *pod, struct view container)
{
	const struct pod_container *c = pod_find_container(pod, container);
	return c ? c->kind == POD_CONTAINER_INIT : pod_has_more_containers(pod);
}

static int by_id(const void *key, const void *element)
{
	return view_compare(*(const struct view *)key, ((const struct fact *)element)->id);
}

/* The List, and it alone, gives IDs to nobody: one of the tenant's is among them. */
static bool is_left_open(const struct finder *finder, const struct attribution_tenant *tenant)
{
	const struct view nobody = {0};
	size_t n, n_open;
	const struct fact *items = facts_of_holder(finder->facts, finder->device,
						       tenant->pod_uid, tenant->container, &n);
	const struct fact *open = facts_of_holder(finder->facts, finder->device, nobody,
						      nobody, &n_open);
	for (size_t i = 0; i < n && n_open > 0; i++) {
		if (bsearch(&items[i].id, open, n_open, sizeof(*open), by_id))
			return true;
	}
	return false;
}

/* It says "none" by not naming the container. */
static bool speaks_by_silence(const struct finder *finder, unsigned witness, const struct pod *pod,
			      const struct attribution_tenant *tenant)
{
	const struct facts *facts = finder->facts;

	if (witness == WITNESS_CHECKPOINT)
		return facts->checkpoint == BOOK_OK;
	if (witness == WITNESS_POD_RESOURCES)
		return facts->list == BOOK_OK && !facts->is_settling &&
		       !is_init(pod, tenant->container) &&
		       node_pods_is_named(&facts->node_pods, pod) && !is_left_open(finder, tenant);
	return false;
}

static struct statement hear(const struct finder *finder, unsigned witness, const struct pod *pod,
			     const struct attribution_tenant *tenant)
{
	const struct facts *facts = finder->facts;
	struct statement statement = {
		.names = facts_heard_of(facts, tenant->pod_uid, tenant->container) & witness,
	};
	size_t n;
	const struct fact *items = facts_of_holder(facts, finder->device, tenant->pod_uid,
						       tenant->container, &n);

	statement.speaks = statement.names || speaks_by_silence(finder, witness, pod, tenant);
	for (size_t i = 0; i < n; i++)
		statement.slots += (items[i].witnesses & witness) != 0;
	return statement;
}

static bool is_about(const struct attribution_disagreement *d,
		     const struct attribution_tenant *tenant)
{
	return view_equal(d->pod_uid, tenant->pod_uid) &&
	       view_equal(d->container, tenant->container);
}

static const struct attribution_status *published_of(const struct finder *finder)
{
	return devices_published(&finder->facts->devices->devices[finder->device]);
}

static const struct attribution_disagreement *find_published(
	const struct finder *finder, const struct attribution_tenant *tenant)
{
	const struct attribution_status *published = published_of(finder);
	const struct array before = published ? published->source_disagreement : (struct array){0};
	for (uint32_t i = 0; i < before.count; i++) {
		const struct attribution_disagreement *d = ARRAY_AT(
			before, struct attribution_disagreement, i);
		if (is_about(d, tenant))
			return d;
	}
	return NULL;
}

/* Of the facts that one witness names: those that all name who speak, or the others. */
static void pick_ids(const struct fact *items, size_t n_items, unsigned spoken, unsigned witness,
		     bool by_all, struct attribution_statement *said, struct view *ids)
{
	for (size_t i = 0; i < n_items; i++) {
		if (!(items[i].witnesses & witness) ||
		    ((items[i].witnesses & spoken) == spoken) != by_all)
			continue;
		if (said->device_ids.count < LIMIT_STATED_IDS)
			ids[said->device_ids.count++] = items[i].id;
		else
			said->device_ids_left_out++;
	}
}

/* What they differ in comes first, lest it be among what is left out. */
static int name_ids(const struct finder *finder, const struct attribution_tenant *tenant,
		    unsigned spoken, unsigned witness, struct attribution_statement *said,
		    struct error *err)
{
	size_t n_items;
	const struct fact *items = facts_of_holder(finder->facts, finder->device,
						       tenant->pod_uid, tenant->container, &n_items);
	struct view *ids = arena_alloc(finder->arena, LIMIT_STATED_IDS, sizeof(*ids));
	if (!ids)
		return error_no_memory(err);
	pick_ids(items, n_items, spoken, witness, false, said, ids);
	pick_ids(items, n_items, spoken, witness, true, said, ids);
	assert(said->device_ids.count <= LIMIT_STATED_IDS);
	said->device_ids.items = said->device_ids.count > 0 ? ids : NULL;
	said->device_ids.present = true;
	return 0;
}

static unsigned find_spoken(const struct statement *statements)
{
	unsigned spoken = 0;
	for (unsigned i = 0; i < N_SAYS; i++)
		spoken |= statements[i].speaks ? compared[i] : 0;
	return spoken;
}

static int add(struct finder *finder, struct attribution_tenant *tenant,
	       const struct statement *statements, struct error *err)
{
	struct attribution_statement *says = arena_alloc(finder->arena, N_SAYS, sizeof(*says));
	const unsigned spoken = find_spoken(statements);
	uint32_t n = 0;

	assert(spoken != 0 && finder->n_found <= LIMIT_SOURCE_DISAGREEMENT);
	tenant->confidence = ATTRIBUTION_CONFIDENCE_DISPUTED;
	if (finder->n_found == LIMIT_SOURCE_DISAGREEMENT) {
		finder->result.left_out++;
		return 0;
	}
	if (!says)
		return error_no_memory(err);
	for (unsigned i = 0; i < N_SAYS; i++) {
		if (!statements[i].speaks)
			continue;
		says[n] = (struct attribution_statement){.witness = wording_witness(i),
							 .slots = statements[i].slots};
		if (name_ids(finder, tenant, spoken, compared[i], &says[n++], err) < 0)
			return -1;
	}
	finder->found[finder->n_found++] = (struct attribution_disagreement){
		.pod_uid = tenant->pod_uid,
		.container = tenant->container,
		.says = {says, n, true},
	};
	return 0;
}

/* How many IDs of the device the tenant has by any of them. */
static int64_t count_named(const struct finder *finder, const struct attribution_tenant *tenant)
{
	size_t n;
	int64_t n_named = 0;
	const struct fact *items = facts_of_holder(finder->facts, finder->device,
						       tenant->pod_uid, tenant->container, &n);
	for (size_t i = 0; i < n; i++)
		n_named += (items[i].witnesses & ALL_COMPARED) != 0;
	return n_named;
}

/* Who names fewer than all do together says something else, be it as many. */
static bool differ(const struct statement *statements, int64_t n_named)
{
	for (unsigned i = 0; i < N_SAYS; i++) {
		if (statements[i].speaks && statements[i].slots < n_named)
			return true;
	}
	return false;
}

static bool differ_by_names(const struct statement *statements, int64_t n_named)
{
	for (unsigned i = 0; i < N_SAYS; i++) {
		if (statements[i].names && statements[i].slots < n_named)
			return true;
	}
	return false;
}

static bool was_disputed(const struct finder *finder, const struct attribution_tenant *tenant)
{
	const struct attribution_status *published = published_of(finder);
	const struct attribution_tenant *before =
		published ? attribution_find_tenant(published, tenant->pod_uid, tenant->container)
			  : NULL;
	return before && before->confidence == ATTRIBUTION_CONFIDENCE_DISPUTED;
}

/* Nothing is settled by there being no report, nor of a tenant that is carried over. */
static void carry(struct finder *finder, struct attribution_tenant *tenant)
{
	const struct attribution_disagreement *before = find_published(finder, tenant);

	if (!was_disputed(finder, tenant))
		return;
	tenant->confidence = ATTRIBUTION_CONFIDENCE_DISPUTED;
	if (before && finder->n_found < LIMIT_SOURCE_DISAGREEMENT)
		finder->found[finder->n_found++] = *before;
	else
		finder->result.left_out++;
}

/*
 * What the report has may have been read when the kubelet did not have the pod yet. A heartbeat makes
 * it no newer if the agent has not read its sources since. (Without a List it does not say.)
 */
static bool is_read_before(const struct finder *finder, const struct pod *pod)
{
	return finder->facts->list == BOOK_OK &&
	       !node_pods_is_read_since(&finder->facts->node_pods, pod);
}

/*
 * A book that does not name the container at all may be older than the container: it contradicts
 * when it has been confirmed well after that was first seen.
 */
static bool counts(const struct finder *finder, const struct statement *statements,
		   int64_t n_named, const struct attribution_tenant *tenant,
		   const struct pod *pod)
{
	bool is_by_silence = !differ_by_names(statements, n_named);
	const struct debounce_subject fact = {
		.kind = DEBOUNCE_DISAGREEMENT,
		.device = finder->facts->devices->devices[finder->device].uuid,
		.pod_uid = tenant->pod_uid,
		.subject = tenant->container,
		.waits_ms = finder->facts->input->limits->disagreement_ms,
		.is_to_be_heard = is_by_silence,
		.is_unread = is_by_silence && is_read_before(finder, pod),
		.is_published = was_disputed(finder, tenant),
	};
	return debounce_counts(finder->doubts, &fact);
}

static int compare(struct finder *finder, struct attribution_tenant *tenant, struct error *err)
{
	const struct pod *pod = node_pods_find_uid(&finder->facts->node_pods, tenant->pod_uid);
	struct statement statements[N_SAYS];
	int64_t n_named;

	if (!pod || wording_placeholder_of(tenant->stand_in) == PLACEHOLDER_HAMI)
		return 0;
	if (finder->is_silent || tenant->confidence == ATTRIBUTION_CONFIDENCE_DISPUTED) {
		carry(finder, tenant);
		return 0;
	}
	for (unsigned i = 0; i < N_SAYS; i++)
		statements[i] = hear(finder, compared[i], pod, tenant);
	/* What is not among the IDs that were kept may be among the others. */
	if (pod_is_status_cut(pod))
		statements[SAYS_POD_STATUS] = (struct statement){0};
	n_named = count_named(finder, tenant);
	if (!differ(statements, n_named) || !counts(finder, statements, n_named, tenant, pod))
		return 0;
	return add(finder, tenant, statements, err);
}

int disagreement_find(const struct facts *facts, size_t device, struct tenants *tenants,
		      struct debounce *doubts, struct arena *arena,
		      struct disagreements *ret_disagreements, struct error *err)
{
	const struct join_input *input = facts->input;
	struct finder finder = {
		.facts = facts,
		.device = device,
		.arena = arena,
		.doubts = doubts,
		.is_silent = !input->report ||
			     input->report_age_ms >= input->limits->report_stale_ms,
	};

	assert(device < facts->devices->n_devices);
	finder.found = arena_alloc(arena, LIMIT_SOURCE_DISAGREEMENT,
				   sizeof(struct attribution_disagreement));
	if (!finder.found)
		return error_no_memory(err);
	for (uint32_t i = 0; i < tenants->listed.count; i++) {
		if (compare(&finder, ARRAY_AT(tenants->listed, struct attribution_tenant, i), err) <
		    0)
			return -1;
	}
	finder.result.listed = (struct array){finder.n_found > 0 ? finder.found : NULL,
					      finder.n_found, true};
	*ret_disagreements = finder.result;
	return 0;
}
