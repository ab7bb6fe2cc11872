/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_drifts - the drifts that are new in a status, and those that are gone from it. One that is gone
 * because another one hides it, or because nothing can be told now, as during work, is not resolved. Nor is
 * one that is pending again. What hides it may be another device's, if one of the two is of the node.
 *
 * Threads: any; pure.
 */

#include "controller/event_finder.h"

/* As event_changes_of_node(). */
struct event_change_node event_drifts_of_node(const struct join_device *devices, size_t n);
/* Adds what is new, and what is gone. */
void event_drifts_compare(struct event_finder *finder);
