/* SPDX-License-Identifier: Apache-2.0 */

/* What the witnesses say of one device ID is one fact, also where no device is known to have it. */

#include "join/witnesses.h"
#include "lib/scenario.h"
#include "lib/world_fixture.h"

#define GPU_F "GPU-ffffffff-0000-4000-8000-000000000000"
#define MIG_F "MIG-ffffffff-1111-4000-8000-000000000000"

/* The same device ID by that name of a resource; what is a device of ours is one by any name. */
#define HOLDS(resource, id)                                                                    \
	"again; gpu 0 exclusive; pod a; book a " id "@" resource " gpu0@" resource "; list a " id \
	"@" resource "; later; expect tenants a; expect a slots=1;"
#define COUNTS(resource, id) \
	HOLDS(resource, id) "expect unplaced a:" id "; expect unknown-ids 2;"
#define IGNORED(resource, id) \
	HOLDS(resource, id) "expect unplaced none; expect unknown-ids 0;"

static const struct scenario_promise promises[] = {
	PROMISE(what_several_say_of_one_id_is_one_fact,
		"gpu 0; gpu 1 shared 4; pod u status=gpu1::0; list u gpu1::0; book u gpu1::0 gpu1::0;"
		"expect gpu1 tenants u; expect gpu1 slots 1/4;"
		"expect gpu1 u slots=1 by=Checkpoint,PodResources,PodStatus"),
	PROMISE(other_ids_containers_pods_and_devices_are_other_facts,
		"gpu 0 shared 4; gpu 1 shared 4; pod u second=side; pod v; book u gpu1::0 gpu1::1;"
		"book u/side gpu1::0; book v gpu1::0; book u gpu0::0; expect tenants u;"
		"expect u slots=1; expect slots 1/4; expect gpu1 tenants u u/side v;"
		"expect gpu1 u slots=2; expect gpu1 u/side slots=1; expect gpu1 v slots=1;"
		"expect gpu1 slots 2/4"),
	PROMISE(of_two_resource_names_the_lower_one_stays,
		"gpu 0 exclusive; pod u; book u gpu0@a/gpu; book u gpu0@b/gpu;"
		"expect u resource=a/gpu slots=1;"
		"again; gpu 0 exclusive; pod u; book u gpu0@b/gpu; book u gpu0@a/gpu;"
		"expect u resource=a/gpu slots=1"),
	PROMISE(who_has_no_name_is_one_nobody,
		"gpu 0 shared 4; list x gpu0::0; list x gpu0::0; list y gpu0::0; expect none;"
		"expect slots 1/4; expect Attributed False PodUnknown"),

	PROMISE(who_only_watches_by_one_word_uses_by_the_other,
		"gpu 0; pod u; pod v; grant u gpu0 device=p/0 admin; grant v gpu0 device=p/0 admin;"
		"grant v gpu0 device=p/0; expect u role=Monitor slots=0;"
		"expect v role=Workload slots=1"),

	/* IDs of no device */
	PROMISE(ids_of_no_device_are_counted_as_often_as_named,
		"gpu 0 exclusive; pod a; pod b; pod z; list a nowhere; book a nowhere; book b gpu7;"
		"book z gpu0; expect unknown-ids 3; expect tenants z; later;"
		"expect unplaced a:nowhere b:gpu7"),
	/* Devices of other resources and makers are none of ours. A plugin may be told to call its
	 * resource anything; what it calls the device is NVIDIA's. */
	PROMISE(an_id_of_no_device_counts_by_its_resource_only_where_that_is_of_gpus,
		COUNTS("", "nowhere") COUNTS("nvidia.com/gpu", "nowhere")
		COUNTS("nvidia.com/gpu.shared", "nowhere") COUNTS("nvidia.com/mig-1g.5gb", "nowhere")
		COUNTS("gpu.nvidia.com", "nowhere") IGNORED("nvidia.com/gpus", "nowhere")
		IGNORED("nvidia.com/mig", "nowhere") IGNORED("nvidia.com/pgpu", "nowhere")
		IGNORED("gpu.nvidia.com/x", "nowhere") IGNORED("rdma/hca", "nowhere")),
	PROMISE(an_id_of_no_device_counts_by_its_form_whatever_its_resource_is_called,
		COUNTS("x", GPU_F) COUNTS("x", GPU_F "::3") COUNTS("x", GPU_F "-3") /* HAMi's */
		COUNTS("x", MIG_F) COUNTS("x", "MIG-" GPU_F "/7/0")
		IGNORED("x", "GPU-7") IGNORED("x", "MIG-7")
		/* GKE's resource has one name. */
		IGNORED("x", "nvidia7") IGNORED("x", "nvidia7/vgpu0")
		IGNORED("x", "ffffffff-0000-4000-8000-000000000000") /* a vGPU's */
		IGNORED("x", "0000:3b:00.0")),

	/* Claims */
	PROMISE(a_claim_whose_device_no_slice_tells_is_unplaced_by_its_name,
		"gpu 0 exclusive; slice 1; pod a; grant a gpu0 uuid=; later; expect none;"
		"expect unplaced a:pool/gpu-0"),
	PROMISE(a_claim_of_a_pod_that_is_over_gives_no_device_that_is_not_told,
		"gpu 0 exclusive; pod a phase=Succeeded; grant a gpu0 uuid=; later; expect unplaced none;"
		"expect unknown-ids 0"),
	PROMISE(what_any_witness_says_of_a_pod_that_is_over_is_no_fact,
		"gpu 0 exclusive; pod a phase=Failed status=gpu0; book a gpu0; list a gpu0; book a nowhere;"
		"list a nowhere; grant a gpu0; later; expect none; expect unplaced none;"
		"expect unknown-ids 0"),
	/* The slice that tells its device may be there. */
	PROMISE(while_claims_cannot_be_read_none_is_unplaced,
		"gpu 0 exclusive; pod a; grant a gpu0 uuid=; claims unknown; later; expect unplaced none;"
		"expect unknown-ids 0"),
};

TEST(what_is_not_there_is_not_found)
{
	struct devices devices;
	struct facts facts;
	struct error err;
	size_t n;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	world_run("b", build_world_uuid(&world, 0));
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(witnesses_read(&world.input, &devices, &world.arena, &facts, &err), 0);
	assert_non_null(facts_of_holder(&facts, 0, VIEW("uid-b"), VIEW("main"), &n));
	assert_null(facts_of_holder(&facts, 0, VIEW("uid-b"), VIEW("side"), &n));
	assert_null(facts_of(&facts, 1, &n));
	assert_int_equal(facts_heard_of(&facts, VIEW("uid-c"), VIEW("main")), 0);
}

SCENARIO_MAIN_WITH(promises, set_up, tear_down)
