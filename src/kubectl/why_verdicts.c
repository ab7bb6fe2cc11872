/* SPDX-License-Identifier: Apache-2.0 */
#include "kubectl/why_verdicts.h"

#include <inttypes.h>
#include <stdio.h>

#include "assess/drift.h"
#include "assess/health.def"
#include "kubectl/why.h"
#include "kubectl/words.h"
#include "wire/rfc3339.h"

#define HEALTH_FILE "src/assess/health.def"
#define DRIFT_FILE "src/assess/drift.def"

/* Health */

struct finding {
	struct view reason;
	int state, action; /* enum attribution_health, enum attribution_recovery */
	struct view message;
};

static const struct finding findings[] = {
#define FINDING(name, reason, state, action, matter, message, ...)                                 \
	{VIEW_INIT(reason), ATTRIBUTION_HEALTH_##state, ATTRIBUTION_RECOVERY_##action,             \
	 VIEW_INIT(message)},
#define NO_XIDS(...)
	HEALTH_TABLE(FINDING, NO_XIDS)
};

/* Two rows may have one reason: the recovery action tells them apart. */
static const struct finding *find_finding(struct view reason, int action)
{
	const struct finding *found = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(findings); i++)
		if (view_equal(findings[i].reason, reason) && (!found || findings[i].action == action))
			found = &findings[i];
	return found;
}

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
		      struct view reason)
{
	struct sbuf *text = why_list_text(list);
	char time[RFC3339_SIZE];
	sbuf_printf(text, "errors of class %.*s", VIEW_ARG(class_of(event->class)));
	why_list_row(list, HEALTH_FILE, 0, reason);
	rfc3339_seconds(event->event_time, time);
	sbuf_printf(text, "XID %" PRId64 ", %.*s, at %s by the driver", event->xid,
		    VIEW_ARG(event->meaning), time);
	if (event->partition.len > 0)
		sbuf_printf(text, ", on partition %.*s", VIEW_ARG(event->partition));
	write_tenants(text, event->tenants);
	why_list_because(list, WHY_EVIDENCE, (struct view){0});
	if (event->action.len > 0)
		why_list_say(list, WHY_REMEDY, (struct view){0}, event->action);
}

static void add_reason(struct why_list *list, const struct attribution_health_state *health,
		       struct view reason)
{
	const struct attribution_health_event *event = find_event(health, reason);
	const struct finding *finding = find_finding(reason, health->recovery_action);
	struct sbuf *text = why_list_text(list);
	if (event) {
		add_event(list, event, reason);
	} else if (finding) {
		sbuf_printf(text, "%.*s; it makes the device %.*s", VIEW_ARG(finding->message),
			    VIEW_ARG(words_health(finding->state)));
		why_list_row(list, HEALTH_FILE, 0, reason);
	} else {
		why_list_say(list, WHY_NOTE, reason,
			     VIEW("what it rests on is not in the status any more, or this version "
				  "does not know it"));
	}
}

/* The action of the worst reason counts, unless the driver recommends another one. */
static void add_recommendation(struct why_list *list, const struct attribution_health_state *health)
{
	const struct finding *first =
		health->reasons.count > 0
			? find_finding(*ARRAY_AT(health->reasons, struct view, 0),
				       health->recovery_action)
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
	const struct condition *healthy = attribution_find_condition(status, VIEW("Healthy"));
	sbuf_append(text, words_health(health->state));
	if (health->recovery_action != ATTRIBUTION_RECOVERY_UNSET)
		sbuf_printf(text, ", recovery action %.*s",
			    VIEW_ARG(words_recovery(health->recovery_action)));
	why_list_add(list, "health", healthy ? healthy->last_transition_time : 0);
	for (uint32_t i = 0; i < health->reasons.count; i++)
		add_reason(list, health, *ARRAY_AT(health->reasons, struct view, i));
	add_recommendation(list, health);
	why_condition(list, "health", status, VIEW("Healthy"));
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

static const struct {
	struct view word, text;
} settling[] = {
#define SETTLING(name, word, limit_s, text, label) {VIEW_INIT(word), VIEW_INIT(text)},
	DRIFT_SETTLING_TABLE(SETTLING)
};

static void write_hold_off(struct sbuf *text, enum drift_type type)
{
	if (rules[type].hold_off_s == 0) {
		sbuf_append(text, VIEW("counts at once"));
		return;
	}
	sbuf_append(text, VIEW("counts after "));
	words_duration(text, rules[type].hold_off_s * 1000);
}

static void write_word(struct sbuf *text, unsigned n, const char *label, struct view word)
{
	sbuf_printf(text, "%s%.*s", n == 0 ? label : ", ", VIEW_ARG(word));
}

/* What the table says of the type. */
static void add_rule(struct why_list *list, struct view word)
{
	const enum drift_type type = drift_type_of(word);
	struct sbuf *text = why_list_text(list);
	if (type == N_DRIFT_TYPES) {
		why_list_say(list, WHY_NOTE, (struct view){0},
			     VIEW("this version does not know that type"));
		return;
	}
	sbuf_printf(text, "found %s, ", rules[type].about & NODE ? "once a node" : "of each device");
	write_hold_off(text, type);
	if (rules[type].about & ANYWAY)
		sbuf_append(text, VIEW(", needs no policy"));
	for (unsigned i = 0, n = 0; i < ARRAY_SIZE(settling); i++)
		if (rules[type].waits_for & (1u << i))
			write_word(text, n++, "; waits for the end of ", settling[i].word);
	for (unsigned i = 0, n = 0; i < N_DRIFT_TYPES; i++)
		if (rules[type].hides & (1u << i))
			write_word(text, n++, "; hides ", drift_word((enum drift_type)i));
	why_list_row(list, DRIFT_FILE, (unsigned)type + 1, word);
}

static void add_drift(struct why_list *list, const struct attribution_drift *drift)
{
	const struct view nothing = {0};
	sbuf_printf(why_list_text(list), "%.*s, %.*s", VIEW_ARG(drift->type),
		    VIEW_ARG(words_severity(drift->severity)));
	why_list_add(list, "intent", drift->start_time);
	if (drift->intended.len > 0)
		why_list_say(list, WHY_INTENDED, nothing, drift->intended);
	if (drift->observed.len > 0)
		why_list_say(list, WHY_OBSERVED, nothing, drift->observed);
	add_rule(list, drift->type);
	if (drift->message.len > 0)
		why_list_say(list, WHY_REMEDY, nothing, drift->message);
}

/* Work of which a label tells. True: the word is of such. */
static bool add_work(struct why_list *list, const struct attribution_pending_drift *pending)
{
	for (size_t i = 0; i < ARRAY_SIZE(settling); i++) {
		if (!view_equal(settling[i].word, pending->type))
			continue;
		sbuf_printf(why_list_text(list), "%.*s, as a label of the node tells",
			    VIEW_ARG(pending->type));
		why_list_add(list, "intent", pending->start_time);
		return true;
	}
	return false;
}

static void add_pending(struct why_list *list, const struct attribution_pending_drift *pending)
{
	if (add_work(list, pending))
		return;
	sbuf_printf(why_list_text(list), "%.*s, pending: it may still pass", VIEW_ARG(pending->type));
	why_list_add(list, "intent", pending->start_time);
	add_rule(list, pending->type);
}

/* Why there is no verdict. */
static void add_settling(struct why_list *list, const struct attribution_status *status)
{
	const struct condition *in_sync = attribution_find_condition(status, VIEW("InSync"));
	for (size_t i = 0; in_sync && i < ARRAY_SIZE(settling); i++) {
		if (!view_equal(settling[i].word, in_sync->reason))
			continue;
		sbuf_append(why_list_text(list), settling[i].text);
		why_list_row(list, DRIFT_FILE, 0, settling[i].word);
	}
}

void why_verdicts_intent(struct why_list *list, const struct attribution_status *status)
{
	const struct attribution_intent_state *intent = &status->intent;
	struct sbuf *text = why_list_text(list);
	sbuf_append(text, words_intent(intent->state));
	if (intent->policy.len > 0)
		sbuf_printf(text, ", compared with ClusterPolicy %.*s", VIEW_ARG(intent->policy));
	why_list_add(list, "intent", 0);
	add_settling(list, status);
	for (uint32_t i = 0; i < intent->drifts.count; i++)
		add_drift(list, ARRAY_AT(intent->drifts, struct attribution_drift, i));
	for (uint32_t i = 0; i < intent->pending.count; i++)
		add_pending(list,
			    ARRAY_AT(intent->pending, struct attribution_pending_drift, i));
	why_condition(list, "intent", status, VIEW("InSync"));
}
