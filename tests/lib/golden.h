/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * golden - reads the files of tests/golden, and cuts them.
 *
 * Threads: a test's own.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/view.h"

/* An exact heap copy of bytes, so that a sanitizer sees a read behind their end; free() its ptr. */
static inline struct view golden_copy(struct view bytes)
{
	char *copy = malloc(bytes.len ? bytes.len : 1);
	if (!copy)
		abort();
	if (bytes.len)
		memcpy(copy, bytes.ptr, bytes.len);
	return (struct view){copy, bytes.len};
}

/* The contents of tests/golden/<name>, to be freed with golden_free(). Ends the test without it. */
static inline struct view golden_read(const char *name)
{
	static char buffer[1 << 20];
	char path[4096];
	snprintf(path, sizeof(path), "%s/golden/%s", TESTS_FOLDER, name);
	FILE *file = fopen(path, "rb");
	if (!file) {
		perror(path);
		abort();
	}
	size_t len = fread(buffer, 1, sizeof(buffer), file);
	fclose(file);
	return golden_copy((struct view){buffer, len});
}

/* Frees what golden_copy() or golden_read() returned. */
static inline void golden_free(struct view bytes)
{
	free((void *)(uintptr_t)bytes.ptr);
}
