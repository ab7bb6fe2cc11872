/* SPDX-License-Identifier: Apache-2.0 */

#include "agent/agent_settings.h"

#include "agent/processes.h"
#include "base/limits.h"
#include "base/log.h"

static const struct option_row rows[] = {
#define SETTING(field, name, type, text, low, high, help) \
	{name, OPTION_##type, offsetof(struct agent_settings, field), text, low, high, help},
#include "agent/agent_settings.def"
#undef SETTING
};

const struct option_program agent_settings_program = {
	.name = "gpu-attribution-agent",
	.purpose = "Reports which pods hold which GPUs of this node, from the kubelet and the driver.",
	.version = GPU_ATTRIBUTION_VERSION,
	.rows = rows,
	.n_rows = ARRAY_SIZE(rows),
	.environment = "GPU_ATTRIBUTION_",
};

/* The name that manifests usually give to spec.nodeName. */
static const char *find_node_name(char *const *environment)
{
	const struct view prefix = VIEW("NODE_NAME=");
	for (; *environment; environment++) {
		if (view_starts_with(view_from(*environment), prefix))
			return *environment + prefix.len;
	}
	return "";
}

/* A bare server: what stands behind host and port would be dropped silently. */
static bool is_server_url(struct view url)
{
	struct view scheme, rest;
	return view_cut(url, VIEW("://"), &scheme, &rest) && view_equal(scheme, VIEW("https")) &&
	       rest.len > 0 && url.len <= LIMIT_URL / 2 && view_find_char(rest, '/') < 0 &&
	       view_find_char(rest, '?') < 0 && view_find_char(rest, '#') < 0 &&
	       view_find_char(rest, '@') < 0;
}

/* No token is sent there, but no other scheme either, and nothing that a log should not show. */
static bool is_metrics_url(struct view url)
{
	struct view scheme, rest;
	return view_cut(url, VIEW("://"), &scheme, &rest) && view_equal(scheme, VIEW("http")) &&
	       rest.len > 0 && rest.ptr[0] != '/' && url.len < LIMIT_REPORT_MESSAGE / 2 &&
	       view_find_char(rest, '#') < 0 && view_find_char(rest, '@') < 0;
}

static int check_log(const struct agent_settings *settings, struct error *err)
{
	enum log_level level;
	enum log_format format;
	if (!log_level_parse(view_from(settings->log_level), &level))
		return error_set(err, ERROR_REJECTED, 0,
				 "--log-level: %s is none of debug, info, warn, error",
				 settings->log_level);
	if (!log_format_parse(view_from(settings->log_format), &format))
		return error_set(err, ERROR_REJECTED, 0, "--log-format: %s is not logfmt or json",
				 settings->log_format);
	log_set_level(level);
	log_set_format(format);
	return 0;
}

/* An empty path passes as a path. */
static int check_paths(const struct agent_settings *settings, struct error *err)
{
	const struct {
		const char *flag, *path;
	} paths[] = {
		{"--pod-resources-socket", settings->pod_resources_socket},
		{"--checkpoint-file", settings->checkpoint_file},
		{"--token-file", settings->token_file},
		{"--boot-id-file", settings->boot_id_file},
	};
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!paths[i].path[0])
			return error_set(err, ERROR_REJECTED, 0, "%s: empty", paths[i].flag);
	}
	return 0;
}

/* The probe needs nothing else of the settings: it must work where the agent cannot start. */
static int check_probe(const struct agent_settings *settings, struct error *err)
{
	if (!settings->ready_file[0])
		return error_set(err, ERROR_REJECTED, 0, "--check-ready needs --ready-file");
	return 0;
}

static int check(const struct agent_settings *settings, struct error *err)
{
	if (settings->check_ready)
		return check_probe(settings, err);
	size_t name_len = view_from(settings->node_name).len;
	if (name_len == 0)
		return error_set(err, ERROR_REJECTED, 0,
				 "--node-name or NODE_NAME must name this Node (spec.nodeName)");
	if (name_len > LIMIT_TEXT_NAME)
		return error_set(err, ERROR_REJECTED, 0, "--node-name: longer than %u bytes",
				 LIMIT_TEXT_NAME);
	if (!is_server_url(view_from(settings->controller)))
		return error_set(err, ERROR_REJECTED, 0,
				 "--controller: %s is not of the form https://HOST[:PORT]",
				 settings->controller);
	if (settings->print && !settings->once)
		return error_set(err, ERROR_REJECTED, 0, "--print needs --once");
	enum processes_mode mode;
	if (!processes_parse_mode(view_from(settings->processes), &mode))
		return error_set(err, ERROR_REJECTED, 0, "--processes: %s is not auto, on or off",
				 settings->processes);
	if (settings->dcgm_url[0] && !is_metrics_url(view_from(settings->dcgm_url)))
		return error_set(err, ERROR_REJECTED, 0,
				 "--dcgm-url: %s is not of the form http://HOST[:PORT]/PATH",
				 settings->dcgm_url);
	return check_paths(settings, err) < 0 ? -1 : check_log(settings, err);
}

int agent_settings_parse(char *const *argv, char *const *environment,
			 struct agent_settings *ret_settings, enum option_outcome *ret_outcome,
			 struct error *err)
{
	if (option_parse(&agent_settings_program, argv, environment, ret_settings, ret_outcome,
			 err) < 0)
		return -1;
	if (*ret_outcome != OPTION_RUN)
		return 0;
	if (!ret_settings->node_name[0])
		ret_settings->node_name = find_node_name(environment);
	return check(ret_settings, err);
}
