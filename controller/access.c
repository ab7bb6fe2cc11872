/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/access.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "io/file.h"

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static int from_file(const char *path, const char *context, struct kubeconfig *ret_config,
		     struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf text = {0};
	char copy[PATH_MAX];

	sbuf_init_secret(&text, LIMIT_KUBECONFIG_BYTES);
	if (file_read(path, &text, err) < 0)
		return error_wrap(err, "kubeconfig");
	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return error_set(err, ERROR_REJECTED, 0, "kubeconfig: path is too long");
	if (kubeconfig_parse(sbuf_view(&text), dirname(copy), context[0] ? context : NULL,
			     ret_config, err) < 0)
		return error_wrap(err, "%s", path);
	return 0;
}

static int from_pod(struct kubeconfig *ret_config, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf namespace = {0};

	sbuf_init(&namespace, LIMIT_FILE_BYTES);
	if (file_read(SERVICE_ACCOUNT "/namespace", &namespace, err) < 0)
		return error_wrap(err, "the pod has no service account token");
	return kubeconfig_in_cluster(environment("KUBERNETES_SERVICE_HOST"),
				     environment("KUBERNETES_SERVICE_PORT"), SERVICE_ACCOUNT,
				     view_trim(sbuf_view(&namespace)), ret_config, err);
}

static int from_home(const char *context, struct kubeconfig *ret_config, struct error *err)
{
	char path[PATH_MAX];

	if (environment("HOME")[0] == '\0' ||
	    snprintf(path, sizeof(path), "%s/.kube/config", environment("HOME")) >=
		    (int)sizeof(path))
		return error_set(err, ERROR_NOT_FOUND, 0,
				 "no API server configured: give --kubeconfig or set KUBECONFIG");
	if (from_file(path, context, ret_config, err) == 0)
		return 0;
	if (err->kind == ERROR_NOT_FOUND)
		return error_set(err, ERROR_NOT_FOUND, 0,
				 "no API server configured: not in a pod, and there is no %s; give "
				 "--kubeconfig or set KUBECONFIG", path);
	return -1;
}

/* The first file of KUBECONFIG that is there; files that are missing are passed over. */
static int from_list(const char *list, const char *context, struct kubeconfig *ret_config,
		     struct error *err)
{
	struct view rest = view_from(list), path;

	while (rest.len > 0) {
		char text[PATH_MAX];

		view_cut(rest, VIEW(":"), &path, &rest);
		if (path.len == 0 || path.len >= sizeof(text))
			continue;
		snprintf(text, sizeof(text), "%.*s", VIEW_ARG(path));
		if (from_file(text, context, ret_config, err) == 0)
			return 0;
		if (err->kind != ERROR_NOT_FOUND)
			return -1;
	}
	return error_set(err, ERROR_NOT_FOUND, 0, "no file of KUBECONFIG=%s exists", list);
}

int access_load(const char *kubeconfig, const char *context, struct kubeconfig *ret_config,
		struct error *err)
{
	if (kubeconfig[0] != '\0')
		return from_file(kubeconfig, context, ret_config, err);
	if (environment("KUBECONFIG")[0] != '\0')
		return from_list(environment("KUBECONFIG"), context, ret_config, err);
	if (environment("KUBERNETES_SERVICE_HOST")[0] != '\0')
		return from_pod(ret_config, err);
	return from_home(context, ret_config, err);
}
