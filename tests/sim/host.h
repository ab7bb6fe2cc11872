/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * host - the files, folders and certificates that the programs see: io/file.h, io/filewatch.h and
 * io/tls.h without a file system. Which machine is meant is said by clockwork_actor.
 *
 * Threads: the program's only one.
 */

#include "base/view.h"

enum host_folder { HOST_PLUGINS, HOST_SOCKETS };

#define HOST_CHECKPOINT "kubelet_internal_checkpoint"
#define HOST_SOCKET "kubelet.sock"

/* A name appeared in (or vanished from) a folder of the node: its agent is told in a moment. */
void host_changed(int node, enum host_folder folder, const char *name, bool appeared);
/* The node's agent is not told of changes up to then: its kernel has no room for inotify. */
void host_silence(int node, uint64_t until);
void host_reset(void);
