/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * matrix - counts which life cycles of pods have met which sharing modes and which witnesses, in
 * histories in which nothing was violated. It only observes: it changes nothing and draws no random
 * number. Without matrix_begin() it does nothing.
 *
 * Counted for a pod that holds a device, or held it until that moment:
 *
 *	| what       | meaning                                                                    |
 *	|------------|----------------------------------------------------------------------------|
 *	| mode       | how the device is shared, in truth (sim/world.h)                           |
 *	| witness    | those listed with the pod in the statuses that stood when it happened, and |
 *	|            | in those that were written later                                           |
 *	| life cycle | what happened to the pod or around it                                      |
 *
 * Whoever makes a life cycle happen says so before (matrix_pod() and the like). The others are seen
 * in what is published. A pair of a life cycle and a mode counts only with a pod that was
 * published, because only that was judged. Pods that were refused are the exception: they must
 * never be published.
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
