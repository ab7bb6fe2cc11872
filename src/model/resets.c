/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resets.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

/* What was told last. A low count that is not confirmed yet is kept as such only. */
struct count {
	int64_t last, before_last;
	int64_t told_at; /* the last one, ms since boot */
	bool is_low;     /* what was told after it */
};

struct resets_device {
	char uuid[LIMIT_TEXT_UUID + 1];
	struct count corrected, uncorrected;
	bool has_asked; /* the driver, for a reset, since the last one that was seen */
	bool is_mig;    /* MIG mode is on, where other counts may be told */
	int64_t reset_uptime_ms;
};

static bool is_of(const struct resets_device *device, struct view uuid)
{
	return view_equal(view_from(device->uuid), uuid);
}

static struct resets_device *find(const struct resets *resets, struct view uuid)
{
	for (uint32_t i = 0; i < resets->n_devices; i++)
		if (is_of(&resets->devices[i], uuid))
			return &resets->devices[i];
	return NULL;
}

/* Room for one device more; NULL: there is none. */
static struct resets_device *add(struct resets *resets)
{
	struct resets_device *devices = NULL;

	assert(resets->n_devices <= LIMIT_REPORT_DEVICES);
	if (resets->n_devices < LIMIT_REPORT_DEVICES)
		devices = reallocarray(resets->devices, resets->n_devices + 1, sizeof(*devices));
	if (!devices)
		return NULL;
	resets->devices = devices;
	return &devices[resets->n_devices++];
}

/* What is kept of the device. Most have no errors, and nothing is kept of them: NULL. */
static struct resets_device *ensure(struct resets *resets, struct view uuid,
				    const struct report_error_counts *now)
{
	struct resets_device *device = find(resets, uuid);

	if (device || (now->corrected <= 0 && now->uncorrected <= 0) ||
	    uuid.len > LIMIT_TEXT_UUID || !(device = add(resets)))
		return device;
	*device = (struct resets_device){0};
	memcpy(device->uuid, uuid.ptr, uuid.len);
	return device;
}

/* The device was reset after that, ms since boot; 0: the count does not show it now. */
static int64_t take(struct count *count, int64_t now, int64_t read_at)
{
	const bool is_low = now < count->last && now < count->before_last;
	const int64_t reset = is_low ? count->told_at : 0;

	if (now < 0)
		return 0;
	if (is_low && !count->is_low) {
		count->is_low = true;
		return 0;
	}
	/* A second reset takes two readings again. */
	*count = (struct count){.last = now, .before_last = reset ? 0 : count->last, .told_at = read_at};
	return reset;
}

static bool asks_for_reset(const struct report_condition *condition)
{
	return condition->reset_required || condition->recovery == REPORT_RECOVERY_RESET ||
	       condition->recovery == REPORT_RECOVERY_DRAIN_AND_RESET;
}

/* Counts of another MIG mode are not compared. */
static void note_mig(struct resets_device *device, bool is_mig)
{
	if (device->is_mig != is_mig)
		device->corrected = device->uncorrected = (struct count){0};
	device->is_mig = is_mig;
}

/* It asks for nothing, and counts are as before: whatever it asked for is over, and was no such reset. */
static bool is_over(const struct resets_device *device, const struct report_error_counts *now,
		    const struct report_condition *condition)
{
	return condition->recovery == REPORT_RECOVERY_NONE && !device->corrected.is_low &&
	       !device->uncorrected.is_low && (now->corrected > 0 || now->uncorrected > 0);
}

static bool hear(struct resets_device *device, const struct report_error_counts *now,
		 const struct report_condition *condition, int64_t read_at)
{
	const int64_t resets[] = {
		take(&device->corrected, now->corrected, read_at),
		take(&device->uncorrected, now->uncorrected, read_at),
	};
	bool is_news = false;

	device->has_asked |= asks_for_reset(condition);
	for (size_t i = 0; i < ARRAY_SIZE(resets); i++)
		if (device->has_asked && condition->recovery == REPORT_RECOVERY_NONE &&
		    resets[i] > device->reset_uptime_ms) {
			device->reset_uptime_ms = resets[i];
			is_news = true;
		}
	device->has_asked &= !is_news && !is_over(device, now, condition);
	return is_news;
}

bool resets_hear(struct resets *resets, const struct report *report, const struct figures *figures)
{
	const int64_t read_at = figures ? figures_uptime(figures) : figures_uptime_of(report);
	const struct report_device *reported = report->devices.items;
	bool is_news = false;

	if (report->boot_id.len == 0 || read_at <= resets->read_uptime_ms)
		return false;
	resets->read_uptime_ms = read_at;
	for (uint32_t i = 0; i < report->devices.count; i++, reported++) {
		struct report_error_counts now = reported->condition.ecc_volatile;
		struct resets_device *device;

		/* Of a lost one, and one that answers nothing else, the counts are those of before. */
		if (!reported->condition.present || reported->condition.lost)
			continue;
		if (figures)
			now.corrected = figures_corrected(figures, i);
		device = ensure(resets, reported->uuid, &now);
		if (device && reported->condition.reset_required)
			device->has_asked = true;
		if (!device || reported->condition.reset_required)
			continue;
		note_mig(device, reported->mig.current);
		is_news |= hear(device, &now, &reported->condition, read_at);
	}
	return is_news;
}

int64_t resets_find(const struct resets *resets, struct view uuid)
{
	const struct resets_device *device = resets ? find(resets, uuid) : NULL;

	return device ? device->reset_uptime_ms : 0;
}

void resets_forget(struct resets *resets)
{
	free(resets->devices);
	*resets = (struct resets){0};
}
