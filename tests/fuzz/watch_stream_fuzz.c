/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The first byte chooses the encoding, the second where the rest is cut in two. Whatever the
 * input, both halves must give the same events as the whole.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kube/watch_stream.h"
#include "kube/object_meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CAP 4096

struct story {
	uint64_t events;
	uint32_t hash;
	bool failed;
	bool complete;
};

static int tell(struct watch_stream *stream, const uint8_t *data, size_t size,
		struct story *story)
{
	struct error err;
	struct watch_event event;
	struct object_meta meta;
	enum watch_stream_step step;
	char *copy = malloc(size ? size : 1);
	if (!copy)
		abort();
	if (size > 0)
		memcpy(copy, data, size);
	struct view input = {copy, size};
	while ((step = watch_stream_next(stream, &input, &event, &err)) == WATCH_STREAM_EVENT) {
		assert(event.object.len <= CAP);
		story->events++;
		story->hash = story->hash * 31 + view_hash(event.object) + (uint32_t)event.type;
		story->hash ^= view_hash(event.kind) + view_hash(event.api_version);
		if (object_meta_read(stream->encoding, event.object, &meta, &err) == 0)
			story->hash ^= view_hash(meta.name);
	}
	assert(step == WATCH_STREAM_FAILED || input.len == 0);
	free(copy);
	story->failed = step == WATCH_STREAM_FAILED;
	story->complete = !story->failed && watch_stream_is_between_events(stream);
	return story->failed ? -1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct watch_stream stream;
	struct story whole = {0}, parts = {0};
	if (size < 2)
		return 0;
	enum resource_encoding encoding = data[0] & 1 ? RESOURCE_JSON : RESOURCE_PROTOBUF;
	size_t cut = (size - 2) * data[1] / 255;
	data += 2;
	size -= 2;
	watch_stream_init(&stream, encoding, CAP);
	tell(&stream, data, size, &whole);
	watch_stream_reset(&stream);
	if (tell(&stream, data, cut, &parts) == 0)
		tell(&stream, data + cut, size - cut, &parts);
	watch_stream_deinit(&stream);
	assert(whole.failed == parts.failed && whole.complete == parts.complete);
	assert(whole.events == parts.events && whole.hash == parts.hash);
	return 0;
}
