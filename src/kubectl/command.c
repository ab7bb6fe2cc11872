/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever could not be read is said and makes the exit status COMMAND_FAILED, even if what was
 * asked for seems to be there or not: with a part missing, neither is certain.
 */

#include "kubectl/command.h"

#include <string.h>

#include "kubectl/catalogue.h"
#include "kubectl/device_view.h"
#include "kubectl/fleet_view.h"
#include "kubectl/node_view.h"
#include "kubectl/page.h"
#include "kubectl/pod_view.h"
#include "kubectl/query.h"
#include "kubectl/roll.h"
#include "kubectl/search.h"

#define MAX_LISTED 8 /* devices that a too short UUID fits */

struct command {
	const struct invocation *invocation;
	struct page *page;
	struct query query;
	struct catalogue catalogue;
};

/* The query failed: says why. */
static enum command_status failed(struct command *command, const struct error *err)
{
	query_explain(&command->query, err, &command->page->notes);
	return COMMAND_FAILED;
}

/* What was taken is complete: sorts it. */
static int settle(struct command *command, struct error *err)
{
	const struct catalogue *catalogue = &command->catalogue;
	if (catalogue->n_unreadable > 0)
		page_printf(command->page,
			    "%zu GPUAttributions cannot be read by this version and are missing "
			    "here; the first: %s",
			    catalogue->n_unreadable, catalogue->unreadable.text);
	return catalogue_sort(&command->catalogue, err);
}

/* The status, less certain where something was unreadable. */
static enum command_status conclude(const struct command *command, enum command_status status)
{
	return command->catalogue.n_unreadable > 0 ? COMMAND_FAILED : status;
}

static void show_devices(struct command *command)
{
	const struct catalogue *catalogue = &command->catalogue;
	struct page *page = command->page;
	if (page->form == PAGE_JSON)
		fleet_view_json(page, catalogue->devices, catalogue->n_devices);
	else if (page->form == PAGE_NAME)
		fleet_view_names(page, catalogue->devices, catalogue->n_devices);
	else if (command->invocation->verb == INVOCATION_NODE && catalogue->n_devices > 0)
		node_view(page, catalogue->devices, catalogue->n_devices);
	else if (catalogue->n_devices > 0)
		fleet_view(page, catalogue->devices, catalogue->n_devices);
}

static enum command_status run_fleet(struct command *command)
{
	struct error err;
	catalogue_init(&command->catalogue, NULL, NULL);
	if (query_devices(&command->query, NULL, catalogue_take, &command->catalogue, &err) != 0 ||
	    settle(command, &err) != 0)
		return failed(command, &err);
	show_devices(command);
	if (command->catalogue.n_devices == 0 && command->invocation->n_names == 0)
		page_printf(command->page, "No GPUs found");
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

static bool has_devices(const struct catalogue *catalogue, const char *node)
{
	for (size_t i = 0; i < catalogue->n_devices; i++) {
		if (view_equal(catalogue->devices[i]->status.node_name, view_from(node)))
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
		page_printf(command->page,
			    "node/%s: no GPU of it is known, and nodes may not be read: whether "
			    "there is one is not known", node);
	else if (!is_there)
		page_printf(command->page, "node/%s: not found", node);
	else
		page_printf(command->page,
			    "node/%s: no GPU of it is known: it has none, or no agent has reported "
			    "any (kubectl get pods -A -o wide "
			    "-l app.kubernetes.io/name=gpu-attribution-agent)", node);
}

static enum command_status run_node(struct command *command)
{
	const struct invocation *invocation = command->invocation;
	const char *only = invocation->n_names == 1 ? invocation->names[0] : NULL;
	enum command_status status = COMMAND_FOUND;
	struct error err;
	command->page->is_many = !only;
	catalogue_init(&command->catalogue, is_of_named_node, invocation);
	if (query_devices(&command->query, only, catalogue_take, &command->catalogue, &err) != 0 ||
	    settle(command, &err) != 0)
		return failed(command, &err);
	show_devices(command);
	for (size_t i = 0; i < invocation->n_names; i++) {
		if (has_devices(&command->catalogue, invocation->names[i]))
			continue;
		explain_node(command, invocation->names[i]);
		status = COMMAND_NOT_FOUND;
	}
	if (invocation->n_names == 0 && command->catalogue.n_devices == 0)
		page_printf(command->page, "No GPUs found");
	return conclude(command, status);
}

/* Devices. */

static bool is_searched(const void *context, const struct attribution *object)
{
	return search_fits(*(const struct view *)context, object);
}

static void list_candidates(struct command *command, struct view searched)
{
	const struct catalogue *catalogue = &command->catalogue;
	page_printf(command->page, "\"%.*s\" fits %zu GPUs: say more of the UUID",
		    VIEW_ARG(searched), catalogue->n_devices);
	for (size_t i = 0; i < catalogue->n_devices && i < MAX_LISTED; i++)
		page_printf(command->page, "  %.*s (%.*s)", VIEW_ARG(catalogue->devices[i]->uuid),
			    VIEW_ARG(catalogue->devices[i]->status.node_name));
}

static enum command_status show_device(struct command *command, struct view searched)
{
	const struct catalogue *catalogue = &command->catalogue;
	struct page *page = command->page;
	if (catalogue->n_devices > 1) {
		list_candidates(command, searched);
		return COMMAND_USAGE;
	}
	if (catalogue->n_devices == 0) {
		page_printf(page, "No GPU has a UUID that begins with \"%.*s\"",
			    VIEW_ARG(searched));
		return COMMAND_NOT_FOUND;
	}
	if (page->form == PAGE_JSON)
		device_view_json(page, catalogue->devices[0]);
	else if (page->form == PAGE_NAME)
		fleet_view_names(page, catalogue->devices, 1);
	else
		device_view(page, catalogue->devices[0]);
	return COMMAND_FOUND;
}

static enum command_status run_device(struct command *command)
{
	struct view searched = view_from(command->invocation->names[0]);
	char name[SEARCH_NAME_SIZE];
	struct error err;
	int result;
	catalogue_init(&command->catalogue, is_searched, &searched);
	if (search_object_name(searched, name))
		result = query_device(&command->query, name, catalogue_take, &command->catalogue,
				      &err);
	else
		result = query_devices(&command->query, NULL, catalogue_take, &command->catalogue,
				       &err);
	if (result != 0 || settle(command, &err) != 0)
		return failed(command, &err);
	return conclude(command, show_device(command, searched));
}

/* Pods. */

static bool is_wanted(const void *context, const struct attribution *object)
{
	return seating_wants(context, object);
}

/* Finds the pods that were asked for; that they may not be read is no failure for names. */
static int find_pods(struct command *command, const char *namespace, struct roll *roll,
		     bool *ret_is_blind, struct error *err)
{
	const struct invocation *invocation = command->invocation;
	*ret_is_blind = false;
	if (invocation->n_names == 0 && !invocation->selector)
		return 0;
	if (query_pods(&command->query, namespace, roll_take, roll, err) == 0)
		return 0;
	*ret_is_blind = err->kind == ERROR_DENIED && invocation->n_names > 0;
	return *ret_is_blind ? 0 : -1;
}

static int fill_seating(struct seating *seating, const struct invocation *invocation,
			const char *namespace, struct roll *roll, struct error *err)
{
	if (seating_init(seating, &roll->arena, invocation->n_names + roll->n_pods, err) != 0)
		return -1;
	seating->is_named = invocation->n_names > 0;
	seating->is_everybody = !seating->is_named && !invocation->selector;
	if (!invocation->all_namespaces)
		seating->namespace = view_from(namespace);
	for (size_t i = 0; i < invocation->n_names; i++) {
		struct view name = view_from(invocation->names[i]);
		seating_add(seating, seating->namespace, name, roll_find(roll, name));
	}
	for (const struct roll_entry *entry = roll->oldest; entry && !seating->is_named;
	     entry = entry->next)
		seating_add(seating, entry->card.namespace, entry->card.name, &entry->card);
	seating_seal(seating);
	return 0;
}

static void show_pods(struct command *command, const struct seating *seating)
{
	struct page *page = command->page;
	page->is_many = command->invocation->n_names != 1;
	page->all_namespaces = command->invocation->all_namespaces;
	if (page->form == PAGE_JSON)
		pod_view_json(page, seating);
	else if (page->form == PAGE_NAME)
		pod_view_names(page, seating);
	else
		pod_view(page, seating);
}

/* Is a pod that was asked for, and that should be on a GPU, on none? */
static bool is_any_missing(const struct seating *seating)
{
	for (size_t i = 0; i < seating->n_findings; i++) {
		enum seating_verdict verdict = seating->findings[i].verdict;
		bool is_idle = verdict == SEATING_NO_REQUEST || verdict == SEATING_ENDED;
		if (verdict != SEATING_ON_GPU && (seating->is_named || !is_idle))
			return true;
	}
	return false;
}

static enum command_status judge_pods(struct command *command, const struct seating *seating,
				      const char *namespace)
{
	const char *of = command->invocation->selector ? " that match the selector" : "";
	if (seating->n_seats == 0 && !seating->is_named) {
		if (command->invocation->all_namespaces)
			page_printf(command->page, "No pods%s hold GPUs", of);
		else
			page_printf(command->page, "No pods%s hold GPUs in %s namespace", of,
				    namespace);
		return command->invocation->selector ? COMMAND_NOT_FOUND : COMMAND_FOUND;
	}
	return is_any_missing(seating) ? COMMAND_NOT_FOUND : COMMAND_FOUND;
}

static enum command_status run_pods_in(struct command *command, const char *namespace,
				       struct roll *roll)
{
	struct seating seating;
	struct error err;
	bool is_blind;
	if (find_pods(command, namespace, roll, &is_blind, &err) != 0 ||
	    fill_seating(&seating, command->invocation, namespace, roll, &err) != 0)
		return failed(command, &err);
	seating.is_blind = is_blind;
	catalogue_init(&command->catalogue, is_wanted, &seating);
	if (query_devices(&command->query, NULL, catalogue_take, &command->catalogue, &err) != 0 ||
	    settle(command, &err) != 0 ||
	    seating_fill(&seating, command->catalogue.devices, command->catalogue.n_devices,
			 &err) != 0)
		return failed(command, &err);
	show_pods(command, &seating);
	return conclude(command, judge_pods(command, &seating, namespace));
}

static enum command_status run_pod(struct command *command)
{
	CLEANUP(sbuf_deinit) struct sbuf namespace;
	CLEANUP(roll_deinit) struct roll roll;
	struct error err;
	sbuf_init(&namespace, LIMIT_KIB);
	roll_init(&roll);
	if (command->invocation->namespace)
		sbuf_append(&namespace, view_from(command->invocation->namespace));
	else if (!command->invocation->all_namespaces &&
		 query_namespace(&command->query, &namespace, &err) != 0)
		return failed(command, &err);
	const char *text = sbuf_text(&namespace);
	return run_pods_in(command, text ? text : "", &roll);
}

enum command_status command_run(const struct invocation *invocation, const char *kubectl,
				struct page *page)
{
	static enum command_status (*const verbs[])(struct command *) = {
		[INVOCATION_FLEET] = run_fleet,
		[INVOCATION_POD] = run_pod,
		[INVOCATION_NODE] = run_node,
		[INVOCATION_DEVICE] = run_device,
	};
	struct command command = {.invocation = invocation, .page = page};
	struct error err;
	query_init(&command.query, kubectl, invocation);
	enum command_status status = verbs[invocation->verb](&command);
	if (page_finish(page, &err) != 0) {
		sbuf_clear(&page->body);
		sbuf_clear(&page->notes);
		page_printf(page, "error: %s", err.text);
		status = COMMAND_FAILED;
	}
	catalogue_deinit(&command.catalogue);
	query_deinit(&command.query);
	return status;
}
