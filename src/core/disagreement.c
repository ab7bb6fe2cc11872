/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compared are the checkpoint, the List and the status of the pod, which all tell the same story:
 * what the kubelet's device manager gave. Claims, HAMi and KAI tell others.
 *
 * A witness speaks of a container when it names any device for it, on this node. Two speak even
 * when they do not: a good checkpoint has everything that was ever given, so what is not in it was
 * not given as far as the kubelet knows; and a List that has the pod has all containers of it but
 * ordinary init containers.
 */

#include "core/disagreement.h"

#include "base/limits.h"

struct finder {
	const struct holdings *holdings;
	size_t device;
	struct arena *arena;
	struct attribution_disagreement *found;
	uint32_t n_found;
	bool is_early; /* the report has not stood for long enough */
	bool is_one_waiting;
	bool is_one_unheard; /* whether it is one is for a later report to say */
	bool is_silent;      /* there is no recent report, which settles nothing */
	struct disagreements result;
};

enum { SAYS_CHECKPOINT, SAYS_LIST, SAYS_POD_STATUS, N_SAYS };
static const unsigned compared[N_SAYS] = {HOLDING_CHECKPOINT, HOLDING_LIST, HOLDING_POD_STATUS};

struct statement {
	bool speaks;
	int64_t slots;
};

static bool is_named(const struct array list, const struct pod *pod)
{
	for (uint32_t i = 0; i < list.count; i++) {
		const struct report_pod_resource *said = ARRAY_AT(list, struct report_pod_resource,
								  i);
		if (view_equal(said->name, pod_name(pod)) &&
		    view_equal(said->namespace, pod_namespace(pod)))
			return true;
	}
	return false;
}

static bool is_init(const struct pod *pod, struct view container)
{
	const struct pod_container *c = pod_find_container(pod, container);
	return c && c->kind == POD_CONTAINER_INIT;
}

static bool is_heard_since(const struct join_input *input, const struct attribution_tenant *tenant)
{
	int64_t heard_at = input->now_wall_ms - input->report_age_ms;
	return heard_at >= tenant->since + input->limits->disagreement_ms;
}

/*
 * It says "none" by not naming the container. That takes a report that arrived, or was confirmed,
 * well after the tenant was first seen: an older one could not have named it.
 */
static bool speaks_by_silence(const struct finder *finder, unsigned witness, const struct pod *pod,
			      const struct attribution_tenant *tenant)
{
	const struct holdings *holdings = finder->holdings;
	const struct join_input *input = holdings->input;

	if (!is_heard_since(input, tenant))
		return false;
	if (witness == HOLDING_CHECKPOINT)
		return holdings->checkpoint == HOLDING_BOOK_OK;
	if (witness == HOLDING_LIST)
		return holdings->list == HOLDING_BOOK_OK && !holdings->is_settling &&
		       !is_init(pod, tenant->container) &&
		       is_named(holdings->input->report->pod_resources, pod);
	return false;
}

static void hear_of(const struct finder *finder, unsigned witness,
		    const struct attribution_tenant *tenant, size_t device,
		    struct statement *statement)
{
	size_t n;
	const struct holding *items = holding_items_of(finder->holdings, device, tenant->pod_uid,
						       tenant->container, &n);
	for (size_t i = 0; i < n; i++) {
		if (!(items[i].witnesses & witness))
			continue;
		statement->speaks = true;
		statement->slots += device == finder->device;
	}
}

static struct statement hear(const struct finder *finder, unsigned witness, const struct pod *pod,
			     const struct attribution_tenant *tenant)
{
	const struct holdings *holdings = finder->holdings;
	struct statement statement = {.speaks = speaks_by_silence(finder, witness, pod, tenant)};
	for (size_t d = 0; d < holdings->roster->n_devices; d++)
		hear_of(finder, witness, tenant, d, &statement);
	hear_of(finder, witness, tenant, HOLDING_NOWHERE, &statement);
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
	return roster_published(&finder->holdings->roster->devices[finder->device]);
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

static int add(struct finder *finder, struct attribution_tenant *tenant,
	       const struct statement *statements, struct error *err)
{
	struct attribution_statement *says = arena_alloc(finder->arena, N_SAYS, sizeof(*says));
	uint32_t n = 0;

	tenant->confidence = ATTRIBUTION_CONFIDENCE_DISPUTED;
	if (finder->n_found == LIMIT_SOURCE_DISAGREEMENT) {
		finder->result.left_out++;
		return 0;
	}
	if (!says)
		return error_no_memory(err);
	for (unsigned i = 0; i < N_SAYS; i++) {
		if (statements[i].speaks)
			says[n++] = (struct attribution_statement){holding_witness_name(i),
								   statements[i].slots};
	}
	finder->found[finder->n_found++] = (struct attribution_disagreement){
		.pod_uid = tenant->pod_uid,
		.container = tenant->container,
		.says = {says, n, true},
	};
	return 0;
}

/* Nobody speaks of a tenant that only other witnesses have, or that is carried over. */
static bool differ(const struct statement *statements)
{
	int64_t low = INT64_MAX, high = 0;
	for (unsigned i = 0; i < N_SAYS; i++) {
		if (!statements[i].speaks)
			continue;
		low = statements[i].slots < low ? statements[i].slots : low;
		high = statements[i].slots > high ? statements[i].slots : high;
	}
	return high > 0 && low < high;
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

/* A book that does not name the tenant contradicts once it has been confirmed since. */
static void wait_for_silence(struct finder *finder, const struct statement *statements,
			     const struct attribution_tenant *tenant)
{
	const struct holdings *holdings = finder->holdings;
	if (holdings->checkpoint == HOLDING_BOOK_OK && !statements[SAYS_CHECKPOINT].speaks &&
	    statements[SAYS_POD_STATUS].speaks && !is_heard_since(holdings->input, tenant))
		finder->is_one_unheard = true;
}

static int compare(struct finder *finder, struct attribution_tenant *tenant, struct error *err)
{
	const struct pod *pod = census_find_uid(&finder->holdings->census, tenant->pod_uid);
	struct statement statements[N_SAYS];

	if (!pod)
		return 0;
	if (finder->is_silent || tenant->confidence == ATTRIBUTION_CONFIDENCE_DISPUTED) {
		carry(finder, tenant);
		return 0;
	}
	for (unsigned i = 0; i < N_SAYS; i++)
		statements[i] = hear(finder, compared[i], pod, tenant);
	if (!differ(statements)) {
		wait_for_silence(finder, statements, tenant);
		return 0;
	}
	if (finder->is_early && !find_published(finder, tenant)) {
		finder->is_one_waiting = true;
		return 0;
	}
	return add(finder, tenant, statements, err);
}

int disagreement_find(const struct holdings *holdings, size_t device, struct tenants *tenants,
		      struct arena *arena, struct disagreements *ret_disagreements,
		      struct error *err)
{
	const struct join_input *input = holdings->input;
	int64_t left = input->limits->disagreement_ms - input->report_held_ms;
	struct finder finder = {
		.holdings = holdings,
		.device = device,
		.arena = arena,
		.is_early = left > 0,
		.is_silent = !input->report ||
			     input->report_age_ms >= input->limits->report_stale_ms,
		.result = {.again_in_ms = -1},
	};

	finder.found = arena_alloc(arena, LIMIT_SOURCE_DISAGREEMENT,
				   sizeof(struct attribution_disagreement));
	if (!finder.found)
		return error_no_memory(err);
	for (uint32_t i = 0; i < tenants->listed.count; i++) {
		if (compare(&finder, ARRAY_AT(tenants->listed, struct attribution_tenant, i), err) <
		    0)
			return -1;
	}
	if (finder.is_one_waiting)
		finder.result.again_in_ms = left;
	else if (finder.is_one_unheard)
		finder.result.again_in_ms = input->limits->disagreement_ms;
	finder.result.listed = (struct array){finder.n_found > 0 ? finder.found : NULL,
					      finder.n_found, true};
	*ret_disagreements = finder.result;
	return 0;
}
