/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reflector_output - what a reflector tells its sink. It counts the objects that are of no use, and
 * tells each change of `denied` and `followed` once. Used by reflector and by what reads bodies for
 * it (reflector_list, reflector_watch).
 *
 * Threads: owner.
 */

#include "kube/reflector.h"

/* Others read n_refused and is_told_denied; nobody else writes any of it. */
struct reflector_output {
	struct reflector_sink sink;
	uint64_t n_refused; /* objects that were skipped; rises only */
	bool is_told_denied;
	bool is_told_followed;
};

/* Nothing is told yet. sink is copied. */
void reflector_output_init(struct reflector_output *output, const struct reflector_sink *sink);
/*
 * One object. One that has no name, or that the sink cannot use, is counted. Fails as the sink does
 * when it could not take the object now.
 */
MUST_USE int reflector_output_put(struct reflector_output *output, enum reflector_change change,
				  const struct object_meta *meta, struct view object,
				  struct error *err);
/* So many objects cannot be read, or are over a limit: they are counted. */
void reflector_output_skip(struct reflector_output *output, uint64_t n_objects);
/* Tells whether the server has refused for long, if that is news. */
void reflector_output_set_denied(struct reflector_output *output, bool is_denied);
/* Tells whether changes are reported from now on, if that is news. */
void reflector_output_set_followed(struct reflector_output *output, bool is_followed);
