/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/watches.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/sbuf.h"
#include "controller/config_watch.h"
#include "controller/definition_watch.h"
#include "controller/pod_watches.h"
#include "controller/watch_kinds.h"
#include "model/pod_scope.h"

/*
 * Each resource of controller/watch_kinds.h has a reflector. The order of events, versions and
 * replaces is the same for all, and is decided before decoding. So an object that is older than what
 * the inventory has is not even decoded.
 */

#define LOOK_MS 30000u     /* so often what is absent now is looked for: a ConfigMap, a kind that was there; */
#define LOOK_SOON_MS 2000u /* and a kind that is needed */
#define FORBIDDEN_MS 5000u /* an API server that has just started may refuse for a moment */

struct follow {
	struct watches *watches;
	const struct watch_kind *kind;
	enum inventory_kind inventory_kind;
	struct reflector *reflector;
	struct sbuf key; /* "namespace/name", used again for each object */
	bool is_followed;
	bool is_absent;      /* the API server does not serve it */
	bool is_given_up;    /* its watch has been away for too long to wait for it */
	enum inventory_age age;
	uint64_t changed_at; /* ms; when is_followed did last */
	uint64_t lost_at;    /* when it was current last, or the end of the first list, by answering_ms() */
};

struct watches {
	struct loop *loop;
	struct apiclient *client;
	struct inventory *inventory;
	void (*changed)(void *owner);
	void *owner;
	struct loop_timer *timer; /* for the next time at which something changes by itself */
	bool is_away;             /* the API server */
	uint64_t away_changed_at; /* ms; when is_away did last */
	uint64_t answered_ms;     /* for how long it had answered in all by then */
	struct follow follows[INVENTORY_N_KINDS];
	struct watches_config config;
	struct pod_watches *pods;     /* decides whether that of all pods is followed */
	struct config_watch *configs; /* which ConfigMaps, the policies say */
	struct definition_watch *definitions;
};

static const enum store_change changes[] = {
	[REFLECTOR_LISTED] = STORE_LISTED,
	[REFLECTOR_UPSERT] = STORE_UPSERT,
	[REFLECTOR_DELETE] = STORE_DELETE,
};

static int make_key(struct follow *follow, const struct object_meta *meta, struct error *err)
{
	sbuf_clear(&follow->key);
	if (meta->namespace.len > 0) {
		sbuf_append(&follow->key, meta->namespace);
		sbuf_append_char(&follow->key, '/');
	}
	sbuf_append(&follow->key, meta->name);
	return sbuf_check(&follow->key, "name", err);
}

/* The records of a kind have changed, or may have. */
static void note_change(const struct follow *follow)
{
	if (follow->inventory_kind == INVENTORY_POLICIES)
		config_watch_look(follow->watches->configs);
}

static void begin_replace(void *owner)
{
	struct follow *follow = owner;

	inventory_begin_replace(follow->watches->inventory, follow->inventory_kind);
}

/* What is defined and not there is served in another version. Nobody can tell while it is not listed. */
static bool is_defined(const struct follow *follow)
{
	return follow->kind->definition && definition_watch_is_there(follow->watches->definitions,
								     follow->kind->definition);
}

/* Is the inventory current? */

/* Pods may be read by node. Then their own watches say what is current. */
static bool is_off(const struct follow *follow)
{
	return !follow->reflector ||
	       (follow->inventory_kind == INVENTORY_PODS && follow->watches->pods &&
		pod_watches_are_by_node(follow->watches->pods));
}

/* A clock that stands still while the API server is away. */
static uint64_t answering_ms(const struct watches *watches, uint64_t now)
{
	return watches->answered_ms + (watches->is_away ? 0 : now - watches->away_changed_at);
}

/* It tells what is intended, and says nothing of who holds what. */
static bool is_of_operator(const struct follow *follow)
{
	return follow->inventory_kind == INVENTORY_POLICIES ||
	       follow->inventory_kind == INVENTORY_GPU_CLUSTERS;
}

/*
 * What we may not read is not waited for, and is not taken for empty either: the inventory says
 * that it is not known.
 */
static bool is_tolerated(const struct follow *follow)
{
	const struct watches *watches = follow->watches;

	if (follow->kind->need != WATCH_MAY_BE_DENIED || !reflector_is_denied(follow->reflector))
		return false;
	/* That these are not known alters each status. */
	return !is_of_operator(follow) ||
	       answering_ms(watches, loop_now_ms(watches->loop)) >= FORBIDDEN_MS;
}

/* The first join did not wait for it either: what it would tell is not known. */
static bool is_never_read(const struct follow *follow)
{
	return follow->kind->need == WATCH_MAY_BE_DENIED &&
	       !inventory_is_synced(follow->watches->inventory, follow->inventory_kind);
}

/* When its watch has caught up, and has shown that it lasts if it had to; UINT64_MAX: it is away. */
static uint64_t current_at(const struct follow *follow)
{
	if (!follow->is_followed)
		return UINT64_MAX;
	return follow->changed_at +
	       (follow->is_given_up ? WATCHES_STEADY_MS : REFLECTOR_CATCH_UP_MS);
}

/* Where there are neither claims nor slices nothing rests on them, and the first ones are news. */
static bool is_unused(const struct follow *follow)
{
	const struct inventory *inventory = follow->watches->inventory;

	return follow->kind->need == WATCH_MAY_BE_DENIED && !is_of_operator(follow) &&
	       inventory_count(inventory, INVENTORY_RESOURCE_CLAIMS) == 0 &&
	       inventory_count(inventory, INVENTORY_RESOURCE_SLICES) == 0;
}

/* In how many ms a watch that is away is no longer waited for. Before the first state nothing is
 * written, and where nothing rests on it nobody waits. */
static uint64_t given_up_in(const struct follow *follow, uint64_t now)
{
	const struct watches *watches = follow->watches;
	const uint64_t waited = answering_ms(watches, now) - follow->lost_at;
	const uint64_t wait = is_of_operator(follow) ? WATCHES_INTENT_WAIT_MS : WATCHES_WAIT_MS;

	if (!inventory_is_synced(watches->inventory, follow->inventory_kind) || watches->is_away ||
	    is_unused(follow))
		return UINT64_MAX;
	return waited < wait ? wait - waited : 0;
}

/*
 * A write names the version of the object that it replaces, so what is not known of GPUAttributions
 * does no harm. After a restart of the API server what the GPU operator has is a second later than the
 * others.
 */
static bool is_rested_upon(const struct follow *follow)
{
	return follow->inventory_kind != INVENTORY_ATTRIBUTIONS && !is_of_operator(follow);
}

static bool is_awaited(const struct follow *follow, uint64_t now)
{
	return is_rested_upon(follow) && !is_off(follow) && !follow->is_given_up && !is_never_read(follow) &&
	       !is_unused(follow) && now < current_at(follow);
}

bool watches_allow_writes(const struct watches *watches)
{
	uint64_t now = loop_now_ms(watches->loop);

	if (apiclient_is_doubtful(watches->client) || !config_watch_is_settled(watches->configs))
		return false;
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		if (is_awaited(&watches->follows[i], now))
			return false;
	return true;
}

/* What was denied stays so until it is current: a change of the age is a write for each device. */
static enum inventory_age age_of(const struct follow *follow)
{
	if (follow->is_absent && is_defined(follow))
		return INVENTORY_UNSERVED;
	if (!follow->is_given_up)
		return INVENTORY_CURRENT;
	return follow->age == INVENTORY_DENIED ||
			       reflector_forbidden_ms(follow->reflector) >= FORBIDDEN_MS
		       ? INVENTORY_DENIED
		       : INVENTORY_STALE;
}

/* What time has changed. A watch that was given up counts again when it has caught up. */
static void age(struct follow *follow, uint64_t now)
{
	if (now >= current_at(follow))
		follow->is_given_up = false;
	else if (!follow->is_followed && given_up_in(follow, now) == 0)
		follow->is_given_up = true;
	follow->age = age_of(follow);
	inventory_set_age(follow->watches->inventory, follow->inventory_kind, follow->age);
}

/* When age() does something next, if nothing happens. */
static uint64_t due_at(const struct follow *follow, uint64_t now)
{
	uint64_t in;

	if (follow->is_followed)
		return current_at(follow);
	in = follow->is_given_up ? UINT64_MAX : given_up_in(follow, now);
	return in == UINT64_MAX ? UINT64_MAX : now + in;
}

static void look(struct watches *watches)
{
	uint64_t now = loop_now_ms(watches->loop), due = UINT64_MAX;

	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		struct follow *follow = &watches->follows[i];
		uint64_t at;

		if (is_off(follow))
			continue;
		age(follow, now);
		at = due_at(follow, now);
		if (at > now && at < due)
			due = at;
	}
	if (due == UINT64_MAX)
		loop_timer_clear(watches->timer);
	else
		loop_timer_set(watches->timer, due - now);
	if (watches->changed)
		watches->changed(watches->owner);
}

static void on_timer(void *owner)
{
	look(owner);
}

static void note_away(struct watches *watches, bool is_away)
{
	uint64_t now = loop_now_ms(watches->loop);

	if (is_away)
		LOG_WARN("API server unreachable",
			 LOG_TEXT("error", view_from(apiclient_trouble(watches->client))));
	else
		LOG_INFO("API server reachable again");
	watches->answered_ms = answering_ms(watches, now);
	watches->away_changed_at = now;
	watches->is_away = is_away;
}

static void on_server(void *owner)
{
	struct watches *watches = owner;
	bool is_away = apiclient_is_away(watches->client);

	if (watches->is_away != is_away)
		note_away(watches, is_away);
	look(watches);
}

/* Takes one object as it has come. */
static int put_object(struct follow *follow, enum reflector_change change,
		      const struct object_meta *meta, struct view document, struct error *err)
{
	struct inventory *inventory = follow->watches->inventory;
	struct view key;

	if (make_key(follow, meta, err) < 0)
		return -1;
	key = sbuf_view(&follow->key);
	note_change(follow);
	if (change == REFLECTOR_DELETE) {
		inventory_remove(inventory, follow->inventory_kind, key, meta->version,
				 loop_now_ms(follow->watches->loop));
		return 0;
	}
	if (!inventory_wants(inventory, follow->inventory_kind, key, changes[change],
			     meta->version))
		return 0;
	return follow->kind->put(inventory,
				 &(struct watch_event){changes[change], meta->version, document,
						       loop_now_ms(follow->watches->loop)},
				 err);
}

/* The first claim or slice, and the last, changes which watches are waited for. */
static int take_object(void *owner, enum reflector_change change, const struct object_meta *meta,
		       struct view document, struct error *err)
{
	struct follow *follow = owner;
	bool was_unused = is_unused(follow);

	if (put_object(follow, change, meta, document, err) < 0)
		return -1;
	if (is_unused(follow) != was_unused)
		look(follow->watches);
	return 0;
}

static void set_followed(void *owner, bool is_followed)
{
	struct follow *follow = owner;
	uint64_t now = loop_now_ms(follow->watches->loop);

	/* A watch that opens and ends before it has caught up is still the same loss. */
	if (now >= current_at(follow))
		follow->lost_at = answering_ms(follow->watches, now);
	follow->is_followed = is_followed;
	follow->changed_at = now;
	look(follow->watches);
}

static void set_absent(void *owner)
{
	struct follow *follow = owner;

	follow->is_absent = true;
	inventory_set_absent(follow->watches->inventory, follow->inventory_kind);
	note_change(follow);
	look(follow->watches);
}

/* Has all that there was arrived before? */
static bool is_listed(const struct follow *follow)
{
	struct inventory *inventory = follow->watches->inventory;

	return follow->inventory_kind == INVENTORY_PODS
		       ? inventory_pod_scope(inventory)->is_whole
		       : inventory_is_synced(inventory, follow->inventory_kind);
}

static void end_replace(void *owner)
{
	struct follow *follow = owner;
	struct inventory *inventory = follow->watches->inventory;
	uint64_t now = loop_now_ms(follow->watches->loop);

	if (!is_listed(follow))
		follow->lost_at = answering_ms(follow->watches, now); /* its watch is, so to say */
	follow->is_absent = false;
	if (follow->kind->need == WATCH_MAY_BE_DENIED && !follow->kind->definition)
		reflector_look_again(follow->reflector, LOOK_MS, now);
	inventory_end_list(inventory, follow->inventory_kind,
			   reflector_counters(follow->reflector).last_version, now);
	note_change(follow);
	look(follow->watches);
	LOG_INFO("Resource synced", LOG_TEXT("resource", view_from(follow->kind->name)),
		 LOG_I64("objects", (int64_t)inventory_count(inventory, follow->inventory_kind)));
}

static void set_denied(void *owner, bool is_denied)
{
	struct follow *follow = owner;

	follow->is_given_up |= is_denied; /* when it ends, it is followed */
	look(follow->watches);
}

static int follow_start(struct follow *follow, struct apiclient *client,
			const struct watches_config *config, struct error *err)
{
	bool may_be_absent = follow->kind->need != WATCH_NEEDED;
	const struct reflector_config reflector = {
		.resource = &follow->kind->resource,
		.initial = config->initial,
		.page_size = 500,
		.absent_retry_ms = may_be_absent ? DEFINITION_WATCH_RARELY_MS : LOOK_SOON_MS,
		.seed = config->seed + (uint64_t)follow->inventory_kind,
	};
	const struct reflector_sink sink = {
		.owner = follow,
		.replace_begin = begin_replace,
		.replace_end = end_replace,
		.object = take_object,
		.absent = may_be_absent ? set_absent : NULL,
		.denied = set_denied,
		.followed = set_followed,
	};

	if (reflector_new(&reflector, &sink, &follow->reflector, err) < 0)
		return error_wrap(err, "follow %s", follow->kind->name);
	return apiclient_run(client, follow->reflector, err);
}

/* The pods of the whole cluster, or of nodes */

static bool are_nodes_known(void *owner)
{
	static const enum inventory_kind kinds[] = {INVENTORY_NODES, INVENTORY_ATTRIBUTIONS,
						    INVENTORY_RESOURCE_SLICES};
	const struct watches *watches = owner;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!inventory_is_synced(watches->inventory, kinds[i]) &&
		    !is_tolerated(&watches->follows[kinds[i]]))
			return false;
	return true;
}

static int start_whole(void *owner, struct error *err)
{
	struct watches *watches = owner;
	struct follow *follow = &watches->follows[INVENTORY_PODS];

	follow->changed_at = loop_now_ms(watches->loop);
	follow->lost_at = answering_ms(watches, follow->changed_at);
	if (follow_start(follow, watches->client, &watches->config, err) == 0)
		return 0;
	reflector_free(TAKE(follow->reflector));
	return -1;
}

static void stop_whole(void *owner)
{
	struct watches *watches = owner;
	struct follow *follow = &watches->follows[INVENTORY_PODS];

	apiclient_stop(watches->client, follow->reflector);
	reflector_free(TAKE(follow->reflector));
	follow->is_followed = false;
	follow->is_given_up = false;
	follow->age = INVENTORY_CURRENT;
	inventory_set_age(watches->inventory, INVENTORY_PODS, INVENTORY_CURRENT);
}

static bool is_whole_current(void *owner)
{
	const struct watches *watches = owner;
	const struct follow *follow = &watches->follows[INVENTORY_PODS];

	return loop_now_ms(watches->loop) >= current_at(follow);
}

static uint64_t answering(void *owner)
{
	const struct watches *watches = owner;

	return answering_ms(watches, loop_now_ms(watches->loop));
}

static void on_pods(void *owner)
{
	const struct watches *watches = owner;

	if (watches->changed)
		watches->changed(watches->owner);
}

static int follow_pods(struct watches *watches, const struct watches_config *config,
		       struct error *err)
{
	const struct pod_watches_config pods = {
		.host = {watches->loop, watches->client, watches->inventory, answering, on_pods, watches},
		.policy = config->pod_selection,
		.threshold_percent = config->pod_selection_threshold,
		.max_nodes = config->max_pod_nodes,
		.seed = config->seed,
		.are_nodes_known = are_nodes_known,
		.start_whole = start_whole,
		.stop_whole = stop_whole,
		.is_whole_current = is_whole_current,
	};

	return pod_watches_new(&pods, &watches->pods, err);
}

static void on_configs(void *owner)
{
	struct watches *watches = owner;

	if (watches->changed)
		watches->changed(watches->owner);
}

static int follow_configs(struct watches *watches, const struct watches_config *config,
			  struct error *err)
{
	const struct reflector_config reflector = {
		.initial = config->initial,
		.page_size = 500,
		.absent_retry_ms = LOOK_MS,
		.seed = config->seed + INVENTORY_N_KINDS,
	};

	if (config_watch_new(watches->loop, watches->client, watches->inventory, &reflector,
			     &watches->configs, err) < 0)
		return -1;
	config_watch_on_told(watches->configs, on_configs, watches);
	return 0;
}

/* Of the kinds that are looked for rarely. */
static int follow_definitions(struct watches *watches, uint64_t seed, struct error *err)
{
	if (definition_watch_new(watches->loop, watches->client, seed, &watches->definitions, err) <
	    0)
		return -1;
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		const struct follow *follow = &watches->follows[i];

		if (follow->kind->definition &&
		    definition_watch_add(watches->definitions, follow->kind->definition,
					 follow->reflector, err) < 0)
			return -1;
	}
	return 0;
}

static void on_definitions(void *owner)
{
	look(owner);
}

static void watches_freep(struct watches **watches)
{
	watches_free(*watches);
}

int watches_new(struct loop *loop, struct apiclient *client, struct inventory *inventory,
		const struct watches_config *config, struct watches **ret_watches,
		struct error *err)
{
	CLEANUP(watches_freep) struct watches *watches = calloc(1, sizeof(*watches));

	if (!watches)
		return error_no_memory(err);
	watches->loop = loop;
	watches->client = client;
	watches->inventory = inventory;
	watches->config = *config;
	watches->changed = config->changed;
	watches->owner = config->owner;
	watches->away_changed_at = loop_now_ms(loop);
	if (loop_timer_new(loop, on_timer, watches, &watches->timer, err) < 0 ||
	    follow_configs(watches, config, err) < 0)
		return -1;
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		struct follow *follow = &watches->follows[i];

		follow->watches = watches;
		follow->kind = watch_kinds_of((enum inventory_kind)i);
		follow->inventory_kind = (enum inventory_kind)i;
		follow->changed_at = watches->away_changed_at;
		sbuf_init(&follow->key, LIMIT_URL);
		if (i == INVENTORY_PODS ? follow_pods(watches, config, err) < 0
					: follow_start(follow, client, config, err) < 0)
			return -1;
	}
	if (follow_definitions(watches, config->seed + INVENTORY_N_KINDS + INTENT_N_CONFIGS, err) <
	    0)
		return -1;
	definition_watch_on_told(watches->definitions, on_definitions, watches);
	apiclient_on_state(client, on_server, watches);
	*ret_watches = TAKE(watches);
	return 0;
}

void watches_free(struct watches *watches)
{
	if (!watches)
		return;
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		reflector_free(watches->follows[i].reflector);
		sbuf_deinit(&watches->follows[i].key);
	}
	pod_watches_free(watches->pods);
	config_watch_free(watches->configs);
	definition_watch_free(watches->definitions);
	loop_timer_free(watches->timer);
	free(watches);
}

static bool is_synced(const struct follow *follow)
{
	if (!inventory_is_synced(follow->watches->inventory, follow->inventory_kind))
		return is_tolerated(follow);
	return !follow->is_absent || !follow->kind->definition ||
	       definition_watch_is_known(follow->watches->definitions, follow->kind->definition);
}

bool watches_are_synced(const struct watches *watches)
{
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		if (!is_synced(&watches->follows[i]))
			return false;
	return config_watch_is_settled(watches->configs);
}

const char *watches_server_trouble(const struct watches *watches)
{
	return apiclient_trouble(watches->client);
}

/* Of thousands of watches some begin anew at any time: those that are not given up count as up. */
static struct watches_state state_by_node(const struct watches *watches)
{
	const struct pod_watches_state state = pod_watches_state(watches->pods);

	return (struct watches_state){
		.name = "pods",
		.trouble = state.trouble,
		.synced = inventory_is_synced(watches->inventory, INVENTORY_PODS),
		.followed = state.n_known == state.n_watches && state.n_given_up == 0,
		.counters = state.counters,
	};
}

bool watches_allow_node(const struct watches *watches, struct view node_name)
{
	return pod_watches_allow(watches->pods, node_name);
}

struct watches_pods watches_pods(const struct watches *watches)
{
	const struct pod_watches_state state = pod_watches_state(watches->pods);

	return (struct watches_pods){state.is_by_node, state.n_watches, state.n_refused};
}

struct watches_state watches_state(const struct watches *watches, unsigned i)
{
	const struct follow *follow = &watches->follows[i];

	assert(i < INVENTORY_N_KINDS);
	if (is_off(follow))
		return state_by_node(watches);
	return (struct watches_state){
		.name = follow->kind->name,
		.trouble = reflector_trouble(follow->reflector),
		.synced = inventory_is_synced(watches->inventory, follow->inventory_kind),
		.followed = follow->is_followed,
		.tolerated = is_tolerated(follow),
		.counters = reflector_counters(follow->reflector),
	};
}

struct watches_state watches_configs_state(const struct watches *watches)
{
	const struct config_watch_state state = config_watch_state(watches->configs);

	return (struct watches_state){
		.name = "configmaps",
		.trouble = state.trouble,
		.synced = config_watch_is_settled(watches->configs),
		.followed = state.n_followed == state.n_named,
		.tolerated = true,
		.counters = state.counters,
	};
}
