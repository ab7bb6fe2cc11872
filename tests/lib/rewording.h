/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * rewording - what the texts that sim/reword.sed makes are compared by. A letter is rotated by 13, and each
 * text has one mark more, so it differs in letters and in length.
 *
 * Threads: any; pure.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

/* What a digest begins with. */
#define REWORDING_DIGEST UINT64_C(14695981039346656037)

/* Adds the text to a digest, which is the same of the text as it is and reworded, or in part. */
uint64_t rewording_digest(uint64_t digest, struct view text);
/* True if the text that is said is the word, as it is or reworded. */
bool rewording_is(struct view said, struct view word);
/* Where the part begins in the text that is said, as it is or reworded; said.len: nowhere. */
size_t rewording_find(struct view said, struct view part);
