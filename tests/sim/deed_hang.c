/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/deed.h"

#include "sim/clockwork.h"
#include "sim/hang.h"

#define FOR_GOOD 7
#define BACK_MS 75000   /* the longest back-off of who calls the driver, and a reading */

static void excuse(int node, uint64_t until)
{
	cause_add(CAUSE_DRIVER_HANGS, node, -1, clockwork_now(),
		  until == WORLD_NEVER ? WORLD_NEVER : until + BACK_MS);
}

void deed_stall(const int *args)
{
	int node = deed_node(args[0]);
	uint64_t until = args[3] == FOR_GOOD ? WORLD_NEVER : deed_for_ms(args[1]);

	if (node < 0 || hang_is(node))
		return;
	hang_begin(node, until, args[2] != 0);
	excuse(node, until);
}

void deed_slow(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0)
		return;
	hang_slow(node, (uint32_t)args[1], deed_for_ms(args[2]));
	excuse(node, deed_for_ms(args[2] + 2 * args[1]));
}

void deed_crash(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0 || hang_is(node))
		return;
	hang_crash(node, args[1]);
	excuse(node, clockwork_now());
	deed_excuse(CAUSE_DRIVER_FAILED, node, BACK_MS * args[1]);
	deed_excuse(CAUSE_NVML_SILENT, node, BACK_MS * args[1]);
}
