/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One log of events serves all watches; what stands in it is the object as of then. A list is taken
 * when the request arrives and sent some time later, as a real one is.
 *
 * What the controller has been told of pods is noted when the last byte of it was given to it.
 */

#include "sim/apiserver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sbuf.h"
#include "lib/kube_bytes.h"
#include "sim/attributions.h"
#include "sim/cause.h"
#include "sim/check.h"
#include "sim/claims.h"
#include "sim/clockwork.h"
#include "sim/forms.h"
#include "sim/looks.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/objects.h"
#include "sim/policies.h"
#include "sim/prompt.h"
#include "sim/told.h"

#define CAP (8u << 20)
#define STANDS_MS 3000u /* in which all watches are back with a server, mostly */
#define BOOKMARK_MS 60000u
#define CUT_MS 25000u /* without an acknowledgement TCP gives up */

struct entry {
	uint64_t version;
	enum apiserver_kind kind;
	const char *type;
	int pod;      /* index, or -1 */
	int node;     /* index, or -1 */
	bool is_over; /* the pod is */
	int slice;    /* of the node: its index + 1, or 0 */
	int generation; /* of the slice; 0: it is gone */
	int boot;       /* that the node names; 0: it is gone */
	int place;      /* of a pod: the node that it is on */
	bool is_labelled; /* the node shows a GPU */
	char *message;
	size_t len;
};

struct watch {
	struct watch *next;
	struct fetch *fetch;
	enum apiserver_kind kind;
	int place;     /* the node whose pods it tells; -1: it tells all */
	uint64_t sent; /* version */
	uint64_t late_until; /* nothing arrives before */
	bool cut;
};

struct listing {
	struct fetch *fetch;
	enum apiserver_kind kind;
	int place; /* the node whose pods it has; -1: it has all */
	uint64_t taken_at;
	int boots[WORLD_MAX_NODES]; /* that the nodes name; 0: it is not in it */
	bool are_labelled[WORLD_MAX_NODES];
	int slices[WORLD_MAX_NODES][WORLD_MAX_SLICES]; /* generations of those that are in it */
	struct sbuf body;
};

static const struct resource resources[APISERVER_N_KINDS] = {
	[APISERVER_PODS] = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL},
	[APISERVER_NODES] = {"", "v1", "nodes", "Node", RESOURCE_PROTOBUF, NULL},
	[APISERVER_POLICIES] = {"nvidia.com", "v1", "clusterpolicies", "ClusterPolicy",
				RESOURCE_JSON, NULL},
	[APISERVER_ATTRIBUTIONS] = {"gpuattribution.dev", "v1alpha1", "gpuattributions",
				    "GPUAttribution", RESOURCE_JSON, NULL},
	[APISERVER_CLAIMS] = {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim",
			      RESOURCE_PROTOBUF, NULL},
	[APISERVER_SLICES] = {"resource.k8s.io", "v1", "resourceslices", "ResourceSlice",
			      RESOURCE_PROTOBUF, NULL},
	[APISERVER_CLUSTERS] = {"nvidia.com", "v1alpha1", "gpuclusters", "GPUCluster", RESOURCE_JSON,
				NULL},
	[APISERVER_CONFIGS] = {"", "v1", "configmaps", "ConfigMap", RESOURCE_PROTOBUF, NULL},
};

static const char *const paths[APISERVER_N_KINDS] = {
	"/api/v1/pods", "/api/v1/nodes", "/apis/nvidia.com/v1/clusterpolicies",
	"/apis/gpuattribution.dev/v1alpha1/gpuattributions",
	"/apis/resource.k8s.io/v1/resourceclaims", "/apis/resource.k8s.io/v1/resourceslices",
	"/apis/nvidia.com/v1alpha1/gpuclusters", "/api/v1/namespaces/ml/configmaps"};

static struct entry *entries;
static size_t n_entries, n_allocated;
static uint64_t version, oldest;
static struct watch *watches;
static bool has_policy;
static bool pod_is_known[WORLD_MAX_PODS], node_is_known[WORLD_MAX_NODES];
static bool claim_is_known[WORLD_MAX_CLAIMS];
static uint64_t slice_version[WORLD_MAX_NODES][WORLD_MAX_SLICES]; /* 0: there is none */
static uint64_t spoilt_until[APISERVER_N_FAULTS], held_until[APISERVER_N_KINDS];
static bool cut_list[APISERVER_N_KINDS];
static uint64_t denied_until[APISERVER_N_KINDS];
static int denied_with[APISERVER_N_KINDS];
static uint64_t unready_until;
static uint64_t parted_from, parted_until, parted_late; /* until then, and what lags behind */
static bool is_parting_noticed; /* a request of the controller's has failed since */
static bool pods_are_denied; /* nobody has watched them since they were */

/* What is wrong with the pods of one node alone. */
static struct {
	uint64_t until[APISERVER_N_NODE_FAULTS];
	uint64_t oldest; /* version */
} of_nodes[WORLD_MAX_NODES];
static uint64_t some_throttled_until; /* of those that ask for the pods of one node */

static void send_list(void *owner, uint64_t number);

static void drop_listing(void *owner)
{
	struct listing *listing = owner;

	sbuf_deinit(&listing->body);
	free(listing);
}

void apiserver_reset(void)
{
	clockwork_on_drop(send_list, drop_listing);
	attributions_reset();
	version = 100;
	oldest = 0;
	has_policy = false;
	memset(pod_is_known, 0, sizeof(pod_is_known));
	memset(node_is_known, 0, sizeof(node_is_known));
	memset(claim_is_known, 0, sizeof(claim_is_known));
	memset(slice_version, 0, sizeof(slice_version));
	memset(spoilt_until, 0, sizeof(spoilt_until));
	memset(held_until, 0, sizeof(held_until));
	memset(cut_list, 0, sizeof(cut_list));
	memset(denied_until, 0, sizeof(denied_until));
	pods_are_denied = false;
	memset(of_nodes, 0, sizeof(of_nodes));
	some_throttled_until = 0;
	looks_reset();
	unready_until = 0;
	parted_until = 0;
	parted_late = 0;
	is_parting_noticed = false;
}

static void free_watches(void)
{
	while (watches) {
		struct watch *watch = watches;

		watches = watch->next;
		free(watch);
	}
}

void apiserver_clear(void)
{
	for (size_t i = 0; i < n_entries; i++)
		free(entries[i].message);
	free(entries);
	entries = NULL;
	n_entries = 0;
	n_allocated = 0;
	attributions_clear();
	free_watches();
}

bool apiserver_is_spoilt(enum apiserver_fault fault)
{
	return clockwork_now() < spoilt_until[fault];
}

void apiserver_spoil(enum apiserver_fault fault, uint64_t until)
{
	spoilt_until[fault] = until;
}

bool apiserver_is_up(void)
{
	return !apiserver_is_spoilt(APISERVER_REFUSES) && !apiserver_is_spoilt(APISERVER_HANGS) &&
	       !apiserver_is_spoilt(APISERVER_BREAKS) && clockwork_now() >= unready_until;
}

void apiserver_hold(enum apiserver_kind kind, uint64_t until)
{
	held_until[kind] = until;
}

/* What the controller was told */

static void tell_pod(int index, bool is_over)
{
	struct world_pod *pod = &world.pods[index];

	if (pod->known_at == WORLD_NEVER)
		pod->known_at = clockwork_now();
	if (is_over && pod->end_known_at == WORLD_NEVER)
		pod->end_known_at = clockwork_now();
	prompt_told(pod);
}

/* boot: that it names; 0: it is gone. */
static void tell_node(int index, int boot, bool is_labelled)
{
	struct world_node *node = &world.nodes[index];

	forms_told_node(index, is_labelled);
	if (boot > 0) {
		node->there_told_at = clockwork_now();
		node->gone_told_at = WORLD_NEVER;
		if (boot == node->boot && node->boot_told_at == WORLD_NEVER)
			node->boot_told_at = clockwork_now();
	} else if (node->gone_told_at == WORLD_NEVER) {
		node->gone_told_at = clockwork_now();
	}
}

static void tell_nodes(const struct listing *listing)
{
	for (int i = 0; i < world.n_nodes; i++)
		tell_node(i, listing->boots[i], listing->are_labelled[i]);
}

static bool is_whole_told(const struct world_pool *pool)
{
	for (int i = 0; i < pool->slice_count; i++)
		if (pool->slices[i].told_generation != pool->generation)
			return false;
	return pool->slice_count > 0;
}

static void tell_slice(int node, int slice, int generation)
{
	struct world_pool *pool = &world.pools[node];

	pool->slices[slice].told_generation = generation;
	if (pool->whole_told_at == WORLD_NEVER && is_whole_told(pool))
		pool->whole_told_at = clockwork_now();
}

static void tell_slices(int generations[static WORLD_MAX_NODES][WORLD_MAX_SLICES])
{
	for (int node = 0; node < world.n_nodes; node++)
		for (int i = 0; i < WORLD_MAX_SLICES; i++)
			tell_slice(node, i, generations[node][i]);
}

static void tell_list(uint64_t taken_at, int place)
{
	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];

		if (place >= 0 && pod->node != place)
			continue;
		if (pod->created_at <= taken_at && pod->over_at <= taken_at)
			tell_pod(i, true);
		else if (pod->created_at <= taken_at && pod->shown_at <= taken_at)
			tell_pod(i, false);
	}
}

void apiserver_forget_told(void)
{
	forms_forget_told();
	for (int i = 0; i < world.n_pods; i++) {
		world.pods[i].known_at = WORLD_NEVER;
		world.pods[i].end_known_at = WORLD_NEVER;
	}
	for (int i = 0; i < world.n_nodes; i++) {
		world.nodes[i].gone_told_at = WORLD_NEVER;
		world.nodes[i].boot_told_at = WORLD_NEVER;
	}
	for (int i = 0; i < world.n_nodes; i++) {
		world.pools[i].whole_told_at = WORLD_NEVER;
		for (int k = 0; k < WORLD_MAX_SLICES; k++)
			world.pools[i].slices[k].told_generation = 0;
	}
}

/* Watches */

static const char *api_version(enum apiserver_kind kind)
{
	return kind == APISERVER_CLAIMS || kind == APISERVER_SLICES ? "resource.k8s.io/v1" : "v1";
}

static bool is_for(const struct watch *watch, const struct entry *entry)
{
	return watch->kind == entry->kind && (watch->place < 0 || watch->place == entry->place);
}

static void frame(const struct entry *entry, struct sbuf *out)
{
	const struct resource *resource = &resources[entry->kind];
	const struct view message = {entry->message, entry->len};
	struct sbuf envelope;

	if (resource->encoding == RESOURCE_JSON) {
		kube_bytes_event_of(out, RESOURCE_JSON, entry->type, message);
		return;
	}
	sbuf_init(&envelope, CAP);
	kube_bytes_envelope(&envelope, api_version(entry->kind), resource->kind, message);
	kube_bytes_event_of(out, RESOURCE_PROTOBUF, entry->type, sbuf_view(&envelope));
	sbuf_deinit(&envelope);
}

/* Sends bytes in one or two parts. */
static bool feed(struct fetch *fetch, struct view bytes)
{
	size_t first = world_chance(20) ? world_between(0, bytes.len) : bytes.len;

	if (first > 0 && !net_feed(fetch, (struct view){bytes.ptr, first}))
		return false;
	return first == bytes.len || net_feed(fetch, view_from_offset(bytes, first));
}

/* Before the last byte: what has come as a whole would have been told. */
static void break_off(struct fetch *fetch, struct view bytes)
{
	size_t first = world_between(0, bytes.len);

	if (first == bytes.len && first > 0)
		first--;
	if (first > 0 && !net_feed(fetch, (struct view){bytes.ptr, first}))
		return;
	if (world_chance(50))
		net_end(fetch);
	else
		net_fail(fetch, "transfer closed");
}

static bool send_entry(struct watch *watch, const struct entry *entry)
{
	bool is_new = entry->version > watch->sent; /* what is repeated tells nothing */
	struct sbuf bytes;
	bool goes_on = false;

	sbuf_init(&bytes, CAP);
	frame(entry, &bytes);
	if (watch->cut) {
		break_off(watch->fetch, sbuf_view(&bytes));
	} else if (feed(watch->fetch, sbuf_view(&bytes))) {
		goes_on = true;
		watch->sent = entry->version;
		if (is_new && entry->pod >= 0)
			tell_pod(entry->pod, entry->is_over);
		if (is_new && entry->slice > 0)
			tell_slice(entry->node, entry->slice - 1, entry->generation);
		else if (is_new && entry->node >= 0)
			tell_node(entry->node, entry->boot, entry->is_labelled);
	}
	if (goes_on && apiserver_is_spoilt(APISERVER_DOUBLES))
		goes_on = net_feed(watch->fetch, sbuf_view(&bytes));
	sbuf_deinit(&bytes);
	return goes_on;
}

static bool send_older(struct watch *watch)
{
	for (size_t i = n_entries; i-- > 0;) {
		const struct entry *entry = &entries[i];
		uint64_t sent = watch->sent;

		if (!is_for(watch, entry) || entry->version >= sent || !world_chance(50))
			continue;
		if (!send_entry(watch, entry))
			return false;
		watch->sent = sent;
		return true;
	}
	return true;
}

/* The first entry behind that version. */
static size_t find_entry(uint64_t after)
{
	size_t low = 0, high = n_entries;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entries[middle].version <= after)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Before then the watch tells nothing. */
static uint64_t silent_until(const struct watch *watch)
{
	uint64_t until = held_until[watch->kind];

	if (watch->place >= 0 && of_nodes[watch->place].until[APISERVER_NODE_SILENT] > until)
		until = of_nodes[watch->place].until[APISERVER_NODE_SILENT];
	return until;
}

static void pump(void *owner, uint64_t number)
{
	struct watch *watch = owner;

	(void)number;
	if (!watch->fetch->open)
		return;
	if (clockwork_now() < watch->late_until) {
		clockwork_at(watch->late_until, pump, watch, 0);
		return;
	}
	if (clockwork_now() < silent_until(watch)) {
		clockwork_at(silent_until(watch), pump, watch, 0);
		return;
	}
	for (size_t i = find_entry(watch->sent); i < n_entries; i++)
		if (is_for(watch, &entries[i]) && !send_entry(watch, &entries[i]))
			return;
	if (apiserver_is_spoilt(APISERVER_DOUBLES))
		(void)send_older(watch);
}

static void bookmark(void *owner, uint64_t number)
{
	struct watch *watch = owner;
	struct kube_bytes_object object = {.name = "", .namespace = ""};
	char text[24];
	struct sbuf bytes;

	(void)number;
	if (!watch->fetch->open)
		return;
	if (clockwork_now() >= silent_until(watch) && clockwork_now() >= watch->late_until) {
		pump(watch, 0);
		snprintf(text, sizeof(text), "%" PRIu64, version);
		object.version = text;
		sbuf_init(&bytes, CAP);
		kube_bytes_event(&bytes, &resources[watch->kind], "BOOKMARK", &object);
		if (watch->fetch->open && net_feed(watch->fetch, sbuf_view(&bytes)))
			watch->sent = version;
		sbuf_deinit(&bytes);
	}
	clockwork_in(BOOKMARK_MS, bookmark, watch, 0);
}

static void end_in_time(void *owner, uint64_t number)
{
	(void)number;
	net_end(owner);
}

static void expire_watch(struct watch *watch)
{
	const struct kube_bytes_status status = {
		.code = 410, .reason = "Expired", .message = "too old resource version"};
	struct sbuf object, bytes;

	sbuf_init(&object, CAP);
	sbuf_init(&bytes, CAP);
	kube_bytes_status(&object, resources[watch->kind].encoding, &status);
	kube_bytes_event_of(&bytes, resources[watch->kind].encoding, "ERROR", sbuf_view(&object));
	if (net_feed(watch->fetch, sbuf_view(&bytes)))
		net_end(watch->fetch);
	sbuf_deinit(&object);
	sbuf_deinit(&bytes);
}

static const char *parameter(const char *url, const char *name)
{
	const char *at = strstr(url, name);

	return at ? at + strlen(name) : "";
}

void apiserver_refuse(struct fetch *fetch, enum apiserver_kind kind, int code, const char *reason,
		      int retry_after_s)
{
	const struct kube_bytes_status status = {.code = code,
						 .reason = reason,
						 .message = reason,
						 .retry_after_s = retry_after_s};
	enum resource_encoding encoding = resources[kind].encoding;
	struct sbuf body;

	sbuf_init(&body, CAP);
	kube_bytes_status(&body, encoding, &status);
	net_answer_in(fetch, world_between(1, 20), code, resource_media_type(&resources[kind]),
		      (uint32_t)retry_after_s * 1000, sbuf_view(&body));
	sbuf_deinit(&body);
}

static void look_at_pods(int place, bool is_watched)
{
	looks_note(place, is_watched, clockwork_now());
}

/*
 * A watch that is open and lags is known to be old only if something else has failed: TCP alone tells
 * after CUT_MS. What was sent before the network was parted failed for another reason.
 */
static bool does_pods_watch_lag(const struct watch *watch)
{
	return watch->kind == APISERVER_PODS && watch->fetch->open &&
	       watch->late_until > clockwork_now();
}

void apiserver_failed(uint64_t sent_at)
{
	if (is_parting_noticed || sent_at < parted_from)
		return;
	for (const struct watch *watch = watches; watch; watch = watch->next) {
		if (!does_pods_watch_lag(watch))
			continue;
		is_parting_noticed = true;
		looks_note(watch->place, false, parted_from);
	}
}

static void lose_watch(struct fetch *fetch)
{
	const struct watch *watch = fetch->peer;

	if (fetch->headed)
		look_at_pods(watch->place, false);
}

/* A server that goes again at once tells too little: nothing is written while other watches are away. */
static void end_denial(void *owner, uint64_t number)
{
	(void)owner, (void)number;
	if (!pods_are_denied || !apiserver_is_watched(APISERVER_PODS))
		return;
	pods_are_denied = false;
	cause_end(CAUSE_DENIED, -1, -1);
}

static void begin_watch(void *owner, uint64_t number)
{
	struct watch *watch = owner;

	(void)number;
	if (watch->kind == APISERVER_PODS && watch->fetch->open) {
		watch->fetch->closed = lose_watch;
		watch->fetch->peer = watch;
		look_at_pods(watch->place, true);
		if (watch->place >= 0)
			forms_began_watch(watch->place);
	}
	net_head(watch->fetch, 200, resource_media_type(&resources[watch->kind]), 0);
	if (watch->kind == APISERVER_PODS && pods_are_denied)
		clockwork_in(STANDS_MS, end_denial, NULL, 0);
	pump(watch, 0);
	clockwork_in(BOOKMARK_MS, bookmark, watch, 0);
}

static void serve_watch(struct fetch *fetch, enum apiserver_kind kind, int place)
{
	uint64_t from = strtoull(parameter(fetch->url, "resourceVersion="), NULL, 10);
	uint64_t timeout_s = strtoull(parameter(fetch->url, "timeoutSeconds="), NULL, 10);
	struct watch *watch;

	if (from < oldest || (place >= 0 && from < of_nodes[place].oldest)) {
		apiserver_refuse(fetch, kind, 410, "Expired", 0);
		return;
	}
	watch = calloc(1, sizeof(*watch));
	check(watch);
	memory_keep(watch);
	*watch = (struct watch){.next = watches, .fetch = fetch, .kind = kind, .place = place, .sent = from};
	watches = watch;
	clockwork_in(world_between(1, 10), begin_watch, watch, 0);
	clockwork_in(timeout_s * 1000, end_in_time, fetch, 0);
}

void apiserver_cut(enum apiserver_kind kind)
{
	cut_list[kind] = true;
	for (struct watch *watch = watches; watch; watch = watch->next) {
		if (watch->kind != kind || !watch->fetch->open)
			continue;
		cut_list[kind] = false;
		if (world_chance(50) && watch->fetch->headed)
			net_fail(watch->fetch, "connection reset");
		else
			watch->cut = true;
	}
}

bool apiserver_is_cluster_watched(void)
{
	return apiserver_are_pods_watched(-1);
}

bool apiserver_are_pods_watched(int node)
{
	for (const struct watch *watch = watches; watch; watch = watch->next)
		if (watch->kind == APISERVER_PODS && watch->fetch->open &&
		    (watch->place < 0 || watch->place == node))
			return true;
	return false;
}

/* Ends the node's own watch, if there is one. */
static void break_node(int node, void (*end)(struct watch *watch))
{
	for (struct watch *watch = watches; watch; watch = watch->next)
		if (watch->place == node && watch->fetch->open && watch->fetch->headed)
			end(watch);
}

static void reset_watch(struct watch *watch)
{
	net_fail(watch->fetch, "stream reset");
}

static void cut_in_event(struct watch *watch)
{
	watch->cut = true;
}

void apiserver_spoil_node(int node, enum apiserver_node_fault fault, uint64_t until)
{
	of_nodes[node].until[fault] = until;
	if (fault == APISERVER_NODE_CUT) {
		break_node(node, world_chance(50) ? cut_in_event : reset_watch);
	} else if (fault == APISERVER_NODE_EXPIRES) {
		of_nodes[node].oldest = version;
		break_node(node, world_chance(50) ? expire_watch : reset_watch);
	} else if (fault != APISERVER_NODE_SILENT) {
		break_node(node, reset_watch);
	}
}

void apiserver_throttle_some(uint64_t until)
{
	some_throttled_until = until;
}

bool apiserver_is_watched(enum apiserver_kind kind)
{
	for (const struct watch *watch = watches; watch; watch = watch->next)
		if (watch->kind == kind && watch->fetch->open)
			return true;
	return false;
}

void apiserver_deny(enum apiserver_kind kind, int code, uint64_t until)
{
	denied_until[kind] = until;
	denied_with[kind] = code;
	for (struct watch *watch = watches; watch; watch = watch->next)
		if (watch->kind == kind && watch->fetch->open && watch->fetch->headed)
			net_fail(watch->fetch, "connection reset");
}

void apiserver_expire(bool in_stream)
{
	oldest = version;
	for (struct watch *watch = watches; watch; watch = watch->next) {
		if (!watch->fetch->open || !watch->fetch->headed)
			continue;
		if (in_stream)
			expire_watch(watch);
		else
			net_fail(watch->fetch, "connection reset");
	}
}

static void append_entry(const struct entry *entry)
{
	if (n_entries == n_allocated) {
		n_allocated = n_allocated ? 2 * n_allocated : 64;
		entries = reallocarray(entries, n_allocated, sizeof(*entries));
		check(entries);
	}
	entries[n_entries++] = *entry;
	for (struct watch *watch = watches; watch; watch = watch->next)
		if (is_for(watch, entry) && watch->fetch->open && watch->fetch->headed)
			clockwork_in(world_between(1, 15), pump, watch, 0);
}

/* message is taken over. */
static void append(struct entry entry, struct sbuf *message)
{
	check(message->failure == ERROR_NONE);
	entry.version = version;
	entry.message = message->ptr;
	memory_keep(message->ptr);
	entry.len = message->len;
	append_entry(&entry);
}

/* Objects of the world */

static const char *type_of(bool was_known, bool is_there)
{
	return !is_there ? "DELETED" : was_known ? "MODIFIED" : "ADDED";
}

void apiserver_log(enum apiserver_kind kind, const char *type, struct sbuf *take_message)
{
	apiserver_log_of(kind, -1, type, take_message);
}

void apiserver_log_of(enum apiserver_kind kind, int node, const char *type,
		      struct sbuf *take_message)
{
	append((struct entry){.kind = kind, .type = type, .pod = -1, .node = -1, .place = node},
	       take_message);
}

uint64_t apiserver_version(void)
{
	return version;
}

uint64_t apiserver_next_version(void)
{
	return ++version;
}

void apiserver_put_pod(struct world_pod *pod)
{
	int index = world_index(pod);
	bool was_known = pod_is_known[index];
	bool is_over = world_is_over(&pod->object);
	struct sbuf message;

	if (!was_known && !pod->object.exists)
		return;
	sbuf_init(&message, CAP);
	objects_pod(pod, ++version, &message);
	pod->changed_at = clockwork_now();
	if (pod->shown_at == WORLD_NEVER)
		pod->shown_at = clockwork_now();
	if (is_over && pod->over_at == WORLD_NEVER)
		pod->over_at = clockwork_now();
	pod_is_known[index] = pod->object.exists;
	append((struct entry){.kind = APISERVER_PODS,
			      .type = type_of(was_known, pod->object.exists),
			      .pod = index,
			      .node = -1,
			      .place = pod->node,
			      .is_over = is_over},
	       &message);
	claims_see(pod);
}

void apiserver_put_node(struct world_node *node)
{
	long index = node - world.nodes;
	bool was_known = node_is_known[index];
	struct sbuf message;

	if (!was_known && !node->in_api)
		return;
	sbuf_init(&message, CAP);
	objects_node(node, ++version, &message);
	if (node->in_api && !was_known)
		node->there_since = clockwork_now();
	node_is_known[index] = node->in_api;
	append((struct entry){.kind = APISERVER_NODES,
			      .type = type_of(was_known, node->in_api),
			      .pod = -1,
			      .node = (int)index,
			      .boot = node->in_api ? node->boot : 0,
			      .is_labelled = node->in_api && forms_is_labelled((int)index)},
	       &message);
}

void apiserver_put_claim(const struct world_claim *claim)
{
	bool was_known = claim_is_known[claim - world.claims];
	struct sbuf message;

	sbuf_init(&message, CAP);
	objects_claim(claim, ++version, &message);
	claim_is_known[claim - world.claims] = claim->exists;
	append((struct entry){.kind = APISERVER_CLAIMS,
			      .type = type_of(was_known, claim->exists),
			      .pod = -1,
			      .node = -1},
	       &message);
}

void apiserver_put_slice(int node, int slice)
{
	const struct world_slice *object = &world.pools[node].slices[slice];
	bool was_known = slice_version[node][slice] > 0;
	struct sbuf message;

	if (!was_known && !object->exists)
		return;
	sbuf_init(&message, CAP);
	objects_slice(node, slice, ++version, &message);
	slice_version[node][slice] = object->exists ? version : 0;
	append((struct entry){.kind = APISERVER_SLICES,
			      .type = type_of(was_known, object->exists),
			      .pod = -1,
			      .node = node,
			      .slice = slice + 1,
			      .generation = object->exists ? object->generation : 0},
	       &message);
}

static void policy_text(struct sbuf *out)
{
	sbuf_printf(out,
		    "{\"apiVersion\":\"nvidia.com/v1\",\"kind\":\"ClusterPolicy\",\"metadata\":{"
		    "\"name\":\"policy\",\"uid\":\"p\",\"resourceVersion\":\"%" PRIu64
		    "\"},\"spec\":{},\"status\":{\"namespace\":\"ml\"}}",
		    version);
}

bool apiserver_has_policy(void)
{
	return policies_are_there(world.seed) ? policies_counts() >= 0 : has_policy;
}

void apiserver_put_policy(bool exists)
{
	struct sbuf message;

	if (exists == has_policy || policies_are_there(world.seed))
		return;
	has_policy = exists;
	version++;
	sbuf_init(&message, CAP);
	policy_text(&message);
	apiserver_log(APISERVER_POLICIES, type_of(false, exists), &message);
}

/* Lists */

static void list_head(enum apiserver_kind kind, struct sbuf *message)
{
	char text[24];
	struct sbuf meta;

	snprintf(text, sizeof(text), "%" PRIu64, version);
	if (resources[kind].encoding == RESOURCE_JSON) {
		sbuf_printf(message,
			    "{\"apiVersion\":\"%s/%s\",\"kind\":\"%sList\",\"metadata\":{"
			    "\"resourceVersion\":\"%s\"},\"items\":[",
			    resources[kind].group, resources[kind].version, resources[kind].kind,
			    text);
		return;
	}
	sbuf_init(&meta, CAP);
	kube_bytes_field(&meta, 2, view_from(text));
	kube_bytes_field(message, 1, sbuf_view(&meta));
	sbuf_deinit(&meta);
}

static void list_item(struct sbuf *message, struct sbuf *item)
{
	kube_bytes_field(message, 2, sbuf_view(item));
	sbuf_deinit(item);
}

static void list_pods(int place, struct sbuf *message)
{
	struct sbuf item;

	for (int i = 0; i < world.n_pods; i++) {
		if (!pod_is_known[i] || (place >= 0 && world.pods[i].node != place))
			continue;
		sbuf_init(&item, CAP);
		objects_pod(&world.pods[i], version, &item);
		list_item(message, &item);
	}
	policies_list_pods(place, list_item, message);
}

static void list_nodes(struct sbuf *message)
{
	struct sbuf item;

	for (int i = 0; i < world.n_nodes; i++) {
		if (!node_is_known[i])
			continue;
		sbuf_init(&item, CAP);
		objects_node(&world.nodes[i], version, &item);
		list_item(message, &item);
	}
}

static void list_claims(struct sbuf *message)
{
	struct sbuf item;

	for (int i = 0; i < world.n_claims; i++) {
		if (!claim_is_known[i])
			continue;
		sbuf_init(&item, CAP);
		objects_claim(&world.claims[i], version, &item);
		list_item(message, &item);
	}
}

static void list_slices(struct sbuf *message)
{
	struct sbuf item;

	for (int node = 0; node < world.n_nodes; node++)
		for (int i = 0; i < WORLD_MAX_SLICES; i++) {
			if (slice_version[node][i] == 0)
				continue;
			sbuf_init(&item, CAP);
			objects_slice(node, i, slice_version[node][i], &item);
			list_item(message, &item);
		}
}

static void list_text(enum apiserver_kind kind, int place, struct sbuf *out)
{
	char list_kind[32];
	struct sbuf message;

	sbuf_init(&message, CAP);
	list_head(kind, &message);
	if (kind == APISERVER_PODS)
		list_pods(place, &message);
	else if (kind == APISERVER_NODES)
		list_nodes(&message);
	else if (kind == APISERVER_ATTRIBUTIONS)
		attributions_list(&message);
	else if (kind == APISERVER_CLAIMS)
		list_claims(&message);
	else if (kind == APISERVER_SLICES)
		list_slices(&message);
	else if (kind == APISERVER_CLUSTERS)
		policies_list_clusters(&message);
	else if (kind == APISERVER_CONFIGS)
		policies_list_configs(list_item, &message);
	else if (!policies_list(&message) && has_policy)
		policy_text(&message);
	if (resources[kind].encoding == RESOURCE_JSON) {
		sbuf_printf(&message, "]}");
		sbuf_append(out, sbuf_view(&message));
	} else {
		snprintf(list_kind, sizeof(list_kind), "%sList", resources[kind].kind);
		kube_bytes_envelope(out, api_version(kind), list_kind, sbuf_view(&message));
	}
	sbuf_deinit(&message);
}

static void send_list(void *owner, uint64_t number)
{
	struct listing *listing = owner;

	(void)number;
	net_head(listing->fetch, 200, resource_media_type(&resources[listing->kind]), 0);
	if (cut_list[listing->kind]) {
		cut_list[listing->kind] = false;
		/* Behind refusals for load (429) it waits for the back-off that these have led to. */
		prompt_disturbed(clockwork_now() + 31000);
		break_off(listing->fetch, sbuf_view(&listing->body));
	} else if (feed(listing->fetch, sbuf_view(&listing->body))) {
		if (listing->kind == APISERVER_PODS) {
			tell_list(listing->taken_at, listing->place);
			look_at_pods(listing->place, false);
		}
		if (listing->kind == APISERVER_NODES)
			tell_nodes(listing);
		if (listing->kind == APISERVER_SLICES)
			tell_slices(listing->slices);
		net_end(listing->fetch);
	}
	drop_listing(listing);
}

/* Where pods are told twice, some lists are overtaken by what the other watch tells. */
static uint64_t list_ms(enum apiserver_kind kind)
{
	return kind == APISERVER_PODS && forms_are_there(world.seed) && world_chance(30)
		       ? world_between(40, 3000)
		       : world_between(1, 40);
}

static void serve_list(struct fetch *fetch, enum apiserver_kind kind, int place)
{
	struct listing *listing = calloc(1, sizeof(*listing));

	check(listing);
	listing->fetch = fetch;
	listing->kind = kind;
	listing->place = place;
	listing->taken_at = clockwork_now();
	for (int i = 0; i < world.n_nodes; i++) {
		listing->boots[i] = node_is_known[i] ? world.nodes[i].boot : 0;
		listing->are_labelled[i] = node_is_known[i] && forms_is_labelled(i);
	}
	for (int node = 0; node < world.n_nodes; node++)
		for (int i = 0; i < WORLD_MAX_SLICES; i++)
			listing->slices[node][i] = slice_version[node][i] > 0
							   ? world.pools[node].slices[i].generation
							   : 0;
	sbuf_init(&listing->body, CAP);
	list_text(kind, place, &listing->body);
	check(listing->body.failure == ERROR_NONE);
	clockwork_in(list_ms(kind), send_list, listing, 0);
}

/* Requests */

static void deny(struct fetch *fetch, enum apiserver_kind kind)
{
	apiserver_refuse(fetch, kind, denied_with[kind],
			 denied_with[kind] == 404 ? "NotFound" : "Forbidden", 0);
	if (kind != APISERVER_PODS || pods_are_denied)
		return;
	pods_are_denied = true;
	cause_add(CAUSE_DENIED, -1, -1, clockwork_now(), WORLD_NEVER);
}

static bool is_refused(struct fetch *fetch, enum apiserver_kind kind)
{
	if (apiserver_is_spoilt(APISERVER_REFUSES))
		net_refuse_in(fetch, 2);
	else if (clockwork_now() < unready_until)
		apiserver_refuse(fetch, kind, world_chance(50) ? 403 : 500, "Forbidden", 0);
	else if (apiserver_is_spoilt(APISERVER_BREAKS))
		apiserver_refuse(fetch, kind, 500, "InternalError", 0);
	else if (apiserver_is_spoilt(APISERVER_THROTTLES))
		apiserver_refuse(fetch, kind, 429, "TooManyRequests", 1);
	else if (clockwork_now() < denied_until[kind])
		deny(fetch, kind);
	else
		return apiserver_is_spoilt(APISERVER_HANGS);
	return true;
}

/* An empty list has no array of items. */
static void answer_metadata(struct fetch *fetch, struct view items)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{},\"items\":%s%.*s%s}",
		 items.len > 0 ? "[" : "null", VIEW_ARG(items), items.len > 0 ? "]" : "");
	net_answer_in(fetch, world_between(1, 10), 200, "application/json", 0, view_from(text));
}

/* A list of the one object of that UID, or of none. */
static void answer_one(struct fetch *fetch, const char *uid)
{
	char item[128] = "";

	if (*uid)
		snprintf(item, sizeof(item), "{\"metadata\":{\"uid\":\"%s\"}}", uid);
	answer_metadata(fetch, view_from(item));
}

/* All are as of when the request arrives. */
static void serve_node(struct fetch *fetch, const char *name)
{
	bool is_there = false;

	for (int i = 0; i < world.n_nodes; i++)
		is_there |= node_is_known[i] && strcmp(world.nodes[i].name, name) == 0;
	answer_one(fetch, is_there ? name : "");
}

static void serve_pod(struct fetch *fetch, struct view namespace, const char *name)
{
	const char *uid = "";

	if (is_refused(fetch, APISERVER_PODS))
		return;
	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];

		if (pod_is_known[i] && strcmp(pod->name, name) == 0 &&
		    view_equal(namespace, view_from(pod->namespace)))
			uid = pod->uid;
	}
	answer_one(fetch, uid);
}

/* The node whose pods are asked for; -1: those of all are. */
static int place_in(const char *path)
{
	const char *name = parameter(path, "fieldSelector=spec.nodeName%3D");

	for (int i = 0; *name && i < world.n_nodes; i++)
		if (strcmp(world.nodes[i].name, name) == 0)
			return i;
	check(!*name);
	return -1;
}

/* The answer to one who asks for the pods of that node. */
static bool is_node_refused(struct fetch *fetch, int node)
{
	const uint64_t *until = of_nodes[node].until, now = clockwork_now();

	if (now < until[APISERVER_NODE_BREAKS])
		apiserver_refuse(fetch, APISERVER_PODS, 500, "InternalError", 0);
	else if (now < until[APISERVER_NODE_THROTTLES] ||
		 (now < some_throttled_until && world_chance(50)))
		apiserver_refuse(fetch, APISERVER_PODS, 429, "TooManyRequests", 1);
	else
		return now < until[APISERVER_NODE_HANGS];
	return true;
}

static void serve_kind(struct fetch *fetch, enum apiserver_kind kind, const char *path)
{
	const char *behind = path + strlen(paths[kind]);
	const char *name = parameter(path, "fieldSelector=metadata.name%3D");

	int place = kind == APISERVER_PODS ? place_in(path) : -1;

	if (is_refused(fetch, kind) || (place >= 0 && is_node_refused(fetch, place)))
		return;
	if (kind == APISERVER_NODES && *name)
		serve_node(fetch, name);
	else if (strcmp(fetch->method, "GET") != 0 || *behind == '/')
		attributions_serve(fetch, behind);
	else if (strstr(path, "watch=1"))
		serve_watch(fetch, kind, place);
	else
		serve_list(fetch, kind, place);
}

void apiserver_kill(bool forgets)
{
	if (forgets)
		oldest = version;
	net_cut_api();
}

void apiserver_start_slowly(uint64_t until)
{
	unready_until = until;
}

static void arrive(void *owner, uint64_t number)
{
	struct watch *watch = owner;

	(void)number;
	if (watch->fetch->open && watch->kind == APISERVER_PODS)
		look_at_pods(watch->place, true);
	pump(watch, 0);
}

static void lose_connection(void *owner, uint64_t number)
{
	(void)number;
	if (clockwork_now() < parted_until)
		net_fail(owner, "Connection timed out");
}

void apiserver_part(uint64_t until, uint64_t late_ms)
{
	parted_from = clockwork_now();
	parted_until = until;
	parted_late = until + late_ms;
	is_parting_noticed = false;
	for (struct watch *watch = watches; watch; watch = watch->next) {
		if (!watch->fetch->open || !watch->fetch->headed)
			continue;
		watch->late_until = parted_late;
		clockwork_at(parted_late, arrive, watch, 0);
		clockwork_in(CUT_MS, lose_connection, watch->fetch, 0);
	}
}

bool apiserver_is_parted(void)
{
	return clockwork_now() < parted_late;
}

static void serve_late(void *owner, uint64_t number)
{
	struct fetch *fetch = owner;

	(void)number;
	if (fetch->open)
		apiserver_serve(fetch);
}

static void serve_readyz(struct fetch *fetch)
{
	if (clockwork_now() < unready_until) {
		net_answer_in(fetch, 5, 500, "text/plain", 0, VIEW("[-]poststarthook failed"));
		return;
	}
	if (apiserver_is_spoilt(APISERVER_REFUSES))
		net_refuse_in(fetch, 2);
	else if (apiserver_is_spoilt(APISERVER_BREAKS))
		net_answer_in(fetch, 5, 500, "text/plain", 0, VIEW("[-]etcd failed"));
	else if (apiserver_is_spoilt(APISERVER_THROTTLES))
		net_answer_in(fetch, 5, 429, "text/plain", 1000, VIEW("Too many requests"));
	else if (!apiserver_is_spoilt(APISERVER_HANGS))
		net_answer_in(fetch, 5, 200, "text/plain", 0, VIEW("ok"));
}

/* They are taken whenever the server answers at all. No number of the history's is used. */
static void serve_event(struct fetch *fetch)
{
	if (!apiserver_is_up())
		return;
	told_event(fetch->method, view_from(fetch->body));
	net_answer_in(fetch, 5, 201, "application/json", 0, VIEW("{}"));
}

/* GPUClusters and ConfigMaps are where an operator is. */
static int n_served(void)
{
	return policies_are_there(world.seed) ? APISERVER_N_KINDS : APISERVER_N_FAULTY;
}

void apiserver_serve(struct fetch *fetch)
{
	const char *path = strchr(fetch->url + strlen("https://"), '/');
	struct view namespace, rest = view_from(path);

	if (clockwork_now() < parted_until) {
		clockwork_at(parted_late, serve_late, fetch, 0);
		return;
	}
	if (strcmp(path, "/readyz") == 0) {
		serve_readyz(fetch);
		return;
	}
	if (view_starts_with(rest, VIEW("/apis/events.k8s.io/v1/namespaces/"))) {
		serve_event(fetch);
		return;
	}
	if (view_starts_with(rest, VIEW("/api/v1/namespaces/")) &&
	    !view_starts_with(rest, view_from(paths[APISERVER_CONFIGS]))) {
		view_cut(view_from_offset(rest, strlen("/api/v1/namespaces/")), VIEW("/"),
			 &namespace, &rest);
		serve_pod(fetch, namespace, parameter(path, "fieldSelector=metadata.name%3D"));
		return;
	}
	for (int kind = 0; kind < n_served(); kind++)
		if (strncmp(path, paths[kind], strlen(paths[kind])) == 0) {
			serve_kind(fetch, (enum apiserver_kind)kind, path);
			return;
		}
	if (is_refused(fetch, APISERVER_ATTRIBUTIONS))
		return;
	/* Nobody uses GPUClusters, or may read definitions. Answers take no number of the history's. */
	if (strncmp(path, "/apis/nvidia.com/v1alpha1/", 26) == 0)
		net_answer_in(fetch, 5, 404, "text/plain", 0, VIEW("404 page not found"));
	else if (strncmp(path, "/apis/apiextensions.k8s.io/", 27) == 0)
		net_answer_in(fetch, 5, 403, "text/plain", 0, VIEW("forbidden"));
	else if (strstr(path, "tokenreviews"))
		attributions_review(fetch);
	else
		apiserver_refuse(fetch, APISERVER_ATTRIBUTIONS, 404, "NotFound", 0);
}
