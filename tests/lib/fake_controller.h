/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fake_controller - where reports go, on a loop: an HTTPS server of its own authority that keeps
 * the last report and gives the answers it is told to.
 *
 * Threads: the loop's.
 */

#include "base/sbuf.h"
#include "io/loop.h"
#include "io/server.h"

struct fake_controller;

/* A report came in and is about to be answered; body is borrowed for the call. May be NULL. */
typedef void (*fake_controller_fn)(void *owner, struct view body);

/* Listens on 127.0.0.1; answers 200 with an empty object until told otherwise. It asserts. */
struct fake_controller *fake_controller_new(struct loop *loop, fake_controller_fn reported,
					    void *owner);
/* Accepts NULL. */
void fake_controller_free(struct fake_controller *controller);
/* "https://127.0.0.1:1234", borrowed. */
const char *fake_controller_url(const struct fake_controller *controller);
/* The authority that vouches for it, PEM, borrowed. */
struct view fake_controller_authority(const struct fake_controller *controller);
/* From now on reports get this answer; body must be static. */
void fake_controller_set(struct fake_controller *controller, const struct server_answer *answer);
/* As one that is killed and started again in place: all connections end. Not while a report comes in. */
void fake_controller_restart(struct fake_controller *controller);
/* From now on no report is answered. */
void fake_controller_hang(struct fake_controller *controller);
/* Reports and connections so far, and what the last report said; texts are borrowed. */
unsigned fake_controller_reports(const struct fake_controller *controller);
unsigned fake_controller_connections(const struct fake_controller *controller);
struct view fake_controller_body(const struct fake_controller *controller);
struct view fake_controller_authorization(const struct fake_controller *controller);
