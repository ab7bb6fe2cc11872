/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "kube/list_stream.h"
#include "kube/object_meta.h"
#include "lib/failing_malloc.h"
#include "lib/kube_bytes.h"

static struct error err;
static const struct resource pods = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL};
static const struct resource things = {"a.b", "v1", "things", "Thing", RESOURCE_JSON, NULL};
static const struct resource *const both[] = {&pods, &things};

static const struct kube_bytes_object objects[] = {
	{"ns", "first", "u1", "11", "some \xc3\xa4 payload { ] \\\\", false},
	{"", "second", "u2", "12", NULL, false},
	{"ns", "third", "", "13", "", false},
};
static const struct kube_bytes_list three = {"99", "token==", NULL, objects, 3};
static const struct kube_bytes_list none = {"99", NULL, NULL, NULL, 0};

/* Feeds an exact heap copy, so that a read behind its end is seen, and writes down what comes. */
static int feed(struct list_stream *stream, struct view part, struct sbuf *journal)
{
	char *copy = malloc(part.len ? part.len : 1);
	struct view input = {copy, part.len}, object;
	struct object_meta meta;
	enum list_stream_step step;
	assert_non_null(copy);
	if (part.len > 0)
		memcpy(copy, part.ptr, part.len);
	while ((step = list_stream_next(stream, &input, &object, &err)) == LIST_STREAM_OBJECT) {
		assert_int_equal(object_meta_read(stream->encoding, object, &meta, &err), 0);
		sbuf_printf(journal, "%.*s/%.*s@%.*s(%zu) ", VIEW_ARG(meta.namespace),
			    VIEW_ARG(meta.name), VIEW_ARG(meta.resource_version), object.len);
	}
	free(copy);
	return step == LIST_STREAM_MORE ? 0 : -1;
}

static void note_end(struct list_stream *stream, struct sbuf *journal)
{
	sbuf_printf(journal, "%.*s %.*s %.*s %.*s %s",
		    VIEW_ARG(sbuf_view(&stream->api_version)), VIEW_ARG(sbuf_view(&stream->kind)),
		    VIEW_ARG(sbuf_view(&stream->resource_version)),
		    VIEW_ARG(sbuf_view(&stream->continue_token)),
		    list_stream_end(stream, &err) == 0 ? "complete" : "cut");
}

static struct sbuf bytes_of(const struct resource *resource, const struct kube_bytes_list *list)
{
	struct sbuf bytes;
	sbuf_init(&bytes, 1 << 24);
	kube_bytes_list(&bytes, resource, list);
	return bytes;
}

/* The history when the bytes come in the parts that the cuts make (cuts[0] <= cuts[1]). */
static void expect_history(const struct resource *resource, struct view bytes,
			   const size_t cuts[2], const char *expected)
{
	struct list_stream stream;
	struct sbuf journal;
	sbuf_init(&journal, 4096);
	list_stream_init(&stream, resource->encoding, 1000);
	struct view parts[3] = {{bytes.ptr, cuts[0]},
				{bytes.ptr + cuts[0], cuts[1] - cuts[0]},
				view_from_offset(bytes, cuts[1])};
	for (int i = 0; i < 3; i++)
		assert_int_equal(feed(&stream, parts[i], &journal), 0);
	note_end(&stream, &journal);
	assert_string_equal(sbuf_text(&journal), expected);
	sbuf_deinit(&journal);
	list_stream_deinit(&stream);
}

static const char *const expected_three[] = {
	"ns/first@11(49) /second@12(24) ns/third@13(25) v1 PodList 99 token== complete",
	"ns/first@11(158) /second@12(116) ns/third@13(134) a.b/v1 ThingList 99 token== complete",
};

static void a_list_cut_at_any_two_places_yields_the_same_objects(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes = bytes_of(both[i], &three);
		for (size_t a = 0; a <= bytes.len; a++) {
			for (size_t b = a; b <= bytes.len; b += 1 + (b - a) / 16)
				expect_history(both[i], sbuf_view(&bytes), (size_t[]){a, b},
					       expected_three[i]);
		}
		sbuf_deinit(&bytes);
	}
}

static void a_list_that_comes_byte_by_byte_yields_the_same_objects(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes = bytes_of(both[i], &three), journal;
		struct list_stream stream;
		sbuf_init(&journal, 4096);
		list_stream_init(&stream, both[i]->encoding, 1000);
		for (size_t at = 0; at < bytes.len; at++)
			assert_int_equal(feed(&stream, (struct view){bytes.ptr + at, 1}, &journal),
					 0);
		note_end(&stream, &journal);
		assert_string_equal(sbuf_text(&journal), expected_three[i]);
		list_stream_deinit(&stream);
		sbuf_deinit(&journal);
		sbuf_deinit(&bytes);
	}
}

static void a_list_that_ends_early_is_never_complete(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes = bytes_of(both[i], &three), journal;
		/* The last bytes in protobuf are two empty fields of the envelope, in JSON a blank. */
		size_t dispensable = both[i]->encoding == RESOURCE_PROTOBUF ? 4 : 1;
		for (size_t len = 0; len < bytes.len - dispensable; len++) {
			struct list_stream stream;
			sbuf_init(&journal, 4096);
			list_stream_init(&stream, both[i]->encoding, 1000);
			assert_int_equal(feed(&stream, (struct view){bytes.ptr, len}, &journal), 0);
			assert_int_equal(list_stream_end(&stream, &err), -1);
			assert_int_equal(err.kind, ERROR_RETRY);
			list_stream_deinit(&stream);
			sbuf_deinit(&journal);
		}
		sbuf_deinit(&bytes);
	}
}

static void a_list_that_ends_within_its_envelope_is_not_complete(void **state)
{
	(void)state;
	struct sbuf bytes = bytes_of(&pods, &three), journal;
	/* Behind the list stand two empty fields of two bytes each. */
	for (size_t missing = 0; missing <= 4; missing++) {
		struct list_stream stream;
		sbuf_init(&journal, 4096);
		list_stream_init(&stream, RESOURCE_PROTOBUF, 1000);
		assert_int_equal(feed(&stream, (struct view){bytes.ptr, bytes.len - missing},
				      &journal),
				 0);
		assert_int_equal(list_stream_end(&stream, &err), missing % 2 ? -1 : 0);
		list_stream_deinit(&stream);
		sbuf_deinit(&journal);
	}
	sbuf_deinit(&bytes);
}

static void a_list_without_objects_is_complete(void **state)
{
	(void)state;
	static const char *const expected[] = {"v1 PodList 99  complete",
					       "a.b/v1 ThingList 99  complete"};
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes = bytes_of(both[i], &none);
		for (size_t at = 0; at <= bytes.len; at++)
			expect_history(both[i], sbuf_view(&bytes), (size_t[]){at, at}, expected[i]);
		sbuf_deinit(&bytes);
	}
}

static void a_stream_can_be_used_for_list_after_list(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct sbuf bytes = bytes_of(both[i], &three), journal;
		struct list_stream stream;
		list_stream_init(&stream, both[i]->encoding, 1000);
		for (size_t len = bytes.len; len > 0; len /= 2) {
			sbuf_init(&journal, 4096);
			list_stream_reset(&stream);
			assert_int_equal(feed(&stream, (struct view){bytes.ptr, len}, &journal), 0);
			sbuf_deinit(&journal);
		}
		sbuf_init(&journal, 4096);
		list_stream_reset(&stream);
		assert_int_equal(feed(&stream, sbuf_view(&bytes), &journal), 0);
		note_end(&stream, &journal);
		assert_string_equal(sbuf_text(&journal), expected_three[i]);
		list_stream_deinit(&stream);
		sbuf_deinit(&journal);
		sbuf_deinit(&bytes);
	}
}

static void an_object_whole_in_the_input_is_not_copied(void **state)
{
	(void)state;
	struct sbuf bytes = bytes_of(&pods, &three);
	struct view input = sbuf_view(&bytes), object;
	struct list_stream stream;
	list_stream_init(&stream, RESOURCE_PROTOBUF, 1000);
	for (size_t i = 0; i < three.n_objects; i++) {
		assert_int_equal(list_stream_next(&stream, &input, &object, &err),
				 LIST_STREAM_OBJECT);
		assert_true(object.ptr >= bytes.ptr && object.ptr < bytes.ptr + bytes.len);
	}
	assert_int_equal(stream.held.allocated, 0);
	list_stream_deinit(&stream);
	sbuf_deinit(&bytes);
}

static void an_object_over_the_limit_is_passed_over_and_not_held(void **state)
{
	(void)state;
	char payload[2001];
	memset(payload, 'x', 2000);
	payload[2000] = '\0';
	const struct kube_bytes_object some[] = {
		{"ns", "first", "u", "4", NULL, false},
		{"ns", "large", "u", "5", payload, false},
		{"ns", "last", "u", "6", NULL, false},
	};
	const struct kube_bytes_list list = {"99", NULL, NULL, some, 3};
	struct sbuf bytes = bytes_of(&pods, &list), journal;
	for (size_t at = 0; at <= bytes.len; at += 10) {
		struct list_stream stream;
		sbuf_init(&journal, 4096);
		list_stream_init(&stream, RESOURCE_PROTOBUF, 1000);
		assert_int_equal(feed(&stream, (struct view){bytes.ptr, at}, &journal), 0);
		assert_int_equal(feed(&stream, view_from_offset(sbuf_view(&bytes), at), &journal),
				 0);
		assert_non_null(strstr(sbuf_text(&journal), "ns/first@4"));
		assert_null(strstr(sbuf_text(&journal), "large"));
		assert_non_null(strstr(sbuf_text(&journal), "ns/last@6"));
		assert_int_equal(stream.n_skipped, 1);
		assert_int_equal(list_stream_end(&stream, &err), 0);
		assert_true(stream.held.allocated <= 1001);
		list_stream_reset(&stream);
		assert_int_equal(stream.n_skipped, 0);
		list_stream_deinit(&stream);
		sbuf_deinit(&journal);
	}
	sbuf_deinit(&bytes);
}

static void an_object_over_the_limit_in_json_is_refused_before_it_is_held(void **state)
{
	(void)state;
	char payload[2001];
	memset(payload, 'x', 2000);
	payload[2000] = '\0';
	const struct kube_bytes_object large = {"ns", "large", "u", "5", payload, false};
	const struct kube_bytes_list list = {"99", NULL, NULL, &large, 1};
	const struct resource *const json[] = {&things};
	for (size_t i = 0; i < ARRAY_SIZE(json); i++) {
		struct sbuf bytes = bytes_of(json[i], &list), journal;
		for (size_t at = 0; at <= bytes.len; at += 100) {
			struct list_stream stream;
			sbuf_init(&journal, 4096);
			list_stream_init(&stream, json[i]->encoding, 1000);
			int first = feed(&stream, (struct view){bytes.ptr, at}, &journal);
			assert_true(first != 0 ||
				    feed(&stream, view_from_offset(sbuf_view(&bytes), at),
					 &journal) != 0);
			assert_int_equal(err.kind, ERROR_LIMIT);
			assert_true(stream.held.allocated <= 1001);
			list_stream_deinit(&stream);
			sbuf_deinit(&journal);
		}
		sbuf_deinit(&bytes);
	}
}

static void malformed_lists_are_refused(void **state)
{
	(void)state;
	static const struct {
		enum resource_encoding encoding;
		struct view bytes;
	} rows[] = {
		{RESOURCE_PROTOBUF, VIEW_INIT("{\"kind\":\"PodList\"}")},
		{RESOURCE_PROTOBUF, VIEW_INIT("k8s\1")},
		{RESOURCE_PROTOBUF, VIEW_INIT("k8s\0\x03")},                     /* group */
		{RESOURCE_PROTOBUF, VIEW_INIT("k8s\0\x07")},                     /* no such type */
		{RESOURCE_PROTOBUF, VIEW_INIT("k8s\0\x02\x00")},                 /* field 0 */
		{RESOURCE_PROTOBUF, VIEW_INIT("k8s\0\x12\x02\x12\x05")},         /* over the list */
		{RESOURCE_PROTOBUF, VIEW_INIT("k8s\0\x12\x01\x12\x05")},         /* cut by its end */
		{RESOURCE_PROTOBUF, VIEW_INIT("k8s\0\x12\x02\x0a\x00\x12\x00")}, /* two lists */
		{RESOURCE_PROTOBUF, VIEW_INIT("k8s\0\x12\x04\x0a\x02\x12\x05")}, /* metadata */
		{RESOURCE_PROTOBUF,
		 VIEW_INIT("k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
			   "\xff\xff\xff\xff\xff\xff\xff")},
		{RESOURCE_JSON, VIEW_INIT("[]")},
		{RESOURCE_JSON, VIEW_INIT("{\"items\":[}")},
		{RESOURCE_JSON, VIEW_INIT("{\"items\":[]}{")},
		{RESOURCE_JSON, VIEW_INIT("{\"kind\":7}")},
		{RESOURCE_JSON, VIEW_INIT("{\"metadata\":{\"resourceVersion\":7}}")},
		{RESOURCE_JSON, VIEW_INIT("{\"metadata\":[1]}")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct list_stream stream;
		struct sbuf journal;
		sbuf_init(&journal, 4096);
		list_stream_init(&stream, rows[i].encoding, 1000);
		assert_int_equal(feed(&stream, rows[i].bytes, &journal), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_int_equal(list_stream_end(&stream, &err), -1);
		list_stream_deinit(&stream);
		sbuf_deinit(&journal);
	}
}

static void fields_that_are_not_known_are_passed_over(void **state)
{
	(void)state;
	struct sbuf message, bytes;
	sbuf_init(&message, 4096);
	sbuf_init(&bytes, 4096);
	kube_bytes_number(&message, 9, UINT64_MAX);
	sbuf_append(&message, VIEW("\x51" "12345678" "\x5d" "1234"));
	kube_bytes_field(&message, 10, VIEW("unknown"));
	kube_bytes_field(&message, 1, VIEW("\x12\x02" "42"));
	kube_bytes_envelope(&bytes, "v1", "PodList", sbuf_view(&message));
	struct view magic = {bytes.ptr, 4};
	struct sbuf whole;
	sbuf_init(&whole, 4096);
	sbuf_append(&whole, magic);
	kube_bytes_number(&whole, 7, 300);
	sbuf_append(&whole, view_from_offset(sbuf_view(&bytes), magic.len));
	for (size_t at = 0; at <= whole.len; at++)
		expect_history(&pods, sbuf_view(&whole), (size_t[]){at, at},
			       "v1 PodList 42  complete");
	sbuf_deinit(&message);
	sbuf_deinit(&bytes);
	sbuf_deinit(&whole);
}

static void running_out_of_memory_fails_the_list(void **state)
{
	(void)state;
	struct sbuf bytes = bytes_of(&pods, &three);
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct list_stream stream;
		enum list_stream_step step = LIST_STREAM_MORE;
		list_stream_init(&stream, RESOURCE_PROTOBUF, 1000);
		failing_malloc_at(k);
		for (size_t at = 0; at < bytes.len && step == LIST_STREAM_MORE; at += 20) {
			size_t len = bytes.len - at < 20 ? bytes.len - at : 20;
			struct view input = {bytes.ptr + at, len}, object;
			do
				step = list_stream_next(&stream, &input, &object, &err);
			while (step == LIST_STREAM_OBJECT);
		}
		failed = failing_malloc_off();
		assert_int_equal(step, failed ? LIST_STREAM_FAILED : LIST_STREAM_MORE);
		if (failed)
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
		list_stream_deinit(&stream);
	}
	sbuf_deinit(&bytes);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_list_cut_at_any_two_places_yields_the_same_objects),
	cmocka_unit_test(a_list_that_comes_byte_by_byte_yields_the_same_objects),
	cmocka_unit_test(a_list_that_ends_early_is_never_complete),
	cmocka_unit_test(a_list_that_ends_within_its_envelope_is_not_complete),
	cmocka_unit_test(a_list_without_objects_is_complete),
	cmocka_unit_test(a_stream_can_be_used_for_list_after_list),
	cmocka_unit_test(an_object_whole_in_the_input_is_not_copied),
	cmocka_unit_test(an_object_over_the_limit_is_passed_over_and_not_held),
	cmocka_unit_test(an_object_over_the_limit_in_json_is_refused_before_it_is_held),
	cmocka_unit_test(malformed_lists_are_refused),
	cmocka_unit_test(fields_that_are_not_known_are_passed_over),
	cmocka_unit_test(running_out_of_memory_fails_the_list),
};
TEST_MAIN(tests)
