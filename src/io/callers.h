/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * callers - how many connections each client address has, and which of them are idle. An IPv4 address
 * is the same whether it came over an IPv4 or an IPv6 socket.
 *
 * Threads: owner.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/table.h"

/* Room for any address as text. */
#define CALLERS_TEXT_SIZE 46

struct caller; /* one address that has connections */

struct callers {
	struct table table;
	uint32_t cap; /* connections of one address */
};

/* Nobody is connected; cap is at least 1. Allocates nothing; callers_deinit() at the end. */
void callers_init(struct callers *callers, uint32_t cap);
/* Every connection must have been removed. */
void callers_deinit(struct callers *callers);
/* Counts a connection, also one too many; NULL: memory ran out. */
struct caller *callers_add(struct callers *callers, const struct sockaddr_storage *address);
/* One connection less; caller may be gone when this returns. */
void callers_remove(struct callers *callers, struct caller *caller);
/* Whether it has more connections than an address may have. */
bool callers_has_too_many(const struct callers *callers, const struct caller *caller);
/* Its idle connections, those that are so for longest in front. Kept by who owns them. */
struct list *callers_idle(struct caller *caller);
/* The address itself: 16 bytes, IPv4 mapped into IPv6; borrowed. */
struct view callers_address(const struct caller *caller);
/* The network that the address is in: itself for IPv4, its /64 for IPv6. 16 bytes, borrowed. */
struct view callers_network(const struct caller *caller);
/* The address as text, ending in NUL. */
void callers_write(const struct caller *caller, char ret[static CALLERS_TEXT_SIZE]);
