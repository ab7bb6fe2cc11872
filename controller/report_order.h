/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * report_order - which report of a node is newer than all before it. Within one boot the pair
 * (instance, sequence) rises; a boot that was not seen before is newer than all that were; the last
 * boots before the present one are remembered, and what comes from them is old for ever.
 *
 * Threads: any; a value.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/view.h"

#define REPORT_ORDER_PAST_BOOTS 4u

struct report_order_boot {
	uint8_t len; /* 0: none */
	char id[LIMIT_TEXT_UUID];
};

/* All zero: no report was accepted yet, and any is new. */
struct report_order {
	struct report_order_boot boot; /* of the last accepted report */
	struct report_order_boot past[REPORT_ORDER_PAST_BOOTS]; /* newest first */
	int64_t instance;
	int64_t sequence;
};

/* What a report says about its place. boot_id has 1 to LIMIT_TEXT_UUID bytes. */
struct report_order_mark {
	struct view boot_id;
	int64_t instance;
	int64_t sequence;
};

/* True when a report with this mark comes behind all that were accepted. */
bool report_order_is_new(const struct report_order *order, const struct report_order_mark *mark);
/* Takes a mark that is new as the last accepted one. */
void report_order_accept(struct report_order *order, const struct report_order_mark *mark);
/* True when the last accepted report was of this agent process: same boot, same instance. */
bool report_order_is_instance(const struct report_order *order, struct view boot_id,
			      int64_t instance);
