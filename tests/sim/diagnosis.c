/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A status is compared with what the driver told in the reading that its own report is of. So no
 * delay on the way of reports is an excuse, and none is needed. Errors are compared with the events
 * that the simulated driver gave out.
 */

#include "sim/diagnosis.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/limits.h"
#include "lib/rewording.h"
#include "sim/clockwork.h"
#include "sim/illness.h"
#include "sim/oracle.h"
#include "sim/unwatched.h"

#define DIVIDED_MS 60000u      /* after it the agent has read which MIG devices there are */
#define SETTLES_MS 60000u      /* and then the node is heard of */
#define TOLD_MS 5000u          /* an error is told by then */
#define LOOK_CLOSER_MS 600000u /* after it such an error may be settled */

#define MAX_CODE 999 /* of the errors that happen here */

#define BIT(name) ILLNESS_BIT(ILLNESS_##name)
#define UNHEALTHY                                                                                  \
	(BIT(LOST) | BIT(REMAP_FAILED) | BIT(IMEX) | BIT(REBOOT) | BIT(RESET) | BIT(RESET_REQUIRED))

#define ACTIONS                                                                                    \
	(BIT(IMEX) | BIT(REBOOT) | BIT(RESET) | BIT(DRAIN) | BIT(DRAIN_P2P) | BIT(OTHER_ACTION))

struct judge {
	const struct attribution_status *status;
	const struct attribution_status *before; /* NULL: there was none */
	int gpu;
	enum oracle_rule rule;
	bool is_read;    /* these two are known */
	unsigned told;   /* of the device, by the driver */
	unsigned unread; /* by the agent, which could not ask for it */
};

/* What is told, and the reason that says it. */
static const struct {
	unsigned told;
	const char *reason;
} reasons[] = {
	{BIT(LOST), "GPULost"},
	{BIT(REMAP_FAILED), "RowRemapFailed"},
	{BIT(IMEX), "RecoverIMEXDomain"},
	{BIT(REBOOT), "RebootRequired"},
	{BIT(RESET) | BIT(RESET_REQUIRED), "ResetRequired"},
	{BIT(DRAIN) | BIT(DRAIN_P2P), "DrainRequired"},
	{BIT(REMAP_PENDING), "RowRemapPending"},
	{BIT(PAGES_PENDING), "RetiredPagesPending"},
	{BIT(ECC), "UncorrectableECC"},
	{BIT(OTHER_ACTION), "RecoveryRequired"},
};

/* What the driver asks for, and what is then to be done. */
static const struct {
	unsigned told;
	int action;
} actions[] = {
	{BIT(IMEX), ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN},
	{BIT(REBOOT), ATTRIBUTION_RECOVERY_REBOOT},
	{BIT(RESET), ATTRIBUTION_RECOVERY_RESET},
	{BIT(DRAIN), ATTRIBUTION_RECOVERY_DRAIN_AND_RESET},
	{BIT(DRAIN_P2P), ATTRIBUTION_RECOVERY_DRAIN_P2P},
};

static bool is_word(struct view text, const char *word)
{
	return rewording_is(text, view_from(word));
}

bool diagnosis_has_reason(const struct attribution_status *status, const char *reason)
{
	for (uint32_t i = 0; i < status->health.reasons.count; i++)
		if (is_word(*ARRAY_AT(status->health.reasons, struct view, i), reason))
			return true;
	return false;
}

static bool has_xid(const struct attribution_status *status, int code)
{
	char reason[16];

	snprintf(reason, sizeof(reason), "XID%d", code);
	return diagnosis_has_reason(status, reason);
}

static void accuse(const struct judge *judge, const char *reason, const char *what)
{
	oracle_accuse(judge->rule, "%s: %s %s", world.gpus[judge->gpu].uuid, reason, what);
}

/* Before, by the same boot of the same node. What nothing mends has neither. */
static bool had_reason(const struct judge *judge, const char *reason)
{
	return judge->before && diagnosis_has_reason(judge->before, reason) &&
	       (strcmp(reason, "RowRemapFailed") == 0 ||
		(view_equal(judge->before->node_name, judge->status->node_name) &&
		 view_equal(judge->before->report.boot_id, judge->status->report.boot_id)));
}

/* What nobody can ask for stays as it is published. At rest it is not known what that was. */
static void judge_unread(const struct judge *judge, const char *reason)
{
	bool is_shown = diagnosis_has_reason(judge->status, reason);

	if (judge->rule == ORACLE_AT_REST)
		return;
	if (!is_shown && had_reason(judge, reason))
		accuse(judge, reason, "is no reason any more, and nobody could ask for it");
	if (is_shown && !had_reason(judge, reason))
		accuse(judge, reason, "is a reason, and nobody could ask for it");
}

/* A lost device that the agent knows is reported as it was before, which may be news, too. */
static void judge_reason(const struct judge *judge, unsigned told, const char *reason)
{
	bool is_shown = diagnosis_has_reason(judge->status, reason);
	bool is_known = judge->told & ILLNESS_KNOWN;
	bool is_left_out = judge->told & BIT(LOST) && !is_known;

	if (told == BIT(LOST) && is_left_out)
		judge_unread(judge, reason);
	else if (judge->told & told && !is_shown)
		accuse(judge, reason, "was told, and is no reason");
	else if (judge->told & told || (is_known && told != BIT(LOST)))
		return;
	else if (judge->unread & told)
		judge_unread(judge, reason);
	else if (is_shown)
		accuse(judge, reason, "is a reason, and nobody told it");
}

/* After a failure the agent believes NVML again a while later only: till then the state is Unknown. */
static void judge_state(const struct judge *judge)
{
	const struct attribution_health_state *health = &judge->status->health;

	if (health->state == ATTRIBUTION_HEALTH_HEALTHY && judge->told != ILLNESS_LISTED)
		oracle_accuse(judge->rule, "%s is Healthy, and its driver told otherwise",
			      world.gpus[judge->gpu].uuid);
	if (judge->told & UNHEALTHY && health->state != ATTRIBUTION_HEALTH_UNHEALTHY &&
	    !diagnosis_has_reason(judge->status, "DeviceMissing") &&
	    !diagnosis_has_reason(judge->status, "NVMLUnavailable"))
		oracle_accuse(judge->rule, "%s is not Unhealthy, and its driver told so",
			      world.gpus[judge->gpu].uuid);
	if (health->state == ATTRIBUTION_HEALTH_HEALTHY && health->reasons.count > 0)
		oracle_accuse(judge->rule, "%s is Healthy, with a reason not to be",
			      world.gpus[judge->gpu].uuid);
	if (health->state == ATTRIBUTION_HEALTH_UNHEALTHY &&
	    health->recovery_action == ATTRIBUTION_RECOVERY_NONE)
		oracle_accuse(judge->rule, "%s is Unhealthy, and nothing is to be done",
			      world.gpus[judge->gpu].uuid);
}

/*
 * Of a card whose rows cannot be remapped the driver knows no better, nor does it of a lost one. While
 * the rows cannot be read, as under MIG, the status says what was read before.
 */
static void judge_action(const struct judge *judge)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (judge->told & actions[i].told &&
		    !(judge->told & (BIT(LOST) | BIT(REMAP_FAILED))) &&
		    !(judge->unread & BIT(REMAP_FAILED) &&
		      diagnosis_has_reason(judge->status, "RowRemapFailed")) &&
		    judge->status->health.recovery_action != actions[i].action)
			oracle_accuse(judge->rule, "%s: the driver asks for another recovery",
				      world.gpus[judge->gpu].uuid);
}

static void judge_told(const struct judge *judge)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		judge_reason(judge, reasons[i].told, reasons[i].reason);
	judge_state(judge);
	judge_action(judge);
}

static bool is_at(const struct attribution_status *status, int gpu)
{
	int node = world.gpus[gpu].node;

	return node >= 0 && view_equal(status->node_name, view_from(world.nodes[node].name));
}

/* Who has not been heard of lately is not known to be well. */
static void judge_silence(const struct judge *judge)
{
	const struct condition *fresh =
		attribution_find_condition(judge->status, VIEW("ReportFresh"));

	if (judge->status->health.state == ATTRIBUTION_HEALTH_HEALTHY &&
	    (!fresh || fresh->status != CONDITION_TRUE))
		oracle_accuse(judge->rule, "%s is Healthy, and its node is not heard of",
			      world.gpus[judge->gpu].uuid);
}

/* Errors */

enum class { SLIGHT, LOOK_CLOSER, NEEDS_RESET, NEEDS_REBOOT };

/* Not by the program's own table. */
static enum class class_of(int code)
{
	static const struct {
		int code;
		enum class class;
	} classes[] = {
		{46, NEEDS_RESET}, {48, LOOK_CLOSER},  {62, NEEDS_RESET}, {64, NEEDS_RESET},
		{74, LOOK_CLOSER}, {79, NEEDS_REBOOT}, {95, NEEDS_RESET}, {119, NEEDS_RESET},
		{999, LOOK_CLOSER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (classes[i].code == code)
			return classes[i].class;
	return SLIGHT;
}

int diagnosis_find_xid(const struct attribution_status *status, int recovery)
{
	static const int recoveries[] = {
		[SLIGHT] = ATTRIBUTION_RECOVERY_UNSET,
		[LOOK_CLOSER] = ATTRIBUTION_RECOVERY_UNKNOWN,
		[NEEDS_RESET] = ATTRIBUTION_RECOVERY_RESET,
		[NEEDS_REBOOT] = ATTRIBUTION_RECOVERY_REBOOT,
	};

	for (int code = 1; code <= MAX_CODE; code++)
		if (has_xid(status, code) && recoveries[class_of(code)] == recovery)
			return code;
	return 0;
}

/* Whatever the node's clock says, which somebody may have set meanwhile. */
static bool settles_by_time(const struct world_error *error)
{
	return class_of(error->code) == LOOK_CLOSER &&
	       clockwork_now() - error->raised_at >= LOOK_CLOSER_MS;
}

/* Time tells something only where the driver asks for nothing, as far as is known. */
static bool asks_for_nothing(const struct judge *judge)
{
	return !judge->is_read || !((judge->told | judge->unread) & ACTIONS);
}

static bool is_settled(const struct judge *judge, const struct world_error *error)
{
	return illness_cured_at(judge->gpu) >= error->raised_at ||
	       (class_of(error->code) == NEEDS_REBOOT &&
		illness_back_at(judge->gpu) >= error->raised_at) ||
	       (asks_for_nothing(judge) && settles_by_time(error));
}

bool diagnosis_may_settle(void)
{
	for (int i = 0; i < world.n_gpus; i++) {
		const struct world_gpu *gpu = &world.gpus[i];

		for (unsigned j = 0; j < gpu->n_errors; j++) {
			const struct world_error *error = &gpu->errors[j];

			if (error->is_reason && settles_by_time(error) &&
			    clockwork_now() - error->dated_at < LOOK_CLOSER_MS + SETTLES_MS)
				return true;
		}
	}
	return false;
}

static bool is_of(const struct world_error *error, const struct attribution_health_event *event)
{
	return error->code == event->xid && error->told_at == event->event_time &&
	       error->fetched_at != WORLD_NEVER;
}

static const struct attribution_health_event *find_event(const struct attribution_status *status,
							 const struct world_error *error)
{
	for (uint32_t i = 0; status && i < status->health.events.count; i++) {
		const struct attribution_health_event *event = ARRAY_AT(
			status->health.events, struct attribution_health_event, i);

		if (is_of(error, event))
			return event;
	}
	return NULL;
}

/*
 * Quiet is counted from the uptime that is published with the event. Another boot, of whichever node,
 * does not know when the error was, and counts from its own first status.
 */
static bool is_dated_anew(const struct judge *judge, const struct world_error *error)
{
	const struct attribution_health_event *event = find_event(judge->status, error),
					      *last = find_event(judge->before, error);

	return event && (!last || last->uptime_ms != event->uptime_ms ||
			 !view_equal(judge->before->report.boot_id, judge->status->report.boot_id));
}

/* So many as there may be are there, and of those that say no more than it none is older. */
static bool is_displaced(const struct attribution_status *status, int64_t time)
{
	const struct array events = status->health.events;

	for (uint32_t i = 0; i < events.count; i++) {
		const struct attribution_health_event *event =
			ARRAY_AT(events, struct attribution_health_event, i);

		if (event->event_time < time && class_of((int)event->xid) == SLIGHT)
			return false;
	}
	return events.count >= LIMIT_HEALTH_EVENTS;
}

static void judge_error(const struct judge *judge, struct world_error *error)
{
	const char *uuid = world.gpus[judge->gpu].uuid;
	bool is_shown = find_event(judge->status, error) != NULL;
	bool is_reason = has_xid(judge->status, error->code);

	if (error->is_shown && !is_shown && !is_displaced(judge->status, error->told_at))
		oracle_accuse(ORACLE_LOST_EVENT, "%s: XID %d of %.3f s is no event any more", uuid,
			      error->code,
			      (double)(error->raised_at - CLOCKWORK_START_MS) / 1000);
	if (class_of(error->code) != SLIGHT && !is_settled(judge, error) && !is_reason &&
	    ((error->is_reason && !error->is_over) || (is_shown && !error->is_shown)))
		oracle_accuse(ORACLE_CLEARED,
			      "%s: XID %d of %.3f s is no reason%s, and nothing has mended it",
			      uuid, error->code,
			      (double)(error->raised_at - CLOCKWORK_START_MS) / 1000,
			      error->is_reason ? " any more" : "");
	if (is_dated_anew(judge, error))
		error->dated_at = clockwork_now();
	error->is_shown = is_shown;
	error->was_shown |= is_shown;
	error->is_over = error->is_reason && !is_reason;
	error->is_reason |= is_shown && is_reason;
}

/* It is a new object, by whichever node: what the one before it said somebody has deleted. */
static void forget_what_was_shown(struct world_gpu *gpu)
{
	for (unsigned i = 0; i < gpu->n_errors; i++)
		gpu->errors[i].is_shown = gpu->errors[i].is_reason = gpu->errors[i].is_over =
			false;
}

/* A MIG device is not named where it was gone when the error was told. Of one moment there may be several. */
static bool has_other_partition(const struct attribution_health_event *event, int gpu)
{
	const struct world_gpu *g = &world.gpus[gpu];
	bool is_any = false;

	for (unsigned i = 0; i < g->n_errors; i++) {
		const int partition = g->errors[i].partition;

		if (!is_of(&g->errors[i], event))
			continue;
		if (partition >= 0 &&
		    view_equal(event->partition, view_from(g->partitions[partition].uuid)))
			return false;
		is_any = true;
	}
	return is_any && event->partition.len > 0;
}

/* Errors of one moment that are alike are told apart by their times. */
static void judge_event(const struct judge *judge, uint32_t number)
{
	const struct array events = judge->status->health.events;
	const struct attribution_health_event *event =
		ARRAY_AT(events, struct attribution_health_event, number);

	for (uint32_t i = 0; i < number; i++) {
		const struct attribution_health_event *other =
			ARRAY_AT(events, struct attribution_health_event, i);

		if (other->xid == event->xid && other->event_time == event->event_time &&
		    view_equal(other->partition, event->partition))
			oracle_accuse(ORACLE_LOST_EVENT, "%s: XID %lld is there twice",
				      world.gpus[judge->gpu].uuid, (long long)event->xid);
	}
	if (has_other_partition(event, judge->gpu))
		oracle_accuse(ORACLE_FALSE_EVENT, "%s: XID %lld is of another MIG device",
			      world.gpus[judge->gpu].uuid, (long long)event->xid);
}

/* The MIG device is named that raised a new error, if it was there long before, and is. */
static void judge_partition(const struct judge *judge, const struct world_error *error)
{
	const struct world_gpu *gpu = &world.gpus[judge->gpu];
	const struct attribution_health_event *event = find_event(judge->status, error);

	if (event && error->partition >= 0 && event->partition.len == 0 &&
	    gpu->partitions[error->partition].exists && judge->told == ILLNESS_LISTED &&
	    gpu->changed_at + DIVIDED_MS < error->raised_at && !find_event(judge->before, error))
		oracle_accuse(ORACLE_FALSE_EVENT, "%s: XID %d names no MIG device", gpu->uuid,
			      error->code);
}

void diagnosis_judge(const struct attribution_status *status,
		     const struct attribution_status *before, int gpu)
{
	struct judge judge = {status, before, gpu, ORACLE_FALSE_HEALTH, false, 0, 0};
	struct world_gpu *g = &world.gpus[gpu];

	judge_silence(&judge);
	for (uint32_t i = 0; i < status->health.events.count; i++)
		judge_event(&judge, i);
	if (!before)
		forget_what_was_shown(g);
	if (!is_at(status, gpu))
		return;
	judge.is_read = illness_reported(g->node, &status->report, gpu, &judge.told, &judge.unread);
	for (unsigned i = 0; i < g->n_errors; i++)
		judge_error(&judge, &g->errors[i]);
	if (!judge.is_read)
		return;
	judge_told(&judge);
	for (unsigned i = 0; i < g->n_errors; i++)
		judge_partition(&judge, &g->errors[i]);
}

static int64_t last_event_of(const struct attribution_status *status)
{
	return status->health.events.count > 0
		       ? ARRAY_AT(status->health.events, struct attribution_health_event, 0)
				 ->event_time
		       : 0;
}

bool diagnosis_has_news(const struct attribution_status *status,
			const struct attribution_status *before)
{
	return last_event_of(status) != last_event_of(before);
}

/* At rest */

/* An error that no later ones have pushed out, and that the agent heard which is still there. */
static bool must_be_shown(const struct world_gpu *gpu, const struct world_error *error)
{
	return error->is_heard && error->node == gpu->node &&
	       error->agent == world.nodes[gpu->node].agent && !error->was_shown;
}

/* Of an error that the device raised. */
static bool is_of_error(const struct world_gpu *gpu, struct view reason)
{
	char text[16];

	for (unsigned i = 0; i < gpu->n_errors; i++) {
		snprintf(text, sizeof(text), "XID%d", gpu->errors[i].code);
		if (is_word(reason, text) && class_of(gpu->errors[i].code) != SLIGHT)
			return true;
	}
	return false;
}

/* "XID79" */
static bool is_xid(struct view reason)
{
	struct view word = reason;

	while (word.len > 0 && isdigit((unsigned char)word.ptr[word.len - 1]))
		word.len--;
	return word.len < reason.len && rewording_is(word, VIEW("XID"));
}

/* What NVML tells is told; and what no error was is no reason. */
static void judge_rest_reason(const struct judge *judge, struct view text)
{
	static const char *const doubts[] = {"DeviceMissing", "NVMLUnavailable", "NoAgent"};

	for (size_t i = 0; i < ARRAY_SIZE(doubts); i++)
		if (is_word(text, doubts[i]))
			accuse(judge, doubts[i], "is not so");
	if (is_xid(text) && !is_of_error(&world.gpus[judge->gpu], text))
		oracle_accuse(judge->rule, "%s: %.*s is a reason, and there was no such error",
			      world.gpus[judge->gpu].uuid, VIEW_ARG(text));
}

/* Nothing but errors that ask for no more than a reset. Links are a matter of the device, too. */
static bool is_content(const struct judge *judge)
{
	if (diagnosis_has_reason(judge->status, "NVLinkDown") ||
	    diagnosis_has_reason(judge->status, "FabricNotReady"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (diagnosis_has_reason(judge->status, reasons[i].reason))
			return false;
	return judge->told == ILLNESS_LISTED && !has_xid(judge->status, 79);
}

/* The agent saw a reset, or the controller must have, after the last error of that number. */
static bool was_reset_after(const struct judge *judge, int code)
{
	const struct world_gpu *gpu = &world.gpus[judge->gpu];
	const uint64_t watched = illness_reset_since(judge->gpu);
	const uint64_t unwatched = unwatched_reset_since(judge->gpu);
	const uint64_t since = watched > unwatched ? watched : unwatched;

	for (unsigned i = 0; i < gpu->n_errors; i++)
		if (gpu->errors[i].code == code && gpu->errors[i].raised_at + TOLD_MS > since)
			return false;
	return since > 0;
}

static void judge_rest_error(const struct judge *judge, int code)
{
	if (class_of(code) == NEEDS_RESET && has_xid(judge->status, code) &&
	    is_content(judge) && was_reset_after(judge, code))
		oracle_accuse(ORACLE_AT_REST, "%s: XID %d is a reason, and a reset was seen since",
			      world.gpus[judge->gpu].uuid, code);
}

void diagnosis_judge_rest(const struct attribution_status *status, int gpu)
{
	struct judge judge = {status, NULL, gpu, ORACLE_AT_REST, true, illness_told(gpu),
			      illness_unread_of(gpu)};
	const struct world_gpu *g = &world.gpus[gpu];
	const struct array texts = status->health.reasons;

	judge_told(&judge);
	for (uint32_t i = 0; i < texts.count; i++)
		judge_rest_reason(&judge, *ARRAY_AT(texts, struct view, i));
	if (texts.count == 0 && status->health.state != ATTRIBUTION_HEALTH_HEALTHY)
		oracle_accuse(ORACLE_AT_REST, "%s is not Healthy, and there is no reason for it",
			      g->uuid);
	for (unsigned i = 0; i < g->n_errors; i++)
		judge_rest_error(&judge, g->errors[i].code);
	for (unsigned i = 0; i < g->n_errors; i++)
		if (must_be_shown(g, &g->errors[i]) && !is_displaced(status, g->errors[i].told_at))
			oracle_accuse(ORACLE_LOST_EVENT, "%s: XID %d of %.3f s never was an event",
				      g->uuid, g->errors[i].code,
				      (double)(g->errors[i].raised_at - CLOCKWORK_START_MS) / 1000);
}
