/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A reflector cannot be stopped from within a callback of another, and the policies arrive in such. So
 * the look at what they name is taken from a timer.
 *
 * What is known of a ConfigMap comes from two sides: what was last told of it, and whether more would be
 * told. It counts as last told while both are well.
 */

#include "controller/config_watch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "controller/config_put.h"
#include "model/record_set.h"

#define RETRY_MS 1000u
#define POLL_MS 200u /* a refusal of the first list is told by nobody */

struct follow {
	struct config_watch *watch;
	enum intent_config config;
	char namespace[LIMIT_TEXT_LABEL + 1];
	char name[LIMIT_TEXT_NAME + 1]; /* of NODE_LAYOUTS the component, by which they are found */
	char selector[LIMIT_TEXT_NAME + 32];
	struct resource resource;
	struct reflector *reflector; /* NULL: nothing is followed */
	struct loop_timer *timer;    /* when it is waited for no longer */
	bool is_known;               /* something was told: */
	bool is_there;               /* it exists, */
	bool is_refused;             /* and could not be read, */
	enum intent_config_why why;  /* for that reason */
	bool is_listed;              /* it was in the list under way */
	bool is_given_up, is_followed;
};

struct config_watch {
	struct loop *loop;
	struct apiclient *client;
	struct inventory *inventory;
	struct reflector_config config;
	struct loop_timer *timer; /* for the next look, */
	struct loop_timer *poll;  /* and for asking until it is settled */
	void (*told)(void *owner); /* or NULL */
	void *owner;
	struct reflector_counters ended; /* of reflectors that are no more */
	struct follow follows[INTENT_N_CONFIGS];
};

static void tell(const struct config_watch *watch)
{
	if (watch->told)
		watch->told(watch->owner);
}

/* What is known */

/* What cannot be followed says so for longer than what cannot be decoded. */
static enum intent_config_why why_unreadable(const struct follow *follow)
{
	if (follow->reflector && reflector_is_denied(follow->reflector))
		return INTENT_CONFIG_NO_RIGHT;
	if (follow->is_given_up)
		return INTENT_CONFIG_NO_ANSWER;
	return follow->is_refused ? follow->why : INTENT_CONFIG_NOT_YET;
}

static void tell_state(struct follow *follow)
{
	struct inventory *inventory = follow->watch->inventory;

	if (!follow->is_known || follow->is_given_up || follow->is_refused)
		inventory_set_config_state(inventory, follow->config, INTENT_CONFIG_UNREADABLE,
					   why_unreadable(follow));
	else
		inventory_set_config_state(inventory, follow->config,
					   follow->is_there ? INTENT_CONFIG_THERE : INTENT_CONFIG_MISSING,
					   INTENT_CONFIG_NOT_YET);
	tell(follow->watch);
}

static bool is_of_nodes(const struct follow *follow)
{
	return follow->config == INTENT_NODE_LAYOUTS;
}

static struct record_set *layouts_of(const struct follow *follow)
{
	return inventory_node_layouts(follow->watch->inventory);
}

static void end_list_of_nodes(const struct follow *follow)
{
	record_set_sweep(layouts_of(follow), &(struct record_event){.change = STORE_DELETE});
}

/* One that cannot be read concerns no other node: it is put as such. */
static int take_of_node(struct follow *follow, enum reflector_change change,
			const struct object_meta *meta, struct view document, struct error *err)
{
	if (change == REFLECTOR_DELETE) {
		record_set_delete(layouts_of(follow), meta->name,
				  &(struct record_event){.change = STORE_DELETE, .version = meta->version});
		return 0;
	}
	return config_put_node_layouts(layouts_of(follow), meta, document,
				       change == REFLECTOR_LISTED ? STORE_LISTED : STORE_UPSERT, err);
}

static int take(struct follow *follow, struct view document, struct error *err)
{
	int failed = config_put(follow->watch->inventory, follow->config, document, err);

	if (failed && err->kind != ERROR_REJECTED && err->kind != ERROR_LIMIT)
		return -1;
	follow->is_listed = true;
	follow->is_there = true;
	follow->is_refused = failed != 0;
	follow->why = failed && err->kind == ERROR_LIMIT ? INTENT_CONFIG_TOO_LARGE
							 : INTENT_CONFIG_MALFORMED;
	if (failed)
		LOG_WARN("ConfigMap not read", LOG_TEXT("name", view_from(follow->name)),
			 LOG_TEXT("namespace", view_from(follow->namespace)), LOG_ERROR_FIELD(err));
	return failed;
}

static void lose(struct follow *follow)
{
	follow->is_there = false;
	follow->is_refused = false;
}

/* The sink of its reflector */

static bool is_meant(const struct follow *follow, const struct object_meta *meta)
{
	return (is_of_nodes(follow) || view_equal(meta->name, view_from(follow->name))) &&
	       view_equal(meta->namespace, view_from(follow->namespace));
}

static int take_object(void *owner, enum reflector_change change, const struct object_meta *meta,
		       struct view document, struct error *err)
{
	struct follow *follow = owner;
	int failed = 0;

	if (!is_meant(follow, meta))
		return 0;
	if (is_of_nodes(follow))
		return take_of_node(follow, change, meta, document, err);
	if (change == REFLECTOR_DELETE)
		lose(follow);
	else
		failed = take(follow, document, err);
	if (failed && err->kind != ERROR_REJECTED && err->kind != ERROR_LIMIT)
		return -1;
	follow->is_known = true;
	tell_state(follow);
	return failed;
}

static void begin_replace(void *owner)
{
	struct follow *follow = owner;

	follow->is_listed = is_of_nodes(follow);
	if (is_of_nodes(follow))
		store_begin_replace(&layouts_of(follow)->store);
}

/* Of nodes there may be none: that, too, is known then. */
static void end_replace(void *owner)
{
	struct follow *follow = owner;

	if (is_of_nodes(follow))
		end_list_of_nodes(follow);
	follow->is_there |= is_of_nodes(follow);
	if (!follow->is_listed)
		lose(follow);
	follow->is_known = true;
	tell_state(follow);
}

static void set_absent(void *owner)
{
	begin_replace(owner);
	end_replace(owner);
}

/* What is refused is not followed either. */
static void set_followed(void *owner, bool is_followed)
{
	struct follow *follow = owner;

	follow->is_followed = is_followed;
	if (!is_followed) {
		loop_timer_set(follow->timer, CONFIG_WATCH_WAIT_MS);
		return;
	}
	loop_timer_clear(follow->timer);
	follow->is_given_up = false;
	tell_state(follow);
}

static void on_waited(void *owner)
{
	struct follow *follow = owner;

	if (apiclient_is_away(follow->watch->client)) {
		loop_timer_set(follow->timer, CONFIG_WATCH_WAIT_MS);
		return;
	}
	follow->is_given_up = true;
	tell_state(follow);
}

/* Begin and end */

static void add_counters(struct reflector_counters *sum, const struct reflector *reflector)
{
	struct reflector_counters counters = reflector_counters(reflector);

	sum->lists += counters.lists;
	sum->watches += counters.watches;
	sum->relists_expired += counters.relists_expired;
	sum->events += counters.events;
	sum->bookmarks += counters.bookmarks;
	sum->objects_refused += counters.objects_refused;
	sum->failures += counters.failures;
	sum->stale_rewinds += counters.stale_rewinds;
}

/* Nothing is known of it any more. */
static void stop(struct follow *follow)
{
	if (follow->reflector) {
		apiclient_stop(follow->watch->client, follow->reflector);
		add_counters(&follow->watch->ended, follow->reflector);
		reflector_free(follow->reflector);
		follow->reflector = NULL;
	}
	if (is_of_nodes(follow)) {
		store_begin_replace(&layouts_of(follow)->store);
		end_list_of_nodes(follow);
	}
	loop_timer_clear(follow->timer);
	follow->is_known = follow->is_there = follow->is_refused = false;
	follow->is_given_up = follow->is_followed = false;
	follow->namespace[0] = '\0';
	follow->name[0] = '\0';
}

static void set_denied(void *owner, bool is_denied)
{
	(void)is_denied;
	tell_state(owner);
}

static int start_reflector(struct follow *follow, struct error *err)
{
	const struct reflector_sink sink = {
		.owner = follow,
		.replace_begin = begin_replace,
		.replace_end = end_replace,
		.object = take_object,
		.absent = set_absent,
		.denied = set_denied,
		.followed = set_followed,
	};
	struct reflector_config config = follow->watch->config;

	config.resource = &follow->resource;
	config.seed += (uint64_t)follow->config;
	if (reflector_new(&config, &sink, &follow->reflector, err) < 0)
		return -1;
	return apiclient_run(follow->watch->client, follow->reflector, err);
}

static void start(struct follow *follow, struct view namespace, struct view name)
{
	struct error error = {0};

	stop(follow);
	snprintf(follow->namespace, sizeof(follow->namespace), "%.*s", VIEW_ARG(namespace));
	snprintf(follow->name, sizeof(follow->name), "%.*s", VIEW_ARG(name));
	snprintf(follow->selector, sizeof(follow->selector), "%s=%s",
		 is_of_nodes(follow) ? MIG_CONFIG_COMPONENT_LABEL : "metadata.name", follow->name);
	follow->resource = (struct resource){
		.group = "",
		.version = "v1",
		.plural = "configmaps",
		.kind = "ConfigMap",
		.encoding = RESOURCE_PROTOBUF,
		.field_selector = is_of_nodes(follow) ? NULL : follow->selector,
		.label_selector = is_of_nodes(follow) ? follow->selector : NULL,
		.namespace = follow->namespace,
	};
	if (start_reflector(follow, &error) < 0) {
		LOG_WARN("ConfigMap not followed", LOG_TEXT("name", name), LOG_ERROR_FIELD(&error));
		stop(follow);
		loop_timer_set(follow->watch->timer, RETRY_MS);
	} else {
		LOG_INFO("Following a ConfigMap", LOG_TEXT("name", name),
			 LOG_TEXT("namespace", namespace));
		loop_timer_set(follow->timer, CONFIG_WATCH_WAIT_MS);
	}
}

/* What the policy names */

/* Of a name that may be an object's, which is also none that a field selector reads otherwise. */
static bool is_name(struct view text, size_t limit, bool has_dots)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
		      (has_dots && c == '.')))
			return false;
	}
	return text.len > 0 && text.len <= limit;
}

static void follow_nothing(struct follow *follow, enum intent_config_state state)
{
	stop(follow);
	inventory_set_config_state(follow->watch->inventory, follow->config, state, INTENT_CONFIG_NOT_YET);
}

static void follow_nowhere(struct follow *follow)
{
	stop(follow);
	inventory_set_config_state(follow->watch->inventory, follow->config, INTENT_CONFIG_UNREADABLE,
				   INTENT_CONFIG_NO_PLACE);
}

static void look_at(struct follow *follow, struct view namespace, struct view name)
{
	if (name.len == 0)
		follow_nothing(follow, INTENT_CONFIG_NONE);
	else if (!is_name(namespace, LIMIT_TEXT_LABEL, false))
		follow_nowhere(follow);
	else if (!is_name(name, LIMIT_TEXT_NAME, true))
		follow_nothing(follow, INTENT_CONFIG_MISSING);
	else if (!view_equal(name, view_from(follow->name)) ||
		 !view_equal(namespace, view_from(follow->namespace)))
		start(follow, namespace, name);
	if (follow->name[0])
		tell_state(follow);
}

static void on_poll(void *owner)
{
	struct config_watch *watch = owner;

	for (unsigned i = 0; i < INTENT_N_CONFIGS; i++)
		if (watch->follows[i].reflector)
			tell_state(&watch->follows[i]);
	if (!config_watch_is_settled(watch))
		loop_timer_set(watch->poll, POLL_MS);
	tell(watch);
}

static void on_look(void *owner)
{
	struct config_watch *watch = owner;
	const struct policy none = {0}, *policy = inventory_parts(watch->inventory).intent->policy;
	const struct view mig_config = policy ? policy_mig_config(policy) : (struct view){0};
	const bool may_make = policy && policy_may_make_layouts(policy);

	if (!policy)
		policy = &none;
	look_at(&watch->follows[INTENT_PLUGIN_CONFIG], policy->namespace, policy->plugin_config);
	look_at(&watch->follows[INTENT_MIG_CONFIG], policy->namespace, mig_config);
	look_at(&watch->follows[INTENT_NODE_LAYOUTS], policy->namespace,
		may_make ? VIEW(MIG_CONFIG_COMPONENT) : (struct view){0});
	on_poll(watch);
}

void config_watch_on_told(struct config_watch *watch, void (*told)(void *owner), void *owner)
{
	watch->told = told;
	watch->owner = owner;
}

void config_watch_look(struct config_watch *watch)
{
	loop_timer_set(watch->timer, 0);
}

bool config_watch_is_settled(const struct config_watch *watch)
{
	if (loop_timer_is_set(watch->timer))
		return false;
	for (unsigned i = 0; i < INTENT_N_CONFIGS; i++) {
		const struct follow *follow = &watch->follows[i];

		if (follow->reflector && !follow->is_known && !follow->is_given_up &&
		    !reflector_is_denied(follow->reflector))
			return false;
	}
	return true;
}

struct config_watch_state config_watch_state(const struct config_watch *watch)
{
	struct config_watch_state state = {.trouble = "", .counters = watch->ended};

	for (unsigned i = 0; i < INTENT_N_CONFIGS; i++) {
		const struct follow *follow = &watch->follows[i];

		if (!follow->reflector)
			continue;
		state.n_named++;
		state.n_followed += follow->is_followed;
		add_counters(&state.counters, follow->reflector);
		if (reflector_trouble(follow->reflector)[0])
			state.trouble = reflector_trouble(follow->reflector);
	}
	return state;
}

static void config_watch_freep(struct config_watch **watch)
{
	config_watch_free(*watch);
}

int config_watch_new(struct loop *loop, struct apiclient *client, struct inventory *inventory,
		     const struct reflector_config *config, struct config_watch **ret_watch,
		     struct error *err)
{
	CLEANUP(config_watch_freep) struct config_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return error_no_memory(err);
	watch->loop = loop;
	watch->client = client;
	watch->inventory = inventory;
	watch->config = *config;
	if (loop_timer_new(loop, on_look, watch, &watch->timer, err) < 0 ||
	    loop_timer_new(loop, on_poll, watch, &watch->poll, err) < 0)
		return -1;
	for (unsigned i = 0; i < INTENT_N_CONFIGS; i++) {
		watch->follows[i].watch = watch;
		watch->follows[i].config = (enum intent_config)i;
		if (loop_timer_new(loop, on_waited, &watch->follows[i], &watch->follows[i].timer,
				   err) < 0)
			return -1;
	}
	*ret_watch = TAKE(watch);
	return 0;
}

void config_watch_free(struct config_watch *watch)
{
	if (!watch)
		return;
	for (unsigned i = 0; i < INTENT_N_CONFIGS; i++) {
		reflector_free(watch->follows[i].reflector);
		loop_timer_free(watch->follows[i].timer);
	}
	loop_timer_free(watch->timer);
	loop_timer_free(watch->poll);
	free(watch);
}
