/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * access - finds out which API server to use, and as whom.
 *
 * The first of these is used, as kubectl users and pods expect: the file that was named, the first
 * file of KUBECONFIG, the pod's own service account, ~/.kube/config.
 *
 * Threads: the main thread's, at the start.
 */

#include "kube/kubeconfig.h"

/*
 * kubeconfig and context may be empty. Fails with a text that says what was looked for and what to
 * do. The config is the caller's.
 */
MUST_USE int access_load(const char *kubeconfig, const char *context,
			 struct kubeconfig *ret_config, struct error *err);
