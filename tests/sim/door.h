/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * door - io/server.h without sockets: what knocks at the controller's report endpoint.
 *
 * Threads: the program's only one.
 */

#include "base/view.h"

/* How a request ended; status 0: the connection broke. body is borrowed for the call. */
typedef void (*door_fn)(void *owner, int status, uint32_t retry_after_ms, struct view body);

/* Sends POST /v1/report; answered is called once, later or now. Texts are copied. */
void door_knock(const char *authorization, struct view body, door_fn answered, void *owner);
