/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_frame - cuts the stream between the agent and its child (agent/nvml_process.h) into messages: four
 * bytes of length, lowest first, then the body.
 *
 * Threads: any.
 * Limits:  a body has 1 to LIMIT_READING_BYTES bytes.
 */

#include "base/limits.h"
#include "base/sbuf.h"

#define NVML_FRAME_HEAD 4u
#define NVML_FRAME_BYTES (NVML_FRAME_HEAD + LIMIT_READING_BYTES)

/* Appends room for the length of a frame whose body is appended next; says where the frame begins. */
size_t nvml_frame_begin(struct sbuf *out);
/* The body of the frame that begins there is complete. Nothing to do on a buffer that failed. */
void nvml_frame_end(struct sbuf *out, size_t begin);
/*
 * Finds the first frame in the bytes. *ret_is_whole: it is there, and *ret_body is its body, borrowed
 * from the bytes; else more must come. Fails with ERROR_REJECTED for a frame without a body, or
 * ERROR_LIMIT for one that is too long, as soon as its length is there.
 */
MUST_USE int nvml_frame_next(struct view bytes, bool *ret_is_whole, struct view *ret_body,
			     struct error *err);
