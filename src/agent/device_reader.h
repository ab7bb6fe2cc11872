/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_reader - asks the driver's library for everything it knows of one device
 *
 * Each value is one optional call. If the device or library lacks the feature, the value stays
 * empty. Failures that are the device's own set its flags. Any other is noted in the message. How a
 * value gets from here into the status is in CONTRIBUTING.md, under "A field of the status".
 *
 * Threads: owner.
 * Limits:  LIMIT_REPORT_PARTITIONS: if a device may have more, none are reported and the message
 *          says so. LIMIT_REPORT_PROCESSES. The message has LIMIT_REPORT_MESSAGE bytes.
 */

#include "agent/gpm.h"
#include "base/arena.h"
#include "base/limits.h"
#include "model/report.h"

/* Room for the answers of one device, kept by the owner from one reading to the next. */
struct device_reader_scratch {
	struct nvml_abi_process raw[LIMIT_REPORT_PROCESSES]; /* of one call */
	struct report_process found[LIMIT_REPORT_PROCESSES]; /* of the device, so far */
	uint32_t n_found;
};

/* Set up by its owner for one reading of the node; all pointers are borrowed. */
struct device_reader {
	const struct nvml_library *library;
	struct device_reader_scratch *scratch;
	struct gpm *gpm;
	struct arena *arena;                     /* of texts and arrays */
	bool no_memory;                          /* the arena could not hold everything */
	char message[LIMIT_REPORT_MESSAGE + 1];  /* what went wrong, parts joined by "; " */
};

/* A device that is being asked; the flags are set by its answers. */
struct device_subject {
	struct device_reader *reader;
	struct nvml_abi_device *handle;
	const char *label; /* for messages */
	bool lost;         /* GPU_IS_LOST */
	bool missing;      /* GPU_NOT_FOUND */
	bool needs_reset;  /* RESET_REQUIRED */
};

/* Adds a part to the message; what does not fit is cut. */
PRINTF_LIKE(2, 3) void device_reader_note(struct device_reader *reader, const char *format, ...);

/* Copies a text into the arena, or sets no_memory. */
void device_reader_keep(struct device_reader *reader, const char *text, struct view *ret);

/*
 * Sorts the return code of a call that asked the subject for `what`. True: the answer is of no use.
 * The subject's flag is then set, or the failure noted unless it is a missing feature.
 */
bool device_reader_fails(struct device_subject *subject, const char *what, int code);

/*
 * Fills all of *ret but uuid, index and condition. Of a subject that is then lost or missing, *ret
 * is to be thrown away.
 */
void device_reader_read(struct device_subject *asked, struct report_device *ret);
