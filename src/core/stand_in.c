/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stand_in.h"

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
 * False: it is no device of the node, or not one that is known yet, or it still is another node's.
 * Then all that is known is that the pod has one of this node's.
 */
static bool note_hami_device(struct ledger *ledger, const struct pod *pod, struct view container,
			     struct view uuid)
{
	const struct holding what = {.witnesses = HOLDING_HAMI};
	struct roster_place place = roster_find(ledger->holdings->roster, uuid);
	if (!place.device || place.device->is_elsewhere)
		return false;
	ledger_note_device(ledger,
			   ledger_add_owner(ledger,
					    (struct holding_owner){
						    .pod_uid = pod_uid(pod),
						    .container = container,
						    .resource = VIEW("nvidia.com/gpu"),
						    .pod = pod,
					    }),
			   place.device, (struct view){0}, what);
	return true;
}

/* The annotation says where the IDs lead that the container holds: without them it says nothing. */
static void read_hami_container(struct ledger *ledger, const struct pod *pod, struct view container,
				struct view devices)
{
	size_t n_held = ledger_count_hami(ledger, pod, container), n = 0;
	struct view device;

	while (devices.len > 0 && n < n_held) {
		view_cut(devices, VIEW(":"), &device, &devices);
		n += note_hami_device(ledger, pod, container, uuid_of(device));
	}
	if (n > 0)
		ledger_drop_hami(ledger, pod, container);
}

/* The parts are in the order of the pod's containers, which come first in its record. */
static void read_hami(struct ledger *ledger, const struct pod *pod)
{
	struct view devices, rest = pod_hami_devices(pod);
	for (uint32_t i = 0; i < pod_count_containers(pod); i++) {
		view_cut(rest, VIEW(";"), &devices, &rest);
		read_hami_container(ledger, pod, pod_container_at(pod, i)->name, devices);
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
			 const struct roster_device *device)
{
	const struct holding what = {.witnesses = HOLDING_KAI, .takes_no_slot = true};
	const struct census *census = &ledger->holdings->census;
	bool has_any = false;

	for (size_t i = 0; i < census->n_gpu_pods; i++) {
		const struct pod *pod = census->gpu_pods[i];
		if (!is_sharer(pod, group))
			continue;
		has_any = true;
		ledger_note_device(ledger,
				   ledger_add_owner(ledger,
						    (struct holding_owner){
							    .pod_uid = pod_uid(pod),
							    .container = find_container(pod),
							    .pod = pod,
						    }),
				   device, (struct view){0}, what);
	}
	return has_any;
}

/* What the reservation holds by the other witnesses; a reservation holds one device: of several,
 * should they differ, it is the first of the roster. */
static const struct roster_device *mark_reservation(struct ledger *ledger, const struct pod *pod,
						    bool is_resolved)
{
	const struct holdings *holdings = ledger->holdings;
	size_t device = HOLDING_NOWHERE;

	for (size_t i = 0; i < ledger->n_owners; i++) {
		struct holding_owner *owner = &ledger->owners[i];
		if (owner->pod != pod)
			continue;
		owner->stand_in = VIEW("KAI");
		owner->is_resolved = is_resolved;
	}
	for (size_t i = 0; i < holdings->n_items; i++) {
		const struct holding *item = &holdings->items[i];
		if (item->owner->pod == pod && item->device < device)
			device = item->device;
	}
	return device != HOLDING_NOWHERE ? &holdings->roster->devices[device] : NULL;
}

/* Until a witness has told which device the reservation holds, its annotation does. */
static void resolve_reservation(struct ledger *ledger, const struct pod *pod)
{
	const struct roster_device *device = mark_reservation(ledger, pod, false);
	if (!device)
		device = roster_find(ledger->holdings->roster, pod_kai_device(pod)).device;
	if (device && note_sharers(ledger, pod_kai_group(pod), device))
		mark_reservation(ledger, pod, true);
}

/* All */

size_t stand_in_count(const struct census *census)
{
	size_t n = 0, n_reservations = 0, n_sharers = 0;
	for (size_t i = 0; i < census->n_gpu_pods; i++) {
		const struct pod *pod = census->gpu_pods[i];
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
	const struct census *census = &ledger->holdings->census;
	for (size_t i = 0; i < census->n_gpu_pods; i++) {
		const struct pod *pod = census->gpu_pods[i];
		if (pod_is_over(pod))
			continue;
		if (pod_is_reservation(pod))
			resolve_reservation(ledger, pod);
		else
			read_hami(ledger, pod);
	}
}
