/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "schema/plugin_config_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_CONFIG_ARENA);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static struct plugin_config decode(const char *text)
{
	struct plugin_config config;
	struct error err;

	if (plugin_config_doc_decode(VIEW("key"), view_from(text), &arena, &config, &err) < 0)
		fail_msg("%s", err.text);
	assert_text(config.name, "key");
	return config;
}

/* "time-slicing renamed mixed nvidia.com/gpu=4 dead=3"; what is as by default is left out. */
static void show(const struct plugin_config *config, char *out, size_t size)
{
	static const char *const sharings[] = {"", "time-slicing ", "mps "};
	int n = snprintf(out, size, "%s%s%.*s", sharings[config->sharing],
			 config->is_renamed ? "renamed " : "", VIEW_ARG(config->mig_strategy));

	for (uint32_t i = 0; i < config->shared.count; i++) {
		const struct plugin_config_shared *shared =
			ARRAY_AT(config->shared, struct plugin_config_shared, i);

		n += snprintf(out + n, size - (size_t)n, " %.*s=%lld", VIEW_ARG(shared->resource),
			      (long long)shared->replicas);
	}
	if (config->dead)
		snprintf(out + n, size - (size_t)n, " dead=%x", config->dead);
}

#define SLICES(rest) "sharing: {timeSlicing: {" rest "}}"
#define GPU(rest) "resources: [{name: nvidia.com/gpu, " rest "}]"

static void a_configuration_means_what_it_means_to_the_plugin(void **state)
{
	static const struct {
		const char *text, *meaning;
	} rows[] = {
		{"", ""},
		{"version: v1", ""},
		{"version: ''\nflags:\nsharing:\nresources:\n", ""},
		{"version: v1\nflags:\n  migStrategy: mixed\n", "mixed"},
		{"{\"version\": \"v1\", \"flags\": {\"migStrategy\": \"single\"}}", "single"},
		{SLICES(GPU("replicas: 4")), "time-slicing  nvidia.com/gpu=4"},
		{"x: &n 4\n" SLICES(GPU("replicas: *n")), "time-slicing  nvidia.com/gpu=4"},
		{"x: &s {" GPU("replicas: 4") "}\nsharing: {timeSlicing: *s}",
		 "time-slicing  nvidia.com/gpu=4"},
		{SLICES("renameByDefault: true, " GPU("replicas: 2")),
		 "time-slicing renamed  nvidia.com/gpu=2"},
		{SLICES("renameByDefault: off, failRequestsGreaterThanOne: true, "
			"resources: [{name: gpu, replicas: 2}, {name: mig-1g.5gb, replicas: 3}]"),
		 "time-slicing  nvidia.com/gpu=2 nvidia.com/mig-1g.5gb=3"},
		{"sharing: {mps: {" GPU("replicas: 10") "}}", "mps  nvidia.com/gpu=10"},
		{"sharing:\n  mps:\n", ""},
		{"sharing: {mps: {" GPU("replicas: 2") "}, timeSlicing: {" GPU("replicas: 4") "}}",
		 "mps  nvidia.com/gpu=2 dead=8"},
		/* Go's decoder takes letters of either case, the plugin's own does not. */
		{"Sharing: {timeslicing: {" GPU("replicas: 4") "}}", "time-slicing  nvidia.com/gpu=4"},
		{"FLAGS: {MIGSTRATEGY: none}", "none"},
		/* Which the plugin refuses unless something overrides the strategy. */
		{"flags: {migStrategy: mixed}\nsharing: {mps: {" GPU("replicas: 2") "}}",
		 "mps mixed nvidia.com/gpu=2"},
		{"unknown: {a: [1]}\n", ""},
		/* What is to be a string may be any scalar, but for names and lists of devices. */
		{"flags: {migStrategy: 1, nvidiaDevRoot: no, gfd: {sleepInterval: 60, oneshot: off}}", "1"},
		{"flags: {failOnInitError: , gdsEnabled: ~, plugin: {passDeviceSpecs: null}, gfd: }", ""},
		{"IMEX: {channelids: [0], required: Yes}", ""},
		{"imex: {channelIDs: [], required: }", ""},
		{"imex: {channelIDs: [null]}", ""},
		{"imex: {channelIDs: }", ""},
		{"imex:\n", ""},
		{SLICES("failRequestsGreaterThanOne: , " GPU("replicas: 2")),
		 "time-slicing  nvidia.com/gpu=2"},
		/* Within sharing the plugin's own decoder knows no other letters. */
		{SLICES("failrequestsgreaterthanone: 1, " GPU("replicas: 2")),
		 "time-slicing  nvidia.com/gpu=2"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plugin_config config = decode(rows[i].text);
		char meaning[200];

		show(&config, meaning, sizeof(meaning));
		assert_string_equal(meaning, rows[i].meaning);
		assert_text(config.error, "");
		assert_text(config.unsupported, "");
	}
}

static void what_has_no_effect_is_noted(void **state)
{
	static const struct {
		const char *text;
		uint32_t dead;
	} rows[] = {
		{"resources: {gpus: [{pattern: '*', name: a}]}", PLUGIN_CONFIG_DEAD_RESOURCES},
		{"resources: {mig: [{pattern: '*', name: a}]}", PLUGIN_CONFIG_DEAD_RESOURCES},
		{"resources: {gpus: []}", 0},
		{SLICES(GPU("rename: mine, replicas: 2")), PLUGIN_CONFIG_DEAD_RENAME},
		{SLICES(GPU("rename: gpu.shared, replicas: 2")), PLUGIN_CONFIG_DEAD_RENAME},
		{SLICES("renameByDefault: true, " GPU("rename: gpu.shared, replicas: 2")), 0},
		{SLICES("renameByDefault: true, " GPU("rename: gpu.other, replicas: 2")),
		 PLUGIN_CONFIG_DEAD_RENAME},
		{SLICES(GPU("devices: all, replicas: 2")), 0},
		{SLICES(GPU("devices: 3, replicas: 2")), PLUGIN_CONFIG_DEAD_DEVICES},
		{SLICES(GPU("devices: [0, 1], replicas: 2")), PLUGIN_CONFIG_DEAD_DEVICES},
		{"flags: {failOnInitError: false}", PLUGIN_CONFIG_DEAD_FAIL_ON_INIT_ERROR},
		{"flags: {failOnInitError: true}", 0},
		{"flags: {mpsRoot: /elsewhere}", PLUGIN_CONFIG_DEAD_MPS_ROOT},
		{"flags: {mpsRoot: /run/nvidia/mps}", 0},
		{"flags: {plugin: {passDeviceSpecs: false}}", PLUGIN_CONFIG_DEAD_PASS_DEVICE_SPECS},
		{"flags: {plugin: {deviceIDStrategy: index}}", PLUGIN_CONFIG_DEAD_DEVICE_ID_STRATEGY},
		{"flags: {failOnInitError: false, plugin: {passDeviceSpecs: false}}",
		 PLUGIN_CONFIG_DEAD_FAIL_ON_INIT_ERROR | PLUGIN_CONFIG_DEAD_PASS_DEVICE_SPECS},
		{"flags: {plugin: {deviceIDStrategy: uuid, passDeviceSpecs: true}}", 0},
		{"flags: {plugin: {deviceListStrategy: volume-mounts}}", 0},
		{"flags: {nvidiaDriverRoot: /x, gfd: {oneshot: true}}", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plugin_config config = decode(rows[i].text);

		assert_text(config.error, "");
		assert_int_equal(config.dead, rows[i].dead);
	}
}

/* Whether they have an effect the policy tells. */
static void the_device_lists_that_are_written_are_kept(void **state)
{
	static const struct {
		const char *written;
		uint32_t lists;
	} rows[] = {
		{"envvar", PLUGIN_CONFIG_LIST_ENVVAR},
		{"cdi-annotations", PLUGIN_CONFIG_LIST_CDI_ANNOTATIONS},
		{"cdi-cri", PLUGIN_CONFIG_LIST_CDI_CRI},
		{"volume-mounts", PLUGIN_CONFIG_LIST_OTHER},
		{"'envvar,cdi-cri'", PLUGIN_CONFIG_LIST_OTHER},
		{"[cdi-cri]", PLUGIN_CONFIG_LIST_CDI_CRI},
		{"[envvar, volume-mounts]", PLUGIN_CONFIG_LIST_ENVVAR | PLUGIN_CONFIG_LIST_OTHER},
		{"[cdi-annotations, cdi-cri]",
		 PLUGIN_CONFIG_LIST_CDI_ANNOTATIONS | PLUGIN_CONFIG_LIST_CDI_CRI},
		{"[]", 0},
		{"", 0},
		{"[null, envvar]", PLUGIN_CONFIG_LIST_ENVVAR},
		{"'1'", PLUGIN_CONFIG_LIST_OTHER},
	};

	(void)state;
	assert_int_equal(decode("flags: {plugin: }").device_lists, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[100];

		snprintf(text, sizeof(text), "flags: {plugin: {deviceListStrategy: %s}}",
			 rows[i].written);
		struct plugin_config config = decode(text);
		assert_text(config.error, "");
		assert_int_equal(config.device_lists, rows[i].lists);
		assert_int_equal(config.dead, 0);
	}
}

/* What the plugin refuses, it does not start with. */
static void what_the_plugin_refuses_is_an_error_with_its_place(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"a: [", "line 2, column 1: "},
		{"- a", "line 1, column 1: the configuration is not a mapping"},
		{"version: v2", "line 1, column 10: the version is not v1"},
		{"version: [v1]", "line 1, column 10: the version is not v1"},
		{"flags: 1", "line 1, column 8: flags is not a mapping"},
		{"flags: {plugin: []}", "line 1, column 17: flags.plugin is not a mapping"},
		{"flags: {migStrategy: [a]}", "line 1, column 22: flags.migStrategy is not a string"},
		{"flags: {gfd: []}", "line 1, column 14: flags.gfd is not a mapping"},
		{"flags: {failOnInitError: 'true'}",
		 "line 1, column 26: flags.failOnInitError is neither true nor false"},
		{"flags: {FAILONINITERROR: 1}",
		 "line 1, column 26: flags.failOnInitError is neither true nor false"},
		{"flags:\n  gdsEnabled: [true]\n",
		 "line 2, column 15: flags.gdsEnabled is neither true nor false"},
		{"flags: {useNodeFeatureAPI: maybe}",
		 "line 1, column 28: flags.useNodeFeatureAPI is neither true nor false"},
		{"flags: {mpsRoot: {}}", "line 1, column 18: flags.mpsRoot is not a string"},
		{"flags:\n  plugin:\n    passDeviceSpecs: 'no'\n",
		 "line 3, column 22: flags.plugin.passDeviceSpecs is neither true nor false"},
		{"flags: {plugin: {deviceIDStrategy: [uuid]}}",
		 "line 1, column 36: flags.plugin.deviceIDStrategy is not a string"},
		{"flags: {gfd: {oneshot: 1}}",
		 "line 1, column 24: flags.gfd.oneshot is neither true nor false"},
		{"flags: {gfd: {sleepInterval: [60s]}}",
		 "line 1, column 30: flags.gfd.sleepInterval is not a string"},
		{"flags: {plugin: {deviceListStrategy: {}}}",
		 "line 1, column 38: flags.plugin.deviceListStrategy is no string and no list"},
		{"flags: {plugin: {deviceListStrategy: 1}}",
		 "line 1, column 38: flags.plugin.deviceListStrategy is no string and no list"},
		{"flags: {plugin: {deviceListStrategy: [envvar, [envvar]]}}",
		 "line 1, column 47: flags.plugin.deviceListStrategy has what is no string"},
		{"flags: {plugin: {deviceListStrategy: [on]}}",
		 "line 1, column 39: flags.plugin.deviceListStrategy has what is no string"},
		{"imex: [0]", "line 1, column 7: imex is not a mapping"},
		{"imex: {required: 1}", "line 1, column 18: imex.required is neither true nor false"},
		{"imex: {channelIDs: 0}", "line 1, column 20: imex.channelIDs is not a list"},
		{"imex: {channelIDs: [1]}", "line 1, column 21: imex.channelIDs is neither [] nor [0]"},
		{"imex: {channelIDs: ['0']}", "line 1, column 21: imex.channelIDs is neither [] nor [0]"},
		{"imex: {channelIDs: [all]}", "line 1, column 21: imex.channelIDs is neither [] nor [0]"},
		{"imex:\n  channelIDs:\n  - 0\n  - 0\n",
		 "line 4, column 5: imex.channelIDs is neither [] nor [0]"},
		{"resources: []", "line 1, column 12: resources is not a mapping"},
		{"resources: {mig: 1}", "line 1, column 18: resources.mig is not a list"},
		{"sharing: []", "line 1, column 10: sharing is not a mapping"},
		{"sharing: {timeSlicing: []}", "line 1, column 24: sharing.timeSlicing is not a mapping"},
		{"sharing: {timeSlicing: }", "line 1, column 24: sharing.timeSlicing has no resources"},
		{SLICES(""), "line 1, column 24: sharing.timeSlicing has no resources"},
		{SLICES("resources: []"), "line 1, column 36: sharing.timeSlicing has no resources"},
		{SLICES("Resources: [1]"), "line 1, column 24: sharing.timeSlicing has no resources"},
		{SLICES("resources: {}"), "line 1, column 36: sharing.timeSlicing.resources is not a list"},
		{SLICES("resources: [1]"), "line 1, column 37: a shared resource is not a mapping"},
		{SLICES("resources: [{replicas: 2}]"), "line 1, column 37: a shared resource has no name"},
		{SLICES("resources: [{name: [], replicas: 2}]"),
		 "line 1, column 44: a resource's name is not a string"},
		{SLICES("resources: [{name: 5, replicas: 2}]"),
		 "line 1, column 44: a resource's name is not a string"},
		{SLICES("resources: [{name: example.com/gpu, replicas: 2}]"),
		 "line 1, column 44: this is no name of a resource"},
		{SLICES("resources: [{name: -gpu, replicas: 2}]"),
		 "line 1, column 44: this is no name of a resource"},
		{SLICES("resources: [{name: gpu., replicas: 2}]"),
		 "line 1, column 44: this is no name of a resource"},
		{SLICES("resources: [{name: a..b, replicas: 2}]"),
		 "line 1, column 44: this is no name of a resource"},
		{SLICES("resources: [{name: a-.b, replicas: 2}]"),
		 "line 1, column 44: this is no name of a resource"},
		{SLICES("resources: [{name: GPU, replicas: 2}]"),
		 "line 1, column 44: this is no name of a resource"},
		{SLICES("resources: [{name: '', replicas: 2}]"),
		 "line 1, column 44: this is no name of a resource"},
		{SLICES("resources: [{name: "
			"a234567890123456789012345678901234567890123456789012x, replicas: 2}]"),
		 "line 1, column 44: a resource's name has more than 63 bytes"},
		{SLICES("resources: [{name: gpu}]"), "line 1, column 37: there are no replicas"},
		{SLICES(GPU("Replicas: 2")), "line 1, column 37: there are no replicas"},
		{SLICES(GPU("replicas: 1")), "line 1, column 70: there are fewer than 2 replicas"},
		{SLICES(GPU("replicas: -4")), "line 1, column 70: there are fewer than 2 replicas"},
		{SLICES(GPU("replicas: ")), "line 1, column 70: there are fewer than 2 replicas"},
		{SLICES(GPU("replicas: '4'")), "line 1, column 70: replicas is not a number"},
		{SLICES(GPU("replicas: [4]")), "line 1, column 70: replicas is not a number"},
		{SLICES(GPU("replicas: four")), "line 1, column 70: replicas is not a number"},
		{SLICES(GPU("replicas: 4 each")), "line 1, column 70: replicas is not a number"},
		{SLICES(GPU("replicas: true")), "line 1, column 70: replicas is not a number"},
		{SLICES(GPU("replicas: feed")), "line 1, column 70: replicas is not a number"},
		{"a: *b", "line 1, column 4: an alias of no anchor"},
		{SLICES(GPU("devices: some, replicas: 2")),
		 "line 1, column 69: devices is neither all nor a number nor a list"},
		{SLICES(GPU("devices: 0, replicas: 2")),
		 "line 1, column 69: devices is neither all nor a number nor a list"},
		{SLICES(GPU("devices: {}, replicas: 2")),
		 "line 1, column 69: devices is neither all nor a number nor a list"},
		{SLICES(GPU("rename: '', replicas: 2")), "line 1, column 68: this is no name of a resource"},
		{SLICES("renameByDefault: maybe, " GPU("replicas: 2")),
		 "line 1, column 42: renameByDefault is neither true nor false"},
		{SLICES("failRequestsGreaterThanOne: 1, " GPU("replicas: 2")),
		 "line 1, column 53: failRequestsGreaterThanOne is neither true nor false"},
		{"sharing:\n  mps:\n    failRequestsGreaterThanOne: 'yes'\n"
		 "    resources: [{name: nvidia.com/gpu, replicas: 2}]\n",
		 "line 3, column 33: failRequestsGreaterThanOne is neither true nor false"},
		{"sharing: {mps: {" GPU("replicas: 2") "}, timeSlicing: {}}",
		 "line 1, column 81: sharing.timeSlicing has no resources"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plugin_config config = decode(rows[i].text);
		char error[200];

		snprintf(error, sizeof(error), "%.*s", VIEW_ARG(config.error));
		if (i == 0)
			error[strlen(rows[0].error)] = '\0';
		assert_string_equal(error, rows[i].error);
		assert_text(config.unsupported, "");
		assert_text(config.mig_strategy, "");
		assert_int_equal(config.sharing, PLUGIN_CONFIG_NOT_SHARED);
		assert_int_equal(config.shared.count, 0);
		assert_int_equal(config.dead, 0);
	}
}

static void what_the_plugin_may_accept_and_is_not_read_here_is_no_error(void **state)
{
	static const struct {
		const char *text, *unsupported;
	} rows[] = {
		{"<<: {a: b}", "line 1, column 1: a merged key"},
		{"version: !!str v1", "line 1, column 10: a tag is not understood"},
		{SLICES(GPU("replicas: 0x4")), "line 1, column 70: replicas is not a decimal number"},
		{SLICES(GPU("replicas: 4.0")), "line 1, column 70: replicas is not a decimal number"},
		{SLICES(GPU("replicas: +4")), "line 1, column 70: replicas is not a decimal number"},
		{SLICES(GPU("replicas: .4e+1")), "line 1, column 70: replicas is not a decimal number"},
		{"imex: {channelIDs: [0x0]}", "line 1, column 21: a channel is not a decimal number"},
		{SLICES(GPU("replicas: 0o4")), "line 1, column 70: replicas is not a decimal number"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plugin_config config = decode(rows[i].text);
		char unsupported[200];

		snprintf(unsupported, sizeof(unsupported), "%.*s", VIEW_ARG(config.unsupported));
		assert_string_equal(unsupported, rows[i].unsupported);
		assert_text(config.error, "");
		assert_int_equal(config.shared.count, 0);
	}
}

static void more_shared_resources_than_the_limit_are_not_read(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_MIB);
	sbuf_printf(&text, "sharing: {timeSlicing: {resources: [");
	for (unsigned i = 0; i <= LIMIT_CONFIG_RESOURCES; i++) {
		sbuf_printf(&text, "{name: r%u, replicas: 2},\n", i);
		if (i + 2 < LIMIT_CONFIG_RESOURCES)
			continue;
		CLEANUP(sbuf_deinit) struct sbuf whole;
		sbuf_init(&whole, LIMIT_MIB);
		sbuf_printf(&whole, "%s]}}", sbuf_text(&text));
		struct plugin_config config = decode(sbuf_text(&whole));
		assert_int_equal(config.shared.count, i < LIMIT_CONFIG_RESOURCES ? i + 1 : 0);
		assert_int_equal(config.unsupported.len > 0, i == LIMIT_CONFIG_RESOURCES);
	}
}

/* A billion laughs: each level would be ten times the one before. */
static void what_would_explode_is_not_read_and_is_no_error(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	(void)state;
	sbuf_init(&text, LIMIT_MIB);
	sbuf_printf(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 10; i++) {
		sbuf_printf(&text, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			sbuf_printf(&text, "*a%d,", i - 1);
		sbuf_printf(&text, "]\n");
	}
	struct plugin_config config = decode(sbuf_text(&text));
	assert_text(config.unsupported, "line 5, column 26: aliases stand for too many values");
	assert_text(config.error, "");
	assert_true(arena.allocated < LIMIT_MIB);
}

static void without_memory_nothing_is_said(void **state)
{
	static const char *const texts[] = {
		"flags: {migStrategy: none}\n" SLICES(GPU("rename: x, replicas: 2")), "version: v2",
		"a: [", "a: *b"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		bool failed = true;

		for (unsigned k = 1; failed; k++) {
			CLEANUP(arena_deinit) struct arena own = {0};
			struct plugin_config config;
			struct error err = {0};

			arena_init(&own, LIMIT_CONFIG_ARENA);
			failing_malloc_at(k);
			int result = plugin_config_doc_decode(VIEW("key"), view_from(texts[i]), &own,
							      &config, &err);
			failed = failing_malloc_off();
			assert_int_equal(result, failed ? -1 : 0);
			assert_int_equal(err.kind == ERROR_NO_MEMORY, failed);
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_configuration_means_what_it_means_to_the_plugin, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_has_no_effect_is_noted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_device_lists_that_are_written_are_kept, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_the_plugin_refuses_is_an_error_with_its_place, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_plugin_may_accept_and_is_not_read_here_is_no_error, set_up, tear_down),
	cmocka_unit_test_setup_teardown(more_shared_resources_than_the_limit_are_not_read, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_would_explode_is_not_read_and_is_no_error, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_nothing_is_said, set_up, tear_down),
};

TEST_MAIN(tests)
