/* SPDX-License-Identifier: Apache-2.0 */

/* Pods that share a device which a reservation of KAI's holds for their group. */

#include "lib/scenario.h"

#define GPU_0 "GPU-00000000-0000-4000-8000-0123456789ab"
#define DEVICES "gpu 0 exclusive; gpu 1 exclusive;"
#define RESERVED DEVICES "run r on gpu0 reservation group=g1;"
#define NOT_KNOWN \
	"expect Attributed False Placeholder `1 slot is held by a placeholder for pods that are not known`;"

static const struct scenario_promise promises[] = {
	PROMISE(the_pods_of_a_reservations_group_are_on_its_device,
		RESERVED "pod a group=g1; pod b group=g1; pod c group=g2; pod d group=g1 phase=Succeeded;"
		"expect tenants a b r; expect a Running Annotated by=KAI slots=0 role=Workload;"
		"expect r Running Confirmed placeholder=none role=Reservation slots=1; expect count 2;"
		"expect summary `ml/a +1`; expect slots 1/1; expect Attributed True AllResolved;"
		"expect gpu1 none"),
	/* Itself, and another reservation, are no sharers. */
	PROMISE(a_reservation_without_known_sharers_is_a_placeholder,
		RESERVED "pod s group=g1 reservation;"
		"expect r Running Confirmed placeholder=KAI role=Workload; expect count 1;" NOT_KNOWN
		"expect Ready False Unresolved"),
	PROMISE(a_reservation_that_no_witness_has_yet_is_placed_by_its_annotation,
		"gpu 0 exclusive; pod r reservation group=g1 reserved=" GPU_0 "; pod a group=g1;"
		"expect tenants a;"
		/* A witness knows better. */
		"gpu 1 exclusive; book r gpu1; list r gpu1; expect none; expect gpu1 tenants a r"),
	/* It may be a while until a kubelet's book tells of it again, and until it writes its annotation. */
	PROMISE(while_no_book_can_be_read_a_reservation_is_where_it_was_published,
		RESERVED "pod a group=g1; expect tenants a r; restart; expect tenants a r;"
		"expect gpu1 none;"
		/* Books of which none can be short do not have it. */
		"report; kubelet forgets; pod r reservation group=g1 nogpu; pod a group=g1 nogpu;"
		"expect none"),
#define WITHOUT(book) \
	"again;" RESERVED "pod a group=g1; publish; kubelet forgets; lose " book ";" \
	"expect tenants a r; expect gpu1 none;"
	PROMISE(without_one_of_the_books_a_reservation_is_where_it_was_published,
		WITHOUT("list") WITHOUT("checkpoint")),
	PROMISE(a_reservation_of_no_known_device_places_nobody,
		"gpu 0 exclusive; pod r reservation group=g1 reserved=GPU-7; pod a group=g1; expect none;"
		"run r on gpu7 reservation group=g1; expect none"),
	PROMISE(a_sharer_that_leaves_its_group_leaves_the_device,
		RESERVED "pod a group=g1; publish; pod a group=g2; expect tenants r; expect recent a;"
		NOT_KNOWN),
#define SHARER(named, tenant, containers) \
	"again;" RESERVED "pod a group=g1 sharer=" named " " containers "; expect tenants " tenant " r;"
#define INIT_FIRST "container=init kind=Init second=train"
	PROMISE(a_sharer_is_named_by_kais_annotation_or_its_first_main_container,
		SHARER("train", "a/train", INIT_FIRST) SHARER("init", "a/init", INIT_FIRST)
		/* None of the pod's: it says nothing. */
		SHARER("gone", "a/train", INIT_FIRST) SHARER("", "a/train", INIT_FIRST)
		SHARER("", "a", "container=init kind=Init")
		SHARER("train", "a/train", "container=proxy second=train")
		/* KAI knows no ephemeral ones. */
		SHARER("bug", "a/train", "container=bug kind=Ephemeral second=train")),
	PROMISE(a_pod_that_shares_several_devices_is_on_each,
		RESERVED "run s on gpu1 reservation group=g2; pod a group-1=g1 group-2=g2;"
		"pod b group-1=g2 group-2=g3; pod c group=g1; expect tenants a c r;"
		"expect Attributed True AllResolved; expect gpu1 tenants a b s"),
	PROMISE(a_reservation_of_no_group_shares_with_nobody,
		DEVICES "run r on gpu0 reservation; pod a; pod b; expect tenants r;" NOT_KNOWN),
#define HOLDS_BOTH(books) \
	"again;" DEVICES "pod r reservation group=g; pod a group=g; book r " books ";" \
	"expect tenants a r; expect gpu1 tenants r;"
	PROMISE(of_two_devices_a_reservations_sharers_are_on_the_first,
		HOLDS_BOTH("gpu0 gpu1") HOLDS_BOTH("gpu1 gpu0")),
	PROMISE(what_other_pods_hold_does_not_place_a_reservations_sharers,
		DEVICES "run x on gpu0; run r on gpu1 reservation group=g1; pod a group=g1;"
		"expect tenants x; expect gpu1 tenants a r"),
	PROMISE(a_reservation_that_is_over_places_nobody,
		"gpu 0 exclusive; pod r reservation group=g1 reserved=" GPU_0 " phase=Failed;"
		"pod a group=g1; expect none"),
};

SCENARIO_MAIN(promises)
