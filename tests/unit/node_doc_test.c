/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "lib/golden.h"
#include "schema/node_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static struct node decode(struct view message)
{
	struct node node;
	struct error err;
	if (node_doc_decode(message, &node, &err) != 0)
		fail_msg("%s", err.text);
	return node;
}

static void a_gpu_node_gives_every_fact_that_is_kept(void **state)
{
	(void)state;
	struct view message = golden_read("node_gpu.pb");
	struct node node = decode(message);

	assert_text(node.name, "gpu-a");
	assert_int_equal(node.uid.len, 36);
	assert_text(node.boot_id, "1d0f5f7c-6d0e-4b36-9c1b-3f1d6e3d2a10");
	assert_text(node.sharing_strategy, "time-slicing");
	golden_free(message);
}

static void a_message_cut_anywhere_is_refused_or_lacks_parts(void **state)
{
	(void)state;
	struct view message = golden_read("node_gpu.pb");
	size_t n_refused = 0;
	for (size_t len = 0; len < message.len; len++) {
		struct view cut = golden_copy((struct view){message.ptr, len});
		struct node node, before;
		struct error err;
		memset(&node, 0xa5, sizeof(node));
		memset(&before, 0xa5, sizeof(before));
		if (node_doc_decode(cut, &node, &err) != 0) {
			assert_int_equal(err.kind, ERROR_REJECTED);
			assert_memory_equal(&node, &before, sizeof(node));
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
			struct node node;
			struct error err;
			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
			if (node_doc_decode(message, &node, &err) == 0)
				assert_true(node.name.len > 0);
			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
		}
	}
	golden_free(message);
}

/* "\x0a\x05" announces five bytes where none are left. */
static void a_malformed_part_at_any_depth_is_refused(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT("\x0a\x05\x0a\x01n\x0a\x05"),                     /* metadata */
		VIEW_INIT("\x0a\x07\x0a\x01n\x5a\x02\x0a\x05"),             /* a label */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x02\x0a\x05"),             /* status */
		VIEW_INIT("\x0a\x03\x0a\x01n\x1a\x04\x3a\x02\x0a\x05"),     /* nodeInfo */
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct node node;
		struct error err;
		if (node_doc_decode(rows[i], &node, &err) == 0)
			fail_msg("row %zu is accepted", i);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void a_node_without_name_is_refused(void **state)
{
	(void)state;
	struct node node;
	struct error err;
	assert_int_equal(node_doc_decode(VIEW(""), &node, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_gpu_node_gives_every_fact_that_is_kept),
	cmocka_unit_test(a_message_cut_anywhere_is_refused_or_lacks_parts),
	cmocka_unit_test(any_changed_byte_is_survived),
	cmocka_unit_test(a_malformed_part_at_any_depth_is_refused),
	cmocka_unit_test(a_node_without_name_is_refused),
};

TEST_MAIN(tests)
