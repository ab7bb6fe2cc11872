/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * memory - whether the programs under test need no more memory in the evening than in the morning.
 *
 * The simulator keeps requests and objects until a history ends. What it keeps is left out.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stddef.h>

/* The programs may need more by this than MEMORY_SPAN_H hours ago. A leak of one block of malloc() per
 * heartbeat of an agent is more. */
#define MEMORY_MAX_GROWTH 16384u
#define MEMORY_SPAN_H 8

/* Begins with a first hour, of which nothing is kept. */
void memory_reset(void);
/* The simulator keeps this block of malloc(); NULL is none. */
void memory_keep(const void *block);
/* Notes what they use now. At least once an hour. */
void memory_look(void);
/* An hour has passed. False: they need more than they may. */
bool memory_is_flat(size_t *ret_before, size_t *ret_now);
