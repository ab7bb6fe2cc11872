/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reflector_position - the version of the last complete state or event: from where a watch goes on.
 *
 * It moves forward only. A replayed event is not handed on: if its object was deleted since, the
 * sink would take it for a new one. Only a complete list may set the position back.
 *
 * Used by reflector, which sets it, and by reflector_watch, which moves it forward.
 *
 * Threads: owner.
 * Limits:  a version over 256 bytes counts as none.
 */

#include "base/sbuf.h"
#include "kube/object_meta.h"

/* Others read; nobody else writes. */
struct reflector_position {
	struct sbuf version; /* empty: none yet */
	uint64_t number;     /* of the last version as a number; 0: it was none */
	uint64_t n_rewinds;  /* versions that were older than that; rises only */
};

/* No version yet; allocates nothing. reflector_position_deinit() at the end. */
void reflector_position_init(struct reflector_position *position);
/* Frees the version. Accepts a zeroed object. */
void reflector_position_deinit(struct reflector_position *position);
/* Forgets the version, not its number. */
void reflector_position_forget(struct reflector_position *position);
/* A complete state of this version is here. It may be older, which is counted. */
void reflector_position_set(struct reflector_position *position, struct view version);
/* An event has come. True when it moved the position; one that is older is counted. */
bool reflector_position_advance(struct reflector_position *position,
				const struct object_meta *meta);
/* True when an event with this version has been seen before; that is counted. */
bool reflector_position_is_replay(struct reflector_position *position,
				  const struct object_meta *meta);
