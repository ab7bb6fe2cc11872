/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "join/condition.h"

#define NOW INT64_C(1700000000000)

static struct arena arena;
static struct tenants tenants;
static struct health health;
static struct disagreements disagreements;
static struct unplaced unplaced;
static struct condition_facts facts;

/* Everything is well. */
static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 1 << 20);
	tenants = (struct tenants){0};
	disagreements = (struct disagreements){0};
	unplaced = (struct unplaced){0};
	health = (struct health){
		.state = {.state = ATTRIBUTION_HEALTH_HEALTHY},
		.reason = VIEW("NothingFound"),
		.message = VIEW("nothing speaks against the device"),
	};
	facts = (struct condition_facts){
		.is_fresh = true,
		.is_book_readable = true,
		.tenants = &tenants,
		.health = &health,
		.disagreements = &disagreements,
		.unplaced = &unplaced,
		.intent = ATTRIBUTION_INTENT_UNMANAGED,
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static bool is_agentless(const struct attribution_status *status)
{
	const struct previous *previous;
	struct error err;
	assert_int_equal(previous_read(status, &arena, &previous, &err), 0);
	return previous->is_agentless;
}

static struct attribution_status make(const struct attribution_status *published, int64_t now)
{
	struct attribution_status status = {0};
	struct error err;
	assert_int_equal(
		condition_make(&facts, published, 7, now, &arena, &status.conditions, &err), 0);
	return status;
}

static void there_are_five_conditions_in_the_order_of_their_types(void **state)
{
	(void)state;
	static const char *const types[] = {"Attributed", "Drifted", "Healthy", "Ready",
					    "ReportFresh"};
	struct attribution_status status = make(NULL, NOW);
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

static void every_rule_has_its_status_and_reason(void **state)
{
	(void)state;
	static const struct {
		bool stale, duplicate, unreadable;
		int unresolved, pending, nameless; /* slots */
		const char *type, *reason;
		int status;
		const char *message;
	} rows[] = {
		{false, false, false, 0, 0, 0, "Attributed", "AllResolved", CONDITION_TRUE, NULL},
		{true, true, false, 0, 0, 0, "Attributed", "AllResolved", CONDITION_TRUE, NULL},
		{false, false, true, 0, 0, 0, "Attributed", "SourcesFailed", CONDITION_UNKNOWN, NULL},
		{false, false, true, 2, 0, 0, "Attributed", "Unresolved",
		 CONDITION_FALSE, "2 slots are held by a pod that the API server does not know"},
		{false, false, false, 1, 1, 0, "Attributed",
		 "Pending", CONDITION_FALSE,
		 "1 slot is held by a pod that the API server does not know yet"},
		{false, false, false, 2, 0, 2, "Attributed", "PodUnknown", CONDITION_FALSE,
		 "2 slots are held by nobody who could be told"},
		{false, false, false, 2, 1, 0, "Attributed", "Unresolved", CONDITION_FALSE,
		 "2 slots are held by a pod that the API server does not know"},
		{false, false, false, 3, 1, 2, "Attributed", "Unresolved", CONDITION_FALSE,
		 "3 slots are held by pods of which not all could be told"},
		{false, false, false, 4, 1, 2, "Attributed", "Unresolved", CONDITION_FALSE,
		 "4 slots are held by pods of which not all could be told"},
		{false, false, false, 0, 0, 0, "Ready", "Current", CONDITION_TRUE, NULL},
		{false, false, true, 0, 0, 0, "Ready", "SourcesFailed", CONDITION_UNKNOWN, NULL},
		{false, false, false, 1, 0, 0, "Ready", "Unresolved",
		 CONDITION_FALSE, "1 slot is held by a pod that the API server does not know"},
		{true, false, false, 1, 0, 0, "Ready", "ReportStale",
		 CONDITION_UNKNOWN, NULL},
		{true, true, true, 1, 0, 0, "Ready", "DuplicateUUID",
		 CONDITION_FALSE, NULL},
		{false, false, false, 0, 0, 0, "ReportFresh", "ReportReceived", CONDITION_TRUE, NULL},
		{true, false, false, 0, 0, 0, "ReportFresh", "AgentSilent", CONDITION_FALSE, NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		facts.is_fresh = !rows[i].stale;
		facts.is_duplicate = rows[i].duplicate;
		facts.is_book_readable = !rows[i].unreadable;
		tenants.slots_unresolved = rows[i].unresolved;
		tenants.slots_pending = rows[i].pending;
		tenants.slots_nameless = rows[i].nameless;
		struct attribution_status status = make(NULL, NOW);
		expect_condition(&status, rows[i].type, rows[i].status, rows[i].reason);
		if (rows[i].message)
			expect_text(attribution_find_condition(&status, view_from(rows[i].type))
					    ->message,
				    rows[i].message);
	}
}

static void what_is_not_attributed_is_said_by_the_first_of_these(void **state)
{
	(void)state;
	static const struct {
		int unresolved, stand_in; /* slots */
		uint32_t n_disagreements, n_unplaced;
		bool is_agentless, is_unreadable;
		const char *reason;
		int status;
		const char *ready;
		int ready_status;
	} rows[] = {
		{1, 0, 1, 1, true, true, "Unresolved", CONDITION_FALSE, "NoAgent",
		 CONDITION_UNKNOWN},
		{2, 2, 0, 0, false, false, "StandIn", CONDITION_FALSE, "Unresolved",
		 CONDITION_FALSE},
		{2, 1, 0, 0, false, false, "Unresolved", CONDITION_FALSE, "Unresolved",
		 CONDITION_FALSE},
		{0, 0, 1, 1, false, true, "SourceDisagreement", CONDITION_FALSE,
		 "SourceDisagreement", CONDITION_FALSE},
		{0, 0, 0, 1, true, true, "UnknownDeviceID", CONDITION_FALSE, "NoAgent",
		 CONDITION_UNKNOWN},
		{0, 0, 0, 1, false, true, "UnknownDeviceID", CONDITION_FALSE, "UnknownDeviceID",
		 CONDITION_FALSE},
		{0, 0, 0, 0, true, true, "NoAgent", CONDITION_UNKNOWN, "NoAgent",
		 CONDITION_UNKNOWN},
		{0, 0, 0, 0, false, true, "SourcesFailed", CONDITION_UNKNOWN, "SourcesFailed",
		 CONDITION_UNKNOWN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tenants.slots_unresolved = rows[i].unresolved;
		tenants.slots_stand_in = rows[i].stand_in;
		disagreements.listed.count = rows[i].n_disagreements;
		unplaced.listed.count = rows[i].n_unplaced;
		facts.is_agentless = rows[i].is_agentless;
		facts.is_book_readable = !rows[i].is_unreadable;
		struct attribution_status status = make(NULL, NOW);
		expect_condition(&status, "Attributed", rows[i].status, rows[i].reason);
		expect_condition(&status, "Ready", rows[i].ready_status, rows[i].ready);
	}
}

static void what_a_claim_has_for_nobody_who_is_told_is_not_attributed(void **state)
{
	(void)state;
	facts.is_nameless = true;
	facts.is_agentless = true;
	facts.is_settling = true;
	struct attribution_status status = make(NULL, NOW);
	expect_condition(&status, "Attributed", CONDITION_UNKNOWN, "ReservedOtherwise");
	expect_condition(&status, "Ready", CONDITION_UNKNOWN, "NoAgent");
	unplaced.listed.count = 1;
	status = make(NULL, NOW);
	expect_condition(&status, "Attributed", CONDITION_FALSE, "UnknownDeviceID");
}

static void what_claims_that_cannot_be_read_may_have_is_not_attributed(void **state)
{
	(void)state;
	static const struct {
		bool is_nameless, is_agentless, is_settling;
		uint32_t n_unplaced;
		int status;
		const char *reason, *ready;
	} rows[] = {
		{false, false, false, 0, CONDITION_UNKNOWN, "ClaimsUnknown", "ClaimsUnknown"},
		{true, false, false, 0, CONDITION_UNKNOWN, "ReservedOtherwise",
		 "ReservedOtherwise"},
		{false, true, false, 0, CONDITION_UNKNOWN, "ClaimsUnknown", "NoAgent"},
		{false, false, true, 0, CONDITION_UNKNOWN, "ClaimsUnknown", "ClaimsUnknown"},
		{false, false, false, 1, CONDITION_FALSE, "UnknownDeviceID", "UnknownDeviceID"},
	};

	/* Each of them twice: they were never read, or can be read no more. */
	for (size_t j = 0; j < 2 * ARRAY_SIZE(rows); j++) {
		size_t i = j / 2;
		facts.is_unread = j % 2 == 0;
		facts.are_claims_old = j % 2 == 1;
		facts.is_nameless = rows[i].is_nameless;
		facts.is_agentless = rows[i].is_agentless;
		facts.is_settling = rows[i].is_settling;
		unplaced.listed.count = rows[i].n_unplaced;
		struct attribution_status status = make(NULL, NOW);
		expect_condition(&status, "Attributed", rows[i].status, rows[i].reason);
		expect_condition(&status, "Ready",
				 rows[i].is_agentless ? CONDITION_UNKNOWN : rows[i].status,
				 rows[i].ready);
		if (i == 0)
			expect_text(attribution_find_condition(&status, VIEW("Attributed"))->message,
				    facts.is_unread
					    ? "a pod of the node uses a ResourceClaim, and which "
					      "device that gives it is not known: ResourceClaims or "
					      "ResourceSlices cannot be read, or are not complete"
					    : "the controller cannot read ResourceClaims or "
					      "ResourceSlices at present, see its /readyz: tenants "
					      "are as they were known before");
	}
}

static const struct {
	enum join_pods age;
	const char *reason, *message;
} old_pods[] = {
	{JOIN_PODS_STALE, "PodsStale",
	 "the controller's watch of pods, or of nodes, has been away for more than 10 s: tenants are "
	 "as they were known before"},
	{JOIN_PODS_DENIED, "PodsUnknown",
	 "the controller may no longer read pods, grant the verbs list and watch: tenants are as they "
	 "were known before"},
};

/* Who is unknown may be known to the API server, and who is known may be gone. */
static void while_what_is_known_of_pods_is_old_nothing_is_said_of_them(void **state)
{
	static const struct {
		int unresolved;
		bool is_unread, is_stale, is_agentless;
		const char *ready; /* NULL: the reason of the pods */
	} rows[] = {
		{0, false, false, false, NULL}, {1, false, false, false, NULL},
		{0, true, false, false, NULL},  {0, false, true, false, "ReportStale"},
		{1, false, false, true, "NoAgent"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(old_pods) * ARRAY_SIZE(rows); i++) {
		size_t age = i / ARRAY_SIZE(rows), row = i % ARRAY_SIZE(rows);
		tear_down(state);
		set_up(state);
		facts.pods_age = old_pods[age].age;
		tenants.slots_unresolved = rows[row].unresolved;
		facts.is_unread = rows[row].is_unread;
		facts.is_fresh = !rows[row].is_stale;
		facts.is_agentless = rows[row].is_agentless;
		struct attribution_status status = make(NULL, NOW);
		expect_condition(&status, "Attributed", CONDITION_UNKNOWN, old_pods[age].reason);
		expect_text(attribution_find_condition(&status, VIEW("Attributed"))->message,
			    old_pods[age].message);
		expect_condition(&status, "Ready", CONDITION_UNKNOWN,
				 rows[row].ready ? rows[row].ready : old_pods[age].reason);
		expect_condition(&status, "Healthy", CONDITION_TRUE, "NothingFound");
		/* What later joins must know was said is said. */
		facts.is_nameless = true;
		status = make(NULL, NOW);
		expect_condition(&status, "Attributed", CONDITION_UNKNOWN, "ReservedOtherwise");
		facts.overlap = VIEW("x");
		status = make(NULL, NOW);
		expect_condition(&status, "Attributed", CONDITION_FALSE, "SlotHeldTwice");
	}
}

/* While no report comes. Unknown stays Unknown: only the reason is another one. */
static void pods_that_are_stale_denied_or_read_again_are_said_so_in_any_order(void **state)
{
	(void)state;
	static const enum join_pods ages[] = {
		JOIN_PODS_STALE, JOIN_PODS_STALE,  JOIN_PODS_DENIED,  JOIN_PODS_DENIED,
		JOIN_PODS_STALE, JOIN_PODS_CURRENT, JOIN_PODS_CURRENT, JOIN_PODS_DENIED,
		JOIN_PODS_STALE, JOIN_PODS_CURRENT,
	};
	struct attribution_status published = make(NULL, NOW);
	bool were_old = false;

	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		struct attribution_status status = {0};
		struct error err;
		const char *reason = "AwaitingReport";
		facts.pods_age = ages[i];
		assert_int_equal(condition_carry(&facts, &published, 7, NOW + 1 + (int64_t)i, &arena,
						 &status.conditions, &err),
				 0);
		for (size_t age = 0; age < ARRAY_SIZE(old_pods) && !were_old; age++)
			if (old_pods[age].age == ages[i])
				reason = old_pods[age].reason;
		expect_condition(&status, "Attributed", CONDITION_UNKNOWN, reason);
		expect_condition(&status, "Ready", CONDITION_UNKNOWN, reason);
		assert_true(attribution_find_condition(&status, VIEW("Ready"))
				    ->last_transition_time == NOW + 1);
		expect_condition(&status, "Healthy", CONDITION_TRUE, "NothingFound");
		expect_condition(&status, "ReportFresh", CONDITION_TRUE, "ReportReceived");
		published = status;
		/* What waits for a report waits on, however old pods become meanwhile. */
		were_old |= ages[i] == JOIN_PODS_CURRENT;
	}
	/* The report tells, or says that it cannot tell. */
	facts.pods_age = JOIN_PODS_STALE;
	published = make(&published, NOW + 50);
	expect_condition(&published, "Ready", CONDITION_UNKNOWN, "PodsStale");
	facts.pods_age = JOIN_PODS_CURRENT;
	published = make(&published, NOW + 60);
	expect_condition(&published, "Ready", CONDITION_TRUE, "Current");
	assert_true(attribution_find_condition(&published, VIEW("Ready"))->last_transition_time ==
		    NOW + 60);
}

static void what_is_old_is_said_without_a_report_too(void **state)
{
	(void)state;
	enum { NOTHING, STALE, PODS, CLAIMS, BOTH, STALE_AND_CLAIMS, NOT_ALL_CLAIMS };
	static const enum join_pods ages[] = {
		[STALE] = JOIN_PODS_STALE, [PODS] = JOIN_PODS_DENIED, [BOTH] = JOIN_PODS_DENIED,
		[STALE_AND_CLAIMS] = JOIN_PODS_STALE, [NOT_ALL_CLAIMS] = JOIN_PODS_CURRENT,
	};
	static const struct {
		int before, now;
		bool is_fresh;
		int status;
		const char *reason, *ready;
	} rows[] = {
		{NOTHING, PODS, true, CONDITION_UNKNOWN, "PodsUnknown", "PodsUnknown"},
		{NOTHING, PODS, false, CONDITION_UNKNOWN, "PodsUnknown", "ReportStale"},
		{NOTHING, STALE, true, CONDITION_UNKNOWN, "PodsStale", "PodsStale"},
		{NOTHING, STALE, false, CONDITION_UNKNOWN, "PodsStale", "ReportStale"},
		{NOTHING, CLAIMS, true, CONDITION_UNKNOWN, "ClaimsUnknown", "ClaimsUnknown"},
		{NOTHING, BOTH, true, CONDITION_UNKNOWN, "PodsUnknown", "PodsUnknown"},
		{NOTHING, STALE_AND_CLAIMS, true, CONDITION_UNKNOWN, "PodsStale", "PodsStale"},
		{NOTHING, NOT_ALL_CLAIMS, true, CONDITION_TRUE, "AllResolved", "Current"},
		{NOTHING, NOTHING, true, CONDITION_TRUE, "AllResolved", "Current"},
		{PODS, PODS, true, CONDITION_UNKNOWN, "PodsUnknown", "PodsUnknown"},
		{PODS, STALE, true, CONDITION_UNKNOWN, "PodsStale", "PodsStale"},
		{PODS, STALE, false, CONDITION_UNKNOWN, "PodsStale", "ReportStale"},
		{PODS, NOTHING, true, CONDITION_UNKNOWN, "AwaitingReport", "AwaitingReport"},
		{PODS, NOTHING, false, CONDITION_UNKNOWN, "AwaitingReport", "ReportStale"},
		{STALE, STALE, true, CONDITION_UNKNOWN, "PodsStale", "PodsStale"},
		{STALE, PODS, true, CONDITION_UNKNOWN, "PodsUnknown", "PodsUnknown"},
		{STALE, STALE_AND_CLAIMS, true, CONDITION_UNKNOWN, "PodsStale", "PodsStale"},
		{STALE, CLAIMS, true, CONDITION_UNKNOWN, "AwaitingReport", "AwaitingReport"},
		{STALE, NOTHING, true, CONDITION_UNKNOWN, "AwaitingReport", "AwaitingReport"},
		{STALE, NOTHING, false, CONDITION_UNKNOWN, "AwaitingReport", "ReportStale"},
		{CLAIMS, CLAIMS, true, CONDITION_UNKNOWN, "ClaimsUnknown", "ClaimsUnknown"},
		{CLAIMS, NOT_ALL_CLAIMS, true, CONDITION_UNKNOWN, "ClaimsUnknown",
		 "ClaimsUnknown"},
		{CLAIMS, NOTHING, true, CONDITION_UNKNOWN, "AwaitingReport", "AwaitingReport"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct attribution_status published, status = {0};
		struct error err;
		facts.is_fresh = true;
		facts.pods_age = ages[rows[i].before];
		facts.are_claims_old = rows[i].before == CLAIMS;
		facts.is_unread = false;
		published = make(NULL, NOW);
		facts.is_fresh = rows[i].is_fresh;
		facts.pods_age = ages[rows[i].now];
		facts.are_claims_old = rows[i].now >= CLAIMS && rows[i].now <= STALE_AND_CLAIMS;
		facts.is_unread = rows[i].now >= CLAIMS;
		assert_int_equal(condition_carry(&facts, &published, 7, NOW + 1, &arena,
						 &status.conditions, &err),
				 0);
		expect_condition(&status, "Attributed", rows[i].status, rows[i].reason);
		expect_condition(&status, "Ready",
				 rows[i].is_fresh ? rows[i].status : CONDITION_UNKNOWN,
				 rows[i].ready);
		expect_condition(&status, "Healthy", CONDITION_TRUE, "NothingFound");
		expect_condition(&status, "ReportFresh",
				 rows[i].is_fresh ? CONDITION_TRUE : CONDITION_FALSE,
				 rows[i].is_fresh ? "ReportReceived" : "AgentSilent");
	}
}

static void what_was_not_well_before_stays_while_what_is_known_of_pods_is_old(void **state)
{
	(void)state;
	struct attribution_status published, status = {0};
	struct error err;

	facts.is_duplicate = true;
	tenants.slots_unresolved = 1;
	published = make(NULL, NOW);
	for (size_t i = 0; i < ARRAY_SIZE(old_pods); i++) {
		facts.pods_age = old_pods[i].age;
		assert_int_equal(condition_carry(&facts, &published, 7, NOW + 1, &arena,
						 &status.conditions, &err),
				 0);
		expect_condition(&status, "Ready", CONDITION_FALSE, "DuplicateUUID");
		expect_condition(&status, "Attributed", CONDITION_FALSE, "Unresolved");
	}
}

static void a_tenant_whom_no_witness_names_is_not_attributed(void **state)
{
	(void)state;
	static struct attribution_tenant listed[2];
	static const struct {
		int first, second; /* confidence */
		bool is_settling;
		int status;
		const char *reason;
	} rows[] = {
		{ATTRIBUTION_CONFIDENCE_CONFIRMED, ATTRIBUTION_CONFIDENCE_NAME_ONLY, false,
		 CONDITION_TRUE, "AllResolved"},
		{ATTRIBUTION_CONFIDENCE_UNCONFIRMED, ATTRIBUTION_CONFIDENCE_CONFIRMED, false,
		 CONDITION_UNKNOWN, "Unconfirmed"},
		{ATTRIBUTION_CONFIDENCE_CONFIRMED, ATTRIBUTION_CONFIDENCE_UNCONFIRMED, false,
		 CONDITION_UNKNOWN, "Unconfirmed"},
		{ATTRIBUTION_CONFIDENCE_DISPUTED, ATTRIBUTION_CONFIDENCE_ANNOTATED, false,
		 CONDITION_TRUE, "AllResolved"},
		{ATTRIBUTION_CONFIDENCE_UNCONFIRMED, ATTRIBUTION_CONFIDENCE_UNCONFIRMED, true,
		 CONDITION_UNKNOWN, "Settling"},
	};

	tenants.listed = (struct array){listed, ARRAY_SIZE(listed), true};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		listed[0].confidence = rows[i].first;
		listed[1].confidence = rows[i].second;
		facts.is_settling = rows[i].is_settling;
		struct attribution_status status = make(NULL, NOW);
		expect_condition(&status, "Attributed", rows[i].status, rows[i].reason);
		if (rows[i].status == CONDITION_UNKNOWN)
			expect_condition(&status, "Ready", CONDITION_UNKNOWN, rows[i].reason);
	}
}

static void of_what_each_says_of_its_own_the_worse_goes_first(void **state)
{
	(void)state;
	facts.overlap = VIEW("GPU-1 is held by ml/a and ml/b at once, and is for one pod");
	unplaced.odd_id = VIEW("GPU-1#7");
	unplaced.n_odd = 2;
	tenants.slots_unresolved = 1;
	disagreements.listed.count = 1;
	struct attribution_status status = make(NULL, NOW);
	expect_condition(&status, "Attributed", CONDITION_FALSE, "Unresolved");
	tenants.slots_unresolved = 0;
	status = make(NULL, NOW);
	expect_condition(&status, "Attributed", CONDITION_FALSE, "SlotHeldTwice");
	expect_condition(&status, "Ready", CONDITION_FALSE, "SlotHeldTwice");
	expect_text(attribution_find_condition(&status, VIEW("Ready"))->message,
		    "GPU-1 is held by ml/a and ml/b at once, and is for one pod");
	facts.overlap = (struct view){0};
	status = make(NULL, NOW);
	expect_condition(&status, "Attributed", CONDITION_FALSE, "SourceDisagreement");
	disagreements.listed.count = 0;
	facts.is_agentless = true;
	status = make(NULL, NOW);
	expect_condition(&status, "Attributed", CONDITION_FALSE, "UnknownDeviceID");
	expect_text(attribution_find_condition(&status, VIEW("Attributed"))->message,
		    "a tenant holds a device ID of no known form: GPU-1#7 and 1 more");
}

/* All of them hold at first, and then one less each time. */
static void attributed_says_what_is_wrong_first_then_what_is_not_known_each_in_turn(void **state)
{
	(void)state;
	static struct attribution_tenant unconfirmed = {
		.confidence = ATTRIBUTION_CONFIDENCE_UNCONFIRMED};
	static const struct {
		const char *reason;
		int status;
	} rows[] = {
		{"Unresolved", CONDITION_FALSE},
		{"SlotHeldTwice", CONDITION_FALSE},
		{"SourceDisagreement", CONDITION_FALSE},
		{"UnknownDeviceID", CONDITION_FALSE},
		{"UnknownDeviceID", CONDITION_FALSE},
		{"ReservedOtherwise", CONDITION_UNKNOWN},
		{"NoAgent", CONDITION_UNKNOWN},
		{"Settling", CONDITION_UNKNOWN},
		{"SourcesFailed", CONDITION_UNKNOWN},
		{"Unconfirmed", CONDITION_UNKNOWN},
		{"AllResolved", CONDITION_TRUE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tenants.slots_unresolved = i < 1;
		facts.overlap = i < 2 ? VIEW("GPU-1 is held by ml/a and ml/b") : (struct view){0};
		disagreements.listed.count = i < 3;
		unplaced.listed.count = i < 4;
		unplaced.n_odd = i < 5;
		facts.is_nameless = i < 6;
		facts.is_agentless = i < 7;
		facts.is_settling = i < 8;
		facts.is_book_readable = i >= 9;
		tenants.listed = (struct array){&unconfirmed, i < 10, true};
		struct attribution_status status = make(NULL, NOW);
		expect_condition(&status, "Attributed", rows[i].status, rows[i].reason);
	}
}

/* Behind the longest message comes why sources fail. */
static void wording_of_sources_have_room_behind_the_longest_message(void **state)
{
	(void)state;
	static char why[LIMIT_REPORT_MESSAGE], overlap[OVERLAP_MESSAGE];
	memset(why, 'x', sizeof(why));
	memset(overlap, 'y', sizeof(overlap));
	const struct report_source failed = {.state = REPORT_SOURCE_ERROR,
					     .message = {why, sizeof(why)}};
	const struct report_sources sources = {failed, failed, failed, failed, failed};
	facts.sources = &sources;
	facts.overlap = (struct view){overlap, sizeof(overlap)};
	struct attribution_status status = make(NULL, NOW);
	struct view message = attribution_find_condition(&status, VIEW("Attributed"))->message;
	assert_in_range(message.len, sizeof(overlap) + 3 * sizeof(why),
			LIMIT_TEXT_CONDITION_MESSAGE);
	assert_int_equal(message.ptr[message.len - 1], ')');
}

static void a_status_without_an_agent_is_told_from_one_whose_agent_is_silent(void **state)
{
	(void)state;
	struct attribution_status status = {0};
	assert_false(is_agentless(&status));
	status = make(NULL, NOW);
	assert_false(is_agentless(&status));
	facts.is_fresh = false;
	status = make(NULL, NOW);
	expect_condition(&status, "ReportFresh", CONDITION_FALSE, "AgentSilent");
	assert_false(is_agentless(&status));
	facts.is_agentless = true;
	for (int i = 0; i < 2; i++) {
		facts.is_fresh = i;
		status = make(NULL, NOW);
		expect_condition(&status, "ReportFresh", CONDITION_FALSE, "NoAgent");
		assert_true(is_agentless(&status));
	}
	facts.is_duplicate = true;
	status = make(NULL, NOW);
	expect_condition(&status, "Ready", CONDITION_FALSE, "DuplicateUUID");
}

static void health_and_intent_are_conditions_of_their_own(void **state)
{
	(void)state;
	static const struct {
		int health, condition;
	} rows[] = {
		{ATTRIBUTION_HEALTH_HEALTHY, CONDITION_TRUE},
		{ATTRIBUTION_HEALTH_DEGRADED, CONDITION_FALSE},
		{ATTRIBUTION_HEALTH_UNHEALTHY, CONDITION_FALSE},
		{ATTRIBUTION_HEALTH_UNKNOWN, CONDITION_UNKNOWN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		health.state.state = rows[i].health;
		struct attribution_status status = make(NULL, NOW);
		expect_condition(&status, "Healthy", rows[i].condition, "NothingFound");
		expect_condition(&status, "Ready", CONDITION_TRUE, "Current");
		expect_condition(&status, "Drifted", CONDITION_UNKNOWN, "Unmanaged");
	}
	facts.intent = ATTRIBUTION_INTENT_UNKNOWN;
	struct attribution_status status = make(NULL, NOW);
	expect_condition(&status, "Drifted", CONDITION_UNKNOWN, "NotAssessed");
}

#define OK {.state = REPORT_SOURCE_OK}
#define NOTED {.state = REPORT_SOURCE_OK, .message = VIEW_INIT("all is well")}
#define FAILED(why) {.state = REPORT_SOURCE_ERROR, .message = VIEW_INIT(why)}
#define ABSENT(why) {.state = REPORT_SOURCE_ABSENT, .message = VIEW_INIT(why)}

static void why_a_source_fails_is_said_by_the_condition_that_rests_on_it(void **state)
{
	(void)state;
	static const struct {
		bool is_unreadable;
		struct report_sources sources;
		const char *type, *message;
	} rows[] = {
		{false, {OK, OK, OK, OK, OK}, "Attributed", "every slot that is held has a pod"},
		{false, {NOTED, NOTED, NOTED, NOTED, OK}, "Attributed",
		 "every slot that is held has a pod"},
		{false, {OK, OK, OK, ABSENT("not visible"), OK}, "Attributed",
		 "every slot that is held has a pod"},
		{false, {OK, OK, OK, FAILED("hidden"), OK}, "Attributed",
		 "every slot that is held has a pod (processes: hidden)"},
		{false, {OK, FAILED("Permission denied"), OK, OK, OK}, "Attributed",
		 "every slot that is held has a pod; without the kubelet's checkpoint whom only "
		 "PodResources names is known by name alone (checkpoint: Permission denied)"},
		{false, {OK, {0}, OK, OK, OK}, "Attributed",
		 "every slot that is held has a pod; without the kubelet's checkpoint whom only "
		 "PodResources names is known by name alone (checkpoint: no reason was given)"},
		{false, {OK, OK, OK, FAILED("x"), OK}, "Attributed",
		 "every slot that is held has a pod (processes: x)"},
		{false, {ABSENT("no socket"), OK, OK, OK, OK}, "Attributed",
		 "every slot that is held has a pod, by what is known without PodResources "
		 "(podResources: no socket)"},
		{true, {FAILED("refused"), ABSENT("no file"), FAILED("x"), OK, OK}, "Attributed",
		 "neither PodResources nor the kubelet's checkpoint can be read (podResources: "
		 "refused; checkpoint: no file)"},
		{true, {FAILED("refused"), ABSENT("no file"), FAILED("x"), OK, OK}, "Ready",
		 "neither PodResources nor the kubelet's checkpoint can be read (podResources: "
		 "refused; checkpoint: no file)"},
		{false, {OK, FAILED("x"), NOTED, FAILED("x"), OK}, "Healthy",
		 "nothing speaks against the device"},
		{false, {OK, OK, FAILED("no library"), OK, FAILED("x")}, "Healthy",
		 "nothing speaks against the device (nvml: no library)"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		facts.is_book_readable = !rows[i].is_unreadable;
		facts.sources = &rows[i].sources;
		struct attribution_status status = make(NULL, NOW);
		const struct condition *c =
			attribution_find_condition(&status, view_from(rows[i].type));
		expect_text(c->message, rows[i].message);
		expect_condition(&status, "Attributed",
				 rows[i].is_unreadable ? CONDITION_UNKNOWN : CONDITION_TRUE,
				 rows[i].is_unreadable ? "SourcesFailed" : "AllResolved");
	}
}

static void the_longest_words_of_all_sources_have_room(void **state)
{
	(void)state;
	static char why[LIMIT_REPORT_MESSAGE];
	memset(why, 'x', sizeof(why));
	const struct report_source failed = {.state = REPORT_SOURCE_ERROR,
					     .message = {why, sizeof(why)}};
	const struct report_sources sources = {failed, failed, failed, failed, failed};
	facts.sources = &sources;
	for (int is_unreadable = 0; is_unreadable < 2; is_unreadable++) {
		facts.is_book_readable = !is_unreadable;
		struct attribution_status status = make(NULL, NOW);
		struct view message =
			attribution_find_condition(&status, VIEW("Attributed"))->message;
		assert_in_range(message.len, 3 * sizeof(why), LIMIT_TEXT_MESSAGE);
		for (uint32_t n = 0, at = 0; n < 3; n++) {
			while (at < message.len && message.ptr[at] != why[0])
				at++;
			assert_true(at + sizeof(why) <= message.len);
			assert_memory_equal(message.ptr + at, why, sizeof(why));
			at += sizeof(why);
		}
		assert_int_equal(message.ptr[message.len - 1], ')');
	}
}

static void a_transition_is_a_change_of_the_status_not_of_the_reason(void **state)
{
	(void)state;
	tenants.slots_unresolved = tenants.slots_pending = 1;
	struct attribution_status published = make(NULL, NOW);
	tenants.slots_pending = 0;
	struct attribution_status status = make(&published, NOW + 1);
	const struct condition *c = attribution_find_condition(&status, VIEW("Attributed"));
	expect_text(c->reason, "Unresolved");
	assert_true(c->last_transition_time == NOW);
	tenants.slots_unresolved = 0;
	status = make(&published, NOW + 2);
	c = attribution_find_condition(&status, VIEW("Attributed"));
	assert_true(c->last_transition_time == NOW + 2);
	/* Nobody has set the time yet. */
	published = make(NULL, 0);
	status = make(&published, NOW + 3);
	c = attribution_find_condition(&status, VIEW("Attributed"));
	assert_true(c->last_transition_time == NOW + 3);
}

static const struct condition_facts fresh = {.is_fresh = true}, silent = {.is_fresh = false};

static void carried_conditions_change_only_where_silence_says_so(void **state)
{
	(void)state;
	struct error err;
	struct attribution_status published = make(NULL, NOW), status = {0};
	assert_int_equal(condition_carry(&fresh, &published, 8, NOW + 1, &arena,
					 &status.conditions, &err),
			 0);
	assert_true(status.conditions.present);
	assert_int_equal(status.conditions.count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		const struct condition *c = ARRAY_AT(status.conditions, struct condition, i);
		assert_int_equal(c->observed_generation, 8);
		assert_true(c->last_transition_time == NOW);
	}
	assert_int_equal(condition_carry(&silent, &published, 8, NOW + 1, &arena,
					 &status.conditions, &err),
			 0);
	expect_condition(&status, "ReportFresh", CONDITION_FALSE, "AgentSilent");
	expect_condition(&status, "Ready", CONDITION_UNKNOWN, "ReportStale");
	expect_condition(&status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_condition(&status, "Healthy", CONDITION_TRUE, "NothingFound");
	published.conditions.count = 1;
	assert_int_equal(condition_carry(&silent, &published, 8, NOW + 1, &arena,
					 &status.conditions, &err),
			 0);
	expect_condition(&status, "Attributed", CONDITION_TRUE, "AllResolved");
	published.conditions = (struct array){0};
	assert_int_equal(condition_carry(&silent, &published, 8, NOW + 1, &arena,
					 &status.conditions, &err),
			 0);
	assert_int_equal(status.conditions.count, 0);
	assert_null(status.conditions.items);
}

static void a_slot_held_twice_awaits_the_report_once_fewer_are_told_to_hold_it(void **state)
{
	(void)state;
#define HELD "GPU-1 is held by ml/a, ml/b and ml/c at once"
	static const struct {
		const char *overlap;
		bool is_fresh;
		int status;
		const char *reason, *ready;
	} rows[] = {
		{HELD, true, CONDITION_FALSE, "SlotHeldTwice", "SlotHeldTwice"},
		{HELD "!", true, CONDITION_FALSE, "SlotHeldTwice", "SlotHeldTwice"},
		{HELD, false, CONDITION_FALSE, "SlotHeldTwice", "ReportStale"},
		{"GPU-1 is held by ml/a, ml/b and ml/d at once", true, CONDITION_UNKNOWN,
		 "AwaitingReport", "AwaitingReport"},
		{"GPU-1 is held by ml/a, ml/b and ml/c at onc", true, CONDITION_UNKNOWN,
		 "AwaitingReport", "AwaitingReport"},
		{"", true, CONDITION_UNKNOWN, "AwaitingReport", "AwaitingReport"},
		{"", false, CONDITION_UNKNOWN, "AwaitingReport", "ReportStale"},
	};

	facts.overlap = VIEW(HELD);
	const struct attribution_status published = make(NULL, NOW);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct attribution_status status = {0};
		struct error err;
		facts.overlap = view_from(rows[i].overlap);
		facts.is_fresh = rows[i].is_fresh;
		assert_int_equal(condition_carry(&facts, &published, 7, NOW + 1, &arena,
						 &status.conditions, &err),
				 0);
		expect_condition(&status, "Attributed", rows[i].status, rows[i].reason);
		expect_condition(&status, "Ready",
				 rows[i].is_fresh ? rows[i].status : CONDITION_UNKNOWN,
				 rows[i].ready);
		expect_condition(&status, "Healthy", CONDITION_TRUE, "NothingFound");
	}
#undef HELD
}

/* Whoever may write the object may have written the message. */
static void of_what_was_held_twice_the_whole_message_is_compared(void **state)
{
	(void)state;
	static const struct {
		const char *message, *overlap;
		bool is_still;
	} rows[] = {
		{"x", "x", true},
		{"x", "y", false},
		{"x", "", false},
		{"x", "xy", true}, /* of more */
		{"", "x", true},
		{"", "", false},
		{" (why)", "", false},
		{"x (why)", "x", true},
		{"y (why)", "x", false},
		{"x(why)", "x", false},
		{"x ", "x", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct condition before = {
			.type = VIEW("Attributed"),
			.status = CONDITION_FALSE,
			.reason = VIEW("SlotHeldTwice"),
			.message = view_from(rows[i].message),
		};
		const struct attribution_status published = {.conditions = {&before, 1, true}};
		struct attribution_status status = {0};
		struct error err;
		facts.overlap = view_from(rows[i].overlap);
		assert_int_equal(condition_carry(&facts, &published, 7, NOW, &arena,
						 &status.conditions, &err),
				 0);
		expect_condition(&status, "Attributed",
				 rows[i].is_still ? CONDITION_FALSE : CONDITION_UNKNOWN,
				 rows[i].is_still ? "SlotHeldTwice" : "AwaitingReport");
	}
}

/* The agent's words for it were put behind the message. */
static void a_slot_stays_held_twice_while_a_source_fails(void **state)
{
	(void)state;
	static struct report_sources sources;
	static const struct {
		const char *overlap;
		const char *reason;
	} rows[] = {
		{"GPU-1 is held by ml/a and ml/b at once", "SlotHeldTwice"},
		{"GPU-1 is held by ml/a and ml/b", "AwaitingReport"},
		{"GPU-1 is held by ml/a and ml/c at once", "AwaitingReport"},
		{"", "AwaitingReport"},
	};

	sources.pod_resources = (struct report_source){.state = REPORT_SOURCE_ERROR,
						       .message = VIEW("timeout")};
	sources.checkpoint.state = sources.processes.state = REPORT_SOURCE_OK;
	facts.sources = &sources;
	facts.overlap = VIEW("GPU-1 is held by ml/a and ml/b at once");
	const struct attribution_status published = make(NULL, NOW);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct attribution_status status = {0};
		struct error err;
		facts.overlap = view_from(rows[i].overlap);
		assert_int_equal(condition_carry(&facts, &published, 7, NOW + 1, &arena,
						 &status.conditions, &err),
				 0);
		expect_condition(&status, "Attributed",
				 i == 0 ? CONDITION_FALSE : CONDITION_UNKNOWN, rows[i].reason);
	}
}

/* Who is left, the list says; that nobody is any more, says that the condition is out of date. */
static void unknown_ids_await_the_report_once_all_who_held_them_are_gone(void **state)
{
	(void)state;
	static struct attribution_unplaced someone[1];
	static const struct {
		uint32_t before, now;
		int64_t left_out;
		bool is_fresh;
		const char *reason, *ready;
	} rows[] = {
		{1, 1, 0, true, "UnknownDeviceID", "UnknownDeviceID"},
		{1, 0, 1, true, "UnknownDeviceID", "UnknownDeviceID"},
		{1, 0, 0, true, "AwaitingReport", "AwaitingReport"},
		{1, 0, 0, false, "AwaitingReport", "ReportStale"},
		{0, 0, 0, true, "UnknownDeviceID", "UnknownDeviceID"}, /* an odd one's */
	};

	unplaced.listed = (struct array){someone, 1, true};
	struct attribution_status published = make(NULL, NOW);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct attribution_status status = {0};
		struct error err;
		published.unplaced_tenants = (struct array){someone, rows[i].before, true};
		unplaced.listed.count = rows[i].now;
		unplaced.left_out = rows[i].left_out;
		facts.is_fresh = rows[i].is_fresh;
		assert_int_equal(condition_carry(&facts, &published, 7, NOW + 1, &arena,
						 &status.conditions, &err),
				 0);
		bool is_awaited = view_equal(view_from(rows[i].reason), VIEW("AwaitingReport"));
		expect_condition(&status, "Attributed",
				 is_awaited ? CONDITION_UNKNOWN : CONDITION_FALSE, rows[i].reason);
		expect_condition(&status, "Ready",
				 is_awaited ? CONDITION_UNKNOWN : CONDITION_FALSE, rows[i].ready);
		expect_condition(&status, "Healthy", CONDITION_TRUE, "NothingFound");
	}
}

static void carrying_looks_at_no_other_fact(void **state)
{
	(void)state;
	struct error err;
	struct attribution_status published = make(NULL, NOW), status = {0};
	facts.is_fresh = false;
	facts.is_agentless = facts.is_duplicate = facts.is_settling = true;
	facts.is_book_readable = false;
	tenants.slots_unresolved = 1;
	health.state.state = ATTRIBUTION_HEALTH_UNHEALTHY;
	assert_int_equal(condition_carry(&facts, &published, 7, NOW + 1, &arena,
					 &status.conditions, &err),
			 0);
	expect_condition(&status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_condition(&status, "Healthy", CONDITION_TRUE, "NothingFound");
	expect_condition(&status, "Ready", CONDITION_UNKNOWN, "ReportStale");
	expect_condition(&status, "ReportFresh", CONDITION_FALSE, "AgentSilent");
}

/* A chunk is as long as the room that is left. */
static void expect_no_memory(size_t enough)
{
	struct array conditions;
	struct error err;
	for (size_t cap = 0; cap < enough; cap++) {
		CLEANUP(arena_deinit) struct arena small;
		arena_init(&small, cap);
		error_clear(&err);
		assert_int_equal(condition_make(&facts, NULL, 7, NOW, &small, &conditions, &err), -1);
		assert_int_equal(err.kind, ERROR_NO_MEMORY);
	}
}

static void without_memory_no_condition_is_made(void **state)
{
	(void)state;
	const struct report_sources sources = {OK, OK, FAILED("why"), OK, OK};
	struct array conditions;
	struct error err;
	struct attribution_status published = make(NULL, NOW);
	tenants.slots_unresolved = 1;
	expect_no_memory(5 * sizeof(struct condition) +
			 sizeof("1 slot is held by a pod that the API server does not know"));
	tenants.slots_unresolved = 0;
	unplaced.odd_id = VIEW("x");
	unplaced.n_odd = 1;
	expect_no_memory(5 * sizeof(struct condition) +
			 sizeof("a tenant holds a device ID of no known form: x"));
	unplaced.n_odd = 0;
	facts.sources = &sources;
	expect_no_memory(5 * sizeof(struct condition) +
			 sizeof("nothing speaks against the device") + sizeof("(nvml: why)"));
	CLEANUP(arena_deinit) struct arena small;
	arena_init(&small, 1);
	error_clear(&err);
	assert_int_equal(condition_carry(&fresh, &published, 8, NOW, &small,
					 &conditions, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(what_a_claim_has_for_nobody_who_is_told_is_not_attributed,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_claims_that_cannot_be_read_may_have_is_not_attributed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_tenant_whom_no_witness_names_is_not_attributed, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(of_what_each_says_of_its_own_the_worse_goes_first, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		attributed_says_what_is_wrong_first_then_what_is_not_known_each_in_turn, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(wording_of_sources_have_room_behind_the_longest_message,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		there_are_five_conditions_in_the_order_of_their_types, set_up, tear_down),
	cmocka_unit_test_setup_teardown(every_rule_has_its_status_and_reason, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_not_attributed_is_said_by_the_first_of_these, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_status_without_an_agent_is_told_from_one_whose_agent_is_silent, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		health_and_intent_are_conditions_of_their_own, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		why_a_source_fails_is_said_by_the_condition_that_rests_on_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_longest_words_of_all_sources_have_room, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_transition_is_a_change_of_the_status_not_of_the_reason, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		carried_conditions_change_only_where_silence_says_so, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_slot_held_twice_awaits_the_report_once_fewer_are_told_to_hold_it, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(of_what_was_held_twice_the_whole_message_is_compared,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_slot_stays_held_twice_while_a_source_fails, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		unknown_ids_await_the_report_once_all_who_held_them_are_gone, set_up, tear_down),
	cmocka_unit_test_setup_teardown(while_what_is_known_of_pods_is_old_nothing_is_said_of_them,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		pods_that_are_stale_denied_or_read_again_are_said_so_in_any_order, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_old_is_said_without_a_report_too, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_was_not_well_before_stays_while_what_is_known_of_pods_is_old, set_up, tear_down),
	cmocka_unit_test_setup_teardown(carrying_looks_at_no_other_fact, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_no_condition_is_made, set_up, tear_down),
};

TEST_MAIN(tests)
