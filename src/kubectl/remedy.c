/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/remedy.h"

#include "assess/health_finding.h"
#include "base/compiler.h"
#include "base/sbuf.h"
#include "join/wording.h"

/*
 * By recovery action; what has no row, or a word that is not known here, is said to be unknown.
 * `hack/check-docs.py --write` puts these into the table of reasons in crds/README.md.
 */
static const char *const remedies[] = {
	[ATTRIBUTION_RECOVERY_NONE] = "nothing is to be repaired: look at what the reason names",
	[ATTRIBUTION_RECOVERY_RESET] = "let work end, then reset the device",
	[ATTRIBUTION_RECOVERY_REBOOT] = "drain the node, then restart it",
	[ATTRIBUTION_RECOVERY_REPLACE] = "drain the node, then replace the card",
	[ATTRIBUTION_RECOVERY_DRAIN_P2P] = "end the work that reaches the device from its peers",
	[ATTRIBUTION_RECOVERY_DRAIN_AND_RESET] =
		"give it no new work, let work end, then reset the device",
	[ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN] =
		"recover the multi-node memory domain (IMEX) that the device is in",
};

/* The driver, and our own table, know no action, or none is needed. */
static bool is_left_open(int action)
{
	return action == ATTRIBUTION_RECOVERY_UNSET || action == ATTRIBUTION_RECOVERY_NONE ||
	       action == ATTRIBUTION_RECOVERY_UNKNOWN;
}

struct view remedy_reason(const struct attribution_status *status)
{
	const struct condition *healthy = attribution_find_condition(status, wording_condition(CONDITION_HEALTHY));
	if (status->health.reasons.count > 0)
		return *ARRAY_AT(status->health.reasons, struct view, 0);
	return healthy && healthy->status == CONDITION_FALSE ? healthy->reason : (struct view){0};
}

/*
 * The driver may ask for more than the error does, or for something else. Only where both ask for the
 * same does the event say it best. A class that is not known here asks for nothing.
 */
bool remedy_is_asked_by(const struct attribution_health_event *event, int action)
{
	switch (event->class) {
	case ATTRIBUTION_EVENT_NEEDS_REBOOT:
		return action == ATTRIBUTION_RECOVERY_REBOOT;
	case ATTRIBUTION_EVENT_NEEDS_RESET:
		return action == ATTRIBUTION_RECOVERY_RESET;
	case ATTRIBUTION_EVENT_LOOK_CLOSER:
		return is_left_open(action);
	default:
		return false;
	}
}

void remedy_write(const struct attribution *device, const struct attribution_health_event *event,
		  struct sbuf *buf)
{
	const struct attribution_health_state *health = &device->status.health;
	const struct view advice = health_finding_advice(remedy_reason(&device->status));
	const bool is_unknown = health->state == ATTRIBUTION_HEALTH_UNKNOWN;
	size_t action = (size_t)health->recovery_action;
	if (event && event->action.len > 0 && remedy_is_asked_by(event, health->recovery_action))
		sbuf_append(buf, event->action);
	else if (advice.len > 0 && (is_unknown || is_left_open(health->recovery_action)))
		sbuf_append(buf, advice);
	else if (is_unknown)
		sbuf_append(buf, VIEW("look at the agent's log on its node"));
	else if (action < ARRAY_SIZE(remedies) && remedies[action])
		sbuf_append(buf, view_from(remedies[action]));
	else
		sbuf_append(buf, VIEW("the remedy is not known: look at the kernel's log on its node"));
}
