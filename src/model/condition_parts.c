/* SPDX-License-Identifier: Apache-2.0 */
#include "model/condition_parts.h"

static bool have_rows(const struct report_condition *c)
{
	return c->remapped_rows.present || c->retired_pages.present;
}

bool condition_parts_have_memory_errors(const struct report_condition *c)
{
	return c->ecc_volatile.uncorrected >= 0 || have_rows(c);
}

unsigned condition_parts_find(const struct report_condition *c)
{
	const unsigned links = (c->nvlinks.present ? REPORT_PART_NVLINK : 0u) |
			       (c->fabric != REPORT_FABRIC_UNREAD ? REPORT_PART_FABRIC : 0u) |
			       (c->pcie_lanes.present ? REPORT_PART_PCIE : 0u);

	return (c->ecc_volatile.uncorrected >= 0 ? REPORT_PART_ECC : 0u) |
	       (have_rows(c) ? REPORT_PART_ROWS : 0u) |
	       (c->recovery != REPORT_RECOVERY_UNREAD ? REPORT_PART_RECOVERY : 0u) |
	       (c->slowdown.present ? REPORT_PART_SLOWDOWN : 0u) |
	       (links != 0 ? REPORT_PART_LINKS | links : 0u);
}
