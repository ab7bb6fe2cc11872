/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy.h"

#include <assert.h>

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
