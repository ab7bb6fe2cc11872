/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"

TEST(the_status_of_a_pod_names_the_ids_of_each_container)
{
	build_world_shared(&world, 0, 4);
	build_world_pod(&world, (struct build_pod){
					.name = "a",
					.second = "side",
					.told = {build_world_replica(&world, 0, 0),
						 build_world_replica(&world, 0, 1)},
					.told_of_second = {build_world_replica(&world, 0, 2)},
				});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-a/side");
	expect_text(status->slots.summary, "3/4");
	expect_texts(ARRAY_AT(status->tenants, struct attribution_tenant, 0)->witnesses,
		     "PodStatus");
}

TEST(what_is_written_on_a_pod_that_is_over_counts_for_nothing)
{
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_FAILED,
						   .told = {build_world_uuid(&world, 0)}});
	build_world_pod(&world, (struct build_pod){.name = "b", .phase = POD_PHASE_SUCCEEDED});
	build_world_grant(&world, "uid-b", "main", 0);
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "0/1");
}

TESTS(set_up, tear_down)
