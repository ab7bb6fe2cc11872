/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * evhttp_server - libevent's HTTP server behind the configuration of io/server.h, to compare with.
 * Plain, it has the limits that evhttp offers itself. Guarded, it has all that can be added through
 * evhttp's public interface without reading HTTP a second time.
 *
 * Threads: the loop's. It runs until the process ends.
 */

#include "io/server.h"

/* Answers one whole request; head and body are borrowed for the call, the answer's body after it. */
typedef struct server_answer (*evhttp_server_fn)(const struct server_head *head, struct view body);

/* Listens on a free port of 127.0.0.1, whatever config->address says; a guarded server needs TLS.
 * config is borrowed. What goes wrong ends the process. */
void evhttp_server_start(struct loop *loop, const struct server_config *config, bool guarded,
			 evhttp_server_fn answer, uint16_t *ret_port);
