/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/descriptors.h"

#include <assert.h>
#include <sys/resource.h>

/* Of those left for connections. */
#define SMALL_SHARE 8u

static_assert(DESCRIPTORS_LEAST / SMALL_SHARE >= 2, "no server is without connections");

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

int descriptors_divide(uint32_t limit, const struct descriptors_shares *wanted,
		       struct descriptors_shares *ret_shares, struct error *err)
{
	if (limit < DESCRIPTORS_OWN_REDUCED + DESCRIPTORS_LEAST)
		return error_set(err, ERROR_REJECTED, 0,
				 "at most %u files may be open: raise the limit (RLIMIT_NOFILE) to %u or "
				 "more",
				 limit, DESCRIPTORS_OWN_REDUCED + DESCRIPTORS_LEAST);
	const uint32_t own = smaller(limit - DESCRIPTORS_LEAST, DESCRIPTORS_OWN), left = limit - own;
	struct descriptors_shares shares = {
		.metrics = smaller(wanted->metrics, left / SMALL_SHARE),
		.probes = smaller(wanted->probes, left / SMALL_SHARE),
		.reviews = smaller(wanted->reviews, left / SMALL_SHARE),
		.writes = own < DESCRIPTORS_OWN ? smaller(wanted->writes, DESCRIPTORS_FEW_WRITES)
						: wanted->writes,
	};
	shares.reports = smaller(wanted->reports,
				 left - shares.metrics - shares.probes - shares.reviews);
	*ret_shares = shares;
	return 0;
}
