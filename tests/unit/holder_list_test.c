/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "base/prng.h"
#include "model/report.h"
#include "schema/holder_list.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

struct fixture {
	struct holder_list list;
	struct arena arena;
};

static int setup(void **state)
{
	static struct fixture fixture;
	fixture.list = (struct holder_list){0};
	arena_init(&fixture.arena, 64 * LIMIT_MIB);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	holder_list_deinit(&fixture->list);
	arena_deinit(&fixture->arena);
	return 0;
}

static void add(struct holder_list *list, const char *pod, const char *resource, const char *id,
		bool mps)
{
	struct holder_device device = {
		.namespace = VIEW_INIT("ns"),
		.pod = view_from(pod),
		.container = VIEW_INIT("c"),
		.resource = view_from(resource),
		.device_id = view_from(id),
		.mps = mps,
	};
	struct error err;
	assert_int_equal(holder_list_add(list, &device, &err), 0);
}

static void any_order_of_adding_gives_the_same_list(void **state)
{
	static const struct {
		const char *pod, *resource, *id;
	} rows[] = {
		{"p", "nvidia.com/gpu", "b"}, {"p", "nvidia.com/gpu", "a"},
		{"p", "nvidia.com/gpu", "a"}, {"q", "nvidia.com/gpu", "c"},
		{"p", "nvidia.com/mig", "x"}, {"p", "nvidia.com/gpu", ""},
	};
	struct fixture *fixture = *state;
	struct prng prng;
	prng_init(&prng, 1);
	for (unsigned round = 0; round < 50; round++) {
		struct array list;
		struct error err;
		size_t start = prng_between(&prng, 0, ARRAY_SIZE(rows) - 1);
		size_t step = round % 2 ? 1 : ARRAY_SIZE(rows) - 1;
		fixture->list.count = 0;
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			size_t k = (start + i * step) % ARRAY_SIZE(rows);
			add(&fixture->list, rows[k].pod, rows[k].resource, rows[k].id, false);
		}
		assert_int_equal(
			holder_list_to_pod_resources(&fixture->list, &fixture->arena, &list, &err),
			0);
		assert_int_equal(list.count, 3);
		const struct report_pod_resource *first = ARRAY_AT(list, struct report_pod_resource,
								   0);
		assert_text(first->name, "p");
		assert_text(first->namespace, "ns");
		assert_text(first->container, "c");
		assert_int_equal(first->device_ids.count, 2);
		assert_text(*ARRAY_AT(first->device_ids, struct view, 0), "a");
		assert_text(*ARRAY_AT(first->device_ids, struct view, 1), "b");
		assert_text(first[1].resource, "nvidia.com/mig");
		assert_text(first[2].name, "q");
	}
}

static void a_resource_without_devices_is_there_and_empty(void **state)
{
	struct fixture *fixture = *state;
	struct array list;
	struct error err;
	add(&fixture->list, "", "nvidia.com/gpu", "", false);
	assert_int_equal(
		holder_list_to_resource_devices(&fixture->list, &fixture->arena, &list, &err), 0);
	assert_int_equal(list.count, 1);
	const struct report_resource_devices *gpus = ARRAY_AT(list, struct report_resource_devices,
							      0);
	assert_true(gpus->device_ids.present);
	assert_int_equal(gpus->device_ids.count, 0);
}

static void mps_counts_if_any_device_of_the_holder_has_it(void **state)
{
	struct fixture *fixture = *state;
	struct array list;
	struct error err;
	add(&fixture->list, "u1", "nvidia.com/gpu", "a", false);
	add(&fixture->list, "u1", "nvidia.com/gpu", "b", true);
	add(&fixture->list, "u2", "nvidia.com/gpu", "c", false);
	assert_int_equal(
		holder_list_to_checkpoint_entries(&fixture->list, &fixture->arena, &list, &err), 0);
	assert_true(ARRAY_AT(list, struct report_checkpoint_entry, 0)->mps);
	assert_false(ARRAY_AT(list, struct report_checkpoint_entry, 1)->mps);
}

static void only_what_may_be_a_gpu_is_kept(void **state)
{
	static const struct {
		const char *resource, *id;
		bool kept;
	} rows[] = {
		{"nvidia.com/gpu", "anything", true},
		{"nvidia.com/gpu", "", true},
		{"example.com/nic", "eth0", false},
		{"example.com/nic", "", false},
		{"example.com/a100", "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f::2", true},
		{"example.com/part", "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", true},
		{"notnvidia.com/gpu", "0", false},
	};
	struct fixture *fixture = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t before = fixture->list.count;
		add(&fixture->list, "p", rows[i].resource, rows[i].id, false);
		assert_int_equal(fixture->list.count - before, rows[i].kept);
	}
}

static void names_longer_than_a_report_may_hold_are_refused(void **state)
{
	static char text[LIMIT_TEXT_RESOURCE + 2];
	struct fixture *fixture = *state;
	struct view is = {text, 0};
	memset(text, 'x', sizeof(text));
	static const struct {
		size_t offset, limit;
	} rows[] = {
		{offsetof(struct holder_device, namespace), LIMIT_TEXT_LABEL},
		{offsetof(struct holder_device, pod), LIMIT_TEXT_NAME},
		{offsetof(struct holder_device, container), LIMIT_TEXT_LABEL},
		{offsetof(struct holder_device, device_id), LIMIT_TEXT_DEVICE_ID},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct holder_device device = {.resource = VIEW_INIT("nvidia.com/gpu")};
		struct view *member = (struct view *)(void *)((char *)&device + rows[i].offset);
		struct error err;
		is.len = rows[i].limit;
		*member = is;
		assert_int_equal(holder_list_add(&fixture->list, &device, &err), 0);
		uint32_t count = fixture->list.count;
		member->len++;
		assert_int_equal(holder_list_add(&fixture->list, &device, &err), -1);
		assert_int_equal(err.kind, ERROR_LIMIT);
		assert_int_equal(fixture->list.count, count);
	}
}

static void devices_holders_and_the_list_end_at_their_limits(void **state)
{
	static char ids[HOLDER_LIST_MAX + 1][8];
	struct fixture *fixture = *state;
	struct array list = {.count = 7};
	struct error err;
	for (unsigned i = 0; i <= HOLDER_LIST_MAX; i++)
		snprintf(ids[i], sizeof(ids[i]), "%06u", i);
	for (unsigned i = 0; i <= LIMIT_REPORT_DEVICE_IDS; i++)
		add(&fixture->list, "p", "nvidia.com/gpu", ids[i], false);
	assert_int_equal(holder_list_to_pod_resources(&fixture->list, &fixture->arena, &list, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_LIMIT);

	fixture->list.count = 0;
	for (unsigned i = 0; i <= LIMIT_REPORT_HOLDINGS; i++)
		add(&fixture->list, ids[i], "nvidia.com/gpu", "a", false);
	assert_int_equal(holder_list_to_pod_resources(&fixture->list, &fixture->arena, &list, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(list.count, 7);

	fixture->list.count = 0;
	for (unsigned i = 0; i < HOLDER_LIST_MAX; i++)
		add(&fixture->list, "p", "nvidia.com/gpu", ids[i], false);
	struct holder_device one = {.resource = VIEW_INIT("nvidia.com/gpu")};
	assert_int_equal(holder_list_add(&fixture->list, &one, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(any_order_of_adding_gives_the_same_list, setup, teardown),
	cmocka_unit_test_setup_teardown(a_resource_without_devices_is_there_and_empty, setup,
					teardown),
	cmocka_unit_test_setup_teardown(mps_counts_if_any_device_of_the_holder_has_it, setup,
					teardown),
	cmocka_unit_test_setup_teardown(only_what_may_be_a_gpu_is_kept, setup, teardown),
	cmocka_unit_test_setup_teardown(names_longer_than_a_report_may_hold_are_refused, setup,
					teardown),
	cmocka_unit_test_setup_teardown(devices_holders_and_the_list_end_at_their_limits, setup,
					teardown),
};

TEST_MAIN(tests)
