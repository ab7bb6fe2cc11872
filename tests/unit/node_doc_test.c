/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "lib/golden.h"
#include "schema/node_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static struct node_fields decode(struct view message)
{
	struct node_fields fields;
	struct error err;
	if (node_doc_decode(message, &fields, &err) != 0)
		fail_msg("%s", err.text);
	return fields;
}

static const struct node_resource *find(const struct node_fields *fields, const char *name)
{
	for (uint32_t i = 0; i < fields->n_resources; i++) {
		if (view_equal(fields->resources[i].name, view_from(name)))
			return &fields->resources[i];
	}
	fail_msg("no resource %s", name);
	return NULL;
}

static struct view label(const struct node_fields *fields, const char *key)
{
	for (uint32_t i = 0; i < fields->n_labels; i++) {
		if (view_equal(fields->labels[i].key, view_from(key)))
			return fields->labels[i].value;
	}
	fail_msg("no label %s", key);
	return (struct view){0};
}

static void a_gpu_node_gives_every_fact_that_is_kept(void **state)
{
	(void)state;
	struct view message = golden_read("node_gpu.pb");
	struct node_fields fields = decode(message);

	assert_text(fields.name, "gpu-a");
	assert_int_equal(fields.uid.len, 36);
	assert_text(fields.boot_id, "1d0f5f7c-6d0e-4b36-9c1b-3f1d6e3d2a10");
	assert_text(fields.kubelet_version, "v1.36.3");
	assert_int_equal(fields.ready, NODE_READY_TRUE);
	assert_int_equal(fields.n_labels, 8);
	assert_text(label(&fields, "gpu.product"), "NVIDIA-A100-SXM4-40GB-SHARED");
	assert_text(label(&fields, "gpu.replicas"), "4");
	assert_text(label(&fields, "cuda.driver-version.revision"), "");
	golden_free(message);
}

static void amounts_of_gpu_resources_come_from_both_lists(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int64_t capacity, allocatable;
	} rows[] = {
		{"nvidia.com/gpu", 32, 28},
		{"nvidia.com/mig-1g.5gb", 7, 7},
		{"nvidia.com/gpu.shared", 0, 1000}, /* written as 1k */
	};
	struct view message = golden_read("node_gpu.pb");
	struct node_fields fields = decode(message);

	assert_int_equal(fields.n_resources, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct node_resource *resource = find(&fields, rows[i].name);
		assert_int_equal(resource->capacity, rows[i].capacity);
		assert_int_equal(resource->allocatable, rows[i].allocatable);
	}
	golden_free(message);
}

static void a_message_cut_anywhere_is_refused_or_lacks_parts(void **state)
{
	(void)state;
	struct view message = golden_read("node_gpu.pb");
	size_t n_refused = 0;
	for (size_t len = 0; len < message.len; len++) {
		struct view cut = golden_copy((struct view){message.ptr, len});
		struct node_fields fields, before;
		struct error err;
		memset(&fields, 0xa5, sizeof(fields));
		memset(&before, 0xa5, sizeof(before));
		if (node_doc_decode(cut, &fields, &err) != 0) {
			assert_int_equal(err.kind, ERROR_REJECTED);
			assert_memory_equal(&fields, &before, sizeof(fields));
			n_refused++;
		}
		golden_free(cut);
	}
	assert_true(n_refused >= message.len - 2);
	golden_free(message);
}

static void any_changed_byte_is_survived(void **state)
{
	(void)state;
	static const unsigned char masks[] = {0x01, 0x07, 0x80, 0xff};
	struct view message = golden_read("node_gpu.pb");
	char *bytes = (char *)(uintptr_t)message.ptr;
	for (size_t i = 0; i < message.len; i++) {
		for (size_t m = 0; m < ARRAY_SIZE(masks); m++) {
			struct node_fields fields;
			struct error err;
			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
			if (node_doc_decode(message, &fields, &err) == 0)
				assert_true(fields.n_labels <= NODE_MAX_LABELS);
			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
		}
	}
	golden_free(message);
}

static void readiness_is_unknown_unless_the_node_says_so(void **state)
{
	(void)state;
	static const struct {
		struct view message;
		enum node_ready ready;
	} rows[] = {
		{VIEW_INIT("\x0a\x03\x0a\x01n"), NODE_READY_UNKNOWN},
		{VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x0f\x22\x0d\x0a\x05Ready\x12\x04True"),
		 NODE_READY_TRUE},
		{VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x10\x22\x0e\x0a\x05Ready\x12\x05"
			   "False"),
		 NODE_READY_FALSE},
		/* Ready is True, and Other, which comes after it, is False. */
		{VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x1f\x22\x0d\x0a\x05Ready\x12\x04True"
			   "\x22\x0e\x0a\x05Other\x12\x05"
			   "False"),
		 NODE_READY_TRUE},
		{VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x12\x22\x10\x0a\x05Ready\x12\x07Unknown"),
		 NODE_READY_UNKNOWN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(decode(rows[i].message).ready, rows[i].ready);
}

/* {1: {1: "n", 11: {1: "nvidia.com/x", 2: ""} n times}} */
static void labels_beyond_the_bound_are_left_out(void **state)
{
	(void)state;
	static const char entry[] = "\x5a\x0e\x0a\x0cnvidia.com/x";
	static char bytes[4096];
	size_t n = NODE_MAX_LABELS + 5, len = 3 + n * (sizeof(entry) - 1);
	size_t at = 0;
	bytes[at++] = 0x0a;
	bytes[at++] = (char)(0x80 | (len & 0x7f));
	bytes[at++] = (char)(len >> 7);
	memcpy(&bytes[at], "\x0a\x01n", 3);
	at += 3;
	for (size_t i = 0; i < n; i++, at += sizeof(entry) - 1)
		memcpy(&bytes[at], entry, sizeof(entry) - 1);
	struct node_fields fields = decode((struct view){bytes, at});
	assert_int_equal(fields.n_labels, NODE_MAX_LABELS);
	assert_text(fields.labels[NODE_MAX_LABELS - 1].key, "x");
}

/* "\x0a\x05" announces five bytes where none are left. */
static void a_malformed_part_at_any_depth_is_refused(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT("\x0a\x05\x0a\x01n\x0a\x05"),                     /* metadata */
		VIEW_INIT("\x0a\x07\x0a\x01n\x5a\x02\x0a\x05"),             /* a label */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x02\x0a\x05"),             /* status */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x04\x0a\x02\x0a\x05"),     /* a capacity */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x06\x0a\x04\x12\x02\x0a\x05"), /* its amount */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x04\x22\x02\x0a\x05"),     /* a condition */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x04\x3a\x02\x0a\x05"),     /* nodeInfo */
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct node_fields fields;
		struct error err;
		if (node_doc_decode(rows[i], &fields, &err) == 0)
			fail_msg("row %zu is accepted", i);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void a_node_without_name_is_refused(void **state)
{
	(void)state;
	struct node_fields fields;
	struct error err;
	assert_int_equal(node_doc_decode(VIEW(""), &fields, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_gpu_node_gives_every_fact_that_is_kept),
	cmocka_unit_test(amounts_of_gpu_resources_come_from_both_lists),
	cmocka_unit_test(a_message_cut_anywhere_is_refused_or_lacks_parts),
	cmocka_unit_test(any_changed_byte_is_survived),
	cmocka_unit_test(readiness_is_unknown_unless_the_node_says_so),
	cmocka_unit_test(labels_beyond_the_bound_are_left_out),
	cmocka_unit_test(a_malformed_part_at_any_depth_is_refused),
	cmocka_unit_test(a_node_without_name_is_refused),
};

TEST_MAIN(tests)
