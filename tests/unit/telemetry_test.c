/* SPDX-License-Identifier: Apache-2.0 */

/* What is shown is read from the text that /metrics answers with. */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"
#include "controller/reconciler.h"
#include "controller/telemetry.h"
#include "controller/watches.h"

#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"

struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct watches *watches;
	struct reconciler *reconciler;
	struct telemetry *telemetry;
};

struct apiclient_counters apiclient_counters(const struct apiclient *client)
{
	(void)client;
	return (struct apiclient_counters){.by_code = {1, 2, 3, 4, 5, 6}, .probes = 7, .outages = 8};
}

static bool is_ready(void *owner)
{
	(void)owner;
	return false;
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	fake_apiclient_reset();
	world = (struct world){0};
	*state = &world;
	if (loop_new(&world.loop, &err) < 0 ||
	    inventory_new(fake_now_ms, &world.inventory, &err) < 0)
		return -1;
	const struct watches_config watched = {.initial = REFLECTOR_LIST, .seed = 1};
	const struct reconciler_config config = {.loop = world.loop,
						 .inventory = world.inventory,
						 .max_requests = 1,
						 .is_ready = is_ready,
						 .seed = 1};
	if (watches_new(world.loop, NULL, world.inventory, &watched, &world.watches, &err) < 0 ||
	    reconciler_new(&config, &world.reconciler, &err) < 0 ||
	    telemetry_new(&world.telemetry, &err) < 0)
		return -1;
	telemetry_watch(world.telemetry,
			&(struct telemetry_sources){NULL, world.inventory, world.watches,
						    world.reconciler});
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	telemetry_free(world->telemetry);
	reconciler_free(world->reconciler);
	watches_free(world->watches);
	inventory_free(world->inventory);
	loop_free(world->loop);
	return 0;
}

/* /metrics has this line now. */
static void assert_shows(struct world *world, const char *line)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	char wanted[256];

	sbuf_init(&text, LIMIT_MIB);
	metric_render(telemetry_front_metrics(world->telemetry).registry, &text);
	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	if (!strstr(sbuf_text(&text), wanted))
		fail_msg("no line '%s' in:\n%s", line, sbuf_text(&text));
}

static void put_object(struct world *world, const char *name, uint64_t version)
{
	struct arena arena;
	struct error err;

	arena_init(&arena, LIMIT_KIB);
	struct attribution object = {.name = view_from(name), .uid = view_from(name),
				     .resource_version = VIEW("1")};
	assert_int_equal(inventory_put_attribution(world->inventory, &object, &arena, STORE_UPSERT,
						   version, &err), 0);
	arena_deinit(&arena);
}

static void nothing_is_shown_before_it_is_collected(void **state)
{
	put_object(*state, "gpu-a", 1);
	assert_shows(*state, "gpuattribution_watch_objects{resource=\"gpuattributions\"} 0");
	telemetry_collect(((struct world *)*state)->telemetry);
	assert_shows(*state, "gpuattribution_watch_objects{resource=\"gpuattributions\"} 1");
}

static void what_is_less_by_now_is_shown_as_less(void **state)
{
	struct world *world = *state;

	put_object(world, "gpu-a", 1);
	put_object(world, "gpu-b", 2);
	telemetry_collect(world->telemetry);
	assert_shows(world, "gpuattribution_watch_objects{resource=\"gpuattributions\"} 2");
	inventory_remove(world->inventory, INVENTORY_ATTRIBUTIONS, VIEW("gpu-a"), 3, fake_now_ms);
	telemetry_collect(world->telemetry);
	assert_shows(world, "gpuattribution_watch_objects{resource=\"gpuattributions\"} 1");
}

static void requests_are_shown_by_class_of_answer(void **state)
{
	struct world *world = *state;

	telemetry_collect(world->telemetry);
	assert_shows(world, "gpuattribution_apiserver_requests_total{code=\"<error>\"} 1");
	assert_shows(world, "gpuattribution_apiserver_requests_total{code=\"5xx\"} 6");
	assert_shows(world, "gpuattribution_apiserver_probes_total 7");
	assert_shows(world, "gpuattribution_apiserver_outages_total 8");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(nothing_is_shown_before_it_is_collected, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_is_less_by_now_is_shown_as_less, set_up, tear_down),
	cmocka_unit_test_setup_teardown(requests_are_shown_by_class_of_answer, set_up, tear_down),
};

TEST_MAIN(tests)
