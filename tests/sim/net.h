/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * net - io/fetch.h without a network. A request reaches the part that its address names, a moment
 * later. The answer comes back when, and as far as, that part says.
 *
 * Threads: the program's only one.
 */

#include "io/fetch.h"

/* What a fetch is to the one who answers it. Stays readable until net_clear(). */
struct fetch {
	struct fetch *next;
	int actor; /* who asks */
	bool open; /* the asker still waits */
	uint64_t sent_at;
	uint64_t send_before; /* as in struct fetch_request */
	struct fetch_handler handler;
	char method[8];
	char *url;
	char *authorization; /* value of the header; NULL: none */
	char *body;
	size_t body_len;
	bool is_local; /* over the kubelet's socket */
	bool headed;
	int status;
	uint32_t retry_after_ms;
	const char *content_type;
	int grpc_status;
	void (*closed)(struct fetch *fetch); /* told when the asker has gone; may be NULL */
	void *peer;                          /* the answerer's own */
};

/* Begins a history: an answer that is dropped before its time is freed. */
void net_reset(void);
/* Forgets all requests. */
void net_clear(void);
/* Ends all requests of an actor without calling back: it is dead. */
void net_kill(int actor);
/* The answer, in its order. All do nothing when the asker has gone. */
void net_head(struct fetch *fetch, int status, const char *content_type, uint32_t retry_after_ms);
/* False: the asker has gone, or goes over this. */
bool net_feed(struct fetch *fetch, struct view bytes);
void net_end(struct fetch *fetch);
/* The transfer breaks off. */
void net_fail(struct fetch *fetch, const char *why);
/* Head, body and end in one, `ms` from now. The body is copied. */
void net_answer_in(struct fetch *fetch, uint64_t ms, int status, const char *content_type,
		   uint32_t retry_after_ms, struct view body);
void net_fail_in(struct fetch *fetch, uint64_t ms);
/* Nothing listens there. */
void net_refuse_in(struct fetch *fetch, uint64_t ms);
/* The API server is gone: whatever it was asked and has not answered to the end breaks off. */
void net_cut_api(void);

/* The answerers. */
void apiserver_serve(struct fetch *fetch);
void kubelet_serve(struct fetch *fetch);
void wire_carry(struct fetch *fetch);
