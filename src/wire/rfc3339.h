/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * rfc3339 - times as Kubernetes writes them. https://www.rfc-editor.org/rfc/rfc3339
 *
 * Threads: any.
 */

#include "base/view.h"

#define RFC3339_SIZE 28 /* enough for any of the formats and a NUL */

/* Milliseconds since 1970 from "2026-01-02T03:04:05.678Z", with any offset, 0-9 fraction digits. */
bool rfc3339_parse(struct view text, int64_t *ret_ms);
/* "2026-01-02T03:04:05Z": metav1.Time. Years outside 0000-9999 are clamped. */
void rfc3339_seconds(int64_t ms, char ret[static RFC3339_SIZE]);
/* "2026-01-02T03:04:05.678Z". */
void rfc3339_millis(int64_t ms, char ret[static RFC3339_SIZE]);
