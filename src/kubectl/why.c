/* SPDX-License-Identifier: Apache-2.0 */
#include "kubectl/why.h"

#include <inttypes.h>

#include "assess/activity.h"
#include "assess/sharing_rule.h"
#include "join/users.def"
#include "join/wording.h"
#include "kubectl/tenancy_row.h"
#include "kubectl/words.h"

#define TENANCY_TABLE "src/join/arbitrate.def"
#define ONE_OF_ROWS "one of these rows; the status does not tell which"
#define ACTIVITY_TABLE "src/assess/activity.def"
#define MODE_TABLE "src/assess/sharing.def"
#define USERS_TABLE "src/join/users.def"
#define WORDING_TABLE "src/join/wording.def"
#define READ_BY_AGENT (WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES | WITNESS_PROCESSES)
/* Lines of evidence that come from the API server. */
#define READ_BY_API                                                                        \
	(EVIDENCE_SHARE_BY_CLAIM | EVIDENCE_LABEL_MPS | EVIDENCE_LABEL_MPS_CONTRADICTS |    \
	 EVIDENCE_LABEL_TIME_SLICING | EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS |            \
	 EVIDENCE_LABEL_NONE_CONTRADICTS)

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

static void add_note(struct why_list *list, const char *text)
{
	why_list_say(list, WHY_NOTE, (struct view){0}, view_from(text));
}

/* The row of a reason in wording.def; 0: it is of another table, or the definition's default. */
static unsigned wording_row(const struct attribution_status *status,
			    const struct condition *condition)
{
#define ONE(...) +1
	const unsigned before = WORDING_CONDITIONS(ONE) WORDING_RETIRED_CONDITIONS(ONE);
	const enum reason reason = wording_reason_of(condition->reason);
	const bool is_of_health = reason == REASON_NO_AGENT &&
				  view_equal(condition->type, wording_condition(CONDITION_HEALTHY));
	if (reason == REASON_NONE || is_of_health ||
	    status->report_state == ATTRIBUTION_REPORT_PENDING)
		return 0;
	return before + (unsigned)reason;
}

void why_condition(struct why_list *list, const char *section, const struct attribution_status *status,
		   struct view type)
{
	const struct condition *condition = attribution_find_condition(status, type);
	struct sbuf *text = why_list_text(list);
	unsigned row;
	if (!condition)
		return;
	sbuf_printf(text, "%.*s is %.*s (%.*s)", VIEW_ARG(type),
		    VIEW_ARG(words_condition(condition->status)), VIEW_ARG(condition->reason));
	why_list_add(list, section, condition->last_transition_time);
	row = wording_row(status, condition);
	sbuf_append(text, condition->message);
	if (row > 0)
		why_list_row(list, WORDING_TABLE, row, condition->reason);
	else if (condition->message.len > 0)
		why_list_because(list, WHY_NOTE, (struct view){0}, 0);
}

/* Tenancy */

/* Of what the API server has, the status does not tell when it said so. */
static int64_t time_of(const struct attribution_status *status, struct view witness)
{
	return wording_witnesses_of(array_of(&witness, 1)) & READ_BY_AGENT
		       ? status->report.observation_time
		       : 0;
}

static void add_witnesses(struct why_list *list, const struct attribution_status *status,
			  const struct attribution_tenant *tenant)
{
	for (uint32_t i = 0; i < tenant->witnesses.count; i++) {
		const struct view *name = ARRAY_AT(tenant->witnesses, struct view, i);
		unsigned bit = wording_witnesses_of(array_of(name, 1)), index = 0;
		while (bit >> index > 1)
			index++;
		sbuf_append(why_list_text(list),
			    view_from(bit ? witness_texts[index]
					  : "a witness that this version does not know"));
		why_list_because(list, WHY_WITNESS, *name, time_of(status, *name));
	}
	if (tenant->witnesses.count == 0)
		add_note(list, "no witness names it any more");
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
			why_list_because(list, WHY_EVIDENCE, said->witness,
					 time_of(status, said->witness));
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
		add_note(list, "no row of " TENANCY_TABLE " of this version gives that");
	else if (rows & (rows - 1))
		add_note(list, ONE_OF_ROWS);
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
	add_witnesses(list, status, tenant);
	add_disagreement(list, status, tenant);
	add_rows(list, status, tenant);
}

static void say_processes(struct why_list *list, const struct attribution_status *status)
{
	sbuf_append(why_list_text(list), VIEW("NVML's list of processes, and their cgroups"));
	why_list_because(list, WHY_WITNESS, VIEW("Processes"), status->report.observation_time);
}

enum user_row {
#define USER_ROW(name, ...) USER_##name,
	USER_RULES(USER_ROW) USER_N_ROWS
};

static const struct {
	struct view word, text;
} user_rows[] = {
#define USER_TEXT(name, word, waits_ms, text) {VIEW_INIT(word), VIEW_INIT(text)},
	USER_RULES(USER_TEXT)
};

static bool was_tenant(const struct attribution_status *status, struct view pod_uid)
{
	for (uint32_t i = 0; i < status->recent_tenants.count; i++)
		if (view_equal(ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, i)->pod_uid,
			       pod_uid))
			return true;
	return false;
}

/* Those that may have decided, as bits. Whether its pod is over the status does not tell. */
static unsigned find_user_rows(const struct attribution_status *status,
			       const struct attribution_user *user)
{
	if (user->pod_uid.len == 0)
		return 1u << USER_NO_POD;
	if (was_tenant(status, user->pod_uid))
		return 1u << USER_PAST;
	return 1u << USER_PAST | 1u << (user->pod_name.len > 0 ? USER_NO_SLOT : USER_UNKNOWN_POD);
}

static void add_user_rows(struct why_list *list, unsigned rows)
{
	for (unsigned i = 0; i < USER_N_ROWS; i++) {
		if (!(rows & 1u << i))
			continue;
		sbuf_append(why_list_text(list), user_rows[i].text);
		why_list_row(list, USERS_TABLE, i + 1, user_rows[i].word);
	}
	if (rows & (rows - 1))
		add_note(list, ONE_OF_ROWS);
}

/* A process that belongs to no tenant. */
static void add_user(struct why_list *list, const struct attribution_status *status,
		     const struct attribution_user *user)
{
	struct sbuf *text = why_list_text(list);
	words_process(text, user);
	if (user->pod_uid.len > 0) {
		sbuf_append(text, VIEW(" of "));
		words_pod(text, user->pod_namespace, user->pod_name, user->pod_uid);
	}
	sbuf_append(text, VIEW(" is on the device and holds no slot of it"));
	why_list_add(list, "tenancy", user->start_time);
	say_processes(list, status);
	add_user_rows(list, find_user_rows(status, user));
}

/* Processes of which the status has the number alone. */
static void add_unlisted(struct why_list *list, const struct attribution_status *status)
{
	const int64_t n_left_out = status->unallocated_users_left_out;
	const int64_t n_unknown = status->unknown_processes;
	struct sbuf *text = why_list_text(list);
	if (n_left_out > 0) {
		sbuf_printf(text, "%" PRId64 " more %s no slot of it", n_left_out,
			    n_left_out == 1 ? "process on the device holds"
					    : "processes on the device hold");
		why_list_add(list, "tenancy", 0);
		say_processes(list, status);
	}
	if (n_unknown > 0) {
		sbuf_printf(text, "%" PRId64 " %s on the device could not be looked at: of whom, is not "
				  "known", n_unknown, n_unknown == 1 ? "process" : "processes");
		why_list_add(list, "tenancy", 0);
		say_processes(list, status);
	}
}

/* It holds something on the node, and on which device is not known. */
static void add_unplaced(struct why_list *list, const struct attribution_unplaced *unplaced)
{
	struct sbuf *text = why_list_text(list);
	words_pod(text, unplaced->pod_namespace, unplaced->pod_name, unplaced->pod_uid);
	sbuf_printf(text, ", container %.*s, holds IDs of %.*s that are no known device's: ",
		    VIEW_ARG(words_known(unplaced->container)),
		    VIEW_ARG(words_known(unplaced->resource)));
	words_list(text, unplaced->device_ids);
	if (unplaced->device_ids_left_out > 0)
		sbuf_printf(text, " +%" PRId64, unplaced->device_ids_left_out);
	why_list_add(list, "tenancy", 0);
	add_note(list, "the status does not tell by which witness");
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
			add_user(list, status, user);
	}
	if (is_of_all)
		add_unlisted(list, status);
	for (uint32_t i = 0; i < status->unplaced_tenants.count; i++) {
		const struct attribution_unplaced *unplaced = ARRAY_AT(
			status->unplaced_tenants, struct attribution_unplaced, i);
		if (is_of_all || view_equal(unplaced->pod_uid, pod_uid))
			add_unplaced(list, unplaced);
	}
	if (is_of_all && status->tenants.count == 0) {
		sbuf_append(why_list_text(list), status->tenant_count == 0
							 ? VIEW("nobody holds it")
							 : VIEW("who holds it is not known"));
		why_list_add(list, "tenancy", 0);
	}
	why_condition(list, "tenancy", status, wording_condition(CONDITION_ATTRIBUTED));
}

/* Mode */

/* By the lines that this version knows. */
static void add_mode_rows(struct why_list *list, const struct attribution_sharing *sharing)
{
	unsigned lines = 0, rows;

	for (uint32_t i = 0; i < sharing->evidence.count; i++)
		lines |= sharing_rule_line_of(*ARRAY_AT(sharing->evidence, struct view, i));
	rows = sharing_rule_find(sharing->mode, lines);
	for (size_t i = 0; i < sharing_rule_count(); i++) {
		if (!(rows & 1u << i))
			continue;
		sbuf_append(why_list_text(list), sharing_rule_at(i)->text);
		why_list_row(list, MODE_TABLE, (unsigned)i + 1, sharing_rule_at(i)->name);
	}
	if (rows == 0)
		add_note(list, "no row of " MODE_TABLE " of this version gives that");
	else if (rows & (rows - 1))
		add_note(list, ONE_OF_ROWS);
}

void why_mode(struct why_list *list, const struct attribution_status *status)
{
	const struct attribution_sharing *sharing = &status->sharing;
	struct sbuf *text = why_list_text(list);
	sbuf_append(text, words_mode(sharing->mode));
	if (sharing->replicas > 1)
		sbuf_printf(text, ", %" PRId64 " replicas", sharing->replicas);
	why_list_add(list, "mode", 0);
	for (uint32_t i = 0; i < sharing->evidence.count; i++) {
		const struct view line = *ARRAY_AT(sharing->evidence, struct view, i);
		sbuf_append(text, line);
		why_list_because(list, WHY_EVIDENCE, (struct view){0},
				 sharing_rule_line_of(line) & READ_BY_API
					 ? 0
					 : status->report.observation_time);
	}
	if (sharing->evidence.count == 0)
		add_note(list, "there is no evidence");
	else
		add_mode_rows(list, sharing);
}

/* Activity */

/* The rows of the table, by number. */
static const struct {
	struct view word, text;
} activity_rows[] = {
#define ROW(name, word, text) {VIEW_INIT(word), VIEW_INIT(text)},
	ACTIVITY_STATES(ROW) ACTIVITY_REASONS(ROW)
#undef ROW
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

/* Of a line of evidence. */
static struct view source_text(struct view word)
{
	for (size_t i = 0; i < ARRAY_SIZE(source_texts); i++)
		if (view_equal(activity_source(source_texts[i].source), word))
			return source_texts[i].text;
	return VIEW("a word that this version does not know");
}

/* The state, or why it is Unknown. */
static void add_activity_row(struct why_list *list, struct view word)
{
	for (size_t i = 0; i < ARRAY_SIZE(activity_rows); i++) {
		if (!view_equal(activity_rows[i].word, word))
			continue;
		sbuf_append(why_list_text(list), activity_rows[i].text);
		why_list_row(list, ACTIVITY_TABLE, (unsigned)i + 1, word);
		return;
	}
	why_list_say(list, WHY_NOTE, word, VIEW("a word that this version does not know"));
}

static void add_sources(struct why_list *list, const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->activity.evidence.count; i++) {
		const struct view word = *ARRAY_AT(status->activity.evidence, struct view, i);
		sbuf_append(why_list_text(list), source_text(word));
		why_list_because(list, WHY_EVIDENCE, word, status->report.observation_time);
	}
}

/* The status has the sources of those that do as the device does. */
static void add_partition(struct why_list *list, const struct attribution_status *status,
			  const struct attribution_partition *partition)
{
	const struct attribution_activity_state *device = &status->activity;
	const int state = partition->activity.state;
	const bool is_as_device = state == device->state;
	struct sbuf *text = why_list_text(list);
	sbuf_printf(text, "partition %.*s (%.*s): %.*s", VIEW_ARG(partition->uuid),
		    VIEW_ARG(words_known(partition->profile)), VIEW_ARG(words_activity(state)));
	why_list_add(list, "activity", partition->activity.idle_since);
	if (state == ATTRIBUTION_ACTIVITY_ACTIVE || state == ATTRIBUTION_ACTIVITY_IDLE) {
		if (is_as_device)
			add_sources(list, status);
		if (!is_as_device || device->evidence.count == 0)
			add_note(list, "the status does not tell by which source");
		else if (device->evidence.count > 1)
			add_note(list, "one of these sources; the status does not tell which");
		add_activity_row(list, words_activity(state));
	} else if (partition->activity.reason.len > 0) {
		add_activity_row(list, partition->activity.reason);
	} else if (is_as_device && device->reason.len > 0) { /* by a controller of an earlier release */
		add_activity_row(list, device->reason);
		add_note(list, "the device's reason; the status has none of a partition");
	} else {
		add_note(list, "the status does not tell why");
	}
}

void why_activity(struct why_list *list, const struct attribution_status *status)
{
	const struct attribution_activity_state *activity = &status->activity;
	sbuf_append(why_list_text(list), words_activity(activity->state));
	why_list_add(list, "activity",
		     activity->idle_since ? activity->idle_since : activity->last_transition_time);
	add_sources(list, status);
	if (activity->reason.len > 0 || activity->evidence.count > 0)
		add_activity_row(list, activity->reason.len > 0 ? activity->reason
								: words_activity(activity->state));
	for (uint32_t i = 0; i < status->partitions.count; i++)
		add_partition(list, status,
			      ARRAY_AT(status->partitions, struct attribution_partition, i));
}
