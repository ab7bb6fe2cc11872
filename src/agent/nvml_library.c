/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvml_library.h"

#include <dlfcn.h>
#include <string.h>

/*
 * The function pointers are filled from a table made of the same rows that declare them, the first
 * symbol found wins. POSIX gives dlsym()'s result as an object pointer; its bytes are copied, for
 * ISO C has no cast.
 */
static const struct row {
	const char *symbol;
	size_t offset; /* of the pointer in struct nvml_library */
} rows[] = {
#define ROW(member, symbol, arguments) {#symbol, offsetof(struct nvml_library, member)},
	NVML_LIBRARY_FUNCTIONS(ROW)
#undef ROW
	{"nvmlErrorString", offsetof(struct nvml_library, error_text)},
	/* Drivers before R510: the same arguments and layout. */
	{"nvmlDeviceGetMPSComputeRunningProcesses_v2",
	 offsetof(struct nvml_library, mps_processes)},
	{"nvmlDeviceGetComputeRunningProcesses_v2",
	 offsetof(struct nvml_library, compute_processes)},
	{"nvmlDeviceGetGraphicsRunningProcesses_v2",
	 offsetof(struct nvml_library, graphics_processes)},
	/* Before R535: another name for the same. */
	{"nvmlDeviceGetCurrentClocksThrottleReasons",
	 offsetof(struct nvml_library, clocks_event_reasons)},
};

static void look_up(struct nvml_library *library)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *slot = (char *)library + rows[i].offset;
		void *function;
		memcpy(&function, slot, sizeof(function));
		if (!function)
			function = dlsym(library->object, rows[i].symbol);
		memcpy(slot, &function, sizeof(function));
	}
}

static const char *first_missing(const struct nvml_library *library)
{
	if (!library->init)
		return "nvmlInit_v2";
	if (!library->count)
		return "nvmlDeviceGetCount_v2";
	if (!library->handle)
		return "nvmlDeviceGetHandleByIndex_v2";
	return library->uuid ? NULL : "nvmlDeviceGetUUID";
}

int nvml_library_load(const char *name, struct nvml_library *ret_library, struct error *err)
{
	struct nvml_library library = {.object = dlopen(name, RTLD_NOW | RTLD_LOCAL)};
	if (!library.object) {
		const char *why = dlerror();
		return error_set(err, ERROR_NOT_FOUND, 0, "%s", why ? why : name);
	}
	look_up(&library);
	const char *missing = first_missing(&library);
	if (missing) {
		nvml_library_unload(&library);
		return error_set(err, ERROR_REJECTED, 0, "%s has no %s", name, missing);
	}
	*ret_library = library;
	return 0;
}

void nvml_library_unload(struct nvml_library *library)
{
	if (library->object)
		dlclose(library->object);
	*library = (struct nvml_library){.object = NULL};
}

const char *nvml_library_meaning(const struct nvml_library *library, int code)
{
	const char *text = library->error_text ? library->error_text(code) : NULL;
	return text ? text : "unknown error";
}
