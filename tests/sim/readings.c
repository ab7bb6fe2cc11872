/* SPDX-License-Identifier: Apache-2.0 */

/*
 * XID errors are left to sim/hang.c, which judges since when they are watched.
 */

#include "sim/readings.h"

#include "base/compiler.h"
#include "lib/rewording.h"
#include "sim/illness.h"
#include "sim/oracle.h"
#include "sim/strain.h"
#include "sim/world.h"

static bool are_rows_read(int gpu)
{
	return illness_can_read(gpu, ILLNESS_PART_ROWS) || illness_can_read(gpu, ILLNESS_PART_PAGES);
}

/* The part is named on that side of the message. */
static void expect(bool is_said, bool is_so, const char *part, struct view message, int gpu)
{
	if (is_said != is_so)
		oracle_accuse(ORACLE_AT_REST, "%s: %s %s be read, and Healthy says: %.*s",
			      world.gpus[gpu].uuid, part, is_so ? "can" : "cannot", VIEW_ARG(message));
}

static bool has(struct view text, const char *part)
{
	return rewording_find(text, view_from(part)) < text.len;
}

void readings_judge_rest(const struct attribution_status *status, int gpu)
{
	const struct condition *healthy = attribution_find_condition(status, VIEW("Healthy"));
	const struct {
		const char *name;
		bool is_read;
	} parts[] = {
		{"ECC", illness_can_read(gpu, ILLNESS_PART_ECC)},
		{"row remapping", are_rows_read(gpu)},
		{"recovery action", illness_can_read(gpu, ILLNESS_PART_ACTION)},
		{"slowdown", strain_tells(gpu, STRAIN_PART_CLOCKS)},
		{"NVLink", strain_tells(gpu, STRAIN_PART_NVLINK)},
		{"fabric", strain_tells(gpu, STRAIN_PART_FABRIC)},
		{"PCIe", strain_tells(gpu, STRAIN_PART_PCIE)},
	};

	if (!healthy)
		return; /* accused already */
	const struct view text = healthy->message;
	const size_t end = rewording_find(text, VIEW("; cannot be read here: "));
	const struct view read = {text.ptr, end}, unread = view_from_offset(text, end);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		expect(has(read, parts[i].name), parts[i].is_read, parts[i].name, text, gpu);
		expect(end == text.len || !has(unread, parts[i].name), parts[i].is_read, parts[i].name,
		       text, gpu);
	}
	expect(!has(text, "row remapping (MIG)"), !world.gpus[gpu].mig || are_rows_read(gpu),
	       "row remapping but for MIG", text, gpu);
}
