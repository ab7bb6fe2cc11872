/* SPDX-License-Identifier: Apache-2.0 */

#include "io/fetch_lookups.h"

/* Three name servers, two tries of 5 s each, the name as it is and with a domain behind it: 60 s. */
#define LEFT_MS 120000u

void fetch_lookups_leave(struct fetch_lookups *lookups, uint64_t now)
{
	lookups->left_at[lookups->oldest] = now;
	lookups->oldest = (lookups->oldest + 1) % FETCH_LOOKUPS_LEFT;
}

int fetch_lookups_check(const struct fetch_lookups *lookups, uint64_t now, struct error *err)
{
	uint64_t oldest = lookups->left_at[lookups->oldest];
	if (oldest != 0 && now - oldest < LEFT_MS)
		return error_set(
			err, ERROR_RETRY, 0,
			"no name server answers: %u lookups were given up in the last %u s",
			FETCH_LOOKUPS_LEFT, LEFT_MS / 1000);
	return 0;
}
