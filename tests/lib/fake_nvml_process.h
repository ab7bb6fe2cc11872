/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fake_nvml_process - agent/nvml_process.h without a process. What the child would answer is made by the
 * same code, in the turn of the loop after the request. It is decoded as the agent does it. One source
 * file of a test program includes lib/fake_nvml_process.inc, whose symbols then take the place of the
 * real ones at the link.
 *
 * Threads: the test's.
 */

#include "agent/nvml_process.h"

/* How long after they were raised XID errors are told at the latest, in the loop's time. */
#define FAKE_NVML_PROCESS_NOTICE_MS 1000u
/* How many processes are said to be left behind. */
#define FAKE_NVML_PROCESS_LEFT_BEHIND 2

/*
 * What comes of all requests from now on instead of an answer; an error of kind ERROR_NONE: answers. After
 * NVML_PROCESS_FAILED there is another process.
 */
void fake_nvml_process_fail(enum nvml_process_outcome outcome, const struct error *why);
/* From now on readings are doubtful, or not. */
void fake_nvml_process_doubt(bool readings_are_doubtful);
