/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "lib/golden.h"
#include "lib/kube_bytes.h"
#include "schema/resource_slice_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

static struct resource_slice_fields fields;

static void decode(struct view message)
{
	struct error err;

	if (resource_slice_doc_decode(message, &fields, &err) != 0)
		fail_msg("%s", err.text);
}

static const struct resource_slice_device *find(const char *name)
{
	for (uint32_t i = 0; i < fields.slice.devices.count; i++)
		if (view_equal(fields.devices[i].name, view_from(name)))
			return &fields.devices[i];
	fail_msg("no device %s", name);
	return NULL;
}

static void a_slice_gives_its_pool_and_every_fact_about_its_devices(void **state)
{
	(void)state;
	static const struct {
		const char *name, *uuid, *parent, *model, *capability, *driver, *cuda, *pci;
		int64_t memory_mib;
	} rows[] = {
		{"gpu-3", "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f", "", "NVIDIA A100-SXM4-40GB",
		 "8.0.0", "580.65.6", "13.0.0", "0000:3b:00.0", 40960},
		{"gpu-1-mig-1g5gb-19-0", "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f",
		 "GPU-6e027708-5f1c-4f27-a2b9-0b5d3c2f7a10", "NVIDIA A100-SXM4-40GB", "8.0.0",
		 "580.65.6", "13.0.0", "0000:86:00.0", 4864},
		/* Names with the driver's domain; values of other types are not taken. */
		{"gpu-0", "GPU-9c1d0000-0000-4000-8000-000000000001", "", "NVIDIA H100 80GB HBM3",
		 "", "", "", "", 81559},
	};
	struct view message = golden_read("slice_gpu.pb");

	decode(message);
	assert_text(fields.slice.name, "gpu-a-gpu.nvidia.com-8k2lf");
	assert_text(fields.slice.driver, "gpu.nvidia.com");
	assert_text(fields.slice.node, "gpu-a");
	assert_text(fields.slice.pool, "gpu-a");
	assert_int_equal(fields.slice.generation, 3);
	assert_int_equal(fields.slice.slice_count, 2);
	assert_int_equal(fields.slice.devices.count, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct resource_slice_device *device = find(rows[i].name);

		assert_text(device->uuid, rows[i].uuid);
		assert_text(device->parent_uuid, rows[i].parent);
		assert_text(device->model, rows[i].model);
		assert_text(device->compute_capability, rows[i].capability);
		assert_text(device->driver_version, rows[i].driver);
		assert_text(device->cuda_version, rows[i].cuda);
		assert_text(device->pci_bus_id, rows[i].pci);
		assert_int_equal(device->memory_mib, rows[i].memory_mib);
	}
	golden_free(message);
}

/* metadata {name n} */
#define HEAD "\x0a\x03\x0a\x01n"
#define DRIVER "\x0a\x0egpu.nvidia.com"

/* A slice whose spec is what stands in it. */
static struct view slice_of(struct view spec)
{
	static char bytes[LIMIT_MIB];
	struct sbuf slice;

	sbuf_init(&slice, sizeof(bytes));
	sbuf_append(&slice, VIEW(HEAD));
	kube_bytes_field(&slice, 2, spec);
	struct view message = {bytes, sbuf_view(&slice).len};
	memcpy(bytes, sbuf_view(&slice).ptr, message.len);
	sbuf_deinit(&slice);
	return message;
}

static void a_slice_of_another_driver_gives_its_name_only(void **state)
{
	(void)state;
	/* A driver that hands out no GPUs, a node, a pool and a device; and no driver at all. */
	static const struct view rows[] = {
		VIEW_INIT("\x0a\x01x\x12\x05\x0a\x01p\x10\x07\x1a\x01o\x32\x03\x0a\x01" "d"),
		VIEW_INIT("\x1a\x01o\x32\x03\x0a\x01" "d"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		decode(slice_of(rows[i]));
		assert_text(fields.slice.name, "n");
		assert_int_equal(fields.slice.driver.len + fields.slice.node.len + fields.slice.pool.len, 0);
		assert_int_equal(fields.slice.generation, 0);
		assert_int_equal(fields.slice.devices.count, 0);
	}
}

static void the_driver_may_stand_behind_the_devices(void **state)
{
	(void)state;
	decode(slice_of(VIEW("\x32\x03\x0a\x01" "d" DRIVER)));
	assert_int_equal(fields.slice.devices.count, 1);
	assert_text(fields.devices[0].name, "d");
}

static void nothing_is_left_of_the_slice_that_was_read_before(void **state)
{
	(void)state;
	struct view golden = golden_read("slice_gpu.pb");
	decode(golden);
	assert_true(fields.devices[0].uuid.len > 0);
	golden_free(golden);
	decode(slice_of(VIEW("\x32\x03\x0a\x01" "d" DRIVER)));
	assert_int_equal(fields.slice.devices.count, 1);
	assert_int_equal(fields.devices[0].uuid.len, 0);
}

static void a_slice_of_no_single_node_names_none(void **state)
{
	(void)state;
	/* nodeSelector {}; allNodes; perDeviceNodeSelection */
	static const struct view rows[] = {
		VIEW_INIT(DRIVER "\x22\x00\x32\x03\x0a\x01" "d"),
		VIEW_INIT(DRIVER "\x28\x01\x32\x03\x0a\x01" "d"),
		VIEW_INIT(DRIVER "\x38\x01\x32\x06\x0a\x01" "d\x2a\x01n"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		decode(slice_of(rows[i]));
		assert_text(fields.slice.driver, "gpu.nvidia.com");
		assert_int_equal(fields.slice.node.len, 0);
		assert_int_equal(fields.slice.devices.count, 1);
	}
}

static void memory_is_taken_if_it_is_a_whole_number(void **state)
{
	(void)state;
	static const struct {
		const char *quantity;
		int64_t mib;
	} rows[] = {
		{"40Gi", 40960}, {"1048576", 1}, {"1048575", 0}, {"1500m", 0},
		{"", 0}, {"much", 0}, {"99999999999999999999", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sbuf parts[5];

		for (size_t k = 0; k < ARRAY_SIZE(parts); k++)
			sbuf_init(&parts[k], LIMIT_KIB);
		kube_bytes_field(&parts[0], 1, view_from(rows[i].quantity)); /* Quantity */
		kube_bytes_field(&parts[1], 1, sbuf_view(&parts[0]));        /* DeviceCapacity */
		kube_bytes_field(&parts[2], 1, VIEW("memory"));              /* the map's entry */
		kube_bytes_field(&parts[2], 2, sbuf_view(&parts[1]));
		kube_bytes_field(&parts[3], 3, sbuf_view(&parts[2])); /* the device */
		sbuf_append(&parts[4], VIEW(DRIVER));
		kube_bytes_field(&parts[4], 6, sbuf_view(&parts[3]));
		decode(slice_of(sbuf_view(&parts[4])));
		assert_int_equal(fields.devices[0].memory_mib, rows[i].mib);
		for (size_t k = 0; k < ARRAY_SIZE(parts); k++)
			sbuf_deinit(&parts[k]);
	}
}

static void a_slice_beyond_the_bound_is_refused_whole(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		struct error err = {0};
		struct sbuf spec;

		sbuf_init(&spec, LIMIT_MIB);
		sbuf_append(&spec, VIEW(DRIVER));
		for (unsigned i = 0; i < RESOURCE_SLICE_MAX_DEVICES + more; i++)
			kube_bytes_field(&spec, 6, VIEW("\x0a\x01" "d"));
		int result = resource_slice_doc_decode(slice_of(sbuf_view(&spec)), &fields, &err);
		assert_int_equal(result, more ? -1 : 0);
		assert_int_equal(err.kind, more ? ERROR_LIMIT : ERROR_NONE);
		assert_int_equal(fields.slice.devices.count, RESOURCE_SLICE_MAX_DEVICES);
		sbuf_deinit(&spec);
	}
}

/* Every prefix of a message is malformed, or is a message with less in it; never a crash. */
static void a_message_cut_anywhere_is_refused_or_lacks_parts(void **state)
{
	(void)state;
	struct view message = golden_read("slice_gpu.pb");
	size_t n_refused = 0;

	for (size_t len = 0; len < message.len; len++) {
		struct view cut = golden_copy((struct view){message.ptr, len});
		struct error err;

		if (resource_slice_doc_decode(cut, &fields, &err) != 0) {
			assert_int_equal(err.kind, ERROR_REJECTED);
			n_refused++;
		}
		golden_free(cut);
	}
	/* Whole is at most: metadata. */
	assert_true(n_refused >= message.len - 1);
	golden_free(message);
}

static void any_changed_byte_is_survived(void **state)
{
	(void)state;
	static const unsigned char masks[] = {0x01, 0x07, 0x80, 0xff};
	struct view message = golden_read("slice_gpu.pb");
	char *bytes = (char *)(uintptr_t)message.ptr;

	for (size_t i = 0; i < message.len; i++)
		for (size_t m = 0; m < ARRAY_SIZE(masks); m++) {
			struct error err;

			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
			if (resource_slice_doc_decode(message, &fields, &err) == 0)
				assert_true(fields.slice.devices.count <= 3);
			bytes[i] = (char)(bytes[i] ^ (char)masks[m]);
		}
	golden_free(message);
}

/* "\x0a\x05" announces five bytes where none are left. */
static void a_malformed_part_at_any_depth_is_refused(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT("\x0a\x05"),
		VIEW_INIT("\x0a\x05\x0a\x01n\x0a\x05"),           /* metadata */
		VIEW_INIT(HEAD "\x12\x02\x0a\x05"),               /* spec */
		VIEW_INIT(HEAD "\x12\x04\x12\x02\x0a\x05"),       /* pool */
		VIEW_INIT(HEAD "\x12\x14" DRIVER "\x32\x02\x0a\x05"), /* a device */
		VIEW_INIT(HEAD "\x12\x16" DRIVER "\x32\x04\x12\x02\x0a\x05"), /* an attribute */
		/* the value of an attribute that is kept */
		VIEW_INIT(HEAD "\x12\x1e" DRIVER "\x32\x0c\x12\x0a\x0a\x04uuid\x12\x02\x0a\x05"),
		VIEW_INIT(HEAD "\x12\x16" DRIVER "\x32\x04\x1a\x02\x0a\x05"), /* a capacity */
		VIEW_INIT(HEAD "\x12\x20" DRIVER
			       "\x32\x0e\x1a\x0c\x0a\x06memory\x12\x02\x0a\x05"), /* its value */
		VIEW_INIT(HEAD "\x12\x22" DRIVER "\x32\x10\x1a\x0e\x0a\x06memory\x12\x04\x0a\x02"
			       "\x0a\x05"), /* its quantity */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err;

		if (resource_slice_doc_decode(rows[i], &fields, &err) == 0)
			fail_msg("row %zu is accepted", i);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void a_slice_without_name_is_refused(void **state)
{
	(void)state;
	static const struct view rows[] = {VIEW_INIT(""), VIEW_INIT("\x12\x10" DRIVER)};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err;

		assert_int_equal(resource_slice_doc_decode(rows[i], &fields, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_slice_gives_its_pool_and_every_fact_about_its_devices),
	cmocka_unit_test(a_slice_of_another_driver_gives_its_name_only),
	cmocka_unit_test(the_driver_may_stand_behind_the_devices),
	cmocka_unit_test(nothing_is_left_of_the_slice_that_was_read_before),
	cmocka_unit_test(a_slice_of_no_single_node_names_none),
	cmocka_unit_test(memory_is_taken_if_it_is_a_whole_number),
	cmocka_unit_test(a_slice_beyond_the_bound_is_refused_whole),
	cmocka_unit_test(a_message_cut_anywhere_is_refused_or_lacks_parts),
	cmocka_unit_test(any_changed_byte_is_survived),
	cmocka_unit_test(a_malformed_part_at_any_depth_is_refused),
	cmocka_unit_test(a_slice_without_name_is_refused),
};

TEST_MAIN(tests)
