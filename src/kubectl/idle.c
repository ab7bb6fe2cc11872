/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A partition is looked at only while the device is not idle as a whole: then the device's row would
 * say the same again.
 */

#include "kubectl/idle.h"

#include <stdlib.h>

#include "kubectl/report_state.h"
#include "kubectl/tenant_cell.h"

struct search {
	bool is_all;
	struct idle idle;
};

static bool is_wanted(const struct search *search, const struct attribution_status *status,
		      const struct attribution_partition *partition)
{
	return search->is_all || tenant_cell_may_be_held(status, partition);
}

static void add(struct search *search, const struct attribution *device,
		const struct attribution_partition *partition, int64_t since)
{
	struct idle *idle = &search->idle;
	idle->rows[idle->n_rows] = (struct idle_row){
		.device = device, .partition = partition, .since = since, .order = idle->n_rows};
	idle->n_rows++;
}

static int compare(const void *left, const void *right)
{
	const struct idle_row *a = left, *b = right;
	int order = (a->since == 0) - (b->since == 0);
	if (order == 0)
		order = (a->since > b->since) - (a->since < b->since);
	return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* False where a partition that is wanted may be idle or not. */
static bool add_partitions(struct search *search, const struct attribution *device)
{
	struct array partitions = device->status.partitions;
	size_t start = search->idle.n_rows, first = start;
	bool is_known = true;
	for (uint32_t i = 0; i < partitions.count; i++) {
		const struct attribution_partition *partition =
			ARRAY_AT(partitions, struct attribution_partition, i);
		if (!is_wanted(search, &device->status, partition))
			continue;
		bool is_idle = partition->activity.state == ATTRIBUTION_ACTIVITY_IDLE;
		if (is_idle)
			add(search, device, partition, partition->activity.idle_since);
		if (is_idle || partition->activity.state == ATTRIBUTION_ACTIVITY_ACTIVE)
			search->idle.is_any_measured = true;
		else
			is_known = false;
	}
	for (size_t i = start; i < search->idle.n_rows; i++) {
		if (compare(&search->idle.rows[i], &search->idle.rows[first]) < 0)
			first = i;
	}
	if (search->idle.n_rows > start)
		search->idle.rows[first].is_first_of_device = true;
	return is_known;
}

/* An object from before idleSince says since when the state has been Idle. */
static void add_device(struct search *search, const struct attribution *device)
{
	const struct attribution_activity_state *activity = &device->status.activity;
	add(search, device, NULL,
	    activity->idle_since > 0 ? activity->idle_since : activity->last_transition_time);
	search->idle.rows[search->idle.n_rows - 1].is_first_of_device = true;
}

/* False where it is not known whether it is idle. */
static bool look(struct search *search, const struct attribution *device)
{
	const struct attribution_activity_state *activity = &device->status.activity;
	if (!report_state_of(&device->status).is_fresh)
		return false;
	if (activity->state == ATTRIBUTION_ACTIVITY_IDLE) {
		add_device(search, device);
		return true;
	}
	bool are_partitions_known = activity->scope != ATTRIBUTION_SCOPE_PARTITION ||
				    add_partitions(search, device);
	return activity->state == ATTRIBUTION_ACTIVITY_ACTIVE && are_partitions_known;
}

static size_t count_parts(const struct attribution *const *devices, size_t n_devices)
{
	size_t n = n_devices;
	for (size_t i = 0; i < n_devices; i++)
		n += devices[i]->status.partitions.count;
	return n;
}

int idle_find(const struct attribution *const *devices, size_t n_devices, bool is_all,
	      struct arena *arena, struct idle *ret, struct error *err)
{
	struct search search = {.is_all = is_all};
	struct idle *idle = &search.idle;
	idle->rows = arena_alloc(arena, count_parts(devices, n_devices), sizeof(struct idle_row));
	idle->unknown = arena_alloc(arena, n_devices, sizeof(struct attribution *));
	if (!idle->rows || !idle->unknown)
		return error_no_memory(err);
	for (size_t i = 0; i < n_devices; i++) {
		if (!is_wanted(&search, &devices[i]->status, NULL))
			continue;
		if (look(&search, devices[i]))
			idle->is_any_measured = true;
		else
			idle->unknown[idle->n_unknown++] = devices[i];
	}
	if (idle->n_rows > 1)
		qsort(idle->rows, idle->n_rows, sizeof(struct idle_row), compare);
	*ret = *idle;
	return 0;
}
