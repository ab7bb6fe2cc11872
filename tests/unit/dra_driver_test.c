/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "schema/dra_driver.h"

static void only_drivers_that_hand_out_gpus_are_known(void **state)
{
	(void)state;
	static const struct {
		struct view name;
		bool known;
	} rows[] = {
		{VIEW_INIT("gpu.nvidia.com"), true},
		{VIEW_INIT("compute-domain.nvidia.com"), false},
		{VIEW_INIT("gpu.nvidia.com.evil"), false},
		{VIEW_INIT("nvidia.com"), false},
		{VIEW_INIT(""), false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(dra_driver_is_known(rows[i].name), rows[i].known);
}

static void an_attribute_in_the_drivers_own_domain_is_one_without_domain(void **state)
{
	(void)state;
	static const struct {
		struct view name, plain;
	} rows[] = {
		{VIEW_INIT("uuid"), VIEW_INIT("uuid")},
		{VIEW_INIT("gpu.nvidia.com/uuid"), VIEW_INIT("uuid")},
		{VIEW_INIT("other.example.com/uuid"), VIEW_INIT("other.example.com/uuid")},
		{VIEW_INIT("resource.kubernetes.io/pciBusID"),
		 VIEW_INIT("resource.kubernetes.io/pciBusID")},
		{VIEW_INIT(""), VIEW_INIT("")},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_true(view_equal(dra_driver_attribute(VIEW("gpu.nvidia.com"), rows[i].name),
				       rows[i].plain));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(only_drivers_that_hand_out_gpus_are_known),
	cmocka_unit_test(an_attribute_in_the_drivers_own_domain_is_one_without_domain),
};

TEST_MAIN(tests)
