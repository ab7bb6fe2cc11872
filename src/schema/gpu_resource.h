/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gpu_resource - which names of extended resources may stand for GPUs. A resource is listed here
 * because of who publishes it; whether its devices really are GPUs is told by their IDs.
 *
 * Threads: any.
 */

#include "base/view.h"

/* True when a resource of that name ("nvidia.com/mig-1g.5gb") may be a GPU or a part of one. */
bool gpu_resource_is_known(struct view name);
