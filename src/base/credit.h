/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * credit - how often something may happen: it fills evenly up to a brim, and is drawn from.
 *
 * Threads: owner.
 * Times:   milliseconds of one clock that does not go back.
 */

#include <stdbool.h>
#include <stdint.h>

struct credit {
	uint64_t thousandths;
	uint64_t filled_at_ms;
};

/* How much it fills a second, and for how many seconds' worth of it there is room. */
struct credit_rate {
	uint32_t per_second;
	uint32_t brim_s;
};

/* Full to the brim. */
struct credit credit_full(struct credit_rate rate, uint64_t now_ms);
/* Draws n. False: there is less, and nothing was drawn. */
bool credit_draw(struct credit *credit, struct credit_rate rate, uint64_t n, uint64_t now_ms);
/* Gives back n that were drawn; what would be above the brim is lost. */
void credit_return(struct credit *credit, uint64_t n);
/* In how many ms n can be drawn, if nobody draws before; 0: now. n is not above the brim. */
uint64_t credit_wait_ms(struct credit credit, struct credit_rate rate, uint64_t n,
			uint64_t now_ms);
