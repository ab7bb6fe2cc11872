/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * daemon - the whole controller. It owns every object and knows the order in which they start and
 * stop. It is the one place where the loop's side and the front's side meet.
 *
 * Threads: the one that calls, which becomes the loop thread; the front thread is started inside.
 */

#include "base/error.h"
#include "controller/settings.h"

struct daemon;

/*
 * Reads the kubeconfig, opens the ports and prepares everything; nothing runs yet. settings is
 * borrowed. Fails with a text that says what to do.
 */
MUST_USE int daemon_new(const struct settings *settings, struct daemon **ret_daemon,
			struct error *err);
/* Runs until SIGTERM or SIGINT, or until something fails that a restart may mend. */
MUST_USE int daemon_run(struct daemon *daemon, struct error *err);
/* Stops and frees everything. Accepts NULL. */
void daemon_free(struct daemon *daemon);
