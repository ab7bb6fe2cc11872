/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "agent/nvml_frame.h"

static struct error err;

static void put(struct sbuf *out, const char *body)
{
	size_t begin = nvml_frame_begin(out);
	sbuf_append(out, view_from(body));
	nvml_frame_end(out, begin);
}

static void frames_come_out_as_they_went_in_wherever_the_stream_is_cut(void **state)
{
	(void)state;
	static const char *const bodies[] = {"a", "{\"sequence\":1}", "R"};
	CLEANUP(sbuf_deinit) struct sbuf all;
	sbuf_init(&all, NVML_FRAME_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		put(&all, bodies[i]);
	for (size_t step = 1; step <= all.len; step++) {
		CLEANUP(sbuf_deinit) struct sbuf in;
		size_t n = 0;
		sbuf_init(&in, NVML_FRAME_BYTES);
		for (size_t at = 0; at < all.len; at += step) {
			size_t len = all.len - at < step ? all.len - at : step;
			struct view body;
			bool is_whole = true;
			sbuf_append(&in, (struct view){all.ptr + at, len});
			while (nvml_frame_next(sbuf_view(&in), &is_whole, &body, &err) == 0 &&
			       is_whole) {
				assert_true(view_equal(body, view_from(bodies[n++])));
				sbuf_consume(&in, NVML_FRAME_HEAD + body.len);
			}
		}
		assert_int_equal(n, ARRAY_SIZE(bodies));
		assert_int_equal(in.len, 0);
	}
}

static void the_length_stands_in_four_bytes_lowest_first(void **state)
{
	(void)state;
	char body[259];
	CLEANUP(sbuf_deinit) struct sbuf out;
	memset(body, 'x', sizeof(body));
	body[sizeof(body) - 1] = '\0';
	sbuf_init(&out, NVML_FRAME_BYTES);
	put(&out, body);
	assert_memory_equal(out.ptr, "\x02\x01\0\0x", 5);
}

static void a_length_that_cannot_be_is_refused_before_the_body_comes(void **state)
{
	(void)state;
	static const struct {
		unsigned char head[NVML_FRAME_HEAD];
		enum error_kind kind;
	} rows[] = {
		{{0, 0, 0, 0}, ERROR_REJECTED},
		{{0, 0, 0x80, 0}, ERROR_NONE}, /* 8 MiB */
		{{1, 0, 0x80, 0}, ERROR_LIMIT},
		{{0xff, 0xff, 0xff, 0xff}, ERROR_LIMIT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct view bytes = {(const char *)rows[i].head, NVML_FRAME_HEAD};
		struct view body;
		bool is_whole;
		int result = nvml_frame_next(bytes, &is_whole, &body, &err);
		assert_int_equal(result, rows[i].kind == ERROR_NONE ? 0 : -1);
		if (result < 0)
			assert_int_equal(err.kind, rows[i].kind);
		assert_false(is_whole);
	}
}

static void a_buffer_that_failed_stays_failed(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf out;
	sbuf_init(&out, NVML_FRAME_HEAD + 1);
	put(&out, "too long");
	assert_int_equal(sbuf_check(&out, "frame", &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(frames_come_out_as_they_went_in_wherever_the_stream_is_cut),
	cmocka_unit_test(the_length_stands_in_four_bytes_lowest_first),
	cmocka_unit_test(a_length_that_cannot_be_is_refused_before_the_body_comes),
	cmocka_unit_test(a_buffer_that_failed_stays_failed),
};
TEST_MAIN(tests)
