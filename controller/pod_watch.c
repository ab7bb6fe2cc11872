/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/pod_watch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "controller/question.h"
#include "controller/watch_kinds.h"
#include "controller/watches.h"
#include "model/pod_scope.h"
#include "schema/pod_doc.h"

#define SELECTOR "spec.nodeName="
#define LOOK_SOON_MS 2000u
#define FORBIDDEN_MS 5000u

static const enum store_change changes[] = {
	[REFLECTOR_LISTED] = STORE_LISTED,
	[REFLECTOR_UPSERT] = STORE_UPSERT,
	[REFLECTOR_DELETE] = STORE_DELETE,
};

bool pod_watch_is_name(struct view node_name)
{
	return node_name.len <= LIMIT_TEXT_NAME && question_is_name(node_name);
}

static uint64_t now_of(const struct pod_watch *watch)
{
	return loop_now_ms(watch->host->loop);
}

static uint64_t answering_ms(const struct pod_watch *watch)
{
	return watch->host->answering_ms(watch->host->owner);
}

static void tell(const struct pod_watch *watch)
{
	watch->host->changed(watch->host->owner);
}

/* When it has caught up, and has shown that it lasts if it had to; UINT64_MAX: it is away. */
static uint64_t current_at(const struct pod_watch *watch)
{
	if (!watch->is_followed || !watch->is_known)
		return UINT64_MAX;
	return watch->changed_at +
	       (watch->is_given_up ? WATCHES_STEADY_MS : REFLECTOR_CATCH_UP_MS);
}

/* The reflector's sink */

static void begin_replace(void *owner)
{
	struct pod_watch *watch = owner;

	pod_scope_begin_node(inventory_pod_scope(watch->host->inventory), watch->name);
}

static void end_replace(void *owner)
{
	struct pod_watch *watch = owner;

	if (!watch->is_known)
		watch->lost_at = answering_ms(watch);
	watch->is_known = true;
	watch->n_lists = reflector_counters(watch->reflector).lists;
	pod_scope_end_node(inventory_pod_scope(watch->host->inventory), watch->name,
			   reflector_counters(watch->reflector).last_version, now_of(watch));
	tell(watch);
}

static int put(struct pod_watch *watch, enum store_change change, const struct object_meta *meta,
	       struct view key, struct view document, struct error *err)
{
	struct inventory *inventory = watch->host->inventory;
	struct pod_fields fields;

	if (!inventory_wants_node_pod(inventory, watch->name, key, change, meta->version))
		return 0;
	if (pod_doc_decode(document, &fields, err) < 0)
		return -1;
	return inventory_put_pod(inventory, watch->name, &fields, change, meta->version,
				      now_of(watch), err);
}

static int take_object(void *owner, enum reflector_change change, const struct object_meta *meta,
		       struct view document, struct error *err)
{
	struct pod_watch *watch = owner;
	char buffer[RECORD_KEY_SIZE];
	struct view key = record_set_key(meta->namespace, meta->name, buffer);

	if (key.len == 0)
		return error_set(err, ERROR_LIMIT, 0, "the name of a pod is too long");
	if (change != REFLECTOR_DELETE)
		return put(watch, changes[change], meta, key, document, err);
	inventory_remove(watch->host->inventory, INVENTORY_PODS, key, meta->version, now_of(watch));
	return 0;
}

static void set_denied(void *owner, bool is_denied)
{
	struct pod_watch *watch = owner;

	watch->is_given_up |= is_denied; /* when it ends, it is followed */
	tell(watch);
}

static void set_followed(void *owner, bool is_followed)
{
	struct pod_watch *watch = owner;

	/* A watch that opens and ends before it has caught up is still the same loss. */
	if (now_of(watch) >= current_at(watch)) {
		watch->lost_at = answering_ms(watch);
		watch->is_proven = true;
	}
	watch->is_followed = is_followed;
	watch->changed_at = now_of(watch);
	if (watch->is_asked_for || !watch->is_proven || watch->is_given_up)
		tell(watch);
}

/* What becomes of it */

bool pod_watch_allows(const struct pod_watch *watch)
{
	return watch->is_known && (watch->is_given_up || now_of(watch) >= current_at(watch));
}

bool pod_watch_is_in_step(const struct pod_watch *watch)
{
	return watch->is_proven && !watch->is_given_up &&
	       reflector_counters(watch->reflector).lists == watch->n_lists;
}

/* What was denied stays so until it is current. A list alone, without its watch, is old at once. */
static enum inventory_age age_of(const struct pod_watch *watch)
{
	const struct node_state *node_state = inventory_node_state_find(watch->host->inventory,
									watch->name);

	if (!watch->is_given_up)
		return watch->is_proven ? INVENTORY_CURRENT : INVENTORY_STALE;
	return node_state->pods_age == INVENTORY_DENIED ||
			       reflector_forbidden_ms(watch->reflector) >= FORBIDDEN_MS
		       ? INVENTORY_DENIED
		       : INVENTORY_STALE;
}

static uint64_t give_up_in(const struct pod_watch *watch)
{
	uint64_t waited = answering_ms(watch) - watch->lost_at;

	return waited < WATCHES_WAIT_MS ? WATCHES_WAIT_MS - waited : 0;
}

static void judge(struct pod_watch *watch)
{
	if (now_of(watch) >= current_at(watch)) {
		watch->is_given_up = false;
		watch->is_proven = true;
	} else if (watch->is_known && !watch->is_followed && give_up_in(watch) == 0) {
		watch->is_given_up = true;
	}
	pod_scope_set_age(inventory_pod_scope(watch->host->inventory), watch->name, age_of(watch));
}

static uint64_t due_at(const struct pod_watch *watch)
{
	const uint64_t now = now_of(watch);

	if (now < current_at(watch) && current_at(watch) != UINT64_MAX)
		return current_at(watch);
	if (!watch->is_known || watch->is_followed || watch->is_given_up)
		return UINT64_MAX;
	return now + give_up_in(watch);
}

uint64_t pod_watch_look(struct pod_watch *watch)
{
	const struct node_state_set *node_states =
		inventory_pod_scope(watch->host->inventory)->node_states;

	judge(watch);
	if (watch->is_asked_for && pod_watch_allows(watch)) {
		watch->is_asked_for = false;
		node_state_touch(node_states, node_state_find(node_states, watch->name), false);
	}
	return due_at(watch);
}

/* Its life */

static struct pod_watch *make(const struct pod_watch_host *host, struct view node_name)
{
	const size_t size = sizeof(SELECTOR) + node_name.len;
	struct pod_watch *watch = calloc(1, sizeof(*watch) + size);

	if (!watch)
		return NULL;
	watch->host = host;
	watch->selector = (char *)(watch + 1);
	view_copy(VIEW(SELECTOR), watch->selector);
	watch->name = view_copy(node_name, watch->selector + strlen(SELECTOR));
	watch->resource = watch_kinds_of(INVENTORY_PODS)->resource;
	watch->resource.field_selector = watch->selector;
	watch->changed_at = loop_now_ms(host->loop);
	watch->lost_at = host->answering_ms(host->owner);
	return watch;
}

static int start(struct pod_watch *watch, uint64_t seed, struct error *err)
{
	const struct reflector_config config = {
		.resource = &watch->resource,
		.initial = REFLECTOR_LIST,
		.absent_retry_ms = LOOK_SOON_MS,
		.seed = seed,
	};
	const struct reflector_sink sink = {
		.owner = watch,
		.replace_begin = begin_replace,
		.replace_end = end_replace,
		.object = take_object,
		.denied = set_denied,
		.followed = set_followed,
	};

	if (reflector_new(&config, &sink, &watch->reflector, err) < 0)
		return -1;
	return apiclient_run_shared(watch->host->client, watch->reflector, err);
}

int pod_watch_new(const struct pod_watch_host *host, struct view node_name, uint64_t seed,
		  struct pod_watch **ret_watch, struct error *err)
{
	struct pod_scope *scope = inventory_pod_scope(host->inventory);
	struct pod_watch *watch = make(host, node_name);

	assert(pod_watch_is_name(node_name));
	if (!watch)
		return error_no_memory(err);
	if (pod_scope_follow(scope, watch->name, err) < 0) {
		pod_watch_free(watch);
		return -1;
	}
	if (start(watch, seed, err) < 0) {
		pod_watch_stop(watch);
		return -1;
	}
	*ret_watch = watch;
	return 0;
}

void pod_watch_stop(struct pod_watch *watch)
{
	if (!watch)
		return;
	if (watch->reflector)
		apiclient_stop(watch->host->client, watch->reflector);
	pod_scope_unfollow(inventory_pod_scope(watch->host->inventory), watch->name);
	pod_watch_free(watch);
}

void pod_watch_free(struct pod_watch *watch)
{
	if (!watch)
		return;
	reflector_free(watch->reflector);
	free(watch);
}
