/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * kubectl_error - what kubectl writes to standard error. Error messages are held back, because they
 * may be expected or need an explanation. All else, such as the prompt of a login, is forwarded at
 * once.
 *
 * Threads: owner.
 * Limits:  KUBECTL_ERROR_BYTES are held; what goes beyond is dropped.
 */

#include "base/sbuf.h"

#define KUBECTL_ERROR_BYTES 65536u

/* What becomes of the line that is being read. */
enum kubectl_error_line {
	KUBECTL_ERROR_START, /* not known yet */
	KUBECTL_ERROR_HELD,
	KUBECTL_ERROR_FORWARDED,
};

struct kubectl_error {
	struct sbuf held;
	struct sbuf start; /* the beginning of a line that may become an error message */
	enum kubectl_error_line line;
};

/* Nothing is held; allocates nothing. kubectl_error_deinit() at the end. */
void kubectl_error_init(struct kubectl_error *said);
/* Accepts a zeroed object. For CLEANUP. */
void kubectl_error_deinit(struct kubectl_error *said);
/* Continues with the next bytes; appends those that go on to `forward`, whose failure is its own. */
void kubectl_error_feed(struct kubectl_error *said, struct view bytes, struct sbuf *forward);
/* The bytes have ended: appends the beginning of a line that never became an error message. */
void kubectl_error_finish(struct kubectl_error *said, struct sbuf *forward);

/* What it is about. */
enum kubectl_error_cause {
	KUBECTL_ERROR_OTHER,
	KUBECTL_ERROR_NOT_INSTALLED,      /* the API server has no GPUAttributions */
	KUBECTL_ERROR_FORBIDDEN,
	KUBECTL_ERROR_FIELD_NOT_SELECTABLE, /* older API servers have no field selectors for them */
};
/* By kubectl's own texts in `held`; the first that fits, or KUBECTL_ERROR_OTHER. */
enum kubectl_error_cause kubectl_error_cause(struct view held);
