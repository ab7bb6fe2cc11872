/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * trouble - what does not end by itself. A driver fails, an agent is gone, a plugin calls a device
 * unhealthy, or a device stays off the bus. Another driver never tells of errors.
 *
 * In every fourth fleet, chosen by its seed, the first four begin when all is at rest, and end when
 * what is said of them has been judged. In every eighth some drivers tell of no errors from the
 * beginning on. What is chosen comes from streams of its own.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

/* After the world's. */
void trouble_reset(uint64_t seed);
/* Whether the node's driver tells of errors. */
void trouble_set_up(int node);
/* Whether there will be trouble when all is at rest. */
bool trouble_is_there(void);
/* It begins, if all was at rest; and ends. */
void trouble_begin(void);
void trouble_end(void);

/* The node's driver tells of no errors, ever. */
bool trouble_is_deaf(int node);
/* The node's driver fails, whatever it is asked. */
bool trouble_fails_driver(int node);
/* The node's agent is gone. */
bool trouble_took_agent(int node);
/* The plugin calls the device unhealthy, and offers it no longer. */
bool trouble_is_unwell(int gpu);
/* The device has fallen off the bus, while its driver lists others. */
bool trouble_took_gpu(int gpu);
