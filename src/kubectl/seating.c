/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two passes over the devices. The first finds the seats: a tenant is looked up by its UID among
 * the pods that were asked for, then by its name among those that have no pod. The second is made
 * only for pods without a seat, to say why.
 */

#include "kubectl/seating.h"

#include <assert.h>
#include <stdlib.h>

#include "kubectl/standing.h"

int seating_init(struct seating *seating, struct arena *arena, size_t room, struct error *err)
{
	*seating = (struct seating){.arena = arena, .room = room};
	seating->findings = arena_alloc(arena, room, sizeof(*seating->findings));
	seating->by_uid = arena_alloc(arena, room, sizeof(struct seating_finding *));
	return seating->findings && seating->by_uid ? 0 : error_no_memory(err);
}

static int compare_uids(const void *left, const void *right)
{
	const struct seating_finding *a = *(const struct seating_finding *const *)left;
	const struct seating_finding *b = *(const struct seating_finding *const *)right;
	return view_compare(a->card->uid, b->card->uid);
}

void seating_seal(struct seating *seating)
{
	if (seating->n_by_uid > 1)
		qsort(seating->by_uid, seating->n_by_uid, sizeof(struct seating_finding *),
		      compare_uids);
}

void seating_add(struct seating *seating, struct view namespace, struct view name,
		 const struct pod_card *card)
{
	assert(seating->n_findings < seating->room);
	struct seating_finding *finding = &seating->findings[seating->n_findings++];
	*finding = (struct seating_finding){.namespace = namespace, .name = name, .card = card};
	if (card)
		seating->by_uid[seating->n_by_uid++] = finding;
}

static struct seating_finding *find_by_uid(const struct seating *seating, struct view uid)
{
	struct pod_card card = {.uid = uid};
	struct seating_finding key = {.card = &card}, *wanted = &key;
	struct seating_finding **found = NULL;
	if (uid.len > 0 && seating->n_by_uid > 0)
		found = bsearch(&wanted, seating->by_uid, seating->n_by_uid,
				sizeof(struct seating_finding *), compare_uids);
	return found ? *found : NULL;
}

static struct seating_finding *find_by_name(const struct seating *seating, struct view namespace,
					    struct view name)
{
	for (size_t i = 0; seating->is_named && i < seating->n_findings; i++) {
		struct seating_finding *finding = &seating->findings[i];
		if (view_equal(finding->name, name) && view_equal(finding->namespace, namespace))
			return finding;
	}
	return NULL;
}

/* The finding that a holder belongs to; or, with another UID, the one whose name it bears. */
static struct seating_finding *find(const struct seating *seating, struct view uid,
				    struct view namespace, struct view name)
{
	struct seating_finding *finding = find_by_uid(seating, uid);
	return finding ? finding : find_by_name(seating, namespace, name);
}

static bool is_same_pod(const struct seating_finding *finding, struct view uid)
{
	return !finding->card || view_equal(finding->card->uid, uid);
}

static bool is_anybody(const struct seating *seating, const struct attribution_tenant *tenant)
{
	return seating->is_everybody && (seating->namespace.len == 0 ||
					 view_equal(seating->namespace, tenant->pod_namespace));
}

static bool wants_tenant(const struct seating *seating, const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (is_anybody(seating, tenant) ||
		    find(seating, tenant->pod_uid, tenant->pod_namespace, tenant->pod_name))
			return true;
	}
	return false;
}

static bool wants_past(const struct seating *seating, const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *past =
			ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, i);
		if (find(seating, past->pod_uid, past->pod_namespace, past->pod_name))
			return true;
	}
	return false;
}

/* The rest of what a status says is about pods of its node. */
static bool wants_node(const struct seating *seating, struct view node)
{
	for (size_t i = 0; i < seating->n_by_uid; i++) {
		if (node.len > 0 && view_equal(seating->by_uid[i]->card->node, node))
			return true;
	}
	return false;
}

bool seating_wants(const struct seating *seating, const struct attribution *device)
{
	const struct attribution_status *status = &device->status;
	return wants_tenant(seating, status) || wants_past(seating, status) ||
	       wants_node(seating, status->node_name);
}

/* Counts a tenant, and writes its seat down where there is room for it. */
static void seat_tenant(struct seating *seating, const struct attribution *device,
			const struct attribution_tenant *tenant, bool is_counting)
{
	struct seating_finding *finding =
		find(seating, tenant->pod_uid, tenant->pod_namespace, tenant->pod_name);
	if (finding && !is_same_pod(finding, tenant->pod_uid)) {
		finding->earlier_device = device;
		finding->earlier_tenant = tenant;
		return;
	}
	if (!finding && !is_anybody(seating, tenant))
		return;
	if (is_counting) {
		seating->n_seats++;
		return;
	}
	if (finding)
		finding->n_seats++;
	seating->seats[seating->n_seats++] =
		(struct seat){device, tenant, .is_by_name = finding && !finding->card};
}

static void seat_all(struct seating *seating, const struct attribution *const *devices,
		     size_t n_devices, bool is_counting)
{
	seating->n_seats = 0;
	for (size_t i = 0; i < n_devices; i++) {
		struct array tenants = devices[i]->status.tenants;
		for (uint32_t j = 0; j < tenants.count; j++)
			seat_tenant(seating, devices[i],
				    ARRAY_AT(tenants, struct attribution_tenant, j), is_counting);
	}
}

static int compare_seats(const void *left, const void *right)
{
	const struct seat *a = left, *b = right;
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
static void add_past(struct seating_finding *finding, struct seating_past past)
{
	size_t i = finding->n_past;
	if (i < SEATING_MAX_PAST)
		finding->n_past++;
	else if (finding->past[--i].tenant->end_time >= past.tenant->end_time)
		return;
	for (; i > 0 && finding->past[i - 1].tenant->end_time < past.tenant->end_time; i--)
		finding->past[i] = finding->past[i - 1];
	finding->past[i] = past;
}

static void find_past(struct seating_finding *finding, const struct attribution *device)
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
			add_past(finding, (struct seating_past){device, past});
	}
}

static void find_unplaced(struct seating_finding *finding, const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->unplaced_tenants.count; i++) {
		const struct attribution_unplaced *unplaced =
			ARRAY_AT(status->unplaced_tenants, struct attribution_unplaced, i);
		if (view_equal(unplaced->pod_uid, finding->card->uid))
			finding->unplaced = unplaced;
	}
}

static void find_use(struct seating_finding *finding, const struct attribution *device)
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

/* What a device says of a pod that has no seat. */
static void look_at(struct seating_finding *finding, const struct attribution *device)
{
	find_past(finding, device);
	if (!finding->card || finding->card->node.len == 0 ||
	    !view_equal(finding->card->node, device->status.node_name))
		return;
	finding->n_node_devices++;
	if (!finding->doubtful_device && !standing_of(&device->status).is_current)
		finding->doubtful_device = device;
	find_unplaced(finding, &device->status);
	find_use(finding, device);
}

static enum seating_verdict judge(const struct seating_finding *finding)
{
	if (finding->n_seats > 0)
		return SEATING_ON_GPU;
	if (!finding->card)
		return SEATING_NOT_FOUND;
	if (finding->unplaced)
		return SEATING_UNPLACED;
	if (pod_card_is_over(finding->card))
		return SEATING_ENDED;
	if (!pod_card_asks(finding->card))
		return SEATING_NO_REQUEST;
	return finding->card->node.len == 0 ? SEATING_NOT_SCHEDULED : SEATING_UNKNOWN;
}

int seating_fill(struct seating *seating, const struct attribution *const *devices,
		 size_t n_devices, struct error *err)
{
	seat_all(seating, devices, n_devices, true);
	seating->seats = arena_alloc(seating->arena, seating->n_seats, sizeof(*seating->seats));
	if (!seating->seats)
		return error_no_memory(err);
	seat_all(seating, devices, n_devices, false);
	if (seating->n_seats > 1)
		qsort(seating->seats, seating->n_seats, sizeof(*seating->seats), compare_seats);
	for (size_t i = 0; i < seating->n_findings; i++) {
		struct seating_finding *finding = &seating->findings[i];
		for (size_t j = 0; j < n_devices && finding->n_seats == 0; j++)
			look_at(finding, devices[j]);
		finding->verdict = judge(finding);
	}
	return 0;
}
