/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <string.h>

#include "controller/readiness.h"

#define BEGIN UINT64_C(1000000)

static const char *const names[INVENTORY_N_KINDS] = {"pods",    "nodes",          "policies",
						     "ours",    "resourceclaims", "resourceslices",
						     "gpuclusters"};

/* What the fakes below say. */
static struct watches_state states[INVENTORY_N_KINDS], configs_state;
static const char *server_trouble, *tls_trouble, *ca_trouble, *leadership_told;
static bool is_leader;
static struct view holder;

static struct readiness readiness;

struct watches_state watches_state(const struct watches *watches, unsigned i)
{
	(void)watches;
	return states[i];
}

struct watches_state watches_configs_state(const struct watches *watches)
{
	(void)watches;
	return configs_state;
}

const char *watches_server_trouble(const struct watches *watches)
{
	(void)watches;
	return server_trouble;
}

const char *certificates_trouble(const struct certificates *certificates)
{
	(void)certificates;
	return tls_trouble;
}

const char *certificates_ca_trouble(const struct certificates *certificates)
{
	(void)certificates;
	return ca_trouble;
}

bool leadership_leads(const struct leadership *leadership)
{
	(void)leadership;
	return is_leader;
}

struct view leadership_holder(const struct leadership *leadership)
{
	(void)leadership;
	return holder;
}

const char *leadership_trouble(const struct leadership *leadership)
{
	(void)leadership;
	return leadership_told;
}

static int set_up(void **state)
{
	(void)state;
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		states[i] = (struct watches_state){
			.name = names[i], .trouble = "", .synced = true, .followed = true};
	configs_state = (struct watches_state){.name = "configmaps", .trouble = "", .synced = true,
					       .followed = true, .tolerated = true};
	server_trouble = "";
	tls_trouble = "";
	ca_trouble = "";
	leadership_told = "";
	is_leader = true;
	holder = VIEW("");
	readiness = (struct readiness){0};
	return 0;
}

static const char *writes_trouble = "";

static bool look(uint64_t now_ms)
{
	const struct readiness_sources sources = {.writes = writes_trouble};

	return readiness_look(&readiness, &sources, now_ms);
}

static void expect_said(const char *name, const char *trouble)
{
	size_t n;
	const struct probes_check *checks = readiness_checks(&readiness, &n);
	assert_int_equal(n, READINESS_CHECKS);
	assert_true(n <= PROBES_MAX_CHECKS);
	for (size_t i = 0; i < n; i++) {
		if (!view_equal(checks[i].name, view_from(name)))
			continue;
		assert_true(view_equal(checks[i].trouble, view_from(trouble)));
		return;
	}
	fail_msg("no check of %s", name);
}

static void each_resource_the_server_and_the_certificate_have_a_check(void **state)
{
	(void)state;
	assert_true(look(BEGIN));
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		expect_said(names[i], "");
	expect_said("configmaps", "");
	expect_said("apiserver", "");
	expect_said("tls", "");
	assert_false(look(BEGIN + 1)); /* nothing has changed */
	readiness_forget(&readiness);
	assert_true(look(BEGIN + 2));
}

static void config_maps_that_may_not_be_read_are_told_at_once_and_tolerated(void **state)
{
	size_t n;

	(void)state;
	look(BEGIN);
	configs_state.trouble = "may not list configmaps";
	assert_true(look(BEGIN + 1));
	expect_said("configmaps", "may not list configmaps");
	const struct probes_check *checks = readiness_checks(&readiness, &n);
	for (size_t i = 0; i < n; i++)
		assert_true(checks[i].trouble.len == 0 || checks[i].tolerated);
}

/* While it is away the watches need not know: they wait without a request. */
static void a_server_that_is_away_for_a_minute_is_unready_until_it_answers(void **state)
{
	(void)state;
	look(BEGIN);
	server_trouble = "GET /readyz: HTTP status 500";
	assert_false(look(BEGIN + 1000));
	expect_said("apiserver", "");
	assert_false(look(BEGIN + 1000 + READINESS_GRACE_MS - 1));
	expect_said("apiserver", "");
	assert_true(look(BEGIN + 1000 + READINESS_GRACE_MS));
	expect_said("apiserver", "GET /readyz: HTTP status 500");
	server_trouble = "GET /readyz: connection refused";
	assert_true(look(BEGIN + 3600000));
	expect_said("apiserver", "GET /readyz: connection refused");
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		expect_said(names[i], "");
	server_trouble = "";
	assert_true(look(BEGIN + 3600001));
	expect_said("apiserver", "");
}

static void a_status_that_was_not_taken_is_said_and_does_not_make_us_unready(void **state)
{
	(void)state;
	size_t n;
	look(BEGIN);
	writes_trouble = "the API server dropped status.nodeUID";
	assert_true(look(BEGIN + 1));
	expect_said("writes", writes_trouble);
	assert_true(readiness_checks(&readiness, &n)[READINESS_CHECKS - 2].tolerated);
	writes_trouble = "";
	assert_true(look(BEGIN + 2));
	expect_said("writes", "");
}

static void expect_leader(const char *note)
{
	size_t n;
	const struct probes_check *check =
		&readiness_checks(&readiness, &n)[READINESS_CHECKS - 1];

	assert_true(view_equal(check->name, VIEW("leadership")));
	assert_true(view_equal(check->note, view_from(note)));
	assert_true(check->tolerated);
}

static void who_leads_is_said_and_who_follows_is_ready(void **state)
{
	(void)state;
	look(BEGIN);
	expect_leader("this replica leads");
	is_leader = false;
	holder = VIEW("gpu-b_17");
	assert_true(look(BEGIN + 1));
	expect_leader("this replica follows, gpu-b_17 leads");
	assert_false(look(BEGIN + 2));
	expect_said("leadership", "");
	holder = VIEW("");
	assert_true(look(BEGIN + 3));
	expect_leader("nobody leads");
	leadership_told = "no Lease";
	assert_true(look(BEGIN + 4));
	expect_said("leadership", "no Lease");
	expect_leader("nobody leads");
}

static void each_outage_has_a_minute_of_its_own(void **state)
{
	(void)state;
	uint64_t now = BEGIN;
	for (int i = 0; i < 5; i++) {
		server_trouble = "away";
		look(now);
		now += READINESS_GRACE_MS - 1;
		look(now);
		expect_said("apiserver", "");
		server_trouble = "";
		look(now);
	}
}

static void before_a_resource_has_synced_its_trouble_is_unready_at_once(void **state)
{
	(void)state;
	states[0].synced = false;
	look(BEGIN);
	expect_said("pods", "not synced yet");
	states[0].trouble = "list pods: no";
	assert_true(look(BEGIN + 1));
	expect_said("pods", "list pods: no");
	states[0].synced = true;
	states[0].trouble = "";
	look(BEGIN + 2);
	states[0].trouble = "watch pods: no";
	assert_false(look(BEGIN + 3));
	expect_said("pods", "");
	assert_true(look(BEGIN + 3 + READINESS_GRACE_MS));
	expect_said("pods", "watch pods: no");
}

static void what_is_tolerated_is_said_at_once_and_is_no_reason(void **state)
{
	(void)state;
	size_t n;
	states[4].trouble = "may not list";
	states[4].tolerated = true;
	look(BEGIN);
	expect_said("resourceclaims", "may not list");
	assert_true(readiness_checks(&readiness, &n)[4].tolerated);
}

static void a_certificate_that_cannot_be_used_is_unready_at_once(void **state)
{
	(void)state;
	look(BEGIN);
	tls_trouble = "no such file";
	assert_true(look(BEGIN + 1));
	expect_said("tls", "no such file");
}

static void a_ca_certificate_that_is_not_published_is_said_and_does_not_make_us_unready(void **state)
{
	(void)state;
	size_t n;
	look(BEGIN);
	expect_said("ca", "");
	ca_trouble = "configmap agents/ca (grant get and patch on it)";
	assert_true(look(BEGIN + 1));
	expect_said("ca", ca_trouble);
	const struct probes_check *checks = readiness_checks(&readiness, &n);
	for (size_t i = 0; i < n; i++)
		assert_true(checks[i].trouble.len == 0 || checks[i].tolerated);
	ca_trouble = "";
	assert_true(look(BEGIN + 2));
	expect_said("ca", "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(each_resource_the_server_and_the_certificate_have_a_check, set_up),
	cmocka_unit_test_setup(config_maps_that_may_not_be_read_are_told_at_once_and_tolerated,
			       set_up),
	cmocka_unit_test_setup(a_server_that_is_away_for_a_minute_is_unready_until_it_answers,
			       set_up),
	cmocka_unit_test_setup(a_status_that_was_not_taken_is_said_and_does_not_make_us_unready, set_up),
	cmocka_unit_test_setup(who_leads_is_said_and_who_follows_is_ready, set_up),
	cmocka_unit_test_setup(each_outage_has_a_minute_of_its_own, set_up),
	cmocka_unit_test_setup(before_a_resource_has_synced_its_trouble_is_unready_at_once, set_up),
	cmocka_unit_test_setup(what_is_tolerated_is_said_at_once_and_is_no_reason, set_up),
	cmocka_unit_test_setup(a_certificate_that_cannot_be_used_is_unready_at_once, set_up),
	cmocka_unit_test_setup(
		a_ca_certificate_that_is_not_published_is_said_and_does_not_make_us_unready, set_up),
};
TEST_MAIN(tests)
