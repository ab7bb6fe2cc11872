/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Only what is needed is named; everything else in a ClusterPolicy, which is most of it, may change
 * from one release of the operator to the next without hurting us.
 */

#include "schema/policy_doc.h"

#include <assert.h>

#include "base/limits.h"
#include "wire/jmap.h"

static_assert(POLICY_UNSET == 0 && POLICY_ON == 1 && POLICY_OFF == 2, "as JMAP_TOGGLE decodes");

static const struct jmap_row metadata_rows[] = {
	{"name", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(policy, name), .limit = LIMIT_TEXT_NAME},
	{"uid", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(policy, uid), .limit = LIMIT_TEXT_UID},
	{"creationTimestamp", JMAP_TIME, 0, JMAP_AT(policy, created_at)},
	{0},
};

static const struct jmap_row mig_rows[] = {
	{"strategy", JMAP_TEXT, 0, JMAP_AT(policy, mig_strategy), .limit = LIMIT_TEXT_WORD},
	{0},
};

static const struct jmap_row plugin_config_rows[] = {
	{"name", JMAP_TEXT, 0, JMAP_AT(policy, plugin_config), .limit = LIMIT_TEXT_NAME},
	{"default", JMAP_TEXT, 0, JMAP_AT(policy, plugin_config_default), .limit = LIMIT_TEXT_NAME},
	{0},
};

static const struct jmap_row plugin_rows[] = {
	{"enabled", JMAP_TOGGLE, 0, JMAP_AT(policy, device_plugin)},
	{"config", JMAP_OBJECT, 0, .offset = 0, .rows = plugin_config_rows},
	{0},
};

static const struct jmap_row driver_rows[] = {
	{"enabled", JMAP_TOGGLE, 0, JMAP_AT(policy, driver)},
	{"version", JMAP_TEXT, 0, JMAP_AT(policy, driver_version), .limit = LIMIT_TEXT_NAME},
	{0},
};

static const struct jmap_row exporter_rows[] = {
	{"enabled", JMAP_TOGGLE, 0, JMAP_AT(policy, dcgm_exporter)},
	{0},
};

static const struct jmap_row gfd_rows[] = {
	{"enabled", JMAP_TOGGLE, 0, JMAP_AT(policy, gfd)},
	{0},
};

static const struct jmap_row spec_rows[] = {
	{"driver", JMAP_OBJECT, 0, .offset = 0, .rows = driver_rows},
	{"devicePlugin", JMAP_OBJECT, 0, .offset = 0, .rows = plugin_rows},
	{"dcgmExporter", JMAP_OBJECT, 0, .offset = 0, .rows = exporter_rows},
	{"gfd", JMAP_OBJECT, 0, .offset = 0, .rows = gfd_rows},
	{"mig", JMAP_OBJECT, 0, .offset = 0, .rows = mig_rows},
	{0},
};

static const struct jmap_row status_rows[] = {
	{"state", JMAP_TEXT, 0, JMAP_AT(policy, state), .limit = LIMIT_TEXT_WORD},
	{"namespace", JMAP_TEXT, 0, JMAP_AT(policy, namespace), .limit = LIMIT_TEXT_LABEL},
	{0},
};

static const struct jmap_row policy_rows[] = {
	{"metadata", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = metadata_rows},
	{"spec", JMAP_OBJECT, 0, .offset = 0, .rows = spec_rows},
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
