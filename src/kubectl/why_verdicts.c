/* SPDX-License-Identifier: Apache-2.0 */
#include "kubectl/why_verdicts.h"

#include <inttypes.h>
#include <stdio.h>

#include "assess/drift.h"
#include "assess/health_finding.h"
#include "join/wording.h"
#include "kubectl/why.h"
#include "kubectl/why_sources.h"
#include "kubectl/words.h"
#include "wire/rfc3339.h"

#define HEALTH_FILE "src/assess/health.def"
#define DRIFT_FILE "src/assess/drift.def"

/* Health */

/* What a row of XID errors is of. */
enum {
	EVENT_XID_NEEDS_REBOOT = ATTRIBUTION_EVENT_NEEDS_REBOOT,
	EVENT_XID_NEEDS_RESET = ATTRIBUTION_EVENT_NEEDS_RESET,
	EVENT_XID_LOOK_CLOSER = ATTRIBUTION_EVENT_LOOK_CLOSER,
};

/* Who tells it. */
enum health_source {
#define SOURCE_NAME(name, ...) SOURCE_##name,
	HEALTH_SOURCES(SOURCE_NAME) N_SOURCES
};

static const struct view source_words[N_SOURCES] = {
#define SOURCE_WORD(name, word, ...) VIEW_INIT(word),
	HEALTH_SOURCES(SOURCE_WORD)
};

struct finding {
	int state, action; /* enum attribution_health, enum attribution_recovery */
	enum health_source source;
	int class; /* enum attribution_event_class: of these errors; or UNSET: */
	struct view reason, message, evidence;
};

/* By the number of the row, less 1. That nothing was found comes last. */
static const struct finding findings[] = {
#define FINDING(name, reason, state, action, matter, source, message, evidence, ...)               \
	{ATTRIBUTION_HEALTH_##state, ATTRIBUTION_RECOVERY_##action, SOURCE_##source,               \
	 ATTRIBUTION_EVENT_UNSET,    VIEW_INIT(reason),             VIEW_INIT(message),            \
	 VIEW_INIT(evidence)},
#define XIDS(class, state, action, ...)                                                            \
	{ATTRIBUTION_HEALTH_##state, ATTRIBUTION_RECOVERY_##action, SOURCE_EVENT, EVENT_##class},
	HEALTH_TABLE(FINDING, XIDS)
	FINDING(NOTHING_FOUND, HEALTH_NOTHING_FOUND, HEALTHY, NONE, OTHER, NVML,
		HEALTH_NOTHING_FOUND_MESSAGE, HEALTH_NOTHING_FOUND_EVIDENCE, "")
};

/* The newest event of that reason; NULL: it is no event's. */
static const struct attribution_health_event *
find_event(const struct attribution_health_state *health, struct view reason)
{
	for (uint32_t i = 0; i < health->events.count; i++) {
		const struct attribution_health_event *event =
			ARRAY_AT(health->events, struct attribution_health_event, i);
		char text[32];
		snprintf(text, sizeof(text), "XID%" PRId64, event->xid);
		if (view_equal(view_from(text), reason))
			return event;
	}
	return NULL;
}

/* Two rows may have one reason: the recovery action tells them apart. NULL: there is none. */
static const struct finding *find_finding(const struct attribution_health_state *health,
					  struct view reason)
{
	const struct attribution_health_event *event = find_event(health, reason);
	const int class = event ? event->class : ATTRIBUTION_EVENT_UNSET;
	const struct finding *found = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(findings); i++) {
		const bool fits = class != ATTRIBUTION_EVENT_UNSET
					  ? findings[i].class == class
					  : view_equal(findings[i].reason, reason);
		if (fits && (!found || findings[i].action == health->recovery_action))
			found = &findings[i];
	}
	return found;
}

static unsigned row_of(const struct finding *finding)
{
	return finding ? (unsigned)(finding - findings) + 1 : 0;
}

static struct view class_of(int class)
{
	static const char *const words[] = {
		[ATTRIBUTION_EVENT_UNSET] = "?",
		[ATTRIBUTION_EVENT_APPLICATION] = "Application",
		[ATTRIBUTION_EVENT_INFORMATIONAL] = "Informational",
		[ATTRIBUTION_EVENT_LOOK_CLOSER] = "LookCloser",
		[ATTRIBUTION_EVENT_NEEDS_RESET] = "NeedsReset",
		[ATTRIBUTION_EVENT_NEEDS_REBOOT] = "NeedsReboot",
	};
	return view_from(words[class]);
}

/* Containers of a pod stand side by side. */
static void write_tenants(struct sbuf *text, struct array tenants)
{
	const struct attribution_event_tenant *last = NULL;
	for (uint32_t i = 0; i < tenants.count; i++) {
		const struct attribution_event_tenant *tenant =
			ARRAY_AT(tenants, struct attribution_event_tenant, i);
		if (last && view_equal(last->pod_uid, tenant->pod_uid))
			continue;
		sbuf_append(text, last ? VIEW(", ") : VIEW("; on it then: "));
		words_pod(text, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
		last = tenant;
	}
}

static void add_event(struct why_list *list, const struct attribution_health_event *event,
		      struct view reason, unsigned row)
{
	struct sbuf *text = why_list_text(list);
	char time[RFC3339_SIZE];
	sbuf_printf(text, "errors of class %.*s", VIEW_ARG(class_of(event->class)));
	why_list_row(list, HEALTH_FILE, row, reason);
	rfc3339_seconds(event->event_time, time);
	sbuf_printf(text, "XID %" PRId64 ", %.*s, at %s", event->xid, VIEW_ARG(event->meaning),
		    time);
	if (event->partition.len > 0)
		sbuf_printf(text, ", on partition %.*s", VIEW_ARG(event->partition));
	write_tenants(text, event->tenants);
	why_list_because(list, WHY_EVIDENCE, source_words[SOURCE_EVENT], event->event_time);
	if (event->action.len > 0)
		why_list_say(list, WHY_REMEDY, (struct view){0}, event->action);
}

/* NVML does not tell it now: what it told last goes on being a reason. */
static bool is_old(const struct attribution_health_state *health, const struct finding *finding)
{
	static const enum health_finding silent[] = {
		HEALTH_FINDING_NVML_HANGS,
		HEALTH_FINDING_NVML_UNAVAILABLE,
		HEALTH_FINDING_DEVICE_MISSING,
		HEALTH_FINDING_GPU_LOST,
	};
	for (size_t i = 0; i < ARRAY_SIZE(silent) && finding->source == SOURCE_NVML; i++) {
		const struct view word = health_finding_word(silent[i]);
		if (view_is_among(word, health->reasons.items, health->reasons.count))
			return !view_equal(word, finding->reason);
	}
	return false;
}

/* What the agent read has the report's time. Of the rest the status does not tell when it was said. */
static int64_t time_of(const struct attribution_status *status, const struct finding *finding)
{
	const bool is_of_api = finding->source == SOURCE_POD_STATUS ||
			       finding->source == SOURCE_CONTROLLER;
	return is_of_api || is_old(&status->health, finding) ? 0 : status->report.observation_time;
}

static void add_finding(struct why_list *list, const struct attribution_status *status,
			const struct finding *finding)
{
	struct sbuf *text = why_list_text(list);
	sbuf_printf(text, "%.*s; it makes the device %.*s", VIEW_ARG(finding->message),
		    VIEW_ARG(words_health(finding->state)));
	why_list_row(list, HEALTH_FILE, row_of(finding), finding->reason);
	sbuf_append(text, finding->evidence);
	why_list_because(list, WHY_EVIDENCE, source_words[finding->source],
			 time_of(status, finding));
}

static void add_reason(struct why_list *list, const struct attribution_status *status,
		       struct view reason)
{
	const struct attribution_health_state *health = &status->health;
	const struct attribution_health_event *event = find_event(health, reason);
	const struct finding *finding = find_finding(health, reason);
	if (event)
		add_event(list, event, reason, row_of(finding));
	else if (finding)
		add_finding(list, status, finding);
	else
		why_list_say(list, WHY_NOTE, reason,
			     VIEW("what it rests on is not in the status any more, or this version "
				  "does not know it"));
}

/* The action of the worst reason counts, unless the driver recommends another one. */
static void add_recommendation(struct why_list *list, const struct attribution_health_state *health)
{
	const struct finding *first =
		health->reasons.count > 0
			? find_finding(health, *ARRAY_AT(health->reasons, struct view, 0))
			: NULL;
	if (first && first->action != health->recovery_action)
		why_list_say(list, WHY_NOTE, (struct view){0},
			     VIEW("the recovery action is the one that the driver recommends (NVML field "
				  "230)"));
}

void why_verdicts_health(struct why_list *list, const struct attribution_status *status)
{
	const struct attribution_health_state *health = &status->health;
	struct sbuf *text = why_list_text(list);
	const struct condition *healthy = attribution_find_condition(status, wording_condition(CONDITION_HEALTHY));
	sbuf_append(text, words_health(health->state));
	if (health->recovery_action != ATTRIBUTION_RECOVERY_UNSET)
		sbuf_printf(text, ", recovery action %.*s",
			    VIEW_ARG(words_recovery(health->recovery_action)));
	why_list_add(list, "health", healthy ? healthy->last_transition_time : 0);
	for (uint32_t i = 0; i < health->reasons.count; i++)
		add_reason(list, status, *ARRAY_AT(health->reasons, struct view, i));
	if (health->state == ATTRIBUTION_HEALTH_HEALTHY)
		add_reason(list, status, VIEW(HEALTH_NOTHING_FOUND));
	add_recommendation(list, health);
	why_condition(list, "health", status, wording_condition(CONDITION_HEALTHY));
}

/* Intent */

enum { DEVICE = 0, NODE = 1, ANYWAY = 2, UNREAD = 4, REMEMBERED = 8 };

static const struct {
	int64_t hold_off_s;
	int about;
	unsigned hides;     /* types */
	unsigned waits_for; /* settlings */
} rules[N_DRIFT_TYPES] = {
#define RULE(name, word, severity, hold_off_s, about, hides, waits_for, rule) \
	{hold_off_s, about, hides, waits_for},
	DRIFT_TABLE(RULE)
};

/* The rows below those of the types. */
static const struct {
	struct view word, text, label;
} settling[N_DRIFT_SETTLING] = {
#define SETTLING(name, word, limit_s, text, label)                                                 \
	{VIEW_INIT(word), VIEW_INIT(text), VIEW_INIT(label)},
	DRIFT_SETTLING_TABLE(SETTLING)
};

static void add_settling_row(struct why_list *list, unsigned kind)
{
	sbuf_append(why_list_text(list), settling[kind].text);
	why_list_row(list, DRIFT_FILE, N_DRIFT_TYPES + kind + 1, settling[kind].word);
}

static void write_hold_off(struct sbuf *text, enum drift_type type)
{
	if (rules[type].hold_off_s == 0) {
		sbuf_append(text, VIEW("counts at once"));
		return;
	}
	sbuf_append(text, VIEW("counts after "));
	words_duration(text, rules[type].hold_off_s * 1000);
	sbuf_append(text, VIEW(" as shipped")); /* the controller's --hold-off-percent is not in the status */
}

static void write_word(struct sbuf *text, unsigned n, const char *label, struct view word)
{
	sbuf_printf(text, "%s%.*s", n == 0 ? label : ", ", VIEW_ARG(word));
}

/* What the rule answered, and what the table says of the type. */
static void add_rule(struct why_list *list, struct view word, const char *answer)
{
	const enum drift_type type = drift_type_of(word);
	struct sbuf *text = why_list_text(list);
	if (type == N_DRIFT_TYPES) {
		why_list_say(list, WHY_NOTE, (struct view){0},
			     VIEW("this version does not know that type"));
		return;
	}
	sbuf_printf(text, "the rule's answer is %s; it is asked %s, and its answer ", answer,
		    rules[type].about & NODE ? "once for the node" : "for each device");
	write_hold_off(text, type);
	if (rules[type].about & ANYWAY)
		sbuf_append(text, VIEW("; it needs no policy"));
	for (unsigned i = 0, n = 0; i < ARRAY_SIZE(settling); i++)
		if (rules[type].waits_for & (1u << i))
			write_word(text, n++, "; waits for the end of ", settling[i].word);
	for (unsigned i = 0, n = 0; i < N_DRIFT_TYPES; i++)
		if (rules[type].hides & (1u << i))
			write_word(text, n++, "; hides ", drift_word((enum drift_type)i));
	why_list_row(list, DRIFT_FILE, (unsigned)type + 1, word);
}

static void add_drift(struct why_list *list, const struct attribution_status *status,
		      const struct attribution_drift *drift)
{
	const struct view nothing = {0};
	sbuf_printf(why_list_text(list), "%.*s, %.*s", VIEW_ARG(drift->type),
		    VIEW_ARG(words_severity(drift->severity)));
	why_list_add(list, "intent", drift->start_time);
	if (drift->intended.len > 0)
		why_list_say(list, WHY_INTENDED, nothing, drift->intended);
	if (drift->observed.len > 0)
		why_list_say(list, WHY_OBSERVED, nothing, drift->observed);
	why_sources_of_type(list, status, drift->type);
	add_rule(list, drift->type, "found");
	if (drift->message.len > 0)
		why_list_say(list, WHY_REMEDY, nothing, drift->message);
}

/* Work of which a label tells. True: the word is of such. */
static bool add_work(struct why_list *list, const struct attribution_pending_drift *pending)
{
	for (unsigned i = 0; i < N_DRIFT_SETTLING; i++) {
		if (!view_equal(settling[i].word, pending->type))
			continue;
		sbuf_printf(why_list_text(list), "%.*s, as label %.*s of the node tells",
			    VIEW_ARG(pending->type), VIEW_ARG(settling[i].label));
		why_list_add(list, "intent", pending->start_time);
		sbuf_append(why_list_text(list), VIEW("its labels, as the API server has them"));
		why_list_because(list, WHY_WITNESS, VIEW("Node"), 0);
		add_settling_row(list, i);
		return true;
	}
	return false;
}

/* Types whose rule goes by a ConfigMap of the policy. */
static const unsigned of_config_map =
	DRIFT_BIT(MPS_LEFT_BEHIND) | DRIFT_BIT(CONFIG_MISSING) | DRIFT_BIT(CONFIG_INVALID) |
	DRIFT_BIT(CONFIG_NOT_LOADED) | DRIFT_BIT(CONFIG_DEAD) | DRIFT_BIT(MPS_NOT_RUNNING) |
	DRIFT_BIT(SHARING_MODE) | DRIFT_BIT(REPLICA_COUNT) | DRIFT_BIT(RESOURCE_NAME) |
	DRIFT_BIT(MIG_STRATEGY) | DRIFT_BIT(MIG_LAYOUT) | DRIFT_BIT(ALLOCATABLE_SHORT) |
	DRIFT_BIT(LABELS_STALE);

/* A drift that needs the policy tells that it can be read. */
static bool is_policy_read(const struct attribution_intent_state *intent)
{
	for (uint32_t i = 0; i < intent->drifts.count; i++) {
		const struct view word = ARRAY_AT(intent->drifts, struct attribution_drift, i)->type;
		const enum drift_type type = drift_type_of(word);
		if (type != N_DRIFT_TYPES && !(rules[type].about & (ANYWAY | UNREAD)))
			return true;
	}
	return false;
}

/* While something is settling, what the policy intends could be read. */
static bool is_settling(const struct condition *in_sync)
{
	for (unsigned i = 0; in_sync && i < N_DRIFT_SETTLING; i++)
		if (view_equal(settling[i].word, in_sync->reason))
			return true;
	return false;
}

/* Pending is what was found, and what was before what is intended could no longer be read. */
static const char *answer_of(const struct attribution_status *status, enum drift_type type)
{
	const struct condition *in_sync = attribution_find_condition(status, wording_condition(CONDITION_IN_SYNC));
	const struct view reason = in_sync ? in_sync->reason : (struct view){0};
	const bool goes_by_config_map = type != N_DRIFT_TYPES && of_config_map & 1u << type;
	const bool is_policy_needed = type == N_DRIFT_TYPES || !(rules[type].about & ANYWAY);

	if (!is_policy_needed && !goes_by_config_map)
		return "found";
	if (is_settling(in_sync))
		return "found, or it cannot be told now";
	if (view_equal(reason, VIEW("PolicyUnreadable")))
		return "none, for what is intended cannot be read now";
	if (view_equal(reason, VIEW("ConfigUnreadable")))
		return goes_by_config_map ? "found, unless InSync says that its ConfigMap cannot be read"
					  : "found";
	return is_policy_read(&status->intent) && !goes_by_config_map
		       ? "found"
		       : "found, or what is intended cannot be read now";
}

static void add_pending(struct why_list *list, const struct attribution_status *status,
			const struct attribution_pending_drift *pending)
{
	if (add_work(list, pending))
		return;
	sbuf_printf(why_list_text(list), "%.*s, pending: it may still pass", VIEW_ARG(pending->type));
	why_list_add(list, "intent", pending->start_time);
	why_sources_of_type(list, status, pending->type);
	add_rule(list, pending->type, answer_of(status, drift_type_of(pending->type)));
}

/* The other reasons of the condition InSync, where there is no drift: the rows below settling. */
static const struct {
	struct view word, text;
} verdicts[] = {
#define IN_SYNC_TEXT "no rule found a difference"
#define UNMANAGED_TEXT \
	"there is no ClusterPolicy, and no rule that needs none found a difference"
#define POLICY_UNREADABLE_TEXT "rules that need a policy have no answer, for it cannot be read"
#define CONFIG_UNREADABLE_TEXT \
	"rules that need a ConfigMap of the policy have no answer, for it cannot be read"
#define VERDICT(name, word) {VIEW_INIT(word), VIEW_INIT(name##_TEXT)},
	DRIFT_REASON_TABLE(VERDICT)
};

/* Why there is this verdict, or none. */
static void add_verdict(struct why_list *list, const struct attribution_status *status)
{
	const struct condition *in_sync = attribution_find_condition(status, wording_condition(CONDITION_IN_SYNC));
	for (unsigned i = 0; in_sync && i < N_DRIFT_SETTLING; i++)
		if (view_equal(settling[i].word, in_sync->reason))
			add_settling_row(list, i);
	if (in_sync && drift_type_of(in_sync->reason) != N_DRIFT_TYPES) {
		sbuf_append(why_list_text(list),
			    VIEW("of the drifts the one of the highest severity gives the reason, and of "
				 "several the first of this table"));
		why_list_row(list, DRIFT_FILE, (unsigned)drift_type_of(in_sync->reason) + 1,
			     in_sync->reason);
	}
	for (unsigned i = 0; in_sync && i < ARRAY_SIZE(verdicts); i++) {
		if (!view_equal(verdicts[i].word, in_sync->reason))
			continue;
		sbuf_append(why_list_text(list), verdicts[i].text);
		why_list_row(list, DRIFT_FILE, N_DRIFT_TYPES + N_DRIFT_SETTLING + i + 1,
			     verdicts[i].word);
	}
}

void why_verdicts_intent(struct why_list *list, const struct attribution_status *status)
{
	const struct attribution_intent_state *intent = &status->intent;
	const struct condition *in_sync = attribution_find_condition(status, wording_condition(CONDITION_IN_SYNC));
	struct sbuf *text = why_list_text(list);
	sbuf_append(text, words_intent(intent->state));
	if (intent->policy.len > 0)
		sbuf_printf(text, ", compared with ClusterPolicy %.*s", VIEW_ARG(intent->policy));
	why_list_add(list, "intent", in_sync ? in_sync->last_transition_time : 0);
	why_sources_of_verdict(list, status);
	add_verdict(list, status);
	for (uint32_t i = 0; i < intent->drifts.count; i++)
		add_drift(list, status, ARRAY_AT(intent->drifts, struct attribution_drift, i));
	for (uint32_t i = 0; i < intent->pending.count; i++)
		add_pending(list, status,
			    ARRAY_AT(intent->pending, struct attribution_pending_drift, i));
	why_condition(list, "intent", status, wording_condition(CONDITION_IN_SYNC));
}
