/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "wire/grpcmsg.h"

static const char hello[] = "\0\0\0\0\5hello";
#define HELLO ((struct view){hello, sizeof(hello) - 1})

static void assert_feed_refused(struct view bytes, size_t cap, enum error_kind kind)
{
	struct error err = {0};
	struct grpcmsg reply;
	grpcmsg_init(&reply, cap);
	assert_int_equal(grpcmsg_feed(&reply, bytes, &err), -1);
	assert_int_equal(err.kind, kind);
	grpcmsg_deinit(&reply);
}

static void a_message_is_found_however_the_bytes_are_cut(void **state)
{
	(void)state;
	for (size_t cut = 0; cut <= HELLO.len; cut++) {
		struct error err = {0};
		struct view message = VIEW("untouched");
		struct grpcmsg reply;
		grpcmsg_init(&reply, 5);
		assert_int_equal(grpcmsg_feed(&reply, (struct view){hello, cut}, &err), 0);
		assert_int_equal(grpcmsg_feed(&reply, view_from_offset(HELLO, cut), &err), 0);
		assert_int_equal(grpcmsg_end(&reply, &message, &err), 0);
		assert_true(view_equal(message, VIEW("hello")));
		grpcmsg_deinit(&reply);
	}
}

static void a_message_that_ends_early_is_refused_at_every_byte(void **state)
{
	(void)state;
	for (size_t len = 0; len < HELLO.len; len++) {
		struct error err = {0};
		struct view message = VIEW("untouched");
		struct grpcmsg reply;
		grpcmsg_init(&reply, 100);
		assert_int_equal(grpcmsg_feed(&reply, (struct view){hello, len}, &err), 0);
		assert_int_equal(grpcmsg_end(&reply, &message, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_true(view_equal(message, VIEW("untouched")));
		grpcmsg_deinit(&reply);
	}
}

static void an_empty_message_is_a_message(void **state)
{
	(void)state;
	struct error err = {0};
	struct view message = VIEW("untouched");
	struct grpcmsg reply;
	grpcmsg_init(&reply, 0);
	assert_int_equal(grpcmsg_feed(&reply, VIEW("\0\0\0\0\0"), &err), 0);
	assert_int_equal(grpcmsg_end(&reply, &message, &err), 0);
	assert_int_equal(message.len, 0);
	grpcmsg_deinit(&reply);
}

static void compressed_and_unknown_flags_are_refused(void **state)
{
	(void)state;
	assert_feed_refused(VIEW("\1\0\0\0\1x"), 100, ERROR_REJECTED);
	assert_feed_refused(VIEW("\x80\0\0\0\1x"), 100, ERROR_REJECTED);
}

static void a_second_message_is_refused(void **state)
{
	(void)state;
	assert_feed_refused(VIEW("\0\0\0\0\1x\0"), 100, ERROR_REJECTED);
	assert_feed_refused(VIEW("\0\0\0\0\0\0\0\0\0\0"), 100, ERROR_REJECTED);
}

static void a_stated_length_over_the_cap_is_refused_before_its_bytes(void **state)
{
	(void)state;
	assert_feed_refused(VIEW("\0\0\0\0\6"), 5, ERROR_LIMIT);
	assert_feed_refused(VIEW("\0\xff\xff\xff\xff"), 16u << 20, ERROR_LIMIT);
}

static void memory_follows_what_arrived_not_what_was_stated(void **state)
{
	(void)state;
	struct error err = {0};
	struct grpcmsg reply;
	grpcmsg_init(&reply, 16u << 20);
	assert_int_equal(grpcmsg_feed(&reply, VIEW("\0\1\0\0\0abc"), &err), 0);
	assert_int_equal(reply.length, 16u << 20);
	assert_true(reply.message.allocated <= 4096);
	grpcmsg_deinit(&reply);
}

static void what_is_appended_can_be_read_back(void **state)
{
	(void)state;
	static char message[70000];
	memset(message, 'm', sizeof(message));
	struct error err = {0};
	struct sbuf buf;
	sbuf_init(&buf, 100000);
	grpcmsg_append(&buf, (struct view){message, sizeof(message)});
	struct grpcmsg reply;
	grpcmsg_init(&reply, sizeof(message));
	struct view back;
	assert_int_equal(grpcmsg_feed(&reply, sbuf_view(&buf), &err), 0);
	assert_int_equal(grpcmsg_end(&reply, &back, &err), 0);
	assert_true(view_equal(back, (struct view){message, sizeof(message)}));
	grpcmsg_deinit(&reply);
	sbuf_deinit(&buf);
}

static void a_status_says_what_to_do_and_why(void **state)
{
	(void)state;
	static const struct {
		int status;
		const char *message;
		enum error_kind kind;
		const char *text;
	} rows[] = {
		{GRPCMSG_MISSING, "", ERROR_RETRY, "no gRPC status"},
		{2, "", ERROR_RETRY, "UNKNOWN"},
		{2, "API Get method disabled", ERROR_RETRY, "UNKNOWN: API Get method disabled"},
		{8, "rejected%20by rate%20limit", ERROR_THROTTLED,
		 "RESOURCE_EXHAUSTED: rejected by rate limit"},
		{12, "unknown service v1", ERROR_REJECTED, "UNIMPLEMENTED: unknown service v1"},
		{7, "no", ERROR_DENIED, "PERMISSION_DENIED: no"},
		{16, "", ERROR_DENIED, "UNAUTHENTICATED"},
		{5, "", ERROR_NOT_FOUND, "NOT_FOUND"},
		{14, "%e4", ERROR_RETRY, "UNAVAILABLE: \xe4"},
		{99, "x", ERROR_RETRY, "gRPC status 99: x"},
		{14, "100%", ERROR_RETRY, "UNAVAILABLE: 100%"},
		{14, "%4", ERROR_RETRY, "UNAVAILABLE: %4"},
		{14, "%zz%0A", ERROR_RETRY, "UNAVAILABLE: %zz?"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = {0};
		assert_int_equal(grpcmsg_check_status(rows[i].status, view_from(rows[i].message),
						      &err), -1);
		assert_int_equal(err.kind, rows[i].kind);
		assert_string_equal(err.text, rows[i].text);
	}
}

static void ok_is_no_error_whatever_its_message(void **state)
{
	(void)state;
	struct error err = {0};
	assert_int_equal(grpcmsg_check_status(GRPCMSG_OK, VIEW("fine"), &err), 0);
	assert_int_equal(err.kind, ERROR_NONE);
}

static void a_long_status_message_is_cut(void **state)
{
	(void)state;
	static char message[5000];
	memset(message, 'x', sizeof(message));
	struct error err = {0};
	assert_int_equal(grpcmsg_check_status(2, (struct view){message, sizeof(message)}, &err),
			 -1);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_message_is_found_however_the_bytes_are_cut),
	cmocka_unit_test(a_message_that_ends_early_is_refused_at_every_byte),
	cmocka_unit_test(an_empty_message_is_a_message),
	cmocka_unit_test(compressed_and_unknown_flags_are_refused),
	cmocka_unit_test(a_second_message_is_refused),
	cmocka_unit_test(a_stated_length_over_the_cap_is_refused_before_its_bytes),
	cmocka_unit_test(memory_follows_what_arrived_not_what_was_stated),
	cmocka_unit_test(what_is_appended_can_be_read_back),
	cmocka_unit_test(a_status_says_what_to_do_and_why),
	cmocka_unit_test(ok_is_no_error_whatever_its_message),
	cmocka_unit_test(a_long_status_message_is_cut),
};
TEST_MAIN(tests)
