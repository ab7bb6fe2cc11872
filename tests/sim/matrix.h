/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * matrix - counts which life cycles of pods have met which sharing modes and which witnesses, in
 * histories in which nothing was violated. It looks on only: it moves nothing, draws no number, and
 * without matrix_begin() does nothing.
 *
 * What is counted for a pod that holds a device, or held it until that moment:
 *
 *	mode		by what it has the device, in truth (sim/world.h)
 *	witness		who was listed with it in the statuses that stood when it happened, and in
 *			those that were written later
 *	life cycle	what happened to it or around it; some of that is told here by whoever makes
 *			it happen (matrix_pod() and the like, before it does), the rest is seen in
 *			what is published
 *
 * A pair of a life cycle and a mode counts only with a pod that was published, for only that was
 * judged; but for pods that were refused, which are to be published never.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdio.h>

#include "sim/world.h"

struct attribution_status;

enum matrix_life {
	MATRIX_INIT,
	MATRIX_SIDECAR,
	MATRIX_RESTARTED, /* a container, in place */
	MATRIX_GRACE,
	MATRIX_FORCED,
	MATRIX_LIVES_ON, /* its processes, after that */
	MATRIX_TERMINAL, /* it has ended, and its kubelet lists it still */
	MATRIX_REFUSED,
	MATRIX_STATIC,
	MATRIX_VALIDATION,
	MATRIX_REUSED, /* another pod of its name had devices */
	MATRIX_POD_FIRST,
	MATRIX_REPORT_FIRST,
	MATRIX_NODE_AGAIN,
	MATRIX_MOVED,
	MATRIX_TWO_NODES, /* tell of its device */
	MATRIX_DIVIDED,
	MATRIX_PLUGIN,
	MATRIX_KUBELET,
	MATRIX_WIPED,
	MATRIX_AGENT,
	MATRIX_CONTROLLER,
	MATRIX_REBOOT,
	MATRIX_N_LIVES,
};

/* Before and after a history; is_clean: nothing was violated, so it counts. */
void matrix_begin(void);
void matrix_end(bool is_clean);

/* This happens now to the pod; to all pods on the node, or on all, or on the device. */
void matrix_pod(enum matrix_life life, const struct world_pod *pod);
void matrix_node(enum matrix_life life, int node);
void matrix_fleet(enum matrix_life life);
void matrix_gpu(enum matrix_life life, const struct world_gpu *gpu);
/* The status of the device has taken effect. */
void matrix_wrote(const struct attribution_status *status, int gpu);

/* The three tables, and why some cells are none. False: one that can be is empty, or one that cannot
 * be is not; which ones is said, too. */
bool matrix_print(FILE *file);
