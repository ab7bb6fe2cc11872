/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_previous.h"

TEST(of_what_is_published_twice_the_first_counts)
{
	struct attribution_drift drifts[] = {
		{.type = VIEW("ReplicaCount"), .start_time = 1},
		{.type = VIEW("ReplicaCount"), .start_time = 2},
	};
	struct attribution_pending_drift pending[] = {
		{VIEW("SharingMode"), 3, 30},
		{VIEW("DriverUpgrade"), 4, 40},
		{VIEW("SharingMode"), 5, 50},
		{VIEW("DriverUpgrade"), 6, 60},
	};
	const struct attribution_intent_state published = {
		.drifts = array_of(drifts, ARRAY_SIZE(drifts)),
		.pending = array_of(pending, ARRAY_SIZE(pending)),
	};
	const struct drift_previous previous = drift_previous_read(&published);

	assert_ptr_equal(previous.drifts[DRIFT_REPLICA_COUNT], &drifts[0]);
	assert_int_equal(previous.pending_since[DRIFT_SHARING_MODE], 3);
	assert_int_equal(previous.pending_hashes[DRIFT_SHARING_MODE], 30);
	assert_int_equal(previous.work_since[DRIFT_SETTLING_DRIVER_UPGRADE], 4);
	assert_int_equal(previous.work_steps[DRIFT_SETTLING_DRIVER_UPGRADE], 40);
	assert_true(drift_previous_has(&previous, DRIFT_REPLICA_COUNT));
	assert_true(drift_previous_has(&previous, DRIFT_SHARING_MODE));
	assert_false(drift_previous_has(&previous, DRIFT_DEVICE_MISSING));
}

TEST(of_what_is_not_published_there_is_nothing)
{
	struct attribution_drift drifts[] = {{.type = VIEW("OfALaterVersion"), .start_time = 1}};
	struct attribution_pending_drift pending[] = {{VIEW("OfALaterVersion"), 2, 20}};
	const struct attribution_intent_state published = {
		.drifts = array_of(drifts, ARRAY_SIZE(drifts)),
		.pending = array_of(pending, ARRAY_SIZE(pending)),
	};
	const struct drift_previous previous = drift_previous_read(&published);

	for (int type = 0; type < N_DRIFT_TYPES; type++) {
		assert_null(previous.drifts[type]);
		assert_int_equal(previous.pending_since[type], 0);
	}
	for (int kind = 0; kind < N_DRIFT_SETTLING; kind++)
		assert_int_equal(previous.work_since[kind], 0);
}

TESTS(NULL, NULL)
