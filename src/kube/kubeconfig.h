/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * kubeconfig - where the API server is and how to prove who we are: from a kubeconfig file or from
 * the files that Kubernetes mounts into a pod.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 *
 * The only file that includes libyaml is kubeconfig.c. Reads no file itself: contents are given.
 *
 * Threads: owner.
 * Limits:  LIMIT_KUBECONFIG_BYTES.
 */

#include "base/arena.h"
#include "base/error.h"
#include "base/view.h"

/* All texts end in NUL behind the view and lie in `arena`; empty = not given. */
struct kubeconfig {
	struct arena arena;
	struct view server;            /* "https://10.0.0.1:6443", no trailing '/' */
	struct view tls_server_name;
	struct view ca_pem;            /* decoded data, wins over ca_file */
	struct view ca_file;
	bool insecure;
	struct view token;
	struct view token_file;        /* wins over token; read again when it changes */
	struct view client_cert_pem;   /* decoded data, wins over the file */
	struct view client_cert_file;
	struct view client_key_pem;
	struct view client_key_file;
	struct view namespace;         /* of the context, or of the pod */
	struct view context;           /* the name that was chosen, for messages */
};

/*
 * From the text of a kubeconfig in `folder` (relative paths are relative to it). context NULL:
 * current-context. Refused with ERROR_REJECTED and what to do: malformed YAML, missing context,
 * cluster or user, exec and auth-provider plugins, username/password, proxy-url, impersonation.
 */
MUST_USE int kubeconfig_parse(struct view text, const char *folder, const char *context,
			      struct kubeconfig *ret_config, struct error *err);
/*
 * Makes the configuration of a pod. Host and port are those of KUBERNETES_SERVICE_HOST and _PORT;
 * IPv6 gets brackets. The files, and the namespace in the file `namespace`, are below `folder`
 * (normally /var/run/secrets/kubernetes.io/serviceaccount).
 */
MUST_USE int kubeconfig_in_cluster(const char *host, const char *port, const char *folder,
				   struct view namespace, struct kubeconfig *ret_config,
				   struct error *err);
/* Accepts a zeroed object. For CLEANUP. */
void kubeconfig_deinit(struct kubeconfig *config);
