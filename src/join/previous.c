/* SPDX-License-Identifier: Apache-2.0 */
#include "join/previous.h"

#include <stdlib.h>

#include "assess/drift_previous.h"
#include "base/sort.h"

static enum reason read_reason(const struct attribution_status *status, enum condition_type type)
{
	const struct condition *condition = attribution_find_condition(status, wording_condition(type));
	return condition ? wording_reason_of(condition->reason) : REASON_NONE;
}

static int by_holder(const void *a, const void *b)
{
	const struct attribution_tenant *x = ((const struct previous_tenant *)a)->published;
	const struct attribution_tenant *y = ((const struct previous_tenant *)b)->published;
	return view_compare_pairs(x->pod_uid, x->container, y->pod_uid, y->container);
}

int previous_read(const struct attribution_status *status, struct arena *arena,
		  const struct previous **ret_previous, struct error *err)
{
	struct previous *previous;
	struct previous_tenant *tenants;
	uint32_t n = 0;
	if (!ARENA_NEW(previous, arena, 1) || !ARENA_NEW(tenants, arena, status->tenants.count))
		return error_no_memory(err);
	ARRAY_EACH(const struct attribution_tenant, tenant, status->tenants)
		tenants[n++] = (struct previous_tenant){
			.published = tenant,
			.witnesses = wording_witnesses_of(tenant->witnesses),
			.placeholder = wording_placeholder_of(tenant->placeholder),
			.is_unknown = attribution_is_unknown(tenant),
		};
	sort_items(tenants, status->tenants.count, sizeof(*tenants), by_holder);
	*previous = (struct previous){
		.status = status,
		.tenants = tenants,
		.n_tenants = status->tenants.count,
		.attributed = read_reason(status, CONDITION_ATTRIBUTED),
		.ready = read_reason(status, CONDITION_READY),
		.health = health_read_previous(&status->health),
		.activity = activity_read_previous(&status->activity),
		.intent = drift_previous_read(&status->intent),
		.is_agentless = read_reason(status, CONDITION_REPORT_FRESH) == REASON_NO_AGENT,
	};
	ARRAY_EACH(const struct view, line, status->sharing.evidence)
		previous->evidence |= sharing_rule_line_of(*line);
	*ret_previous = previous;
	return 0;
}

enum report_boot previous_boot(const struct previous *previous, const struct report *report)
{
	return previous ? report_boot_of(report, previous->status->report.boot_id) : REPORT_BOOT_UNKNOWN;
}

void previous_index_pods(const struct previous *previous, struct keyed *pods)
{
	ARRAY_EACH(const struct attribution_past_tenant, past, previous->status->recent_tenants)
		keyed_add(pods, KEYED_KEY(past->pod_uid), past);
	for (uint32_t i = 0; i < previous->n_tenants; i++) {
		const struct attribution_tenant *t = previous->tenants[i].published;
		if (!previous->tenants[i].is_unknown)
			keyed_add(pods, KEYED_KEY(t->pod_uid), t);
	}
}

void previous_index_names(const struct previous *previous, struct keyed *names)
{
	ARRAY_EACH(const struct attribution_past_tenant, t, previous->status->recent_tenants)
		keyed_add(names, KEYED_KEY(t->pod_name, t->container, t->pod_namespace), &t->pod_uid);
	for (uint32_t i = 0; i < previous->n_tenants; i++) {
		const struct attribution_tenant *t = previous->tenants[i].published;
		/* Whoever has HAMi's ID may have had another device. */
		if (previous->tenants[i].placeholder != PLACEHOLDER_HAMI)
			keyed_add(names, KEYED_KEY(t->pod_name, t->container, t->pod_namespace), &t->pod_uid);
	}
}

const struct previous_tenant *previous_find(const struct previous *previous, struct view pod_uid,
					    struct view container)
{
	const struct attribution_tenant holder = {.pod_uid = pod_uid, .container = container};
	const struct previous_tenant key = {.published = &holder};
	return previous && previous->n_tenants > 0
		       ? bsearch(&key, previous->tenants, previous->n_tenants, sizeof(key), by_holder)
		       : NULL;
}

const struct previous_tenant *previous_find_from(const struct previous *previous, uint32_t *next,
						 struct view pod_uid, struct view container)
{
	const struct previous_tenant *found = NULL;
	if (previous && *next < previous->n_tenants) {
		found = &previous->tenants[*next];
		if (!view_equal(found->published->pod_uid, pod_uid) ||
		    !view_equal(found->published->container, container))
			found = NULL;
	}
	if (!found)
		found = previous_find(previous, pod_uid, container);
	if (found)
		*next = (uint32_t)(found - previous->tenants) + 1;
	return found;
}
