/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/deed.h"

#include "sim/apiserver.h"
#include "sim/attributions.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/host.h"
#include "sim/matrix.h"
#include "sim/policies.h"
#include "sim/programs.h"
#include "sim/prompt.h"
#include "sim/wire.h"
#include "sim/world.h"

static uint64_t busy_until;

void deed_reset(void)
{
	busy_until = 0;
}

uint64_t deed_busy_until(void)
{
	return busy_until;
}

uint64_t deed_for_ms(int ms)
{
	uint64_t until = clockwork_now() + (uint64_t)ms;

	if (until > busy_until)
		busy_until = until;
	return until;
}

int deed_node(int arg)
{
	return world.n_nodes > 0 ? arg % world.n_nodes : -1;
}

struct world_gpu *deed_gpu(int arg)
{
	return world.n_gpus > 0 ? &world.gpus[arg % world.n_gpus] : NULL;
}

void deed_excuse(enum cause cause, int node, int ms)
{
	cause_add(cause, node, -1, clockwork_now(), deed_for_ms(ms));
}

void deed_start_agent(void *owner, uint64_t node)
{
	(void)owner;
	if (world.nodes[node].powered && !world.nodes[node].agentless)
		programs_start_agent((int)node);
}

/* Programs */

void deed_restart_agent(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0)
		return;
	if (!world.nodes[node].agentless)
		matrix_node(MATRIX_AGENT, node);
	programs_stop_agent(node);
	clockwork_at(deed_for_ms(args[1]), deed_start_agent, NULL, (uint64_t)node);
	deed_excuse(CAUSE_REPORTS_MISSING, node, args[1]);
}

static void deliver_late(void *owner, uint64_t node)
{
	(void)owner;
	(void)wire_forge((int)node, WIRE_REPLAY);
}

/* Some controllers get a report of before their start, maybe before the node's own next one. */
static void start_controller(void *owner, uint64_t number)
{
	(void)owner;
	programs_start_controller();
	for (int node = 0; number % 3 == 0 && node < world.n_nodes; node++)
		clockwork_in(150 + number % 200, deliver_late, NULL, (uint64_t)node);
}

void deed_restart_controller(const int *args)
{
	matrix_fleet(MATRIX_CONTROLLER);
	programs_stop_controller();
	clockwork_at(deed_for_ms(args[0]), start_controller, NULL, (uint64_t)args[0]);
	deed_excuse(CAUSE_CONTROLLER_NEW, -1, args[0] + 5000);
	deed_excuse(CAUSE_REPORTS_MISSING, -1, args[0] + 5000);
}

/* The API server */

/* A watch that is refused otherwise than by the server's absence waits for its own back-off. */
#define BACKOFF_MS 31000u
/* And once more, if its position has expired by then. */
#define THROTTLED_MS 62000u
/* What is asked while it hangs is never answered, and waited for: 75 s, and then the back-off. */
#define GIVEN_UP_MS 106000u

static void kill_api(void *owner, uint64_t down_ms)
{
	(void)owner;
	if (apiserver_is_parted())
		return; /* nobody would be told */
	apiserver_spoil(APISERVER_REFUSES, clockwork_now() + down_ms);
	apiserver_start_slowly(clockwork_now() + down_ms + world_between(0, 3000));
	apiserver_kill(world_chance(70));
}

/* Again and again; it is not ready at once when it is back. */
void deed_kill_api(const int *args)
{
	uint64_t at = clockwork_now();

	for (int i = 0; i < args[0]; i++) {
		clockwork_at(at, kill_api, NULL, (uint64_t)args[1]);
		at += (uint64_t)args[1] + (uint64_t)args[2];
	}
	at += 3000 + 5000; /* a server that flapped has to settle first */
	prompt_disturbed(at);
	deed_excuse(CAUSE_API_LATE, -1, (int)(at - clockwork_now()) + 10000);
	deed_excuse(CAUSE_REPORTS_MISSING, -1, (int)(at - clockwork_now()) + 10000);
}

/* The network between the controller and the API server; the server's part of it has lost patience. */
void deed_part_network(const int *args)
{
	uint64_t late = (uint64_t)args[0] * (uint64_t)args[1] / 100;

	if (!apiserver_is_up() || apiserver_is_parted())
		return;
	apiserver_part(deed_for_ms(args[0]), late);
	prompt_disturbed(clockwork_now() + (uint64_t)args[0] + late + 10000);
	deed_excuse(CAUSE_API_LATE, -1, args[0] + (int)late + 20000);
	deed_excuse(CAUSE_REPORTS_MISSING, -1, args[0] + 20000);
}

void deed_spoil_api(const int *args)
{
	bool is_away = args[0] == APISERVER_REFUSES || args[0] == APISERVER_BREAKS;

	apiserver_spoil((enum apiserver_fault)args[0], deed_for_ms(args[1]));
	prompt_disturbed(clockwork_now() + (uint64_t)args[1] +
			 (is_away ? 0 : args[0] == APISERVER_HANGS ? GIVEN_UP_MS : THROTTLED_MS));
	deed_excuse(CAUSE_API_LATE, -1,
		    args[1] + (int)(args[0] == APISERVER_HANGS ? GIVEN_UP_MS : THROTTLED_MS));
	deed_excuse(CAUSE_REPORTS_MISSING, -1, args[1] + 10000);
}

void deed_hold_watch(const int *args)
{
	apiserver_hold((enum apiserver_kind)args[0], deed_for_ms(args[1]));
	deed_excuse(CAUSE_API_LATE, -1, args[1]);
}

void deed_cut_watch(const int *args)
{
	apiserver_cut((enum apiserver_kind)args[0]);
	prompt_disturbed(clockwork_now());
	deed_excuse(CAUSE_API_LATE, -1, 31000);
}

static void deny_pods(int ms)
{
	uint64_t until = deed_for_ms(ms);

	apiserver_deny(APISERVER_PODS, 403, until);
	prompt_denied(until);
	prompt_disturbed(until + BACKOFF_MS);
	deed_excuse(CAUSE_API_LATE, -1, ms + 31000);
}

/*
 * Without a right, or without the API group. What is denied is asked for again after 30 s, and what is not
 * there when a controller starts after 5 minutes and more.
 */
void deed_deny(const int *args)
{
	uint64_t until = deed_for_ms(args[1]);
	const int wait_ms = args[0] == 0 ? 330000 : 30000;

	if (args[0] == 3) {
		/* For a moment, or for longer than it takes to say so. */
		deny_pods(args[1] < 5000 ? args[1] : 70000 + args[1]);
		return;
	}
	if (args[0] != 1)
		apiserver_deny(APISERVER_CLAIMS, args[0] == 0 ? 404 : 403, until);
	prompt_disturbed(until + BACKOFF_MS + (uint64_t)wait_ms);
	deed_excuse(CAUSE_API_LATE, -1, 12000); /* so long writes wait for these watches */
	if (args[0] != 2)
		apiserver_deny(APISERVER_SLICES, args[0] == 0 ? 404 : 403, until);
	deed_excuse(CAUSE_SLICES, -1, args[1] + 31000 + wait_ms);
}

static void expire(void *owner, uint64_t number)
{
	(void)owner;
	apiserver_expire(number != 0);
}

/* What happens in the silence before is in no watch any more. */
void deed_expire_watches(const int *args)
{
	for (int kind = 0; kind < APISERVER_N_KINDS; kind++)
		apiserver_hold((enum apiserver_kind)kind, deed_for_ms(args[1]));
	clockwork_in((uint64_t)args[1] - 1, expire, NULL, (uint64_t)args[0]);
	prompt_disturbed(clockwork_now() + (uint64_t)args[1]);
	deed_excuse(CAUSE_API_LATE, -1, args[1] + 31000);
}

void deed_edit_object(const int *args)
{
	if (apiserver_is_up())
		(void)attributions_edit((unsigned)args[0]);
}

void deed_delete_object(const int *args)
{
	if (apiserver_is_up() && attributions_delete((unsigned)args[0]))
		deed_excuse(CAUSE_NEW_DEVICE, -1, 10000);
}

void deed_put_policy(const int *args)
{
	apiserver_put_policy(args[0] != 0);
	policies_set(POLICIES_FIRST, args[0]);
}

/* Reports, clocks */

void deed_spoil_wire(const int *args)
{
	int node = deed_node(args[0]);

	if (node < 0)
		return;
	wire_spoil(node, (enum wire_fault)args[1], deed_for_ms(args[2]));
	deed_excuse(CAUSE_REPORTS_MISSING, node, args[2] + 31000);
}

void deed_forge_report(const int *args)
{
	int node = deed_node(args[0]);

	if (node >= 0)
		(void)wire_forge(node, (enum wire_forgery)args[1]);
	deed_for_ms(31000);
}

void deed_step_clock(const int *args)
{
	int actor = args[0] % (world.n_nodes + 1) - 1;

	clockwork_step_wall(actor, args[1]);
	if (actor == CLOCKWORK_CONTROLLER)
		cause_add(CAUSE_CLOCK_SET, -1, -1, clockwork_now(), clockwork_now());
	else
		cause_add(CAUSE_NODE_CLOCK, actor, -1, clockwork_now(),
			  clockwork_now() + PROGRAMS_SETTLING_MS);
}

void deed_silence_inotify(const int *args)
{
	int node = deed_node(args[0]);

	if (node >= 0)
		host_silence(node, deed_for_ms(args[1]));
	deed_excuse(CAUSE_UNNOTICED, node, args[1] + 15000);
}
