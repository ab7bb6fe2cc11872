/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/watches.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/sbuf.h"
#include "schema/attribution_doc.h"
#include "schema/node_doc.h"
#include "schema/pod_doc.h"
#include "schema/policy_doc.h"
#include "schema/resource_claim_doc.h"
#include "schema/resource_slice_doc.h"

/*
 * One row a resource. The rows differ in how an object's bytes become a record. The order of
 * events, versions and replaces is the same for all, and is decided before decoding. So an object
 * that is older than what the inventory has is not even decoded.
 *
 * Pods without a node cannot hold a device, and the server spares us their events.
 *
 * Dynamic resource allocation is one witness among several, and many clusters have none of it. If
 * the server has no resource.k8s.io/v1, there is nothing to know. If we may not read it (rules of
 * an older release), everything else goes on, and readiness and metrics say what is missing.
 */

#define FORBIDDEN_MS 5000u /* an API server that has just started may refuse for a moment */

struct follow;
typedef int (*put_fn)(struct follow *follow, enum store_change change, uint64_t version,
		      struct view document, struct error *err);

/* What the controller does without a resource. */
enum need {
	NEEDED,      /* it waits, and readiness says so */
	MAY_BE_ABSENT, /* the server need not have it (its definition is not installed) */
	MAY_BE_DENIED, /* nor need we be allowed to read it */
};

struct kind {
	const char *name;
	struct resource resource;
	put_fn put;
	enum need need;
};

struct follow {
	struct watches *watches;
	const struct kind *kind;
	enum inventory_kind inventory_kind;
	struct reflector *reflector;
	struct sbuf key; /* "namespace/name", used again for each object */
	bool is_followed;
	bool is_given_up;    /* its watch has been away for too long to wait for it */
	enum inventory_age age;
	uint64_t changed_at; /* ms; when is_followed did last */
	uint64_t lost_at;    /* the same, or the end of the first list, by answering_ms() */
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
};

static int put_pod(struct follow *follow, enum store_change change, uint64_t version,
		   struct view document, struct error *err)
{
	struct pod_fields fields;

	if (pod_doc_decode(document, &fields, err) < 0)
		return -1;
	return inventory_put_pod(follow->watches->inventory, &fields, change, version,
				 loop_now_ms(follow->watches->loop), err);
}

static int put_node(struct follow *follow, enum store_change change, uint64_t version,
		    struct view document, struct error *err)
{
	struct node node;

	if (node_doc_decode(document, &node, err) < 0)
		return -1;
	return inventory_put_node(follow->watches->inventory, &node, change, version, err);
}

static int put_policy(struct follow *follow, enum store_change change, uint64_t version,
		      struct view document, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct policy policy;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (policy_doc_decode(document, &arena, &policy, err) < 0)
		return -1;
	return inventory_put_policy(follow->watches->inventory, &policy, change, version, err);
}

static int put_attribution(struct follow *follow, enum store_change change, uint64_t version,
			   struct view document, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct attribution attribution;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (attribution_doc_decode(document, &arena, &attribution, err) < 0)
		return -1;
	return inventory_put_attribution(follow->watches->inventory, &attribution, &arena, change,
					 version, err);
}

static int put_resource_claim(struct follow *follow, enum store_change change, uint64_t version,
			      struct view document, struct error *err)
{
	struct resource_claim_fields fields;

	if (resource_claim_doc_decode(document, &fields, err) < 0)
		return -1;
	return inventory_put_resource_claim(follow->watches->inventory, &fields, change, version,
					    err);
}

static int put_resource_slice(struct follow *follow, enum store_change change, uint64_t version,
			      struct view document, struct error *err)
{
	struct resource_slice_fields fields;

	if (resource_slice_doc_decode(document, &fields, err) < 0)
		return -1;
	return inventory_put_resource_slice(follow->watches->inventory, &fields, change, version,
					    err);
}

static const struct kind kinds[INVENTORY_N_KINDS] = {
	[INVENTORY_PODS] = {
		"pods",
		{"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, "spec.nodeName!="},
		put_pod,
		NEEDED,
	},
	[INVENTORY_NODES] = {
		"nodes",
		{"", "v1", "nodes", "Node", RESOURCE_PROTOBUF, NULL},
		put_node,
		NEEDED,
	},
	[INVENTORY_POLICIES] = {
		"clusterpolicies",
		{"nvidia.com", "v1", "clusterpolicies", "ClusterPolicy", RESOURCE_JSON, NULL},
		put_policy,
		MAY_BE_ABSENT,
	},
	[INVENTORY_ATTRIBUTIONS] = {
		"gpuattributions",
		{"gpuattribution.dev", "v1alpha1", "gpuattributions", "GPUAttribution",
		 RESOURCE_JSON, NULL},
		put_attribution,
		NEEDED,
	},
	[INVENTORY_RESOURCE_CLAIMS] = {
		"resourceclaims",
		{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", RESOURCE_PROTOBUF,
		 NULL},
		put_resource_claim,
		MAY_BE_DENIED,
	},
	[INVENTORY_RESOURCE_SLICES] = {
		"resourceslices",
		{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", RESOURCE_PROTOBUF,
		 NULL},
		put_resource_slice,
		MAY_BE_DENIED,
	},
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

static int take_object(void *owner, enum reflector_change change, const struct object_meta *meta,
		       struct view document, struct error *err)
{
	struct follow *follow = owner;
	struct inventory *inventory = follow->watches->inventory;
	struct view key;

	if (make_key(follow, meta, err) < 0)
		return -1;
	key = sbuf_view(&follow->key);
	if (change == REFLECTOR_DELETE) {
		inventory_remove(inventory, follow->inventory_kind, key, meta->version,
				 loop_now_ms(follow->watches->loop));
		return 0;
	}
	if (!inventory_wants(inventory, follow->inventory_kind, key, changes[change],
			     meta->version))
		return 0;
	return follow->kind->put(follow, changes[change], meta->version, document, err);
}

static void begin_replace(void *owner)
{
	struct follow *follow = owner;

	inventory_begin_replace(follow->watches->inventory, follow->inventory_kind);
}

static void set_absent(void *owner)
{
	struct follow *follow = owner;

	inventory_set_absent(follow->watches->inventory, follow->inventory_kind);
}

/* Is the inventory current? */

/*
 * What we may not read is not waited for, and is not taken for empty either: the inventory says
 * that it is not known.
 */
static bool is_tolerated(const struct follow *follow)
{
	return follow->kind->need == MAY_BE_DENIED && reflector_is_denied(follow->reflector);
}

/* The first join did not wait for it either: what it would tell is not known. */
static bool is_never_read(const struct follow *follow)
{
	return follow->kind->need == MAY_BE_DENIED &&
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

/* A clock that stands still while the API server is away. */
static uint64_t answering_ms(const struct watches *watches, uint64_t now)
{
	return watches->answered_ms + (watches->is_away ? 0 : now - watches->away_changed_at);
}

/* Where there are neither claims nor slices nothing rests on them, and the first ones are news. */
static bool is_unused(const struct follow *follow)
{
	const struct inventory *inventory = follow->watches->inventory;

	return follow->kind->need == MAY_BE_DENIED &&
	       inventory_count(inventory, INVENTORY_RESOURCE_CLAIMS) == 0 &&
	       inventory_count(inventory, INVENTORY_RESOURCE_SLICES) == 0;
}

/* In how many ms a watch that is away is no longer waited for. Before the first state nothing is
 * written, and where nothing rests on it nobody waits. */
static uint64_t given_up_in(const struct follow *follow, uint64_t now)
{
	const struct watches *watches = follow->watches;
	uint64_t waited = answering_ms(watches, now) - follow->lost_at;

	if (!inventory_is_synced(watches->inventory, follow->inventory_kind) || watches->is_away ||
	    is_unused(follow))
		return UINT64_MAX;
	return waited < WATCHES_WAIT_MS ? WATCHES_WAIT_MS - waited : 0;
}

/*
 * A write names the version of the object that it replaces, so what is not known of GPUAttributions
 * does no harm; a ClusterPolicy tells of a namespace only. After a restart of the API server both are
 * a second later than the others.
 */
static bool is_rested_upon(const struct follow *follow)
{
	return follow->inventory_kind != INVENTORY_ATTRIBUTIONS &&
	       follow->inventory_kind != INVENTORY_POLICIES;
}

static bool is_awaited(const struct follow *follow, uint64_t now)
{
	return is_rested_upon(follow) && !follow->is_given_up && !is_never_read(follow) &&
	       !is_unused(follow) && now < current_at(follow);
}

bool watches_allow_writes(const struct watches *watches)
{
	uint64_t now = loop_now_ms(watches->loop);

	if (apiclient_is_doubtful(watches->client))
		return false;
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		if (is_awaited(&watches->follows[i], now))
			return false;
	return true;
}

/* What was denied stays so until it is current: a change of the age is a write for each device. */
static enum inventory_age age_of(const struct follow *follow)
{
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

static void set_followed(void *owner, bool is_followed)
{
	struct follow *follow = owner;

	uint64_t now = loop_now_ms(follow->watches->loop);

	follow->is_followed = is_followed;
	follow->changed_at = now;
	follow->lost_at = answering_ms(follow->watches, now);
	look(follow->watches);
}

static void end_replace(void *owner)
{
	struct follow *follow = owner;
	struct inventory *inventory = follow->watches->inventory;
	uint64_t now = loop_now_ms(follow->watches->loop);

	if (!inventory_is_synced(inventory, follow->inventory_kind))
		follow->lost_at = answering_ms(follow->watches, now); /* its watch is, so to say */
	inventory_end_replace(inventory, follow->inventory_kind, now);
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
	bool may_be_absent = follow->kind->need != NEEDED;
	const struct reflector_config reflector = {
		.resource = &follow->kind->resource,
		.initial = config->initial,
		.page_size = 500,
		.absent_retry_ms = may_be_absent ? 30000 : 2000,
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
	watches->changed = config->changed;
	watches->owner = config->owner;
	watches->away_changed_at = loop_now_ms(loop);
	if (loop_timer_new(loop, on_timer, watches, &watches->timer, err) < 0)
		return -1;
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		struct follow *follow = &watches->follows[i];

		follow->watches = watches;
		follow->kind = &kinds[i];
		follow->inventory_kind = (enum inventory_kind)i;
		follow->changed_at = watches->away_changed_at;
		sbuf_init(&follow->key, LIMIT_URL);
		if (follow_start(follow, client, config, err) < 0)
			return -1;
	}
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
	loop_timer_free(watches->timer);
	free(watches);
}

bool watches_are_synced(const struct watches *watches)
{
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		const struct follow *follow = &watches->follows[i];

		if (!inventory_is_synced(watches->inventory, follow->inventory_kind) &&
		    !is_tolerated(follow))
			return false;
	}
	return true;
}

const char *watches_server_trouble(const struct watches *watches)
{
	return apiclient_trouble(watches->client);
}

struct watches_state watches_state(const struct watches *watches, unsigned i)
{
	const struct follow *follow = &watches->follows[i];

	assert(i < INVENTORY_N_KINDS);
	return (struct watches_state){
		.name = follow->kind->name,
		.trouble = reflector_trouble(follow->reflector),
		.synced = inventory_is_synced(watches->inventory, follow->inventory_kind),
		.followed = follow->is_followed,
		.tolerated = is_tolerated(follow),
		.counters = reflector_counters(follow->reflector),
	};
}
