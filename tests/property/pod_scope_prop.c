/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An API server has a log of changes to pods. One watch of the whole cluster and one of each node read
 * it, each at its own pace, and list now and then. The form changes over at random, by the rules of
 * controller/pod_watches.c: not while a list of the new form is under way. What the inventory says of a node
 * whose pods it knows is compared with the log.
 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/prng.h"
#include "model/inventory.h"
#include "model/pod_scope.h"

#define N_NODES 4u
#define N_NAMES 12u
#define N_EVENTS 4000u
#define WHOLE N_NODES /* the watch of the cluster */
#define HISTORIES 200u
#define STEPS 2500u

enum kind { ADDED, MODIFIED, DELETED };

struct event { /* its version is its index + 1 */
	enum kind kind;
	unsigned name, node, uid;
};

struct pod_of_server {
	bool is_there;
	unsigned node, uid;
	uint64_t version;
};

struct stream {
	bool runs, is_listing, was_listed;
	uint64_t at;       /* the version that it has read */
	uint64_t snapshot; /* of the list under way */
	unsigned next;     /* name of that list */
	struct pod_of_server listed[N_NAMES];
};

struct world {
	struct prng prng;
	struct inventory *inventory;
	struct event log[N_EVENTS];
	uint64_t version;
	struct pod_of_server pods[N_NAMES];
	struct stream streams[N_NODES + 1];
	bool has_gone[N_EVENTS + 1]; /* by UID: the inventory has said so of a pod of a known node */
	bool is_taken[N_EVENTS + 1]; /* by UID: a later pod of another node had its name */
	bool wants_nodes;
	uint64_t now;
	unsigned n_changes; /* of the form */
};

static struct world world;
static struct error err;

static unsigned below(unsigned n)
{
	return (unsigned)prng_between(&world.prng, 0, n - 1);
}

static struct view text_of(const char *kind, unsigned number, char buffer[static 24])
{
	snprintf(buffer, 24, "%s%u", kind, number);
	return view_from(buffer);
}

/* The API server */

static void change_something(void)
{
	unsigned name = below(N_NAMES);
	struct pod_of_server *pod = &world.pods[name];
	struct event *event = &world.log[world.version];

	if (world.version == N_EVENTS)
		return;
	world.version++;
	if (pod->is_there) {
		pod->is_there = below(2) == 0;
	} else {
		const struct pod_of_server last = *pod;

		*pod = (struct pod_of_server){true, below(N_NODES), (unsigned)world.version, 0};
		world.is_taken[last.uid] = last.node != pod->node;
	}
	event->kind = pod->uid == world.version ? ADDED : pod->is_there ? MODIFIED : DELETED;
	event->name = name;
	event->node = pod->node;
	event->uid = pod->uid;
	pod->version = world.version;
}

/* What the watches tell */

static struct view node_name(unsigned node, char buffer[static 24])
{
	return text_of("n", node, buffer);
}

static void put(unsigned stream, unsigned name, const struct pod_of_server *pod,
		enum store_change change)
{
	char name_text[24], node[24], uid[24], key[32];
	struct pod_fields fields = {
		.namespace = VIEW("s"),
		.name = text_of("p", name, name_text),
		.node = node_name(pod->node, node),
		.uid = text_of("u", pod->uid, uid),
		.state.wants_gpu = true,
	};
	bool is_whole = stream == WHOLE;
	struct view key_view;

	snprintf(key, sizeof(key), "s/p%u", name);
	key_view = view_from(key);
	if (is_whole ? !inventory_wants(world.inventory, INVENTORY_PODS, key_view, change, pod->version)
		     : !inventory_wants_node_pod(world.inventory, fields.node, key_view, change,
						 pod->version))
		return;
	if (is_whole)
		assert_int_equal(inventory_put_pod(world.inventory, (struct view){0}, &fields, change, pod->version,
						   world.now, &err),
				 0);
	else if (inventory_put_pod(world.inventory, fields.node, &fields, change, pod->version,
					world.now, &err) < 0) {
		/* The list is broken off, and comes again. */
		assert_int_equal(err.kind, ERROR_RETRY);
		world.streams[stream].is_listing = false;
		world.streams[stream].at = UINT64_MAX;
	}
}

static void tell(unsigned stream, const struct event *event, uint64_t version)
{
	const struct pod_of_server pod = {true, event->node, event->uid, version};
	char key[32];

	snprintf(key, sizeof(key), "s/p%u", event->name);
	if (event->kind == DELETED)
		inventory_remove(world.inventory, INVENTORY_PODS, view_from(key), version, world.now);
	else
		put(stream, event->name, &pod, STORE_UPSERT);
}

static void begin_list(unsigned stream)
{
	struct stream *s = &world.streams[stream];

	s->is_listing = true;
	s->snapshot = world.version;
	s->next = 0;
	memcpy(s->listed, world.pods, sizeof(s->listed));
}

/* The head may come much later than the server looked. */
static void begin_answer(unsigned stream)
{
	char node[24];

	if (stream == WHOLE)
		inventory_begin_replace(world.inventory, INVENTORY_PODS);
	else
		pod_scope_begin_node(inventory_pod_scope(world.inventory), node_name(stream, node));
}

static void end_list(unsigned stream)
{
	struct stream *s = &world.streams[stream];
	char node[24];

	s->is_listing = false;
	s->was_listed = true;
	s->at = s->snapshot;
	if (stream == WHOLE)
		inventory_end_list(world.inventory, INVENTORY_PODS, s->snapshot, world.now);
	else
		pod_scope_end_node(inventory_pod_scope(world.inventory), node_name(stream, node),
				   s->snapshot, world.now);
}

static void go_on_listing(unsigned stream)
{
	struct stream *s = &world.streams[stream];
	const struct pod_of_server *pod;

	if (s->next == 0)
		begin_answer(stream);
	if (s->next == N_NAMES) {
		end_list(stream);
		return;
	}
	pod = &s->listed[s->next++];
	if (pod->is_there && (stream == WHOLE || pod->node == stream))
		put(stream, s->next - 1, pod, STORE_LISTED);
}

static void read_on(unsigned stream)
{
	struct stream *s = &world.streams[stream];

	while (s->at < world.version) {
		const struct event *event = &world.log[s->at++];

		if (stream == WHOLE || event->node == stream) {
			tell(stream, event, s->at);
			return;
		}
	}
}

static void advance(unsigned stream)
{
	struct stream *s = &world.streams[stream];

	if (!s->runs)
		return;
	if (s->is_listing)
		go_on_listing(stream);
	else if (!s->was_listed || s->at == UINT64_MAX || below(150) == 0)
		begin_list(stream);
	else
		read_on(stream);
}

/* The change-over */

static void follow(unsigned node)
{
	char name[24];

	assert_int_equal(pod_scope_follow(inventory_pod_scope(world.inventory), node_name(node, name),
					  &err),
			 0);
	world.streams[node] = (struct stream){.runs = true};
}

static void unfollow(unsigned node)
{
	char name[24];

	pod_scope_unfollow(inventory_pod_scope(world.inventory), node_name(node, name));
	world.streams[node].runs = false;
}

static bool is_in_step(const struct stream *stream)
{
	return stream->runs && stream->was_listed && !stream->is_listing && stream->at != UINT64_MAX;
}

/* The last node has no GPU. */
static bool are_nodes_known(void)
{
	for (unsigned i = 0; i + 1 < N_NODES; i++)
		if (!is_in_step(&world.streams[i]))
			return false;
	return true;
}

static void change_over(void)
{
	struct pod_scope *scope = inventory_pod_scope(world.inventory);
	struct stream *whole = &world.streams[WHOLE];

	if (below(60) == 0)
		world.wants_nodes = !world.wants_nodes;
	for (unsigned i = 0; world.wants_nodes && i + 1 < N_NODES; i++)
		if (!world.streams[i].runs)
			follow(i);
	if (world.wants_nodes && whole->runs && are_nodes_known()) {
		whole->runs = false;
		pod_scope_end_whole(scope);
		world.n_changes++;
	}
	if (!world.wants_nodes && !whole->runs) {
		pod_scope_begin_whole(scope);
		*whole = (struct stream){.runs = true};
	}
	for (unsigned i = 0; !world.wants_nodes && is_in_step(whole) && i < N_NODES; i++)
		if (world.streams[i].runs) {
			unfollow(i);
			world.n_changes++;
		}
}

/* The promises */

static unsigned number_of(struct view text)
{
	return (unsigned)strtoul(text.ptr + 1, NULL, 10);
}

static bool is_alive(unsigned uid)
{
	for (unsigned i = 0; i < N_NAMES; i++)
		if (world.pods[i].is_there && world.pods[i].uid == uid)
			return true;
	return false;
}

/*
 * Where each node has one watch, another node's may be ahead, and tell that a name was taken. A list that
 * is under way may still have who had it. Nothing is written before its watch has caught up.
 */
static bool may_be_back(unsigned uid)
{
	return !world.has_gone[uid] ||
	       (!inventory_pod_scope(world.inventory)->is_fed && world.is_taken[uid]);
}

/* Who is said to have ended has, and does not come back. */
static void check_node_state(const struct node_state *node_state)
{
	if (!pod_scope_knows(inventory_pod_scope(world.inventory), node_state))
		return;
	for (const struct list *l = node_state->ended.next; l != &node_state->ended; l = l->next) {
		unsigned uid = number_of(CONTAINER_OF(l, struct node_state_ended, link)->uid);

		assert_false(is_alive(uid));
		world.has_gone[uid] = true;
	}
	for (const struct list *l = node_state->pods.next; l != &node_state->pods; l = l->next)
		assert_true(may_be_back(number_of(
			pod_uid(CONTAINER_OF(l, struct pod_record, base.link)->pod))));
}

static void check_all(void)
{
	const struct node_state *node_state = NULL;

	while ((node_state = node_state_next(inventory_pod_scope(world.inventory)->node_states,
					     node_state)))
		check_node_state(node_state);
}

/* When each watch that runs has read all, the inventory has what the server has of the nodes it knows. */
static void check_end(void)
{
	for (unsigned round = 0; round < 20000; round++) {
		world.now++;
		advance(round % (N_NODES + 1));
	}
	for (unsigned node = 0; node < N_NODES; node++) {
		char name[24];
		const struct node_state *node_state = inventory_node_state_find(world.inventory,
										node_name(node, name));
		unsigned n_pods = 0, n_there = 0;

		if (!pod_scope_knows(inventory_pod_scope(world.inventory), node_state))
			continue;
		for (const struct list *l = node_state->pods.next; l != &node_state->pods;
		     l = l->next, n_pods++)
			assert_true(is_alive(number_of(
				pod_uid(CONTAINER_OF(l, struct pod_record, base.link)->pod))));
		for (unsigned i = 0; i < N_NAMES; i++)
			n_there += world.pods[i].is_there && world.pods[i].node == node;
		assert_int_equal(n_pods, n_there);
	}
}

static void begin_world(uint64_t seed)
{
	struct node node = {0};
	char name[24];

	world = (struct world){.now = 1000};
	prng_init(&world.prng, seed);
	assert_int_equal(inventory_new(world.now, &world.inventory, &err), 0);
	world.streams[WHOLE].runs = true;
	for (unsigned i = 0; i < N_NODES; i++) {
		node.name = node_name(i, name);
		assert_int_equal(inventory_put(world.inventory, INVENTORY_NODES, &node, STORE_LISTED, 1, &err), 0);
	}
}

static void live(uint64_t seed)
{
	begin_world(seed);
	for (unsigned step = 0; step < STEPS; step++) {
		world.now++;
		if (below(3) == 0)
			change_something();
		change_over();
		/* Some are slower than others. */
		for (unsigned i = 0; i <= N_NODES; i++)
			if (below(1 + (unsigned)(seed + i) % 5) == 0)
				advance(i);
		check_all();
	}
	check_end();
	check_all();
	assert_true(world.n_changes > 0);
	inventory_free(world.inventory);
}

TEST(two_watches_that_are_not_in_step_tell_as_one_through_any_change_over)
{
	unsigned n_changes = 0;

	for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
		live(seed);
		n_changes += world.n_changes;
	}
	print_message("%u change-overs\n", n_changes);
	assert_true(n_changes >= 1000);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(two_watches_that_are_not_in_step_tell_as_one_through_any_change_over),
};
TEST_MAIN(tests)
