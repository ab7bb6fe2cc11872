/* SPDX-License-Identifier: Apache-2.0 */

/* Tells assess/health.h what the join knows of one device, and who held it when an error happened. */

#include "join/subject.h"

#include <assert.h>

#include "base/limits.h"

/*
 * The node's clock tells when an event happened; the controller's tells when a pod was first and last seen
 * as a tenant. Synchronised clocks are much closer together than this. The rest makes up for what is told
 * late. If the clocks are further apart, an event may lack a pod whose start is not told, or have one that
 * had left before.
 */
#define TOLD_LATE_MS 2000

/* Who held the device when */

static void add_tenant(const struct subject *subject, struct attribution_health_event *event,
		       struct attribution_event_tenant tenant)
{
	const struct pod *pod = node_pods_find_uid(&subject->facts->node_pods, tenant.pod_uid);
	if (pod) {
		tenant.pod_namespace = pod_namespace(pod);
		tenant.pod_name = pod_name(pod);
	}
	if (event->tenants.count < LIMIT_EVENT_TENANTS)
		*ARRAY_AT(event->tenants, struct attribution_event_tenant, event->tenants.count++) = tenant;
	else
		event->tenants_left_out++;
}

static bool is_listed(const struct attribution_health_event *event, const struct attribution_past_tenant *past)
{
	ARRAY_EACH(const struct attribution_event_tenant, listed, event->tenants)
		if (view_equal(listed->pod_uid, past->pod_uid) && view_equal(listed->container, past->container))
			return true;
	return false;
}

/*
 * A pod cannot hold the device before it started; the start is cut to the second, so it counts from
 * the end of that second. Where no start is told, since counts; 0: not known either.
 */
static bool was_there(const struct subject *subject, struct view uid, int64_t since, int64_t time)
{
	const struct pod *pod = node_pods_find_uid(&subject->facts->node_pods, uid);
	const int64_t started_at = pod ? pod_gpu(pod)->started_at : 0;
	if (started_at)
		return time >= started_at + POD_GRANULARITY_MS;
	return since && time >= since - TOLD_LATE_MS;
}

/* A pod that the API server does not know may be nobody; HAMi's placeholder is on any device. */
static bool is_nobody(const struct attribution_tenant *tenant)
{
	return attribution_is_unknown(tenant) ||
	       wording_placeholder_of(tenant->placeholder) == PLACEHOLDER_HAMI;
}

/* What assess/ asks and is told */

/* Each once, as the status has its tenants. Those that left did so here, unless the card comes from elsewhere. */
static int list_holders(const void *owner, const struct events_origin *origin,
			struct attribution_health_event *event, struct error *err)
{
	const struct subject *subject = owner;
	const struct attribution_status *status = subject->status;
	const struct array recent = subject->device->is_taken ? (struct array){0} : status->recent_tenants;
	const int64_t at = event->event_time;
	struct attribution_event_tenant *room;

	if (!ARENA_NEW(room, subject->arena, LIMIT_EVENT_TENANTS))
		return error_no_memory(err);
	event->tenants.items = room;
	ARRAY_EACH(const struct attribution_tenant, t, status->tenants)
		if (!is_nobody(t) && was_there(subject, t->pod_uid, t->start_time, at) &&
		    (t->partitions_left_out > 0 || events_may_be_of(event, origin, t->partitions)))
			add_tenant(subject, event, (struct attribution_event_tenant){
				t->pod_uid, t->pod_namespace, t->pod_name, t->container});
	ARRAY_EACH(const struct attribution_past_tenant, t, recent)
		if (was_there(subject, t->pod_uid, t->start_time, at) && at <= t->end_time + TOLD_LATE_MS &&
		    events_may_be_of(event, origin, t->partitions) && !is_listed(event, t))
			add_tenant(subject, event, (struct attribution_event_tenant){
				t->pod_uid, t->pod_namespace, t->pod_name, t->container});
	if (event->tenants.count == 0)
		event->tenants.items = NULL;
	return 0;
}

/* Most events are another GPU's, which is quickly told. */
static bool is_of(const void *owner, struct view uuid)
{
	const struct subject *subject = owner;
	const struct device *device = subject->device;
	if (uuid.len == device->uuid.len && view_starts_with(uuid, VIEW("GPU-")) &&
	    !view_equal_ignoring_case(uuid, device->uuid))
		return false;
	return devices_find(subject->facts->devices, uuid).device == device;
}

static bool is_off_offer(const struct subject *subject)
{
	return subject->is_offer_known && !subject->is_offered && !subject->is_claimed;
}

/* It was on offer once, as what is held must have been, and no good source has it on offer now. */
static bool is_withdrawn(const struct subject *subject)
{
	const struct source *source = &subject->facts->source;
	return is_off_offer(subject) && !source->is_settling && source_is_any_good(source) &&
	       (subject->n_slots > 0 ||
		(subject->published && subject->published->slots.total > 0));
}

int64_t examine_heard_at(const struct join_input *input)
{
	return input->report ? input->report->observed_at + input->report_held_ms -
				       input->report_age_ms
			     : 0;
}

/* What is reported was so then still, as ms since boot; 0: not told. */
static int64_t heard_uptime(const struct join_input *input)
{
	const int64_t told = input->report ? input->report->uptime_ms : 0;
	const int64_t uptime = told + input->report_held_ms - input->report_age_ms;
	return told > 0 && uptime > 0 ? uptime : 0;
}

int examine_health(struct subject *subject, struct error *err)
{
	const struct join_input *join = subject->facts->input;
	const struct previous *previous = subject->device->previous;
	const struct previous *published = subject->device->published;
	const struct report_device *reported = subject->device->reported;
	const struct boot_history_told told =
		boot_history_find(join->history, reported ? reported->uuid : (struct view){0});
	const enum report_boot boot = previous_boot(published, join->report);
	assert(!subject->is_awaited && (!published || published == previous));
	const struct health_input input = {
		.report = join->report,
		.reported = reported,
		.list = subject->facts->devices->nvml,
		.published = published ? &published->health : NULL,
		.former = subject->device->is_taken ? &previous->health : NULL,
		.published_events = previous ? previous->status->health.events : (struct array){0},
		.published_partitions = published ? published->status->partitions : (struct array){0},
		.booted_after = join->booted_after,
		.quiet_ms = join->limits->quiet_ms,
		.heard_at = examine_heard_at(join),
		.heard_uptime_ms = heard_uptime(join),
		.reset_uptime_ms = told.reset_uptime_ms,
		.most_nvlinks = told.most_nvlinks,
		.is_same_boot = boot == REPORT_BOOT_SAME,
		/* One of a former boot that arrives late says nothing of what was published. */
		.is_other_boot = boot == REPORT_BOOT_OTHER && !join->is_of_former_boot,
		.is_plugin_unhealthy = subject->device->is_called_unhealthy,
		.is_off_offer = is_off_offer(subject),
		.is_withdrawn = is_withdrawn(subject),
		.holders = {subject, is_of, list_holders},
		.arena = subject->arena,
	};
	if (health_judge(&input, &subject->health, err) < 0)
		return -1;
	subject->status->health = subject->health.state;
	return 0;
}
