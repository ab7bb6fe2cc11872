/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * xid - what NVIDIA's error numbers mean, and what each of them asks for.
 *
 * Threads: any.
 */

#include <stdint.h>

#include "base/view.h"

enum xid_class {
	XID_INFORMATIONAL, /* nothing needs to be done */
	XID_APPLICATION,   /* the program is at fault, or the only victim */
	XID_LOOK_CLOSER,   /* the number alone does not say */
	XID_NEEDS_RESET,
	XID_NEEDS_REBOOT,
};

struct xid {
	int64_t code;
	enum xid_class class;
	struct view meaning; /* at most LIMIT_TEXT_MEANING bytes; static */
	struct view action;  /* what to do, at most LIMIT_TEXT_ACTION bytes; static */
};

/* What is known of a number; one that is not in the table is to be looked at closer. */
struct xid xid_look_up(int64_t code);
