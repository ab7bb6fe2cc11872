/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The head is read line by line, each line once, when its end has arrived. Everything that can be
 * wrong is decided from complete lines, or from the number of bytes, so that it cannot matter how
 * the bytes were cut. Only the first LIMIT_HTTP_HEAD bytes are ever looked at.
 *
 * Headers that this server does not use are checked for their form and forgotten; those it uses
 * stand in one table with a function each. The names it acts upon decide framing, and with it the
 * safety of whatever stands in front of this server, hence no header of that table may come twice.
 */

#include "wire/httpmsg.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"

/* Characters of a token, RFC 9110 section 5.6.2. */
static bool is_token_char(unsigned char c)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c != '\0' && strchr(marks, c) != NULL);
}

static bool is_token(struct view v)
{
	for (size_t i = 0; i < v.len; i++) {
		if (!is_token_char((unsigned char)v.ptr[i]))
			return false;
	}
	return v.len > 0;
}

static bool is_visible(struct view v)
{
	for (size_t i = 0; i < v.len; i++) {
		if (v.ptr[i] <= ' ' || v.ptr[i] >= 0x7f)
			return false;
	}
	return v.len > 0;
}

/* Characters of a field value: visible ones, blanks, and bytes above ASCII. */
static bool is_field_value(struct view v)
{
	for (size_t i = 0; i < v.len; i++) {
		unsigned char c = (unsigned char)v.ptr[i];
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* view_trim() would also take line ends, which must be refused instead. */
static struct view trim_blanks(struct view v)
{
	while (v.len > 0 && is_blank(v.ptr[0]))
		v = view_from_offset(v, 1);
	while (v.len > 0 && is_blank(v.ptr[v.len - 1]))
		v.len--;
	return v;
}

static enum httpmsg_step refuse(struct httpmsg *msg, int status, const char *reason)
{
	msg->refusal = status;
	msg->reason = reason;
	return HTTPMSG_REFUSED;
}

static struct httpmsg_span span_of(struct view bytes, struct view part)
{
	if (part.len == 0)
		return (struct httpmsg_span){0};
	return (struct httpmsg_span){(uint32_t)(part.ptr - bytes.ptr), (uint32_t)part.len};
}

static struct view span_view(struct view bytes, struct httpmsg_span span)
{
	assert((size_t)span.at + span.len <= bytes.len);
	return (struct view){bytes.ptr + span.at, span.len};
}

static enum httpmsg_step read_version(struct httpmsg *msg, struct view version)
{
	if (view_equal(version, VIEW("HTTP/1.1")))
		return HTTPMSG_MORE;
	bool is_version = version.len == 8 && view_starts_with(version, VIEW("HTTP/")) &&
			  version.ptr[5] >= '0' && version.ptr[5] <= '9' && version.ptr[6] == '.' &&
			  version.ptr[7] >= '0' && version.ptr[7] <= '9';
	if (is_version)
		return refuse(msg, 505, "only HTTP/1.1 is spoken here");
	return refuse(msg, 400, "malformed request line");
}

static enum httpmsg_step read_request_line(struct httpmsg *msg, struct view bytes, struct view line)
{
	struct view method, target, version, rest;
	bool complete = view_cut(line, VIEW(" "), &method, &rest) &&
			view_cut(rest, VIEW(" "), &target, &version);
	if (!complete || !is_token(method))
		return refuse(msg, 400, "malformed request line");
	if (!is_visible(target) || target.ptr[0] != '/' || view_find_char(target, '#') >= 0)
		return refuse(msg, 400, "malformed request target");
	msg->method = span_of(bytes, method);
	msg->target = span_of(bytes, target);
	msg->keep_alive = true;
	msg->content_length = -1;
	return read_version(msg, version);
}

static enum httpmsg_step on_host(struct httpmsg *msg, struct view bytes, struct view value)
{
	(void)bytes;
	for (size_t i = 0; i < value.len; i++) {
		if (!is_token_char((unsigned char)value.ptr[i]) && !strchr(":[]", value.ptr[i]))
			return refuse(msg, 400, "malformed Host");
	}
	return HTTPMSG_MORE;
}

static enum httpmsg_step on_content_length(struct httpmsg *msg, struct view bytes,
					   struct view value)
{
	(void)bytes;
	uint64_t length = 0;
	bool digits = value.len > 0;
	for (size_t i = 0; i < value.len; i++)
		digits = digits && value.ptr[i] >= '0' && value.ptr[i] <= '9';
	if (!digits)
		return refuse(msg, 400, "malformed Content-Length");
	if (!view_parse_u64(value, &length) || length > INT64_MAX)
		return refuse(msg, 413, "the body is too large");
	msg->content_length = (int64_t)length;
	return HTTPMSG_MORE;
}

static enum httpmsg_step on_transfer_encoding(struct httpmsg *msg, struct view bytes,
					      struct view value)
{
	(void)bytes, (void)value;
	msg->chunked = true;
	return HTTPMSG_MORE;
}

static enum httpmsg_step on_authorization(struct httpmsg *msg, struct view bytes, struct view value)
{
	msg->authorization = span_of(bytes, value);
	return HTTPMSG_MORE;
}

static enum httpmsg_step on_content_type(struct httpmsg *msg, struct view bytes, struct view value)
{
	msg->content_type = span_of(bytes, value);
	return HTTPMSG_MORE;
}

static enum httpmsg_step on_content_encoding(struct httpmsg *msg, struct view bytes,
					     struct view value)
{
	(void)bytes;
	if (view_equal_ignoring_case(value, VIEW("identity")))
		return HTTPMSG_MORE;
	return refuse(msg, 415, "content codings are not taken");
}

static enum httpmsg_step on_connection(struct httpmsg *msg, struct view bytes, struct view value)
{
	(void)bytes;
	bool more = true;
	while (more) {
		struct view option;
		more = view_cut(value, VIEW(","), &option, &value);
		if (view_equal_ignoring_case(trim_blanks(option), VIEW("close")))
			msg->keep_alive = false;
	}
	return HTTPMSG_MORE;
}

static enum httpmsg_step on_expect(struct httpmsg *msg, struct view bytes, struct view value)
{
	(void)bytes;
	if (!view_equal_ignoring_case(value, VIEW("100-continue")))
		return refuse(msg, 417, "only 100-continue may be expected");
	msg->expects_continue = true;
	return HTTPMSG_MORE;
}

enum repetition { MAY_REPEAT, ONCE };

static const struct known_header {
	struct view name;
	enum repetition repetition;
	enum httpmsg_step (*read)(struct httpmsg *msg, struct view bytes, struct view value);
} known_headers[] = {
	{VIEW_INIT("host"), ONCE, on_host},
	{VIEW_INIT("content-length"), ONCE, on_content_length},
	{VIEW_INIT("content-type"), ONCE, on_content_type},
	{VIEW_INIT("authorization"), ONCE, on_authorization},
	{VIEW_INIT("transfer-encoding"), MAY_REPEAT, on_transfer_encoding},
	{VIEW_INIT("content-encoding"), MAY_REPEAT, on_content_encoding},
	{VIEW_INIT("connection"), MAY_REPEAT, on_connection},
	{VIEW_INIT("expect"), MAY_REPEAT, on_expect},
};

enum { SEEN_HOST = 1u << 0, SEEN_CONTENT_LENGTH = 1u << 1 };

static enum httpmsg_step read_known(struct httpmsg *msg, struct view bytes, size_t index,
				    struct view value)
{
	uint32_t bit = 1u << index;
	if (known_headers[index].repetition == ONCE && (msg->seen & bit))
		return refuse(msg, 400, "a header that may come once came twice");
	msg->seen |= bit;
	return known_headers[index].read(msg, bytes, value);
}

static enum httpmsg_step read_header(struct httpmsg *msg, struct view bytes, struct view line)
{
	struct view name, value;
	/* A folded line begins with a blank, which is_token() refuses too. */
	if (!view_cut(line, VIEW(":"), &name, &value) || !is_token(name))
		return refuse(msg, 400, "malformed header");
	value = trim_blanks(value);
	if (!is_field_value(value))
		return refuse(msg, 400, "malformed header value");
	if (++msg->n_headers > LIMIT_HTTP_HEADERS)
		return refuse(msg, 431, "too many headers");
	for (size_t i = 0; i < ARRAY_SIZE(known_headers); i++) {
		if (view_equal_ignoring_case(name, known_headers[i].name))
			return read_known(msg, bytes, i, value);
	}
	return HTTPMSG_MORE;
}

static enum httpmsg_step finish(struct httpmsg *msg)
{
	if (!(msg->seen & SEEN_HOST))
		return refuse(msg, 400, "the Host header is missing");
	if (msg->chunked && (msg->seen & SEEN_CONTENT_LENGTH))
		return refuse(msg, 400, "both Transfer-Encoding and Content-Length");
	if (msg->chunked)
		return refuse(msg, 411, "a body needs a Content-Length");
	return HTTPMSG_HEAD;
}

static enum httpmsg_step read_line(struct httpmsg *msg, struct view bytes, struct view line)
{
	if (msg->method.len == 0)
		return read_request_line(msg, bytes, line);
	if (line.len == 0)
		return finish(msg);
	return read_header(msg, bytes, line);
}

enum httpmsg_step httpmsg_read(struct httpmsg *msg, struct view bytes)
{
	assert(msg->refusal == 0 && bytes.len >= msg->searched);
	size_t size = bytes.len < LIMIT_HTTP_HEAD ? bytes.len : LIMIT_HTTP_HEAD;
	while (msg->searched < size) {
		const char *from = bytes.ptr + msg->searched;
		const char *end = memchr(from, '\n', size - msg->searched);
		if (!end) {
			msg->searched = (uint32_t)size;
			break;
		}
		struct view line = {bytes.ptr + msg->parsed,
				    (size_t)(end - bytes.ptr) - msg->parsed};
		msg->parsed = msg->searched = (uint32_t)(end + 1 - bytes.ptr);
		if (line.len == 0 || line.ptr[line.len - 1] != '\r')
			return refuse(msg, 400, "a line does not end in CR LF");
		line.len--;
		enum httpmsg_step step = read_line(msg, bytes, line);
		if (step != HTTPMSG_MORE)
			return step;
	}
	if (size == LIMIT_HTTP_HEAD)
		return refuse(msg, 431, "the request head is too large");
	return HTTPMSG_MORE;
}

void httpmsg_head(const struct httpmsg *msg, struct view bytes, struct httpmsg_head *ret_head)
{
	assert(msg->refusal == 0 && msg->method.len > 0);
	*ret_head = (struct httpmsg_head){
		.method = span_view(bytes, msg->method),
		.authorization = span_view(bytes, msg->authorization),
		.content_type = span_view(bytes, msg->content_type),
		.content_length = msg->content_length,
		.keep_alive = msg->keep_alive,
		.expects_continue = msg->expects_continue,
	};
	view_cut(span_view(bytes, msg->target), VIEW("?"), &ret_head->path, &ret_head->query);
}

static const char *reason_phrase(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} rows[] = {
		{200, "OK"},
		{307, "Temporary Redirect"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{408, "Request Timeout"},
		{409, "Conflict"},
		{411, "Length Required"},
		{413, "Content Too Large"},
		{415, "Unsupported Media Type"},
		{417, "Expectation Failed"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].status == status)
			return rows[i].phrase;
	}
	return "";
}

void httpmsg_write(const struct httpmsg_answer *answer, struct sbuf *out)
{
	assert(answer->status >= 200 && answer->status <= 599);
	sbuf_printf(out, "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\n", answer->status,
		    reason_phrase(answer->status), answer->content_length);
	if (answer->content_type)
		sbuf_printf(out, "Content-Type: %s\r\n", answer->content_type);
	if (answer->status == 401)
		sbuf_append(out, VIEW("WWW-Authenticate: Bearer\r\n"));
	if (answer->allow)
		sbuf_printf(out, "Allow: %s\r\n", answer->allow);
	if (answer->retry_after_s > 0)
		sbuf_printf(out, "Retry-After: %u\r\n", answer->retry_after_s);
	if (is_visible(answer->location))
		sbuf_printf(out, "Location: %.*s\r\n", VIEW_ARG(answer->location));
	if (answer->close)
		sbuf_append(out, VIEW("Connection: close\r\n"));
	sbuf_append(out, VIEW("\r\n"));
}

struct view httpmsg_continue(void)
{
	return VIEW("HTTP/1.1 100 Continue\r\n\r\n");
}
