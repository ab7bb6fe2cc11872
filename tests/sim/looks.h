/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * looks - how old is what the controller knows of the pods of each node: when it began and ceased to
 * watch them, and listed them. Pods are told by a watch of the whole cluster, of their node, or both.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

#define LOOKS_CLUSTER (-1) /* the pods of all nodes */

/* Nobody has looked yet. */
void looks_reset(void);
/*
 * From now on the pods of that node, or of the cluster, are watched, or no more: then what is known is
 * of `since`.
 */
void looks_note(int node, bool is_watched, uint64_t since);
/* How old what was known of the node's pods was at that time; 0: they were watched. */
uint64_t looks_age(int node, uint64_t at);
