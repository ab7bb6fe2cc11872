/* SPDX-License-Identifier: Apache-2.0 */
#include "model/links.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

struct links_device {
	char uuid[LIMIT_TEXT_UUID + 1];
	int64_t most; /* active; 0: none told */
};

static struct links_device *find(const struct links *links, struct view uuid)
{
	for (uint32_t i = 0; i < links->n_devices; i++)
		if (view_equal(view_from(links->devices[i].uuid), uuid))
			return &links->devices[i];
	return NULL;
}

/* NULL: there is no room. */
static struct links_device *add(struct links *links, struct view uuid)
{
	struct links_device *devices = NULL;

	assert(links->n_devices <= LIMIT_REPORT_DEVICES);
	if (links->n_devices < LIMIT_REPORT_DEVICES && uuid.len <= LIMIT_TEXT_UUID)
		devices = reallocarray(links->devices, links->n_devices + 1, sizeof(*devices));
	if (!devices)
		return NULL;
	links->devices = devices;
	devices += links->n_devices++;
	*devices = (struct links_device){0};
	memcpy(devices->uuid, uuid.ptr, uuid.len);
	return devices;
}

static void hear(struct links *links, const struct report_device *reported)
{
	const struct report_links *told = &reported->condition.nvlinks;
	struct links_device *device = find(links, reported->uuid);

	if (device && reported->mig.current)
		device->most = 0;
	/* A lost one is told as it was. */
	if (reported->mig.current || reported->condition.lost || !told->present)
		return;
	if (!device && told->active > 0)
		device = add(links, reported->uuid);
	if (device && told->active > device->most)
		device->most = told->active;
}

void links_hear(struct links *links, const struct report *report)
{
	const struct report_device *reported = report->devices.items;

	if (report->boot_id.len == 0)
		return;
	for (uint32_t i = 0; i < report->devices.count; i++)
		hear(links, &reported[i]);
}

int64_t links_find(const struct links *links, struct view uuid)
{
	const struct links_device *device = links ? find(links, uuid) : NULL;

	return device ? device->most : 0;
}

void links_forget(struct links *links)
{
	free(links->devices);
	*links = (struct links){0};
}
