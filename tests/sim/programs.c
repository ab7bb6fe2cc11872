/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/programs.h"

#include <string.h>

#include "agent/agent.h"
#include "base/log.h"
#include "controller/daemon.h"
#include "sim/apiserver.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/forms.h"
#include "sim/illness.h"
#include "sim/kubelet.h"
#include "sim/load.h"
#include "sim/net.h"
#include "sim/policies.h"
#include "sim/strain.h"
#include "sim/unwatched.h"
#include "sim/world.h"

static struct daemon *controller;
static struct settings controller_settings[2][2]; /* hurried?, by node? */
static bool is_parsed;
static uint64_t controller_since;
static struct agent *agents[WORLD_MAX_NODES];
static struct agent_settings agent_settings[WORLD_MAX_NODES];

int __wrap_pthread_create(void *thread, const void *attributes, void *(*run)(void *), void *owner);
int __wrap_pthread_create(void *thread, const void *attributes, void *(*run)(void *), void *owner)
{
	/* The front's loop is one of the clockwork's: its thread has nothing to do. */
	(void)thread, (void)attributes, (void)run, (void)owner;
	return 0;
}

int __wrap_pthread_join(uint64_t thread, void **ret);
int __wrap_pthread_join(uint64_t thread, void **ret)
{
	(void)thread, (void)ret;
	return 0;
}

/* What the process uses of the machine is not of interest, and takes time to find out. */
void __wrap_telemetry_collect(void *telemetry);
void __wrap_telemetry_collect(void *telemetry)
{
	(void)telemetry;
}

bool programs_log;

void __real_log_write(enum log_level level, const char *message, const struct log_field *fields);
void __wrap_log_write(enum log_level level, const char *message, const struct log_field *fields);
void __wrap_log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	if (programs_log)
		__real_log_write(level, message, fields);
}

/* Hold-offs of 5 minutes would last longer than a history's rest. */
static void parse_controller(const char *percent, const char *selection,
			     struct settings *ret_settings)
{
	char *const arguments[] = {"controller",
					  "--kubeconfig=/sim/kubeconfig",
					  "--tls-cert=/sim/tls.crt",
					  "--tls-key=/sim/tls.key",
					  "--namespace=gpu-attribution",
					  "--metrics-address=",
					  "--leader-elect=false", /* there is one */
					  "--report-stale-after=60s",
					  "--heartbeat=20s",
					  "--pending-timeout=20s",
					  "--settling-timeout=60s",
					  "--node-gone-after=120s",
					  "--event-idle-after=2m",
					  "--log-level=debug",
					  (char *)(uintptr_t)percent,
					  (char *)(uintptr_t)selection,
					  NULL};
	static char *const environment[] = {NULL};
	enum option_outcome outcome;
	struct error err;

	check(settings_parse(arguments, environment, ret_settings, &outcome, &err) == 0);
	check(ret_settings->stale_ms == PROGRAMS_STALE_MS);
	check(ret_settings->settling_ms == PROGRAMS_SETTLING_MS);
	check(ret_settings->node_gone_ms == PROGRAMS_GONE_MS);
}

static void parse_agent(int node)
{
	static char names[WORLD_MAX_NODES][32];
	char *const arguments[] = {"agent",
				   names[node],
				   "--controller=https://controller.sim:8443",
				   "--controller-ca-file=",
				   "--idle-after=60s", /* known before all is at rest, */
				   "--slow-after=30s", /* as are these */
				   "--slow-clear-after=60s",
				   "--narrow-after=45s",
				   "--boot-id-file=/sim/boot_id",
				   "--log-level=debug",
				   NULL};
	static char *const environment[] = {NULL};
	enum option_outcome outcome;
	struct error err;

	strcpy(names[node], "--node-name=node-1");
	names[node][sizeof("--node-name=node-1") - 2] = (char)('1' + node);
	check(agent_settings_parse(arguments, environment, &agent_settings[node], &outcome,
				   &err) == 0);
}

void programs_reset(void)
{
	if (is_parsed)
		return;
	for (int i = 0; i < 4; i++)
		parse_controller(i / 2 ? PROGRAMS_HURRY : "--hold-off-percent=100",
				 i % 2 ? "--pod-selection=node" : "--pod-selection=cluster",
				 &controller_settings[i / 2][i % 2]);
	for (int node = 0; node < WORLD_MAX_NODES; node++)
		parse_agent(node);
	is_parsed = true;
}

void programs_start_controller(void)
{
	const struct settings *settings =
		&controller_settings[policies_are_there(world.seed)][forms_are_there(world.seed)];
	struct error err;

	if (controller)
		return;
	clockwork_actor = CLOCKWORK_CONTROLLER;
	apiserver_forget_told();
	controller_since = clockwork_now();
	check(daemon_new(settings, &controller, &err) == 0);
	check(daemon_run(controller, &err) == 0);
}

void programs_stop_controller(void)
{
	clockwork_actor = CLOCKWORK_CONTROLLER;
	daemon_free(controller);
	net_kill(CLOCKWORK_CONTROLLER);
	controller = NULL;
}

bool programs_controller_runs(void)
{
	return controller != NULL;
}

uint64_t programs_controller_since(void)
{
	return controller_since;
}

void programs_start_agent(int node)
{
	struct error err;

	if (agents[node])
		return;
	clockwork_actor = node;
	world.nodes[node].agent++;
	unwatched_left(node);
	illness_started(node);
	kubelet_met_agent(node);
	load_started(node);
	strain_started(node);
	check(agent_new(&agent_settings[node], &agents[node], &err) == 0);
	check(agent_run(agents[node], &err) == 0);
}

bool programs_agent_runs(int node)
{
	return agents[node] != NULL;
}

void programs_stop_agent(int node)
{
	const bool is_running = programs_agent_runs(node);

	world.nodes[node].agent++;
	clockwork_actor = node;
	agent_free(agents[node]);
	agents[node] = NULL;
	if (is_running)
		unwatched_left(node);
}

void programs_stop_all(void)
{
	for (int node = 0; node < WORLD_MAX_NODES; node++)
		programs_stop_agent(node);
	programs_stop_controller();
}
