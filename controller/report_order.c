/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/report_order.h"

#include <assert.h>
#include <string.h>

static_assert(LIMIT_TEXT_UUID <= UINT8_MAX, "the length of a boot ID fits");

static struct view id_of(const struct report_order_boot *boot)
{
	return (struct view){boot->id, boot->len};
}

static bool is_boot(const struct report_order_boot *boot, struct view id)
{
	return boot->len > 0 && view_equal(id_of(boot), id);
}

static void set_boot(struct report_order_boot *boot, struct view id)
{
	assert(id.len <= LIMIT_TEXT_UUID);
	boot->len = (uint8_t)id.len;
	if (id.len > 0)
		memcpy(boot->id, id.ptr, id.len);
}

static const struct report_order_past *find_past(const struct report_order *order, struct view id)
{
	for (size_t i = 0; i < REPORT_ORDER_PAST_BOOTS; i++) {
		if (is_boot(&order->past[i].boot, id))
			return &order->past[i];
	}
	return NULL;
}

static bool is_above(const struct report_order_mark *mark, int64_t instance, int64_t sequence)
{
	return mark->instance != instance ? mark->instance > instance : mark->sequence > sequence;
}

static bool is_late(const struct report_order *order, const struct report_order_mark *mark)
{
	return is_boot(&order->named, id_of(&order->boot)) &&
	       mark->observed_at < order->observed_at;
}

bool report_order_is_new(const struct report_order *order, const struct report_order_mark *mark)
{
	if (is_boot(&order->boot, mark->boot_id))
		return is_above(mark, order->instance, order->sequence);
	const struct report_order_past *past = find_past(order, mark->boot_id);
	if (past)
		return is_boot(&order->named, mark->boot_id) &&
		       is_above(mark, past->instance, past->sequence);
	return !is_late(order, mark);
}

static void take(struct report_order *order, const struct report_order_mark *mark)
{
	set_boot(&order->boot, mark->boot_id);
	order->instance = mark->instance;
	order->sequence = mark->sequence;
	order->observed_at = mark->observed_at;
}

/* The place of a boot that came back is free; else the oldest one is forgotten. */
static void leave_boot(struct report_order *order, struct view next)
{
	size_t i = 0;
	while (i + 1 < REPORT_ORDER_PAST_BOOTS && !is_boot(&order->past[i].boot, next))
		i++;
	memmove(&order->past[1], &order->past[0], i * sizeof(order->past[0]));
	order->past[0] = (struct report_order_past){
		.boot = order->boot,
		.instance = order->instance,
		.sequence = order->sequence,
	};
}

void report_order_accept(struct report_order *order, const struct report_order_mark *mark)
{
	assert(report_order_is_new(order, mark));
	assert(mark->boot_id.len > 0 && mark->boot_id.len <= LIMIT_TEXT_UUID);
	if (!is_boot(&order->boot, mark->boot_id))
		leave_boot(order, mark->boot_id);
	take(order, mark);
}

/* Of two boots it is not known which was left: none is closed for it. */
static bool is_newer_boot(const struct report_order *order, const struct report_order_mark *mark)
{
	if (is_boot(&order->named, mark->boot_id))
		return true;
	return !is_boot(&order->named, id_of(&order->boot)) &&
	       mark->observed_at > order->observed_at;
}

void report_order_restore(struct report_order *order, const struct report_order_mark *mark)
{
	if (mark->boot_id.len == 0 || mark->boot_id.len > LIMIT_TEXT_UUID ||
	    find_past(order, mark->boot_id))
		return;
	if (order->boot.len == 0 ||
	    (is_boot(&order->boot, mark->boot_id)
		     ? is_above(mark, order->instance, order->sequence)
		     : is_newer_boot(order, mark)))
		take(order, mark);
}

void report_order_set_named(struct report_order *order, struct view boot_id)
{
	if (boot_id.len > LIMIT_TEXT_UUID)
		boot_id.len = 0;
	set_boot(&order->named, boot_id);
}

bool report_order_is_instance(const struct report_order *order, struct view boot_id,
			      int64_t instance)
{
	return is_boot(&order->boot, boot_id) && order->instance == instance;
}
