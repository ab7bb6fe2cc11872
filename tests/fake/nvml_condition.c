/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stand-in's functions about the condition of a device: errors of its memory, links, and what
 * the driver recommends. A datum that the file does not have is NOT_SUPPORTED.
 */

#include <stdint.h>

#include "agent/nvml_abi.h"
#include "nvml_call.h"
#include "nvml_file.h"
#include "nvml_names.h"

NVML_EXPORT int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter,
					    unsigned long long *ret_count);
NVML_EXPORT int nvmlDeviceGetRemappedRows(void *device, unsigned *ret_correctable,
					  unsigned *ret_uncorrectable, unsigned *ret_pending,
					  unsigned *ret_failed);
NVML_EXPORT int nvmlDeviceGetRetiredPagesPendingStatus(void *device, int *ret_pending);
NVML_EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct nvml_abi_field *values);
NVML_EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *ret_active);
NVML_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link,
						    struct nvml_abi_pci_info *ret_info);
NVML_EXPORT int nvmlDeviceGetGpuFabricInfo(void *device, struct nvml_abi_fabric_info *ret_info);
NVML_EXPORT int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *ret_width);
NVML_EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *ret_width);
NVML_EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *ret_generation);
NVML_EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *ret_generation);

struct number_query {
	const char *path;
	const char *or_path; /* if there is nothing at path; may be NULL */
	int64_t number;
};

static int give_number(const struct nvml_target *target, void *arg)
{
	struct number_query *query = arg;

	query->number = nvml_file_number(target->device, query->path, -1);
	if (query->number < 0 && query->or_path)
		query->number = nvml_file_number(target->device, query->or_path, -1);
	return query->number < 0 ? NVML_ABI_NOT_SUPPORTED : NVML_ABI_SUCCESS;
}

static int call_number(const char *symbol, void *device, struct number_query *query)
{
	return nvml_call(symbol, NVML_KIND_DEVICE, device, give_number, query);
}

static int call_unsigned(const char *symbol, void *device, const char *path, unsigned *ret_number)
{
	struct number_query query = {.path = path};
	int code = call_number(symbol, device, &query);

	if (code == NVML_ABI_SUCCESS)
		*ret_number = (unsigned)query.number;
	return code;
}

/* Without counts of its own, a device's life began when the driver was loaded. */
int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *ret_count)
{
	struct number_query query = {.path = type ? "ecc.uncorrected" : "ecc.corrected"};

	if (counter == NVML_ABI_ECC_AGGREGATE) {
		query.or_path = query.path;
		query.path = type ? "ecc.aggregate.uncorrected" : "ecc.aggregate.corrected";
	}
	int code = call_number(__func__, device, &query);

	if (code == NVML_ABI_SUCCESS)
		*ret_count = (unsigned long long)query.number;
	return code;
}

struct remapped_rows {
	unsigned *numbers[4];
};

static int give_remapped_rows(const struct nvml_target *target, void *arg)
{
	static const char *const keys[] = {"correctable", "uncorrectable", "pending", "failed"};
	const struct remapped_rows *rows = arg;
	const json_t *remapped = nvml_file_at(target->device, "remappedRows");

	if (!remapped || json_array_size(json_object_get(target->device, "migDevices")) > 0)
		return NVML_ABI_NOT_SUPPORTED;
	for (size_t i = 0; i < 4; i++)
		*rows->numbers[i] = (unsigned)nvml_file_number(remapped, keys[i], 0);
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetRemappedRows(void *device, unsigned *ret_correctable, unsigned *ret_uncorrectable,
			      unsigned *ret_pending, unsigned *ret_failed)
{
	struct remapped_rows rows = {{ret_correctable, ret_uncorrectable, ret_pending, ret_failed}};
	return nvml_call(__func__, NVML_KIND_DEVICE, device, give_remapped_rows, &rows);
}

int nvmlDeviceGetRetiredPagesPendingStatus(void *device, int *ret_pending)
{
	unsigned pending = 0;
	int code = call_unsigned(__func__, device, "retiredPages.pending", &pending);

	if (code == NVML_ABI_SUCCESS)
		*ret_pending = (int)pending;
	return code;
}

struct field_query {
	struct nvml_abi_field *values;
	int n;
};

static struct number_query field_query(uint32_t id)
{
	static const struct {
		uint32_t id;
		const char *path;
		const char *or_path;
	} rows[] = {
		{1, "ecc.current", NULL},
		{2, "ecc.pending", NULL},
		{3, "ecc.corrected", NULL},
		{4, "ecc.uncorrected", NULL},
		{5, "ecc.aggregate.corrected", "ecc.corrected"},
		{6, "ecc.aggregate.uncorrected", "ecc.uncorrected"},
		{31, "retiredPages.pending", NULL},
		{142, "remappedRows.correctable", NULL},
		{143, "remappedRows.uncorrectable", NULL},
		{144, "remappedRows.pending", NULL},
		{145, "remappedRows.failed", NULL},
		{NVML_ABI_FIELD_RECOVERY_ACTION, "recoveryAction", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].id == id)
			return (struct number_query){rows[i].path, rows[i].or_path, -1};
	return (struct number_query){"", NULL, -1};
}

static int give_fields(const struct nvml_target *target, void *arg)
{
	const struct field_query *query = arg;

	for (int i = 0; i < query->n; i++) {
		struct nvml_abi_field *value = &query->values[i];
		struct number_query number = field_query(value->id);

		value->type = NVML_ABI_VALUE_UINT;
		value->code = give_number(target, &number);
		value->value.whole = number.number < 0 ? 0 : (uint64_t)number.number;
	}
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetFieldValues(void *device, int n, struct nvml_abi_field *values)
{
	struct field_query query = {values, n};
	return nvml_call(__func__, NVML_KIND_DEVICE, device, give_fields, &query);
}

struct link_query {
	unsigned link;
	int *ret_active;
};

/* The first links of a device are the active ones. */
static int give_link(const struct nvml_target *target, void *arg)
{
	const struct link_query *query = arg;
	int64_t total = nvml_file_number(target->device, "nvlinks.total", -1);

	if (total < 0)
		return NVML_ABI_NOT_SUPPORTED;
	if (query->link >= total)
		return NVML_ABI_INVALID_ARGUMENT;
	*query->ret_active = query->link < nvml_file_number(target->device, "nvlinks.active", 0);
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *ret_active)
{
	struct link_query query = {link, ret_active};
	return nvml_call(__func__, NVML_KIND_DEVICE, device, give_link, &query);
}

static int not_supported(const struct nvml_target *target, void *arg)
{
	(void)target;
	(void)arg;
	return NVML_ABI_NOT_SUPPORTED;
}

/* Nobody is told where a link leads. */
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link,
					struct nvml_abi_pci_info *ret_info)
{
	(void)link;
	return nvml_call(__func__, NVML_KIND_DEVICE, device, not_supported, ret_info);
}

static int give_fabric(const struct nvml_target *target, void *arg)
{
	struct nvml_abi_fabric_info *info = arg;
	const char *word = nvml_file_text(target->device, "fabric");

	if (!word)
		return NVML_ABI_NOT_SUPPORTED;
	*info = (struct nvml_abi_fabric_info){
		.status = (int32_t)nvml_file_number(target->device, "fabricStatus", NVML_ABI_SUCCESS),
		.state = (uint8_t)nvml_names_number(nvml_names_fabric, word, 0)};
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetGpuFabricInfo(void *device, struct nvml_abi_fabric_info *ret_info)
{
	return nvml_call(__func__, NVML_KIND_DEVICE, device, give_fabric, ret_info);
}

int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *ret_width)
{
	return call_unsigned(__func__, device, "pcieLanes.total", ret_width);
}

int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *ret_width)
{
	return call_unsigned(__func__, device, "pcieLanes.active", ret_width);
}

int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *ret_generation)
{
	return call_unsigned(__func__, device, "pcieGeneration.total", ret_generation);
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *ret_generation)
{
	return call_unsigned(__func__, device, "pcieGeneration.active", ret_generation);
}
