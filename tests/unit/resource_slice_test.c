/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "model/resource_slice.h"

static const char long_text[1000]; /* longer than any may be */

static struct resource_slice_fields full(void)
{
	return (struct resource_slice_fields){
		.slice.name = VIEW("slice-1"),
		.slice.driver = VIEW("gpu.nvidia.com"),
		.slice.node = VIEW("gpu-a"),
		.slice.pool = VIEW("pool-a"),
		.slice.generation = 3,
		.slice.slice_count = 2,
		.devices = {{VIEW("gpu-0"), VIEW("GPU-1"), VIEW(""), VIEW("A100"), VIEW("8.0.0"),
			     VIEW("580.65.6"), VIEW("13.0.0"), VIEW("0000:3b:00.0"), 40960},
			    {VIEW("gpu-1-mig-0"), VIEW("MIG-2"), VIEW("GPU-2"), VIEW("A100"),
			     VIEW("8.0.0"), VIEW("580.65.6"), {NULL, 0}, VIEW("0000:86:00.0"), 4864},
			    {.name = {long_text, sizeof(long_text)}}}, /* behind the count */
		.slice.devices.count = 2,
	};
}

static struct resource_slice *make(const struct resource_slice_fields *fields)
{
	struct resource_slice *slice = NULL;
	struct error err;

	assert_int_equal(resource_slice_new(fields, &slice, &err), 0);
	return slice;
}

static void a_record_says_what_it_was_made_from(void **state)
{
	(void)state;
	struct resource_slice_fields fields = full();
	struct resource_slice *slice = make(&fields);

	assert_true(view_equal(slice->name, VIEW("slice-1")));
	assert_true(view_equal(slice->driver, VIEW("gpu.nvidia.com")));
	assert_true(view_equal(slice->node, VIEW("gpu-a")));
	assert_true(view_equal(slice->pool, VIEW("pool-a")));
	assert_int_equal(slice->generation, 3);
	assert_int_equal(slice->slice_count, 2);
	assert_int_equal(slice->devices.count, 2);
	assert_true(slice->devices.present);
	for (uint32_t i = 0; i < 2; i++) {
		const struct resource_slice_device *device =
			ARRAY_AT(slice->devices, struct resource_slice_device, i);
		const struct resource_slice_device *from = &fields.devices[i];

		assert_true(view_equal(device->name, from->name));
		assert_true(view_equal(device->uuid, from->uuid));
		assert_true(view_equal(device->parent_uuid, from->parent_uuid));
		assert_true(view_equal(device->model, from->model));
		assert_true(view_equal(device->compute_capability, from->compute_capability));
		assert_true(view_equal(device->driver_version, from->driver_version));
		assert_true(view_equal(device->cuda_version, from->cuda_version));
		assert_true(view_equal(device->pci_bus_id, from->pci_bus_id));
		assert_int_equal(device->memory_mib, from->memory_mib);
		assert_ptr_not_equal(device->uuid.ptr, from->uuid.ptr);
	}
	free(slice);
}

/* Each changes one fact. */
static void change_nothing(struct resource_slice_fields *f) { (void)f; }
static void change_slice(struct resource_slice_fields *f) { f->slice.name = VIEW("x"); }
static void change_driver(struct resource_slice_fields *f) { f->slice.driver = VIEW("x"); }
static void change_node(struct resource_slice_fields *f) { f->slice.node = VIEW("x"); }
static void change_pool(struct resource_slice_fields *f) { f->slice.pool = VIEW("x"); }
static void change_generation(struct resource_slice_fields *f) { f->slice.generation = 4; }
static void change_count(struct resource_slice_fields *f) { f->slice.slice_count = 1; }
static void fewer_devices(struct resource_slice_fields *f) { f->slice.devices.count = 1; }
static void change_name(struct resource_slice_fields *f) { f->devices[1].name = VIEW("x"); }
static void change_uuid(struct resource_slice_fields *f) { f->devices[1].uuid = VIEW("x"); }
static void change_parent(struct resource_slice_fields *f) { f->devices[0].parent_uuid = VIEW("x"); }
static void change_model(struct resource_slice_fields *f) { f->devices[1].model = VIEW("x"); }
static void change_cc(struct resource_slice_fields *f) { f->devices[1].compute_capability = VIEW("x"); }
static void change_version(struct resource_slice_fields *f) { f->devices[1].driver_version = VIEW("x"); }
static void change_cuda(struct resource_slice_fields *f) { f->devices[1].cuda_version = VIEW("x"); }
static void change_pci(struct resource_slice_fields *f) { f->devices[1].pci_bus_id = VIEW("x"); }
static void change_memory(struct resource_slice_fields *f) { f->devices[1].memory_mib = 1; }

static void two_records_are_equal_only_if_every_fact_is(void **state)
{
	(void)state;
	static const struct {
		void (*change)(struct resource_slice_fields *fields);
		bool equal;
	} rows[] = {
		{change_nothing, true},	   {change_slice, false},      {change_driver, false},
		{change_node, false},	   {change_pool, false},       {change_generation, false},
		{change_count, false},	   {fewer_devices, false},     {change_name, false},
		{change_uuid, false},	   {change_parent, false},     {change_model, false},
		{change_cc, false},	   {change_version, false},    {change_cuda, false},
		{change_pci, false},	   {change_memory, false},
	};
	struct resource_slice_fields fields = full();
	struct resource_slice *slice = make(&fields);
	struct node_state_set node_states = {0};
	struct resource_slice_set set;

	resource_slice_set_init(&set, &node_states);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resource_slice_fields changed = full();

		rows[i].change(&changed);
		struct resource_slice *other = make(&changed);
		if (compact_equal(set.records.kind->rows, slice, other) != rows[i].equal)
			fail_msg("row %zu", i);
		assert_int_equal(compact_equal(set.records.kind->rows, other, slice), rows[i].equal);
		free(other);
	}
	free(slice);
}

static void a_pool_is_the_same_only_with_the_same_driver(void **state)
{
	(void)state;
	static const struct {
		void (*change)(struct resource_slice_fields *fields);
		bool same;
	} rows[] = {
		{change_nothing, true}, {change_slice, true}, {change_generation, true},
		{change_pool, false},	{change_driver, false},
	};
	struct resource_slice_fields fields = full();
	struct resource_slice *slice = make(&fields);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resource_slice_fields changed = full();

		rows[i].change(&changed);
		struct resource_slice *other = make(&changed);
		assert_int_equal(resource_slice_has_pool_of(slice, other), rows[i].same);
		free(other);
	}
	free(slice);
}

static void a_text_longer_than_any_is_refused(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 6; k++) {
		struct resource_slice_fields fields = full();
		struct view *const texts[] = {
			&fields.slice.name, &fields.slice.driver, &fields.slice.node, &fields.slice.pool,
			&fields.devices[1].name, &fields.devices[1].pci_bus_id,
		};

		for (size_t len = 253; len <= 254; len++) {
			struct resource_slice *slice = NULL;
			struct error err = {0};

			*texts[k] = (struct view){long_text, len};
			int result = resource_slice_new(&fields, &slice, &err);
			assert_int_equal(result, len == 253 ? 0 : -1);
			assert_int_equal(err.kind, len == 253 ? ERROR_NONE : ERROR_LIMIT);
			assert_int_equal(err.os_errno, 0);
			free(slice);
		}
	}
}

static void without_memory_there_is_no_record(void **state)
{
	(void)state;
	struct resource_slice_fields fields = full();
	struct resource_slice *slice = NULL;
	struct error err = {0};

	failing_malloc_at(1);
	assert_int_equal(resource_slice_new(&fields, &slice, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_null(slice);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_record_says_what_it_was_made_from),
	cmocka_unit_test(two_records_are_equal_only_if_every_fact_is),
	cmocka_unit_test(a_pool_is_the_same_only_with_the_same_driver),
	cmocka_unit_test(a_text_longer_than_any_is_refused),
	cmocka_unit_test(without_memory_there_is_no_record),
};

TEST_MAIN(tests)
