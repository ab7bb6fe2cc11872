/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * agent - the whole program: owns every object, and carries out what schedule and delivery decide.
 *
 * It reads these paths of the host, and nothing else of it:
 *
 *	/var/lib/kubelet/pod-resources	kubelet.sock: which pod holds what, by name. The folder
 *					(0750 root), for the kubelet makes the socket anew at
 *					each start.
 *	/var/lib/kubelet/device-plugins	kubelet_internal_checkpoint (0600 root): which pod holds
 *					what, by UID. The folder, for the file is replaced by
 *					rename, and that is watched for.
 *	libnvidia-ml.so.1, /dev/nvidia*	the driver, as the container runtime puts it in.
 *	/proc				only if the pod has hostPID: stat, cgroup and comm of the
 *					processes that the driver lists, and stat of the first one.
 *
 * Both folders may be mounted read-only; connecting to a socket needs no more. Their owner is root,
 * so uid 0 without any capability may use them, and no other uid. Nothing is written but the file
 * --ready-file, and no port is opened.
 *
 * Threads: the one that calls; names are looked up on threads of their own.
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
 * --once did not get its report accepted, or found no source that answers. Where XID errors are not
 * acknowledged yet, it goes on for up to 1.5 s after the signal to tell them, or until a second one.
 */
MUST_USE int agent_run(struct agent *agent, struct error *err);
/* Accepts NULL. */
void agent_free(struct agent *agent);
