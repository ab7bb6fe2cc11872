/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <string.h>

#include "io/fetch_head.h"

static struct error err;

/* Takes the lines of text, each with its end. Returns how many of them ended the head. */
static unsigned take(struct fetch_head *head, const char *text)
{
	unsigned n_ends = 0;
	while (*text) {
		const char *end = strchr(text, '\n') + 1;
		bool ends;
		assert_int_equal(
			fetch_head_line(head, (struct view){text, (size_t)(end - text)}, &ends, &err),
			0);
		n_ends += ends;
		text = end;
	}
	return n_ends;
}

static void what_a_head_says_is_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int status, grpc_status;
		const char *content_type, *grpc_message;
		unsigned n_ends;
	} rows[] = {
		{"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", 200, -1, "text/plain", "", 1},
		{"HTTP/2 404\r\ncontent-type:a/b\r\n\r\n", 404, -1, "a/b", "", 1},
		/* Of a 1xx nothing stays, and it does not end the head. */
		{"HTTP/1.1 103\r\nContent-Type: x/y\r\n\r\n", 103, -1, "x/y", "", 0},
		{"HTTP/1.1 103\r\nContent-Type: x/y\r\n\r\nHTTP/1.1 200\r\n\r\n", 200, -1, "", "", 1},
		/* Trailers come behind; the head does not begin or end again. */
		{"HTTP/2 200\r\n\r\ngrpc-status: 5\r\ngrpc-message: no%20\r\n\r\n", 200, 5, "", "no%20",
		 1},
		{"HTTP/2 200\r\n\r\nHTTP/2 500\r\n\r\n", 200, -1, "", "", 1},
		/* What cannot be read is as if it had not come. */
		{"HTTP/2 200\r\ngrpc-status: x\r\n\r\n", 200, -1, "", "", 1},
		{"HTTP/2 200\r\ngrpc-status: 2147483648\r\n\r\n", 200, -1, "", "", 1},
		{"no colon\r\n", 0, -1, "", "", 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fetch_head head;
		fetch_head_init(&head);
		assert_int_equal(take(&head, rows[i].text), rows[i].n_ends);
		assert_int_equal(head.status, rows[i].status);
		assert_int_equal(head.grpc_status, rows[i].grpc_status);
		assert_true(view_equal(sbuf_view(&head.content_type),
				       view_from(rows[i].content_type)));
		assert_true(view_equal(sbuf_view(&head.grpc_message),
				       view_from(rows[i].grpc_message)));
		assert_int_equal(head.is_complete, rows[i].n_ends > 0);
		fetch_head_deinit(&head);
	}
}

static void lines_of_more_than_64_kib_are_refused(void **state)
{
	(void)state;
	char line[1024];
	struct fetch_head head;
	bool ends;
	memset(line, 'a', sizeof(line));
	fetch_head_init(&head);
	for (int i = 0; i < 64; i++)
		assert_int_equal(
			fetch_head_line(&head, (struct view){line, sizeof(line)}, &ends, &err), 0);
	assert_int_equal(fetch_head_line(&head, (struct view){line, 1}, &ends, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	fetch_head_deinit(&head);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_a_head_says_is_read),
	cmocka_unit_test(lines_of_more_than_64_kib_are_refused),
};

TEST_MAIN(tests)
