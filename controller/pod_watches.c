/* SPDX-License-Identifier: Apache-2.0 */

/*
 * All is done from one timer, for a reflector cannot be stopped from a callback. It fires once a second
 * to look for signs of GPUs, and at once when a watch or a join asks for it.
 *
 * Which form counts follows from what is known: while the watch of the cluster has told all, it does.
 * Otherwise each node's own watch counts for that node.
 */

#include "controller/pod_watches.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "controller/watches.h"
#include "model/pod_scope.h"

#define LOOK_MS 1000u
#define TROUBLE_SIZE 192u

struct pod_watches {
	struct pod_watches_config config;
	struct pod_watch_host host; /* what each watch is given: it comes to us */
	struct pod_selection selection;
	struct table by_node; /* struct pod_watch */
	struct loop_timer *timer;
	uint64_t next_seed;
	bool is_whole_running;
	bool is_read;          /* the first state is here, in either form */
	bool has_begun;        /* watches of nodes; */
	uint64_t began_at;     /* by answering_ms(): when the first of them did */
	uint64_t n_failed;     /* watches that could not be begun */
	struct reflector_counters ended; /* of watches that have ended */
	char trouble[TROUBLE_SIZE];
};

static struct pod_watch *watch_of(struct table_node *link)
{
	return link ? CONTAINER_OF(link, struct pod_watch, link) : NULL;
}

static struct view name_of(const struct table_node *link)
{
	return CONTAINER_OF(link, struct pod_watch, link)->name;
}

static struct pod_watch *find(const struct pod_watches *watches, struct view node_name)
{
	return watch_of(table_find(&watches->by_node, node_name));
}

static struct pod_watch *next_of(const struct pod_watches *watches, const struct pod_watch *watch)
{
	return watch_of(table_next(&watches->by_node, watch ? &watch->link : NULL));
}

static struct inventory *inventory_of(const struct pod_watches *watches)
{
	return watches->config.host.inventory;
}

static void *owner_of(const struct pod_watches *watches)
{
	return watches->config.host.owner;
}

static bool are_whole(const struct pod_watches *watches)
{
	return inventory_pod_scope(inventory_of(watches))->is_whole;
}

/* Watches of nodes */

static void add_counters(struct reflector_counters *sum, const struct reflector_counters *more)
{
	sum->lists += more->lists;
	sum->watches += more->watches;
	sum->relists_expired += more->relists_expired;
	sum->events += more->events;
	sum->bookmarks += more->bookmarks;
	sum->objects_refused += more->objects_refused;
	sum->failures += more->failures;
	sum->stale_rewinds += more->stale_rewinds;
}

static void begin(struct pod_watches *watches, struct view node_name)
{
	struct pod_watch *watch;
	struct error error = {0};

	if (table_reserve(&watches->by_node, &error) < 0 ||
	    pod_watch_new(&watches->host, node_name, watches->next_seed++, &watch, &error) < 0) {
		watches->n_failed++;
		LOG_WARN("Pods of a node cannot be watched", LOG_TEXT("node", node_name),
			 LOG_ERROR_FIELD(&error));
		return;
	}
	if (table_add(&watches->by_node, &watch->link, &error) < 0)
		pod_watch_stop(watch);
}

static void end(struct pod_watches *watches, struct pod_watch *watch)
{
	const struct reflector_counters counters = reflector_counters(watch->reflector);

	add_counters(&watches->ended, &counters);
	table_remove(&watches->by_node, &watch->link);
	pod_watch_stop(watch);
}

/* Ends those of nodes that are not wanted, or all. */
static void end_some(struct pod_watches *watches, bool all)
{
	struct pod_watch *watch = next_of(watches, NULL), *next;

	for (; watch; watch = next) {
		next = next_of(watches, watch);
		if (all || !pod_selection_wants(&watches->selection, watch->name))
			end(watches, watch);
	}
}

static void begin_missing(struct pod_watches *watches)
{
	const struct pod_selection_node *node = NULL;

	if (watches->by_node.count == pod_selection_count(&watches->selection))
		return;
	while ((node = pod_selection_next(&watches->selection, node)))
		if (!find(watches, node->name))
			begin(watches, node->name);
}

/* Which nodes */

static void see(struct pod_watches *watches, struct view node_name)
{
	struct error error = {0};

	if (pod_watch_is_name(node_name) &&
	    pod_selection_see(&watches->selection, node_name, loop_now_ms(watches->config.host.loop),
			      &error) < 0)
		LOG_WARN("Node not noted", LOG_TEXT("node", node_name), LOG_ERROR_FIELD(&error));
}

/*
 * True when anything says that the node has GPUs: an agent's report, an object, a ResourceSlice, a label
 * or a resource of its Node. What its pods' statuses say does not count.
 */
static bool shows_gpu(const struct node_state *node_state)
{
	const struct node *node = node_state->node;

	if (node_state->report || !list_is_empty(&node_state->attributions) ||
	    !list_is_empty(&node_state->slices))
		return true;
	return node && (view_equal(node->gpu_present, VIEW("true")) || node->gpu_count.len > 0 ||
			node->gpu_product.len > 0 || node->allocatable.count > 0);
}

static void select_nodes(struct pod_watches *watches)
{
	struct inventory *inventory = inventory_of(watches);
	const struct node_state *node_state = NULL;

	while ((node_state = node_state_next(inventory_pod_scope(inventory)->node_states,
					     node_state)))
		if (shows_gpu(node_state))
			see(watches, node_state->name);
	pod_selection_look(&watches->selection,
			   &(struct pod_selection_facts){
				   .n_nodes = inventory_count(inventory, INVENTORY_NODES),
				   .may_share = apiclient_may_share(watches->config.host.client),
				   .now = loop_now_ms(watches->config.host.loop),
			   });
}

/* The change-over */

static bool are_all(const struct pod_watches *watches, bool (*is_so)(const struct pod_watch *watch))
{
	const struct pod_watch *watch = NULL;

	if (watches->by_node.count < pod_selection_count(&watches->selection))
		return false;
	while ((watch = next_of(watches, watch)))
		if (!is_so(watch))
			return false;
	return true;
}

static bool is_known(const struct pod_watch *watch)
{
	return watch->is_known;
}

static bool is_any_known(const struct pod_watches *watches)
{
	const struct pod_watch *watch = NULL;

	while ((watch = next_of(watches, watch)))
		if (watch->is_known)
			return true;
	return false;
}

/* A node that cannot be read holds up itself only: it is not joined. */
static void finish_first(struct pod_watches *watches)
{
	uint64_t waited = watches->config.host.answering_ms(owner_of(watches)) - watches->began_at;

	if (watches->is_read || !(are_all(watches, is_known) ||
				  (waited >= WATCHES_WAIT_MS && is_any_known(watches))))
		return;
	watches->is_read = true;
	inventory_set_pods_read(inventory_of(watches));
	LOG_INFO("Pods of GPU nodes synced", LOG_I64("nodes", (int64_t)watches->by_node.count));
}

static void change_to_nodes(struct pod_watches *watches)
{
	if (!watches->has_begun)
		watches->began_at = watches->config.host.answering_ms(owner_of(watches));
	watches->has_begun = true;
	begin_missing(watches);
	if (!watches->is_whole_running) {
		finish_first(watches);
		return;
	}
	if (!are_all(watches, pod_watch_is_in_step))
		return;
	watches->config.stop_whole(owner_of(watches));
	pod_scope_end_whole(inventory_pod_scope(inventory_of(watches)));
	watches->is_whole_running = false;
	watches->is_read = true;
	inventory_set_pods_read(inventory_of(watches));
	LOG_INFO("Pods are read by node from now on",
		 LOG_I64("nodes", (int64_t)watches->by_node.count));
}

static void change_to_whole(struct pod_watches *watches)
{
	struct error error = {0};

	if (!watches->is_whole_running) {
		pod_scope_begin_whole(inventory_pod_scope(inventory_of(watches)));
		if (watches->config.start_whole(owner_of(watches), &error) < 0) {
			pod_scope_end_whole(inventory_pod_scope(inventory_of(watches)));
			LOG_WARN("Pods of the cluster cannot be watched", LOG_ERROR_FIELD(&error));
			return;
		}
		watches->is_whole_running = true;
	}
	if (watches->by_node.count == 0 || !are_whole(watches) ||
	    !watches->config.is_whole_current(owner_of(watches)))
		return;
	end_some(watches, true);
	LOG_INFO("Pods are read for the whole cluster from now on");
}

static uint64_t look_at_all(struct pod_watches *watches)
{
	struct pod_watch *watch = NULL;
	uint64_t due = UINT64_MAX;

	while ((watch = next_of(watches, watch))) {
		uint64_t at = pod_watch_look(watch);

		if (at < due)
			due = at;
	}
	return due;
}

static void look(struct pod_watches *watches)
{
	uint64_t now = loop_now_ms(watches->config.host.loop), due = look_at_all(watches);

	if (watches->config.are_nodes_known(owner_of(watches))) {
		select_nodes(watches);
		if (watches->selection.form == POD_SELECTION_NODE)
			change_to_nodes(watches);
		else
			change_to_whole(watches);
		end_some(watches, false);
	}
	loop_timer_set(watches->timer, due > now && due - now < LOOK_MS ? due - now : LOOK_MS);
}

static void on_timer(void *owner)
{
	struct pod_watches *watches = owner;

	look(watches);
	watches->config.host.changed(owner_of(watches));
}

/* Its life */

/* Of a watch: what is to be done is done from the timer. */
static void on_watch(void *owner)
{
	loop_timer_set(((struct pod_watches *)owner)->timer, 0);
}

static uint64_t answering_ms(void *owner)
{
	const struct pod_watches *watches = owner;

	return watches->config.host.answering_ms(owner_of(watches));
}

static void pod_watches_freep(struct pod_watches **watches)
{
	pod_watches_free(*watches);
}

int pod_watches_new(const struct pod_watches_config *config, struct pod_watches **ret_watches,
		    struct error *err)
{
	CLEANUP(pod_watches_freep) struct pod_watches *watches = calloc(1, sizeof(*watches));

	if (!watches)
		return error_no_memory(err);
	watches->config = *config;
	watches->host = config->host;
	watches->host.owner = watches;
	watches->host.answering_ms = answering_ms;
	watches->host.changed = on_watch;
	watches->next_seed = config->seed;
	table_init(&watches->by_node, name_of);
	pod_selection_init(&watches->selection, config->policy, config->threshold_percent, config->max_nodes);
	if (loop_timer_new(config->host.loop, on_timer, watches, &watches->timer, err) < 0)
		return -1;
	if (config->policy == POD_SELECTION_ALWAYS_CLUSTER) {
		if (config->start_whole(owner_of(watches), err) < 0)
			return -1;
		watches->is_whole_running = true;
	} else {
		pod_scope_end_whole(inventory_pod_scope(inventory_of(watches)));
		loop_timer_set(watches->timer, 0);
	}
	*ret_watches = TAKE(watches);
	return 0;
}

void pod_watches_free(struct pod_watches *watches)
{
	struct table_node *link;

	if (!watches)
		return;
	while (watches->by_node.count > 0 && (link = table_next(&watches->by_node, NULL))) {
		table_remove(&watches->by_node, link);
		pod_watch_free(watch_of(link));
	}
	table_deinit(&watches->by_node);
	pod_selection_deinit(&watches->selection);
	loop_timer_free(watches->timer);
	free(watches);
}

/* What is said of it */

bool pod_watches_are_by_node(const struct pod_watches *watches)
{
	return !are_whole(watches) && watches->by_node.count > 0;
}

/* What is known of the node is as old as the watch of the cluster says. */
static bool is_by_whole(const struct pod_watches *watches, const struct pod_watch *watch)
{
	return are_whole(watches) && (!watch || !watch->is_known ||
				      watches->config.is_whole_current(owner_of(watches)));
}

bool pod_watches_allow(struct pod_watches *watches, struct view node_name)
{
	struct pod_watch *watch;

	if (watches->config.policy == POD_SELECTION_ALWAYS_CLUSTER || !pod_watch_is_name(node_name))
		return true;
	watch = find(watches, node_name);
	if (is_by_whole(watches, watch) || (watch && pod_watch_allows(watch)))
		return true;
	if (watch)
		watch->is_asked_for = true;
	else
		see(watches, node_name);
	on_watch(watches);
	return false;
}

static bool is_failing(const struct pod_watch *watch)
{
	return (!watch->is_known || watch->is_given_up) && reflector_trouble(watch->reflector)[0];
}

/* What was never read is worse than what is old. */
static void tell_trouble(struct pod_watches *watches, const struct pod_watch *worst, size_t n)
{
	watches->trouble[0] = '\0';
	if (worst)
		snprintf(watches->trouble, sizeof(watches->trouble), "of %zu nodes, as %.*s: %s", n,
			 VIEW_ARG(worst->name), reflector_trouble(worst->reflector));
}

struct pod_watches_state pod_watches_state(struct pod_watches *watches)
{
	const struct pod_watch *watch = NULL, *worst = NULL;
	struct pod_watches_state state = {
		.form = watches->selection.form,
		.is_by_node = pod_watches_are_by_node(watches),
		.n_watches = watches->by_node.count,
		.n_refused = watches->selection.n_over + watches->n_failed,
		.trouble = watches->trouble,
		.counters = watches->ended,
	};
	size_t n_failing = 0;

	while ((watch = next_of(watches, watch))) {
		const struct reflector_counters counters = reflector_counters(watch->reflector);

		add_counters(&state.counters, &counters);
		state.n_known += watch->is_known;
		state.n_given_up += watch->is_given_up;
		if (!is_failing(watch))
			continue;
		n_failing++;
		if (!worst || (worst->is_known && !watch->is_known))
			worst = watch;
	}
	tell_trouble(watches, worst, n_failing);
	return state;
}
