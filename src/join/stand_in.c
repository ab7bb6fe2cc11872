/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whose part of HAMi's annotation is whose? Which parts are there differs from release to release
 * (join/stand_in.h), but not how HAMi's plugin reads them: it does not learn for which container the
 * kubelet asks, and gives the first part that is not empty and that it has not given yet. The
 * kubelet asks for the init containers first, then for the main ones, each in the order of the pod,
 * and only for those that request something. So the n-th part that is not empty is that of the n-th
 * container that holds IDs. Where these are not as many, not all holders are known (the List has no
 * init containers), or somebody has edited the annotation: then it is read by position if it has a
 * part for each container, and not at all otherwise.
 */

#include "join/stand_in.h"

#include <assert.h>

/* HAMi */

static size_t count_char(struct view text, char c)
{
	size_t n = 0;
	for (size_t i = 0; i < text.len; i++)
		n += text.ptr[i] == c;
	return n;
}

/* It may have a bracket behind it, which tells a part of a MIG device: that does not matter here. */
static struct view uuid_of(struct view device)
{
	struct view uuid, rest;
	view_cut(device, VIEW(","), &uuid, &rest);
	return uuid;
}

/*
 * NULL: it is no device of the node, or not one that is known yet, or it still is another node's.
 * Then all that is known is that the pod has one of this node's.
 */
static const struct device *find_given(const struct ledger *ledger, struct view uuid)
{
	const struct device *device = devices_find(ledger->facts->devices, uuid).device;
	return device && !device->is_elsewhere ? device : NULL;
}

static void note_given(struct ledger *ledger, const struct pod *pod, struct view container,
		       const struct device *device)
{
	ledger_note_device(ledger,
			   ledger_add_owner(ledger,
					    (struct holder){
						    .pod_uid = pod_uid(pod),
						    .container = container,
						    .resource = VIEW("nvidia.com/gpu"),
						    .pod = pod,
					    }),
			   device, (struct view){0}, (struct fact){.witnesses = WITNESS_HAMI});
}

/* The annotation says where the IDs lead that the container holds: without them it says nothing. */
static void read_part(struct ledger *ledger, const struct pod *pod, struct view container,
		      struct view part)
{
	struct view text;

	while (part.len > 0) {
		view_cut(part, VIEW(":"), &text, &part);
		const struct device *device = find_given(ledger, uuid_of(text));
		if (device && ledger_take_hami(ledger, pod, container, device))
			note_given(ledger, pod, container, device);
	}
}

/* HAMi calls a part empty that has no device, or one without a UUID. */
static bool is_empty(struct view part)
{
	return uuid_of(part).len == 0;
}

struct containers {
	struct view names[POD_MAX_CONTAINERS];
	size_t n;
};

static void add(struct containers *containers, struct view name)
{
	assert(containers->n < ARRAY_SIZE(containers->names));
	containers->names[containers->n++] = name;
}

/* Notes the main ones, or the others, and which of them hold IDs. */
static void list_containers(const struct ledger *ledger, const struct pod *pod, bool is_main,
			    struct containers *all, struct containers *holders)
{
	for (uint32_t i = 0; i < pod_count_containers(pod); i++) {
		const struct pod_container *c = pod_container_at(pod, i);
		if (c->kind == POD_CONTAINER_EPHEMERAL ||
		    (c->kind == POD_CONTAINER_MAIN) != is_main)
			continue;
		add(all, c->name);
		if (ledger_has_hami(ledger, pod, c->name))
			add(holders, c->name);
	}
}

static size_t count_parts(struct view text, bool with_empty)
{
	struct view part;
	size_t n = 0;
	while (text.len > 0) {
		view_cut(text, VIEW(";"), &part, &text);
		n += with_empty || !is_empty(part);
	}
	return n;
}

static void read_hami(struct ledger *ledger, const struct pod *pod)
{
	struct view part, text = pod_hami_devices(pod);
	struct containers all = {.n = 0}, holders = {.n = 0};
	size_t n = 0;

	list_containers(ledger, pod, false, &all, &holders);
	list_containers(ledger, pod, true, &all, &holders);
	const bool by_position = count_parts(text, false) != holders.n;
	if (by_position && count_parts(text, true) != all.n)
		return;
	while (text.len > 0) {
		view_cut(text, VIEW(";"), &part, &text);
		if (!by_position && is_empty(part))
			continue;
		assert(n < (by_position ? all.n : holders.n));
		read_part(ledger, pod, by_position ? all.names[n++] : holders.names[n++],
				  part);
	}
}

/* KAI */

/* Who of the pod has the share: whom the pod names, or the first of its main containers. An
 * ephemeral one can have none: KAI knows none. */
static struct view find_container(const struct pod *pod)
{
	const struct pod_container *named = pod_find_container(pod, pod_kai_container(pod));

	if (named && named->kind != POD_CONTAINER_EPHEMERAL)
		return named->name;
	for (uint32_t i = 0; i < pod_count_containers(pod); i++) {
		if (pod_container_at(pod, i)->kind == POD_CONTAINER_MAIN)
			return pod_container_at(pod, i)->name;
	}
	return (struct view){0};
}

static bool is_sharer(const struct pod *pod, struct view group)
{
	return !pod_is_over(pod) && !pod_is_reservation(pod) && pod_is_in_kai_group(pod, group);
}

/* Notes the pods of the group as being on the device. False: there is none. */
static bool note_sharers(struct ledger *ledger, struct view group,
			 const struct device *device)
{
	const struct fact what = {.witnesses = WITNESS_KAI, .takes_no_slot = true};
	const struct node_pods *node_pods = &ledger->facts->node_pods;
	bool has_any = false;

	for (size_t i = 0; i < node_pods->n_gpu_pods; i++) {
		const struct pod *pod = node_pods->gpu_pods[i];
		if (!is_sharer(pod, group))
			continue;
		has_any = true;
		ledger_note_device(ledger,
				   ledger_add_owner(ledger,
						    (struct holder){
							    .pod_uid = pod_uid(pod),
							    .container = find_container(pod),
							    .pod = pod,
						    }),
				   device, (struct view){0}, what);
	}
	return has_any;
}

/* What the reservation holds by the other witnesses; a reservation holds one device: of several,
 * should they differ, it is the first of the devices. */
static const struct device *mark_reservation(struct ledger *ledger, const struct pod *pod,
						    bool is_resolved)
{
	const struct facts *facts = ledger->facts;
	size_t device = FACT_NOWHERE;

	for (size_t i = 0; i < ledger->n_owners; i++) {
		struct holder *owner = &ledger->owners[i];
		if (owner->pod != pod)
			continue;
		owner->stand_in = VIEW("KAI");
		owner->is_resolved = is_resolved;
	}
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *item = &facts->items[i];
		if (item->owner->pod == pod && item->device < device)
			device = item->device;
	}
	assert(device == FACT_NOWHERE || device < facts->devices->n_devices);
	return device != FACT_NOWHERE ? &facts->devices->devices[device] : NULL;
}

static bool is_published_on(const struct device *device, const struct pod *pod)
{
	const struct attribution_status *published = devices_published(device);
	for (uint32_t i = 0; published && i < published->tenants.count; i++) {
		if (view_equal(ARRAY_AT(published->tenants, struct attribution_tenant, i)->pod_uid,
			       pod_uid(pod)))
			return true;
	}
	return false;
}

/* A pod that runs moves to no other device: what no book names stays where it was published, on the
 * first such device of the devices. NULL: it is not there. */
static const struct device *find_kept(const struct facts *facts, const struct pod *pod)
{
	for (size_t i = 0; i < facts->devices->n_devices; i++) {
		if (is_published_on(&facts->devices->devices[i], pod))
			return &facts->devices->devices[i];
	}
	return NULL;
}

/* Until a witness has told which device the reservation holds, or did, its annotation does. */
static void resolve_reservation(struct ledger *ledger, const struct pod *pod)
{
	const struct device *device = mark_reservation(ledger, pod, false);
	if (!device)
		device = find_kept(ledger->facts, pod);
	if (!device)
		device = devices_find(ledger->facts->devices, pod_kai_device(pod)).device;
	if (device && note_sharers(ledger, pod_kai_group(pod), device))
		mark_reservation(ledger, pod, true);
}

/* All */

size_t stand_in_count(const struct node_pods *node_pods)
{
	size_t n = 0, n_reservations = 0, n_sharers = 0;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++) {
		const struct pod *pod = node_pods->gpu_pods[i];
		struct view hami = pod_hami_devices(pod);
		n += hami.len > 0 ? 1 + count_char(hami, ':') + count_char(hami, ';') : 0;
		if (pod_is_reservation(pod))
			n_reservations++;
		else
			n_sharers += pod_has_kai_group(pod);
	}
	return n + n_reservations * n_sharers;
}

void stand_in_resolve(struct ledger *ledger)
{
	const struct node_pods *node_pods = &ledger->facts->node_pods;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++) {
		const struct pod *pod = node_pods->gpu_pods[i];
		if (pod_is_over(pod))
			continue;
		if (pod_is_reservation(pod))
			resolve_reservation(ledger, pod);
		else
			read_hami(ledger, pod);
	}
}
