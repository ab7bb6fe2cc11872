/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/yaml_output.h"
#include "lib/failing_malloc.h"

static void assert_yaml(const char *json, const char *expected)
{
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 10000);
	yaml_output(view_from(json), &buf);
	assert_int_equal(buf.failure, ERROR_NONE);
	assert_string_equal(sbuf_text(&buf), expected);
}

static void objects_and_arrays_are_blocks(void **state)
{
	(void)state;
	assert_yaml("{\"kind\":\"GPUList\",\"items\":[{\"a\":1,\"b\":[]},{\"c\":{}}],\"n\":null,\"t\":true}",
		    "kind: GPUList\n"
		    "items:\n"
		    "- a: 1\n"
		    "  b: []\n"
		    "- c: {}\n"
		    "\"n\": null\n"
		    "t: true\n");
}

static void a_text_stays_a_text(void **state)
{
	(void)state;
	assert_yaml("[\"GPU-1\",\"ml/a.b_c\",\"\",\"1\",\"1e3\",\"true\",\"No\",\"null\","
		    "\"-x\",\"a: b\",\"0x1f\",\"two words\",\"end \"]",
		    "- GPU-1\n- ml/a.b_c\n- \"\"\n- \"1\"\n- \"1e3\"\n- \"true\"\n- \"No\"\n- \"null\"\n"
		    "- \"-x\"\n- \"a: b\"\n- \"0x1f\"\n- two words\n- \"end \"\n");
}

static void nothing_in_a_text_can_begin_a_line(void **state)
{
	(void)state;
	assert_yaml("[\"a\\nb: \\u001b[2J \\\"q\\\"\",\"\xc3\xa9\"]",
		    "- \"a\\nb: \\e[2J \\\"q\\\"\"\n- \"\xc3\xa9\"\n");
}

static void missing_room_and_memory_are_the_buffers_failure(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf small;
	bool failed = true;
	sbuf_init(&small, 4);
	yaml_output(VIEW("{\"kind\":\"GPUList\"}"), &small);
	assert_int_equal(small.failure, ERROR_LIMIT);
	for (unsigned k = 1; failed; k++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, 1000);
		failing_malloc_at(k);
		yaml_output(VIEW("{\"kind\":[\"GPU\\nList\",1]}"), &buf);
		failed = failing_malloc_off();
		assert_int_equal(buf.failure, failed ? ERROR_NO_MEMORY : ERROR_NONE);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(objects_and_arrays_are_blocks),
	cmocka_unit_test(a_text_stays_a_text),
	cmocka_unit_test(nothing_in_a_text_can_begin_a_line),
	cmocka_unit_test(missing_room_and_memory_are_the_buffers_failure),
};
TEST_MAIN(tests)
