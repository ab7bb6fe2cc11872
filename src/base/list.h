/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * list - an intrusive doubly linked list: a ring of links of which one is the head.
 *
 * Threads: owner.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct list {
	struct list *next;
	struct list *previous;
};

/* Makes an empty list of a head, or a link that is in no list. */
static inline void list_init(struct list *link)
{
	link->next = link;
	link->previous = link;
}

/* Of a head: nothing is in it. Of a link: it is in no list. */
static inline bool list_is_empty(const struct list *head)
{
	return head->next == head;
}

/* Puts a link that is in no list at the end. */
static inline void list_append(struct list *head, struct list *link)
{
	link->previous = head->previous;
	link->next = head;
	head->previous->next = link;
	head->previous = link;
}

/* Takes a link out of the list that it is in, if any. */
static inline void list_remove(struct list *link)
{
	link->previous->next = link->next;
	link->next->previous = link->previous;
	list_init(link);
}

/* Moves all links of `from` to the end of `head`. */
static inline void list_append_all(struct list *head, struct list *from)
{
	if (list_is_empty(from))
		return;
	from->next->previous = head->previous;
	from->previous->next = head;
	head->previous->next = from->next;
	head->previous = from->previous;
	list_init(from);
}

/* The first link, or NULL. */
static inline struct list *list_first(const struct list *head)
{
	return list_is_empty(head) ? NULL : head->next;
}

/* for (struct list *l = head.next; l != &head; l = l->next) use(CONTAINER_OF(l, struct x, link)); */
