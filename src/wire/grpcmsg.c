/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The length in the prefix does not decide how much is allocated: the buffer grows with what has
 * arrived. So five bytes cannot make us allocate the whole cap.
 */

#include "wire/grpcmsg.h"

#include <assert.h>

void grpcmsg_append(struct sbuf *buf, struct view message)
{
	assert(message.len <= UINT32_MAX);
	const char prefix[GRPCMSG_PREFIX_SIZE] = {
		0,
		(char)(message.len >> 24 & 0xff),
		(char)(message.len >> 16 & 0xff),
		(char)(message.len >> 8 & 0xff),
		(char)(message.len & 0xff),
	};
	sbuf_append(buf, (struct view){prefix, sizeof(prefix)});
	sbuf_append(buf, message);
}

void grpcmsg_init(struct grpcmsg *reply, size_t cap)
{
	*reply = (struct grpcmsg){0};
	sbuf_init(&reply->message, cap);
}

void grpcmsg_deinit(struct grpcmsg *reply)
{
	sbuf_deinit(&reply->message);
	reply->n_prefix = 0;
	reply->length = 0;
}

static bool has_prefix(const struct grpcmsg *reply)
{
	return reply->n_prefix == GRPCMSG_PREFIX_SIZE;
}

static int read_prefix(struct grpcmsg *reply, struct error *err)
{
	const uint8_t *prefix = reply->prefix;
	if (prefix[0] != 0)
		return error_set(err, ERROR_REJECTED, 0,
				 "a gRPC message has the flags %u, we take only 0", prefix[0]);
	reply->length = (size_t)prefix[1] << 24 | (size_t)prefix[2] << 16 | (size_t)prefix[3] << 8 |
			(size_t)prefix[4];
	if (reply->length > reply->message.cap)
		return error_set(err, ERROR_LIMIT, 0,
				 "a gRPC message of %zu bytes, we take at most %zu", reply->length,
				 reply->message.cap);
	return 0;
}

int grpcmsg_feed(struct grpcmsg *reply, struct view bytes, struct error *err)
{
	size_t used = 0;
	while (used < bytes.len && !has_prefix(reply)) {
		reply->prefix[reply->n_prefix++] = (uint8_t)bytes.ptr[used++];
		if (has_prefix(reply) && read_prefix(reply, err) < 0)
			return -1;
	}
	struct view rest = view_from_offset(bytes, used);
	if (rest.len > reply->length - reply->message.len)
		return error_set(err, ERROR_REJECTED, 0, "more than one gRPC message in a reply");
	sbuf_append(&reply->message, rest);
	return sbuf_check(&reply->message, "gRPC message", err);
}

int grpcmsg_end(const struct grpcmsg *reply, struct view *ret_message, struct error *err)
{
	if (reply->n_prefix == 0)
		return error_set(err, ERROR_REJECTED, 0, "the reply holds no gRPC message");
	if (!has_prefix(reply))
		return error_set(err, ERROR_REJECTED, 0, "a gRPC message ends inside its prefix");
	if (reply->message.len < reply->length)
		return error_set(err, ERROR_REJECTED, 0, "a gRPC message is cut: %zu of %zu bytes",
				 reply->message.len, reply->length);
	*ret_message = sbuf_view(&reply->message);
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* One character of percent-encoded text from byte *at on; a lone '%' stands for itself. */
static char next_decoded(struct view text, size_t *at)
{
	char c = text.ptr[(*at)++];
	if (c != '%' || text.len - *at < 2)
		return c;
	int high = hex_digit(text.ptr[*at]);
	int low = hex_digit(text.ptr[*at + 1]);
	if (high < 0 || low < 0)
		return c;
	*at += 2;
	return (char)(high * 16 + low);
}

static const struct {
	int status;
	enum error_kind kind;
	const char *name;
} meanings[] = {
	{GRPCMSG_MISSING, ERROR_RETRY, "no gRPC status"},
	{GRPCMSG_UNKNOWN, ERROR_RETRY, "UNKNOWN"},
	{GRPCMSG_DEADLINE_EXCEEDED, ERROR_RETRY, "DEADLINE_EXCEEDED"},
	{GRPCMSG_NOT_FOUND, ERROR_NOT_FOUND, "NOT_FOUND"},
	{GRPCMSG_PERMISSION_DENIED, ERROR_DENIED, "PERMISSION_DENIED"},
	{GRPCMSG_RESOURCE_EXHAUSTED, ERROR_THROTTLED, "RESOURCE_EXHAUSTED"},
	{GRPCMSG_UNIMPLEMENTED, ERROR_REJECTED, "UNIMPLEMENTED"},
	{GRPCMSG_UNAVAILABLE, ERROR_RETRY, "UNAVAILABLE"},
	{GRPCMSG_UNAUTHENTICATED, ERROR_DENIED, "UNAUTHENTICATED"},
};

int grpcmsg_check_status(int status, struct view message, struct error *err)
{
	if (status == GRPCMSG_OK)
		return 0;
	/* As long as an error's text can be; what is cut off here would be cut off there. */
	char text[sizeof(err->text)];
	size_t len = 0;
	for (size_t at = 0; at < message.len && len < sizeof(text) - 1;)
		text[len++] = next_decoded(message, &at);
	text[len] = '\0';
	const char *separator = len > 0 ? ": " : "";
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
		if (meanings[i].status == status)
			return error_set(err, meanings[i].kind, 0, "%s%s%s", meanings[i].name,
					 separator, text);
	}
	return error_set(err, ERROR_RETRY, 0, "gRPC status %d%s%s", status, separator, text);
}
