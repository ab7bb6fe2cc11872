/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * why_view - on what the statements about devices rest, in sections: tenancy, mode, health, activity,
 * intent. The same for people and for programs.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "model/attribution.h"

struct output;

/* One device, and the pod of which alone it is said; pod_uid empty: of all. */
struct why_view_subject {
	const struct attribution *device;
	struct view pod_uid;
};

/*
 * Writes the sections of each device. What it needs lies in arena. Fails with ERROR_NO_MEMORY; other
 * failure is the output's.
 */
MUST_USE int why_view(struct output *output, const struct why_view_subject *subjects,
		      size_t n_subjects, struct arena *arena, struct error *err);
/* Writes the same as JSON. Fails likewise. */
MUST_USE int why_view_json(struct output *output, const struct why_view_subject *subjects,
			   size_t n_subjects, struct arena *arena, struct error *err);
