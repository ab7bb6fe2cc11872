/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "intent/plugin_config.h"

static const struct plugin_config_shared gpus_4[] = {{VIEW_INIT("nvidia.com/gpu"), 4}};
static const struct plugin_config_shared gpus_8[] = {{VIEW_INIT("nvidia.com/gpu"), 8}};
static const struct plugin_config_shared two[] = {{VIEW_INIT("nvidia.com/gpu"), 4},
						  {VIEW_INIT("nvidia.com/mig-1g.5gb"), 2}};
static const struct plugin_config_shared two_turned[] = {{VIEW_INIT("nvidia.com/mig-1g.5gb"), 2},
							  {VIEW_INIT("nvidia.com/gpu"), 4}};

#define SHARED(how, resources) \
	.sharing = PLUGIN_CONFIG_##how, .shared = {(void *)(uintptr_t)(resources), ARRAY_SIZE(resources), true}

TEST(the_first_configuration_of_a_name_is_found)
{
	const struct plugin_config configs[] = {{.name = VIEW_INIT("a")},
						{.name = VIEW_INIT("b"), .is_renamed = true},
						{.name = VIEW_INIT("b")}};

	assert_ptr_equal(plugin_config_find(array_of(configs, 3), VIEW("b")), &configs[1]);
	assert_null(plugin_config_find(array_of(configs, 3), VIEW("c")));
}

TEST(a_resource_that_is_not_shared_has_one_replica)
{
	const struct plugin_config config = {SHARED(TIME_SLICING, two)};

	assert_int_equal(plugin_config_replicas(&config, VIEW("nvidia.com/gpu")), 4);
	assert_int_equal(plugin_config_replicas(&config, VIEW("nvidia.com/mig-1g.5gb")), 2);
	assert_int_equal(plugin_config_replicas(&config, VIEW("nvidia.com/mig-2g.10gb")), 1);
}

TEST(configurations_are_equal_that_mean_the_same_to_the_plugin)
{
	const struct {
		struct plugin_config a, b;
		bool is_equal;
	} rows[] = {
		{{.name = VIEW_INIT("a")}, {.name = VIEW_INIT("b")}, true},
		{{SHARED(TIME_SLICING, gpus_4)}, {SHARED(TIME_SLICING, gpus_4)}, true},
		{{SHARED(TIME_SLICING, gpus_4)}, {SHARED(TIME_SLICING, gpus_8)}, false},
		{{SHARED(TIME_SLICING, gpus_4)}, {SHARED(MPS, gpus_4)}, false},
		{{SHARED(TIME_SLICING, gpus_4)}, {.dead = 0}, false},
		{{SHARED(TIME_SLICING, two)}, {SHARED(TIME_SLICING, two_turned)}, true},
		{{SHARED(TIME_SLICING, two)}, {SHARED(TIME_SLICING, gpus_4)}, false},
		{{SHARED(TIME_SLICING, gpus_4)}, {SHARED(TIME_SLICING, two)}, false},
		{{SHARED(TIME_SLICING, gpus_4), .is_renamed = true}, {SHARED(TIME_SLICING, gpus_4)}, false},
		{{.is_renamed = true}, {.dead = 0}, true},
		{{.mig_strategy = VIEW_INIT("none")}, {.dead = 0}, true},
		{{.mig_strategy = VIEW_INIT("a")}, {.mig_strategy = VIEW_INIT("b")}, false},
		{{.mig_strategy = VIEW_INIT("a")}, {.mig_strategy = VIEW_INIT("")}, false},
		{{.error = VIEW_INIT("?")}, {.error = VIEW_INIT("!")}, true},
		{{.error = VIEW_INIT("?")}, {.dead = 0}, false},
		{{.error = VIEW_INIT("?"), .mig_strategy = VIEW_INIT("single")}, {.error = VIEW_INIT("!")}, true},
		{{.mig_strategy = VIEW_INIT("single")}, {.mig_strategy = VIEW_INIT("mixed")}, false},
		{{.error = VIEW_INIT("line 1")}, {.error = VIEW_INIT("line 2")}, true},
		{{.error = VIEW_INIT("line 1")}, {.dead = 0}, false},
		{{.unsupported = VIEW_INIT("line 1")}, {.unsupported = VIEW_INIT("line 1")}, true},
		{{.unsupported = VIEW_INIT("line 1")}, {.dead = 0}, false},
		{{.dead = PLUGIN_CONFIG_DEAD_RENAME}, {.dead = 0}, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (plugin_config_equal(&rows[i].a, &rows[i].b) != rows[i].is_equal ||
		    plugin_config_equal(&rows[i].b, &rows[i].a) != rows[i].is_equal)
			fail_msg("row %zu", i);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_first_configuration_of_a_name_is_found),
	cmocka_unit_test(a_resource_that_is_not_shared_has_one_replica),
	cmocka_unit_test(configurations_are_equal_that_mean_the_same_to_the_plugin),
};
TEST_MAIN(tests)
