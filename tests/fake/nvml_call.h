/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_call - what every exported function has in common
 *
 * One exported function is one nvml_call(). It takes the lock, notices a changed device file and
 * finds what the handle stands for. It applies injected errors and runs a small query on the JSON
 * of the device. Handles name things by UUID, so they stay valid while the file changes under them.
 *
 * Threads: any; queries run one at a time, under the lock, and must not block.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Puts a function into the library's interface; everything else stays inside. */
#define NVML_EXPORT __attribute__((visibility("default")))

/* What a handle can stand for, as bits of what a function accepts. */
enum nvml_kind {
	NVML_KIND_SYSTEM = 0, /* the call has no handle */
	NVML_KIND_DEVICE = 1,
	NVML_KIND_MIG = 2,
	NVML_KIND_GPU_INSTANCE = 4,
	NVML_KIND_COMPUTE_INSTANCE = 8,
	NVML_KIND_LIBRARY = 16, /* no handle either, and the library need not be started */
};

/* What a call is about. Borrowed until the query returns. */
struct nvml_target {
	const char *symbol;	/* the exported function */
	const json_t *world;	/* the whole file */
	const json_t *device;	/* the physical device; NULL for system calls */
	const json_t *mig;	/* the MIG device, or one of the instance; NULL for others */
	size_t device_index;	/* position of device */
	size_t mig_index;	/* position of mig below device */
};

/* Answers a call from the target into arg; returns a return code of NVML. */
typedef int (*nvml_call_fn)(const struct nvml_target *target, void *arg);

/*
 * Runs query for the exported function symbol. accepts is a set of enum nvml_kind; handle is what
 * the caller gave, NULL for NVML_KIND_SYSTEM and NVML_KIND_LIBRARY. Returns an injected code, what query returned, or
 * - UNINITIALIZED;
 * - INVALID_ARGUMENT for a foreign handle;
 * - NOT_SUPPORTED for a handle of the wrong kind;
 * - GPU_IS_LOST for a device no longer in the file, NOT_FOUND for such a MIG device.
 */
int nvml_call(const char *symbol, unsigned accepts, const void *handle, nvml_call_fn query,
	      void *arg);

/*
 * Counts a start of the library. 0, an injected code, or DRIVER_NOT_LOADED as long as there was no
 * good file.
 */
int nvml_call_start(const char *symbol);

/* Takes one start back. UNINITIALIZED if there is none. */
int nvml_call_stop(void);

/*
 * The code injected for target's symbol: in the errors of its MIG device, its device, or the file,
 * the exact symbol before "*". A device marked lost or in need of a reset has the code of its state,
 * unless its own errors say otherwise. Else 0.
 */
int nvml_call_injected(const struct nvml_target *target);

/*
 * The handle for a thing that target describes: kind, device and mig count. The same thing always
 * has the same handle; it lives as long as the library. NULL without memory. For queries only.
 */
void *nvml_call_handle(const struct nvml_target *target, enum nvml_kind kind);

/* Copies text into a buffer of a caller: 0, or INSUFFICIENT_SIZE. */
int nvml_call_copy(const char *text, char *ret_text, size_t size);

/* Finds a device or MIG device by UUID and fills device, mig and the positions. 0 or NOT_FOUND. */
int nvml_call_find(struct nvml_target *target, const char *uuid);
