/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/resource.h"

#include <assert.h>

void resource_append_path(const struct resource *resource, struct sbuf *buf)
{
	assert(resource->version[0] != '\0' && resource->plural[0] != '\0');
	if (resource->group[0] == '\0')
		sbuf_printf(buf, "/api/%s/%s", resource->version, resource->plural);
	else
		sbuf_printf(buf, "/apis/%s/%s/%s", resource->group, resource->version,
			    resource->plural);
}

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

void resource_append_escaped(struct view value, struct sbuf *buf)
{
	for (size_t i = 0; i < value.len; i++) {
		if (is_unreserved(value.ptr[i]))
			sbuf_append_char(buf, value.ptr[i]);
		else
			sbuf_printf(buf, "%%%02X", (unsigned)(unsigned char)value.ptr[i]);
	}
}

bool resource_has_version(const struct resource *resource, struct view api_version)
{
	struct view group, version;
	if (!view_cut(api_version, VIEW("/"), &group, &version)) {
		version = group;
		group = (struct view){NULL, 0};
	}
	return view_equal(group, view_from(resource->group)) &&
	       view_equal(version, view_from(resource->version));
}

const char *resource_media_type(const struct resource *resource)
{
	return resource->encoding == RESOURCE_PROTOBUF ? "application/vnd.kubernetes.protobuf"
						       : "application/json";
}
