/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * peer - a client on loopback that sends any bytes, as slowly as it likes, and hears what comes
 * back. Unlike lib/http_client.h it fails no test: what the server does is what is asked.
 *
 * Threads: owner. Without memory or sockets the process ends.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer;

/* Connected; TLS is not begun. */
struct peer *peer_new(uint16_t port);
/* Connected, with TLS; closed at once when the handshake fails. */
struct peer *peer_new_tls(uint16_t port);
/* Accepts NULL. */
void peer_free(struct peer *peer);
/* False when the server has closed, or takes nothing for two seconds. */
bool peer_send(struct peer *peer, const void *bytes, size_t n);
bool peer_say(struct peer *peer, const char *text);
/* Takes what comes for so long, or until the server closes. */
void peer_hear(struct peer *peer, int ms);
/* Takes what comes until n answers began; no longer than ms. */
void peer_await(struct peer *peer, size_t n, int ms);
/* What was heard so far. */
bool peer_is_closed(const struct peer *peer);
/* How many answers began. */
size_t peer_answers(const struct peer *peer);
/* The statuses of the first few, as "100 200", or "no answer". Borrowed until the next call. */
const char *peer_statuses(const struct peer *peer);
