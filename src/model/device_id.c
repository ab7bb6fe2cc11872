/* SPDX-License-Identifier: Apache-2.0 */
#include "model/device_id.h"

#include <ctype.h>

#define UUID_LEN 36
#define GPU_LEN (sizeof("GPU-") - 1 + UUID_LEN)
#define MIG_LEN (sizeof("MIG-") - 1 + UUID_LEN)

static bool is_uuid(struct view v)
{
	if (v.len != UUID_LEN)
		return false;
	for (size_t i = 0; i < UUID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? v.ptr[i] != '-' : !isxdigit((unsigned char)v.ptr[i]))
			return false;
	}
	return true;
}

static bool is_prefixed_uuid(struct view v, struct view prefix)
{
	return view_starts_with(v, prefix) && is_uuid(view_from_offset(v, prefix.len));
}

static bool parse_number(struct view text, int64_t *ret)
{
	return text.len > 0 && text.ptr[0] != '-' && view_parse_i64(text, ret);
}

/* "MIG-GPU-<uuid>/<gi>/<ci>" */
static bool parse_old_mig(struct view text, struct device_id *id)
{
	struct view uuid, rest, gi, ci;

	if (!view_starts_with(text, VIEW("MIG-GPU-")) ||
	    !view_cut(view_from_offset(text, 4), VIEW("/"), &uuid, &rest) ||
	    !view_cut(rest, VIEW("/"), &gi, &ci) || !device_id_is_gpu_uuid(uuid) ||
	    !parse_number(gi, &id->gpu_instance) || !parse_number(ci, &id->compute_instance))
		return false;
	id->form = DEVICE_ID_MIG_OLD;
	id->uuid = uuid;
	return true;
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
	if (view_starts_with(rest, VIEW("vgpu"))) {
		if (!parse_number(view_from_offset(rest, 4), &id->replica))
			return false;
		id->is_replica = true;
		rest.len = 0;
	}
	id->form = DEVICE_ID_MINOR;
	return rest.len == 0;
}

/* "GPU-<uuid>-<n>" */
static bool parse_hami(struct view text, struct device_id *id)
{
	struct view uuid = {text.ptr, GPU_LEN};

	if (text.len <= GPU_LEN || text.ptr[GPU_LEN] != '-' || !device_id_is_gpu_uuid(uuid) ||
	    !parse_number(view_from_offset(text, GPU_LEN + 1), &id->replica))
		return false;
	id->form = DEVICE_ID_GPU;
	id->uuid = uuid;
	id->is_replica = true;
	id->is_hami = true;
	return true;
}

static bool parse_uuid(struct view text, struct device_id *id)
{
	if (device_id_is_gpu_uuid(text))
		id->form = DEVICE_ID_GPU;
	else if (is_prefixed_uuid(text, VIEW("MIG-")))
		id->form = DEVICE_ID_MIG;
	else
		return parse_old_mig(text, id);
	id->uuid = text;
	return true;
}

/* "GPU-<uuid>..." or "MIG-<uuid>..." */
static bool parse_odd(struct view text, struct device_id *id)
{
	struct view gpu = {text.ptr, text.len < GPU_LEN ? text.len : GPU_LEN};
	struct view mig = {text.ptr, text.len < MIG_LEN ? text.len : MIG_LEN};

	if (device_id_is_gpu_uuid(gpu)) {
		id->form = DEVICE_ID_GPU;
		id->uuid = gpu;
	} else if (is_prefixed_uuid(mig, VIEW("MIG-"))) {
		id->form = DEVICE_ID_MIG;
		id->uuid = mig;
	} else {
		return false;
	}
	id->is_odd = true;
	return true;
}

static const struct device_id nothing = {.gpu_instance = -1, .compute_instance = -1, .minor = -1};

struct device_id device_id_parse(struct view text)
{
	struct device_id id = nothing;
	struct view base, replica;
	bool has_replica = view_cut(text, VIEW("::"), &base, &replica);

	if ((!has_replica || parse_number(replica, &id.replica)) && parse_uuid(base, &id)) {
		id.is_replica = has_replica;
		return id;
	}
	id = nothing;
	if (parse_hami(text, &id) || parse_minor(text, &id) || parse_odd(text, &id))
		return id;
	return nothing;
}

bool device_id_is_gpu_uuid(struct view text)
{
	return is_prefixed_uuid(text, VIEW("GPU-"));
}

bool device_id_is_mig_uuid(struct view text)
{
	struct device_id id = nothing;

	return is_prefixed_uuid(text, VIEW("MIG-")) || parse_old_mig(text, &id);
}
