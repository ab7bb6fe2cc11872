/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/programs.h"

#include <string.h>

#include "agent/agent.h"
#include "base/log.h"
#include "controller/daemon.h"
#include "sim/apiserver.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/illness.h"
#include "sim/net.h"
#include "sim/world.h"

static struct daemon *controller;
static struct settings controller_settings;
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

static void parse_controller(void)
{
	static char *const arguments[] = {"controller",
					  "--kubeconfig=/sim/kubeconfig",
					  "--tls-cert=/sim/tls.crt",
					  "--tls-key=/sim/tls.key",
					  "--namespace=gpu-attribution",
					  "--report-stale-after=60s",
					  "--heartbeat=20s",
					  "--pending-timeout=20s",
					  "--settling-timeout=60s",
					  "--node-gone-after=120s",
					  "--log-level=debug",
					  NULL};
	static char *const environment[] = {NULL};
	enum option_outcome outcome;
	struct error err;

	check(settings_parse(arguments, environment, &controller_settings, &outcome, &err) == 0);
	check(controller_settings.stale_ms == PROGRAMS_STALE_MS);
	check(controller_settings.settling_ms == PROGRAMS_SETTLING_MS);
	check(controller_settings.node_gone_ms == PROGRAMS_GONE_MS);
}

static void parse_agent(int node)
{
	static char names[WORLD_MAX_NODES][32];
	char *const arguments[] = {"agent",
				   names[node],
				   "--controller=https://controller.sim:8443",
				   "--controller-ca-file=",
				   "--event-interval=1s",
				   "--idle-after=60s", /* known before all is at rest */
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
	parse_controller();
	for (int node = 0; node < WORLD_MAX_NODES; node++)
		parse_agent(node);
	is_parsed = true;
}

void programs_start_controller(void)
{
	struct error err;

	if (controller)
		return;
	clockwork_actor = CLOCKWORK_CONTROLLER;
	apiserver_forget_told();
	controller_since = clockwork_now();
	check(daemon_new(&controller_settings, &controller, &err) == 0);
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
	illness_started(node);
	check(agent_new(&agent_settings[node], &agents[node], &err) == 0);
	check(agent_run(agents[node], &err) == 0);
}

void programs_stop_agent(int node)
{
	world.nodes[node].agent++;
	clockwork_actor = node;
	agent_free(agents[node]);
	agents[node] = NULL;
}

void programs_stop_all(void)
{
	for (int node = 0; node < WORLD_MAX_NODES; node++)
		programs_stop_agent(node);
	programs_stop_controller();
}
