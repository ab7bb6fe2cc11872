/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy.h"

#include <assert.h>

/* Where migManager.config names none, the operator has the MIG manager read this one. */
static const struct view default_mig_config = VIEW_INIT("default-mig-parted-config");

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

struct view policy_mig_config(const struct policy *policy)
{
	if (policy->mig_config.len > 0)
		return policy->mig_config;
	return policy->unreadable.len == 0 && policy_is_on(policy, POLICY_MIG_MANAGER)
		       ? default_mig_config
		       : (struct view){0};
}
