/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * findings - the commands that look for what somebody should see to: devices that fail, devices that are
 * idle, and what is not as intended. With --check their exit status is the answer.
 *
 * Threads: the main thread.
 */

#include "kubectl/session.h"

/* Shows the devices that fail. */
enum command_status findings_failing(struct session *session);
/* Shows the devices and partitions that are held and idle. */
enum command_status findings_idle(struct session *session);
/* Shows what is not as intended, of all devices or of those that are named or on a named node. */
enum command_status findings_drift(struct session *session);
