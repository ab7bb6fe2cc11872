/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "base/limits.h"
#include "schema/secret_doc.h"

#define SECRET(data)                                                                             \
	"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\",\"metadata\":{"          \
	"\"name\":\"tls\",\"labels\":{\"a\":\"b\"},\"resourceVersion\":\"41\"}" data "}"

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 16 * LIMIT_FILE_BYTES);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static void the_values_are_what_their_base64_says(void **state)
{
	(void)state;
	struct secret_doc secret;
	struct error err;

	assert_int_equal(secret_doc_decode(VIEW(SECRET(
		",\"data\":{\"ca.crt\":\"YQ==\",\"ca.key\":\"YmI=\",\"tls.crt\":\"Y2Nj\","
		"\"tls.key\":\"ZGRkZA==\",\"more\":\"!\"}")), &arena, &secret, &err), 0);
	assert_true(view_equal(secret.resource_version, VIEW("41")));
	assert_true(view_equal(secret.ca_cert, VIEW("a")));
	assert_true(view_equal(secret.ca_key, VIEW("bb")));
	assert_true(view_equal(secret.cert, VIEW("ccc")));
	assert_true(view_equal(secret.key, VIEW("dddd")));
}

static void what_the_secret_lacks_is_empty(void **state)
{
	(void)state;
	static const char *const documents[] = {
		SECRET(""),
		SECRET(",\"data\":null"),
		SECRET(",\"data\":{}"),
		SECRET(",\"data\":{\"tls.crt\":\"\"}"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		struct secret_doc secret;
		struct error err;

		assert_int_equal(secret_doc_decode(view_from(documents[i]), &arena, &secret, &err),
				 0);
		assert_int_equal(secret.ca_cert.len + secret.ca_key.len + secret.cert.len +
					 secret.key.len, 0);
	}
}

static void it_was_written_when_the_last_of_its_managers_wrote(void **state)
{
	(void)state;
	static const struct {
		const char *managers;
		int64_t written_at;
	} rows[] = {
		{"", 0},
		{",\"managedFields\":null", 0},
		{",\"managedFields\":[{\"manager\":\"a\"}]", 0},
		{",\"managedFields\":[{\"time\":\"2026-01-02T03:04:05Z\"},"
		 "{\"manager\":\"b\",\"time\":\"2026-01-02T03:04:06Z\"},"
		 "{\"time\":\"2025-01-02T03:04:07Z\"}]", INT64_C(1767323046000)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct secret_doc secret;
		struct error err;
		char json[512];

		snprintf(json, sizeof(json), "{\"metadata\":{\"resourceVersion\":\"41\"%s}}",
			 rows[i].managers);
		assert_int_equal(secret_doc_decode(view_from(json), &arena, &secret, &err), 0);
		assert_int_equal(secret.written_at, rows[i].written_at);
	}
}

static void a_document_that_is_no_secret_of_ours_is_refused_and_says_where(void **state)
{
	(void)state;
	static const struct {
		const char *document;
		const char *text; /* in the error's */
	} rows[] = {
		{"", ""},
		{"[]", ""},
		{"{}", "metadata"},
		{"{\"metadata\":{}}", "resourceVersion"},
		{SECRET(",\"data\":[]"), "data"},
		{SECRET(",\"data\":{\"tls.crt\":7}"), "tls.crt"},
		{SECRET(",\"data\":{\"tls.key\":\"a\"}"), "tls.key"},
		{SECRET(",\"data\":{\"ca.crt\":\"%%%%\"}"), "ca.crt"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct secret_doc secret = {.key = VIEW("before")};
		struct error err = {0};

		assert_int_equal(secret_doc_decode(view_from(rows[i].document), &arena, &secret,
						   &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_non_null(strstr(err.text, rows[i].text));
		assert_true(view_equal(secret.key, VIEW("before")));
	}
}

/* A Secret whose key is n base64 letters long. */
static struct view secret_of_size(struct sbuf *buf, size_t n)
{
	sbuf_init(buf, 4 * LIMIT_FILE_BYTES);
	sbuf_append(buf, VIEW("{\"metadata\":{\"resourceVersion\":\"1\"},\"data\":{\"tls.key\":\""));
	for (size_t i = 0; i < n; i++)
		sbuf_append_char(buf, 'A');
	sbuf_append(buf, VIEW("\"}}"));
	return sbuf_view(buf);
}

static void a_value_beyond_the_limit_is_refused(void **state)
{
	(void)state;
	static const struct {
		size_t letters;
		int result;
	} rows[] = {
		{LIMIT_FILE_BYTES / 4 * 4, 0},
		{(LIMIT_FILE_BYTES / 3 + 2) * 4, -1},
		{2 * LIMIT_FILE_BYTES + 4, -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sbuf buf;
		struct secret_doc secret;
		struct error err;

		assert_int_equal(secret_doc_decode(secret_of_size(&buf, rows[i].letters), &arena,
						   &secret, &err), rows[i].result);
		sbuf_deinit(&buf);
		arena_reset(&arena);
	}
}

static void a_patch_names_the_version_and_all_four_values(void **state)
{
	(void)state;
	const struct secret_doc secret = {
		.resource_version = VIEW("41"), .ca_cert = VIEW("a"), .ca_key = VIEW("bb"),
		.cert = VIEW("ccc"), .key = VIEW("dddd"),
	};
	struct sbuf buf;

	sbuf_init(&buf, 4096);
	secret_doc_encode_patch(&secret, &buf);
	assert_string_equal(sbuf_text(&buf),
			    "{\"metadata\":{\"resourceVersion\":\"41\"},\"data\":{"
			    "\"ca.crt\":\"YQ==\",\"ca.key\":\"YmI=\",\"tls.crt\":\"Y2Nj\","
			    "\"tls.key\":\"ZGRkZA==\"}}");
	sbuf_deinit(&buf);
}

static void what_a_patch_wrote_is_read_back_as_it_was(void **state)
{
	(void)state;
	char bytes[256];
	struct secret_doc secret = {.resource_version = VIEW("9")}, again;
	struct sbuf buf;
	struct error err;

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	secret.ca_cert = (struct view){bytes, 256};
	secret.ca_key = (struct view){bytes, 255};
	secret.cert = (struct view){bytes, 254};
	secret.key = (struct view){bytes, 1};
	sbuf_init(&buf, 4096);
	secret_doc_encode_patch(&secret, &buf);
	assert_int_equal(secret_doc_decode(sbuf_view(&buf), &arena, &again, &err), 0);
	assert_true(view_equal(again.resource_version, secret.resource_version));
	assert_true(view_equal(again.ca_cert, secret.ca_cert));
	assert_true(view_equal(again.ca_key, secret.ca_key));
	assert_true(view_equal(again.cert, secret.cert));
	assert_true(view_equal(again.key, secret.key));
	sbuf_deinit(&buf);
}

static void without_memory_a_document_is_not_decoded(void **state)
{
	(void)state;
	const struct view document = VIEW(SECRET(",\"data\":{\"ca.crt\":\"YQ==\",\"tls.key\":\"YQ==\"}"));
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		struct secret_doc secret = {.cert = VIEW("before")};
		struct error err = {0};

		arena_deinit(&arena);
		failing_malloc_at(k);
		int result = secret_doc_decode(document, &arena, &secret, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
		assert_int_equal(secret.cert.len, failed ? 6 : 0);
	}
}

static void a_patch_that_lacks_a_part_for_want_of_memory_is_a_failed_buffer(void **state)
{
	(void)state;
	const struct secret_doc secret = {.resource_version = VIEW("41"), .key = VIEW("dddd")};
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		struct sbuf buf;
		struct error err;

		sbuf_init(&buf, 4096);
		failing_malloc_at(k);
		secret_doc_encode_patch(&secret, &buf);
		failed = failing_malloc_off();
		assert_int_equal(sbuf_check(&buf, "patch", &err), failed ? -1 : 0);
		sbuf_deinit(&buf);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(the_values_are_what_their_base64_says, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_the_secret_lacks_is_empty, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		it_was_written_when_the_last_of_its_managers_wrote, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_document_that_is_no_secret_of_ours_is_refused_and_says_where, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_value_beyond_the_limit_is_refused, set_up, tear_down),
	cmocka_unit_test(a_patch_names_the_version_and_all_four_values),
	cmocka_unit_test_setup_teardown(
		what_a_patch_wrote_is_read_back_as_it_was, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_memory_a_document_is_not_decoded, set_up, tear_down),
	cmocka_unit_test(a_patch_that_lacks_a_part_for_want_of_memory_is_a_failed_buffer),
};

TEST_MAIN(tests)
