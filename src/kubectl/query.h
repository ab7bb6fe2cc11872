/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * query - questions to the API server, put by way of kubectl: so every kind of credential, context
 * and proxy works that works with the user's kubectl, and nothing here holds a secret.
 *
 * Threads: the main thread.
 */

#include "kubectl/kubectl_error.h"
#include "kubectl/object_stream.h"
#include "kubectl/uuid_prefix.h"
#include "kubectl/invocation.h"

struct query {
	const char *program; /* kubectl: a name or a path */
	const struct invocation *invocation;
	struct kubectl_error said;  /* of the last question */
	enum kubectl_error_cause cause;  /* why it failed; KUBECTL_ERROR_OTHER while it has not */
	const char *what;            /* what was asked for: "gpuattributions", "pods", ... */
	bool is_program_missing;
};

/* Both are borrowed. */
void query_init(struct query *query, const char *program, const struct invocation *invocation);
/* Accepts a zeroed object. For CLEANUP. */
void query_deinit(struct query *query);

/*
 * The functions below fail with ERROR_NOT_FOUND when there is no kubectl, with ERROR_DENIED when the
 * user may not ask, with ERROR_RETRY when kubectl failed otherwise, or as `take` does.
 */

/* All GPUAttributions, by the selectors of the invocation; node: of that node, NULL: of all. */
MUST_USE int query_devices(struct query *query, const char *node, object_stream_take_fn take,
			   void *context, struct error *err);
/* Adds the UUIDs of all GPUAttributions, which are their names. */
MUST_USE int query_uuids(struct query *query, struct uuid_prefix *ret, struct error *err);
/* The one of that name, if it is there. */
MUST_USE int query_device(struct query *query, const char *name, object_stream_take_fn take,
			  void *context, struct error *err);
/* The pods that the invocation names or selects, as far as they are there. */
MUST_USE int query_pods(struct query *query, const char *namespace, object_stream_take_fn take,
			void *context, struct error *err);
/* Is there a node of that name? */
MUST_USE int query_node(struct query *query, const char *name, bool *ret_is_there,
			struct error *err);
/*
 * Appends the namespace that kubectl would use without -n. It is a matter of the kubeconfig, or of
 * the pod that this runs in; the API server is not asked.
 */
MUST_USE int query_namespace(struct query *query, struct sbuf *ret, struct error *err);

/*
 * Appends, for people, what went wrong with the last question and what to do about it: lines, the
 * first being the error's text where kubectl has said nothing.
 */
void query_explain(const struct query *query, const struct error *err, struct sbuf *text);
