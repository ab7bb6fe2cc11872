/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tenant_cell - who holds a device, or a MIG partition of it, as the cell of a table. Only workloads
 * are named. Nobody is only where the status says so.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct sbuf;

struct tenant_cell {
	const struct attribution_status *status;
	const struct attribution_partition *partition; /* its holders only; NULL: the device's */
	int64_t room; /* names that are written; further ones are counted */
};

/* Appends the pods, each once; "<none>", or "?" where they are not known. Failure is the buffer's. */
void tenant_cell_write(const struct tenant_cell *what, struct sbuf *cell);
/* Appends what owns these pods, each once: "StatefulSet/train". Nothing where none is known. */
void tenant_cell_write_workloads(const struct tenant_cell *what, struct sbuf *cell);
/* True for a workload that is known to hold the partition; NULL: any part of the device. */
bool tenant_cell_holds(const struct attribution_tenant *tenant,
		       const struct attribution_partition *partition);
/* False where it is certain that no workload holds the partition; NULL: the device. */
bool tenant_cell_may_be_held(const struct attribution_status *status,
			     const struct attribution_partition *partition);
