/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fetch_head - reads the head of an answer, and its trailers, line by line as libcurl gives them:
 * the status, and the few headers that anybody here asks for.
 *
 * Threads: any.
 * Limits:  64 KiB for all lines together. A Content-Type over 256 bytes and a gRPC message over
 *          4 KiB count as empty.
 */

#include "base/error.h"
#include "base/sbuf.h"
#include "base/view.h"

struct fetch_head {
	int status;       /* of the block that came last, 1xx included; 0: none came */
	int grpc_status;  /* -1: it did not come */
	size_t size;      /* of all lines, in bytes */
	bool is_complete; /* the head has ended: what comes now are trailers */
	struct sbuf content_type;
	struct sbuf grpc_message; /* as it came, not decoded */
};

/* Nothing has come; allocates nothing. fetch_head_deinit() at the end. */
void fetch_head_init(struct fetch_head *head);
/* Frees the texts. Accepts a zeroed object. */
void fetch_head_deinit(struct fetch_head *head);
/*
 * Takes one line, its end included. *ret_ends is true for the one line that completes the head: the
 * empty one behind a block that is not 1xx. Fails with ERROR_LIMIT.
 */
MUST_USE int fetch_head_line(struct fetch_head *head, struct view bytes, bool *ret_ends,
			     struct error *err);
