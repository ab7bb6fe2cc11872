/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * known_addresses - from which addresses clients came that showed who they are. They are remembered
 * for an hour.
 *
 * Threads: owner. Pure: time is an argument.
 * Limits:  as configured; the address that nobody good came from for longest makes room.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/table.h"

#define KNOWN_ADDRESSES_FOR_MS 3600000u
#define KNOWN_ADDRESSES_SIZE 16u /* of an address, as in io/callers.h */

struct known_addresses {
	struct table table;
	struct list by_use; /* used longest ago in front */
	size_t cap;
};

/* None is known. Allocates nothing. cap 0: none ever is. */
void known_addresses_init(struct known_addresses *known, size_t cap);
/* Forgets all. */
void known_addresses_deinit(struct known_addresses *known);
/* Somebody good came from there just now. Without memory it is not remembered. */
void known_addresses_add(struct known_addresses *known, struct view address, uint64_t now_ms);
/* Whether somebody good came from there in the last hour. */
bool known_addresses_has(const struct known_addresses *known, struct view address, uint64_t now_ms);
