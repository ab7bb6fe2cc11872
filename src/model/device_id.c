/* SPDX-License-Identifier: Apache-2.0 */
#include "model/device_id.h"

#define UUID_LEN 36
#define GPU_LEN (sizeof("GPU-") - 1 + UUID_LEN) /* as long as "MIG-<uuid>" */

static const struct device_id nothing = {.gpu_instance = -1, .minor = -1};

/* Without a branch a character: a join parses some hundred IDs. */
static bool are_hex_digits(const char *text, size_t n)
{
	bool are = true;
	for (size_t i = 0; i < n; i++) {
		const unsigned c = (unsigned char)text[i];
		are &= (c - '0' < 10) | ((c | 0x20) - 'a' < 6);
	}
	return are;
}

static bool is_prefixed_uuid(struct view v, struct view prefix)
{
	if (v.len != prefix.len + UUID_LEN || !view_starts_with(v, prefix))
		return false;
	const char *uuid = v.ptr + prefix.len;
	return uuid[8] == '-' && uuid[13] == '-' && uuid[18] == '-' && uuid[23] == '-' &&
	       are_hex_digits(uuid, 8) && are_hex_digits(uuid + 9, 4) &&
	       are_hex_digits(uuid + 14, 4) && are_hex_digits(uuid + 19, 4) &&
	       are_hex_digits(uuid + 24, 12);
}

static bool parse_number(struct view text, int64_t *ret)
{
	return text.len > 0 && text.ptr[0] != '-' && view_parse_i64(text, ret);
}

/* The prefix and a number: that of a replica, which is not kept. */
static bool is_numbered(struct view text, struct view prefix)
{
	int64_t n;
	return view_starts_with(text, prefix) && parse_number(view_from_offset(text, prefix.len), &n);
}

/* "MIG-GPU-<uuid>/<gi>/<ci>", which may be a replica too */
static bool parse_old_mig(struct view text, struct device_id *id)
{
	struct view base, rest, gi, ci, replica;
	int64_t n;
	id->is_replica = view_cut(text, VIEW("::"), &base, &replica);
	id->form = DEVICE_ID_MIG_OLD;
	if (!view_starts_with(base, VIEW("MIG-")))
		return false;
	view_cut(view_from_offset(base, 4), VIEW("/"), &id->uuid, &rest);
	view_cut(rest, VIEW("/"), &gi, &ci);
	return device_id_is_gpu_uuid(id->uuid) && parse_number(gi, &id->gpu_instance) &&
	       parse_number(ci, &n) && (!id->is_replica || parse_number(replica, &n));
}

/* "nvidia<minor>", then "/gi<g>", "/vgpu<k>" or both in that order */
static bool parse_minor(struct view text, struct device_id *id)
{
	struct view minor, rest, part;
	if (!view_starts_with(text, VIEW("nvidia")))
		return false;
	view_cut(view_from_offset(text, 6), VIEW("/"), &minor, &rest);
	if (view_ends_with(text, VIEW("/")) || !parse_number(minor, &id->minor))
		return false;
	if (view_starts_with(rest, VIEW("gi"))) {
		view_cut(rest, VIEW("/"), &part, &rest);
		if (!parse_number(view_from_offset(part, 2), &id->gpu_instance))
			return false;
	}
	id->form = DEVICE_ID_MINOR;
	id->is_replica = is_numbered(rest, VIEW("vgpu"));
	return rest.len == 0 || id->is_replica;
}

/* "GPU-<uuid>" or "MIG-<uuid>", and what follows it; "GPU-<uuid>-<n>" is HAMi's */
static bool parse_uuid(struct view text, struct device_id *id)
{
	if (text.len < GPU_LEN)
		return false;
	const struct view rest = view_from_offset(text, GPU_LEN);
	id->uuid = (struct view){text.ptr, GPU_LEN};
	if (device_id_is_gpu_uuid(id->uuid))
		id->form = DEVICE_ID_GPU;
	else if (is_prefixed_uuid(id->uuid, VIEW("MIG-")))
		id->form = DEVICE_ID_MIG;
	else
		return false;
	id->is_hami = id->form == DEVICE_ID_GPU && is_numbered(rest, VIEW("-"));
	id->is_replica = id->is_hami || is_numbered(rest, VIEW("::"));
	id->is_odd = rest.len > 0 && !id->is_replica;
	return true;
}

struct device_id device_id_parse(struct view text)
{
	bool (*const forms[])(struct view, struct device_id *) = {parse_uuid, parse_old_mig, parse_minor};
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct device_id id = nothing;
		if (forms[i](text, &id))
			return id;
	}
	return nothing;
}

bool device_id_is_gpu_uuid(struct view text)
{
	return is_prefixed_uuid(text, VIEW("GPU-"));
}

bool device_id_is_mig_uuid(struct view text)
{
	struct device_id id = device_id_parse(text);
	return (id.form == DEVICE_ID_MIG || id.form == DEVICE_ID_MIG_OLD) && !id.is_replica && !id.is_odd;
}
