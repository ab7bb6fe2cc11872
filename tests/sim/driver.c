/* SPDX-License-Identifier: Apache-2.0 */

/* Handles are pointers into the world: to a device, or to a partition of one. */

#include "sim/driver.h"

#include <stdio.h>
#include <string.h>

#include "agent/event_queue.h"
#include "agent/nvml_library.h"
#include "model/attribution.h"
#include "sim/clockwork.h"
#include "sim/illness.h"
#include "sim/load.h"
#include "sim/oracle.h"
#include "sim/strain.h"
#include "sim/trouble.h"
#include "sim/usage.h"
#include "sim/world.h"

#define MIB UINT64_C(1048576)

static uint64_t fails_until[WORLD_MAX_NODES];
static uint64_t mismatched_until[WORLD_MAX_NODES];
static bool is_watched[WORLD_MAX_NODES]; /* for XID errors */
static bool is_registered[WORLD_MAX_GPUS]; /* with what waits for them */
static uint64_t watched_since[WORLD_MAX_NODES]; /* the last of its devices, for XID errors */
static int event_set; /* its address is the handle */

void driver_reset(void)
{
	memset(fails_until, 0, sizeof(fails_until));
	memset(mismatched_until, 0, sizeof(mismatched_until));
	memset(is_watched, 0, sizeof(is_watched));
	memset(is_registered, 0, sizeof(is_registered));
	memset(watched_since, 0, sizeof(watched_since));
}

void driver_fail(int node, uint64_t until)
{
	fails_until[node] = until;
}

void driver_mismatch(int node, uint64_t until)
{
	mismatched_until[node] = until;
}

bool driver_is_mismatched(int node)
{
	return clockwork_now() < mismatched_until[node];
}

uint64_t driver_watched_since(int node)
{
	return watched_since[node];
}

bool driver_has_errors(int node)
{
	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[i].node == node && world.gpus[i].n_fetched < world.gpus[i].n_errors)
			return true;
	return false;
}

void driver_forget_errors(int node)
{
	for (int i = 0; i < world.n_gpus; i++)
		while (world.gpus[i].node == node &&
		       world.gpus[i].n_fetched < world.gpus[i].n_errors)
			world.gpus[i].errors[world.gpus[i].n_fetched++].missed_at = clockwork_now();
}

void driver_raise(struct world_gpu *gpu, int code, int partition)
{
	world_raise_on(gpu, code, partition);
	if (!is_watched[gpu->node])
		driver_forget_errors(gpu->node);
}

static struct world_gpu *gpu_at(unsigned index)
{
	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[i].node == clockwork_actor && index-- == 0)
			return &world.gpus[i];
	return NULL;
}

/* The device of a handle, or NULL: it is a partition's. */
static struct world_gpu *as_gpu(struct nvml_abi_device *handle)
{
	for (int i = 0; i < world.n_gpus; i++)
		if ((void *)&world.gpus[i] == (void *)handle)
			return &world.gpus[i];
	return NULL;
}

static const struct world_partition *as_partition(struct nvml_abi_device *handle)
{
	return (const struct world_partition *)(void *)handle;
}

static int init(void)
{
	return NVML_ABI_SUCCESS;
}

static int init_with_flags(unsigned flags)
{
	(void)flags;
	return NVML_ABI_SUCCESS;
}

static int driver_version(char *text, unsigned size)
{
	snprintf(text, size, "580.65.06");
	return NVML_ABI_SUCCESS;
}

static int cuda_version(int *ret)
{
	*ret = 13000;
	return NVML_ABI_SUCCESS;
}

static int count(unsigned *ret)
{
	const bool fails = clockwork_now() < fails_until[clockwork_actor];

	if (fails || driver_is_mismatched(clockwork_actor)) {
		illness_unread(clockwork_actor);
		load_read(clockwork_actor);
		return fails ? NVML_ABI_UNKNOWN : NVML_ABI_LIB_RM_VERSION_MISMATCH;
	}
	*ret = (unsigned)world_count_gpus(clockwork_actor);
	illness_read(clockwork_actor);
	load_read(clockwork_actor);
	strain_read(clockwork_actor);
	return NVML_ABI_SUCCESS;
}

static int handle(unsigned index, struct nvml_abi_device **ret)
{
	struct world_gpu *gpu = gpu_at(index);

	if (!gpu)
		return NVML_ABI_INVALID_ARGUMENT;
	if (gpu->lost)
		return NVML_ABI_GPU_NOT_FOUND;
	if (illness_has((int)(gpu - world.gpus), ILLNESS_LOST))
		return NVML_ABI_GPU_IS_LOST;
	*ret = (struct nvml_abi_device *)(void *)gpu;
	return NVML_ABI_SUCCESS;
}

static int uuid(struct nvml_abi_device *device, char *text, unsigned size)
{
	const struct world_gpu *gpu = as_gpu(device);

	snprintf(text, size, "%s", gpu ? gpu->uuid : as_partition(device)->uuid);
	return NVML_ABI_SUCCESS;
}

static int name(struct nvml_abi_device *device, char *text, unsigned size)
{
	snprintf(text, size, "NVIDIA A100-SXM4-40GB%s", as_gpu(device) ? "" : " MIG 1g.5gb");
	return NVML_ABI_SUCCESS;
}

static int minor(struct nvml_abi_device *device, unsigned *ret)
{
	*ret = (unsigned)as_gpu(device)->minor;
	return NVML_ABI_SUCCESS;
}

/* It hides where the device is; some hide what it is, as agents do that do not know the field. */
static int pci_info(struct nvml_abi_device *device, struct nvml_abi_pci_info *ret)
{
	(void)device;
	if (world.nodes[clockwork_actor].hides_compute_mode)
		return NVML_ABI_NOT_SUPPORTED;
	*ret = (struct nvml_abi_pci_info){.pci_device_id = 0x20B010DE};
	return NVML_ABI_SUCCESS;
}

static int compute_mode(struct nvml_abi_device *device, int *ret)
{
	if (world.nodes[clockwork_actor].hides_compute_mode)
		return NVML_ABI_NOT_SUPPORTED;
	*ret = world_is_exclusive_process(as_gpu(device))
		       ? NVML_ABI_COMPUTE_EXCLUSIVE_PROCESS
		       : NVML_ABI_COMPUTE_DEFAULT;
	return NVML_ABI_SUCCESS;
}

static int memory(struct nvml_abi_device *device, struct nvml_abi_memory *ret)
{
	(void)device;
	*ret = (struct nvml_abi_memory){.total = 40960 * MIB};
	return NVML_ABI_SUCCESS;
}

static int utilization(struct nvml_abi_device *device, struct nvml_abi_utilization *ret)
{
	return load_ask((int)(as_gpu(device) - world.gpus), &ret->gpu);
}

static int gpm_support(struct nvml_abi_device *device, struct nvml_abi_gpm_support *ret)
{
	ret->is_supported = load_has_gpm((int)(as_gpu(device) - world.gpus));
	return NVML_ABI_SUCCESS;
}

static int gpm_mig_sample(struct nvml_abi_device *device, unsigned gpu_instance,
			  struct nvml_abi_gpm_sample *ret)
{
	return load_sample((int)(as_gpu(device) - world.gpus), gpu_instance, ret);
}

static int gpm_metrics(struct nvml_abi_gpm_query *query)
{
	query->metrics[0].code = load_compare(query->first, query->second, &query->metrics[0].value);
	return NVML_ABI_SUCCESS;
}

static int mig_mode(struct nvml_abi_device *device, unsigned *current, unsigned *pending)
{
	*current = as_gpu(device)->mig;
	*pending = *current != as_gpu(device)->mig_asked;
	return NVML_ABI_SUCCESS;
}

static int max_mig_count(struct nvml_abi_device *device, unsigned *ret)
{
	(void)device;
	*ret = 7;
	return NVML_ABI_SUCCESS;
}

static int mig_handle(struct nvml_abi_device *device, unsigned index, struct nvml_abi_device **ret)
{
	struct world_gpu *gpu = as_gpu(device);

	for (int i = 0; i < gpu->n_partitions; i++)
		if (gpu->partitions[i].exists && index-- == 0) {
			*ret = (struct nvml_abi_device *)(void *)&gpu->partitions[i];
			return NVML_ABI_SUCCESS;
		}
	return NVML_ABI_NOT_FOUND;
}

static int gpu_instance(struct nvml_abi_device *device, unsigned *ret)
{
	*ret = (unsigned)as_partition(device)->gpu_instance;
	return NVML_ABI_SUCCESS;
}

static int compute_instance(struct nvml_abi_device *device, unsigned *ret)
{
	(void)device;
	*ret = 0;
	return NVML_ABI_SUCCESS;
}

static int attributes(struct nvml_abi_device *device, struct nvml_abi_attributes *ret)
{
	(void)device;
	*ret = (struct nvml_abi_attributes){
		.gpu_instance_slices = 1, .compute_instance_slices = 1, .memory_mib = 4864};
	return NVML_ABI_SUCCESS;
}

/* Which device the handle is, or is a partition of. */
static int list_processes(struct nvml_abi_device *device, bool clients, unsigned *n,
			  struct nvml_abi_process *ret)
{
	const struct world_gpu *gpu = as_gpu(device);
	int partition = -1;

	for (int i = 0; !gpu && i < world.n_gpus; i++)
		for (int k = 0; !gpu && k < world.gpus[i].n_partitions; k++)
			if (&world.gpus[i].partitions[k] == as_partition(device)) {
				gpu = &world.gpus[i];
				partition = k;
			}
	*n = usage_list((int)(gpu - world.gpus), partition, clients, *n, ret);
	return NVML_ABI_SUCCESS;
}

static int processes(struct nvml_abi_device *device, unsigned *n, struct nvml_abi_process *ret)
{
	return list_processes(device, false, n, ret);
}

static int mps_processes(struct nvml_abi_device *device, unsigned *n, struct nvml_abi_process *ret)
{
	return list_processes(device, true, n, ret);
}

/* Condition */

/* What the driver answers when asked for that part. */
static int ask(struct nvml_abi_device *device, enum illness_part part)
{
	int gpu = (int)(as_gpu(device) - world.gpus);

	if (!illness_can_read(gpu, part))
		return NVML_ABI_NOT_SUPPORTED;
	if (illness_fails(gpu, part))
		return NVML_ABI_UNKNOWN;
	return illness_has(gpu, ILLNESS_RESET_REQUIRED) ? NVML_ABI_RESET_REQUIRED : NVML_ABI_SUCCESS;
}

static bool has(struct nvml_abi_device *device, enum illness illness)
{
	return illness_has((int)(as_gpu(device) - world.gpus), illness);
}

static int ecc_errors(struct nvml_abi_device *device, int error, int counter,
		      unsigned long long *ret)
{
	*ret = error == NVML_ABI_ECC_UNCORRECTED &&
	       (counter == NVML_ABI_ECC_VOLATILE
			? has(device, ILLNESS_ECC)
			: illness_had_ecc((int)(as_gpu(device) - world.gpus)));
	return ask(device, ILLNESS_PART_ECC);
}

static int remapped_rows(struct nvml_abi_device *device, unsigned *corrected, unsigned *uncorrected,
			 unsigned *pending, unsigned *failed)
{
	*corrected = 0;
	*uncorrected = 0;
	*pending = has(device, ILLNESS_REMAP_PENDING);
	*failed = has(device, ILLNESS_REMAP_FAILED);
	return ask(device, ILLNESS_PART_ROWS);
}

static int retired_pages(struct nvml_abi_device *device, int *pending)
{
	*pending = has(device, ILLNESS_PAGES_PENDING);
	return ask(device, ILLNESS_PART_PAGES);
}

static int fields(struct nvml_abi_device *device, int n, struct nvml_abi_field *values)
{
	for (int i = 0; i < n; i++) {
		values[i].code = NVML_ABI_NOT_SUPPORTED;
		if (values[i].id != NVML_ABI_FIELD_RECOVERY_ACTION)
			continue;
		values[i].code = ask(device, ILLNESS_PART_ACTION);
		values[i].type = NVML_ABI_VALUE_UINT;
		values[i].value.word = illness_action((int)(as_gpu(device) - world.gpus));
	}
	return NVML_ABI_SUCCESS;
}

static int number_of(struct nvml_abi_device *device)
{
	return (int)(as_gpu(device) - world.gpus);
}

static int nvlink_state(struct nvml_abi_device *device, unsigned link, int *ret)
{
	return strain_nvlink(number_of(device), link, ret);
}

static int fabric_info(struct nvml_abi_device *device, struct nvml_abi_fabric_info *ret)
{
	return strain_fabric(number_of(device), ret);
}

static int max_pcie_width(struct nvml_abi_device *device, unsigned *ret)
{
	return strain_pcie(number_of(device), true, ret);
}

static int pcie_width(struct nvml_abi_device *device, unsigned *ret)
{
	return strain_pcie(number_of(device), false, ret);
}

static int max_pcie_generation(struct nvml_abi_device *device, unsigned *ret)
{
	return strain_pcie_generation(number_of(device), true, ret);
}

static int pcie_generation(struct nvml_abi_device *device, unsigned *ret)
{
	return strain_pcie_generation(number_of(device), false, ret);
}

static int clocks_event_reasons(struct nvml_abi_device *device, unsigned long long *ret)
{
	return strain_clocks(number_of(device), ret);
}

static int event_set_create(struct nvml_abi_event_set **ret)
{
	if (trouble_is_deaf(clockwork_actor))
		return NVML_ABI_NOT_SUPPORTED;
	*ret = (struct nvml_abi_event_set *)(void *)&event_set;
	is_watched[clockwork_actor] = true;
	for (int i = 0; i < world.n_gpus; i++)
		is_registered[i] &= world.gpus[i].node != clockwork_actor;
	return NVML_ABI_SUCCESS;
}

static int event_set_free(struct nvml_abi_event_set *set)
{
	(void)set;
	is_watched[clockwork_actor] = false;
	return NVML_ABI_SUCCESS;
}

static int register_events(struct nvml_abi_device *device, unsigned long long types,
			   struct nvml_abi_event_set *set)
{
	(void)types, (void)set;
	is_registered[as_gpu(device) - world.gpus] = true;
	watched_since[clockwork_actor] = clockwork_now();
	return NVML_ABI_SUCCESS;
}

/* NVML tells no compute instance of an error that is the whole GPU instance's. */
static unsigned instance_of(const struct world_gpu *gpu, const struct world_error *error)
{
	return error->partition < 0 ? NVML_ABI_NO_INSTANCE
				    : (unsigned)gpu->partitions[error->partition].gpu_instance;
}

static bool is_published(int gpu)
{
	const struct attribution_status *status = oracle_status(gpu);

	return status && view_equal(status->node_name, view_from(world.nodes[clockwork_actor].name));
}

/* An agent tells alike errors apart by their times, as agent/event_queue.h says: also those that go unheard. */
static int64_t time_of(const struct world_gpu *gpu, const struct world_error *error)
{
	const int64_t now = clockwork_wall(clockwork_actor);
	const struct world_error *last = NULL;

	for (const struct world_error *e = gpu->errors; e < error; e++)
		if (e->code == error->code && e->node == error->node && e->agent == error->agent)
			last = e;
	return last && last->told_at >= now && last->told_at - now < EVENT_QUEUE_AHEAD_MS
		       ? last->told_at + 1
		       : now;
}

static int event_wait(struct nvml_abi_event_set *set, struct nvml_abi_event *ret, unsigned ms)
{
	(void)set, (void)ms;
	for (int i = 0; i < world.n_gpus; i++) {
		struct world_gpu *gpu = &world.gpus[i];

		if (gpu->node != clockwork_actor || gpu->n_fetched == gpu->n_errors)
			continue;
		struct world_error *error = &gpu->errors[gpu->n_fetched++];

		error->fetched_at = clockwork_now();
		error->agent = world.nodes[clockwork_actor].agent;
		error->told_at = time_of(gpu, error);
		/* Of a device that is gone before anything was published of it there is no object. */
		error->is_heard = is_registered[i] && error->node == clockwork_actor &&
				  (!gpu->lost || is_published(i));
		*ret = (struct nvml_abi_event){.device = (struct nvml_abi_device *)(void *)gpu,
					       .type = NVML_ABI_EVENT_XID,
					       .data = (uint64_t)error->code,
					       .gpu_instance = instance_of(gpu, error),
					       .compute_instance = NVML_ABI_NO_INSTANCE};
		return NVML_ABI_SUCCESS;
	}
	return NVML_ABI_TIMEOUT;
}

int nvml_library_load(const char *library_name, struct nvml_library *ret_library,
		      struct error *err)
{
	(void)library_name, (void)err;
	*ret_library = (struct nvml_library){
		.object = &event_set,
		.init = init,
		.init_with_flags = init_with_flags,
		.shutdown = init,
		.driver_version = driver_version,
		.cuda_version = cuda_version,
		.count = count,
		.handle = handle,
		.uuid = uuid,
		.name = name,
		.minor = minor,
		.pci_info = pci_info,
		.compute_mode = compute_mode,
		.memory = memory,
		.utilization = utilization,
		.gpm_support = gpm_support,
		.gpm_sample_alloc = load_sample_alloc,
		.gpm_sample_free = load_sample_free,
		.gpm_mig_sample = gpm_mig_sample,
		.gpm_metrics = gpm_metrics,
		.mig_mode = mig_mode,
		.max_mig_count = max_mig_count,
		.mig_handle = mig_handle,
		.gpu_instance = gpu_instance,
		.compute_instance = compute_instance,
		.attributes = attributes,
		.mps_processes = mps_processes,
		.compute_processes = processes,
		.ecc_errors = ecc_errors,
		.remapped_rows = remapped_rows,
		.retired_pages = retired_pages,
		.fields = fields,
		.nvlink_state = nvlink_state,
		.fabric_info = fabric_info,
		.max_pcie_width = max_pcie_width,
		.pcie_width = pcie_width,
		.max_pcie_generation = max_pcie_generation,
		.pcie_generation = pcie_generation,
		.clocks_event_reasons = clocks_event_reasons,
		.event_set_create = event_set_create,
		.event_set_free = event_set_free,
		.register_events = register_events,
		.event_wait = event_wait,
	};
	return 0;
}

void nvml_library_unload(struct nvml_library *library)
{
	*library = (struct nvml_library){.object = NULL};
}

const char *nvml_library_meaning(const struct nvml_library *library, int code)
{
	(void)library;
	/* In words that people use; the library's own are about all GPUs. */
	return code == NVML_ABI_GPU_NOT_FOUND ? "GPU is lost" : "unknown error";
}
