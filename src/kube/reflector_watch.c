/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/reflector_watch.h"

#include <assert.h>

#include "base/limits.h"
#include "kube/answer.h"

void reflector_watch_init(struct reflector_watch *watch, const struct resource *resource,
			  struct reflector_output *output, struct reflector_position *position)
{
	*watch = (struct reflector_watch){resource, output, position};
	watch_stream_init(&watch->stream, resource->encoding, LIMIT_OBJECT_BYTES);
}

void reflector_watch_deinit(struct reflector_watch *watch)
{
	watch_stream_deinit(&watch->stream);
}

void reflector_watch_begin(struct reflector_watch *watch, bool is_initial)
{
	watch->is_initial = is_initial;
	watch->is_heard = false;
	watch->has_moved = false;
	watch_stream_reset(&watch->stream);
}

static void advance(struct reflector_watch *watch, const struct object_meta *meta)
{
	watch->is_heard = true;
	if (!watch->is_initial && reflector_position_advance(watch->position, meta))
		watch->has_moved = true;
}

static bool is_expected(const struct reflector_watch *watch, const struct watch_event *event)
{
	return view_equal(event->kind, view_from(watch->resource->kind)) &&
	       resource_has_version(watch->resource, event->api_version);
}

static enum reflector_change change_of(const struct reflector_watch *watch,
				       enum watch_event_type type)
{
	if (type == WATCH_EVENT_DELETED)
		return REFLECTOR_DELETE;
	if (type == WATCH_EVENT_ADDED && watch->is_initial)
		return REFLECTOR_LISTED;
	return REFLECTOR_UPSERT;
}

static enum reflector_watch_step take_object(struct reflector_watch *watch,
					     const struct watch_event *event,
					     const struct object_meta *meta, struct error *err)
{
	watch->n_events++;
	if (!watch->is_initial && reflector_position_is_replay(watch->position, meta))
		return REFLECTOR_WATCH_MORE;
	if (reflector_output_put(watch->output, change_of(watch, event->type), meta, event->object,
				 err) != 0)
		return REFLECTOR_WATCH_FAILED;
	advance(watch, meta);
	return REFLECTOR_WATCH_MORE;
}

static enum reflector_watch_step take_bookmark(struct reflector_watch *watch,
					       const struct object_meta *meta)
{
	watch->n_bookmarks++;
	watch->has_bookmarks = true;
	if (watch->is_initial && meta->initial_events_end)
		return REFLECTOR_WATCH_COMPLETE;
	advance(watch, meta);
	return REFLECTOR_WATCH_MORE;
}

/* MORE: the next event may be read. */
static enum reflector_watch_step take_event(struct reflector_watch *watch,
					    const struct watch_event *event,
					    struct object_meta *ret_meta, struct error *err)
{
	struct error ignored;
	enum resource_encoding encoding = watch->resource->encoding;
	if (event->type == WATCH_EVENT_ERROR) {
		answer_judge_status(encoding, event->object, err);
		return REFLECTOR_WATCH_FAILED;
	}
	if (event->type == WATCH_EVENT_UNKNOWN || !is_expected(watch, event) ||
	    object_meta_read(encoding, event->object, ret_meta, &ignored) != 0) {
		reflector_output_skip(watch->output, 1);
		return REFLECTOR_WATCH_MORE;
	}
	if (event->type == WATCH_EVENT_BOOKMARK)
		return take_bookmark(watch, ret_meta);
	return take_object(watch, event, ret_meta, err);
}

enum reflector_watch_step reflector_watch_next(struct reflector_watch *watch, struct view *input,
					       struct object_meta *ret_meta, struct error *err)
{
	struct watch_event event;
	enum reflector_watch_step step = REFLECTOR_WATCH_MORE;
	while (step == REFLECTOR_WATCH_MORE) {
		switch (watch_stream_next(&watch->stream, input, &event, err)) {
		case WATCH_STREAM_MORE:
			return REFLECTOR_WATCH_MORE;
		case WATCH_STREAM_EVENT:
			step = take_event(watch, &event, ret_meta, err);
			break;
		case WATCH_STREAM_FAILED:
			return REFLECTOR_WATCH_FAILED;
		}
	}
	return step;
}

void reflector_watch_go_on(struct reflector_watch *watch, const struct object_meta *bookmark)
{
	assert(watch->is_initial);
	watch->is_initial = false;
	advance(watch, bookmark);
}
