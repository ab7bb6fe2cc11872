/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reflector_exchange - the request of a reflector that is under way, and what came of its answer so
 * far. It keeps the head, times, the body of an error, and why the rest is of no use. Used by
 * reflector only.
 *
 * Threads: owner.
 * Limits:  of the body of an error 64 KiB are kept.
 */

#include "base/error.h"
#include "base/sbuf.h"

/* So long nothing comes of a server that hangs: a working one sends a bookmark a minute. */
#define REFLECTOR_EXCHANGE_SILENCE_MS 75000u

/* Others read; nobody else writes. What is said of the request stays until the next one begins. */
struct reflector_exchange {
	bool is_busy;
	bool is_answered; /* the head has come */
	int status;       /* HTTP; 0: no head yet */
	uint32_t retry_after_ms;
	uint32_t timeout_s;  /* after which the server ends a watch by itself */
	uint64_t started_at; /* monotonic ms, here and below */
	uint64_t answered_at;
	uint64_t last_byte_at; /* when something came last, or it was begun */
	struct sbuf error_body;
	struct error broken; /* why the rest of the body is of no use; ERROR_NONE: it is */
};

/* Nothing is under way; allocates nothing. reflector_exchange_deinit() at the end. */
void reflector_exchange_init(struct reflector_exchange *exchange);
/* Accepts a zeroed object. */
void reflector_exchange_deinit(struct reflector_exchange *exchange);
/* A request is sent; none may be under way. */
void reflector_exchange_begin(struct reflector_exchange *exchange, uint32_t timeout_s,
			      uint64_t now);
/* The head of the answer. */
void reflector_exchange_answer(struct reflector_exchange *exchange, int status,
			       uint32_t retry_after_ms, uint64_t now);
/* Something of the body came. */
void reflector_exchange_hear(struct reflector_exchange *exchange, uint64_t now);
/* Keeps part of the body of an error, as far as there is room. */
void reflector_exchange_keep(struct reflector_exchange *exchange, struct view bytes);
/* The rest of the body is of no use. */
void reflector_exchange_break(struct reflector_exchange *exchange, const struct error *why);
/* The answer has ended, or there is none. */
void reflector_exchange_end(struct reflector_exchange *exchange);
/* True when the head has come and says 200. */
bool reflector_exchange_is_good(const struct reflector_exchange *exchange);
/* Why the server did not do as asked: *ret as answer_judge() says. The status is not 200. */
void reflector_exchange_judge(const struct reflector_exchange *exchange, struct error *ret);
/* When nothing will have come for REFLECTOR_EXCHANGE_SILENCE_MS, if nothing more comes. */
uint64_t reflector_exchange_silent_at(const struct reflector_exchange *exchange);
/* When a server that ends a watch by itself must have done so. */
uint64_t reflector_exchange_over_at(const struct reflector_exchange *exchange);
