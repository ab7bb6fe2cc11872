/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pods, ResourceClaims and ResourceSlices come, change and go in random histories, with events that
 * come twice, old ones, and lists in between. What is kept here of them is a table that each event
 * overwrites, and what a claim gives is looked up in it by the plainest of means. After each event:
 *
 *	- a node is given exactly the grants and devices that the table says
 *	- whenever what a node is given has changed, the node was told; all but that something is
 *	  not known any more, which only makes a join more careful
 *
 * and at the end an inventory that only ever saw the last state gives the same.
 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/limits.h"
#include "base/prng.h"
#include "controller/gather.h"

#ifndef N_WORLDS /* hack/mutate makes do with fewer */
#define N_WORLDS 400
#endif
#define N_STEPS 120u
#define N_EACH 4u /* pods, claims, slices */
#define N_NODES 2u
#define N_LINES 256u
#define LINE_SIZE 160u

static const char *const nodes[N_NODES] = {"gpu-a", "gpu-b"};
static const char *const pools[] = {"p", "q"};
static const char *const names[] = {"gpu-0", "gpu-1", "gpu-2"};
static const char *const requests[] = {"", "r0", "r1"};
static const char *const given[] = {"r0", "r0/x", "r1"};
static const char *const uuids[] = {
	"GPU-00000000-0000-4000-8000-000000000000",
	"GPU-00000000-0000-4000-8000-000000000001",
	"GPU-00000000-0000-4000-8000-000000000002",
};

/* The last state of an object; of the three kinds, each uses what it needs. */
struct object {
	uint64_t version;
	bool exists;
	int node;      /* of a pod or a slice; -1: none */
	char uid[16];  /* of a pod; of a claim: whom it is reserved for */
	bool is_over;
	unsigned claim;   /* that the pod uses */
	unsigned request; /* of that claim */
	unsigned n_results;
	struct {
		unsigned request, pool, name;
		bool is_admin;
	} results[2];
	unsigned pool;
	int64_t generation, count;
	unsigned n_devices;
	struct {
		unsigned name, uuid;
	} devices[2];
};

struct world {
	uint64_t seed;
	struct prng prng;
	struct inventory *inventory;
	struct object pods[N_EACH], claims[N_EACH], slices[N_EACH];
	uint64_t version;
	unsigned n_pods_made;
	bool touched[N_NODES];
	struct report reports[N_NODES];
};

static struct world world;

static unsigned below(unsigned n)
{
	return (unsigned)prng_between(&world.prng, 0, n - 1);
}

static const char *key_of(char prefix, unsigned i)
{
	static char key[8];

	snprintf(key, sizeof(key), "%c%u", prefix, i);
	return key;
}

/* What goes into an inventory */

static void on_touch(void *owner, struct view node_name, bool initial)
{
	(void)owner;
	(void)initial;
	world.touched[view_equal(node_name, view_from(nodes[0])) ? 0 : 1] = true;
}

static void keep_report(void *owner)
{
	(void)owner;
}

static void put_pod(struct inventory *inventory, unsigned i, const struct object *object,
		    enum store_change change)
{
	char name[8];
	const char *claim = key_of('c', object->claim);
	struct pod_fields fields = {
		.namespace = VIEW("ml"), .uid = view_from(object->uid), .state.wants_gpu = true,
		.node = object->node < 0 ? (struct view){0} : view_from(nodes[object->node]),
		.state.phase = object->is_over ? POD_PHASE_FAILED : POD_PHASE_RUNNING,
		.state.no_container_runs = object->is_over,
		.claims = {{VIEW("main"), view_from(claim), view_from(requests[object->request])}},
		.gpu.claims.count = 1,
	};
	struct error err;

	snprintf(name, sizeof(name), "p%u", i);
	fields.name = view_from(name);
	if (inventory_put_pod(inventory, (struct view){0}, &fields, change, object->version, 0, &err) < 0)
		fail_msg("seed %llu: %s", (unsigned long long)world.seed, err.text);
}

static void put_claim(struct inventory *inventory, unsigned i, const struct object *object,
		      enum store_change change)
{
	struct resource_claim_fields fields = {
		.namespace = VIEW("ml"), .name = view_from(key_of('c', i)),
		.consumers = {view_from(object->uid)}, .claim.consumers.count = object->uid[0] ? 1 : 0,
		.claim.results.count = object->n_results, .claim.is_allocated = object->n_results > 0,
	};
	struct error err;

	for (unsigned k = 0; k < object->n_results; k++)
		fields.results[k] = (struct resource_claim_result){
			.request = view_from(given[object->results[k].request]),
			.driver = VIEW("gpu.nvidia.com"),
			.pool = view_from(pools[object->results[k].pool]),
			.device = view_from(names[object->results[k].name]),
			.is_admin = object->results[k].is_admin,
		};
	if (inventory_put(inventory, INVENTORY_RESOURCE_CLAIMS, &fields, change, object->version, &err) < 0)
		fail_msg("seed %llu: %s", (unsigned long long)world.seed, err.text);
}

static void put_slice(struct inventory *inventory, unsigned i, const struct object *object,
		      enum store_change change)
{
	struct resource_slice_fields fields = {
		.slice.name = view_from(key_of('s', i)), .slice.driver = VIEW("gpu.nvidia.com"),
		.slice.node = object->node < 0 ? (struct view){0} : view_from(nodes[object->node]),
		.slice.pool = view_from(pools[object->pool]),
		.slice.generation = object->generation, .slice.slice_count = object->count,
		.slice.devices.count = object->n_devices,
	};
	struct error err;

	for (unsigned k = 0; k < object->n_devices; k++) {
		fields.devices[k].name = view_from(names[object->devices[k].name]);
		fields.devices[k].uuid = view_from(uuids[object->devices[k].uuid]);
	}
	if (inventory_put(inventory, INVENTORY_RESOURCE_SLICES, &fields, change, object->version, &err) < 0)
		fail_msg("seed %llu: %s", (unsigned long long)world.seed, err.text);
}

static const struct kind {
	enum inventory_kind kind;
	const char *key; /* printf format */
	void (*put)(struct inventory *inventory, unsigned i, const struct object *object,
		    enum store_change change);
	struct object *objects;
} kinds[] = {
	{INVENTORY_PODS, "ml/p%u", put_pod, world.pods},
	{INVENTORY_RESOURCE_CLAIMS, "ml/c%u", put_claim, world.claims},
	{INVENTORY_RESOURCE_SLICES, "s%u", put_slice, world.slices},
};

static void begin_inventory(struct inventory **inventory)
{
	struct error err;

	assert_int_equal(inventory_new(0, inventory, &err), 0);
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		inventory_begin_replace(*inventory, (enum inventory_kind)i);
		inventory_end_list(*inventory, (enum inventory_kind)i, 0, 0);
	}
	for (unsigned i = 0; i < N_NODES; i++) {
		world.reports[i] = (struct report){.version = 1, .node = view_from(nodes[i])};
		assert_int_equal(inventory_node_state_put_report(*inventory, &world.reports[i],
								 keep_report, NULL, 0, &err),
				 0);
	}
}

/* Digests: what a node is given, and what it should be given, as sorted lines */

struct digest {
	char lines[N_LINES][LINE_SIZE];
	unsigned n;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

PRINTF_LIKE(2, 3) static void add_line(struct digest *digest, const char *format, ...)
{
	va_list args;

	assert_true(digest->n < N_LINES);
	va_start(args, format);
	vsnprintf(digest->lines[digest->n++], LINE_SIZE, format, args);
	va_end(args);
}

static void digest_inventory(struct inventory *inventory, unsigned node, struct digest *digest)
{
	const struct inventory_parts parts = inventory_parts(inventory);
	struct join_input input;
	struct arena arena;
	struct error err;

	*digest = (struct digest){0};
	arena_init(&arena, LIMIT_MIB);
	assert_int_equal(gather_node(&parts, view_from(nodes[node]), 0, &arena, &input, &err), 0);
	for (size_t i = 0; i < input.n_grants; i++) {
		const struct grant *grant = &input.grants[i];

		add_line(digest, "grant %.*s %.*s %.*s %.*s %d", VIEW_ARG(pod_uid(grant->pod)),
			 VIEW_ARG(grant->container), VIEW_ARG(grant->device),
			 VIEW_ARG(grant->uuid), grant->is_admin);
	}
	for (size_t i = 0; i < input.n_slice_devices; i++)
		add_line(digest, "device %.*s", VIEW_ARG(input.slice_devices[i].uuid));
	for (size_t i = 0; i < input.n_lacking; i++)
		add_line(digest, "lacking %.*s", VIEW_ARG(pod_uid(input.lacking[i])));
	if (input.grants_unknown)
		add_line(digest, "unknown");
	arena_deinit(&arena);
	qsort(digest->lines, digest->n, LINE_SIZE, by_text);
}

/* Does that slice count: is its generation the newest of its pool on its node, and whole? */
static bool counts(const struct object *slice, bool *ret_whole)
{
	const struct object *newest[N_EACH] = {slice};
	unsigned n = 1;

	for (unsigned i = 0; i < N_EACH; i++) {
		const struct object *other = &world.slices[i];

		if (!other->exists || other->node != slice->node || other->pool != slice->pool ||
		    other == slice || other->generation < newest[0]->generation)
			continue;
		if (other->generation > newest[0]->generation)
			n = 0;
		newest[n++] = other;
	}
	*ret_whole = true;
	for (unsigned i = 0; i < n; i++)
		*ret_whole &= newest[i]->count == n;
	return *ret_whole && slice->generation == newest[0]->generation;
}

/* The UUID of a device of a node; "" when no slice tells, or two do. */
static const char *expected_uuid(int node, unsigned pool, unsigned name)
{
	const char *found = "";
	unsigned n = 0;
	bool is_whole;

	for (unsigned i = 0; i < N_EACH; i++) {
		const struct object *slice = &world.slices[i];

		if (!slice->exists || slice->node != node || slice->pool != pool ||
		    !counts(slice, &is_whole))
			continue;
		for (unsigned k = 0; k < slice->n_devices; k++)
			if (slice->devices[k].name == name) {
				found = uuids[slice->devices[k].uuid];
				n++;
			}
	}
	return n == 1 ? found : "";
}

static bool is_asked_for(unsigned request, unsigned answered)
{
	return request == 0 || (request == 1 && answered < 2) || (request == 2 && answered == 2);
}

static void expect_grants(const struct object *pod, struct digest *digest)
{
	const struct object *claim = &world.claims[pod->claim];

	if (pod->is_over)
		return;
	if (!claim->exists)
		add_line(digest, "lacking %s", pod->uid);
	if (!claim->exists || strcmp(claim->uid, pod->uid) != 0)
		return;
	for (unsigned k = 0; k < claim->n_results; k++)
		if (is_asked_for(pod->request, claim->results[k].request))
			add_line(digest, "grant %s main %s/%s %s %d", pod->uid,
				 pools[claim->results[k].pool], names[claim->results[k].name],
				 expected_uuid(pod->node, claim->results[k].pool,
					       claim->results[k].name),
				 claim->results[k].is_admin);
}

static void expect(unsigned node, struct digest *digest)
{
	bool unknown = false, has_device[ARRAY_SIZE(uuids)] = {false};

	*digest = (struct digest){0};
	for (unsigned i = 0; i < N_EACH; i++) {
		const struct object *pod = &world.pods[i], *slice = &world.slices[i];
		bool is_whole = true;

		if (pod->exists && pod->node == (int)node)
			expect_grants(pod, digest);
		if (!slice->exists || slice->node != (int)node)
			continue;
		for (unsigned k = 0; counts(slice, &is_whole) && k < slice->n_devices; k++)
			has_device[slice->devices[k].uuid] = true;
		unknown |= !is_whole;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(uuids); i++)
		if (has_device[i])
			add_line(digest, "device %s", uuids[i]);
	if (unknown)
		add_line(digest, "unknown");
	qsort(digest->lines, digest->n, LINE_SIZE, by_text);
}

static void print_digest(const char *what, const struct digest *digest)
{
	fprintf(stderr, "%s:\n", what);
	for (unsigned i = 0; i < digest->n; i++)
		fprintf(stderr, "\t%s\n", digest->lines[i]);
}

static bool digests_equal(const struct digest *a, const struct digest *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (strcmp(a->lines[i], b->lines[i]) != 0)
			return false;
	return true;
}

static bool has_line(const struct digest *digest, const char *line)
{
	for (unsigned i = 0; i < digest->n; i++)
		if (strcmp(digest->lines[i], line) == 0)
			return true;
	return false;
}

/* It says what is not known: to know less than before takes nothing back. */
static bool is_of_ignorance(const char *line)
{
	return strcmp(line, "unknown") == 0 || strncmp(line, "lacking ", 8) == 0;
}

/* Would a join that was made of `before` say what is not so any more? */
static bool is_news(const struct digest *before, const struct digest *now)
{
	struct digest without = {0};

	for (unsigned i = 0; i < now->n; i++)
		if (!is_of_ignorance(now->lines[i]) || has_line(before, now->lines[i]))
			add_line(&without, "%s", now->lines[i]);
	return !digests_equal(before, now) && !digests_equal(before, &without);
}

static void assert_digest(const struct digest *is, const struct digest *should, unsigned step)
{
	if (digests_equal(is, should))
		return;
	print_digest("it is", is);
	print_digest("it should be", should);
	fail_msg("seed %llu, step %u", (unsigned long long)world.seed, step);
}

/* Histories */

static void change_pod(struct object *pod)
{
	/* A new pod of the name, or a new fact of the one that is there. */
	if (!pod->exists || below(4) == 0) {
		snprintf(pod->uid, sizeof(pod->uid), "u%u", world.n_pods_made++);
		pod->node = (int)below(N_NODES + 1) - 1;
		pod->claim = below(N_EACH);
		pod->request = below(ARRAY_SIZE(requests));
		pod->is_over = false;
	} else if (pod->node < 0) {
		pod->node = (int)below(N_NODES);
	} else if (below(2) == 0) {
		pod->claim = below(N_EACH); /* its status has come to name it */
	} else {
		pod->is_over = true;
	}
}

static void change_claim(struct object *claim)
{
	const struct object *pod = &world.pods[below(N_EACH)];

	if (claim->n_results == 0 || below(4) == 0) {
		claim->n_results = below(3);
		for (unsigned k = 0; k < claim->n_results; k++) {
			claim->results[k].request = below(ARRAY_SIZE(given));
			claim->results[k].pool = below(ARRAY_SIZE(pools));
			claim->results[k].name = below(ARRAY_SIZE(names));
			claim->results[k].is_admin = below(2);
		}
	}
	snprintf(claim->uid, sizeof(claim->uid), "%s", below(5) == 0 ? "" : pod->uid);
}

static void change_slice(struct object *slice)
{
	if (!slice->exists || below(4) == 0) {
		slice->node = (int)below(N_NODES + 1) - 1;
		slice->pool = below(ARRAY_SIZE(pools));
	}
	slice->generation = 1 + below(2);
	slice->count = 1 + (below(3) == 0);
	slice->n_devices = below(3);
	for (unsigned k = 0; k < slice->n_devices; k++) {
		slice->devices[k].name = below(ARRAY_SIZE(names));
		slice->devices[k].uuid = below(ARRAY_SIZE(uuids));
	}
}

static void delete_object(const struct kind *kind, unsigned i)
{
	char key[16];

	kind->objects[i] = (struct object){.version = ++world.version};
	snprintf(key, sizeof(key), kind->key, i);
	inventory_remove(world.inventory, kind->kind, view_from(key), world.version, 0);
}

/* An event, perhaps twice, perhaps with the one before it once more. */
static void change_object(const struct kind *kind, unsigned i)
{
	static void (*const changes[])(struct object *object) = {
		change_pod, change_claim, change_slice,
	};
	struct object *object = &kind->objects[i], before = *object;

	changes[kind - kinds](object);
	object->exists = true;
	object->version = ++world.version;
	kind->put(world.inventory, i, object, STORE_UPSERT);
	if (below(4) == 0)
		kind->put(world.inventory, i, object, STORE_UPSERT);
	if (before.exists && below(4) == 0)
		kind->put(world.inventory, i, &before, STORE_UPSERT);
}

/* A list brings what is there, with changes that no event told of. */
static void list(const struct kind *kind)
{
	inventory_begin_replace(world.inventory, kind->kind);
	for (unsigned i = 0; i < N_EACH; i++) {
		struct object *object = &kind->objects[i];

		if (object->exists && below(4) == 0)
			*object = (struct object){.version = ++world.version};
		if (object->exists)
			kind->put(world.inventory, i, object, STORE_LISTED);
	}
	inventory_end_list(world.inventory, kind->kind, 0, 0);
}

static void take_step(void)
{
	const struct kind *kind = &kinds[below(ARRAY_SIZE(kinds))];
	unsigned i = below(N_EACH), dice = below(12);

	if (dice == 0)
		list(kind);
	else if (dice == 1 && kind->objects[i].exists)
		delete_object(kind, i);
	else
		change_object(kind, i);
}

static void check_step(unsigned step, struct digest last[static N_NODES])
{
	for (unsigned node = 0; node < N_NODES; node++) {
		struct digest is, should;

		digest_inventory(world.inventory, node, &is);
		expect(node, &should);
		assert_digest(&is, &should, step);
		if (!world.touched[node] && is_news(&last[node], &is))
			fail_msg("seed %llu, step %u: %s was not told",
				 (unsigned long long)world.seed, step, nodes[node]);
		last[node] = is;
	}
}

/* An inventory that sees the last state only, in an order of its own. */
static void check_end(const struct digest last[static N_NODES])
{
	struct inventory *inventory;

	begin_inventory(&inventory);
	for (unsigned i = 0; i < N_EACH; i++)
		for (size_t k = ARRAY_SIZE(kinds); k-- > 0;)
			if (kinds[k].objects[i].exists)
				kinds[k].put(inventory, i, &kinds[k].objects[i], STORE_LISTED);
	for (unsigned node = 0; node < N_NODES; node++) {
		struct digest is;

		digest_inventory(inventory, node, &is);
		assert_digest(&is, &last[node], N_STEPS);
	}
	inventory_free(inventory);
}

static void run_world(uint64_t seed)
{
	static struct digest last[N_NODES];

	world = (struct world){.seed = seed};
	memset(last, 0, sizeof(last));
	prng_init(&world.prng, seed);
	begin_inventory(&world.inventory);
	inventory_on_touch(world.inventory, on_touch, NULL);
	for (unsigned step = 0; step < N_STEPS; step++) {
		memset(world.touched, 0, sizeof(world.touched));
		take_step();
		check_step(step, last);
	}
	check_end(last);
	inventory_free(world.inventory);
}

static void grants_follow_every_history_and_no_change_goes_untold(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= N_WORLDS; seed++)
		run_world(seed);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(grants_follow_every_history_and_no_change_goes_untold),
};

TEST_MAIN(tests)
