/* SPDX-License-Identifier: Apache-2.0 */

/* Who has a device by a ResourceClaim, while slices, NVML and the claims themselves are in doubt. */

#include "lib/scenario.h"
#include "lib/world_fixture.h"

/* Two devices that slices describe; pod a has the first by a claim. */
#define SLICES "slice 0 whole minor 0; slice 1 whole minor 1;"
#define START "gpu 0; gpu 1;" SLICES "pod a nogpu; grant a gpu0; expect tenants a;"
#define B_COMES "pod b nogpu; grant b gpu1;"
#define SETTLE "publish; wait 10s;"
/* Neither now nor when what is seen has been seen for long enough. */
#define UNCHANGED "expect writes 0; wait 10s; expect writes 0;"
#define SWAPPED "nvml renumbers 1 0;"
#define SLICES_SWAPPED "slice 0 whole minor 1; slice 1 whole minor 0; grant none;"
#define A_MOVED "grant a gpu1 device=pool/gpu-0;"
#define CLAIM_AWAY "lacks a; grant none;"
#define BOTH_FAIL "lose list; lose checkpoint;"

/* What becomes so; tenants of the device that a new pod was given, and Attributed there; what is
 * published of the tenant that was there. Where NVML numbers the device anew, what the claim names
 * may be another. */
#define SURE "Confirmed by=ResourceClaim"
#define UNSURE "Unconfirmed by=none"
#define STATES(row)                                                                            \
	row("", "b", "True AllResolved", SURE)                                                 \
	row("claims denied;", "none", "Unknown ClaimsUnknown", SURE)                           \
	/* a pool is being written */                                                          \
	row("claims unknown;", "none", "Unknown ClaimsUnknown", SURE)                          \
	row("age 120s;", "none", "Unknown ClaimsUnknown", SURE)                                \
	row("boot former;", "none", "Unknown ClaimsUnknown", SURE)                             \
	row(SWAPPED, "none", "Unknown ClaimsUnknown", UNSURE)                                  \
	row("nvml renumbers 1 none;", "none", "Unknown ClaimsUnknown", UNSURE)                 \
	row("nvml renumbers none none;", "b", "True AllResolved", SURE)                        \
	row("slice none; slice 0 whole; slice 1 whole;", "b", "True AllResolved", SURE)        \
	row("restart;", "none", "True AllResolved", SURE)                                      \
	row("agentless;", "b", "True AllResolved", SURE) /* as it was published */
#define COMES(become, tenants, attributed, published)                                          \
	"again;" START become B_COMES SETTLE "expect gpu1 tenants " tenants                    \
	"; expect gpu1 Attributed " attributed ";"
#define STAYS(become, tenants, attributed, published)                                          \
	"again;" START become SETTLE "expect a Running " published " slots=1;"                 \
	"expect mode Exclusive; expect slots 1/1; expect unplaced none;" UNCHANGED
#define ENDS(become, tenants, attributed, published)                                           \
	"again;" START become SETTLE "publish; delete a; expect none; expect recent a;"

static const struct scenario_promise promises[] = {
	/* Complete or not */
	PROMISE(a_new_tenant_comes_by_a_claim_only_while_nothing_contradicts_slices, STATES(COMES)),
	PROMISE(a_tenant_by_a_claim_stays_in_every_state, STATES(STAYS)),
	PROMISE(a_tenant_by_a_claim_ends_with_its_pod_in_every_state, STATES(ENDS)),
	PROMISE(while_pods_and_claims_are_old_the_claim_stays_a_witness,
		START "claims unknown; pods stale;" SETTLE "expect a Running " SURE),
	PROMISE(while_claims_cannot_be_read_nobody_is_known_for_sure,
		START B_COMES "publish; claims unknown; pod c nogpu; grant c gpu1;"
		/* On its own device too, which it may share. */
		"expect gpu1 Attributed Unknown ClaimsUnknown; expect Attributed Unknown ClaimsUnknown;"
		"claims known; expect gpu1 Attributed True AllResolved; expect gpu1 tenants b c"),
	PROMISE(a_device_that_no_claim_hands_out_is_known_all_the_same,
		START "gpu 2 exclusive;" SWAPPED B_COMES SETTLE "expect gpu2 Attributed True AllResolved;"
		/* But for one of which nothing is on offer. */
		"gpu 3;" SETTLE "expect gpu3 Attributed Unknown ClaimsUnknown"),
	PROMISE(without_pods_that_use_claims_nothing_is_unknown,
		"gpu 0; slice 0 whole minor 0; pod a; publish; nvml renumbers 1; claims unknown;" SETTLE
		"expect Attributed True AllResolved"),

	/* After a boot */
	PROMISE(a_boot_that_renumbers_moves_tenants_when_slices_tell_it_too,
		START B_COMES "publish;" SWAPPED SETTLE "expect tenants a;"
		"expect Attributed Unknown ClaimsUnknown; expect minor 1;"
		/* That the pool is written anew leaves it in doubt. */
		"claims unknown; slice none; grant unplaced;" SETTLE "expect a Running Unconfirmed;"
		"expect Attributed Unknown Unconfirmed; claims known;" SLICES_SWAPPED A_MOVED
		"grant b gpu0 device=pool/gpu-1; expect tenants b; expect Attributed True AllResolved;"
		"expect minor 1; expect gpu1 tenants a"),
#define AFTER_BOOT(pods)                                                                       \
	"again;" START SWAPPED "slice none; grant unplaced; pods " pods ";" SETTLE             \
	"expect a Running " UNSURE "; pods current;" SLICES_SWAPPED A_MOVED                    \
	"expect none; expect recent a; expect gpu1 tenants a;"
	/* With pods stale, too, and once the slices are gone that told where it is. */
	PROMISE(a_boot_that_renumbers_leaves_no_tenant_confirmed_by_what_was_published,
		AFTER_BOOT("current") AFTER_BOOT("stale")),
	/* Its driver has withdrawn it. The other slices agree with NVML, so the witness is not silent. */
	PROMISE(a_device_with_another_number_that_no_slice_describes_keeps_its_tenant,
		START "slice none; slice 1 whole minor 1; grant unplaced; nvml renumbers 5;" SETTLE
		"expect tenants a"),
	PROMISE(slices_that_name_another_device_end_a_tenant_before_nvml_bears_them_out,
		START "age 120s; grant none;" A_MOVED SETTLE "expect none; expect gpu1 none;"
		"expect gpu1 Attributed Unknown ClaimsUnknown"),
	PROMISE(no_number_is_read_from_a_name, "agentless; slice 0 whole minor 5; expect minor ?"),

	/* Without a place */
	PROMISE(a_grant_without_a_place_leaves_its_tenant_where_it_was,
		START "pod b nogpu; grant b gpu0; publish; slice none; grant unplaced;"
		"slice 1 whole minor 1;" UNCHANGED "expect tenants a b; expect slots 1/1;"
		"expect mode TimeSliced; expect unplaced none; expect Healthy True NothingFound;"
		/* A claim that is no longer reserved for the pod ends it. */
		"grant none; grant a gpu0 uuid=; expect tenants a"),
	PROMISE(partitions_without_a_place_stay_as_they_were,
		"gpu 0 mig 3; offer none; slice 0 minor 0; pod a nogpu;"
		"grant a gpu0 partition=mig0.0 device=pool/gpu-0-mig-0 part;"
		"grant a gpu0 partition=mig0.1 device=pool/gpu-0-mig-1 part; expect slots 2/3;"
		"slice none; grant unplaced; expect Attributed Unknown ClaimsUnknown;" UNCHANGED
		"expect a Running Confirmed slots=2 partitions=mig0.0,mig0.1"),
	PROMISE(who_watches_stays_without_a_place_too,
		"gpu 0; slice 0 whole minor 0; pod m nogpu; grant m gpu0 admin;"
		"expect m Running Confirmed role=Monitor; slice none; grant unplaced;"
		"expect m Running Confirmed role=Monitor;" UNCHANGED),
	PROMISE(a_grant_that_was_never_placed_is_unplaced,
		START "pod b nogpu; grant b gpu1 uuid=;" SETTLE "expect unplaced b:pool/gpu-1;"
		"expect Attributed False UnknownDeviceID;"
		/* While slices cannot be read it may be anywhere. */
		"claims unknown;" SETTLE "expect unplaced none; expect Attributed Unknown ClaimsUnknown"),
	/* Slices still describe the device, as gpu-0: the grant is not that name's. */
	PROMISE(a_device_to_which_slices_give_another_name_is_not_where_a_grant_was,
		START "grant unplaced;" SETTLE "expect none; expect unplaced a:pool/gpu-0"),
	PROMISE(a_second_grant_without_a_place_is_unplaced_beside_the_first,
		START "slice none; slice 0 minor 0; slice 1 whole minor 1; grant a gpu1 uuid=;" SETTLE
		"expect unplaced a:pool/gpu-1;" UNCHANGED),
	PROMISE(what_the_kubelet_gave_is_no_claims_to_keep,
		"gpu 0 exclusive; run a on gpu0; slice 1; publish; grant a gpu0 uuid=;" SETTLE
		"expect unplaced a:pool/gpu-0"),

	/* Claims that are not here */
	PROMISE(a_tenant_whose_claim_is_not_here_stays_unconfirmed_until_it_is,
		START B_COMES "publish;" CLAIM_AWAY "expect a Running " UNSURE "; expect slots 1/1;"
		"expect gpu1 none; expect gpu1 recent b;" SETTLE "expect Attributed Unknown Unconfirmed;"
		"lacks none; grant a gpu0;" SETTLE "expect a Running Confirmed;"
		"expect Attributed True AllResolved"),
	PROMISE(a_tenant_whose_claim_comes_back_without_a_device_goes,
		START CLAIM_AWAY BOTH_FAIL SETTLE "expect a Running Unconfirmed; lacks none;"
		"claims unknown;" SETTLE "expect a Running Unconfirmed; claims known;" SETTLE
		"expect none; expect recent a"),
	PROMISE(a_tenant_whose_claim_is_not_here_is_unconfirmed_on_a_device_numbered_anew,
		START CLAIM_AWAY "claims denied;" SETTLE "expect a Running " SURE ";"
		"nvml renumbers none none;" SETTLE "expect a Running Confirmed;"
		"again;" START CLAIM_AWAY "claims denied;" SWAPPED SETTLE "expect a Running " UNSURE ";"
		"expect Attributed Unknown ClaimsUnknown;" SETTLE "expect a Running " UNSURE ";"
		"expect Attributed Unknown ClaimsUnknown"),
	PROMISE(a_tenant_whose_claim_comes_back_for_another_device_leaves_this_one,
		START CLAIM_AWAY SETTLE "expect a Running Unconfirmed; lacks none; grant a gpu1;" SETTLE
		"expect gpu1 a Running Confirmed; expect none"),
	/* The container has one device by the plugin and one by a claim, and both books are short. */
	PROMISE(regress_14_what_the_plugin_gave_stays_though_a_claim_gives_another_device,
		"gpu 0 exclusive; gpu 1 exclusive; run a on gpu0; slice 1 whole minor 1; grant a gpu1;"
		"expect a Running Confirmed; expect gpu1 a Running Confirmed; kubelet forgets;" SETTLE
		"expect a Running Unconfirmed; expect Attributed Unknown Unconfirmed;"
		"expect recent none; expect gpu1 a Running Confirmed"),
	PROMISE(what_a_claim_gave_moves_with_it_though_no_book_can_be_read,
		START CLAIM_AWAY BOTH_FAIL SETTLE "expect a Running " UNSURE "; lacks none;"
		"grant a gpu1;" SETTLE "expect gpu1 a Running Confirmed; expect none"),
	/* What the grant gave is shown on the first device, so on the second it gives nothing. */
	PROMISE(a_pod_whose_grant_lost_its_place_has_users_on_other_devices,
		START "process none; publish; slice none; slice 1 whole minor 1; grant unplaced;"
		"process a gpu1; report;" SETTLE "expect gpu1 users a; expect a Running Confirmed"),
	/* What is on offer has nobody, so it is no second pod. */
	PROMISE(a_device_that_a_plugin_offers_is_not_shared_by_the_one_claim_on_it,
		"gpu 0 exclusive; slice 0 whole minor 0; pod a nogpu; grant a gpu0; expect mode Exclusive;"
		"slice none; grant unplaced;" SETTLE "expect a Running Confirmed; expect mode Exclusive"),
	PROMISE(a_pod_has_what_one_claim_gives_while_another_is_not_here,
		START B_COMES "lacks b; expect gpu1 tenants b;" UNCHANGED "lacks none;" UNCHANGED),

	/* What claims hand out */
	PROMISE(an_idle_device_is_handed_out_by_claims_while_slices_are_incomplete,
		"gpu 0; slice 0 whole minor 0; expect slots 0/1; slice none; claims unknown;" UNCHANGED
		"claims known; expect slots 0/0"),
	/* As long as nothing else can be read. */
	PROMISE(a_claim_for_a_podgroup_hides_who_has_the_device,
		START "slice none; slice 0 whole minor 0; slice 1 nameless whole minor 1;"
		"expect gpu1 Attributed Unknown ReservedOtherwise; slice none; claims denied;"
		"expect gpu1 Attributed Unknown ReservedOtherwise"),
};

TEST(a_pod_whose_claim_waits_is_open_only_while_claims_are_unknown)
{
	build_world_device(&world, 0);
	build_world_slice(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .claim = "gpu"});
	build_world_pod(&world, (struct build_pod){.name = "n", .claim = BUILD_WORLD_NIC});
	expect_condition(publish_later(), "Attributed", CONDITION_TRUE, "AllResolved");
	world.input.grants_unknown = true;
	expect_condition(publish_later(), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
	build_world_remove_pod(&world, "uid-a");
	expect_condition(publish_later(), "Attributed", CONDITION_TRUE, "AllResolved");
}

SCENARIO_MAIN_WITH(promises, set_up, tear_down)
