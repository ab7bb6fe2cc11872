/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/findings.h"

#include "kubectl/drifting_view.h"
#include "kubectl/failing_view.h"
#include "kubectl/footnotes.h"
#include "kubectl/idle_view.h"

enum command_status findings_failing(struct session *session)
{
	struct output *output = session->output;
	struct failing failing;
	struct error err;
	if (session_take_devices(session, "status.health.state!=Healthy", NULL, &err) != 0 ||
	    failing_find(session->list.devices, session->list.n_devices, &session->list.arena, &failing,
			 &err) != 0)
		return session_failed(session, &err);
	bool is_certain = failing.n_unknown == 0 && session->list.n_unreadable == 0;
	if (output_is_document(output))
		failing_view_json(output, &failing);
	else if (output->form == OUTPUT_NAME)
		failing_view_names(output, &failing);
	else
		failing_view(output, &failing);
	if (failing.n_rows == 0)
		session_say_nothing_found(session,
					  is_certain ? "No GPU is failing" : "No GPU is known to be failing",
					  "No GPU is known to be failing");
	footnotes_add_unknown(output, failing.unknown, failing.n_unknown, "The health");
	return session_judge_check(session, failing.n_rows, is_certain && session_is_any_known(session));
}

static void say_nothing_idle(struct session *session, bool is_all, bool is_certain)
{
	static const char *const doubtful[] = {"No GPU that is held is known to be idle",
					       "No GPU is known to be idle"};
	static const char *const nothing[] = {"No GPU that is held is idle", "No GPU is idle"};
	session_say_nothing_found(session, is_certain ? nothing[is_all] : doubtful[is_all],
				  doubtful[is_all]);
}

/*
 * On some devices activity is never known. So a check is about the others, if there are any: only
 * where nothing could be measured it tells nothing.
 */
enum command_status findings_idle(struct session *session)
{
	struct output *output = session->output;
	bool is_all = session->invocation->all;
	struct idle idle;
	struct error err;
	if (session_take_devices(session, is_all ? NULL : "status.tenantCount!=0", NULL, &err) != 0 ||
	    idle_find(session->list.devices, session->list.n_devices, is_all, &session->list.arena,
		      &idle, &err) != 0)
		return session_failed(session, &err);
	if (output_is_document(output))
		idle_view_json(output, &idle);
	else if (output->form == OUTPUT_NAME)
		idle_view_names(output, &idle);
	else
		idle_view(output, &idle);
	if (idle.n_rows == 0)
		say_nothing_idle(session, is_all, idle.n_unknown == 0);
	footnotes_add_unknown(output, idle.unknown, idle.n_unknown, "The activity");
	bool is_answered = idle.is_any_measured || idle.n_unknown == 0;
	return session_judge_check(session, idle.n_rows, is_answered && session_is_any_known(session));
}

/* Drift */

static bool is_of_node(const struct attribution *device, const char *name)
{
	return view_equal(device->status.node_name, view_from(name));
}

/* Each name is a node's, or the beginning of a device's UUID. */
static bool is_asked_for(const void *context, const struct attribution *device)
{
	const struct invocation *invocation = context;
	for (size_t i = 0; i < invocation->n_names; i++) {
		if (is_of_node(device, invocation->names[i]) ||
		    uuid_prefix_fits(view_from(invocation->names[i]), device))
			return true;
	}
	return invocation->n_names == 0;
}

/* False where a name means no device, or several; says so. */
static enum command_status check_name(struct session *session, const char *name)
{
	const struct device_list *list = &session->list;
	const struct view searched = view_from(name);
	size_t n_of_node = 0, n_fitting = 0;
	for (size_t i = 0; i < list->n_devices; i++) {
		n_of_node += is_of_node(list->devices[i], name);
		n_fitting += uuid_prefix_fits(searched, list->devices[i]);
	}
	if (n_of_node > 0 || n_fitting == 1)
		return COMMAND_FOUND;
	if (n_fitting > 1) {
		session_list_candidates(session, searched);
		return COMMAND_USAGE;
	}
	if (view_starts_with(searched, VIEW("GPU-")) || view_starts_with(searched, VIEW("MIG-")))
		output_printf(session->output, "No GPU has a UUID that begins with \"%s\"", name);
	else
		session_explain_node(session, name);
	return COMMAND_NOT_FOUND;
}

/* The worst of what is said of the names. */
static enum command_status check_names(struct session *session)
{
	enum command_status worst = COMMAND_FOUND;
	for (size_t i = 0; i < session->invocation->n_names; i++) {
		enum command_status status = check_name(session, session->invocation->names[i]);
		worst = status > worst ? status : worst;
	}
	return worst;
}

static void show_drifts(struct session *session, const struct drifting *drifting)
{
	struct output *output = session->output;
	const bool is_certain = drifting->n_unknown + drifting->n_settling == 0;
	if (output_is_document(output))
		drifting_view_json(output, drifting);
	else if (output->form == OUTPUT_NAME)
		drifting_view_names(output, drifting);
	else
		drifting_view(output, drifting);
	if (drifting->n_drifts == 0)
		session_say_nothing_found(session,
					  is_certain ? "No GPU has drifted"
						     : "No GPU is known to have drifted",
					  "No GPU is known to have drifted");
	footnotes_add_settling(output, drifting->settling, drifting->n_settling,
			       output->form != OUTPUT_WIDE && !output_is_document(output));
	footnotes_add_unknown(output, drifting->unknown, drifting->n_unknown,
			      "The drift");
}

/* Of a narrowed query nothing is left out that has, or may have, a drift. */
enum command_status findings_drift(struct session *session)
{
	const bool is_named = session->invocation->n_names > 0;
	struct drifting drifting;
	struct error err;
	if (session_take_devices(session,
				 is_named ? NULL
					  : "status.intent.state!=InSync,"
					    "status.intent.state!=Unmanaged",
				 is_asked_for, &err) != 0 ||
	    drifting_find(session->list.devices, session->list.n_devices, &session->list.arena,
			  &drifting, &err) != 0)
		return session_failed(session, &err);
	enum command_status status = check_names(session);
	if (status == COMMAND_USAGE || (is_named && session->list.n_devices == 0))
		return status;
	show_drifts(session, &drifting);
	if (status != COMMAND_FOUND)
		return session_conclude(session, status);
	return session_judge_check(session, drifting.n_drifts,
				   drifting.n_unknown + drifting.n_settling == 0 &&
					   session_is_any_known(session));
}
