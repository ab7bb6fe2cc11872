/* SPDX-License-Identifier: Apache-2.0 */
#include "base/credit.h"

#include <assert.h>

#define ONE 1000u

static uint64_t brim_of(struct credit_rate rate)
{
	return (uint64_t)rate.per_second * rate.brim_s * ONE;
}

struct credit credit_full(struct credit_rate rate, uint64_t now_ms)
{
	return (struct credit){brim_of(rate), now_ms};
}

static void fill(struct credit *credit, struct credit_rate rate, uint64_t now_ms)
{
	uint64_t passed_ms = now_ms - credit->filled_at_ms;
	if (passed_ms > 1000ull * rate.brim_s)
		passed_ms = 1000ull * rate.brim_s;
	/* One a second is a thousandth of it a millisecond. */
	credit->thousandths += passed_ms * rate.per_second;
	if (credit->thousandths > brim_of(rate))
		credit->thousandths = brim_of(rate);
	credit->filled_at_ms = now_ms;
}

bool credit_draw(struct credit *credit, struct credit_rate rate, uint64_t n, uint64_t now_ms)
{
	fill(credit, rate, now_ms);
	if (credit->thousandths < n * ONE)
		return false;
	credit->thousandths -= n * ONE;
	return true;
}

/* The next one who fills it takes what is above the brim. */
void credit_return(struct credit *credit, uint64_t n)
{
	credit->thousandths += n * ONE;
}

uint64_t credit_wait_ms(struct credit credit, struct credit_rate rate, uint64_t n, uint64_t now_ms)
{
	assert(n * ONE <= brim_of(rate));
	fill(&credit, rate, now_ms);
	if (credit.thousandths >= n * ONE)
		return 0;
	return (n * ONE - credit.thousandths + rate.per_second - 1) / rate.per_second;
}
