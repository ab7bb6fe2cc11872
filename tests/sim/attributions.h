/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * attributions - the GPUAttributions that the API server has, how they are written, and its reviews
 * of tokens. What is written is given to the oracle when it takes effect.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>

#include "base/sbuf.h"

struct fetch;

/* Begins a history: a write that is dropped before it takes effect is freed. */
void attributions_reset(void);
/* Frees all objects. */
void attributions_clear(void);
/* Appends the items of a list, as JSON. */
void attributions_list(struct sbuf *message);
/* Answers a write, or the GET of one object; path is what stands behind the collection's. */
void attributions_serve(struct fetch *fetch, const char *path);
/* Answers a TokenReview. */
void attributions_review(struct fetch *fetch);
/* Somebody writes a label into, or deletes, the i-th object there is. False: there is none. */
bool attributions_edit(unsigned i);
bool attributions_delete(unsigned i);
