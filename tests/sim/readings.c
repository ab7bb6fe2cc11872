/* SPDX-License-Identifier: Apache-2.0 */

/*
 * XID errors are left to sim/hang.c, which judges since when they are watched. In the simulator with other
 * texts only the case of letters differs.
 */

#include "sim/readings.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "sim/illness.h"
#include "sim/oracle.h"
#include "sim/strain.h"
#include "sim/world.h"

#define MESSAGE_SIZE 1024

static bool are_rows_read(int gpu)
{
	return illness_can_read(gpu, ILLNESS_PART_ROWS) || illness_can_read(gpu, ILLNESS_PART_PAGES);
}

/* The part is named on that side of the message. */
static void expect(bool is_said, bool is_so, const char *part, const char *message, int gpu)
{
	if (is_said != is_so)
		oracle_accuse(ORACLE_AT_REST, "%s: %s %s be read, and Healthy says: %s",
			      world.gpus[gpu].uuid, part, is_so ? "can" : "cannot", message);
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
	char text[MESSAGE_SIZE], read[MESSAGE_SIZE];
	const char *unread;

	if (!healthy)
		return; /* accused already */
	snprintf(text, sizeof(text), "%.*s", VIEW_ARG(healthy->message));
	unread = strcasestr(text, "; cannot be read here: ");
	snprintf(read, sizeof(read), "%.*s", unread ? (int)(unread - text) : (int)strlen(text), text);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		expect(strcasestr(read, parts[i].name) != NULL, parts[i].is_read, parts[i].name, text, gpu);
		expect(!unread || !strcasestr(unread, parts[i].name), parts[i].is_read, parts[i].name, text,
		       gpu);
	}
	expect(strcasestr(text, "row remapping (MIG)") == NULL,
	       !world.gpus[gpu].mig || are_rows_read(gpu), "row remapping but for MIG", text, gpu);
}
