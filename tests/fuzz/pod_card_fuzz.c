/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever kubectl prints, as a list or for names, is read within its limits or refused. */

#include <assert.h>

#include "kubectl/object_stream.h"
#include "kubectl/pod_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(enum object_stream_form form, struct view text, size_t cut)
{
	struct pod_list pods;
	struct object_stream stream;
	struct error err;
	pod_list_init(&pods);
	object_stream_init(&stream, form, pod_list_take, &pods);
	if (object_stream_feed(&stream, (struct view){text.ptr, cut}, &err) == 0 &&
	    object_stream_feed(&stream, view_from_offset(text, cut), &err) == 0 &&
	    object_stream_finish(&stream, &err) == 0) {
		size_t n = 0;
		for (const struct pod_list_entry *entry = pods.oldest; entry; entry = entry->next) {
			assert(entry->card.name.len <= LIMIT_TEXT_NAME);
			n++;
		}
		assert(n == pods.n_pods);
	}
	object_stream_deinit(&stream);
	pod_list_deinit(&pods);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view text = {(const char *)data, size};
	size_t cut = size > 0 ? data[0] % size : 0;
	feed(OBJECT_STREAM_LIST, text, cut);
	feed(OBJECT_STREAM_NAMED, text, cut);
	return 0;
}
