/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy.h"

#include <assert.h>

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

const struct policy_variable *policy_find_variable(const struct policy *policy, struct view name)
{
	const struct policy_variable *found = NULL;

	ARRAY_EACH(const struct policy_variable, v, policy->plugin_env)
		if (view_equal(v->name, name))
			found = v;
	return found;
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

struct view policy_mig_config(const struct policy *policy)
{
	if (policy->mig_config.len > 0)
		return policy->mig_config;
	return policy->unreadable.len == 0 && policy_is_on(policy, POLICY_MIG_MANAGER)
		       ? default_mig_config
		       : (struct view){0};
}
