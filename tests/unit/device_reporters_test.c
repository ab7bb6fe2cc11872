/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "model/device_reporters.h"

#define N_NODES 6u

static struct node_state_set node_states;
static struct device_reporters reporters;
static struct node_state *node_state[N_NODES];

static struct report_device both_devices[] = {
	{.uuid = VIEW_INIT("GPU-AB")}, {.uuid = VIEW_INIT("GPU-cd")}, {.uuid = VIEW_INIT("GPU-AB")},
};
static const struct report first = {.devices = {both_devices, 1, true}};
static const struct report both = {.devices = {both_devices, 3, true}};
static const struct report none = {0};

static int set_up(void **state)
{
	struct error err;

	(void)state;
	node_state_set_init(&node_states);
	device_reporters_init(&reporters);
	for (unsigned i = 0; i < N_NODES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%u", i);
		node_state[i] = node_state_ensure(&node_states, view_from(name), &err);
		if (!node_state[i])
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_NODES; i++) {
		device_reporters_drop(&reporters, node_state[i], &both, NULL);
		node_state_release(&node_states, node_state[i]);
	}
	device_reporters_deinit(&reporters);
	node_state_set_deinit(&node_states);
	return 0;
}

static uint64_t added_at; /* ms */

static void add(unsigned i, const struct report *report)
{
	struct error err;

	assert_int_equal(device_reporters_add(&reporters, node_state[i], report, added_at, &err),
			 0);
}

/* How many nodes report the device of the object. */
static unsigned count(const char *object)
{
	unsigned n = 0;

	while (device_reporters_node_state(&reporters, view_from(object), n))
		n++;
	return n;
}

static void the_object_of_a_device_is_its_uuid_in_lower_case(void **state)
{
	(void)state;
	static const struct {
		const char *uuid;
		const char *name;
	} rows[] = {
		{"GPU-0AbF-Z", "gpu-0abf-z"}, {"gpu-@[`{", "gpu-@[`{"}, {"", ""},
	};
	char buffer[DEVICE_REPORTERS_NAME_SIZE], long_uuid[DEVICE_REPORTERS_NAME_SIZE + 10];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_true(
			view_equal(device_reporters_object_name(view_from(rows[i].uuid), buffer),
				   view_from(rows[i].name)));
	memset(long_uuid, 'A', sizeof(long_uuid));
	struct view name =
		device_reporters_object_name((struct view){long_uuid, sizeof(long_uuid)}, buffer);
	assert_int_equal(name.len, DEVICE_REPORTERS_NAME_SIZE);
	assert_int_equal(name.ptr[name.len - 1], 'a');
	name = device_reporters_object_name(
		(struct view){long_uuid, DEVICE_REPORTERS_NAME_SIZE - 1}, buffer);
	assert_int_equal(name.len, DEVICE_REPORTERS_NAME_SIZE - 1);
}

static void each_node_that_reports_a_device_is_found(void **state)
{
	(void)state;
	assert_int_equal(count("gpu-ab"), 0);
	add(0, &both);
	add(1, &first);
	assert_ptr_equal(device_reporters_node_state(&reporters, VIEW("gpu-ab"), 0), node_state[0]);
	assert_ptr_equal(device_reporters_node_state(&reporters, VIEW("gpu-ab"), 1), node_state[1]);
	assert_null(device_reporters_node_state(&reporters, VIEW("gpu-ab"), 2));
	assert_int_equal(count("gpu-cd"), 1);
	assert_int_equal(count("GPU-AB"), 0);
}

static void a_node_reports_a_device_once_however_often_it_says_so(void **state)
{
	(void)state;
	add(0, &both);
	add(0, &both);
	assert_int_equal(count("gpu-ab"), 1);
	assert_int_equal(count("gpu-cd"), 1);
}

static void however_many_nodes_report_a_device_each_is_told(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_NODES; i++)
		add(i, &first);
	assert_int_equal(count("gpu-ab"), N_NODES);
	device_reporters_drop(&reporters, node_state[5], &first, NULL);
	assert_int_equal(count("gpu-ab"), N_NODES - 1);
	for (unsigned i = 0; i < N_NODES; i++)
		device_reporters_drop(&reporters, node_state[i], &first, NULL);
	assert_int_equal(count("gpu-ab"), 0);
}

static void what_the_next_report_still_names_is_kept(void **state)
{
	(void)state;
	add(0, &both);
	add(1, &both);
	device_reporters_drop(&reporters, node_state[0], &both, &first);
	assert_int_equal(count("gpu-ab"), 2);
	assert_int_equal(count("gpu-cd"), 1);
	device_reporters_drop(&reporters, node_state[0], &first, &none);
	assert_int_equal(count("gpu-ab"), 1);
	device_reporters_drop(&reporters, node_state[0], NULL, NULL);
	assert_int_equal(count("gpu-ab"), 1);
	device_reporters_drop(&reporters, node_state[1], &both, NULL);
	assert_int_equal(reporters.by_name.count, 0);
}

static void the_age_is_that_of_the_youngest_report_of_another_node(void **state)
{
	(void)state;
	assert_int_equal(device_reporters_ages(&reporters, VIEW("gpu-ab"), NULL, 1000).youngest_ms,
			 -1);
	for (unsigned i = 0; i < 3; i++) {
		add(i, &first);
		node_state[i]->report_at = 1000 + 100 * i;
	}
	assert_int_equal(
		device_reporters_ages(&reporters, VIEW("gpu-ab"), node_state[0], 2000).youngest_ms,
		800);
	assert_int_equal(
		device_reporters_ages(&reporters, VIEW("gpu-ab"), node_state[2], 2000).youngest_ms,
		900);
	assert_int_equal(device_reporters_ages(&reporters, VIEW("gpu-ab"), NULL, 2000).youngest_ms,
			 800);
	node_state[0]->report_at = 1500;
	assert_int_equal(
		device_reporters_ages(&reporters, VIEW("gpu-ab"), node_state[2], 2000).youngest_ms,
		500);
	node_state[0]->report_at = 2000;
	assert_int_equal(
		device_reporters_ages(&reporters, VIEW("gpu-ab"), node_state[2], 2000).youngest_ms,
		0);
	device_reporters_drop(&reporters, node_state[0], &first, NULL);
	device_reporters_drop(&reporters, node_state[1], &first, NULL);
	assert_int_equal(
		device_reporters_ages(&reporters, VIEW("gpu-ab"), node_state[2], 2000).youngest_ms,
		-1);
}

static void a_device_is_held_from_its_first_report_until_one_that_lacks_it(void **state)
{
	(void)state;
	const struct report_device devices[] = {{.uuid = VIEW_INIT("GPU-AB")}};
	const struct report report = {.devices = {(void *)(uintptr_t)devices, 1, true}};
	const struct report empty = {.devices = {NULL, 0, true}};

	assert_int_equal(device_reporters_ages(&reporters, VIEW("gpu-ab"), NULL, 1000).held_ms, -1);
	added_at = 1000;
	add(0, &report);
	added_at = 1500;
	add(1, &report);
	add(0, &report);
	assert_int_equal(device_reporters_ages(&reporters, VIEW("gpu-ab"), NULL, 2000).held_ms,
			 1000);
	assert_int_equal(
		device_reporters_ages(&reporters, VIEW("gpu-ab"), node_state[0], 2000).held_ms,
		500);
	device_reporters_drop(&reporters, node_state[0], &report, &empty);
	assert_int_equal(device_reporters_ages(&reporters, VIEW("gpu-ab"), NULL, 2000).held_ms,
			 500);
	added_at = 2000;
	add(0, &report);
	assert_int_equal(
		device_reporters_ages(&reporters, VIEW("gpu-ab"), node_state[1], 2000).held_ms, 0);
	device_reporters_drop(&reporters, node_state[0], &report, NULL);
	device_reporters_drop(&reporters, node_state[1], &report, NULL);
	added_at = 0;
}

static void what_was_added_before_memory_ran_out_can_be_dropped(void **state)
{
	(void)state;
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		struct error err = {0};

		device_reporters_deinit(&reporters);
		device_reporters_init(&reporters);
		failing_malloc_at(k);
		int result = device_reporters_add(&reporters, node_state[0], &both, 0, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
		assert_int_equal(reporters.by_name.count, count("gpu-ab") + count("gpu-cd"));
		device_reporters_drop(&reporters, node_state[0], &both, NULL);
		assert_int_equal(reporters.by_name.count, 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_device_is_held_from_its_first_report_until_one_that_lacks_it,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_object_of_a_device_is_its_uuid_in_lower_case, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		each_node_that_reports_a_device_is_found, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_reports_a_device_once_however_often_it_says_so, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		however_many_nodes_report_a_device_each_is_told, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_next_report_still_names_is_kept, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_age_is_that_of_the_youngest_report_of_another_node, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_was_added_before_memory_ran_out_can_be_dropped, set_up, tear_down),
};

TEST_MAIN(tests)
