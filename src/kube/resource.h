/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resource - which Kubernetes resource is meant, and how its objects travel.
 *
 * Threads: any; constants.
 */

#include <stdbool.h>

#include "base/sbuf.h"
#include "base/view.h"

enum resource_encoding {
	RESOURCE_JSON,
	RESOURCE_PROTOBUF, /* built-in kinds only */
};

struct resource {
	const char *group; /* "" for the core group */
	const char *version;
	const char *plural;
	const char *kind;  /* of one object; lists are kind + "List" */
	enum resource_encoding encoding;
	const char *field_selector; /* for list and watch, or NULL */
};

/* Appends "/apis/group/version/plural" (or "/api/v1/plural"). */
void resource_append_path(const struct resource *resource, struct sbuf *buf);
/* Appends value with all but unreserved characters percent-encoded, for a query. */
void resource_append_escaped(struct view value, struct sbuf *buf);
/* True when an object's apiVersion is that of the resource. */
bool resource_has_version(const struct resource *resource, struct view api_version);
/* The media type in which objects travel, for Accept. */
const char *resource_media_type(const struct resource *resource);
