/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * boot_id - which boot of the machine this is, as the kernel names it.
 *
 * Threads: any.
 * Limits:  LIMIT_TEXT_UUID bytes.
 */

#include "base/error.h"
#include "base/limits.h"
#include "base/view.h"

struct boot_id {
	size_t len;
	char text[LIMIT_TEXT_UUID];
};

/* Its text, borrowed from it. */
struct view boot_id_view(const struct boot_id *id);
/* Reads it from the kernel's file. Fails as file_read() does, with ERROR_REJECTED for an empty one. */
MUST_USE int boot_id_read(const char *path, struct boot_id *ret_id, struct error *err);
