/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * remedy - what to do about a device that fails, in one sentence.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct sbuf;

/* The worst reason of its health, or nothing where none is known. Borrowed from the status. */
struct view remedy_reason(const struct attribution_status *status);
/* True when the class of the event asks for that action (of enum attribution_recovery). */
bool remedy_is_asked_by(const struct attribution_health_event *event, int action);
/*
 * Appends what the event says that is to be done, if it asks for the device's recovery action.
 * Without an event, or if that says nothing or asks for something else, it goes by the recovery
 * action. Where that asks for nothing, or too little is known of the device, the worst reason says where
 * to look. It has no long words, so
 * that a table can wrap it. event may be NULL. Failure is the buffer's.
 */
void remedy_write(const struct attribution *device, const struct attribution_health_event *event,
		  struct sbuf *buf);
