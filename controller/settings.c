/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/settings.h"

#include "base/limits.h"
#include "base/log.h"
#include "controller/memory_limit.h"
#include "kube/lease.h"

#ifndef GPU_ATTRIBUTION_VERSION
#define GPU_ATTRIBUTION_VERSION "0.1.0"
#endif

static const struct option_row rows[] = {
#define SETTING(field, name, type, text, low, high, help)                                         \
	{name, OPTION_##type, offsetof(struct settings, field), text, low, high, help},
#include "controller/settings.def"
#undef SETTING
};

const struct option_program settings_program = {
	.name = "gpu-attribution-controller",
	.purpose = "Publishes which pod is on which physical GPU, as GPUAttribution objects.",
	.version = GPU_ATTRIBUTION_VERSION,
	.rows = rows,
	.n_rows = ARRAY_SIZE(rows),
	.environment = "GPU_ATTRIBUTION_",
};

static const struct {
	struct view name;
	enum reflector_initial initial;
} initial_states[] = {
	{VIEW_INIT("list"), REFLECTOR_LIST},
	{VIEW_INIT("stream"), REFLECTOR_STREAM},
	{VIEW_INIT("pages"), REFLECTOR_PAGES},
};

static bool parse_initial(struct view text, enum reflector_initial *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(initial_states); i++)
		if (view_equal(text, initial_states[i].name)) {
			*ret = initial_states[i].initial;
			return true;
		}
	return false;
}

static const struct {
	struct view name;
	enum pod_selection_policy policy;
} pod_selections[] = {
	{VIEW_INIT("auto"), POD_SELECTION_AUTO},
	{VIEW_INIT("cluster"), POD_SELECTION_ALWAYS_CLUSTER},
	{VIEW_INIT("node"), POD_SELECTION_ALWAYS_NODE},
};

static bool parse_pod_selection(struct view text, enum pod_selection_policy *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(pod_selections); i++)
		if (view_equal(text, pod_selections[i].name)) {
			*ret = pod_selections[i].policy;
			return true;
		}
	return false;
}

static int check(struct settings *settings, struct error *err)
{
	enum log_level level;
	enum log_format format;

	if (!parse_initial(view_from(settings->initial), &settings->initial_state))
		return error_set(err, ERROR_REJECTED, 0,
				 "--initial-state: %s is none of list, stream, pages",
				 settings->initial);
	if (!parse_pod_selection(view_from(settings->pod_selection),
				 &settings->pod_selection_policy))
		return error_set(err, ERROR_REJECTED, 0,
				 "--pod-selection: %s is none of auto, cluster, node",
				 settings->pod_selection);
	if (!log_level_parse(view_from(settings->log_level), &level))
		return error_set(err, ERROR_REJECTED, 0,
				 "--log-level: %s is none of debug, info, warn, error",
				 settings->log_level);
	if (!log_format_parse(view_from(settings->log_format), &format))
		return error_set(err, ERROR_REJECTED, 0, "--log-format: %s is not logfmt or json",
				 settings->log_format);
	if ((settings->tls_cert[0] != '\0') != (settings->tls_key[0] != '\0'))
		return error_set(err, ERROR_REJECTED, 0,
				 "--tls-cert and --tls-key belong together");
	if (settings->memory_limit > 0 && (uint64_t)settings->memory_limit < MEMORY_LIMIT_LEAST)
		return error_set(err, ERROR_REJECTED, 0, "--memory-limit must be 0 or at least 192MiB");
	if (settings->stale_ms < 2 * settings->heartbeat_ms)
		return error_set(err, ERROR_REJECTED, 0,
				 "--report-stale-after must be at least twice --heartbeat");
	if (settings->retry_period_ms >= settings->renew_deadline_ms)
		return error_set(err, ERROR_REJECTED, 0,
				 "--leader-elect-retry-period must be less than --leader-elect-renew-deadline");
	if (settings->renew_deadline_ms >= settings->lease_duration_ms)
		return error_set(err, ERROR_REJECTED, 0,
				 "--leader-elect-renew-deadline must be less than --leader-elect-lease-duration");
	log_set_level(level);
	log_set_format(format);
	return 0;
}

int settings_parse(char *const *argv, char *const *environment, struct settings *ret_settings,
		   enum option_outcome *ret_outcome, struct error *err)
{
	if (option_parse(&settings_program, argv, environment, ret_settings, ret_outcome, err) < 0)
		return -1;
	return *ret_outcome == OPTION_RUN ? check(ret_settings, err) : 0;
}
