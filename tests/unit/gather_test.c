/* SPDX-License-Identifier: Apache-2.0 */

#include "base/limits.h"

#define INVENTORY_FIXTURE_IS_SYNCED true
#include "lib/inventory_fixture.h"

#define N_OBJECTS (3 * LIMIT_REPORT_DEVICES)
#define MANY 2000u
#define NOW 9000u /* ms */

static char uuids[N_OBJECTS][48], names[N_OBJECTS][48];
static struct report_device devices[10]; /* of the first objects */
static uint64_t version; /* the last one of a pod or a claim */

static int name_devices(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_OBJECTS; i++) {
		snprintf(uuids[i], sizeof(uuids[i]), "GPU-%08x-0000-4000-8000-0123456789ab", i);
		snprintf(names[i], sizeof(names[i]), "gpu-%08x-0000-4000-8000-0123456789ab", i);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(devices); i++)
		devices[i].uuid = view_from(uuids[i]);
	return 0;
}

/* Object n, whose status names that node. */
static void put_object_n(unsigned n, const char *node)
{
	put_object(names[n], uuids[n], node, 1);
}

static void put_next(const struct pod_fields *fields)
{
	put_fields(fields, ++version, 1000);
}

static struct pod_fields pod_of(const char *name, const char *node)
{
	return pod_on(node, name, name);
}

static void put_pod_of(const char *name, const char *node)
{
	const struct pod_fields fields = pod_of(name, node);

	put_next(&fields);
}

static struct pod_fields over(struct pod_fields fields)
{
	fields.state.phase = POD_PHASE_FAILED;
	fields.state.no_container_runs = true;
	return fields;
}

/* A pod whose status tells of "nonsense", and then of that ID. */
static struct pod_fields told_of(const char *name, const char *node, struct view id)
{
	struct pod_fields fields = pod_of(name, node);
	const struct view ids[] = {VIEW("nonsense"), id};

	for (; fields.gpu.allocations.count < ARRAY_SIZE(ids); fields.gpu.allocations.count++)
		fields.allocations[fields.gpu.allocations.count] = (struct pod_allocation){
			VIEW("main"), VIEW("nvidia.com/gpu"), ids[fields.gpu.allocations.count]};
	return fields;
}

/* The slice of that node, which names devices from the first on. */
static void put_slice_of(const char *node, unsigned first, unsigned n)
{
	struct resource_slice_fields fields = slice_on(node, 1);

	fields.slice.name = fields.slice.pool = view_from(node);
	fields.slice.devices.count = 0;
	for (unsigned i = first; i < first + n; i++)
		fields.devices[fields.slice.devices.count++] = (struct resource_slice_device){
			.name = view_from(uuids[i]), .uuid = view_from(uuids[i])};
	put(INVENTORY_RESOURCE_SLICES, &fields, 1);
}

/* NVML can be read on node a, which names these devices. */
static struct report report_of_a(struct array named)
{
	struct report report = report_without_devices("a");

	report.sources.nvml.state = REPORT_SOURCE_OK;
	report.devices = named;
	return report;
}

/* The node reported the first n devices, first at `since`, and last at `at`. */
static void put_devices(const char *node, uint32_t n, uint64_t since, uint64_t at)
{
	struct report report = report_of_a((struct array){devices, n, true});

	report.node = view_from(node);
	put_report(&report, since);
	assert_true(hear(node, at));
}

/* What is gathered of object n; NULL: nothing. */
static const struct join_previous *previous_of(const struct join_input *input, unsigned n)
{
	for (size_t i = 0; i < input->n_previous; i++)
		if (view_equal(input->previous[i].object->uuid, view_from(uuids[n])))
			return &input->previous[i];
	return NULL;
}

/* These UIDs, each with a blank behind it. */
static void append_uid(char text[static 64], struct view uid)
{
	const size_t len = strlen(text);

	snprintf(text + len, 64 - len, "%.*s ", VIEW_ARG(uid));
}

TEST(each_object_of_the_node_and_of_its_devices_is_gathered_once)
{
	static const unsigned order[] = {1, 0, 2, 3, 2, 9};
	static struct report_device mixed[ARRAY_SIZE(order)];

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		mixed[i] = devices[order[i]];
	put_object_n(0, "a");
	put_object_n(1, "a");
	put_object_n(2, "b");
	put_object_n(3, "");
	put_object_n(4, "b");
	const struct report report = report_of_a((struct array){mixed, ARRAY_SIZE(mixed), true});
	put_report(&report, 5000);
	struct join_input input = gather("a", NOW);
	assert_int_equal(input.n_previous, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_non_null(previous_of(&input, i));
}

TEST(it_is_told_how_long_another_node_has_named_the_device)
{
	put_object_n(0, "a");
	put_devices("a", 0, 5000, 6000);
	struct join_input input = gather("a", NOW);
	assert_int_equal(previous_of(&input, 0)->claimed_for_ms, -1);
	put_devices("b", 1, 7000, 8500);
	input = gather("a", NOW);
	assert_int_equal(previous_of(&input, 0)->claimed_for_ms, NOW - 7000);
	assert_int_equal(previous_of(&input, 0)->claimed_age_ms, NOW - 8500);
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
	const struct pod_fields told = told_of("q", "a", view_from(uuids[5]));
	struct report report = report_of_a((struct array){0});
	static const struct {
		bool has_report, has_nvml;
		unsigned first, end; /* of what is gathered */
	} rows[] = {{true, false, 0, 8}, {true, true, 0, 0}, {false, false, 5, 8}};

	report.allocatable = (struct array){offers, 2, true};
	report.checkpoint.registered = (struct array){offers + 2, 2, true};
	report.pod_resources = (struct array){list, 2, true};
	report.checkpoint.entries = (struct array){entries, 2, true};
	for (unsigned i = 0; i < 10; i++)
		put_object_n(i, "b");
	put_pod_of("p", "a");
	put_next(&told);
	put_slice_of("a", 6, 2);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		report.sources.nvml.state = rows[i].has_nvml ? REPORT_SOURCE_OK
							     : REPORT_SOURCE_ERROR;
		if (rows[i].has_report)
			put_report(&report, 1000);
		else
			forget_report("a");
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
	struct report report = report_of_a((struct array){0});

	for (unsigned i = 0; i < N_OBJECTS; i++) {
		ids[i] = view_from(uuids[i]);
		put_object_n(i, i < 2 ? "a" : "b");
	}
	report.sources.nvml.state = REPORT_SOURCE_ERROR;
	report.allocatable = (struct array){&offer, 1, true};
	put_report(&report, 5000);
	put_slice_of("a", 0, LIMIT_REPORT_DEVICES);
	assert_int_equal(gather("a", NOW).n_slice_devices, LIMIT_REPORT_DEVICES);
	assert_int_equal(gather("a", NOW).n_previous, 2 + 2 * LIMIT_REPORT_DEVICES);
	assert_int_equal(gather("a", NOW).previous_left_out,
			 N_OBJECTS - (2 + 2 * LIMIT_REPORT_DEVICES));
	/* Two of them are a's own: the last of those that are named still has room. */
	offer.device_ids.count = 2 + 2 * LIMIT_REPORT_DEVICES;
	assert_int_equal(gather("a", NOW).n_previous, 2 + 2 * LIMIT_REPORT_DEVICES);
	assert_int_equal(gather("a", NOW).previous_left_out, 0);
}

#define UUID_2 "GPU-00000002-0000-4000-8000-0123456789ab"

/* Of object 2, which a's slice names. */
TEST(what_names_a_device_elsewhere_counts_where_only_the_api_speaks)
{
	static const struct {
		const char *holder;
		const char *told; /* an ID that a pod on b was given */
		const char *sliced, *parent; /* the UUIDs of what b's slice has */
		bool is_over, has_report, is_named;
	} rows[] = {
		{"b", "", "GPU-x", "", false, false, false},
		{"b", UUID_2, "GPU-x", "", false, false, true},
		{"b", UUID_2 "::1", "GPU-x", "", false, false, true},
		{"b", UUID_2, "GPU-x", "", true, false, false},
		{"b", "MIG-" UUID_2, "GPU-x", "", false, false, false},
		{"b", "GPU-00000003-0000-4000-8000-0123456789ab", "GPU-x", "", false, false, false},
		{"b", "", UUID_2, "", false, false, true},
		{"b", "", "gpu-00000002-0000-4000-8000-0123456789ab", "", false, false, true},
		{"b", "", "MIG-x", UUID_2, false, false, true},
		{"b", UUID_2, UUID_2, "", false, true, false},
		{"", UUID_2, UUID_2, "", false, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct report report = report_of_a((struct array){&devices[2], 1, true});
		const struct pod_fields told = told_of("p", "b", view_from(rows[i].told));
		const struct pod_fields told_and_over = over(told);
		struct resource_slice_fields slice = slice_on("b", 1);

		start_anew();
		put_object_n(2, rows[i].holder);
		put_next(rows[i].is_over ? &told_and_over : &told);
		put_slice_of("a", 2, 1);
		slice.devices[0].uuid = view_from(rows[i].sliced);
		slice.devices[0].parent_uuid = view_from(rows[i].parent);
		put(INVENTORY_RESOURCE_SLICES, &slice, 1);
		if (rows[i].has_report)
			put_report(&report, 5000);
		struct join_input input = gather("a", NOW);
		assert_int_equal(input.n_previous, 1);
		assert_int_equal(input.previous[0].is_named_elsewhere, rows[i].is_named);
		/* What is said of its own node is not said elsewhere. */
		input = gather("b", NOW);
		assert_true(input.n_previous == 0 || !input.previous[0].is_named_elsewhere);
	}
}

TEST(only_a_name_that_is_known_to_be_on_another_node_is_foreign)
{
	static struct report_pod_resource list[] = {
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("away")},
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("here")},
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("nobody")},
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("away")},
		{.namespace = VIEW_INIT("other"), .name = VIEW_INIT("away")},
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("waits")},
	};
	struct report report = report_of_a((struct array){0});

	put_pod_of("here", "a");
	put_pod_of("away", "b");
	put_pod_of("waits", "");
	report.pod_resources = (struct array){list, ARRAY_SIZE(list), true};
	put_report(&report, 5000);
	const struct join_input input = gather("a", NOW);
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
	put_pod_of("here", "a");
	put_pod_of("away", "b");
	put_pod_of("also", "b");
	put_pod_of("again", "c");
	for (unsigned n = 0; n < 2; n++) {
		const struct attribution object = {
			.name = view_from(names[n]), .uuid = view_from(uuids[n]),
			.status = {.node_name = VIEW("a"), .tenants = array_of(tenants, ARRAY_SIZE(tenants))},
		};

		put_attribution_as(&object, 1);
	}
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
		append_uid(text, input.elsewhere[i]);
	assert_string_equal(text, uids);
	assert_int_equal(input.n_elsewhere, strlen(uids) / 2);
}

/* With too little room for them what comes next into the arena would overwrite some. */
TEST(who_is_on_another_node_is_elsewhere_wherever_the_report_names_them)
{
	static struct report_pod_resource list[64];
	struct report report = report_of_a((struct array){0});
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
	put_pod_of("x", "b");
	put_pod_of("y", "b");
	put_pod_of("z", "b");
	put_pod_of("here", "a");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report_process processes[2][MAX_NAMED];
		struct report_checkpoint_entry entries[MAX_NAMED];
		struct report_device said[] = {{.uuid = devices[0].uuid}, {.uuid = devices[1].uuid}};

		said[0].processes = processes_of(rows[i].first, processes[0]);
		said[1].processes = processes_of(rows[i].second, processes[1]);
		report.devices = (struct array){said, ARRAY_SIZE(said), true};
		report.checkpoint.entries = entries_of(rows[i].entries, entries);
		put_report(&report, 1000);
		assert_elsewhere(rows[i].elsewhere);
		forget_report("a");
	}
}

/* Of devices 0 to 3, b names the first three; of 0 there is an object. */
TEST(a_device_without_object_is_contested_by_who_reported_later)
{
	static const struct {
		uint64_t rivals_at; /* ms */
		size_t n_contested;
	} rows[] = {{5999, 0}, {6000, 0}, {6001, 2}, {NOW, 2}};

	put_object_n(0, "a");
	put_devices("a", 4, 5000, 6000);
	put_devices("b", 3, 5000, 5000);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(hear("b", rows[i].rivals_at));
		const struct join_input input = gather("a", NOW);
		assert_int_equal(input.n_contested, rows[i].n_contested);
		for (size_t k = 0; k < input.n_contested; k++)
			assert_true(view_equal(input.contested[k], view_from(uuids[1 + k])));
	}
}

static void put_claim_of(struct view name, const char *uid)
{
	struct resource_claim_fields fields = claim_for(uid);

	fields.name = name;
	put(INVENTORY_RESOURCE_CLAIMS, &fields, ++version);
}

static void put_claim_without_gpu(struct view name, bool is_allocated)
{
	const struct resource_claim_fields fields = {
		.namespace = VIEW("ml"), .name = name, .claim.is_allocated = is_allocated};

	put(INVENTORY_RESOURCE_CLAIMS, &fields, ++version);
}

/* Whether a new claim would be told to node a, which has an object. */
static bool waits_for_claims(void)
{
	char name[16];

	snprintf(name, sizeof(name), "new-%u", (unsigned)version);
	forget_touches();
	put_claim_without_gpu(view_from(name), false);
	return strcmp(touched, "a ") == 0;
}

static void put_claimer(const char *name, struct view claim, struct view second)
{
	struct pod_fields fields = pod_of(name, "a");

	fields.claims[fields.gpu.claims.count++] = (struct pod_claim){VIEW("main"), claim, VIEW("")};
	if (second.len > 0)
		fields.claims[fields.gpu.claims.count++] = (struct pod_claim){VIEW("main"), second, VIEW("")};
	put_next(&fields);
}

TEST(each_claim_of_each_pod_is_used_or_lacking)
{
	static const char long_name[510] = "c";
	const struct view longest = {long_name, 509}, longer = {long_name, 510};

	put_object_n(0, "a");
	put_claim_of(longest, "p");
	put_claim_of(VIEW("d"), "q");
	put_claimer("p", longest, VIEW(""));
	struct join_input input = gather("a", NOW);
	assert_int_equal(input.n_grants, 1);
	assert_int_equal(input.n_lacking, 0);
	assert_false(waits_for_claims());
	put_claimer("q", VIEW("d"), VIEW("none"));
	put_claimer("r", longer, VIEW(""));
	input = gather("a", NOW);
	assert_int_equal(input.n_grants, 2);
	assert_int_equal(input.n_lacking, 2);
	assert_true(view_equal(pod_uid(input.lacking[0]), VIEW("q")));
	assert_true(view_equal(pod_uid(input.lacking[1]), VIEW("r")));
	assert_true(waits_for_claims());
}

static void assert_awaiting(const char *uids)
{
	const struct join_input input = gather("a", NOW);
	char text[64] = "";

	for (size_t i = 0; i < input.n_awaiting; i++)
		append_uid(text, pod_uid(input.awaiting[i]));
	assert_string_equal(text, uids);
}

TEST(who_awaits_a_grant_has_a_claim_that_may_come_to_give_one)
{

	put_object_n(0, "a");
	put_claim_of(VIEW("gpu"), "p");
	put_claim_without_gpu(VIEW("nic"), true);
	put_claim_without_gpu(VIEW("new"), false);
	put_claimer("n", VIEW("nic"), VIEW(""));
	put_claimer("p", VIEW("gpu"), VIEW("nic"));
	assert_awaiting("");
	assert_false(waits_for_claims());
	/* Not reserved for it, not allocated, not here. */
	put_claimer("q", VIEW("nic"), VIEW("gpu"));
	assert_awaiting("q ");
	assert_false(waits_for_claims());
	put_claimer("r", VIEW("new"), VIEW("nic"));
	put_claimer("s", VIEW("none"), VIEW("nic"));
	put_pod_of("t", "a");
	assert_awaiting("q r ");
	assert_int_equal(gather("a", NOW).n_lacking, 1);
	/* By what cannot be read any of them may. */
	inventory_set_age(inventory, INVENTORY_RESOURCE_CLAIMS, INVENTORY_STALE);
	assert_awaiting("n p q r s ");
}

TEST(who_awaits_a_grant_is_told_of_allocations_and_awaits_none_once_over)
{
	struct pod_fields pod_that_is_over = over(pod_of("r", "a"));

	put_object_n(0, "a");
	put_claim_without_gpu(VIEW("new"), false);
	put_claim_without_gpu(VIEW("nic"), true);
	put_claimer("r", VIEW("nic"), VIEW("new"));
	assert_awaiting("r ");
	assert_true(waits_for_claims());
	put_claimer("r", VIEW("new"), VIEW(""));
	assert_awaiting("r ");
	assert_true(waits_for_claims());
	put_claim_without_gpu(VIEW("new"), true);
	assert_awaiting("");
	assert_false(waits_for_claims());
	put_claim_without_gpu(VIEW("new"), false);
	assert_awaiting("r ");
	pod_that_is_over.claims[0] = (struct pod_claim){VIEW("main"), VIEW("new"), VIEW("")};
	pod_that_is_over.gpu.claims.count = 1;
	put_next(&pod_that_is_over);
	assert_awaiting("");
	assert_false(waits_for_claims());
}

TEST(of_a_pod_with_more_claims_than_are_kept_one_may_be_awaited)
{
	struct pod_fields fields = pod_of("p", "a");

	put_claim_without_gpu(VIEW("nic"), true);
	while (fields.gpu.claims.count < POD_MAX_CLAIMS)
		fields.claims[fields.gpu.claims.count++] =
			(struct pod_claim){VIEW("main"), VIEW("nic"), VIEW("")};
	put_next(&fields);
	assert_awaiting("");
	fields.gpu.claims_left_out = 1;
	put_next(&fields);
	assert_awaiting("p ");
	/* It may have been the only one. */
	fields.gpu.claims.count = 1;
	put_next(&fields);
	assert_awaiting("p ");
	fields.gpu.claims.count = 0;
	put_next(&fields);
	assert_awaiting("");
}

TEST(each_pod_that_is_over_has_ended_when_it_was_told)
{
	static const struct {
		const char *uid;
		uint64_t at;
	} rows[] = {{"p", 1}, {"q", 2000}, {"r", 3000}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct pod_fields fields = over(pod_of(rows[i].uid, "a"));

		put_fields(&fields, ++version, rows[i].at);
	}
	put_pod_of("s", "a");
	const struct join_input input = gather("a", NOW);
	assert_int_equal(input.n_ends, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(view_equal(input.ends[i].pod_uid, view_from(rows[i].uid)));
		assert_int_equal(input.ends[i].age_ms, NOW - rows[i].at);
	}
}

TEST(who_ended_before_the_first_list_did_so_however_early_that_came)
{
	struct error err;

	tear_down(NULL);
	assert_int_equal(inventory_new(1, &inventory, &err), 0);
	put_object_n(0, "a");
	assert_int_equal(gather("a", 1000).ended_for_ms, -1);
	sync_kind(INVENTORY_PODS, 1);
	assert_int_equal(gather("a", 1000).ended_for_ms, 999);
}

TEST(devices_that_slices_describe_beyond_the_bound_are_counted)
{
	put_object_n(0, "a");
	put_slice_of("a", 0, LIMIT_REPORT_DEVICES + 2);
	const struct join_input input = gather("a", NOW);
	assert_int_equal(input.n_slice_devices, LIMIT_REPORT_DEVICES);
	assert_int_equal(input.slice_devices_left_out, 2);
}

/* Each makes one array much larger than all that come after it. */

static void many_pods(struct report *report)
{
	static char uid[MANY][8];

	(void)report;
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(uid[i], sizeof(uid[i]), "p%u", i);
		put_claimer(uid[i], VIEW("none"), VIEW(""));
	}
}

static struct view ended[1024];
static struct debounce_seen debounced[MANY];
static struct recall recall;

static void many_ended(struct report *report)
{
	static char uid[ARRAY_SIZE(ended)][8];

	(void)report;
	for (unsigned i = 0; i < ARRAY_SIZE(ended); i++) {
		snprintf(uid[i], sizeof(uid[i]), "u%u", i);
		ended[i] = view_from(uid[i]);
	}
	recall = (struct recall){.ended = ended, .n_ended = ARRAY_SIZE(ended)};
}

static void a_long_ended(struct report *report)
{
	static const char uid[MANY * 16];

	(void)report;
	ended[0] = (struct view){uid, sizeof(uid)};
	recall = (struct recall){.ended = ended, .n_ended = 1};
}

static void many_doubts(struct report *report)
{
	(void)report;
	recall = (struct recall){.debounced = debounced, .n_debounced = MANY};
}

static void many_entries(struct report *report)
{
	static struct report_checkpoint_entry entries[MANY];

	report->checkpoint.entries = (struct array){entries, MANY, true};
}

static void a_long_list(struct report *report)
{
	static struct report_pod_resource list[10 * MANY];

	report->pod_resources = (struct array){list, 10 * MANY, true};
}

static void many_uses(struct report *report)
{
	struct pod_fields fields = pod_of("", "a");
	char name[8];

	(void)report;
	for (; fields.gpu.claims.count < POD_MAX_CLAIMS; fields.gpu.claims.count++)
		fields.claims[fields.gpu.claims.count] =
			(struct pod_claim){VIEW("main"), VIEW("none"), VIEW("")};
	for (unsigned i = 0; i < MANY / POD_MAX_CLAIMS; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		fields.name = fields.uid = view_from(name);
		put_next(&fields);
	}
}

static void many_devices(struct report *report)
{
	static struct report_device unknown[MANY];

	report->devices = (struct array){unknown, MANY, true};
}

/* A little of everything, where each single allocation is the one that fails. */
static void one_of_each(struct report *report)
{
	ended[0] = VIEW("u9");
	recall = (struct recall){.ended = ended, .n_ended = 1, .debounced = debounced, .n_debounced = 1};
	report->devices = (struct array){devices, 2, true};
	put_claim_of(VIEW("c"), "p");
	put_claimer("p", VIEW("c"), VIEW("none"));
	put_slice("a", 1, 1);
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
	assert_int_equal(x->n_grants, y->n_grants);
	assert_int_equal(x->n_slice_devices, y->n_slice_devices);
	assert_int_equal(x->grants_unknown, y->grants_unknown);
	assert_true(x->pods && x->ended && x->debounced && x->elsewhere && x->is_foreign &&
		    x->previous && x->contested && x->lacking && x->awaiting && x->grants &&
		    x->slice_devices);
	for (size_t i = 0; i < x->n_ended; i++)
		assert_true(view_equal(x->ended[i], y->ended[i]));
}

static const struct {
	void (*put)(struct report *report);
	size_t step; /* of the memory that there is */
} larger[] = {
	{many_pods, 1000},    {many_ended, 1000},   {a_long_ended, 1000}, {many_doubts, 1000}, {one_of_each, 8},
	{many_entries, 1000}, {a_long_list, 1000}, {many_uses, 1000},    {many_devices, 1000},
};

/* What is gathered when there is memory for all of it. */
static struct join_input gather_larger(size_t i)
{
	struct report report = report_of_a((struct array){0});

	start_anew();
	recall = (struct recall){0};
	larger[i].put(&report);
	put_object_n(0, "a");
	put_report(&report, 1000);
	keep_recall("a", &recall, NOW);
	return gather("a", NOW);
}

/* True: it failed, as it should when there is no memory, and left the input alone. */
static bool fails_to_gather(struct arena *small, const struct join_input *whole)
{
	struct join_input input = {.n_pods = 77777};
	struct error err = {0};
	const struct inventory_parts parts = inventory_parts(inventory);
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
	cmocka_unit_test_set_up(without_memory_for_any_part_nothing_is_gathered),
	cmocka_unit_test_set_up(whichever_allocation_fails_nothing_is_gathered),
};

TEST_MAIN_WITH(tests, name_devices, NULL)
