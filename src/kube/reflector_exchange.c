/* SPDX-License-Identifier: Apache-2.0 */

#include "kube/reflector_exchange.h"

#include <assert.h>

#include "base/limits.h"
#include "kube/answer.h"

#define ERROR_BODY_CAP (64u * LIMIT_KIB)
#define WATCH_GRACE_MS 30000u /* for the server to end a watch by itself */

void reflector_exchange_init(struct reflector_exchange *exchange)
{
	*exchange = (struct reflector_exchange){0};
	sbuf_init(&exchange->error_body, ERROR_BODY_CAP);
}

void reflector_exchange_deinit(struct reflector_exchange *exchange)
{
	sbuf_deinit(&exchange->error_body);
}

void reflector_exchange_begin(struct reflector_exchange *exchange, uint32_t timeout_s, uint64_t now)
{
	assert(!exchange->is_busy);
	exchange->is_busy = true;
	exchange->is_answered = false;
	exchange->status = 0;
	exchange->retry_after_ms = 0;
	exchange->timeout_s = timeout_s;
	exchange->started_at = now;
	exchange->last_byte_at = now;
	error_clear(&exchange->broken);
	sbuf_clear(&exchange->error_body);
}

void reflector_exchange_answer(struct reflector_exchange *exchange, int status,
			       uint32_t retry_after_ms, uint64_t now)
{
	assert(exchange->is_busy && !exchange->is_answered);
	exchange->is_answered = true;
	exchange->status = status;
	exchange->retry_after_ms = retry_after_ms;
	exchange->answered_at = now;
	exchange->last_byte_at = now;
}

void reflector_exchange_hear(struct reflector_exchange *exchange, uint64_t now)
{
	assert(exchange->is_busy && exchange->is_answered);
	exchange->last_byte_at = now;
}

void reflector_exchange_keep(struct reflector_exchange *exchange, struct view bytes)
{
	size_t room = exchange->error_body.cap - exchange->error_body.len;
	bytes.len = bytes.len < room ? bytes.len : room;
	sbuf_append(&exchange->error_body, bytes);
}

void reflector_exchange_break(struct reflector_exchange *exchange, const struct error *why)
{
	exchange->broken = *why;
}

void reflector_exchange_end(struct reflector_exchange *exchange)
{
	assert(exchange->is_busy);
	exchange->is_busy = false;
}

bool reflector_exchange_is_good(const struct reflector_exchange *exchange)
{
	return exchange->is_answered && exchange->status == 200;
}

void reflector_exchange_judge(const struct reflector_exchange *exchange, struct error *ret)
{
	assert(exchange->is_answered && exchange->status != 200);
	const struct answer answer = {exchange->status, exchange->retry_after_ms,
				      sbuf_view(&exchange->error_body)};
	answer_judge(&answer, ret);
}

uint64_t reflector_exchange_silent_at(const struct reflector_exchange *exchange)
{
	assert(exchange->is_busy);
	return exchange->last_byte_at + REFLECTOR_EXCHANGE_SILENCE_MS;
}

uint64_t reflector_exchange_over_at(const struct reflector_exchange *exchange)
{
	assert(exchange->is_busy);
	return exchange->started_at + exchange->timeout_s * 1000ull + WATCH_GRACE_MS;
}
