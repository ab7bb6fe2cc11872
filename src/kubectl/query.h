/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * query - questions to the API server, put by running kubectl. So every credential, context and proxy
 * works that works with the user's kubectl, and nothing here holds a secret.
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

/* No question has been put yet. The name of kubectl and the invocation are borrowed. */
void query_init(struct query *query, const char *program, const struct invocation *invocation);
/* Accepts a zeroed object. For CLEANUP. */
void query_deinit(struct query *query);

/*
 * The functions below run kubectl and wait for its end. They fail with ERROR_NOT_FOUND when there is
 * no kubectl, and with ERROR_DENIED when the user may not ask. They fail with ERROR_RETRY when kubectl
 * failed otherwise, or as `take` does. What was taken before a failure is incomplete.
 */

/*
 * Gives `take` the GPUAttributions that the selectors of the invocation choose. Unless `narrow` is
 * NULL, it is a field selector that spares some of the others; an API server that has none for these
 * fields gives all.
 */
MUST_USE int query_devices(struct query *query, const char *narrow, object_stream_take_fn take,
			   void *context, struct error *err);
/* Adds the UUIDs of all GPUAttributions, which are their names. Fails as uuid_prefix_add(), too. */
MUST_USE int query_uuids(struct query *query, struct uuid_prefix *ret, struct error *err);
/* Gives `take` the GPUAttribution of that name; nothing if there is none. */
MUST_USE int query_device(struct query *query, const char *name, object_stream_take_fn take,
			  void *context, struct error *err);
/* Gives `take` the pods that the invocation names or selects, as far as they are there. */
MUST_USE int query_pods(struct query *query, const char *namespace, object_stream_take_fn take,
			void *context, struct error *err);
/*
 * Gives `take` the ResourceClaims of the namespace, or of all if the invocation asks for all; none
 * where the API server has no such resource.
 */
MUST_USE int query_claims(struct query *query, const char *namespace, object_stream_take_fn take,
			  void *context, struct error *err);
/* Finds out whether there is a node of that name. On failure *ret_is_there is untouched. */
MUST_USE int query_node(struct query *query, const char *name, bool *ret_is_there,
			struct error *err);
/* Gives `take` the Lease of that name; nothing if there is none. query_explain() says nothing of it. */
MUST_USE int query_lease(struct query *query, const char *namespace, const char *name,
			 object_stream_take_fn take, void *context, struct error *err);
/*
 * What time it is by the clock of the API server, to the second: the time of a review of the user's own
 * name. Fails also with ERROR_REJECTED, for a server that does not say so.
 */
MUST_USE int query_time(struct query *query, int64_t *ret_ms, struct error *err);
/*
 * Appends the namespace that kubectl would use without -n. It is a matter of the kubeconfig, or of
 * the pod that this runs in; the API server is not asked.
 */
MUST_USE int query_namespace(struct query *query, struct sbuf *ret, struct error *err);

/*
 * Appends lines for people: what went wrong with the last question and what to do about it. If
 * kubectl has said nothing, the first line is the error's text.
 */
void query_explain(const struct query *query, const struct error *err, struct sbuf *text);
