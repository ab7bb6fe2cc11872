/* SPDX-License-Identifier: Apache-2.0 */
#include "intent/policy.h"

#include <assert.h>

static const struct compact_row variable_rows[] = {
	COMPACT_TEXTS_ROW(policy_variable, name, value),
	{0},
};

static const struct compact_row condition_rows[] = {
	COMPACT_TEXTS_ROW(policy_condition, type, message),
	COMPACT_PLAIN_ROW(policy_condition, last_transition_time, last_transition_time),
	{0},
};

const struct compact_row policy_rows[] = {
	COMPACT_TEXTS_ROW(policy, name, unreadable),
	COMPACT_ARRAY_ROW(policy, plugin_env, struct policy_variable, variable_rows),
	COMPACT_ARRAY_ROW(policy, plugin_args, struct view, compact_text),
	COMPACT_ARRAY_ROW(policy, gfd_env, struct policy_variable, variable_rows),
	COMPACT_ARRAY_ROW(policy, gfd_args, struct view, compact_text),
	COMPACT_ARRAY_ROW(policy, conditions, struct policy_condition, condition_rows),
	COMPACT_PLAIN_ROW(policy, created_at, switches),
	{0},
};

const struct compact_row policy_gpu_cluster_rows[] = {
	COMPACT_TEXTS_ROW(gpu_cluster, name, uid),
	{0},
};

/* Where migManager.config names none, the operator mounts this one into the MIG manager. */
static const struct view default_mig_config = VIEW_INIT("default-mig-parted-config");

/* Version 0.14 of the MIG manager, which came with operator v26.3. */
#define MAKES_LAYOUTS_SINCE 14

bool policy_is_on(const struct policy *policy, enum policy_operand operand)
{
	/* Of the operator's code, which need not be what its Helm chart writes. */
	static const bool is_on_unset[POLICY_N_OPERANDS] = {
		[POLICY_DRIVER] = true,        [POLICY_TOOLKIT] = true,
		[POLICY_DEVICE_PLUGIN] = true, [POLICY_GFD] = true,
		[POLICY_DCGM] = true,          [POLICY_DCGM_EXPORTER] = true,
		[POLICY_MIG_MANAGER] = true,   [POLICY_CDI] = true,
	};
	assert((unsigned)operand < POLICY_N_OPERANDS);
	const uint8_t written = policy->switches[operand];

	return written == POLICY_UNSET ? is_on_unset[operand] : written == POLICY_ON;
}

static const struct policy_variable *find_variable(struct array variables, struct view name)
{
	const struct policy_variable *found = NULL;

	ARRAY_EACH(const struct policy_variable, v, variables)
		if (view_equal(v->name, name))
			found = v;
	return found;
}

const struct policy_variable *policy_find_variable(const struct policy *policy, struct view name)
{
	return find_variable(policy->plugin_env, name);
}

const struct policy_variable *policy_find_gfd_variable(const struct policy *policy, struct view name)
{
	return find_variable(policy->gfd_env, name);
}

struct flag {
	struct view name;
	struct view value; /* empty: it has none */
};

/* No argument of its own follows one of these; they are those of v0.20, of both programs. */
static bool is_switch(struct view flag)
{
	static const struct view switches[] = {
		VIEW_INIT("fail-on-init-error"), VIEW_INIT("pass-device-specs"),
		VIEW_INIT("gdrcopy-enabled"),    VIEW_INIT("gds-enabled"),
		VIEW_INIT("mofed-enabled"),      VIEW_INIT("imex-required"),
		VIEW_INIT("oneshot"),            VIEW_INIT("no-timestamp"),
		VIEW_INIT("use-node-feature-api"),
	};

	return view_is_among(flag, switches, ARRAY_SIZE(switches));
}

static bool is_flag(struct view argument)
{
	return argument.len > 1 && view_starts_with(argument, VIEW("-")) &&
	       !view_equal(argument, VIEW("--"));
}

/* Reads the flag at *i, one with a value behind it, and moves *i on. False: there is none. */
static bool next_flag(struct array args, uint32_t *i, struct flag *ret)
{
	struct view text;

	if (*i == args.count || !is_flag(*ARRAY_AT(args, struct view, *i)))
		return false;
	text = *ARRAY_AT(args, struct view, (*i)++);
	text = view_from_offset(text, view_starts_with(text, VIEW("--")) ? 2 : 1);
	if (!view_cut(text, VIEW("="), &ret->name, &ret->value) && !is_switch(text) &&
	    *i < args.count && !is_flag(*ARRAY_AT(args, struct view, *i)))
		ret->value = *ARRAY_AT(args, struct view, (*i)++);
	return true;
}

static bool find_flag(struct array args, struct view name, struct view *ret_value)
{
	struct flag flag;
	bool is_found = false;

	for (uint32_t i = 0; next_flag(args, &i, &flag);) {
		if (!view_equal(flag.name, name))
			continue;
		*ret_value = flag.value;
		is_found = true;
	}
	return is_found;
}

bool policy_find_flag(const struct policy *policy, struct view name, struct view *ret_value)
{
	return find_flag(policy->plugin_args, name, ret_value);
}

bool policy_find_gfd_flag(const struct policy *policy, struct view name, struct view *ret_value)
{
	return find_flag(policy->gfd_args, name, ret_value);
}

bool policy_has_command(const struct policy *policy)
{
	struct flag flag;
	uint32_t i = 0;

	while (next_flag(policy->plugin_args, &i, &flag))
		;
	return i < policy->plugin_args.count;
}

bool policy_goes_by_own_layouts(const struct policy *policy)
{
	const struct view tag = policy->mig_manager_version;
	struct view major, minor, rest;
	uint64_t number;

	view_cut(tag, VIEW("."), &major, &rest);
	view_cut(rest, VIEW("."), &minor, &rest);
	return (view_equal(major, VIEW("v0")) || view_equal(major, VIEW("0"))) &&
	       view_parse_u64(minor, &number) && number < MAKES_LAYOUTS_SINCE;
}

bool policy_may_make_layouts(const struct policy *policy)
{
	return policy->mig_config.len == 0 && policy->unreadable.len == 0 &&
	       policy_is_on(policy, POLICY_MIG_MANAGER) && !policy_goes_by_own_layouts(policy);
}

struct view policy_mig_config(const struct policy *policy)
{
	if (policy->mig_config.len > 0)
		return policy->mig_config;
	return policy->unreadable.len == 0 && policy_is_on(policy, POLICY_MIG_MANAGER)
		       ? default_mig_config
		       : (struct view){0};
}
