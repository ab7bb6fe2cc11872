/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Heartbeats go to all replicas at once, so that one encoded report serves all. Their time is drawn when
 * the first replica accepts a report. News and the heartbeat itself take it back, for then a report is
 * due for each replica, and the next one that is accepted draws it again. A replica that is away is
 * tried on its own and changes nothing of it. So does one that joins.
 *
 * Redirects are answered by trying the configured address again, never by following Location: the
 * token must not go anywhere that an operator did not name. Behind a Service another try reaches
 * another replica, and the caller closes its connection so that it does.
 *
 * After a 409 the reports get a new instance number, the present time since boot. That heals an
 * instance number that is too low for whatever reason (a machine restored from an image goes back
 * in time within one boot). Two agents on one node would take turns, at the pace of the back-off,
 * both telling the truth, until one of them ends. If several replicas refuse one report, it is renumbered
 * once.
 *
 * A controller that was away is told of every node within BACKOFF_CAP_MS of its return. A try that
 * nobody answers costs one packet; a controller that is too busy says when to come (Retry-After).
 * One that was killed and started again between two reports is noticed by the end of the connection. All
 * nodes notice at once, and come evenly over half a second, at 10 000 a second from 5 000 nodes. A longer
 * spread helps nobody: new connections are what takes time, 0.35 to 1 ms of CPU each. So 5 000 are told in
 * 2 to 8 s by any spread from half a second to four, and 1 250 in 2 s by this one. Where the controller
 * takes longer to start, the back-off alone says who comes when. What it does not get round to it closes
 * (io/strangers.h).
 *
 * A proxy that closes idle connections looks the same. So how long a connection lasted is counted from when
 * it was made: one that a proxy closes after each report never lasts for a heartbeat.
 */

#include "agent/delivery.h"

#include <assert.h>
#include <stddef.h>

#include "base/compiler.h"

enum {
	BACKOFF_BASE_MS = 500,
	BACKOFF_CAP_MS = 8000,
	RECONNECT_BASE_MS = 500, /* to which as much of jitter is added */
	RETRY_AFTER_CAP_MS = 300000,
	HEARTBEAT_LOW_S = 1,
	HEARTBEAT_HIGH_S = 3600,
};

void delivery_pace_init(struct delivery_pace *pace, const struct delivery_config *config,
			uint64_t seed)
{
	*pace = (struct delivery_pace){
		.instance = config->instance,
		.heartbeat_ms = config->heartbeat_ms,
		.heartbeat_at = DELIVERY_NEVER,
	};
	prng_init(&pace->prng, seed);
}

int64_t delivery_make(struct delivery_pace *pace, uint64_t now)
{
	if (pace->heartbeat_at <= now)
		pace->heartbeat_at = DELIVERY_NEVER;
	return ++pace->sequence;
}

void delivery_init(struct delivery *delivery, struct delivery_pace *pace)
{
	*delivery = (struct delivery){.pace = pace, .due_at = DELIVERY_NEVER};
	backoff_init(&delivery->backoff, BACKOFF_BASE_MS, BACKOFF_CAP_MS);
	backoff_init(&delivery->reconnect, RECONNECT_BASE_MS, HEARTBEAT_HIGH_S * 1000);
}

void delivery_changed(struct delivery *delivery, uint64_t now)
{
	delivery->changed = true;
	delivery->due_at = now;
	delivery->pace->heartbeat_at = DELIVERY_NEVER;
}

void delivery_join(struct delivery *delivery, uint64_t now)
{
	delivery->due_at = now;
}

uint64_t delivery_next_at(const struct delivery *delivery)
{
	uint64_t due_at = delivery->due_at;
	if (delivery->under_way)
		return DELIVERY_NEVER;
	if (delivery->pace->heartbeat_at < due_at)
		due_at = delivery->pace->heartbeat_at;
	return due_at > delivery->open_at ? due_at : delivery->open_at;
}

uint64_t delivery_wait(const struct delivery *delivery, uint64_t now)
{
	assert(!delivery->under_way);
	uint64_t at = delivery_next_at(delivery);
	return at > now ? at - now : 0;
}

void delivery_begin(struct delivery *delivery)
{
	assert(!delivery->under_way);
	delivery->under_way = true;
	delivery->changed = false;
	delivery->due_at = DELIVERY_NEVER;
	delivery->instance = delivery->pace->instance;
}

static const struct {
	int status;
	enum delivery_verdict verdict;
} verdicts[] = {
	{0, DELIVERY_UNREACHABLE},  {200, DELIVERY_ACCEPTED},    {301, DELIVERY_ELSEWHERE},
	{302, DELIVERY_ELSEWHERE},  {307, DELIVERY_ELSEWHERE},   {308, DELIVERY_ELSEWHERE},
	{400, DELIVERY_MALFORMED},  {401, DELIVERY_NO_IDENTITY}, {403, DELIVERY_WRONG_NODE},
	{405, DELIVERY_MALFORMED},  {409, DELIVERY_OUTDATED},    {411, DELIVERY_MALFORMED},
	{413, DELIVERY_TOO_LARGE},  {415, DELIVERY_MALFORMED},   {429, DELIVERY_THROTTLED},
	{503, DELIVERY_NOT_READY},
};

static enum delivery_verdict judge(int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		if (verdicts[i].status == status)
			return verdicts[i].verdict;
	}
	return DELIVERY_UNEXPECTED;
}

static void plan_heartbeat(struct delivery_pace *pace, uint64_t now)
{
	uint64_t tenth = pace->heartbeat_ms / 10;
	uint64_t at = now + prng_between(&pace->prng, pace->heartbeat_ms - tenth,
					 pace->heartbeat_ms + tenth);
	if (at < pace->heartbeat_at)
		pace->heartbeat_at = at;
}

/* True where it is another one. */
static bool adopt_heartbeat(struct delivery_pace *pace, int64_t seconds)
{
	uint32_t before = pace->heartbeat_ms;
	if (seconds <= 0)
		return false;
	if (seconds < HEARTBEAT_LOW_S)
		seconds = HEARTBEAT_LOW_S;
	if (seconds > HEARTBEAT_HIGH_S)
		seconds = HEARTBEAT_HIGH_S;
	pace->heartbeat_ms = (uint32_t)seconds * 1000;
	return pace->heartbeat_ms != before;
}

static void accept(struct delivery *delivery, int64_t heartbeat_s, uint64_t now)
{
	struct delivery_pace *pace = delivery->pace;
	bool is_planned = pace->heartbeat_at != DELIVERY_NEVER;
	bool is_other = adopt_heartbeat(pace, heartbeat_s);
	backoff_reset(&delivery->backoff);
	delivery->open_at = now;
	if (is_planned ? is_other : !delivery->changed)
		plan_heartbeat(pace, now);
}

/* A wait the server asked for is spread over a quarter more, or all its agents come at once. */
static uint64_t wait_after_refusal(struct delivery *delivery, uint32_t retry_after_ms)
{
	uint32_t wait = backoff_next(&delivery->backoff, &delivery->pace->prng);
	if (retry_after_ms == 0)
		return wait;
	if (retry_after_ms > RETRY_AFTER_CAP_MS)
		retry_after_ms = RETRY_AFTER_CAP_MS;
	return retry_after_ms + prng_between(&delivery->pace->prng, 0, retry_after_ms / 4);
}

static void renumber(struct delivery_pace *pace, uint64_t boot_now_ms)
{
	int64_t now = (int64_t)boot_now_ms;
	pace->instance = now > pace->instance ? now : pace->instance + 1;
	pace->sequence = 0;
}

enum delivery_verdict delivery_end(struct delivery *delivery, const struct delivery_answer *answer,
				   uint64_t now, uint64_t boot_now_ms)
{
	assert(delivery->under_way);
	enum delivery_verdict verdict = judge(answer->status);
	delivery->under_way = false;
	if (answer->is_new_connection)
		delivery->connected_at = now;
	if (verdict == DELIVERY_ACCEPTED) {
		accept(delivery, answer->heartbeat_s, now);
		return verdict;
	}
	if (verdict == DELIVERY_OUTDATED && delivery->instance == delivery->pace->instance)
		renumber(delivery->pace, boot_now_ms);
	delivery->due_at = now;
	delivery->open_at = now + wait_after_refusal(delivery, answer->retry_after_ms);
	return verdict;
}

void delivery_disconnected(struct delivery *delivery, uint64_t now)
{
	assert(!delivery->under_way);
	delivery->reconnect.cap_ms = delivery->pace->heartbeat_ms;
	if (now - delivery->connected_at >= delivery->pace->heartbeat_ms)
		backoff_reset(&delivery->reconnect);
	uint64_t at = now + backoff_next(&delivery->reconnect, &delivery->pace->prng);
	if (at < delivery->due_at)
		delivery->due_at = at;
}

const char *delivery_advice(enum delivery_verdict verdict)
{
	switch (verdict) {
	case DELIVERY_ACCEPTED:
	case DELIVERY_THROTTLED:
	case DELIVERY_NOT_READY:
	case DELIVERY_ELSEWHERE:
		return NULL;
	case DELIVERY_UNREACHABLE:
		return "check that a controller runs, that --controller names it and its "
		       "certificate, that this node's clock is right, and that no NetworkPolicy "
		       "blocks the connection";
	case DELIVERY_OUTDATED:
		return "check that no second agent runs on this node";
	case DELIVERY_NO_IDENTITY:
		return "check that --token-file is a projected service account token with the "
		       "audience and service account that the controller's --audience and "
		       "--agent-service-account name";
	case DELIVERY_WRONG_NODE:
		return "check that --node-name is the spec.nodeName of the agent's pod";
	case DELIVERY_TOO_LARGE:
		return "find out why this node's report is larger than the protocol allows: "
		       "--once --print shows it";
	case DELIVERY_MALFORMED:
		return "run agent and controller of the same release";
	case DELIVERY_UNEXPECTED:
		return "check that --controller names a gpu-attribution-controller";
	}
	return NULL;
}
