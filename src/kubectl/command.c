/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever could not be read is said and makes the exit status COMMAND_FAILED. With a part missing it
 * is not certain whether what was asked for is there or not.
 */

#include "kubectl/command.h"

#include <stdio.h>
#include <string.h>

#include "kubectl/device_view.h"
#include "kubectl/findings.h"
#include "kubectl/fleet_view.h"
#include "kubectl/node_summary.h"
#include "kubectl/node_view.h"
#include "kubectl/own_view.h"
#include "kubectl/pod_view.h"
#include "kubectl/pod_list.h"
#include "kubectl/session.h"
#include "kubectl/why_view.h"

static void show_devices(struct session *session)
{
	const struct device_list *list = &session->list;
	struct output *output = session->output;
	if (output_is_document(output))
		fleet_view_json(output, list->devices, list->n_devices);
	else if (output->form == OUTPUT_NAME)
		fleet_view_names(output, list->devices, list->n_devices);
	else if (session->invocation->verb == INVOCATION_NODE && list->n_devices > 0)
		node_view(output, list->devices, list->n_devices);
	else if (list->n_devices > NODE_SUMMARY_ABOVE && output->form == OUTPUT_TABLE)
		node_summary(output, list->devices, list->n_devices);
	else if (list->n_devices > 0)
		fleet_view(output, list->devices, list->n_devices);
}

static enum command_status run_fleet(struct session *session)
{
	struct error err;
	session_begin_list(session, NULL, NULL);
	if (query_devices(&session->query, NULL, device_list_take, &session->list, &err) != 0 ||
	    session_take_all_uuids(session, &err) != 0 || session_settle(session, &err) != 0)
		return session_failed(session, &err);
	show_devices(session);
	if (session->list.n_devices == 0 && session->invocation->n_names == 0)
		output_printf(session->output, "No GPUs found");
	return session_conclude(session, COMMAND_FOUND);
}

/* Nodes. */

static bool is_of_named_node(const void *context, const struct attribution *object)
{
	const struct invocation *invocation = context;
	for (size_t i = 0; i < invocation->n_names; i++) {
		if (view_equal(object->status.node_name, view_from(invocation->names[i])))
			return true;
	}
	return invocation->n_names == 0;
}

static bool has_devices(const struct device_list *list, const char *node)
{
	for (size_t i = 0; i < list->n_devices; i++) {
		if (view_equal(list->devices[i]->status.node_name, view_from(node)))
			return true;
	}
	return false;
}

static enum command_status run_node(struct session *session)
{
	const struct invocation *invocation = session->invocation;
	bool needs_all = session->output->form == OUTPUT_TABLE; /* to shorten UUIDs */
	bool is_one = invocation->n_names == 1 && !needs_all;
	char narrow[320];
	enum command_status status = COMMAND_FOUND;
	struct error err;
	session->output->is_many = invocation->n_names != 1;
	if (is_one)
		snprintf(narrow, sizeof(narrow), "status.nodeName=%s", invocation->names[0]);
	session_begin_list(session, is_of_named_node, invocation);
	if (query_devices(&session->query, is_one ? narrow : NULL, device_list_take, &session->list, &err) != 0 ||
	    session_settle(session, &err) != 0)
		return session_failed(session, &err);
	show_devices(session);
	for (size_t i = 0; i < invocation->n_names; i++) {
		if (has_devices(&session->list, invocation->names[i]))
			continue;
		session_explain_node(session, invocation->names[i]);
		status = COMMAND_NOT_FOUND;
	}
	if (invocation->n_names == 0 && session->list.n_devices == 0)
		output_printf(session->output, "No GPUs found");
	return session_conclude(session, status);
}

/* Devices. */

static bool is_searched(const void *context, const struct attribution *object)
{
	return uuid_prefix_fits(*(const struct view *)context, object);
}

/* On what statements rest. */
static int show_why(struct session *session, const struct why_view_subject *subjects,
		    size_t n_subjects, struct error *err)
{
	struct output *output = session->output;
	struct arena *arena = &session->list.arena;
	if (output_is_document(output))
		return why_view_json(output, subjects, n_subjects, arena, err);
	if (output->form != OUTPUT_NAME)
		return why_view(output, subjects, n_subjects, arena, err);
	for (size_t i = 0; i < n_subjects; i++)
		fleet_view_names(output, &subjects[i].device, 1);
	return 0;
}

static enum command_status show_why_device(struct session *session)
{
	const struct why_view_subject subject = {.device = session->list.devices[0]};
	struct error err;
	return show_why(session, &subject, 1, &err) == 0 ? COMMAND_FOUND
							 : session_failed(session, &err);
}

static enum command_status show_device(struct session *session, struct view searched)
{
	const struct device_list *list = &session->list;
	struct output *output = session->output;
	if (list->n_devices > 1) {
		session_list_candidates(session, searched);
		return COMMAND_USAGE;
	}
	if (list->n_devices == 0) {
		output_printf(output, "No GPU has a UUID that begins with \"%.*s\"",
			    VIEW_ARG(searched));
		return COMMAND_NOT_FOUND;
	}
	if (session->invocation->verb == INVOCATION_WHY)
		return show_why_device(session);
	if (output_is_document(output))
		device_view_json(output, list->devices[0]);
	else if (output->form == OUTPUT_NAME)
		fleet_view_names(output, list->devices, 1);
	else
		device_view(output, list->devices[0]);
	return COMMAND_FOUND;
}

static enum command_status run_device(struct session *session)
{
	struct view searched = view_from(session->invocation->names[0]);
	char name[UUID_PREFIX_NAME_SIZE];
	struct error err;
	int result;
	session_begin_list(session, is_searched, &searched);
	if (uuid_prefix_object_name(searched, name))
		result = query_device(&session->query, name, device_list_take, &session->list,
				      &err);
	else
		result = query_devices(&session->query, NULL, device_list_take, &session->list,
				       &err);
	if (result != 0 || session_settle(session, &err) != 0)
		return session_failed(session, &err);
	return session_conclude(session, show_device(session, searched));
}

/* Pods. */

static bool is_wanted(const void *context, const struct attribution *object)
{
	return assignment_wants(context, object);
}

/* Finds the pods that were asked for; that they may not be read is no failure for names. */
static int find_pods(struct session *session, const char *namespace, struct pod_list *pods,
		     bool *ret_is_blind, struct error *err)
{
	const struct invocation *invocation = session->invocation;
	*ret_is_blind = false;
	if (invocation->n_names == 0 && !invocation->selector)
		return 0;
	if (query_pods(&session->query, namespace, pod_list_take, pods, err) == 0)
		return 0;
	*ret_is_blind = err->kind == ERROR_DENIED && invocation->n_names > 0;
	return *ret_is_blind ? 0 : -1;
}

static int fill_set(struct assignment_set *set, const struct invocation *invocation,
			const char *namespace, struct pod_list *pods, struct error *err)
{
	if (assignment_init(set, &pods->arena, invocation->n_names + pods->n_pods, err) != 0)
		return -1;
	set->is_named = invocation->n_names > 0;
	set->is_everybody = !set->is_named && !invocation->selector;
	if (!invocation->all_namespaces)
		set->namespace = view_from(namespace);
	for (size_t i = 0; i < invocation->n_names; i++) {
		struct view name = view_from(invocation->names[i]);
		assignment_add(set, set->namespace, name, pod_list_find(pods, name));
	}
	for (const struct pod_list_entry *entry = pods->oldest; entry && !set->is_named;
	     entry = entry->next)
		assignment_add(set, entry->card.namespace, entry->card.name, &entry->card);
	assignment_seal(set);
	return 0;
}

/* Of each device that a container of the pod holds, each once. */
static int show_why_pods(struct session *session, const struct assignment_set *set,
			 struct error *err)
{
	struct why_view_subject *subjects =
		arena_alloc(&session->list.arena, set->n_assignments, sizeof(*subjects));
	size_t n = 0;
	if (!subjects)
		return error_no_memory(err);
	for (size_t i = 0; i < set->n_assignments; i++) {
		const struct assignment *assignment = &set->assignments[i];
		bool is_seen = false;
		for (size_t k = 0; k < n; k++)
			is_seen |= subjects[k].device == assignment->device;
		if (!is_seen)
			subjects[n++] = (struct why_view_subject){assignment->device,
								  assignment->tenant->pod_uid};
	}
	pod_view_notes(session->output, set);
	return show_why(session, subjects, n, err);
}

static void show_pods(struct session *session, const struct assignment_set *set)
{
	struct output *output = session->output;
	output->is_many = session->invocation->n_names != 1;
	output->all_namespaces = session->invocation->all_namespaces;
	if (output_is_document(output))
		pod_view_json(output, set);
	else if (output->form == OUTPUT_NAME)
		pod_view_names(output, set);
	else
		pod_view(output, set);
}

/* Is a pod that was asked for, and that should be on a GPU, on none? */
static bool is_any_missing(const struct assignment_set *set)
{
	for (size_t i = 0; i < set->n_findings; i++) {
		enum assignment_verdict verdict = set->findings[i].verdict;
		bool is_idle = verdict == ASSIGNMENT_NO_REQUEST || verdict == ASSIGNMENT_ENDED;
		if (verdict != ASSIGNMENT_ON_GPU && (set->is_named || !is_idle))
			return true;
	}
	return false;
}

static enum command_status judge_pods(struct session *session, const struct assignment_set *set,
				      const char *namespace)
{
	const char *of = session->invocation->selector ? " that match the selector" : "";
	if (set->n_assignments == 0 && !set->is_named) {
		if (session->invocation->all_namespaces)
			output_printf(session->output, "No pods%s hold GPUs", of);
		else
			output_printf(session->output, "No pods%s hold GPUs in %s namespace", of,
				    namespace);
		return session->invocation->selector ? COMMAND_NOT_FOUND : COMMAND_FOUND;
	}
	return is_any_missing(set) ? COMMAND_NOT_FOUND : COMMAND_FOUND;
}

/* GPUAttributions may not be read: what the pods' own namespace says must do. */
static enum command_status run_own_pods(struct session *session, const char *namespace,
					struct pod_list *pods)
{
	const struct invocation *invocation = session->invocation;
	const bool is_read = invocation->n_names > 0 || invocation->selector;
	struct assignment_set set;
	struct error err;
	if ((!is_read &&
	     query_pods(&session->query, namespace, pod_list_take, pods, &err) != 0) ||
	    fill_set(&set, invocation, namespace, pods, &err) != 0 ||
	    assignment_fill(&set, NULL, 0, &err) != 0)
		return session_failed(session, &err);
	return own_view(session, namespace, &set);
}

static bool may_be_own(const struct session *session, bool is_blind, const struct error *err)
{
	return err->kind == ERROR_DENIED && !is_blind &&
	       session->invocation->verb == INVOCATION_POD && session->output->form != OUTPUT_NAME;
}

static enum command_status run_pods_in(struct session *session, const char *namespace,
				       struct pod_list *pods)
{
	struct assignment_set set;
	struct error err;
	bool is_blind;
	if (find_pods(session, namespace, pods, &is_blind, &err) != 0 ||
	    fill_set(&set, session->invocation, namespace, pods, &err) != 0)
		return session_failed(session, &err);
	set.is_blind = is_blind;
	session_begin_list(session, is_wanted, &set);
	if (query_devices(&session->query, NULL, device_list_take, &session->list, &err) != 0)
		return may_be_own(session, is_blind, &err) ? run_own_pods(session, namespace, pods)
							   : session_failed(session, &err);
	if (session_settle(session, &err) != 0 ||
	    assignment_fill(&set, session->list.devices, session->list.n_devices,
			 &err) != 0)
		return session_failed(session, &err);
	if (session->invocation->verb != INVOCATION_WHY)
		show_pods(session, &set);
	else if (show_why_pods(session, &set, &err) != 0)
		return session_failed(session, &err);
	return session_conclude(session, judge_pods(session, &set, namespace));
}

static enum command_status run_pod(struct session *session)
{
	CLEANUP(sbuf_deinit) struct sbuf namespace;
	CLEANUP(pod_list_deinit) struct pod_list pods;
	struct error err;
	sbuf_init(&namespace, LIMIT_KIB);
	pod_list_init(&pods);
	if (session->invocation->namespace)
		sbuf_append(&namespace, view_from(session->invocation->namespace));
	else if (!session->invocation->all_namespaces &&
		 query_namespace(&session->query, &namespace, &err) != 0)
		return session_failed(session, &err);
	const char *text = sbuf_text(&namespace);
	return run_pods_in(session, text ? text : "", &pods);
}

static enum command_status run_why(struct session *session)
{
	return session->invocation->is_of_pod ? run_pod(session) : run_device(session);
}

enum command_status command_run(const struct invocation *invocation, const char *kubectl,
				struct output *output)
{
	static enum command_status (*const verbs[])(struct session *) = {
		[INVOCATION_FLEET] = run_fleet,
		[INVOCATION_POD] = run_pod,
		[INVOCATION_NODE] = run_node,
		[INVOCATION_DEVICE] = run_device,
		[INVOCATION_FAILING] = findings_failing,
		[INVOCATION_IDLE] = findings_idle,
		[INVOCATION_DRIFT] = findings_drift,
		[INVOCATION_WHY] = run_why,
	};
	struct session session = {.invocation = invocation, .output = output};
	struct error err;
	query_init(&session.query, kubectl, invocation);
	uuid_prefix_init(&session.uuids);
	output->uuids = &session.uuids;
	enum command_status status = verbs[invocation->verb](&session);
	if (output_finish(output, &err) != 0) {
		sbuf_clear(&output->body);
		sbuf_clear(&output->notes);
		output_printf(output, "error: %s", err.text);
		status = COMMAND_FAILED;
	}
	device_list_deinit(&session.list);
	uuid_prefix_deinit(&session.uuids);
	output->uuids = NULL;
	query_deinit(&session.query);
	return status;
}
