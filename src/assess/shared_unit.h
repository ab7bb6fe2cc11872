/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * shared_unit - is a unit that is for one pod alone in the hands of two, of which one is only remembered?
 *
 * Threads: any.
 */

#include "base/view.h"

/* A pod holds a unit. */
struct shared_unit_seat {
	struct view unit; /* a MIG device's UUID; empty: the whole device */
	struct view pod_uid;
	bool is_kept; /* no witness says so now */
};

/* True when one unit has two pods, and one of its seats is kept. Sorts the seats. */
bool shared_unit_is_any(struct shared_unit_seat *seats, size_t n);
