/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/secret_doc.h"

#include <stddef.h>

#include "base/limits.h"
#include "wire/base64.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"
#include "wire/jout.h"

struct metadata {
	struct view resource_version;
	struct array managers; /* of int64_t: when each wrote */
};

/* The document: values are base64. */
struct document {
	struct metadata metadata;
	struct view values[4];
};

#define MAX_MANAGERS 1024u /* the API server keeps fewer */

static const struct {
	const char *key;
	size_t offset; /* in struct secret_doc */
} values[] = {
	{"ca.crt", offsetof(struct secret_doc, ca_cert)},
	{"ca.key", offsetof(struct secret_doc, ca_key)},
	{"tls.crt", offsetof(struct secret_doc, cert)},
	{"tls.key", offsetof(struct secret_doc, key)},
};

#define VALUE_ROW(name, i)                                                                        \
	{                                                                                         \
		.key = name, .type = JMAP_TEXT, .offset = (i) * sizeof(struct view),              \
		.limit = 2 * LIMIT_FILE_BYTES                                                     \
	}

static const struct jmap_row data_rows[] = {
	VALUE_ROW("ca.crt", 0), VALUE_ROW("ca.key", 1),
	VALUE_ROW("tls.crt", 2), VALUE_ROW("tls.key", 3),
	{0},
};

static const struct jmap_row manager_rows[] = {
	{.key = "time", .type = JMAP_TIME},
	{0},
};

static const struct jmap_row metadata_rows[] = {
	{.key = "resourceVersion", .type = JMAP_TEXT, .flags = JMAP_REQUIRED, .limit = 64},
	{.key = "managedFields", .type = JMAP_ARRAY, .flags = JMAP_LENIENT,
	 JMAP_AT(metadata, managers), .limit = MAX_MANAGERS, .rows = manager_rows,
	 .element_size = sizeof(int64_t)},
	{0},
};

static const struct jmap_row rows[] = {
	{.key = "metadata", .type = JMAP_OBJECT, .flags = JMAP_REQUIRED,
	 .offset = offsetof(struct document, metadata), .rows = metadata_rows},
	{.key = "data", .type = JMAP_OBJECT, .offset = offsetof(struct document, values),
	 .rows = data_rows},
	{0},
};

static struct view *value_at(struct secret_doc *secret, size_t i)
{
	return (struct view *)(void *)((char *)secret + values[i].offset);
}

static int decode_value(struct view text, const char *key, struct arena *arena,
			struct view *ret_value, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf buf = {0};

	sbuf_init_secret(&buf, LIMIT_FILE_BYTES);
	if (!base64_decode(text, &buf))
		return error_set(err, ERROR_REJECTED, 0, "data.%s: not base64", key);
	return sbuf_keep(&buf, key, arena, ret_value, err);
}

static int64_t latest(struct array times)
{
	int64_t latest = 0;

	for (uint32_t i = 0; i < times.count; i++)
		if (*ARRAY_AT(times, int64_t, i) > latest)
			latest = *ARRAY_AT(times, int64_t, i);
	return latest;
}

int secret_doc_decode(struct view json, struct arena *arena, struct secret_doc *ret_secret,
		      struct error *err)
{
	struct document document = {0};
	struct secret_doc secret = {0};

	if (jmap_decode(json, 32, rows, arena, &document, sizeof(document), err) < 0)
		return -1;
	secret.resource_version = document.metadata.resource_version;
	secret.written_at = latest(document.metadata.managers);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (decode_value(document.values[i], values[i].key, arena, value_at(&secret, i),
				 err) < 0)
			return -1;
	*ret_secret = secret;
	return 0;
}

void secret_doc_encode_patch(const struct secret_doc *secret, struct sbuf *buf)
{
	CLEANUP(sbuf_deinit) struct sbuf text = {0};
	struct secret_doc copy = *secret;
	struct jout out;

	sbuf_init_secret(&text, 2 * LIMIT_FILE_BYTES);
	jout_init(&out, buf);
	jout_object(&out);
	jout_key(&out, "metadata");
	jout_object(&out);
	jout_member_text(&out, "resourceVersion", secret->resource_version);
	jout_object_end(&out);
	jout_key(&out, "data");
	jout_object(&out);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		sbuf_clear(&text);
		base64_encode(*value_at(&copy, i), &text);
		jout_member_text(&out, values[i].key, sbuf_view(&text));
		/* Half a key must not be written. */
		if (text.failure != ERROR_NONE)
			buf->failure = text.failure;
	}
	jout_object_end(&out);
	jout_object_end(&out);
}
