/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cgroup - whose process is it? The pod and container that the kernel's text about a process'
 * control groups (/proc/PID/cgroup) names, if it names any.
 *
 * Threads: any.
 * Limits:  reads each byte a constant number of times; keeps nothing.
 */

#include "base/view.h"

#define CGROUP_POD_UID_SIZE 37u      /* a UUID, or the 32 digits of a static pod's hash, and NUL */
#define CGROUP_CONTAINER_ID_SIZE 65u /* 64 digits and NUL */

struct cgroup_owner {
	char pod_uid[CGROUP_POD_UID_SIZE];           /* as the kubelet has it, with '-' */
	char container_id[CGROUP_CONTAINER_ID_SIZE]; /* empty: in the pod, but not known where */
};

/*
 * Finds the pod in the contents of a cgroup file, of cgroups version 1, 2 or both, from inside or
 * outside of a cgroup namespace. False, and *ret_owner empty, when it names none: a process of the
 * host, a form that is not known, a UID that is none, or lines that name different pods.
 */
bool cgroup_find_owner(struct view file, struct cgroup_owner *ret_owner);
