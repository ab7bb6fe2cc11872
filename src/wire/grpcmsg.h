/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * grpcmsg - messages and status of gRPC over HTTP/2, for calls with one request and one reply.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 *
 * A message on the wire is one byte of flags (0; 1 = compressed, which we never offer and refuse),
 * four bytes of length, most significant first, and the message.
 *
 * Threads: any; an object belongs to its caller.
 */

#include "base/sbuf.h"

#define GRPCMSG_PREFIX_SIZE 5

/* The status codes that mean something to a caller of ours. */
enum grpcmsg_status {
	GRPCMSG_MISSING = -1, /* the answer ended without one */
	GRPCMSG_OK = 0,
	GRPCMSG_UNKNOWN = 2,
	GRPCMSG_DEADLINE_EXCEEDED = 4,
	GRPCMSG_NOT_FOUND = 5,
	GRPCMSG_PERMISSION_DENIED = 7,
	GRPCMSG_RESOURCE_EXHAUSTED = 8,
	GRPCMSG_UNIMPLEMENTED = 12,
	GRPCMSG_UNAVAILABLE = 14,
	GRPCMSG_UNAUTHENTICATED = 16,
};

/* Appends the message (less than 4 GiB) with its prefix. Failure is the buffer's. */
void grpcmsg_append(struct sbuf *buf, struct view message);

/* A reply as it arrives: exactly one message. */
struct grpcmsg {
	struct sbuf message;
	size_t length; /* as the prefix states it; once the prefix is in */
	uint8_t n_prefix;
	uint8_t prefix[GRPCMSG_PREFIX_SIZE];
};

/* Expects a message of at most cap bytes. Allocates nothing. */
void grpcmsg_init(struct grpcmsg *reply, size_t cap);
/* Accepts a zeroed object. */
void grpcmsg_deinit(struct grpcmsg *reply);
/*
 * Takes the next bytes. Fails with ERROR_REJECTED (compressed, or more than one message),
 * ERROR_LIMIT as soon as the prefix states more than the cap, or ERROR_NO_MEMORY.
 */
MUST_USE int grpcmsg_feed(struct grpcmsg *reply, struct view bytes, struct error *err);
/*
 * At the end of the bytes: the message, borrowed until grpcmsg_deinit(). Fails with ERROR_REJECTED
 * when none came or it was cut.
 */
MUST_USE int grpcmsg_end(const struct grpcmsg *reply, struct view *ret_message, struct error *err);

/*
 * 0 for GRPCMSG_OK; else -1 with what the status asks of a caller: ERROR_THROTTLED for
 * RESOURCE_EXHAUSTED, ERROR_DENIED, ERROR_NOT_FOUND, ERROR_REJECTED for UNIMPLEMENTED, ERROR_RETRY
 * for all others and for a missing one. message is the raw trailer, percent-encoded.
 */
MUST_USE int grpcmsg_check_status(int status, struct view message, struct error *err);
