/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * memory_limit - how much memory the process may use, and how much of it is for agents: for what they
 * send, and their connections. And how much is for pages of /metrics.
 *
 * Threads: any.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/view.h"

/* Where the cgroup sets no limit. */
#define MEMORY_LIMIT_DEFAULT ((size_t)1 << 30)
/* What an idle connection over TLS takes: 14.5 KiB, as src/io/README.md has measured. */
#define MEMORY_LIMIT_CONNECTION 14848u
/* With less, the parts below would be too small, or leave too little for all else. */
#define MEMORY_LIMIT_LEAST ((size_t)192 << 20)

/*
 * The least memory limit of the cgroups that hold the process, in bytes; SIZE_MAX: there is none.
 * own_cgroups is the text of /proc/self/cgroup, root where cgroups are mounted. Of version 1 the
 * controller "memory" is looked at, of version 2 the file memory.max. What cannot be read sets no
 * limit.
 */
size_t memory_limit_of_cgroups(struct view own_cgroups, const char *root);
/* `wanted` bytes, or for 0 the limit of this process, or without one MEMORY_LIMIT_DEFAULT. */
size_t memory_limit_choose(uint64_t wanted);

/* Fails with ERROR_REJECTED, and says the least limit, if this one is below MEMORY_LIMIT_LEAST. */
MUST_USE int memory_limit_check(size_t limit, struct error *err);

/*
 * Of a limit. The three parts, idle connections and the decoder of reports are 70 % of it at most, also
 * while reports replace others. With pages of metrics they are 90 %.
 */

/* What bodies of requests may use that are being read, at least 24 MiB. */
size_t memory_limit_bodies(size_t limit);
/* What reports may use, those that wait for the loop and those that are kept: a quarter, or what is left. */
size_t memory_limit_reports(size_t limit);
/* What one join may use, at most 48 MiB; only one runs at a time. */
size_t memory_limit_join(size_t limit);
/*
 * What all pages of /metrics may use: a fifth, at most 96 MiB.
 *
 * A page takes 1 MiB, and 5 KiB of each device with four tenants. Of these, each tenant takes 0.5 KiB
 * and the device the rest, with its share of the node. So a limit of 1 MiB for each 40 devices, and
 * 5 MiB more, has room for one. Where a client reads slowly two need room, so twice as much. Tried with
 * a limit of 256 MiB: one page of 10 000 devices and 40 000 tenants (tests/bench/exposition_bench.c).
 */
size_t memory_limit_pages(size_t limit);
/* How many connections agents may have of those wanted: one for each 200 KiB. Idle they take a fourteenth. */
uint32_t memory_limit_connections(size_t limit, uint32_t wanted);
