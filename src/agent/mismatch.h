/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * mismatch - says that the driver's library and its kernel module are of different versions. An upgrade
 * of the driver leaves that behind while the old module is still loaded
 *
 * Threads: owner of the library.
 */

#include "agent/nvml_library.h"

/* Where the kernel tells the version of the module that is loaded. */
#define MISMATCH_MODULE_FILE "/sys/module/nvidia/version"

/*
 * Writes a sentence about it into text, which is cut to its size. It has the versions, as far as the
 * library and the file tell them.
 */
void mismatch_describe(const struct nvml_library *library, const char *module_file, char *text,
		       size_t size);
