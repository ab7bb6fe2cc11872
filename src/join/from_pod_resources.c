/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The first row that fits explains an entry of the List:
 *
 *	the API server has the pod   nothing: it is refused. But if the checkpoint has an entry of an
 *	on another node              unknown or ended pod there, the name means that pod
 *	the pod is over              nothing: kubelets before 1.34 list pods that ended
 *	the checkpoint has an entry  the pod holds the IDs, and both sources say so
 *	of that pod, and agrees
 *	the checkpoint has the ID    the pod of that entry holds it. The API server's pod of the name
 *	in the same container name   may be an earlier or later one than the kubelet's. If the
 *	of another pod               checkpoint is old, its ended pod may have a successor: if the
 *	                             kubelet has taken that over, the name decides
 *	the name means one pod       that pod holds them, by name only
 *	else                         somebody who cannot be told holds them
 *
 * "Old" is what a source said before it failed.
 */

#include "join/from_pod_resources.h"

#include <assert.h>

struct reader {
	struct facts_draft *draft;
	struct facts *facts;
	struct checkpoint_index *checkpoint;
	const struct previous_index *previous;
};

/* An entry of the List. */
struct entry {
	const struct report_pod_resource *said;
	const struct pod *pod;  /* of that name; or NULL */
	struct holder *holder;  /* NULL: there is no such pod */
	unsigned standings;     /* 1 << enum checkpoint_standing: of those that have an ID of it */
	bool is_taken_over;     /* the kubelet has the pod, so the name means no earlier one */
	bool is_foreign;        /* the API server has a pod of that name on another node */
};

static const struct fact listed = {.witnesses = WITNESS_POD_RESOURCES};

static struct view id_at(const struct entry *entry, uint32_t i)
{
	return *ARRAY_AT(entry->said->device_ids, struct view, i);
}

static bool has(const struct entry *entry, enum checkpoint_standing standing)
{
	return entry->standings & (1u << standing);
}

/* The List has these IDs of that pod, or, without a pod, of whomever. */
static void mark(const struct reader *reader, const struct entry *entry, const struct pod *pod)
{
	for (uint32_t i = 0; i < entry->said->device_ids.count; i++)
		checkpoint_index_mark(reader->checkpoint, id_at(entry, i), entry->said->container,
				      pod);
}

/* What the kubelet's start of a pod tells */

/*
 * True when a List that was read after the kubelet took the pod over means this pod: the kubelet
 * has no two pods of one name at a time. A static pod whose manifest was changed is an exception: the
 * API server still has the former mirror of that name.
 */
static bool is_since_start(const struct reader *reader, const struct pod *pod)
{
	/* An old List does not tell who held the IDs since. */
	if (pod_started_at(pod) == 0 || pod_config_hash(pod).len > 0 ||
	    !source_is_good(reader->facts->source.pod_resources))
		return false;
	bool is_read = node_pods_is_read_since(&reader->facts->node_pods, pod);
	reader->facts->awaits_list |= !is_read;
	return is_read;
}

/* On any device: the kubelet has the pod, whatever the API server knows. */
static bool has_process(const struct report *report, const struct pod *pod)
{
	for (uint32_t i = 0; i < report->devices.count; i++) {
		const struct array processes =
			ARRAY_AT(report->devices, struct report_device, i)->processes;
		for (uint32_t k = 0; k < processes.count; k++) {
			if (view_equal(ARRAY_AT(processes, struct report_process, k)->pod_uid,
				       pod_uid(pod)))
				return true;
		}
	}
	return false;
}

/* When the name is all there is to go by */

/* A List has named the container there. For an ID of HAMi's, HAMi's annotation says so too. */
static bool was_listed(const struct reader *reader, const struct entry *entry,
		       const struct device_place *place)
{
	const bool is_hami = place->id.is_hami;
	const struct devices *devices = reader->facts->devices;
	const struct device *device = is_hami ? devices->devices : place->device;
	const struct device *end = is_hami ? device + devices->n_devices : device + 1;
	const unsigned by = WITNESS_POD_RESOURCES | (is_hami ? WITNESS_HAMI : 0u);

	for (; device < end; device++) {
		const struct previous_tenant *tenant = previous_find(
			device->published, pod_uid(entry->pod), entry->said->container);
		/* Whoever named HAMi's ID there named none that tells its own device. */
		if (tenant && (tenant->witnesses & by) &&
		    (is_hami || tenant->placeholder != PLACEHOLDER_HAMI))
			return true;
	}
	return false;
}

static void add_by_name(const struct reader *reader, const struct entry *entry, struct view id)
{
	const struct device_place place = devices_find(reader->facts->devices, id);
	const struct pod *pod = entry->pod;
	struct view uid = pod ? pod_uid(pod) : (struct view){0};
	/* HAMi's plugin may have given any device for its ID. */
	const struct device *scope = place.id.is_hami ? NULL : place.device;
	struct holder *holder = NULL;

	if (place.device && pod &&
	    (was_listed(reader, entry, &place) || is_since_start(reader, pod)))
		holder = entry->holder;
	else if (place.device && !entry->is_taken_over &&
		 previous_index_has_namesake(reader->previous, entry->said, uid, scope))
		return; /* it speaks of a pod that ended */
	facts_add(reader->draft, holder, id, listed);
}

/* The checkpoint agrees */

/* If one of the two sources is old, only what agrees counts: the rest may be an earlier pod's. */
static void add_agreed(const struct reader *reader, const struct entry *entry)
{
	const struct facts *facts = reader->facts;
	bool is_list_old = facts->source.pod_resources == SOURCE_UNREADABLE;
	assert(entry->pod);

	/* An old List means who had the name then. */
	if (is_list_old && (pod_started_at(entry->pod) == 0 ||
			    !node_pods_is_read_since(&facts->node_pods, entry->pod)))
		return;
	for (uint32_t i = 0; i < entry->said->device_ids.count; i++) {
		if ((!is_list_old && facts->source.checkpoint != SOURCE_UNREADABLE) ||
		    checkpoint_index_names(reader->checkpoint, id_at(entry, i),
					   entry->said->container, entry->pod))
			facts_add(reader->draft, entry->holder, id_at(entry, i), listed);
	}
}

/* The table */

static void explain(const struct reader *reader, const struct entry *entry)
{
	if (entry->pod &&
	    checkpoint_index_agrees(reader->checkpoint, entry->pod, entry->said->container))
		add_agreed(reader, entry);
	else if (has(entry, CHECKPOINT_REFUSED) || (has(entry, CHECKPOINT_LIVE) && !entry->pod))
		return;
	else if (has(entry, CHECKPOINT_UNKNOWN))
		mark(reader, entry, NULL);
	else if (has(entry, CHECKPOINT_ENDED) &&
		 !(entry->is_taken_over && reader->facts->source.checkpoint == SOURCE_UNREADABLE))
		return;
	else
		for (uint32_t i = 0; i < entry->said->device_ids.count; i++)
			add_by_name(reader, entry, id_at(entry, i));
}

static struct entry entry_at(const struct reader *reader, uint32_t index)
{
	const struct join_input *input = reader->facts->input;
	struct entry entry = {
		.said = ARRAY_AT(input->report->pod_resources, struct report_pod_resource, index),
		.is_foreign = input->is_foreign && input->is_foreign[index],
	};
	entry.pod = node_pods_find_name(&reader->facts->node_pods, entry.said->namespace,
					entry.said->name);
	return entry;
}

static void read_entry(const struct reader *reader, struct entry entry)
{
	for (uint32_t i = 0; i < entry.said->device_ids.count; i++)
		entry.standings |= checkpoint_index_standings(reader->checkpoint, id_at(&entry, i),
							      entry.said->container);
	if (entry.is_foreign && !has(&entry, CHECKPOINT_UNKNOWN) &&
	    !has(&entry, CHECKPOINT_ENDED)) {
		reader->facts->claims_refused++;
		return;
	}
	if (entry.pod && pod_is_over(entry.pod))
		return;
	if (entry.pod) {
		entry.is_taken_over = pod_started_at(entry.pod) ||
				      has_process(reader->facts->input->report, entry.pod);
		entry.holder = facts_add_container(reader->draft, entry.pod, entry.said->container,
						   entry.said->resource);
	}
	explain(reader, &entry);
}

/* All that the List says of a container is about one pod: where a part agrees with the checkpoint,
 * the rest is about the checkpoint's pod too. So agreement is looked for first. */
void from_pod_resources_read(struct facts_draft *draft, struct checkpoint_index *checkpoint,
			     const struct previous_index *previous)
{
	const struct reader reader = {draft, draft->facts, checkpoint, previous};
	const uint32_t n = draft->facts->input->report->pod_resources.count;

	for (uint32_t i = 0; i < n; i++) {
		const struct entry entry = entry_at(&reader, i);
		if (entry.pod)
			mark(&reader, &entry, entry.pod);
	}
	for (uint32_t i = 0; i < n; i++)
		read_entry(&reader, entry_at(&reader, i));
}
