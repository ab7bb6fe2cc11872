/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_errors.h"

#include "base/limits.h"
#include "controller/question.h"

static bool is_same_error(const struct attribution_health_event *a,
			  const struct attribution_health_event *b)
{
	return a->xid == b->xid && a->event_time == b->event_time &&
	       view_equal(a->partition, b->partition);
}

static bool was_told(const struct event_finder *finder, const struct attribution_health_event *error)
{
	const struct array told = finder->before->health.events;

	for (uint32_t i = 0; i < told.count; i++)
		if (is_same_error(error, ARRAY_AT(told, struct attribution_health_event, i)))
			return true;
	return false;
}

static const struct attribution_event_tenant *find_pod(const struct attribution_health_event *error,
						       struct view pod_uid)
{
	for (uint32_t i = 0; i < error->tenants.count; i++) {
		const struct attribution_event_tenant *tenant =
			ARRAY_AT(error->tenants, struct attribution_event_tenant, i);

		if (view_equal(tenant->pod_uid, pod_uid))
			return tenant;
	}
	return NULL;
}

/* "XID 79 (GPU has fallen off the bus) at 2026-01-02T03:04:05Z" */
static void note_error(struct event_note *note, const struct attribution_health_event *error)
{
	event_note_add(note, VIEW("XID "));
	event_note_add_number(note, error->xid);
	if (error->meaning.len > 0) {
		event_note_add(note, VIEW(" ("));
		event_note_add(note, error->meaning);
		event_note_add(note, VIEW(")"));
	}
	event_note_add(note, VIEW(" at "));
	event_note_add_time(note, error->event_time);
	if (error->partition.len > 0) {
		event_note_add(note, VIEW(" of "));
		event_note_add(note, error->partition);
	}
}

static void note_pod(struct event_note *note, const struct attribution_event_tenant *tenant)
{
	if (tenant->pod_name.len > 0) {
		event_note_add(note, tenant->pod_namespace);
		event_note_add(note, VIEW("/"));
		event_note_add(note, tenant->pod_name);
	} else {
		event_note_add(note, tenant->pod_uid);
	}
	event_note_add(note, VIEW(" was on it"));
}

static void note_error_of_device(struct event_note *note,
				 const struct attribution_health_event *error)
{
	note_error(note, error);
	for (uint32_t i = 0; i < error->tenants.count; i++) {
		event_note_add(note, VIEW(", "));
		note_pod(note, ARRAY_AT(error->tenants, struct attribution_event_tenant, i));
	}
	if (error->action.len > 0) {
		event_note_add(note, VIEW("; to do: "));
		event_note_add(note, error->action);
	}
}

static void note_error_of_pod(const struct event_finder *finder, struct event_note *note,
			      const struct attribution_health_event *error,
			      const struct attribution_event_tenant *tenant)
{
	event_note_add(note, VIEW("container "));
	event_note_add(note, tenant->container);
	event_note_add(note, VIEW(" was on "));
	event_note_add(note, finder->device->name);
	event_note_add(note, VIEW(" of node "));
	event_note_add(note, finder->after->node_name);
	event_note_add(note, VIEW(" at the time of "));
	note_error(note, error);
}

/* The errors that are new, newest first. */
struct errors {
	const struct attribution_health_event *items[LIMIT_HEALTH_EVENTS];
	uint64_t kinds[LIMIT_HEALTH_EVENTS]; /* what the note says of each, but for the time */
	uint32_t n;
	uint64_t topic; /* which kinds there are, in any order */
	int64_t newest;
	int gravity;    /* of the gravest; 0: all are informational */
};

static int gravity_of(const struct attribution_health_event *error)
{
	switch (error->class) {
	case ATTRIBUTION_EVENT_NEEDS_REBOOT:
		return 4;
	case ATTRIBUTION_EVENT_NEEDS_RESET:
		return 3;
	case ATTRIBUTION_EVENT_LOOK_CLOSER:
		return 2;
	case ATTRIBUTION_EVENT_INFORMATIONAL:
		return 0;
	default:
		return 1;
	}
}

static uint64_t kind_of(const struct attribution_health_event *error)
{
	return event_note_hash_text(event_note_hash_number(EVENT_NOTE_BASIS, error->xid),
				    error->partition);
}

/* Who was on the device, in any order. */
static uint64_t hash_tenants(const struct attribution_health_event *error)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < error->tenants.count; i++)
		hash += event_note_hash_text(
			EVENT_NOTE_BASIS,
			ARRAY_AT(error->tenants, struct attribution_event_tenant, i)->pod_uid);
	return hash;
}

static void take_error(struct errors *errors, const struct attribution_health_event *error,
		       uint64_t kind)
{
	bool is_other = true;

	for (uint32_t i = 0; i < errors->n; i++)
		is_other &= errors->kinds[i] != kind;
	if (is_other)
		errors->topic += kind;
	if (error->event_time > errors->newest)
		errors->newest = error->event_time;
	if (gravity_of(error) > errors->gravity)
		errors->gravity = gravity_of(error);
	errors->kinds[errors->n] = kind;
	errors->items[errors->n++] = error;
}

static struct errors find_errors(const struct event_finder *finder)
{
	const struct array events = finder->after->health.events;
	struct errors errors = {0};

	for (uint32_t i = 0; i < events.count && errors.n < LIMIT_HEALTH_EVENTS; i++) {
		const struct attribution_health_event *error =
			ARRAY_AT(events, struct attribution_health_event, i);

		if (!was_told(finder, error))
			take_error(&errors, error, event_note_hash_number(
							   kind_of(error),
							   (int64_t)hash_tenants(error)));
	}
	return errors;
}

/* A pod may be on several devices. */
static struct errors errors_of_pod(const struct event_finder *finder, const struct errors *all,
				   struct view pod_uid)
{
	struct errors errors = {0};

	for (uint32_t i = 0; i < all->n; i++) {
		const struct attribution_event_tenant *tenant = find_pod(all->items[i], pod_uid);
		uint64_t kind = kind_of(all->items[i]);

		if (!tenant)
			continue;
		kind = event_note_hash_text(kind, finder->device->name);
		take_error(&errors, all->items[i], event_note_hash_text(kind, tenant->container));
	}
	return errors;
}

static void add_errors(struct event_finder *finder, const struct errors *errors,
		       const struct kube_event_object *regarding,
		       const struct kube_event_object *related)
{
	struct event_change change =
		event_finder_make(EVENT_XID_ERROR, regarding, errors->topic, errors->newest);

	change.is_warning = errors->gravity > 0;
	change.gravity = errors->gravity;
	change.count = errors->n;
	change.related = *related;
	event_finder_add(finder, change);
}

static void tell_pod(struct event_finder *finder, const struct errors *all,
		     const struct attribution_event_tenant *tenant)
{
	const struct errors errors = errors_of_pod(finder, all, tenant->pod_uid);
	const struct kube_event_object object = event_finder_object(finder);
	const struct kube_event_object pod = {
		.api_version = VIEW("v1"), .kind = VIEW("Pod"), .namespace = tenant->pod_namespace,
		.name = tenant->pod_name, .uid = tenant->pod_uid};

	for (uint32_t i = 0; i < errors.n; i++) {
		event_note_next(&finder->note);
		note_error_of_pod(finder, &finder->note, errors.items[i],
				  find_pod(errors.items[i], tenant->pod_uid));
	}
	add_errors(finder, &errors, &pod, &object);
}

/* Whoever may write statuses may have put anything there as a name. */
static bool can_be_told(const struct attribution_event_tenant *tenant)
{
	return tenant->pod_uid.len > 0 && question_is_name(tenant->pod_namespace) &&
	       question_is_name(tenant->pod_name);
}

static void tell_pods(struct event_finder *finder, const struct errors *errors)
{
	struct view told[LIMIT_EVENT_PODS];
	size_t n = 0;

	for (uint32_t i = 0; i < errors->n; i++)
		for (uint32_t j = 0; j < errors->items[i]->tenants.count; j++) {
			const struct attribution_event_tenant *tenant = ARRAY_AT(
				errors->items[i]->tenants, struct attribution_event_tenant, j);

			if (n == LIMIT_EVENT_PODS || !can_be_told(tenant) ||
			    view_is_among(tenant->pod_uid, told, n))
				continue;
			told[n++] = tenant->pod_uid;
			tell_pod(finder, errors, tenant);
		}
}

void event_errors_compare(struct event_finder *finder)
{
	const struct errors errors = find_errors(finder);
	const struct kube_event_object object = event_finder_object(finder), nothing = {0};

	if (errors.n == 0)
		return;
	for (uint32_t i = 0; i < errors.n; i++) {
		event_note_next(&finder->note);
		note_error_of_device(&finder->note, errors.items[i]);
	}
	add_errors(finder, &errors, &object, &nothing);
	tell_pods(finder, &errors);
}
