/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * checkpoint_doc - the kubelet's kubelet_internal_checkpoint of the device manager, reduced to what
 * may concern a GPU.
 *
 * Both forms are read. Kubelets since 1.20 key a container's devices by NUMA node; older ones write
 * a plain list.
 *
 * The file's checksum covers a dump of Go structs and changes with their names; it is not checked.
 * The kubelet replaces the file as a whole, so a half-written file fails as JSON.
 *
 * Threads: any.
 * Limits:  LIMIT_CHECKPOINT_BYTES; else those of schema/holder_list.h.
 */

#include "base/arena.h"
#include "model/report.h"

/*
 * Decodes the file. Entries and registered devices come sorted, each device once; texts are
 * copied. null stands for an empty list, as Go writes one. Unknown members are ignored. Fails with
 * ERROR_REJECTED and the reason when it is no checkpoint, with ERROR_LIMIT or ERROR_NO_MEMORY;
 * *ret_checkpoint is then untouched.
 */
MUST_USE int checkpoint_doc_decode(struct view json, struct arena *arena,
				   struct report_checkpoint *ret_checkpoint, struct error *err);
