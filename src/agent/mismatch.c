/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mismatch.h"

#include <stdio.h>
#include <string.h>

#include "io/file.h"
#include "model/report.h"

/* The library tells its version before it was started, with CUDA's in front: "13.580.65.06". */
static void read_library(const struct nvml_library *library, char text[static NVML_ABI_VERSION_SIZE])
{
	char all[NVML_ABI_VERSION_SIZE] = "";
	const char *driver;

	if (NVML_LIBRARY_CALL(library, library_version, all, sizeof(all)) != NVML_ABI_SUCCESS)
		return;
	all[sizeof(all) - 1] = '\0';
	driver = strchr(all, '.');
	snprintf(text, NVML_ABI_VERSION_SIZE, "%s", driver ? driver + 1 : all);
}

static void read_module(const char *file, char text[static NVML_ABI_VERSION_SIZE])
{
	CLEANUP(sbuf_deinit) struct sbuf buf;
	struct error err;

	sbuf_init(&buf, NVML_ABI_VERSION_SIZE - 1);
	if (file_read(file, &buf, &err) < 0) /* the versions are a help, no more */
		return;
	snprintf(text, NVML_ABI_VERSION_SIZE, "%.*s", VIEW_ARG(view_trim(sbuf_view(&buf))));
}

/* " (580.65.06)", or nothing. */
static const char *opening(const char *version)
{
	return version[0] ? " (" : "";
}

static const char *closing(const char *version)
{
	return version[0] ? ")" : "";
}

void mismatch_describe(const struct nvml_library *library, const char *module_file, char *text,
		       size_t size)
{
	char ours[NVML_ABI_VERSION_SIZE] = "", loaded[NVML_ABI_VERSION_SIZE] = "";

	read_library(library, ours);
	read_module(module_file, loaded);
	snprintf(text, size,
		 "the driver's library%s%s%s and the kernel module that is loaded%s%s%s "
		 REPORT_DRIVER_MISMATCH ": delete this agent's pod; if that does not help, reload the module, or "
		 "reboot the node",
		 opening(ours), ours, closing(ours), opening(loaded), loaded, closing(loaded));
}
