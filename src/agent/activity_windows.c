/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One sample with work makes a device busy at once. It stays so until the whole of idle_after_ms has
 * passed without another: nothing flaps, and each change of state is worth a report.
 *
 * A source that fails leaves a gap. Over more than REPORT_ACTIVITY_GAP_MS work may have been missed,
 * so the window begins anew. Where there is no source for the work of processes, and there are some,
 * nothing is known from that moment on.
 */

#include "agent/activity_windows.h"

#include <assert.h>
#include <string.h>

#include "agent/nvml_abi.h"
#include "base/limits.h"

/* The wall clock was set if it and the one since boot differ by more than this between samples. */
#define CLOCK_SET_MS 2000

/* What a sample can say. */
enum sample {
	SAMPLE_NONE,    /* the source did not answer */
	SAMPLE_QUIET,
	SAMPLE_BUSY,
	SAMPLE_UNKNOWN, /* there are processes, and no source tells what they do */
};

struct activity_window {
	char uuid[NVML_ABI_UUID_SIZE];
	bool is_measured;                /* else nothing of the following counts */
	bool has_worked;
	int source;                      /* enum report_activity_source: the one that is named */
	int64_t utilization;             /* of the last sample */
	uint64_t named;                  /* when that source told last, ms since boot */
	int state;                       /* enum report_activity_state: that it told of */
	struct processes_time measured;  /* since when */
	struct processes_time sampled;   /* last */
	struct processes_time busy;      /* last; of a window that has_worked */
};

struct reading {
	const struct activity_windows *last;
	struct activity_windows *next; /* items: room for all of the reading */
	struct processes_time now;
	bool are_processes_told;
};

void activity_windows_offer(struct report_activity *into, enum report_activity_source source,
			    int64_t percent)
{
	const bool has_figure = percent >= 0 && percent <= (int64_t)LIMIT_NUMBER_PERCENT;
	const int64_t figure = has_figure ? percent : -1;

	if (has_figure)
		into->sources |= 1u << source;
	if (into->present && (figure == into->utilization ? into->source <= (int)source
							  : figure < into->utilization))
		return;
	into->present = true;
	into->source = (int)source;
	into->utilization = figure;
}

/* Processes of the device, or of one of its partitions; -1: not known. */
static int64_t count_processes(const struct report_device *device, struct view partition)
{
	int64_t n = 0;

	if (!device->processes.present)
		return -1;
	for (uint32_t i = 0; i < device->processes.count; i++) {
		const struct report_process *process = ARRAY_AT(device->processes,
								struct report_process, i);
		n += partition.len == 0 || view_equal(process->partition, partition);
	}
	return n;
}

/* What the answers amount to. "No process" may take the place of a source without a figure. */
static enum sample judge(const struct activity_settings *settings, struct report_activity *read,
			 int64_t n_processes)
{
	if (read->present && read->utilization >= 0)
		return read->utilization >= settings->busy_percent ? SAMPLE_BUSY : SAMPLE_QUIET;
	if (n_processes == 0) {
		*read = (struct report_activity){.source = REPORT_ACTIVITY_NO_PROCESS,
						 .utilization = -1};
		return SAMPLE_QUIET;
	}
	return n_processes > 0 && !read->present ? SAMPLE_UNKNOWN : SAMPLE_NONE;
}

/* The times that are told must not lie after the ones that will be, nor years before them. */
static void follow_clock(struct activity_window *window, struct processes_time now)
{
	int64_t passed = (int64_t)(now.boot - window->sampled.boot);
	int64_t set_by = now.wall - window->sampled.wall - passed;

	if (set_by >= -CLOCK_SET_MS && set_by <= CLOCK_SET_MS)
		return;
	window->measured.wall += set_by;
	window->sampled.wall += set_by;
	window->busy.wall += set_by;
}

static bool is_gap(const struct activity_window *window, struct processes_time now)
{
	return now.boot - window->sampled.boot > REPORT_ACTIVITY_GAP_MS;
}

static int state_of(const struct activity_windows *windows, const struct activity_window *window,
		    struct processes_time now)
{
	const uint64_t idle_after = windows->settings.idle_after_ms;

	if (window->has_worked && now.boot - window->busy.boot < idle_after)
		return REPORT_ACTIVITY_BUSY;
	return now.boot - window->measured.boot < idle_after ? REPORT_ACTIVITY_MEASURING
							     : REPORT_ACTIVITY_IDLE;
}

/* The best of those that told a figure; of none, the one that is named. */
static int best_source(const struct report_activity *read)
{
	int source = 1;

	while (source < read->source && !(read->sources & 1u << source))
		source++;
	return source;
}

/*
 * What each source says counts. But a worse one is named only when the state changes, or when the better
 * one has failed for long: else what is told would change whenever that fails once. A device that works
 * names a source that saw it. While two sources tell figures, which is the larger changes all the time: so
 * the named one stays while it has seen work within the window.
 */
static void name_source(const struct activity_windows *windows, struct activity_window *window,
			const struct report_activity *read, struct processes_time now)
{
	const int state = state_of(windows, window, now);
	const bool is_busy = state == REPORT_ACTIVITY_BUSY;
	const bool tells_state = !is_busy || window->busy.boot == now.boot;
	const unsigned named = 1u << window->source;
	const bool is_one_of_two = read->sources & named && read->sources & ~named;
	const uint64_t gap = is_busy && is_one_of_two ? windows->settings.idle_after_ms : REPORT_ACTIVITY_GAP_MS;
	const int source = is_busy ? read->source : best_source(read);
	const bool is_due = tells_state && now.boot - window->named > gap;
	const bool is_better = source <= window->source && tells_state;

	if (state == window->state && !is_better && !is_due)
		return;
	window->source = source;
	window->named = now.boot;
	window->state = state;
}

static void add(const struct activity_windows *windows, struct activity_window *window,
		enum sample sample, const struct report_activity *read, struct processes_time now)
{
	if (sample == SAMPLE_UNKNOWN) {
		window->is_measured = window->has_worked = false;
		window->state = REPORT_ACTIVITY_UNSAID;
	}
	if (sample == SAMPLE_UNKNOWN || sample == SAMPLE_NONE)
		return;
	if (window->is_measured)
		follow_clock(window, now);
	if (!window->is_measured || is_gap(window, now))
		window->measured = now;
	window->is_measured = true;
	window->sampled = now;
	window->utilization = read->utilization;
	if (sample == SAMPLE_BUSY) {
		window->has_worked = true;
		window->busy = now;
	}
	name_source(windows, window, read, now);
}

static struct report_activity tell(const struct activity_windows *windows,
				   const struct activity_window *window, struct processes_time now)
{
	if (!window->is_measured || is_gap(window, now))
		return (struct report_activity){.utilization = -1};
	return (struct report_activity){
		.present = true,
		.state = state_of(windows, window, now),
		.source = window->source,
		.utilization = window->utilization,
		.last_busy_at = window->has_worked ? window->busy.wall : 0,
		.measured_since = window->measured.wall,
	};
}

static struct activity_window *find(const struct activity_windows *windows, struct view uuid)
{
	for (uint32_t i = 0; i < windows->n_items; i++) {
		if (view_equal(view_from(windows->items[i].uuid), uuid))
			return &windows->items[i];
	}
	return NULL;
}

/* Of the device, or of that partition: its window becomes the next of the new ones. */
static void read_one(const struct reading *reading, const struct report_device *device,
		     struct view partition, struct report_activity *activity)
{
	struct activity_windows *next = reading->next;
	const struct view uuid = partition.len > 0 ? partition : device->uuid;
	const struct activity_window *before = find(reading->last, uuid);
	struct activity_window *window = &next->items[next->n_items++];
	enum sample sample = judge(&next->settings, activity,
				   reading->are_processes_told ? count_processes(device, partition)
							       : -1);

	*window = before ? *before : (struct activity_window){0};
	assert(uuid.len < sizeof(window->uuid));
	memcpy(window->uuid, uuid.ptr, uuid.len);
	add(next, window, device->condition.lost ? SAMPLE_NONE : sample, activity, reading->now);
	*activity = tell(next, window, reading->now);
}

static void read_device(const struct reading *reading, struct report_device *device)
{
	read_one(reading, device, VIEW(""), &device->activity);
	for (uint32_t i = 0; i < device->partitions.count; i++) {
		struct report_partition *partition = ARRAY_AT(device->partitions,
							      struct report_partition, i);
		read_one(reading, device, partition->uuid, &partition->activity);
	}
}

static void forget(struct report_device *device)
{
	device->activity = (struct report_activity){.utilization = -1};
	for (uint32_t i = 0; i < device->partitions.count; i++)
		ARRAY_AT(device->partitions, struct report_partition, i)->activity =
			device->activity;
}

void activity_windows_read(struct activity_windows *windows, struct processes_time now,
			   struct array devices, bool are_processes_told, struct arena *arena)
{
	struct activity_windows next = {.settings = windows->settings};
	const struct reading reading = {windows, &next, now, are_processes_told};
	size_t n = devices.count;

	for (uint32_t i = 0; i < devices.count; i++)
		n += ARRAY_AT(devices, struct report_device, i)->partitions.count;
	next.items = arena_alloc(arena, n, sizeof(*next.items));
	for (uint32_t i = 0; i < devices.count; i++) {
		if (next.items)
			read_device(&reading, ARRAY_AT(devices, struct report_device, i));
		else
			forget(ARRAY_AT(devices, struct report_device, i));
	}
	*windows = next;
}
