/* SPDX-License-Identifier: Apache-2.0 */

/* Requests over a real connection are tested in apiclient_test; here it is how much time each may take. */

#include "lib/test_main.h"

#include "kube/apiclient_requests.h"

#include "lib/fake_loop.inc"

#define MAX_ATTEMPTS 4
#define SEND_BEFORE 12345u

/* What the endpoint was asked for. */
static struct {
	struct fetch_handler handler;
	uint32_t timeout_ms;
	uint64_t send_before;
} attempts[MAX_ATTEMPTS];
static unsigned n_attempts;
static bool has_fresh_token;
static enum error_kind answered_with; /* ERROR_NONE: a success */
static unsigned n_answers;

int apiclient_endpoint_start(struct apiclient_endpoint *endpoint,
			     const struct apiclient_endpoint_request *request,
			     const struct fetch_handler *handler, struct fetch **ret_fetch,
			     struct error *err)
{
	(void)endpoint;
	(void)err;
	assert_true(n_attempts < MAX_ATTEMPTS);
	attempts[n_attempts].handler = *handler;
	attempts[n_attempts].timeout_ms = request->timeout_ms;
	attempts[n_attempts].send_before = request->send_before;
	n_attempts++;
	*ret_fetch = NULL;
	return 0;
}

bool apiclient_endpoint_refused(struct apiclient_endpoint *endpoint)
{
	(void)endpoint;
	return has_fresh_token;
}

void fetch_cancel(struct fetch *fetch)
{
	(void)fetch;
}

static void on_ended(void *owner, const struct apiclient_call *call,
		     const struct fetch_result *result, uint64_t took_ms)
{
	(void)owner;
	(void)call;
	(void)result;
	(void)took_ms;
}

static void on_answer(void *owner, int status, struct view body, const struct error *error)
{
	(void)owner;
	(void)status;
	(void)body;
	answered_with = error ? error->kind : ERROR_NONE;
	n_answers++;
}

static struct apiclient_endpoint endpoint;
static struct apiclient_requests requests;

static int setup(void **state)
{
	(void)state;
	struct error err;
	n_attempts = n_answers = 0;
	has_fresh_token = true;
	if (loop_new(&endpoint.loop, &err) != 0)
		return -1;
	apiclient_requests_init(&requests, &endpoint, on_ended, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	apiclient_requests_deinit(&requests);
	loop_free(endpoint.loop);
	return 0;
}

static void send(uint32_t timeout_ms)
{
	const struct apiclient_call call = {.method = "PUT", .path = "/a", .body = VIEW("{}"),
					    .timeout_ms = timeout_ms, .send_before = SEND_BEFORE};
	struct apiclient_request *request;
	struct error err;
	assert_int_equal(
		apiclient_requests_send(&requests, &call, on_answer, NULL, &request, &err), 0);
}

/* The last attempt is answered when so much more time has passed. */
static void answer_after(uint64_t ms, int status)
{
	const struct fetch_handler handler = attempts[n_attempts - 1].handler;
	const struct fetch_result result = {.status = status, .grpc_status = -1};
	fake_loop_advance(endpoint.loop, ms);
	handler.done(handler.owner, &result);
}

static void a_request_has_its_time_or_ten_seconds(void **state)
{
	(void)state;
	send(4000);
	assert_int_equal(attempts[0].timeout_ms, 4000);
	answer_after(10, 200);
	send(0);
	assert_int_equal(attempts[1].timeout_ms, APICLIENT_REQUESTS_TIMEOUT_MS);
	answer_after(10, 200);
	assert_int_equal(n_answers, 2);
}

/* Who asks may lead for no longer. */
static void a_repetition_after_401_has_only_the_time_that_is_left(void **state)
{
	(void)state;
	send(4000);
	answer_after(1500, 401);
	assert_int_equal(n_answers, 0);
	assert_int_equal(n_attempts, 2);
	assert_int_equal(attempts[1].timeout_ms, 2500);
	assert_int_equal(attempts[0].send_before, SEND_BEFORE);
	assert_int_equal(attempts[1].send_before, SEND_BEFORE);
	answer_after(100, 200);
	assert_int_equal(n_answers, 1);
	assert_int_equal(answered_with, ERROR_NONE);
}

static void without_time_left_nothing_is_repeated(void **state)
{
	(void)state;
	for (uint64_t ms = 4000; ms <= 5000; ms += 1000) {
		n_attempts = n_answers = 0;
		send(4000);
		answer_after(ms, 401);
		assert_int_equal(n_attempts, 1);
		assert_int_equal(n_answers, 1);
		assert_int_equal(answered_with, ERROR_DENIED);
	}
}

static void without_a_fresh_token_a_401_is_final(void **state)
{
	(void)state;
	has_fresh_token = false;
	send(4000);
	answer_after(10, 401);
	assert_int_equal(n_attempts, 1);
	assert_int_equal(answered_with, ERROR_DENIED);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_request_has_its_time_or_ten_seconds, setup, teardown),
	cmocka_unit_test_setup_teardown(a_repetition_after_401_has_only_the_time_that_is_left, setup,
					teardown),
	cmocka_unit_test_setup_teardown(without_time_left_nothing_is_repeated, setup, teardown),
	cmocka_unit_test_setup_teardown(without_a_fresh_token_a_401_is_final, setup, teardown),
};
TEST_MAIN(tests)
