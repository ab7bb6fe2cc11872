/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stand-in's functions about MIG. Instances are not in the file: a GPU instance exists when a
 * MIG device lies in it, so its handle leads to the first such MIG device. Callers identify an
 * instance's profile by walking all profile indexes and comparing IDs, hence the profile functions.
 */

#include <stdint.h>

#include "agent/nvml_abi.h"
#include "nvml_call.h"
#include "nvml_file.h"
#include "nvml_profile.h"

enum { MIG_DEVICES_DEFAULT = 7, MULTIPROCESSORS_PER_SLICE = 14 };

struct placement {
	uint32_t start;
	uint32_t size;
};

struct gpu_instance_info {
	void *device;
	uint32_t id;
	uint32_t profile_id;
	struct placement placement;
};

struct compute_instance_info {
	void *device;
	void *gpu_instance;
	uint32_t id;
	uint32_t profile_id;
	struct placement placement;
};

struct gpu_profile_info {
	uint32_t id;
	uint32_t is_p2p_supported;
	uint32_t slices;
	uint32_t instances;
	uint32_t multiprocessors;
	uint32_t copy_engines;
	uint32_t decoders;
	uint32_t encoders;
	uint32_t jpegs;
	uint32_t ofas;
	uint64_t memory_mib;
};

struct compute_profile_info {
	uint32_t id;
	uint32_t slices;
	uint32_t instances;
	uint32_t multiprocessors;
	uint32_t engines[5];
};

static_assert(sizeof(struct gpu_instance_info) == 24, "nvmlGpuInstanceInfo_t");
static_assert(sizeof(struct compute_instance_info) == 32, "nvmlComputeInstanceInfo_t");
static_assert(sizeof(struct gpu_profile_info) == 48, "nvmlGpuInstanceProfileInfo_t");
static_assert(sizeof(struct compute_profile_info) == 36, "nvmlComputeInstanceProfileInfo_t");

NVML_EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *ret_current, unsigned *ret_pending);
NVML_EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *ret_count);
NVML_EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **ret_mig);
NVML_EXPORT int nvmlDeviceIsMigDeviceHandle(void *device, unsigned *ret_is);
NVML_EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *mig, void **ret_device);
NVML_EXPORT int nvmlDeviceGetAttributes_v2(void *mig, struct nvml_abi_attributes *ret_attributes);
NVML_EXPORT int nvmlDeviceGetGpuInstanceProfileInfo(void *device, unsigned index,
						    struct gpu_profile_info *ret_info);
NVML_EXPORT int nvmlDeviceGetGpuInstanceById(void *device, unsigned id, void **ret_instance);
NVML_EXPORT int nvmlGpuInstanceGetInfo(void *instance, struct gpu_instance_info *ret_info);
NVML_EXPORT int nvmlGpuInstanceGetComputeInstanceProfileInfo(void *instance, unsigned index,
							     unsigned engine_index,
							     struct compute_profile_info *ret_info);
NVML_EXPORT int nvmlGpuInstanceGetComputeInstanceById(void *instance, unsigned id,
						      void **ret_instance);
NVML_EXPORT int nvmlComputeInstanceGetInfo_v2(void *instance,
					      struct compute_instance_info *ret_info);

static unsigned max_devices(const json_t *device)
{
	return (unsigned)nvml_file_number(device, "mig.maxDevices", MIG_DEVICES_DEFAULT);
}

/* GPUs with seven slices have their memory in eighths, those with four in quarters. */
static unsigned memory_slices(const json_t *device)
{
	return max_devices(device) > 4 ? 8 : 4;
}

static uint64_t memory_mib(const json_t *device)
{
	return (uint64_t)nvml_file_number(device, "memoryMiB", 0);
}

/* The profile of the target's MIG device; the file was checked, so it has one. */
static struct nvml_profile profile_of(const struct nvml_target *target)
{
	struct nvml_profile profile = {.gpu_slices = 1, .compute_slices = 1};
	uint64_t slices = memory_slices(target->device);
	uint64_t share_gib = (memory_mib(target->device) + slices * 1024 - 1) / (slices * 1024);
	const char *name = nvml_file_text(target->mig, "profile");

	(void)!nvml_profile_parse(name, (unsigned)share_gib, &profile);
	return profile;
}

struct mode_pair {
	unsigned *current;
	unsigned *pending;
};

static int give_mode(const struct nvml_target *target, void *arg)
{
	const struct mode_pair *pair = arg;
	int64_t current = nvml_file_number(target->device, "mig.current", -1);

	if (current < 0)
		return NVML_ABI_NOT_SUPPORTED;
	*pair->current = (unsigned)current;
	*pair->pending = (unsigned)nvml_file_number(target->device, "mig.pending", current);
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetMigMode(void *device, unsigned *ret_current, unsigned *ret_pending)
{
	struct mode_pair pair = {ret_current, ret_pending};
	return nvml_call(__func__, NVML_KIND_DEVICE, device, give_mode, &pair);
}

static int give_max_count(const struct nvml_target *target, void *arg)
{
	*(unsigned *)arg = nvml_file_at(target->device, "mig") ? max_devices(target->device) : 0;
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *ret_count)
{
	return nvml_call(__func__, NVML_KIND_DEVICE, device, give_max_count, ret_count);
}

struct handle_query {
	unsigned number; /* index or instance ID */
	void **ret_handle;
};

static int give_handle(const struct nvml_target *target, enum nvml_kind kind, void **ret_handle)
{
	void *handle = nvml_call_handle(target, kind);

	if (!handle)
		return NVML_ABI_MEMORY;
	*ret_handle = handle;
	return NVML_ABI_SUCCESS;
}

static int find_mig(const struct nvml_target *target, void *arg)
{
	const struct handle_query *query = arg;
	struct nvml_target found = *target;
	const json_t *list = json_object_get(target->device, "migDevices");

	found.mig = json_array_get(list, query->number);
	found.mig_index = query->number;
	if (!found.mig)
		return NVML_ABI_NOT_FOUND;
	int code = nvml_call_injected(&found);

	return code ? code : give_handle(&found, NVML_KIND_MIG, query->ret_handle);
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **ret_mig)
{
	struct handle_query query = {index, ret_mig};
	return nvml_call(__func__, NVML_KIND_DEVICE, device, find_mig, &query);
}

static int give_is_mig(const struct nvml_target *target, void *arg)
{
	*(unsigned *)arg = target->mig != NULL;
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceIsMigDeviceHandle(void *device, unsigned *ret_is)
{
	return nvml_call(__func__, NVML_KIND_DEVICE | NVML_KIND_MIG, device, give_is_mig, ret_is);
}

static int give_parent(const struct nvml_target *target, void *arg)
{
	return give_handle(target, NVML_KIND_DEVICE, arg);
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *mig, void **ret_device)
{
	return nvml_call(__func__, NVML_KIND_MIG, mig, give_parent, ret_device);
}

static uint32_t number_or(const json_t *mig, const char *path, unsigned absent)
{
	return (uint32_t)nvml_file_number(mig, path, absent);
}

static int give_attributes(const struct nvml_target *target, void *arg)
{
	struct nvml_profile profile = profile_of(target);
	unsigned multiprocessors = profile.compute_slices * MULTIPROCESSORS_PER_SLICE;

	*(struct nvml_abi_attributes *)arg = (struct nvml_abi_attributes){
		.multiprocessors = number_or(target->mig, "multiprocessors", multiprocessors),
		.copy_engines = number_or(target->mig, "engines.copy", profile.gpu_slices),
		.decoders = number_or(target->mig, "engines.decoder", 0),
		.encoders = number_or(target->mig, "engines.encoder", 0),
		.jpegs = number_or(target->mig, "engines.jpeg", 0),
		.ofas = number_or(target->mig, "engines.ofa", 0),
		.gpu_instance_slices = profile.gpu_slices,
		.compute_instance_slices = profile.compute_slices,
		.memory_mib = (uint64_t)nvml_file_number(target->mig, "memoryMiB", 0),
	};
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetAttributes_v2(void *mig, struct nvml_abi_attributes *ret_attributes)
{
	return nvml_call(__func__, NVML_KIND_MIG, mig, give_attributes, ret_attributes);
}

struct profile_query {
	unsigned index;
	void *ret_info;
};

static int give_gpu_profile(const struct nvml_target *target, void *arg)
{
	const struct profile_query *query = arg;
	unsigned slices = nvml_profile_gpu_slices(query->index);
	unsigned parts = memory_slices(target->device);

	if (query->index >= NVML_PROFILE_GPU_COUNT)
		return NVML_ABI_INVALID_ARGUMENT;
	if (slices == 0 || slices > max_devices(target->device) ||
	    !nvml_file_at(target->device, "mig"))
		return NVML_ABI_NOT_SUPPORTED;
	*(struct gpu_profile_info *)query->ret_info = (struct gpu_profile_info){
		.id = nvml_profile_gpu_id(query->index),
		.slices = slices,
		.instances = max_devices(target->device) / slices,
		.multiprocessors = slices * MULTIPROCESSORS_PER_SLICE,
		.copy_engines = slices,
		.memory_mib = memory_mib(target->device) *
			      nvml_profile_memory_slices(query->index, parts) / parts,
	};
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetGpuInstanceProfileInfo(void *device, unsigned index,
					struct gpu_profile_info *ret_info)
{
	struct profile_query query = {index, ret_info};
	return nvml_call(__func__, NVML_KIND_DEVICE, device, give_gpu_profile, &query);
}

static int find_instance(const struct nvml_target *target, const struct handle_query *query,
			 enum nvml_kind kind)
{
	const char *key = kind == NVML_KIND_GPU_INSTANCE ? "gpuInstanceID" : "computeInstanceID";
	struct nvml_target found = *target;
	const json_t *list = json_object_get(target->device, "migDevices");
	int64_t parent = nvml_file_number(target->mig, "gpuInstanceID", -1);

	for (size_t i = 0; i < json_array_size(list); i++) {
		found.mig = json_array_get(list, i);
		found.mig_index = i;
		if (nvml_file_number(found.mig, key, -1) != query->number)
			continue;
		if (parent < 0 || nvml_file_number(found.mig, "gpuInstanceID", -1) == parent)
			return give_handle(&found, kind, query->ret_handle);
	}
	return NVML_ABI_NOT_FOUND;
}

static int find_gpu_instance(const struct nvml_target *target, void *arg)
{
	return find_instance(target, arg, NVML_KIND_GPU_INSTANCE);
}

int nvmlDeviceGetGpuInstanceById(void *device, unsigned id, void **ret_instance)
{
	struct handle_query query = {id, ret_instance};
	return nvml_call(__func__, NVML_KIND_DEVICE, device, find_gpu_instance, &query);
}

static int find_compute_instance(const struct nvml_target *target, void *arg)
{
	return find_instance(target, arg, NVML_KIND_COMPUTE_INSTANCE);
}

int nvmlGpuInstanceGetComputeInstanceById(void *instance, unsigned id, void **ret_instance)
{
	struct handle_query query = {id, ret_instance};
	return nvml_call(__func__, NVML_KIND_GPU_INSTANCE, instance, find_compute_instance, &query);
}

static int give_gpu_instance(const struct nvml_target *target, void *arg)
{
	struct gpu_instance_info *info = arg;
	struct nvml_profile profile = profile_of(target);

	*info = (struct gpu_instance_info){
		.id = (uint32_t)nvml_file_number(target->mig, "gpuInstanceID", 0),
		.profile_id = nvml_profile_gpu_id(profile.gpu_index),
		.placement.size = profile.gpu_slices,
	};
	return give_handle(target, NVML_KIND_DEVICE, &info->device);
}

int nvmlGpuInstanceGetInfo(void *instance, struct gpu_instance_info *ret_info)
{
	return nvml_call(__func__, NVML_KIND_GPU_INSTANCE, instance, give_gpu_instance, ret_info);
}

/* The IDs of compute instance profiles are their indexes. */
static int give_compute_profile(const struct nvml_target *target, void *arg)
{
	const struct profile_query *query = arg;
	unsigned slices = nvml_profile_compute_slices(query->index);

	if (query->index >= NVML_PROFILE_COMPUTE_COUNT)
		return NVML_ABI_INVALID_ARGUMENT;
	if (slices == 0 || slices > profile_of(target).gpu_slices)
		return NVML_ABI_NOT_SUPPORTED;
	*(struct compute_profile_info *)query->ret_info = (struct compute_profile_info){
		.id = query->index,
		.slices = slices,
		.instances = 1,
		.multiprocessors = slices * MULTIPROCESSORS_PER_SLICE,
	};
	return NVML_ABI_SUCCESS;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfo(void *instance, unsigned index,
						 unsigned engine_index,
						 struct compute_profile_info *ret_info)
{
	struct profile_query query = {index, ret_info};

	if (engine_index != 0)
		return NVML_ABI_INVALID_ARGUMENT;
	return nvml_call(__func__, NVML_KIND_GPU_INSTANCE, instance, give_compute_profile, &query);
}

static int give_compute_instance(const struct nvml_target *target, void *arg)
{
	struct compute_instance_info *info = arg;
	struct nvml_profile profile = profile_of(target);

	*info = (struct compute_instance_info){
		.id = (uint32_t)nvml_file_number(target->mig, "computeInstanceID", 0),
		.profile_id = profile.compute_index,
		.placement.size = profile.compute_slices,
	};
	int code = give_handle(target, NVML_KIND_DEVICE, &info->device);

	return code ? code : give_handle(target, NVML_KIND_GPU_INSTANCE, &info->gpu_instance);
}

int nvmlComputeInstanceGetInfo_v2(void *instance, struct compute_instance_info *ret_info)
{
	return nvml_call(__func__, NVML_KIND_COMPUTE_INSTANCE, instance, give_compute_instance,
			 ret_info);
}
