/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * recorded - seeds of which it is known that a rule is violated; sim/recorded.txt. Such a violation is
 * counted, and does not fail.
 *
 * A line is a seed, the rule, and the reason; "#" begins a remark.
 *
 * Threads: one.
 * Limits:  RECORDED_MAX seeds.
 */

#include <stdbool.h>
#include <stdint.h>

#define RECORDED_MAX 256u

/* Reads the file. False, after a word on stderr: it cannot be read, or a line is not of that form. */
bool recorded_read(const char *path);
/* The reason why this seed violates this rule; NULL: that is not recorded. */
const char *recorded_reason(uint64_t seed, const char *rule);
