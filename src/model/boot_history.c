/* SPDX-License-Identifier: Apache-2.0 */
#include "model/boot_history.h"

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

struct boot_history_device {
	char uuid[LIMIT_TEXT_UUID + 1];
	struct boot_history_told told;
	struct count corrected, uncorrected;
	bool had_errors;
	bool has_asked; /* the driver, for a reset, since the last one that was seen */
	bool is_mig;    /* MIG mode is on, where other counts may be told */
};

static struct boot_history_device *find(const struct boot_history *history, struct view uuid)
{
	for (uint32_t i = 0; i < history->n_devices; i++)
		if (view_equal(view_from(history->devices[i].uuid), uuid))
			return &history->devices[i];
	return NULL;
}

/* NULL: there is no room. */
static struct boot_history_device *add(struct boot_history *history, struct view uuid)
{
	struct boot_history_device *devices = NULL;
	assert(history->n_devices <= LIMIT_REPORT_DEVICES);
	if (history->n_devices < LIMIT_REPORT_DEVICES && uuid.len <= LIMIT_TEXT_UUID)
		devices = reallocarray(history->devices, history->n_devices + 1, sizeof(*devices));
	if (!devices)
		return NULL;
	history->devices = devices;
	devices += history->n_devices++;
	*devices = (struct boot_history_device){0};
	memcpy(devices->uuid, uuid.ptr, uuid.len);
	return devices;
}

static bool has_errors(const struct report_error_counts *now)
{
	return now->corrected > 0 || now->uncorrected > 0;
}

/* A lost one is told as it was. */
static int64_t count_nvlinks(const struct report_device *reported)
{
	const struct report_links *told = &reported->condition.nvlinks;
	return told->present && !reported->condition.lost && !reported->mig.current ? told->active : 0;
}

static void note_nvlinks(struct boot_history_device *device, const struct report_device *reported)
{
	const int64_t active = count_nvlinks(reported);
	if (reported->mig.current || active > device->told.most_nvlinks)
		device->told.most_nvlinks = active;
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
static void note_mig(struct boot_history_device *device, bool is_mig)
{
	if (device->is_mig != is_mig)
		device->corrected = device->uncorrected = (struct count){0};
	device->is_mig = is_mig;
}

/* It asks for nothing, and counts are as before: whatever it asked for is over, and was no such reset. */
static bool is_over(const struct boot_history_device *device, const struct report_error_counts *now,
		    const struct report_condition *condition)
{
	return condition->recovery == REPORT_RECOVERY_NONE && !device->corrected.is_low &&
	       !device->uncorrected.is_low && has_errors(now);
}

/* True: a reset is told now. */
static bool hear(struct boot_history_device *device, const struct report_device *reported,
		 const struct report_error_counts *now, int64_t read_at)
{
	const struct report_condition *condition = &reported->condition;
	bool is_news = false;
	device->has_asked |= asks_for_reset(condition);
	if (condition->reset_required) /* it answers nothing else: the counts are the last that were read */
		return false;
	note_mig(device, reported->mig.current);
	const int64_t resets[] = {
		take(&device->corrected, now->corrected, read_at),
		take(&device->uncorrected, now->uncorrected, read_at),
	};
	for (size_t i = 0; i < ARRAY_SIZE(resets); i++)
		if (device->has_asked && condition->recovery == REPORT_RECOVERY_NONE &&
		    resets[i] > device->told.reset_uptime_ms) {
			device->told.reset_uptime_ms = resets[i];
			is_news = true;
		}
	device->has_asked &= !is_news && !is_over(device, now, condition);
	return is_news;
}

bool boot_history_hear(struct boot_history *history, const struct report *report,
		       const struct figures *figures)
{
	const int64_t read_at = figures ? figures_uptime(figures) : figures_uptime_of(report);
	const bool is_new = read_at > history->read_uptime_ms;
	const struct report_device *reported = report->devices.items;
	bool is_news = false;
	if (report->boot_id.len == 0)
		return false;
	if (is_new)
		history->read_uptime_ms = read_at;
	for (uint32_t i = 0; i < report->devices.count; i++, reported++) {
		const bool is_read = is_new && reported->condition.present && !reported->condition.lost;
		struct report_error_counts now = reported->condition.ecc_volatile;
		struct boot_history_device *device = find(history, reported->uuid);

		if (figures)
			now.corrected = figures_corrected(figures, i);
		/* Most have neither errors nor links. */
		if (!device && ((is_read && has_errors(&now)) || count_nvlinks(reported) > 0))
			device = add(history, reported->uuid);
		if (!device)
			continue;
		note_nvlinks(device, reported);
		device->had_errors |= is_read && has_errors(&now);
		is_news |= is_read && device->had_errors && hear(device, reported, &now, read_at);
	}
	return is_news;
}

struct boot_history_told boot_history_find(const struct boot_history *history, struct view uuid)
{
	const struct boot_history_device *device = history ? find(history, uuid) : NULL;
	return device ? device->told : (struct boot_history_told){0};
}

void boot_history_forget(struct boot_history *history)
{
	free(history->devices);
	*history = (struct boot_history){0};
}
