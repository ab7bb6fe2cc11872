/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/reflector_output.h"

#include <assert.h>

void reflector_output_init(struct reflector_output *output, const struct reflector_sink *sink)
{
	assert(sink->replace_begin && sink->replace_end && sink->object);
	*output = (struct reflector_output){.sink = *sink};
}

int reflector_output_put(struct reflector_output *output, enum reflector_change change,
			 const struct object_meta *meta, struct view object, struct error *err)
{
	const struct reflector_sink *sink = &output->sink;
	if (meta->name.len > 0) {
		if (sink->object(sink->owner, change, meta, object, err) == 0)
			return 0;
		if (err->kind != ERROR_REJECTED && err->kind != ERROR_LIMIT)
			return -1;
	}
	output->n_refused++;
	return 0;
}

void reflector_output_skip(struct reflector_output *output, uint64_t n_objects)
{
	output->n_refused += n_objects;
}

void reflector_output_set_denied(struct reflector_output *output, bool is_denied)
{
	if (output->is_told_denied != is_denied && output->sink.denied)
		output->sink.denied(output->sink.owner, is_denied);
	output->is_told_denied = is_denied;
}

void reflector_output_set_followed(struct reflector_output *output, bool is_followed)
{
	if (output->is_told_followed != is_followed && output->sink.followed)
		output->sink.followed(output->sink.owner, is_followed);
	output->is_told_followed = is_followed;
}
