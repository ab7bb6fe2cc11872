/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <string.h>

#include "base/limits.h"
#include "io/outgoing.h"

static unsigned n_released;

static void on_release(void *owner)
{
	(void)owner;
	n_released++;
}

static const struct view parts[] = {VIEW_INIT(""), VIEW_INIT("first"), VIEW_INIT(""), VIEW_INIT("second"),
				    VIEW_INIT("")};

static void add(struct outgoing *out, bool with_body)
{
	const struct server_answer answer = {
		.shared = {parts, ARRAY_SIZE(parts), on_release, NULL},
		.body = VIEW("end"),
	};
	outgoing_add_answer(out, (struct httpmsg_answer){.status = 200, .content_type = "a/b"}, &answer,
			    with_body);
}

/* What is sent, at most so many bytes at a time. */
static const char *send_by(struct outgoing *out, size_t n)
{
	static char text[1024];
	size_t len = 0;
	for (struct view bytes = outgoing_next(out); bytes.len > 0; bytes = outgoing_next(out)) {
		const size_t k = bytes.len < n ? bytes.len : n;
		assert_true(len + k < sizeof(text));
		memcpy(text + len, bytes.ptr, k);
		len += k;
		outgoing_note(out, k);
	}
	text[len] = '\0';
	return text;
}

TEST(an_answer_is_the_same_however_few_bytes_are_sent_at_a_time)
{
	CLEANUP(outgoing_deinit) struct outgoing out;
	outgoing_init(&out, LIMIT_MIB);
	for (size_t n = 1; n < 300; n++) {
		n_released = 0;
		add(&out, true);
		const char *sent = send_by(&out, n);
		assert_non_null(strstr(sent, "\r\nContent-Length: 14\r\n"));
		assert_string_equal(strstr(sent, "\r\n\r\n"), "\r\n\r\nfirstsecondend");
		assert_int_equal(n_released, 0);
		outgoing_end(&out);
		assert_int_equal(n_released, 1);
	}
}

TEST(without_its_body_an_answer_has_the_same_length_in_its_head)
{
	CLEANUP(outgoing_deinit) struct outgoing out;
	outgoing_init(&out, LIMIT_MIB);
	n_released = 0;
	add(&out, false);
	assert_int_equal(n_released, 1);
	const char *sent = send_by(&out, 7);
	assert_non_null(strstr(sent, "\r\nContent-Length: 14\r\n"));
	assert_string_equal(strstr(sent, "\r\n\r\n"), "\r\n\r\n");
}

TEST(what_is_added_before_an_answer_is_sent_before_it)
{
	CLEANUP(outgoing_deinit) struct outgoing out;
	outgoing_init(&out, LIMIT_MIB);
	outgoing_add(&out, VIEW("HTTP/1.1 100 Continue\r\n\r\n"));
	assert_string_equal(send_by(&out, 5), "HTTP/1.1 100 Continue\r\n\r\n");
	outgoing_end(&out);
	add(&out, true);
	assert_memory_equal(send_by(&out, 5), "HTTP/1.1 200 ", 13);
}

TEST(shared_parts_are_given_up_once_wherever_it_ends)
{
	for (size_t n = 0; n < 200; n++) {
		struct outgoing out;
		outgoing_init(&out, LIMIT_MIB);
		n_released = 0;
		add(&out, true);
		for (size_t i = 0; i < n && outgoing_next(&out).len > 0; i++)
			outgoing_note(&out, 1);
		outgoing_deinit(&out);
		outgoing_deinit(&out);
		assert_int_equal(n_released, 1);
	}
}

TEST(what_finds_no_room_is_not_whole)
{
	CLEANUP(outgoing_deinit) struct outgoing out;
	outgoing_init(&out, 10);
	n_released = 0;
	add(&out, true);
	assert_false(outgoing_is_whole(&out));
	outgoing_end(&out);
	assert_true(outgoing_is_whole(&out));
	assert_int_equal(n_released, 1);
}

TESTS(NULL, NULL)
