/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * intern - one copy of each long-lived text that many records share (namespaces, node names,
 * container names). Two interned texts are equal if and only if their pointers are.
 *
 * Threads: the loop thread (one owner per table).
 */

#include "base/table.h"
#include "base/view.h"

struct interned {
	struct table_node node;
	uint32_t references;
	uint32_t len;
	char text[]; /* len bytes and a NUL */
};

struct intern {
	struct table texts;
};

/* An empty table, which has allocated nothing; intern_deinit() at the end. */
void intern_init(struct intern *intern);
/* Every text must have been released. */
void intern_deinit(struct intern *intern);
/* A reference to the one copy of text; release with intern_unref(). NULL: out of memory. */
struct interned *intern_ref(struct intern *intern, struct view text);
/* Gives a reference back. Accepts NULL. */
void intern_unref(struct intern *intern, struct interned *text);
/* The text, or an empty view for NULL; borrowed while a reference is held. */
struct view interned_view(const struct interned *text);
