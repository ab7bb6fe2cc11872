/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/scenario_show.h"

#include "lib/test_main.h"

static const char *const modes[] = {"Unset", "Unknown", "Exclusive",    "TimeSliced",
				    "MPS",   "MIG",     "MIGTimeSliced"};
static const char *const health_states[] = {"Unset", "Healthy", "Degraded", "Unhealthy", "Unknown"};
static const char *const scopes[] = {"Unset", "Device", "Partition"};

const char *scenario_show_gap(const struct scenario_text *text)
{
	return text->len > 0 ? " " : "";
}

void scenario_show_key(struct scenario_text *text, struct view uid, struct view container)
{
	scenario_text_add(text, "%s%.*s", scenario_show_gap(text), uid.len ? (int)uid.len : 1,
			  uid.len ? uid.ptr : "-");
	if (!view_equal(container, VIEW("main")) && container.len > 0)
		scenario_text_add(text, "/%.*s", VIEW_ARG(container));
}

void scenario_show_texts(struct scenario_text *text, struct array texts)
{
	for (uint32_t i = 0; i < texts.count; i++)
		scenario_text_add(text, "%s%.*s", i > 0 ? "," : "",
				  VIEW_ARG(*ARRAY_AT(texts, struct view, i)));
}

/* What a status shows, in words. */

typedef void show_fn(const struct attribution_status *status, struct scenario_text *text);

static void show_tenants(const struct attribution_status *status, struct scenario_text *text)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t = ARRAY_AT(status->tenants,
							      struct attribution_tenant, i);
		scenario_show_key(text, t->pod_uid, t->container);
	}
}

static void show_recent(const struct attribution_status *status, struct scenario_text *text)
{
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *t = ARRAY_AT(
			status->recent_tenants, struct attribution_past_tenant, i);
		scenario_show_key(text, t->pod_uid, t->container);
	}
}

/* From when to when, in ms after the world began. */
static void show_left(const struct attribution_status *status, struct scenario_text *text)
{
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *t = ARRAY_AT(
			status->recent_tenants, struct attribution_past_tenant, i);
		scenario_text_add(text, "%s%.*s/%.*s/%.*s:%lld-%lld", scenario_show_gap(text),
				  VIEW_ARG(t->pod_namespace), VIEW_ARG(t->pod_name),
				  VIEW_ARG(t->container), (long long)(t->start_time - BUILD_WORLD_NOW),
				  (long long)(t->end_time - BUILD_WORLD_NOW));
	}
}

static void show_disagreement(const struct attribution_status *status, struct scenario_text *text)
{
	for (uint32_t i = 0; i < status->source_disagreements.count; i++) {
		const struct attribution_disagreement *d = ARRAY_AT(
			status->source_disagreements, struct attribution_disagreement, i);
		scenario_show_key(text, d->pod_uid, d->container);
		for (uint32_t j = 0; j < d->says.count; j++) {
			const struct attribution_statement *s = ARRAY_AT(
				d->says, struct attribution_statement, j);
			scenario_text_add(text, " %.*s=%lld", VIEW_ARG(s->witness),
					  (long long)s->slots);
		}
	}
}

static void show_unplaced(const struct attribution_status *status, struct scenario_text *text)
{
	for (uint32_t i = 0; i < status->unplaced_tenants.count; i++) {
		const struct attribution_unplaced *u = ARRAY_AT(status->unplaced_tenants,
								struct attribution_unplaced, i);
		scenario_show_key(text, u->pod_uid, u->container);
		scenario_text_add(text, ":");
		scenario_show_texts(text, u->device_ids);
	}
}

static void show_users(const struct attribution_status *status, struct scenario_text *text)
{
	for (uint32_t i = 0; i < status->unallocated_users.count; i++)
		scenario_show_key(
			text,
			ARRAY_AT(status->unallocated_users, struct attribution_user, i)->pod_uid,
			(struct view){0});
}

void scenario_show_count(struct scenario_text *text, int64_t n)
{
	if (n < 0)
		scenario_text_add(text, "?");
	else
		scenario_text_add(text, "%lld", (long long)n);
}

static void show_slots(const struct attribution_status *status, struct scenario_text *text)
{
	scenario_show_count(text, status->slots.allocated);
	scenario_text_add(text, "/");
	scenario_show_count(text, status->slots.total);
	/* The summary is the same, or empty while one is not known. */
	if (status->slots.allocated >= 0 && status->slots.total >= 0)
		assert_true(view_equal(status->slots.summary, view_from(text->bytes)));
	else
		assert_int_equal(status->slots.summary.len, 0);
}

static void show_count(const struct attribution_status *status, struct scenario_text *text)
{
	scenario_show_count(text, status->tenant_count);
}

static void show_summary(const struct attribution_status *status, struct scenario_text *text)
{
	scenario_text_add(text, "%.*s", VIEW_ARG(status->tenant_summary));
}

static void show_mode(const struct attribution_status *status, struct scenario_text *text)
{
	scenario_text_add(text, "%s", modes[status->sharing.mode]);
}

static void show_evidence(const struct attribution_status *status, struct scenario_text *text)
{
	scenario_show_texts(text, status->sharing.evidence);
}

static void show_health(const struct attribution_status *status, struct scenario_text *text)
{
	scenario_text_add(text, "%s ", health_states[status->health.state]);
	scenario_show_texts(text, status->health.reasons);
}

static void show_scope(const struct attribution_status *status, struct scenario_text *text)
{
	scenario_text_add(text, "%s", scopes[status->activity.scope]);
}

static void show_device(const struct attribution_status *status, struct scenario_text *text)
{
	const struct attribution_device *d = &status->device;
	const struct view none = VIEW("-"), model = d->model.len ? d->model : none,
			  pci = d->pci_bus_id.len ? d->pci_bus_id : none;
	scenario_text_add(text, "%lld %lld %.*s %.*s %lld", (long long)d->index,
			  (long long)d->minor, VIEW_ARG(model), VIEW_ARG(pci),
			  (long long)d->memory_mib);
}

static void show_minor(const struct attribution_status *status, struct scenario_text *text)
{
	scenario_show_count(text, status->device.minor);
}

static void show_report(const struct attribution_status *status, struct scenario_text *text)
{
	static const char *const states[] = {"Unset", "Current", "Stale", "NoAgent", "Pending"};
	scenario_text_add(text, "%s", states[status->report_state]);
}

static void show_node(const struct attribution_status *status, struct scenario_text *text)
{
	scenario_text_add(text, "%.*s", VIEW_ARG(status->node_name));
}

static void show_intent(const struct attribution_status *status, struct scenario_text *text)
{
	static const char *const states[] = {"Unset",    "InSync",    "Drifted",
					     "Settling", "Unmanaged", "Unknown"};
	scenario_text_add(text, "%s", states[status->intent.state]);
}

/* "PluginMissing", or "PluginMissing:1000" for one that was seen so many ms after the world began. */
static void show_type(struct scenario_text *text, struct view type, int64_t start_time)
{
	scenario_text_add(text, "%s%.*s", text->len > 0 ? "," : "", VIEW_ARG(type));
	if (start_time != BUILD_WORLD_NOW)
		scenario_text_add(text, ":%lld", (long long)(start_time - BUILD_WORLD_NOW));
}

static void show_drifts(const struct attribution_status *status, struct scenario_text *text)
{
	for (uint32_t i = 0; i < status->intent.drifts.count; i++) {
		const struct attribution_drift *drift =
			ARRAY_AT(status->intent.drifts, struct attribution_drift, i);
		show_type(text, drift->type, drift->start_time);
	}
}

static void show_pending(const struct attribution_status *status, struct scenario_text *text)
{
	for (uint32_t i = 0; i < status->intent.pending.count; i++) {
		const struct attribution_pending_drift *pending =
			ARRAY_AT(status->intent.pending, struct attribution_pending_drift, i);
		show_type(text, pending->type, pending->start_time);
	}
}

static const struct {
	const char *what;
	show_fn *show;
} shown[] = {
	{"tenants", show_tenants},
	{"recent", show_recent},             /* who left, newest first */
	{"left", show_left},                 /* "ml/a/main:0-1000": since when, until when */
	{"disagreement", show_disagreement}, /* "a Checkpoint=1 PodStatus=0" */
	{"unplaced", show_unplaced},         /* "a:x,y", "-:z" of nobody */
	{"users", show_users},               /* without a slot: their UIDs */
	{"slots", show_slots},               /* "1/4", "?/?" */
	{"count", show_count},               /* of tenants */
	{"summary", show_summary},           /* of tenants */
	{"mode", show_mode},
	{"evidence", show_evidence},
	{"health", show_health}, /* "Unhealthy REASON,REASON" */
	{"scope", show_scope},   /* of activity */
	{"device", show_device}, /* index, minor, model, PCI, MiB */
	{"minor", show_minor},   /* "?" for none that is known */
	{"intent", show_intent},   /* its state */
	{"drifts", show_drifts},   /* "PluginMissing,ConfigDead:1000": since when, in ms */
	{"pending", show_pending}, /* likewise */
	{"node", show_node},
	{"report", show_report}, /* its state */
};

/* Members of a tenant. */

typedef void member_fn(const struct attribution_tenant *tenant, struct scenario_text *text);

static void show_witnesses(const struct attribution_tenant *tenant, struct scenario_text *text)
{
	assert_true(tenant->witnesses.present);
	scenario_show_texts(text, tenant->witnesses);
}

static void show_tenant_slots(const struct attribution_tenant *tenant, struct scenario_text *text)
{
	scenario_show_count(text, tenant->slots);
}

static void show_resource(const struct attribution_tenant *tenant, struct scenario_text *text)
{
	scenario_text_add(text, "%.*s", VIEW_ARG(tenant->resource));
}

static void show_partitions(const struct attribution_tenant *tenant, struct scenario_text *text)
{
	assert_true(tenant->partitions.present);
	scenario_show_texts(text, tenant->partitions);
}

static void show_since(const struct attribution_tenant *tenant, struct scenario_text *text)
{
	scenario_text_add(text, "%lld", (long long)(tenant->start_time - BUILD_WORLD_NOW));
}

static void show_placeholder(const struct attribution_tenant *tenant, struct scenario_text *text)
{
	scenario_text_add(text, "%.*s", VIEW_ARG(tenant->placeholder));
}

static void show_workload(const struct attribution_tenant *tenant, struct scenario_text *text)
{
	if (tenant->workload.present)
		scenario_text_add(text, "%.*s/%.*s", VIEW_ARG(tenant->workload.kind),
				  VIEW_ARG(tenant->workload.name));
}

static void show_pod(const struct attribution_tenant *tenant, struct scenario_text *text)
{
	if (tenant->pod_name.len > 0)
		scenario_text_add(text, "%.*s/%.*s", VIEW_ARG(tenant->pod_namespace),
				  VIEW_ARG(tenant->pod_name));
}

static const char *const roles[] = {"", "Workload", "Monitor", "Validation", "Reservation"};

static void show_role(const struct attribution_tenant *tenant, struct scenario_text *text)
{
	scenario_text_add(text, "%s", roles[tenant->role]);
}

static const struct {
	const char *key;
	member_fn *show;
} members[] = {
	{"by", show_witnesses},
	{"slots", show_tenant_slots},
	{"resource", show_resource},
	{"partitions", show_partitions},
	{"since", show_since}, /* ms after the world began */
	{"placeholder", show_placeholder},
	{"workload", show_workload},
	{"pod", show_pod},
	{"role", show_role},
};

bool scenario_show_status(const struct attribution_status *status, struct view what,
			  struct scenario_text *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		if (!view_equal(what, view_from(shown[i].what)))
			continue;
		shown[i].show(status, text);
		return true;
	}
	return false;
}

bool scenario_show_tenant(const struct attribution_tenant *tenant, struct view key,
			  struct scenario_text *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (!view_equal(key, view_from(members[i].key)))
			continue;
		members[i].show(tenant, text);
		return true;
	}
	return false;
}
