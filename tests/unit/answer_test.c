/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/answer.h"
#include "lib/kube_bytes.h"

static struct error err;
static const enum resource_encoding both[] = {RESOURCE_JSON, RESOURCE_PROTOBUF};

static void the_http_status_names_the_next_step(void **state)
{
	(void)state;
	static const struct {
		int status;
		uint32_t retry_after_ms;
		enum error_kind kind;
	} rows[] = {
		{204, 0, ERROR_RETRY},        {302, 0, ERROR_REJECTED},
		{400, 0, ERROR_REJECTED},     {401, 0, ERROR_DENIED},
		{403, 0, ERROR_DENIED},       {404, 0, ERROR_NOT_FOUND},
		{405, 0, ERROR_REJECTED},     {409, 0, ERROR_CONFLICT},
		{410, 0, ERROR_EXPIRED},      {413, 0, ERROR_REJECTED},
		{422, 0, ERROR_REJECTED},     {429, 0, ERROR_THROTTLED},
		{429, 3000, ERROR_THROTTLED}, {500, 0, ERROR_RETRY},
		{503, 0, ERROR_RETRY},        {503, 7000, ERROR_THROTTLED},
		{504, 0, ERROR_RETRY},        {504, 1000, ERROR_THROTTLED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct answer answer = {rows[i].status, rows[i].retry_after_ms,
					      VIEW("<html>")};
		answer_judge(&answer, &err);
		assert_int_equal(err.kind, rows[i].kind);
		assert_int_equal(err.retry_after_ms,
				 rows[i].kind == ERROR_THROTTLED ? rows[i].retry_after_ms : 0);
		assert_non_null(strstr(err.text, "HTTP"));
	}
}

static void judge(enum resource_encoding encoding, int http, const struct kube_bytes_status *status)
{
	struct sbuf body;
	sbuf_init(&body, 4096);
	kube_bytes_status(&body, encoding, status);
	const struct answer answer = {http, 0, sbuf_view(&body)};
	answer_judge(&answer, &err);
	sbuf_deinit(&body);
}

static void the_servers_message_is_the_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		judge(both[i], 403,
		      &(struct kube_bytes_status){.code = 403, .reason = "Forbidden",
						  .message = "pods is forbidden"});
		assert_int_equal(err.kind, ERROR_DENIED);
		assert_string_equal(err.text, "pods is forbidden");
	}
}

#define OBJECT_NAME "gpu-1386945a-a55e-5777-9b8e-cd3c8bac28d3"
#define TOO_LONG "Too long: may not be more than 8 bytes"
#define INVALID "GPUAttribution.gpuattribution.dev \\\"" OBJECT_NAME "\\\" is invalid: "

/* Each object's path and the server's own message name it at length, and the log has one line. */
static void a_field_that_is_refused_is_named_first_and_fits_behind_the_path_of_an_object(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		judge(both[i], 422,
		      &(struct kube_bytes_status){
			      .code = 422, .reason = "Invalid",
			      .message = INVALID "status.device.model: " TOO_LONG,
			      .cause_reason = "FieldValueTooLong", .cause_message = TOO_LONG,
			      .cause_field = "status.device.model"});
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_string_equal(err.text, "status.device.model: " TOO_LONG);
		error_wrap(&err, "PUT /apis/gpuattribution.dev/v1alpha1/gpuattributions/" OBJECT_NAME "/status");
		assert_non_null(strstr(err.text, ": status.device.model: " TOO_LONG));
	}
}

static void further_fields_that_are_refused_are_counted(void **state)
{
	(void)state;
	const struct answer answer = {422, 0, VIEW(
		"{\"kind\":\"Status\",\"code\":422,\"message\":\"x is invalid: [a, b]\",\"details\":{\"causes\":["
		"{\"reason\":\"FieldValueInvalid\",\"message\":\"Invalid value: 7\"},"
		"{\"reason\":\"FieldValueInvalid\",\"message\":\"Invalid value: null\",\"field\":\"<nil>\"},"
		"{\"reason\":\"FieldValueInvalid\",\"message\":\"Invalid value: 8\",\"field\":\"status.slots.total\"},"
		"{\"reason\":\"FieldValueRequired\",\"message\":\"Required value\",\"field\":\"status.x\"}]}}")};
	answer_judge(&answer, &err);
	assert_int_equal(err.kind, ERROR_REJECTED);
	assert_string_equal(err.text, "status.slots.total (and 1 more): Invalid value: 8");
}

static void a_version_that_is_too_large_has_expired_in_all_three_forms(void **state)
{
	(void)state;
	static const struct kube_bytes_status forms[] = {
		{504, "Timeout", "Timeout: Too large resource version: 9, current: 5",
		 "ResourceVersionTooLarge", "Too large resource version", 1},
		{504, "Timeout", "Timeout", "", "Too large resource version", 0},
		{504, "Timeout", "Too large resource version: 9, current: 5", NULL, NULL, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(forms); k++) {
			judge(both[i], 504, &forms[k]);
			assert_int_equal(err.kind, ERROR_EXPIRED);
		}
	}
}

static void a_status_may_ask_for_a_pause_itself(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		judge(both[i], 500,
		      &(struct kube_bytes_status){.code = 500, .reason = "ServerTimeout",
						  .message = "slow", .retry_after_s = 4});
		assert_int_equal(err.kind, ERROR_THROTTLED);
		assert_int_equal(err.retry_after_ms, 4000);
		judge(both[i], 429,
		      &(struct kube_bytes_status){.code = 429, .reason = "TooManyRequests",
						  .message = "slow", .retry_after_s = 999999});
		assert_int_equal(err.retry_after_ms, 3600 * 1000);
	}
}

static void an_error_event_is_judged_by_the_code_in_it(void **state)
{
	(void)state;
	static const struct view expired = VIEW_INIT(
		"{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}");
	answer_judge_status(RESOURCE_JSON, expired, &err);
	assert_int_equal(err.kind, ERROR_EXPIRED);
	assert_string_equal(err.text, "too old");
	/* message, code 410 */
	answer_judge_status(RESOURCE_PROTOBUF, VIEW("\x1a\x03old\x30\x9a\x03"), &err);
	assert_int_equal(err.kind, ERROR_EXPIRED);
	assert_string_equal(err.text, "old");
	answer_judge_status(RESOURCE_PROTOBUF, VIEW("\x1a\x09old"), &err);
	assert_int_equal(err.kind, ERROR_RETRY);
	answer_judge_status(RESOURCE_JSON, VIEW("{"), &err);
	assert_int_equal(err.kind, ERROR_RETRY);
}

static void bodies_that_are_no_status_do_not_matter(void **state)
{
	(void)state;
	static const struct view bodies[] = {
		VIEW_INIT(""),
		VIEW_INIT("{"),
		VIEW_INIT("{\"kind\":\"Pod\",\"message\":\"not this\"}"),
		VIEW_INIT("{\"kind\":\"Status\",\"message\":7}"),
		VIEW_INIT("k8s\0"),
		VIEW_INIT("k8s\0\xff"),
		VIEW_INIT("k8s\0\x0a\x05\x12\x03Pod\x12\x05\x1a\x03not"),
		VIEW_INIT("k8s\0\x0a\x08\x12\x06Status\x12\x05\x1a\x09not"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		const struct answer answer = {409, 0, bodies[i]};
		answer_judge(&answer, &err);
		assert_int_equal(err.kind, ERROR_CONFLICT);
		assert_memory_equal(err.text, "HTTP 409", 8);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_http_status_names_the_next_step),
	cmocka_unit_test(the_servers_message_is_the_text),
	cmocka_unit_test(a_field_that_is_refused_is_named_first_and_fits_behind_the_path_of_an_object),
	cmocka_unit_test(further_fields_that_are_refused_are_counted),
	cmocka_unit_test(a_version_that_is_too_large_has_expired_in_all_three_forms),
	cmocka_unit_test(a_status_may_ask_for_a_pause_itself),
	cmocka_unit_test(an_error_event_is_judged_by_the_code_in_it),
	cmocka_unit_test(bodies_that_are_no_status_do_not_matter),
};
TEST_MAIN(tests)
