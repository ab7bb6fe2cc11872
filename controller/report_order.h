/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * report_order - which report of a node is newer than all before it.
 *
 * - Within one boot the pair (instance, sequence) rises.
 * - A boot that was not seen before is newer than all that were.
 * - The last boots before the present one are remembered, and their reports are old for ever.
 *
 * There is one exception: a late report of a former boot may be the first of that boot that this
 * controller sees. Then the boot that the kubelet wrote into the Node decides:
 *
 *	| the Node names                     | and then                                             |
 *	|------------------------------------|------------------------------------------------------|
 *	| the boot of the last accepted      | a report of a new boot is old if it was made before  |
 *	| report                             | that report                                          |
 *	| a boot that was taken for a former | that boot is the present one: what is above its own  |
 *	| one                                | last report is new                                   |
 *
 * Neither the Node nor the node's clock decides alone: the Node is written some time after a boot,
 * and a clock may be set back by one. If both are wrong, reports are refused for a while. That ends
 * when the Node has been written or the clock has passed the last report.
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

/* A boot that was left, and its last accepted report. */
struct report_order_past {
	struct report_order_boot boot;
	int64_t instance;
	int64_t sequence;
};

/* All zero: no report was accepted yet, and any is new. */
struct report_order {
	struct report_order_boot boot; /* of the last accepted report */
	struct report_order_past past[REPORT_ORDER_PAST_BOOTS]; /* newest first */
	struct report_order_boot named; /* by the Node */
	int64_t instance;
	int64_t sequence;
	int64_t observed_at; /* the node's clock */
};

/* What a report says about its place. boot_id has 1 to LIMIT_TEXT_UUID bytes. */
struct report_order_mark {
	struct view boot_id;
	int64_t instance;
	int64_t sequence;
	int64_t observed_at; /* when it was made, by the node's clock */
};

/* True when a report with this mark comes behind all that were accepted. */
bool report_order_is_new(const struct report_order *order, const struct report_order_mark *mark);
/* Takes a mark that is new as the last accepted one. */
void report_order_accept(struct report_order *order, const struct report_order_mark *mark);
/* Takes a mark that was accepted before the controller started, unless it is older. */
void report_order_restore(struct report_order *order, const struct report_order_mark *mark);
/* Which boot the Node names; one that is empty or longer than a boot ID can be is none. */
void report_order_set_named(struct report_order *order, struct view boot_id);
/* True when the last accepted report was of this agent process: same boot, same instance. */
bool report_order_is_instance(const struct report_order *order, struct view boot_id,
			      int64_t instance);
