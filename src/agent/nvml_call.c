/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `turn` is odd while a call is under way, and another number in each call. Who looks reads it before
 * and after the rest: if it is the same odd number, the rest is of that call. One cache line, and three
 * stores a call.
 */

#include "agent/nvml_call.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/nvml_library.h"
#include "base/clock.h"
#include "base/limits.h"
#include "model/device_id.h"

struct nvml_call {
	_Atomic uint32_t turn, function;
	_Atomic uint64_t since; /* monotonic ms, which is the same in all processes */
	_Atomic int32_t index;
	char uuid[NVML_CALL_UUID];
};

static const char *const symbols[] = {
	"",
#define SYMBOL(member, symbol, arguments) #symbol,
	NVML_LIBRARY_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

struct nvml_call *nvml_call_new(void)
{
	struct nvml_call *call = mmap(NULL, sizeof(*call), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (call == MAP_FAILED)
		return NULL;
	call->index = -1;
	return call;
}

void nvml_call_free(struct nvml_call *call)
{
	if (call)
		munmap(call, sizeof(*call));
}

void nvml_call_about(struct nvml_call *call, int32_t index, const char *uuid)
{
	if (!call)
		return;
	const size_t len = strlen(uuid);
	call->index = index;
	call->uuid[0] = '\0';
	if (len < sizeof(call->uuid))
		memcpy(call->uuid, uuid, len + 1);
}

void nvml_call_begin(struct nvml_call *call, uint32_t function)
{
	if (!call)
		return;
	call->function = function;
	call->since = clock_monotonic_ms();
	call->turn++;
}

int nvml_call_end(struct nvml_call *call, int code)
{
	if (call)
		call->turn++;
	return code;
}

/* Leaves out what cannot be so. */
static void distrust(struct nvml_call_seen *seen)
{
	seen->uuid[sizeof(seen->uuid) - 1] = '\0';
	if (!device_id_is_gpu_uuid(view_from(seen->uuid)))
		seen->uuid[0] = '\0';
	if (seen->index < 0 || seen->index >= (int32_t)LIMIT_REPORT_DEVICES) {
		seen->index = -1;
		seen->uuid[0] = '\0';
	}
}

bool nvml_call_look(const struct nvml_call *call, struct nvml_call_seen *ret_seen)
{
	if (!call)
		return false;
	const uint32_t turn = call->turn;
	const uint64_t since = call->since, now = clock_monotonic_ms();
	struct nvml_call_seen seen = {
		.function = call->function, .index = call->index, .age_ms = now - since};
	memcpy(seen.uuid, call->uuid, sizeof(seen.uuid));
	if (call->turn != turn || turn % 2 == 0 || since > now || seen.function == 0 ||
	    seen.function >= ARRAY_SIZE(symbols))
		return false;
	distrust(&seen);
	*ret_seen = seen;
	return true;
}

static bool is_same(const struct nvml_call_seen *a, const struct nvml_call_seen *b)
{
	return a->function == b->function && a->index == b->index && strcmp(a->uuid, b->uuid) == 0;
}

void nvml_call_follow(const struct nvml_call *call, uint32_t timeout_ms, struct nvml_call_seen *seen)
{
	struct nvml_call_seen now;
	if (nvml_call_look(call, &now) && now.age_ms >= timeout_ms / 2 && !is_same(&now, seen))
		*seen = now;
}

/* In tenths of the time-out. */
static double seconds_of(const struct nvml_call_seen *seen, uint32_t timeout_ms)
{
	uint64_t tenths = (10 * seen->age_ms + timeout_ms / 2) / timeout_ms;
	return (tenths < 10 ? (double)tenths : 10.0) * timeout_ms / 10000.0;
}

void nvml_call_describe(const struct nvml_call_seen *seen, uint32_t timeout_ms,
			char text[static NVML_CALL_TEXT])
{
	char device[NVML_CALL_UUID + sizeof(" on ")] = "";
	if (seen->function == 0) {
		snprintf(text, NVML_CALL_TEXT, "no answer for %g s", timeout_ms / 1000.0);
		return;
	}
	if (seen->uuid[0])
		snprintf(device, sizeof(device), " on %s", seen->uuid);
	else if (seen->index >= 0)
		snprintf(device, sizeof(device), " on GPU %d", (int)seen->index);
	snprintf(text, NVML_CALL_TEXT, "%s%s has not returned for %g s", symbols[seen->function],
		 device, seconds_of(seen, timeout_ms));
}
