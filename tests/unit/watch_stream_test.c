/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "kube/object_meta.h"
#include "kube/watch_stream.h"
#include "lib/failing_malloc.h"
#include "lib/kube_bytes.h"

static struct error err;
static const struct resource pods = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL};
static const struct resource things = {"a.b", "v1", "things", "Thing", RESOURCE_JSON, NULL};
static const struct resource *const both[] = {&pods, &things};

static const struct kube_bytes_object first = {"ns", "first", "u1", "11", "x { \\\\\\\" }", false};
static const struct kube_bytes_object second = {"ns", "second", "u2", "12", NULL, false};
static const struct kube_bytes_object bookmark = {NULL, NULL, NULL, "13", NULL, true};

static int feed(struct watch_stream *stream, struct view part, struct sbuf *journal)
{
	char *copy = malloc(part.len ? part.len : 1);
	struct view input = {copy, part.len};
	struct watch_event event;
	struct object_meta meta;
	enum watch_stream_step step;
	assert_non_null(copy);
	if (part.len > 0)
		memcpy(copy, part.ptr, part.len);
	while ((step = watch_stream_next(stream, &input, &event, &err)) == WATCH_STREAM_EVENT) {
		sbuf_printf(journal, "%d:%.*s:%.*s", (int)event.type, VIEW_ARG(event.api_version),
			    VIEW_ARG(event.kind));
		if (object_meta_read(stream->encoding, event.object, &meta, &err) == 0)
			sbuf_printf(journal, ":%.*s@%.*s", VIEW_ARG(meta.name),
				    VIEW_ARG(meta.resource_version));
		sbuf_printf(journal, "; ");
	}
	free(copy);
	return step == WATCH_STREAM_MORE ? 0 : -1;
}

static struct sbuf some_events(const struct resource *resource)
{
	struct sbuf bytes;
	sbuf_init(&bytes, 1 << 24);
	kube_bytes_event(&bytes, resource, "ADDED", &first);
	if (resource->encoding == RESOURCE_JSON)
		sbuf_append(&bytes, VIEW("\r\n \n"));
	kube_bytes_event(&bytes, resource, "MODIFIED", &second);
	kube_bytes_event(&bytes, resource, "DELETED", &second);
	kube_bytes_event(&bytes, resource, "BOOKMARK", &bookmark);
	return bytes;
}

static const char *const expected_some[] = {
	"1:v1:Pod:first@11; 2:v1:Pod:second@12; 3:v1:Pod:second@12; 4:v1:Pod:@13; ",
	"1:a.b/v1:Thing:first@11; 2:a.b/v1:Thing:second@12; 3:a.b/v1:Thing:second@12; "
	"4:a.b/v1:Thing:@13; ",
};

static void expect_history(const struct resource *resource, struct view bytes,
			   const size_t cuts[2], const char *expected)
{
	struct watch_stream stream;
	struct sbuf journal;
	struct view parts[3] = {{bytes.ptr, cuts[0]},
				{bytes.ptr + cuts[0], cuts[1] - cuts[0]},
				view_from_offset(bytes, cuts[1])};
	sbuf_init(&journal, 4096);
	watch_stream_init(&stream, resource->encoding, 1000);
	for (int i = 0; i < 3; i++)
		assert_int_equal(feed(&stream, parts[i], &journal), 0);
	assert_true(watch_stream_is_between_events(&stream));
	assert_string_equal(sbuf_text(&journal), expected);
	sbuf_deinit(&journal);
	watch_stream_deinit(&stream);
}

static void events_cut_at_any_two_places_are_the_same_events(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes = some_events(both[i]);
		for (size_t a = 0; a <= bytes.len; a++) {
			for (size_t b = a; b <= bytes.len; b += 1 + (b - a) / 16)
				expect_history(both[i], sbuf_view(&bytes), (size_t[]){a, b},
					       expected_some[i]);
		}
		sbuf_deinit(&bytes);
	}
}

static void events_that_come_byte_by_byte_are_the_same_events(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes = some_events(both[i]), journal;
		struct watch_stream stream;
		sbuf_init(&journal, 4096);
		watch_stream_init(&stream, both[i]->encoding, 1000);
		for (size_t at = 0; at < bytes.len; at++)
			assert_int_equal(feed(&stream, (struct view){bytes.ptr + at, 1}, &journal),
					 0);
		assert_string_equal(sbuf_text(&journal), expected_some[i]);
		watch_stream_deinit(&stream);
		sbuf_deinit(&journal);
		sbuf_deinit(&bytes);
	}
}

static void an_end_within_an_event_is_seen_and_its_beginning_forgotten_on_reset(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes, journal;
		sbuf_init(&bytes, 4096);
		kube_bytes_event(&bytes, both[i], "ADDED", &first);
		for (size_t len = 1; len < bytes.len; len++) {
			struct watch_stream stream;
			sbuf_init(&journal, 4096);
			watch_stream_init(&stream, both[i]->encoding, 1000);
			assert_int_equal(feed(&stream, (struct view){bytes.ptr, len}, &journal), 0);
			assert_int_equal(journal.len, 0);
			assert_false(watch_stream_is_between_events(&stream));
			watch_stream_reset(&stream);
			assert_int_equal(feed(&stream, sbuf_view(&bytes), &journal), 0);
			assert_true(journal.len > 0);
			assert_true(watch_stream_is_between_events(&stream));
			watch_stream_deinit(&stream);
			sbuf_deinit(&journal);
		}
		sbuf_deinit(&bytes);
	}
}

static void an_event_whole_in_the_input_is_not_copied(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes = some_events(both[i]);
		struct view input = sbuf_view(&bytes);
		struct watch_stream stream;
		struct watch_event event;
		watch_stream_init(&stream, both[i]->encoding, 1000);
		while (watch_stream_next(&stream, &input, &event, &err) == WATCH_STREAM_EVENT)
			assert_true(event.object.ptr > bytes.ptr &&
				    event.object.ptr < bytes.ptr + bytes.len);
		assert_int_equal(stream.held.allocated, 0);
		watch_stream_deinit(&stream);
		sbuf_deinit(&bytes);
	}
}

static void what_cannot_be_decoded_is_an_unknown_event_and_the_next_one_is_read(void **state)
{
	(void)state;
	static const struct view wrong[] = {
		VIEW_INIT("{}"),
		VIEW_INIT("nonsense"),
		VIEW_INIT("{\"type\":\"ADDED\"}"),
		VIEW_INIT("{\"type\":\"ADDED\",\"object\":7}"),
		VIEW_INIT("{\"type\":\"ADDED\",\"object\":{\"kind\":7}}"),
		VIEW_INIT("{\"type\":\"NOVEL\",\"object\":{}}"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct watch_stream stream;
		struct sbuf bytes, journal;
		sbuf_init(&bytes, 4096);
		sbuf_init(&journal, 4096);
		sbuf_append(&bytes, wrong[i]);
		sbuf_append_char(&bytes, '\n');
		kube_bytes_event(&bytes, &things, "ADDED", &first);
		watch_stream_init(&stream, RESOURCE_JSON, 1000);
		assert_int_equal(feed(&stream, sbuf_view(&bytes), &journal), 0);
		assert_string_equal(sbuf_text(&journal), "0::; 1:a.b/v1:Thing:first@11; ");
		watch_stream_deinit(&stream);
		sbuf_deinit(&bytes);
		sbuf_deinit(&journal);
	}
}

static void the_same_holds_for_frames(void **state)
{
	(void)state;
	static const struct view wrong[] = {
		VIEW_INIT("\0\0\0\0"),
		VIEW_INIT("\0\0\0\1\xff"),
		VIEW_INIT("\0\0\0\7\x0a\5" "ADDED"),                   /* no object */
		VIEW_INIT("\0\0\0\xb\x0a\5" "ADDED" "\x12\2\x0a\0"),   /* no magic */
		VIEW_INIT("\0\0\0\xf\x0a\5" "ADDED" "\x12\6\x0a\4k8s\1"),
		VIEW_INIT("\0\0\0\x10\x0a\5" "ADDED" "\x12\7\x0a\5k8s\0\xff"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct watch_stream stream;
		struct sbuf bytes, journal;
		sbuf_init(&bytes, 4096);
		sbuf_init(&journal, 4096);
		sbuf_append(&bytes, wrong[i]);
		kube_bytes_event(&bytes, &pods, "ADDED", &first);
		watch_stream_init(&stream, RESOURCE_PROTOBUF, 1000);
		assert_int_equal(feed(&stream, sbuf_view(&bytes), &journal), 0);
		assert_string_equal(sbuf_text(&journal), "0::; 1:v1:Pod:first@11; ");
		watch_stream_deinit(&stream);
		sbuf_deinit(&bytes);
		sbuf_deinit(&journal);
	}
}

static void an_event_over_the_limit_is_passed_over_and_not_held(void **state)
{
	(void)state;
	static const char *const expected[] = {"0::; 1:v1:Pod:first@11; ",
					       "0::; 1:a.b/v1:Thing:first@11; "};
	char payload[2001];
	memset(payload, 'x', 2000);
	payload[2000] = '\0';
	const struct kube_bytes_object large = {"ns", "large", "u", "5", payload, false};
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes, journal;
		sbuf_init(&bytes, 1 << 16);
		kube_bytes_event(&bytes, both[i], "ADDED", &large);
		size_t large_size = bytes.len;
		kube_bytes_event(&bytes, both[i], "ADDED", &first);
		for (size_t at = 0; at <= bytes.len; at++) {
			struct watch_stream stream;
			sbuf_init(&journal, 4096);
			watch_stream_init(&stream, both[i]->encoding, 1000);
			assert_int_equal(feed(&stream, (struct view){bytes.ptr, at}, &journal), 0);
			assert_int_equal(watch_stream_is_between_events(&stream),
					 at == 0 || at == large_size || at == bytes.len);
			assert_int_equal(feed(&stream, view_from_offset(sbuf_view(&bytes), at),
					      &journal),
					 0);
			assert_string_equal(sbuf_text(&journal), expected[i]);
			assert_true(stream.held.allocated <= 1005);
			watch_stream_deinit(&stream);
			sbuf_deinit(&journal);
		}
		sbuf_deinit(&bytes);
	}
}

static void a_length_that_cannot_be_one_ends_the_stream(void **state)
{
	(void)state;
	struct watch_stream stream;
	struct sbuf journal;
	sbuf_init(&journal, 4096);
	watch_stream_init(&stream, RESOURCE_PROTOBUF, 1000);
	assert_int_equal(feed(&stream, VIEW("\0\1\0\0"), &journal), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(feed(&stream, VIEW("\0"), &journal), -1);
	assert_int_equal(journal.len, 0);
	watch_stream_deinit(&stream);
	sbuf_deinit(&journal);
}

/* Feeds a line of so many bytes, without its end; returns how many were taken before it failed. */
static size_t feed_line(struct watch_stream *stream, size_t size, size_t chunk,
			struct sbuf *journal)
{
	char bytes[4096];
	size_t at = 0;
	memset(bytes, 'x', sizeof(bytes));
	for (size_t n; at < size; at += n) {
		n = chunk < size - at ? chunk : size - at;
		if (feed(stream, (struct view){bytes, n}, journal) != 0)
			break;
		assert_true(stream->held.allocated <= 1005);
	}
	return at;
}

static const size_t chunks[] = {1, 7, 100, 999, 1004, 1005, 2000, 2001, 4096};

static void a_line_without_an_end_ends_the_stream_after_twice_the_limit(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++) {
		struct watch_stream stream;
		struct sbuf journal;
		sbuf_init(&journal, 4096);
		watch_stream_init(&stream, RESOURCE_JSON, 1000);
		size_t taken = feed_line(&stream, SIZE_MAX, chunks[i], &journal);
		assert_true(taken + chunks[i] > 2000);
		assert_true(taken <= 2000 + chunks[i]); /* at the latest with the next input */
		assert_int_equal(err.kind, ERROR_LIMIT);
		assert_non_null(strstr(err.text, "2000"));
		assert_string_equal(sbuf_text(&journal), "0::; ");
		/* That is its end, even if the line's comes now. */
		assert_int_equal(feed(&stream, VIEW("\n"), &journal), -1);
		assert_string_equal(sbuf_text(&journal), "0::; ");
		/* Another answer begins with nothing. */
		watch_stream_reset(&stream);
		assert_true(watch_stream_is_between_events(&stream));
		assert_int_equal(feed_line(&stream, 1999, chunks[i], &journal), 1999);
		watch_stream_deinit(&stream);
		sbuf_deinit(&journal);
	}
}

static void a_line_that_ends_before_twice_the_limit_is_passed_over_each_time(void **state)
{
	(void)state;
	struct sbuf event;
	sbuf_init(&event, 4096);
	kube_bytes_event(&event, &things, "ADDED", &first);
	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++) {
		struct watch_stream stream;
		struct sbuf journal, expected;
		sbuf_init(&journal, 4096);
		sbuf_init(&expected, 4096);
		watch_stream_init(&stream, RESOURCE_JSON, 1000);
		for (size_t size = 1004; size <= 2000; size += 83) {
			assert_int_equal(feed_line(&stream, size, chunks[i], &journal), size);
			assert_false(watch_stream_is_between_events(&stream));
			assert_int_equal(feed(&stream, VIEW("\n"), &journal), 0);
			assert_true(watch_stream_is_between_events(&stream));
			assert_int_equal(feed(&stream, sbuf_view(&event), &journal), 0);
			sbuf_printf(&expected, "0::; 1:a.b/v1:Thing:first@11; ");
		}
		assert_int_equal(feed_line(&stream, 2000, chunks[i], &journal), 2000);
		assert_int_equal(feed(&stream, VIEW("\n"), &journal), 0);
		sbuf_printf(&expected, "0::; ");
		assert_string_equal(sbuf_text(&journal), sbuf_text(&expected));
		watch_stream_deinit(&stream);
		sbuf_deinit(&expected);
		sbuf_deinit(&journal);
	}
	sbuf_deinit(&event);
}

static void running_out_of_memory_ends_the_stream(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes = some_events(both[i]);
		bool failed = true;
		for (unsigned k = 1; failed; k++) {
			struct watch_stream stream;
			struct watch_event event;
			enum watch_stream_step step = WATCH_STREAM_MORE;
			watch_stream_init(&stream, both[i]->encoding, 1000);
			failing_malloc_at(k);
			for (size_t at = 0; at < bytes.len && step == WATCH_STREAM_MORE; at++) {
				struct view input = {bytes.ptr + at, 1};
				do
					step = watch_stream_next(&stream, &input, &event, &err);
				while (step == WATCH_STREAM_EVENT);
			}
			failed = failing_malloc_off();
			assert_int_equal(step, failed ? WATCH_STREAM_FAILED : WATCH_STREAM_MORE);
			if (failed)
				assert_int_equal(err.kind, ERROR_NO_MEMORY);
			watch_stream_deinit(&stream);
		}
		sbuf_deinit(&bytes);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(events_cut_at_any_two_places_are_the_same_events),
	cmocka_unit_test(events_that_come_byte_by_byte_are_the_same_events),
	cmocka_unit_test(an_end_within_an_event_is_seen_and_its_beginning_forgotten_on_reset),
	cmocka_unit_test(an_event_whole_in_the_input_is_not_copied),
	cmocka_unit_test(what_cannot_be_decoded_is_an_unknown_event_and_the_next_one_is_read),
	cmocka_unit_test(the_same_holds_for_frames),
	cmocka_unit_test(an_event_over_the_limit_is_passed_over_and_not_held),
	cmocka_unit_test(a_length_that_cannot_be_one_ends_the_stream),
	cmocka_unit_test(a_line_without_an_end_ends_the_stream_after_twice_the_limit),
	cmocka_unit_test(a_line_that_ends_before_twice_the_limit_is_passed_over_each_time),
	cmocka_unit_test(running_out_of_memory_ends_the_stream),
};
TEST_MAIN(tests)
