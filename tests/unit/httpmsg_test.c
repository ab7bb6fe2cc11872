/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/limits.h"
#include "wire/httpmsg.h"

/* Feeds text in two parts, or in single bytes when cut is beyond its end; always exact copies. */
static enum httpmsg_step read_cut(struct view text, size_t cut, struct httpmsg *ret_msg)
{
	*ret_msg = (struct httpmsg){0};
	enum httpmsg_step step = HTTPMSG_MORE;
	size_t n = cut < text.len ? cut : 1;
	while (step == HTTPMSG_MORE) {
		char *copy = malloc(n ? n : 1);
		assert_non_null(copy);
		memcpy(copy, text.ptr, n);
		step = httpmsg_read(ret_msg, (struct view){copy, n});
		free(copy);
		if (n == text.len)
			break;
		n = cut < text.len ? text.len : n + 1;
	}
	return step;
}

static void assert_same(const struct httpmsg *a, const struct httpmsg *b)
{
	assert_int_equal(a->refusal, b->refusal);
	assert_string_equal(a->reason ? a->reason : "", b->reason ? b->reason : "");
	assert_int_equal(a->parsed, b->parsed);
	assert_int_equal(a->n_headers, b->n_headers);
	assert_int_equal(a->content_length, b->content_length);
	assert_int_equal(a->keep_alive, b->keep_alive);
	assert_int_equal(a->expects_continue, b->expects_continue);
	assert_memory_equal(&a->method, &b->method, sizeof(a->method));
	assert_memory_equal(&a->target, &b->target, sizeof(a->target));
	assert_memory_equal(&a->authorization, &b->authorization, sizeof(a->authorization));
	assert_memory_equal(&a->content_type, &b->content_type, sizeof(a->content_type));
}

static enum httpmsg_step read_all(struct view text, struct httpmsg *ret_msg)
{
	*ret_msg = (struct httpmsg){0};
	return httpmsg_read(ret_msg, text);
}

#define REPORT_HEAD \
	"POST /v1/report?a=b HTTP/1.1\r\nHost: [::1]:8443\r\nauthorization:Bearer a.b.c \t\r\n" \
	"Content-Type: application/json\r\nX-Unknown: \xc3\xa4\r\nContent-Length: 12\r\n\r\n"

static void a_request_is_taken_apart(void **state)
{
	(void)state;
	struct view text = VIEW(REPORT_HEAD "{\"body\": 42}");
	struct httpmsg msg;
	struct httpmsg_head head;
	assert_int_equal(read_all(text, &msg), HTTPMSG_HEAD);
	assert_int_equal(msg.parsed, sizeof(REPORT_HEAD) - 1);
	httpmsg_head(&msg, text, &head);
	assert_true(view_equal(head.method, VIEW("POST")));
	assert_true(view_equal(head.path, VIEW("/v1/report")));
	assert_true(view_equal(head.query, VIEW("a=b")));
	assert_true(view_equal(head.authorization, VIEW("Bearer a.b.c")));
	assert_true(view_equal(head.content_type, VIEW("application/json")));
	assert_int_equal(head.content_length, 12);
	assert_true(head.keep_alive);
	assert_false(head.expects_continue);
}

static void what_is_absent_is_empty(void **state)
{
	(void)state;
	struct view text = VIEW("GET / HTTP/1.1\r\nhost:\r\n\r\n");
	struct httpmsg msg;
	struct httpmsg_head head;
	assert_int_equal(read_all(text, &msg), HTTPMSG_HEAD);
	httpmsg_head(&msg, text, &head);
	assert_true(view_equal(head.path, VIEW("/")));
	assert_int_equal(head.query.len + head.authorization.len + head.content_type.len, 0);
	assert_int_equal(head.content_length, -1);
}

static const struct row {
	const char *text;
	int status; /* 0: accepted */
} rows[] = {
	{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
	{"GET /a%2fb;c?d HTTP/1.1\r\nHost: a\r\n\r\n", 0},
	{"X! / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
	{REPORT_HEAD, 0},
	{"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 0},
	{"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n", 0},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 0},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Encoding: identity\r\n\r\n", 0},
	{"GET / HTTP/1.1\r\nHost: a\r\nX:\r\nX:\r\n\r\n", 0},
	/* request line */
	{"\r\n", 400},
	{"\n", 400},
	{"GET /\r\n", 400},
	{"GET  / HTTP/1.1\r\n", 400},
	{"GET /  HTTP/1.1\r\n", 400},
	{" GET / HTTP/1.1\r\n", 400},
	{"GET / HTTP/1.1 \r\n", 400},
	{"GET / HTTP/1.1\n", 400},
	{"GET\t/ HTTP/1.1\r\n", 400},
	{"G\x80T / HTTP/1.1\r\n", 400},
	{"GET a HTTP/1.1\r\n", 400},
	{"GET * HTTP/1.1\r\n", 400},
	{"GET http://a/ HTTP/1.1\r\n", 400},
	{"CONNECT a:1 HTTP/1.1\r\n", 400},
	{"GET /\xc3\xa4 HTTP/1.1\r\n", 400},
	{"GET /\x7f HTTP/1.1\r\n", 400},
	{"GET /a#b HTTP/1.1\r\n", 400},
	{"GET / HTTP/1.0\r\n", 505},
	{"GET / HTTP/2.0\r\n", 505},
	{"GET / http/1.1\r\n", 400},
	{"GET / HTTP/11\r\n", 400},
	{"GET / HTTP/1.1x\r\n", 400},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
	{"\x16\x03\x01\x02\n", 400},
	/* headers */
	{"GET / HTTP/1.1\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\n\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\n\tb\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\n: a\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nX(y): 1\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nauthorization: b\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Type: a\r\nContent-Type: a\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", 417},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\n\r\n", 415},
	/* framing */
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 2\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n", 0},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n", 413},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413},
	{"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
	{"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \r\n\r\n", 411},
	{"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\nContent-Length: 1\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: x\r\n\r\n", 400},
};

static void each_rule_accepts_or_refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct httpmsg msg;
		enum httpmsg_step step = read_all(view_from(rows[i].text), &msg);
		if (step != (rows[i].status ? HTTPMSG_REFUSED : HTTPMSG_HEAD) ||
		    msg.refusal != rows[i].status)
			fail_msg("%s: step %d, %d %s", rows[i].text, (int)step, msg.refusal,
				 msg.reason ? msg.reason : "");
		assert_true((msg.reason != NULL) == (rows[i].status != 0));
	}
}

static void a_cut_at_any_byte_changes_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view text = view_from(rows[i].text);
		struct httpmsg whole, parts;
		enum httpmsg_step step = read_all(text, &whole);
		for (size_t cut = 1; cut <= text.len; cut++) {
			assert_int_equal(read_cut(text, cut, &parts), step);
			assert_same(&whole, &parts);
		}
	}
}

static void an_incomplete_head_asks_for_more(void **state)
{
	(void)state;
	struct view text = VIEW(REPORT_HEAD);
	for (size_t n = 0; n < text.len; n++) {
		struct httpmsg msg;
		assert_int_equal(read_all((struct view){text.ptr, n}, &msg), HTTPMSG_MORE);
	}
}

static void nul_is_refused(void **state)
{
	(void)state;
	static const struct view texts[] = {
		VIEW_INIT("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"),
		VIEW_INIT("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n"),
		VIEW_INIT("GET / HTTP/1.1\r\nHo\0st: a\r\n\r\n"),
		VIEW_INIT("G\0T / HTTP/1.1\r\nHost: a\r\n\r\n"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct httpmsg msg;
		assert_int_equal(read_all(texts[i], &msg), HTTPMSG_REFUSED);
		assert_int_equal(msg.refusal, 400);
	}
}

static void close_is_found_among_connection_options(void **state)
{
	(void)state;
	static const struct {
		const char *value;
		bool keep_alive;
	} options[] = {
		{"keep-alive", true}, {"close", false},           {"CLOSE", false},
		{"closed", true},     {"keep-alive , close", false}, {",,close,", false},
		{"", true},           {"upgrade", true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		char text[128];
		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\nConnection: %s\r\n\r\n",
			 options[i].value);
		struct httpmsg msg;
		assert_int_equal(read_all(view_from(text), &msg), HTTPMSG_HEAD);
		assert_int_equal(msg.keep_alive, options[i].keep_alive);
	}
}

/* A request whose head is exactly n bytes long. */
static struct view head_of_size(struct sbuf *buf, size_t n)
{
	sbuf_append(buf, VIEW("GET / HTTP/1.1\r\nHost: a\r\nX: "));
	while (buf->len < n - 4)
		sbuf_append_char(buf, 'x');
	sbuf_append(buf, VIEW("\r\n\r\n"));
	return sbuf_view(buf);
}

static void a_head_may_be_as_long_as_the_limit_and_no_longer(void **state)
{
	(void)state;
	struct sbuf CLEANUP(sbuf_deinit) fits;
	struct sbuf CLEANUP(sbuf_deinit) over;
	sbuf_init(&fits, LIMIT_MIB);
	sbuf_init(&over, LIMIT_MIB);
	struct httpmsg msg;
	assert_int_equal(read_all(head_of_size(&fits, LIMIT_HTTP_HEAD), &msg), HTTPMSG_HEAD);
	assert_int_equal(msg.parsed, LIMIT_HTTP_HEAD);
	struct view text = head_of_size(&over, LIMIT_HTTP_HEAD + 1);
	assert_int_equal(read_all(text, &msg), HTTPMSG_REFUSED);
	assert_int_equal(msg.refusal, 431);
	assert_int_equal(read_cut(text, LIMIT_HTTP_HEAD - 1, &msg), HTTPMSG_REFUSED);
	assert_int_equal(msg.refusal, 431);
	/* Without any line end it is the number of bytes that decides. */
	memset(over.ptr, 'A', over.len);
	assert_int_equal(read_all(text, &msg), HTTPMSG_REFUSED);
	assert_int_equal(msg.refusal, 431);
}

static void headers_are_counted(void **state)
{
	(void)state;
	struct sbuf CLEANUP(sbuf_deinit) buf;
	sbuf_init(&buf, LIMIT_MIB);
	sbuf_append(&buf, VIEW("GET / HTTP/1.1\r\nHost: a\r\n"));
	for (size_t i = 1; i < LIMIT_HTTP_HEADERS; i++)
		sbuf_append(&buf, VIEW("X: y\r\n"));
	size_t full = buf.len;
	struct httpmsg msg;
	sbuf_append(&buf, VIEW("\r\n"));
	assert_int_equal(read_all(sbuf_view(&buf), &msg), HTTPMSG_HEAD);
	sbuf_truncate(&buf, full);
	sbuf_append(&buf, VIEW("X: y\r\n\r\n"));
	assert_int_equal(read_all(sbuf_view(&buf), &msg), HTTPMSG_REFUSED);
	assert_int_equal(msg.refusal, 431);
}

static void assert_written(const struct httpmsg_answer *answer, const char *text)
{
	struct sbuf CLEANUP(sbuf_deinit) buf;
	sbuf_init(&buf, LIMIT_KIB);
	httpmsg_write(answer, &buf);
	assert_string_equal(sbuf_text(&buf), text);
}

static void an_answer_says_what_it_was_given(void **state)
{
	(void)state;
	assert_written(&(struct httpmsg_answer){.status = 200, .content_type = "text/plain",
						.content_length = 2},
		       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\n");
	assert_written(&(struct httpmsg_answer){.status = 503, .retry_after_s = 5, .close = true},
		       "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 5\r\n"
		       "Connection: close\r\n\r\n");
	assert_written(&(struct httpmsg_answer){.status = 405, .allow = "GET"},
		       "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: GET\r\n\r\n");
	assert_written(&(struct httpmsg_answer){.status = 401},
		       "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
		       "WWW-Authenticate: Bearer\r\n\r\n");
}

static void a_location_cannot_add_headers(void **state)
{
	(void)state;
	assert_written(&(struct httpmsg_answer){.status = 307, .location = VIEW("https://b:1/x")},
		       "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\n"
		       "Location: https://b:1/x\r\n\r\n");
	assert_written(&(struct httpmsg_answer){.status = 307, .location = VIEW("/\r\nSet: x")},
		       "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\n\r\n");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_request_is_taken_apart),
	cmocka_unit_test(what_is_absent_is_empty),
	cmocka_unit_test(each_rule_accepts_or_refuses),
	cmocka_unit_test(a_cut_at_any_byte_changes_nothing),
	cmocka_unit_test(an_incomplete_head_asks_for_more),
	cmocka_unit_test(nul_is_refused),
	cmocka_unit_test(close_is_found_among_connection_options),
	cmocka_unit_test(a_head_may_be_as_long_as_the_limit_and_no_longer),
	cmocka_unit_test(headers_are_counted),
	cmocka_unit_test(an_answer_says_what_it_was_given),
	cmocka_unit_test(a_location_cannot_add_headers),
};
TEST_MAIN(tests)
