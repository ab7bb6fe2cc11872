/* SPDX-License-Identifier: Apache-2.0 */

/* "denied" is a webhook's word: an authorizer that denies ends the matter, whatever others allow. */

#include "schema/access_review_doc.h"

#include "schema/token_review_doc.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"
#include "wire/jout.h"

#define API_VERSION "authorization.k8s.io/v1"
#define KIND "SubjectAccessReview"
#define DOCUMENT_DEPTH 64u

struct status {
	bool allowed;
	bool denied;
};

static const struct jmap_row status_rows[] = {
	{"allowed", JMAP_BOOL, 0, JMAP_AT(status, allowed)},
	{"denied", JMAP_BOOL, 0, JMAP_AT(status, denied)},
	{0},
};

static const struct jmap_row document_rows[] = {
	{"status", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = status_rows},
	{0},
};

static void write_user(struct jout *out, const struct token_review *user)
{
	jout_member_text(out, "user", user->username);
	if (user->uid.len > 0)
		jout_member_text(out, "uid", user->uid);
	if (user->groups.count > 0) {
		jout_key(out, "groups");
		jout_array(out);
		for (uint32_t i = 0; i < user->groups.count; i++)
			jout_text(out, *ARRAY_AT(user->groups, struct view, i));
		jout_array_end(out);
	}
	if (user->extra.len > 0) {
		jout_key(out, "extra");
		jout_raw(out, user->extra);
	}
}

void access_review_doc_encode(const struct token_review *user,
			      const struct access_review_request *request, struct sbuf *buf)
{
	struct jout out;

	jout_init(&out, buf);
	jout_object(&out);
	jout_member_text(&out, "apiVersion", VIEW(API_VERSION));
	jout_member_text(&out, "kind", VIEW(KIND));
	jout_key(&out, "spec");
	jout_object(&out);
	write_user(&out, user);
	jout_key(&out, "nonResourceAttributes");
	jout_object(&out);
	jout_member_text(&out, "path", request->path);
	jout_member_text(&out, "verb", request->verb);
	jout_object_end(&out);
	jout_object_end(&out);
	jout_object_end(&out);
}

int access_review_doc_decode(struct view json, struct arena *arena, bool *ret_allowed,
			     struct error *err)
{
	struct status status = {0};
	*ret_allowed = false;
	if (jmap_decode(json, DOCUMENT_DEPTH, document_rows, arena, &status, sizeof(status), err) != 0)
		return -1;
	*ret_allowed = status.allowed && !status.denied;
	return 0;
}
