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

static void write_pod(const struct tenant_cell *what, const struct attribution_tenant *tenant,
		      struct sbuf *cell)
{
	words_pod(cell, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
	if (what->with_workloads && tenant->workload.present)
		sbuf_printf(cell, " (%.*s/%.*s)", VIEW_ARG(tenant->workload.kind),
			    VIEW_ARG(tenant->workload.name));
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
		write_pod(what, tenant, cell);
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
