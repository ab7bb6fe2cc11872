/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * server - an HTTP/1.1 server on a loop, over TLS 1.3 or in clear. It is made for few small
 * endpoints that face hostile clients. Every phase of a connection has a deadline that no byte
 * prolongs, and every size has a limit. Only bodies with a Content-Length are taken. A request that
 * could be read in two ways is refused, and its connection closed (wire/httpmsg.h).
 *
 * A request is decided in two steps: by its head, before a byte of its body is asked for, and as a
 * whole. Either may be done later than it was asked for. The next request of a connection is read
 * only after the answer.
 *
 * A write to a TLS connection that its client has closed raises SIGPIPE: the thread of the loop
 * must ignore or block that.
 *
 * Threads: the loop's.
 * Limits:  a head as in wire/httpmsg.h; body, connections and deadlines as configured. README.md
 *          here shows each, measured beside libevent's evhttp.
 */

#include "base/error.h"
#include "base/view.h"
#include "io/loop.h"
#include "io/tls.h"

struct server;
struct server_request;

struct server_config {
	const char *address;            /* "0.0.0.0:8443", "[::]:8443", ":8443" */
	const struct tls_identity *tls; /* NULL: in clear; borrowed, may be updated while running */
	size_t max_body;
	/* When all are in use the stranger that came first makes room. Without one it is who came first
	 * of those that nobody vouched for. Then it is who is idle for longest, then whose answer is
	 * delayed, and last who may be idle long. Without any of these a new one is closed at once. */
	uint32_t max_connections;
	/* When an address has all of its own, that of them makes room which is idle for longest. Without
	 * one a new one is closed at once. */
	uint32_t max_connections_per_address;
	/* When a client of server_vouch() has all of its own, that of them makes room which it had first
	 * and which has no request. 0: it may have any number. */
	uint32_t max_connections_per_client;
	/*
	 * Connections whose client the handler has not vouched for yet, server_vouch(). Above it the one
	 * that came first goes. Whoever comes from an address that was vouched for lately is none: a
	 * quarter of what that address may have is for such as nobody vouched for. Both 0: no client is a
	 * stranger.
	 */
	uint32_t max_strangers;
	uint32_t max_strangers_per_network; /* server_head.network */
	size_t max_known_addresses;
	uint32_t handshake_timeout_ms;
	uint32_t head_timeout_ms;       /* from the first byte (or handshake) to the end of the head */
	uint32_t body_timeout_ms;       /* from server_proceed() to the end of the body */
	uint32_t write_timeout_ms;
	uint32_t idle_timeout_ms;       /* between requests of a kept connection */
	uint32_t idle_long_timeout_ms;  /* the same after an answer that says so */
	uint32_t delay_ms;              /* of an answer that says so: at least this, and less than twice */
};

/* What became of connections, for metrics; each only rises, but for open and idle. */
struct server_counters {
	uint64_t accepted;
	uint64_t refused_limit;    /* closed at once: too many */
	uint64_t evicted;          /* closed while idle, to make room */
	uint64_t evicted_strangers; /* closed before anybody vouched for them, to make room */
	uint64_t handshake_failed;
	uint64_t timed_out;        /* in another phase than idle */
	uint64_t malformed;        /* heads refused */
	uint64_t too_large;        /* bodies refused by their length */
	uint64_t requests;         /* handed to the handler */
	uint64_t pauses;           /* of the listener, for want of file descriptors */
	uint64_t open;
	uint64_t idle;             /* of the open ones: between two requests */
};

struct server_head {
	struct view method;
	struct view path;          /* without the query */
	struct view query;
	struct view authorization; /* value of the header, or empty */
	struct view content_type;
	struct view peer;          /* the client's IP address as text */
	struct view network;       /* 16 bytes, by which clients are told apart: the IPv4 address, or the */
				   /* /64 of an IPv6 address; a known address stands for itself */
	bool is_known;             /* the address was vouched for in the last hour */
	int64_t content_length;    /* -1: absent */
};

struct server_handler {
	void *owner;
	/*
	 * The head is in, the body not yet. To be followed, now or later, by server_proceed() or
	 * server_answer(). head is borrowed for the call, and until the answer.
	 */
	void (*head)(void *owner, struct server_request *request, const struct server_head *head);
	/*
	 * A whole request. To be answered, now or later, by server_answer(). head and body are
	 * borrowed until then.
	 */
	void (*request)(void *owner, struct server_request *request, const struct server_head *head,
			struct view body);
	/*
	 * The memory of a body that was let in is free again. The answer was written, or is delayed, or
	 * the connection ended, also before request() was called. Once for each server_proceed(), maybe
	 * from inside server_answer(). Only server_request_data() and server_request_body_size() may be
	 * asked.
	 * NULL: not of interest.
	 */
	void (*done)(void *owner, struct server_request *request);
};

/* Opens the port and starts. Fails with ERROR_REJECTED (address), ERROR_RETRY (in use) or
 * ERROR_NO_MEMORY. */
MUST_USE int server_new(struct loop *loop, const struct server_config *config,
			const struct server_handler *handler, struct server **ret_server,
			struct error *err);
/* Closes the port and all connections; requests are gone. Not from a handler. Accepts NULL. */
void server_free(struct server *server);
/* The port it listens on (useful with port 0). */
uint16_t server_port(const struct server *server);
/* Of all connections since server_new(). */
struct server_counters server_counters(const struct server *server);

/* Bytes that several answers have in common. */
struct server_shared {
	const struct view *parts; /* borrowed, as what they point to, until release() */
	size_t n_parts;
	void (*release)(void *owner); /* they are needed no more; called once. NULL: there are none */
	void *owner;
};

struct server_answer {
	int status;
	const char *content_type; /* static text */
	struct server_shared shared; /* the body begins with these */
	struct view body;         /* copied; ends the body */
	uint32_t retry_after_s;   /* header Retry-After, 0: none */
	struct view location;     /* header Location, empty: none */
	const char *allow;        /* header Allow, for 405; NULL: none */
	bool close;               /* close the connection afterwards */
	bool idle_long;           /* the connection may be idle for idle_long_timeout_ms afterwards */
	bool is_delayed;          /* it waits for delay_ms, so its client cannot ask again at once */
};

/* Lets the body come; the handler's request() is called when it is here. Once, after head(). */
void server_proceed(struct server_request *request);
/*
 * Answers a request, which is gone when this returns. A request stays valid until it is answered,
 * also when its client has gone. A body that was not let in is skipped if it is here already, else
 * the connection is closed.
 */
void server_answer(struct server_request *request, const struct server_answer *answer);
/*
 * The client has shown who it is: it is no stranger, nor is who comes from its address later. By the name its
 * connections are counted; empty: they are not. False: it has too many with a request, or there is no memory.
 * Then the request is to be refused, with is_delayed: so it makes room for the next.
 */
bool server_vouch(struct server_request *request, struct view client);
/* The client's IP address as text, borrowed from the request. */
struct view server_request_peer(const struct server_request *request);
/* A pointer for the handler's use with this request, NULL at first. */
void server_request_set_data(struct server_request *request, void *data);
/* What was set; borrowed, NULL before. */
void *server_request_data(const struct server_request *request);
/* What Content-Length says, 0 without. */
size_t server_request_body_size(const struct server_request *request);
/* How long ago its head was whole, in seconds. */
double server_request_seconds(const struct server_request *request);
