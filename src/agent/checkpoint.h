/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * checkpoint - the kubelet's device checkpoint as a source of evidence: which pod UID holds which
 * device. The last good one is kept and dated.
 *
 * Threads: owner.
 * Limits:  LIMIT_CHECKPOINT_BYTES.
 */

#include "agent/source_state.h"
#include "base/arena.h"

struct checkpoint {
	const char *path;
	struct source_state source;
	struct arena arena; /* of `last` */
	struct report_checkpoint last;
};

/* path is borrowed. Reads nothing. */
void checkpoint_init(struct checkpoint *checkpoint, const char *path);
/* Accepts a zeroed object. */
void checkpoint_deinit(struct checkpoint *checkpoint);
/*
 * Reads the file. True when that was news. A failure is the source's state and leaves the last good
 * contents; a file that was never there is an absent source.
 */
bool checkpoint_read(struct checkpoint *checkpoint, int64_t wall_now);
/* Puts the checkpoint's part into the report, borrowed until the next reading. */
void checkpoint_tell(const struct checkpoint *checkpoint, struct report *report);
