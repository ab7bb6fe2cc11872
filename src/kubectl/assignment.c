/* SPDX-License-Identifier: Apache-2.0 */

/*
 * There are two passes over the devices. The first finds the assignments: it looks a tenant up by its
 * UID among the pods that were asked for. A name that was asked for and that no pod has is looked up
 * by name. The second pass is made only for pods without an assignment, to say why.
 */

#include "kubectl/assignment.h"

#include <assert.h>
#include <stdlib.h>

#include "kubectl/report_state.h"

int assignment_init(struct assignment_set *set, struct arena *arena, size_t room, struct error *err)
{
	*set = (struct assignment_set){.arena = arena, .room = room};
	set->findings = arena_alloc(arena, room, sizeof(*set->findings));
	set->by_uid = arena_alloc(arena, room, sizeof(struct assignment_finding *));
	return set->findings && set->by_uid ? 0 : error_no_memory(err);
}

static int compare_uids(const void *left, const void *right)
{
	const struct assignment_finding *a = *(const struct assignment_finding *const *)left;
	const struct assignment_finding *b = *(const struct assignment_finding *const *)right;
	return view_compare(a->card->uid, b->card->uid);
}

void assignment_seal(struct assignment_set *set)
{
	if (set->n_by_uid > 1)
		qsort(set->by_uid, set->n_by_uid, sizeof(struct assignment_finding *),
		      compare_uids);
}

void assignment_add(struct assignment_set *set, struct view namespace, struct view name,
		 const struct pod_card *card)
{
	assert(set->n_findings < set->room);
	struct assignment_finding *finding = &set->findings[set->n_findings++];
	*finding = (struct assignment_finding){.namespace = namespace, .name = name, .card = card};
	if (card)
		set->by_uid[set->n_by_uid++] = finding;
}

static struct assignment_finding *find_by_uid(const struct assignment_set *set, struct view uid)
{
	struct pod_card card = {.uid = uid};
	struct assignment_finding key = {.card = &card}, *wanted = &key;
	struct assignment_finding **found = NULL;
	if (uid.len > 0 && set->n_by_uid > 0)
		found = bsearch(&wanted, set->by_uid, set->n_by_uid,
				sizeof(struct assignment_finding *), compare_uids);
	return found ? *found : NULL;
}

static struct assignment_finding *find_by_name(const struct assignment_set *set, struct view namespace,
					    struct view name)
{
	for (size_t i = 0; set->is_named && i < set->n_findings; i++) {
		struct assignment_finding *finding = &set->findings[i];
		if (view_equal(finding->name, name) && view_equal(finding->namespace, namespace))
			return finding;
	}
	return NULL;
}

/* The finding that a holder belongs to; or, with another UID, the one whose name it bears. */
static struct assignment_finding *find(const struct assignment_set *set, struct view uid,
				    struct view namespace, struct view name)
{
	struct assignment_finding *finding = find_by_uid(set, uid);
	return finding ? finding : find_by_name(set, namespace, name);
}

static bool is_same_pod(const struct assignment_finding *finding, struct view uid)
{
	return !finding->card || view_equal(finding->card->uid, uid);
}

static bool is_anybody(const struct assignment_set *set, const struct attribution_tenant *tenant)
{
	return set->is_everybody && (set->namespace.len == 0 ||
					 view_equal(set->namespace, tenant->pod_namespace));
}

static bool wants_tenant(const struct assignment_set *set, const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (is_anybody(set, tenant) ||
		    find(set, tenant->pod_uid, tenant->pod_namespace, tenant->pod_name))
			return true;
	}
	return false;
}

static bool wants_past(const struct assignment_set *set, const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *past =
			ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, i);
		if (find(set, past->pod_uid, past->pod_namespace, past->pod_name))
			return true;
	}
	return false;
}

/* The rest of what a status says is about pods of its node. */
static bool wants_node(const struct assignment_set *set, struct view node)
{
	for (size_t i = 0; i < set->n_by_uid; i++) {
		if (node.len > 0 && view_equal(set->by_uid[i]->card->node, node))
			return true;
	}
	return false;
}

bool assignment_wants(const struct assignment_set *set, const struct attribution *device)
{
	const struct attribution_status *status = &device->status;
	return wants_tenant(set, status) || wants_past(set, status) ||
	       wants_node(set, status->node_name);
}

/* Counts a tenant, and adds its assignment where there is room for it. */
static void assign_tenant(struct assignment_set *set, const struct attribution *device,
			const struct attribution_tenant *tenant, bool is_counting)
{
	struct assignment_finding *finding =
		find(set, tenant->pod_uid, tenant->pod_namespace, tenant->pod_name);
	if (finding && !is_same_pod(finding, tenant->pod_uid)) {
		finding->earlier_device = device;
		finding->earlier_tenant = tenant;
		return;
	}
	if (!finding && !is_anybody(set, tenant))
		return;
	if (is_counting) {
		set->n_assignments++;
		return;
	}
	if (finding)
		finding->n_assignments++;
	set->assignments[set->n_assignments++] =
		(struct assignment){device, tenant, .is_by_name = finding && !finding->card};
}

static void assign_all(struct assignment_set *set, const struct attribution *const *devices,
		     size_t n_devices, bool is_counting)
{
	set->n_assignments = 0;
	for (size_t i = 0; i < n_devices; i++) {
		struct array tenants = devices[i]->status.tenants;
		for (uint32_t j = 0; j < tenants.count; j++)
			assign_tenant(set, devices[i],
				    ARRAY_AT(tenants, struct attribution_tenant, j), is_counting);
	}
}

static int compare_assignments(const void *left, const void *right)
{
	const struct assignment *a = left, *b = right;
	int order = view_compare(a->tenant->pod_namespace, b->tenant->pod_namespace);
	if (order == 0)
		order = view_compare(a->tenant->pod_name, b->tenant->pod_name);
	if (order == 0)
		order = view_compare(a->tenant->pod_uid, b->tenant->pod_uid);
	if (order == 0)
		order = view_compare(a->tenant->container, b->tenant->container);
	if (order == 0)
		order = view_compare(a->device->status.node_name, b->device->status.node_name);
	if (order == 0)
		order = (a->device->status.device.index > b->device->status.device.index) -
			(a->device->status.device.index < b->device->status.device.index);
	return order ? order : view_compare(a->device->uuid, b->device->uuid);
}

/* The list is by age, the newest first; the oldest falls off a full one. */
static void add_past(struct assignment_finding *finding, struct assignment_past past)
{
	size_t i = finding->n_past;
	if (i < ASSIGNMENT_MAX_PAST)
		finding->n_past++;
	else if (finding->past[--i].tenant->end_time >= past.tenant->end_time)
		return;
	for (; i > 0 && finding->past[i - 1].tenant->end_time < past.tenant->end_time; i--)
		finding->past[i] = finding->past[i - 1];
	finding->past[i] = past;
}

static void find_past(struct assignment_finding *finding, const struct attribution *device)
{
	struct array recent = device->status.recent_tenants;
	for (uint32_t i = 0; i < recent.count; i++) {
		const struct attribution_past_tenant *past =
			ARRAY_AT(recent, struct attribution_past_tenant, i);
		bool is_it = finding->card
				     ? view_equal(past->pod_uid, finding->card->uid)
				     : view_equal(past->pod_namespace, finding->namespace) &&
					       view_equal(past->pod_name, finding->name);
		if (is_it)
			add_past(finding, (struct assignment_past){device, past});
	}
}

static void find_unplaced(struct assignment_finding *finding, const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->unplaced_tenants.count; i++) {
		const struct attribution_unplaced *unplaced =
			ARRAY_AT(status->unplaced_tenants, struct attribution_unplaced, i);
		if (view_equal(unplaced->pod_uid, finding->card->uid))
			finding->unplaced = unplaced;
	}
}

static void find_use(struct assignment_finding *finding, const struct attribution *device)
{
	for (uint32_t i = 0; i < device->status.unallocated_users.count; i++) {
		const struct attribution_user *user =
			ARRAY_AT(device->status.unallocated_users, struct attribution_user, i);
		if (!view_equal(user->pod_uid, finding->card->uid))
			continue;
		finding->user = user;
		finding->used_device = device;
	}
}

/* What a device says of a pod that has no assignment. */
static void look_at(struct assignment_finding *finding, const struct attribution *device)
{
	find_past(finding, device);
	if (!finding->card || finding->card->node.len == 0 ||
	    !view_equal(finding->card->node, device->status.node_name))
		return;
	finding->n_node_devices++;
	if (!finding->doubtful_device && !report_state_of(&device->status).is_current)
		finding->doubtful_device = device;
	find_unplaced(finding, &device->status);
	find_use(finding, device);
}

static enum assignment_verdict judge(const struct assignment_finding *finding)
{
	if (finding->n_assignments > 0)
		return ASSIGNMENT_ON_GPU;
	if (!finding->card)
		return ASSIGNMENT_NOT_FOUND;
	if (finding->unplaced)
		return ASSIGNMENT_UNPLACED;
	if (pod_card_is_over(finding->card))
		return ASSIGNMENT_ENDED;
	if (!pod_card_asks(finding->card))
		return ASSIGNMENT_NO_REQUEST;
	return finding->card->node.len == 0 ? ASSIGNMENT_NOT_SCHEDULED : ASSIGNMENT_UNKNOWN;
}

int assignment_fill(struct assignment_set *set, const struct attribution *const *devices,
		 size_t n_devices, struct error *err)
{
	assign_all(set, devices, n_devices, true);
	set->assignments = arena_alloc(set->arena, set->n_assignments, sizeof(*set->assignments));
	if (!set->assignments)
		return error_no_memory(err);
	assign_all(set, devices, n_devices, false);
	if (set->n_assignments > 1)
		qsort(set->assignments, set->n_assignments, sizeof(*set->assignments), compare_assignments);
	for (size_t i = 0; i < set->n_findings; i++) {
		struct assignment_finding *finding = &set->findings[i];
		for (size_t j = 0; j < n_devices && finding->n_assignments == 0; j++)
			look_at(finding, devices[j]);
		finding->verdict = judge(finding);
	}
	return 0;
}
