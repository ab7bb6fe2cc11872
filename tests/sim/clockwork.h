/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * clockwork - one virtual time for all programs of a history: io/loop.h, base/clock.h,
 * base/handoff.h and the kernel's entropy without a kernel. Whatever is due happens in the order of
 * time, and of asking among equals.
 *
 * Each loop belongs to an actor: a node (its agent), or the controller. While something of an
 * actor's runs, clockwork_actor says whose it is: the code under test asks for files, devices and
 * wall clocks without saying who asks.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

#define CLOCKWORK_CONTROLLER (-1)
#define CLOCKWORK_START_MS UINT64_C(1000000)
#define CLOCKWORK_MAX_NODES 8

typedef void (*clockwork_fn)(void *owner, uint64_t number);

extern int clockwork_actor; /* a node's index, or CLOCKWORK_CONTROLLER */

/* Time stands at CLOCKWORK_START_MS, nothing is due. seed is that of all entropy. */
void clockwork_reset(uint64_t seed);
/* Forgets what is still due. */
void clockwork_clear(void);
/* The owner of a call of fn that is forgotten is given to drop. Before the first such call. */
void clockwork_on_drop(clockwork_fn fn, void (*drop)(void *owner));
uint64_t clockwork_now(void);
/* Calls fn once, at that time or, if it is past, as soon as possible. It cannot be taken back. */
void clockwork_at(uint64_t at, clockwork_fn fn, void *owner, uint64_t number);
void clockwork_in(uint64_t ms, clockwork_fn fn, void *owner, uint64_t number);
/* Lets time pass up to `end` included. False: something spins at one moment. */
bool clockwork_run(uint64_t end);
/* The watch of that descriptor, if there is one, is called as soon as possible. */
void clockwork_wake(int fd);
/* What is drawn from the kernel comes from another stream, or no more. */
void clockwork_set_entropy_apart(bool is_apart);
/* An actor's wall clock, ms since 1970, and by how much it was set. */
int64_t clockwork_wall(int actor);
void clockwork_step_wall(int actor, int64_t ms);
/* The actor's machine has just been started: its time since boot begins. */
void clockwork_boot(int actor);
