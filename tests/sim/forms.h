/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * forms - how the controller reads pods, in histories of their own (HISTORY_BY_NODE): those of the
 * cluster, or those of each node. Which form is wanted the history says, in place of
 * pod_selection_look(), and what the change-over does is judged here.
 *
 * This is rule GAP of sim/oracle.h. The watch of the cluster ends only when each node that shows a GPU
 * is watched. That of a node ends only while the cluster is watched, or when the node has long shown
 * none.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

/* Does the history with that seed have them? */
bool forms_are_there(uint64_t seed);
/* Begins a history. */
void forms_reset(uint64_t seed);
/* The other form is wanted from now on. */
void forms_change(void);
/* How often a form has given way to the other since the program began. */
unsigned forms_n_changes(void);
/* A request for one node's pods gets a stream of an HTTP/2 connection; or does no more, for good. */
bool forms_have_streams(void);
void forms_lose_streams(void);
/* Has the Node the label that it has a GPU? */
bool forms_is_labelled(int node);
/* It gets or loses it; the Node is put by the caller. */
void forms_label(int node, bool is_labelled);

/* From the API server: what the Node says was told, a watch of its pods has begun. */
void forms_told_node(int node, bool is_labelled);
void forms_began_watch(int node);
/* The controller has started, and was told nothing. */
void forms_forget_told(void);
/* The controller has known for a while that the node shows a GPU, or did so lately. */
bool forms_shows_gpu(int node);
