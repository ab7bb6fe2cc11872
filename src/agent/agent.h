/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * agent - the whole program: owns every object, and carries out what schedule and delivery decide.
 *
 * It reads these paths of the host, and nothing else of it:
 *
 *	/var/lib/kubelet/pod-resources		the folder, for the kubelet puts a new kubelet.sock in
 *						it at each start; mode 0750 root
 *	/var/lib/kubelet/device-plugins		the folder, for kubelet_internal_checkpoint (mode 0600
 *						root) is replaced by rename
 *	libnvidia-ml.so.1, /dev/nvidia*		as the container runtime puts them in
 *
 * Both folders may be mounted read-only. Their owner is root, so uid 0 without any capability may
 * read them; no other uid may. Nothing is written anywhere.
 *
 * Threads: the one that calls; libcurl resolves names on threads of its own.
 */

#include "agent/agent_settings.h"

struct agent;

/*
 * Prepares everything; nothing is read or sent yet. settings is borrowed. Fails with a text that
 * says what to do.
 */
MUST_USE int agent_new(const struct agent_settings *settings, struct agent **ret_agent,
		       struct error *err);
/*
 * Runs until SIGTERM or SIGINT, or with --once until the report was printed or answered. Fails when
 * --once did not get its report accepted, or found no source that answers.
 */
MUST_USE int agent_run(struct agent *agent, struct error *err);
/* Accepts NULL. */
void agent_free(struct agent *agent);
