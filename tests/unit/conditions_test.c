/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "join/subject.h"

#define NOW INT64_C(1700000000000)

static struct arena arena;
static const struct join_limits limits = {.report_stale_ms = 130000};
static struct report report;
static struct join_input input;
static struct device device;
static struct attribution object;
static struct facts facts;
static struct subject subject;
static struct attribution_status found;

/* While the sources of claims are not whole, a pod of the node uses one. */
static void set_unread(bool is_unread)
{
	facts.source.resource_claim = is_unread ? SOURCE_PARTIAL : SOURCE_ABSENT;
	input.n_lacking = is_unread;
	subject.is_without_ids = is_unread;
}

static void set_claims_old(bool are_old)
{
	input.grants_denied = subject.is_claimed = are_old;
}

static void set_book_readable(bool is_readable)
{
	facts.source.checkpoint = is_readable ? SOURCE_COMPLETE : SOURCE_UNREADABLE;
}

static void set_fresh(bool is_fresh)
{
	input.report_age_ms = is_fresh ? 0 : limits.report_stale_ms;
}

/* Everything is well. */
static int set_up(void **state)
{
	static const struct report_source well = {.state = REPORT_SOURCE_OK};
	static struct join_previous previous;
	(void)state;
	arena_init(&arena, 1 << 20);
	report = (struct report){.sources = {well, well, well, well, well}};
	input = (struct join_input){.report = &report, .limits = &limits, .now_wall_ms = NOW};
	object = (struct attribution){.generation = 7};
	previous = (struct join_previous){.object = &object};
	device = (struct device){.object = &previous};
	facts = (struct facts){.input = &input};
	found = (struct attribution_status){0};
	subject = (struct subject){
		.facts = &facts,
		.device = &device,
		.arena = &arena,
		.status = &found,
		.health = {
			.status = CONDITION_TRUE,
			.reason = VIEW("NothingFound"),
			.message = VIEW("nothing speaks against the device"),
		},
		.intent = {
			.status = CONDITION_TRUE,
			.reason = VIEW("Unmanaged"),
			.message = VIEW("there is no ClusterPolicy"),
		},
	};
	set_book_readable(true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static const struct previous *read(const struct attribution_status *status)
{
	const struct previous *previous;
	struct error err;
	assert_int_equal(previous_read(status, &arena, &previous, &err), 0);
	return previous;
}

static void set_published(const struct previous *published)
{
	device.published = published;
	subject.published = published ? published->status : NULL;
}

static struct attribution_status make(void)
{
	struct error err;
	assert_int_equal(conditions_make(&subject, &err), 0);
	return (struct attribution_status){.tenant_count = found.tenant_count, .conditions = found.conditions};
}

static struct attribution_status keep(const struct attribution_status *published)
{
	struct attribution_status status = *published;
	set_published(read(published));
	subject.is_awaited = true;
	status.conditions = make().conditions;
	return status;
}

static const struct condition *find(const struct attribution_status *status, const char *type)
{
	return attribution_find_condition(status, view_from(type));
}

TEST(there_are_five_conditions_in_the_order_of_their_types)
{
	static const char *const types[] = {"Attributed", "Healthy", "InSync", "Ready",
					    "ReportFresh"};
	struct attribution_status status = make();
	assert_true(status.conditions.present);
	assert_int_equal(status.conditions.count, ARRAY_SIZE(types));
	for (uint32_t i = 0; i < ARRAY_SIZE(types); i++) {
		const struct condition *c = ARRAY_AT(status.conditions, struct condition, i);
		expect_text(c->type, types[i]);
		assert_int_equal(c->observed_generation, 7);
		assert_true(c->last_transition_time == NOW);
		assert_true(c->reason.len > 0);
		assert_true(c->message.len > 0);
	}
}

/* All of them hold at first, and then one less each time. */
TEST(attributed_says_what_is_wrong_first_then_what_is_not_known_each_in_turn)
{
	static struct attribution_tenant unconfirmed = {
		.confidence = ATTRIBUTION_CONFIDENCE_UNCONFIRMED};
	static const struct {
		const char *reason;
		int status;
		const char *ready; /* NULL: the same */
		const char *message;
	} rows[] = {
		{"PodsUnknown", CONDITION_UNKNOWN, NULL, "the controller may no longer read pods"},
		{"PodsStale", CONDITION_UNKNOWN, NULL, "the controller's watch of pods"},
		{"Unresolved", CONDITION_FALSE, NULL, "1 slot is held by"},
		{"SlotHeldTwice", CONDITION_FALSE, NULL, "GPU-1 is held by ml/a and ml/b"},
		{"SourceDisagreement", CONDITION_FALSE, NULL, "witnesses contradict each other"},
		{"UnknownDeviceID", CONDITION_FALSE, NULL, "a pod of the node holds a device ID"},
		{"UnknownDeviceID", CONDITION_FALSE, NULL,
		 "a tenant holds a device ID of no known form: GPU-1#7 and 1 more"},
		{"ReservedOtherwise", CONDITION_UNKNOWN, NULL, "a ResourceClaim that has the device"},
		{"ClaimsUnknown", CONDITION_UNKNOWN, NULL, "the controller cannot read Resource"},
		{"ClaimsUnknown", CONDITION_UNKNOWN, NULL, "a pod of the node uses"},
		{"Settling", CONDITION_UNKNOWN, NULL, "the kubelet started anew"},
		{"SourcesFailed", CONDITION_UNKNOWN, NULL, "neither PodResources nor"},
		{"Unconfirmed", CONDITION_UNKNOWN, NULL, "no witness names a tenant"},
		{"AllResolved", CONDITION_TRUE, "Current", "every slot that is held has a pod"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		input.pods_age = i < 1 ? INVENTORY_DENIED : i < 2 ? INVENTORY_STALE
								  : INVENTORY_CURRENT;
		subject.tenants.slots_unresolved = i < 3;
		subject.held_twice = i < 4 ? VIEW("GPU-1 is held by ml/a and ml/b") : (struct view){0};
		found.source_disagreements.count = i < 5;
		found.unplaced_tenants.count = i < 6;
		subject.n_odd = i < 7 ? 2 : 0;
		subject.odd_id = VIEW("GPU-1#7");
		static const struct slice_device nameless = {.is_nameless = true};
		device.slice = i < 8 ? &nameless : NULL;
		set_claims_old(i < 9);
		set_unread(i < 10);
		facts.source.is_settling = i < 11;
		set_book_readable(i >= 12);
		found.tenants = (struct array){&unconfirmed, i < 13, true};
		struct attribution_status status = make();
		expect_condition(&status, "Attributed", rows[i].status, rows[i].reason);
		expect_condition(&status, "Ready", rows[i].status,
				 rows[i].ready ? rows[i].ready : rows[i].reason);
		assert_true(view_starts_with(find(&status, "Attributed")->message,
					     view_from(rows[i].message)));
		expect_condition(&status, "Healthy", CONDITION_TRUE, "NothingFound");
	}
}

TEST(health_and_intent_are_conditions_of_their_own)
{
	for (int verdict = CONDITION_TRUE; verdict <= CONDITION_UNKNOWN; verdict++) {
		subject.health.status = verdict;
		struct attribution_status status = make();
		expect_condition(&status, "Healthy", verdict, "NothingFound");
		expect_condition(&status, "Ready", CONDITION_TRUE, "Current");
		expect_condition(&status, "InSync", CONDITION_TRUE, "Unmanaged");
	}
	subject.intent = (struct drift_verdict){
		.status = CONDITION_FALSE, .reason = VIEW("SharingMode"), .message = VIEW("m")};
	struct attribution_status status = make();
	expect_condition(&status, "InSync", CONDITION_FALSE, "SharingMode");
	expect_text(find(&status, "InSync")->message, "m");
	expect_condition(&status, "Ready", CONDITION_TRUE, "Current");
	set_fresh(false);
	status = make();
	expect_condition(&status, "InSync", CONDITION_UNKNOWN, "ReportStale");
	expect_condition(&status, "Healthy", CONDITION_UNKNOWN, "ReportStale");
	input.report = NULL;
	status = make();
	expect_condition(&status, "InSync", CONDITION_UNKNOWN, "NoAgent");
}

/* A remediation controller's; and one that an earlier release of this one published. */
TEST(conditions_of_others_are_kept_as_they_are)
{
	static struct condition there[LIMIT_CONDITIONS] = {
		{VIEW_INIT("Drained"), CONDITION_FALSE, 3, 17, VIEW_INIT("Busy"), VIEW_INIT("m")},
		{VIEW_INIT("Drifted"), CONDITION_UNKNOWN, 3, 17, VIEW_INIT("Unmanaged"), {0}},
		{VIEW_INIT("Ready"), CONDITION_FALSE, 3, 17, VIEW_INIT("Old"), {0}},
	};
	object.status.conditions = (struct array){there, 3, true};
	struct attribution_status status = make();
	assert_int_equal(status.conditions.count, N_CONDITION_TYPES + 1);
	const struct condition *kept = find(&status, "Drained");
	assert_int_equal(kept->status, CONDITION_FALSE);
	assert_int_equal(kept->observed_generation, 3);
	assert_int_equal(kept->last_transition_time, 17);
	expect_text(kept->reason, "Busy");
	expect_condition(&status, "Ready", CONDITION_TRUE, "Current");
	/* The schema has room for so many. */
	for (size_t i = 0; i < LIMIT_CONDITIONS; i++)
		there[i] = there[0];
	object.status.conditions.count = LIMIT_CONDITIONS;
	assert_int_equal(make().conditions.count, LIMIT_CONDITIONS);
}

/* Each write starts from what the one before it left on the API server. */
TEST(a_condition_of_others_outlives_a_thousand_writes)
{
	static struct condition drained = {VIEW_INIT("Drained"), CONDITION_FALSE, 3, 17,
					   VIEW_INIT("Busy"), VIEW_INIT("work has not ended yet")};
	struct condition kept[N_CONDITION_TYPES + 1];

	object.status.conditions = (struct array){&drained, 1, true};
	for (int i = 0; i < 1000; i++) {
		set_published(read(&object.status));
		set_fresh(i % 2 == 0);
		struct attribution_status written = make();
		assert_int_equal(written.conditions.count, ARRAY_SIZE(kept));
		memcpy(kept, written.conditions.items, sizeof(kept));
		arena_reset(&arena);
		object.status.conditions = array_of(kept, ARRAY_SIZE(kept));
	}
	const struct condition *c = find(&object.status, "Drained");
	assert_int_equal(c->status, CONDITION_FALSE);
	assert_int_equal(c->observed_generation, 3);
	assert_int_equal(c->last_transition_time, 17);
	expect_text(c->reason, "Busy");
	expect_text(c->message, "work has not ended yet");
}

#define OK {.state = REPORT_SOURCE_OK}
#define NOTED {.state = REPORT_SOURCE_OK, .message = VIEW_INIT("all is well")}
#define FAILED(why) {.state = REPORT_SOURCE_ERROR, .message = VIEW_INIT(why)}
#define ABSENT(why) {.state = REPORT_SOURCE_ABSENT, .message = VIEW_INIT(why)}
#define RESOLVED "every slot that is held has a pod"
#define BY_NAME                                                                                    \
	"; the checkpoint cannot be read, so some pods are known by name only"

TEST(why_a_source_fails_is_said_by_the_condition_that_rests_on_it)
{
	static const struct {
		bool is_unreadable;
		struct report_sources sources;
		const char *type, *message;
	} rows[] = {
		{false, {NOTED, NOTED, NOTED, NOTED, OK}, "Attributed", RESOLVED},
		{false, {OK, OK, OK, ABSENT("not visible"), OK}, "Attributed", RESOLVED},
		{false, {OK, OK, OK, FAILED("x"), OK}, "Attributed", RESOLVED " (processes: x)"},
		{false, {OK, FAILED("Permission denied"), OK, OK, OK}, "Attributed",
		 RESOLVED BY_NAME " (checkpoint: Permission denied)"},
		{false, {OK, {0}, OK, OK, OK}, "Attributed",
		 RESOLVED BY_NAME " (checkpoint: no reason was given)"},
		{false, {ABSENT("no socket"), OK, OK, OK, OK}, "Attributed",
		 RESOLVED ", by what is known without PodResources (podResources: no socket)"},
		{true, {FAILED("refused"), ABSENT("no file"), FAILED("x"), OK, OK}, "Ready",
		 "neither PodResources nor the kubelet's checkpoint can be read (podResources: "
		 "refused; checkpoint: no file)"},
		{false, {OK, FAILED("x"), NOTED, FAILED("x"), OK}, "Healthy",
		 "nothing speaks against the device"},
		{false, {OK, OK, FAILED("no library"), OK, FAILED("x")}, "Healthy",
		 "nothing speaks against the device (nvml: no library)"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_book_readable(!rows[i].is_unreadable);
		report.sources = rows[i].sources;
		struct attribution_status status = make();
		expect_text(find(&status, rows[i].type)->message, rows[i].message);
	}
}

TEST(behind_the_longest_message_there_is_room_for_why_sources_fail)
{
	static char why[LIMIT_REPORT_MESSAGE], held_twice[OVERLAP_MESSAGE];
	memset(why, 'x', sizeof(why));
	memset(held_twice, 'y', sizeof(held_twice));
	const struct report_source failed = {.state = REPORT_SOURCE_ERROR,
					     .message = {why, sizeof(why)}};
	report.sources = (struct report_sources){failed, failed, failed, failed, failed};
	subject.held_twice = (struct view){held_twice, sizeof(held_twice)};
	struct attribution_status status = make();
	struct view message = find(&status, "Attributed")->message;
	size_t n_said = 0;
	for (size_t i = 0; i < message.len; i++)
		n_said += message.ptr[i] == 'x';
	assert_in_range(n_said, 3 * sizeof(why), 3 * sizeof(why) + 8);
	assert_in_range(message.len, sizeof(held_twice) + n_said, LIMIT_TEXT_CONDITION_MESSAGE);
	assert_int_equal(message.ptr[message.len - 1], ')');
}

/* While the first report is awaited */

/* What is published with one tenant, one unplaced holder and one user. */
static struct attribution_status publish(const char *attributed)
{
	static struct attribution_tenant tenant = {.pod_uid = VIEW_INIT("uid-a"),
						   .container = VIEW_INIT("main")};
	static struct attribution_unplaced holder;
	static struct attribution_user user;

	found.tenants = (struct array){&tenant, 1, true};
	found.tenant_count = 1;
	subject.tenants.slots_unresolved = view_equal(view_from(attributed), VIEW("Unresolved"));
	set_claims_old(view_equal(view_from(attributed), VIEW("ClaimsUnknown")));
	input.pods_age = view_equal(view_from(attributed), VIEW("PodsStale"))	? INVENTORY_STALE
			 : view_equal(view_from(attributed), VIEW("PodsUnknown")) ? INVENTORY_DENIED
										  : INVENTORY_CURRENT;
	struct attribution_status status = make();
	assert_true(view_equal(find(&status, "Attributed")->reason, view_from(attributed)));
	found.unplaced_tenants = status.unplaced_tenants = (struct array){&holder, 1, true};
	found.unallocated_users = status.unallocated_users = (struct array){&user, 1, true};
	status.tenants = found.tenants;
	input.report = NULL;
	set_claims_old(false);
	input.pods_age = INVENTORY_CURRENT;
	object.generation = 8;
	input.now_wall_ms = NOW + 1;
	return status;
}

TEST(before_the_report_conditions_are_as_published)
{
	static const char *const reasons[] = {"AllResolved", "Unresolved"};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		tear_down(state);
		set_up(state);
		struct attribution_status published = publish(reasons[i]);
		facts.source.is_settling = subject.is_duplicate = true;
		set_book_readable(false);
		struct attribution_status status = keep(&published);
		assert_int_equal(status.conditions.count, 5);
		for (uint32_t k = 0; k < 5; k++) {
			const struct condition *c = ARRAY_AT(status.conditions, struct condition, k);
			const struct condition *before = ARRAY_AT(published.conditions,
								  struct condition, k);
			assert_int_equal(c->observed_generation, 8);
			assert_true(c->last_transition_time == NOW);
			assert_int_equal(c->status, before->status);
			assert_true(view_equal(c->reason, before->reason));
			assert_true(view_equal(c->message, before->message));
		}
	}
}

/* An older release knew fewer. */
TEST(before_the_report_a_condition_that_was_not_published_awaits_it)
{
	struct attribution_status published = {0};
	struct attribution_status status = keep(&published);
	assert_int_equal(status.conditions.count, 5);
	expect_condition(&status, "Healthy", CONDITION_UNKNOWN, "AwaitingReport");
	expect_condition(&status, "Attributed", CONDITION_UNKNOWN, "AwaitingReport");
}

enum change { SAME, TENANT_GONE, COUNT, HOLDER_GONE, USER_GONE };

static void change_holders(enum change change)
{
	if (change == TENANT_GONE)
		found.tenants = (struct array){0}, found.tenant_count = 0;
	found.tenant_count += change == COUNT;
	found.unplaced_tenants.count -= change == HOLDER_GONE;
	found.unallocated_users.count -= change == USER_GONE;
}

TEST(before_the_report_what_may_be_otherwise_awaits_it)
{
	static const struct {
		const char *published;
		enum inventory_age pods_age;
		bool are_claims_old;
		enum change change;
		bool is_silent;
		const char *attributed, *ready;
	} rows[] = {
		{"AllResolved", INVENTORY_STALE, false, SAME, false, "PodsStale", "PodsStale"},
		{"AllResolved", INVENTORY_DENIED, true, SAME, false, "PodsUnknown", "PodsUnknown"},
		{"AllResolved", INVENTORY_DENIED, false, SAME, true, "PodsUnknown", "ReportStale"},
		{"AllResolved", 0, true, SAME, false, "ClaimsUnknown", "ClaimsUnknown"},
		{"AllResolved", 0, false, TENANT_GONE, false, "AllResolved", "Current"},
		{"AllResolved", 0, false, SAME, true, "AllResolved", "ReportStale"},
		{"PodsStale", INVENTORY_STALE, false, TENANT_GONE, false, "PodsStale", "PodsStale"},
		{"PodsStale", INVENTORY_DENIED, false, SAME, false, "PodsUnknown", "PodsUnknown"},
		{"PodsUnknown", INVENTORY_STALE, false, SAME, false, "PodsStale", "PodsStale"},
		{"PodsStale", 0, false, SAME, false, "AwaitingReport", "AwaitingReport"},
		{"PodsUnknown", 0, false, SAME, true, "AwaitingReport", "ReportStale"},
		{"ClaimsUnknown", 0, true, SAME, false, "ClaimsUnknown", "ClaimsUnknown"},
		{"ClaimsUnknown", 0, false, SAME, false, "AwaitingReport", "AwaitingReport"},
		{"Unresolved", INVENTORY_DENIED, false, SAME, false, "PodsUnknown", "PodsUnknown"},
		{"Unresolved", 0, true, SAME, false, "Unresolved", "Unresolved"},
		{"Unresolved", 0, false, SAME, true, "Unresolved", "ReportStale"},
		{"Unresolved", 0, false, TENANT_GONE, false, "AwaitingReport", "AwaitingReport"},
		{"Unresolved", 0, false, COUNT, false, "AwaitingReport", "AwaitingReport"},
		{"Unresolved", 0, false, HOLDER_GONE, false, "AwaitingReport", "AwaitingReport"},
		{"Unresolved", 0, false, USER_GONE, true, "AwaitingReport", "ReportStale"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		struct attribution_status published = publish(rows[i].published);
		input.pods_age = rows[i].pods_age;
		set_claims_old(rows[i].are_claims_old);
		set_unread(rows[i].are_claims_old);
		set_fresh(!rows[i].is_silent);
		change_holders(rows[i].change);
		struct attribution_status status = keep(&published);
		expect_text(find(&status, "Attributed")->reason, rows[i].attributed);
		expect_text(find(&status, "Ready")->reason, rows[i].ready);
		expect_text(find(&status, "ReportFresh")->reason,
			    rows[i].is_silent ? "AgentSilent" : "ReportReceived");
		expect_text(find(&status, "Healthy")->reason,
			    rows[i].is_silent ? "ReportStale" : "NothingFound");
	}
}

TEST(before_the_report_a_duplicate_stays_one)
{
	subject.is_duplicate = true;
	struct attribution_status published = publish("AllResolved");
	input.pods_age = INVENTORY_DENIED;
	struct attribution_status status = keep(&published);
	expect_condition(&status, "Attributed", CONDITION_UNKNOWN, "PodsUnknown");
	expect_condition(&status, "Ready", CONDITION_FALSE, "DuplicateUUID");
}

/* Memory */

/* A chunk is as long as the room that is left. */
static void expect_no_memory(size_t enough)
{
	struct error err;
	for (size_t cap = 0; cap < enough; cap++) {
		CLEANUP(arena_deinit) struct arena small;
		arena_init(&small, cap);
		error_clear(&err);
		subject.arena = &small;
		assert_int_equal(conditions_make(&subject, &err), -1);
		assert_int_equal(err.kind, ERROR_NO_MEMORY);
	}
}

TEST(without_memory_no_condition_is_made)
{
	subject.tenants.slots_unresolved = 1;
	expect_no_memory(5 * sizeof(struct condition) +
			 sizeof("1 slot is held by a pod that the API server does not know"));
	subject.tenants.slots_unresolved = 0;
	subject.odd_id = VIEW("x");
	subject.n_odd = 1;
	expect_no_memory(5 * sizeof(struct condition) +
			 sizeof("a tenant holds a device ID of no known form: x"));
	subject.n_odd = 0;
	report.sources.nvml = (struct report_source)FAILED("why");
	expect_no_memory(5 * sizeof(struct condition) +
			 sizeof("nothing speaks against the device") + sizeof("(nvml: why)"));
}

TESTS(set_up, tear_down)
