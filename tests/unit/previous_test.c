/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"
#include "join/previous.h"

static struct view uids[] = {VIEW_INIT("b"), VIEW_INIT("a"), VIEW_INIT("b")};

TEST(a_tenant_is_found_by_pod_and_container_in_whatever_order_they_are)
{
	struct attribution_tenant tenants[] = {
		{.pod_uid = uids[0], .container = VIEW("y")},
		{.pod_uid = uids[1], .container = VIEW("z")},
		{.pod_uid = uids[2], .container = VIEW("x"), .phase = ATTRIBUTION_PHASE_PENDING},
	};
	const struct attribution_status status = {.tenants = {tenants, ARRAY_SIZE(tenants), true}};
	const struct previous *previous;
	struct error err;
	assert_int_equal(previous_read(&status, &world.arena, &previous, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(tenants); i++) {
		const struct previous_tenant *found =
			previous_find(previous, tenants[i].pod_uid, tenants[i].container);
		assert_non_null(found);
		assert_ptr_equal(found->published, &tenants[i]);
		assert_int_equal(found->is_unknown, i == 2);
	}
	assert_null(previous_find(previous, VIEW("a"), VIEW("x")));
	assert_null(previous_find(NULL, VIEW("a"), VIEW("z")));
}

TEST(without_tenants_nobody_is_found)
{
	const struct attribution_status status = {.node_name = VIEW("gpu-a")};
	const struct previous *previous;
	struct error err;
	assert_int_equal(previous_read(&status, &world.arena, &previous, &err), 0);
	assert_null(previous_find(previous, VIEW(""), VIEW("")));
}

TESTS(set_up, tear_down)
