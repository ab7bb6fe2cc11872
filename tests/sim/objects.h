/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * objects - pods, nodes, claims and slices of the world as an API server writes them: protobuf
 * messages without envelope.
 *
 * Threads: any.
 */

#include "base/sbuf.h"
#include "sim/world.h"

#define OBJECTS_NAME 48u

/* Appends the object's message, with that resource version. */
void objects_pod(const struct world_pod *pod, uint64_t version, struct sbuf *out);
void objects_claim(const struct world_claim *claim, uint64_t version, struct sbuf *out);
void objects_slice(int node, int slice, uint64_t version, struct sbuf *out);
/* The object's; ret has room for OBJECTS_NAME bytes. */
void objects_slice_name(int node, int slice, char *ret);
void objects_node(const struct world_node *node, uint64_t version, struct sbuf *out);
