/* SPDX-License-Identifier: Apache-2.0 */
#include "kubectl/why.h"

#include <inttypes.h>

#include "assess/activity.h"
#include "join/wording.h"
#include "kubectl/tenancy_row.h"
#include "kubectl/words.h"

#define TENANCY_TABLE "src/join/arbitrate.def"

/* What each witness is, by the index of its bit. */
static const char *const witness_texts[N_WITNESSES] = {
	"the kubelet's own file, read by the agent; it names the pod by UID",
	"the kubelet's List, read by the agent; it names the pod by name",
	"allocatedResourcesStatus of the pod, written by the kubelet; by UID",
	"a ResourceClaim that is for the pod, and the ResourceSlices; by UID",
	"HAMi's annotation of the pod, which anybody who may edit the pod can write",
	"labels and annotations of KAI's, which anybody who may edit the pod can write",
	"processes of the pod on the device, by NVML and their cgroups; they only bear out others",
};

void why_condition(struct why_list *list, const char *section, const struct attribution_status *status,
		   struct view type)
{
	const struct condition *condition = attribution_find_condition(status, type);
	struct sbuf *text = why_list_text(list);
	if (!condition)
		return;
	sbuf_printf(text, "%.*s is %.*s (%.*s)", VIEW_ARG(type),
		    VIEW_ARG(words_condition(condition->status)), VIEW_ARG(condition->reason));
	why_list_add(list, section, condition->last_transition_time);
	if (condition->message.len > 0)
		why_list_say(list, WHY_NOTE, (struct view){0}, condition->message);
}

/* Tenancy */

static void add_witnesses(struct why_list *list, const struct attribution_tenant *tenant)
{
	for (uint32_t i = 0; i < tenant->witnesses.count; i++) {
		const struct view *name = ARRAY_AT(tenant->witnesses, struct view, i);
		unsigned bit = wording_witnesses_of(array_of(name, 1)), index = 0;
		while (bit >> index > 1)
			index++;
		why_list_say(list, WHY_WITNESS, *name,
			     view_from(bit ? witness_texts[index]
					   : "a witness that this version does not know"));
	}
	if (tenant->witnesses.count == 0)
		why_list_say(list, WHY_NOTE, (struct view){0}, VIEW("no witness names it any more"));
}

/* What each witness said, where they differ. */
static void add_disagreement(struct why_list *list, const struct attribution_status *status,
			     const struct attribution_tenant *tenant)
{
	for (uint32_t i = 0; i < status->source_disagreements.count; i++) {
		const struct attribution_disagreement *found = ARRAY_AT(
			status->source_disagreements, struct attribution_disagreement, i);
		for (uint32_t k = 0; k < found->says.count &&
				     view_equal(found->pod_uid, tenant->pod_uid) &&
				     view_equal(found->container, tenant->container);
		     k++) {
			const struct attribution_statement *said =
				ARRAY_AT(found->says, struct attribution_statement, k);
			struct sbuf *text = why_list_text(list);
			sbuf_printf(text, "names %" PRId64 " %s of the device", said->slots,
				    said->slots == 1 ? "slot" : "slots");
			if (said->device_ids.count > 0)
				sbuf_append(text, VIEW(": "));
			words_list(text, said->device_ids);
			why_list_because(list, WHY_EVIDENCE, said->witness);
		}
	}
}

static void add_rows(struct why_list *list, const struct attribution_status *status,
		     const struct attribution_tenant *tenant)
{
	const unsigned rows = tenancy_row_find(status, tenant);
	struct sbuf *text = why_list_text(list);
	for (unsigned i = 0; i < ARBITRATE_N_ROWS; i++) {
		if (!(rows & (1u << i)))
			continue;
		sbuf_append(text, tenancy_row_text((enum arbitrate_row)i));
		if (i == ARBITRATE_ROW_ANNOTATED &&
		    tenant->confidence == ATTRIBUTION_CONFIDENCE_CONFIRMED)
			sbuf_append(text, VIEW("; a process of the pod bears it out"));
		why_list_row(list, TENANCY_TABLE, i + 1, arbitrate_rule((enum arbitrate_row)i)->name);
	}
	if (rows == 0)
		why_list_say(list, WHY_NOTE, (struct view){0},
			     VIEW("no row of " TENANCY_TABLE " of this version gives that"));
	else if (rows & (rows - 1))
		why_list_say(list, WHY_NOTE, (struct view){0},
			     VIEW("one of these rows; the status does not tell which"));
}

static void add_tenant(struct why_list *list, const struct attribution_status *status,
		       const struct attribution_tenant *tenant)
{
	struct sbuf *text = why_list_text(list);
	words_pod(text, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
	sbuf_printf(text, ", container %.*s, ", VIEW_ARG(tenant->container));
	if (tenant->slots > 0)
		sbuf_printf(text, "holds %" PRId64 " %s of %.*s", tenant->slots,
			    tenant->slots == 1 ? "slot" : "slots",
			    VIEW_ARG(words_known(tenant->resource)));
	else
		sbuf_append(text, VIEW("is on the device without a slot"));
	sbuf_printf(text, ": %.*s, %.*s", VIEW_ARG(words_confidence(tenant->confidence)),
		    VIEW_ARG(words_phase(tenant->phase)));
	if (!attribution_is_counted(tenant))
		sbuf_printf(text, ", %.*s", VIEW_ARG(words_role(tenant->role)));
	if (tenant->placeholder.len > 0)
		sbuf_printf(text, ", placeholder of %.*s", VIEW_ARG(tenant->placeholder));
	why_list_add(list, "tenancy", tenant->start_time);
	add_witnesses(list, tenant);
	add_disagreement(list, status, tenant);
	add_rows(list, status, tenant);
}

/* A process that belongs to no tenant. */
static void add_user(struct why_list *list, const struct attribution_user *user)
{
	struct sbuf *text = why_list_text(list);
	words_process(text, user);
	if (user->pod_uid.len > 0) {
		sbuf_append(text, VIEW(" of "));
		words_pod(text, user->pod_namespace, user->pod_name, user->pod_uid);
	}
	sbuf_append(text, VIEW(" is on the device and holds no slot of it"));
	why_list_add(list, "tenancy", user->start_time);
	why_list_say(list, WHY_WITNESS, VIEW("Processes"),
		     VIEW("NVML's list of processes, and their cgroups"));
}

void why_tenancy(struct why_list *list, const struct attribution_status *status,
		 struct view pod_uid)
{
	const bool is_of_all = pod_uid.len == 0;
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (is_of_all || view_equal(tenant->pod_uid, pod_uid))
			add_tenant(list, status, tenant);
	}
	for (uint32_t i = 0; i < status->unallocated_users.count; i++) {
		const struct attribution_user *user =
			ARRAY_AT(status->unallocated_users, struct attribution_user, i);
		if (is_of_all || view_equal(user->pod_uid, pod_uid))
			add_user(list, user);
	}
	if (is_of_all && status->tenants.count == 0) {
		sbuf_append(why_list_text(list), status->tenant_count == 0
							 ? VIEW("nobody holds it")
							 : VIEW("who holds it is not known"));
		why_list_add(list, "tenancy", 0);
	}
	why_condition(list, "tenancy", status, VIEW("Attributed"));
}

/* Mode */

void why_mode(struct why_list *list, const struct attribution_status *status)
{
	const struct attribution_sharing *sharing = &status->sharing;
	struct sbuf *text = why_list_text(list);
	sbuf_append(text, words_mode(sharing->mode));
	if (sharing->replicas > 1)
		sbuf_printf(text, ", %" PRId64 " replicas", sharing->replicas);
	why_list_add(list, "mode", 0);
	for (uint32_t i = 0; i < sharing->evidence.count; i++)
		why_list_say(list, WHY_EVIDENCE, (struct view){0},
			     *ARRAY_AT(sharing->evidence, struct view, i));
	if (sharing->evidence.count == 0)
		why_list_say(list, WHY_NOTE, (struct view){0}, VIEW("there is no evidence"));
}

/* Activity */

/* By reason. */
static const struct view activity_texts[] = {
	[ACTIVITY_REASON_NO_AGENT] = VIEW_INIT("no agent reports for the node"),
	[ACTIVITY_REASON_STALE] = VIEW_INIT("the node's agent is silent"),
	[ACTIVITY_REASON_NOT_MEASURED] = VIEW_INIT("NVML tells no utilisation, and its processes "
						   "cannot be listed, or there are some"),
	[ACTIVITY_REASON_MIG_NOT_MEASURED] =
		VIEW_INIT("under MIG NVML tells no utilisation of a partition"),
	[ACTIVITY_REASON_SAMPLES_MISSING] = VIEW_INIT("the agent or the driver was away for more than "
						      "2 min, so work may have been missed"),
	[ACTIVITY_REASON_SETTLING] =
		VIEW_INIT("measuring has begun, and the window is not full yet"),
};

static const struct {
	int source; /* enum report_activity_source */
	struct view text;
} source_texts[] = {
	{REPORT_ACTIVITY_NVML,
	 VIEW_INIT("the utilisation that NVML tells, looked at by the agent every few seconds")},
	{REPORT_ACTIVITY_DCGM,
	 VIEW_INIT("engine activity, as the node's dcgm-exporter tells it")},
	{REPORT_ACTIVITY_NO_PROCESS,
	 VIEW_INIT("there is no process on it, so nothing can compute")},
};

/* Of a reason or of a line of evidence. */
static struct view activity_text(struct view word)
{
	const enum activity_reason reason = activity_reason_of(word);

	if (reason != ACTIVITY_REASON_NONE)
		return activity_texts[reason];
	for (size_t i = 0; i < ARRAY_SIZE(source_texts); i++)
		if (view_equal(activity_source(source_texts[i].source), word))
			return source_texts[i].text;
	return VIEW("a word that this version does not know");
}

static void add_partition(struct why_list *list, const struct attribution_partition *partition)
{
	struct sbuf *text = why_list_text(list);
	sbuf_printf(text, "partition %.*s (%.*s): %.*s", VIEW_ARG(partition->uuid),
		    VIEW_ARG(words_known(partition->profile)),
		    VIEW_ARG(words_activity(partition->activity.state)));
	why_list_add(list, "activity", partition->activity.idle_since);
}

void why_activity(struct why_list *list, const struct attribution_status *status)
{
	const struct attribution_activity_state *activity = &status->activity;
	sbuf_append(why_list_text(list), words_activity(activity->state));
	why_list_add(list, "activity",
		     activity->idle_since ? activity->idle_since : activity->last_transition_time);
	if (activity->reason.len > 0) {
		sbuf_append(why_list_text(list), activity_text(activity->reason));
		why_list_row(list, "src/assess/activity.c", 0, activity->reason);
	}
	for (uint32_t i = 0; i < activity->evidence.count; i++) {
		const struct view word = *ARRAY_AT(activity->evidence, struct view, i);
		why_list_say(list, WHY_EVIDENCE, word, activity_text(word));
	}
	for (uint32_t i = 0; i < status->partitions.count; i++)
		add_partition(list, ARRAY_AT(status->partitions, struct attribution_partition, i));
}
