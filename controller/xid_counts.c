/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/xid_counts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "assess/events.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/table.h"

/* A published error, without the partition: an object that is made anew need not be told of it. */
struct known {
	int64_t time, xid;
};

struct device {
	struct table_node link; /* by name */
	struct list age;        /* in xid_counts.by_age */
	struct xid_count counts[LIMIT_XID_NUMBERS + 1];
	size_t n_counts;
	struct known known[LIMIT_HEALTH_EVENTS]; /* what was published last */
	size_t n_known;
	size_t name_len;
	char name[];
};

struct xid_counts {
	struct table devices; /* struct device */
	struct list by_age;   /* the one whose errors are oldest comes first */
	size_t max_devices;
};

static struct view key(const struct table_node *node)
{
	const struct device *device = CONTAINER_OF(node, struct device, link);

	return (struct view){device->name, device->name_len};
}

int xid_counts_new(size_t max_devices, struct xid_counts **ret_counts, struct error *err)
{
	struct xid_counts *counts = calloc(1, sizeof(*counts));

	assert(max_devices > 0);
	if (!counts)
		return error_no_memory(err);
	table_init(&counts->devices, key);
	list_init(&counts->by_age);
	counts->max_devices = max_devices;
	*ret_counts = counts;
	return 0;
}

static void drop_oldest(struct xid_counts *counts)
{
	struct device *device = CONTAINER_OF(list_first(&counts->by_age), struct device, age);

	list_remove(&device->age);
	table_remove(&counts->devices, &device->link);
	free(device);
}

void xid_counts_free(struct xid_counts *counts)
{
	if (!counts)
		return;
	while (!list_is_empty(&counts->by_age))
		drop_oldest(counts);
	table_deinit(&counts->devices);
	free(counts);
}

static struct device *find(const struct xid_counts *counts, struct view name)
{
	struct table_node *node = table_find(&counts->devices, name);

	return node ? CONTAINER_OF(node, struct device, link) : NULL;
}

static struct device *add_device(struct xid_counts *counts, struct view name, struct error *err)
{
	struct device *device = calloc(1, sizeof(*device) + name.len);

	if (!device) {
		error_no_memory(err);
		return NULL;
	}
	device->name_len = name.len;
	view_copy(name, device->name);
	list_init(&device->age);
	if (table_add(&counts->devices, &device->link, err) < 0) {
		free(device);
		return NULL;
	}
	list_append(&counts->by_age, &device->age);
	if (counts->devices.count > counts->max_devices)
		drop_oldest(counts);
	return device;
}

/* The place where errors of that number count; those of too many numbers count together. */
static struct xid_count *place_of(struct device *device, int64_t xid)
{
	size_t i = 0;

	while (i < device->n_counts && device->counts[i].xid != xid)
		i++;
	if (i < device->n_counts)
		return &device->counts[i];
	if (i >= LIMIT_XID_NUMBERS) {
		xid = -1;
		i = LIMIT_XID_NUMBERS;
	}
	if (i == device->n_counts)
		device->counts[device->n_counts++] = (struct xid_count){.xid = xid};
	return &device->counts[i];
}

static bool was_published(const struct device *device, const struct attribution *before,
			  const struct attribution_health_event *event)
{
	if (before && before->status.health.events.count > 0)
		return events_have(before->status.health.events, event);
	for (size_t i = 0; i < device->n_known; i++)
		if (device->known[i].time == event->event_time && device->known[i].xid == event->xid)
			return true;
	return false;
}

static void learn(struct device *device, struct array events)
{
	device->n_known = 0;
	for (uint32_t i = 0; i < events.count && i < LIMIT_HEALTH_EVENTS; i++) {
		const struct attribution_health_event *event =
			ARRAY_AT(events, struct attribution_health_event, i);

		device->known[device->n_known++] = (struct known){event->event_time, event->xid};
	}
}

int xid_counts_publish(struct xid_counts *counts, const struct attribution *before,
		       const struct attribution *now, struct error *err)
{
	const struct array events = now->status.health.events;
	struct device *device = find(counts, now->name);
	bool has_new = false;

	if (events.count == 0)
		return 0;
	if (!device && !(device = add_device(counts, now->name, err)))
		return -1;
	for (uint32_t i = 0; i < events.count; i++) {
		const struct attribution_health_event *event =
			ARRAY_AT(events, struct attribution_health_event, i);
		struct xid_count *place = place_of(device, event->xid);
		const bool is_new = (before || device->n_known > 0) &&
				    !was_published(device, before, event);

		place->count += is_new;
		has_new |= is_new;
	}
	learn(device, events);
	if (has_new) {
		list_remove(&device->age);
		list_append(&counts->by_age, &device->age);
	}
	return 0;
}

const struct xid_count *xid_counts_of(const struct xid_counts *counts, struct view name,
				      size_t *ret_n)
{
	const struct device *device = find(counts, name);

	*ret_n = device ? device->n_counts : 0;
	return device ? device->counts : NULL;
}
