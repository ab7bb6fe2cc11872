/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/plan.h"

#include "sim/clockwork.h"
#include "sim/world.h"

void plan_begin(struct plan *plan, uint64_t seed, unsigned on_bits, unsigned off_bits)
{
	prng_init(&plan->prng, seed);
	plan->n_spans = 0;
	plan->planned_until = CLOCKWORK_START_MS;
	plan->on_bits = on_bits;
	plan->off_bits = off_bits;
}

static uint64_t length(struct plan *plan, unsigned bits)
{
	uint64_t low = UINT64_C(1000) << prng_between(&plan->prng, 0, bits - 1);

	return prng_between(&plan->prng, low, 2 * low);
}

void plan_extend(struct plan *plan, uint64_t until)
{
	while (plan->planned_until <= until && plan->n_spans < PLAN_MAX - 1) {
		struct plan_span *span = &plan->spans[plan->n_spans++];

		span->from = plan->planned_until + length(plan, plan->off_bits);
		span->until = span->from + length(plan, plan->on_bits);
		plan->planned_until = span->until;
	}
}

bool plan_is_on(struct plan *plan, uint64_t at)
{
	plan_extend(plan, at);
	for (int i = plan->n_spans - 1; i >= 0 && plan->spans[i].until > at; i--)
		if (plan->spans[i].from <= at)
			return true;
	return false;
}

void plan_freeze(struct plan *plan, bool is_on)
{
	uint64_t now = clockwork_now();

	plan_extend(plan, now);
	while (plan->n_spans > 0 && plan->spans[plan->n_spans - 1].from >= now)
		plan->n_spans--;
	if (plan->n_spans > 0 && plan->spans[plan->n_spans - 1].until > now)
		plan->spans[plan->n_spans - 1].until = now;
	if (is_on)
		plan->spans[plan->n_spans++] = (struct plan_span){now, WORLD_NEVER};
	plan->planned_until = WORLD_NEVER;
}
