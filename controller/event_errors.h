/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_errors - the XID errors that are new in a status: told on the object, and on each pod that was
 * on the device at the time.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_EVENT_PODS.
 */

#include "controller/event_finder.h"

/* Adds what is new. */
void event_errors_compare(struct event_finder *finder);
