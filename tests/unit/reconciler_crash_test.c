/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A controller that is killed between any two of its writes, and the next one that makes it good. With
 * a join of our own in the place of join/join.c: it wants of each reported device an object with so
 * many slots, or none. The server keeps objects with versions, and refuses what is out of date.
 */

#include "lib/test_main.h"

#include <limits.h>
#include <stdlib.h>

#include "base/limits.h"
#include "controller/reconciler.h"
#include "schema/attribution_doc.h"

#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"
#include "lib/fake_stopwatch.inc"

#define N_DEVICES 3
#define NO_STATUS (-1)
#define NEVER UINT_MAX

/* What becomes of the write at which the controller is killed. */
enum death { BEFORE_IT, BEHIND_IT };

struct object {
	bool is_there;
	int64_t slots; /* or NO_STATUS */
	unsigned version;
};

static struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct reconciler *reconciler;
	bool is_gone; /* the node: the objects are to be deleted */
	int64_t wanted;
	struct object objects[N_DEVICES];
	unsigned version;
	unsigned n_writes;  /* that were sent in this history, refused ones too */
	unsigned killed_at; /* the write with this number; NEVER */
	enum death death;
	bool is_dead;
	unsigned n_taken;   /* writes that changed an object */
	unsigned n_refused; /* writes that did not fit what the server has */
} world;

static struct report report;
static struct report_device devices[N_DEVICES];
static char uuids[N_DEVICES][48];

/* The join */

bool join_is_by_name(const struct join_device *device, const struct attribution_tenant *tenant)
{
	(void)device, (void)tenant;
	return false;
}

static struct join_device decide(const struct join_input *input, struct arena *arena, unsigned d)
{
	struct join_device joined = {.action = JOIN_WRITE, .uuid = view_from(uuids[d])};
	char *name = arena_alloc(arena, joined.uuid.len, 1);

	assert_non_null(name);
	memcpy(name, joined.uuid.ptr, joined.uuid.len);
	memcpy(name, "gpu-", 4);
	joined.name = (struct view){name, joined.uuid.len};
	joined.status.node_name = input->node_name;
	joined.status.slots.total = world.wanted;
	for (size_t i = 0; i < input->n_previous; i++)
		if (view_equal(input->previous[i].object->name, joined.name))
			joined.previous = input->previous[i].object;
	if (joined.previous && joined.previous->status.slots.total == world.wanted)
		joined.action = JOIN_KEEP;
	if (world.is_gone)
		joined.action = joined.previous ? JOIN_DELETE : JOIN_KEEP;
	return joined;
}

int join_node(const struct join_input *input, struct arena *arena, struct join_result *ret_result,
	      struct error *err)
{
	struct join_result result = {.again_in_ms = -1};

	(void)err;
	result.devices = arena_alloc(arena, N_DEVICES, sizeof(*result.devices));
	assert_non_null(result.devices);
	for (unsigned d = 0; input->report && d < N_DEVICES; d++)
		result.devices[result.n_devices++] = decide(input, arena, d);
	*ret_result = result;
	return 0;
}

/* The server */

static void render(unsigned d, char *ret, size_t size)
{
	const struct object *object = &world.objects[d];
	char status[96] = "";

	if (object->slots != NO_STATUS)
		snprintf(status, sizeof(status),
			 ",\"status\":{\"nodeName\":\"n\",\"slots\":{\"total\":%d}}", (int)object->slots);
	snprintf(ret, size,
		 "{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","
		 "\"metadata\":{\"name\":\"gpu-%s\",\"uid\":\"u\",\"resourceVersion\":\"%u\","
		 "\"generation\":1},\"spec\":{\"uuid\":\"%s\"}%s}",
		 uuids[d] + 4, object->version, uuids[d], status);
}

/* False if the write does not fit the object that is there. */
static bool take(const struct apiclient_request *request, unsigned d)
{
	struct object *object = &world.objects[d];
	char version[48];

	snprintf(version, sizeof(version), "\"resourceVersion\":\"%u\"", object->version);
	if (strcmp(request->method, "POST") == 0) {
		if (object->is_there)
			return false;
		*object = (struct object){true, NO_STATUS, ++world.version};
		return true;
	}
	if (!object->is_there || !strstr(request->body, version))
		return false;
	if (strcmp(request->method, "DELETE") == 0)
		object->is_there = false;
	object->slots = world.wanted;
	object->version = ++world.version;
	return true;
}

static unsigned device_of(const struct apiclient_request *request)
{
	const char *uuid = strstr(request->body, "\"uuid\":\"GPU-");
	const char *digits = uuid ? uuid + 12 : strstr(request->path, "/gpu-") + 5;

	return (unsigned)strtoul(digits + 24, NULL, 10);
}

static void carry_out(unsigned i)
{
	const struct apiclient_request *request = &fake_requests[i];
	unsigned d = device_of(request), number = world.n_writes++;
	char body[1024];

	world.is_dead = number == world.killed_at;
	if (world.is_dead && world.death == BEFORE_IT)
		return;
	bool is_taken = take(request, d);
	world.n_taken += is_taken;
	world.n_refused += !is_taken;
	if (world.is_dead)
		return;
	render(d, body, sizeof(body));
	if (is_taken)
		fake_apiclient_answer(i, body);
	else
		fake_apiclient_fail(i, ERROR_CONFLICT);
}

static void answer(unsigned i)
{
	const struct apiclient_request *request = &fake_requests[i];
	char body[1024];

	if (strcmp(request->method, "GET") != 0) {
		carry_out(i);
	} else if (strstr(request->path, "/nodes?")) { /* is there still such a node? */
		fake_apiclient_answer(i, "{\"kind\":\"PartialObjectMetadataList\","
					 "\"metadata\":{},\"items\":null}");
	} else if (world.objects[device_of(request)].is_there) {
		render(device_of(request), body, sizeof(body));
		fake_apiclient_answer(i, body);
	} else {
		fake_apiclient_fail(i, ERROR_NOT_FOUND);
	}
}

/* Half a minute passes, or less if the controller is killed. */
static void pass(void)
{
	for (unsigned i = 0; i < 300 && !world.is_dead; i++) {
		fake_loop_advance(world.loop, 100);
		for (unsigned k = 0; k < n_fake_requests && !world.is_dead; k++)
			if (fake_requests[k].open) {
				answer(k);
				fake_loop_advance(world.loop, 0);
			}
		if (!world.is_dead)
			fake_apiclient_reset();
	}
}

/* The controller */

static bool is_ready(void *owner)
{
	(void)owner;
	return true;
}

static void release(void *owner)
{
	(void)owner;
}

static void tell_report(void)
{
	struct error err;

	assert_int_equal(inventory_node_state_put_report(world.inventory, &report, release, NULL,
							 fake_now_ms, &err),
			 0);
}

static void tell_object(unsigned d)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct attribution object;
	char body[1024];
	struct error err;

	render(d, body, sizeof(body));
	arena_init(&arena, LIMIT_KIB * 16);
	assert_int_equal(attribution_doc_decode(view_from(body), &arena, &object, &err), 0);
	assert_int_equal(inventory_put_attribution(world.inventory, &object, &arena, STORE_UPSERT,
						   world.objects[d].version, &err), 0);
}

static void start(void)
{
	struct reconciler_config config = {.max_requests = 2, .is_ready = is_ready, .seed = 1};
	struct error err;

	fake_apiclient_reset();
	world.is_dead = false;
	assert_int_equal(loop_new(&world.loop, &err), 0);
	assert_int_equal(inventory_new(fake_now_ms, &world.inventory, &err), 0);
	config.loop = world.loop;
	config.inventory = world.inventory;
	assert_int_equal(reconciler_new(&config, &world.reconciler, &err), 0);
	for (unsigned d = 0; d < N_DEVICES; d++) /* as the watches begin */
		if (world.objects[d].is_there)
			tell_object(d);
	tell_report();
}

static void stop(void)
{
	reconciler_free(world.reconciler);
	inventory_free(world.inventory);
	loop_free(world.loop);
}

static void restart(void)
{
	stop();
	start();
}

/* Something changes; in the end it is so at the server, whoever was killed meanwhile. */
static void live_through(int64_t wanted, bool is_gone)
{
	world.wanted = wanted;
	world.is_gone = is_gone;
	tell_report();
	pass();
	if (world.is_dead) {
		restart();
		pass();
	}
	for (unsigned d = 0; d < N_DEVICES; d++) {
		assert_int_equal(world.objects[d].is_there, !is_gone);
		assert_true(is_gone || world.objects[d].slots == wanted);
	}
}

/* From no object to none. The number of writes that were sent. */
static unsigned live(unsigned killed_at, enum death death)
{
	world = (struct world){.killed_at = killed_at, .death = death};
	start();
	live_through(4, false);
	live_through(5, false);
	live_through(5, true);
	assert_int_equal(world.n_taken, 4 * N_DEVICES);
	assert_int_equal(world.n_refused, 0);
	restart();
	unsigned n = world.n_writes;
	pass();
	assert_int_equal(world.n_writes, n);
	stop();
	return n;
}

TEST(whoever_is_killed_before_any_of_its_writes_is_made_good_by_the_next)
{
	unsigned n = live(NEVER, BEFORE_IT);

	assert_int_equal(n, 4 * N_DEVICES);
	for (unsigned k = 0; k < n; k++)
		assert_int_equal(live(k, BEFORE_IT), n + 1);
}

/* The server has taken it, and nobody was told. */
TEST(whoever_is_killed_behind_any_of_its_writes_doubles_none)
{
	for (unsigned k = 0; k < 4 * N_DEVICES; k++)
		assert_int_equal(live(k, BEHIND_IT), 4 * N_DEVICES);
}

static int set_up(void **state)
{
	(void)state;
	for (unsigned d = 0; d < N_DEVICES; d++) {
		snprintf(uuids[d], sizeof(uuids[d]), "GPU-00000000-0000-0000-0000-%012u", d);
		devices[d].uuid = view_from(uuids[d]);
	}
	report = (struct report){
		.version = 1, .node = VIEW("n"), .boot_id = VIEW("boot"),
		.devices = {devices, N_DEVICES, true},
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(whoever_is_killed_before_any_of_its_writes_is_made_good_by_the_next),
	cmocka_unit_test_set_up(whoever_is_killed_behind_any_of_its_writes_doubles_none),
};

TEST_MAIN(tests)
