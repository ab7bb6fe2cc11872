/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/deed.h"

#include "sim/apiserver.h"
#include "sim/clockwork.h"
#include "sim/forms.h"
#include "sim/prompt.h"
#include "sim/world.h"

/* What is refused waits for its back-off; what is never answered is first waited for. */
#define BACKOFF_MS 31000
#define THROTTLED_MS 62000
#define GIVEN_UP_MS 106000

static void change(void *owner, uint64_t number)
{
	(void)owner, (void)number;
	forms_change();
}

/* Nothing may come of it: there is no excuse for a change-over. */
void deed_change_over(const int *args)
{
	for (int i = 0; i < args[0]; i++)
		clockwork_at(deed_for_ms(i * args[1]), change, NULL, 0);
}

void deed_lose_streams(const int *args)
{
	(void)args;
	forms_lose_streams();
	prompt_disturbed(clockwork_now() + BACKOFF_MS);
}

void deed_spoil_node_watch(const int *args)
{
	static const int wears_off_ms[APISERVER_N_NODE_FAULTS] = {
		BACKOFF_MS, THROTTLED_MS, GIVEN_UP_MS, BACKOFF_MS, BACKOFF_MS, BACKOFF_MS};
	const int node = deed_node(args[0]), ms = args[2] + wears_off_ms[args[1]];

	if (node < 0)
		return;
	apiserver_spoil_node(node, (enum apiserver_node_fault)args[1], deed_for_ms(args[2]));
	prompt_disturbed(clockwork_now() + (uint64_t)ms);
	deed_excuse(CAUSE_API_LATE, node, ms);
}

void deed_throttle_lists(const int *args)
{
	apiserver_throttle_some(deed_for_ms(args[0]));
	prompt_disturbed(clockwork_now() + (uint64_t)args[0] + THROTTLED_MS);
	deed_excuse(CAUSE_API_LATE, -1, args[0] + THROTTLED_MS);
}

static void label(void *owner, uint64_t number)
{
	const int node = (int)(number >> 1);

	(void)owner;
	forms_label(node, number & 1);
	apiserver_put_node(&world.nodes[node]);
}

void deed_flap_label(const int *args)
{
	const int node = deed_node(args[0]);

	for (int i = 0; node >= 0 && i < 2 * args[1]; i++)
		clockwork_at(deed_for_ms(i * args[2]), label, NULL, (uint64_t)(2 * node + i % 2));
}
