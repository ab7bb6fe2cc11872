/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/gather.h"
#include "model/attribution_set.h"
#include "model/claim.h"
#include "model/pod_scope.h"
#include "model/pod_set.h"
#include "model/resource_claim.h"
#include "model/resource_slice.h"

#define N_OBJECTS (3 * LIMIT_REPORT_DEVICES)
#define MANY 2000u
#define NOW 9000u /* ms */

static struct place_book places;
static struct claim_book claims;
static struct pod_set pods;
static struct attribution_set attributions;
static struct resource_claim_set resource_claims;
static struct resource_slice_set slices;
static struct pod_scope scope; /* the pods of the whole cluster are known */
static struct inventory_parts parts;
static struct arena arena;
static char uuids[N_OBJECTS][48], names[N_OBJECTS][48];
static struct report report;
static struct report_device devices[10]; /* of the first objects */
static const struct report all_devices = {.devices = {devices, ARRAY_SIZE(devices), true}};

static int set_up(void **state)
{
	(void)state;
	place_book_init(&places);
	claim_book_init(&claims);
	pod_set_init(&pods, &places);
	attribution_set_init(&attributions, &places, &claims);
	resource_claim_set_init(&resource_claims, &pods);
	resource_slice_set_init(&slices, &places);
	arena_init(&arena, 16 * LIMIT_MIB);
	report = (struct report){.version = 1, .sources.nvml.state = REPORT_SOURCE_OK};
	pod_scope_init(&scope, &pods, &places);
	scope.is_whole = true;
	parts = (struct inventory_parts){
		.scope = &scope,
		.places = &places, .claims = &claims, .pods = &pods, .attributions = &attributions,
		.resource_claims = &resource_claims, .grants_known = true, .started_at = 1000,
	};
	for (unsigned i = 0; i < N_OBJECTS; i++) {
		snprintf(uuids[i], sizeof(uuids[i]), "GPU-%08x-0000-4000-8000-0123456789ab", i);
		snprintf(names[i], sizeof(names[i]), "gpu-%08x-0000-4000-8000-0123456789ab", i);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(devices); i++)
		devices[i].uuid = view_from(uuids[i]);
	return 0;
}

static struct place *place_of(const char *node)
{
	struct error err;
	struct place *place = place_ensure(&places, view_from(node), &err);

	assert_non_null(place);
	return place;
}

static int tear_down(void **state)
{
	struct table_node *node = NULL;

	(void)state;
	while ((node = table_next(&places.by_name, node))) {
		struct place *place = CONTAINER_OF(node, struct place, link);

		claim_drop(&claims, place, &all_devices, NULL);
		place->report = NULL;
		place->node = NULL;
	}
	record_set_deinit(&attributions.records);
	record_set_deinit(&resource_claims.records);
	record_set_deinit(&slices.records);
	pod_set_deinit(&pods);
	while ((node = table_next(&places.by_name, NULL))) {
		struct place *place = CONTAINER_OF(node, struct place, link);

		list_init(&place->slices);
		place->n_slices = 0;
		place_release(&places, place);
	}
	claim_book_deinit(&claims);
	place_book_deinit(&places);
	arena_deinit(&arena);
	return 0;
}

static void start_anew(void)
{
	tear_down(NULL);
	set_up(NULL);
}

/* Object n, whose status names that node. */
static void put_object_of(unsigned n, const char *node, struct array tenants)
{
	const struct attribution object = {
		.name = view_from(names[n]), .uuid = view_from(uuids[n]),
		.status = {.node_name = view_from(node), .tenants = tenants},
	};
	struct arena nothing;
	struct error err;

	arena_init(&nothing, 1);
	assert_int_equal(attribution_set_put(&attributions, &object, &nothing, UPSERT(1), &err), 0);
	arena_deinit(&nothing);
}

static void put_object(unsigned n, const char *node)
{
	put_object_of(n, node, (struct array){0});
}

static struct pod_fields pod_of(const char *name, const char *node)
{
	return (struct pod_fields){
		.namespace = VIEW("ml"), .name = view_from(name), .uid = view_from(name),
		.node = view_from(node), .state.phase = POD_PHASE_RUNNING, .state.wants_gpu = true,
	};
}

static void put_pod(const struct pod_fields *fields)
{
	static uint64_t version;
	struct error err;

	assert_int_equal(pod_set_put(&pods, fields, UPSERT(++version), &err), 0);
}

/* A pod whose status tells of "nonsense", and then of that ID. */
static void put_told(const char *name, const char *node, struct view id)
{
	struct pod_fields fields = pod_of(name, node);
	const struct view ids[] = {VIEW("nonsense"), id};

	for (; fields.gpu.allocations.count < ARRAY_SIZE(ids); fields.gpu.allocations.count++)
		fields.allocations[fields.gpu.allocations.count] = (struct pod_allocation){
			VIEW("main"), VIEW("nvidia.com/gpu"), ids[fields.gpu.allocations.count]};
	put_pod(&fields);
}

/* The slice of that node, which names devices from the first on. */
static void put_slice(const char *node, unsigned first, unsigned n)
{
	struct resource_slice_fields fields = {
		.slice.name = view_from(node), .slice.driver = VIEW("gpu.nvidia.com"), .slice.node = view_from(node),
		.slice.pool = view_from(node), .slice.generation = 1, .slice.slice_count = 1,
	};
	struct error err;

	for (unsigned i = first; i < first + n; i++)
		fields.devices[fields.slice.devices.count++] = (struct resource_slice_device){
			.name = view_from(uuids[i]), .uuid = view_from(uuids[i])};
	assert_int_equal(record_set_put_copy(&slices.records, &fields, UPSERT(1), &err), 0);
}

/* The node reported so, first at `since`, and last at `at`. */
static void put_report(const char *node, const struct report *said, uint64_t since, uint64_t at)
{
	struct place *place = place_of(node);
	struct error err;

	place->report = said;
	place->report_since = since;
	place->report_at = at;
	assert_int_equal(claim_add(&claims, place, said, since, &err), 0);
}

static struct join_input gather(const char *node, uint64_t now)
{
	struct join_input input;
	struct error err;

	arena_reset(&arena);
	assert_int_equal(gather_node(&parts, view_from(node), now, &arena, &input, &err), 0);
	return input;
}

/* What is gathered of object n; NULL: nothing. */
static const struct join_previous *previous_of(const struct join_input *input, unsigned n)
{
	for (size_t i = 0; i < input->n_previous; i++)
		if (view_equal(input->previous[i].object->uuid, view_from(uuids[n])))
			return &input->previous[i];
	return NULL;
}

TEST(each_object_of_the_node_and_of_its_devices_is_gathered_once)
{
	struct report_device mixed[] = {devices[1], devices[0], devices[2],
					devices[3], devices[2], devices[9]};

	put_object(0, "a");
	put_object(1, "a");
	put_object(2, "b");
	put_object(3, "");
	put_object(4, "b");
	report.devices = (struct array){mixed, ARRAY_SIZE(mixed), true};
	put_report("a", &report, 5000, 6000);
	struct join_input input = gather("a", NOW);
	assert_int_equal(input.n_previous, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_non_null(previous_of(&input, i));
}

TEST(it_is_told_how_long_another_node_has_named_the_device)
{
	const struct report rival = {.devices = {devices, 1, true}};

	put_object(0, "a");
	put_report("a", &report, 5000, 6000);
	struct join_input input = gather("a", NOW);
	assert_int_equal(previous_of(&input, 0)->claimed_for_ms, -1);
	put_report("b", &rival, 7000, 8500);
	input = gather("a", NOW);
	assert_int_equal(previous_of(&input, 0)->claimed_for_ms, NOW - 7000);
	assert_int_equal(previous_of(&input, 0)->claimed_age_ms, NOW - 8500);
}

TEST(an_owner_that_is_silent_since_the_start_leaves_a_claim_its_age)
{
	const struct report rival = {.devices = {devices, 1, true}};

	put_object(0, "b");
	report.devices = (struct array){devices, 1, true};
	put_report("a", &report, 1200, 1200);
	struct join_input input = gather("a", 1500);
	assert_int_equal(previous_of(&input, 0)->claimed_age_ms, 500);
	put_report("c", &rival, 1400, 1500);
	input = gather("a", 1500);
	assert_int_equal(previous_of(&input, 0)->claimed_age_ms, 0);
	input = gather("a", 1501);
	assert_int_equal(previous_of(&input, 0)->claimed_age_ms, 1);
}

/* Objects 0 to 4 are named by the books, 5 to 7 by the API server; all are another node's. */
TEST(without_nvml_each_id_of_books_and_api_names_an_object)
{
	struct view ids[] = {VIEW("nonsense"), view_from(uuids[0]), view_from(uuids[1]),
			     VIEW(""),         view_from(uuids[2]), view_from(uuids[3]),
			     VIEW("nvidia0"),  view_from(uuids[4])};
	struct report_resource_devices offers[] = {
		{VIEW("r"), {&ids[0], 2, true}}, {VIEW("s"), {&ids[2], 1, true}},
		{VIEW("r"), {NULL, 0, true}},    {VIEW("s"), {&ids[3], 2, true}}};
	struct report_pod_resource list[] = {{.name = VIEW("x")}, {.device_ids = {&ids[5], 1, true}}};
	struct report_checkpoint_entry entries[] = {{.pod_uid = VIEW("x")},
						    {.device_ids = {&ids[6], 2, true}}};
	const struct pod_fields silent = pod_of("p", "a");
	static const struct {
		bool has_report, has_nvml;
		unsigned first, end; /* of what is gathered */
	} rows[] = {{true, false, 0, 8}, {true, true, 0, 0}, {false, false, 5, 8}};

	report.allocatable = (struct array){offers, 2, true};
	report.checkpoint.registered = (struct array){offers + 2, 2, true};
	report.pod_resources = (struct array){list, 2, true};
	report.checkpoint.entries = (struct array){entries, 2, true};
	for (unsigned i = 0; i < 10; i++)
		put_object(i, "b");
	put_pod(&silent);
	put_told("q", "a", view_from(uuids[5]));
	put_slice("a", 6, 2);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		report.sources.nvml.state = rows[i].has_nvml ? REPORT_SOURCE_OK
							     : REPORT_SOURCE_ERROR;
		place_of("a")->report = rows[i].has_report ? &report : NULL;
		struct join_input input = gather("a", NOW);
		assert_int_equal(input.n_previous, rows[i].end - rows[i].first);
		for (unsigned k = rows[i].first; k < rows[i].end; k++)
			assert_non_null(previous_of(&input, k));
	}
}

TEST(of_other_nodes_objects_no_more_are_gathered_than_two_sets_of_devices)
{
	static struct view ids[N_OBJECTS];
	struct report_resource_devices offer = {VIEW("r"), {ids, N_OBJECTS, true}};

	for (unsigned i = 0; i < N_OBJECTS; i++) {
		ids[i] = view_from(uuids[i]);
		put_object(i, i < 2 ? "a" : "b");
	}
	report.sources.nvml.state = REPORT_SOURCE_ERROR;
	report.allocatable = (struct array){&offer, 1, true};
	put_report("a", &report, 5000, 6000);
	put_slice("a", 0, LIMIT_REPORT_DEVICES);
	assert_int_equal(gather("a", NOW).n_slice_devices, LIMIT_REPORT_DEVICES);
	assert_int_equal(gather("a", NOW).n_previous, 2 + 2 * LIMIT_REPORT_DEVICES);
	assert_int_equal(gather("a", NOW).previous_left_out,
			 N_OBJECTS - (2 + 2 * LIMIT_REPORT_DEVICES));
	/* Two of them are a's own: the last of those that are named still has room. */
	offer.device_ids.count = 2 + 2 * LIMIT_REPORT_DEVICES;
	assert_int_equal(gather("a", NOW).n_previous, 2 + 2 * LIMIT_REPORT_DEVICES);
	assert_int_equal(gather("a", NOW).previous_left_out, 0);
}

/* Of object 2, which a's slice names. */
TEST(what_names_a_device_elsewhere_counts_where_only_the_api_speaks)
{
	static const struct {
		const char *holder;
		const char *told; /* an ID that a pod on b was given */
		unsigned first, n; /* of what b's slice names */
		bool has_report, is_named;
	} rows[] = {
		{"b", "GPU-00000002-0000-4000-8000-0123456789ab", 0, 2, false, true},
		{"b", "GPU-00000002-0000-4000-8000-0123456789ab::1", 0, 2, false, true},
		{"b", "GPU-00000003-0000-4000-8000-0123456789ab", 0, 2, false, false},
		{"b", "", 0, 2, false, false},
		{"b", "", 1, 2, false, true},
		{"b", "GPU-00000002-0000-4000-8000-0123456789ab", 1, 2, true, false},
		{"", "GPU-00000002-0000-4000-8000-0123456789ab", 1, 2, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		put_object(2, rows[i].holder);
		put_told("p", "b", view_from(rows[i].told));
		put_slice("a", 2, 1);
		put_slice("b", rows[i].first, rows[i].n);
		report.devices = (struct array){&devices[2], 1, true};
		if (rows[i].has_report)
			put_report("a", &report, 5000, 6000);
		struct join_input input = gather("a", NOW);
		assert_int_equal(input.n_previous, 1);
		assert_int_equal(input.previous[0].is_named_elsewhere, rows[i].is_named);
	}
}

TEST(only_a_name_that_is_known_to_be_on_another_node_is_foreign)
{
	static struct report_pod_resource list[] = {
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("away")},
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("here")},
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("nobody")},
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("away")},
	};
	const struct pod_fields here = pod_of("here", "a"), away = pod_of("away", "b");

	put_pod(&here);
	put_pod(&away);
	report.pod_resources = (struct array){list, ARRAY_SIZE(list), true};
	put_report("a", &report, 5000, 6000);
	struct join_input input = gather("a", NOW);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		assert_int_equal(input.is_foreign[i], i == 0 || i == 3);
}

/* What was found for a name was of this node; whose UID nobody knew may have come elsewhere since. */
TEST(who_is_published_as_unknown_may_be_elsewhere_without_a_report)
{
	static struct attribution_tenant tenants[] = {
		{.pod_uid = VIEW_INIT("away")},
		{.pod_uid = VIEW_INIT("also"), .pod_name = VIEW_INIT("also")},
		{.pod_uid = VIEW_INIT("nobody")},
		{.pod_uid = VIEW_INIT("here")},
		{.pod_uid = VIEW_INIT("again")},
	};
	const struct pod_fields told[] = {pod_of("here", "a"), pod_of("away", "b"),
					  pod_of("also", "b"), pod_of("again", "c")};

	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		put_pod(&told[i]);
	for (unsigned n = 0; n < 2; n++)
		put_object_of(n, "a", (struct array){tenants, ARRAY_SIZE(tenants), true});
	struct join_input input = gather("a", NOW);
	assert_int_equal(input.n_elsewhere, 2);
	assert_true(view_equal(input.elsewhere[0], VIEW("again")));
	assert_true(view_equal(input.elsewhere[1], VIEW("away")));
}

#define MAX_NAMED 3

static struct array processes_of(const char *const *uids, struct report_process *processes)
{
	uint32_t n = 0;

	for (; n < MAX_NAMED && uids[n]; n++)
		processes[n] = (struct report_process){.pod_uid = view_from(uids[n])};
	return (struct array){processes, n, true};
}

static struct array entries_of(const char *const *uids, struct report_checkpoint_entry *entries)
{
	uint32_t n = 0;

	for (; n < MAX_NAMED && uids[n]; n++)
		entries[n] = (struct report_checkpoint_entry){.pod_uid = view_from(uids[n])};
	return (struct array){entries, n, true};
}

static void assert_elsewhere(const char *uids)
{
	const struct join_input input = gather("a", NOW);
	char text[64] = "";

	for (size_t i = 0; i < input.n_elsewhere; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.*s ",
			 VIEW_ARG(input.elsewhere[i]));
	assert_string_equal(text, uids);
	assert_int_equal(input.n_elsewhere, strlen(uids) / 2);
}

/* With too little room for them what comes next into the arena would overwrite some. */
TEST(who_is_on_another_node_is_elsewhere_wherever_the_report_names_them)
{
	static struct report_pod_resource list[64];
	const struct pod_fields away[] = {pod_of("x", "b"), pod_of("y", "b"), pod_of("z", "b"),
					  pod_of("here", "a")};
	static const struct {
		const char *first[MAX_NAMED], *second[MAX_NAMED], *entries[MAX_NAMED]; /* UIDs */
		const char *elsewhere;
	} rows[] = {
		{{NULL}, {NULL}, {NULL}, ""},
		{{"here"}, {"nobody"}, {"here", ""}, ""},
		{{"x", "y", "z"}, {NULL}, {NULL}, "x y z "},
		{{NULL}, {"x", "y", "z"}, {NULL}, "x y z "},
		{{NULL}, {NULL}, {"x", "y", "z"}, "x y z "},
		{{"here", "x"}, {"here", "y"}, {"here", "z"}, "x y z "},
		{{"z", "here"}, {"y", "here"}, {"x", "here"}, "x y z "},
		{{"z", "y", "z"}, {"z", "y"}, {"y", "z", "z"}, "y z "},
	};

	report.pod_resources = (struct array){list, ARRAY_SIZE(list), true};
	for (size_t i = 0; i < ARRAY_SIZE(away); i++)
		put_pod(&away[i]);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report_process processes[2][MAX_NAMED];
		struct report_checkpoint_entry entries[MAX_NAMED];
		struct report_device said[] = {{.uuid = devices[0].uuid}, {.uuid = devices[1].uuid}};

		said[0].processes = processes_of(rows[i].first, processes[0]);
		said[1].processes = processes_of(rows[i].second, processes[1]);
		report.devices = (struct array){said, ARRAY_SIZE(said), true};
		report.checkpoint.entries = entries_of(rows[i].entries, entries);
		place_of("a")->report = &report;
		assert_elsewhere(rows[i].elsewhere);
		place_of("a")->report = NULL;
	}
}

/* Of devices 0 to 3, b names the first three; of 0 there is an object. */
TEST(a_device_without_object_is_contested_by_who_reported_later)
{
	const struct report rival = {.devices = {devices, 3, true}};
	static const struct {
		uint64_t rivals_at; /* ms */
		size_t n_contested;
	} rows[] = {{5999, 0}, {6000, 0}, {6001, 2}, {NOW, 2}};

	put_object(0, "a");
	report.devices = (struct array){devices, 4, true};
	put_report("a", &report, 5000, 6000);
	put_report("b", &rival, 5000, 6000);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		place_of("b")->report_at = rows[i].rivals_at;
		struct join_input input = gather("a", NOW);
		assert_int_equal(input.n_contested, rows[i].n_contested);
		for (size_t k = 0; k < input.n_contested; k++)
			assert_true(view_equal(input.contested[k], view_from(uuids[1 + k])));
	}
}

static void put_claim(struct view name, const char *uid)
{
	const struct resource_claim_fields fields = {
		.namespace = VIEW("ml"), .name = name,
		.results = {{VIEW("r"), VIEW("gpu.nvidia.com"), VIEW("p"), VIEW("gpu-0"), VIEW(""),
			     false}},
		.claim.results.count = 1, .consumers = {view_from(uid)}, .claim.consumers.count = 1,
		.claim.is_allocated = true,
	};
	struct error err;

	assert_int_equal(record_set_put_copy(&resource_claims.records, &fields, UPSERT(1), &err), 0);
}

static void put_claim_without_gpu(struct view name, bool is_allocated, uint64_t version)
{
	const struct resource_claim_fields fields = {
		.namespace = VIEW("ml"), .name = name, .claim.is_allocated = is_allocated,
	};
	struct error err;

	assert_int_equal(record_set_put_copy(&resource_claims.records, &fields, UPSERT(version), &err),
			 0);
}

static void put_claimer(const char *name, struct view claim, struct view second)
{
	struct pod_fields fields = pod_of(name, "a");

	fields.claims[fields.gpu.claims.count++] = (struct pod_claim){VIEW("main"), claim, VIEW("")};
	if (second.len > 0)
		fields.claims[fields.gpu.claims.count++] = (struct pod_claim){VIEW("main"), second, VIEW("")};
	put_pod(&fields);
}

TEST(each_claim_of_each_pod_is_used_or_lacking)
{
	static const char long_name[510] = "c";
	const struct view longest = {long_name, 509}, longer = {long_name, 510};

	put_claim(longest, "p");
	put_claim(VIEW("d"), "q");
	put_claimer("p", longest, VIEW(""));
	struct join_input input = gather("a", NOW);
	assert_int_equal(input.n_grants, 1);
	assert_int_equal(input.n_lacking, 0);
	assert_int_equal(places.n_lacking, 0);
	put_claimer("q", VIEW("d"), VIEW("none"));
	put_claimer("r", longer, VIEW(""));
	input = gather("a", NOW);
	assert_int_equal(input.n_grants, 2);
	assert_int_equal(input.n_lacking, 2);
	assert_true(view_equal(pod_uid(input.lacking[0]), VIEW("q")));
	assert_true(view_equal(pod_uid(input.lacking[1]), VIEW("r")));
	assert_int_equal(places.n_lacking, 1);
}

static void assert_awaiting(const char *uids)
{
	const struct join_input input = gather("a", NOW);
	char text[64] = "";

	for (size_t i = 0; i < input.n_awaiting; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.*s ",
			 VIEW_ARG(pod_uid(input.awaiting[i])));
	assert_string_equal(text, uids);
}

TEST(who_awaits_a_grant_has_a_claim_that_may_come_to_give_one)
{
	const struct pod_fields without_claims = pod_of("t", "a");

	put_claim(VIEW("gpu"), "p");
	put_claim_without_gpu(VIEW("nic"), true, 1);
	put_claim_without_gpu(VIEW("new"), false, 1);
	put_claimer("n", VIEW("nic"), VIEW(""));
	put_claimer("p", VIEW("gpu"), VIEW("nic"));
	assert_awaiting("");
	assert_int_equal(places.n_lacking, 0);
	/* Not reserved for it, not allocated, not here. */
	put_claimer("q", VIEW("nic"), VIEW("gpu"));
	assert_awaiting("q ");
	assert_int_equal(places.n_lacking, 0);
	put_claimer("r", VIEW("new"), VIEW("nic"));
	put_claimer("s", VIEW("none"), VIEW("nic"));
	put_pod(&without_claims);
	assert_awaiting("q r ");
	assert_int_equal(gather("a", NOW).n_lacking, 1);
	/* By what cannot be read any of them may. */
	parts.grants_known = false;
	assert_awaiting("n p q r s ");
}

TEST(who_awaits_a_grant_is_told_of_allocations_and_awaits_none_once_over)
{
	struct pod_fields over = pod_of("r", "a");

	put_claim_without_gpu(VIEW("new"), false, 1);
	put_claim_without_gpu(VIEW("nic"), true, 1);
	put_claimer("r", VIEW("nic"), VIEW("new"));
	assert_awaiting("r ");
	assert_int_equal(places.n_lacking, 1);
	put_claimer("r", VIEW("new"), VIEW(""));
	assert_awaiting("r ");
	assert_int_equal(places.n_lacking, 1);
	put_claim_without_gpu(VIEW("new"), true, 2);
	assert_awaiting("");
	assert_int_equal(places.n_lacking, 0);
	put_claim_without_gpu(VIEW("new"), false, 3);
	assert_awaiting("r ");
	over.state.phase = POD_PHASE_FAILED;
	over.state.no_container_runs = true;
	over.claims[over.gpu.claims.count++] = (struct pod_claim){VIEW("main"), VIEW("new"), VIEW("")};
	put_pod(&over);
	assert_awaiting("");
	assert_int_equal(places.n_lacking, 0);
}

TEST(of_a_pod_with_more_claims_than_are_kept_one_may_be_awaited)
{
	struct pod_fields fields = pod_of("p", "a");

	put_claim_without_gpu(VIEW("nic"), true, 1);
	while (fields.gpu.claims.count < POD_MAX_CLAIMS)
		fields.claims[fields.gpu.claims.count++] =
			(struct pod_claim){VIEW("main"), VIEW("nic"), VIEW("")};
	put_pod(&fields);
	assert_awaiting("");
	fields.gpu.claims_left_out = 1;
	put_pod(&fields);
	assert_awaiting("p ");
	/* It may have been the only one. */
	fields.gpu.claims.count = 1;
	put_pod(&fields);
	assert_awaiting("p ");
	fields.gpu.claims.count = 0;
	put_pod(&fields);
	assert_awaiting("");
}

TEST(each_pod_that_is_over_has_ended_when_it_was_told)
{
	static const struct {
		const char *uid;
		uint64_t at;
	} rows[] = {{"p", 1}, {"q", 2000}, {"r", 3000}};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = pod_of(rows[i].uid, "a");
		fields.state.phase = POD_PHASE_FAILED;
		fields.state.no_container_runs = true;
		assert_int_equal(pod_set_put(&pods, &fields, UPSERT_AT(1, rows[i].at), &err),
				 0);
	}
	struct pod_fields running = pod_of("s", "a");
	put_pod(&running);
	const struct join_input input = gather("a", NOW);
	assert_int_equal(input.n_ends, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(view_equal(input.ends[i].pod_uid, view_from(rows[i].uid)));
		assert_int_equal(input.ends[i].age_ms, NOW - rows[i].at);
	}
}

TEST(who_ended_before_the_first_list_did_so_however_early_that_came)
{
	place_of("a");
	assert_int_equal(gather("a", 1000).ended_for_ms, -1);
	scope.whole_since = 1;
	assert_int_equal(gather("a", 1000).ended_for_ms, 999);
}

TEST(devices_that_slices_describe_beyond_the_bound_are_counted)
{
	put_object(0, "a");
	put_slice("a", 0, LIMIT_REPORT_DEVICES + 2);
	const struct join_input input = gather("a", NOW);
	assert_int_equal(input.n_slice_devices, LIMIT_REPORT_DEVICES);
	assert_int_equal(input.slice_devices_left_out, 2);
}

TEST(a_report_of_another_boot_than_the_nodes_is_told)
{
	static const struct {
		const char *reported, *of_node;
		bool is_former;
	} rows[] = {{"a", "b", true}, {"b", "b", false}, {"", "b", false}, {"a", "", false}};
	struct report said = report;
	struct node node = {.name = VIEW("a")};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct place *place = place_of("a");
		said.boot_id = view_from(rows[i].reported);
		node.boot_id = view_from(rows[i].of_node);
		place->report = &said;
		place->node = &node;
		place->is_boot_news = true;
		assert_int_equal(gather("a", NOW).is_of_former_boot, rows[i].is_former);
		place->report = NULL;
		place->node = NULL;
	}
}

TEST(without_a_report_nothing_is_held)
{
	put_object(0, "a");
	assert_int_equal(gather("a", NOW).report_held_ms, 0);
	put_report("a", &report, 5000, 6000);
	assert_int_equal(gather("a", NOW).report_held_ms, NOW - 5000);
	assert_int_equal(gather("a", NOW).report_age_ms, NOW - 6000);
}

/* Each makes one array much larger than all that come after it. */

static void many_pods(void)
{
	static char uid[MANY][8];

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(uid[i], sizeof(uid[i]), "p%u", i);
		put_claimer(uid[i], VIEW("none"), VIEW(""));
	}
}

static void many_ended(void)
{
	struct error err;
	char uid[8];

	for (unsigned i = 0; i < 1024; i++) {
		snprintf(uid, sizeof(uid), "u%u", i);
		assert_int_equal(place_remember_ended(place_of("a"), view_from(uid), 0, NOW, &err), 0);
	}
}

static void a_long_ended(void)
{
	static const char uid[MANY * 16];
	struct error err;

	assert_int_equal(place_remember_ended(place_of("a"), (struct view){uid, sizeof(uid)}, 0, NOW,
					      &err), 0);
}

static void many_doubts(void)
{
	static const struct debounce_seen debounced[MANY];
	struct error err;

	assert_int_equal(place_set_debounced(place_of("a"), debounced, MANY, NOW, &err), 0);
}

static void many_entries(void)
{
	static struct report_checkpoint_entry entries[MANY];

	report.checkpoint.entries = (struct array){entries, MANY, true};
}

static void a_long_list(void)
{
	static struct report_pod_resource list[10 * MANY];

	report.pod_resources = (struct array){list, 10 * MANY, true};
}

static void many_uses(void)
{
	struct pod_fields fields = pod_of("", "a");
	char name[8];

	for (; fields.gpu.claims.count < POD_MAX_CLAIMS; fields.gpu.claims.count++)
		fields.claims[fields.gpu.claims.count] =
			(struct pod_claim){VIEW("main"), VIEW("none"), VIEW("")};
	for (unsigned i = 0; i < MANY / POD_MAX_CLAIMS; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		fields.name = fields.uid = view_from(name);
		put_pod(&fields);
	}
}

/* No two are of one pool; of each another slice is to come. */
static void many_slices(void)
{
	static struct record records[MANY];
	static struct resource_slice contents[MANY];
	static char pool[MANY][8];

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(pool[i], sizeof(pool[i]), "p%u", i);
		contents[i] = (struct resource_slice){.pool = view_from(pool[i]), .slice_count = 2};
		records[i] = (struct record){.object = &contents[i]};
		list_append(&place_of("a")->slices, &records[i].link);
		place_of("a")->n_slices++;
	}
}

static void many_devices(void)
{
	static struct report_device unknown[MANY];

	report.devices = (struct array){unknown, MANY, true};
}

static void assert_same(const struct join_input *x, const struct join_input *y)
{
	assert_int_equal(x->n_pods, y->n_pods);
	assert_int_equal(x->n_ended, y->n_ended);
	assert_int_equal(x->n_debounced, y->n_debounced);
	assert_int_equal(x->n_elsewhere, y->n_elsewhere);
	assert_int_equal(x->n_previous, y->n_previous);
	assert_int_equal(x->n_contested, y->n_contested);
	assert_int_equal(x->n_lacking, y->n_lacking);
	assert_int_equal(x->n_awaiting, y->n_awaiting);
	assert_int_equal(x->grants_unknown, y->grants_unknown);
	assert_true(x->pods && x->ended && x->debounced && x->elsewhere && x->is_foreign &&
		    x->previous && x->contested && x->lacking && x->awaiting && x->grants &&
		    x->slice_devices);
	for (size_t i = 0; i < x->n_ended; i++)
		assert_true(view_equal(x->ended[i], y->ended[i]));
}

static const struct {
	void (*put)(void);
	size_t step; /* of the memory that there is */
} larger[] = {
	{many_pods, 1000},    {many_ended, 1000},  {a_long_ended, 1000},
	{many_doubts, 1000},  {many_entries, 1000}, {a_long_list, 1000},
	{many_uses, 1000},    {many_slices, 4000}, {many_devices, 1000},
};

/* What is gathered when there is memory for all of it. */
static struct join_input gather_larger(size_t i)
{
	start_anew();
	larger[i].put();
	put_object(0, "a");
	place_of("a")->report = &report;
	return gather("a", NOW);
}

/* True: it failed, as it should when there is no memory, and left the input alone. */
static bool fails_to_gather(struct arena *small, const struct join_input *whole)
{
	struct join_input input = {.n_pods = 77777};
	struct error err = {0};
	bool failed = gather_node(&parts, VIEW("a"), NOW, small, &input, &err) < 0;

	if (failed)
		assert_int_equal(input.n_pods, 77777);
	else
		assert_same(&input, whole);
	assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
	return failed;
}

TEST(without_memory_for_any_part_nothing_is_gathered)
{
	for (size_t i = 0; i < ARRAY_SIZE(larger); i++) {
		const struct join_input whole = gather_larger(i);
		bool failed = true;

		for (size_t cap = 0; failed; cap += larger[i].step) {
			struct arena small;

			assert_true(cap < LIMIT_MIB);
			arena_init(&small, cap);
			failed = fails_to_gather(&small, &whole);
			arena_deinit(&small);
		}
	}
}

TEST(whichever_allocation_fails_nothing_is_gathered)
{
	for (size_t i = 0; i < ARRAY_SIZE(larger); i++) {
		const struct join_input whole = gather_larger(i);
		bool failed = true;

		for (unsigned n = 1; failed; n++) {
			struct arena fresh;

			arena_init(&fresh, 16 * LIMIT_MIB);
			failing_malloc_at(n);
			bool was_told = fails_to_gather(&fresh, &whole);
			failed = failing_malloc_off();
			assert_int_equal(was_told, failed);
			arena_deinit(&fresh);
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(each_object_of_the_node_and_of_its_devices_is_gathered_once),
	cmocka_unit_test_set_up(it_is_told_how_long_another_node_has_named_the_device),
	cmocka_unit_test_set_up(an_owner_that_is_silent_since_the_start_leaves_a_claim_its_age),
	cmocka_unit_test_set_up(without_nvml_each_id_of_books_and_api_names_an_object),
	cmocka_unit_test_set_up(of_other_nodes_objects_no_more_are_gathered_than_two_sets_of_devices),
	cmocka_unit_test_set_up(what_names_a_device_elsewhere_counts_where_only_the_api_speaks),
	cmocka_unit_test_set_up(who_is_published_as_unknown_may_be_elsewhere_without_a_report),
	cmocka_unit_test_set_up(only_a_name_that_is_known_to_be_on_another_node_is_foreign),
	cmocka_unit_test_set_up(who_is_on_another_node_is_elsewhere_wherever_the_report_names_them),
	cmocka_unit_test_set_up(a_device_without_object_is_contested_by_who_reported_later),
	cmocka_unit_test_set_up(each_claim_of_each_pod_is_used_or_lacking),
	cmocka_unit_test_set_up(who_awaits_a_grant_has_a_claim_that_may_come_to_give_one),
	cmocka_unit_test_set_up(who_awaits_a_grant_is_told_of_allocations_and_awaits_none_once_over),
	cmocka_unit_test_set_up(of_a_pod_with_more_claims_than_are_kept_one_may_be_awaited),
	cmocka_unit_test_set_up(each_pod_that_is_over_has_ended_when_it_was_told),
	cmocka_unit_test_set_up(who_ended_before_the_first_list_did_so_however_early_that_came),
	cmocka_unit_test_set_up(devices_that_slices_describe_beyond_the_bound_are_counted),
	cmocka_unit_test_set_up(a_report_of_another_boot_than_the_nodes_is_told),
	cmocka_unit_test_set_up(without_a_report_nothing_is_held),
	cmocka_unit_test_set_up(without_memory_for_any_part_nothing_is_gathered),
	cmocka_unit_test_set_up(whichever_allocation_fails_nothing_is_gathered),
};

TEST_MAIN(tests)
