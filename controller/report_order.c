/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/report_order.h"

#include <assert.h>
#include <string.h>

static_assert(LIMIT_TEXT_UUID <= UINT8_MAX, "the length of a boot ID fits");

static bool is_boot(const struct report_order_boot *boot, struct view id)
{
	return boot->len > 0 && view_equal((struct view){boot->id, boot->len}, id);
}

static bool is_past(const struct report_order *order, struct view id)
{
	for (size_t i = 0; i < REPORT_ORDER_PAST_BOOTS; i++) {
		if (is_boot(&order->past[i], id))
			return true;
	}
	return false;
}

bool report_order_is_new(const struct report_order *order, const struct report_order_mark *mark)
{
	if (!is_boot(&order->boot, mark->boot_id))
		return !is_past(order, mark->boot_id);
	if (mark->instance != order->instance)
		return mark->instance > order->instance;
	return mark->sequence > order->sequence;
}

void report_order_accept(struct report_order *order, const struct report_order_mark *mark)
{
	assert(report_order_is_new(order, mark));
	assert(mark->boot_id.len > 0 && mark->boot_id.len <= LIMIT_TEXT_UUID);
	if (!is_boot(&order->boot, mark->boot_id)) {
		memmove(&order->past[1], &order->past[0],
			(REPORT_ORDER_PAST_BOOTS - 1) * sizeof(order->past[0]));
		order->past[0] = order->boot;
		order->boot.len = (uint8_t)mark->boot_id.len;
		memcpy(order->boot.id, mark->boot_id.ptr, mark->boot_id.len);
	}
	order->instance = mark->instance;
	order->sequence = mark->sequence;
}

bool report_order_is_instance(const struct report_order *order, struct view boot_id,
			      int64_t instance)
{
	return is_boot(&order->boot, boot_id) && order->instance == instance;
}
