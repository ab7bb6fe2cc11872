/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a token is bound to comes as lists of texts. The API server puts one text in each; a list
 * with more is nothing to decide by, and counts as none.
 */

#include "schema/token_review_doc.h"

#include "base/limits.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"
#include "wire/jout.h"
#include "wire/jwalk.h"

#define API_VERSION "authentication.k8s.io/v1"
#define KIND "TokenReview"
#define DOCUMENT_DEPTH 64u
#define MAX_TEXTS 16u
/* No part of the answer that is kept is longer. */
#define MAX_TEXT 1024u
/* People who are known by a directory are in many. */
#define MAX_GROUPS 4096u

struct extra {
	struct array node_name;
	struct array node_uid;
	struct array pod_name;
	struct array pod_uid;
};

struct document {
	struct token_review review;
	struct extra extra;
};

static const struct jmap_row extra_rows[] = {
	{"authentication.kubernetes.io/node-name", JMAP_TEXTS, 0,
	 JMAP_AT(document, extra.node_name), .limit = LIMIT_TEXT_NAME, .max_items = MAX_TEXTS},
	{"authentication.kubernetes.io/node-uid", JMAP_TEXTS, 0, JMAP_AT(document, extra.node_uid),
	 .limit = LIMIT_TEXT_UID, .max_items = MAX_TEXTS},
	{"authentication.kubernetes.io/pod-name", JMAP_TEXTS, 0, JMAP_AT(document, extra.pod_name),
	 .limit = LIMIT_TEXT_NAME, .max_items = MAX_TEXTS},
	{"authentication.kubernetes.io/pod-uid", JMAP_TEXTS, 0, JMAP_AT(document, extra.pod_uid),
	 .limit = LIMIT_TEXT_UID, .max_items = MAX_TEXTS},
	{0},
};

static const struct jmap_row user_rows[] = {
	{"username", JMAP_TEXT, 0, JMAP_AT(document, review.username), .limit = MAX_TEXT},
	{"uid", JMAP_TEXT, 0, JMAP_AT(document, review.uid), .limit = MAX_TEXT},
	{"groups", JMAP_TEXTS, 0, JMAP_AT(document, review.groups), .limit = MAX_TEXT,
	 .max_items = MAX_GROUPS},
	{"extra", JMAP_OBJECT, 0, .offset = 0, .rows = extra_rows},
	{0},
};

static const struct jmap_row status_rows[] = {
	{"authenticated", JMAP_BOOL, 0, JMAP_AT(document, review.authenticated)},
	{"user", JMAP_OBJECT, 0, .offset = 0, .rows = user_rows},
	{"audiences", JMAP_TEXTS, 0, JMAP_AT(document, review.audiences), .limit = MAX_TEXT,
	 .max_items = MAX_TEXTS},
	{"error", JMAP_TEXT, 0, JMAP_AT(document, review.error),
	 .limit = LIMIT_TEXT_CONDITION_MESSAGE},
	{0},
};

static const struct jmap_row document_rows[] = {
	{"status", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = status_rows},
	{0},
};

void token_review_doc_encode(struct view token, struct view audience, struct sbuf *buf)
{
	struct jout out;

	jout_init(&out, buf);
	jout_object(&out);
	jout_member_text(&out, "apiVersion", VIEW(API_VERSION));
	jout_member_text(&out, "kind", VIEW(KIND));
	jout_key(&out, "spec");
	jout_object(&out);
	jout_member_text(&out, "token", token);
	if (audience.len > 0) {
		jout_key(&out, "audiences");
		jout_array(&out);
		jout_text(&out, audience);
		jout_array_end(&out);
	}
	jout_object_end(&out);
	jout_object_end(&out);
}

static struct view only_text(const struct array *texts)
{
	return texts->count == 1 ? *ARRAY_AT(*texts, struct view, 0) : (struct view){0};
}

/* The member with this key of a JSON object, as it stands there; empty: there is none. */
static struct view member(struct view object, struct view wanted)
{
	struct jwalk walk;
	struct view key, value;
	if (object.len == 0 || object.ptr[0] != '{')
		return (struct view){0};
	jwalk_init(&walk, object);
	while (jwalk_next(&walk, &key, &value))
		if (view_equal(key, wanted))
			return value;
	return (struct view){0};
}

/* Its keys are anybody's, so it is taken whole. The document was found to be JSON before. */
static struct view find_extra(struct view json)
{
	struct view user = member(member(view_trim(json), VIEW("status")), VIEW("user"));
	struct view extra = member(user, VIEW("extra"));
	return extra.len > 0 && extra.ptr[0] == '{' ? extra : (struct view){0};
}

int token_review_doc_decode(struct view json, struct arena *arena, struct token_review *ret_review,
			    struct error *err)
{
	struct document document = {0};
	if (jmap_decode(json, DOCUMENT_DEPTH, document_rows, arena, &document, sizeof(document),
			err) != 0)
		return -1;
	document.review.node_name = only_text(&document.extra.node_name);
	document.review.node_uid = only_text(&document.extra.node_uid);
	document.review.pod_name = only_text(&document.extra.pod_name);
	document.review.pod_uid = only_text(&document.extra.pod_uid);
	document.review.extra = find_extra(json);
	*ret_review = document.review;
	return 0;
}
