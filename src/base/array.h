/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * array - a borrowed run of structs of one type, as documents hold them. `present` tells an empty
 * list from one that was not there ("nothing" from "not known").
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>

struct array {
	void *items; /* count elements, lie in the document's arena; NULL when count is 0 */
	uint32_t count;
	bool present;
};

/* for (uint32_t i = 0; i < a.count; i++) use(ARRAY_AT(a, struct x, i)); */
#define ARRAY_AT(array, type, index) (&((type *)(array).items)[index])
