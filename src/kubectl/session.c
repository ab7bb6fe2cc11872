/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/session.h"

#include "base/clock.h"

#define MAX_LISTED 8 /* devices that a too short UUID fits */

enum command_status session_failed(struct session *session, const struct error *err)
{
	query_explain(&session->query, err, &session->output->notes);
	return COMMAND_FAILED;
}

struct lease_taken {
	struct leader_lease lease;
	bool is_there;
};

static int take_lease(void *context, struct view json, struct error *err)
{
	struct lease_taken *taken = context;
	if (leader_read(json, &taken->lease, err) != 0)
		return -1;
	taken->is_there = true;
	return 0;
}

/* Only in a table with everything: it is of use to who may give rights. */
static void explain_unknown(const struct session *session, const struct error *err)
{
	if (session->output->form == OUTPUT_WIDE && err->kind == ERROR_DENIED)
		output_printf(session->output,
			      "Whether a controller leads is not known: the ClusterRole "
			      "gpu-attribution-viewer has the right to get the Lease " LEADER_LEASE
			      " in namespace %s", session->invocation->controller_namespace);
}

/*
 * By this machine's clock somebody leads, in nearly every case. Only otherwise the server is asked what
 * time it is.
 */
static void look_at_leader(struct session *session)
{
	struct query *query = &session->query;
	struct leader *leader = &session->output->leader;
	struct lease_taken taken = {0};
	struct error err = {0};
	int64_t now = clock_wall_ms();
	if (session->output->form == OUTPUT_NAME)
		return;
	if (query_lease(query, session->invocation->controller_namespace, LEADER_LEASE, take_lease,
			&taken, &err) != 0 ||
	    !taken.is_there) {
		explain_unknown(session, &err);
		return;
	}
	/* The Lease is read again after that, for the question may have taken long. */
	if (leader_is_doubtful(&taken.lease, now) && query_time(query, &now, &err) == 0)
		(void)!query_lease(query, session->invocation->controller_namespace, LEADER_LEASE,
				   take_lease, &taken, &err);
	*leader = leader_judge(&taken.lease, now);
	leader_note(leader, session->invocation->controller_namespace, session->output);
}

int session_settle(struct session *session, struct error *err)
{
	const struct device_list *list = &session->list;
	look_at_leader(session);
	if (list->n_unreadable > 0)
		output_printf(session->output,
			    "%zu GPUAttributions cannot be read by this version and are missing "
			    "here; the first: %s",
			    list->n_unreadable, list->unreadable.text);
	return device_list_sort(&session->list, err);
}

enum command_status session_conclude(const struct session *session, enum command_status status)
{
	return session->list.n_unreadable > 0 ? COMMAND_FAILED : status;
}

void session_begin_list(struct session *session, device_list_want_fn want, const void *context)
{
	device_list_init(&session->list, want, context);
	session->list.known = &session->uuids;
}

/* By the user, who may have chosen nothing that there is. */
static bool is_narrowed(const struct invocation *invocation)
{
	return invocation->selector || invocation->field_selector;
}

int session_take_all_uuids(struct session *session, struct error *err)
{
	if (!is_narrowed(session->invocation) || session->output->form != OUTPUT_TABLE)
		return 0;
	return query_uuids(&session->query, &session->uuids, err);
}

/* A node without devices: is it a slip of the pen, or does its agent not report? */
void session_explain_node(struct session *session, const char *node)
{
	struct error err;
	bool is_there;
	if (query_node(&session->query, node, &is_there, &err) != 0)
		output_printf(session->output,
			    "node/%s: no GPU of it is known, and nodes may not be read: whether "
			    "there is one is not known", node);
	else if (!is_there)
		output_printf(session->output, "node/%s: not found", node);
	else
		output_printf(session->output,
			    "node/%s: no GPU of it is known: it has none, or no agent has reported "
			    "any (kubectl get pods -A -o wide "
			    "-l app.kubernetes.io/name=gpu-attribution-agent)", node);
}

void session_list_candidates(struct session *session, struct view searched)
{
	const struct device_list *list = &session->list;
	const struct attribution *listed[MAX_LISTED];
	size_t n = 0;
	for (size_t i = 0; i < list->n_devices; i++) {
		if (!uuid_prefix_fits(searched, list->devices[i]))
			continue;
		if (n < MAX_LISTED)
			listed[n] = list->devices[i];
		n++;
	}
	output_printf(session->output, "\"%.*s\" fits %zu GPUs: say more of the UUID",
		      VIEW_ARG(searched), n);
	for (size_t i = 0; i < n && i < MAX_LISTED; i++)
		output_printf(session->output, "  %.*s (%.*s)", VIEW_ARG(listed[i]->uuid),
			      VIEW_ARG(listed[i]->status.node_name));
}

/* A table needs all of them, to shorten UUIDs. Selectors of the user narrow them already. */
int session_take_devices(struct session *session, const char *narrow, device_list_want_fn want,
			 struct error *err)
{
	if (session->output->form == OUTPUT_TABLE || is_narrowed(session->invocation))
		narrow = NULL;
	session_begin_list(session, want, session->invocation);
	if (query_devices(&session->query, narrow, device_list_take, &session->list, err) != 0 ||
	    session_take_all_uuids(session, err) != 0 || session_settle(session, err) != 0)
		return -1;
	/* Nothing fails, or is there nothing? */
	if (narrow && session->list.n_devices == 0)
		return query_uuids(&session->query, &session->uuids, err);
	return 0;
}

bool session_is_any_known(const struct session *session)
{
	return session->list.n_devices > 0 ||
	       (!is_narrowed(session->invocation) && session->uuids.n_names > 0);
}

void session_say_nothing_found(struct session *session, const char *nothing, const char *doubtful)
{
	bool is_certain = session->list.n_unreadable == 0 && !leader_is_missing(&session->output->leader);
	output_printf(session->output, "%s",
		      !session_is_any_known(session) ? "No GPUs found"
		      : is_certain		     ? nothing
						     : doubtful);
}

enum command_status session_judge_check(const struct session *session, size_t n_found,
					bool is_certain)
{
	if (session->invocation->check && n_found > 0)
		return COMMAND_FINDING;
	bool is_doubtful = session->invocation->check && !is_certain;
	return session_conclude(session, is_doubtful ? COMMAND_FAILED : COMMAND_FOUND);
}
