/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_call - which call to NVML is under way. The process that calls announces each call in memory
 * that its parent shares, and the parent looks when an answer is late.
 *
 * Where there is no such memory (NULL) nothing is announced, and no call is seen to be under way.
 *
 * Threads: one announces, one looks; of different processes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct nvml_call;

#define NVML_CALL_UUID 44u /* room for "GPU-" and a UUID */
#define NVML_CALL_TEXT 128u

/* A call that was seen; what cannot be so is left out. */
struct nvml_call_seen {
	uint32_t function; /* enum nvml_library_function; 0: none was under way for long */
	int32_t index;     /* of the device; -1: of none */
	char uuid[NVML_CALL_UUID]; /* of the device; empty: not known */
	uint64_t age_ms;
};

/* Memory in which no call is announced; both processes have it after a fork. NULL: there is none. */
struct nvml_call *nvml_call_new(void);
/* Lets go of it in this process. Accepts NULL. */
void nvml_call_free(struct nvml_call *call);

/* The calls from now on are of this device; -1: of none. A UUID that is not known is empty. */
void nvml_call_about(struct nvml_call *call, int32_t index, const char *uuid);
/* Announces a call of this function (enum nvml_library_function). */
void nvml_call_begin(struct nvml_call *call, uint32_t function);
/* Announces that the call has returned. Returns the code that it gave. */
int nvml_call_end(struct nvml_call *call, int code);

/* Looks whether a call is under way. What the other process wrote is not trusted. */
MUST_USE bool nvml_call_look(const struct nvml_call *call, struct nvml_call_seen *ret_seen);
/*
 * Looks which call keeps an answer from coming that is timeout_ms late: one that has taken at least
 * half of that. *seen is what was seen before during the same hang, or zeroed. It stays as it is if
 * the same call is seen again, or none.
 */
void nvml_call_follow(const struct nvml_call *call, uint32_t timeout_ms, struct nvml_call_seen *seen);
/*
 * Says what hangs: "nvmlDeviceGetName on GPU-... has not returned for 5 s", to the nearest tenth of
 * timeout_ms and never more than that; "no answer for 5 s" if no call was seen.
 */
void nvml_call_describe(const struct nvml_call_seen *seen, uint32_t timeout_ms,
			char text[static NVML_CALL_TEXT]);
