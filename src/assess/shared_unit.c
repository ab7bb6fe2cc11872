/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/shared_unit.h"

#include "base/sort.h"

static int by_unit(const void *a, const void *b)
{
	const struct shared_unit_seat *x = a, *y = b;
	return view_compare_pairs(x->unit, x->pod_uid, y->unit, y->pod_uid);
}

bool shared_unit_is_any(struct shared_unit_seat *seats, size_t n)
{
	bool is_kept = false, is_shared = false;
	sort_items(seats, n, sizeof(*seats), by_unit);
	for (size_t i = 0; i < n && !(is_kept && is_shared); i++) {
		const bool is_next = i > 0 && view_equal(seats[i - 1].unit, seats[i].unit);
		is_kept = (is_next && is_kept) || seats[i].is_kept;
		is_shared = is_next && (is_shared || !view_equal(seats[i - 1].pod_uid, seats[i].pod_uid));
	}
	return is_kept && is_shared;
}
