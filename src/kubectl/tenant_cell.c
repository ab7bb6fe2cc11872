/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A tenant whose partitions are not listed may hold any of them. So the holders of a partition are
 * only all known if every tenant is listed with all of its partitions.
 */

#include "kubectl/tenant_cell.h"

#include <inttypes.h>

#include "base/sbuf.h"
#include "kubectl/words.h"

bool tenant_cell_holds(const struct attribution_tenant *tenant,
		       const struct attribution_partition *partition)
{
	if (!attribution_is_counted(tenant))
		return false;
	return !partition ||
	       view_is_among(partition->uuid, tenant->partitions.items, tenant->partitions.count);
}

static bool is_sure(const struct attribution_status *status,
		    const struct attribution_partition *partition)
{
	if (status->tenant_count < 0 || !partition)
		return status->tenant_count >= 0;
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (attribution_is_counted(tenant) &&
		    (tenant->partitions.count == 0 || tenant->partitions_left_out > 0))
			return false;
	}
	return status->tenants_left_out == 0;
}

bool tenant_cell_may_be_held(const struct attribution_status *status,
			     const struct attribution_partition *partition)
{
	if (!is_sure(status, partition))
		return true;
	if (!partition)
		return status->tenant_count > 0;
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		if (tenant_cell_holds(ARRAY_AT(status->tenants, struct attribution_tenant, i), partition))
			return true;
	}
	return false;
}

/* Each pod once, however many containers of it there are; returns how many had no room. */
static int64_t write_pods(const struct tenant_cell *what, struct sbuf *cell)
{
	const struct attribution_tenant *last = NULL;
	int64_t n = 0;
	for (uint32_t i = 0; i < what->status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(what->status->tenants, struct attribution_tenant, i);
		if (!tenant_cell_holds(tenant, what->partition) ||
		    (last && view_equal(last->pod_uid, tenant->pod_uid)))
			continue;
		last = tenant;
		if (n++ >= what->room)
			continue;
		if (n > 1)
			sbuf_append_char(cell, ',');
		words_pod(cell, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
	}
	return n > what->room ? n - what->room : 0;
}

void tenant_cell_write(const struct tenant_cell *what, struct sbuf *cell)
{
	size_t start = cell->len;
	int64_t more = write_pods(what, cell);
	bool is_empty = cell->len == start;
	if (!what->partition)
		more += what->status->tenants_left_out;
	if (is_empty && !tenant_cell_may_be_held(what->status, what->partition))
		sbuf_append(cell, VIEW("<none>"));
	else if (is_empty || !is_sure(what->status, what->partition))
		sbuf_append(cell, is_empty ? VIEW("?") : VIEW(" +?"));
	else if (more > 0)
		sbuf_printf(cell, " +%" PRId64, more);
}

static bool is_same_workload(const struct attribution_tenant *a, const struct attribution_tenant *b)
{
	return a->workload.present && b->workload.present &&
	       view_equal(a->pod_namespace, b->pod_namespace) &&
	       view_equal(a->workload.group, b->workload.group) &&
	       view_equal(a->workload.kind, b->workload.kind) &&
	       view_equal(a->workload.name, b->workload.name);
}

/* Is this the first holder of its workload? */
static bool is_first(const struct tenant_cell *what, uint32_t index)
{
	const struct attribution_tenant *tenants = what->status->tenants.items;
	if (!tenants[index].workload.present || !tenant_cell_holds(&tenants[index], what->partition))
		return false;
	for (uint32_t i = 0; i < index; i++) {
		if (tenant_cell_holds(&tenants[i], what->partition) &&
		    is_same_workload(&tenants[i], &tenants[index]))
			return false;
	}
	return true;
}

void tenant_cell_write_workloads(const struct tenant_cell *what, struct sbuf *cell)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < what->status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(what->status->tenants, struct attribution_tenant, i);
		if (!is_first(what, i) || n++ >= what->room)
			continue;
		sbuf_printf(cell, "%s%.*s/%.*s", n > 1 ? "," : "", VIEW_ARG(tenant->workload.kind),
			    VIEW_ARG(tenant->workload.name));
	}
	if (n > what->room)
		sbuf_printf(cell, " +%" PRId64, n - what->room);
}
