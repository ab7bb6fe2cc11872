/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * array - a borrowed run of structs of one type, as documents hold them. `present` tells an empty
 * list from one that was not there ("nothing" from "not known").
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct array {
	void *items; /* count elements, lie in the document's arena; NULL when count is 0 */
	uint32_t count;
	bool present;
};

/* An array that is there, of items that nobody changes by it. */
static inline struct array array_of(const void *items, uint32_t count)
{
	return (struct array){(void *)(uintptr_t)items, count, true};
}

/* for (uint32_t i = 0; i < a.count; i++) use(ARRAY_AT(a, struct x, i)); */
#define ARRAY_AT(array, type, index) (&((type *)(array).items)[index])
/* ARRAY_EACH(const struct x, item, a) use(item); The array is evaluated more than once. */
#define ARRAY_EACH(type, item, array) \
	for (type *item = (array).items, *item##_end = item ? item + (array).count : NULL; item != item##_end; item++)
