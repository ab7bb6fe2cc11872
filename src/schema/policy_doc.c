/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Only what is needed is named; everything else in a ClusterPolicy, which is most of it, may change
 * from one release of the operator to the next without hurting us.
 */

#include "schema/policy_doc.h"

#include "base/limits.h"
#include "wire/jmap.h"

static const struct jmap_row metadata_rows[] = {
	{"name", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(policy, name), .limit = LIMIT_TEXT_NAME},
	{"uid", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(policy, uid), .limit = LIMIT_TEXT_UID},
	{"creationTimestamp", JMAP_TIME, 0, JMAP_AT(policy, created_at)},
	{0},
};

static const struct jmap_row status_rows[] = {
	{"namespace", JMAP_TEXT, 0, JMAP_AT(policy, namespace), .limit = LIMIT_TEXT_LABEL},
	{0},
};

static const struct jmap_row policy_rows[] = {
	{"metadata", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = metadata_rows},
	{"status", JMAP_OBJECT, 0, .offset = 0, .rows = status_rows},
	{0},
};

/* Tolerations, affinities and managed fields nest deep. */
#define DOCUMENT_DEPTH 64u

int policy_doc_decode(struct view json, struct arena *arena, struct policy *ret_policy,
		      struct error *err)
{
	struct policy policy = {0};
	if (jmap_decode(json, DOCUMENT_DEPTH, policy_rows, arena, &policy, sizeof(policy), err) !=
	    0)
		return -1;
	*ret_policy = policy;
	return 0;
}
