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
	const char *namespace;      /* of the objects; NULL: of all namespaces, or of none */
	const char *label_selector; /* for list and watch, or NULL */
	/*
	 * Only metadata travels; encoding is then RESOURCE_JSON and kind RESOURCE_METADATA_KIND,
	 * whatever the objects are.
	 */
	bool is_metadata;
};

#define RESOURCE_METADATA_KIND "PartialObjectMetadata"

/*
 * Appends "/apis/group/version/plural" (or "/api/v1/plural"), with "namespaces/namespace/" before the
 * plural if there is one.
 */
void resource_append_path(const struct resource *resource, struct sbuf *buf);
/* Appends value with all but unreserved characters percent-encoded, for a query. */
void resource_append_escaped(struct view value, struct sbuf *buf);
/* True when an object's apiVersion is that in which objects of the resource travel. */
bool resource_has_version(const struct resource *resource, struct view api_version);
/* The media type in which objects travel. */
const char *resource_media_type(const struct resource *resource);
/* The value of the header Accept, for a watch or for a list. */
const char *resource_accept(const struct resource *resource, bool is_watch);
