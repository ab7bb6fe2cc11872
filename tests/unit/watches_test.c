/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/find_attribution.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"
#include "controller/config_watch.h"
#include "controller/definition_watch.h"
#include "controller/gather.h"
#include "controller/watches.h"
#include "lib/golden.h"
#include "lib/kube_bytes.h"

#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"

#define CAP (4u << 20)

struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct watches *watches;
	struct sbuf body;
	struct arena arena; /* of gathered inputs */
	unsigned n_changed; /* calls of on_changed() */
	bool was_current;   /* in the last of them */
};

/* As in controller/watches.c, by their index. */
static const struct resource resources[INVENTORY_N_KINDS] = {
	[INVENTORY_PODS] = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL},
	[INVENTORY_NODES] = {"", "v1", "nodes", "Node", RESOURCE_PROTOBUF, NULL},
	[INVENTORY_POLICIES] = {"nvidia.com", "v1", "clusterpolicies", "ClusterPolicy",
				RESOURCE_JSON, NULL},
	[INVENTORY_ATTRIBUTIONS] = {"gpuattribution.dev", "v1alpha1", "gpuattributions",
				    "GPUAttribution", RESOURCE_JSON, NULL},
	[INVENTORY_RESOURCE_CLAIMS] = {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim",
				       RESOURCE_PROTOBUF, NULL},
	[INVENTORY_RESOURCE_SLICES] = {"resource.k8s.io", "v1", "resourceslices", "ResourceSlice",
				       RESOURCE_PROTOBUF, NULL},
	[INVENTORY_GPU_CLUSTERS] = {"nvidia.com", "v1alpha1", "gpuclusters", "GPUCluster",
				    RESOURCE_JSON, NULL},
};

static void on_changed(void *owner)
{
	struct world *world = owner;

	world->n_changed++;
	world->was_current = world->watches && watches_allow_writes(world->watches);
}

static int set_up(void **state)
{
	static struct world world;
	const struct watches_config config = {
		.initial = REFLECTOR_LIST, .seed = 1, .changed = on_changed, .owner = &world,
	};
	struct error err;

	fake_apiclient_reset();
	world = (struct world){0};
	sbuf_init(&world.body, CAP);
	arena_init(&world.arena, CAP);
	*state = &world;
	if (loop_new(&world.loop, &err) < 0 ||
	    inventory_new(fake_now_ms, &world.inventory, &err) < 0)
		return -1;
	return watches_new(world.loop, NULL, world.inventory, &config, &world.watches, &err);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	watches_free(world->watches);
	inventory_free(world->inventory);
	loop_free(world->loop);
	sbuf_deinit(&world->body);
	arena_deinit(&world->arena);
	return 0;
}

/* What the reflector of a kind wants next: it must be a request. */
static struct reflector_request next_request(enum inventory_kind kind)
{
	struct reflector_request request;

	assert_int_equal(reflector_next(fake_reflectors[kind], fake_now_ms, &request),
			 REFLECTOR_REQUEST);
	return request;
}

/* The head of an answer, and what the test has put into the body. */
static void begin_answer(struct world *world, enum inventory_kind kind, int status)
{
	struct error err = {0};
	/* Definitions, whose reflectors come after the kinds', travel as JSON. */
	const char *type = kind < INVENTORY_N_KINDS ? resource_media_type(&resources[kind])
						    : "application/json";

	reflector_answered(fake_reflectors[kind], status, 0, view_from(type), fake_now_ms);
	if (reflector_feed(fake_reflectors[kind], sbuf_view(&world->body), fake_now_ms, &err) < 0)
		fail_msg("%s", err.text);
	sbuf_clear(&world->body);
}

/* More of a watch's body. */
static void feed(struct world *world, enum inventory_kind kind)
{
	struct error err = {0};

	if (reflector_feed(fake_reflectors[kind], sbuf_view(&world->body), fake_now_ms, &err) < 0)
		fail_msg("%s", err.text);
	sbuf_clear(&world->body);
}

/* Answers the list of a kind, which must be asked for next, and begins the watch. */
static void list(struct world *world, enum inventory_kind kind,
		 const struct kube_bytes_object *objects, size_t n)
{
	const struct kube_bytes_list bytes = {
		.version = "4", .objects = objects, .n_objects = n,
	};

	assert_false(next_request(kind).is_watch);
	kube_bytes_list(&world->body, &resources[kind], &bytes);
	begin_answer(world, kind, 200);
	reflector_ended(fake_reflectors[kind], NULL, fake_now_ms);
	assert_true(next_request(kind).is_watch);
	begin_answer(world, kind, 200);
}

static void list_all_empty(struct world *world)
{
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		list(world, (enum inventory_kind)i, NULL, 0);
}

/* An event with any bytes as the object. */
static void event(struct world *world, enum inventory_kind kind, const char *type,
		  struct view message)
{
	struct sbuf envelope;

	if (resources[kind].encoding == RESOURCE_JSON) {
		kube_bytes_event_of(&world->body, RESOURCE_JSON, type, message);
	} else {
		sbuf_init(&envelope, CAP);
		kube_bytes_envelope(&envelope, kind < INVENTORY_RESOURCE_CLAIMS
						       ? "v1" : "resource.k8s.io/v1",
				    resources[kind].kind, message);
		kube_bytes_event_of(&world->body, RESOURCE_PROTOBUF, type, sbuf_view(&envelope));
		sbuf_deinit(&envelope);
	}
	feed(world, kind);
}

static void event_of_golden(struct world *world, enum inventory_kind kind, const char *type,
			    const char *name)
{
	struct view message = golden_read(name);

	event(world, kind, type, message);
	golden_free(message);
}

static void event_of(struct world *world, enum inventory_kind kind, const char *type,
		     const struct kube_bytes_object *object)
{
	kube_bytes_event(&world->body, &resources[kind], type, object);
	feed(world, kind);
}

static struct join_input gather(struct world *world, const char *node)
{
	const struct inventory_parts parts = inventory_parts(world->inventory);
	struct join_input input;
	struct error err;

	arena_reset(&world->arena);
	assert_int_equal(gather_node(&parts, view_from(node), fake_now_ms, &world->arena, &input, &err),
			 0);
	return input;
}

static uint64_t refused(struct world *world, enum inventory_kind kind)
{
	return watches_state(world->watches, kind).counters.objects_refused;
}

static void every_resource_is_listed_then_watched(void **state)
{
	struct world *world = *state;
	static const struct {
		const char *name;
		const char *list;
		const char *watch;
		const char *accept;
	} rows[INVENTORY_N_KINDS] = {
		{"pods", "/api/v1/pods?", "fieldSelector=spec.nodeName", "protobuf"},
		{"nodes", "/api/v1/nodes?", "watch=", "protobuf"},
		{"clusterpolicies", "/apis/nvidia.com/v1/clusterpolicies?", "watch=", "json"},
		{"gpuattributions", "/apis/gpuattribution.dev/v1alpha1/gpuattributions?", "watch=",
		 "json"},
		{"resourceclaims", "/apis/resource.k8s.io/v1/resourceclaims?", "watch=", "protobuf"},
		{"resourceslices", "/apis/resource.k8s.io/v1/resourceslices?", "watch=", "protobuf"},
		{"gpuclusters", "/apis/nvidia.com/v1alpha1/gpuclusters?", "watch=", "json"},
	};

	assert_int_equal(n_fake_reflectors, INVENTORY_N_KINDS + 2); /* and two definitions */
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		struct reflector_request request = next_request((enum inventory_kind)i);

		assert_string_equal(watches_state(world->watches, i).name, rows[i].name);
		assert_int_equal(strncmp(request.path, rows[i].list, strlen(rows[i].list)), 0);
		assert_non_null(strstr(request.accept, rows[i].accept));
		assert_false(request.is_watch);
		kube_bytes_list(&world->body, &resources[i],
				&(struct kube_bytes_list){.version = "4"});
		begin_answer(world, (enum inventory_kind)i, 200);
		reflector_ended(fake_reflectors[i], NULL, fake_now_ms);
		request = next_request((enum inventory_kind)i);
		assert_true(request.is_watch);
		assert_non_null(strstr(request.path, rows[i].watch));
		assert_non_null(strstr(request.path, "resourceVersion=4"));
	}
}

static void all_is_synced_when_the_last_resource_has_arrived(void **state)
{
	struct world *world = *state;

	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		assert_false(watches_are_synced(world->watches));
		assert_false(watches_state(world->watches, i).synced);
		list(world, (enum inventory_kind)i, NULL, 0);
		assert_true(watches_state(world->watches, i).synced);
	}
	assert_false(watches_are_synced(world->watches));
	fake_loop_advance(world->loop, 0); /* what the policies name has been looked at */
	assert_true(watches_are_synced(world->watches));
}

static void a_real_pod_lands_on_its_node_with_its_containers(void **state)
{
	struct world *world = *state;

	list_all_empty(world);
	event_of_golden(world, INVENTORY_PODS, "ADDED", "pod_gpu.pb");
	event_of_golden(world, INVENTORY_PODS, "ADDED", "pod_plain.pb");
	struct join_input input = gather(world, "gpu-a");
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 2);
	assert_true(input.n_pods >= 1);
	for (size_t i = 0; i < input.n_pods; i++) {
		if (!view_equal(pod_name(input.pods[i]), VIEW("train-0")))
			continue;
		assert_true(view_equal(pod_namespace(input.pods[i]), VIEW("ml")));
		assert_true(pod_state(input.pods[i])->wants_gpu);
		assert_true(pod_gpu(input.pods[i])->containers.count > 0);
		return;
	}
	fail_msg("train-0 is not on gpu-a");
}

static void a_real_node_lands_with_its_labels(void **state)
{
	struct world *world = *state;

	list_all_empty(world);
	event_of_golden(world, INVENTORY_NODES, "ADDED", "node_gpu.pb");
	struct join_input input = gather(world, "gpu-a");
	assert_non_null(input.node);
	assert_true(view_equal(input.node->sharing_strategy, VIEW("time-slicing")));
}

static void a_real_attribution_lands_on_the_node_that_its_status_names(void **state)
{
	struct world *world = *state;

	list_all_empty(world);
	struct view document = golden_read("attribution.json");
	for (size_t i = 0; i < document.len; i++) /* a watch has each object on one line */
		if (document.ptr[i] == '\n')
			((char *)(uintptr_t)document.ptr)[i] = ' ';
	event(world, INVENTORY_ATTRIBUTIONS, "ADDED", document);
	golden_free(document);
	const struct attribution *object = find_attribution(
		world->inventory, VIEW("gpu-11ba558d-3437-2335-2fd8-a78c8502f87f"));
	assert_non_null(object);
	assert_true(view_equal(object->resource_version, VIEW("955")));
	char node[64];
	snprintf(node, sizeof(node), "%.*s", VIEW_ARG(object->status.node_name));
	assert_int_equal(gather(world, node).n_previous, 1);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_ATTRIBUTIONS), 1);
}

static void a_policy_lands_as_the_clusters_intent(void **state)
{
	struct world *world = *state;
	const struct kube_bytes_object object = {.name = "cluster-policy", .uid = "u", .version = "7"};

	assert_false(gather(world, "gpu-a").intent->known);
	list(world, INVENTORY_POLICIES, &object, 1);
	const struct intent *intent = gather(world, "gpu-a").intent;
	assert_true(intent->known);
	assert_int_equal(intent->n_policies, 1);
	assert_true(view_equal(intent->policy->name, VIEW("cluster-policy")));
}

#define POLICY_WITH_CONFIG \
	"{\"apiVersion\":\"nvidia.com/v1\",\"kind\":\"ClusterPolicy\",\"metadata\":{" \
	"\"name\":\"p\",\"uid\":\"u\",\"resourceVersion\":\"7\"},\"spec\":{" \
	"\"devicePlugin\":{\"config\":{\"name\":\"plugin\"}},\"migManager\":{\"enabled\":false}}," \
	"\"status\":{\"namespace\":\"ops\"}}"

static void the_config_map_that_a_policy_names_is_waited_for_until_it_is_known(void **state)
{
	struct world *world = *state;
	static const struct kube_bytes_object gone = {.name = "p", .uid = "u", .version = "8"};
	const unsigned first = INVENTORY_N_KINDS + 2;

	list_all_empty(world);
	event(world, INVENTORY_POLICIES, "ADDED", VIEW(POLICY_WITH_CONFIG));
	fake_loop_advance(world->loop, 0);
	assert_int_equal(n_fake_reflectors, first + 1);
	struct reflector_request request = next_request((enum inventory_kind)first);
	assert_non_null(strstr(request.path, "/api/v1/namespaces/ops/configmaps?"));
	assert_false(watches_are_synced(world->watches));
	assert_false(watches_configs_state(world->watches).followed);
	assert_false(watches_configs_state(world->watches).synced);
	reflector_answered(fake_reflectors[first], 403, 0, VIEW("text/plain"), fake_now_ms);
	reflector_ended(fake_reflectors[first], NULL, fake_now_ms);
	assert_true(watches_are_synced(world->watches));
	assert_true(watches_configs_state(world->watches).tolerated);
	assert_non_null(strstr(watches_configs_state(world->watches).trouble, "may not list configmaps"));
	assert_int_equal(gather(world, "gpu-a").intent->plugin_configs_state,
			 INTENT_CONFIG_UNREADABLE);
	event_of(world, INVENTORY_POLICIES, "DELETED", &gone);
	fake_loop_advance(world->loop, 0);
	assert_null(fake_reflectors[first]);
	assert_string_equal(watches_configs_state(world->watches).trouble, "");
	assert_true(watches_configs_state(world->watches).followed);
}

static void a_gpu_cluster_lands_beside_the_policies(void **state)
{
	struct world *world = *state;
	const struct kube_bytes_object object = {.name = "gpu-cluster", .uid = "u", .version = "7"};

	list(world, INVENTORY_GPU_CLUSTERS, &object, 1);
	assert_int_equal(gather(world, "gpu-a").intent->n_gpu_clusters, 1);
	assert_false(gather(world, "gpu-a").intent->known);
}

static const struct kube_bytes_object pod_a = {
	.namespace = "ml", .name = "a", .uid = "u1", .version = "50",
};

static void what_a_list_contains_is_there_and_what_the_next_one_lacks_is_gone(void **state)
{
	struct world *world = *state;
	const struct kube_bytes_object pods[] = {
		pod_a, {.namespace = "ml", .name = "b", .uid = "u2", .version = "51"},
	};

	list(world, INVENTORY_PODS, pods, 2);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 2);
	event(world, INVENTORY_PODS, "BOOKMARK", VIEW("\x0a\x05\x32\x03" "200"));
	reflector_ended(fake_reflectors[INVENTORY_PODS], NULL, fake_now_ms);
	next_request(INVENTORY_PODS);
	reflector_answered(fake_reflectors[INVENTORY_PODS], 410, 0, VIEW("application/json"),
			   fake_now_ms);
	reflector_ended(fake_reflectors[INVENTORY_PODS], NULL, fake_now_ms);
	list(world, INVENTORY_PODS, pods, 1);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 1);
	assert_false(inventory_wants(world->inventory, INVENTORY_PODS, VIEW("ml/a"), STORE_UPSERT,
				     50));
}

/* The proof that it is not decoded: these bytes could not be. */
static void what_is_older_is_not_even_decoded(void **state)
{
	struct world *world = *state;
	const struct kube_bytes_object old = {
		.namespace = "ml", .name = "a", .uid = "u0", .version = "49", .payload = "\xff",
	};
	struct kube_bytes_object newer = old;

	list_all_empty(world);
	event_of(world, INVENTORY_PODS, "ADDED", &pod_a);
	event_of(world, INVENTORY_PODS, "MODIFIED", &old);
	assert_int_equal(refused(world, INVENTORY_PODS), 0);
	newer.version = "51";
	event_of(world, INVENTORY_PODS, "MODIFIED", &newer);
	assert_int_equal(refused(world, INVENTORY_PODS), 1);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 1);
}

static void a_deletion_removes_unless_something_newer_has_come(void **state)
{
	struct world *world = *state;
	struct kube_bytes_object gone = pod_a;

	list_all_empty(world);
	event_of(world, INVENTORY_PODS, "ADDED", &pod_a);
	gone.version = "40";
	event_of(world, INVENTORY_PODS, "DELETED", &gone);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 1);
	gone.version = "60";
	event_of(world, INVENTORY_PODS, "DELETED", &gone);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 0);
	event_of(world, INVENTORY_PODS, "DELETED", &gone);
	assert_int_equal(refused(world, INVENTORY_PODS), 0);
}

static void a_deletion_of_a_cluster_wide_object_goes_by_its_name(void **state)
{
	struct world *world = *state;
	const struct kube_bytes_object node = {.name = "gpu-a", .uid = "n", .version = "50"};
	struct kube_bytes_object gone = node;

	list(world, INVENTORY_NODES, &node, 1);
	assert_non_null(gather(world, "gpu-a").node);
	gone.version = "51";
	event_of(world, INVENTORY_NODES, "DELETED", &gone);
	assert_null(gather(world, "gpu-a").node);
}

static void an_object_that_cannot_be_decoded_fails_alone(void **state)
{
	struct world *world = *state;
	static const struct {
		enum inventory_kind kind;
		struct kube_bytes_object bad;
	} rows[] = {
		{INVENTORY_PODS, {.name = "x", .namespace = "ml", .version = "5"}},
		{INVENTORY_POLICIES, {.name = "x", .version = "5"}},
		{INVENTORY_ATTRIBUTIONS, {.name = "x", .version = "5"}},
	};

	list_all_empty(world);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct watches_state before = watches_state(world->watches, rows[i].kind);

		event_of(world, rows[i].kind, "ADDED", &rows[i].bad);
		assert_int_equal(refused(world, rows[i].kind), 1);
		assert_int_equal(inventory_count(world->inventory, rows[i].kind), 0);
		assert_int_equal(before.counters.failures,
				 watches_state(world->watches, rows[i].kind).counters.failures);
	}
	/* A node whose metadata {name, uid, resourceVersion} can be read and whose status cannot. */
	event(world, INVENTORY_NODES, "ADDED", VIEW("\x0a\x09\x0a\x01x\x2a\x01u\x32\x01" "5\x1a\x01\xff"));
	assert_int_equal(refused(world, INVENTORY_NODES), 1);
	event_of_golden(world, INVENTORY_NODES, "ADDED", "node_gpu.pb");
	assert_int_equal(inventory_count(world->inventory, INVENTORY_NODES), 1);
}

/* What is true of the object is not known, but that it is there is: it has not ended. */
static void an_object_that_is_listed_but_refused_keeps_its_record(void **state)
{
	struct world *world = *state;
	struct kube_bytes_object bad = pod_a;

	list_all_empty(world);
	event_of(world, INVENTORY_PODS, "ADDED", &pod_a);
	reflector_ended(fake_reflectors[INVENTORY_PODS], NULL, fake_now_ms);
	fake_now_ms += 30000;
	assert_true(next_request(INVENTORY_PODS).is_watch);
	begin_answer(world, INVENTORY_PODS, 410);
	reflector_ended(fake_reflectors[INVENTORY_PODS], NULL, fake_now_ms);
	fake_now_ms += 30000;
	bad.uid = NULL;
	bad.version = "70";
	list(world, INVENTORY_PODS, &bad, 1);
	assert_int_equal(refused(world, INVENTORY_PODS), 1);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 1);
	/* Its version is the old one: the new one is wanted when it can be read. */
	assert_true(inventory_wants(world->inventory, INVENTORY_PODS, VIEW("ml/a"), STORE_UPSERT,
				    70));
}

/* The first answer to a kind's list. */
static void refuse(struct world *world, enum inventory_kind kind, int status)
{
	next_request(kind);
	begin_answer(world, kind, status);
	reflector_ended(fake_reflectors[kind], NULL, fake_now_ms);
}

static void a_missing_clusterpolicy_crd_is_known_and_looked_for_again(void **state)
{
	struct world *world = *state;
	struct reflector_request request;

	next_request(INVENTORY_POLICIES);
	begin_answer(world, INVENTORY_POLICIES, 404);
	reflector_ended(fake_reflectors[INVENTORY_POLICIES], NULL, fake_now_ms);
	assert_true(watches_state(world->watches, INVENTORY_POLICIES).synced);
	assert_string_equal(watches_state(world->watches, INVENTORY_POLICIES).trouble, "");
	assert_true(gather(world, "gpu-a").intent->known);
	assert_int_equal(gather(world, "gpu-a").intent->n_policies, 0);
	assert_int_equal(reflector_next(fake_reflectors[INVENTORY_POLICIES], fake_now_ms, &request),
			 REFLECTOR_WAIT);
	assert_in_range(request.wait_until - fake_now_ms, 300000, 330000);
}

static void begin_anew(void **state)
{
	tear_down(state);
	assert_int_equal(set_up(state), 0);
}

/* The reflector of the i-th definition. */
#define DEFINITION(i) ((enum inventory_kind)(INVENTORY_N_KINDS + (i)))

static const struct resource definitions = {
	"meta.k8s.io", "v1", "customresourcedefinitions", "PartialObjectMetadata", RESOURCE_JSON,
	NULL};

static void begin_json(struct world *world, enum inventory_kind kind)
{
	struct error err = {0};

	reflector_answered(fake_reflectors[kind], 200, 0, VIEW("application/json"), fake_now_ms);
	if (reflector_feed(fake_reflectors[kind], sbuf_view(&world->body), fake_now_ms, &err) < 0)
		fail_msg("%s", err.text);
	sbuf_clear(&world->body);
}

/* None of the definitions that are followed is there. */
static void list_definitions(struct world *world)
{
	for (unsigned i = 0; i < 2; i++) {
		next_request(DEFINITION(i));
		kube_bytes_list(&world->body, &definitions,
				&(struct kube_bytes_list){.version = "4"});
		begin_json(world, DEFINITION(i));
		reflector_ended(fake_reflectors[DEFINITION(i)], NULL, fake_now_ms);
		next_request(DEFINITION(i));
		begin_json(world, DEFINITION(i));
	}
}

static bool is_wanted(enum inventory_kind kind)
{
	struct reflector_request request;

	return reflector_next(fake_reflectors[kind], fake_now_ms, &request) == REFLECTOR_REQUEST;
}

static void a_kind_is_looked_for_at_once_when_its_definition_is_written(void **state)
{
	static const struct {
		enum inventory_kind kind;
		const char *name;
	} rows[] = {{INVENTORY_POLICIES, "clusterpolicies.nvidia.com"},
		    {INVENTORY_GPU_CLUSTERS, "gpuclusters.nvidia.com"}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		assert_int_equal(set_up(state), 0);
		struct world *world = *state;
		const struct kube_bytes_object object = {.name = rows[i].name, .uid = "u",
							 .version = "7"};
		char path[200];

		refuse(world, rows[i].kind, 404);
		struct reflector_request request = next_request(DEFINITION(i));
		snprintf(path, sizeof(path),
			 "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?resourceVersion="
			 "&fieldSelector=metadata.name%%3D%s", rows[i].name);
		assert_string_equal(request.path, path);
		assert_string_equal(request.accept, "application/json;as=PartialObjectMetadataList;"
						    "v=v1;g=meta.k8s.io");
		kube_bytes_list(&world->body, &definitions,
				&(struct kube_bytes_list){.version = "4"});
		begin_json(world, DEFINITION(i));
		reflector_ended(fake_reflectors[DEFINITION(i)], NULL, fake_now_ms);
		request = next_request(DEFINITION(i));
		assert_true(request.is_watch);
		assert_string_equal(request.accept,
				    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
		begin_json(world, DEFINITION(i));
		assert_false(is_wanted(rows[i].kind));
		kube_bytes_event(&world->body, &definitions, "ADDED", &object);
		feed(world, DEFINITION(i));
		assert_true(is_wanted(rows[i].kind));
		/* It is not served yet: for a while it is looked for often, and then no more. */
		begin_answer(world, rows[i].kind, 404);
		reflector_ended(fake_reflectors[rows[i].kind], NULL, fake_now_ms);
		fake_loop_advance(world->loop, 2200);
		refuse(world, rows[i].kind, 404);
		fake_loop_advance(world->loop, 30000);
		refuse(world, rows[i].kind, 404);
		fake_loop_advance(world->loop, 299000);
		assert_false(is_wanted(rows[i].kind));
		fake_loop_advance(world->loop, 31000);
		assert_true(is_wanted(rows[i].kind));
	}
}

static const struct kube_bytes_object policy_definition = {
	.name = "clusterpolicies.nvidia.com", .uid = "u", .version = "7"};

/* The first list of the policies' definition. */
static void list_definition(struct world *world, const struct kube_bytes_object *object)
{
	next_request(DEFINITION(0));
	kube_bytes_list(&world->body, &definitions,
			&(struct kube_bytes_list){.version = "7", .objects = object,
						  .n_objects = object ? 1 : 0});
	begin_json(world, DEFINITION(0));
	reflector_ended(fake_reflectors[DEFINITION(0)], NULL, fake_now_ms);
	next_request(DEFINITION(0));
	begin_json(world, DEFINITION(0));
}

static void tell_definition(struct world *world, const char *type, const char *version)
{
	struct kube_bytes_object object = policy_definition;

	object.version = version;
	kube_bytes_event(&world->body, &definitions, type, &object);
	feed(world, DEFINITION(0));
}

static void expect_policies(struct world *world, bool is_known, bool is_unserved)
{
	const struct intent *intent = gather(world, "gpu-a").intent;

	assert_int_equal(intent->known, is_known);
	assert_int_equal(intent->is_unserved, is_unserved);
}

static void policies_that_are_defined_and_not_served_are_unknown_until_they_are(void **state)
{
	struct world *world = *state;

	refuse(world, INVENTORY_POLICIES, 404);
	expect_policies(world, true, false);
	list_definition(world, &policy_definition);
	expect_policies(world, false, true);
	fake_loop_advance(world->loop, 0);
	list(world, INVENTORY_POLICIES, NULL, 0);
	expect_policies(world, true, false);
	/* The version that is read goes: the server ends the watch. */
	reflector_ended(fake_reflectors[INVENTORY_POLICIES], NULL, fake_now_ms);
	fake_loop_advance(world->loop, 400000);
	for (int i = 0; i < 2; i++) { /* the watch, then a list */
		refuse(world, INVENTORY_POLICIES, 404);
		fake_loop_advance(world->loop, 10000);
	}
	expect_policies(world, false, true);
	/* With the whole definition the kind goes. */
	tell_definition(world, "DELETED", "9");
	expect_policies(world, true, false);
}

static void policies_of_a_new_definition_have_half_a_minute_to_be_served(void **state)
{
	struct world *world = *state;

	refuse(world, INVENTORY_POLICIES, 404);
	list_definition(world, NULL);
	tell_definition(world, "ADDED", "8");
	fake_loop_advance(world->loop, DEFINITION_WATCH_TRY_MS - 1);
	refuse(world, INVENTORY_POLICIES, 404);
	tell_definition(world, "MODIFIED", "9");
	fake_loop_advance(world->loop, DEFINITION_WATCH_TRY_MS - 1);
	expect_policies(world, true, false);
	fake_loop_advance(world->loop, 1);
	expect_policies(world, false, true);
	/* A list without it, after its watch was away. */
	fake_loop_advance(world->loop, 300000);
	reflector_ended(fake_reflectors[DEFINITION(0)], NULL, fake_now_ms);
	refuse(world, DEFINITION(0), 410);
	list_definition(world, NULL);
	expect_policies(world, true, false);
}

static void what_is_absent_is_synced_once_its_definition_was_asked_for(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 2; i++) {
		begin_anew(state);
		world = *state;
		for (unsigned kind = 0; kind < INVENTORY_N_KINDS; kind++)
			if (kind != INVENTORY_POLICIES)
				list(world, (enum inventory_kind)kind, NULL, 0);
		refuse(world, INVENTORY_POLICIES, 404);
		fake_loop_advance(world->loop, 0);
		assert_false(watches_are_synced(world->watches));
		if (i == 0)
			list_definition(world, NULL);
		else
			refuse(world, DEFINITION(0), 403);
		assert_true(watches_are_synced(world->watches));
	}
}

static void a_definition_that_may_be_read_no_more_is_not_asked_for_again_and_again(void **state)
{
	struct world *world = *state;

	list_definitions(world);
	reflector_ended(fake_reflectors[DEFINITION(0)], NULL, fake_now_ms);
	for (int i = 0; i < 2; i++) {
		fake_loop_advance(world->loop, 31000);
		refuse(world, DEFINITION(0), 403);
	}
	fake_loop_advance(world->loop, 0);
	assert_null(fake_reflectors[DEFINITION(0)]);
	assert_non_null(fake_reflectors[DEFINITION(1)]);
}

static void where_definitions_may_not_be_read_they_are_asked_for_every_five_minutes(void **state)
{
	struct world *world = *state;
	const struct reflector *first = fake_reflectors[DEFINITION(0)];

	assert_non_null(first);
	refuse(world, DEFINITION(0), 403);
	fake_loop_advance(world->loop, 10000);
	assert_null(fake_reflectors[DEFINITION(0)]);
	assert_non_null(fake_reflectors[DEFINITION(1)]);
	assert_int_equal(n_fake_reflectors, INVENTORY_N_KINDS + 2);
	fake_loop_advance(world->loop, 299000);
	assert_int_equal(n_fake_reflectors, INVENTORY_N_KINDS + 2);
	fake_loop_advance(world->loop, 1000);
	assert_int_equal(n_fake_reflectors, INVENTORY_N_KINDS + 3);
	assert_false(watches_state(world->watches, INVENTORY_POLICIES).trouble[0]);
}

static void list_all_but_dra(struct world *world)
{
	for (unsigned i = 0; i < INVENTORY_RESOURCE_CLAIMS; i++)
		list(world, (enum inventory_kind)i, NULL, 0);
	list(world, INVENTORY_GPU_CLUSTERS, NULL, 0);
}

static void a_server_without_dynamic_resource_allocation_has_no_claims_and_no_slices(void **state)
{
	struct world *world = *state;

	list_all_but_dra(world);
	fake_loop_advance(world->loop, 0);
	assert_true(gather(world, "gpu-a").grants_unknown);
	refuse(world, INVENTORY_RESOURCE_CLAIMS, 404);
	assert_false(watches_are_synced(world->watches));
	refuse(world, INVENTORY_RESOURCE_SLICES, 404);
	assert_true(watches_are_synced(world->watches));
	assert_false(gather(world, "gpu-a").grants_unknown);
	for (unsigned i = INVENTORY_RESOURCE_CLAIMS; i <= INVENTORY_RESOURCE_SLICES; i++) {
		struct watches_state dra = watches_state(world->watches, i);
		struct reflector_request request;

		assert_true(dra.synced);
		assert_false(dra.tolerated);
		assert_string_equal(dra.trouble, "");
		assert_int_equal(reflector_next(fake_reflectors[i], fake_now_ms, &request),
				 REFLECTOR_WAIT);
		assert_in_range(request.wait_until - fake_now_ms, 300000, 330000);
	}
}

static void claims_that_were_there_are_looked_for_every_half_a_minute(void **state)
{
	struct world *world = *state;
	struct reflector_request request;

	list_all_empty(world);
	fake_loop_advance(world->loop, 300000);
	reflector_ended(fake_reflectors[INVENTORY_RESOURCE_CLAIMS], NULL, fake_now_ms);
	for (int i = 0; i < 2; i++) { /* the watch, then a list */
		refuse(world, INVENTORY_RESOURCE_CLAIMS, 404);
		reflector_next(fake_reflectors[INVENTORY_RESOURCE_CLAIMS], fake_now_ms, &request);
		fake_loop_advance(world->loop, i == 0 ? 10000 : 0);
	}
	assert_in_range(request.wait_until - fake_now_ms, 30000, 33000);
}

static void claims_that_we_may_not_read_are_unknown_and_not_waited_for(void **state)
{
	struct world *world = *state;

	list_all_but_dra(world);
	fake_loop_advance(world->loop, 0);
	refuse(world, INVENTORY_RESOURCE_CLAIMS, 403);
	assert_false(watches_are_synced(world->watches));
	refuse(world, INVENTORY_RESOURCE_SLICES, 403);
	assert_true(watches_are_synced(world->watches));
	for (unsigned i = INVENTORY_RESOURCE_CLAIMS; i <= INVENTORY_RESOURCE_SLICES; i++) {
		struct watches_state dra = watches_state(world->watches, i);

		assert_false(dra.synced);
		assert_true(dra.tolerated);
		assert_non_null(strstr(dra.trouble, ".resource.k8s.io: grant this verb"));
	}
	assert_true(gather(world, "gpu-a").grants_unknown);
	/* Once the right is given, what comes is as good as if it had come at once. */
	fake_now_ms += 30000;
	list(world, INVENTORY_RESOURCE_CLAIMS, NULL, 0);
	assert_true(gather(world, "gpu-a").grants_unknown);
	list(world, INVENTORY_RESOURCE_SLICES, NULL, 0);
	assert_false(gather(world, "gpu-a").grants_unknown);
	assert_false(watches_state(world->watches, INVENTORY_RESOURCE_CLAIMS).tolerated);
}

static void what_we_may_read_no_more_is_told_until_it_is_watched_again(void **state)
{
	struct world *world = *state;
	static const struct {
		enum inventory_kind kind;
		enum inventory_age pods;
		bool grants;
	} rows[] = {
		{INVENTORY_PODS, INVENTORY_DENIED, false},
		{INVENTORY_NODES, INVENTORY_STALE, false},
		{INVENTORY_RESOURCE_CLAIMS, INVENTORY_CURRENT, true},
		{INVENTORY_RESOURCE_SLICES, INVENTORY_CURRENT, true},
	};

	list_all_empty(world);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum inventory_kind kind = rows[i].kind;
		struct reflector_request request;
		struct join_input input;
		uint64_t end;

		fake_loop_advance(world->loop, 300000); /* the watch ends in time */
		end = fake_now_ms + REFLECTOR_DENIED_MS;
		reflector_ended(fake_reflectors[kind], NULL, fake_now_ms);
		do {
			refuse(world, kind, 403);
			input = gather(world, "gpu-a");
			assert_true(fake_now_ms >= end || input.pods_age == INVENTORY_CURRENT);
			assert_true(fake_now_ms >= end || !input.grants_denied);
			reflector_next(fake_reflectors[kind], fake_now_ms, &request);
			fake_loop_advance(world->loop, request.wait_until - fake_now_ms);
		} while (fake_now_ms < end + 60000);
		input = gather(world, "gpu-a");
		assert_int_equal(input.pods_age, rows[i].pods);
		assert_int_equal(input.grants_denied, rows[i].grants);
		assert_int_equal(input.grants_unknown, rows[i].grants);
		assert_true(watches_are_synced(world->watches));
		list(world, kind, NULL, 0); /* and watch */
		fake_loop_advance(world->loop, WATCHES_STEADY_MS);
		input = gather(world, "gpu-a");
		assert_int_equal(input.pods_age, INVENTORY_CURRENT);
		assert_false(input.grants_denied);
	}
}

/* Whether it is current. */

static void advance(struct world *world, uint64_t ms)
{
	fake_loop_advance(world->loop, ms);
}

/* All but one are followed, and something rests on claims and slices. */
static void list_all_but(struct world *world, enum inventory_kind missing)
{
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		if (i != missing)
			list(world, (enum inventory_kind)i, NULL, 0);
	if (missing == INVENTORY_RESOURCE_CLAIMS)
		event_of_golden(world, INVENTORY_RESOURCE_SLICES, "ADDED", "slice_gpu.pb");
	else
		event_of_golden(world, INVENTORY_RESOURCE_CLAIMS, "ADDED", "claim_allocated.pb");
}

/* All are followed and have caught up, and there is a claim. */
static void begin_current(struct world *world)
{
	list_all_but(world, INVENTORY_N_KINDS);
	advance(world, REFLECTOR_CATCH_UP_MS);
	assert_true(watches_allow_writes(world->watches));
	advance(world, 20000);
}

static void end_watch(enum inventory_kind kind)
{
	reflector_ended(fake_reflectors[kind], NULL, fake_now_ms);
}

static void end_all_watches(void)
{
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		end_watch((enum inventory_kind)i);
}

static void open_watch(struct world *world, enum inventory_kind kind)
{
	assert_true(next_request(kind).is_watch);
	begin_answer(world, kind, 200);
}

static void cut_off(enum inventory_kind kind)
{
	struct error error;

	error_set(&error, ERROR_RETRY, 0, "connection refused");
	next_request(kind);
	reflector_ended(fake_reflectors[kind], &error, fake_now_ms);
}

static void expect_ages(struct world *world, enum inventory_age pods, bool are_grants_old)
{
	struct join_input input = gather(world, "gpu-a");

	assert_int_equal(input.pods_age, pods);
	assert_int_equal(input.grants_denied, are_grants_old);
	assert_true(input.grants_unknown || !are_grants_old);
}

/* It is current, and whoever waited for that was told. */
static void expect_current(struct world *world, bool is_current)
{
	assert_int_equal(watches_allow_writes(world->watches), is_current);
	assert_int_equal(world->was_current, is_current);
}

static void no_status_is_written_while_a_config_map_that_is_named_anew_is_unread(void **state)
{
	struct world *world = *state;
	const unsigned first = INVENTORY_N_KINDS + 2;

	begin_current(world);
	event(world, INVENTORY_POLICIES, "ADDED", VIEW(POLICY_WITH_CONFIG));
	assert_false(watches_allow_writes(world->watches));
	fake_loop_advance(world->loop, 0);
	(void)next_request((enum inventory_kind)first);
	expect_current(world, false);
	reflector_answered(fake_reflectors[first], 403, 0, VIEW("text/plain"), fake_now_ms);
	reflector_ended(fake_reflectors[first], NULL, fake_now_ms);
	fake_loop_advance(world->loop, 200);
	expect_current(world, true);
	/* A policy that names the same is looked at, and nobody waits. */
	event(world, INVENTORY_POLICIES, "MODIFIED", VIEW(POLICY_WITH_CONFIG));
	fake_loop_advance(world->loop, 0);
	expect_current(world, true);
}

static void one_that_is_not_answered_for_is_waited_for_a_while(void **state)
{
	struct world *world = *state;

	begin_current(world);
	event(world, INVENTORY_POLICIES, "ADDED", VIEW(POLICY_WITH_CONFIG));
	fake_loop_advance(world->loop, CONFIG_WATCH_WAIT_MS - 1);
	expect_current(world, false);
	fake_loop_advance(world->loop, 1);
	expect_current(world, true);
}

/* A write names the version that it replaces, and a ClusterPolicy tells of a namespace only. */
static bool is_waited_for(enum inventory_kind kind)
{
	return kind != INVENTORY_ATTRIBUTIONS && kind != INVENTORY_POLICIES &&
	       kind != INVENTORY_GPU_CLUSTERS;
}

static void nobody_waits_for_the_watches_of_gpuattributions_and_of_the_operators_kinds(void **state)
{
	struct world *world = *state;

	begin_current(world);
	end_watch(INVENTORY_ATTRIBUTIONS);
	end_watch(INVENTORY_POLICIES);
	end_watch(INVENTORY_GPU_CLUSTERS);
	assert_true(watches_allow_writes(world->watches));
	assert_false(watches_state(world->watches, INVENTORY_ATTRIBUTIONS).followed);
	advance(world, 600000);
	expect_current(world, true);
	expect_ages(world, INVENTORY_CURRENT, false);
	end_watch(INVENTORY_NODES);
	assert_false(watches_allow_writes(world->watches));
}

static void it_is_current_when_the_last_watch_is_open_and_has_caught_up(void **state)
{
	for (unsigned last = 0; last < INVENTORY_RESOURCE_CLAIMS; last++) {
		if (!is_waited_for((enum inventory_kind)last))
			continue;
		begin_anew(state);
		struct world *world = *state;

		assert_false(watches_allow_writes(world->watches));
		list_all_but(world, (enum inventory_kind)last);
		for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
			assert_int_equal(watches_state(world->watches, i).followed, i != last);
		expect_current(world, false);
		advance(world, 5000);
		expect_current(world, false);
		list(world, (enum inventory_kind)last, NULL, 0);
		advance(world, REFLECTOR_CATCH_UP_MS - 1);
		expect_current(world, false);
		advance(world, 1);
		expect_current(world, true);
		expect_ages(world, INVENTORY_CURRENT, false);
		advance(world, 3600000);
		expect_current(world, true);
	}
}

static void it_is_current_no_more_as_soon_as_a_watch_ends(void **state)
{
	struct world *world = *state;

	begin_current(world);
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		enum inventory_kind kind = (enum inventory_kind)i;

		if (!is_waited_for(kind))
			continue;
		end_watch(kind);
		expect_current(world, false);
		assert_false(watches_state(world->watches, i).followed);
		advance(world, 500);
		open_watch(world, kind);
		expect_current(world, false);
		advance(world, REFLECTOR_CATCH_UP_MS - 1);
		expect_current(world, false);
		advance(world, 1);
		expect_current(world, true);
		expect_ages(world, INVENTORY_CURRENT, false);
		advance(world, 20000);
	}
}

static void while_the_server_is_away_nothing_is_current(void **state)
{
	struct world *world = *state;

	begin_current(world);
	fake_apiclient_set_away(true);
	expect_current(world, false);
	advance(world, 3600000);
	expect_current(world, false);
	expect_ages(world, INVENTORY_CURRENT, false);
	fake_apiclient_set_away(false);
	expect_current(world, true); /* for no watch has ended */
}

static const struct {
	enum inventory_kind kind;
	enum inventory_age pods;
	bool are_grants_old;
} given_up[] = {
	{INVENTORY_PODS, INVENTORY_STALE, false},
	{INVENTORY_NODES, INVENTORY_STALE, false},
	{INVENTORY_POLICIES, INVENTORY_CURRENT, false},
	{INVENTORY_ATTRIBUTIONS, INVENTORY_CURRENT, false},
	{INVENTORY_RESOURCE_CLAIMS, INVENTORY_CURRENT, true},
	{INVENTORY_RESOURCE_SLICES, INVENTORY_CURRENT, true},
	{INVENTORY_GPU_CLUSTERS, INVENTORY_CURRENT, false},
};

static void a_watch_that_is_away_for_ten_seconds_is_waited_for_no_longer_and_old(void **state)
{
	struct world *world = *state;

	assert_int_equal(ARRAY_SIZE(given_up), INVENTORY_N_KINDS);
	begin_current(world);
	for (size_t i = 0; i < ARRAY_SIZE(given_up); i++) {
		end_watch(given_up[i].kind);
		advance(world, WATCHES_WAIT_MS - 1);
		expect_current(world, !is_waited_for(given_up[i].kind));
		expect_ages(world, INVENTORY_CURRENT, false);
		advance(world, 1);
		expect_current(world, true);
		expect_ages(world, given_up[i].pods, given_up[i].are_grants_old);
		advance(world, 600000);
		expect_current(world, true);
		expect_ages(world, given_up[i].pods, given_up[i].are_grants_old);
		/* Nothing is held up by its return, and it is old until it has shown that it lasts. */
		open_watch(world, given_up[i].kind);
		advance(world, WATCHES_STEADY_MS - 1);
		expect_current(world, true);
		expect_ages(world, given_up[i].pods, given_up[i].are_grants_old);
		advance(world, 1);
		expect_current(world, true);
		expect_ages(world, INVENTORY_CURRENT, false);
		advance(world, 20000);
	}
}

static void a_watch_that_was_given_up_is_waited_for_when_it_breaks_off_again(void **state)
{
	struct world *world = *state;

	begin_current(world);
	end_watch(INVENTORY_PODS);
	advance(world, WATCHES_WAIT_MS);
	open_watch(world, INVENTORY_PODS);
	advance(world, REFLECTOR_CATCH_UP_MS + 2000);
	expect_current(world, true);
	end_watch(INVENTORY_PODS);
	expect_current(world, false);
	advance(world, WATCHES_WAIT_MS - 1);
	expect_ages(world, INVENTORY_CURRENT, false);
	advance(world, 1);
	expect_ages(world, INVENTORY_STALE, false);
}

static void a_watch_that_ends_before_it_has_caught_up_does_not_begin_the_wait_anew(void **state)
{
	struct world *world = *state;

	begin_current(world);
	end_watch(INVENTORY_PODS);
	advance(world, WATCHES_WAIT_MS / 2);
	open_watch(world, INVENTORY_PODS);
	advance(world, REFLECTOR_CATCH_UP_MS - 1);
	end_watch(INVENTORY_PODS);
	advance(world, WATCHES_WAIT_MS / 2 - REFLECTOR_CATCH_UP_MS);
	expect_ages(world, INVENTORY_CURRENT, false);
	expect_current(world, false);
	advance(world, 1);
	expect_ages(world, INVENTORY_STALE, false);
}

/* It was there for a moment, and nobody knows whether it told of all that had happened. */
static void a_watch_that_breaks_off_within_two_seconds_does_not_end_its_age(void **state)
{
	struct world *world = *state;

	begin_current(world);
	end_watch(INVENTORY_PODS);
	advance(world, WATCHES_WAIT_MS);
	for (int i = 0; i < 5; i++) {
		open_watch(world, INVENTORY_PODS);
		advance(world, WATCHES_STEADY_MS - 1);
		end_watch(INVENTORY_PODS);
		expect_ages(world, INVENTORY_STALE, false);
		advance(world, 30000);
		expect_ages(world, INVENTORY_STALE, false);
		expect_current(world, true);
	}
}

static void several_watches_are_given_up_each_in_its_time(void **state)
{
	struct world *world = *state;

	begin_current(world);
	end_watch(INVENTORY_RESOURCE_SLICES);
	advance(world, 4000);
	end_watch(INVENTORY_PODS);
	advance(world, 6000);
	expect_ages(world, INVENTORY_CURRENT, true);
	expect_current(world, false);
	advance(world, 3999);
	expect_ages(world, INVENTORY_CURRENT, true);
	advance(world, 1);
	expect_ages(world, INVENTORY_STALE, true);
	expect_current(world, true);
}

static void an_outage_says_nothing_if_all_are_back_within_ten_seconds_of_its_end(void **state)
{
	struct world *world = *state;

	begin_current(world);
	end_all_watches();
	fake_apiclient_set_away(true);
	for (int s = 0; s < 60; s++) {
		advance(world, 1000);
		expect_current(world, false);
		expect_ages(world, INVENTORY_CURRENT, false);
	}
	fake_apiclient_set_away(false);
	open_watch(world, INVENTORY_GPU_CLUSTERS);
	for (unsigned i = 0; i < INVENTORY_GPU_CLUSTERS; i++) {
		advance(world, is_waited_for((enum inventory_kind)i) ? 2400 : 0);
		expect_current(world, false);
		open_watch(world, (enum inventory_kind)i);
		expect_ages(world, INVENTORY_CURRENT, false);
	}
	advance(world, REFLECTOR_CATCH_UP_MS - 1);
	expect_current(world, false);
	advance(world, 1);
	expect_current(world, true);
	expect_ages(world, INVENTORY_CURRENT, false);
}

static void the_wait_for_a_watch_is_counted_while_the_server_answers(void **state)
{
	static const uint64_t before_ms[] = {0, 9000}; /* that it was away, and the server was not */
	struct world *world;

	for (size_t i = 0; i < ARRAY_SIZE(before_ms); i++) {
		begin_anew(state);
		world = *state;
		begin_current(world);
		end_watch(INVENTORY_PODS);
		advance(world, before_ms[i]);
		fake_apiclient_set_away(true);
		advance(world, 60000);
		fake_apiclient_set_away(false);
		advance(world, WATCHES_WAIT_MS - before_ms[i] - 1);
		expect_current(world, false);
		expect_ages(world, INVENTORY_CURRENT, false);
		advance(world, 1);
		expect_current(world, true);
		expect_ages(world, INVENTORY_STALE, false);
	}
}

/* Lets time pass until the next request of a kind, `until` at most; false: there was none. */
static bool wait_for_request(struct world *world, enum inventory_kind kind, uint64_t until)
{
	struct reflector_request request;

	while (reflector_next(fake_reflectors[kind], fake_now_ms, &request) == REFLECTOR_WAIT) {
		uint64_t at = request.wait_until < until ? request.wait_until : until;

		advance(world, at - fake_now_ms);
		if (at == until)
			return false;
	}
	return true;
}

/* A storm of 410: each list succeeds, and no watch. It would hold up all writes for ever. */
static void lists_in_between_do_not_begin_the_wait_for_a_watch_anew(void **state)
{
	struct world *world = *state;
	const struct kube_bytes_list bytes = {.version = "4"};
	const uint64_t end = fake_now_ms + REFLECTOR_CATCH_UP_MS + 20000 + WATCHES_WAIT_MS - 1;
	unsigned n_lists = 0;

	begin_current(world);
	end_watch(INVENTORY_PODS);
	for (refuse(world, INVENTORY_PODS, 410); wait_for_request(world, INVENTORY_PODS, end);
	     refuse(world, INVENTORY_PODS, 410)) {
		expect_current(world, false);
		kube_bytes_list(&world->body, &resources[INVENTORY_PODS], &bytes);
		begin_answer(world, INVENTORY_PODS, 200);
		reflector_ended(fake_reflectors[INVENTORY_PODS], NULL, fake_now_ms);
		n_lists++;
	}
	assert_true(n_lists >= 2);
	expect_current(world, false);
	expect_ages(world, INVENTORY_CURRENT, false);
	advance(world, 1);
	expect_current(world, true);
	expect_ages(world, INVENTORY_STALE, false);
}

/* Otherwise a server that flaps would hold up all writes for ever. */
static void several_short_outages_do_not_begin_the_wait_anew(void **state)
{
	struct world *world = *state;

	begin_current(world);
	end_watch(INVENTORY_PODS);
	for (int i = 0; i < 5; i++) {
		expect_current(world, false);
		expect_ages(world, INVENTORY_CURRENT, false);
		advance(world, 1999);
		fake_apiclient_set_away(true);
		advance(world, 3000);
		fake_apiclient_set_away(false);
	}
	advance(world, 4);
	expect_current(world, false);
	advance(world, 1);
	expect_current(world, true);
	expect_ages(world, INVENTORY_STALE, false);
}

/* A request was waited for in vain: the watches may lag as well. */
static void while_the_server_is_doubtful_nothing_is_written(void **state)
{
	struct world *world = *state;

	begin_current(world);
	fake_apiclient_set_doubtful(true);
	expect_current(world, false);
	assert_string_equal(watches_server_trouble(world->watches), "");
	fake_apiclient_set_doubtful(false);
	expect_current(world, true);
	expect_ages(world, INVENTORY_CURRENT, false);
}

static void why_the_server_is_away_can_be_asked(void **state)
{
	struct world *world = *state;

	assert_string_equal(watches_server_trouble(world->watches), "");
	fake_apiclient_set_away(true);
	assert_non_null(strstr(watches_server_trouble(world->watches), "/readyz"));
	fake_apiclient_set_away(false);
	assert_string_equal(watches_server_trouble(world->watches), "");
}

static void what_was_given_up_is_old_throughout_an_outage(void **state)
{
	struct world *world = *state;

	begin_current(world);
	end_watch(INVENTORY_PODS);
	advance(world, WATCHES_WAIT_MS);
	expect_ages(world, INVENTORY_STALE, false);
	fake_apiclient_set_away(true);
	expect_current(world, false);
	expect_ages(world, INVENTORY_STALE, false);
	advance(world, 60000);
	fake_apiclient_set_away(false);
	expect_current(world, true);
	expect_ages(world, INVENTORY_STALE, false);
}

static void who_is_denied_is_not_called_stale_when_it_is_given_up(void **state)
{
	struct world *world = *state;

	begin_current(world);
	end_watch(INVENTORY_PODS);
	advance(world, 3000);
	refuse(world, INVENTORY_PODS, 403);
	advance(world, 5000);
	refuse(world, INVENTORY_PODS, 403);
	advance(world, WATCHES_WAIT_MS - 8001);
	expect_ages(world, INVENTORY_CURRENT, false);
	expect_current(world, false);
	advance(world, 1);
	expect_ages(world, INVENTORY_DENIED, false);
	expect_current(world, true);
	/* The reflector says so itself by now, and what fails meanwhile is no permission. */
	advance(world, 30000);
	refuse(world, INVENTORY_PODS, 403);
	advance(world, 30000);
	cut_off(INVENTORY_PODS);
	expect_ages(world, INVENTORY_DENIED, false);
	fake_apiclient_set_away(true);
	advance(world, 30000);
	fake_apiclient_set_away(false);
	expect_ages(world, INVENTORY_DENIED, false);
}

/* A token that is not accepted is no lack of a right, nor is a refusal of a moment. */
static void only_who_is_forbidden_for_a_while_is_called_denied(void **state)
{
	static const struct {
		int status;
		uint64_t for_ms; /* when it is given up */
		enum inventory_age expected;
	} rows[] = {
		{401, 9000, INVENTORY_STALE},
		{500, 9000, INVENTORY_STALE},
		{403, 5000, INVENTORY_STALE},
		{403, 5001, INVENTORY_DENIED},
		{403, 9000, INVENTORY_DENIED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		begin_anew(state);
		struct world *world = *state;

		begin_current(world);
		end_watch(INVENTORY_PODS);
		advance(world, WATCHES_WAIT_MS - rows[i].for_ms);
		refuse(world, INVENTORY_PODS, rows[i].status);
		advance(world, rows[i].for_ms - 1);
		refuse(world, INVENTORY_PODS, rows[i].status);
		advance(world, 1);
		expect_ages(world, rows[i].expected, false);
		expect_current(world, true);
	}
}

/* One change of the age is one write for each device. */
static void regress_13_what_was_denied_is_not_called_stale_before_it_is_current(void **state)
{
	struct world *world = *state;

	begin_current(world);
	end_watch(INVENTORY_PODS);
	refuse(world, INVENTORY_PODS, 403);
	advance(world, 30000);
	refuse(world, INVENTORY_PODS, 403);
	expect_ages(world, INVENTORY_DENIED, false);
	advance(world, 30000);
	list(world, INVENTORY_PODS, NULL, 0); /* and watch */
	expect_ages(world, INVENTORY_DENIED, false);
	advance(world, WATCHES_STEADY_MS - 1);
	expect_ages(world, INVENTORY_DENIED, false);
	advance(world, 1);
	expect_ages(world, INVENTORY_CURRENT, false);
}

static void before_its_first_list_nothing_is_given_up(void **state)
{
	for (unsigned missing = 0; missing < INVENTORY_RESOURCE_CLAIMS; missing++) {
		if (!is_waited_for((enum inventory_kind)missing))
			continue;
		begin_anew(state);
		struct world *world = *state;

		list_all_but(world, (enum inventory_kind)missing);
		advance(world, 3600000);
		assert_false(watches_allow_writes(world->watches));
		assert_int_equal(gather(world, "gpu-a").pods_age, INVENTORY_CURRENT);
		/* What it waited before does not count against its first watch. */
		list(world, (enum inventory_kind)missing, NULL, 0);
		advance(world, REFLECTOR_CATCH_UP_MS);
		expect_current(world, true);
		expect_ages(world, INVENTORY_CURRENT, false);
	}
}

static void a_first_watch_is_waited_for_from_the_end_of_its_list_on(void **state)
{
	struct world *world = *state;
	const struct kube_bytes_list bytes = {.version = "4"};

	list_all_but(world, INVENTORY_PODS);
	advance(world, 60000);
	next_request(INVENTORY_PODS);
	kube_bytes_list(&world->body, &resources[INVENTORY_PODS], &bytes);
	begin_answer(world, INVENTORY_PODS, 200);
	reflector_ended(fake_reflectors[INVENTORY_PODS], NULL, fake_now_ms);
	end_watch(INVENTORY_POLICIES); /* and something else happens */
	open_watch(world, INVENTORY_POLICIES);
	advance(world, WATCHES_WAIT_MS - 1);
	expect_current(world, false);
	expect_ages(world, INVENTORY_CURRENT, false);
	advance(world, 1);
	expect_current(world, true);
	expect_ages(world, INVENTORY_STALE, false);
}

static void regress_13_a_first_watch_that_never_opens_is_given_up_as_any_other(void **state)
{
	struct world *world = *state;
	const struct kube_bytes_list bytes = {.version = "4"};

	list_all_but(world, INVENTORY_PODS);
	advance(world, 60000);
	next_request(INVENTORY_PODS);
	kube_bytes_list(&world->body, &resources[INVENTORY_PODS], &bytes);
	begin_answer(world, INVENTORY_PODS, 200);
	reflector_ended(fake_reflectors[INVENTORY_PODS], NULL, fake_now_ms);
	assert_true(next_request(INVENTORY_PODS).is_watch); /* which nobody answers */
	advance(world, WATCHES_WAIT_MS - 1);
	expect_current(world, false);
	expect_ages(world, INVENTORY_CURRENT, false);
	advance(world, 1);
	expect_current(world, true);
	expect_ages(world, INVENTORY_STALE, false);
}

static void what_does_not_exist_is_followed_until_it_does(void **state)
{
	struct world *world = *state;

	list(world, INVENTORY_PODS, NULL, 0);
	list(world, INVENTORY_NODES, NULL, 0);
	refuse(world, INVENTORY_POLICIES, 404);
	list(world, INVENTORY_ATTRIBUTIONS, NULL, 0);
	refuse(world, INVENTORY_RESOURCE_CLAIMS, 404);
	refuse(world, INVENTORY_RESOURCE_SLICES, 404);
	refuse(world, INVENTORY_GPU_CLUSTERS, 404);
	assert_true(watches_state(world->watches, INVENTORY_POLICIES).followed);
	advance(world, REFLECTOR_CATCH_UP_MS);
	expect_current(world, true);
	advance(world, 600000);
	expect_current(world, true);
	/* Its definition was installed. */
	list(world, INVENTORY_POLICIES, NULL, 0);
	assert_true(watches_state(world->watches, INVENTORY_POLICIES).followed);
	advance(world, REFLECTOR_CATCH_UP_MS);
	expect_current(world, true);
}

static void claims_that_were_never_read_are_not_waited_for_and_then_they_are(void **state)
{
	static const int statuses[] = {403, 500, 403};
	struct world *world = *state;

	list_all_but(world, INVENTORY_RESOURCE_CLAIMS);
	advance(world, REFLECTOR_CATCH_UP_MS);
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		refuse(world, INVENTORY_RESOURCE_CLAIMS, statuses[i]);
		expect_current(world, true);
		advance(world, 30000);
		expect_current(world, true);
		assert_true(gather(world, "gpu-a").grants_unknown);
	}
	/* Once they can be listed their watch is waited for. */
	next_request(INVENTORY_RESOURCE_CLAIMS);
	kube_bytes_list(&world->body, &resources[INVENTORY_RESOURCE_CLAIMS],
			&(struct kube_bytes_list){.version = "4"});
	begin_answer(world, INVENTORY_RESOURCE_CLAIMS, 200);
	reflector_ended(fake_reflectors[INVENTORY_RESOURCE_CLAIMS], NULL, fake_now_ms);
	expect_current(world, false);
	open_watch(world, INVENTORY_RESOURCE_CLAIMS);
	expect_current(world, false);
	advance(world, REFLECTOR_CATCH_UP_MS);
	expect_current(world, true);
	expect_ages(world, INVENTORY_CURRENT, false);
}

static void without_any_claim_or_slice_their_watches_are_not_waited_for(void **state)
{
	struct world *world = *state;
	static const enum inventory_kind kinds[] = {INVENTORY_RESOURCE_CLAIMS,
						    INVENTORY_RESOURCE_SLICES};

	list_all_empty(world);
	advance(world, REFLECTOR_CATCH_UP_MS + 2000);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		end_watch(kinds[i]);
		expect_current(world, true);
		open_watch(world, kinds[i]);
		advance(world, 2000);
	}
	/* The first one is news, and from now on something may rest on them. */
	event_of_golden(world, INVENTORY_RESOURCE_CLAIMS, "ADDED", "claim_allocated.pb");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		end_watch(kinds[i]);
		expect_current(world, false);
		open_watch(world, kinds[i]);
		advance(world, 2000);
		expect_current(world, true);
	}
}

static void without_any_claim_or_slice_their_watches_are_not_given_up(void **state)
{
	struct world *world = *state;

	list_definitions(world);
	list_all_empty(world);
	advance(world, REFLECTOR_CATCH_UP_MS);
	end_watch(INVENTORY_RESOURCE_CLAIMS);
	end_watch(INVENTORY_RESOURCE_SLICES);
	advance(world, 600000);
	expect_current(world, true);
	expect_ages(world, INVENTORY_CURRENT, false);
	assert_false(gather(world, "gpu-a").grants_unknown);
	assert_true(fake_loop_next(world->loop) == UINT64_MAX); /* nor looked at again and again */
}

/* Nobody waited for the watch of claims. Then something rests on it, and nothing else happens. */
static void regress_13_the_first_slice_does_not_hold_up_all_writes_for_a_watch_that_is_away(
	void **state)
{
	static const uint64_t away_ms[] = {60000, 4000};
	struct world *world;

	for (size_t i = 0; i < ARRAY_SIZE(away_ms); i++) {
		begin_anew(state);
		world = *state;
		list_all_empty(world);
		advance(world, REFLECTOR_CATCH_UP_MS);
		end_watch(INVENTORY_RESOURCE_CLAIMS);
		advance(world, away_ms[i]);
		expect_current(world, true);
		event_of_golden(world, INVENTORY_RESOURCE_SLICES, "ADDED", "slice_gpu.pb");
		assert_int_equal(watches_allow_writes(world->watches),
				 away_ms[i] >= WATCHES_WAIT_MS);
		advance(world, WATCHES_WAIT_MS);
		expect_current(world, true);
		expect_ages(world, INVENTORY_CURRENT, true);
	}
}

/* The last one that something rested on is gone: who waits for the watch is told. */
static void whoever_waits_for_a_watch_on_which_nothing_rests_any_more_is_told(void **state)
{
	struct world *world = *state;
	static const struct kube_bytes_object gone = {
		.name = "gpu-a-gpu.nvidia.com-8k2lf", .uid = "u", .version = "3000",
	};

	list_all_empty(world);
	event_of_golden(world, INVENTORY_RESOURCE_SLICES, "ADDED", "slice_gpu.pb");
	advance(world, 20000);
	end_watch(INVENTORY_RESOURCE_CLAIMS);
	expect_current(world, false);
	event_of(world, INVENTORY_RESOURCE_SLICES, "DELETED", &gone);
	expect_current(world, true);
}

/* A right that was given, of a resource that cannot be listed: that is no worse than no right. */
static void regress_13_what_was_never_read_does_not_hold_up_all_writes_for_ever(void **state)
{
	struct world *world = *state;

	list_all_but(world, INVENTORY_RESOURCE_CLAIMS);
	refuse(world, INVENTORY_RESOURCE_CLAIMS, 403);
	advance(world, 30000);
	assert_true(watches_allow_writes(world->watches));
	for (int i = 0; i < 20; i++) {
		refuse(world, INVENTORY_RESOURCE_CLAIMS, 500);
		advance(world, 30000);
	}
	assert_true(watches_allow_writes(world->watches));
	expect_ages(world, INVENTORY_CURRENT, true);
}

static void whoever_waits_is_told_only_when_something_may_have_changed(void **state)
{
	struct world *world = *state;
	unsigned before;

	list_definitions(world);
	begin_current(world);
	before = world->n_changed;
	advance(world, 3600000);
	event_of(world, INVENTORY_PODS, "ADDED", &pod_a);
	assert_int_equal(world->n_changed, before);
	assert_true(fake_loop_next(world->loop) == UINT64_MAX);
	end_watch(INVENTORY_PODS);
	before = world->n_changed;
	advance(world, WATCHES_WAIT_MS);
	assert_int_equal(world->n_changed, before + 1);
	assert_true(fake_loop_next(world->loop) == UINT64_MAX);
	advance(world, 3600000);
	assert_int_equal(world->n_changed, before + 1);
}

static void only_a_lack_of_rights_to_what_is_not_needed_is_tolerated(void **state)
{
	struct world *world = *state;
	static const struct {
		enum inventory_kind kind;
		int status;
	} rows[] = {
		{INVENTORY_PODS, 403},     {INVENTORY_POLICIES, 500}, {INVENTORY_ATTRIBUTIONS, 403},
		{INVENTORY_NODES, 403},    {INVENTORY_RESOURCE_CLAIMS, 500},
		{INVENTORY_RESOURCE_SLICES, 429},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		refuse(world, rows[i].kind, rows[i].status);
		assert_false(watches_state(world->watches, rows[i].kind).tolerated);
	}
	assert_false(watches_are_synced(world->watches));
}

/* Of a kind that may not be read, for so long. */
static void refuse_for(struct world *world, enum inventory_kind kind, uint64_t ms)
{
	const uint64_t end = fake_now_ms + ms;
	struct reflector_request request;

	while (fake_now_ms < end) {
		refuse(world, kind, 403);
		reflector_next(fake_reflectors[kind], fake_now_ms, &request);
		fake_loop_advance(world->loop, request.wait_until - fake_now_ms);
	}
}

static void policies_that_may_not_be_read_from_the_start_are_unknown_after_a_moment(void **state)
{
	struct world *world = *state;

	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		if (i != INVENTORY_POLICIES)
			list(world, (enum inventory_kind)i, NULL, 0);
	refuse(world, INVENTORY_POLICIES, 403);
	fake_loop_advance(world->loop, 4999);
	assert_false(watches_are_synced(world->watches));
	fake_loop_advance(world->loop, 1);
	assert_true(watches_are_synced(world->watches));
	assert_true(watches_state(world->watches, INVENTORY_POLICIES).tolerated);
	assert_true(watches_allow_writes(world->watches));
	expect_policies(world, false, false);
	fake_loop_advance(world->loop, 60000);
	list(world, INVENTORY_POLICIES, NULL, 0);
	expect_policies(world, true, false);
}

/* In that moment each status would say that they are not known. */
static void gpu_clusters_that_may_not_be_read_from_the_start_are_unread_after_a_moment(void **state)
{
	struct world *world = *state;

	list_all_but(world, INVENTORY_GPU_CLUSTERS);
	refuse(world, INVENTORY_GPU_CLUSTERS, 403);
	advance(world, 4999);
	assert_false(watches_are_synced(world->watches));
	advance(world, 1);
	assert_true(watches_are_synced(world->watches));
	assert_true(gather(world, "gpu-a").intent->are_gpu_clusters_unread);
	advance(world, 60000);
	list(world, INVENTORY_GPU_CLUSTERS, NULL, 0);
	assert_false(gather(world, "gpu-a").intent->are_gpu_clusters_unread);
}

static void policies_that_may_be_read_no_more_are_unknown_until_they_are_watched_again(void **state)
{
	struct world *world = *state;

	list_all_empty(world);
	fake_loop_advance(world->loop, 300000);
	reflector_ended(fake_reflectors[INVENTORY_POLICIES], NULL, fake_now_ms);
	refuse_for(world, INVENTORY_POLICIES, 60000);
	expect_policies(world, false, false);
	assert_true(watches_allow_writes(world->watches));
	list(world, INVENTORY_POLICIES, NULL, 0); /* and watch */
	fake_loop_advance(world->loop, WATCHES_STEADY_MS);
	expect_policies(world, true, false);
}

static void policies_whose_watch_has_been_away_for_five_minutes_are_unknown(void **state)
{
	struct world *world = *state;

	list_all_empty(world); /* also where there are neither claims nor slices */
	advance(world, REFLECTOR_CATCH_UP_MS);
	end_watch(INVENTORY_POLICIES);
	advance(world, WATCHES_INTENT_WAIT_MS / 2);
	refuse(world, INVENTORY_POLICIES, 500);
	/* While the API server is away altogether that is no fault of the watch. */
	fake_apiclient_set_away(true);
	advance(world, 600000);
	fake_apiclient_set_away(false);
	advance(world, WATCHES_INTENT_WAIT_MS / 2 - 1);
	expect_policies(world, true, false);
	advance(world, 1);
	expect_policies(world, false, false);
	assert_true(gather(world, "gpu-a").intent->is_stale);
	fake_apiclient_set_away(true);
	expect_policies(world, false, false);
	fake_apiclient_set_away(false);
	open_watch(world, INVENTORY_POLICIES);
	advance(world, WATCHES_STEADY_MS - 1);
	expect_policies(world, false, false);
	advance(world, 1);
	expect_policies(world, true, false);
}

static void a_real_claim_lands_under_its_namespace_and_name(void **state)
{
	struct world *world = *state;

	list_all_empty(world);
	event_of_golden(world, INVENTORY_RESOURCE_CLAIMS, "ADDED", "claim_allocated.pb");
	assert_int_equal(refused(world, INVENTORY_RESOURCE_CLAIMS), 0);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_RESOURCE_CLAIMS), 1);
	assert_false(inventory_wants(world->inventory, INVENTORY_RESOURCE_CLAIMS,
				     VIEW("ml/team-gpus"), STORE_UPSERT, 1));
	/* One of those that it is reserved for is a PodGroup. */
	assert_int_equal(inventory_unused(world->inventory).resource_claims, 1);
}

static void a_real_slice_lands_on_its_node(void **state)
{
	struct world *world = *state;

	list_all_empty(world);
	assert_false(gather(world, "gpu-a").grants_unknown);
	event_of_golden(world, INVENTORY_RESOURCE_SLICES, "ADDED", "slice_gpu.pb");
	assert_int_equal(refused(world, INVENTORY_RESOURCE_SLICES), 0);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_RESOURCE_SLICES), 1);
	/* It is one of two. */
	assert_true(gather(world, "gpu-a").grants_unknown);
	assert_int_equal(gather(world, "gpu-a").n_slice_devices, 0);
	assert_false(gather(world, "gpu-b").grants_unknown);
}

static void without_its_own_crd_the_controller_waits_and_says_for_what(void **state)
{
	struct world *world = *state;

	next_request(INVENTORY_ATTRIBUTIONS);
	begin_answer(world, INVENTORY_ATTRIBUTIONS, 404);
	reflector_ended(fake_reflectors[INVENTORY_ATTRIBUTIONS], NULL, fake_now_ms);
	struct watches_state own = watches_state(world->watches, INVENTORY_ATTRIBUTIONS);
	assert_false(own.synced);
	assert_non_null(strstr(own.trouble, "install"));
	fake_now_ms += 2200;
	list(world, INVENTORY_ATTRIBUTIONS, NULL, 0);
	own = watches_state(world->watches, INVENTORY_ATTRIBUTIONS);
	assert_true(own.synced);
	assert_string_equal(own.trouble, "");
}

static void a_refused_list_is_trouble_that_names_the_resource(void **state)
{
	struct world *world = *state;

	next_request(INVENTORY_NODES);
	begin_answer(world, INVENTORY_NODES, 403);
	reflector_ended(fake_reflectors[INVENTORY_NODES], NULL, fake_now_ms);
	assert_non_null(strstr(watches_state(world->watches, INVENTORY_NODES).trouble, "nodes"));
	assert_string_equal(watches_state(world->watches, INVENTORY_PODS).trouble, "");
	assert_false(watches_are_synced(world->watches));
}

static void a_name_longer_than_any_is_refused_and_deletes_nothing(void **state)
{
	struct world *world = *state;
	static char long_name[LIMIT_URL + 10];
	struct kube_bytes_object object = pod_a;

	memset(long_name, 'a', sizeof(long_name) - 1);
	list_all_empty(world);
	event_of(world, INVENTORY_PODS, "ADDED", &pod_a);
	object.name = long_name;
	object.version = "60";
	event_of(world, INVENTORY_PODS, "ADDED", &object);
	event_of(world, INVENTORY_PODS, "DELETED", &object);
	assert_int_equal(refused(world, INVENTORY_PODS), 2);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 1);
}

static void two_pods_of_one_uid_are_not_believed(void **state)
{
	struct world *world = *state;
	struct kube_bytes_object other = pod_a;

	list_all_empty(world);
	event_of(world, INVENTORY_PODS, "ADDED", &pod_a);
	other.name = "b";
	other.version = "60";
	event_of(world, INVENTORY_PODS, "ADDED", &other);
	assert_int_equal(refused(world, INVENTORY_PODS), 1);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 1);
}

static void the_first_state_is_read_in_the_way_that_was_set(void **state)
{
	struct world *world = *state;
	static const struct {
		enum reflector_initial initial;
		const char *part;
	} rows[] = {
		{REFLECTOR_LIST, "resourceVersion=&"},
		{REFLECTOR_STREAM, "sendInitialEvents=true"},
		{REFLECTOR_PAGES, "limit=500"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct watches_config config = {.initial = rows[i].initial};
		struct error err;

		watches_free(world->watches);
		world->watches = NULL;
		fake_apiclient_reset();
		assert_int_equal(watches_new(world->loop, NULL, world->inventory, &config,
					     &world->watches, &err), 0);
		assert_non_null(strstr(next_request(INVENTORY_PODS).path, rows[i].part));
	}
}

static void a_client_that_runs_no_reflector_makes_no_watches(void **state)
{
	struct world *world = *state;
	const struct watches_config config = {.initial = REFLECTOR_LIST};
	struct watches *watches = NULL;
	struct error err = {0};

	fake_apiclient_refusal = ERROR_LIMIT;
	assert_int_equal(watches_new(world->loop, NULL, world->inventory, &config, &watches, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_null(watches);
}

static void without_memory_none_are_made_and_nothing_leaks(void **state)
{
	struct world *world = *state;
	const struct watches_config config = {.initial = REFLECTOR_LIST};
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		struct watches *watches = NULL;
		struct error err = {0};

		fake_apiclient_reset();
		failing_malloc_at(k);
		int result = watches_new(world->loop, NULL, world->inventory, &config, &watches,
					 &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
		watches_free(watches);
	}
}

/* One object that memory did not suffice for is refused; nothing else changes. */
static void what_there_was_no_memory_for_is_not_refused_but_listed_again(void **state)
{
	struct world *world = *state;
	struct kube_bytes_object object = pod_a;
	bool failed = true;
	char version[16];

	list_all_empty(world);
	for (unsigned k = 1; failed; k++) {
		struct error err = {0};

		snprintf(version, sizeof(version), "%u", 50 + k);
		object.version = version;
		kube_bytes_event(&world->body, &resources[INVENTORY_PODS], "ADDED", &object);
		failing_malloc_at(k);
		int result = reflector_feed(fake_reflectors[INVENTORY_PODS],
					    sbuf_view(&world->body), fake_now_ms, &err);
		failed = failing_malloc_off();
		sbuf_clear(&world->body);
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(refused(world, INVENTORY_PODS), 0);
		if (!failed)
			break;
		assert_int_equal(err.kind, ERROR_NO_MEMORY);
		reflector_ended(fake_reflectors[INVENTORY_PODS], &err, fake_now_ms);
		fake_now_ms += 60000;
		list(world, INVENTORY_PODS, &object, 1);
		assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 1);
		assert_false(inventory_wants(world->inventory, INVENTORY_PODS, VIEW("ml/a"),
					     STORE_LISTED, 50 + k));
	}
}

/* Pods by node. */

/* The watch of all pods, which comes first, does not run: its place is kept. */
static void begin_by_node(struct world *world)
{
	const struct watches_config config = {
		.initial = REFLECTOR_LIST, .pod_selection = POD_SELECTION_ALWAYS_NODE, .seed = 1};
	struct error err;

	watches_free(world->watches);
	fake_apiclient_reset();
	assert_int_equal(watches_new(world->loop, NULL, world->inventory, &config, &world->watches,
				     &err),
			 0);
	memmove(&fake_reflectors[1], &fake_reflectors[0],
		n_fake_reflectors * sizeof(fake_reflectors[0]));
	fake_reflectors[INVENTORY_PODS] = NULL;
	n_fake_reflectors++;
}

static void pods_of_a_node_are_waited_for_and_do_not_hold_up_other_nodes(void **state)
{
	struct world *world = *state;
	struct reflector_request request;

	begin_by_node(world);
	for (unsigned i = 1; i < INVENTORY_N_KINDS; i++)
		list(world, (enum inventory_kind)i, NULL, 0);
	event_of_golden(world, INVENTORY_NODES, "ADDED", "node_gpu.pb");
	assert_false(watches_are_synced(world->watches));
	unsigned n = n_fake_reflectors;
	advance(world, 1000);
	assert_int_equal(n_fake_reflectors, n + 1);
	assert_int_equal(reflector_next(fake_reflectors[n], fake_now_ms, &request), REFLECTOR_REQUEST);
	assert_non_null(strstr(request.path, "fieldSelector=spec.nodeName%3Dgpu-a"));
	assert_true(watches_pods(world->watches).is_by_node);
	assert_int_equal(watches_pods(world->watches).n_watches, 1);
	assert_string_equal(watches_state(world->watches, INVENTORY_PODS).name, "pods");
	assert_false(watches_state(world->watches, INVENTORY_PODS).synced);
	assert_true(watches_allow_writes(world->watches));
	assert_false(watches_allow_node(world->watches, VIEW("gpu-a")));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		claims_that_were_there_are_looked_for_every_half_a_minute, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		policies_that_are_defined_and_not_served_are_unknown_until_they_are, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		policies_of_a_new_definition_have_half_a_minute_to_be_served, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_absent_is_synced_once_its_definition_was_asked_for, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		policies_that_may_not_be_read_from_the_start_are_unknown_after_a_moment, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		policies_that_may_be_read_no_more_are_unknown_until_they_are_watched_again, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		gpu_clusters_that_may_not_be_read_from_the_start_are_unread_after_a_moment, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		policies_whose_watch_has_been_away_for_five_minutes_are_unknown, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		every_resource_is_listed_then_watched, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		all_is_synced_when_the_last_resource_has_arrived, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_real_pod_lands_on_its_node_with_its_containers, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_real_node_lands_with_its_labels, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_real_attribution_lands_on_the_node_that_its_status_names, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_config_map_that_a_policy_names_is_waited_for_until_it_is_known, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		no_status_is_written_while_a_config_map_that_is_named_anew_is_unread, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(one_that_is_not_answered_for_is_waited_for_a_while, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_gpu_cluster_lands_beside_the_policies, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_policy_lands_as_the_clusters_intent, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_a_list_contains_is_there_and_what_the_next_one_lacks_is_gone, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_older_is_not_even_decoded, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_deletion_removes_unless_something_newer_has_come, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_deletion_of_a_cluster_wide_object_goes_by_its_name, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_object_that_cannot_be_decoded_fails_alone, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_object_that_is_listed_but_refused_keeps_its_record, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_kind_is_looked_for_at_once_when_its_definition_is_written, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_definition_that_may_be_read_no_more_is_not_asked_for_again_and_again, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		where_definitions_may_not_be_read_they_are_asked_for_every_five_minutes, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_missing_clusterpolicy_crd_is_known_and_looked_for_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_server_without_dynamic_resource_allocation_has_no_claims_and_no_slices, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		claims_that_we_may_not_read_are_unknown_and_not_waited_for, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_we_may_read_no_more_is_told_until_it_is_watched_again,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		nobody_waits_for_the_watches_of_gpuattributions_and_of_the_operators_kinds, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		it_is_current_when_the_last_watch_is_open_and_has_caught_up, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		it_is_current_no_more_as_soon_as_a_watch_ends, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		while_the_server_is_away_nothing_is_current, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_watch_that_is_away_for_ten_seconds_is_waited_for_no_longer_and_old, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_watch_that_was_given_up_is_waited_for_when_it_breaks_off_again, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_watch_that_ends_before_it_has_caught_up_does_not_begin_the_wait_anew, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_watch_that_breaks_off_within_two_seconds_does_not_end_its_age, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		several_watches_are_given_up_each_in_its_time, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		an_outage_says_nothing_if_all_are_back_within_ten_seconds_of_its_end, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		the_wait_for_a_watch_is_counted_while_the_server_answers, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		several_short_outages_do_not_begin_the_wait_anew, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		lists_in_between_do_not_begin_the_wait_for_a_watch_anew, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		while_the_server_is_doubtful_nothing_is_written, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		why_the_server_is_away_can_be_asked, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		what_was_given_up_is_old_throughout_an_outage, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		who_is_denied_is_not_called_stale_when_it_is_given_up, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		only_who_is_forbidden_for_a_while_is_called_denied, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		regress_13_what_was_denied_is_not_called_stale_before_it_is_current, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		before_its_first_list_nothing_is_given_up, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_first_watch_is_waited_for_from_the_end_of_its_list_on, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		regress_13_a_first_watch_that_never_opens_is_given_up_as_any_other, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		what_does_not_exist_is_followed_until_it_does, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		claims_that_were_never_read_are_not_waited_for_and_then_they_are, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		without_any_claim_or_slice_their_watches_are_not_waited_for, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		without_any_claim_or_slice_their_watches_are_not_given_up, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		regress_13_the_first_slice_does_not_hold_up_all_writes_for_a_watch_that_is_away,
		set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		whoever_waits_for_a_watch_on_which_nothing_rests_any_more_is_told, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		regress_13_what_was_never_read_does_not_hold_up_all_writes_for_ever, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		whoever_waits_is_told_only_when_something_may_have_changed, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		only_a_lack_of_rights_to_what_is_not_needed_is_tolerated, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_real_claim_lands_under_its_namespace_and_name, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_real_slice_lands_on_its_node, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_its_own_crd_the_controller_waits_and_says_for_what, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_refused_list_is_trouble_that_names_the_resource, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_name_longer_than_any_is_refused_and_deletes_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		two_pods_of_one_uid_are_not_believed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_first_state_is_read_in_the_way_that_was_set, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_client_that_runs_no_reflector_makes_no_watches, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_memory_none_are_made_and_nothing_leaks, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_there_was_no_memory_for_is_not_refused_but_listed_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		pods_of_a_node_are_waited_for_and_do_not_hold_up_other_nodes, set_up, tear_down),
};

TEST_MAIN(tests)
