/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A tenancy is touched only when the status of its device changes. Then the lines of the series
 * (controller/gpu_series.h) lose what the device gave them, get what has ended as a constant, and get
 * what goes on anew.
 */

#include "controller/gpu_time.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/table.h"
#include "controller/gpu_series.h"

/* What is idle or not: the device itself, which comes first, and its partitions. */
struct unit {
	struct view uuid;
	bool is_idle;
	int64_t since; /* idleSince as published */
	double from;   /* idle since then; or, of one that is not, when it was idle last */
	double end;    /* while a status takes over: when idleness ended; INFINITY: it goes on */
};

struct tenancy {
	struct view pod_uid, container;
	int64_t start_time;
	struct gpu_series *series; /* NULL: not counted, for want of a namespace, or of room */
	bool is_refused;       /* for want of room */
	double slots;
	double from;
	size_t *units; /* of the device */
	size_t n_units;
	double share; /* of slots, that each of them has */
	bool goes_on; /* while a status takes over */
};

/* What is published of one device. */
struct device {
	struct table_node link; /* by name */
	struct arena arena;     /* all that it points to */
	struct view name;
	double published_at;
	struct unit *units;
	size_t n_units;
	struct tenancy *tenancies;
	size_t n_tenancies;
};

struct gpu_time {
	struct gpu_series_set series;
	struct table devices; /* struct device */
	uint64_t refused;
};

static struct view device_name(const struct table_node *node)
{
	return CONTAINER_OF(node, struct device, link)->name;
}

int gpu_time_new(size_t max_series, struct gpu_time **ret_time, struct error *err)
{
	struct gpu_time *time = calloc(1, sizeof(*time));

	if (!time)
		return error_no_memory(err);
	table_init(&time->devices, device_name);
	if (gpu_series_init(&time->series, max_series, err) < 0) {
		gpu_time_free(time);
		return -1;
	}
	*ret_time = time;
	return 0;
}

static void device_free(struct device *device)
{
	arena_deinit(&device->arena);
	free(device);
}

void gpu_time_free(struct gpu_time *time)
{
	struct table_node *node;

	if (!time)
		return;
	while ((node = table_next(&time->devices, NULL))) {
		table_remove(&time->devices, node);
		device_free(CONTAINER_OF(node, struct device, link));
	}
	table_deinit(&time->devices);
	gpu_series_deinit(&time->series);
	free(time);
}

static void leave_all(struct gpu_time *time, struct device *device)
{
	for (size_t i = 0; i < device->n_tenancies; i++)
		gpu_series_leave(&time->series, device->tenancies[i].series);
}

/* Lines */

static double later(double a, double b)
{
	return a > b ? a : b;
}

static double sooner(double a, double b)
{
	return a < b ? a : b;
}

/* What goes on for this tenancy is added to its lines, or, with the sign -1, taken from them. */
static void run(const struct device *device, const struct tenancy *tenancy, double sign)
{
	struct gpu_series *series = tenancy->series;

	gpu_series_run(&series->held, sign * tenancy->slots, tenancy->from);
	for (size_t i = 0; i < tenancy->n_units; i++) {
		const struct unit *unit = &device->units[tenancy->units[i]];

		if (unit->is_idle)
			gpu_series_run(&series->idle, sign * tenancy->share,
				       later(tenancy->from, unit->from));
	}
}

static void run_all(const struct device *device, double sign)
{
	for (size_t i = 0; i < device->n_tenancies; i++)
		if (device->tenancies[i].series)
			run(device, &device->tenancies[i], sign);
}

/* What has ended of this tenancy is added for good; it ends then itself. INFINITY: it goes on. */
static void settle(const struct device *device, const struct tenancy *tenancy, double end)
{
	struct gpu_series *series = tenancy->series;

	if (tenancy->goes_on)
		end = (double)INFINITY;
	else
		gpu_series_settle(&series->held, tenancy->slots, end - tenancy->from);
	for (size_t i = 0; i < tenancy->n_units; i++) {
		const struct unit *unit = &device->units[tenancy->units[i]];
		const double from = later(tenancy->from, unit->from);
		const double until = sooner(end, unit->end);

		if (unit->is_idle && until < (double)INFINITY && until > from)
			gpu_series_settle(&series->idle, tenancy->share, until - from);
	}
}

/* A published time on the monotonic clock; 0 and times to come are now. */
static double when(int64_t wall_ms, struct gpu_time_now now)
{
	int64_t age_ms = 0;

	if (wall_ms <= 0 || wall_ms > now.wall || __builtin_sub_overflow(now.wall, wall_ms, &age_ms))
		age_ms = 0;
	return (double)now.monotonic - (double)age_ms;
}

/* Taking a status over */

static struct unit *find_unit(const struct device *device, struct view uuid)
{
	for (size_t i = 0; i < device->n_units; i++)
		if (view_equal(device->units[i].uuid, uuid))
			return &device->units[i];
	return NULL;
}

/*
 * Work was seen between two statuses that both say Idle. It began after the first, and nobody knows
 * when: so nothing is idle from there until it ended.
 */
static void begin_idleness_anew(const struct device *old, struct unit *before, struct unit *unit)
{
	before->end = later(before->from, sooner(old->published_at, unit->from));
	unit->from = later(unit->from, before->end);
}

/* of: NULL for the device itself, whose UUID is empty here. */
static void set_unit(const struct attribution_status *status,
		     const struct attribution_partition *of, struct device *old,
		     struct gpu_time_now now, struct unit *unit)
{
	const bool by_device = !of || of->activity.state == ATTRIBUTION_ACTIVITY_UNSET;
	const int state = by_device ? status->activity.state : of->activity.state;
	const int64_t since = by_device ? status->activity.idle_since : of->activity.idle_since;
	struct unit *before = old ? find_unit(old, unit->uuid) : NULL;

	unit->is_idle = state == ATTRIBUTION_ACTIVITY_IDLE;
	unit->since = since;
	unit->from = when(since, now);
	if (!before) {
		unit->from = unit->is_idle ? unit->from : -(double)INFINITY;
		return;
	}
	before->end = (double)INFINITY;
	if (before->is_idle && !unit->is_idle) {
		before->end = later(before->from,
				    by_device ? when(status->activity.last_transition_time, now)
					      : (double)now.monotonic);
		unit->from = before->end;
	} else if (before->is_idle && since > before->since) {
		begin_idleness_anew(old, before, unit);
	} else if (before->is_idle || !unit->is_idle) {
		unit->from = before->from;
	} else {
		unit->from = later(unit->from, before->from);
	}
}

static int set_units(const struct attribution_status *status, struct device *old,
		     struct gpu_time_now now, struct device *device, struct error *err)
{
	for (size_t i = 0; old && i < old->n_units; i++)
		old->units[i].end = (double)now.monotonic; /* of those that are gone */
	device->units = arena_alloc(&device->arena, 1 + status->partitions.count,
				    sizeof(*device->units));
	if (!device->units)
		return error_no_memory(err);
	set_unit(status, NULL, old, now, &device->units[device->n_units++]);
	for (uint32_t i = 0; i < status->partitions.count; i++) {
		const struct attribution_partition *partition =
			ARRAY_AT(status->partitions, struct attribution_partition, i);
		struct unit *unit = &device->units[device->n_units++];

		if (!arena_copy(&device->arena, partition->uuid, &unit->uuid))
			return error_no_memory(err);
		set_unit(status, partition, old, now, unit);
	}
	return 0;
}

/* The units that the tenant has its slots on. */
static int set_places(const struct attribution_tenant *tenant, struct device *device,
		      struct tenancy *tenancy, struct error *err)
{
	const size_t n = tenant->partitions.count;

	tenancy->units = arena_alloc(&device->arena, n + 1, sizeof(*tenancy->units));
	if (!tenancy->units)
		return error_no_memory(err);
	if (n == 0) {
		tenancy->units[tenancy->n_units++] = 0;
		tenancy->share = tenancy->slots;
		return 0;
	}
	tenancy->share = tenancy->slots / (double)(n + (size_t)tenant->partitions_left_out);
	for (uint32_t i = 0; i < n; i++) {
		const struct unit *unit =
			find_unit(device, *ARRAY_AT(tenant->partitions, struct view, i));

		if (unit)
			tenancy->units[tenancy->n_units++] = (size_t)(unit - device->units);
	}
	return 0;
}

/* Nearly always it stands where it stood before. */
static struct tenancy *find_tenancy(struct device *device, const struct tenancy *wanted,
				    size_t likely)
{
	for (size_t i = 0; i < device->n_tenancies; i++) {
		struct tenancy *tenancy = &device->tenancies[(likely + i) % device->n_tenancies];

		if (view_equal(tenancy->pod_uid, wanted->pod_uid) &&
		    view_equal(tenancy->container, wanted->container))
			return tenancy;
	}
	return NULL;
}

/* What a status is taken over with. */
struct takeover {
	struct gpu_time *time;
	const struct attribution_status *status;
	struct device *old; /* NULL: nothing was known of the device */
	struct device *device;
	struct gpu_time_now now;
};

static bool has_same_units(const struct takeover *takeover, const struct tenancy *before,
			   const struct tenancy *tenancy)
{
	if (before->n_units != tenancy->n_units)
		return false;
	for (size_t i = 0; i < before->n_units; i++)
		if (!view_equal(takeover->old->units[before->units[i]].uuid,
				takeover->device->units[tenancy->units[i]].uuid))
			return false;
	return true;
}

/* One that goes on keeps its time, unless it counts otherwise from now on. */
static void carry_on(const struct takeover *takeover, struct tenancy *before,
		     struct tenancy *tenancy)
{
	const bool is_same = before->start_time == tenancy->start_time &&
			     before->series == tenancy->series &&
			     before->slots >= tenancy->slots && before->slots <= tenancy->slots &&
			     has_same_units(takeover, before, tenancy);
	/* Nobody knew whose it was; now that is known. */
	const bool was_nobodys = !before->series && !before->is_refused &&
				 before->start_time == tenancy->start_time;

	tenancy->from = is_same || was_nobodys ? before->from : (double)takeover->now.monotonic;
	tenancy->is_refused = before->is_refused;
	before->goes_on = is_same && before->series;
}

static int begin_tenancy(struct takeover *takeover, const struct attribution_tenant *tenant,
			 struct tenancy *tenancy, struct error *err)
{
	const size_t likely = (size_t)(tenancy - takeover->device->tenancies);
	struct device *old = takeover->old;
	struct tenancy *before = old ? find_tenancy(old, tenancy, likely) : NULL;

	if (tenant->pod_namespace.len > 0 && !(before && before->is_refused)) {
		if (gpu_series_join(&takeover->time->series, tenant->pod_namespace,
				    takeover->status->device.model, takeover->status->sharing.mode,
				    &tenancy->series, err) < 0)
			return -1;
		tenancy->is_refused = !tenancy->series;
		takeover->time->refused += tenancy->is_refused;
	}
	if (before)
		carry_on(takeover, before, tenancy);
	else
		tenancy->from = old ? later(when(tenancy->start_time, takeover->now),
					    old->published_at)
				    : (double)takeover->now.monotonic;
	return 0;
}

static int add_tenancy(struct takeover *takeover, const struct attribution_tenant *tenant,
		       struct error *err)
{
	struct device *device = takeover->device;
	struct tenancy *tenancy = &device->tenancies[device->n_tenancies++];

	tenancy->start_time = tenant->start_time;
	tenancy->slots = (double)tenant->slots;
	if (!arena_copy(&device->arena, tenant->pod_uid, &tenancy->pod_uid) ||
	    !arena_copy(&device->arena, tenant->container, &tenancy->container))
		return error_no_memory(err);
	if (set_places(tenant, device, tenancy, err) < 0)
		return -1;
	return begin_tenancy(takeover, tenant, tenancy, err);
}

static int build(struct takeover *takeover, struct view name, struct error *err)
{
	const struct attribution_status *status = takeover->status;
	struct device *device = takeover->device;

	device->published_at = (double)takeover->now.monotonic;
	device->tenancies = arena_alloc(&device->arena, status->tenants.count,
					sizeof(*device->tenancies));
	if (!device->tenancies || !arena_copy(&device->arena, name, &device->name))
		return error_no_memory(err);
	if (set_units(status, takeover->old, takeover->now, device, err) < 0)
		return -1;
	for (size_t i = 0; takeover->old && i < takeover->old->n_tenancies; i++)
		takeover->old->tenancies[i].goes_on = false;
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);

		if (attribution_is_counted(tenant) && tenant->slots > 0 &&
		    add_tenancy(takeover, tenant, err) < 0)
			return -1;
	}
	return 0;
}

/* When it left, if that is published; else now. */
static double end_of(const struct attribution_status *status, const struct tenancy *tenancy,
		     struct gpu_time_now now)
{
	const struct array recent = status ? status->recent_tenants : (struct array){0};

	for (uint32_t i = 0; i < recent.count; i++) {
		const struct attribution_past_tenant *past =
			ARRAY_AT(recent, struct attribution_past_tenant, i);

		if (past->start_time == tenancy->start_time &&
		    view_equal(past->pod_uid, tenancy->pod_uid) &&
		    view_equal(past->container, tenancy->container))
			return later(tenancy->from, when(past->end_time, now));
	}
	return later(tenancy->from, (double)now.monotonic);
}

/* Takes from the lines what the device gave them, and adds what has ended by the new status. */
static void end_device(struct gpu_time *time, struct device *device,
		       const struct attribution_status *status, struct gpu_time_now now)
{
	run_all(device, -1);
	for (size_t i = 0; i < device->n_tenancies; i++) {
		const struct tenancy *tenancy = &device->tenancies[i];

		if (tenancy->series)
			settle(device, tenancy, end_of(status, tenancy, now));
	}
	leave_all(time, device);
	table_remove(&time->devices, &device->link);
	device_free(device);
}

static struct device *find_device(const struct gpu_time *time, struct view name)
{
	struct table_node *node = table_find(&time->devices, name);

	return node ? CONTAINER_OF(node, struct device, link) : NULL;
}

int gpu_time_publish(struct gpu_time *time, const struct attribution *object,
		     struct gpu_time_now now, struct error *err)
{
	struct takeover takeover = {
		.time = time,
		.status = &object->status,
		.old = find_device(time, object->name),
		.device = calloc(1, sizeof(*takeover.device)),
		.now = now,
	};
	int failed;

	if (!takeover.device)
		return error_no_memory(err);
	arena_init(&takeover.device->arena, LIMIT_OBJECT_BYTES);
	if (build(&takeover, object->name, err) < 0 || table_reserve(&time->devices, err) < 0) {
		leave_all(time, takeover.device);
		device_free(takeover.device);
		return -1;
	}
	if (takeover.old)
		end_device(time, takeover.old, &object->status, now);
	run_all(takeover.device, 1);
	failed = table_add(&time->devices, &takeover.device->link, err);
	assert(!failed); /* there is room for it */
	(void)failed;
	return 0;
}

void gpu_time_forget(struct gpu_time *time, struct view name, struct gpu_time_now now)
{
	struct device *device = find_device(time, name);

	if (!device)
		return;
	for (size_t i = 0; i < device->n_units; i++)
		device->units[i].end = (double)now.monotonic;
	for (size_t i = 0; i < device->n_tenancies; i++)
		device->tenancies[i].goes_on = false;
	end_device(time, device, NULL, now);
}

void gpu_time_pause(struct gpu_time *time, struct gpu_time_now now)
{
	for (size_t i = 0; i < time->series.n_places; i++) {
		(void)gpu_series_read(&time->series.places[i]->held, (double)now.monotonic);
		(void)gpu_series_read(&time->series.places[i]->idle, (double)now.monotonic);
	}
}

/* What is published later of a time before now finds `from` and `published_at`, and counts from there. */
void gpu_time_resume(struct gpu_time *time, struct gpu_time_now now)
{
	struct table_node *node = NULL;

	for (size_t i = 0; i < time->series.n_places; i++) {
		gpu_series_halt(&time->series.places[i]->held);
		gpu_series_halt(&time->series.places[i]->idle);
	}
	while ((node = table_next(&time->devices, node))) {
		struct device *device = CONTAINER_OF(node, struct device, link);

		device->published_at = (double)now.monotonic;
		for (size_t i = 0; i < device->n_tenancies; i++)
			device->tenancies[i].from = (double)now.monotonic;
		run_all(device, 1);
	}
}

/* Reading */

size_t gpu_time_places(const struct gpu_time *time)
{
	return time->series.n_places;
}

bool gpu_time_at(struct gpu_time *time, size_t place, uint64_t monotonic_ms,
		 struct gpu_time_series *ret_series)
{
	struct gpu_series *series =
		place < time->series.n_places ? time->series.places[place] : NULL;

	if (!series)
		return false;
	*ret_series = (struct gpu_time_series){
		.namespace = gpu_series_namespace(series),
		.model = gpu_series_model(series),
		.mode = series->mode,
		.held_ms = gpu_series_read(&series->held, (double)monotonic_ms),
		.idle_ms = gpu_series_read(&series->idle, (double)monotonic_ms),
	};
	return true;
}

struct gpu_time_counters gpu_time_counters(const struct gpu_time *time)
{
	return (struct gpu_time_counters){time->series.dropped, time->refused};
}
