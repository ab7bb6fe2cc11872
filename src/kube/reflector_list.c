/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/reflector_list.h"

#include <assert.h>

#include "base/limits.h"

void reflector_list_init(struct reflector_list *list, const struct resource *resource,
			 struct reflector_output *output)
{
	list->resource = resource;
	list->output = output;
	list_stream_init(&list->stream, resource->encoding, LIMIT_OBJECT_BYTES);
}

void reflector_list_deinit(struct reflector_list *list)
{
	list_stream_deinit(&list->stream);
}

void reflector_list_begin(struct reflector_list *list)
{
	list_stream_reset(&list->stream);
}

static bool is_expected(const struct reflector_list *list)
{
	struct view kind = sbuf_view(&list->stream.kind);
	const struct view suffix = VIEW("List");
	if (!view_ends_with(kind, suffix))
		return false;
	kind.len -= suffix.len;
	return view_equal(kind, view_from(list->resource->kind)) &&
	       resource_has_version(list->resource, sbuf_view(&list->stream.api_version));
}

static int take_object(struct reflector_list *list, struct view object, struct error *err)
{
	struct error ignored;
	struct object_meta meta;
	if (object_meta_read(list->resource->encoding, object, &meta, &ignored) == 0)
		return reflector_output_put(list->output, REFLECTOR_LISTED, &meta, object, err);
	reflector_output_skip(list->output, 1);
	return 0;
}

static int cut(struct reflector_list *list, struct view input, struct error *err)
{
	struct view object;
	for (;;) {
		switch (list_stream_next(&list->stream, &input, &object, err)) {
		case LIST_STREAM_MORE:
			return 0;
		case LIST_STREAM_OBJECT:
			/* In protobuf it is known before the first object of what they are. */
			if (list->stream.kind.len > 0 && !is_expected(list))
				return error_set(err, ERROR_REJECTED, 0, "not a list of %s",
						 list->resource->plural);
			if (take_object(list, object, err) != 0)
				return -1;
			break;
		case LIST_STREAM_FAILED:
			return -1;
		}
	}
}

int reflector_list_feed(struct reflector_list *list, struct view input, struct error *err)
{
	uint64_t before = list->stream.n_skipped;
	int result = cut(list, input, err);
	assert(list->stream.n_skipped >= before);
	reflector_output_skip(list->output, list->stream.n_skipped - before);
	return result;
}

int reflector_list_check(const struct reflector_list *list, struct error *err)
{
	if (list_stream_end(&list->stream, err) != 0)
		return -1;
	if (!is_expected(list) || list->stream.resource_version.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "not a list of %s but %.*s",
				 list->resource->plural, VIEW_ARG(sbuf_view(&list->stream.kind)));
	return 0;
}

struct view reflector_list_version(const struct reflector_list *list)
{
	return sbuf_view(&list->stream.resource_version);
}

struct view reflector_list_continue_token(const struct reflector_list *list)
{
	return sbuf_view(&list->stream.continue_token);
}
