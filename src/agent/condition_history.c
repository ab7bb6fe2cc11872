/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/condition_history.h"

#include <assert.h>
#include <string.h>

#include "model/condition_parts.h"

/*
 * Counters of errors since the device was reset go down at a reset only. But a library may tell rubbish
 * once. So a counter must have been higher at two samples in a row, and lower at the next two. When the
 * device was reset is not known to the second: what is told is the time of the last higher sample. Whoever
 * asks whether an error came before the reset is then told yes for those only that surely did.
 *
 * Counts of another MIG mode are not compared, nor those from before NVML was left: without persistence
 * mode a driver counts anew when its last client goes. Such a reset is left to the controller
 * (model/boot_history.h), which asks for more than counts.
 *
 * The PCIe link of an idle device is in a lower generation by design. So only samples of a busy one
 * count, and any other begins the time anew. Who starts while a device is idle does not know of its
 * generation. Then nothing is said of its link unless that is too narrow: what an earlier agent saw
 * stays.
 *
 * How many NVLinks a device should have is not known: not all of them need lead anywhere. So they are
 * compared with the most that were seen. Who starts while some are down takes what there is for the
 * most. It then says neither that they are down nor that they are not, until all of them are up, or
 * more than there were at first.
 *
 * In MIG mode a driver may switch the links off, as nothing can use them. So they are not down then, and
 * what was the most before says nothing of those that come afterwards.
 */

static_assert(1u << CONDITION_HISTORY_PARTS == REPORT_PART_ALL + 1u, "each part has a bit");

static bool is_of(const struct condition_past *past, struct view uuid)
{
	return view_equal(view_from(past->uuid), uuid);
}

static bool is_among(const struct condition_past *past, struct array devices)
{
	for (uint32_t i = 0; i < devices.count; i++)
		if (is_of(past, ARRAY_AT(devices, struct report_device, i)->uuid))
			return true;
	return false;
}

static void forget_counts(struct condition_past *past)
{
	const struct condition_counter none = {.last = -1, .before_last = -1};
	past->corrected = none;
	past->uncorrected = none;
}

static void begin(struct condition_past *past, struct view uuid)
{
	*past = (struct condition_past){.most_nvlinks = -1};
	forget_counts(past);
	memcpy(past->uuid, uuid.ptr, uuid.len);
}

/* What was seen of the device, or room for it; NULL: it has no name that anybody can report. */
static struct condition_past *find(struct condition_history *history, struct array devices,
				   struct view uuid)
{
	struct condition_past *room = NULL;
	if (uuid.len == 0 || uuid.len > LIMIT_TEXT_UUID)
		return NULL;
	for (size_t i = 0; i < LIMIT_REPORT_DEVICES; i++) {
		struct condition_past *past = &history->devices[i];
		if (is_of(past, uuid))
			return past;
		if (!room || (room->uuid[0] && !past->uuid[0]) ||
		    (is_among(room, devices) && !is_among(past, devices)))
			room = past;
	}
	begin(room, uuid);
	return room;
}

static void feed(struct condition_window *window, bool is_so, uint64_t now_ms, uint64_t yes_ms,
		 uint64_t no_ms)
{
	const int seen = is_so ? REPORT_YES : REPORT_NO;
	if (window->seen != seen) {
		window->seen = seen;
		window->since_ms = now_ms;
	}
	if (now_ms - window->since_ms >= (is_so ? yes_ms : no_ms))
		window->verdict = seen;
}

/* A sample that does not tell: whatever comes next counts anew. */
static void interrupt(struct condition_window *window)
{
	window->seen = REPORT_UNDECIDED;
}

static void feed_clocks(struct condition_window *window, int64_t reasons, int64_t bits,
			const struct condition_history_settings *settings, uint64_t now_ms)
{
	assert(settings);
	if (reasons < 0)
		interrupt(window);
	else
		feed(window, (reasons & bits) != 0, now_ms, settings->slow_ms, settings->fast_ms);
}

static void feed_lanes(struct condition_window *window, const struct report_links *lanes,
		       const struct condition_history_settings *settings, uint64_t now_ms)
{
	if (!lanes->present)
		interrupt(window);
	else
		feed(window, lanes->active < lanes->total, now_ms, settings->narrow_ms, 0);
}

static void feed_generation(struct condition_window *window,
			    const struct report_pcie_generation *generation,
			    const struct condition_history_settings *settings, uint64_t now_ms)
{
	if (!generation->present || !generation->busy)
		interrupt(window);
	else
		feed(window, generation->current < generation->highest, now_ms,
		     settings->narrow_ms, 0);
}

static int pcie_verdict(const struct condition_past *past,
			const struct report_pcie_generation *generation)
{
	if (past->pcie_generation.verdict == REPORT_YES)
		return REPORT_YES;
	if (past->pcie_lanes.verdict == REPORT_NO && generation->present)
		return past->pcie_generation.verdict;
	return past->pcie_lanes.verdict;
}

static void feed_nvlinks(struct condition_past *past, const struct report_device *device)
{
	const struct report_links *links = &device->condition.nvlinks;
	if (device->mig.current) {
		past->most_nvlinks = -1;
		past->nvlinks_down = REPORT_NO;
		return;
	}
	if (!links->present)
		return;
	const bool is_first = past->most_nvlinks < 0;
	const bool is_most = links->active > past->most_nvlinks;
	if (links->active < past->most_nvlinks)
		past->nvlinks_down = REPORT_YES;
	else if (links->active == links->total || past->nvlinks_down == REPORT_YES ||
		 (is_most && !is_first))
		past->nvlinks_down = REPORT_NO;
	if (is_most)
		past->most_nvlinks = links->active;
}

/* The latest one counts. */
static void note_reset(struct condition_past *past, struct wall_time reset)
{
	if (reset.told > 0 && (past->reset.told == 0 || reset.boot_ms > past->reset.boot_ms))
		past->reset = reset;
}

static void feed_counter(struct condition_past *past, struct condition_counter *counter,
			 int64_t now)
{
	const bool is_low = now >= 0 && now < counter->last && now < counter->before_last;
	if (counter->is_low && now < 0)
		return;
	if (is_low && !counter->is_low) {
		counter->is_low = true;
		counter->low_after = past->read_at;
		return;
	}
	if (is_low)
		note_reset(past, counter->low_after);
	counter->is_low = false;
	counter->before_last = counter->last;
	counter->last = now;
}

/* The reader tells the same time again and again, by the clock as it was at first. */
static void feed_reset(struct condition_past *past, const struct report_condition *c)
{
	if (c->reset_uptime_ms != past->read_reset)
		note_reset(past, (struct wall_time){c->reset_time, c->reset_uptime_ms});
	past->read_reset = c->reset_uptime_ms;
}

/* Whether it is so, or was within the gap that counts for nothing. */
static bool is_lately(uint64_t *until_ms, bool is_so, uint64_t now_ms)
{
	if (is_so)
		*until_ms = now_ms + REPORT_ACTIVITY_GAP_MS;
	return *until_ms >= now_ms;
}

/*
 * A call that fails now and then must not change what is said to be readable. In MIG mode less is, and an
 * agent that starts then would not know what was before.
 */
static void note_parts(struct condition_past *past, bool is_in_mig_mode, uint64_t now_ms,
		       struct report_condition *c)
{
	const unsigned read = condition_parts_find(c);
	unsigned lately = 0;
	if (past->was_in_mig_mode != is_in_mig_mode) {
		memset(past->parts_until_ms, 0, sizeof(past->parts_until_ms));
		past->rows_unsupported_until_ms = 0;
	}
	past->was_in_mig_mode = is_in_mig_mode;
	for (unsigned i = 0; i < CONDITION_HISTORY_PARTS; i++) {
		if (is_lately(&past->parts_until_ms[i], (read & (1u << i)) != 0, now_ms))
			lately |= 1u << i;
	}
	c->parts_read = lately & REPORT_PART_FIRST;
	c->further_parts_read = lately & ~(unsigned)REPORT_PART_FIRST;
	c->rows_unsupported =
		is_lately(&past->rows_unsupported_until_ms, c->rows_unsupported, now_ms);
}

static void interrupt_all(struct condition_past *past)
{
	interrupt(&past->thermal);
	interrupt(&past->power_brake);
	interrupt(&past->hardware);
	interrupt(&past->pcie_lanes);
	interrupt(&past->pcie_generation);
}

static void feed_all(struct condition_past *past, const struct report_device *device,
		     const struct condition_history_settings *settings, struct wall_time now)
{
	const struct report_condition *c = &device->condition;
	const int64_t reasons = c->clocks_event_reasons;
	const uint64_t now_ms = (uint64_t)now.boot_ms;
	if (now.boot_ms - past->read_at.boot_ms > REPORT_ACTIVITY_GAP_MS)
		interrupt_all(past);
	feed_clocks(&past->thermal, reasons, REPORT_CLOCKS_THERMAL, settings, now_ms);
	feed_clocks(&past->power_brake, reasons, REPORT_CLOCKS_POWER_BRAKE, settings, now_ms);
	feed_clocks(&past->hardware, reasons, REPORT_CLOCKS_HARDWARE, settings, now_ms);
	feed_lanes(&past->pcie_lanes, &c->pcie_lanes, settings, now_ms);
	feed_generation(&past->pcie_generation, &c->pcie_generation, settings, now_ms);
	feed_nvlinks(past, device);
	if (past->was_in_mig_mode != device->mig.current)
		forget_counts(past);
	feed_counter(past, &past->corrected, c->ecc_volatile.corrected);
	feed_counter(past, &past->uncorrected, c->ecc_volatile.uncorrected);
	feed_reset(past, c);
	past->read_at = now;
}

void condition_history_forget_counts(struct condition_history *history)
{
	for (size_t i = 0; i < LIMIT_REPORT_DEVICES; i++)
		forget_counts(&history->devices[i]);
}

void condition_history_judge(struct condition_history *history, uint64_t now_ms, int64_t wall_ms,
			     struct array devices)
{
	const struct wall_time now = {wall_ms, (int64_t)now_ms};
	assert(devices.count <= LIMIT_REPORT_DEVICES);
	for (uint32_t i = 0; i < devices.count; i++) {
		struct report_device *device = ARRAY_AT(devices, struct report_device, i);
		struct report_condition *c = &device->condition;
		struct condition_past *past = find(history, devices, device->uuid);
		if (!past)
			continue;
		/* Lost, it is told as it was: that is no sample. */
		if (c->lost)
			interrupt_all(past);
		else
			feed_all(past, device, &history->settings, now);
		wall_time_follow(&past->reset, wall_ms, now_ms);
		note_parts(past, device->mig.current, now_ms, c);
		c->slowdown.thermal = past->thermal.verdict;
		c->slowdown.power_brake = past->power_brake.verdict;
		c->slowdown.hardware = past->hardware.verdict;
		c->pcie_degraded = pcie_verdict(past, &c->pcie_generation);
		c->nvlinks_down = past->nvlinks_down;
		c->reset_time = past->reset.told;
		c->reset_uptime_ms = past->reset.boot_ms;
	}
}
