/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever could not be read is said and makes the exit status COMMAND_FAILED. With a part missing it
 * is not certain whether what was asked for is there or not.
 */

#include "kubectl/command.h"

#include <stdio.h>
#include <string.h>

#include "kubectl/device_list.h"
#include "kubectl/device_view.h"
#include "kubectl/failing_view.h"
#include "kubectl/fleet_view.h"
#include "kubectl/footnotes.h"
#include "kubectl/idle_view.h"
#include "kubectl/node_summary.h"
#include "kubectl/node_view.h"
#include "kubectl/output.h"
#include "kubectl/pod_view.h"
#include "kubectl/query.h"
#include "kubectl/pod_list.h"
#include "kubectl/uuid_prefix.h"

#define MAX_LISTED 8 /* devices that a too short UUID fits */

struct command {
	const struct invocation *invocation;
	struct output *output;
	struct query query;
	struct device_list list;
	struct uuid_prefix uuids; /* of all devices, if the output shortens them */
};

/* The query failed: says why. */
static enum command_status failed(struct command *command, const struct error *err)
{
	query_explain(&command->query, err, &command->output->notes);
	return COMMAND_FAILED;
}

/* What was taken is complete: sorts it. */
static int settle(struct command *command, struct error *err)
{
	const struct device_list *list = &command->list;
	if (list->n_unreadable > 0)
		output_printf(command->output,
			    "%zu GPUAttributions cannot be read by this version and are missing "
			    "here; the first: %s",
			    list->n_unreadable, list->unreadable.text);
	return device_list_sort(&command->list, err);
}

/* The status, less certain where something was unreadable. */
static enum command_status conclude(const struct command *command, enum command_status status)
{
	return command->list.n_unreadable > 0 ? COMMAND_FAILED : status;
}

/* Begins the list; context is that of `want`. */
static void begin_list(struct command *command, device_list_want_fn want, const void *context)
{
	device_list_init(&command->list, want, context);
	command->list.known = &command->uuids;
}

/* By the user, who may have chosen nothing that there is. */
static bool is_narrowed(const struct invocation *invocation)
{
	return invocation->selector || invocation->field_selector;
}

/* A prefix must be unique among all devices, also if some of them only were asked for. */
static int take_all_uuids(struct command *command, struct error *err)
{
	if (!is_narrowed(command->invocation) || command->output->form != OUTPUT_TABLE)
		return 0;
	return query_uuids(&command->query, &command->uuids, err);
}

static void show_devices(struct command *command)
{
	const struct device_list *list = &command->list;
	struct output *output = command->output;
	if (output_is_document(output))
		fleet_view_json(output, list->devices, list->n_devices);
	else if (output->form == OUTPUT_NAME)
		fleet_view_names(output, list->devices, list->n_devices);
	else if (command->invocation->verb == INVOCATION_NODE && list->n_devices > 0)
		node_view(output, list->devices, list->n_devices);
	else if (list->n_devices > NODE_SUMMARY_ABOVE && output->form == OUTPUT_TABLE)
		node_summary(output, list->devices, list->n_devices);
	else if (list->n_devices > 0)
		fleet_view(output, list->devices, list->n_devices);
}

static enum command_status run_fleet(struct command *command)
{
	struct error err;
	begin_list(command, NULL, NULL);
	if (query_devices(&command->query, NULL, device_list_take, &command->list, &err) != 0 ||
	    take_all_uuids(command, &err) != 0 || settle(command, &err) != 0)
		return failed(command, &err);
	show_devices(command);
	if (command->list.n_devices == 0 && command->invocation->n_names == 0)
		output_printf(command->output, "No GPUs found");
	return conclude(command, COMMAND_FOUND);
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

/* A node without devices: is it a slip of the pen, or does its agent not report? */
static void explain_node(struct command *command, const char *node)
{
	struct error err;
	bool is_there;
	if (query_node(&command->query, node, &is_there, &err) != 0)
		output_printf(command->output,
			    "node/%s: no GPU of it is known, and nodes may not be read: whether "
			    "there is one is not known", node);
	else if (!is_there)
		output_printf(command->output, "node/%s: not found", node);
	else
		output_printf(command->output,
			    "node/%s: no GPU of it is known: it has none, or no agent has reported "
			    "any (kubectl get pods -A -o wide "
			    "-l app.kubernetes.io/name=gpu-attribution-agent)", node);
}

static enum command_status run_node(struct command *command)
{
	const struct invocation *invocation = command->invocation;
	bool needs_all = command->output->form == OUTPUT_TABLE; /* to shorten UUIDs */
	bool is_one = invocation->n_names == 1 && !needs_all;
	char narrow[320];
	enum command_status status = COMMAND_FOUND;
	struct error err;
	command->output->is_many = invocation->n_names != 1;
	if (is_one)
		snprintf(narrow, sizeof(narrow), "status.nodeName=%s", invocation->names[0]);
	begin_list(command, is_of_named_node, invocation);
	if (query_devices(&command->query, is_one ? narrow : NULL, device_list_take, &command->list, &err) != 0 ||
	    settle(command, &err) != 0)
		return failed(command, &err);
	show_devices(command);
	for (size_t i = 0; i < invocation->n_names; i++) {
		if (has_devices(&command->list, invocation->names[i]))
			continue;
		explain_node(command, invocation->names[i]);
		status = COMMAND_NOT_FOUND;
	}
	if (invocation->n_names == 0 && command->list.n_devices == 0)
		output_printf(command->output, "No GPUs found");
	return conclude(command, status);
}

/* Devices. */

static bool is_searched(const void *context, const struct attribution *object)
{
	return uuid_prefix_fits(*(const struct view *)context, object);
}

static void list_candidates(struct command *command, struct view searched)
{
	const struct device_list *list = &command->list;
	output_printf(command->output, "\"%.*s\" fits %zu GPUs: say more of the UUID",
		    VIEW_ARG(searched), list->n_devices);
	for (size_t i = 0; i < list->n_devices && i < MAX_LISTED; i++)
		output_printf(command->output, "  %.*s (%.*s)", VIEW_ARG(list->devices[i]->uuid),
			    VIEW_ARG(list->devices[i]->status.node_name));
}

static enum command_status show_device(struct command *command, struct view searched)
{
	const struct device_list *list = &command->list;
	struct output *output = command->output;
	if (list->n_devices > 1) {
		list_candidates(command, searched);
		return COMMAND_USAGE;
	}
	if (list->n_devices == 0) {
		output_printf(output, "No GPU has a UUID that begins with \"%.*s\"",
			    VIEW_ARG(searched));
		return COMMAND_NOT_FOUND;
	}
	if (output_is_document(output))
		device_view_json(output, list->devices[0]);
	else if (output->form == OUTPUT_NAME)
		fleet_view_names(output, list->devices, 1);
	else
		device_view(output, list->devices[0]);
	return COMMAND_FOUND;
}

static enum command_status run_device(struct command *command)
{
	struct view searched = view_from(command->invocation->names[0]);
	char name[UUID_PREFIX_NAME_SIZE];
	struct error err;
	int result;
	begin_list(command, is_searched, &searched);
	if (uuid_prefix_object_name(searched, name))
		result = query_device(&command->query, name, device_list_take, &command->list,
				      &err);
	else
		result = query_devices(&command->query, NULL, device_list_take, &command->list,
				       &err);
	if (result != 0 || settle(command, &err) != 0)
		return failed(command, &err);
	return conclude(command, show_device(command, searched));
}

/* What is to be looked after. */

/*
 * Gets the devices, of which `narrow` chooses all that matter. A table needs all of them, to shorten
 * UUIDs. Selectors of the user narrow them already.
 */
static int take_devices(struct command *command, const char *narrow, struct error *err)
{
	if (command->output->form == OUTPUT_TABLE || is_narrowed(command->invocation))
		narrow = NULL;
	begin_list(command, NULL, NULL);
	if (query_devices(&command->query, narrow, device_list_take, &command->list, err) != 0 ||
	    take_all_uuids(command, err) != 0 || settle(command, err) != 0)
		return -1;
	/* Nothing fails, or is there nothing? */
	if (narrow && command->list.n_devices == 0)
		return query_uuids(&command->query, &command->uuids, err);
	return 0;
}

static bool is_any_known(const struct command *command)
{
	return command->list.n_devices > 0 ||
	       (!is_narrowed(command->invocation) && command->uuids.n_names > 0);
}

/* Nothing was found: says so, and no more than is certain. */
static void say_nothing_found(struct command *command, const char *whose, const char *state,
			      bool is_certain)
{
	if (!is_any_known(command))
		output_printf(command->output, "No GPUs found");
	else
		output_printf(command->output, "No %s is %s%s", whose,
			      is_certain ? "" : "known to be ", state);
}

/* With --check what was found is a finding, and what is not known is no success. */
static enum command_status judge_check(const struct command *command, size_t n_found, bool is_certain)
{
	if (command->invocation->check && n_found > 0)
		return COMMAND_FINDING;
	return conclude(command, command->invocation->check && !is_certain ? COMMAND_FAILED
									   : COMMAND_FOUND);
}

static enum command_status run_failing(struct command *command)
{
	struct output *output = command->output;
	struct failing failing;
	struct error err;
	if (take_devices(command, "status.health.state!=Healthy", &err) != 0 ||
	    failing_find(command->list.devices, command->list.n_devices, &command->list.arena, &failing,
			 &err) != 0)
		return failed(command, &err);
	bool is_certain = failing.n_unknown == 0 && command->list.n_unreadable == 0;
	if (output_is_document(output))
		failing_view_json(output, &failing);
	else if (output->form == OUTPUT_NAME)
		failing_view_names(output, &failing);
	else
		failing_view(output, &failing);
	if (failing.n_rows == 0)
		say_nothing_found(command, "GPU", "failing", is_certain);
	footnotes_add_unknown(output, failing.unknown, failing.n_unknown, "The health");
	return judge_check(command, failing.n_rows, is_certain && is_any_known(command));
}

/*
 * On some devices activity is never known. So a check is about the others, if there are any: only
 * where nothing could be measured it tells nothing.
 */
static enum command_status run_idle(struct command *command)
{
	struct output *output = command->output;
	bool is_all = command->invocation->all;
	struct idle idle;
	struct error err;
	if (take_devices(command, is_all ? NULL : "status.tenantCount!=0", &err) != 0 ||
	    idle_find(command->list.devices, command->list.n_devices, is_all, &command->list.arena,
		      &idle, &err) != 0)
		return failed(command, &err);
	if (output_is_document(output))
		idle_view_json(output, &idle);
	else if (output->form == OUTPUT_NAME)
		idle_view_names(output, &idle);
	else
		idle_view(output, &idle);
	if (idle.n_rows == 0)
		say_nothing_found(command, is_all ? "GPU" : "GPU that is held", "idle",
				  idle.n_unknown == 0 && command->list.n_unreadable == 0);
	footnotes_add_unknown(output, idle.unknown, idle.n_unknown, "The activity");
	bool is_answered = idle.is_any_measured || idle.n_unknown == 0;
	return judge_check(command, idle.n_rows, is_answered && is_any_known(command));
}

/* Pods. */

static bool is_wanted(const void *context, const struct attribution *object)
{
	return assignment_wants(context, object);
}

/* Finds the pods that were asked for; that they may not be read is no failure for names. */
static int find_pods(struct command *command, const char *namespace, struct pod_list *pods,
		     bool *ret_is_blind, struct error *err)
{
	const struct invocation *invocation = command->invocation;
	*ret_is_blind = false;
	if (invocation->n_names == 0 && !invocation->selector)
		return 0;
	if (query_pods(&command->query, namespace, pod_list_take, pods, err) == 0)
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

static void show_pods(struct command *command, const struct assignment_set *set)
{
	struct output *output = command->output;
	output->is_many = command->invocation->n_names != 1;
	output->all_namespaces = command->invocation->all_namespaces;
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

static enum command_status judge_pods(struct command *command, const struct assignment_set *set,
				      const char *namespace)
{
	const char *of = command->invocation->selector ? " that match the selector" : "";
	if (set->n_assignments == 0 && !set->is_named) {
		if (command->invocation->all_namespaces)
			output_printf(command->output, "No pods%s hold GPUs", of);
		else
			output_printf(command->output, "No pods%s hold GPUs in %s namespace", of,
				    namespace);
		return command->invocation->selector ? COMMAND_NOT_FOUND : COMMAND_FOUND;
	}
	return is_any_missing(set) ? COMMAND_NOT_FOUND : COMMAND_FOUND;
}

static enum command_status run_pods_in(struct command *command, const char *namespace,
				       struct pod_list *pods)
{
	struct assignment_set set;
	struct error err;
	bool is_blind;
	if (find_pods(command, namespace, pods, &is_blind, &err) != 0 ||
	    fill_set(&set, command->invocation, namespace, pods, &err) != 0)
		return failed(command, &err);
	set.is_blind = is_blind;
	begin_list(command, is_wanted, &set);
	if (query_devices(&command->query, NULL, device_list_take, &command->list, &err) != 0 ||
	    settle(command, &err) != 0 ||
	    assignment_fill(&set, command->list.devices, command->list.n_devices,
			 &err) != 0)
		return failed(command, &err);
	show_pods(command, &set);
	return conclude(command, judge_pods(command, &set, namespace));
}

static enum command_status run_pod(struct command *command)
{
	CLEANUP(sbuf_deinit) struct sbuf namespace;
	CLEANUP(pod_list_deinit) struct pod_list pods;
	struct error err;
	sbuf_init(&namespace, LIMIT_KIB);
	pod_list_init(&pods);
	if (command->invocation->namespace)
		sbuf_append(&namespace, view_from(command->invocation->namespace));
	else if (!command->invocation->all_namespaces &&
		 query_namespace(&command->query, &namespace, &err) != 0)
		return failed(command, &err);
	const char *text = sbuf_text(&namespace);
	return run_pods_in(command, text ? text : "", &pods);
}

enum command_status command_run(const struct invocation *invocation, const char *kubectl,
				struct output *output)
{
	static enum command_status (*const verbs[])(struct command *) = {
		[INVOCATION_FLEET] = run_fleet,
		[INVOCATION_POD] = run_pod,
		[INVOCATION_NODE] = run_node,
		[INVOCATION_DEVICE] = run_device,
		[INVOCATION_FAILING] = run_failing,
		[INVOCATION_IDLE] = run_idle,
	};
	struct command command = {.invocation = invocation, .output = output};
	struct error err;
	query_init(&command.query, kubectl, invocation);
	uuid_prefix_init(&command.uuids);
	output->uuids = &command.uuids;
	enum command_status status = verbs[invocation->verb](&command);
	if (output_finish(output, &err) != 0) {
		sbuf_clear(&output->body);
		sbuf_clear(&output->notes);
		output_printf(output, "error: %s", err.text);
		status = COMMAND_FAILED;
	}
	device_list_deinit(&command.list);
	uuid_prefix_deinit(&command.uuids);
	output->uuids = NULL;
	query_deinit(&command.query);
	return status;
}
