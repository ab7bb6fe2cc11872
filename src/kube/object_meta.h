/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * object_meta - identity and version of an object, read before anything else of it is: by a walk
 * over its bytes that copies nothing.
 *
 * Threads: any.
 */

#include "base/error.h"
#include "base/view.h"
#include "kube/resource.h"

/* All borrowed from the object's bytes. */
struct object_meta {
	struct view namespace; /* empty: cluster-scoped */
	struct view name;      /* may be empty: bookmarks have none */
	struct view uid;
	struct view resource_version;
	uint64_t version;      /* resource_version as a number, 0 when it is not one */
	bool initial_events_end; /* has the annotation that ends the initial events of a watch */
};

/*
 * Reads the metadata of one object: of its JSON, or of its protobuf message without envelope.
 * Fails with ERROR_REJECTED when it is malformed, has no metadata or no resourceVersion.
 */
MUST_USE int object_meta_read(enum resource_encoding encoding, struct view object,
			      struct object_meta *ret_meta, struct error *err);
/* "123" is 123; 0 for all that Kubernetes does not call a comparable version ("", "0", "012"). */
uint64_t object_meta_version(struct view resource_version);
