/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as a policy has a name, and either says why it is unreadable or what it intends. */

#include <assert.h>

#include "base/limits.h"
#include "schema/policy_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct view json = {(const char *)data, size};
	struct gpu_cluster cluster;
	struct policy policy;
	struct error err;
	int result;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	result = policy_doc_decode(json, &arena, &policy, &err);
	/* Of both kinds the same metadata is read. */
	if (result != policy_doc_decode_gpu_cluster(json, &arena, &cluster, &err))
		assert(err.kind == ERROR_LIMIT || err.kind == ERROR_NO_MEMORY);
	if (result != 0)
		return 0;
	assert(policy.namespace.len <= LIMIT_TEXT_LABEL && policy.name.len <= LIMIT_TEXT_NAME);
	assert(policy.conditions.count <= LIMIT_POLICY_CONDITIONS);
	assert(policy.plugin_env.count <= LIMIT_POLICY_VARIABLES);
	assert(policy.plugin_args.count <= LIMIT_POLICY_ARGUMENTS);
	for (size_t i = 0; i < POLICY_N_OPERANDS; i++)
		assert(policy.switches[i] <= POLICY_OFF);
	if (policy.unreadable.len > 0)
		assert(policy.plugin_config.len == 0 && policy.state.len == 0 &&
		       policy.conditions.count == 0);
	return 0;
}
