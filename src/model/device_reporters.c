/* SPDX-License-Identifier: Apache-2.0 */
#include "model/device_reporters.h"

#include <assert.h>
#include <stdlib.h>

/* A node whose report names the device. */
struct reporter {
	struct node_state *node_state;
	uint64_t since; /* ms; when it began to */
};

struct reported_device {
	struct table_node link;
	struct reporter *reporters; /* each node once */
	unsigned n_reporters;
	struct view name; /* in the same block */
};

static struct view key_of(const struct table_node *node)
{
	return CONTAINER_OF(node, struct reported_device, link)->name;
}

void device_reporters_init(struct device_reporters *reporters)
{
	table_init(&reporters->by_name, key_of);
}

void device_reporters_deinit(struct device_reporters *reporters)
{
	assert(reporters->by_name.count == 0);
	table_deinit(&reporters->by_name);
}

struct view device_reporters_object_name(struct view uuid, char buffer[static DEVICE_REPORTERS_NAME_SIZE])
{
	if (uuid.len > DEVICE_REPORTERS_NAME_SIZE)
		uuid.len = DEVICE_REPORTERS_NAME_SIZE;
	return view_copy_lower(uuid, buffer);
}

static struct reported_device *find(const struct device_reporters *reporters, struct view object_name)
{
	struct table_node *node = table_find(&reporters->by_name, object_name);
	return node ? CONTAINER_OF(node, struct reported_device, link) : NULL;
}

static struct reported_device *ensure(struct device_reporters *reporters, struct view object_name,
				      struct error *err)
{
	struct reported_device *reported = find(reporters, object_name);
	assert(object_name.len <= DEVICE_REPORTERS_NAME_SIZE);
	if (reported)
		return reported;
	reported = calloc(1, sizeof(*reported) + object_name.len);
	if (!reported) {
		error_no_memory(err);
		return NULL;
	}
	reported->name = view_copy(object_name, (char *)(reported + 1));
	if (table_add(&reporters->by_name, &reported->link, err) < 0) {
		free(reported);
		return NULL;
	}
	return reported;
}

/* Index of the node; or, if its report does not name the device, of the next one to be added. */
static unsigned index_of(const struct reported_device *reported, const struct node_state *node_state)
{
	unsigned i = 0;
	while (i < reported->n_reporters && reported->reporters[i].node_state != node_state)
		i++;
	return i;
}

static void drop(struct device_reporters *reporters, struct reported_device *reported,
		 const struct node_state *node_state)
{
	unsigned i = index_of(reported, node_state);
	if (i < reported->n_reporters)
		reported->reporters[i] = reported->reporters[--reported->n_reporters];
	assert(!reported->n_reporters || reported->reporters);
	if (reported->n_reporters == 0) {
		table_remove(&reporters->by_name, &reported->link);
		free(reported->reporters);
		free(reported);
	}
}

/* Nearly every device is reported by one node: there is room for no more than there are. */
static int add(struct reported_device *reported, struct node_state *node_state, uint64_t now_ms, struct error *err)
{
	unsigned i = index_of(reported, node_state);
	struct reporter *reporters;
	if (i < reported->n_reporters)
		return 0;
	reporters = realloc(reported->reporters, (i + 1) * sizeof(*reporters));
	if (!reporters)
		return error_no_memory(err);
	reporters[i] = (struct reporter){.node_state = node_state, .since = now_ms};
	reported->reporters = reporters;
	reported->n_reporters++;
	return 0;
}

int device_reporters_add(struct device_reporters *reporters, struct node_state *node_state,
			 const struct report *report, uint64_t now_ms, struct error *err)
{
	ARRAY_EACH(const struct report_device, device, report->devices) {
		char buffer[DEVICE_REPORTERS_NAME_SIZE];
		struct reported_device *reported = ensure(
			reporters, device_reporters_object_name(device->uuid, buffer), err);

		if (!reported)
			return -1;
		if (add(reported, node_state, now_ms, err) < 0) {
			drop(reporters, reported, node_state); /* an empty one does not stay */
			return -1;
		}
	}
	return 0;
}

static bool reports_device(const struct report *report, struct view object_name)
{
	ARRAY_EACH(const struct report_device, device, report->devices)
		if (view_equal_ignoring_case(device->uuid, object_name))
			return true;
	return false;
}

void device_reporters_drop(struct device_reporters *reporters, const struct node_state *node_state,
			   const struct report *report, const struct report *keep)
{
	const struct array devices = report ? report->devices : (struct array){0};
	ARRAY_EACH(const struct report_device, device, devices) {
		char buffer[DEVICE_REPORTERS_NAME_SIZE];
		struct view name = device_reporters_object_name(device->uuid, buffer);
		struct reported_device *reported = find(reporters, name);

		if (reported && !(keep && reports_device(keep, name)))
			drop(reporters, reported, node_state);
	}
}

struct node_state *device_reporters_node_state(const struct device_reporters *reporters,
					       struct view object_name, unsigned i)
{
	const struct reported_device *reported = find(reporters, object_name);
	return reported && i < reported->n_reporters ? reported->reporters[i].node_state : NULL;
}

struct device_reporters_ages device_reporters_ages(const struct device_reporters *reporters,
						   struct view object_name,
						   const struct node_state *except, uint64_t now_ms)
{
	const struct reported_device *reported = find(reporters, object_name);
	struct device_reporters_ages ages = {-1, -1};
	for (unsigned i = 0; reported && i < reported->n_reporters; i++) {
		const struct reporter *reporter = &reported->reporters[i];
		int64_t age = (int64_t)(now_ms - reporter->node_state->report_at);
		int64_t held = (int64_t)(now_ms - reporter->since);

		assert(reporter->node_state->report_at <= now_ms && reporter->since <= now_ms);
		if (reporter->node_state == except)
			continue;
		if (ages.youngest_ms < 0 || age < ages.youngest_ms)
			ages.youngest_ms = age;
		if (held > ages.held_ms)
			ages.held_ms = held;
	}
	return ages;
}
