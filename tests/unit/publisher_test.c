/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/publisher.h"

#include "lib/fake_apiclient.inc"

#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define NAME "gpu-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define OBJECT(version)                                                                   \
	"{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","    \
	"\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"u1\",\"resourceVersion\":\"" version \
	"\",\"generation\":1},\"spec\":{\"uuid\":\"" UUID "\"},"                          \
	"\"status\":{\"nodeName\":\"gpu-a\"}}"

struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct publisher *publisher;
	unsigned n_done;
	enum error_kind kind; /* of the last plan */
	bool created;
	uint32_t retry_after_ms;
	bool may_write;
};

static void plan_done(void *owner, struct view node_name, bool created, const struct error *error)
{
	struct world *world = owner;

	assert_true(view_equal(node_name, VIEW("gpu-a")));
	world->n_done++;
	world->kind = error ? error->kind : ERROR_NONE;
	world->retry_after_ms = error ? error->retry_after_ms : 0;
	world->created = created;
	loop_stop(world->loop);
}

static bool may_write(void *owner)
{
	return ((struct world *)owner)->may_write;
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	fake_apiclient_reset();
	world = (struct world){.may_write = true};
	if (loop_new(&world.loop, &err) < 0 || inventory_new(0, &world.inventory, &err) < 0)
		return -1;
	const struct publisher_config config = {
		.loop = world.loop, .inventory = world.inventory, .max_requests = 2,
		.may_write = may_write, .done = plan_done, .owner = &world,
	};
	*state = &world;
	return publisher_new(&config, &world.publisher, &err);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	publisher_free(world->publisher);
	inventory_free(world->inventory);
	loop_free(world->loop);
	return 0;
}

/* Runs the loop until a plan is done. */
static void wait_done(struct world *world)
{
	struct error err;

	assert_int_equal(loop_run(world->loop, &err), 0);
}

static const struct attribution previous = {
	.name = VIEW_INIT(NAME), .uid = VIEW_INIT("u1"), .resource_version = VIEW_INIT("7"),
	.generation = 1, .uuid = VIEW_INIT(UUID),
};

static struct join_device device(enum join_action action, const struct attribution *object)
{
	return (struct join_device){
		.action = action, .name = VIEW(NAME), .uuid = VIEW(UUID), .previous = object,
		.status = {.node_name = VIEW("gpu-a")},
	};
}

static size_t apply(struct world *world, const struct join_device *devices, size_t n)
{
	struct error err;
	size_t writes;

	assert_int_equal(publisher_apply(world->publisher, VIEW("gpu-a"), devices, n, &writes,
					 &err), 0);
	return writes;
}

static void a_plan_without_changes_sends_nothing_and_is_done_at_once(void **state)
{
	struct world *world = *state;
	struct join_device keep = device(JOIN_KEEP, &previous);

	assert_int_equal(apply(world, &keep, 1), 0);
	assert_int_equal(n_fake_requests, 0);
	assert_int_equal(world->n_done, 0);
}

static void a_status_is_put_with_the_version_that_it_replaces(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	assert_int_equal(apply(world, &write, 1), 1);
	assert_int_equal(n_fake_requests, 1);
	assert_string_equal(fake_requests[0].method, "PUT");
	assert_non_null(strstr(fake_requests[0].path, NAME "/status"));
	assert_non_null(strstr(fake_requests[0].body, "\"resourceVersion\":\"7\""));
	fake_apiclient_answer(0, OBJECT("8"));
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NONE);
	assert_int_equal(publisher_counters(world->publisher).updated, 1);
}

static void the_answer_is_in_the_inventory_before_the_plan_is_done(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	fake_apiclient_answer(0, OBJECT("8"));
	assert_int_equal(world->n_done, 0);
	const struct attribution *known = inventory_find_attribution(world->inventory, VIEW(NAME));
	assert_non_null(known);
	assert_true(view_equal(known->resource_version, VIEW("8")));
	wait_done(world);
}

static void a_new_device_is_posted_without_a_status(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, NULL);

	apply(world, &write, 1);
	assert_string_equal(fake_requests[0].method, "POST");
	assert_non_null(strstr(fake_requests[0].body, "\"uuid\":\"" UUID "\""));
	assert_null(strstr(fake_requests[0].body, "nodeName"));
	fake_apiclient_answer(0, OBJECT("1"));
	wait_done(world);
	assert_int_equal(publisher_counters(world->publisher).created, 1);
	assert_non_null(inventory_find_attribution(world->inventory, VIEW(NAME)));
}

static void a_conflict_reads_the_object_and_asks_for_a_new_plan(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	fake_apiclient_fail(0, ERROR_CONFLICT);
	assert_int_equal(n_fake_requests, 2);
	assert_string_equal(fake_requests[1].method, "GET");
	fake_apiclient_answer(1, OBJECT("9"));
	wait_done(world);
	assert_int_equal(world->kind, ERROR_CONFLICT);
	assert_int_equal(publisher_counters(world->publisher).updated, 0);
	const struct attribution *known = inventory_find_attribution(world->inventory, VIEW(NAME));
	assert_true(view_equal(known->resource_version, VIEW("9")));
}

static void a_deletion_names_the_very_object_and_version(void **state)
{
	struct world *world = *state;
	struct join_device gone = device(JOIN_DELETE, &previous);

	apply(world, &gone, 1);
	assert_string_equal(fake_requests[0].method, "DELETE");
	assert_non_null(strstr(fake_requests[0].body, "\"uid\":\"u1\""));
	assert_non_null(strstr(fake_requests[0].body, "\"resourceVersion\":\"7\""));
	fake_apiclient_fail(0, ERROR_NOT_FOUND);
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NONE);
}

static void an_object_that_somebody_deleted_is_forgotten(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	fake_apiclient_answer(0, OBJECT("8"));
	wait_done(world);
	apply(world, &write, 1);
	fake_apiclient_fail(1, ERROR_NOT_FOUND);
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NOT_FOUND);
	assert_null(inventory_find_attribution(world->inventory, VIEW(NAME)));
}

static void no_more_requests_are_under_way_than_allowed(void **state)
{
	struct world *world = *state;
	struct join_device write[5];

	for (unsigned i = 0; i < 5; i++)
		write[i] = device(JOIN_WRITE, &previous);
	assert_int_equal(apply(world, write, 5), 5);
	assert_int_equal(n_fake_requests, 2);
	for (unsigned i = 0; i < 5; i++)
		fake_apiclient_answer(i, OBJECT("8"));
	assert_int_equal(n_fake_requests, 5);
	wait_done(world);
	assert_int_equal(world->n_done, 1);
}

static void one_refused_object_does_not_hide_that_another_must_be_tried_again(void **state)
{
	struct world *world = *state;
	struct join_device write[2] = {device(JOIN_WRITE, &previous), device(JOIN_WRITE, &previous)};

	apply(world, write, 2);
	fake_apiclient_fail(0, ERROR_REJECTED);
	fake_apiclient_fail(1, ERROR_RETRY);
	wait_done(world);
	assert_int_equal(world->kind, ERROR_RETRY);
	assert_int_equal(publisher_counters(world->publisher).rejected, 1);
}

static void nothing_is_sent_while_writing_is_not_allowed(void **state)
{
	struct world *world = *state;
	struct join_device write[3];

	for (unsigned i = 0; i < 3; i++)
		write[i] = device(JOIN_WRITE, &previous);
	world->may_write = false;
	apply(world, write, 3);
	assert_int_equal(n_fake_requests, 0);
	wait_done(world);
	assert_int_equal(world->kind, ERROR_RETRY);
}

static void an_end_in_the_middle_cancels_what_is_under_way(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	assert_true(fake_requests[0].open);
	publisher_free(world->publisher);
	world->publisher = NULL;
	assert_false(fake_requests[0].open);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		a_plan_without_changes_sends_nothing_and_is_done_at_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_status_is_put_with_the_version_that_it_replaces, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_answer_is_in_the_inventory_before_the_plan_is_done, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_new_device_is_posted_without_a_status, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_conflict_reads_the_object_and_asks_for_a_new_plan, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_deletion_names_the_very_object_and_version, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_object_that_somebody_deleted_is_forgotten, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		no_more_requests_are_under_way_than_allowed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		one_refused_object_does_not_hide_that_another_must_be_tried_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		nothing_is_sent_while_writing_is_not_allowed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_end_in_the_middle_cancels_what_is_under_way, set_up, tear_down),
};

TEST_MAIN(tests)
