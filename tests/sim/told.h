/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * told - judges Kubernetes Events: each says what some status has said of that object before, and
 * after a restart at rest there are none.
 *
 * Threads: the program's only one.
 */

#include "base/view.h"
#include "model/attribution.h"

/* Begins a history. */
void told_reset(void);
/* A status took effect. */
void told_wrote(struct view name, const struct attribution_status *status);
/* The API server has taken an Event ("POST"), or the series of one ("PATCH"). */
void told_event(const char *method, struct view body);
/* Events and series so far. */
unsigned told_events(void);
/* The controller starts anew, though nothing has happened: only time may lead to an Event now. */
void told_forbid(void);
