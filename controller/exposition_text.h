/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * exposition_text - a long text of /metrics. It is written family by family all at once: a device
 * adds its lines to each, and families follow one another when all devices have. Then it never
 * changes, and whoever reads it holds a reference.
 *
 * Threads: its maker while it is written; any, for references, once it is sealed.
 * Limits:  all texts together: controller/exposition_budget.h.
 */

#include "base/error.h"
#include "base/view.h"

struct exposition_text;

/* Empty, with room for that many families, which is at least 1. One reference. ERROR_NO_MEMORY. */
MUST_USE int exposition_text_new(size_t n_families, struct exposition_text **ret_text,
				 struct error *err);
/* One more reference, for whom it is returned. */
struct exposition_text *exposition_text_ref(struct exposition_text *text);
/* Gives up a reference; the last one frees. Accepts NULL. For struct server_shared. */
void exposition_text_unref(void *owner);

/*
 * Adds a line, without its end, to the n-th family. is_sample: it counts as one. For want of memory
 * or room the whole text fails, which exposition_text_seal() says.
 */
void exposition_text_add(struct exposition_text *text, size_t n, struct view line, bool is_sample);
/* A line cannot be written: the whole text fails with that. */
void exposition_text_fail(struct exposition_text *text, enum error_kind failure);
/* How many samples the family has, or, for SIZE_MAX, all. */
size_t exposition_text_samples(const struct exposition_text *text, size_t family);
/* Leaves out all samples of the family but the first n. */
void exposition_text_cut(struct exposition_text *text, size_t family, size_t n);
/* It is whole; from now on it can be read only. Fails with ERROR_NO_MEMORY or ERROR_LIMIT. */
MUST_USE int exposition_text_seal(struct exposition_text *text, struct error *err);

/* The parts of a sealed text, in order; borrowed with it. */
const struct view *exposition_text_parts(const struct exposition_text *text, size_t *ret_n);
