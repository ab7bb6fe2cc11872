/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/jwt.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/sbuf.h"
#include "wire/base64.h"

#define PAYLOAD_CAP 4096u

static void append_payload(const char *payload, struct sbuf *token)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, 2 * PAYLOAD_CAP);
	base64_encode(view_from(payload), &text);
	for (size_t i = 0; i < text.len && text.ptr[i] != '='; i++)
		sbuf_append_char(token, text.ptr[i] == '+'   ? '-'
					: text.ptr[i] == '/' ? '_'
							     : text.ptr[i]);
}

struct view jwt_of(const char *payload, const char *signature, char *to, size_t size)
{
	CLEANUP(sbuf_deinit) struct sbuf token;
	sbuf_init(&token, size - 1);
	sbuf_append(&token, VIEW("e30."));
	append_payload(payload, &token);
	sbuf_printf(&token, ".%s", signature);
	if (token.failure != ERROR_NONE)
		abort();
	to[token.len] = '\0';
	return view_copy(sbuf_view(&token), to);
}

struct view jwt_make(const struct jwt_claims *claims, const char *signature, char *to, size_t size)
{
	CLEANUP(sbuf_deinit) struct sbuf payload;
	sbuf_init(&payload, PAYLOAD_CAP);
	sbuf_append(&payload, VIEW("{"));
	if (claims->audience)
		sbuf_printf(&payload, "\"aud\":[\"%s\"],", claims->audience);
	if (claims->end)
		sbuf_printf(&payload, "\"exp\":%lld,", (long long)claims->end);
	if (claims->begin)
		sbuf_printf(&payload, "\"iat\":%lld,", (long long)claims->begin);
	sbuf_append(&payload, VIEW("\"kubernetes.io\":{"));
	if (claims->node)
		sbuf_printf(&payload, "\"node\":{\"name\":\"%s\"}", claims->node);
	sbuf_append(&payload, VIEW("}"));
	if (claims->account)
		sbuf_printf(&payload, ",\"sub\":\"system:serviceaccount:%s:%s\"",
			    claims->namespace ? claims->namespace : "ns", claims->account);
	sbuf_append(&payload, VIEW("}"));
	if (!sbuf_text(&payload))
		abort();
	return jwt_of(sbuf_text(&payload), signature, to, size);
}
