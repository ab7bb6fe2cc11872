/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/device_list.h"
#include "lib/failing_malloc.h"
#include "lib/gpu_world.h"

#define OBJECT(uuid, status)                                                                  \
	"{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"spec\":{"   \
	"\"uuid\":\"" uuid "\"},\"status\":" status "}"

static void devices_are_in_the_order_of_node_index_and_uuid(void **state)
{
	(void)state;
	static const char *const objects[] = {
		OBJECT("5", "{}"),
		OBJECT("3", "{\"nodeName\":\"b\",\"device\":{\"index\":0}}"),
		OBJECT("2", "{\"nodeName\":\"a\",\"device\":{\"index\":10}}"),
		OBJECT("4", "{\"nodeName\":\"b\",\"device\":{\"index\":0}}"),
		OBJECT("1", "{\"nodeName\":\"a\",\"device\":{\"index\":9}}"),
	};
	struct error err;
	CLEANUP(device_list_deinit) struct device_list list;
	device_list_init(&list, NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		assert_int_equal(device_list_take(&list, view_from(objects[i]), &err), 0);
	assert_int_equal(device_list_sort(&list, &err), 0);
	assert_int_equal(list.n_devices, ARRAY_SIZE(objects));
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		assert_int_equal(list.devices[i]->uuid.ptr[0], '1' + (int)i);
}

static void tenants_are_in_the_order_of_their_names(void **state)
{
	(void)state;
	static const char object[] = OBJECT("1", "{\"tenants\":["
		"{\"podUID\":\"1\",\"container\":\"z\",\"podNamespace\":\"b\",\"podName\":\"x\"},"
		"{\"podUID\":\"2\",\"container\":\"b\",\"podNamespace\":\"a\",\"podName\":\"y\"},"
		"{\"podUID\":\"2\",\"container\":\"a\",\"podNamespace\":\"a\",\"podName\":\"y\"},"
		"{\"podUID\":\"3\",\"container\":\"c\",\"podNamespace\":\"a\",\"podName\":\"x\"}]}");
	struct error err;
	CLEANUP(device_list_deinit) struct device_list list;
	device_list_init(&list, NULL, NULL);
	assert_int_equal(device_list_take(&list, view_from(object), &err), 0);
	assert_int_equal(device_list_sort(&list, &err), 0);
	struct array tenants = list.devices[0]->status.tenants;
	static const char expected[] = "cabz";
	for (uint32_t i = 0; i < tenants.count; i++)
		assert_int_equal(ARRAY_AT(tenants, struct attribution_tenant, i)->container.ptr[0],
				 expected[i]);
}

static void partitions_are_known_by_their_uuids_too(void **state)
{
	(void)state;
	static const char *const objects[] = {
		OBJECT("GPU-1", "{\"partitions\":[{\"uuid\":\"MIG-00000001-aaaa\"}]}"),
		OBJECT("GPU-2", "{\"partitions\":[{\"uuid\":\"MIG-00000001-aabb\"}]}"),
	};
	struct error err;
	struct uuid_prefix known;
	CLEANUP(device_list_deinit) struct device_list list;
	uuid_prefix_init(&known);
	device_list_init(&list, NULL, NULL);
	list.known = &known;
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		assert_int_equal(device_list_take(&list, view_from(objects[i]), &err), 0);
	assert_int_equal(uuid_prefix_len(&known, VIEW("MIG-00000001-aaaa")), strlen("MIG-00000001-aaa"));
	uuid_prefix_deinit(&known);
}

static bool is_on_node_a(const void *context, const struct attribution *object)
{
	return view_equal(object->status.node_name, view_from(context));
}

static void only_what_is_wanted_is_kept(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(device_list_deinit) struct device_list list;
	device_list_init(&list, is_on_node_a, "a");
	assert_int_equal(device_list_take(&list, VIEW(OBJECT("1", "{\"nodeName\":\"b\"}")), &err), 0);
	assert_int_equal(list.arena.allocated, 0);
	assert_int_equal(device_list_take(&list, VIEW(OBJECT("2", "{\"nodeName\":\"a\"}")), &err), 0);
	assert_int_equal(device_list_sort(&list, &err), 0);
	assert_int_equal(list.n_devices, 1);
	assert_true(view_equal(list.devices[0]->uuid, VIEW("2")));
}

static void what_cannot_be_read_is_counted_with_the_first_reason(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(device_list_deinit) struct device_list list;
	device_list_init(&list, NULL, NULL);
	assert_int_equal(device_list_take(&list, VIEW("{\"spec\":7}"), &err), 0);
	assert_int_equal(device_list_take(&list, VIEW("nonsense"), &err), 0);
	assert_int_equal(device_list_take(&list, VIEW(OBJECT("1", "{}")), &err), 0);
	assert_int_equal(list.n_unreadable, 2);
	assert_int_equal(list.n_devices, 1);
	assert_non_null(strstr(list.unreadable.text, "spec"));
}

static void a_word_of_a_newer_version_is_not_known(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(device_list_deinit) struct device_list list;
	device_list_init(&list, NULL, NULL);
	assert_int_equal(device_list_take(&list,
		VIEW(OBJECT("1", "{\"sharing\":{\"mode\":\"Quantum\"},\"novel\":{\"a\":[1]}}")), &err), 0);
	assert_int_equal(device_list_sort(&list, &err), 0);
	assert_int_equal(list.devices[0]->status.sharing.mode, ATTRIBUTION_MODE_UNSET);
}

static void devices_beyond_the_room_are_a_failure_that_says_what_to_do(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(device_list_deinit) struct device_list list;
	device_list_init(&list, NULL, NULL);
	list.arena.cap = 100;
	assert_int_equal(device_list_take(&list, VIEW(OBJECT("1", "{}")), &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_non_null(strstr(err.text, "--field-selector"));
}

static void missing_memory_is_said(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct error err;
		CLEANUP(device_list_deinit) struct device_list list;
		device_list_init(&list, NULL, NULL);
		failing_malloc_at(k);
		int result = device_list_take(&list, VIEW(OBJECT("1", "{\"nodeName\":\"b\"}")), &err);
		if (result == 0)
			result = device_list_sort(&list, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(list.n_unreadable, 0);
	}
}

/* Ten thousand devices are some tens of MiB. */
static void a_large_fleet_fits(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(device_list_deinit) struct device_list world;
	CLEANUP(device_list_deinit) struct device_list list;
	gpu_world_devices(&world);
	device_list_init(&list, NULL, NULL);
	size_t per_round = world.arena.allocated;
	assert_true(per_round / world.n_devices * 10000 < DEVICE_LIST_BYTES / 2);
	assert_int_equal(device_list_sort(&list, &err), 0);
	assert_int_equal(list.n_devices, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(devices_are_in_the_order_of_node_index_and_uuid),
	cmocka_unit_test(tenants_are_in_the_order_of_their_names),
	cmocka_unit_test(partitions_are_known_by_their_uuids_too),
	cmocka_unit_test(only_what_is_wanted_is_kept),
	cmocka_unit_test(what_cannot_be_read_is_counted_with_the_first_reason),
	cmocka_unit_test(a_word_of_a_newer_version_is_not_known),
	cmocka_unit_test(devices_beyond_the_room_are_a_failure_that_says_what_to_do),
	cmocka_unit_test(missing_memory_is_said),
	cmocka_unit_test(a_large_fleet_fits),
};
TEST_MAIN(tests)
