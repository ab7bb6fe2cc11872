/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hami_text - the text of HAMi's annotation hami.io/vgpu-devices-allocated. It has
 * "UUID,type,memory,cores:" for a device, and ";" behind each container's part.
 *
 * HAMi's parts, by release (pkg/scheduler/score.go, pkg/device/devices.go: Resourcereqs):
 *
 *	before 2.7.0	one for each main container; empty ones may be missing, or elsewhere (its
 *			issue 991, pull request 1299)
 *	2.7.0 .. 2.8.3	one for each main container
 *	2.9.0		one for each init container, sidecars among them, then for the main ones (1650)
 *	2.10.0		the same, and the empty ones are missing where devices are registered by the
 *			name of their model, as NVIDIA's are (issue 2899)
 *
 * Threads: any.
 */

#include "base/view.h"

/* The UUID of a device. A bracket behind it, which tells a part of a MIG device, does not matter here. */
struct view hami_text_uuid(struct view device);
/* HAMi calls a part empty that has no device, or one without a UUID. */
bool hami_text_is_empty(struct view part);
/* How many parts the text has. */
size_t hami_text_count(struct view text, bool with_empty);
