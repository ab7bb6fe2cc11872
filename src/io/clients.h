/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * clients - which connections a client has, by the name that the handler gives it. A client may come from
 * several addresses, so callers (io/callers.h) do not know it.
 *
 * Threads: owner.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/table.h"
#include "base/view.h"

struct client;

/* Part of a connection. All zero: it is of no client. */
struct client_connection {
	struct list link;
	struct client *client;
};

struct clients {
	struct table table;
	uint32_t cap; /* connections of one client; 0: any number */
};

/* There are none. Allocates nothing. */
void clients_init(struct clients *clients, uint32_t cap);
/* All connections must have left. */
void clients_deinit(struct clients *clients);
/*
 * The connection is of the client with this name, which is copied; it leaves another one first. It counts
 * also where there is one too many. False: no memory, and it is of none.
 */
bool clients_join(struct clients *clients, struct client_connection *connection, struct view name);
/* Does nothing for a connection of no client. */
void clients_leave(struct clients *clients, struct client_connection *connection);
/* Whether the connection's client has more connections than it may have. */
bool clients_has_too_many(const struct clients *clients, const struct client_connection *connection);
/* Of the same client, the one that joined next; NULL: the first of all. NULL at the end. */
struct client_connection *clients_next(const struct client_connection *of,
				       const struct client_connection *after);
