/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "agent/device_memory.h"
#include "base/limits.h"
#include "lib/failing_malloc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, VIEW(text_)))

static struct report_partition partitions[LIMIT_REPORT_PARTITIONS] = {
	{.uuid = VIEW_INIT("MIG-a"), .profile = VIEW_INIT("1g.5gb"), .gpu_instance_id = 7, .memory_mib = 4864,
	 .activity = {.present = true, .utilization = 90}},
};
static struct report_process process = {.pid = 42};

static const struct report_device full = {
	.uuid = VIEW_INIT("GPU-a"),
	.index = 2,
	.minor = 3,
	.pci_bus_id = VIEW_INIT("00000000:3B:00.0"),
	.pci_device_id = VIEW_INIT("0x20B010DE"),
	.model = VIEW_INIT("NVIDIA A100"),
	.memory_mib = 40960,
	.serial = VIEW_INIT("17"),
	.compute_capability = VIEW_INIT("8.0"),
	.compute_mode = REPORT_COMPUTE_PROHIBITED,
	.mig = {.present = true, .current = true},
	.condition = {.present = true, .recovery = REPORT_RECOVERY_RESET},
	.activity = {.present = true, .source = REPORT_ACTIVITY_NVML, .utilization = 90},
	.partitions = {partitions, 1, true},
	.processes = {&process, 1, true},
};

static void assert_is_full(const struct report_device *device)
{
	assert_text(device->uuid, "GPU-a");
	assert_int_equal(device->minor, 3);
	assert_text(device->pci_bus_id, "00000000:3B:00.0");
	assert_text(device->pci_device_id, "0x20B010DE");
	assert_text(device->model, "NVIDIA A100");
	assert_int_equal(device->memory_mib, 40960);
	assert_text(device->serial, "17");
	assert_text(device->compute_capability, "8.0");
	assert_int_equal(device->compute_mode, REPORT_COMPUTE_PROHIBITED);
	assert_true(device->mig.present && device->mig.current);
	assert_true(device->partitions.present);
	assert_int_equal(device->partitions.count, 1);
	const struct report_partition *partition =
		ARRAY_AT(device->partitions, struct report_partition, 0);
	assert_text(partition->uuid, "MIG-a");
	assert_text(partition->profile, "1g.5gb");
	assert_int_equal(partition->gpu_instance_id, 7);
	/* What it did then says nothing of what it does now. */
	assert_false(device->activity.present || partition->activity.present);
}

TEST(what_is_kept_is_recalled_without_processes_and_outlives_its_source)
{
	struct device_memory memory = {0};
	struct report_device device;
	struct arena source, arena;
	arena_init(&source, LIMIT_MIB);
	arena_init(&arena, LIMIT_MIB);
	assert_false(device_memory_holds(&memory));
	struct report_device copy = full;
	assert_true(arena_copy(&source, full.model, &copy.model));
	assert_true(arena_copy(&source, full.pci_device_id, &copy.pci_device_id));
	assert_true(device_memory_keep(&memory, &copy));
	memset((char *)(uintptr_t)copy.model.ptr, 'x', copy.model.len);
	memset((char *)(uintptr_t)copy.pci_device_id.ptr, 'x', copy.pci_device_id.len);
	arena_deinit(&source);
	assert_true(device_memory_holds(&memory));
	assert_true(device_memory_recall(&memory, &arena, &device));
	device_memory_forget(&memory);
	assert_false(device_memory_holds(&memory));
	device_memory_forget(&memory);
	assert_is_full(&device);
	assert_int_equal(device.index, 2);
	assert_int_equal(device.condition.recovery, REPORT_RECOVERY_RESET);
	assert_false(device.processes.present);
	arena_deinit(&arena);
}

TEST(the_last_one_kept_counts)
{
	struct device_memory memory = {0};
	struct report_device device, other = {.uuid = VIEW("GPU-b")};
	struct arena arena;
	arena_init(&arena, LIMIT_MIB);
	assert_true(device_memory_keep(&memory, &full));
	assert_true(device_memory_keep(&memory, &other));
	assert_true(device_memory_recall(&memory, &arena, &device));
	assert_text(device.uuid, "GPU-b");
	assert_false(device.partitions.present);
	device_memory_forget(&memory);
	arena_deinit(&arena);
}

TEST(gaps_are_filled_from_the_same_device_only)
{
	struct device_memory memory = {0};
	struct report_device same = {.uuid = VIEW("GPU-a"), .minor = -1};
	struct report_device other = {.uuid = VIEW("GPU-b"), .minor = -1};
	struct arena arena;
	arena_init(&arena, LIMIT_MIB);
	assert_true(device_memory_keep(&memory, &full));
	assert_true(device_memory_complete(&memory, &arena, &same));
	assert_is_full(&same);
	assert_false(same.condition.present || same.processes.present);
	assert_true(device_memory_complete(&memory, &arena, &other));
	assert_int_equal(other.minor, -1);
	assert_int_equal(other.model.len, 0);
	device_memory_forget(&memory);
	arena_deinit(&arena);
}

TEST(what_was_told_is_not_replaced)
{
	struct device_memory memory = {0};
	struct report_device now = {
		.uuid = VIEW("GPU-a"),
		.pci_bus_id = VIEW("p"),
		.pci_device_id = VIEW("d"),
		.model = VIEW("m"),
		.memory_mib = 1,
		.serial = VIEW("s"),
		.compute_capability = VIEW("c"),
		.compute_mode = REPORT_COMPUTE_DEFAULT,
		.mig = {.present = true},
	};
	struct arena arena;
	arena_init(&arena, LIMIT_MIB);
	assert_true(device_memory_keep(&memory, &full));
	const struct report_device before = now;
	assert_true(device_memory_complete(&memory, &arena, &now));
	assert_memory_equal(&now, &before, sizeof(now));
	device_memory_forget(&memory);
	arena_deinit(&arena);
}

TEST(as_many_partitions_as_a_report_holds_have_room)
{
	static char text[96];
	struct report_device large = full;
	struct device_memory memory = {0};
	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 1; i < ARRAY_SIZE(partitions); i++)
		partitions[i] = (struct report_partition){.uuid = view_from(text),
							  .profile = view_from(text)};
	large.partitions.count = ARRAY_SIZE(partitions);
	assert_true(device_memory_keep(&memory, &large));
	device_memory_forget(&memory);
}

TEST(without_memory_nothing_is_remembered_or_told)
{
	struct device_memory memory = {0};
	struct report_device device;
	struct arena none;
	arena_init(&none, 16);
	failing_malloc_at(1);
	assert_false(device_memory_keep(&memory, &full));
	assert_true(failing_malloc_off());
	assert_false(device_memory_holds(&memory));
	assert_true(device_memory_keep(&memory, &full));
	assert_false(device_memory_recall(&memory, &none, &device));
	device = (struct report_device){.uuid = VIEW("GPU-a")};
	assert_false(device_memory_complete(&memory, &none, &device));
	assert_true(device_memory_holds(&memory));
	device_memory_forget(&memory);
	arena_deinit(&none);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_kept_is_recalled_without_processes_and_outlives_its_source),
	cmocka_unit_test(the_last_one_kept_counts),
	cmocka_unit_test(gaps_are_filled_from_the_same_device_only),
	cmocka_unit_test(what_was_told_is_not_replaced),
	cmocka_unit_test(as_many_partitions_as_a_report_holds_have_room),
	cmocka_unit_test(without_memory_nothing_is_remembered_or_told),
};

TEST_MAIN(tests)
