/* SPDX-License-Identifier: Apache-2.0 */

/* Devices of a node stand side by side, so a node's rows are those since its first device. */

#include "kubectl/drifting.h"

#include <stdlib.h>

#include "assess/drift.h"
#include "assess/drift_settling.h"
#include "kubectl/report_state.h"

struct search {
	struct drifting found;
	struct arena *arena;
	size_t n_before; /* rows of the nodes before */
	size_t n_node;   /* devices of this one's node */
};

/* Work of which a label tells is of the node, too. */
static bool is_of_node(struct view type)
{
	enum drift_type known = drift_type_of(type);
	for (int kind = 0; kind < N_DRIFT_SETTLING; kind++)
		if (view_equal(type, drift_settling_word((enum drift_settling)kind)))
			return true;
	return known != N_DRIFT_TYPES && drift_is_of_node(known);
}

/* The row of a type that was found on another device of the node; NULL: there is none. */
static struct drifting_row *find_row(struct search *search, struct view type, bool is_pending)
{
	for (size_t i = search->n_before; i < search->found.n_rows; i++) {
		struct drifting_row *row = &search->found.rows[i];
		if (row->is_of_node && row->is_pending == is_pending &&
		    view_equal(row->drift->type, type))
			return row;
	}
	return NULL;
}

/* A row of one device has room for that one, a row of a node for all of its devices. */
static int add(struct search *search, const struct attribution *device,
	       const struct attribution_drift *drift, bool is_pending, struct error *err)
{
	struct drifting *found = &search->found;
	bool is_shared = is_of_node(drift->type);
	struct drifting_row *row = is_shared ? find_row(search, drift->type, is_pending) : NULL;
	if (!row) {
		const struct attribution **room = arena_alloc(
			search->arena, is_shared ? search->n_node : 1, sizeof(struct attribution *));
		if (!room)
			return error_no_memory(err);
		row = &found->rows[found->n_rows];
		*row = (struct drifting_row){
			.devices = room,
			.drift = drift,
			.is_of_node = is_shared,
			.is_pending = is_pending,
			.is_last_known = !report_state_of(&device->status).is_fresh,
			.order = found->n_rows,
		};
		found->n_rows++;
		found->n_drifts += !is_pending;
	}
	row->devices[row->n_devices++] = device;
	return 0;
}

static int add_pending(struct search *search, const struct attribution *device,
		       const struct attribution_pending_drift *pending, struct error *err)
{
	struct attribution_drift *drift = arena_alloc(search->arena, 1, sizeof(*drift));
	if (!drift)
		return error_no_memory(err);
	drift->type = pending->type;
	drift->start_time = pending->start_time;
	return add(search, device, drift, true, err);
}

/* Where a word of the state is not known here, that tells nothing. */
static void sort_out(struct drifting *found, const struct attribution *device)
{
	const struct attribution_status *status = &device->status;
	const int state = status->intent.state;
	const bool is_fresh = report_state_of(status).is_fresh;
	if (status->intent.drifts.count > 0) {
		found->drifted[found->n_drifted++] = device;
		if (!is_fresh)
			found->silent[found->n_silent++] = device;
	} else if (is_fresh && state == ATTRIBUTION_INTENT_SETTLING) {
		found->settling[found->n_settling++] = device;
	} else if (!is_fresh || (state != ATTRIBUTION_INTENT_IN_SYNC &&
				 state != ATTRIBUTION_INTENT_UNMANAGED)) {
		found->unknown[found->n_unknown++] = device;
	}
}

static int look(struct search *search, const struct attribution *device, struct error *err)
{
	const struct attribution_intent_state *intent = &device->status.intent;
	for (uint32_t i = 0; i < intent->drifts.count; i++) {
		if (add(search, device, ARRAY_AT(intent->drifts, struct attribution_drift, i), false,
			err) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < intent->pending.count; i++) {
		if (add_pending(search, device,
				ARRAY_AT(intent->pending, struct attribution_pending_drift, i),
				err) < 0)
			return -1;
	}
	sort_out(&search->found, device);
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct drifting_row *a = left, *b = right;
	const int64_t x = a->drift->start_time, y = b->drift->start_time;
	int order = a->is_pending - b->is_pending;
	if (order == 0)
		order = b->drift->severity - a->drift->severity;
	if (order == 0)
		order = b->is_of_node - a->is_of_node;
	if (order == 0)
		order = (x == 0) - (y == 0);
	if (order == 0)
		order = (x > y) - (x < y);
	return order ? order : (a->order > b->order) - (a->order < b->order);
}

static int make_room(struct search *search, const struct attribution *const *devices,
		     size_t n_devices, struct error *err)
{
	struct drifting *found = &search->found;
	size_t n = 0;
	for (size_t i = 0; i < n_devices; i++)
		n += devices[i]->status.intent.drifts.count + devices[i]->status.intent.pending.count;
	found->rows = arena_alloc(search->arena, n, sizeof(struct drifting_row));
	found->drifted = arena_alloc(search->arena, n_devices, sizeof(struct attribution *));
	found->unknown = arena_alloc(search->arena, n_devices, sizeof(struct attribution *));
	found->settling = arena_alloc(search->arena, n_devices, sizeof(struct attribution *));
	found->silent = arena_alloc(search->arena, n_devices, sizeof(struct attribution *));
	return found->rows && found->drifted && found->unknown && found->settling && found->silent
		       ? 0
		       : error_no_memory(err);
}

/* A device whose node is not known stands for itself. */
static size_t count_node(const struct attribution *const *devices, size_t n_devices)
{
	struct view node = devices[0]->status.node_name;
	size_t n = 1;
	while (n < n_devices && node.len > 0 && view_equal(node, devices[n]->status.node_name))
		n++;
	return n;
}

int drifting_find(const struct attribution *const *devices, size_t n_devices, struct arena *arena,
		  struct drifting *ret, struct error *err)
{
	struct search search = {.arena = arena};
	if (make_room(&search, devices, n_devices, err) < 0)
		return -1;
	for (size_t i = 0; i < n_devices; i += search.n_node) {
		search.n_before = search.found.n_rows;
		search.n_node = count_node(&devices[i], n_devices - i);
		for (size_t k = 0; k < search.n_node; k++) {
			if (look(&search, devices[i + k], err) < 0)
				return -1;
		}
	}
	if (search.found.n_rows > 1)
		qsort(search.found.rows, search.found.n_rows, sizeof(struct drifting_row), compare);
	*ret = search.found;
	return 0;
}
