/* SPDX-License-Identifier: Apache-2.0 */

#include "agent/replica.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

static struct view url_of(const struct replica *replica)
{
	return view_from(replica->config->reporter.controller);
}

static struct view name_of(const struct replica *replica)
{
	return replica->address[0] ? view_from(replica->address) : url_of(replica);
}

static void log_refusal(const struct replica *replica, enum delivery_verdict verdict,
			const struct error *err)
{
	const char *advice = delivery_advice(verdict);
	uint64_t wait = delivery_wait(&replica->delivery, loop_now_ms(replica->config->loop));
	if (!advice) {
		LOG_INFO("Report delivery postponed", LOG_ERROR_FIELD(err),
			 LOG_TEXT("replica", name_of(replica)), LOG_U64("retry_ms", wait));
		return;
	}
	LOG_ERROR("Report delivery failed", LOG_ERROR_FIELD(err),
		  LOG_TEXT("controller", url_of(replica)), LOG_TEXT("replica", name_of(replica)),
		  LOG_TEXT("advice", view_from(advice)), LOG_U64("retry_ms", wait));
}

static void log_verdict(struct replica *replica, enum delivery_verdict verdict,
			const struct error *err)
{
	if (verdict != DELIVERY_ACCEPTED)
		log_refusal(replica, verdict, err);
	else if (replica->last_verdict != DELIVERY_ACCEPTED)
		LOG_INFO("Report accepted", LOG_I64("sequence", replica->config->pace->sequence),
			 LOG_TEXT("replica", name_of(replica)));
	replica->last_verdict = verdict;
}

static void answered(void *owner, const struct reporter_answer *answer)
{
	struct replica *replica = owner;
	const struct replica_config *config = replica->config;
	const struct replica_answer told = {
		.verdict = delivery_end(&replica->delivery, &answer->delivery,
					loop_now_ms(config->loop), clock_boot_ms()),
		.acknowledged_events = answer->acknowledged_events,
		.error = &answer->error,
	};
	log_verdict(replica, told.verdict, &answer->error);
	config->answered(config->owner, &told);
}

static void disconnected(void *owner)
{
	struct replica *replica = owner;
	const struct replica_config *config = replica->config;
	uint64_t now = loop_now_ms(config->loop);
	delivery_disconnected(&replica->delivery, now);
	LOG_INFO("Connection to the controller ended", LOG_TEXT("replica", name_of(replica)),
		 LOG_U64("report_ms", delivery_wait(&replica->delivery, now)));
	config->disconnected(config->owner);
}

void replica_give_up(struct replica *replica, const struct error *err)
{
	const struct reporter_answer none = {.acknowledged_events = -1, .error = *err};
	answered(replica, &none);
}

void replica_post(struct replica *replica, struct view body)
{
	struct error err;
	if (reporter_post(replica->reporter, body, &err) < 0)
		replica_give_up(replica, &err);
}

int replica_init(struct replica *replica, const struct replica_config *config, const char *address,
		 struct error *err)
{
	struct reporter_config reporter = config->reporter;
	*replica = (struct replica){.config = config, .last_verdict = DELIVERY_UNREACHABLE};
	snprintf(replica->address, sizeof(replica->address), "%s", address);
	reporter.address = address[0] ? replica->address : NULL;
	delivery_init(&replica->delivery, config->pace);
	const struct reporter_handler handler = {replica, answered, disconnected};
	if (reporter_new(config->fetcher, &reporter, &handler, &replica->reporter, err) == 0)
		return 0;
	*replica = (struct replica){0};
	return -1;
}

void replica_deinit(struct replica *replica)
{
	reporter_free(replica->reporter);
	*replica = (struct replica){0};
}
