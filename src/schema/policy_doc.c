/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Only what is needed is named; everything else in a ClusterPolicy, which is most of it, may change
 * from one release of the operator to the next without hurting us.
 *
 * A ClusterPolicy that we cannot read is still one, and may be the one that counts. So its metadata,
 * its spec and its status are decoded one after the other, and only the first must be as expected.
 */

#include "schema/policy_doc.h"

#include "base/limits.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"

#define API_VERSION "nvidia.com/v1"

/* Tolerations, affinities and managed fields nest deep. */
#define DOCUMENT_DEPTH 64u

struct document {
	struct policy policy;
	struct view api_version; /* empty: the document leaves it to its list */
	int switches[POLICY_N_OPERANDS]; /* enum policy_switch */
};

_Static_assert(POLICY_ON == 1 && POLICY_OFF == 2, "as JMAP_TOGGLE decodes them");

#define AT(member) .offset = offsetof(struct document, policy.member)
#define TEXT(key, member, limit_) {key, JMAP_TEXT, 0, AT(member), .limit = (limit_)}
#define SWITCH(key, operand) \
	{key, JMAP_TOGGLE, 0, .offset = offsetof(struct document, switches) + (operand) * sizeof(int)}
#define PART(key, its_rows) {key, JMAP_OBJECT, 0, .offset = 0, .rows = (its_rows)}

static const struct jmap_row metadata_rows[] = {
	{"name", JMAP_TEXT, JMAP_REQUIRED, AT(name), .limit = LIMIT_TEXT_NAME},
	{"uid", JMAP_TEXT, JMAP_REQUIRED, AT(uid), .limit = LIMIT_TEXT_UID},
	{"creationTimestamp", JMAP_TIME, 0, AT(created_at)},
	{0},
};

static const struct jmap_row identity_rows[] = {
	{"apiVersion", JMAP_TEXT, 0, .offset = offsetof(struct document, api_version),
	 .limit = LIMIT_TEXT_RESOURCE},
	{"metadata", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = metadata_rows},
	{0},
};

/* One that gives a variable another way (valueFrom) gives no value that can be told. */
static const struct jmap_row variable_rows[] = {
	{"name", JMAP_TEXT, 0, JMAP_AT(policy_variable, name), .limit = LIMIT_TEXT_NAME},
	{"value", JMAP_TEXT, 0, JMAP_AT(policy_variable, value), .limit = LIMIT_TEXT_VARIABLE},
	{0},
};

static const struct jmap_row plugin_config_rows[] = {
	TEXT("name", plugin_config, LIMIT_TEXT_NAME),
	TEXT("default", plugin_config_default, LIMIT_TEXT_NAME),
	{0},
};

static const struct jmap_row layout_config_rows[] = {
	TEXT("name", mig_config, LIMIT_TEXT_NAME),
	TEXT("default", mig_config_default, LIMIT_TEXT_NAME),
	{0},
};

static const struct jmap_row driver_rows[] = {
	SWITCH("enabled", POLICY_DRIVER),
	SWITCH("useNvidiaDriverCRD", POLICY_DRIVER_CRD),
	SWITCH("usePrecompiled", POLICY_PRECOMPILED),
	TEXT("version", driver_version, LIMIT_TEXT_NAME),
	{0},
};

#define VARIABLES(member)                                                                          \
	{"env", JMAP_ARRAY, 0, AT(member), .limit = LIMIT_POLICY_VARIABLES, .rows = variable_rows, \
	 .element_size = sizeof(struct policy_variable)}
#define ARGUMENTS(member)                                                                          \
	{"args", JMAP_TEXTS, 0, AT(member), .limit = LIMIT_TEXT_VARIABLE,                          \
	 .max_items = LIMIT_POLICY_ARGUMENTS}

static const struct jmap_row plugin_rows[] = {
	SWITCH("enabled", POLICY_DEVICE_PLUGIN),
	PART("config", plugin_config_rows),
	VARIABLES(plugin_env),
	ARGUMENTS(plugin_args),
	{0},
};

static const struct jmap_row gfd_rows[] = {
	SWITCH("enabled", POLICY_GFD),
	VARIABLES(gfd_env),
	ARGUMENTS(gfd_args),
	{0},
};

static const struct jmap_row mig_manager_rows[] = {
	SWITCH("enabled", POLICY_MIG_MANAGER),
	PART("config", layout_config_rows),
	TEXT("version", mig_manager_version, LIMIT_TEXT_NAME),
	{0},
};

static const struct jmap_row sandbox_rows[] = {
	SWITCH("enabled", POLICY_SANDBOX_WORKLOADS),
	TEXT("defaultWorkload", default_workload, LIMIT_TEXT_WORD),
	{0},
};

static const struct jmap_row mig_rows[] = {TEXT("strategy", mig_strategy, LIMIT_TEXT_WORD), {0}};
static const struct jmap_row cdi_rows[] = {SWITCH("enabled", POLICY_CDI), {0}};
static const struct jmap_row toolkit_rows[] = {SWITCH("enabled", POLICY_TOOLKIT), {0}};
static const struct jmap_row dcgm_rows[] = {SWITCH("enabled", POLICY_DCGM), {0}};
static const struct jmap_row exporter_rows[] = {SWITCH("enabled", POLICY_DCGM_EXPORTER), {0}};

static const struct jmap_row spec_members[] = {
	PART("driver", driver_rows),
	PART("toolkit", toolkit_rows),
	PART("devicePlugin", plugin_rows),
	PART("gfd", gfd_rows),
	PART("dcgm", dcgm_rows),
	PART("dcgmExporter", exporter_rows),
	PART("mig", mig_rows),
	PART("migManager", mig_manager_rows),
	PART("sandboxWorkloads", sandbox_rows),
	PART("cdi", cdi_rows),
	{0},
};

static const struct jmap_row condition_rows[] = {
	{"type", JMAP_TEXT, 0, JMAP_AT(policy_condition, type),
	 .limit = LIMIT_TEXT_CONDITION_TYPE},
	{"status", JMAP_TEXT, 0, JMAP_AT(policy_condition, status), .limit = LIMIT_TEXT_WORD},
	{"reason", JMAP_TEXT, 0, JMAP_AT(policy_condition, reason),
	 .limit = LIMIT_TEXT_CONDITION_REASON},
	{"message", JMAP_TEXT, 0, JMAP_AT(policy_condition, message),
	 .limit = LIMIT_TEXT_CONDITION_MESSAGE},
	{"lastTransitionTime", JMAP_TIME, 0, JMAP_AT(policy_condition, last_transition_time)},
	{0},
};

static const struct jmap_row status_members[] = {
	TEXT("state", state, LIMIT_TEXT_WORD),
	{"conditions", JMAP_ARRAY, 0, AT(conditions), .limit = LIMIT_POLICY_CONDITIONS,
	 .rows = condition_rows, .element_size = sizeof(struct policy_condition)},
	{0},
};

static const struct jmap_row namespace_members[] = {
	TEXT("namespace", namespace, LIMIT_TEXT_LABEL),
	{0},
};

static const struct jmap_row spec_rows[] = {PART("spec", spec_members), {0}};
static const struct jmap_row status_rows[] = {PART("status", status_members), {0}};
static const struct jmap_row namespace_rows[] = {PART("status", namespace_members), {0}};

static int decode(struct view json, const struct jmap_row *rows, struct arena *arena,
		  struct document *ret_document, struct error *err)
{
	return jmap_decode(json, DOCUMENT_DEPTH, rows, arena, ret_document, sizeof(*ret_document),
			   err);
}

/* The document is JSON. What cannot be read of it is empty; 1 and why. */
static int decode_part(struct view json, const struct jmap_row *rows, struct arena *arena,
		       struct document *ret_document, struct error *err)
{
	*ret_document = (struct document){0};
	if (decode(json, rows, arena, ret_document, err) == 0)
		return 0;
	return err->kind == ERROR_REJECTED || err->kind == ERROR_LIMIT ? 1 : -1;
}

static void take_spec(const struct document *from, struct policy *policy)
{
	const struct policy *spec = &from->policy;

	policy->driver_version = spec->driver_version;
	policy->plugin_config = spec->plugin_config;
	policy->plugin_config_default = spec->plugin_config_default;
	policy->mig_strategy = spec->mig_strategy;
	policy->mig_config = spec->mig_config;
	policy->mig_config_default = spec->mig_config_default;
	policy->mig_manager_version = spec->mig_manager_version;
	policy->default_workload = spec->default_workload;
	policy->plugin_env = spec->plugin_env;
	policy->plugin_args = spec->plugin_args;
	policy->gfd_env = spec->gfd_env;
	policy->gfd_args = spec->gfd_args;
	for (size_t i = 0; i < POLICY_N_OPERANDS; i++)
		policy->switches[i] = (uint8_t)from->switches[i];
}

static int note_unreadable(const struct error *why, struct arena *arena, struct policy *policy,
			   struct error *err)
{
	return arena_copy(arena, view_from(why->text), &policy->unreadable) ? 0
									    : error_no_memory(err);
}

/* Nobody acts on half of what is intended: both parts count, or none. */
static int decode_intent(struct view json, struct arena *arena, struct policy *policy,
			 struct error *err)
{
	struct document spec, status;
	struct error why;
	int unread = decode_part(json, spec_rows, arena, &spec, &why);

	if (unread == 0)
		unread = decode_part(json, status_rows, arena, &status, &why);
	if (unread < 0) {
		*err = why;
		return -1;
	}
	if (unread > 0)
		return note_unreadable(&why, arena, policy, err);
	take_spec(&spec, policy);
	policy->state = status.policy.state;
	policy->conditions = status.policy.conditions;
	return 0;
}

/* Fields of another version may mean something else. Returns whether it is one. */
static bool is_of_other_version(const struct document *identity, struct error *ret_why)
{
	const struct view version = identity->api_version;

	if (version.len == 0 || view_equal(version, VIEW(API_VERSION)))
		return false;
	error_set(ret_why, ERROR_REJECTED, 0, "apiVersion is %.*s, and " API_VERSION " is read",
		  VIEW_ARG(version));
	return true;
}

int policy_doc_decode(struct view json, struct arena *arena, struct policy *ret_policy,
		      struct error *err)
{
	struct document identity = {0}, status;
	struct policy policy;
	struct error why;
	int unread;

	if (decode(json, identity_rows, arena, &identity, err) < 0)
		return -1;
	policy = identity.policy;
	unread = decode_part(json, namespace_rows, arena, &status, &why);
	if (unread == 0 && is_of_other_version(&identity, &why))
		unread = 1;
	if (unread < 0) {
		*err = why;
		return -1;
	}
	policy.namespace = status.policy.namespace;
	if (unread > 0 ? note_unreadable(&why, arena, &policy, err) < 0
		       : decode_intent(json, arena, &policy, err) < 0)
		return -1;
	*ret_policy = policy;
	return 0;
}

int policy_doc_decode_gpu_cluster(struct view json, struct arena *arena,
				  struct gpu_cluster *ret_cluster, struct error *err)
{
	struct document identity = {0};

	if (decode(json, identity_rows, arena, &identity, err) < 0)
		return -1;
	*ret_cluster = (struct gpu_cluster){identity.policy.name, identity.policy.uid};
	return 0;
}
