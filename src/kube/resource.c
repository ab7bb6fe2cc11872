/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/resource.h"

#include <assert.h>

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

void resource_append_path(const struct resource *resource, struct sbuf *buf)
{
	assert(resource->version[0] != '\0' && resource->plural[0] != '\0');
	if (resource->group[0] == '\0')
		sbuf_printf(buf, "/api/%s/", resource->version);
	else
		sbuf_printf(buf, "/apis/%s/%s/", resource->group, resource->version);
	if (resource->namespace) {
		sbuf_printf(buf, "namespaces/");
		resource_append_escaped(view_from(resource->namespace), buf);
		sbuf_append_char(buf, '/');
	}
	sbuf_printf(buf, "%s", resource->plural);
}

bool resource_has_version(const struct resource *resource, struct view api_version)
{
	struct view group, version;
	if (resource->is_metadata)
		return view_equal(api_version, VIEW("meta.k8s.io/v1"));
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

const char *resource_accept(const struct resource *resource, bool is_watch)
{
	if (!resource->is_metadata)
		return resource_media_type(resource);
	return is_watch ? "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
			: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
}
