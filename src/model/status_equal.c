/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One function a struct of model/attribution.h, member by member in its order. What processes take of
 * the memory, and how many they are, is left out: a status that is written for another reason
 * carries the newest figure. So is the report that the status was made from, for the same reason.
 */

#include "model/status_equal.h"

typedef bool (*element_equal_fn)(const void *a, const void *b);

static bool arrays_equal(struct array a, struct array b, size_t size, element_equal_fn equal)
{
	if (a.count != b.count)
		return false;
	for (uint32_t i = 0; i < a.count; i++) {
		if (!equal((const char *)a.items + i * size, (const char *)b.items + i * size))
			return false;
	}
	return true;
}

static bool text_equal(const void *a, const void *b)
{
	return view_equal(*(const struct view *)a, *(const struct view *)b);
}

static bool texts_equal(struct array a, struct array b)
{
	return arrays_equal(a, b, sizeof(struct view), text_equal);
}

static bool device_equal(const struct attribution_device *a, const struct attribution_device *b)
{
	return a->index == b->index && a->minor == b->minor &&
	       view_equal(a->pci_bus_id, b->pci_bus_id) && view_equal(a->model, b->model) &&
	       a->memory_mib == b->memory_mib && view_equal(a->serial, b->serial) &&
	       view_equal(a->compute_capability, b->compute_capability) &&
	       view_equal(a->driver_version, b->driver_version) &&
	       view_equal(a->cuda_version, b->cuda_version);
}

static bool sharing_equal(const struct attribution_sharing *a, const struct attribution_sharing *b)
{
	return a->mode == b->mode && a->replicas == b->replicas &&
	       texts_equal(a->evidence, b->evidence);
}

static bool slots_equal(const struct attribution_slots *a, const struct attribution_slots *b)
{
	return a->total == b->total && a->allocated == b->allocated &&
	       view_equal(a->summary, b->summary);
}

static bool partition_equal(const void *a, const void *b)
{
	const struct attribution_partition *x = a, *y = b;
	return view_equal(x->uuid, y->uuid) && view_equal(x->profile, y->profile) &&
	       x->gpu_instance_id == y->gpu_instance_id &&
	       x->compute_instance_id == y->compute_instance_id &&
	       x->memory_mib == y->memory_mib && x->slots == y->slots;
}

/* Whether there is an owner follows from its kind and name. */
static bool workload_equal(const struct attribution_workload *a,
			   const struct attribution_workload *b)
{
	return view_equal(a->kind, b->kind) && view_equal(a->name, b->name);
}

static bool tenant_equal(const void *a, const void *b)
{
	const struct attribution_tenant *x = a, *y = b;
	return view_equal(x->pod_uid, y->pod_uid) && view_equal(x->container, y->container) &&
	       view_equal(x->pod_namespace, y->pod_namespace) &&
	       view_equal(x->pod_name, y->pod_name) && workload_equal(&x->workload, &y->workload) &&
	       view_equal(x->resource, y->resource) && x->slots == y->slots &&
	       texts_equal(x->partitions, y->partitions) &&
	       x->partitions_left_out == y->partitions_left_out && x->phase == y->phase &&
	       x->confidence == y->confidence && texts_equal(x->witnesses, y->witnesses) &&
	       x->system == y->system && view_equal(x->stand_in, y->stand_in) &&
	       x->since == y->since && (x->processes > 0) == (y->processes > 0);
}

static bool statement_equal(const void *a, const void *b)
{
	const struct attribution_statement *x = a, *y = b;
	return view_equal(x->witness, y->witness) && x->slots == y->slots &&
	       texts_equal(x->device_ids, y->device_ids) &&
	       x->device_ids_left_out == y->device_ids_left_out;
}

static bool disagreement_equal(const void *a, const void *b)
{
	const struct attribution_disagreement *x = a, *y = b;
	return view_equal(x->pod_uid, y->pod_uid) && view_equal(x->container, y->container) &&
	       arrays_equal(x->says, y->says, sizeof(struct attribution_statement),
			    statement_equal);
}

static bool unplaced_equal(const void *a, const void *b)
{
	const struct attribution_unplaced *x = a, *y = b;
	return view_equal(x->pod_uid, y->pod_uid) && view_equal(x->container, y->container) &&
	       view_equal(x->pod_namespace, y->pod_namespace) &&
	       view_equal(x->pod_name, y->pod_name) && view_equal(x->resource, y->resource) &&
	       texts_equal(x->device_ids, y->device_ids) &&
	       x->device_ids_left_out == y->device_ids_left_out;
}

static bool user_equal(const void *a, const void *b)
{
	const struct attribution_user *x = a, *y = b;
	return view_equal(x->pod_uid, y->pod_uid) &&
	       view_equal(x->pod_namespace, y->pod_namespace) &&
	       view_equal(x->pod_name, y->pod_name) && view_equal(x->container, y->container) &&
	       view_equal(x->process, y->process) && x->since == y->since;
}

static bool past_tenant_equal(const void *a, const void *b)
{
	const struct attribution_past_tenant *x = a, *y = b;
	return view_equal(x->pod_uid, y->pod_uid) &&
	       view_equal(x->pod_namespace, y->pod_namespace) &&
	       view_equal(x->pod_name, y->pod_name) && view_equal(x->container, y->container) &&
	       x->since == y->since && x->until == y->until;
}

static bool activity_equal(const struct attribution_activity_state *a,
			   const struct attribution_activity_state *b)
{
	return a->state == b->state && a->since == b->since && a->scope == b->scope;
}

static bool health_event_equal(const void *a, const void *b)
{
	const struct attribution_health_event *x = a, *y = b;
	return x->xid == y->xid && x->time == y->time && view_equal(x->meaning, y->meaning) &&
	       texts_equal(x->tenants, y->tenants) && x->tenants_left_out == y->tenants_left_out;
}

static bool health_equal(const struct attribution_health_state *a,
			 const struct attribution_health_state *b)
{
	return a->state == b->state && a->recovery_action == b->recovery_action &&
	       texts_equal(a->reasons, b->reasons) &&
	       arrays_equal(a->events, b->events, sizeof(struct attribution_health_event),
			    health_event_equal);
}

static bool drift_equal(const void *a, const void *b)
{
	const struct attribution_drift *x = a, *y = b;
	return view_equal(x->type, y->type) && x->severity == y->severity &&
	       view_equal(x->intended, y->intended) && view_equal(x->observed, y->observed) &&
	       x->since == y->since && view_equal(x->message, y->message);
}

static bool intent_equal(const struct attribution_intent_state *a,
			 const struct attribution_intent_state *b)
{
	return a->state == b->state && view_equal(a->policy, b->policy) &&
	       arrays_equal(a->drifts, b->drifts, sizeof(struct attribution_drift), drift_equal);
}

static bool condition_equal(const void *a, const void *b)
{
	const struct condition *x = a, *y = b;
	return view_equal(x->type, y->type) && x->status == y->status &&
	       x->observed_generation == y->observed_generation &&
	       x->last_transition_time == y->last_transition_time &&
	       view_equal(x->reason, y->reason) && view_equal(x->message, y->message);
}

static bool counts_equal(const struct attribution_status *a, const struct attribution_status *b)
{
	return a->tenant_count == b->tenant_count && a->tenants_left_out == b->tenants_left_out &&
	       view_equal(a->tenant_summary, b->tenant_summary) &&
	       a->source_disagreement_left_out == b->source_disagreement_left_out &&
	       a->unplaced_tenants_left_out == b->unplaced_tenants_left_out &&
	       a->unallocated_users_left_out == b->unallocated_users_left_out &&
	       (a->unknown_processes > 0) == (b->unknown_processes > 0);
}

static bool lists_equal(const struct attribution_status *a, const struct attribution_status *b)
{
	return arrays_equal(a->partitions, b->partitions, sizeof(struct attribution_partition),
			    partition_equal) &&
	       arrays_equal(a->tenants, b->tenants, sizeof(struct attribution_tenant),
			    tenant_equal) &&
	       arrays_equal(a->source_disagreement, b->source_disagreement,
			    sizeof(struct attribution_disagreement), disagreement_equal) &&
	       arrays_equal(a->unplaced_tenants, b->unplaced_tenants,
			    sizeof(struct attribution_unplaced), unplaced_equal) &&
	       arrays_equal(a->unallocated_users, b->unallocated_users,
			    sizeof(struct attribution_user), user_equal) &&
	       arrays_equal(a->recent_tenants, b->recent_tenants,
			    sizeof(struct attribution_past_tenant), past_tenant_equal) &&
	       arrays_equal(a->conditions, b->conditions, sizeof(struct condition),
			    condition_equal);
}

bool status_equal(const struct attribution_status *a, const struct attribution_status *b)
{
	return a->observed_generation == b->observed_generation &&
	       view_equal(a->node_name, b->node_name) && device_equal(&a->device, &b->device) &&
	       sharing_equal(&a->sharing, &b->sharing) && slots_equal(&a->slots, &b->slots) &&
	       counts_equal(a, b) && lists_equal(a, b) &&
	       activity_equal(&a->activity, &b->activity) &&
	       health_equal(&a->health, &b->health) && intent_equal(&a->intent, &b->intent);
}
