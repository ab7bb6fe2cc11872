/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/ca_config_map_doc.h"

#include <stddef.h>

#include "base/limits.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"
#include "wire/jout.h"

static const struct jmap_row metadata_rows[] = {
	{.key = "resourceVersion", .type = JMAP_TEXT, .flags = JMAP_REQUIRED, .limit = 64},
	{0},
};

static const struct jmap_row data_rows[] = {
	{.key = "ca.crt", .type = JMAP_TEXT, .limit = LIMIT_FILE_BYTES},
	{0},
};

static const struct jmap_row rows[] = {
	{.key = "metadata", .type = JMAP_OBJECT, .flags = JMAP_REQUIRED,
	 .offset = offsetof(struct ca_config_map_doc, resource_version), .rows = metadata_rows},
	{.key = "data", .type = JMAP_OBJECT, .offset = offsetof(struct ca_config_map_doc, ca_cert),
	 .rows = data_rows},
	{0},
};

int ca_config_map_doc_decode(struct view json, struct arena *arena,
			     struct ca_config_map_doc *ret_map, struct error *err)
{
	struct ca_config_map_doc map = {0};

	if (jmap_decode(json, 32, rows, arena, &map, sizeof(map), err) < 0)
		return -1;
	*ret_map = map;
	return 0;
}

void ca_config_map_doc_encode_patch(const struct ca_config_map_doc *map, struct sbuf *buf)
{
	struct jout out;

	jout_init(&out, buf);
	jout_object(&out);
	jout_key(&out, "metadata");
	jout_object(&out);
	jout_member_text(&out, "resourceVersion", map->resource_version);
	jout_object_end(&out);
	jout_key(&out, "data");
	jout_object(&out);
	jout_member_text(&out, "ca.crt", map->ca_cert);
	jout_object_end(&out);
	jout_object_end(&out);
}
