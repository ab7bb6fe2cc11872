/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * verdict - why a pod that was asked for is on no GPU, as a word and as a sentence.
 *
 * Threads: any.
 */

#include "kubectl/assignment.h"

struct output;
struct sbuf;

/* The word for programs: "OnGPU", "NotFound", ... Static. */
struct view verdict_name(enum assignment_verdict verdict);
/*
 * Appends the sentence, less its subject: "is not scheduled: ...". It may hold text of the cluster
 * that is not printable. UUIDs are as output_uuid() writes them. Failure is the buffer's.
 */
void verdict_say(const struct output *output, const struct assignment_set *set,
		 const struct assignment_finding *finding, struct sbuf *text);
/*
 * Appends what is to be said of a pod that is on a GPU. Mostly that is nothing. It is a sentence if
 * only the pod's name could be compared, or if another pod has its name. Failure is the buffer's.
 */
void verdict_say_assigned(const struct output *output, const struct assignment_set *set,
			  const struct assignment_finding *finding, struct sbuf *text);
