/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ca_config_map_doc - the ConfigMap that holds the CA certificates of the report endpoint, under the
 * key ca.crt.
 *
 * Threads: any; pure.
 * Limits:  ca.crt at most LIMIT_FILE_BYTES.
 */

#include "base/arena.h"
#include "base/sbuf.h"

struct ca_config_map_doc {
	struct view resource_version;
	struct view ca_cert; /* PEM; empty where the ConfigMap has none */
};

/* From the JSON of a v1 ConfigMap; texts lie in arena. Fails with ERROR_REJECTED or ERROR_NO_MEMORY. */
MUST_USE int ca_config_map_doc_decode(struct view json, struct arena *arena,
				      struct ca_config_map_doc *ret_map, struct error *err);
/*
 * Appends a JSON merge patch that puts ca_cert in, on condition that the ConfigMap still has the
 * resource_version. Other keys stay. Failure is the buffer's.
 */
void ca_config_map_doc_encode_patch(const struct ca_config_map_doc *map, struct sbuf *buf);
