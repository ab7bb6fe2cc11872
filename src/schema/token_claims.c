/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/token_claims.h"

#include "base/limits.h"
#include "wire/base64.h"
#include "wire/jwalk.h"

/* Of a list, how deep it may be nested. */
#define MAX_DEPTH 8u

static bool read_payload(struct view token, struct sbuf *payload)
{
	struct view header, rest, middle, signature;
	return token.len <= LIMIT_TOKEN_BYTES && view_cut(token, VIEW("."), &header, &rest) &&
	       view_cut(rest, VIEW("."), &middle, &signature) && header.len > 0 &&
	       signature.len > 0 && view_find_char(signature, '.') < 0 &&
	       base64_decode_url(middle, payload) && payload->failure == ERROR_NONE;
}

/* The member of an object; empty: it has none, or is none. The last of several counts. */
static struct view member(struct view object, struct view wanted)
{
	struct jwalk walk;
	struct view key, value, found = {0};
	jwalk_init(&walk, object);
	while (jwalk_next(&walk, &key, &value))
		if (view_equal(key, wanted))
			found = value;
	return found;
}

static bool is_object(struct view json)
{
	struct jwalk walk;
	struct view key, value;
	jwalk_init(&walk, json);
	while (jwalk_next(&walk, &key, &value))
		;
	return walk.err.kind == ERROR_NONE;
}

bool token_claims_read(struct view token, struct sbuf *payload, struct token_claims *ret_claims)
{
	struct token_claims claims = {.end = INT64_MAX, .begin = INT64_MIN};
	sbuf_init(payload, LIMIT_TOKEN_BYTES);
	if (!read_payload(token, payload) || !is_object(sbuf_view(payload)))
		return false;
	const struct view json = sbuf_view(payload);
	claims.audience = member(json, VIEW("aud"));
	claims.subject = member(json, VIEW("sub"));
	claims.node_name = member(member(member(json, VIEW("kubernetes.io")), VIEW("node")),
				  VIEW("name"));
	(void)view_parse_i64(member(json, VIEW("exp")), &claims.end);
	(void)view_parse_i64(member(json, VIEW("iat")), &claims.begin);
	*ret_claims = claims;
	return true;
}

static bool is_other(const struct jlex_string *string, struct view text)
{
	return !string->has_escapes && !view_equal(string->raw, text);
}

/* What cannot be read says nothing. */
static bool list_excludes(struct jlex *lex, struct view text)
{
	struct jlex_string string;
	if (jlex_enter(lex, '[') != 0)
		return false;
	for (bool first = true; jlex_peek(lex) != ']'; first = false) {
		if (!first && jlex_expect(lex, ',') != 0)
			return false;
		const bool is_text = jlex_peek(lex) == '"';
		if (is_text ? jlex_string(lex, &string) != 0 : jlex_skip(lex) != 0)
			return false;
		if (is_text && !is_other(&string, text))
			return false;
	}
	return true;
}

bool token_claims_excludes(struct view claim, struct view text)
{
	struct jlex lex;
	struct error err;
	struct jlex_string string;
	jlex_init(&lex, claim, MAX_DEPTH, &err);
	switch (jlex_peek(&lex)) {
	case '"':
		return jlex_string(&lex, &string) == 0 && is_other(&string, text);
	case '[':
		return list_excludes(&lex, text);
	default:
		return true;
	}
}
