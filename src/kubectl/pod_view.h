/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_view - on which GPUs pods are: one line per container and device, and a sentence on each pod
 * that is on none.
 *
 * Threads: any.
 */

#include "kubectl/seating.h"

struct page;

/*
 * Writes seats and notes. A container that asks for GPUs, and whose GPUs are not known, gets a line
 * of question marks: it is on some GPU all the same. Failure is the page's.
 */
void pod_view(struct page *page, const struct seating *seating);
/* Writes the names of the devices, each once, and notes. */
void pod_view_names(struct page *page, const struct seating *seating);
/* Writes pods and seats as JSON. */
void pod_view_json(struct page *page, const struct seating *seating);
