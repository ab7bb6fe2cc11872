/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/published_orders.h"

#include <stdlib.h>

#include "base/log.h"

static struct receiver_order order_of(const struct inventory *inventory, struct view node_name,
				      const struct attribution_report *published)
{
	const struct node_state *node_state = inventory_node_state_find(inventory, node_name);

	return (struct receiver_order){
		.node = node_name,
		.named_boot = node_state && node_state->node ? node_state->node->boot_id
							     : (struct view){0},
		.last = {published->boot_id, published->instance, published->sequence,
			 published->observation_time},
	};
}

static void tell(struct front *front, const struct receiver_order *orders, size_t n)
{
	struct error error = {0};

	if (front_set_orders(front, orders, n, &error) < 0)
		LOG_ERROR("Report order not passed to the front thread", LOG_ERROR_FIELD(&error));
}

/* What is published must not be undone by a report that came before the one that it rests on. */
void published_orders_tell(struct front *front, const struct inventory *inventory)
{
	size_t n = 0, n_objects = inventory_count(inventory, INVENTORY_ATTRIBUTIONS);
	struct receiver_order *orders = calloc(n_objects + 1, sizeof(*orders));
	const struct attribution *object = NULL;

	if (!orders) {
		LOG_ERROR("Report order not collected, out of memory",
			  LOG_U64("objects", n_objects));
		return;
	}
	while ((object = inventory_next_attribution(inventory, object)))
		if (object->status.report.boot_id.len > 0)
			orders[n++] = order_of(inventory, object->status.node_name,
					       &object->status.report);
	tell(front, orders, n);
	free(orders);
}

void published_orders_tell_boot(struct front *front, const struct inventory *inventory,
				struct view node_name)
{
	const struct receiver_order order =
		order_of(inventory, node_name, &(struct attribution_report){0});

	tell(front, &order, 1);
}
