/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/device_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/activity_windows.h"
#include "base/limits.h"

/*
 * How it works: one function per datum, each ending in fails(), where return codes are sorted. A
 * MIG device is asked like a device of its own: its processes come from its own handle, so that it
 * is known which partition they are on.
 */

/* Calls an optional function about the subject. */
#define ASK(subject, function, ...)                                                  \
	NVML_LIBRARY_CALL((subject)->asked.reader->library, function,                \
			  (subject)->asked.handle, __VA_ARGS__)

#define BYTES_PER_MIB UINT64_C(1048576)
#define BYTES_PER_GIB UINT64_C(1073741824)

/* A device or MIG device under way. */
struct subject {
	struct device_subject asked;
	uint64_t memory; /* bytes of the physical device; 0: not known */
	bool hides_processes;  /* a list of processes could not be read */
	bool hides_partitions; /* a MIG device could not be read */
	bool has_gpm;          /* the device tells how busy its GPU instances are */
};

void device_reader_note(struct device_reader *reader, const char *format, ...)
{
	size_t used = strlen(reader->message);
	size_t room = sizeof(reader->message) - used;
	int n = snprintf(reader->message + used, room, "%s", used ? "; " : "");
	if (n < 0 || (size_t)n >= room)
		return;
	va_list values;
	va_start(values, format);
	vsnprintf(reader->message + used + n, room - (size_t)n, format, values);
	va_end(values);
}

void device_reader_keep(struct device_reader *reader, const char *text, struct view *ret)
{
	if (!arena_copy(reader->arena, view_from(text), ret))
		reader->no_memory = true;
}

/* n zeroed elements, or NULL with no_memory noted. */
static void *keep_array(struct device_reader *reader, size_t n, size_t size)
{
	void *items = arena_alloc(reader->arena, n, size);
	if (!items)
		reader->no_memory = true;
	return items;
}

bool device_reader_fails(struct device_subject *subject, const char *what, int code)
{
	switch (code) {
	case NVML_ABI_SUCCESS:
		return false;
	case NVML_ABI_NOT_SUPPORTED:
	case NVML_ABI_FUNCTION_NOT_FOUND:
		break;
	case NVML_ABI_GPU_IS_LOST:
		subject->lost = true;
		break;
	case NVML_ABI_GPU_NOT_FOUND:
		subject->missing = true;
		break;
	case NVML_ABI_RESET_REQUIRED:
		subject->needs_reset = true;
		break;
	default:
		device_reader_note(subject->reader, "%s: %s: %s", subject->label, what,
				   nvml_library_meaning(subject->reader->library, code));
		break;
	}
	return true;
}

static bool fails(struct subject *subject, const char *what, int code)
{
	return device_reader_fails(&subject->asked, what, code);
}

/* A library may fill the buffer of a text without ending it. */
static void read_name(struct subject *subject, struct report_device *device)
{
	char text[NVML_ABI_NAME_SIZE] = "";
	int code = ASK(subject, name, text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	if (!fails(subject, "name", code))
		device_reader_keep(subject->asked.reader, text, &device->model);
}

static void read_serial(struct subject *subject, struct report_device *device)
{
	char text[NVML_ABI_SERIAL_SIZE] = "";
	int code = ASK(subject, serial, text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	if (!fails(subject, "serial", code))
		device_reader_keep(subject->asked.reader, text, &device->serial);
}

static void read_minor(struct subject *subject, struct report_device *device)
{
	unsigned minor = 0;
	int code = ASK(subject, minor, &minor);
	device->minor = fails(subject, "minor number", code) ? -1 : (int64_t)minor;
}

static void read_pci_info(struct subject *subject, struct report_device *device)
{
	struct nvml_abi_pci_info info = {.domain = 0};
	char id[sizeof("0x20B010DE")];
	int code = ASK(subject, pci_info, &info);
	if (fails(subject, "PCI address", code))
		return;
	info.bus_id[sizeof(info.bus_id) - 1] = '\0';
	device_reader_keep(subject->asked.reader, info.bus_id, &device->pci_bus_id);
	if (info.pci_device_id == 0)
		return;
	snprintf(id, sizeof(id), "0x%08" PRIX32, info.pci_device_id);
	device_reader_keep(subject->asked.reader, id, &device->pci_device_id);
}

static void read_compute_capability(struct subject *subject, struct report_device *device)
{
	char text[32];
	int major = 0;
	int minor = 0;
	int code = ASK(subject, compute_capability, &major, &minor);
	if (fails(subject, "compute capability", code))
		return;
	snprintf(text, sizeof(text), "%d.%d", major, minor);
	device_reader_keep(subject->asked.reader, text, &device->compute_capability);
}

static void read_compute_mode(struct subject *subject, struct report_device *device)
{
	int mode = -1;
	int code = ASK(subject, compute_mode, &mode);
	if (fails(subject, "compute mode", code))
		return;
	if (mode == NVML_ABI_COMPUTE_DEFAULT)
		device->compute_mode = REPORT_COMPUTE_DEFAULT;
	else if (mode == NVML_ABI_COMPUTE_EXCLUSIVE_PROCESS)
		device->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	else if (mode == NVML_ABI_COMPUTE_PROHIBITED)
		device->compute_mode = REPORT_COMPUTE_PROHIBITED;
}

static void read_memory(struct subject *subject, struct report_device *device)
{
	struct nvml_abi_memory memory = {.total = 0};
	int code = ASK(subject, memory, &memory);
	if (fails(subject, "memory", code))
		return;
	subject->memory = memory.total;
	device->memory_mib = (int64_t)(memory.total / BYTES_PER_MIB);
	if (memory.used <= memory.total)
		device->figures.memory_used_mib = (int64_t)(memory.used / BYTES_PER_MIB);
}

/* A number that cannot be true is none. */
static void read_figures(struct subject *subject, struct report_device *device)
{
	unsigned celsius = 0;
	unsigned milliwatts = 0;
	int code = ASK(subject, temperature, NVML_ABI_TEMPERATURE_GPU, &celsius);
	if (!fails(subject, "temperature", code) && celsius <= LIMIT_NUMBER_CELSIUS)
		device->figures.temperature_celsius = celsius;
	code = ASK(subject, power, &milliwatts);
	if (!fails(subject, "power", code) && milliwatts <= LIMIT_NUMBER_MILLIWATTS)
		device->figures.power_mw = milliwatts;
}

/* Moves *text behind digits and then `unit`. False: it does not start so. */
static bool skip_number(const char **text, const char *unit)
{
	const char *end = *text + strspn(*text, "0123456789");

	if (end == *text || strncmp(end, unit, strlen(unit)) != 0)
		return false;
	*text = end + strlen(unit);
	return true;
}

/* Whether text starts as "1g.5gb" or "1c.2g.10gb" do. */
static bool is_profile(const char *text)
{
	(void)skip_number(&text, "c.");
	return skip_number(&text, "g.") && skip_number(&text, "gb");
}

/* The profile in a MIG device's name, "NVIDIA A100-SXM4-40GB MIG 1g.5gb+me"; empty if none. */
static struct view profile_in_name(const char *name)
{
	static const char mark[] = "MIG ";
	const char *at = strstr(name, mark);
	if (!at || !is_profile(at + strlen(mark)))
		return VIEW("");
	return view_trim(view_from(at + strlen(mark)));
}

/*
 * The profile that attributes amount to, for drivers whose names have none: memory counts in eighths
 * of the device, rounded up. What a name can add ("+me") is not in them.
 */
static void profile_from_attributes(const struct subject *mig,
				    const struct nvml_abi_attributes *attributes, char *ret_text,
				    size_t size)
{
	uint64_t part = attributes->memory_mib * BYTES_PER_MIB;
	uint64_t eighths = (part * 8 + mig->memory - 1) / mig->memory;
	uint64_t device_gib = (mig->memory + BYTES_PER_GIB - 1) / BYTES_PER_GIB;
	unsigned gib = (unsigned)((eighths * device_gib + 4) / 8);
	if (attributes->compute_instance_slices == attributes->gpu_instance_slices)
		snprintf(ret_text, size, "%ug.%ugb", attributes->gpu_instance_slices, gib);
	else
		snprintf(ret_text, size, "%uc.%ug.%ugb", attributes->compute_instance_slices,
			 attributes->gpu_instance_slices, gib);
}

static void read_profile(struct subject *mig, struct report_partition *partition)
{
	struct nvml_abi_attributes attributes = {.memory_mib = 0};
	char text[NVML_ABI_NAME_SIZE] = "";
	int code = ASK(mig, name, text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	/* A name that is not told may have more in it than attributes tell: then there is no profile. */
	bool has_name = !fails(mig, "name", code);
	struct view profile = has_name ? profile_in_name(text) : VIEW("");
	code = ASK(mig, attributes, &attributes);
	if (!fails(mig, "attributes", code)) {
		partition->memory_mib = (int64_t)attributes.memory_mib;
		if (has_name && profile.len == 0 && mig->memory) {
			profile_from_attributes(mig, &attributes, text, sizeof(text));
			profile = view_from(text);
		}
	}
	if (!arena_copy(mig->asked.reader->arena, profile, &partition->profile))
		mig->asked.reader->no_memory = true;
}

static void read_instances(struct subject *mig, struct report_partition *partition)
{
	unsigned id = 0;
	bool none = fails(mig, "GPU instance", ASK(mig, gpu_instance, &id));
	partition->gpu_instance_id = none ? -1 : (int64_t)id;
	none = fails(mig, "compute instance", ASK(mig, compute_instance, &id));
	partition->compute_instance_id = none ? -1 : (int64_t)id;
}

static bool is_found(const struct device_reader_scratch *scratch, uint32_t pid,
		     struct view partition)
{
	for (uint32_t i = 0; i < scratch->n_found; i++) {
		const struct report_process *found = &scratch->found[i];
		if (found->pid == pid && view_equal(found->partition, partition))
			return true;
	}
	return false;
}

static void add_process(struct subject *subject, const struct nvml_abi_process *raw, int kind,
			struct view partition)
{
	struct device_reader_scratch *scratch = subject->asked.reader->scratch;
	bool has_memory = raw->used_memory != NVML_ABI_NO_MEMORY;
	if (is_found(scratch, raw->pid, partition))
		return;
	/* No kernel gives out a higher one: told on, it would cost the whole report. */
	if (scratch->n_found == ARRAY_SIZE(scratch->found) || raw->pid > LIMIT_NUMBER_PID) {
		subject->hides_processes = true;
		return;
	}
	scratch->found[scratch->n_found++] = (struct report_process){
		.pid = raw->pid,
		.kind = kind,
		.memory_mib = has_memory ? (int64_t)(raw->used_memory / BYTES_PER_MIB) : 0,
		.partition = partition,
	};
}

/* Adds one call's answer, of which n are valid if code is SUCCESS. */
static void add_processes(struct subject *subject, int code, unsigned n, int kind,
			  struct view partition)
{
	struct device_reader_scratch *scratch = subject->asked.reader->scratch;
	if (fails(subject, "processes", code)) {
		/* Without the list of plain compute processes nothing can be called idle. */
		subject->hides_processes |= kind == REPORT_PROCESS_COMPUTE;
		return;
	}
	for (unsigned i = 0; i < n && i < ARRAY_SIZE(scratch->raw); i++)
		add_process(subject, &scratch->raw[i], kind, partition);
}

/* A process on two lists is told once: as client of MPS before compute before graphics. */
static void find_processes(struct subject *subject, struct view partition)
{
	struct device_reader_scratch *scratch = subject->asked.reader->scratch;
	unsigned n = ARRAY_SIZE(scratch->raw);
	int code = ASK(subject, mps_processes, &n, scratch->raw);
	add_processes(subject, code, n, REPORT_PROCESS_MPS, partition);
	n = ARRAY_SIZE(scratch->raw);
	code = ASK(subject, compute_processes, &n, scratch->raw);
	add_processes(subject, code, n, REPORT_PROCESS_COMPUTE, partition);
	n = ARRAY_SIZE(scratch->raw);
	code = ASK(subject, graphics_processes, &n, scratch->raw);
	add_processes(subject, code, n, REPORT_PROCESS_GRAPHICS, partition);
}

/* A figure is that of the whole GPU instance, as dcgm-exporter's is. */
static void read_gpm(struct subject *device, struct report_partition *partition)
{
	int64_t percent = -1;
	struct device_reader *reader = device->asked.reader;
	if (!device->has_gpm || partition->gpu_instance_id < 0)
		return;
	int code = gpm_read(reader->gpm, reader->library, device->asked.handle,
			    (unsigned)partition->gpu_instance_id, &percent);
	bool none = fails(device, "GPU performance monitoring", code);
	if (code != NVML_ABI_NOT_SUPPORTED && code != NVML_ABI_FUNCTION_NOT_FOUND)
		activity_windows_offer(&partition->activity, REPORT_ACTIVITY_GPM,
				       none ? -1 : percent);
}

/* False if there is nothing at this index, or nothing that can be named. */
static bool read_partition(struct subject *device, unsigned index, struct report_partition *ret)
{
	char uuid[NVML_ABI_UUID_SIZE] = "";
	struct subject mig = *device;
	int code = ASK(device, mig_handle, index, &mig.asked.handle);
	if (code == NVML_ABI_NOT_FOUND || code == NVML_ABI_INVALID_ARGUMENT)
		return false;
	if (fails(device, "MIG device", code) ||
	    fails(device, "MIG UUID", ASK(&mig, uuid, uuid, sizeof(uuid)))) {
		device->hides_partitions = true;
		return false;
	}
	uuid[sizeof(uuid) - 1] = '\0';
	mig.asked.label = uuid;
	device_reader_keep(device->asked.reader, uuid, &ret->uuid);
	read_profile(&mig, ret);
	read_instances(&mig, ret);
	read_gpm(device, ret);
	find_processes(&mig, ret->uuid);
	device->asked.lost |= mig.asked.lost;
	device->asked.missing |= mig.asked.missing;
	device->asked.needs_reset |= mig.asked.needs_reset;
	device->hides_processes |= mig.hides_processes;
	return true;
}

/* A list that lacks a part is not known: as "all of them" it would be wrong. */
static void read_partitions(struct subject *subject, struct report_device *device)
{
	unsigned max = 0;
	int code = ASK(subject, max_mig_count, &max);
	subject->hides_partitions = fails(subject, "MIG devices", code);
	if (max > LIMIT_REPORT_PARTITIONS) {
		device_reader_note(subject->asked.reader,
				   "%s: MIG devices: up to %u, more than a report holds (%u)",
				   subject->asked.label, max, LIMIT_REPORT_PARTITIONS);
		subject->hides_partitions = true;
		max = 0;
	}
	code = gpm_ask_support(subject->asked.reader->library, subject->asked.handle);
	subject->has_gpm = !fails(subject, "GPU performance monitoring", code);
	struct report_partition *items = keep_array(subject->asked.reader, max, sizeof(*items));
	uint32_t count = 0;
	for (unsigned i = 0; items && i < max; i++)
		count += read_partition(subject, i, &items[count]);
	if (subject->hides_partitions)
		subject->hides_processes = true;
	else
		device->partitions = (struct array){items, count, true};
}

/* A device that cannot be divided is known to have no parts. */
static void read_mig(struct subject *subject, struct report_device *device)
{
	unsigned current = 0;
	unsigned pending = 0;
	int code = ASK(subject, mig_mode, &current, &pending);
	bool none = fails(subject, "MIG mode", code);
	device->mig = (struct report_mig){.present = !none, .current = current, .pending = pending};
	device->partitions.present = code == NVML_ABI_NOT_SUPPORTED || (!none && !current);
	if (!none && current)
		read_partitions(subject, device);
	else
		find_processes(subject, VIEW(""));
}

/* Under MIG the driver has no figure of the device, nor of its parts. */
static void read_utilization(struct subject *subject, struct report_device *device)
{
	struct nvml_abi_utilization rates = {.gpu = 0};
	int code = ASK(subject, utilization, &rates);
	bool none = fails(subject, "utilization", code);
	if (code == NVML_ABI_NOT_SUPPORTED || code == NVML_ABI_FUNCTION_NOT_FOUND)
		return;
	activity_windows_offer(&device->activity, REPORT_ACTIVITY_NVML, none ? -1 : (int64_t)rates.gpu);
}

static void keep_processes(struct subject *subject, struct report_device *device)
{
	struct device_reader_scratch *scratch = subject->asked.reader->scratch;
	if (subject->hides_processes)
		return;
	uint32_t n = scratch->n_found;
	struct report_process *items = keep_array(subject->asked.reader, n, sizeof(*items));
	if (!items)
		return;
	memcpy(items, scratch->found, n * sizeof(*items));
	device->processes = (struct array){items, n, true};
}

void device_reader_read(struct device_subject *asked, struct report_device *ret)
{
	struct subject subject = {.asked = *asked};
	asked->reader->scratch->n_found = 0;
	read_name(&subject, ret);
	read_serial(&subject, ret);
	read_minor(&subject, ret);
	read_pci_info(&subject, ret);
	read_compute_capability(&subject, ret);
	read_compute_mode(&subject, ret);
	ret->figures = (struct report_figures){true, -1, -1, -1};
	read_memory(&subject, ret);
	read_figures(&subject, ret);
	read_mig(&subject, ret);
	keep_processes(&subject, ret);
	read_utilization(&subject, ret);
	*asked = subject.asked;
}
