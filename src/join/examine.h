/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * examine - has one device assessed: tells assess/health.h what the join knows of it, and who held it
 * when an error happened
 *
 * Threads: any; pure.
 * Limits:  LIMIT_EVENT_TENANTS pods of an event, the rest of which is counted.
 */

#include "assess/health.h"
#include "join/tenants.h"

/*
 * Judges the health of the device, whose tenants and slots are known. The result lies in the subject's
 * arena or is borrowed from what is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int examine_health(const struct subject *subject, struct health *ret_health,
			    struct error *err);
/*
 * By the node's clock, ms since 1970: when what the report says was so still. Heartbeats say that since
 * it arrived. Zero without a report.
 */
int64_t examine_heard_at(const struct join_input *input);
