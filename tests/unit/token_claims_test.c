/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/limits.h"
#include "lib/failing_malloc.h"
#include "lib/jwt.h"
#include "schema/token_claims.h"

/* As kube-apiserver 1.32 makes one for a projected volume. */
#define PAYLOAD                                                                                    \
	"{\"aud\":[\"gpuattribution.dev\"],\"exp\":1767323045,\"iat\":1767319445,"                     \
	"\"iss\":\"https://kubernetes.default.svc.cluster.local\",\"jti\":\"e1\",\"kubernetes.io\":{"    \
	"\"namespace\":\"gpu-attribution\",\"node\":{\"name\":\"gpu-a\",\"uid\":\"u1\"},"                \
	"\"pod\":{\"name\":\"agent-x\",\"uid\":\"u2\"},\"serviceaccount\":{"                             \
	"\"name\":\"gpu-attribution-agent\",\"uid\":\"u3\"},\"warnafter\":1767323052},"                  \
	"\"nbf\":1767319445,\"sub\":\"system:serviceaccount:gpu-attribution:gpu-attribution-agent\"}"

static bool is_text(struct view claim, const char *text)
{
	char quoted[256];
	snprintf(quoted, sizeof(quoted), "\"%s\"", text);
	return view_equal(claim, view_from(quoted));
}

static void a_service_accounts_token_says_for_whom_until_when_and_where(void **state)
{
	(void)state;
	char room[2048];
	CLEANUP(sbuf_deinit) struct sbuf payload;
	struct token_claims claims;
	assert_true(token_claims_read(jwt_of(PAYLOAD, "sig_na-ture", room, sizeof(room)), &payload, &claims));
	assert_true(view_equal(claims.audience, VIEW("[\"gpuattribution.dev\"]")));
	assert_true(is_text(claims.subject,
			    "system:serviceaccount:gpu-attribution:gpu-attribution-agent"));
	assert_true(is_text(claims.node_name, "gpu-a"));
	assert_int_equal(claims.end, 1767323045);
	assert_int_equal(claims.begin, 1767319445);
}

static void what_a_token_does_not_say_is_empty(void **state)
{
	(void)state;
	static const char *const payloads[] = {
		"{}",
		"{\"exp\":\"1767323045\",\"iat\":1.5,\"kubernetes.io\":{\"node\":{}}}",
		"{\"exp\":99999999999999999999,\"iat\":null,\"kubernetes.io\":{\"node\":\"name\"}}",
		"{\"a\":{\"exp\":1,\"aud\":\"x\",\"sub\":\"x\"},\"kubernetes.io\":[\"node\"]}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(payloads); i++) {
		char room[1024];
		CLEANUP(sbuf_deinit) struct sbuf payload;
		struct token_claims claims;
		assert_true(token_claims_read(jwt_of(payloads[i], "s", room, sizeof(room)), &payload, &claims));
		assert_int_equal(claims.audience.len, 0);
		assert_int_equal(claims.subject.len, 0);
		assert_int_equal(claims.node_name.len, 0);
		assert_int_equal(claims.end, INT64_MAX);
		assert_int_equal(claims.begin, INT64_MIN);
	}
}

static void what_is_no_json_web_token_is_not_read(void **state)
{
	(void)state;
	static const char *const tokens[] = {
		"", "opaque", "a.b", "a.e30", "..", ".e30.c", "a..c", "a.e30.", "a.e30.c.d",
		"a.!!!!.c", "a.e3.c", "a.e30=.c", "a.W10.c" /* [] */, "a.e31.c" /* bits too many */,
		"a.e30x.c", "a.AQI.c", "a.e.c",
	};
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
		struct sbuf payload;
		struct token_claims claims = {.end = 7};
		assert_false(token_claims_read(view_from(tokens[i]), &payload, &claims));
		assert_int_equal(claims.end, 7);
		sbuf_deinit(&payload);
	}
}

static void a_token_that_is_too_long_is_not_read(void **state)
{
	(void)state;
	static char token[LIMIT_TOKEN_BYTES + 1];
	struct sbuf payload;
	struct token_claims claims;
	memset(token, 's', sizeof(token));
	memcpy(token, "a.e30.", 6);
	assert_true(token_claims_read((struct view){token, LIMIT_TOKEN_BYTES}, &payload, &claims));
	sbuf_deinit(&payload);
	assert_false(token_claims_read((struct view){token, LIMIT_TOKEN_BYTES + 1}, &payload, &claims));
	sbuf_deinit(&payload);
}

static void a_claim_excludes_a_text_only_if_that_is_certain(void **state)
{
	(void)state;
	static const struct {
		const char *claim;
		bool excludes;
	} rows[] = {
		{"\"ours\"", false},
		{"[\"ours\"]", false},
		{"[\"other\",\"ours\"]", false},
		{" [ \"ours\" , 1 ] ", false},
		{"\"our\\u0073\"", false},
		{"[\"other\",\"our\\u0073\"]", false},
		{"[\"other\"", false},
		{"[\"other\" \"ours\"]", false},
		{"\"ours", false},
		{"", true},
		{"\"other\"", true},
		{"\"\"", true},
		{"[]", true},
		{"[\"other\",\"our\",\"oursx\"]", true},
		{"[1,[\"ours\"],{\"ours\":\"ours\"}]", true},
		{"7", true},
		{"null", true},
		{"{\"ours\":\"ours\"}", true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool excludes = token_claims_excludes(view_from(rows[i].claim), VIEW("ours"));
		if (excludes != rows[i].excludes)
			fail_msg("%s", rows[i].claim);
	}
}

static void without_memory_nothing_is_read(void **state)
{
	(void)state;
	char room[2048];
	struct view token = jwt_of(PAYLOAD, "s", room, sizeof(room));
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		CLEANUP(sbuf_deinit) struct sbuf payload;
		struct token_claims claims;
		failing_malloc_at(k);
		bool done = token_claims_read(token, &payload, &claims);
		failed = failing_malloc_off();
		assert_int_equal(done, !failed);
		assert_int_equal(payload.failure, failed ? ERROR_NO_MEMORY : ERROR_NONE);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_service_accounts_token_says_for_whom_until_when_and_where),
	cmocka_unit_test(what_a_token_does_not_say_is_empty),
	cmocka_unit_test(what_is_no_json_web_token_is_not_read),
	cmocka_unit_test(a_token_that_is_too_long_is_not_read),
	cmocka_unit_test(a_claim_excludes_a_text_only_if_that_is_certain),
	cmocka_unit_test(without_memory_nothing_is_read),
};
TEST_MAIN(tests)
