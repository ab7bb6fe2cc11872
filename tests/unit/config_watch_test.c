/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/config_watch.h"
#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"
#include "lib/kube_bytes.h"
#include "intent/mig_config.h"

#define CAP (1u << 20)

struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct config_watch *watch;
	struct sbuf body;
	uint64_t version; /* of the policies */
	unsigned n_touched;
};

static const struct resource config_maps = {"", "v1", "configmaps", "ConfigMap", RESOURCE_PROTOBUF,
					    NULL};

static void on_touch(void *owner, struct view node_name, bool initial)
{
	(void)node_name;
	(void)initial;
	((struct world *)owner)->n_touched++;
}

static void release(void *owner)
{
	(void)owner;
}

/* A node with a report, so that changes touch it. */
static int set_up(void **state)
{
	static const struct report report = {.version = 1, .node = VIEW_INIT("gpu-a")};
	static const struct reflector_config config = {
		.initial = REFLECTOR_LIST, .absent_retry_ms = 30000, .seed = 1};
	static struct world world;
	struct error err;

	fake_apiclient_reset();
	world = (struct world){0};
	sbuf_init(&world.body, CAP);
	*state = &world;
	if (loop_new(&world.loop, &err) < 0 ||
	    inventory_new(fake_now_ms, &world.inventory, &err) < 0 ||
	    inventory_node_state_put_report(world.inventory, &report, release, NULL, fake_now_ms,
					    &err) < 0)
		return -1;
	inventory_begin_replace(world.inventory, INVENTORY_POLICIES);
	inventory_end_list(world.inventory, INVENTORY_POLICIES, 0, fake_now_ms);
	inventory_on_touch(world.inventory, on_touch, &world);
	return config_watch_new(world.loop, NULL, world.inventory, &config, &world.watch, &err);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	config_watch_free(world->watch);
	inventory_free(world->inventory);
	loop_free(world->loop);
	sbuf_deinit(&world->body);
	return 0;
}

static void advance(struct world *world, uint64_t ms)
{
	fake_loop_advance(world->loop, ms);
}

/* The policy says so now, and the watch has looked. */
static void govern_by(struct world *world, const struct policy *policy)
{
	struct error err;

	assert_int_equal(inventory_put(world->inventory, INVENTORY_POLICIES, policy, STORE_UPSERT,
					      ++world->version, &err),
			 0);
	config_watch_look(world->watch);
	assert_false(config_watch_is_settled(world->watch));
	advance(world, 0);
	world->n_touched = 0;
}

/* mig: empty, the MIG manager is off. */
static void govern(struct world *world, const char *namespace, const char *plugin, const char *mig)
{
	const struct policy policy = {
		.name = VIEW("p"), .namespace = view_from(namespace),
		.plugin_config = view_from(plugin), .mig_config = view_from(mig),
		.switches[POLICY_MIG_MANAGER] = mig[0] ? POLICY_UNSET : POLICY_OFF,
	};

	govern_by(world, &policy);
}

static void add_text(struct sbuf *out, uint32_t number, const char *text)
{
	kube_bytes_field(out, number, view_from(text));
}

/* The message of a ConfigMap with up to two keys; text NULL: there is none. */
static void write_map(struct sbuf *out, const char *name, const char *version, const char *key,
		      const char *text)
{
	CLEANUP(sbuf_deinit) struct sbuf metadata, entry;

	sbuf_init(&metadata, CAP);
	sbuf_init(&entry, CAP);
	add_text(&metadata, 1, name);
	add_text(&metadata, 3, "ops");
	add_text(&metadata, 5, "u");
	add_text(&metadata, 6, version);
	kube_bytes_field(out, 1, sbuf_view(&metadata));
	if (!text)
		return;
	add_text(&entry, 1, key);
	add_text(&entry, 2, text);
	kube_bytes_field(out, 2, sbuf_view(&entry));
}

static struct reflector_request next_request(unsigned i)
{
	struct reflector_request request;

	assert_non_null(fake_reflectors[i]);
	assert_int_equal(reflector_next(fake_reflectors[i], fake_now_ms, &request),
			 REFLECTOR_REQUEST);
	return request;
}

static void begin_answer(struct world *world, unsigned i, int status)
{
	struct error err = {0};

	reflector_answered(fake_reflectors[i], status, 0,
			   VIEW("application/vnd.kubernetes.protobuf"), fake_now_ms);
	if (reflector_feed(fake_reflectors[i], sbuf_view(&world->body), fake_now_ms, &err) < 0)
		fail_msg("%s", err.text);
	sbuf_clear(&world->body);
}

static void refuse(struct world *world, unsigned i, int status)
{
	next_request(i);
	begin_answer(world, i, status);
	reflector_ended(fake_reflectors[i], NULL, fake_now_ms);
}

/* Answers the list, and begins the watch; key NULL: the list is empty. */
static void list(struct world *world, unsigned i, const char *name, const char *version,
		 const char *key, const char *text)
{
	CLEANUP(sbuf_deinit) struct sbuf message, item;

	sbuf_init(&message, CAP);
	sbuf_init(&item, CAP);
	kube_bytes_field(&message, 1, VIEW("\x12\x01" "9"));
	if (key) {
		write_map(&item, name, version, key, text);
		kube_bytes_field(&message, 2, sbuf_view(&item));
	}
	assert_false(next_request(i).is_watch);
	kube_bytes_envelope(&world->body, "v1", "ConfigMapList", sbuf_view(&message));
	begin_answer(world, i, 200);
	reflector_ended(fake_reflectors[i], NULL, fake_now_ms);
	assert_true(next_request(i).is_watch);
	begin_answer(world, i, 200);
}

static void event_of(struct world *world, unsigned i, const char *type, const char *name,
		     const char *version, const char *key, const char *text)
{
	CLEANUP(sbuf_deinit) struct sbuf message, envelope;
	struct error err;

	sbuf_init(&message, CAP);
	sbuf_init(&envelope, CAP);
	write_map(&message, name, version, key, text);
	kube_bytes_envelope(&envelope, "v1", config_maps.kind, sbuf_view(&message));
	kube_bytes_event_of(&world->body, RESOURCE_PROTOBUF, type, sbuf_view(&envelope));
	if (reflector_feed(fake_reflectors[i], sbuf_view(&world->body), fake_now_ms, &err) < 0)
		fail_msg("%s", err.text);
	sbuf_clear(&world->body);
}

static void event(struct world *world, unsigned i, const char *type, const char *version,
		  const char *key, const char *text)
{
	event_of(world, i, type, "plugin", version, key, text);
}

/* Its metadata {name, namespace, uid, resourceVersion} can be read, and its data cannot. */
#define MALFORMED "\x1a\x03ops\x2a\x01u\x32\x02" "10\x12\x02\x0a\x05"

static void malformed_event(struct world *world, unsigned i, struct view message)
{
	CLEANUP(sbuf_deinit) struct sbuf envelope;
	struct error err;

	sbuf_init(&envelope, CAP);
	kube_bytes_envelope(&envelope, "v1", config_maps.kind, message);
	kube_bytes_event_of(&world->body, RESOURCE_PROTOBUF, "MODIFIED", sbuf_view(&envelope));
	assert_int_equal(reflector_feed(fake_reflectors[i], sbuf_view(&world->body), fake_now_ms, &err), 0);
	sbuf_clear(&world->body);
}

static const struct intent *intent_of(struct world *world)
{
	return inventory_parts(world->inventory).intent;
}

static enum intent_config_state plugin_state(struct world *world)
{
	return intent_of(world)->plugin_configs_state;
}

static int64_t replicas(struct array configs)
{
	const struct plugin_config *config = plugin_config_find(configs, VIEW("slices"));

	return config ? plugin_config_replicas(config, VIEW("nvidia.com/gpu")) : 0;
}

#define SLICES(n) "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: " #n "}]}}"

static void without_a_policy_that_names_one_nothing_is_requested(void **state)
{
	struct world *world = *state;

	config_watch_look(world->watch);
	advance(world, 0);
	assert_true(config_watch_is_settled(world->watch));
	govern(world, "ops", "", "");
	assert_int_equal(n_fake_reflectors, 0);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_NONE);
	assert_int_equal(intent_of(world)->mig_configs_state, INTENT_CONFIG_NONE);
	assert_int_equal(config_watch_state(world->watch).n_named, 0);
}

static void where_none_is_named_the_operators_own_layouts_are_asked_for(void **state)
{
	struct world *world = *state;
	const struct policy policy = {.name = VIEW("p"), .namespace = VIEW("ops")};
	const struct policy unreadable = {.name = VIEW("p"), .namespace = VIEW("ops"),
					  .unreadable = VIEW("spec is a number")};

	govern_by(world, &policy);
	assert_int_equal(n_fake_reflectors, 2);
	assert_string_equal(next_request(0).path,
			    "/api/v1/namespaces/ops/configmaps?resourceVersion="
			    "&fieldSelector=metadata.name%3Ddefault-mig-parted-config");
	assert_string_equal(next_request(1).path,
			    "/api/v1/namespaces/ops/configmaps?resourceVersion="
			    "&labelSelector=app.kubernetes.io%2Fcomponent%3Dnvidia-mig-manager");
	govern_by(world, &unreadable);
	assert_null(fake_reflectors[0]);
	assert_null(fake_reflectors[1]);
	assert_int_equal(intent_of(world)->mig_configs_state, INTENT_CONFIG_NONE);
	assert_int_equal(intent_of(world)->node_layouts_state, INTENT_CONFIG_NONE);
}

#define LAYOUTS(name) "{version: v1, mig-configs: {" name ": [{devices: all, mig-enabled: false}]}}"

/* What the MIG manager of node gpu-a told, as the join is given it; NULL: nothing. */
static const struct mig_configs *layouts_of_node(struct world *world)
{
	const struct node_state *node_state = node_state_find(
		inventory_parts(world->inventory).node_states, VIEW("gpu-a"));

	return node_state ? node_state->layouts : NULL;
}

static void let_managers_make_layouts(struct world *world)
{
	const struct policy policy = {.name = VIEW("p"), .namespace = VIEW("ops")};

	govern_by(world, &policy);
	list(world, 0, "default-mig-parted-config", "5", "config.yaml", LAYOUTS("off"));
	world->n_touched = 0;
}

static void what_a_nodes_mig_manager_tells_is_that_nodes(void **state)
{
	struct world *world = *state;

	let_managers_make_layouts(world);
	assert_false(config_watch_is_settled(world->watch));
	list(world, 1, "gpu-a-mig-config", "5", "config.yaml", LAYOUTS("own"));
	assert_true(config_watch_is_settled(world->watch));
	assert_int_equal(intent_of(world)->node_layouts_state, INTENT_CONFIG_THERE);
	assert_true(view_equal(layouts_of_node(world)->namespace, VIEW("ops")));
	assert_non_null(mig_config_find(layouts_of_node(world), VIEW("own")));
	world->n_touched = 0;
	event_of(world, 1, "MODIFIED", "gpu-b-mig-config", "11", "config.yaml", LAYOUTS("other"));
	event_of(world, 1, "MODIFIED", "gpu-a", "12", "config.yaml", LAYOUTS("no-node"));
	assert_int_equal(world->n_touched, 0);
	event_of(world, 1, "MODIFIED", "gpu-a-mig-config", "13", "config.yaml", LAYOUTS("newer"));
	assert_int_equal(world->n_touched, 1);
	assert_non_null(mig_config_find(layouts_of_node(world), VIEW("newer")));
	event_of(world, 1, "MODIFIED", "gpu-a-mig-config", "14", "other.yaml", "");
	assert_true(view_equal(layouts_of_node(world)->error, VIEW("there is no key config.yaml")));
	event_of(world, 1, "DELETED", "gpu-a-mig-config", "15", NULL, NULL);
	assert_null(layouts_of_node(world));
	assert_int_equal(intent_of(world)->node_layouts_state, INTENT_CONFIG_THERE);
}

static void one_of_a_node_that_cannot_be_decoded_is_that_nodes_trouble_alone(void **state)
{
	struct world *world = *state;

	let_managers_make_layouts(world);
	list(world, 1, "gpu-a-mig-config", "5", "config.yaml", LAYOUTS("own"));
	malformed_event(world, 1, VIEW("\x0a\x1e\x0a\x10gpu-a-mig-config" MALFORMED));
	assert_true(view_equal(layouts_of_node(world)->error, VIEW("it is malformed")));
	assert_true(view_equal(layouts_of_node(world)->name, VIEW("gpu-a-mig-config")));
	assert_int_equal(intent_of(world)->node_layouts_state, INTENT_CONFIG_THERE);
}

static void that_no_node_has_told_its_layouts_is_known_too(void **state)
{
	struct world *world = *state;

	let_managers_make_layouts(world);
	list(world, 1, NULL, NULL, NULL, NULL);
	assert_true(config_watch_is_settled(world->watch));
	assert_int_equal(intent_of(world)->node_layouts_state, INTENT_CONFIG_THERE);
	assert_null(layouts_of_node(world));
}

static void without_the_right_layouts_of_nodes_are_unreadable_and_others_are_not(void **state)
{
	struct world *world = *state;

	let_managers_make_layouts(world);
	refuse(world, 1, 403);
	advance(world, 1000);
	assert_true(config_watch_is_settled(world->watch));
	assert_int_equal(intent_of(world)->node_layouts_state, INTENT_CONFIG_UNREADABLE);
	assert_int_equal(intent_of(world)->node_layouts_why, INTENT_CONFIG_NO_RIGHT);
	assert_int_equal(intent_of(world)->mig_configs_state, INTENT_CONFIG_THERE);
}

static void a_map_that_the_policy_names_ends_the_reading_of_those_of_nodes(void **state)
{
	struct world *world = *state;

	let_managers_make_layouts(world);
	list(world, 1, "gpu-a-mig-config", "5", "config.yaml", LAYOUTS("own"));
	govern(world, "ops", "", "parted");
	assert_null(fake_reflectors[1]);
	assert_null(layouts_of_node(world));
	assert_int_equal(intent_of(world)->node_layouts_state, INTENT_CONFIG_NONE);
}

static void each_is_asked_for_by_its_name_in_the_operators_namespace(void **state)
{
	struct world *world = *state;

	govern(world, "ops", "plugin", "mig.parted");
	assert_int_equal(n_fake_reflectors, 2);
	assert_string_equal(next_request(0).path,
			    "/api/v1/namespaces/ops/configmaps?resourceVersion="
			    "&fieldSelector=metadata.name%3Dplugin");
	assert_string_equal(next_request(1).path,
			    "/api/v1/namespaces/ops/configmaps?resourceVersion="
			    "&fieldSelector=metadata.name%3Dmig.parted");
	assert_int_equal(config_watch_state(world->watch).n_named, 2);
	assert_int_equal(config_watch_state(world->watch).n_followed, 0);
}

static void what_is_there_is_read_and_its_changes_touch_the_nodes(void **state)
{
	struct world *world = *state;

	govern(world, "ops", "plugin", "");
	assert_int_equal(plugin_state(world), INTENT_CONFIG_UNREADABLE);
	assert_false(config_watch_is_settled(world->watch));
	list(world, 0, "plugin", "5", "slices", SLICES(4));
	assert_true(config_watch_is_settled(world->watch));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_THERE);
	assert_int_equal(config_watch_state(world->watch).n_followed, 1);
	assert_int_equal(replicas(intent_of(world)->plugin_configs->configs), 4);
	assert_true(world->n_touched > 0);
	world->n_touched = 0;
	event(world, 0, "MODIFIED", "10", "slices", SLICES(8));
	assert_int_equal(replicas(intent_of(world)->plugin_configs->configs), 8);
	assert_int_equal(replicas(intent_of(world)->plugin_configs->former), 4);
	assert_int_equal(world->n_touched, 1);
	/* Another label of it is no news. */
	event(world, 0, "MODIFIED", "11", "slices", SLICES(8));
	assert_int_equal(world->n_touched, 1);
	event(world, 0, "DELETED", "12", "slices", SLICES(8));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_MISSING);
	assert_null(intent_of(world)->plugin_configs);
	assert_int_equal(world->n_touched, 2);
	event(world, 0, "ADDED", "13", "slices", SLICES(2));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_THERE);
	assert_int_equal(replicas(intent_of(world)->plugin_configs->former), 8);
}

static void one_that_is_in_no_list_is_missing(void **state)
{
	struct world *world = *state;

	govern(world, "ops", "plugin", "");
	list(world, 0, NULL, NULL, NULL, NULL);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_MISSING);
	assert_true(config_watch_is_settled(world->watch));
	/* Of another object nothing is taken, should a server send one. */
	event(world, 0, "ADDED", "10", "slices", SLICES(2));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_THERE);
	tear_down(state);
	assert_int_equal(set_up(state), 0);
	govern(world, "ops", "plugin", "");
	list(world, 0, "other", "5", "slices", SLICES(4));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_MISSING);
}

static void one_that_the_next_list_lacks_is_missing(void **state)
{
	struct world *world = *state;

	govern(world, "ops", "plugin", "");
	list(world, 0, "plugin", "5", "slices", SLICES(4));
	event(world, 0, "MODIFIED", "10", "slices", SLICES(3));
	reflector_ended(fake_reflectors[0], NULL, fake_now_ms);
	advance(world, 2000);
	refuse(world, 0, 410);
	advance(world, 2000);
	list(world, 0, NULL, NULL, NULL, NULL);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_MISSING);
}

static void the_layouts_of_mig_parted_are_read_from_their_key(void **state)
{
	static const struct {
		const char *key, *text;
		const char *error;
		uint32_t n;
	} rows[] = {
		{"config.yaml",
		 "{version: v1, mig-configs: {off: [{devices: all, mig-enabled: false}]}}", "", 1},
		{"config.yaml", "version: v2", "line 1, column 10: the version is not v1", 0},
		{"other.yaml", "", "there is no key config.yaml", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		assert_int_equal(set_up(state), 0);
		struct world *world = *state;

		govern(world, "ops", "", "parted");
		list(world, 0, "parted", "5", rows[i].key, rows[i].text);
		assert_int_equal(intent_of(world)->mig_configs_state, INTENT_CONFIG_THERE);
		const struct mig_configs *configs = intent_of(world)->mig_configs;
		assert_true(view_equal(configs->name, VIEW("parted")));
		assert_true(view_equal(configs->error, view_from(rows[i].error)));
		assert_int_equal(configs->layouts.count, rows[i].n);
		assert_int_equal(plugin_state(world), INTENT_CONFIG_NONE);
	}
}

static void keys_that_begin_with_two_dots_are_no_configurations(void **state)
{
	struct world *world = *state;

	govern(world, "ops", "plugin", "");
	list(world, 0, "plugin", "5", "..data", SLICES(4));
	assert_int_equal(intent_of(world)->plugin_configs->configs.count, 0);
}

static void a_name_that_no_object_has_is_not_asked_for(void **state)
{
	struct world *world = *state;
	static char long_name[256];
	static const char *const names[] = {"a,metadata.name=b", "A", "a b", "a=b", long_name};
	static const char *const namespaces[] = {"", "a.b", "a/b", "OPS"};

	memset(long_name, 'a', 254);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		govern(world, "ops", names[i], "");
		assert_int_equal(plugin_state(world), INTENT_CONFIG_MISSING);
	}
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
		govern(world, namespaces[i], "plugin", "");
		assert_int_equal(plugin_state(world), INTENT_CONFIG_UNREADABLE);
	}
	assert_int_equal(n_fake_reflectors, 0);
	assert_true(config_watch_is_settled(world->watch));
}

static void it_follows_what_the_policy_names_now_and_nothing_else(void **state)
{
	struct world *world = *state;

	govern(world, "ops", "plugin", "");
	list(world, 0, "plugin", "5", "slices", SLICES(4));
	govern(world, "ops", "plugin", ""); /* something else changed */
	assert_int_equal(n_fake_reflectors, 1);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_THERE);
	govern(world, "ops", "other", "");
	assert_null(fake_reflectors[0]);
	assert_int_equal(n_fake_reflectors, 2);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_UNREADABLE);
	list(world, 1, "other", "3", "slices", SLICES(2));
	assert_int_equal(replicas(intent_of(world)->plugin_configs->configs), 2);
	assert_int_equal(intent_of(world)->plugin_configs->former.count, 0);
	govern(world, "elsewhere", "other", "");
	assert_null(fake_reflectors[1]);
	assert_non_null(strstr(next_request(2).path, "/namespaces/elsewhere/"));
	govern(world, "elsewhere", "", "");
	assert_null(fake_reflectors[2]);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_NONE);
	/* What the reflectors that are no more had counted is not forgotten. */
	assert_int_equal(config_watch_state(world->watch).counters.lists, 3);
	inventory_remove(world->inventory, INVENTORY_POLICIES, VIEW("p"), 99, fake_now_ms);
	config_watch_look(world->watch);
	advance(world, 0);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_NONE);
}

static void what_may_not_be_read_is_unreadable_and_not_waited_for(void **state)
{
	struct world *world = *state;

	govern(world, "ops", "plugin", "");
	refuse(world, 0, 403);
	assert_true(config_watch_is_settled(world->watch));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_UNREADABLE);
	assert_int_equal(intent_of(world)->plugin_configs_why, INTENT_CONFIG_NOT_YET);
	assert_non_null(strstr(config_watch_state(world->watch).trouble, "in the Role"));
	advance(world, 1000); /* nobody tells of a refusal: it is asked for */
	assert_int_equal(intent_of(world)->plugin_configs_why, INTENT_CONFIG_NO_RIGHT);
	advance(world, 30000);
	list(world, 0, "plugin", "5", "slices", SLICES(4));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_THERE);
	assert_string_equal(config_watch_state(world->watch).trouble, "");
	/* And when the right is taken away. */
	reflector_ended(fake_reflectors[0], NULL, fake_now_ms);
	for (int i = 0; i < 3; i++) {
		advance(world, 31000);
		refuse(world, 0, 403);
	}
	assert_int_equal(plugin_state(world), INTENT_CONFIG_UNREADABLE);
	assert_int_equal(intent_of(world)->plugin_configs_why, INTENT_CONFIG_NO_RIGHT);
	assert_null(intent_of(world)->plugin_configs);
	advance(world, 31000);
	list(world, 0, "plugin", "5", "slices", SLICES(4));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_THERE);
}

static void a_watch_that_is_away_is_waited_for_while_the_server_is_away(void **state)
{
	struct world *world = *state;

	govern(world, "ops", "plugin", "");
	list(world, 0, "plugin", "5", "slices", SLICES(4));
	fake_apiclient_set_away(true);
	reflector_ended(fake_reflectors[0], NULL, fake_now_ms);
	advance(world, 60000);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_THERE);
	fake_apiclient_set_away(false);
	advance(world, CONFIG_WATCH_WAIT_MS);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_UNREADABLE);
	assert_int_equal(intent_of(world)->plugin_configs_why, INTENT_CONFIG_NO_ANSWER);
	/* Nothing has happened meanwhile. */
	assert_true(next_request(0).is_watch);
	begin_answer(world, 0, 200);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_THERE);
	assert_int_equal(replicas(intent_of(world)->plugin_configs->configs), 4);
	advance(world, 600000);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_THERE);
}

static void one_that_is_never_answered_for_is_given_up(void **state)
{
	struct world *world = *state;

	govern(world, "ops", "plugin", "");
	next_request(0);
	advance(world, CONFIG_WATCH_WAIT_MS - 1);
	assert_false(config_watch_is_settled(world->watch));
	advance(world, 1);
	assert_true(config_watch_is_settled(world->watch));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_UNREADABLE);
}

static void one_that_cannot_be_decoded_is_counted_and_unreadable(void **state)
{
	struct world *world = *state;

	govern(world, "ops", "plugin", "");
	list(world, 0, "plugin", "5", "slices", SLICES(4));
	malformed_event(world, 0, VIEW("\x0a\x14\x0a\x06plugin" MALFORMED));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_UNREADABLE);
	assert_int_equal(intent_of(world)->plugin_configs_why, INTENT_CONFIG_MALFORMED);
	assert_int_equal(config_watch_state(world->watch).counters.objects_refused, 1);
	event(world, 0, "MODIFIED", "11", "slices", SLICES(4));
	assert_int_equal(plugin_state(world), INTENT_CONFIG_THERE);
}

static void when_it_cannot_be_followed_it_is_tried_again(void **state)
{
	struct world *world = *state;

	fake_apiclient_refusal = ERROR_NO_MEMORY;
	govern(world, "ops", "plugin", "");
	assert_int_equal(n_fake_reflectors, 0);
	fake_apiclient_refusal = ERROR_NONE;
	advance(world, 1000);
	assert_int_equal(n_fake_reflectors, 1);
	assert_int_equal(plugin_state(world), INTENT_CONFIG_UNREADABLE);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(without_a_policy_that_names_one_nothing_is_requested, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(where_none_is_named_the_operators_own_layouts_are_asked_for,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_a_nodes_mig_manager_tells_is_that_nodes, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		one_of_a_node_that_cannot_be_decoded_is_that_nodes_trouble_alone, set_up, tear_down),
	cmocka_unit_test_setup_teardown(that_no_node_has_told_its_layouts_is_known_too, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		without_the_right_layouts_of_nodes_are_unreadable_and_others_are_not, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_map_that_the_policy_names_ends_the_reading_of_those_of_nodes, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_is_asked_for_by_its_name_in_the_operators_namespace,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_is_there_is_read_and_its_changes_touch_the_nodes,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(one_that_is_in_no_list_is_missing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(one_that_the_next_list_lacks_is_missing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_layouts_of_mig_parted_are_read_from_their_key, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(keys_that_begin_with_two_dots_are_no_configurations, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_name_that_no_object_has_is_not_asked_for, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(it_follows_what_the_policy_names_now_and_nothing_else,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_may_not_be_read_is_unreadable_and_not_waited_for,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_watch_that_is_away_is_waited_for_while_the_server_is_away,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(one_that_is_never_answered_for_is_given_up, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(one_that_cannot_be_decoded_is_counted_and_unreadable, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(when_it_cannot_be_followed_it_is_tried_again, set_up,
					tear_down),
};

TEST_MAIN(tests)
