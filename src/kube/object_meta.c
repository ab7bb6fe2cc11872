/* SPDX-License-Identifier: Apache-2.0 */

/*
 * In protobuf every built-in kind has its ObjectMeta as field 1; field numbers are those of
 * k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
 */

#include "kube/object_meta.h"

#include <assert.h>

#include "wire/jwalk.h"
#include "wire/pbscan.h"

enum {
	OBJECT_METADATA = 1,
	META_NAME = 1,
	META_NAMESPACE = 3,
	META_UID = 5,
	META_RESOURCE_VERSION = 6,
	META_ANNOTATIONS = 12,
	ENTRY_KEY = 1,
	ENTRY_VALUE = 2,
};

static const struct view initial_events_end = VIEW_INIT("k8s.io/initial-events-end");

uint64_t object_meta_version(struct view resource_version)
{
	uint64_t version;
	if (resource_version.len == 0 || resource_version.ptr[0] == '0' ||
	    !view_parse_u64(resource_version, &version))
		return 0;
	return version;
}

static bool is_end_annotation(struct view entry)
{
	struct view key = {NULL, 0}, value = {NULL, 0};
	struct pbscan scan;
	struct pbscan_field field;
	pbscan_init(&scan, entry);
	while (pbscan_next(&scan, &field)) {
		if (field.number == ENTRY_KEY)
			key = field.bytes;
		else if (field.number == ENTRY_VALUE)
			value = field.bytes;
	}
	return view_equal(key, initial_events_end) && view_equal(value, VIEW("true"));
}

static void take_protobuf_field(const struct pbscan_field *field, struct object_meta *meta)
{
	if (field->wire != PBSCAN_BYTES)
		return;
	switch (field->number) {
	case META_NAME:
		meta->name = field->bytes;
		break;
	case META_NAMESPACE:
		meta->namespace = field->bytes;
		break;
	case META_UID:
		meta->uid = field->bytes;
		break;
	case META_RESOURCE_VERSION:
		meta->resource_version = field->bytes;
		break;
	case META_ANNOTATIONS:
		meta->initial_events_end |= is_end_annotation(field->bytes);
		break;
	default:
		break;
	}
}

static int read_protobuf(struct view object, struct object_meta *meta, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;
	struct view metadata = {NULL, 0};
	pbscan_init(&scan, object);
	while (metadata.len == 0 && pbscan_next(&scan, &field)) {
		if (field.number == OBJECT_METADATA && field.wire == PBSCAN_BYTES)
			metadata = field.bytes;
	}
	if (pbscan_check(&scan, "object", err) != 0)
		return -1;
	pbscan_init(&scan, metadata);
	while (pbscan_next(&scan, &field))
		take_protobuf_field(&field, meta);
	return pbscan_check(&scan, "metadata", err);
}

static int read_annotations(struct view annotations, struct object_meta *meta, struct error *err)
{
	struct jwalk walk;
	struct view key, value;
	jwalk_init(&walk, annotations);
	while (jwalk_next(&walk, &key, &value)) {
		if (view_equal(key, initial_events_end) && view_equal(value, VIEW("\"true\"")))
			meta->initial_events_end = true;
	}
	return jwalk_check(&walk, "annotations", err);
}

static int take_json_member(struct view key, struct view value, struct object_meta *meta,
			    struct error *err)
{
	const struct {
		struct view key;
		struct view *ret;
	} texts[] = {
		{VIEW("name"), &meta->name},
		{VIEW("namespace"), &meta->namespace},
		{VIEW("uid"), &meta->uid},
		{VIEW("resourceVersion"), &meta->resource_version},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!view_equal(key, texts[i].key))
			continue;
		if (!jwalk_text(value, texts[i].ret))
			return error_set(err, ERROR_REJECTED, 0, "metadata.%.*s: not a plain text",
					 VIEW_ARG(key));
	}
	if (view_equal(key, VIEW("annotations")) && !view_equal(value, VIEW("null")))
		return read_annotations(value, meta, err);
	return 0;
}

static int read_json(struct view object, struct object_meta *meta, struct error *err)
{
	struct jwalk walk;
	struct view key, value, metadata = {NULL, 0};
	jwalk_init(&walk, object);
	while (metadata.len == 0 && jwalk_next(&walk, &key, &value)) {
		if (view_equal(key, VIEW("metadata")))
			metadata = value;
	}
	if (jwalk_check(&walk, "object", err) != 0)
		return -1;
	if (metadata.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "an object without metadata");
	jwalk_init(&walk, metadata);
	while (jwalk_next(&walk, &key, &value)) {
		if (take_json_member(key, value, meta, err) != 0)
			return -1;
	}
	return jwalk_check(&walk, "metadata", err);
}

int object_meta_read(enum resource_encoding encoding, struct view object,
		     struct object_meta *ret_meta, struct error *err)
{
	assert(encoding == RESOURCE_PROTOBUF || encoding == RESOURCE_JSON);
	struct object_meta meta = {0};
	int result = encoding == RESOURCE_PROTOBUF ? read_protobuf(object, &meta, err)
						   : read_json(object, &meta, err);
	if (result != 0)
		return -1;
	if (meta.resource_version.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "an object without resourceVersion");
	meta.version = object_meta_version(meta.resource_version);
	*ret_meta = meta;
	return 0;
}
