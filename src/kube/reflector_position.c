/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/reflector_position.h"

#include <assert.h>

#define VERSION_CAP 256u

void reflector_position_init(struct reflector_position *position)
{
	*position = (struct reflector_position){0};
	sbuf_init(&position->version, VERSION_CAP);
}

void reflector_position_deinit(struct reflector_position *position)
{
	sbuf_deinit(&position->version);
}

void reflector_position_forget(struct reflector_position *position)
{
	sbuf_clear(&position->version);
}

void reflector_position_set(struct reflector_position *position, struct view version)
{
	uint64_t number = object_meta_version(version);
	assert(version.len > 0); /* what has none is refused where it is read */
	if (number != 0 && number < position->number)
		position->n_rewinds++;
	sbuf_clear(&position->version);
	sbuf_append(&position->version, version);
	position->number = number;
}

bool reflector_position_is_replay(struct reflector_position *position,
				  const struct object_meta *meta)
{
	bool is_replay = meta->version != 0 && meta->version < position->number;
	position->n_rewinds += is_replay;
	return is_replay;
}

bool reflector_position_advance(struct reflector_position *position, const struct object_meta *meta)
{
	if (view_equal(meta->resource_version, sbuf_view(&position->version)) ||
	    reflector_position_is_replay(position, meta))
		return false;
	reflector_position_set(position, meta->resource_version);
	return true;
}
