/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/looks.h"

#include <string.h>

#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/world.h"

#define MAX_LOOKS 8192
#define N_SCOPES (WORLD_MAX_NODES + 1) /* the first is that of the cluster */

struct look {
	uint64_t at;
	uint64_t since; /* what is known is of then, if it is not watched */
	bool is_watched;
};

static struct look looks[N_SCOPES][MAX_LOOKS];
static size_t n_looks[N_SCOPES];

void looks_reset(void)
{
	memset(n_looks, 0, sizeof(n_looks));
}

void looks_note(int node, bool is_watched, uint64_t since)
{
	size_t *n = &n_looks[node + 1];

	check(*n < MAX_LOOKS);
	looks[node + 1][(*n)++] = (struct look){clockwork_now(), since, is_watched};
}

static uint64_t age_by(int node, uint64_t at)
{
	const struct look *of = looks[node + 1];
	size_t i = n_looks[node + 1];

	while (i > 0 && of[i - 1].at > at)
		i--;
	if (i == 0)
		return at;
	return of[i - 1].is_watched ? 0 : at - of[i - 1].since;
}

uint64_t looks_age(int node, uint64_t at)
{
	uint64_t whole = age_by(LOOKS_CLUSTER, at), own = age_by(node, at);

	return whole < own ? whole : own;
}
