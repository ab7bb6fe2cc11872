/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_recovery.h"

#include <stdlib.h>

#include "base/limits.h"

struct event_recovery_device {
	struct table_node link; /* by UID */
	struct list age;
	struct view uid; /* behind it, and the next */
	struct view note;
	char texts[];
};

static struct view key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct event_recovery_device, link)->uid;
}

void event_recovery_init(struct event_recovery *recovery)
{
	*recovery = (struct event_recovery){0};
	table_init(&recovery->devices, key);
	list_init(&recovery->by_age);
}

static void forget(struct event_recovery *recovery, struct event_recovery_device *device)
{
	if (!device)
		return;
	list_remove(&device->age);
	table_remove(&recovery->devices, &device->link);
	free(device);
}

static struct event_recovery_device *oldest(const struct event_recovery *recovery)
{
	struct list *link = list_first(&recovery->by_age);

	return link ? CONTAINER_OF(link, struct event_recovery_device, age) : NULL;
}

void event_recovery_deinit(struct event_recovery *recovery)
{
	while (oldest(recovery))
		forget(recovery, oldest(recovery));
	table_deinit(&recovery->devices);
}

static struct event_recovery_device *find(const struct event_recovery *recovery, struct view uid)
{
	struct table_node *node = table_find(&recovery->devices, uid);

	return node ? CONTAINER_OF(node, struct event_recovery_device, link) : NULL;
}

static bool add(struct event_recovery *recovery, const struct event_change *change)
{
	const struct view uid = change->regarding.uid;
	struct event_recovery_device *device = calloc(1, sizeof(*device) + uid.len + change->note.len);
	struct error ignored;

	if (!device)
		return false;
	device->uid = view_copy(uid, device->texts);
	device->note = view_copy(change->note, device->texts + uid.len);
	list_init(&device->age);
	if (table_add(&recovery->devices, &device->link, &ignored) < 0) {
		free(device);
		return false;
	}
	list_append(&recovery->by_age, &device->age);
	return true;
}

static void await(struct event_recovery *recovery, const struct event_change *change)
{
	forget(recovery, find(recovery, change->regarding.uid));
	if (recovery->devices.count == LIMIT_EVENT_RECOVERIES) {
		forget(recovery, oldest(recovery));
		recovery->n_forgotten++;
	}
	recovery->n_forgotten += !add(recovery, change);
}

/* What was remembered stays until the next call, as its note does. */
static bool end(struct event_recovery *recovery, struct event_change *change)
{
	struct event_recovery_device *device = find(recovery, change->regarding.uid);

	if (!device)
		return false;
	change->note = device->note;
	recovery->told = device;
	return true;
}

bool event_recovery_take(struct event_recovery *recovery, struct event_change *change)
{
	forget(recovery, TAKE(recovery->told));
	switch (change->use) {
	case EVENT_AWAIT_RECOVERY:
		await(recovery, change);
		return false;
	case EVENT_END_RECOVERY:
		return end(recovery, change);
	case EVENT_TELL:
		break;
	}
	if (change->type == EVENT_GPU_RECOVERED)
		forget(recovery, find(recovery, change->regarding.uid));
	return true;
}
