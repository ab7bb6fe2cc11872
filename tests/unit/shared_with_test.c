/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/shared_with.h"

static struct view one[] = {VIEW_INIT("MIG-1")};
static struct view two[] = {VIEW_INIT("MIG-2")};
static struct view both[] = {VIEW_INIT("MIG-2"), VIEW_INIT("MIG-1")};

static void others_on_the_same_hardware_are_counted(void **state)
{
	(void)state;
	struct attribution_tenant tenants[] = {
		{.partitions = {one, 1, true}},  {.partitions = {two, 1, true}},
		{.partitions = {both, 2, true}}, {.partitions = {0}},
		{.role = ATTRIBUTION_ROLE_MONITOR},
	};
	struct attribution_status status = {.tenants = {tenants, 5, true}, .tenant_count = 4};
	static const int64_t expected[] = {2, 2, 3, 3, 4};
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_int_equal(shared_with_count(&status, &tenants[i]), expected[i]);
}

static void nobody_is_their_own_neighbour(void **state)
{
	(void)state;
	struct attribution_tenant tenant = {0}, other = {0}, system = {.role = ATTRIBUTION_ROLE_MONITOR};
	assert_false(shared_with_is(&tenant, &tenant));
	assert_true(shared_with_is(&tenant, &other));
	assert_false(shared_with_is(&tenant, &system));
}

static void tenants_that_are_not_listed_count_where_they_can(void **state)
{
	(void)state;
	struct attribution_tenant tenants[] = {{.slots = 1}, {.partitions = {one, 1, true}}};
	struct attribution_status status = {
		.tenants = {tenants, 2, true}, .tenant_count = 5, .tenants_left_out = 3};
	assert_int_equal(shared_with_count(&status, &tenants[0]), 4);
	assert_int_equal(shared_with_count(&status, &tenants[1]), -1);
	status.tenants_left_out = 0;
	status.tenant_count = -1;
	assert_int_equal(shared_with_count(&status, &tenants[0]), -1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(others_on_the_same_hardware_are_counted),
	cmocka_unit_test(nobody_is_their_own_neighbour),
	cmocka_unit_test(tenants_that_are_not_listed_count_where_they_can),
};
TEST_MAIN(tests)
