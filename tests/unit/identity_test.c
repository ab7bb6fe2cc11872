/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/sbuf.h"
#include "controller/identity.h"
#include "lib/failing_malloc.h"
#include "lib/jwt.h"
#include "schema/token_claims.h"
#include "schema/token_review_doc.h"

static const struct identity_rules rules = {
	VIEW_INIT("gpuattribution.dev"), VIEW_INIT("gpu-attribution"),
	VIEW_INIT("gpu-attribution-agent"),
};

static struct view ours[] = {VIEW_INIT("other"), VIEW_INIT("gpuattribution.dev")};
static struct view others[] = {VIEW_INIT("other"), VIEW_INIT("gpuattribution.dev2")};

#define AGENT VIEW_INIT("system:serviceaccount:gpu-attribution:gpu-attribution-agent")
#define OURS {.items = ours, .count = 2, .present = true}

static void only_an_agent_bound_to_a_node_is_accepted(void **state)
{
	(void)state;
	static const struct {
		struct token_review review;
		enum identity_outcome outcome;
	} rows[] = {
		{{.authenticated = true, .username = AGENT, .node_name = VIEW_INIT("gpu-a"),
		  .audiences = OURS}, IDENTITY_ACCEPTED},
		{{.authenticated = false, .username = AGENT, .node_name = VIEW_INIT("gpu-a"),
		  .audiences = OURS}, IDENTITY_UNAUTHENTICATED},
		{{.authenticated = true, .username = AGENT, .node_name = VIEW_INIT("gpu-a"),
		  .audiences = {.items = others, .count = 2, .present = true}},
		 IDENTITY_UNAUTHENTICATED},
		{{.authenticated = true, .username = AGENT, .node_name = VIEW_INIT("gpu-a"),
		  .audiences = {.present = true}}, IDENTITY_UNAUTHENTICATED},
		{{.authenticated = true, .username = AGENT, .node_name = VIEW_INIT("gpu-a")},
		 IDENTITY_UNAUTHENTICATED},
		{{.authenticated = true, .username = AGENT, .audiences = OURS}, IDENTITY_FORBIDDEN},
		{{.authenticated = true, .node_name = VIEW_INIT("gpu-a"), .audiences = OURS,
		  .username = VIEW_INIT("system:serviceaccount:gpu-attribution:other")},
		 IDENTITY_FORBIDDEN},
		{{.authenticated = true, .node_name = VIEW_INIT("gpu-a"), .audiences = OURS,
		  .username = VIEW_INIT("system:serviceaccount:other:gpu-attribution-agent")},
		 IDENTITY_FORBIDDEN},
		{{.authenticated = true, .node_name = VIEW_INIT("gpu-a"), .audiences = OURS,
		  .username = VIEW_INIT("system:node:gpu-a")}, IDENTITY_FORBIDDEN},
		{{.authenticated = true, .node_name = VIEW_INIT("gpu-a"), .audiences = OURS,
		  .username = VIEW_INIT("system:serviceaccount:gpu-attribution:gpu-attribution-agent2")},
		 IDENTITY_FORBIDDEN},
		{{.authenticated = true, .node_name = VIEW_INIT("gpu-a"), .audiences = OURS,
		  .username = VIEW_INIT("system:serviceaccount:gpu-attribution")},
		 IDENTITY_FORBIDDEN},
		{{.authenticated = true, .node_name = VIEW_INIT("gpu-a"), .audiences = OURS,
		  .username = VIEW_INIT("x:system:serviceaccount:gpu-attribution:gpu-attribution-agent")},
		 IDENTITY_FORBIDDEN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct identity identity = identity_judge(&rules, &rows[i].review);
		assert_int_equal(identity.outcome, rows[i].outcome);
		bool accepted = rows[i].outcome == IDENTITY_ACCEPTED;
		assert_true((identity.reason[0] == '\0') == accepted);
		assert_true(view_equal(identity_node(&identity), view_from(accepted ? "gpu-a" : "")));
	}
}

static void a_token_without_a_node_is_told_what_is_needed(void **state)
{
	(void)state;
	const struct token_review review = {.authenticated = true, .username = AGENT,
					    .audiences = OURS};
	assert_non_null(strstr(identity_judge(&rules, &review).reason, "1.30"));
}

static void a_node_name_that_is_too_long_is_refused(void **state)
{
	(void)state;
	char name[LIMIT_TEXT_NAME + 1];
	memset(name, 'n', sizeof(name));
	struct token_review review = {.authenticated = true, .username = AGENT, .audiences = OURS,
				      .node_name = {name, LIMIT_TEXT_NAME}};
	struct identity identity = identity_judge(&rules, &review);
	assert_int_equal(identity.outcome, IDENTITY_ACCEPTED);
	assert_true(view_equal(identity_node(&identity), review.node_name));
	review.node_name.len++;
	assert_int_equal(identity_judge(&rules, &review).outcome, IDENTITY_FORBIDDEN);
}

static void only_a_bearer_token_is_taken_from_the_header(void **state)
{
	(void)state;
	static const struct {
		const char *value, *token; /* NULL: refused */
	} rows[] = {
		{"Bearer a.b-c_d~e+f/g", "a.b-c_d~e+f/g"},
		{"bearer abc==", "abc=="},
		{"BEARER  abc ", "abc"},
		{"", NULL},
		{"Bearer", NULL},
		{"Bearer ", NULL},
		{"Bearer ==", NULL},
		{"Bearer a b", NULL},
		{"Bearer a,b", NULL},
		{"Bearer a=b", NULL},
		{"Bearer \"a\"", NULL},
		{"Bearer a\x80", NULL},
		{"Basic abc", NULL},
		{"Bearerabc", NULL},
		{"abc", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view token = VIEW("untouched");
		bool found = identity_parse_bearer(view_from(rows[i].value), &token);
		assert_int_equal(found, rows[i].token != NULL);
		assert_true(view_equal(token,
				       view_from(rows[i].token ? rows[i].token : "untouched")));
	}
}

static void a_token_may_be_as_long_as_the_limit_and_no_longer(void **state)
{
	(void)state;
	static char value[7 + LIMIT_TOKEN_BYTES + 1];
	memset(value, 'a', sizeof(value));
	memcpy(value, "Bearer ", 7);
	struct view token;
	assert_true(identity_parse_bearer((struct view){value, sizeof(value) - 1}, &token));
	assert_int_equal(token.len, LIMIT_TOKEN_BYTES);
	assert_false(identity_parse_bearer((struct view){value, sizeof(value)}, &token));
}

static bool foresee(const struct jwt_claims *made, int64_t past, struct identity *ret)
{
	char room[1024];
	CLEANUP(sbuf_deinit) struct sbuf payload;
	struct token_claims claims;
	assert_true(token_claims_read(jwt_make(made, "s", room, sizeof(room)), &payload, &claims));
	return identity_foresee(&rules, &claims, past, ret);
}

#define AUD "gpuattribution.dev"
#define NS "gpu-attribution"
#define ACCOUNT "gpu-attribution-agent"

static void only_what_a_review_would_refuse_is_refused_by_its_claims(void **state)
{
	(void)state;
	static const struct {
		struct jwt_claims claims;
		bool refused;
	} rows[] = {
		{{AUD, NS, ACCOUNT, "gpu-a"}, false},
		{{AUD, NS, ACCOUNT, "gpu-a", .end = 1001}, false},
		{{AUD, NS, ACCOUNT, "gpu-a", .end = 1000}, true},
		{{"other", NS, ACCOUNT, "gpu-a"}, true},
		{{NULL, NS, ACCOUNT, "gpu-a"}, true},
		{{"other\",\"" AUD, NS, ACCOUNT, "gpu-a"}, false},
		{{AUD, "other", ACCOUNT, "gpu-a"}, true},
		{{AUD, NS, "other", "gpu-a"}, true},
		{{AUD, NS, NULL, "gpu-a"}, true},
		{{AUD, NS, ACCOUNT, ""}, true},
		{{AUD, NS, ACCOUNT, NULL}, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct identity identity = {.outcome = IDENTITY_ACCEPTED, .reason = ""};
		assert_int_equal(foresee(&rows[i].claims, 1000, &identity), rows[i].refused);
		assert_int_equal(identity.outcome, rows[i].refused ? IDENTITY_UNAUTHENTICATED
								   : IDENTITY_ACCEPTED);
		assert_true((identity.reason[0] != '\0') == rows[i].refused);
	}
}

static void what_is_no_json_web_token_is_refused(void **state)
{
	(void)state;
	struct identity identity;
	assert_true(identity_foresee(&rules, NULL, INT64_MIN, &identity));
	assert_int_equal(identity.outcome, IDENTITY_UNAUTHENTICATED);
}

static const struct identity_cache_config small = {
	.max_accepted = 3, .max_refused = 2, .accepted_ms = 100000, .refused_ms = 1000};

static const struct identity accepted = {
	.outcome = IDENTITY_ACCEPTED, .reason = "", .node_len = 1, .node = "n"};
static const struct identity forbidden = {.outcome = IDENTITY_FORBIDDEN, .reason = "no"};

/* The i-th of many tokens; its last byte, which spreads the expiry, is 0. */
static const unsigned char *digest(unsigned char i)
{
	static unsigned char digests[256][TLS_DIGEST_SIZE];
	digests[i][0] = i;
	return digests[i];
}

static struct identity_cache *new_cache(void)
{
	struct identity_cache *cache = NULL;
	struct error err;
	assert_int_equal(identity_cache_new(&small, &cache, &err), 0);
	return cache;
}

static void a_verdict_is_believed_for_its_time_and_no_longer(void **state)
{
	(void)state;
	struct identity_cache *cache = new_cache();
	identity_cache_put(cache, digest(1), &accepted, UINT64_MAX, 500);
	identity_cache_put(cache, digest(2), &forbidden, UINT64_MAX, 500);
	assert_non_null(identity_cache_find(cache, digest(1), 500));
	assert_int_equal(identity_cache_find(cache, digest(2), 1499)->outcome, IDENTITY_FORBIDDEN);
	assert_null(identity_cache_find(cache, digest(2), 1500));
	assert_non_null(identity_cache_find(cache, digest(1), 100499));
	assert_null(identity_cache_find(cache, digest(1), 100500));
	assert_null(identity_cache_find(cache, digest(3), 500));
	identity_cache_free(cache);
}

static void a_token_that_was_good_is_known_for_an_hour_more(void **state)
{
	(void)state;
	struct identity_cache *cache = new_cache();
	identity_cache_put(cache, digest(1), &accepted, UINT64_MAX, 0);
	identity_cache_put(cache, digest(2), &forbidden, UINT64_MAX, 0);
	assert_null(identity_cache_find(cache, digest(1), 100000));
	assert_true(identity_cache_knows(cache, digest(1)));
	assert_false(identity_cache_knows(cache, digest(2)));
	assert_false(identity_cache_knows(cache, digest(3)));
	assert_null(identity_cache_find(cache, digest(1), 100000 + IDENTITY_KNOWN_MS));
	assert_false(identity_cache_knows(cache, digest(1)));
	/* Those that nobody asks for go with later verdicts. */
	identity_cache_put(cache, digest(1), &accepted, UINT64_MAX, 0);
	identity_cache_put(cache, digest(4), &accepted, UINT64_MAX, 2 * IDENTITY_KNOWN_MS);
	assert_false(identity_cache_knows(cache, digest(1)));
	/* The last verdict counts. */
	identity_cache_put(cache, digest(4), &forbidden, UINT64_MAX, 2 * IDENTITY_KNOWN_MS);
	assert_false(identity_cache_knows(cache, digest(4)));
	identity_cache_free(cache);
}

static void a_token_that_ends_sooner_is_believed_no_longer_than_it_says(void **state)
{
	(void)state;
	struct identity_cache *cache = new_cache();
	identity_cache_put(cache, digest(1), &accepted, 50, 0);
	assert_non_null(identity_cache_find(cache, digest(1), 49));
	assert_null(identity_cache_find(cache, digest(1), 50));
	identity_cache_put(cache, digest(1), &accepted, 0, 0);
	assert_null(identity_cache_find(cache, digest(1), 0));
	/* A refusal is not shortened: a forged end would buy a review for each request. */
	identity_cache_put(cache, digest(1), &forbidden, 0, 0);
	assert_non_null(identity_cache_find(cache, digest(1), 999));
	identity_cache_free(cache);
}

static void verdicts_given_together_do_not_all_end_together(void **state)
{
	(void)state;
	struct identity_cache *cache = new_cache();
	unsigned char other[TLS_DIGEST_SIZE] = {[TLS_DIGEST_SIZE - 1] = 255};
	identity_cache_put(cache, digest(1), &accepted, UINT64_MAX, 0);
	identity_cache_put(cache, other, &accepted, UINT64_MAX, 0);
	assert_non_null(identity_cache_find(cache, other, 90000));
	assert_null(identity_cache_find(cache, other, 90500));
	assert_non_null(identity_cache_find(cache, digest(1), 99999));
	identity_cache_free(cache);
}

static void the_one_asked_for_longest_ago_makes_room(void **state)
{
	(void)state;
	struct identity_cache *cache = new_cache();
	for (unsigned char i = 1; i <= 3; i++)
		identity_cache_put(cache, digest(i), &accepted, UINT64_MAX, 0);
	assert_non_null(identity_cache_find(cache, digest(1), 1));
	identity_cache_put(cache, digest(4), &accepted, UINT64_MAX, 1);
	assert_non_null(identity_cache_find(cache, digest(1), 1));
	assert_null(identity_cache_find(cache, digest(2), 1));
	assert_non_null(identity_cache_find(cache, digest(3), 1));
	assert_non_null(identity_cache_find(cache, digest(4), 1));
	identity_cache_free(cache);
}

static void a_flood_of_bad_tokens_forgets_no_good_one(void **state)
{
	(void)state;
	struct identity_cache *cache = new_cache();
	identity_cache_put(cache, digest(1), &accepted, UINT64_MAX, 0);
	for (unsigned char i = 10; i < 250; i++)
		identity_cache_put(cache, digest(i), &forbidden, UINT64_MAX, 0);
	assert_non_null(identity_cache_find(cache, digest(1), 1));
	assert_int_equal(identity_cache_count(cache), 1 + small.max_refused);
	identity_cache_free(cache);
}

static void a_new_verdict_replaces_the_old_one(void **state)
{
	(void)state;
	struct identity_cache *cache = new_cache();
	identity_cache_put(cache, digest(1), &forbidden, UINT64_MAX, 0);
	identity_cache_put(cache, digest(1), &accepted, UINT64_MAX, 0);
	assert_int_equal(identity_cache_find(cache, digest(1), 0)->outcome, IDENTITY_ACCEPTED);
	identity_cache_put(cache, digest(1), &forbidden, UINT64_MAX, 0);
	assert_int_equal(identity_cache_find(cache, digest(1), 0)->outcome, IDENTITY_FORBIDDEN);
	assert_int_equal(identity_cache_count(cache), 1);
	identity_cache_clear(cache);
	assert_null(identity_cache_find(cache, digest(1), 0));
	identity_cache_free(cache);
}

static void without_memory_nothing_is_remembered_and_nothing_breaks(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct identity_cache *cache = new_cache();
		failing_malloc_at(k);
		identity_cache_put(cache, digest(1), &accepted, UINT64_MAX, 0);
		failed = failing_malloc_off();
		assert_true((identity_cache_find(cache, digest(1), 0) == NULL) == failed);
		identity_cache_free(cache);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(only_an_agent_bound_to_a_node_is_accepted),
	cmocka_unit_test(a_token_without_a_node_is_told_what_is_needed),
	cmocka_unit_test(a_node_name_that_is_too_long_is_refused),
	cmocka_unit_test(only_a_bearer_token_is_taken_from_the_header),
	cmocka_unit_test(a_token_may_be_as_long_as_the_limit_and_no_longer),
	cmocka_unit_test(only_what_a_review_would_refuse_is_refused_by_its_claims),
	cmocka_unit_test(what_is_no_json_web_token_is_refused),
	cmocka_unit_test(a_verdict_is_believed_for_its_time_and_no_longer),
	cmocka_unit_test(a_token_that_was_good_is_known_for_an_hour_more),
	cmocka_unit_test(a_token_that_ends_sooner_is_believed_no_longer_than_it_says),
	cmocka_unit_test(verdicts_given_together_do_not_all_end_together),
	cmocka_unit_test(the_one_asked_for_longest_ago_makes_room),
	cmocka_unit_test(a_flood_of_bad_tokens_forgets_no_good_one),
	cmocka_unit_test(a_new_verdict_replaces_the_old_one),
	cmocka_unit_test(without_memory_nothing_is_remembered_and_nothing_breaks),
};
TEST_MAIN(tests)
