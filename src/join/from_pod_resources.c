/* SPDX-License-Identifier: Apache-2.0 */

/*
 * PodResources names pods by name, so each ID is explained first: which pod it means.
 *
 * Of a pod that is over nothing is read: kubelets before 1.34 list pods that ended. Else the first
 * row that fits explains an ID of the List:
 *
 *	the API server has the pod   nothing: it is refused. But if the checkpoint has the ID of an
 *	on another node              unknown or ended pod, the name means that pod
 *	the checkpoint has the ID    the pod holds it, and both sources say so
 *	of that pod
 *	the checkpoint has the ID    the pod of that entry holds it. The API server's pod of the name
 *	in the same container name   may be an earlier or later one than the kubelet's. If the
 *	of another pod               checkpoint is old, its ended pod may have a successor: if that has
 *	                             started, the name decides
 *	it has other IDs of that     the pod holds it too, if the name means one pod and neither source
 *	pod's container              is old. Else nothing: it may be an earlier pod's
 *	the name means one pod       that pod holds it, by name only
 *	a pod of that name ended     nothing: it may speak of that one, until its successor starts
 *	else                         somebody who cannot be told holds it
 *
 * "Old" is what a source said before it failed.
 */

#include "join/readers.h"

#include <assert.h>

/* An entry of the List. */
struct entry {
	struct facts_draft *draft;
	struct facts *facts;
	const struct checkpoint_index *checkpoint;
	struct keyed *names; /* of each device, once they were asked for: who has, or had, it by a name */
	const struct report_pod_resource *said;
	const struct pod *pod; /* of that name; NULL: there is none, or it is on another node */
	struct holder *holder; /* it */
	unsigned has;          /* standings of those that have an ID of it in the checkpoint */
};

static const struct fact listed = {.witnesses = WITNESS_POD_RESOURCES};

/*
 * True when the List was read after the kubelet took the pod over. It then means this pod, as the
 * kubelet has no two pods of one name at a time. A static pod whose manifest was changed is an exception: the
 * API server still has the former mirror of that name. An old List does not tell who held the IDs
 * since.
 */
static bool is_since_start(struct facts *facts, const struct pod *pod)
{
	if (pod_gpu(pod)->started_at == 0 || pod_config_hash(pod).len > 0 ||
	    !source_is_good(facts->source.pod_resources))
		return false;
	bool is_read = node_pods_is_read_since(&facts->node_pods, pod);
	facts->awaits_list |= !is_read;
	return is_read;
}

/* A List has named the container there: not HAMi's ID for one that tells its own device. */
static bool was_listed(const struct entry *entry, const struct device_place *place)
{
	assert(place->device && entry->pod);
	const struct previous_tenant *tenant = previous_find(
		place->device->published, pod_uid(entry->pod), entry->said->container);
	return tenant && (tenant->witnesses & WITNESS_POD_RESOURCES) &&
	       (place->id.is_hami || tenant->placeholder != PLACEHOLDER_HAMI);
}

/* Another pod is, or was, a tenant of the device by the names that the List says. */
static bool had_namesake(const struct entry *entry, const struct device *device)
{
	struct keyed *names = &entry->names[device - entry->facts->devices->devices];
	if (!names->arena && device->previous) {
		names->arena = entry->draft->arena;
		previous_index_names(device->previous, names);
	}
	KEYED_EACH(item, names, KEYED_KEY(entry->said->name, entry->said->container, entry->said->namespace))
		if (!entry->pod || !view_equal(*(const struct view *)item->value, pod_uid(entry->pod)))
			return true;
	return false;
}

static void add_by_name(const struct entry *entry, struct view id)
{
	const struct device_place place = devices_find(entry->facts->devices, id);
	const struct pod *pod = entry->pod;
	struct holder *holder = NULL;
	if (pod && checkpoint_index_find(entry->checkpoint, VIEW(""), entry->said->container, pod)) {
		if (entry->facts->source.checkpoint != SOURCE_UNREADABLE &&
		    is_since_start(entry->facts, pod))
			facts_add(entry->draft, entry->holder, id, listed);
		return;
	}
	if (place.device && pod && (was_listed(entry, &place) || is_since_start(entry->facts, pod)))
		holder = entry->holder;
	else if (place.device && !(pod && pod_gpu(pod)->started_at) && had_namesake(entry, place.device))
		return;
	facts_add(entry->draft, holder, id, listed);
}

/* An old List means who had the name then. */
static void add_agreed(const struct entry *entry, struct view id)
{
	const struct facts *facts = entry->facts;
	if (facts->source.pod_resources != SOURCE_UNREADABLE ||
	    (pod_gpu(entry->pod)->started_at && node_pods_is_read_since(&facts->node_pods, entry->pod)))
		facts_add(entry->draft, entry->holder, id, listed);
}

static void explain(const struct entry *entry, struct view id)
{
	const struct view container = entry->said->container;
	const bool is_successor = entry->pod && pod_gpu(entry->pod)->started_at &&
				  entry->facts->source.checkpoint == SOURCE_UNREADABLE;
	if (entry->pod && checkpoint_index_find(entry->checkpoint, id, container, entry->pod)) {
		add_agreed(entry, id);
	} else if ((entry->has & CHECKPOINT_REFUSED) ||
		   ((entry->has & CHECKPOINT_LIVE) && !entry->pod)) {
		return;
	} else if (entry->has & CHECKPOINT_UNKNOWN) {
		struct checkpoint_place *place =
			checkpoint_index_find(entry->checkpoint, id, container, NULL);
		if (place)
			place->is_listed = true;
	} else if (!(entry->has & CHECKPOINT_ENDED) || is_successor) {
		add_by_name(entry, id);
	}
}

/* is_foreign: the API server has a pod of that name on another node. */
static void read_entry(struct entry entry, bool is_foreign)
{
	const struct report_pod_resource *said = entry.said;
	entry.pod = node_pods_find_name(&entry.facts->node_pods, said->namespace, said->name);
	ARRAY_EACH(const struct view, id, said->device_ids) {
		const struct checkpoint_place *place =
			checkpoint_index_find(entry.checkpoint, *id, said->container, NULL);
		entry.has |= place ? place->standings : 0;
	}
	if (is_foreign && !(entry.has & (CHECKPOINT_UNKNOWN | CHECKPOINT_ENDED))) {
		entry.facts->entries_refused++;
		return;
	}
	if (entry.pod && pod_is_over(entry.pod))
		return;
	if (entry.pod)
		entry.holder = facts_add_container(entry.draft, entry.pod, said->container, said->resource);
	ARRAY_EACH(const struct view, id, said->device_ids)
		explain(&entry, *id);
}

void from_pod_resources_read(struct facts_draft *draft, const struct checkpoint_index *checkpoint)
{
	const struct join_input *input = draft->facts->input;
	const bool *is_foreign = input->is_foreign;
	struct keyed *names;
	if (!ARENA_NEW(names, draft->arena, draft->facts->devices->n_devices))
		return;
	ARRAY_EACH(const struct report_pod_resource, said, input->report->pod_resources)
		read_entry((struct entry){draft, draft->facts, checkpoint, names, said}, is_foreign && *is_foreign++);
}
