/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENDED 1024u

static struct view node_state_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct node_state, link)->name;
}

void node_state_set_init(struct node_state_set *set)
{
	*set = (struct node_state_set){0};
	table_init(&set->by_name, node_state_key);
}

void node_state_set_deinit(struct node_state_set *set)
{
	assert(set->by_name.count == 0);
	table_deinit(&set->by_name);
}

static struct node_state *node_state_of(struct table_node *node)
{
	return node ? CONTAINER_OF(node, struct node_state, link) : NULL;
}

struct node_state *node_state_find(const struct node_state_set *set, struct view name)
{
	return node_state_of(table_find(&set->by_name, name));
}

struct node_state *node_state_next(const struct node_state_set *set, const struct node_state *node_state)
{
	return node_state_of(table_next(&set->by_name, node_state ? &node_state->link : NULL));
}

static struct view ended_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct node_state_ended, by_uid)->uid;
}

struct node_state *node_state_ensure(struct node_state_set *set, struct view name, struct error *err)
{
	struct node_state *node_state = node_state_find(set, name);
	if (node_state)
		return node_state;
	node_state = calloc(1, sizeof(*node_state) + name.len);
	if (!node_state) {
		error_no_memory(err);
		return NULL;
	}
	node_state->name = view_copy(name, (char *)(node_state + 1));
	list_init(&node_state->pods);
	list_init(&node_state->attributions);
	list_init(&node_state->slices);
	list_init(&node_state->ended);
	table_init(&node_state->ended_by_uid, ended_key);
	if (table_add(&set->by_name, &node_state->link, err) < 0) {
		free(node_state);
		return NULL;
	}
	return node_state;
}

static struct node_state_ended *ended_at(struct list *link)
{
	return CONTAINER_OF(link, struct node_state_ended, link);
}

static void forget_first(struct node_state *node_state)
{
	struct node_state_ended *ended = ended_at(node_state->ended.next);
	assert(node_state->n_ended > 0 && !list_is_empty(&node_state->ended));
	list_remove(&ended->link);
	table_remove(&node_state->ended_by_uid, &ended->by_uid);
	node_state->n_ended--;
	free(ended);
}

void node_state_release(struct node_state_set *set, struct node_state *node_state)
{
	if (!node_state || node_state->node || node_state->layouts || node_state->report ||
	    node_state->is_followed || !list_is_empty(&node_state->pods) ||
	    !list_is_empty(&node_state->attributions) || !list_is_empty(&node_state->slices))
		return;
	while (!list_is_empty(&node_state->ended))
		forget_first(node_state);
	assert(node_state->n_ended == 0 && node_state->n_slices == 0 && node_state->n_told == 0);
	table_deinit(&node_state->ended_by_uid);
	node_state_note_claims(set, node_state, false);
	table_remove(&set->by_name, &node_state->link);
	boot_history_forget(&node_state->history);
	free(node_state->debounced);
	free(node_state);
}

void node_state_touch(const struct node_state_set *set, const struct node_state *node_state, bool initial)
{
	if (set->touch && node_state &&
	    (node_state->report || node_state->n_told > 0 ||
	     !list_is_empty(&node_state->attributions) || !list_is_empty(&node_state->slices)))
		set->touch(set->touch_owner, node_state->name, initial);
}

void node_state_note_boot(const struct node_state_set *set, struct node_state *node_state)
{
	node_state->is_boot_news = true;
	if (set->boot && (node_state->report || !list_is_empty(&node_state->attributions)))
		set->boot(set->boot_owner, node_state->name);
}

void node_state_note_claims(struct node_state_set *set, struct node_state *node_state, bool lacks_claims)
{
	assert(set->n_lacking >= node_state->lacks_claims);
	set->n_lacking += lacks_claims;
	set->n_lacking -= node_state->lacks_claims;
	node_state->lacks_claims = lacks_claims;
}

void node_state_touch_all(const struct node_state_set *set, bool only_lacking, bool initial)
{
	const struct node_state *node_state = NULL;
	if (only_lacking && set->n_lacking == 0)
		return;
	while ((node_state = node_state_next(set, node_state)))
		if (node_state->lacks_claims || !only_lacking)
			node_state_touch(set, node_state, initial);
}

bool node_state_reports_uid(const struct node_state *node_state, struct view uid)
{
	const struct array entries = node_state->report ? node_state->report->checkpoint.entries
							: (struct array){0};
	ARRAY_EACH(const struct report_checkpoint_entry, entry, entries)
		if (view_equal(entry->pod_uid, uid))
			return true;
	return false;
}

bool node_state_reports_name(const struct node_state *node_state, struct view namespace, struct view name)
{
	const struct array entries = node_state->report ? node_state->report->pod_resources : (struct array){0};
	ARRAY_EACH(const struct report_pod_resource, entry, entries)
		if (view_equal(entry->name, name) && view_equal(entry->namespace, namespace))
			return true;
	return false;
}

static uint32_t raise(uint32_t *counted, uint32_t n)
{
	uint32_t more = n > *counted ? n - *counted : 0;
	*counted += more;
	assert(*counted >= n);
	return more;
}

struct node_state_refusals node_state_note_refusals(struct node_state *node_state,
						    struct node_state_refusals refused)
{
	return (struct node_state_refusals){
		.entries = raise(&node_state->refused.entries, refused.entries),
		.ids = raise(&node_state->refused.ids, refused.ids),
		.devices = raise(&node_state->refused.devices, refused.devices),
		.objects = raise(&node_state->refused.objects, refused.objects),
		.debounced = raise(&node_state->refused.debounced, refused.debounced),
	};
}

void node_state_release_report(struct node_state *node_state)
{
	assert(!node_state->report || node_state->release);
	if (node_state->report)
		node_state->release(node_state->release_owner);
	node_state->report = NULL;
	figures_free(node_state->figures);
	node_state->figures = NULL;
}

/* What the node has told until now it told before it was booted, if it was. */
static void note_boot(struct node_state *node_state, const struct report *report)
{
	const enum report_boot boot = report_boot_of(node_state->report, report->boot_id);
	if (boot == REPORT_BOOT_SAME)
		return;
	boot_history_forget(&node_state->history);
	node_state->is_boot_news = false;
	if (boot == REPORT_BOOT_OTHER)
		node_state->booted_after = node_state->report->observed_at;
}

/* When the agent that the last report is of was last heard of, if another speaks now. */
static void note_instance(struct node_state *node_state, const struct report *report, uint64_t now_ms)
{
	const struct report *last = node_state->report;
	if (report_boot_of(last, report->boot_id) != REPORT_BOOT_SAME)
		node_state->former_heard_at = 0;
	else if (last->instance != report->instance)
		node_state->former_heard_at = report->observed_at - (int64_t)(now_ms - node_state->report_at);
}

void node_state_note_listed(struct node_state *node_state, int64_t listed_at, uint64_t now_ms)
{
	if (node_state->listed_at != listed_at)
		node_state->listed_told_at = now_ms;
	node_state->listed_at = listed_at;
}

void node_state_take_report(struct node_state *node_state, const struct report *report,
			    node_state_release_fn release, void *owner, uint64_t now_ms)
{
	assert(release);
	note_boot(node_state, report);
	note_instance(node_state, report, now_ms);
	node_state_release_report(node_state);
	node_state->report = report;
	node_state->release = release;
	node_state->release_owner = owner;
	node_state->report_at = now_ms;
	node_state->report_since = now_ms;
	boot_history_hear(&node_state->history, report, NULL);
	node_state_note_listed(node_state, report->sources.pod_resources.observed_at, now_ms);
	node_state->refused = (struct node_state_refusals){0};
}

bool node_state_take_figures(struct node_state *node_state, struct figures *take_figures)
{
	assert(node_state->report);
	figures_free(node_state->figures);
	node_state->figures = take_figures;
	return boot_history_hear(&node_state->history, node_state->report, take_figures);
}

static struct node_state_ended *find_ended(const struct node_state *node_state, struct view uid)
{
	struct table_node *node = table_find(&node_state->ended_by_uid, uid);
	return node ? CONTAINER_OF(node, struct node_state_ended, by_uid) : NULL;
}

bool node_state_has_ended(const struct node_state *node_state, struct view uid)
{
	return find_ended(node_state, uid) != NULL;
}

static struct node_state_ended *add_ended(struct node_state *node_state, struct view uid,
					  uint64_t now_ms, struct error *err)
{
	struct node_state_ended *ended = calloc(1, sizeof(*ended) + uid.len);
	if (!ended) {
		error_no_memory(err);
		return NULL;
	}
	ended->uid = view_copy(uid, (char *)(ended + 1));
	if (table_add(&node_state->ended_by_uid, &ended->by_uid, err) < 0) {
		free(ended);
		return NULL;
	}
	ended->since = now_ms;
	list_init(&ended->link);
	node_state->n_ended++;
	return ended;
}

int node_state_remember_ended(struct node_state *node_state, struct view uid, uint64_t since_ms,
			      uint64_t now_ms, struct error *err)
{
	struct node_state_ended *ended = find_ended(node_state, uid);
	if (!ended && !(ended = add_ended(node_state, uid, now_ms, err)))
		return -1;
	if (since_ms > 0)
		ended->since = since_ms;
	ended->at = now_ms;
	list_remove(&ended->link);
	list_append(&node_state->ended, &ended->link);
	if (node_state->n_ended > MAX_ENDED)
		forget_first(node_state);
	assert(node_state->n_ended <= MAX_ENDED);
	return 0;
}

void node_state_forget_ended(struct node_state *node_state, uint64_t now_ms)
{
	while (!list_is_empty(&node_state->ended) &&
	       now_ms - ended_at(node_state->ended.next)->at > NODE_STATE_ENDED_KEEP_MS)
		forget_first(node_state);
}

int node_state_replace_debounced(struct node_state *node_state,
				 const struct debounce_seen *debounced, size_t n_debounced,
				 uint64_t now_ms, struct error *err)
{
	struct debounce_seen *kept = NULL;
	assert(debounced || n_debounced == 0);
	if (n_debounced > 0 && !(kept = malloc(n_debounced * sizeof(*kept))))
		return error_no_memory(err);
	if (n_debounced > 0)
		memcpy(kept, debounced, n_debounced * sizeof(*kept));
	free(node_state->debounced);
	node_state->debounced = kept;
	node_state->n_debounced = n_debounced;
	node_state->debounced_at = now_ms;
	return 0;
}
