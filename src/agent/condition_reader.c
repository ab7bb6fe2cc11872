/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/condition_reader.h"

#include "base/limits.h"

/*
 * How it works: one function per value. NVLinks are the exception, where one value takes a call for
 * each link. If one of these fails, NVLinks are not read at all: a smaller number would look like
 * links that went down. What else is read of links is parts of its own (enum report_part).
 *
 * Libraries answer for a link or a field that they do not know with INVALID_ARGUMENT. Here that is
 * no failure.
 */

/* Calls an optional function about the subject. */
#define ASK(subject, function, ...)                                                  \
	NVML_LIBRARY_CALL((subject)->reader->library, function, (subject)->handle,   \
			  __VA_ARGS__)

enum {
	PCIE_MAX_LANES = 32,
	RECOVERY_MAX = 255, /* no driver has so many actions */
};

static bool is_unknown(int code)
{
	return code == NVML_ABI_INVALID_ARGUMENT || code == NVML_ABI_NOT_FOUND;
}

/* A count as reports have it: -1 for one that cannot be true. */
static int64_t as_count(unsigned long long count, unsigned long long limit)
{
	return count <= limit ? (int64_t)count : -1;
}

static int64_t read_ecc_errors(struct device_subject *subject, const char *what, int error,
			       int counter)
{
	unsigned long long count = 0;
	int code = ASK(subject, ecc_errors, error, counter, &count);
	if (device_reader_fails(subject, what, code))
		return -1;
	return as_count(count, LIMIT_NUMBER_ERRORS);
}

static void read_ecc(struct device_subject *subject, struct report_condition *ret)
{
	ret->ecc_volatile.corrected = read_ecc_errors(
		subject, "corrected errors", NVML_ABI_ECC_CORRECTED, NVML_ABI_ECC_VOLATILE);
	ret->ecc_volatile.uncorrected = read_ecc_errors(
		subject, "uncorrected errors", NVML_ABI_ECC_UNCORRECTED, NVML_ABI_ECC_VOLATILE);
	ret->ecc_aggregate.corrected =
		read_ecc_errors(subject, "corrected errors of its life", NVML_ABI_ECC_CORRECTED,
				NVML_ABI_ECC_AGGREGATE);
	ret->ecc_aggregate.uncorrected =
		read_ecc_errors(subject, "uncorrected errors of its life",
				NVML_ABI_ECC_UNCORRECTED, NVML_ABI_ECC_AGGREGATE);
}

/* The library supports this on no device with MIG instances: it is told, so that the cause can be. */
static void read_remapped_rows(struct device_subject *subject, struct report_condition *ret)
{
	unsigned corrected = 0;
	unsigned uncorrected = 0;
	unsigned pending = 0;
	unsigned failed = 0;
	int code = ASK(subject, remapped_rows, &corrected, &uncorrected, &pending, &failed);
	ret->rows_unsupported = code == NVML_ABI_NOT_SUPPORTED;
	if (device_reader_fails(subject, "remapped rows", code) || pending > 1 || failed > 1)
		return;
	ret->remapped_rows = (struct report_remapped_rows){
		.present = true,
		.counts = {as_count(corrected, LIMIT_NUMBER_COUNT),
			   as_count(uncorrected, LIMIT_NUMBER_COUNT)},
		.pending = pending,
		.failed = failed,
	};
}

static void read_retired_pages(struct device_subject *subject, struct report_retired_pages *ret)
{
	int pending = -1;
	int code = ASK(subject, retired_pages, &pending);
	if (!device_reader_fails(subject, "retired pages", code) && (pending == 0 || pending == 1))
		*ret = (struct report_retired_pages){.present = true, .pending = pending};
}

/* The whole number in a field, or -1. */
static int64_t number_in(const struct nvml_abi_field *field)
{
	switch (field->type) {
	case NVML_ABI_VALUE_UINT:
		return field->value.word;
	case NVML_ABI_VALUE_ULONG:
	case NVML_ABI_VALUE_ULONG_LONG:
		return as_count(field->value.whole, INT64_MAX);
	case NVML_ABI_VALUE_LONG_LONG:
		return field->value.signed_whole;
	case NVML_ABI_VALUE_INT:
		return field->value.signed_word;
	case NVML_ABI_VALUE_USHORT:
		return field->value.half;
	default:
		return -1;
	}
}

static int recovery_of(int64_t number)
{
	static const int actions[] = {
		[NVML_ABI_RECOVERY_NONE] = REPORT_RECOVERY_NONE,
		[NVML_ABI_RECOVERY_RESET] = REPORT_RECOVERY_RESET,
		[NVML_ABI_RECOVERY_REBOOT] = REPORT_RECOVERY_REBOOT,
		[NVML_ABI_RECOVERY_DRAIN_P2P] = REPORT_RECOVERY_DRAIN_P2P,
		[NVML_ABI_RECOVERY_DRAIN_AND_RESET] = REPORT_RECOVERY_DRAIN_AND_RESET,
		[NVML_ABI_RECOVERY_RECOVER_IMEX_DOMAIN] = REPORT_RECOVERY_RECOVER_IMEX_DOMAIN,
	};
	if (number < 0 || number > RECOVERY_MAX)
		return REPORT_RECOVERY_UNREAD;
	return (size_t)number < ARRAY_SIZE(actions) ? actions[number] : REPORT_RECOVERY_OTHER;
}

static void read_recovery(struct device_subject *subject, struct report_condition *ret)
{
	struct nvml_abi_field field = {.id = NVML_ABI_FIELD_RECOVERY_ACTION};
	int code = ASK(subject, fields, 1, &field);
	if (code == NVML_ABI_SUCCESS)
		code = field.code;
	ret->recovery_unsupported = is_unknown(code) || code == NVML_ABI_NOT_SUPPORTED ||
				    code == NVML_ABI_FUNCTION_NOT_FOUND;
	if (!is_unknown(code) && !device_reader_fails(subject, "recovery action", code))
		ret->recovery = recovery_of(number_in(&field));
}

static void read_nvlinks(struct device_subject *subject, struct report_links *ret)
{
	struct report_links links = {.present = false};
	for (unsigned i = 0; i < NVML_ABI_MAX_NVLINKS; i++) {
		int active = -1;
		int code = ASK(subject, nvlink_state, i, &active);
		if (is_unknown(code) || code == NVML_ABI_NOT_SUPPORTED)
			continue;
		if (device_reader_fails(subject, "NVLinks", code) || (active != 0 && active != 1))
			return;
		links.total++;
		links.active += active;
	}
	links.present = links.total > 0;
	*ret = links;
}

/* A registration that ended with an error leaves the device off the fabric, as one that never began. */
static enum report_fabric end_of_registration(struct device_subject *subject, int status)
{
	if (status == NVML_ABI_SUCCESS)
		return REPORT_FABRIC_COMPLETED;
	device_reader_note(subject->reader, "%s: registration with the fabric: %s", subject->label,
			   nvml_library_meaning(subject->reader->library, status));
	return REPORT_FABRIC_NOT_STARTED;
}

static void read_fabric(struct device_subject *subject, struct report_condition *ret)
{
	struct nvml_abi_fabric_info info = {.state = NVML_ABI_FABRIC_NOT_SUPPORTED};
	int code = ASK(subject, fabric_info, &info);
	if (device_reader_fails(subject, "fabric", code))
		return;
	if (info.state == NVML_ABI_FABRIC_NOT_STARTED)
		ret->fabric = REPORT_FABRIC_NOT_STARTED;
	else if (info.state == NVML_ABI_FABRIC_IN_PROGRESS)
		ret->fabric = REPORT_FABRIC_IN_PROGRESS;
	else if (info.state == NVML_ABI_FABRIC_COMPLETED)
		ret->fabric = (int)end_of_registration(subject, info.status);
}

static void read_pcie_lanes(struct device_subject *subject, struct report_links *ret)
{
	unsigned total = 0;
	unsigned active = 0;
	bool none = device_reader_fails(subject, "PCIe lanes", ASK(subject, max_pcie_width, &total));
	none |= device_reader_fails(subject, "PCIe lanes in use", ASK(subject, pcie_width, &active));
	if (!none && total <= PCIE_MAX_LANES && active > 0 && active <= total)
		*ret = (struct report_links){.present = true, .total = total, .active = active};
}

static void read_pcie_generation(struct device_subject *subject,
				 struct report_pcie_generation *ret)
{
	unsigned highest = 0;
	unsigned current = 0;
	bool none = device_reader_fails(subject, "PCIe generation",
					ASK(subject, max_pcie_generation, &highest));
	none |= device_reader_fails(subject, "PCIe generation in use",
				    ASK(subject, pcie_generation, &current));
	if (!none && highest <= LIMIT_NUMBER_PCIE && current > 0 && current <= highest)
		*ret = (struct report_pcie_generation){
			.present = true, .highest = highest, .current = current};
}

static void read_clocks(struct device_subject *subject, struct report_condition *ret)
{
	unsigned long long reasons = 0;
	int code = ASK(subject, clocks_event_reasons, &reasons);
	if (device_reader_fails(subject, "clocks event reasons", code))
		return;
	ret->clocks_event_reasons = (int64_t)(reasons & REPORT_CLOCKS_ALL);
	ret->slowdown.present = true;
}

void condition_reader_clear(struct report_condition *ret)
{
	*ret = (struct report_condition){
		.present = true,
		.ecc_volatile = {-1, -1},
		.ecc_aggregate = {-1, -1},
		.remapped_rows.counts = {-1, -1},
		.clocks_event_reasons = -1,
	};
}

void condition_reader_read(struct device_subject *subject, struct report_condition *ret)
{
	condition_reader_clear(ret);
	if (subject->lost || subject->missing)
		return;
	read_ecc(subject, ret);
	read_remapped_rows(subject, ret);
	read_retired_pages(subject, &ret->retired_pages);
	read_recovery(subject, ret);
	read_nvlinks(subject, &ret->nvlinks);
	read_fabric(subject, ret);
	read_pcie_lanes(subject, &ret->pcie_lanes);
	read_pcie_generation(subject, &ret->pcie_generation);
	read_clocks(subject, ret);
}
