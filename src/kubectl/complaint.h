/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * complaint - what kubectl says on standard error: its error messages are held back, for they may
 * be expected or deserve an explanation; all else, such as the prompt of a login, goes on at once.
 *
 * Threads: owner.
 * Limits:  COMPLAINT_BYTES are held; what goes beyond is dropped.
 */

#include "base/sbuf.h"

#define COMPLAINT_BYTES 65536u

/* What becomes of the line that is being read. */
enum complaint_line {
	COMPLAINT_START, /* not known yet */
	COMPLAINT_HELD,
	COMPLAINT_FORWARDED,
};

struct complaint {
	struct sbuf held;
	struct sbuf start; /* the beginning of a line that may become an error message */
	enum complaint_line line;
};

/* Nothing is held; allocates nothing. complaint_deinit() at the end. */
void complaint_init(struct complaint *complaint);
/* Accepts a zeroed object. For CLEANUP. */
void complaint_deinit(struct complaint *complaint);
/* Continues with the next bytes; appends those that go on to `forward`, whose failure is its own. */
void complaint_feed(struct complaint *complaint, struct view bytes, struct sbuf *forward);
/* The bytes have ended. */
void complaint_finish(struct complaint *complaint, struct sbuf *forward);

/* What it is about. */
enum complaint_cause {
	COMPLAINT_OTHER,
	COMPLAINT_NOT_INSTALLED,      /* the API server has no GPUAttributions */
	COMPLAINT_FORBIDDEN,
	COMPLAINT_FIELD_NOT_SELECTABLE, /* older API servers have no field selectors for them */
};
/* By kubectl's own texts in `held`; of several causes the first above, COMPLAINT_OTHER for none. */
enum complaint_cause complaint_cause(struct view held);
