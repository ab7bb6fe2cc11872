/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Texts of a library that fills each buffer to its last byte and ends none. What is read of devices that
 * behave is in nvml_test.
 */

#include "lib/test_main.h"

#include "agent/device_reader.h"
#include "agent/nvml.h"
#include "agent/nvml_library.h"

/* The library, with a device that has one MIG device. */

static struct nvml_abi_device *handle_of(uintptr_t number)
{
	return (struct nvml_abi_device *)number;
}

static int fill(char *text, unsigned size)
{
	memset(text, 'x', size);
	return NVML_ABI_SUCCESS;
}

static int fill_of_device(struct nvml_abi_device *device, char *text, unsigned size)
{
	(void)device;
	return fill(text, size);
}

static int pci_info(struct nvml_abi_device *device, struct nvml_abi_pci_info *ret)
{
	(void)device;
	memset(ret, 'x', sizeof(*ret));
	return NVML_ABI_SUCCESS;
}

static int succeed(void)
{
	return NVML_ABI_SUCCESS;
}

static int count(unsigned *ret)
{
	*ret = 1;
	return NVML_ABI_SUCCESS;
}

static int handle(unsigned index, struct nvml_abi_device **ret)
{
	*ret = handle_of(index + 1);
	return NVML_ABI_SUCCESS;
}

static int mig_mode(struct nvml_abi_device *device, unsigned *current, unsigned *pending)
{
	(void)device;
	*current = *pending = 1;
	return NVML_ABI_SUCCESS;
}

static int max_mig_count(struct nvml_abi_device *device, unsigned *ret)
{
	(void)device;
	*ret = 1;
	return NVML_ABI_SUCCESS;
}

static int mig_handle(struct nvml_abi_device *device, unsigned index, struct nvml_abi_device **ret)
{
	(void)device;
	*ret = handle_of(100 + index);
	return NVML_ABI_SUCCESS;
}

int nvml_library_load(const char *name, struct nvml_library *ret_library, struct error *err)
{
	(void)name, (void)err;
	*ret_library = (struct nvml_library){
		.object = ret_library,
		.init = succeed,
		.driver_version = fill,
		.count = count,
		.handle = handle,
		.uuid = fill_of_device,
		.name = fill_of_device,
		.serial = fill_of_device,
		.pci_info = pci_info,
		.mig_mode = mig_mode,
		.max_mig_count = max_mig_count,
		.mig_handle = mig_handle,
	};
	return 0;
}

void nvml_library_unload(struct nvml_library *library)
{
	*library = (struct nvml_library){.object = NULL};
}

const char *nvml_library_meaning(const struct nvml_library *library, int code)
{
	(void)library, (void)code;
	return "why";
}

/* Tests. */

static void assert_filled(struct view text, size_t size)
{
	assert_int_equal(text.len, size - 1);
	for (size_t i = 0; i < text.len; i++)
		assert_int_equal(text.ptr[i], 'x');
}

TEST(a_text_that_fills_its_buffer_ends_there)
{
	struct arena arena;
	struct nvml *nvml;
	struct nvml_reading reading;
	struct error err;
	arena_init(&arena, 1u << 20);
	assert_int_equal(nvml_new("", &nvml, &err), 0);
	assert_int_equal(nvml_read(nvml, (struct wall_time){2, 1}, &arena, &reading, &err), 0);
	assert_int_equal(reading.devices.count, 1);
	const struct report_device *device = ARRAY_AT(reading.devices, struct report_device, 0);
	assert_filled(reading.driver_version, NVML_ABI_VERSION_SIZE);
	assert_filled(device->uuid, NVML_ABI_UUID_SIZE);
	assert_filled(device->model, NVML_ABI_NAME_SIZE);
	assert_filled(device->serial, NVML_ABI_SERIAL_SIZE);
	assert_filled(device->pci_bus_id, sizeof(((struct nvml_abi_pci_info *)NULL)->bus_id));
	assert_true(view_equal(device->pci_device_id, VIEW("0x78787878")));
	assert_int_equal(device->partitions.count, 1);
	assert_filled(ARRAY_AT(device->partitions, struct report_partition, 0)->uuid,
		      NVML_ABI_UUID_SIZE);
	nvml_free(nvml);
	arena_deinit(&arena);
}

/* A MIG device's profile is the end of its name. */
static int fill_with_profile(struct nvml_abi_device *device, char *text, unsigned size)
{
	static const char begin[] = "MIG 1g.5gb+";
	(void)device;
	memset(text, 'x', size);
	memcpy(text, begin, sizeof(begin) - 1);
	return NVML_ABI_SUCCESS;
}

TEST(a_profile_in_a_name_that_fills_its_buffer_ends_there)
{
	static struct device_reader_scratch scratch;
	struct gpm gpm = {0};
	struct arena arena;
	struct nvml_library library;
	struct error err;
	struct report_device device = {.index = 0};
	struct device_reader reader = {
		.library = &library, .scratch = &scratch, .gpm = &gpm, .arena = &arena};
	struct device_subject subject = {.reader = &reader, .handle = handle_of(1), .label = "a"};
	arena_init(&arena, 1u << 20);
	assert_int_equal(nvml_library_load("", &library, &err), 0);
	library.name = fill_with_profile;
	device_reader_read(&subject, &device);
	assert_int_equal(device.partitions.count, 1);
	assert_int_equal(ARRAY_AT(device.partitions, struct report_partition, 0)->profile.len,
			 NVML_ABI_NAME_SIZE - 1 - strlen("MIG "));
	arena_deinit(&arena);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_text_that_fills_its_buffer_ends_there),
	cmocka_unit_test(a_profile_in_a_name_that_fills_its_buffer_ends_there),
};

TEST_MAIN(tests)
