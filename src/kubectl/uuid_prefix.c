/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/uuid_prefix.h"

#define PREFIX_LEN 4 /* "GPU-", "MIG-" */

static bool begins(struct view uuid, struct view text)
{
	return uuid.len >= text.len &&
	       view_equal_ignoring_case((struct view){uuid.ptr, text.len}, text);
}

static bool fits(struct view uuid, struct view text)
{
	return begins(uuid, text) ||
	       (uuid.len > PREFIX_LEN && begins(view_from_offset(uuid, PREFIX_LEN), text));
}

bool uuid_prefix_fits(struct view text, const struct attribution *device)
{
	if (fits(device->uuid, text))
		return true;
	for (uint32_t i = 0; i < device->status.partitions.count; i++) {
		const struct attribution_partition *partition = ARRAY_AT(
			device->status.partitions, struct attribution_partition, i);
		if (fits(partition->uuid, text))
			return true;
	}
	return false;
}

bool uuid_prefix_object_name(struct view text, char ret[static UUID_PREFIX_NAME_SIZE])
{
	if (text.len != UUID_PREFIX_NAME_SIZE - 1 || !begins(text, VIEW("gpu-")))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		ret[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	ret[text.len] = '\0';
	return true;
}
