/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The replicas with reporters and a resolver of the test's own, in the time of the fake loop. As the
 * agent does, the test posts whenever something is due.
 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "agent/replicas.h"
#include "lib/failing_malloc.h"
#include "lib/fake_loop.inc"

#define A "10.0.0.1"
#define B "10.0.0.2"
#define C "10.0.0.3"
#define HOST "https://controller.test:8443"
#define NEVER_S 3600

static struct error err;

/* Stands in for agent/reporter.c. */

struct reporter {
	struct reporter *next;
	struct reporter_config config;
	struct reporter_handler handler;
	bool under_way, has_no_token;
	char body[64];
	unsigned n_posts;
};

static struct reporter *reporters;

int reporter_new(struct fetcher *fetcher, const struct reporter_config *config,
		 const struct reporter_handler *handler, struct reporter **ret_reporter,
		 struct error *new_err)
{
	struct reporter *reporter = calloc(1, sizeof(*reporter));
	(void)fetcher;
	if (!reporter)
		return error_no_memory(new_err);
	*reporter = (struct reporter){reporters, *config, *handler};
	reporters = reporter;
	*ret_reporter = reporter;
	return 0;
}

void reporter_free(struct reporter *reporter)
{
	struct reporter **link = &reporters;
	if (!reporter)
		return;
	while (*link != reporter)
		link = &(*link)->next;
	*link = reporter->next;
	free(reporter);
}

int reporter_post(struct reporter *reporter, struct view body, struct error *post_err)
{
	assert_false(reporter->under_way);
	if (reporter->has_no_token)
		return error_set(post_err, ERROR_NOT_FOUND, 0, "no token");
	reporter->under_way = true;
	reporter->n_posts++;
	snprintf(reporter->body, sizeof(reporter->body), "%.*s", VIEW_ARG(body));
	return 0;
}

/* NULL: the host itself. */
static struct reporter *find(const char *address)
{
	for (struct reporter *reporter = reporters; reporter; reporter = reporter->next) {
		const char *own = reporter->config.address;
		if (own == address || (own && address && strcmp(own, address) == 0))
			return reporter;
	}
	return NULL;
}

static unsigned count_reporters(void)
{
	unsigned n = 0;
	for (const struct reporter *reporter = reporters; reporter; reporter = reporter->next)
		n++;
	return n;
}

/* Stands in for io/resolver.c. */

static struct {
	resolver_fn resolved;
	void *owner;
	char host[64];
	unsigned n_starts;
	bool is_there;
} resolver;

int resolver_new(struct loop *loop, const char *host, resolver_fn resolved, void *owner,
		 struct resolver **ret_resolver, struct error *new_err)
{
	(void)loop, (void)new_err;
	resolver.resolved = resolved;
	resolver.owner = owner;
	resolver.n_starts = 0;
	resolver.is_there = true;
	snprintf(resolver.host, sizeof(resolver.host), "%s", host);
	*ret_resolver = (struct resolver *)(void *)&resolver;
	return 0;
}

void resolver_free(struct resolver *ignored)
{
	if (ignored)
		resolver.is_there = false;
}

int resolver_start(struct resolver *ignored, struct error *start_err)
{
	(void)ignored, (void)start_err;
	resolver.n_starts++;
	return 0;
}

bool resolver_is_address(const char *host)
{
	return strcmp(host, "10.9.9.9") == 0 || strcmp(host, "fd00::9") == 0;
}

/* The agent. */

struct agent {
	struct loop *loop;
	struct replicas *replicas;
	unsigned n_makes, n_accepted, n_refused, n_changes;
	bool cannot_make, others_wait;
	int64_t acknowledged; /* the last that was told; -1: none yet */
	char error[64];
};

static void pump(struct agent *agent)
{
	while (replicas_next_at(agent->replicas) <= fake_now_ms)
		replicas_post(agent->replicas);
}

static int make(void *owner, int64_t instance, int64_t sequence, struct sbuf *body,
		struct error *make_err)
{
	struct agent *agent = owner;
	agent->n_makes++;
	if (agent->cannot_make)
		return error_set(make_err, ERROR_LIMIT, 0, "too large");
	sbuf_printf(body, "%lld %lld", (long long)instance, (long long)sequence);
	return 0;
}

static void on_answer(void *owner, const struct replicas_answer *answer)
{
	struct agent *agent = owner;
	agent->n_accepted += answer->accepted;
	agent->n_refused += !answer->accepted;
	agent->others_wait = answer->others_wait;
	if (answer->acknowledged_events >= 0)
		agent->acknowledged = answer->acknowledged_events;
	if (!answer->accepted)
		snprintf(agent->error, sizeof(agent->error), "%.63s", answer->error->text);
	pump(agent);
}

static void on_change(void *owner)
{
	struct agent *agent = owner;
	agent->n_changes++;
	pump(agent);
}

static struct replicas_config usual(struct agent *agent)
{
	return (struct replicas_config){
		.reporter = {.controller = HOST},
		.delivery = {.heartbeat_ms = NEVER_S * 1000, .instance = 500},
		.seed = 1,
		.looks_up = true,
		.make = make,
		.answered = on_answer,
		.changed = on_change,
		.owner = agent,
	};
}

static void open(struct agent *agent, const char *url)
{
	*agent = (struct agent){.acknowledged = -1};
	resolver.is_there = false;
	assert_int_equal(loop_new(&agent->loop, &err), 0);
	struct replicas_config config = usual(agent);
	config.reporter.controller = url;
	assert_int_equal(replicas_new(agent->loop, NULL, &config, &agent->replicas, &err), 0);
}

static void end(struct agent *agent)
{
	replicas_free(agent->replicas);
	assert_null(reporters);
	assert_false(resolver.is_there);
	loop_free(agent->loop);
}

static void find_addresses(const char *const *addresses, unsigned left_out)
{
	struct resolver_result result = {.left_out = left_out};
	for (; *addresses; addresses++)
		strcpy(result.addresses[result.n++], *addresses);
	resolver.resolved(resolver.owner, &result);
}

#define FIND(...) find_addresses((const char *const[]){__VA_ARGS__, NULL}, 0)

static void say(struct agent *agent)
{
	replicas_changed(agent->replicas);
	pump(agent);
}

static void answer_with(const char *address, const struct reporter_answer *answer)
{
	struct reporter *reporter = find(address);
	assert_non_null(reporter);
	assert_true(reporter->under_way);
	reporter->under_way = false;
	reporter->handler.answered(reporter->handler.owner, answer);
}

static void lead(const char *address, int64_t acknowledged)
{
	answer_with(address, &(struct reporter_answer){.delivery = {.status = 200, .heartbeat_s = 60},
						       .acknowledged_events = acknowledged});
}

static void follow(const char *address)
{
	answer_with(address, &(struct reporter_answer){.delivery = {.status = 200},
						       .acknowledged_events = -1});
}

static void refuse(const char *address, int status)
{
	struct reporter_answer answer = {.delivery = {.status = status}, .acknowledged_events = -1};
	error_set(&answer.error, ERROR_RETRY, 0, "status %d", status);
	answer_with(address, &answer);
}

/* Time passes, and what comes due is posted. */
static void pass(struct agent *agent, uint64_t ms)
{
	uint64_t last = fake_now_ms + ms;
	while (fake_now_ms < last) {
		uint64_t next = replicas_next_at(agent->replicas);
		uint64_t step = next < last ? next - fake_now_ms : last - fake_now_ms;
		fake_loop_advance(agent->loop, step ? step : 1);
		pump(agent);
	}
}

/* Two replicas know all there is; A leads. */
static void settle(struct agent *agent)
{
	open(agent, HOST);
	pass(agent, 1);
	FIND(A, B);
	say(agent);
	lead(A, 0);
	follow(B);
	agent->n_makes = agent->n_accepted = 0;
}

TEST(before_its_addresses_are_known_reports_go_to_the_host_itself)
{
	struct agent agent;
	open(&agent, HOST);
	assert_int_equal(replicas_next_at(agent.replicas), DELIVERY_NEVER);
	pass(&agent, 1);
	assert_string_equal(resolver.host, "controller.test");
	assert_int_equal(resolver.n_starts, 1);
	say(&agent);
	assert_string_equal(find(NULL)->body, "500 1");
	lead(NULL, 0);
	/* The same is told to each replica as soon as it is known. */
	FIND(A, B);
	assert_null(find(NULL));
	assert_string_equal(find(A)->body, "500 2");
	assert_string_equal(find(B)->body, "500 2");
	assert_int_equal(agent.n_makes, 2);
	end(&agent);
}

TEST(one_encoded_report_serves_all_and_numbers_rise_whoever_gets_them)
{
	struct agent agent;
	settle(&agent);
	say(&agent);
	assert_int_equal(agent.n_makes, 1);
	assert_string_equal(find(A)->body, "500 2");
	assert_string_equal(find(B)->body, "500 2");
	say(&agent);
	assert_int_equal(agent.n_makes, 1);
	follow(B);
	assert_string_equal(find(B)->body, "500 3");
	lead(A, 0);
	assert_string_equal(find(A)->body, "500 4");
	lead(A, 0);
	follow(B);
	/* Heartbeats come together. */
	pass(&agent, 66001);
	assert_int_equal(agent.n_makes, 4);
	assert_string_equal(find(A)->body, "500 5");
	assert_string_equal(find(B)->body, "500 5");
	end(&agent);
}

TEST(neither_a_slow_replica_nor_one_that_is_away_delays_the_leader)
{
	struct agent agent;
	settle(&agent);
	FIND(A, B, C);
	refuse(C, 0);
	say(&agent);
	lead(A, 0);
	/* B takes its time, C is away. */
	for (int i = 3; i < 20; i++) {
		unsigned before = find(A)->n_posts;
		say(&agent);
		assert_int_equal(find(A)->n_posts, before + 1);
		lead(A, 0);
		if (find(C)->under_way)
			refuse(C, 0);
		pass(&agent, 100);
		assert_true(find(B)->under_way);
		assert_string_equal(find(B)->body, "500 3");
	}
	/* In 1.7 s. */
	if (find(C)->under_way)
		refuse(C, 0);
	assert_in_range(find(C)->n_posts, 2, 4);
	/* Then B gets the newest state and nothing of what lies between. */
	unsigned before = find(B)->n_posts;
	follow(B);
	assert_int_equal(find(B)->n_posts, before + 1);
	follow(B);
	assert_false(find(B)->under_way);
	end(&agent);
}

TEST(only_the_leader_says_which_events_are_safe_and_what_the_heartbeat_is)
{
	struct agent agent;
	settle(&agent);
	assert_int_equal(replicas_heartbeat_ms(agent.replicas), 60000);
	say(&agent);
	follow(B);
	assert_int_equal(agent.acknowledged, 0);
	lead(A, 7);
	assert_int_equal(agent.acknowledged, 7);
	assert_int_equal(agent.n_accepted, 2);
	/* B takes over. */
	say(&agent);
	follow(A);
	assert_int_equal(agent.acknowledged, 7);
	answer_with(B, &(struct reporter_answer){.delivery = {.status = 200, .heartbeat_s = 20},
						 .acknowledged_events = 9});
	assert_int_equal(agent.acknowledged, 9);
	assert_int_equal(replicas_heartbeat_ms(agent.replicas), 20000);
	pass(&agent, 22000);
	follow(A);
	assert_int_equal(replicas_heartbeat_ms(agent.replicas), 20000);
	end(&agent);
}

TEST(when_the_addresses_change_the_new_ones_are_told_at_once_and_nobody_else)
{
	struct agent agent;
	settle(&agent);
	say(&agent);
	lead(A, 0);
	assert_true(find(B)->under_way);
	unsigned n_posts = find(A)->n_posts;
	FIND(A, C);
	assert_null(find(B));
	assert_int_equal(find(A)->n_posts, n_posts);
	assert_true(find(C)->under_way);
	refuse(C, 503);
	/* It goes on where it was. */
	FIND(A, C);
	assert_false(find(C)->under_way);
	pass(&agent, 1000);
	assert_true(find(C)->under_way);
	assert_int_equal(find(A)->n_posts, n_posts);
	end(&agent);
}

TEST(a_replica_whose_connection_ends_is_told_again_within_a_second_and_nobody_else)
{
	struct agent agent;
	settle(&agent);
	pass(&agent, 20000);
	assert_int_equal(agent.n_makes, 0);
	agent.n_changes = 0;
	find(B)->handler.disconnected(find(B)->handler.owner);
	assert_int_equal(agent.n_changes, 1);
	assert_int_equal(agent.n_makes, 0);
	pass(&agent, 1000);
	assert_int_equal(agent.n_makes, 1);
	assert_true(find(B)->under_way);
	assert_false(find(A)->under_way);
	follow(B);
	/* The heartbeat is when it was. */
	pass(&agent, 45000);
	assert_true(find(A)->under_way && find(B)->under_way);
	end(&agent);
}

TEST(a_look_up_that_fails_leaves_the_addresses_and_is_repeated)
{
	struct agent agent;
	settle(&agent);
	struct resolver_result failed = {0};
	error_set(&failed.error, ERROR_RETRY, 0, "no such host");
	assert_int_equal(resolver.n_starts, 1);
	resolver.resolved(resolver.owner, &failed);
	assert_non_null(find(A));
	assert_non_null(find(B));
	for (unsigned i = 2; i < 5; i++) {
		pass(&agent, 30000);
		assert_int_equal(resolver.n_starts, i);
		if (find(A)->under_way) {
			lead(A, 0);
			follow(B);
		}
	}
	end(&agent);
}

TEST(a_post_that_nobody_answers_leads_to_a_look_up_and_a_refusal_does_not)
{
	struct agent agent;
	settle(&agent);
	pass(&agent, 10000);
	assert_int_equal(resolver.n_starts, 1);
	say(&agent);
	refuse(B, 503);
	lead(A, 0);
	pass(&agent, 100);
	assert_int_equal(resolver.n_starts, 1);
	say(&agent);
	refuse(A, 0);
	pass(&agent, 1);
	assert_int_equal(resolver.n_starts, 2);
	/* Others are away, too: no more often than every two seconds. */
	pass(&agent, 1000);
	refuse(B, 0);
	pass(&agent, 998);
	assert_int_equal(resolver.n_starts, 2);
	pass(&agent, 1);
	assert_int_equal(resolver.n_starts, 3);
	end(&agent);
}

TEST(a_report_that_one_replica_calls_old_is_numbered_anew_for_all)
{
	struct agent agent;
	char newer[32];
	settle(&agent);
	say(&agent);
	lead(A, 0);
	refuse(B, 409);
	int64_t instance = replicas_instance(agent.replicas);
	assert_true(instance > 500);
	pass(&agent, 1000);
	snprintf(newer, sizeof(newer), "%lld 1", (long long)instance);
	assert_string_equal(find(B)->body, newer);
	follow(B);
	say(&agent);
	snprintf(newer, sizeof(newer), "%lld 2", (long long)instance);
	assert_string_equal(find(A)->body, newer);
	assert_string_equal(find(B)->body, newer);
	end(&agent);
}

TEST(there_are_no_more_replicas_than_the_limit_and_the_rest_is_counted)
{
	static const char *const some[] = {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5",
					   "10.0.0.6", "10.0.0.7", "10.0.0.8", NULL};
	static const char *const others[] = {"10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5",
					     "10.1.0.6", "10.1.0.7", "10.1.0.8", NULL};
	struct agent agent;
	settle(&agent);
	find_addresses(some, 3);
	assert_int_equal(count_reporters(), RESOLVER_MAX);
	assert_int_equal(replicas_left_out(agent.replicas), 3);
	find_addresses(others, 0);
	assert_int_equal(count_reporters(), RESOLVER_MAX);
	assert_int_equal(replicas_left_out(agent.replicas), 0);
	for (unsigned i = 0; others[i]; i++)
		assert_true(find(others[i])->under_way);
	end(&agent);
}

TEST(an_address_is_not_looked_up_nor_is_a_name_when_that_is_not_wanted)
{
	static const char *const urls[] = {"https://10.9.9.9", "https://10.9.9.9:8443",
					   "https://[fd00::9]:8443", "https://[fd00::9]"};
	struct agent agent;
	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		open(&agent, urls[i]);
		assert_false(resolver.is_there);
		say(&agent);
		refuse(NULL, 0);
		pass(&agent, 60000);
		assert_int_equal(count_reporters(), 1);
		end(&agent);
	}
	open(&agent, "https://controller.test");
	assert_string_equal(resolver.host, "controller.test");
	replicas_free(agent.replicas);
	struct replicas_config config = usual(&agent);
	config.looks_up = false;
	assert_int_equal(replicas_new(agent.loop, NULL, &config, &agent.replicas, &err), 0);
	assert_false(resolver.is_there);
	config.reporter.controller = "https://:8443";
	assert_int_equal(replicas_new(agent.loop, NULL, &config, &agent.replicas, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
	end(&agent);
}

TEST(what_cannot_be_sent_or_made_is_tried_again_for_each_replica)
{
	struct agent agent;
	settle(&agent);
	/* The answer comes from inside, while the other replica is still to be posted to. */
	find(A)->has_no_token = true;
	say(&agent);
	assert_int_equal(agent.n_refused, 1);
	assert_true(agent.others_wait);
	assert_string_equal(agent.error, "no token");
	assert_true(find(B)->under_way);
	follow(B);
	assert_false(agent.others_wait);
	find(A)->has_no_token = false;
	pass(&agent, 1000);
	lead(A, 0);
	agent.cannot_make = true;
	say(&agent);
	assert_int_equal(agent.n_refused, 3);
	assert_string_equal(agent.error, "too large");
	agent.cannot_make = false;
	pass(&agent, 1000);
	lead(A, 0);
	follow(B);
	end(&agent);
}

TEST(without_memory_for_a_replica_it_is_added_after_the_next_look_up)
{
	struct agent agent;
	settle(&agent);
	failing_malloc_at(1);
	FIND(A, B, C);
	assert_true(failing_malloc_off());
	assert_null(find(C));
	say(&agent);
	assert_true(find(A)->under_way);
	FIND(A, B, C);
	assert_non_null(find(C));
	end(&agent);
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		agent = (struct agent){0};
		assert_int_equal(loop_new(&agent.loop, &err), 0);
		const struct replicas_config config = usual(&agent);
		failing_malloc_at(k);
		int result = replicas_new(agent.loop, NULL, &config, &agent.replicas, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		end(&agent);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(before_its_addresses_are_known_reports_go_to_the_host_itself),
	cmocka_unit_test(one_encoded_report_serves_all_and_numbers_rise_whoever_gets_them),
	cmocka_unit_test(neither_a_slow_replica_nor_one_that_is_away_delays_the_leader),
	cmocka_unit_test(only_the_leader_says_which_events_are_safe_and_what_the_heartbeat_is),
	cmocka_unit_test(when_the_addresses_change_the_new_ones_are_told_at_once_and_nobody_else),
	cmocka_unit_test(a_replica_whose_connection_ends_is_told_again_within_a_second_and_nobody_else),
	cmocka_unit_test(a_look_up_that_fails_leaves_the_addresses_and_is_repeated),
	cmocka_unit_test(a_post_that_nobody_answers_leads_to_a_look_up_and_a_refusal_does_not),
	cmocka_unit_test(a_report_that_one_replica_calls_old_is_numbered_anew_for_all),
	cmocka_unit_test(there_are_no_more_replicas_than_the_limit_and_the_rest_is_counted),
	cmocka_unit_test(an_address_is_not_looked_up_nor_is_a_name_when_that_is_not_wanted),
	cmocka_unit_test(what_cannot_be_sent_or_made_is_tried_again_for_each_replica),
	cmocka_unit_test(without_memory_for_a_replica_it_is_added_after_the_next_look_up),
};
TEST_MAIN(tests)
