/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/descriptors.h"

#include <assert.h>
#include <sys/resource.h>

/* Of those left for connections. */
#define SMALL_SHARE 8u

#define OWN(n_writes)                                                                           \
	(DESCRIPTORS_NO_CONNECTIONS + DESCRIPTORS_WATCHES + DESCRIPTORS_SINGLE + (n_writes))

static_assert(DESCRIPTORS_LEAST / SMALL_SHARE >= 2, "no server is without connections");
static_assert(OWN(DESCRIPTORS_WRITES) <= DESCRIPTORS_OWN, "the table in the header");
static_assert(OWN(DESCRIPTORS_FEW_WRITES) <= DESCRIPTORS_OWN_REDUCED, "the table in the header");

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t descriptors_raise(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return DESCRIPTORS_OWN;
	const struct rlimit raised = {limit.rlim_max, limit.rlim_max};
	if (limit.rlim_cur != limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0)
		limit = raised;
	return limit.rlim_cur < UINT32_MAX ? (uint32_t)limit.rlim_cur : UINT32_MAX;
}

/* *ret_of_left: how many of them are of what is left. */
static uint32_t divide_writes(uint32_t wanted, uint32_t own, uint32_t left, uint32_t *ret_of_left)
{
	*ret_of_left = 0;
	if (own < DESCRIPTORS_OWN)
		return smaller(wanted, DESCRIPTORS_FEW_WRITES);
	if (wanted > DESCRIPTORS_WRITES)
		*ret_of_left = smaller(wanted - DESCRIPTORS_WRITES, left / SMALL_SHARE);
	return smaller(wanted, DESCRIPTORS_WRITES) + *ret_of_left;
}

int descriptors_divide(uint32_t limit, const struct descriptors_shares *wanted,
		       struct descriptors_shares *ret_shares, struct error *err)
{
	if (limit < DESCRIPTORS_OWN_REDUCED + DESCRIPTORS_LEAST)
		return error_set(err, ERROR_REJECTED, 0,
				 "at most %u files may be open: raise the limit (RLIMIT_NOFILE) to %u or "
				 "more",
				 limit, DESCRIPTORS_OWN_REDUCED + DESCRIPTORS_LEAST);
	const uint32_t own = smaller(limit - DESCRIPTORS_LEAST, DESCRIPTORS_OWN), left = limit - own;
	uint32_t more_writes;
	struct descriptors_shares shares = {
		.metrics = smaller(wanted->metrics, left / SMALL_SHARE),
		.probes = smaller(wanted->probes, left / SMALL_SHARE),
		.reviews = smaller(wanted->reviews, left / SMALL_SHARE),
		.readers = smaller(wanted->readers, left / SMALL_SHARE),
		.pods = own < DESCRIPTORS_OWN ? 0 : smaller(wanted->pods, left / SMALL_SHARE),
		.writes = divide_writes(wanted->writes, own, left, &more_writes),
	};
	shares.reports = smaller(wanted->reports, left - shares.metrics - shares.probes -
							  shares.reviews - shares.readers - shares.pods -
							  more_writes);
	*ret_shares = shares;
	return 0;
}

uint32_t descriptors_for_nodes(uint32_t n_nodes)
{
	return n_nodes ? (n_nodes + DESCRIPTORS_NODES_OF_ONE - 1) / DESCRIPTORS_NODES_OF_ONE + 1 : 0;
}

uint32_t descriptors_nodes_of(uint32_t n_connections)
{
	return n_connections ? (n_connections - 1) * DESCRIPTORS_NODES_OF_ONE : 0;
}
