/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvml_event.h"

#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "model/device_id.h"

static int64_t instance_id(uint32_t id)
{
	return id == NVML_ABI_NO_INSTANCE ? -1 : (int64_t)id;
}

struct nvml_event nvml_event_of(const struct nvml_abi_event *raw, const char *uuid)
{
	struct nvml_event event = {
		.xid = raw->data,
		.gpu_instance_id = instance_id(raw->gpu_instance),
		.compute_instance_id = instance_id(raw->compute_instance),
	};
	memcpy(event.uuid, uuid, sizeof(event.uuid));
	return event;
}

/* What no report can carry is not told. */
static int64_t tellable(int64_t instance)
{
	return instance >= 0 && instance <= LIMIT_NUMBER_INSTANCE ? instance : -1;
}

bool nvml_event_describe(struct nvml_event *event, uint32_t sequence, struct report_event *ret_event)
{
	event->uuid[sizeof(event->uuid) - 1] = '\0';
	const struct view uuid = view_from(event->uuid);
	LOG_WARN("GPU raised an XID error", LOG_TEXT("device", uuid), LOG_U64("xid", event->xid));
	/* It must not cost the events that can be carried. */
	if (event->xid > LIMIT_NUMBER_XID || !device_id_is_gpu_uuid(uuid))
		return false;
	*ret_event = (struct report_event){
		.sequence = sequence,
		.time = clock_wall_ms(),
		.uptime_ms = (int64_t)clock_boot_ms(),
		.uuid = uuid,
		.type = REPORT_EVENT_XID,
		.code = (int64_t)event->xid,
		.gpu_instance_id = tellable(event->gpu_instance_id),
		.compute_instance_id = tellable(event->compute_instance_id),
	};
	return true;
}
