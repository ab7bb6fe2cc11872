/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * dcgm_text - what dcgm-exporter answers, as far as this project reads it, and with what surrounds it:
 * other metrics, pod labels, the XID gauge. It is written from descriptions of the format, not seen
 * on hardware.
 *
 * Threads: a test's own.
 */

#include "base/sbuf.h"

/* One device or MIG instance. */
struct dcgm_text_row {
	const char *uuid;        /* of the physical device */
	const char *instance;    /* the label GPU_I_ID; NULL: none */
	const char *active;      /* value of DCGM_FI_PROF_GR_ENGINE_ACTIVE; NULL: no such row */
	const char *utilization; /* of DCGM_FI_DEV_GPU_UTIL */
	const char *pod;         /* label; NULL: no pod labels */
};

/* How dcgm-exporter was built and set up. */
struct dcgm_text_form {
	bool since_4_6;       /* the label Hostname is called hostname */
	const char *hostname; /* NULL: --no-hostname */
};

/* Appends the whole text. */
void dcgm_text_render(const struct dcgm_text_row *rows, size_t n, struct dcgm_text_form form,
		      struct sbuf *out);
