/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "wire/pbscan.h"

/* 1: varint 150; 2: "testing"; 3: fixed32 0x04030201; 4: fixed64; 536870911: varint 1. */
static const struct view message = VIEW_INIT("\x08\x96\x01"
					     "\x12\x07testing"
					     "\x1d\x01\x02\x03\x04"
					     "\x21\x01\x02\x03\x04\x05\x06\x07\x08"
					     "\xf8\xff\xff\xff\x0f\x01");
/* Where a field ends, so that a cut there is a shorter message and not a broken one. */
static const size_t field_ends[] = {0, 3, 12, 17, 26, 32};

static void every_wire_type_is_read(void **state)
{
	(void)state;
	struct pbscan scan;
	struct pbscan_field field;
	struct error err;
	pbscan_init(&scan, message);
	assert_true(pbscan_next(&scan, &field));
	assert_int_equal(field.number, 1);
	assert_int_equal(field.wire, PBSCAN_VARINT);
	assert_int_equal(field.value, 150);
	assert_true(pbscan_next(&scan, &field));
	assert_int_equal(field.number, 2);
	assert_int_equal(field.wire, PBSCAN_BYTES);
	assert_true(view_equal(field.bytes, VIEW("testing")));
	assert_true(pbscan_next(&scan, &field));
	assert_int_equal(field.wire, PBSCAN_FIXED32);
	assert_int_equal(field.value, 0x04030201);
	assert_true(pbscan_next(&scan, &field));
	assert_int_equal(field.wire, PBSCAN_FIXED64);
	assert_true(field.value == 0x0807060504030201);
	assert_true(pbscan_next(&scan, &field));
	assert_int_equal(field.number, 536870911);
	assert_false(pbscan_next(&scan, &field));
	assert_int_equal(pbscan_check(&scan, "message", &err), 0);
}

static void a_cut_inside_a_field_is_malformed(void **state)
{
	(void)state;
	for (size_t len = 0, next_end = 0; len <= message.len; len++) {
		/* A heap copy of just that length, so that reading on is seen. */
		char *cut = malloc(len + 1);
		memcpy(cut, message.ptr, len);
		struct pbscan scan;
		struct pbscan_field field;
		struct error err;
		pbscan_init(&scan, (struct view){len ? cut : NULL, len});
		while (pbscan_next(&scan, &field))
			;
		bool whole = next_end < ARRAY_SIZE(field_ends) && len == field_ends[next_end];
		next_end += whole;
		assert_int_equal(pbscan_check(&scan, "pod", &err), whole ? 0 : -1);
		if (!whole)
			assert_int_equal(err.kind, ERROR_REJECTED);
		assert_false(pbscan_next(&scan, &field));
		free(cut);
	}
}

static void malformed_fields_end_the_walk_and_leave_the_output(void **state)
{
	(void)state;
	static const struct view bad[] = {
		VIEW_INIT("\x00\x01"),                                     /* field number 0 */
		VIEW_INIT("\x80\x80\x80\x80\x10\x01"),                     /* field number 2^29 */
		VIEW_INIT("\x0b\x0c"),                                     /* a group */
		VIEW_INIT("\x0c"),                                         /* its end */
		VIEW_INIT("\x0e\x00"),                                     /* wire type 6 */
		VIEW_INIT("\x0f\x00"),                                     /* wire type 7 */
		VIEW_INIT("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* length 2^64 - 1 */
		VIEW_INIT("\x0a\x02x"),                                    /* length over the rest */
		VIEW_INIT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), /* over 64 bits */
		VIEW_INIT("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct pbscan scan;
		struct pbscan_field field = {.number = 77};
		struct error err;
		pbscan_init(&scan, bad[i]);
		assert_false(pbscan_next(&scan, &field));
		assert_int_equal(field.number, 77);
		assert_int_equal(pbscan_check(&scan, "x", &err), -1);
	}
}

static void a_varint_says_how_long_it_is(void **state)
{
	(void)state;
	static const struct {
		struct view bytes;
		int result;
		uint64_t value;
	} rows[] = {
		{VIEW_INIT(""), 0, 0},
		{VIEW_INIT("\x00"), 1, 0},
		{VIEW_INIT("\x7f"), 1, 127},
		{VIEW_INIT("\x80"), 0, 0},
		{VIEW_INIT("\x80\x01"), 2, 128},
		{VIEW_INIT("\x80\x00"), 2, 0},
		{VIEW_INIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 10, UINT64_MAX},
		{VIEW_INIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 0, 0},
		{VIEW_INIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), -1, 0},
		{VIEW_INIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"), -1, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view bytes = rows[i].bytes;
		uint64_t value = 42;
		assert_int_equal(pbscan_varint(&bytes, &value), rows[i].result);
		int taken = rows[i].result > 0 ? rows[i].result : 0;
		assert_int_equal(bytes.len, rows[i].bytes.len - (size_t)taken);
		assert_true(value == (taken ? rows[i].value : 42));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_wire_type_is_read),
	cmocka_unit_test(a_cut_inside_a_field_is_malformed),
	cmocka_unit_test(malformed_fields_end_the_walk_and_leave_the_output),
	cmocka_unit_test(a_varint_says_how_long_it_is),
};
TEST_MAIN(tests)
